"""Bytes become lines and clean text, the same wherever the stream was cut."""

import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ralphloop.agents.lines import HEAD_OF_DROPPED, Line, Lines, clean, ending, short


def lines_of(*chunks: bytes, limit: int = 2000) -> list[Line]:
    lines = Lines(limit)
    return [*(line for chunk in chunks for line in lines.feed(chunk)), *lines.close()]


@pytest.mark.parametrize(
    ("chunks", "texts"),
    [
        ((), []),
        ((b"",), []),
        ((b"one\ntwo\n",), [b"one", b"two"]),
        ((b"one\ntwo",), [b"one", b"two"]),
        ((b"o", b"ne", b"\n", b"two"), [b"one", b"two"]),
        ((b"\n\n",), [b"", b""]),
        ((b"one\r\ntwo",), [b"one\r", b"two"]),
        ((b"\xff\x00\n\xfe",), [b"\xff\x00", b"\xfe"]),
    ],
)
def test_lines(chunks: tuple[bytes, ...], texts: list[bytes]) -> None:
    assert [line.text for line in lines_of(*chunks)] == texts


@given(st.lists(st.binary(max_size=1200) | st.sampled_from([b"\n", b"x" * 1999, b"y" * 2001]), max_size=12))
@settings(max_examples=150)
def test_where_the_stream_was_cut_does_not_matter(chunks: list[bytes]) -> None:
    assert lines_of(*chunks) == lines_of(b"".join(chunks))


BITS = st.sampled_from([b"dull one\n", b"dull", b" two\n", b"telling\n", b"\n", b"x" * 30]) | st.binary(max_size=20)


@given(st.lists(BITS, max_size=30), st.lists(st.integers(0, 300), max_size=8))
@settings(max_examples=300)
def test_in_a_flood_dull_lines_are_counted_wherever_the_stream_was_cut(bits: list[bytes], cuts: list[int]) -> None:
    data, found = b"".join(bits), []
    for edges in ([], sorted(cuts)):
        lines, told = Lines(2000, dull=b"dull", flood=40), list[Line]()
        for start, end in zip([0, *edges], [*edges, len(data)], strict=True):
            told += lines.feed(data[start:end])
        told += lines.close()
        found.append((told, lines.dropped, lines.dropped_size))
    assert found[0] == found[1]
    told, dropped, size = found[0]
    every = lines_of(data)
    assert len(told) + dropped == len(every)
    assert sum(line.size for line in told) + size == sum(line.size for line in every)
    assert [line for line in every if not line.text.startswith(b"dull")] == [
        line for line in told if not line.text.startswith(b"dull")
    ]


def test_a_line_that_is_too_long_leaves_its_head_and_its_size() -> None:
    found = lines_of(b"a" * 1500, b"a" * 1500, b"\nnext\n")
    assert found == [Line(b"a" * HEAD_OF_DROPPED, 3000), Line(b"next", 4)]
    assert [line.whole for line in found] == [False, True]


def test_an_endless_line_costs_no_memory() -> None:
    lines, block = Lines(1 << 20), b"x" * (1 << 18)
    tracemalloc.start()
    try:
        for _ in range(400):
            assert lines.feed(block) == []
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 << 20
    assert [line.size for line in lines.close()] == [400 << 18]


def test_closing_twice_tells_the_last_line_once() -> None:
    lines = Lines()
    lines.feed(b"rest")
    assert [line.text for line in lines.close()] == [b"rest"]
    assert lines.close() == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07after", "after"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]never ended\n<promise>", "\n<promise>"),
        ("\x1b", ""),
        ("a\x00b\x08c\x7fd\x9be", "abcde"),
        ("a\r\nb\rc\td", "a\nb\nc\td"),
        ("\ud83d half", "? half"),
        ("abc\u202edef", "abcdef"),
        ("grüße 🎉", "grüße 🎉"),
    ],
)
def test_clean(text: str, shown: str) -> None:
    assert clean(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("  two \n words ", "two words"),
        ("x" * 300, "x" * 199 + "…"),
        ("", ""),
        ("\x1b[1m\n", ""),
        ("word " * 1_000_000, ("word " * 40)[:199] + "…"),
    ],
)
def test_short(text: str, shown: str) -> None:
    assert short(text) == shown


def test_ending_keeps_the_end() -> None:
    assert ending("ab" * 50_000 + "END", limit=5) == "abEND"[-5:]
    assert len(ending("x" * 1_000_000)) == 65_536
