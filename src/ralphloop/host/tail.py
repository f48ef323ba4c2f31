"""Reads what others append to a file, in small pieces, however fast it grows."""

import asyncio
import os
from collections.abc import Callable
from types import TracebackType

CHUNK = 256 << 10


class Tail:
    """The bytes a file gains after it was opened here; what stood in it before is not read. Makes the file."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._offset = os.fstat(self._file).st_size
        self.taken = 0

    def __enter__(self) -> "Tail":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._file)

    def pending(self) -> int:
        """How many bytes wait to be read."""
        size = os.fstat(self._file).st_size
        if size < self._offset:  # somebody emptied the file: all that is in it now is new
            self._offset = 0
        return size - self._offset

    @property
    def size(self) -> int:
        """How much was written since the start, read or not."""
        return self.taken + self.pending()

    def take(self) -> bytes:
        """The next piece; empty when there is nothing new."""
        if not self.pending():
            return b""
        data = os.pread(self._file, CHUNK, self._offset)
        self._offset += len(data)
        self.taken += len(data)
        return data

    async def drain(self, read: Callable[[bytes], object]) -> None:
        """Hands over all that is left, letting others run between two pieces."""
        while data := self.take():
            read(data)
            await asyncio.sleep(0)
