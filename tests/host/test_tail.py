"""A growing file is read in small pieces, each byte once."""

import asyncio
import os
from pathlib import Path

import pytest

from ralphloop.host.tail import CHUNK, Tail


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


@pytest.mark.parametrize("sizes", [(0,), (1,), (CHUNK,), (CHUNK + 1,), (5, 0, 7), (3 * CHUNK, 2, CHUNK - 1)])
def test_every_byte_comes_once_and_in_order(tmp_path: Path, sizes: tuple[int, ...]) -> None:
    path, pieces, written = tmp_path / "log", [], b""
    with Tail(str(path)) as tail:
        for size in sizes:
            data = os.urandom(size)
            written += data
            append(path, data)
            assert tail.size == len(written)
            while piece := tail.take():
                pieces.append(piece)
        assert tail.pending() == 0
    assert b"".join(pieces) == written
    assert all(len(piece) <= CHUNK for piece in pieces)


def test_what_stood_there_before_is_not_new(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"old")
    with Tail(str(path)) as tail:
        assert tail.take() == b""
        append(path, b"new")
        assert tail.take() == b"new"
        assert tail.size == 3


def test_an_emptied_file_is_read_from_its_start(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with Tail(str(path)) as tail:
        append(path, b"a long first line")
        tail.take()
        path.write_bytes(b"short")
        assert tail.take() == b"short"
        assert tail.size == len(b"a long first lineshort")


def test_a_removed_file_is_still_read(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with Tail(str(path)) as tail, path.open("ab") as file:
        path.unlink()
        file.write(b"last words")
        file.flush()
        assert tail.take() == b"last words"


def test_draining_lets_others_run(tmp_path: Path) -> None:
    path, turns = tmp_path / "log", [0]

    async def other() -> None:
        while True:
            turns[0] += 1
            await asyncio.sleep(0)

    async def drain() -> int:
        beside = asyncio.create_task(other())
        read: list[int] = []
        with Tail(str(path)) as tail:
            append(path, bytes(4 * CHUNK))
            await tail.drain(lambda data: read.append(len(data)))
        beside.cancel()
        return sum(read)

    assert asyncio.run(drain()) == 4 * CHUNK
    assert turns[0] >= 4


def test_a_file_that_cannot_be_made_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        Tail(str(tmp_path / "nowhere" / "log"))
