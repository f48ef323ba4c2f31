"""Every adapter against what its CLI really printed: the expected events stand beside each stream, wherever it is cut.

`tools/streams.py` writes them anew; `make test-agents` tells when a CLI prints another stream than the one kept.
"""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kept_streams import STREAMS, agent_of, beside, expected, parser_of, read
from ralphloop.agents.table import AGENTS, named
from ralphloop.core.attempt import Attempt, follow
from ralphloop.core.event import Finished, LimitMet, Said, Unread

EVERY_BYTE = 8_000  # up to this size a stream is cut at each byte, beyond it at some
SOME = 300
DRIVEN = ("aider", "claude", "codex", "copilot", "gemini", "opencode", "qwen")
PLAIN = frozenset({"command", "goose", "kiro"})  # what is said of plain text follows the pieces in which it comes
# they do not try again what was cut, or try for minutes what a row of the table cannot wait for
NOT_KEPT = {
    *(("aider", end) for end in ("cut-then-well", "usage-limit", "no-credit", "server-error")),
    ("claude", "story"),
    ("gemini", "cut-then-well"),
    ("gemini", "no-credit"),
    ("qwen", "cut-then-well"),
    ("qwen", "rate-limited"),
}
ENDS = {
    "words": "",
    "limit-words-are-words": "",
    "story": "",
    "cut-then-well": "",
    "rate-limited": "rate",
    "usage-limit": "rate",
    "no-credit": "money",
    "server-error": "transient",
    "unknown-key": "auth",
}
LIMITED = frozenset({"usage-limit", "usage-limit-after-work", "usage-limit-with-key"})
TRACES = (b"/root", b"/tmp/pytest", b"pytest-of", b"/work/", b"/var/folders", b"/Users/")


def by_name(stream: Path) -> str:
    return stream.stem


@pytest.mark.parametrize("stream", STREAMS, ids=by_name)
def test_a_kept_stream_becomes_the_events_beside_it(stream: Path) -> None:
    assert read(stream, stream.read_bytes()) == expected(stream)


@pytest.mark.parametrize("stream", STREAMS, ids=by_name)
def test_a_stream_cut_anywhere_gives_the_same_events(stream: Path) -> None:
    data, whole = stream.read_bytes(), expected(stream)
    assert read(stream, data, range(len(data))) == whole, "byte by byte"
    for cut in range(0, len(data), 1 if len(data) <= EVERY_BYTE else len(data) // SOME):
        assert read(stream, data, [cut]) == whole, cut


def tells_its_end(stream: Path) -> bool:
    return "end" in named(agent_of(stream), {}).traits.tells


@pytest.mark.parametrize(
    "stream", [one for one in STREAMS if one.stem.endswith("-story") and tells_its_end(one)], ids=by_name
)
def test_a_stream_that_ends_too_early_claims_nothing(stream: Path) -> None:
    data = stream.read_bytes()
    last = data.rstrip(b"\n").rfind(b"\n") + 1
    for end in (1, last // 2, last, len(data) - 2):
        attempt = Attempt()
        for event in read(stream, data[:end]):
            attempt = follow(attempt, event)
        assert attempt.error or not attempt.finished


@pytest.mark.parametrize("stream", STREAMS, ids=by_name)
def test_every_line_of_a_real_stream_is_known(stream: Path) -> None:
    unread = [event for event in expected(stream) if isinstance(event, Unread) and event.sample.startswith("{")]
    assert unread == []


@pytest.mark.parametrize("stream", STREAMS, ids=by_name)
def test_a_kept_stream_is_small_and_names_no_machine(stream: Path) -> None:
    assert 0 < stream.stat().st_size < 80_000
    for file in (stream, beside(stream)):
        assert [trace for trace in TRACES if trace in file.read_bytes()] == []


def test_no_stream_and_no_events_stand_alone() -> None:
    assert {beside(stream).name for stream in STREAMS} == {
        file.name for file in STREAMS[0].parent.iterdir() if file.name.endswith(".events.json")
    }


@pytest.mark.parametrize("agent", DRIVEN)
@pytest.mark.parametrize(("end", "fault"), ENDS.items())
def test_every_end_is_called_by_the_same_name(agent: str, end: str, fault: str) -> None:
    stream = next((one for one in STREAMS if one.stem == f"{agent}-{end}"), None)
    if stream is None:
        assert (agent, end) in NOT_KEPT, f"no stream of {agent} was kept for {end}"
        return
    events = expected(stream)
    finished = [event for event in events if isinstance(event, Finished)][-1]
    assert finished.fault == fault
    assert bool(finished.error) is bool(fault)
    assert any(isinstance(event, LimitMet) for event in events) is (end in LIMITED)


@pytest.mark.parametrize("agent", [name for name in AGENTS if name not in ("command", "scripted")])
def test_an_agent_that_was_tried_has_streams(agent: str) -> None:
    if named(agent, {}).traits.tried and any(agent_of(stream) == agent for stream in STREAMS):
        said = [event for stream in STREAMS if agent_of(stream) == agent for event in expected(stream)]
        assert any(isinstance(event, Said) for event in said)


@given(st.sampled_from(sorted(AGENTS)), st.binary(max_size=300), st.integers(0, 300))
@settings(max_examples=200, deadline=None)
def test_no_bytes_raise_and_no_cut_changes_them(agent: str, data: bytes, cut: int) -> None:
    one, other = parser_of(agent), parser_of(agent)
    whole = [*one.feed(data), *one.close()]
    assert [*other.feed(data[:cut]), *other.feed(data[cut:]), *other.close()] == whole or agent in PLAIN
    assert list(one.close()) == []


@given(st.sampled_from(STREAMS), st.lists(st.tuples(st.floats(0, 0.999), st.integers(0, 255)), max_size=6))
@settings(max_examples=100, deadline=None)
def test_no_flipped_byte_of_a_real_stream_raises(stream: Path, flips: list[tuple[float, int]]) -> None:
    damaged = bytearray(stream.read_bytes())
    for place, byte in flips:
        damaged[int(place * len(damaged))] = byte
    for event in read(stream, bytes(damaged)):
        follow(Attempt(), event)
        json.dumps(str(event)).encode("utf-8")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@given(st.sampled_from([stream for stream in STREAMS if agent_of(stream) != "aider"]), st.data())
@settings(max_examples=150, deadline=None)
def test_no_value_of_a_wrong_shape_raises(stream: Path, data: st.DataObject) -> None:
    """One value of a real line, wherever it stands, becomes anything else."""
    lines = [line for line in stream.read_bytes().splitlines() if line.startswith(b"{")]
    told = json.loads(data.draw(st.sampled_from(lines)))
    place = told
    while True:
        key = data.draw(st.sampled_from(sorted(place)))
        if not isinstance(place[key], dict) or not place[key] or data.draw(st.booleans()):
            break
        place = place[key]
    place[key] = data.draw(JSON)
    for event in read(stream, json.dumps(told).encode() + b"\n"):
        follow(Attempt(), event)
        json.dumps(str(event)).encode("utf-8")
