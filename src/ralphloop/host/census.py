"""Every process of the machine at one moment, and what there is to be read about where each comes from."""

import os
import time
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from ralphloop.host import brand

MARK = "RALPH_MARK"
PROC = "/proc"
LONGEST = 160  # characters of a command line that are shown


class Row(Struct, frozen=True):
    """One process as the system lists it."""

    pid: int
    start: int
    parent: int
    group: int
    session: int
    state: str
    threads: int = 1

    @property
    def key(self) -> tuple[int, int]:
        """A pid comes again; a pid with its start does not."""
        return self.pid, self.start

    @property
    def living(self) -> bool:
        """A dead first thread with others still running is a living process."""
        return self.state not in "ZXx" or self.threads > 1


def read_bounded(path: str, limit: int = 8 << 20) -> bytes:
    """A file under /proc; empty when it is gone or not ours to read."""
    found = bytearray()
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        while len(found) < limit and (data := os.read(file, 64 << 10)):
            found += data
    except OSError:
        return b""
    finally:
        os.close(file)
    return bytes(found)


def read_row(pid: int) -> Row | None:
    """What /proc says of a process; None when there is none, or no /proc."""
    data = read_bounded(f"{PROC}/{pid}/stat")
    fields = data[data.rfind(b")") + 2 :].split(None, 20)
    if len(fields) < 20:
        return None
    return Row(
        pid=pid,
        start=int(fields[19]),
        parent=int(fields[1]),
        group=int(fields[2]),
        session=int(fields[3]),
        state=fields[0].decode("ascii", "replace"),
        threads=int(fields[17]),
    )


def start_time(pid: int) -> str:
    """When a process began, in ticks since boot; empty when unknown."""
    row = read_row(pid)
    return str(row.start) if row else ""


def alive(pid: int, start: str) -> bool:
    """Is it still that process? With an unknown start any process of this pid counts."""
    if pid <= 0:
        return False
    row = read_row(pid)
    if row:
        return row.living and start in ("", str(row.start))
    if has_proc():
        return False
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True


class Evidence(Struct, frozen=True):
    """The mark a process inherited and the files it writes to."""

    readable: bool  # a process that is just ending has neither environment nor program any more
    mark: str
    files: frozenset[str]


class Census:
    """Every process of the machine at one moment."""

    def __init__(self) -> None:
        self.at = time.monotonic()
        self.rows: dict[int, Row] = {}
        self.children: defaultdict[int, list[Row]] = defaultdict(list)
        self.sessions: defaultdict[int, list[Row]] = defaultdict(list)
        self.whole = True  # no process vanished between being listed and being read
        self._evidence: dict[int, Evidence] = {}
        self._brands: dict[int, int] = {}
        us, session = os.getpid(), os.getsid(0)
        with os.scandir(PROC) as entries:
            pids = [int(entry.name) for entry in entries if entry.name.isdecimal()]
        for row in map(read_row, reversed(pids)):  # the newest first: they are the first to be gone
            if row:
                self.rows[row.pid] = row
                self.children[row.parent].append(row)
                self.sessions[row.session].append(row)
                if row.parent == us and row.living and row.session not in (session, *CHILDREN):
                    self.brand(row.pid)
                    self.evidence(row.pid)  # now, for an orphan may live no longer than this look takes
            else:
                self.whole = False

    def evidence(self, pid: int) -> Evidence:
        """What there is to be read about where a process comes from."""
        if pid not in self._evidence:
            environment = read_bounded(f"{PROC}/{pid}/environ")
            entries = (b"\0" + environment).split(f"\0{MARK}=".encode(), 1)[1:]
            mark = entries[0].split(b"\0", 1)[0].decode("utf-8", "replace") if entries else ""
            files = set()
            for number in (1, 2):
                with suppress(OSError):
                    files.add(os.readlink(f"{PROC}/{pid}/fd/{number}"))  # noqa: PTH115
            readable = bool(environment) or _has_program(pid)
            self._evidence[pid] = Evidence(readable, mark, frozenset(files))
        return self._evidence[pid]

    def brand(self, pid: int) -> int:
        """What number it was handed down."""
        if pid not in self._brands:
            self._brands[pid] = brand.read(pid, read_bounded(f"{PROC}/{pid}/limits"))
        return self._brands[pid]

    def ancestors(self) -> set[int]:
        """This process and those it came from."""
        found, pid = set[int](), os.getpid()
        while pid in self.rows and pid not in found:
            found.add(pid)
            pid = self.rows[pid].parent
        return found


_latest: Census | None = None
CHILDREN: set[int] = set()  # those of all families of this process


def census(max_age: float = 0) -> Census:
    """A look at the machine; many loops in one process share one that is young enough."""
    global _latest
    if _latest is None or time.monotonic() - _latest.at >= max_age:
        _latest = Census()
    return _latest


def has_proc() -> bool:
    return Path(PROC, "self").exists()


def is_within(pid: int, folder: str) -> bool:
    """Whether its current folder is this one or lies in it."""
    with suppress(OSError):
        return Path(PROC, str(pid), "cwd").readlink().is_relative_to(folder)
    return False


def _has_program(pid: int) -> bool:
    with suppress(OSError):
        return bool(os.readlink(f"{PROC}/{pid}/exe"))  # noqa: PTH115
    return False


def describe(row: Row) -> str:
    """Its command line; empty when it is just ending."""
    if row.pid == 0:
        return f"process group {row.group}"
    words = read_bounded(f"{PROC}/{row.pid}/cmdline", 4096).replace(b"\0", b" ").decode("utf-8", "replace").strip()
    text = "".join(letter if letter.isprintable() else " " for letter in words)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
