"""One session file: what it came to when it was last read, and that again with what it has gained since."""

import os
import time
from collections.abc import Iterable
from pathlib import Path

import msgspec
from msgspec import Struct

from ralphloop.core.buckets import Summing, Sums
from ralphloop.core.session_file import Reader, Thread, Use
from ralphloop.host.pieces import Pieces, mark, rows

RECENT = 6  # answers that can still get a line; one to an older answer has the file read anew
RACY = 2_000_000_000  # nanoseconds within which a second change may leave the same times behind
FOLDER_NAME_LIMIT = 64 << 10


class Stamp(Struct, frozen=True, array_like=True):
    """What the system says of a file; two files with the same one are the same, if it is not too young."""

    device: int
    inode: int
    size: int
    modified: int
    changed: int


class Entry(Struct, frozen=True, array_like=True):
    """One file as it was read."""

    path: bytes
    stamp: Stamp
    read_at: int
    offset: int = 0  # behind the last whole line
    mark: bytes = b""  # stands for what lies before it
    thread: Thread = Thread()
    unread: int = 0
    provisional: bool = False  # the last line had no end yet, and counts all the same
    keys: bytes = b""  # of all answers, 8 bytes each
    sums: Sums = Sums()
    recent: bytes = b""  # the last answers, packed: most runs need none of them

    @property
    def key_view(self) -> memoryview:
        return memoryview(self.keys).cast("Q")


_uses = msgspec.msgpack.Decoder(list[Use])


def stamp_of(path: bytes, reader: Reader, found: os.stat_result | None = None) -> Stamp:
    found = found or os.stat(path)  # noqa: PTH116
    stamp = Stamp(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    if not reader.query:
        return stamp
    try:
        log = os.stat(path + b"-wal")  # noqa: PTH116
    except OSError:
        return stamp
    newest = max(stamp.modified, log.st_mtime_ns), max(stamp.changed, log.st_ctime_ns)
    return Stamp(stamp.device, stamp.inode, stamp.size + log.st_size, *newest)


def settled(entry: Entry) -> bool:
    """Whether the same stamp means the same content."""
    return entry.read_at - max(entry.stamp.modified, entry.stamp.changed) > RACY


def same(one: Entry, other: Entry) -> bool:
    """Whether the file had the same in it both times."""
    known = bool(one.mark) and (one.mark, one.offset, one.keys) == (other.mark, other.offset, other.keys)
    return known and not one.provisional and not other.provisional


def read(path: bytes, reader: Reader, before: Entry | None = None) -> Entry:
    """The file as it stands now; what was read before is read again only when it may have become something else."""
    if reader.query:
        return _from_database(path, reader)
    now = time.time_ns()
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        stamp = stamp_of(path, reader, os.fstat(descriptor))
        if before is not None and _goes_on(before, stamp, descriptor):
            if before.stamp.size == stamp.size and before.offset == stamp.size:
                return msgspec.structs.replace(before, stamp=stamp, read_at=now)
            longer = _Reading(path, reader, descriptor, stamp).after(before, now)
            if longer is not None:
                return longer
        return _Reading(path, reader, descriptor, stamp).whole(now)
    finally:
        os.close(descriptor)


def _goes_on(before: Entry, stamp: Stamp, descriptor: int) -> bool:
    """Whether all that was read still stands at the beginning of the file."""
    same = (before.stamp.device, before.stamp.inode) == (stamp.device, stamp.inode)
    grown = same and stamp.size >= before.offset and not before.provisional
    return grown and mark(descriptor, before.offset) == before.mark


def uses(entry: Entry, reader: Reader) -> list[Use]:
    """Every answer of a file as far as it was read, from the file itself."""
    return all_uses(entry.path, reader, entry.stamp.size)


def all_uses(path: bytes, reader: Reader, end: int | None = None) -> list[Use]:
    """Every answer of a file, or of its first bytes."""
    if reader.query:
        return list(_merged(reader, Thread(), rows(path, reader))[0].values())
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        stamp = stamp_of(path, reader, os.fstat(descriptor))
        size = stamp.size if end is None else min(end, stamp.size)
        reading = _Reading(path, reader, descriptor, msgspec.structs.replace(stamp, size=size))
        return list(reading.all().values())
    finally:
        os.close(descriptor)


class _Reading:
    """A file that is open."""

    def __init__(self, path: bytes, reader: Reader, descriptor: int, stamp: Stamp) -> None:
        self.path, self.reader, self.descriptor, self.stamp = path, reader, descriptor, stamp
        self.thread = Thread(project=project_of(path, reader))
        self.unread = 0
        self.provisional = False
        self.offset = 0

    def all(self, start: int = 0) -> dict[int, Use]:
        """The answers after an offset."""
        pieces = Pieces(self.descriptor, start, self.stamp.size)
        found, self.thread, unread = _merged(self.reader, self.thread, pieces)
        self.unread += unread + pieces.dropped
        self.offset = pieces.offset
        if pieces.rest:
            # a line being written is no line yet, unless it is complete but for its end
            tail = self.reader.take(pieces.rest, self.thread)
            self.provisional = bool(tail.uses) and not tail.unread
            if self.provisional:
                _merge(self.reader, found, tail.uses)
        return found

    def whole(self, now: int) -> Entry:
        found = self.all()
        summing = Summing()
        for use in found.values():
            summing.add(use)
        return self._entry(now, _packed(found), summing.sums(), list(found.values()))

    def after(self, before: Entry, now: int) -> Entry | None:
        """What was known and what came after it; None when an old answer has changed."""
        self.thread, self.unread = before.thread, before.unread
        gained = self.all(before.offset)
        recent = {use.key: use for use in _uses.decode(before.recent)}
        known = gained.keys() & set(before.key_view)
        if not known <= recent.keys():
            return None
        summing = Summing(before.sums)
        for key, use in gained.items():
            if key in known:
                summing.add(recent[key], -1)
                use = self.reader.keep(recent[key], use)
            summing.add(use)
            recent[key] = use
        keys = before.keys + _packed(key for key in gained if key not in known)
        return self._entry(now, keys, summing.sums(), list(recent.values()))

    def _entry(self, now: int, keys: bytes, sums: Sums, last: list[Use]) -> Entry:
        return Entry(
            self.path,
            self.stamp,
            now,
            self.offset,
            mark(self.descriptor, self.offset),
            self.thread,
            self.unread,
            self.provisional,
            keys,
            sums,
            msgspec.msgpack.encode(last[-RECENT:]),
        )


def _from_database(path: bytes, reader: Reader) -> Entry:
    now, stamp = time.time_ns(), stamp_of(path, reader)
    found, thread, unread = _merged(reader, Thread(), rows(path, reader))
    summing = Summing()
    for use in found.values():
        summing.add(use)
    # provisional: it is always asked anew, a database knows no end of a file
    return Entry(path, stamp, now, 0, b"", thread, unread, True, _packed(found), summing.sums())


def _merged(reader: Reader, thread: Thread, pieces: Iterable[bytes]) -> tuple[dict[int, Use], Thread, int]:
    found: dict[int, Use] = {}
    unread = 0
    for piece in pieces:
        taken = reader.take(piece, thread)
        thread = taken.thread
        unread += taken.unread
        _merge(reader, found, taken.uses)
    return found, thread, unread


def _merge(reader: Reader, found: dict[int, Use], uses: Iterable[Use]) -> None:
    for use in uses:
        before = found.get(use.key)
        found[use.key] = use if before is None else reader.keep(before, use)


def _packed(keys: Iterable[int]) -> bytes:
    from array import array

    return array("Q", keys).tobytes()


def project_of(path: bytes, reader: Reader) -> str:
    if not reader.project_file:
        return ""
    try:
        with Path(os.fsdecode(path)).parent.joinpath(reader.project_file).open("rb") as stream:
            return stream.read(FOLDER_NAME_LIMIT).decode("utf-8", "replace").strip()
    except OSError:
        return ""
