"""Amp, from its maker's documentation, not run here: the prompt on stdin, claude's stream out."""

from typing import ClassVar

from msgspec import Struct

from ralphloop.agents.claude import Claude
from ralphloop.agents.words import checked_cli
from ralphloop.core.errors import UsageProblem
from ralphloop.core.ports import Call, Command, Traits

REFUSED = {
    "--stream-json-input": "the prompt is given as text",
    "--stream-json": "it is always given",
    "--execute": "it is always given",
    "-x": "it is always given",
    "threads": "every iteration is a session of its own",
    "--dangerously-allow-all": "the run says whether permissions are skipped",
}


class Amp(Struct, frozen=True, kw_only=True):
    """`amp -x`: settings and command line. It chooses its models itself."""

    traits: ClassVar[Traits] = Traits(
        tells=("end",),
        folder=("", "~/.config/amp"),
        variables=("AMP_*",),
        install="npm install -g @sourcegraph/amp",
    )

    name: str = "amp"
    program: str = "amp"
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}

    def __post_init__(self) -> None:
        checked_cli(self.name, self.program, self.args, self.env, REFUSED)

    def command(self, call: Call) -> Command:
        if call.model:
            raise UsageProblem(f"agents.{self.name}: amp cannot be told a model", "leave the model out for this agent")
        skip = ("--dangerously-allow-all",) if call.skip_permissions else ()
        return Command(argv=(self.program, "-x", "--stream-json", *skip, *self.args), env=self.env)

    parser = staticmethod(Claude.parser)
