"""The object files of a repository and our copies of them: what is new is copied, damage and loss are noticed."""

import os
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from ralphloop.host import object_file
from ralphloop.host.object_file import Print, check_for, copy, is_whole, print_of, same_ends
from ralphloop.host.object_log import Entry, ObjectLog

NEWEST, OTHERS = 96, 192  # so many files are looked at each time: the newest always, the others in turn
SETTLED = 20_000_000  # nanoseconds: a folder that changed just now may change again and have the same time
SMALL = 256 << 10  # objects up to this size are linked, and their copy stands in the log
MANY = 200  # entries of the log that are held until they are written
KINDS = (".pack", ".idx", ".promisor")  # git makes anew what else it keeps beside a pack


class Found(Struct, frozen=True):
    """Files by their names below the folder of objects."""

    damaged: tuple[str, ...] = ()  # there, and not what they should be
    gone: tuple[str, ...] = ()  # among our copies only

    def __bool__(self) -> bool:
        return bool(self.damaged or self.gone)


class Copies:
    """The object files in one folder, and those in another that is ours."""

    def __init__(self, source: str, target: str) -> None:
        self.source, self.target = source, target
        self.harmless: set[str] = set()  # gone, and found to be needed by nothing
        self._alike: dict[str, int] = {}  # the time of change of each folder when both were found alike
        self._prints: dict[str, Print] = {}
        self._log = ObjectLog(Path(target).with_name("objects.log"))
        self._new: list[Entry] = []
        self._learnt = self._all_looked_at = False
        self._turn = 0

    def take(self) -> Found:
        """Copy what is new and whole; a folder's time of change, set alike, says that nothing came or went since."""
        self._learn()
        damaged, gone = list[str](), list[str]()
        for folder in self._changed():
            here, there = f"{self.source}/{folder}", f"{self.target}/{folder}"
            changed = _time(here)
            if not _time(there):
                os.makedirs(there, exist_ok=True)  # noqa: PTH103
            present, kept = _names(here), _names(there)
            # an index last: a pack without its index is no pack, an index without its pack is damage
            new = sorted(present - kept, key=lambda name: name.endswith(".idx"))
            damaged += [f"{folder}/{name}" for name in new if not self._take(f"{folder}/{name}")]
            gone += [f"{folder}/{name}" for name in sorted(kept - present)]
            if changed and time.time_ns() - changed > SETTLED and _names(there) == present:
                os.utime(there, ns=(changed, changed))
                self._alike[folder] = changed
        self._write_down()
        return Found(tuple(damaged), tuple(name for name in gone if name not in self.harmless))

    def damaged(self, *, all_of_them: bool = False) -> tuple[str, ...]:
        """Those that are no longer what they were: some are looked at, and all once one was found."""
        all_of_them = all_of_them or not self._all_looked_at
        self._all_looked_at = True
        names = list(self._prints)
        chosen = names if all_of_them else [*names[-NEWEST:], *names[self._turn : self._turn + OTHERS]]
        self._turn = self._turn + OTHERS if self._turn + OTHERS < len(names) else 0
        found = tuple(name for name in dict.fromkeys(chosen) if self._is_damaged(name))
        return self.damaged(all_of_them=True) if found and not all_of_them else found

    def make_whole(self) -> None:
        """Our files themselves, where one was linked and was damaged with the other."""
        self._learn()
        odd = {name for name, known in self._prints.items() if self._is_odd(name, known)}
        for entry in self._log.entries() if odd else ():
            if entry.name in odd:
                object_file.write(entry.content, entry.print[1], f"{self.target}/{entry.name}")

    def put_back(self, name: str) -> bool:
        """Write the file anew from ours; False when ours is not whole or something is in the way."""
        here, ours = f"{self.source}/{name}", f"{self.target}/{name}"
        with suppress(OSError):
            if (copied := copy(name, ours, here)) is not None:
                self._prints[name] = copied
                return True
        if not is_whole(name, ours):
            self._forget(name)
        return False

    def forget(self, names: Iterable[str]) -> None:
        """They are kept no longer."""
        for name in names:
            self._forget(name)
        self._log.keep_only(set(self._prints))

    def _forget(self, name: str) -> None:
        with suppress(FileNotFoundError):
            os.unlink(f"{self.target}/{name}")  # noqa: PTH108
        self._prints.pop(name, None)
        self.harmless.discard(name)

    def _changed(self) -> Iterator[str]:
        """The folders in which something came or went since both were found alike."""
        for folder in {*_folders(self.source), *_folders(self.target)}:
            changed = _time(f"{self.source}/{folder}")
            if changed and changed == self._alike.get(folder):
                continue
            if changed and changed == _time(f"{self.target}/{folder}"):
                self._alike[folder] = changed
                continue
            yield folder

    def _take(self, name: str) -> bool:
        """False when it is damaged."""
        here, ours = f"{self.source}/{name}", f"{self.target}/{name}"
        if name.endswith(".idx") and not os.path.exists(f"{ours[:-4]}.pack"):  # noqa: PTH110
            return True
        try:
            copied = copy(name, here, ours) if name.startswith("pack/") else self._link(name, here, ours)
        except FileNotFoundError:  # it went while we looked
            return True
        if copied is not None:
            self._prints[name] = copied
        return copied is not None

    def _link(self, name: str, here: str, ours: str) -> Print | None:
        """A link and a copy in the log; a copy alone of what is larger or cannot be linked. None when it is damaged."""
        found = object_file.read(here, SMALL)
        if found is None:
            return copy(name, here, ours)
        content, known = found
        check = check_for(name)
        check.feed(content)
        if not check.whole():
            return None
        try:
            os.link(here, ours)
        except FileNotFoundError:
            raise
        except OSError:
            return copy(name, here, ours)
        self._new.append(Entry(name, known, content))
        if len(self._new) == MANY:
            self._write_down()
        return known

    def _write_down(self) -> None:
        if self._new:
            self._log.append(self._new)
            self._new.clear()

    def _learn(self) -> None:
        """How they were when they were taken, by an earlier runner perhaps."""
        if self._learnt:
            return
        self._prints = {entry.name: entry.print for entry in self._log.entries()}
        for folder in sorted(_folders(self.target), key=lambda folder: _time(f"{self.target}/{folder}")):
            for name in _names(f"{self.target}/{folder}"):
                if f"{folder}/{name}" not in self._prints:
                    self._learn_of(f"{folder}/{name}")
        self._learnt = True

    def _learn_of(self, name: str) -> None:
        """A copy has the time of what it was made from; a link that is not in the log was left by a runner's death."""
        ours = f"{self.target}/{name}"
        with suppress(OSError):
            found = os.stat(ours)  # noqa: PTH116
            self._prints[name] = found.st_size, found.st_mtime_ns
            if found.st_nlink > 1 and found.st_size <= object_file.LARGEST_COPY:
                copy(name, ours, ours)

    def _is_damaged(self, name: str) -> bool:
        here, known = f"{self.source}/{name}", self._prints[name]
        try:
            now = print_of(here)
        except (FileNotFoundError, NotADirectoryError):  # that is told by the folder
            return False
        if now == known:
            return False
        # git sets the time anew when it would have written the same again
        same = now[0] == known[0] and name.startswith("pack/") and same_ends(here, f"{self.target}/{name}")
        if same or is_whole(name, here):
            self._prints[name] = now
            return False
        return True

    def _is_odd(self, name: str, known: Print) -> bool:
        with suppress(OSError):
            return print_of(f"{self.target}/{name}") != known and not is_whole(name, f"{self.target}/{name}")
        return True


def fill(source: str, target: str) -> None:
    """Copy every file that is not there."""
    for folder in _folders(source):
        here, there = f"{source}/{folder}", f"{target}/{folder}"
        os.makedirs(there, exist_ok=True)  # noqa: PTH103
        for name in sorted(_names(here) - _names(there), key=lambda name: name.endswith(".idx")):
            with suppress(OSError):
                copy(f"{folder}/{name}", f"{here}/{name}", f"{there}/{name}")


def _time(folder: str) -> int:
    """When something came or went in it; 0 when it is no folder."""
    try:
        found = os.stat(folder)  # noqa: PTH116 - for each of 256 folders, in every iteration
    except OSError:
        return 0
    return found.st_mtime_ns if stat.S_ISDIR(found.st_mode) else 0


def _folders(objects: str) -> list[str]:
    return [name for name in _listed(objects) if len(name) == 2 or name == "pack"]


def _names(folder: str) -> set[str]:
    names = (name for name in _listed(folder) if not name.startswith("tmp_"))
    return {name for name in names if name.endswith(KINDS)} if folder.endswith("/pack") else set(names)


def _listed(folder: str) -> list[str]:
    with suppress(OSError):
        return os.listdir(folder)
    return []
