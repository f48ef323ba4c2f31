"""Claude's stream: what its lines mean, and that nothing a stream holds can break the reading of it."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ralphloop.agents.claude_stream import ERRORS, ClaudeStream
from ralphloop.agents.lines import LINE_LIMIT
from ralphloop.core.attempt import Attempt, follow
from ralphloop.core.event import (
    Event,
    Finished,
    LimitMet,
    Retrying,
    Said,
    SessionStarted,
    Spent,
    Tokens,
    ToolAnswered,
    ToolCalled,
    Unread,
)

STREAMS = Path(__file__).parent / "streams"


def encoded(*events: Any) -> bytes:
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


NOW = datetime(2026, 1, 9, 12, 0, tzinfo=UTC)


def read(data: bytes, cuts: Sequence[int] = ()) -> list[Event]:
    stream, found, start = ClaudeStream(lambda: NOW), list[Event](), 0
    for cut in (*cuts, len(data)):
        found += stream.feed(data[start:cut])
        start = cut
    return [*found, *stream.close()]


def told(*events: Any) -> list[Event]:
    return read(encoded(*events))


def assistant(*blocks: Any, message: str = "msg_1", usage: Any = None, **more: Any) -> dict[str, Any]:
    model = more.pop("model", "claude-x")
    content = {"id": message, "model": model, "content": list(blocks), "usage": usage}
    return {"type": "assistant", "message": content, **more}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def tool(name: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": "toolu_1", "name": name, "input": arguments}


def answer(content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "user", "message": {"content": [{"type": "tool_result", "content": content, **more}]}}


def result(words: str = "All is well.", **more: Any) -> dict[str, Any]:
    return {"type": "result", "subtype": "success", "is_error": False, "result": words, **more}


def failed(words: str, **more: Any) -> dict[str, Any]:
    return result(words, is_error=True, **more)


def usage(into: int, out: int = 1, cached: int = 0, stored: int = 0) -> dict[str, int]:
    told = {"input_tokens": into, "output_tokens": out}
    return {**told, "cache_read_input_tokens": cached, "cache_creation_input_tokens": stored}


INIT = {"type": "system", "subtype": "init", "session_id": "abc", "model": "claude-x", "tools": ["Bash"]}
REJECTED = {"type": "rate_limit_event", "rate_limit_info": {"status": "rejected", "resetsAt": 1767972000}}
RETRY = {
    "type": "system", "subtype": "api_retry", "attempt": 2, "max_retries": 10, "retry_delay_ms": 1500,
    "error_status": 529, "error": "overloaded",
}  # fmt: skip


@pytest.mark.parametrize(
    ("line", "events"),
    [
        (INIT, [SessionStarted("abc", "claude-x")]),
        ({"type": "system", "subtype": "init"}, [SessionStarted("")]),
        (RETRY, [Retrying(2, 10, 1.5, "529 overloaded")]),
        ({"type": "system", "subtype": "task_started"}, []),
        ({"type": "stream_event", "event": {}}, []),
        (assistant(text("hello")), [Said("hello")]),
        (assistant(text("\x1b[1mhello\x00")), [Said("hello")]),
        (assistant(text(" \n")), []),
        (assistant(text("x" * 100_000)), [Said("x" * 65_536)]),
        (assistant({"type": "thinking", "thinking": "hm"}), []),
        (assistant({"type": "something_new"}), []),
        (assistant({"type": ["tool_use"]}), []),
        ({"type": "assistant", "message": {"content": "a string"}}, [Said("a string")]),
        (assistant(text("a subagent's"), parent_tool_use_id="toolu_9"), []),
        (assistant(tool("Read", file_path="/repo/a"), parent_tool_use_id="t"), [ToolCalled("Read", "/repo/a")]),
        (assistant(text("a"), tool("Bash", command="ls")), [Said("a"), ToolCalled("Bash", "ls")]),
        (assistant(tool("Bash", description="d", command="ls\n -l")), [ToolCalled("Bash", "ls -l")]),
        (assistant(tool("Grep", path="", pattern="x+")), [ToolCalled("Grep", "x+")]),
        (assistant(tool("New", number=1, word="w")), [ToolCalled("New", "w")]),
        (assistant(tool("TodoWrite", todos=[])), [ToolCalled("TodoWrite", "")]),
        (assistant(tool("Bash", command="y" * 500)), [ToolCalled("Bash", "y" * 199 + "…")]),
        (answer("fine"), [ToolAnswered(True, "fine")]),
        (answer("no\nway", is_error=True), [ToolAnswered(False, "no way")]),
        (answer([{"type": "text", "text": "a"}, {"type": "image"}]), [ToolAnswered(True, "a")]),
        (answer(None), [ToolAnswered(True, "")]),
        ({"type": "user", "message": {"content": "told again"}}, []),
        (result(), [Finished("All is well.")]),
        (result(total_cost_usd=0.25, num_turns=3), [Finished("All is well.", cost=0.25, turns=3)]),
        (result(total_cost_usd=-1, num_turns=True), [Finished("All is well.")]),
        (result(total_cost_usd=0, num_turns=0), [Finished("All is well.", cost=0.0, turns=0)]),
    ],
)
def test_a_line(line: Any, events: list[Event]) -> None:
    assert told(line) == events


@pytest.mark.parametrize(
    ("line", "error"),
    [
        (failed("API Error: 529 Overloaded"), "API Error: 529 Overloaded"),
        (failed("", api_error_status=500), "the agent ended with an error 500"),
        (failed("", subtype=""), "the agent ended with an error"),
        (failed("It broke", subtype=[]), "It broke"),
        ({"type": "result", "subtype": "error_max_turns"}, ERRORS["error_max_turns"]),
        ({"type": "result", "subtype": "error_max_turns", "errors": ["1", 2]}, ERRORS["error_max_turns"] + ": 1"),
        ({"type": "result", "subtype": "error_of_a_new_kind"}, "the agent ended with an error error_of_a_new_kind"),
        ({"type": "result", "is_error": True, "errors": ["one", "two"]}, "one; two"),
        (failed("e" * 100_000), "e" * 4000),
    ],
)
def test_an_error_is_told_whatever_the_subtype_says(line: Any, error: str) -> None:
    (finished,) = told(line)
    assert isinstance(finished, Finished)
    assert finished.error == error


WORDS = "Claude AI usage limit reached|1767972000"
HIT = "You've hit your 5-hour limit · resets 10:32pm (UTC)"
AT = datetime(2026, 1, 9, 22, 32, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    "lines",
    [
        [assistant(text(WORDS)), result("Done.")],
        [assistant(text(HIT)), result(HIT)],
        [result("I added the usage limit as you asked.")],
        [answer(WORDS, is_error=True), result()],
        [assistant(tool("Bash", command=f"echo {WORDS}")), answer(WORDS), result()],
        [{"type": "rate_limit_event", "rate_limit_info": {"status": "allowed", "resetsAt": 1}}, result()],
        [{"type": "rate_limit_event", "rate_limit_info": {"status": "allowed_warning", "resetsAt": 1}}, result()],
        [{"type": "rate_limit_event", "rate_limit_info": {"status": "rejected", "isUsingOverage": True}}, result()],
        [{"type": "rate_limit_event", "rate_limit_info": None}, {"type": "rate_limit_event"}, result()],
        [assistant(text(WORDS)), failed(WORDS, subtype="error_during_execution")],
        [failed(WORDS, subtype="error_max_turns")],
        [failed(HIT, subtype="error_max_budget_usd")],
        [failed("API Error: 529 Overloaded")],
        [failed("API Error: Request rejected (429) · Number of request tokens has exceeded your per-minute limit")],
        [failed("Prompt is too long: context limit reached")],
        [{"type": "something_else", "text": WORDS}, result()],
        [assistant(text(WORDS), model="<synthetic>", parent_tool_use_id="toolu_1"), result()],
    ],
)
def test_such_words_are_no_limit(lines: list[Any]) -> None:
    assert [event for event in told(*lines) if isinstance(event, LimitMet)] == []


@pytest.mark.parametrize(
    ("lines", "why", "resets_at"),
    [
        ([failed(HIT)], HIT, AT),
        ([failed(HIT.replace("'", "’"))], HIT.replace("'", "’"), AT),
        (
            [failed("You've hit your session limit · resets later")],
            "You've hit your session limit · resets later",
            None,
        ),
        ([failed("You've hit your limit")], "You've hit your limit", None),
        ([failed("Weekly limit reached ∙ resets Monday")], "Weekly limit reached ∙ resets Monday", None),
        ([failed(f"first\n{WORDS}\nlast")], "Claude AI usage limit reached", 1767972000.0),
        ([failed("usage limit reached|1767972000000")], "usage limit reached", 1767972000.0),
        ([assistant(text(WORDS), model="<synthetic>"), failed(WORDS)], "Claude AI usage limit reached", 1767972000.0),
        ([REJECTED, assistant(text(HIT), model="<synthetic>"), failed(HIT)], "usage limit met", 1767972000.0),
        (
            [{"type": "rate_limit_event", "rate_limit_info": {"status": "rejected", "rateLimitType": "seven_day"}}],
            "usage limit met (seven day)",
            None,
        ),
        (
            [{"type": "rate_limit_event", "rate_limit_info": {"status": "rejected", "resetsAt": "soon"}}],
            "usage limit met",
            None,
        ),
    ],
)
def test_a_limit_is_told_once(lines: list[Any], why: str, resets_at: float | None) -> None:
    limits = [event for event in told(*lines) if isinstance(event, LimitMet)]
    assert limits == [LimitMet(why, resets_at)]


def test_nobody_reads_seconds_since_1970() -> None:
    events = told(assistant(text(WORDS), model="<synthetic>"), failed(WORDS))
    assert "1767972000" not in " ".join(getattr(event, "text", "") + getattr(event, "error", "") for event in events)


def test_when_the_limit_ends_is_told_when_it_becomes_known() -> None:
    limits = [
        event for event in told(assistant(text(HIT), model="<synthetic>"), REJECTED) if isinstance(event, LimitMet)
    ]
    assert [limit.resets_at for limit in limits] == [AT, 1767972000.0]


REPEATED = [
    assistant(text("I look."), message="msg_1", usage=usage(304)),
    assistant(tool("Bash", command="ls"), message="msg_1", usage=usage(304)),
    assistant(text("Done."), message="msg_2", usage=usage(2)),
]


def test_a_message_told_in_many_lines_is_counted_once() -> None:
    spent = [event.tokens for event in told(*REPEATED) if isinstance(event, Spent)]
    naive = sum(line["message"]["usage"]["input_tokens"] for line in REPEATED)
    assert naive == 610
    assert spent == [Tokens(304, 1), Tokens(306, 2)]


def test_later_usage_of_the_same_message_replaces_the_earlier() -> None:
    lines = [assistant(text(words), usage=usage(100, out, 7, 5)) for words, out in (("a", 1), ("b", 40), ("c", 1))]
    spent = [event.tokens for event in told(*lines) if isinstance(event, Spent)]
    assert spent == [Tokens(100, 1, 7, 5), Tokens(100, 40, 7, 5)]


MODELS = {
    "one": {"inputTokens": 300, "outputTokens": 20, "cacheReadInputTokens": 4, "cacheCreationInputTokens": 3},
    "two": {"inputTokens": 6, "outputTokens": 1, "costUSD": 0.1},
}


@pytest.mark.parametrize(
    ("before", "final", "tokens"),
    [
        (REPEATED, {"modelUsage": MODELS, "usage": usage(999)}, Tokens(306, 21, 4, 3)),
        (REPEATED, {"usage": usage(310, 25)}, Tokens(310, 25)),
        (REPEATED, {"modelUsage": {"one": None, "two": []}, "usage": usage(310, 25)}, Tokens(310, 25)),
        (REPEATED, {"modelUsage": {}, "usage": usage(0, 0)}, None),
        (REPEATED, {"usage": "much"}, None),
        ([], {"modelUsage": {}, "usage": usage(0, 0)}, Tokens()),
        ([], {}, None),
        ([], {"usage": usage(-5, 3)}, Tokens(0, 3)),
        ([], {"usage": {"input_tokens": 10**30, "output_tokens": True}}, Tokens()),
    ],
)
def test_the_results_own_numbers_count(before: list[Any], final: dict[str, Any], tokens: Tokens | None) -> None:
    finished = told(*before, result(**final))[-1]
    assert isinstance(finished, Finished)
    assert finished.tokens == tokens


def test_a_second_turn_gives_a_second_result() -> None:
    found = told(INIT, result("one", num_turns=2), INIT, result("two"))
    assert [event.text for event in found if isinstance(event, Finished)] == ["one", "two"]


@pytest.mark.parametrize("data", [b"", encoded(INIT), b"Invalid API key", encoded(result())[:-10]])
def test_without_a_result_nothing_is_finished(data: bytes) -> None:
    assert [event for event in read(data) if isinstance(event, Finished)] == []


def test_closing_twice_says_nothing_more() -> None:
    stream = ClaudeStream()
    stream.feed(b"rest")
    assert stream.close() == [Unread(1, 4, "rest")]
    assert stream.close() == []


UNREAD = [
    b"plain words",
    b"[1, 2]",
    b'"text"',
    b"12",
    b"null",
    b"{}",
    b'{"type": 3}',
    b'{"type":"new"}',
    b'{"a":',
    b"[" * 9999,
]


@pytest.mark.parametrize("line", [*UNREAD, b'{"a":' * 20_000, b"\xff\xfe", b'{"type":"result"'])
def test_what_is_no_event_is_said_to_be_unread(line: bytes) -> None:
    (unread,) = read(line + b"\n")
    assert isinstance(unread, Unread)
    assert (unread.lines, unread.size) == (1, len(line))
    assert len(unread.sample) <= 200


@pytest.mark.parametrize("blank", [b"\n", b"\r\n", b"  \t\n", b"\n\n\n"])
def test_blank_lines_are_nothing(blank: bytes) -> None:
    assert read(blank) == []


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b'{"type":"assistant","message":{"content":"a\xffb"}}\r\n', "a\ufffdb"),
        (b'{"type":"assistant","message":{"content":"a\x00b"}}', "ab"),
        (b'{"type":"assistant","message":{"content":"a\\ud83d"}}', "a?"),
        (b'{"type":"assistant","message":{"content":"\\ud83c\\udf89"}}', "🎉"),
        (b'{"type":"assistant","message":{"content":"a"}}\x1b[0m\n', "a"),
        (b'{"type":"assistant","message":{"content":"a"},"n":' + b"9" * 5000 + b"}", None),
    ],
)
def test_a_line_that_is_nearly_json_is_read(data: bytes, said: str | None) -> None:
    assert [event.text for event in read(data) if isinstance(event, Said)] == ([] if said is None else [said])


def test_an_event_behind_another_writers_words_is_read_and_the_words_are_told() -> None:
    assert read(b"(node:7) Warning: old {x}" + encoded(result()))[:2] == [
        Unread(1, 25, "(node:7) Warning: old {x}"),
        Finished("All is well."),
    ]


def test_a_line_that_is_too_long_is_dropped_and_told_with_its_size() -> None:
    long = encoded(answer("x" * LINE_LIMIT))
    unread, finished = read(long + encoded(result()))
    assert isinstance(unread, Unread)
    assert (unread.lines, unread.size) == (1, len(long) - 1)
    assert finished == Finished("All is well.")


def test_a_flood_of_unread_lines_is_told_in_batches_and_in_full() -> None:
    unread = [event for event in read(b"noise\n" * 5_030 + encoded(result())) if isinstance(event, Unread)]
    assert sum(event.lines for event in unread) == 5_030
    assert sum(event.size for event in unread) == 5_030 * 5
    assert len(unread) == 20 + 5 + 1


REALISTIC = (
    b"warning: something old\r\n"
    + encoded(
        INIT, RETRY, *REPEATED, answer("grüße \x00 🎉"), assistant(text("<promise>COMPLETE</promise> ü"), message="m3")
    )
    + b'\x1b[0m\xff{"type":"keep_alive"}\n{"type":"assistant","message":{"content":"\\ud83d"}}\n'
    + encoded(REJECTED, failed(HIT, modelUsage=MODELS), INIT)
    + encoded(result("<promise>COMPLETE</promise>", usage=usage(5)))[:-1]
)


def test_in_a_flood_of_tools_answers_only_what_counts_is_read() -> None:
    answer = b'{"type":"user","message":{"content":[{"type":"tool_result","content":"' + b"x" * 9_000 + b'"}]}}\n'
    told = json.dumps(assistant(text("After all that.")))
    data = answer * 2_000 + told.encode() + b"\n" + answer
    events = read(data, range(0, len(data), 1 << 18))
    answered = [event for event in events if isinstance(event, ToolAnswered)]
    assert 0 < len(answered) < 2_000
    assert Said("After all that.") in events
    (unread,) = [event for event in events if isinstance(event, Unread)]
    assert unread.lines + len(answered) == 2_001
    assert unread.size == unread.lines * (len(answer) - 1)


def test_a_stream_cut_anywhere_gives_the_same_events() -> None:
    whole = read(REALISTIC)
    assert len(whole) == 16
    for cut in range(len(REALISTIC)):
        assert read(REALISTIC, [cut]) == whole
    assert read(REALISTIC, range(len(REALISTIC))) == whole


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
KEYS = ("type", "subtype", "message", "content", "usage", "id", "name", "input", "result", "is_error", "errors",
        "modelUsage", "rate_limit_info", "status", "resetsAt", "attempt", "retry_delay_ms", "error", "total_cost_usd",
        "input_tokens", "text", "parent_tool_use_id")  # fmt: skip
TYPES = ("assistant", "user", "system", "result", "rate_limit_event", "init", "api_retry", "tool_use", "tool_result",
         "text", "rejected", "error_x", "<synthetic>")  # fmt: skip
SHAPES = st.recursive(
    JSON | st.sampled_from(TYPES),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=20,
)


@given(st.sampled_from(TYPES), st.dictionaries(st.sampled_from(KEYS), SHAPES, max_size=6))
@settings(max_examples=150, deadline=None)
def test_no_shape_raises(kind: str, content: dict[str, Any]) -> None:
    for event in read(encoded({**content, "type": kind})):
        follow(Attempt(), event)
        json.dumps(str(event)).encode("utf-8")


@given(st.binary(max_size=300), st.integers(0, 300))
@settings(max_examples=200, deadline=None)
def test_no_bytes_raise_and_no_cut_changes_them(data: bytes, cut: int) -> None:
    assert read(data, [min(cut, len(data))]) == read(data)


@given(st.lists(st.tuples(st.integers(0, len(REALISTIC) - 1), st.integers(0, 255)), max_size=6))
@settings(max_examples=150, deadline=None)
def test_no_flipped_byte_of_a_real_stream_raises(flips: list[tuple[int, int]]) -> None:
    damaged = bytearray(REALISTIC)
    for place, byte in flips:
        damaged[place] = byte
    assert read(bytes(damaged)) == read(bytes(damaged), range(0, len(damaged), 7))


CAPTURED = {
    "claude-story": ("", False, Tokens(806, 166, 6000, 40)),
    "claude-words": ("", False, Tokens(100, 20)),
    "claude-limit-words-are-words": ("", False, Tokens(200, 40)),
    "claude-usage-limit-near": ("", False, Tokens(100, 20)),
    "claude-usage-limit": ("You've hit your session limit", True, Tokens()),
    "claude-usage-limit-after-work": ("You've hit your session limit", True, Tokens(100, 20)),
    "claude-usage-limit-with-key": ("API Error: Request rejected (429)", True, Tokens()),
    "claude-rate-limited": ("API Error: Request rejected (429)", False, Tokens()),
    "claude-overloaded": ("API Error: 529", False, Tokens()),
    "claude-too-many-turns": (ERRORS["error_max_turns"], False, Tokens(100, 20)),
    "claude-tool-int": (ERRORS["error_during_execution"], False, Tokens(100, 20)),
    "claude-tool-term": ("", False, Tokens(100, 1)),
    "claude-second-turn": ("", False, Tokens(300, 60)),
}


@pytest.mark.parametrize("name", CAPTURED)
def test_a_stream_of_the_real_cli(name: str) -> None:
    error, limited, tokens = CAPTURED[name]
    attempt = Attempt()
    for event in read((STREAMS / f"{name}.jsonl").read_bytes()):
        attempt = follow(attempt, event)
    assert attempt.error.startswith(error) and bool(attempt.error) is bool(error)
    assert (attempt.limited, attempt.tokens, attempt.unread) == (limited, tokens, 0)


@pytest.mark.parametrize("path", sorted(STREAMS.glob("claude-*.jsonl")), ids=lambda path: path.stem)
def test_every_line_of_the_real_cli_is_read(path: Path) -> None:
    assert [event for event in read(path.read_bytes()) if isinstance(event, Unread)] == []


FAULTS = {
    "rate-limited": "rate",
    "overloaded": "transient",
    "server-error": "transient",
    "cut": "transient",
    "unknown-key": "auth",
    "no-credit": "money",
    "usage-limit": "rate",
    "too-many-turns": "",
    "tool-int": "",
    "words": "",
    "limit-words-are-words": "",
    "tool-fails": "",
}


@pytest.mark.parametrize(("name", "fault"), FAULTS.items())
def test_what_kind_of_trouble_the_real_stream_tells_of(name: str, fault: str) -> None:
    stream = ClaudeStream()
    events = [*stream.feed((STREAMS / f"claude-{name}.jsonl").read_bytes()), *stream.close()]
    (finished,) = [event for event in events if isinstance(event, Finished)]
    assert finished.fault == fault
