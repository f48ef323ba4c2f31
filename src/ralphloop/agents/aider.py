"""Aider, tried with 0.86.2: the prompt in a file, plain text out; it edits and commits, and runs no commands."""

from typing import ClassVar

from msgspec import Struct

from ralphloop.agents.aider_stream import AiderStream
from ralphloop.agents.words import checked_cli
from ralphloop.core.ports import Call, Command, Parser, Traits

PROMPT = "the prompt is given as a file"
REFUSED = {
    "--message": PROMPT,
    "--msg": PROMPT,
    "-m": PROMPT,
    "--message-file": PROMPT,
    "-f": PROMPT,
    "--gui": "nobody is there to look at it",
    "--browser": "nobody is there to look at it",
    "--watch-files": "it would never end",
    "--pretty": "its lines are read as plain text",
    "--stream": "its lines are read whole",
    "--restore-chat-history": "every iteration is a session of its own",
    "--no-git": "the loop counts what is committed",
    "--dry-run": "nothing would be changed",
}
# what `--yes-always` would say yes to: writing .gitignore, sending statistics, fetching the links of a prompt
UNASKED = (
    "--no-gitignore", "--no-analytics", "--no-detect-urls", "--disable-playwright", "--no-show-model-warnings",
    "--no-show-release-notes", "--no-check-update",
)  # fmt: skip


class Aider(Struct, frozen=True, kw_only=True):
    """`aider`: settings, command line and output."""

    traits: ClassVar[Traits] = Traits(
        counts_on=True,
        tried=("0.86.2",),
        tells=("tokens", "cost", "limits"),
        stdin=False,
        variables=(
            "AIDER_*",
            "LITELLM_*",
            "OPENAI_*",
            "ANTHROPIC_*",
            "GEMINI_*",
            "GOOGLE_*",
            "VERTEX*",
            "AZURE_*",
            "AWS_*",
            "OLLAMA_*",
            "*_API_KEY",
            "*_API_BASE",
        ),
        install="uv tool install aider-chat",
    )

    name: str = "aider"
    program: str = "aider"
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}

    def __post_init__(self) -> None:
        checked_cli(self.name, self.program, self.args, self.env, REFUSED)

    def command(self, call: Call) -> Command:
        argv = [self.program, "--message-file", call.prompt_file, "--yes-always", "--no-stream", "--no-pretty"]
        argv += [*UNASKED, *self.args]
        if call.model:
            argv += ["--model", call.model]
        # the web page that an error names would be opened
        return Command(argv=tuple(argv), env={"BROWSER": "true", **self.env}, prompt_as_file=True)

    @staticmethod
    def parser() -> Parser:
        return AiderStream()
