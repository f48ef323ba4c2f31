"""Any program as an agent: a command line from the configuration, plain text or claude's stream back."""

from typing import ClassVar, Literal

from msgspec import Struct

from ralphloop.agents.claude_stream import ClaudeStream
from ralphloop.agents.patterns import Patterns, PatternStream
from ralphloop.agents.text_stream import TextStream
from ralphloop.agents.words import checked_environment, checked_program, checked_words
from ralphloop.core.environment import OF_MODELS
from ralphloop.core.errors import UsageProblem
from ralphloop.core.ports import Call, Command, Parser, Traits

PROMPT_FILE = "{prompt_file}"
MODEL = "{model}"
PATTERNS = ("text", "tokens", "cost", "limit", "error")


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
    text_pattern: str = ""
    tokens_pattern: str = ""
    cost_pattern: str = ""
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
        if self.stream == "claude" and (told := next((kind for kind in PATTERNS if getattr(self._patterns, kind)), "")):
            raise UsageProblem(
                f"{where}.{told}_pattern has no meaning with stream: claude", "claude's stream tells all of it itself"
            )
        self._patterns.check(where)

    @property
    def _patterns(self) -> Patterns:
        return Patterns(
            self.text_pattern, self.tokens_pattern, self.cost_pattern, self.limit_pattern, self.error_pattern
        )

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
        return PatternStream(self._patterns) if self._patterns != Patterns() else TextStream()
