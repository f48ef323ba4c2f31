"""The table of ends with Gemini CLI and Qwen Code: how an attempt ends, what is told of it, what is left."""

import signal
from pathlib import Path
from typing import NamedTuple

import pytest

from conftest import Serve
from conversation import read_turn
from ends import Cli, one_attempt, same_shape
from gemini_wire import daily_quota, quota_until
from messages import Answer, Cut, Fail, Refuse, Say, Silence, Tool
from other_clis import GEMINI, QWEN
from ralph_run import SKIP, finish, living_in, start
from ralphloop.core.event import Fault, Said, ToolAnswered
from repository import Repository
from scenarios import STORY_COMPLETE, always, sequence, six_stories, turns
from session import until

CLIS = (GEMINI, QWEN)
SPOKEN = "The log speaks of 429, of a usage limit, and of your daily quota: [API Error: 401] it said"
LOG = Tool("Bash", {"command": f"echo '{SPOKEN}'"})
RATE = Refuse(429, "rate_limit_exceeded", "Too many requests.")
BROKEN = Refuse(500, "server_error", "Internal server error")
NO_KEY = Refuse(401, "invalid_api_key", "Incorrect API key provided.")
WRONG_KEY = Refuse(400, "", "API key not valid. Please pass a valid API key.")
# the CLI tries 429 and 5xx again for 80 s and cannot be told not to: what it says in the end comes at once with 403
WEEK = Refuse(403, "insufficient_quota", "week allocated quota exceeded.")
NO_CREDIT = Refuse(403, "insufficient_quota", "You exceeded your quota, check your plan and billing details.")


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
    options: tuple[str, ...] = ()  # a row that would take minutes is given our timeout
    end: str = "natural"


ROWS = (
    Row(GEMINI, "words", (Say("Nothing was to be done."),), text="Nothing was to be done."),
    Row(GEMINI, "limit-words-are-words", (Say("I look.", (LOG,)), Say(SPOKEN)), text=SPOKEN),
    Row(GEMINI, "empty-answer", (Say(""),), error="The model returned"),
    Row(GEMINI, "failing-stream", (Fail("INTERNAL", "It broke."),), 0, "without a finish reason", "transient"),
    Row(GEMINI, "rate-limited", (RATE,), 173, "Too many requests.", "rate"),
    Row(GEMINI, "usage-limit", (daily_quota(),), 173, "daily quota", limited=True),
    Row(GEMINI, "quota-until", (Say("I look.", (LOG,)), quota_until(11_000)), 173, "quota", limited=True),
    Row(GEMINI, "server-error", (BROKEN,), 244, "Internal server error", "transient"),
    Row(GEMINI, "unknown-key", (NO_KEY,), 145, "Incorrect API key", "auth"),
    Row(GEMINI, "invalid-key", (WRONG_KEY,), 144, "API key not valid", "auth"),
    Row(GEMINI, "cut", (Cut(),), 1, "terminated", "transient"),
    Row(QWEN, "words", (Say("Nothing was to be done."),), text="Nothing was to be done."),
    Row(QWEN, "limit-words-are-words", (Say("I look.", (LOG,)), Say(SPOKEN)), text=SPOKEN),
    Row(QWEN, "usage-limit", (WEEK,), 0, "week allocated quota", limited=True),
    Row(QWEN, "no-credit", (NO_CREDIT,), 0, "billing details", "money"),
    Row(QWEN, "unknown-key", (NO_KEY,), 0, "Incorrect API key", "auth"),
    Row(QWEN, "cut", (Say("I look.", (LOG,)), Cut()), 0, "API Error: terminated", "transient"),
    Row(QWEN, "rate-limited-for-long", (RATE,), options=("-t", "4s"), end="timeout"),
    Row(QWEN, "server-error-for-long", (BROKEN,), options=("-t", "4s"), end="timeout"),
)  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.cli.name}-{row.name}")
def test_answers(
    row: Row, tmp_path: Path, repository: Repository, serve: Serve, request: pytest.FixtureRequest
) -> None:
    server = serve(sequence(*row.answers))
    end = one_attempt(row.cli, tmp_path, repository, server, *row.options)
    assert end.attempt.end == row.end
    if row.end != "natural":
        assert end.attempt.failed and len(server.seen) > 1
        return
    assert end.attempt.exit_code == row.exit_code
    assert row.error in end.attempt.error and bool(row.error) == bool(end.attempt.error)
    assert row.error in end.last.error and row.text in end.last.text
    assert (end.last.fault, end.attempt.limited, bool(end.limits)) == (row.fault, row.limited, row.limited)
    assert server.unknown == []
    if not row.error:
        assert end.last.tokens is not None
        told = (end.last.tokens.input, end.last.tokens.output, end.last.tokens.cache_read)
        assert told == (server.usage.input, server.usage.output, server.usage.cache_read)
    same_shape(row.cli, row.name, end, tmp_path, request)


@pytest.mark.parametrize("skip", [True, False], ids=["skip-permissions", "allowed-tools"])
@pytest.mark.parametrize("cli", CLIS, ids=lambda cli: cli.name)
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


@pytest.mark.parametrize("cli", CLIS, ids=lambda cli: cli.name)
def test_without_permissions_other_commands_are_refused(
    cli: Cli, tmp_path: Path, repository: Repository, serve: Serve, request: pytest.FixtureRequest
) -> None:
    server = serve(turns(Say("", (Tool("Bash", {"command": "touch forbidden"}),)), Say("I may not.")))
    end = one_attempt(cli, tmp_path, repository, server, skip=False)
    assert not (repository.path / "forbidden").exists()
    assert end.attempt.error == ""
    assert [event.ok for event in end.events if isinstance(event, ToolAnswered)] == [False]
    same_shape(cli, "permission-denied", end, tmp_path, request)


@pytest.mark.parametrize("cli", CLIS, ids=lambda cli: cli.name)
def test_silence_is_ended_by_the_timeout(cli: Cli, tmp_path: Path, repository: Repository, serve: Serve) -> None:
    end = one_attempt(cli, tmp_path, repository, serve(always(Silence())), "-t", "4s")
    assert (end.attempt.end, end.attempt.failed, end.attempt.claim.kind) == ("timeout", True, "none")


@pytest.mark.parametrize("cli", CLIS, ids=lambda cli: cli.name)
def test_a_background_command_does_not_outlive_its_session(
    cli: Cli, tmp_path: Path, repository: Repository, serve: Serve
) -> None:
    command = Tool("Bash", {"command": "touch begun; tail -f /dev/null", "run_in_background": True})
    end = one_attempt(cli, tmp_path, repository, serve(turns(Say("", (command,)), Say("It runs."))))
    assert (repository.path / "begun").exists()
    assert (end.attempt.error, end.last.text) == ("", "It runs.")


@pytest.mark.parametrize("cli", CLIS, ids=lambda cli: cli.name)
@pytest.mark.parametrize(("sent", "exit_code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)], ids=["term", "int"])
def test_a_stopped_run_leaves_nothing_alive(
    sent: signal.Signals, exit_code: int, cli: Cli, tmp_path: Path, repository: Repository, serve: Serve
) -> None:
    server = serve(always(Silence()))
    child = start(repository, cli.environment(tmp_path, server.url), SKIP, "--agent", cli.name, "--model", cli.model)
    try:
        until(lambda: server.seen != [], 30)
    finally:
        child.send_signal(sent)
    assert finish(child, 30).exit_code == exit_code
    assert living_in(repository.path) == []


@pytest.mark.parametrize("cli", CLIS, ids=lambda cli: cli.name)
def test_after_kill_nine_the_next_run_ends_the_old_agent(
    cli: Cli, tmp_path: Path, repository: Repository, serve: Serve
) -> None:
    server = serve(always(Silence()))
    child = start(repository, cli.environment(tmp_path, server.url), SKIP, "--agent", cli.name, "--model", cli.model)
    try:
        until(lambda: server.seen != [], 30)
    finally:
        child.kill()
        child.communicate()
    old = living_in(repository.path)
    assert old != []
    another = start(repository, cli.environment(tmp_path, server.url), SKIP, "--agent", cli.name, "-t", "20s")
    try:
        until(lambda: len(server.seen) > 1, 30)
        assert set(old) & set(living_in(repository.path)) == set()
    finally:
        another.send_signal(signal.SIGTERM)
        finish(another, 30)
    assert living_in(repository.path) == []


def test_gemini_says_what_to_do_about_a_folder_it_does_not_trust(
    tmp_path: Path, repository: Repository, serve: Serve
) -> None:
    told = GEMINI.variables("http://127.0.0.1:9")
    del told["GEMINI_CLI_TRUST_WORKSPACE"]
    end = one_attempt(
        GEMINI._replace(variables=lambda url: told), tmp_path, repository, serve(always(Say())), skip=False
    )
    assert end.attempt.exit_code == 55
    assert "--skip-trust" in end.attempt.error


@pytest.mark.parametrize("cli", CLIS, ids=lambda cli: cli.name)
def test_a_long_prompt_comes_whole(cli: Cli, tmp_path: Path, repository: Repository, serve: Serve) -> None:
    long = tmp_path / "prompt.md"
    long.write_text("word " * 40_000 + "\nthe last line of all\n")
    server = serve(always(Say("Read.")))
    end = one_attempt(cli, tmp_path, repository, server, "-p", str(long))
    assert end.attempt.error == ""
    told = read_turn(server.seen[0].request).prompt
    assert len(told) >= 200_000
    assert "the last line of all" in told
