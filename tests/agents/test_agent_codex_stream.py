"""Codex's stream: what its lines mean, which errors are limits and faults, and when a limit ends."""

import json
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from ralphloop.agents.codex_stream import CodexStream
from ralphloop.agents.moment import moment
from ralphloop.core.event import (
    Event,
    Finished,
    LimitMet,
    Retrying,
    Said,
    SessionStarted,
    Tokens,
    ToolAnswered,
    ToolCalled,
    Unread,
)

ZONE = timezone(timedelta(hours=2))
NOW = datetime(2026, 11, 20, 22, 15, 30, tzinfo=ZONE)


def told(*events: Any) -> list[Event]:
    parser = CodexStream(lambda: NOW)
    data = b"".join(json.dumps(event).encode() + b"\n" for event in events)
    return [*parser.feed(data), *parser.close()]


def begun(**item: Any) -> dict[str, Any]:
    return {"type": "item.started", "item": {"id": "item_1", "status": "in_progress", **item}}


def done(**item: Any) -> dict[str, Any]:
    return {"type": "item.completed", "item": {"id": "item_1", "status": "completed", **item}}


def failed(message: str) -> dict[str, Any]:
    return {"type": "turn.failed", "error": {"message": message}}


SHELL: dict[str, Any] = {"type": "command_execution", "command": "/bin/bash -lc 'ls -l'"}
MCP: dict[str, Any] = {"type": "mcp_tool_call", "server": "files", "tool": "read", "arguments": {"path": "/a"}}
PATCH: dict[str, Any] = {"type": "file_change", "changes": [{"path": "/repo/a", "kind": "add"}, {"path": "/repo/b"}]}


@pytest.mark.parametrize(
    ("line", "events"),
    [
        ({"type": "thread.started", "thread_id": "abc"}, [SessionStarted("abc")]),
        ({"type": "turn.started"}, []),
        (done(type="agent_message", text="hello\x1b[1m"), [Said("hello")]),
        (done(type="agent_message", text=" "), []),
        (done(type="reasoning", text="hm"), []),
        (begun(type="todo_list", items=[]), []),
        (begun(**SHELL), [ToolCalled("shell", "ls -l")]),
        (begun(**{**SHELL, "command": "bash -lc \"git commit -m 'it''s'\""}), [
            ToolCalled("shell", "git commit -m 'it''s'")
        ]),
        (begun(**{**SHELL, "command": "bash -lc 'no end"}), [ToolCalled("shell", "bash -lc 'no end")]),
        (begun(**{**SHELL, "command": "make test"}), [ToolCalled("shell", "make test")]),
        (begun(**PATCH), [ToolCalled("edit", "/repo/a /repo/b")]),
        (begun(**MCP), [ToolCalled("files.read", "/a")]),
        (begun(type="web_search", query="words"), [ToolCalled("web_search", "words")]),
        (begun(type="something_new", id="x"), [ToolCalled("something_new", "")]),
        (done(**PATCH), [ToolCalled("edit", "/repo/a /repo/b"), ToolAnswered(True, "", "edit")]),
        (done(type="error", message="No such model"), [ToolAnswered(False, "No such model", "codex")]),
        ({"type": "error", "message": "Reconnecting... 2/5 (stream closed)"}, [Retrying(2, 5, 0.0, "stream closed")]),
        ({"type": "error", "message": "Reconnecting... 1/5 (unexpected status 429 Too Many Requests: no)"}, [
            Retrying(1, 5, 0.0, "unexpected status 429 Too Many Requests: no", "rate")
        ]),
        ({"type": "turn.completed"}, [Finished("")]),
        ({"type": "turn.completed", "usage": {"input_tokens": "many"}}, [Finished("")]),
        (failed(""), [Finished("", "the turn failed and codex does not tell why")]),
        ({"type": "turn.new"}, [Unread(1, 20, '{"type": "turn.new"}')]),
    ],
)  # fmt: skip
def test_a_line(line: Any, events: list[Event]) -> None:
    assert told(line) == events


@pytest.mark.parametrize(
    ("item", "answer"),
    [
        ({**SHELL, "aggregated_output": "a\nb", "exit_code": 0}, ToolAnswered(True, "a b", "shell")),
        ({**SHELL, "aggregated_output": "", "exit_code": 3, "status": "failed"}, ToolAnswered(False, "", "shell")),
        ({**SHELL, "status": "declined"}, ToolAnswered(False, "", "shell")),
        (
            {**MCP, "result": {"content": [{"type": "text", "text": "found"}]}},
            ToolAnswered(True, "found", "files.read"),
        ),
        ({**MCP, "status": "failed", "error": {"message": "gone"}}, ToolAnswered(False, "gone", "files.read")),
    ],
)
def test_an_answer_has_the_name_of_its_call(item: dict[str, Any], answer: ToolAnswered) -> None:
    assert told(begun(**item), done(**item))[1:] == [answer]


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"input_tokens": 6806, "cached_input_tokens": 6000, "output_tokens": 166}, Tokens(806, 166, 6000)),
        ({"input_tokens": 100, "cached_input_tokens": 30, "cache_write_input_tokens": 20, "output_tokens": 5,
          "reasoning_output_tokens": 4}, Tokens(50, 5, 30, 20)),
        ({"input_tokens": 5, "cached_input_tokens": 9, "output_tokens": 1}, Tokens(0, 1, 9)),
        ({"input_tokens": 0, "output_tokens": 0}, Tokens()),
    ],
)  # fmt: skip
def test_what_came_from_a_cache_is_not_counted_as_input(usage: dict[str, Any], tokens: Tokens) -> None:
    assert told({"type": "turn.completed", "usage": usage}) == [Finished("", tokens=tokens)]


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        ("exceeded retry limit, last status: 429 Too Many Requests", "rate"),
        ("unexpected status 401 Unauthorized: Incorrect API key provided", "auth"),
        ("unexpected status 403 Forbidden: no", "auth"),
        ("unexpected status 503 Service Unavailable: authentication service is down", "transient"),
        ("We’re currently experiencing high demand, which may cause temporary errors.", "transient"),
        ("stream disconnected before completion: Transport error: network error", "transient"),
        ("Quota exceeded. Check your plan and billing details.", "money"),
        ("To use Codex with your ChatGPT plan, upgrade to Plus: https://example.invalid.", "money"),
        ("unexpected status 400 Bad Request: no such parameter", ""),
        ("Codex ran out of room in the model's context window", ""),
    ],
)
def test_what_kind_of_trouble_an_error_is(message: str, fault: str) -> None:
    assert told(failed(message)) == [Finished("", message, fault=fault)]  # type: ignore[arg-type]


HIT = "You’ve hit your usage limit. Upgrade to Pro (https://example.invalid), or try again at {}."


@pytest.mark.parametrize(
    ("message", "resets_at"),
    [
        (HIT.format("11:30 PM"), datetime(2026, 11, 20, 23, 30, tzinfo=ZONE)),
        (HIT.format("12:05 AM"), datetime(2026, 11, 20, 0, 5, tzinfo=ZONE)),
        (HIT.format("Nov 23rd, 2026 12:15 AM"), datetime(2026, 11, 23, 0, 15, tzinfo=ZONE)),
        ("You've hit your usage limit. Try again later.", None),
        ("stream disconnected before completion: The usage limit has been reached", None),
    ],
)
def test_a_limit_ends_when_codex_says(message: str, resets_at: datetime | None) -> None:
    limit, finished = told(failed(message))
    assert isinstance(limit, LimitMet)
    assert limit.resets_at == (resets_at.timestamp() if resets_at else None)
    assert finished == Finished("", message, fault="rate")


def test_an_error_that_no_turn_owns_is_told_at_the_end() -> None:
    assert told({"type": "error", "message": "stream closed"}) == [Finished("", "stream closed", fault="transient")]
    well = {"type": "turn.completed"}
    assert told({"type": "error", "message": "stream closed"}, well) == [Finished("")]
    assert len(told({"type": "error", "message": "again"}, failed("again"))) == 1


def test_a_time_of_day_is_of_the_day_on_which_it_was_written() -> None:
    parser = CodexStream(lambda: NOW)
    parser.written(datetime(2026, 3, 4, 12).timestamp())
    events = parser.feed(json.dumps(failed("You've hit your usage limit. Try again at 1:11 PM.")).encode() + b"\n")
    assert isinstance(events[0], LimitMet)
    assert events[0].resets_at == datetime(2026, 3, 4, 13, 11).timestamp()


def test_words_about_limits_are_words() -> None:
    words = "You've hit your usage limit. Try again at 11:30 PM. 429 401 Unauthorized"
    shown = done(**{**SHELL, "aggregated_output": words, "status": "failed"})
    events = told(done(type="agent_message", text=words), shown, {"type": "turn.completed"})
    assert not any(isinstance(event, LimitMet) for event in events)
    assert events[-1] == Finished(words)


@pytest.mark.parametrize(
    ("words", "at"),
    [
        ("1:11 AM", (20, 1, 11)),
        ("at 12:00 PM.", (20, 12, 0)),
        ("Nov 1st, 2026 9:09 PM", (1, 21, 9)),
        ("November 2nd, 2026 at 9:09 PM", (2, 21, 9)),
        ("Nov 31st, 2026 9:09 PM", None),
        ("Abc 3rd, 2026 9:09 PM", None),
        ("13:61 PM", None),
        ("tomorrow", None),
        ("", None),
    ],
)
def test_the_moment_words_name(words: str, at: tuple[int, int, int] | None) -> None:
    expected = at and datetime(2026, 11, at[0], at[1], at[2], tzinfo=ZONE).timestamp()
    assert moment(words, NOW) == expected
