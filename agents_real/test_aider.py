"""How Aider ends: it exits with 0 whatever happened, so its own lines are what tells."""

import signal
from pathlib import Path
from typing import NamedTuple

import pytest

from conftest import Serve
from ends import one_attempt, same_shape
from messages import Answer, Cut, Refuse, Say, Silence
from other_clis import AIDER, AIDER_FOLDER, AiderStory
from ralph_run import SKIP, finish, living_in, start
from ralphloop.core.event import Fault, Retrying
from repository import Repository
from scenarios import always, sequence
from session import until

pytestmark = pytest.mark.skipif(not (AIDER_FOLDER / "aider").exists(), reason="aider is not installed: see Makefile")
SPOKEN = "The log says:\nlitellm.RateLimitError: RateLimitError: 429, your usage limit is reached\nand nothing else."
NO_KEY = Refuse(401, "invalid_api_key", "Incorrect API key provided.")
RATE = Refuse(429, "rate_limit_exceeded", "Too many requests.")
BROKEN = Refuse(500, "server_error", "Internal server error")
LONG = ("-t", "10s")


class Row(NamedTuple):
    """An answer of the model, and how the attempt then ends."""

    name: str
    answer: Answer
    error: str = ""
    fault: Fault = ""
    text: str = ""


ROWS = (
    Row("words", Say("Nothing was to be done."), text="Nothing was to be done."),
    Row("limit-words-are-words", Say(SPOKEN), text=SPOKEN),
    Row("empty-answer", Say(" "), "Empty response received"),
    Row("unknown-key", NO_KEY, "AuthenticationError", "auth"),
    Row("unknown-model", Refuse(404, "model_not_found", "The model does not exist."), "NotFoundError"),
)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_answers(
    row: Row, tmp_path: Path, repository: Repository, serve: Serve, request: pytest.FixtureRequest
) -> None:
    server = serve(sequence(row.answer))
    end = one_attempt(AIDER, tmp_path, repository, server)
    assert (end.attempt.end, end.attempt.exit_code) == ("natural", 0)
    assert row.error in end.attempt.error and bool(row.error) == bool(end.attempt.error)
    assert (end.last.fault, end.attempt.limited) == (row.fault, False)
    assert row.text in end.last.text
    if not row.error:
        assert end.last.tokens is not None and end.last.cost is not None
        assert (end.last.tokens.input, end.last.tokens.output) == (server.usage.input, server.usage.output)
    same_shape(AIDER, row.name, end, tmp_path, request)


@pytest.mark.parametrize(
    ("name", "answer"), [("rate-limited", RATE), ("server-error", BROKEN), ("cut", Cut())], ids=lambda value: str(value)
)
def test_what_it_tries_again_for_long_is_ended_by_the_timeout(
    name: str, answer: Answer, tmp_path: Path, repository: Repository, serve: Serve
) -> None:
    end = one_attempt(AIDER, tmp_path, repository, serve(always(answer)), *LONG)
    assert (end.attempt.end, end.attempt.failed) == ("timeout", True)
    assert [event for event in end.events if isinstance(event, Retrying)]


def test_a_story_is_built_marked_and_committed(
    tmp_path: Path, repository: Repository, serve: Serve, request: pytest.FixtureRequest
) -> None:
    end = one_attempt(AIDER, tmp_path, repository, serve(AiderStory(repository)))
    assert (end.attempt.error, end.attempt.claim.kind) == ("", "story")
    assert [story["passes"] for story in repository.stories()].count(True) == 1
    assert repository.subjects() == ["feat: STORY-001 by aider"]
    assert (repository.path / "src" / "story_001.py").read_text() == 'NAME = "STORY-001"\n'
    same_shape(AIDER, "story", end, tmp_path, request)


def test_silence_is_ended_by_the_timeout(tmp_path: Path, repository: Repository, serve: Serve) -> None:
    end = one_attempt(AIDER, tmp_path, repository, serve(always(Silence())), *LONG)
    assert (end.attempt.end, end.attempt.failed) == ("timeout", True)


@pytest.mark.parametrize(("sent", "exit_code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)], ids=["term", "int"])
def test_a_stopped_run_leaves_nothing_alive(
    sent: signal.Signals, exit_code: int, tmp_path: Path, repository: Repository, serve: Serve
) -> None:
    server = serve(always(Silence()))
    options = (SKIP, "--agent", AIDER.name, "--model", AIDER.model)
    child = start(repository, AIDER.environment(tmp_path, server.url), *options)
    try:
        until(lambda: server.seen != [], 30)
    finally:
        child.send_signal(sent)
    assert finish(child, 30).exit_code == exit_code
    assert living_in(repository.path) == []
