"""An agent that does what a file says: for tests, demonstrations, and trying a setup without a model."""

import sys
from pathlib import Path
from typing import ClassVar

from msgspec import Struct

from ralphloop.agents.claude import Claude
from ralphloop.agents.words import checked_program, checked_words
from ralphloop.core.ports import Call, Command, Traits

PLAYER = Path(__file__).parent.parent / "templates" / "scripted_agent.py"


class Scripted(Struct, frozen=True, kw_only=True):
    """Plays a script of actions, JSON or YAML; it speaks claude's stream."""

    traits: ClassVar[Traits] = Traits(tells=("end", "tokens", "cost", "limits"))
    name: str = "scripted"
    script: str

    def __post_init__(self) -> None:
        checked_program(f"agents.{self.name}.script", self.script)
        checked_words(f"agents.{self.name}.script", (self.script,))

    @property
    def program(self) -> str:
        return sys.executable

    def command(self, call: Call) -> Command:
        return Command(argv=(self.program, "-I", str(PLAYER), self.script))

    parser = staticmethod(Claude.parser)
