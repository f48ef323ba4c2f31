"""Cursor's agent, from its maker's documentation, not run here: the prompt on stdin, a stream of JSON lines out."""

from typing import ClassVar

from msgspec import Struct

from ralphloop.agents.cursor_stream import CursorStream
from ralphloop.agents.words import checked_cli
from ralphloop.core.ports import Call, Command, Parser, Traits

REFUSED = {
    "--resume": "every iteration is a session of its own",
    "--continue": "every iteration is a session of its own",
    "--output-format": "the loop reads stream-json",
    "--stream-partial-output": "the loop reads whole messages",
    "--background": "the loop waits for the session it starts",
    "-b": "the loop waits for the session it starts",
    "--force": "the run says whether permissions are skipped",
    "-f": "the run says whether permissions are skipped",
}


class Cursor(Struct, frozen=True, kw_only=True):
    """`cursor-agent -p`: settings, command line and stream; without `--force` its own permissions hold."""

    traits: ClassVar[Traits] = Traits(
        tells=("end",),
        folder=("CURSOR_CONFIG_DIR", "~/.cursor"),
        variables=("CURSOR_*",),
        install="see the documentation of Cursor CLI",
    )

    name: str = "cursor"
    program: str = "cursor-agent"
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}

    def __post_init__(self) -> None:
        checked_cli(self.name, self.program, self.args, self.env, REFUSED)

    def command(self, call: Call) -> Command:
        argv = [self.program, "-p", "--output-format", "stream-json", *self.args]
        if call.skip_permissions:
            argv.append("--force")
        if call.model:
            argv += ["--model", call.model]
        return Command(argv=tuple(argv), env=self.env)

    @staticmethod
    def parser() -> Parser:
        return CursorStream()
