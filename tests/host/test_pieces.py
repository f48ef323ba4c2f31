"""A file in pieces of whole lines: nothing lost, nothing twice, whatever the size of a block."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ralphloop.host import pieces
from ralphloop.host.pieces import Pieces, mark

CONTENT = st.text(alphabet="ab\n", max_size=60).map(str.encode)


@given(CONTENT, st.integers(1, 20), st.integers(0, 60), st.integers(0, 70))
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_pieces_are_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, block: int, start: int, end: int
) -> None:
    monkeypatch.setattr(pieces, "BLOCK", block)
    file = tmp_path / "file"
    file.write_bytes(content)
    with file.open("rb") as stream:
        found = Pieces(stream.fileno(), start, end)
        lines = list(found)
    wanted = content[start:end]
    assert b"".join(lines) + found.rest == wanted
    assert all(line.endswith(b"\n") for line in lines) and b"\n" not in found.rest
    assert found.dropped == 0
    assert found.offset == (start + len(wanted) - len(found.rest) if lines else start)


@given(CONTENT, st.integers(1, 20), st.integers(0, 20))
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_only_lines_that_are_too_long_are_dropped_and_each_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, block: int, longest: int
) -> None:
    monkeypatch.setattr(pieces, "BLOCK", block)
    monkeypatch.setattr(pieces, "LONGEST", longest)
    file = tmp_path / "file"
    file.write_bytes(content)
    with file.open("rb") as stream:
        found = Pieces(stream.fileno(), 0, len(content))
        kept = b"".join(found).splitlines(keepends=True)
    lines = content[: content.rfind(b"\n") + 1].splitlines(keepends=True)
    assert len(kept) + found.dropped == len(lines)
    assert [line for line in lines if len(line) <= longest] == [line for line in kept if len(line) <= longest]


def test_a_mark_stands_for_what_was_read(tmp_path: Path) -> None:
    file = tmp_path / "file"
    for size in (0, 1, 1000, 32 << 10, 100_000):
        content = os.urandom(size)
        file.write_bytes(content + b"more")
        with file.open("rb") as stream:
            before = mark(stream.fileno(), size)
        for at in {0, size // 2 if size <= 32 << 10 else 0, size - 1} if size else ():
            file.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
            with file.open("rb") as stream:
                assert mark(stream.fileno(), size) != before
        file.write_bytes(content + b"and other things")
        with file.open("rb") as stream:
            assert mark(stream.fileno(), size) == before
