"""Copilot's stream: what of its many lines counts, and how its errors and its exit code become an end."""

import json
from typing import Any

import pytest

from ralphloop.agents.copilot_stream import CopilotStream
from ralphloop.core.event import (
    Event,
    Finished,
    LimitMet,
    Retrying,
    Said,
    SessionStarted,
    ToolAnswered,
    ToolCalled,
    Unread,
)


def told(*events: Any) -> list[Event]:
    parser = CopilotStream()
    data = b"".join(json.dumps(event).encode() + b"\n" for event in events)
    return [*parser.feed(data), *parser.close()]


def line(kind: str, **data: Any) -> dict[str, Any]:
    return {"type": kind, "data": data}


def result(code: int = 0) -> dict[str, Any]:
    return {"type": "result", "sessionId": "s", "exitCode": code}


def last(*events: Any) -> Finished:
    finished = told(*events)[-1]
    assert isinstance(finished, Finished)
    return finished


CALL = line("tool.execution_start", toolCallId="c", toolName="bash", arguments={"command": "ls"})


@pytest.mark.parametrize(
    ("lines", "events"),
    [
        ([line("session.tools_updated", model="m")] * 2, [SessionStarted("", "m")]),
        ([line("session.tools_updated", model="m"), line("session.tools_updated", model="n")],
         [SessionStarted("", "m"), SessionStarted("", "n")]),
        ([line("assistant.message", content="hello", toolRequests=[])], [Said("hello")]),
        ([line("assistant.message", content="")], []),
        ([line("assistant.message", content="a subagent's", parentToolCallId="c")], []),
        ([line("assistant.message_delta", deltaContent="hel")], []),
        ([line("user.message", content="usage limit")], []),
        ([CALL], [ToolCalled("bash", "ls")]),
        ([CALL, line("tool.execution_complete", toolCallId="c", success=True, result={"content": "a\nb"})],
         [ToolCalled("bash", "ls"), ToolAnswered(True, "a b", "bash")]),
        ([line("tool.execution_complete", success=True, shellExecution={"exitCode": 3}, result={"content": "no"})],
         [ToolAnswered(False, "no")]),
        ([line("tool.execution_complete", success=False, error={"message": "no"})], [ToolAnswered(False, "no")]),
        ([line("model.call_failure", statusCode=429, errorType="rate", retryAttempt=0), line("assistant.turn_retry")],
         [Retrying(1, 0, 0.0, "429 rate")]),
        ([line("model.call_failure", errorMessage="end of file", retryAttempt=1), line("assistant.turn_retry")],
         [Retrying(2, 0, 0.0, "end of file")]),
        ([line("session.something_new")], []),
        ([line("weather.report")], [Unread(1, 38, '{"type": "weather.report", "data": {}}')]),
        ([line("assistant.message", content="Done."), result()],
         [Said("Done."), SessionStarted("s"), Finished("Done.")]),
    ],
)  # fmt: skip
def test_lines(lines: list[Any], events: list[Event]) -> None:
    assert told(*lines) == events


@pytest.mark.parametrize(
    ("failure", "told_error", "fault"),
    [
        ({}, {"errorType": "authentication", "message": "Authentication failed", "statusCode": 401}, "auth"),
        ({}, {"errorType": "quota", "message": "402 You have no quota"}, "money"),
        ({}, {"errorType": "rate_limit", "message": "Too many", "statusCode": 429}, "rate"),
        (
            {"errorMessage": '{"code": "insufficient_quota"}'},
            {"errorType": "rate_limit", "message": "Too many"},
            "money",
        ),
        ({"statusCode": 503}, {"errorType": "query", "message": "Failed to get a response"}, "transient"),
        ({}, {"errorType": "query", "message": "Failed; retried 5 times. Last error: it went away"}, "transient"),
        ({}, {"errorType": "query", "message": "No response was returned. Send your message again."}, "transient"),
        ({}, {"errorType": "query", "message": "The prompt is too long"}, ""),
        ({}, {"errorType": "query", "message": "Sorry, you have hit your weekly limit"}, "rate"),
    ],
)
def test_what_kind_of_trouble_an_error_is(failure: dict[str, Any], told_error: dict[str, Any], fault: str) -> None:
    finished = last(line("model.call_failure", **failure), line("session.error", **told_error), result(1))
    assert (finished.error, finished.fault) == (told_error["message"], fault)


@pytest.mark.parametrize("message", ["You've reached your usage limit", "You have exceeded your premium rate limit"])
def test_a_limit_is_told(message: str) -> None:
    events = told(line("session.error", message=message), result(1))
    assert events[0] == LimitMet(message)
    assert last(line("session.error", message=message), result(1)).fault == "rate"


def test_a_failure_that_was_got_over_is_forgotten() -> None:
    failure, success = line("model.call_failure", statusCode=500), line("model.call_finished", outcome="success")
    assert last(failure, success, line("session.error", message="the hook said no"), result(1)).fault == ""


@pytest.mark.parametrize(
    ("lines", "error"),
    [
        ([result(0)], ""),
        ([result(2)], "copilot ended with exit code 2 and does not tell why"),
        ([line("session.error", message="It broke"), result(0)], "It broke"),
        ([line("session.error"), result(0)], ""),
        ([line("abort", reason="user_abort"), result(0)], "the agent was broken off (user_abort)"),
        ([line("session.error", message="It broke")], "It broke"),
    ],
)
def test_an_error_is_one_whatever_the_exit_code(lines: list[Any], error: str) -> None:
    assert last(*lines).error == error


def test_tokens_are_unknown_and_not_zero() -> None:
    assert (last(result()).tokens, last(result()).cost) == (None, None)


def test_words_about_limits_are_words() -> None:
    words = "usage limit reached, 429, 401 Unauthorized"
    answered = line("tool.execution_complete", toolCallId="c", success=False, result={"content": words})
    events = told(line("assistant.message", content=words), CALL, answered, result())
    assert not any(isinstance(event, LimitMet) for event in events)
    assert events[-1] == Finished(words)
