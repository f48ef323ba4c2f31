"""What was read of session files, kept between two runs: whole or absent, and never trusted when it is damaged."""

import zlib
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from ralphloop.core.errors import Problem
from ralphloop.core.session_file import Use
from ralphloop.host.files import read, replace
from ralphloop.host.session_file import Entry

HEAD = b"ralphloop usage index 1\n"  # another number when what an entry holds, or a reader makes of a file, changes
LARGEST = 1 << 30


class Index(Struct, array_like=True):
    """Entries of one agent by path; the answers that stand in several files, each with the files that have it."""

    entries: dict[bytes, Entry] = {}
    doubles: dict[int, dict[bytes, Use]] = {}


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Index)


def load(path: Path) -> Index:
    """Empty when there is none, or when it is not what was written."""
    with suppress(Problem, OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        content = read(path, LARGEST) or b""
        body = memoryview(content)[len(HEAD) + 4 :]
        if content.startswith(HEAD) and content[len(HEAD) : len(HEAD) + 4] == _sum(body):
            return _decoder.decode(body)
    return Index()


def save(path: Path, index: Index) -> None:
    """Two that write at once leave the one or the other; where it cannot be written, all is read again next time."""
    with suppress(OSError):
        body = _encoder.encode(index)
        replace(path, HEAD + _sum(body) + body, durable=False)


def _sum(body: bytes | memoryview) -> bytes:
    return zlib.crc32(body).to_bytes(4, "little")
