"""What was used, by the session files of every agent on this machine."""

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import get_args

from msgspec import Struct

from ralphloop.agents.sessions.table import CLAUDE, READERS
from ralphloop.core.buckets import SLOT, Who
from ralphloop.core.errors import Problem, UsageProblem
from ralphloop.core.period import day
from ralphloop.core.price import TABLE, Price
from ralphloop.core.session_file import Reader
from ralphloop.core.usage import By, Row, grouped, summed
from ralphloop.host import glance
from ralphloop.host.capacity import capacity as capacity
from ralphloop.host.files import make_private, read
from ralphloop.host.sessions import Shelf, Trouble, look

Key = Callable[[str, Who, int], str]
ELSEWHERE = "(not started by ralph)"
UNKNOWN = "(unknown)"
NOBODY = Who("", "", "", False)
WAYS = get_args(By)
LARGEST = 256 << 10  # bytes of a configuration


class Usage(Struct, frozen=True):
    """`until` is None for now and all that is to come. What could not be read stands in `troubles`."""

    since: float
    until: float | None
    by: By
    rows: tuple[Row, ...]
    total: Row
    files: int
    folders: tuple[str, ...]
    troubles: tuple[Trouble, ...] = ()

    @property
    def whole(self) -> bool:
        """Whether every file could be read; lines that could not are told, but hide no file."""
        return all(trouble.lines for trouble in self.troubles)


def usage(since: float = 0, until: float | None = None, by: By = "day", folder: str = ".") -> Usage:
    """Tokens and cost between two moments (seconds since 1970), grouped; `folder` says whose prices hold."""
    if by not in WAYS:
        raise UsageProblem(f"usage cannot be told by {by!r:.40}", f"known are {', '.join(WAYS)}")
    return of_shelves(shelves(), since, until, by, prices(folder))


def of_claude(since: float, project: str = "", folder: str = ".") -> Usage:
    """What Claude Code alone has used; `project` is a folder below its `projects`."""
    if "/" in project or project in (".", ".."):
        raise UsageProblem(f"{project:.80} is not the name of a folder", "`ls ~/.claude/projects` shows them")
    (shelf,) = shelves((CLAUDE,))
    return of_shelves(
        [Shelf(shelf.reader, shelf.folders, f"projects/{project}" if project else "")],
        since,
        None,
        "model",
        prices(folder),
    )


def shelves(readers: tuple[Reader, ...] = READERS) -> list[Shelf]:
    home = glance.user_home()
    return [Shelf(reader, reader.folders(home, os.environ)) for reader in readers]


def of_shelves(
    found: list[Shelf], since: float, until: float | None, by: By = "day", costs: Mapping[str, Price] = TABLE
) -> Usage:
    troubles: list[Trouble] = []
    with suppress(OSError):  # without an index it takes longer
        make_private(Path(glance.home()))
    sessions = look(found, Path(glance.home(), "cache", "usage"))
    key = _key(by, troubles)
    split = (lambda slot: key("", NOBODY, slot)) if by == "day" else None
    portions = sessions.portions(since, float("inf") if until is None else until, split)
    rows = grouped(portions, key, costs)
    rows.sort(key=lambda row: (row.key,) if by == "day" else (-row.all_tokens, row.key))
    folders = tuple(folder for shelf in found for folder in shelf.folders)
    told = (*sessions.troubles, *troubles)
    return Usage(since, until, by, tuple(rows), summed(rows), sessions.files, folders, told)


def prices(folder: str = ".") -> Mapping[str, Price]:
    """The table, and what is configured: a configuration that tells no prices is not even read as one."""
    worktree = glance.worktree_of(folder)
    files = [Path(glance.home(), "config.yaml")]
    files += [Path(worktree, ".ralph", "config.yaml")] if worktree is not None else []
    if not any(_tells_prices(file) for file in files):
        return TABLE
    from ralphloop.config import load

    return load(files[0].parent, Path(worktree) if worktree is not None else None).prices


def _tells_prices(file: Path) -> bool:
    try:
        return b"prices" in (read(file, LARGEST) or b"")
    except Problem:
        return True  # loading it says what is the matter


def _key(by: By, troubles: list[Trouble]) -> Key:
    match by:
        case "day":
            days: dict[int, str] = {}
            return lambda agent, who, slot: days.get(slot) or days.setdefault(slot, day(slot * SLOT))
        case "session":
            return lambda agent, who, slot: who.session or UNKNOWN
        case "model":
            return lambda agent, who, slot: who.model or UNKNOWN
        case "project":
            return lambda agent, who, slot: who.project or UNKNOWN
        case "agent":
            return lambda agent, who, slot: agent
    known = _runs(troubles)
    at = 0 if by == "run" else 1
    return lambda agent, who, slot: known[who.session][at] if who.session in known else ELSEWHERE


def _runs(troubles: list[Trouble]) -> dict[str, tuple[str, str]]:
    """By session: the run it belonged to, and the story."""
    from ralphloop.core.record import Attempted, Begun, Started
    from ralphloop.core.wording import labelled
    from ralphloop.host import journal
    from ralphloop.host.places import Home

    found: dict[str, tuple[str, str]] = {}
    for run in Home.usual().runs():
        feature = story = ""
        try:
            for record in journal.read(run.journal):
                if isinstance(record, Started):
                    feature = record.feature
                elif isinstance(record, Begun):
                    story = f"{feature}: {labelled(record.story, record.title) or 'no story'}"
                elif isinstance(record, Attempted) and record.attempt.session:
                    found[record.attempt.session] = run.name, story
        except Problem as problem:
            troubles.append(Trouble(str(run.journal), problem.message))
    return found
