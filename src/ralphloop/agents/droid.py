"""Factory's Droid, from its maker's documentation, not run here: the prompt in a file, a stream of JSON lines out."""

from typing import ClassVar

from msgspec import Struct

from ralphloop.agents.droid_stream import DroidStream
from ralphloop.agents.words import checked_cli
from ralphloop.core.ports import Call, Command, Parser, Traits

PERMISSIONS = "the run says whether permissions are skipped"
REFUSED = {
    "--session-id": "every iteration is a session of its own",
    "-s": "every iteration is a session of its own",
    "--output-format": "the loop reads stream-json",
    "-o": "the loop reads stream-json",
    "--input-format": "the prompt is given as text",
    "--file": "the prompt is given there",
    "-f": "the prompt is given there",
    "--cwd": "the agent works in the worktree of the run",
    "--skip-permissions-unsafe": PERMISSIONS,
}


class Droid(Struct, frozen=True, kw_only=True):
    """`droid exec`: settings, command line and stream; its middle level of autonomy may edit and commit, not push."""

    traits: ClassVar[Traits] = Traits(
        tells=("end",),
        stdin=False,
        folder=("", "~/.factory"),
        variables=("FACTORY_*",),
        install="see the documentation of Factory CLI",
    )

    name: str = "droid"
    program: str = "droid"
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}

    def __post_init__(self) -> None:
        checked_cli(self.name, self.program, self.args, self.env, REFUSED)

    def command(self, call: Call) -> Command:
        argv = [self.program, "exec", "--output-format", "stream-json", *self.args]
        if not any(word.partition("=")[0] == "--auto" for word in self.args):
            argv += ["--auto", "high" if call.skip_permissions else "medium"]
        if call.model:
            argv += ["--model", call.model]
        return Command(argv=(*argv, "--file", call.prompt_file), env=self.env, prompt_as_file=True)

    @staticmethod
    def parser() -> Parser:
        return DroidStream()
