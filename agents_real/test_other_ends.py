"""The table of ends with Gemini CLI and Qwen Code: how each attempt ends, what is told of it, and that nothing is left."""

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from conftest import STREAMS, Serve
from ends import Cli, End, one_attempt
from gemini_wire import daily_quota, quota_until
from messages import Answer, Cut, Fail, Refuse, Say, Scenario, Silence, Tool
from model_server import ModelServer
from other_clis import GEMINI, QWEN
from ralph_run import SKIP, finish, living_in, start
from ralphloop.core.event import Fault, Retrying, Said, ToolAnswered
from repository import Repository
from scenarios import STORY_COMPLETE, always, sequence, six_stories, turns
from session import scrub, until

SPOKEN = "The log speaks of 429, of a usage limit, and of your daily quota: [API Error: 401] it said"
LOG = Tool("Bash", {"command": f"echo '{SPOKEN}'"})
SOON = {"retry-after": "1"}
RATE = Refuse(429, "rate_limit_exceeded", "Too many requests.", SOON)
BROKEN = Refuse(500, "server_error", "Internal server error")
NO_KEY = Refuse(401, "invalid_api_key", "Incorrect API key provided.")
WEEK = Refuse(429, "insufficient_quota", "week allocated quota exceeded.", SOON)
NO_CREDIT = Refuse(429, "insufficient_quota", "You exceeded your quota, check your plan and billing details.", SOON)


class Row(NamedTuple):
    """Answers of the model, one a request, and how the attempt then ends."""

    cli: Cli
    name: str
    answers: tuple[Answer, ...]
    exit_code: int | None = 0
    error: str = ""
    fault: Fault = ""
    limited: bool = False
    text: str = ""


ROWS = (
    Row(GEMINI, "words", (Say("Nothing was to be done."),), text="Nothing was to be done."),
    Row(GEMINI, "limit-words-are-words", (Say("I look.", (LOG,)), Say(SPOKEN)), text=SPOKEN),
    Row(GEMINI, "empty-answer", (Say(""),), error="The model returned"),
    Row(GEMINI, "failing-stream", (Fail("INTERNAL", "It broke in the middle."),), 244, "It broke", "transient"),
    Row(GEMINI, "rate-limited", (RATE,), 173, "Too many requests.", "rate"),
    Row(GEMINI, "daily-quota", (daily_quota(),), 173, "daily quota", limited=True),
    Row(GEMINI, "quota-until", (Say("I look.", (LOG,)), quota_until(11_000)), 173, "quota", limited=True),
    Row(GEMINI, "server-error", (BROKEN,), 244, "Internal server error", "transient"),
    Row(GEMINI, "unknown-key", (NO_KEY,), 145, "Incorrect API key", "auth"),
    Row(GEMINI, "invalid-key", (Refuse(400, "", "API key not valid. Please pass a valid one."),), 144, "not valid", "auth"),
    Row(GEMINI, "cut", (Cut(),), 1, "terminated", "transient"),
    Row(QWEN, "words", (Say("Nothing was to be done."),), text="Nothing was to be done."),
    Row(QWEN, "limit-words-are-words", (Say("I look.", (LOG,)), Say(SPOKEN)), text=SPOKEN),
    Row(QWEN, "rate-limited", (RATE,), 0, "Too many requests.", "rate"),
    Row(QWEN, "usage-limit", (WEEK,), 0, "week allocated quota", limited=True),
    Row(QWEN, "no-credit", (NO_CREDIT,), 0, "billing details", "money"),
    Row(QWEN, "unknown-key", (NO_KEY,), 0, "Incorrect API key", "auth"),
    Row(QWEN, "cut", (Say("I look.", (LOG,)), Cut()), 0, "API Error: terminated", "transient"),
)  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.cli.name}-{row.name}")
def test_answers(row: Row, tmp_path: Path, repository: Repository, serve: Serve, request: pytest.FixtureRequest) -> None:
    server = serve(sequence(*row.answers))
    end = one_attempt(row.cli, tmp_path, repository, server)
    assert (end.attempt.end, end.attempt.exit_code) == ("natural", row.exit_code)
    assert row.error in end.attempt.error and bool(row.error) == bool(end.attempt.error)
    assert row.error in end.last.error and row.text in end.last.text
    assert (end.last.fault, end.attempt.limited, bool(end.limits)) == (row.fault, row.limited, row.limited)
    assert server.unknown == []
    if not row.error:
        assert end.last.tokens is not None
        told = (end.last.tokens.input, end.last.tokens.output, end.last.tokens.cache_read)
        assert told == (server.usage.input, server.usage.output, server.usage.cache_read)
    same_shape(row.cli, row.name, end, tmp_path, request)


def same_shape(cli: Cli, name: str, end: End, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """As the kept stream of this name; with --keep-streams this one is kept."""
    file = STREAMS / f"{cli.name}-{name}.jsonl"
    raw = scrub(end.raw, tmp_path)
    if request.config.getoption("--keep-streams"):
        file.write_bytes(raw)
    assert kinds(raw) == kinds(file.read_bytes()), "the CLI's stream has changed"


def kinds(raw: bytes) -> list[str]:
    """The kinds of the lines that are events, each as often as it changes."""
    found: list[str] = []
    for line in raw.splitlines():
        if line.startswith(b'{"type"'):
            event: dict[str, Any] = json.loads(line)
            kind = " ".join(str(event[key]) for key in ("type", "subtype", "role", "status", "severity") if key in event)
            if found[-1:] != [kind]:
                found.append(kind)
    return found


@pytest.mark.parametrize("skip", [True, False], ids=["skip-permissions", "allowed-tools"])
@pytest.mark.parametrize("cli", [GEMINI, QWEN], ids=lambda cli: cli.name)
def test_a_story_is_built_marked_and_committed(
    cli: Cli, skip: bool, tmp_path: Path, repository: Repository, serve: Serve, request: pytest.FixtureRequest
) -> None:
    server = serve(six_stories(repository))
    end = one_attempt(cli, tmp_path, repository, server, skip=skip)
    assert end.attempt.error == ""
    assert end.attempt.claim.kind == "story"
    assert [event.text for event in end.events if isinstance(event, Said)][-1].endswith(STORY_COMPLETE)
    assert repository.subjects() == ["feat: STORY-001 Add the count tool"]
    assert [story["passes"] for story in repository.stories()].count(True) == 1
    assert all(event.ok for event in end.events if isinstance(event, ToolAnswered))
    same_shape(cli, "story" if skip else "story-allowed-tools", end, tmp_path, request)


@pytest.mark.parametrize("cli", [GEMINI, QWEN], ids=lambda cli: cli.name)
def test_without_permissions_other_commands_are_refused(
    cli: Cli, tmp_path: Path, repository: Repository, serve: Serve, request: pytest.FixtureRequest
) -> None:
    server = serve(turns(Say("", (Tool("Bash", {"command": "touch forbidden"}),)), Say("I may not.")))
    end = one_attempt(cli, tmp_path, repository, server, skip=False)
    assert not (repository.path / "forbidden").exists()
    assert end.attempt.error == ""
    assert [event.ok for event in end.events if isinstance(event, ToolAnswered)] == [False]
    same_shape(cli, "permission-denied", end, tmp_path, request)
