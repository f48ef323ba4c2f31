"""Files that are whole or absent, and locks that die with their holder."""

import errno
import fcntl
import os
import stat
from contextlib import suppress
from itertools import count
from pathlib import Path

from ralphloop.core.errors import Problem

WRITES = count()
OTHERS = 0o077  # what everybody but the owner may


def complaint(error: OSError, doing: str) -> Problem:
    """What the system said, in a sentence with a way out."""
    hints = {
        errno.ENOSPC: "make room on this disk, then run the same command again: it goes on where it stopped",
        errno.EDQUOT: "the disk quota is used up; make room, then run the same command again",
        errno.EROFS: "the file system is read-only",
        errno.EACCES: "check the permissions of this path",
        errno.EPERM: "check the permissions of this path",
        errno.ENAMETOOLONG: "use a shorter name",
        errno.EEXIST: "a file stands where a folder is needed",
        errno.ENOTDIR: "a file stands where a folder is needed",
        errno.EISDIR: "a folder stands where a file is needed",
        errno.ELOOP: "it leads in a circle of symbolic links",
        errno.EIO: "the disk reports an error: look at the system's log",
        errno.EFBIG: "the file may not grow any more: look at `ulimit -f` and at the disk",
        errno.EMFILE: "too many files are open: look at `ulimit -n`",
    }
    where = f" {os.fsdecode(error.filename)}" if isinstance(error.filename, str | bytes) else ""
    return Problem(f"cannot {doing}{where}: {error.strerror or error}", hints.get(error.errno or 0, ""))


def make_folder(path: Path) -> None:
    """A folder, and those above it. Below a folder that is private they are private as well."""
    if not path.is_dir():
        make_folder(path.parent)
        path.mkdir(0o700 if _is_private(path.parent) else 0o777, exist_ok=True)


def make_private(root: Path) -> None:
    """A folder for its owner alone; one that was made before this was so is closed, with the folders in it."""
    if not root.is_dir():
        make_folder(root.parent)
        root.mkdir(0o700, exist_ok=True)
    elif not _is_private(root) and root.stat().st_uid == os.geteuid():
        for folder in (path for pattern in ("*/*/", "*/") for path in root.glob(pattern)):
            _close(folder)
        _close(root)  # the last: until then it is tried again


def _close(folder: Path) -> None:
    with suppress(OSError):
        if not folder.is_symlink() and folder.is_dir():
            folder.chmod(folder.stat().st_mode & 0o7777 & ~OTHERS)


def _is_private(folder: Path) -> bool:
    return not folder.stat().st_mode & OTHERS


def replace(path: Path, content: bytes, *, durable: bool = True) -> None:
    """Write a file so that every reader sees the old or the new one, whole; in a private folder it is private."""
    make_folder(path.parent)
    barred = OTHERS if _is_private(path.parent) else 0
    # loops of one process write beside one another
    temporary = path.with_name(f".{path.name[:50]}.{os.getpid()}-{next(WRITES)}.tmp")
    try:
        descriptor = os.open(
            temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644 & ~barred
        )
        try:
            write_all(descriptor, content)
            if durable:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        with suppress(OSError):
            temporary.chmod(path.stat().st_mode & 0o7777 & ~barred)
        temporary.replace(path)
    except BaseException as error:
        if isinstance(error, OSError) and error.filename is None:  # a disk that is full is found by what lies on it
            error.filename = str(path)
        with suppress(OSError):
            temporary.unlink()
        raise


def write_all(descriptor: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]


def sync_folder(path: Path) -> None:
    """Make names that were just created or renamed in a folder outlive a power loss."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read(path: Path, limit: int, what: str = "") -> bytes | None:
    """The content of a regular file, or None when there is none; too much is a Problem that says `what` it is."""
    content = _taken(path, limit + 1, what)
    if content is not None and len(content) > limit:
        raise Problem(
            f"{_named(path, what)} is larger than {limit:,} bytes",
            "this file is meant to be small; what put so much into it?",
        )
    return content


def read_end(path: Path, limit: int) -> bytes | None:
    """The last bytes of a regular file, at most so many, or None when there is none."""
    return _taken(path, limit, "", from_end=True)


def _taken(path: Path, most: int, what: str, *, from_end: bool = False) -> bytes | None:
    """Never waits: the name may by now belong to a pipe that nobody writes into, or to a device without an end."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if error.errno == errno.ENXIO:
            raise _no_file(path, what) from None
        raise complaint(error, "read") from error
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        os.close(descriptor)
        raise _no_file(path, what)
    with os.fdopen(descriptor, "rb", buffering=0) as stream:
        try:
            if from_end:
                stream.seek(max(0, found.st_size - most))
            return stream.read(most) or b""
        except OSError as error:
            error.filename = str(path)
            raise complaint(error, "read") from error


def _named(path: Path, what: str) -> str:
    return f"{what} {path}".lstrip()


def _no_file(path: Path, what: str) -> Problem:
    return Problem(
        f"{_named(path, what)} is not a file", "a regular file is needed here, no folder, pipe, socket or device"
    )


class Lock:
    """A kernel lock on a file: held while the descriptor is open, here or in a child that inherited it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            make_folder(path.parent)
            self.descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise complaint(error, "lock") from error

    def take(self) -> bool:
        """Take it if nobody else holds it."""
        try:
            fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def wait(self) -> None:
        fcntl.flock(self.descriptor, fcntl.LOCK_EX)

    def write(self, text: str) -> None:
        """A word for those who find it locked."""
        try:
            os.ftruncate(self.descriptor, 0)
            os.pwrite(self.descriptor, text.encode(), 0)
        except OSError as error:
            error.filename = str(self.path)
            raise complaint(error, "write") from error

    def touch(self) -> None:
        with suppress(OSError):
            os.utime(self.path)

    def word(self) -> str:
        return os.pread(self.descriptor, 4096, 0).decode(errors="replace")

    def close(self) -> None:
        os.close(self.descriptor)
