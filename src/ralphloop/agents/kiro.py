"""Kiro CLI, from its maker's documentation, not run here: the prompt on stdin, plain text out."""

from typing import ClassVar

from msgspec import Struct

from ralphloop.agents.text_stream import TextStream
from ralphloop.agents.words import checked_cli
from ralphloop.core.ports import Call, Command, Parser, Traits

REFUSED = {
    "--resume": "every iteration is a session of its own",
    "-r": "every iteration is a session of its own",
    "--resume-id": "every iteration is a session of its own",
    "--no-interactive": "it is always given",
    "--trust-all-tools": "the run says whether permissions are skipped",
    "-a": "the run says whether permissions are skipped",
}


class Kiro(Struct, frozen=True, kw_only=True):
    """`kiro-cli chat`: settings and command line; whether it went well only its exit code tells."""

    traits: ClassVar[Traits] = Traits(
        folder=("", "~/.kiro"),
        variables=("KIRO_*", "AWS_*"),
        install="see the documentation of Kiro CLI",
    )

    name: str = "kiro"
    program: str = "kiro-cli"
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}

    def __post_init__(self) -> None:
        checked_cli(self.name, self.program, self.args, self.env, REFUSED)

    def command(self, call: Call) -> Command:
        argv = [self.program, "chat", "--no-interactive", *self.args]
        if call.skip_permissions:
            argv.append("--trust-all-tools")
        elif not any(word.partition("=")[0] == "--trust-tools" for word in self.args):
            argv.append("--trust-tools=fs_read,fs_write")
        if call.model:
            argv += ["--model", call.model]
        return Command(argv=tuple(argv), env=self.env)

    @staticmethod
    def parser() -> Parser:
        return TextStream()
