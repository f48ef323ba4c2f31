"""Gemini CLI and Qwen Code: the ends that are their own, what they may do, and how much they can be told."""

import signal
from pathlib import Path
from typing import NamedTuple

import pytest

from clis import GEMINI, QWEN, Cli, surroundings
from conftest import Keep, Serve
from conversation import read_turn
from gemini_wire import daily_quota, quota_until
from messages import Answer, Cut, Fail, Refuse, Say, Silence, Tool
from played import alive, play, same_shape
from ralph_run import SKIP, finish, start
from ralphloop.core.event import Fault, Finished, LimitMet, Said, ToolAnswered
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


ROWS = (
    Row(GEMINI, "words", (Say("Nothing was to be done."),), text="Nothing was to be done."),
    Row(GEMINI, "limit-words-are-words", (Say("I look.", (LOG,)), Say(SPOKEN)), text=SPOKEN),
    Row(GEMINI, "empty-answer", (Say(""),), error="The model returned"),
    Row(GEMINI, "failing-stream", (Fail("INTERNAL", "It broke."),), 0, "without a finish reason", "transient"),
    Row(GEMINI, "rate-limited", (RATE,), 173, "Too many requests.", "rate"),
    Row(GEMINI, "usage-limit", (daily_quota(),), 173, "daily quota", "rate", limited=True),
    Row(GEMINI, "quota-until", (Say("I look.", (LOG,)), quota_until(11_000)), 173, "quota", "rate", limited=True),
    Row(GEMINI, "server-error", (BROKEN,), 244, "Internal server error", "transient"),
    Row(GEMINI, "unknown-key", (NO_KEY,), 145, "Incorrect API key", "auth"),
    Row(GEMINI, "invalid-key", (WRONG_KEY,), 144, "API key not valid", "auth"),
    Row(GEMINI, "cut", (Cut(),), 1, "terminated", "transient"),
    Row(QWEN, "words", (Say("Nothing was to be done."),), text="Nothing was to be done."),
    Row(QWEN, "limit-words-are-words", (Say("I look.", (LOG,)), Say(SPOKEN)), text=SPOKEN),
    Row(QWEN, "usage-limit", (WEEK,), 0, "week allocated quota", "rate", limited=True),
    Row(QWEN, "no-credit", (NO_CREDIT,), 0, "billing details", "money"),
    Row(QWEN, "unknown-key", (NO_KEY,), 0, "Incorrect API key", "auth"),
    Row(QWEN, "cut", (Say("I look.", (LOG,)), Cut()), 0, "API Error: terminated", "transient"),
)  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.cli.name}-{row.name}")
def test_answers(row: Row, tmp_path: Path, repository: Repository, serve: Serve, kept_of: Keep) -> None:
    server = serve(sequence(*row.answers))
    played = play(row.cli, repository, surroundings(row.cli, tmp_path, server.url), "-t", "60s")
    attempt, finished = played.attempt, played.of(Finished)[-1]
    # who has called a tool may stay for a while after the last word, and is ended then
    assert attempt["end"] == "lingered" or (attempt["end"], attempt["exit_code"]) == ("natural", row.exit_code)
    assert row.error in attempt["error"] and bool(row.error) == bool(attempt["error"])
    assert row.text in finished.text
    assert (finished.fault, attempt["limited"], bool(played.of(LimitMet))) == (row.fault, row.limited, row.limited)
    assert (server.unknown, attempt["unread"]) == ([], 0)
    if not row.error:
        used = attempt["tokens"]
        assert (used["input"], used["output"]) == (server.usage.input, server.usage.output)
    assert alive(tmp_path) == {}
    same_shape(row.cli, row.name, played, tmp_path, kept_of)


@pytest.mark.parametrize("refusal", [RATE, BROKEN], ids=["rate-limited", "server-error"])
def test_qwen_tries_again_for_longer_than_it_is_given(
    refusal: Refuse, tmp_path: Path, repository: Repository, serve: Serve
) -> None:
    server = serve(always(refusal))
    played = play(QWEN, repository, surroundings(QWEN, tmp_path, server.url), "-t", "5s")
    assert (played.attempt["end"], played.attempt["finished"]) == ("timeout", False)
    assert len(server.seen) > 1
    assert alive(tmp_path) == {}


@pytest.mark.parametrize("skip", [True, False], ids=["skip-permissions", "allowed-tools"])
@pytest.mark.parametrize("cli", CLIS, ids=lambda cli: cli.name)
def test_a_story_is_built_marked_and_committed(
    cli: Cli, skip: bool, tmp_path: Path, repository: Repository, serve: Serve, kept_of: Keep
) -> None:
    server = serve(six_stories(repository))
    played = play(cli, repository, surroundings(cli, tmp_path, server.url), skip=skip)
    assert (played.attempt["error"], played.attempt["claim"]["kind"]) == ("", "story")
    assert played.of(Said)[-1].text.endswith(STORY_COMPLETE), "the promise comes in pieces and is said whole"
    assert repository.subjects() == ["feat: STORY-001 Add the count tool"]
    assert [story["passes"] for story in repository.stories()] == [True] + [False] * 5
    assert all(event.ok for event in played.of(ToolAnswered))
    same_shape(cli, "story" if skip else "story-allowed-tools", played, tmp_path, kept_of)


@pytest.mark.parametrize("cli", CLIS, ids=lambda cli: cli.name)
def test_without_permissions_other_commands_are_refused(
    cli: Cli, tmp_path: Path, repository: Repository, serve: Serve, kept_of: Keep
) -> None:
    server = serve(turns(Say("", (Tool("Bash", {"command": "touch forbidden"}),)), Say("I may not.")))
    played = play(cli, repository, surroundings(cli, tmp_path, server.url), skip=False)
    assert not (repository.path / "forbidden").exists()
    assert played.attempt["error"] == ""
    assert [event.ok for event in played.of(ToolAnswered)] == [False]
    same_shape(cli, "permission-denied", played, tmp_path, kept_of)


def test_gemini_says_what_to_do_about_a_folder_it_does_not_trust(
    tmp_path: Path, repository: Repository, serve: Serve
) -> None:
    environment = surroundings(GEMINI, tmp_path, serve(always(Say())).url)
    del environment["GEMINI_CLI_TRUST_WORKSPACE"]
    attempt = play(GEMINI, repository, environment, skip=False).attempt
    assert attempt["exit_code"] == 55
    assert "--skip-trust" in attempt["error"]


@pytest.mark.parametrize("cli", CLIS, ids=lambda cli: cli.name)
def test_a_long_prompt_comes_whole(cli: Cli, tmp_path: Path, repository: Repository, serve: Serve) -> None:
    long = tmp_path / "prompt.md"
    long.write_text("word " * 40_000 + "\nthe last line of all\n")
    server = serve(always(Say("Read.")))
    assert play(cli, repository, surroundings(cli, tmp_path, server.url), "-p", str(long)).attempt["error"] == ""
    told = read_turn(server.seen[0].request).prompt
    assert len(told) >= 200_000
    assert "the last line of all" in told


@pytest.mark.parametrize("cli", CLIS, ids=lambda cli: cli.name)
def test_a_stopped_run_leaves_nothing_alive(cli: Cli, tmp_path: Path, repository: Repository, serve: Serve) -> None:
    server = serve(always(Silence()))
    child = start(repository, surroundings(cli, tmp_path, server.url), SKIP)
    try:
        until(lambda: server.seen != [], 30)
    finally:
        child.send_signal(signal.SIGTERM)
    assert finish(child, 30).exit_code == 143
    assert alive(tmp_path) == {}


@pytest.mark.parametrize("cli", CLIS, ids=lambda cli: cli.name)
def test_after_kill_nine_the_next_run_ends_the_old_agent(
    cli: Cli, tmp_path: Path, repository: Repository, serve: Serve
) -> None:
    server = serve(always(Silence()))
    environment = surroundings(cli, tmp_path, server.url)
    child = start(repository, environment, SKIP)
    try:
        until(lambda: server.seen != [], 30)
    finally:
        child.kill()
        child.communicate()
    old = set(alive(tmp_path))
    assert old != set()
    another = start(repository, environment, SKIP)
    try:
        until(lambda: len(server.seen) > 1, 30)
        assert old & set(alive(tmp_path)) == set()
    finally:
        another.send_signal(signal.SIGTERM)
        finish(another, 30)
    assert alive(tmp_path) == {}
