"""How Aider ends: it exits with 0 whatever happened, so its own lines are what tells."""

import signal
from pathlib import Path
from typing import NamedTuple

import pytest

from aider_story import AiderStory
from clis import AIDER, AIDER_FOLDER, surroundings
from conftest import Keep, Serve
from messages import Answer, Cut, Refuse, Say, Silence
from played import alive, play, same_shape
from ralph_run import SKIP, finish, start
from ralphloop.core.event import Fault, Finished, Retrying
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
def test_answers(row: Row, tmp_path: Path, repository: Repository, serve: Serve, kept_of: Keep) -> None:
    server = serve(sequence(row.answer))
    played = play(AIDER, repository, surroundings(AIDER, tmp_path, server.url))
    attempt, finished = played.attempt, played.of(Finished)[-1]
    assert (attempt["end"], attempt["exit_code"], attempt["limited"]) == ("natural", 0, False)
    assert row.error in attempt["error"] and bool(row.error) == bool(attempt["error"])
    assert finished.fault == row.fault
    assert row.text in finished.text
    if not row.error:
        used = attempt["tokens"]
        assert (used["input"], used["output"]) == (server.usage.input, server.usage.output)
        assert attempt["cost"] > 0
    assert alive(tmp_path) == {}
    same_shape(AIDER, row.name, played, tmp_path, kept_of)


@pytest.mark.parametrize("answer", [RATE, BROKEN, Cut()], ids=["rate-limited", "server-error", "cut"])
def test_what_it_tries_again_for_long_is_ended_by_the_timeout(
    answer: Answer, tmp_path: Path, repository: Repository, serve: Serve
) -> None:
    played = play(AIDER, repository, surroundings(AIDER, tmp_path, serve(always(answer)).url), *LONG)
    assert played.attempt["end"] == "timeout"
    assert played.of(Retrying)
    assert alive(tmp_path) == {}


def test_a_story_is_built_marked_and_committed(
    tmp_path: Path, repository: Repository, serve: Serve, kept_of: Keep
) -> None:
    server = serve(AiderStory(repository))
    played = play(AIDER, repository, surroundings(AIDER, tmp_path, server.url))
    assert (played.attempt["error"], played.attempt["claim"]["kind"]) == ("", "story")
    assert [story["passes"] for story in repository.stories()] == [True] + [False] * 5
    assert repository.subjects() == ["feat: STORY-001 by aider"]
    assert (repository.path / "src" / "story_001.py").read_text() == 'NAME = "STORY-001"\n'
    same_shape(AIDER, "story", played, tmp_path, kept_of)


def test_silence_is_ended_by_the_timeout(tmp_path: Path, repository: Repository, serve: Serve) -> None:
    played = play(AIDER, repository, surroundings(AIDER, tmp_path, serve(always(Silence())).url), *LONG)
    assert played.attempt["end"] == "timeout"
    assert alive(tmp_path) == {}


@pytest.mark.parametrize(("sent", "exit_code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)], ids=["term", "int"])
def test_a_stopped_run_leaves_nothing_alive(
    sent: signal.Signals, exit_code: int, tmp_path: Path, repository: Repository, serve: Serve
) -> None:
    server = serve(always(Silence()))
    child = start(repository, surroundings(AIDER, tmp_path, server.url), SKIP)
    try:
        until(lambda: server.seen != [], 30)
    finally:
        child.send_signal(sent)
    assert finish(child, 30).exit_code == exit_code
    assert alive(tmp_path) == {}
