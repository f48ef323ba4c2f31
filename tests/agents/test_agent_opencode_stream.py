"""OpenCode's stream: steps, tools, tokens and cost, and errors that come without a last word."""

import json
from typing import Any

import pytest

from ralphloop.agents.opencode_stream import REASONS, OpenCodeStream
from ralphloop.core.event import (
    Event,
    Finished,
    LimitMet,
    Said,
    SessionStarted,
    Spent,
    Tokens,
    ToolAnswered,
    ToolCalled,
)

SESSION = SessionStarted("ses_1")


def told(*events: Any) -> list[Event]:
    parser = OpenCodeStream()
    data = b"".join(json.dumps({"sessionID": "ses_1", **event}).encode() + b"\n" for event in events)
    return [*parser.feed(data), *parser.close()]


def last(*events: Any) -> Finished:
    finished = told(*events)[-1]
    assert isinstance(finished, Finished)
    return finished


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "part": {"type": "text", "text": words}}


def tool(status: str = "completed", name: str = "bash", **state: Any) -> dict[str, Any]:
    return {
        "type": "tool_use",
        "part": {"tool": name, "state": {"status": status, "input": {"command": "ls"}, **state}},
    }


def step(reason: str = "stop", cost: float = 0, **tokens: Any) -> dict[str, Any]:
    return {"type": "step_finish", "part": {"reason": reason, "cost": cost, "tokens": tokens}}


def error(name: str = "APIError", **data: Any) -> dict[str, Any]:
    return {"type": "error", "error": {"name": name, "data": data}}


BEGIN = {"type": "step_start", "part": {"type": "step-start"}}
USED: dict[str, Any] = {"input": 200, "output": 40, "reasoning": 5, "cache": {"read": 1000, "write": 10}}


@pytest.mark.parametrize(
    ("line", "events"),
    [
        (BEGIN, []),
        (text("hello"), [Said("hello")]),
        (text(" "), []),
        ({"type": "reasoning", "part": {"text": "hm"}}, []),
        (tool(output="a\nb"), [ToolCalled("bash", "ls"), ToolAnswered(True, "a b", "bash")]),
        (tool(output="no", metadata={"exit": 3}), [ToolCalled("bash", "ls"), ToolAnswered(False, "no", "bash")]),
        (tool("error", error="may not"), [ToolCalled("bash", "ls"), ToolAnswered(False, "may not", "bash")]),
        (tool(name="read", input={"filePath": "/a"}), [ToolCalled("read", "/a"), ToolAnswered(True, "", "read")]),
        (step(**USED), [Spent(Tokens(200, 45, 1000, 10))]),
        (step(), [Spent(Tokens())]),
    ],
)
def test_a_line(line: Any, events: list[Event]) -> None:
    assert told(line)[:-1] == [SESSION, *events]


def test_the_session_is_its_steps() -> None:
    events = told(
        BEGIN, text("I look."), step("tool-calls", 0.25, **USED), BEGIN, text("Done."), step("stop", 0.5, **USED)
    )
    assert events[-2:] == [
        Spent(Tokens(400, 90, 2000, 20)),
        Finished("Done.", tokens=Tokens(400, 90, 2000, 20), cost=0.75, turns=2),
    ]


def test_a_cost_of_nothing_is_unknown_for_the_model_may_have_no_price() -> None:
    assert last(BEGIN, step(**USED)).cost is None


@pytest.mark.parametrize(
    ("events", "why"),
    [
        ([BEGIN], REASONS["tool-calls"]),
        ([BEGIN, step("tool-calls")], REASONS["tool-calls"]),
        ([BEGIN, tool("error", error="The user rejected it"), step("tool-calls")],
         REASONS["tool-calls"] + ": The user rejected it"),
        ([BEGIN, step("length")], REASONS["length"]),
        ([BEGIN, step("content-filter")], REASONS["content-filter"]),
        ([BEGIN, step("stop")], ""),
        ([BEGIN, step("unknown")], ""),
        ([BEGIN, step("stop"), BEGIN], REASONS["tool-calls"]),
        ([BEGIN, step("tool-calls"), BEGIN, step("stop")], ""),
    ],
)  # fmt: skip
def test_an_end_in_the_middle_of_the_work_is_an_error(events: list[Any], why: str) -> None:
    assert last(*events).error == why


def test_a_step_that_ends_well_is_no_end_for_a_summary_is_a_step_too() -> None:
    parser = OpenCodeStream()
    data = json.dumps({**step("stop"), "sessionID": "s"}).encode() + b"\n"
    assert not any(isinstance(event, Finished) for event in parser.feed(data))


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        ({"message": "Rate limit reached", "statusCode": 429}, "rate"),
        ({"message": "You exceeded your current quota, check your plan and billing", "statusCode": 429}, "money"),
        ({"message": "no", "statusCode": 429, "responseBody": '{"error": {"code": "insufficient_quota"}}'}, "money"),
        ({"message": "Incorrect API key provided", "statusCode": 401}, "auth"),
        ({"message": "It broke", "statusCode": 500}, "transient"),
        ({"message": "Connection reset by server", "metadata": {"code": "ECONNRESET"}}, "transient"),
        ({"message": '{"message":"The server had an error","type":"server_error"}'}, "transient"),
        ({"message": "Unsupported parameter: 429", "statusCode": 400}, ""),
        ({}, ""),
    ],
)
def test_what_kind_of_trouble_an_error_is(data: dict[str, Any], fault: str) -> None:
    finished = last(BEGIN, error(**data))
    assert finished.fault == fault
    assert finished.error and not finished.error.startswith("{")


def test_names_of_errors_say_what_their_words_do_not() -> None:
    assert last(error("ProviderAuthError", message="run opencode auth")).fault == "auth"
    assert last(error("MessageAbortedError")).error == "MessageAbortedError"


@pytest.mark.parametrize(
    ("data", "resets_at"),
    [
        ({"message": "The usage limit has been reached", "responseBody": '{"error": {"resets_at": 1795137171}}'},
         1795137171.0),
        ({"message": "no", "responseBody": '{"error": {"type": "usage_limit_reached", "resets_at": -1}}'}, None),
        ({"message": "no", "responseBody": '{"error": {"type": "FreeUsageLimitError"}}'}, None),
        ({"message": "You've hit your limit", "responseBody": "not json"}, None),
        ({"message": "Try later", "responseHeaders": {
            "anthropic-ratelimit-unified-status": "rejected", "anthropic-ratelimit-unified-reset": "1795137171",
        }}, 1795137171.0),
        ({"message": "usage limit", "responseHeaders": {
            "retry-after": "60", "date": "Fri, 20 Nov 2026 00:15:29 GMT",
        }}, 1795133789.0),
        ({"message": "usage limit", "responseHeaders": {"retry-after": "soon", "date": "today"}}, None),
    ],
)  # fmt: skip
def test_a_limit_is_read_from_what_the_api_answered(data: dict[str, Any], resets_at: float | None) -> None:
    (limit,) = [event for event in told(error(statusCode=429, **data)) if isinstance(event, LimitMet)]
    assert limit.resets_at == resets_at
    assert last(error(statusCode=429, **data)).fault == "rate"


def test_words_about_limits_are_words() -> None:
    words = "The usage limit has been reached: 429, invalid API key"
    events = told(BEGIN, text(words), tool("error", error=words), tool(output=words), step("stop"))
    assert not any(isinstance(event, LimitMet) for event in events)
    assert isinstance(events[-1], Finished)
    assert (events[-1].error, events[-1].fault) == ("", "")


def test_an_error_that_the_session_got_over_is_none() -> None:
    assert last(error(message="Your prompt is too long"), BEGIN, step("stop")).error == ""


def test_without_a_session_nothing_is_finished() -> None:
    parser = OpenCodeStream()
    assert [event for event in (*parser.feed(b"no such model\n"), *parser.close()) if isinstance(event, Finished)] == []
