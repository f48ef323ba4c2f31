"""What the engine needs from an agent, a source and the machine, as protocols and plain values."""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, Protocol

from msgspec import Struct

from ralphloop.core.event import Event
from ralphloop.core.story import Plan


class Command(Struct, frozen=True):
    """A program to start: nothing here is ever handed to a shell unless argv says so."""

    argv: tuple[str, ...]
    env: dict[str, str] = {}
    unset: tuple[str, ...] = ()
    prompt_as_file: bool = False  # argv names the prompt's file itself; stdin is empty


class Call(Struct, frozen=True):
    """What an agent is told about one attempt."""

    prompt_file: str
    prompt_size: int
    skip_permissions: bool = False
    allowed_tools: str = ""
    model: str = ""


class Finding(Struct, frozen=True):
    """One line of a preflight: what was looked at, how it stands, the lines below it, what to do."""

    level: Literal["ok", "warning", "error"]
    line: str
    details: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()


class Parser(Protocol):
    """Turns bytes of a stream into events; keeps a bounded rest; never raises on content."""

    def feed(self, data: bytes) -> Sequence[Event]: ...

    def close(self) -> Sequence[Event]:
        """The stream has ended: what its last bytes meant."""
        ...


class Agent(Protocol):
    """One agent CLI: how it is called and how its stream is read."""

    @property
    def name(self) -> str: ...

    @property
    def program(self) -> str:
        """What must be on PATH."""
        ...

    def command(self, call: Call) -> Command: ...

    def parser(self) -> Parser: ...


class Source(Protocol):
    """Where stories come from. Texts in, values out: the engine reads and writes the file itself."""

    @property
    def file(self) -> str:
        """Relative to the worktree, with slashes."""
        ...

    @property
    def companions(self) -> tuple[str, ...]:
        """Files that must stand beside it, by name."""
        ...

    def review(self, files: Mapping[str, bytes]) -> tuple[Finding, ...]:
        """The preflight of the content of `file` and its companions, by name."""
        ...

    def take(self, content: bytes) -> Plan:
        """Read stories; raises DamagedProblem naming file, line and what is wrong."""
        ...

    def settle(self, content: bytes, marks: dict[str, bool]) -> bytes:
        """The same file with these stories marked or unmarked and nothing else changed."""
        ...

    def heal(self, good: bytes, now: bytes) -> bytes:
        """`good` with every mark and note of `now` that still belongs to a story of it."""
        ...


Clock = Callable[[], float]
