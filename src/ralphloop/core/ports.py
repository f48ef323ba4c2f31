"""What the engine needs from an agent, a source and the machine, as protocols and plain values."""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, Protocol, runtime_checkable

from msgspec import Struct

from ralphloop.core.event import Event, Fault, Tokens
from ralphloop.core.story import Plan


class Command(Struct, frozen=True):
    """A program to start: nothing here is ever handed to a shell unless argv says so."""

    argv: tuple[str, ...]
    env: dict[str, str] = {}
    unset: tuple[str, ...] = ()
    keep: tuple[str, ...] | None = None  # the variables it inherits, as patterns; None: all there are
    prompt_as_file: bool = False  # argv names the prompt's file itself; stdin is empty


class Call(Struct, frozen=True):
    """What an agent is told about one attempt."""

    prompt_file: str
    prompt_size: int
    skip_permissions: bool = False
    allowed_tools: str = ""
    model: str = ""
    max_cost: float | None = None  # dollars; agents that can hold it are told
    git_folders: tuple[str, ...] = (".git",)  # where commits are written; an agent's own sandbox must leave them open


Tells = Literal["end", "tokens", "cost", "limits"]


class Traits(Struct, frozen=True):
    """What is known of an agent CLI, whatever its settings."""

    tried: tuple[str, ...] = ()  # the versions it was run with; none: written from its maker's documentation
    tells: tuple[Tells, ...] = ()  # what its stream tells; one that tells its end and does not has failed
    stdin: bool = True  # it takes the prompt there
    caps_cost: bool = False  # it holds `max_cost` itself
    counts_on: bool = False  # its stream tells tokens while it works, so that it can be ended in time
    version: tuple[str, ...] = ("--version",)
    folder: tuple[str, str] = ("", "")  # the variable that moves its own folder, and where that lies otherwise
    # `NAME with OTHER`: only when OTHER is set
    variables: tuple[str, ...] = ()  # of the environment, as patterns: what it needs to find its model and account
    exits: Mapping[int, Fault] = {}  # what an exit code tells when the stream tells nothing
    install: str = ""  # how to get it


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


@runtime_checkable
class Dated(Protocol):
    """A Parser of an agent that tells a time of day and no day: what was written before is of its own day."""

    def written(self, at: float) -> None:
        """What is fed from now on was written at this moment."""
        ...


class Agent(Protocol):
    """One agent CLI: how it is called and how its stream is read."""

    @property
    def name(self) -> str: ...

    @property
    def program(self) -> str:
        """What must be on PATH."""
        ...

    @property
    def traits(self) -> Traits: ...

    def command(self, call: Call) -> Command: ...

    def parser(self) -> Parser: ...


class Meter(Protocol):
    """What agents used, when their streams do not tell."""

    def size(self, agent: str) -> int:
        """Bytes of the session files it has left for this worktree."""
        ...

    def recorded(self, agent: str, session: str, since: float) -> Tokens | None:
        """What those files say that a session has used."""
        ...

    def cost(self, model: str, tokens: Tokens) -> float | None:
        """Dollars; None for a model whose price is not known."""
        ...


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
