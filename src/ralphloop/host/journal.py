"""A run's journal on disk: one writer, many readers, each line on disk before what it says is done."""

import os
from collections.abc import Iterator
from pathlib import Path

from ralphloop.core.errors import DamagedProblem
from ralphloop.core.record import VERSION, Record, Started, decode, encode
from ralphloop.host.files import complaint, make_folder, replace, sync_folder, write_all

LONGEST = 64 << 20


class Journal:
    """The writer. Opening it cuts off a line that was torn by a crash."""

    def __init__(self, path: Path) -> None:
        self.path = path
        make_folder(path.parent)
        self.descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        whole = _whole_size(self.descriptor)
        if whole != os.fstat(self.descriptor).st_size:
            os.ftruncate(self.descriptor, whole)
            os.fsync(self.descriptor)
        sync_folder(path.parent)

    def append(self, record: Record) -> None:
        """Returns once the record is on disk; a record that cannot be written leaves no trace."""
        size = os.fstat(self.descriptor).st_size
        try:
            write_all(self.descriptor, encode(record))
            os.fsync(self.descriptor)
        except OSError as error:
            os.ftruncate(self.descriptor, size)
            error.filename = str(self.path)
            raise complaint(error, "write the journal") from error

    @property
    def lost(self) -> bool:
        """Whether somebody has taken the file away or put another one in its place."""
        try:
            return not os.path.samestat(os.fstat(self.descriptor), self.path.lstat())
        except OSError:
            return True

    def renew(self) -> None:
        """The file anew, with all that was ever written: what is open can be read though its name is gone."""
        content = os.pread(self.descriptor, os.fstat(self.descriptor).st_size, 0)
        try:
            replace(self.path, content)
            sync_folder(self.path.parent)
            descriptor = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
        except OSError as error:
            raise complaint(error, "write the journal anew") from error
        os.close(self.descriptor)
        self.descriptor = descriptor

    def close(self) -> None:
        os.close(self.descriptor)


def _whole_size(descriptor: int) -> int:
    """The size up to the end of the last whole line."""
    size = os.fstat(descriptor).st_size
    position = size
    while position > 0:
        start = max(0, position - 65536)
        found = os.pread(descriptor, position - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        position = start
    return 0


def read(path: Path) -> Iterator[Record]:
    """Every whole line; a torn last line is no line."""
    for record, _ in read_from(path, 0):
        yield record


def read_from(path: Path, offset: int) -> Iterator[tuple[Record, int]]:
    """The records after an offset, each with the offset behind it: what a follower needs."""
    try:
        stream = path.open("rb")
    except OSError as error:
        raise complaint(error, "read the journal") from error
    number = 0
    with stream:
        stream.seek(offset)
        while line := stream.readline(LONGEST):
            number += 1
            if not line.endswith(b"\n"):
                return
            offset += len(line)
            yield _decoded(path, line, number), offset


def _decoded(path: Path, line: bytes, number: int) -> Record:
    try:
        record = decode(line)
    except DamagedProblem as problem:
        raise DamagedProblem(
            f"{path} line {number}: {problem.message}",
            "the run cannot be taken up; move its folder away and `ralph run` starts a new one."
            " Commits and the working tree are untouched",
        ) from problem
    if isinstance(record, Started) and record.version > VERSION:
        raise DamagedProblem(
            f"{path} was written by a newer ralph (format {record.version}, this one knows {VERSION})",
            "install the newer version, or move the run's folder away",
        )
    return record
