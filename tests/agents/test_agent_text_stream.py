"""Plain output: its words in full, its end, and what a user's patterns find in it."""

import re
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ralphloop.agents.lines import SAID_LIMIT
from ralphloop.agents.text_stream import TextStream
from ralphloop.core.event import Event, Finished, LimitMet, Said, Unread


def read(data: bytes, cuts: Sequence[int] = (), error: str = "", limit: str = "") -> list[Event]:
    patterns = [re.compile(pattern, re.MULTILINE) if pattern else None for pattern in (error, limit)]
    stream, found, start = TextStream(*patterns), list[Event](), 0
    for cut in (*cuts, len(data)):
        found += stream.feed(data[start:cut])
        start = cut
    return [*found, *stream.close()]


def said(events: list[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, Said))


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", ""),
        (b"one\ntwo", "one\ntwo"),
        (b"one\r\ntwo\r\n", "one\ntwo\n"),
        (b"10%\r50%\r100%\nready\n", "100%\nready\n"),
        (b"\x1b[32mgreen\x1b[0m\n", "green\n"),
        (b"a\xffb\x00c", "a\ufffdbc"),
        ("grüße 🎉".encode(), "grüße 🎉"),
        (b"\xf0\x9f\x8e", "\ufffd"),
    ],
)
def test_words(data: bytes, text: str) -> None:
    events = read(data)
    assert said(events) == text
    assert events[-1] == Finished(text.strip())


PROMISE = "Working…\r\n\x1b[1m<promise>COMPLETE</promise>\x1b[0m grüße 🎉\n50%\r100%\nend".encode()


def test_a_promise_cut_anywhere_is_whole_in_the_last_word() -> None:
    whole = read(PROMISE)
    assert "<promise>COMPLETE</promise>" in said(whole)
    for cut in range(len(PROMISE)):
        assert said(read(PROMISE, [cut])) == said(whole)
        assert read(PROMISE, [cut])[-1] == whole[-1]
    assert read(PROMISE, range(len(PROMISE)))[-1] == whole[-1]


def test_a_line_is_said_when_it_is_whole() -> None:
    stream = TextStream()
    assert stream.feed(b"half") == []
    assert stream.feed(b" a line\nand") == [Said("half a line\n")]
    assert stream.feed(b" more\n\n") == [Said("and more\n\n")]
    assert stream.feed(b"\n \n") == []
    assert stream.close() == [Finished("half a line\nand more")]
    assert stream.close() == []


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_an_endless_line_is_told_in_bounded_parts(end: bytes) -> None:
    data = b"x" * 1_000_000 + b"<promise>COMPLETE</promise>" + end
    events = read(data, range(0, len(data), 10_000))
    assert all(len(event.text) <= SAID_LIMIT for event in events if isinstance(event, Said))
    finished = events[-1]
    assert isinstance(finished, Finished)
    assert finished.text.endswith("xx<promise>COMPLETE</promise>")
    assert len(finished.text) <= SAID_LIMIT
    assert len(said(events)) == len(data)


def test_only_the_end_of_much_output_is_kept() -> None:
    finished = read(b"line\n" * 100_000 + b"last")[-1]
    assert isinstance(finished, Finished)
    assert finished.text.endswith("line\nlast")
    assert len(finished.text) <= SAID_LIMIT


@pytest.mark.parametrize("step", [1 << 18, 99_991, 3_000_000])
def test_of_a_flood_the_beginning_and_the_end_are_said(step: int) -> None:
    data = b"first\n" + b"0123456789 abcdefg\n" * 100_000 + "grüße <promise>COMPLETE</promise>\n".encode()
    stream, found = TextStream(flood=100_000), list[Event]()
    for start in range(0, len(data), step):
        found += stream.feed(data[start : start + step])
    found += stream.close()
    finished = found[-1]
    assert isinstance(finished, Finished)
    assert finished.text.endswith("abcdefg\ngrüße <promise>COMPLETE</promise>")
    assert said(found).startswith("first\n0123456789")
    (skipped,) = [event for event in found if isinstance(event, Unread)]
    assert skipped.size + len(said(found).encode()) == len(data)


def test_what_is_just_more_than_a_flood_is_said_whole() -> None:
    data = ("grüße " * 3000).encode()
    stream = TextStream(flood=1001)
    found = [*stream.feed(data[:5000]), *stream.feed(data[5000:]), *stream.close()]
    assert said(found) == data.decode()


@pytest.mark.parametrize(
    ("output", "error", "limit", "events"),
    [
        (b"fine\n", "^Error", "quota", [Finished("fine")]),
        (b"Error: one\nError: two\nend\n", "^Error", "", [Finished("Error: one\nError: two\nend", "Error: two")]),
        (b"no Error: here\n", "^Error", "", [Finished("no Error: here")]),
        (
            b"over quota today\n",
            "",
            "quota",
            [LimitMet("over quota today"), Finished("over quota today", "over quota today")],
        ),
        (b"E1\nquota\n", "^E", "quota", [LimitMet("quota"), Finished("E1\nquota", "E1")]),
        (b"\x1b[31mError\x1b[0m: red", "^Error:", "", [Finished("Error: red", "Error: red")]),
        (b"a\n\nb", "^$", "", [Finished("a\n\nb", "a pattern matched an empty line")]),
    ],
)
def test_patterns(output: bytes, error: str, limit: str, events: list[Event]) -> None:
    assert [event for event in read(output, (), error, limit) if not isinstance(event, Said)] == events


@given(st.binary(max_size=200), st.integers(0, 200))
@settings(max_examples=200, deadline=None)
def test_no_bytes_raise_and_no_cut_changes_them(data: bytes, cut: int) -> None:
    one, other = read(data), read(data, [min(cut, len(data))])
    assert one[-1] == other[-1]
    assert said(one).split() == said(other).split()
