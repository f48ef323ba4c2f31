"""Goose, from its maker's documentation, not run here: the prompt on stdin, plain text out."""

from typing import ClassVar

from msgspec import Struct

from ralphloop.agents.text_stream import TextStream
from ralphloop.agents.words import checked_cli
from ralphloop.core.ports import Call, Command, Parser, Traits

REFUSED = {
    "--resume": "every iteration is a session of its own",
    "-r": "every iteration is a session of its own",
    "--interactive": "nobody is there to talk to",
    "-s": "nobody is there to talk to",
    "--instructions": "the prompt is given on stdin",
    "-i": "the prompt is given on stdin",
    "--text": "the prompt is given on stdin",
    "-t": "the prompt is given on stdin",
    "--recipe": "the prompt is given on stdin",
}


class Goose(Struct, frozen=True, kw_only=True):
    """`goose run`: settings and command line; whether it went well only its exit code tells."""

    traits: ClassVar[Traits] = Traits(
        folder=("", "~/.config/goose"),
        variables=("GOOSE_*", "*_API_KEY", "OPENAI_*", "ANTHROPIC_*", "GOOGLE_*", "AZURE_*", "AWS_*", "OLLAMA_*"),
        install="see the documentation of goose",
    )

    name: str = "goose"
    program: str = "goose"
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}

    def __post_init__(self) -> None:
        checked_cli(self.name, self.program, self.args, self.env, REFUSED)

    def command(self, call: Call) -> Command:
        argv = [self.program, "run", "--no-session", *self.args]
        if call.model:
            argv += ["--model", call.model]
        mode = {"GOOSE_MODE": "auto" if call.skip_permissions else "smart_approve"}
        return Command(argv=(*argv, "-i", "-"), env={**mode, **self.env})

    @staticmethod
    def parser() -> Parser:
        return TextStream()
