"""A session file as pieces of whole lines: large blocks, bounded memory, and a mark of what was read."""

import os
from collections.abc import Iterator

from ralphloop.core.session_file import Reader
from ralphloop.host import glance

BLOCK = 4 << 20
LONGEST = 64 << 20  # bytes of one line; a longer one is told as unread
SAMPLE, SAMPLES = 4 << 10, 8
ROWS = 5_000  # of a database that are handed on at once


class Pieces:
    """What stands between two offsets. Afterwards `offset` is behind the last whole line, `rest` what follows it."""

    def __init__(self, descriptor: int, start: int, end: int) -> None:
        self._descriptor, self._end = descriptor, end
        self.offset = start
        self.rest = b""
        self.dropped = 0

    def __iter__(self) -> Iterator[bytes]:
        at, skipping = self.offset, False
        while at < self._end:
            block = os.pread(self._descriptor, min(BLOCK, self._end - at), at)
            if not block:
                break
            at += len(block)
            last = block.rfind(b"\n") + 1
            if not last:
                self.rest += block
                if len(self.rest) > LONGEST:
                    self.rest, skipping = b"", True
                continue
            whole = self.rest + block[:last] if self.rest else block[:last] if last < len(block) else block
            self.rest = block[last:]
            self.offset = at - len(self.rest)
            if skipping:
                whole = whole[whole.find(b"\n") + 1 :]
                self.dropped += 1
                skipping = False
            yield whole
        if skipping:
            self.rest = b""


def mark(descriptor: int, end: int) -> bytes:
    """Stands for what lies before an offset: all of it when it is short, else samples from its head to its end."""
    if end <= SAMPLE * SAMPLES:
        return glance.digest(os.pread(descriptor, end, 0)).encode()
    step = (end - SAMPLE) // (SAMPLES - 1)
    parts = [os.pread(descriptor, SAMPLE, number * step) for number in range(SAMPLES - 1)]
    parts.append(os.pread(descriptor, SAMPLE, end - SAMPLE))
    return glance.digest(b"".join(parts)).encode()


def rows(path: bytes, reader: Reader) -> Iterator[bytes]:
    """A database asked for its lines; its writer is not disturbed."""
    import sqlite3
    from contextlib import closing
    from urllib.parse import quote

    try:
        with closing(sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True, timeout=5)) as base:
            asked = base.execute(reader.query)
            while found := asked.fetchmany(ROWS):
                yield b"".join(str(line).encode("utf-8", "replace") + b"\n" for (line,) in found)
    except sqlite3.Error as error:
        raise OSError(0, f"the database cannot be read: {error}", path) from error
