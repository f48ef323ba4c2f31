"""The session files that agents leave on disk, read once and then only what they gained, each answer counted once."""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from ralphloop.core.buckets import SLOT, Bucket, Portion, Who
from ralphloop.core.session_file import Reader, Use
from ralphloop.host import crew, doubles, glance, session_file, session_folders, session_index
from ralphloop.host.session_file import Entry, Stamp
from ralphloop.host.session_index import Index

FAR = 1e12  # seconds
WORTH_A_PROCESS = 48 << 20  # bytes to read


class Shelf(Struct, frozen=True):
    """Where the session files of one agent lie; `within` is the only folder below them whose files are to count."""

    reader: Reader
    folders: tuple[str, ...]
    within: str = ""

    @property
    def places(self) -> list[str]:
        """Each folder once, though they may be links to one another."""
        return list(dict.fromkeys(os.path.realpath(folder) for folder in self.folders))

    @property
    def counted(self) -> tuple[bytes, ...]:
        """How the paths begin of files that count."""
        return tuple(os.fsencode(f"{place}/{self.within}/" if self.within else place) for place in self.places)


class Trouble(Struct, frozen=True):
    """A file that could not be read, or lines of it."""

    path: str
    why: str
    lines: int = 0


class Sessions(Struct):
    """All that was found."""

    found: list[tuple[Shelf, Index]]
    troubles: list[Trouble]

    @property
    def files(self) -> int:
        return sum(1 for _ in self.entries())

    def entries(self) -> Iterator[tuple[Shelf, Entry]]:
        for shelf, index in self.found:
            counted = shelf.counted
            for path, entry in index.entries.items():
                if path.startswith(counted):
                    yield shelf, entry

    def portions(
        self, since: float = 0, until: float = float("inf"), split: Callable[[int], str] | None = None
    ) -> Iterator[Portion]:
        """What was used between two moments. A slot that a moment cuts is read anew from the file, to the second."""
        first, end = -int(-since // SLOT), int(min(until, FAR) // SLOT)
        cut = {int(at // SLOT) for at in (since, min(until, FAR)) if at % SLOT}
        lost = {path: uses for _, index in self.found for path, uses in doubles.lost(index).items()}
        for shelf, entry in self.entries():
            agent = shelf.reader.name
            for who, bucket in entry.sums.buckets(first, end, split):
                yield Portion(agent, who, bucket)
            for use in lost.get(entry.path, ()):
                if since <= use.at < until:
                    yield _portion(agent, use, -1)
            if cut and not cut.isdisjoint(entry.sums.slots):
                yield from self._of_slots(cut, shelf.reader, entry, since, until)

    def _of_slots(self, slots: set[int], reader: Reader, entry: Entry, since: float, until: float) -> Iterator[Portion]:
        try:
            uses = session_file.uses(entry, reader)
        except OSError as error:
            self.troubles.append(_trouble(entry.path, error))
            return
        for use in uses:
            if since <= use.at < until and use.at // SLOT in slots:
                yield _portion(reader.name, use, 1)


def look(shelves: Sequence[Shelf], cache: Path | None) -> Sessions:
    """Read what there is. `cache` is a folder in which to keep what was read."""
    sessions = Sessions([], [])
    for shelf in shelves:
        sessions.found.append((shelf, _read(shelf, cache, sessions.troubles)))
    sessions.troubles += [_unread(entry) for _, entry in sessions.entries() if entry.unread]
    return sessions


def _read(shelf: Shelf, cache: Path | None, troubles: list[Trouble]) -> Index:
    """Other folders have an index of their own: what is missing here is not gone there."""
    reader = shelf.reader
    name = glance.digest(repr(shelf.places).encode("utf-8", "surrogateescape"))
    path = cache / f"{reader.name}-{name}" if cache is not None else None
    index = session_index.load(path) if path is not None else Index()
    touched, changed = _refresh(shelf, index, troubles)
    if changed:
        doubles.find(index, changed, reader, lambda path, error: troubles.append(_trouble(path, error)))
    if path is not None and (touched or changed):
        session_index.save(path, index)
    return index


class _Answer(Struct, array_like=True):
    """What became of a file; nothing when it has gone in the meantime."""

    entry: Entry | None = None
    trouble: Trouble | None = None


_answers = msgspec.msgpack.Decoder(_Answer)


def _refresh(shelf: Shelf, index: Index, troubles: list[Trouble]) -> tuple[bool, set[bytes]]:
    """Bring the entries up to date: whether any was touched, and which are not what they were."""
    reader, before = shelf.reader, index.entries
    now: dict[bytes, Entry] = {}
    jobs: list[tuple[bytes, Entry | None]] = []
    sizes: list[int] = []
    for path, stamp in _listed(shelf, troubles):
        known = before.get(path)
        if known is not None and known.stamp == stamp and session_file.settled(known):
            now[path] = known
        else:
            jobs.append((path, known))
            sizes.append(max(0, stamp.size - (known.offset if known is not None else 0)))
    answers = crew.shared_out(jobs, sizes, lambda job: _answer(reader, *job), worth=WORTH_A_PROCESS)
    changed = set[bytes]()
    for (path, known), content in zip(jobs, answers, strict=True):
        answer = _answers.decode(content)
        if answer.entry is not None:
            now[path] = answer.entry
            if known is None or not session_file.same(known, answer.entry):
                changed.add(path)
        elif answer.trouble is not None:
            troubles.append(answer.trouble)
    index.entries = now
    return bool(jobs), changed | (before.keys() - now.keys())


def _listed(shelf: Shelf, troubles: list[Trouble]) -> Iterator[tuple[bytes, Stamp]]:
    for folder in shelf.places:
        complain = _complaining(troubles, folder)
        for entry in session_folders.found(folder, shelf.reader.files, complain):
            try:
                path = os.fsencode(entry.path)
                yield path, session_file.stamp_of(path, shelf.reader, entry.stat())
            except FileNotFoundError:
                continue
            except OSError as error:
                complain(error)


def _complaining(troubles: list[Trouble], folder: str) -> Callable[[OSError], object]:
    return lambda error: troubles.append(_trouble(os.fsencode(error.filename or folder), error))


def _answer(reader: Reader, path: bytes, before: Entry | None) -> bytes:
    try:
        return msgspec.msgpack.encode(_Answer(session_file.read(path, reader, before)))
    except FileNotFoundError:
        return msgspec.msgpack.encode(_Answer())
    except OSError as error:
        return msgspec.msgpack.encode(_Answer(None, _trouble(path, error)))


def _trouble(path: bytes, error: OSError) -> Trouble:
    return Trouble(path.decode("utf-8", "replace"), error.strerror or str(error))


def _unread(entry: Entry) -> Trouble:
    return Trouble(
        entry.path.decode("utf-8", "replace"), "some lines that should tell what was used cannot be read", entry.unread
    )


def _portion(agent: str, use: Use, sign: int) -> Portion:
    slot = int(use.at // SLOT)
    bucket = Bucket(slot, slot)
    bucket.add(use, sign)
    return Portion(agent, Who(use.session, use.project, use.model, use.cost is not None), bucket)
