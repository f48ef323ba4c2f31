"""What the session files of agents hold: every answer of a model once, and how a reader of such files looks."""

from collections.abc import Mapping
from typing import Protocol

from msgspec import Struct

from ralphloop.core.event import Tokens


class Use(Struct, frozen=True, array_like=True, gc=False):
    """One answer of a model. `key` is the same wherever the answer is written down again."""

    key: int
    session: str
    project: str
    model: str
    at: float
    tokens: Tokens
    written_1h: int = 0  # the part of what was written into a cache that is kept for an hour
    cost: float | None = None  # when the file tells

    @property
    def size(self) -> tuple[int, int]:
        told = self.tokens
        return told.input + told.output + told.cache_read + told.cache_write, told.output


class Thread(Struct, frozen=True, array_like=True):
    """What a reader must know of the lines before, when a file is read in pieces."""

    session: str = ""
    project: str = ""
    model: str = ""
    total: Tokens = Tokens()  # of the session so far, where the file counts on
    exact: bool = False  # the file has a record for every answer; its other counts are left alone


class Taken(Struct, frozen=True):
    """What whole lines of a file gave. `unread` lines should have told something and could not be read."""

    uses: list[Use]
    thread: Thread
    unread: int = 0


class Reader(Protocol):
    """The session files of one agent: where they lie, and what a piece of one says. Text in, values out."""

    @property
    def name(self) -> str: ...

    @property
    def files(self) -> str:
        """The pattern of their names below a folder."""
        ...

    @property
    def query(self) -> str:
        """When the file is a database: what asks it for lines, each one text."""
        ...

    @property
    def project_file(self) -> str:
        """A file that holds the project's folder, seen from the session file; empty where its lines tell."""
        ...

    def folders(self, home: str, environment: Mapping[str, str]) -> tuple[str, ...]: ...

    def files_of(self, worktree: str) -> str:
        """The pattern of those that can be of sessions in this folder."""
        ...

    def take(self, lines: bytes, thread: Thread) -> Taken:
        """Whole lines in, in the order of the file; what repeats within them is one already."""
        ...

    def keep(self, before: Use, now: Use) -> Use:
        """Which of two records of the same answer holds."""
        ...


def larger(before: Use, now: Use) -> Use:
    """A stream's first records of an answer are too small; the one that has all of it is the largest."""
    return now if now.size > before.size else before


def last(before: Use, now: Use) -> Use:
    return now


def nothing(tokens: Tokens) -> bool:
    return tokens == Tokens()
