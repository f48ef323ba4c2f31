"""One of git's object files: found whole, and copied only then."""

import hashlib
import os
import stat
import zlib
from contextlib import suppress
from itertools import count
from typing import Protocol

from ralphloop.host.files import write_all

LARGEST_COPY = 64 << 20  # larger files are linked: their damage is noticed, but there is no second one
CHUNK = 1 << 20
ENDS = 4096
SHA1, SHA256 = 40, 64  # letters of a name
_numbers = count()

Print = tuple[int, int]  # size and time of change: git never changes an object's file once it is there


def print_of(path: str) -> Print:
    found = os.lstat(path)  # for hundreds of files, in every iteration
    return found.st_size, found.st_mtime_ns


def copy(name: str, source: str, target: str) -> Print | None:
    """Make the same file there, its time of change too; None when it is not whole. `name` is folder/file."""
    descriptor = os.open(source, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            return None
        if found.st_size > LARGEST_COPY and _link(source, target):
            return found.st_size, found.st_mtime_ns
        temporary = f"{target.rpartition('/')[0]}/tmp_obj_ralph_{os.getpid()}_{next(_numbers)}"
        try:
            if not _copied(name, descriptor, temporary, found):
                return None
            os.replace(temporary, target)  # noqa: PTH105
        except BaseException:
            _unlink(temporary)
            raise
        return found.st_size, found.st_mtime_ns
    finally:
        os.close(descriptor)


def read(path: str, limit: int) -> tuple[bytes, Print] | None:
    """A file's bytes; None when it is larger, or no file."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_size > limit:
            return None
        return os.read(descriptor, limit), (found.st_size, found.st_mtime_ns)
    finally:
        os.close(descriptor)


def is_whole(name: str, path: str) -> bool:
    """Whether a file is what its name says."""
    check = check_for(name)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return False
        while data := os.read(descriptor, CHUNK):
            check.feed(data)
    finally:
        os.close(descriptor)
    return check.whole()


def write(content: bytes, changed: int, target: str) -> None:
    """A file of ours, whole or absent."""
    temporary = f"{target.rpartition('/')[0]}/tmp_obj_ralph_{os.getpid()}_{next(_numbers)}"
    into = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o444)
    try:
        write_all(into, content)
        os.utime(into, ns=(changed, changed))
    finally:
        os.close(into)
    os.replace(temporary, target)  # noqa: PTH105


def same_ends(one: str, other: str) -> bool:
    """Whether two files of one size begin and end alike: a pack begins with its size, and ends with its digest."""
    with open(one, "rb") as first, open(other, "rb") as second:  # noqa: PTH123
        if first.read(ENDS) != second.read(ENDS):
            return False
        for file in (first, second):
            file.seek(-min(ENDS, file.seek(0, os.SEEK_END)), os.SEEK_END)
        return first.read() == second.read()


def _copied(name: str, descriptor: int, temporary: str, found: os.stat_result) -> bool:
    """A copy that turns out not to be whole does not stay."""
    check = check_for(name)
    into = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o444)
    try:
        while data := os.read(descriptor, min(CHUNK, found.st_size + 1)):
            check.feed(data)
            write_all(into, data)
        whole = check.whole()
        if whole:
            os.utime(into, ns=(found.st_mtime_ns, found.st_mtime_ns))
    finally:
        os.close(into)
    if not whole:
        _unlink(temporary)
    return whole


def _unlink(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)  # noqa: PTH108


def _link(source: str, target: str) -> bool:
    """False where nothing can be linked: on another disk, or one without links."""
    try:
        os.link(source, target)
    except FileExistsError:
        return os.path.samefile(source, target)  # noqa: PTH121
    except OSError:
        return False
    return True


class Check(Protocol):
    """What a file must be; it is told the file's bytes, some at a time."""

    def feed(self, data: bytes) -> None: ...
    def whole(self) -> bool: ...


class Loose:
    """One object, packed with zlib, and named by the digest of what it unpacks to."""

    def __init__(self, name: str) -> None:
        self._name = name.replace("/", "")
        self._digest = hashlib.new("sha256" if len(self._name) == SHA256 else "sha1", usedforsecurity=False)
        self._unpack = zlib.decompressobj()
        self._broken = False

    def feed(self, data: bytes) -> None:
        try:
            while data and not self._unpack.eof:
                self._digest.update(self._unpack.decompress(data, CHUNK))
                data = self._unpack.unconsumed_tail
        except zlib.error:
            self._broken = True
        self._broken = self._broken or bool(data)  # there is more than the object

    def whole(self) -> bool:
        if self._broken or not self._unpack.eof or self._unpack.unused_data:
            return False
        return self._digest.hexdigest() == self._name


class Packed:
    """A pack, or its index: the last is the digest of all that stands before."""

    def __init__(self, name: str) -> None:
        named = len(name.rpartition("/")[2].removeprefix("pack-").partition(".")[0])
        self._digest = hashlib.new("sha256" if named == SHA256 else "sha1", usedforsecurity=False)
        self._tail = b""

    def feed(self, data: bytes) -> None:
        data = self._tail + data
        self._digest.update(data[: -self._digest.digest_size])
        self._tail = data[-self._digest.digest_size :]

    def whole(self) -> bool:
        return self._digest.digest() == self._tail


class Marker:
    """A file that says something by being there."""

    def feed(self, data: bytes) -> None: ...
    def whole(self) -> bool:
        return True


def check_for(name: str) -> Check:
    if not name.startswith("pack/"):
        return Loose(name)
    return Packed(name) if name.endswith((".pack", ".idx")) else Marker()
