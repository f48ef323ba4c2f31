"""`ralph run` with the real Claude Code CLI: six stories end to end, and what a night brings in between."""

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from conftest import Serve
from conversation import read_turn
from messages import Answer, Cut, Json, Refuse, Say, Scenario, Silence, Tool, Usage
from ralph_run import ALL, SKIP, assert_all_done, assert_tidy, built, finish, loop_state, start
from repository import FEATURE, Repository, ralph_env
from scenarios import (
    BROKEN,
    COMPLETE,
    CUT_TWICE,
    OVERLOADED,
    UNKNOWN_KEY,
    SixStories,
    always,
    disturb,
    rate_limited,
    six_stories,
    usage_limit,
)
from session import until

DONE, NOT_DONE, LIMITED = 0, 1, 2
TALK = "The logs speak of a usage limit reached, of 429, and `<promise>COMPLETE</promise>` is what not to write yet."


@pytest.mark.parametrize("options", [(SKIP,), ()], ids=["skip-permissions", "allowed-tools"])
def test_six_stories(options: tuple[str, ...], tmp_path: Path, repository: Repository, serve: Serve) -> None:
    model = six_stories(repository)
    server = serve(model)
    run = finish(start(repository, ralph_env(tmp_path, server.url), *options))
    assert_all_done(run, repository, server)
    assert model.asked == ALL
    assert len(repository.subjects()) == 6
    state = loop_state(repository)
    assert [len(each["commits"]) for each in state["iterations"]] == [1] * 6
    assert sum(each["tokens_used"] for each in state["iterations"]) == state["total_tokens"]
    (archive,) = (repository.path / ".ralph" / "archive").iterdir()
    assert archive.name.endswith(FEATURE)
    stories = json.loads((archive / "prd.json").read_text())["userStories"]
    assert [story["passes"] for story in stories] == [True] * 6


def test_each_session_is_fresh_and_its_prompt_names_its_story(
    tmp_path: Path, repository: Repository, serve: Serve
) -> None:
    model = six_stories(repository)
    server = serve(model)
    finish(start(repository, ralph_env(tmp_path, server.url), SKIP))
    sessions = list(dict.fromkeys(read_turn(seen.request).session for seen in server.seen))
    assert len(sessions) == len(model.prompts) == 6
    for story, prompt in zip(ALL, model.prompts, strict=True):
        assert story in prompt
    assert f"Story: {ALL[0]}" in model.prompts[1], "what was learnt before is handed on"


class Night(NamedTuple):
    """What a session meets at its turn, and how many sessions the six stories then take."""

    name: str
    faults: Mapping[tuple[int, int], Sequence[Answer]]
    sessions: int
    retries: int = 0
    options: tuple[str, ...] = ()


NIGHTS = (
    Night("overloaded, the CLI tries again", {(2, 0): (OVERLOADED, OVERLOADED)}, 6, retries=2),
    Night("overloaded, the loop tries again", {(2, 0): (OVERLOADED,)}, 7),
    Night("rate limited before any work", {(1, 0): (rate_limited(),)}, 7),
    Night("rate limited for a second", {(1, 0): (rate_limited(1),)}, 6, retries=1),
    Night("server error in the middle", {(3, 2): (BROKEN,)}, 7),
    Night("cut, the CLI asks again", {(3, 1): (Cut(),)}, 6),
    Night("cut before the work", {(3, 0): CUT_TWICE}, 7),
    Night("cut after the commit", {(3, 3): CUT_TWICE}, 6),
    Night("cut after the last commit", {(6, 3): CUT_TWICE}, 6),
    Night("silence", {(2, 0): (Silence(),)}, 7, options=("-t", "6s")),
    Night("silence after the commit", {(2, 3): (Silence(),)}, 6, options=("-t", "6s")),
    Night("two different faults in a row", {(2, 0): (OVERLOADED,), (3, 0): (BROKEN,)}, 8),
)


@pytest.mark.parametrize("night", NIGHTS, ids=lambda night: night.name.replace(" ", "-"))
def test_a_fault_costs_a_session_and_no_story(
    night: Night, tmp_path: Path, repository: Repository, serve: Serve
) -> None:
    model = six_stories(repository)
    server = serve(disturb(model, night.faults))
    environment = ralph_env(tmp_path, server.url, retries=night.retries)
    run = finish(start(repository, environment, SKIP, *night.options))
    assert run.exit_code == DONE, run.err
    assert built(repository) == ALL
    sessions = {read_turn(seen.request).session for seen in server.seen}
    assert len(sessions) == len(loop_state(repository)["iterations"]) == night.sessions
    assert_tidy(repository)


def test_a_timeout_is_recorded(tmp_path: Path, repository: Repository, serve: Serve) -> None:
    server = serve(disturb(six_stories(repository), {(2, 0): (Silence(),)}))
    run = finish(start(repository, ralph_env(tmp_path, server.url), SKIP, "-t", "6s"))
    assert_all_done(run, repository, server)
    assert [each.get("timed_out", False) for each in loop_state(repository)["iterations"]][:3] == [False, True, False]


def test_a_usage_limit_ends_the_run_and_the_next_run_goes_on(
    tmp_path: Path, repository: Repository, serve: Serve
) -> None:
    resets_at = int(time.time()) + 12
    server = serve(disturb(six_stories(repository), {(3, 0): (usage_limit(resets_at),)}))
    environment = ralph_env(tmp_path, server.url, oauth=True)
    limited = finish(start(repository, environment, SKIP, "--on-limit", "exit"))
    assert limited.exit_code == LIMITED, limited.err
    assert built(repository) == ALL[:2]
    assert "limit" in limited.err + limited.out
    until(lambda: time.time() > resets_at, 20)
    assert_all_done(finish(start(repository, environment, SKIP, "--on-limit", "exit")), repository, server)


def test_a_usage_limit_can_be_waited_for(tmp_path: Path, repository: Repository, serve: Serve) -> None:
    resets_at = int(time.time()) + 12
    server = serve(disturb(six_stories(repository), {(2, 0): (usage_limit(resets_at),)}))
    run = finish(start(repository, ralph_env(tmp_path, server.url, oauth=True), SKIP, "--on-limit", "wait"))
    assert_all_done(run, repository, server)
    refused = next(place for place, seen in enumerate(server.seen) if isinstance(seen.answer, Refuse))
    waited = server.seen[refused + 1].at - server.seen[refused].at
    assert waited > 4, "nothing was asked of the model before the limit was over"


def test_words_about_limits_and_promises_are_words(tmp_path: Path, repository: Repository, serve: Serve) -> None:
    model = six_stories(repository, last_words=TALK)
    server = serve(model)
    assert_all_done(finish(start(repository, ralph_env(tmp_path, server.url), SKIP)), repository, server)
    assert model.asked == ALL


def test_a_key_nobody_knows_is_tried_twice(tmp_path: Path, repository: Repository, serve: Serve) -> None:
    server = serve(always(UNKNOWN_KEY))
    run = finish(start(repository, ralph_env(tmp_path, server.url), SKIP))
    assert run.exit_code == NOT_DONE
    assert len(server.seen) == 2, "whom nobody lets in is not sent a third time"
    assert "claude is not let in by its model, 2 attempts in a row: Invalid API key" in run.out
    assert built(repository) == []


class Liar:
    """A model that builds nothing and says that everything is complete, until it is told that this was false."""

    def __init__(self, honest: SixStories) -> None:
        self.honest = honest
        self.lied = False

    def __call__(self, request: Json, before: int) -> Answer:
        if not self.lied:
            self.lied = True
            return Say(f"All stories are built.\n{COMPLETE}")
        return self.honest(request, before)


def test_a_false_promise_is_told_to_the_next_session(tmp_path: Path, repository: Repository, serve: Serve) -> None:
    honest = six_stories(repository)
    server = serve(Liar(honest))
    assert_all_done(finish(start(repository, ralph_env(tmp_path, server.url), SKIP)), repository, server)
    assert "false" in honest.prompts[0].lower()
    assert len(loop_state(repository)["iterations"]) == 7


def leaves_a_command_behind(honest: SixStories) -> Scenario:
    """The last turn but one also starts a background command that never ends by itself."""
    command = {"command": "tail -f /dev/null", "run_in_background": True}

    def answer(request: Json, before: int) -> Answer:
        turn = read_turn(request)
        if turn.number == 3:
            return Say("", (Tool("Bash", command),), Usage(50, 5))
        return honest(request, before)

    return answer


def test_background_commands_do_not_hold_the_loop(tmp_path: Path, repository: Repository, serve: Serve) -> None:
    home = tmp_path / "ralph-home"
    home.mkdir()
    (home / "config.yaml").write_text("supervision:\n  result_grace_seconds: 1\n")
    server = serve(leaves_a_command_behind(six_stories(repository)))
    run = finish(start(repository, ralph_env(tmp_path, server.url), SKIP))
    assert_all_done(run, repository, server)
    assert run.seconds < 60
