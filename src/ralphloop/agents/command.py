"""Any program as an agent: a command line from the configuration, plain text or claude's stream back."""

import re
from typing import ClassVar, Literal

from msgspec import Struct

from ralphloop.agents.claude_stream import ClaudeStream
from ralphloop.agents.text_stream import TextStream
from ralphloop.agents.words import checked_environment, checked_program, checked_words
from ralphloop.core.environment import OF_MODELS
from ralphloop.core.errors import UsageProblem
from ralphloop.core.ports import Call, Command, Parser, Traits

PROMPT_FILE = "{prompt_file}"
MODEL = "{model}"


class CommandAgent(Struct, frozen=True, kw_only=True):
    """A program of the user's; `{prompt_file}` and `{model}` in its words are filled in.

    Without a model the words with `{model}` are left out, and the option before a word that is nothing else.
    """

    traits: ClassVar[Traits] = Traits(variables=OF_MODELS)
    name: str = "command"
    argv: tuple[str, ...]
    prompt: Literal["stdin", "file"] = "stdin"
    env: dict[str, str] = {}
    stream: Literal["text", "claude"] = "text"
    limit_pattern: str = ""
    error_pattern: str = ""

    def __post_init__(self) -> None:
        where = f"agents.{self.name}"
        checked_program(f"{where}.argv", self.argv[0] if self.argv else "")
        checked_words(f"{where}.argv", self.argv)
        checked_environment(f"{where}.env", self.env)
        for word in self.argv:
            if "{prompt}" in word:
                raise UsageProblem(
                    f"{where}.argv: the prompt cannot be a word of the command line, it may be too long for one",
                    f"leave {word!r} out to give it on stdin, or set prompt: file and write {PROMPT_FILE}",
                )
        if self.prompt == "file" and not any(PROMPT_FILE in word for word in self.argv):
            raise UsageProblem(
                f"{where}.prompt is file, but no word of argv holds {PROMPT_FILE}",
                f"add {PROMPT_FILE} to argv, or set prompt: stdin",
            )
        for key, pattern in (("limit_pattern", self.limit_pattern), ("error_pattern", self.error_pattern)):
            self._check_pattern(f"{where}.{key}", pattern)

    def _check_pattern(self, where: str, pattern: str) -> None:
        if pattern and self.stream == "claude":
            raise UsageProblem(f"{where} has no meaning with stream: claude", "claude's stream tells errors itself")
        try:
            compiled(pattern)
        except (re.error, OverflowError, RecursionError) as trouble:
            hint = (
                "patterns are Python regular expressions; put a backslash before . ( ) [ ] * + ? to mean the character"
            )
            raise UsageProblem(f"{where}: {pattern!r} is no regular expression: {trouble}", hint) from None

    @property
    def program(self) -> str:
        return self.argv[0]

    def command(self, call: Call) -> Command:
        return Command(
            argv=tuple(
                word.replace(PROMPT_FILE, call.prompt_file).replace(MODEL, call.model)
                for word in (self.argv if call.model else self._without_model())
            ),
            env=self.env,
            prompt_as_file=self.prompt == "file",
        )

    def _without_model(self) -> list[str]:
        kept: list[str] = []
        for word in self.argv:
            if word == MODEL and len(kept) > 1 and kept[-1].startswith("-"):
                kept.pop()
            if MODEL not in word:
                kept.append(word)
        return kept

    def parser(self) -> Parser:
        if self.stream == "claude":
            return ClaudeStream()
        return TextStream(error=compiled(self.error_pattern), limit=compiled(self.limit_pattern))


def compiled(pattern: str) -> re.Pattern[str] | None:
    return re.compile(pattern, re.MULTILINE) if pattern else None
