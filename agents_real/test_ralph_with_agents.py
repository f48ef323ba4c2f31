"""`ralph run` with each real agent CLI: six stories end to end, and nothing alive that was not there before."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from clis import ALL, CODEX, COPILOT, NEW, OPENCODE, Cli, surroundings
from conftest import Serve
from conversation import read_turn
from messages import Answer, Json, Say, Scenario, Silence, Tool, Usage
from played import alive
from ralph_run import ALL as STORIES
from ralph_run import SKIP, assert_all_done, assert_tidy, built, finish, loop_state, start
from repository import BRANCH, CLAUDE_FOLDER, FEATURE, Repository
from scenarios import SixStories, always, disturb, six_stories, turns

DONE = 0
LEFT = "setsid tail -f /dev/null > /dev/null 2>&1 & tail -f /dev/null > /dev/null 2>&1 & sleep 0.2; echo begun"


@pytest.mark.parametrize("cli", ALL, ids=lambda cli: cli.name)
def test_six_stories(cli: Cli, tmp_path: Path, repository: Repository, serve: Serve) -> None:
    model = six_stories(repository)
    server = serve(model)
    before = alive(tmp_path)
    run = finish(start(repository, surroundings(cli, tmp_path, server.url), SKIP))
    assert alive(tmp_path) == before == {}
    assert model.asked == STORIES
    assert len(repository.subjects()) == 6
    assert_all_done(run, repository, server)
    assert_tidy(repository)


@pytest.fixture
def outside() -> Iterator[Path]:
    """A file that no agent may write whose permissions are not skipped; not in /tmp, which codex leaves open."""
    file = Path("/var/tmp") / f"ralph-outside-{os.getpid()}"
    yield file
    file.unlink(missing_ok=True)


@pytest.mark.parametrize("cli", NEW, ids=lambda cli: cli.name)
def test_without_skipped_permissions_work_can_be_committed_and_nothing_else_written(
    cli: Cli, outside: Path, tmp_path: Path, repository: Repository, serve: Serve
) -> None:
    if cli is CODEX and not codex_has_a_sandbox(tmp_path):
        pytest.skip("this machine gives codex no sandbox: it needs Landlock, or namespaces of its own")
    write = Tool("Write", {"file_path": str(repository.path / "new.txt"), "content": "new"})
    create = Tool("create", {"path": str(repository.path / "new.txt"), "file_text": "new"})
    commit = Tool("Bash", {"command": "git add -A && git commit -q -m 'feat: new'"})
    touch = Tool("Bash", {"command": f"touch {outside}"})
    calls = (create if cli is COPILOT else write, commit, touch)
    server = serve(turns(*(Say("", (call,)) for call in calls), Say("Done.")))
    run = finish(start(repository, surroundings(cli, tmp_path, server.url), "-n", "1"))
    assert repository.subjects() == ["feat: new"], run.out
    assert not outside.exists()
    assert len(server.seen) == 4, "it was told no, and went on"
    assert alive(tmp_path) == {}


def test_codex_can_commit_in_a_linked_worktree_from_its_sandbox(
    tmp_path: Path, repository: Repository, serve: Serve
) -> None:
    if not codex_has_a_sandbox(tmp_path):
        pytest.skip("this machine gives codex no sandbox: it needs Landlock, or namespaces of its own")
    repository.git("checkout", "-q", "main")
    repository.git("worktree", "add", "-q", "../tree", BRANCH)
    tree = Repository(tmp_path / "tree", tmp_path / "tree" / ".ralph" / FEATURE, repository.base)
    server = serve(six_stories(tree))
    run = finish(start(tree, surroundings(CODEX, tmp_path, server.url), "-n", "1"))
    assert built(tree) == STORIES[:1], run.out


def codex_has_a_sandbox(tmp_path: Path) -> bool:
    argv = (CLAUDE_FOLDER / "codex", "sandbox", "--", "true")
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    return subprocess.run(argv, cwd=tmp_path, env=environment, capture_output=True, check=False).returncode == 0


def leaves_commands_behind(honest: SixStories) -> Scenario:
    """Every session starts commands that never end by themselves before it says that it is done."""

    def answer(request: Json, before: int) -> Answer:
        turn = read_turn(request)
        if turn.number == 3:
            return Say("", (Tool("Bash", {"command": LEFT}),), Usage(50, 5))
        return honest(request, before)

    return answer


@pytest.mark.parametrize("cli", ALL, ids=lambda cli: cli.name)
def test_nothing_survives_an_iteration(cli: Cli, tmp_path: Path, repository: Repository, serve: Serve) -> None:
    server = serve(leaves_commands_behind(six_stories(repository)))
    before = alive(tmp_path)
    run = finish(start(repository, surroundings(cli, tmp_path, server.url), SKIP, "-n", "2"))
    assert alive(tmp_path) == before
    assert built(repository) == STORIES[:2], run.err
    assert len(loop_state(repository)["iterations"]) == 2


@pytest.mark.parametrize("cli", (CODEX, COPILOT), ids=lambda cli: cli.name)
def test_a_silent_session_costs_an_iteration_and_no_story(
    cli: Cli, tmp_path: Path, repository: Repository, serve: Serve
) -> None:
    server = serve(disturb(six_stories(repository), {(2, 1): (Silence(),)}))
    run = finish(start(repository, surroundings(cli, tmp_path, server.url), SKIP, "-t", "12s", "-n", "3"))
    assert alive(tmp_path) == {}
    assert built(repository) == STORIES[:2], run.err
    assert [each.get("timed_out", False) for each in loop_state(repository)["iterations"]] == [False, True, False]


@pytest.mark.parametrize("cli", (CODEX, OPENCODE), ids=lambda cli: cli.name)
def test_a_prompt_longer_than_a_word_of_a_command_line_arrives_whole(
    cli: Cli, tmp_path: Path, repository: Repository, serve: Serve
) -> None:
    (tmp_path / "long.md").write_text("Words before words.\n" * 10_000 + "The very last line.\n")
    server = serve(always(Say("I have read it.")))
    prompt = ("--prompt", str(tmp_path / "long.md"))
    finish(start(repository, surroundings(cli, tmp_path, server.url), SKIP, *prompt, "-n", "1"))
    asked = read_turn(server.seen[0].request).prompt
    assert len(asked) > 200_000
    assert "The very last line." in asked
