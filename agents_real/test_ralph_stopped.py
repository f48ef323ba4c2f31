"""`ralph run` with the real Claude Code CLI, ended from outside: nothing lives on, nothing is lost, and it goes on."""

import signal
from pathlib import Path

import pytest

from conftest import Serve
from messages import Silence
from ralph_run import SKIP, assert_all_done, finish, living_in, loop_state, start
from repository import Repository, ralph_env
from scenarios import disturb, six_stories
from session import until

TERMINATED, INTERRUPTED = 143, 130


@pytest.mark.parametrize(
    ("sent", "exit_code"), [(signal.SIGTERM, TERMINATED), (signal.SIGINT, INTERRUPTED)], ids=["term", "int"]
)
def test_a_stopped_run_leaves_nothing_alive_and_goes_on_later(
    sent: signal.Signals, exit_code: int, tmp_path: Path, repository: Repository, serve: Serve
) -> None:
    server = serve(disturb(six_stories(repository), {(3, 0): (Silence(),)}))
    environment = ralph_env(tmp_path, server.url)
    child = start(repository, environment, SKIP)
    try:
        until(lambda: any(isinstance(seen.answer, Silence) for seen in server.seen), 60)
    finally:
        child.send_signal(sent)
    stopped = finish(child, 30)
    assert stopped.exit_code == exit_code, stopped.err
    assert loop_state(repository)["status"] == "stopped"
    assert living_in(repository.path) == []
    assert_all_done(finish(start(repository, environment, SKIP)), repository, server)


def test_after_kill_nine_the_next_run_ends_the_old_agent_and_goes_on(
    tmp_path: Path, repository: Repository, serve: Serve
) -> None:
    server = serve(disturb(six_stories(repository), {(3, 1): (Silence(),)}))
    environment = ralph_env(tmp_path, server.url)
    child = start(repository, environment, SKIP)
    try:
        until(lambda: any(isinstance(seen.answer, Silence) for seen in server.seen), 60)
    finally:
        child.kill()
        child.wait(10)
    for pipe in (child.stdout, child.stderr):
        assert pipe is not None
        pipe.close()
    run = finish(start(repository, environment, SKIP))
    assert_all_done(run, repository, server, exact_tokens=False)
