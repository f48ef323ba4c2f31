"""Gemini's, Qwen's, Aider's, Cursor's and Droid's output: what its lines mean beyond what was kept of the real CLIs."""

import json
from typing import Any

import pytest

from ralphloop.agents.aider_stream import NO_ANSWER
from ralphloop.agents.lines import FLOOD
from ralphloop.agents.table import named
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


def told(agent: str, *lines: Any) -> list[Event]:
    parser = named(agent, {}).parser()
    data = b"".join((line if isinstance(line, str) else json.dumps(line)).encode() + b"\n" for line in lines)
    return [*parser.feed(data), *parser.close()]


def last(events: list[Event]) -> Finished:
    return [event for event in events if isinstance(event, Finished)][-1]


def piece(words: str) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": words, "delta": True}


def result(status: str = "success", **more: Any) -> dict[str, Any]:
    return {"type": "result", "timestamp": "2026-11-20T00:00:00.000Z", "status": status, **more}


def refused(message: str) -> dict[str, Any]:
    return result("error", error={"type": "unknown", "message": message})


STATS = {"total_tokens": 190, "input_tokens": 150, "output_tokens": 20, "cached": 50, "input": 100}
CALL = {"type": "tool_use", "tool_name": "read_file", "tool_id": "c1", "parameters": {"file_path": "/repo/a"}}
ANSWER = {"type": "tool_result", "tool_id": "c1", "status": "success", "output": "You have hit your daily quota"}
TERMINAL = "Error when talking to Gemini API Full report available at: /tmp/x.json TerminalQuotaError: gone"
NOW = 1795132800.0  # the time of `result`


def test_gemini_says_its_pieces_in_one() -> None:
    events = told(
        "gemini", piece("<prom"), piece("ise>COMPLETE</pro"), piece("mise>"), CALL, ANSWER, piece("x"), result()
    )
    assert events == [
        Said("<promise>COMPLETE</promise>"),
        ToolCalled("read_file", "/repo/a"),
        ToolAnswered(True, "You have hit your daily quota", "read_file"),
        Said("x"),
        Finished("x"),
    ]


def test_gemini_says_what_it_had_said_when_it_is_broken_off() -> None:
    assert told("gemini", piece("half a "), piece("sentence")) == [Said("half a sentence")]


@pytest.mark.parametrize(
    ("lines", "error", "fault"),
    [
        ([result(stats=STATS)], "", ""),
        ([result("error")], "the agent ended with the status error", ""),
        ([{"type": "result"}], "the agent ended with the status None", ""),
        ([refused("Reached max session turns for this session.")], "Reached max session turns for this session.", ""),
        ([{"type": "error", "severity": "error", "message": "Maximum session turns exceeded"}, result()],
         "Maximum session turns exceeded", ""),
        ([{"type": "error", "severity": "warning", "message": "Loop detected, stopping execution"}, result()],
         "Loop detected, stopping execution", ""),
        ([{"type": "error", "severity": "warning", "message": "Agent execution blocked: no"}, result()], "", ""),
        ([{"type": "error", "severity": "error", "message": "429"}, piece("I went on."), result()], "", ""),
        ([refused('[API Error: {"error":{"code":503,"message":"x","status":"UNAVAILABLE"}}]')], "[API", "transient"),
        ([refused("[API Error: x (Status: PERMISSION_DENIED)]")], "[API Error: x", "auth"),
        ([refused("[API Error: slow]\nPlease wait and try again later.")], "[API Error: slow]\nPlease", "rate"),
        ([refused("[API Error: Quota exceeded, limit: 0]\nPlease wait")], "[API Error: Quota", "money"),
        ([refused("[API Error: fetch failed]")], "[API Error: fetch failed]", "transient"),
    ],
)  # fmt: skip
def test_gemini_errors(lines: list[Any], error: str, fault: str) -> None:
    finished = last(told("gemini", *lines))
    assert finished.error.startswith(error) and bool(finished.error) == bool(error)
    assert finished.fault == fault


@pytest.mark.parametrize(
    ("lines", "limits"),
    [
        ([refused("[API Error: You have exhausted your daily quota on this model.]")],
         [LimitMet("You have exhausted your daily quota on this model.")]),
        ([refused("[API Error: You have exhausted your capacity on this model. Your quota will reset after 1h30m.]")],
         [LimitMet("You have exhausted your capacity on this model. Your quota will reset after 1h30m.", NOW + 5400)]),
        ([TERMINAL, refused("[API Error: Quota.\nSuggested retry after 600s.]")], [LimitMet("Quota.", NOW + 600)]),
        ([TERMINAL, piece("It went well."), result()], []),
        ([refused("[API Error: Not enough G1 credits; your quota will reset after 1h.]")], []),
        ([refused("Error executing tool x: your daily quota")], []),
        ([piece("You have exhausted your daily quota."), result()], []),
    ],
)  # fmt: skip
def test_gemini_limits(lines: list[Any], limits: list[LimitMet]) -> None:
    assert [event for event in told("gemini", *lines) if isinstance(event, LimitMet)] == limits


def test_gemini_tokens_are_counted_apart() -> None:
    assert last(told("gemini", result(stats=STATS))).tokens == Tokens(100, 40, 50)
    assert last(told("gemini", result(stats={"total_tokens": 0}))).tokens == Tokens()
    assert last(told("gemini", result())).tokens is None
    cut = result("error", error={"message": "[API Error: terminated]"}, stats={"total_tokens": 0})
    assert last(told("gemini", cut)).tokens is None, "what was used before it was cut is not known"


def test_gemini_stderr_is_told_apart() -> None:
    lines = (
        "YOLO mode is enabled. All tool calls will be automatically approved.",
        'Attempt 1 failed with status 429. Retrying with backoff... _ApiError: {"error":{"code":429}}',
        "    at file:///x.js:1:2",
        "  status: 429",
        "}",
        "Attempt 2 failed: wait. Retrying after 5000ms...",
        "something new",
    )
    assert told("gemini", *lines) == [
        Retrying(1, 0, 0.0, "429"),
        Retrying(2, 0, 5.0, "wait."),
        Unread(1, 13, "something new"),
    ]


def qwen_says(words: str, read: int = 0) -> dict[str, Any]:
    message = {
        "id": f"m{len(words)}",
        "model": "qwen",
        "content": [{"type": "text", "text": words}],
        "usage": {"input_tokens": read, "output_tokens": read // 10, "cache_read_input_tokens": read // 2},
    }
    return {"type": "assistant", "message": message}


def qwen_ends(words: str) -> dict[str, Any]:
    usage = {"input_tokens": 100, "output_tokens": 10, "cache_read_input_tokens": 50}
    return {"type": "result", "subtype": "success", "is_error": False, "result": words, "usage": usage}


@pytest.mark.parametrize(
    ("words", "read", "error", "fault", "limited"),
    [
        ("Done.", 100, "", "", False),
        ("The log ends with [API Error: 401 no]", 100, "", "", False),
        ("[API Error: 401 no]", 0, "[API Error: 401 no]", "auth", False),
        ("Half a [API Error: terminated (cause: other side closed)]", 0, "[API Error: terminated", "transient", False),
        (
            "[API Error: slow down]\nPossible quota limitations in place: 429",
            0,
            "[API Error: slow down]",
            "rate",
            False,
        ),
        ("[API Error: hour allocated quota exceeded; try again in 2h]", 0, "[API Error: hour", "rate", True),
        ("Qwen OAuth quota exceeded: Your free daily quota has been reached.", 0, "Qwen OAuth", "rate", True),
        ("[API Error: insufficient_quota]", 0, "[API Error: insufficient_quota]", "money", False),
        ("It says [API Error: x] and goes on.", 0, "", "", False),
    ],
)
def test_qwen_errors(words: str, read: int, error: str, fault: str, limited: bool) -> None:
    events = told("qwen", qwen_says(words, read), qwen_ends(words))
    finished = last(events)
    assert finished.error.startswith(error) and bool(finished.error) == bool(error)
    assert (finished.fault, any(isinstance(event, LimitMet) for event in events)) == (fault, limited)
    assert finished.tokens == Tokens(50, 10, 50), "what was cached is no input"


def test_qwen_limit_tells_its_end() -> None:
    words = "[API Error: hour allocated quota exceeded; try again in 2h 30m]"
    (limit,) = (event for event in told("qwen", qwen_says(words), qwen_ends(words)) if isinstance(event, LimitMet))
    assert (limit.resets_at, limit.resets_in) == (None, 9000.0)


REPORT = "Tokens: 2.4k sent, 1k cache write, 400 cache hit, 29 received."
FULL = "Tokens: 1.2M sent, 950 received. Cost: $0.0063 message, $1.25 session."
RATE = ("litellm.RateLimitError: RateLimitError: OpenAIException - Too many", "requests.", "The API provider is full.")


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (("Done.", FULL), Finished("Done.", "", Tokens(1_200_000, 950), 1.25)),
        (("Done.", REPORT, "Cost: $0.10 message, $0.30 session."),
         Finished("Done.", "", Tokens(1000, 29, 400, 1000), 0.3)),
        (("One.", FULL, "Two.", "Tokens: 10 sent, 5 received."), Finished("Two.", "", Tokens(1_200_010, 955), 1.25)),
        (("Done.",), Finished("", NO_ANSWER)),
        ((), Finished("", NO_ANSWER)),
        (RATE, Finished("", " ".join(RATE), fault="rate")),
        ((*RATE, "Done after all.", FULL),
         Finished("\n".join((*RATE, "Done after all.")), "", Tokens(1_200_000, 950), 1.25)),
        (("litellm.AuthenticationError: no",), Finished("", "litellm.AuthenticationError: no", fault="auth")),
        (("litellm.NotFoundError: no",), Finished("", "litellm.NotFoundError: no")),
        (("litellm.RateLimitError: insufficient_quota",),
         Finished("", "litellm.RateLimitError: insufficient_quota", fault="money")),
        (("Done.", "Tokens: 1 sent, 2 received.", "Only 3 reflections allowed, stopping."),
         Finished("Done.", "Only 3 reflections allowed, stopping.", Tokens(1, 2))),
        (("Cost: $1.00 message, $2.00 session.", "Tokens: 1 sent, 2 received."),
         Finished("Cost: $1.00 message, $2.00 session.", "", Tokens(1, 2))),
    ],
)  # fmt: skip
def test_aider(lines: tuple[str, ...], expected: Finished) -> None:
    assert last(told("aider", *lines)) == expected


def test_aider_tries_again_and_meets_a_limit() -> None:
    limit = "litellm.RateLimitError: You have reached your weekly limit, try again in 3h 20m."
    events = told("aider", *RATE, "Retrying in 0.2 seconds...", limit)
    assert events[1:] == [
        Retrying(1, 0, 0.2, " ".join(RATE)),
        Said(limit),
        LimitMet(limit, None, 12_000.0),
        Finished("", limit, fault="rate"),
    ]


def test_aider_s_flood_is_told_in_part() -> None:
    flood = "x" * 99 + "\n"
    parser = named("aider", {}).parser()
    events = [
        *parser.feed(flood.encode() * (FLOOD // 50)),
        *parser.feed(b"Tokens: 1 sent, 2 received.\n"),
        *parser.close(),
    ]
    assert sum(len(event.text) for event in events if isinstance(event, Said)) <= FLOOD
    (unread,) = (event for event in events if isinstance(event, Unread))
    assert unread.size > FLOOD // 2
    assert Spent(Tokens(1, 2)) in events


def test_cursor() -> None:
    call = {"type": "tool_call", "tool_call": {"readToolCall": {"args": {"path": "src/a"}}}, "subtype": "started"}
    well = {"type": "tool_call", "tool_call": {"readToolCall": {"result": {"success": {"content": "text"}}}}}
    badly = {"type": "tool_call", "tool_call": {"shellToolCall": {"result": {"failure": {"command": "x"}}}}}
    lines = (
        {"type": "system", "subtype": "init", "session_id": "s", "model": "m"},
        {"type": "user", "message": {"content": [{"type": "text", "text": "the prompt"}]}},
        {"type": "thinking", "subtype": "delta", "text": "hm"},
        {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": "I read."}]}},
        call,
        {**well, "subtype": "completed"},
        {**badly, "subtype": "completed"},
        {"type": "result", "subtype": "success", "is_error": False, "result": "Read."},
        {"type": "new"},
    )
    *events, finished, unread = told("cursor", *lines)
    assert events == [
        SessionStarted("s", "m"),
        Said("I read."),
        ToolCalled("read", "src/a"),
        ToolAnswered(True, "text", "read"),
        ToolAnswered(False, "x", "shell"),
    ]
    assert (finished, type(unread)) == (Finished("Read."), Unread)


def test_droid() -> None:
    lines = (
        {"type": "system", "subtype": "init", "session_id": "s", "model": "m"},
        {"type": "message", "role": "user", "text": "the prompt"},
        {"type": "message", "role": "assistant", "text": "I look."},
        {"type": "tool_call", "id": "c", "toolName": "Execute", "parameters": {"command": "ls"}},
        {"type": "tool_result", "id": "c", "isError": True, "value": "no"},
        {"type": "completion", "finalText": "Done.", "numTurns": 2},
    )
    assert told("droid", *lines) == [
        SessionStarted("s", "m"),
        Said("I look."),
        ToolCalled("Execute", "ls"),
        ToolAnswered(False, "no", "Execute"),
        Finished("Done.", turns=2),
    ]
    trouble = {"type": "error", "message": "401 unauthorized"}
    assert told("droid", trouble) == [Finished("", "401 unauthorized", fault="auth")]
    assert told("droid", trouble, lines[2], lines[5])[-1] == Finished("Done.", turns=2)
