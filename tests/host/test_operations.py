"""Locks and unfinished operations: what the agent left is cleared away, what is somebody else's is not."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from place import good, make_place, wait_for
from ralphloop.host import operations
from ralphloop.host.git import Git, GitProblem

NAMES = ("index.lock", "HEAD.lock", "packed-refs.lock", "config.lock", "shallow.lock", "refs/heads/a/b.lock")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    for words in (
        ["init", "-qb", "a/b"],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm1", "--allow-empty"],
    ):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    return tmp_path


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operations, "LOCK_PATIENCE", 0.1)
    monkeypatch.setattr(operations, "FOREIGN_PATIENCE", 0.3)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("since", [0.0, -5.0])
def test_a_lock_made_in_the_attempt_is_removed(repository: Path, name: str, since: float) -> None:
    common = repository / ".git"
    (common / name).touch()
    since = time.time() + since if since else 0.0
    [note] = operations.unlock(str(common), str(common), "a/b", since, str(repository))
    assert Path(name).name in note
    assert not (common / name).exists()


@pytest.mark.parametrize("name", NAMES)
def test_a_lock_older_than_the_attempt_is_left_and_named(repository: Path, name: str) -> None:
    lock = repository / ".git" / name
    lock.touch()
    os.utime(lock, (time.time() - 60, time.time() - 60))
    with pytest.raises(GitProblem) as caught:
        operations.unlock(str(lock.parents[name.count("/")]), str(repository / ".git"), "a/b", time.time() - 30)
    assert str(lock) in caught.value.message
    assert lock.exists()


def test_an_open_commit_of_the_user_keeps_its_lock(repository: Path) -> None:
    """It was begun while the agent was at work."""
    (repository / "file").write_text("mine\n")
    since = time.time()
    editor = "sh -c 'sleep 1.5; echo told >\"$1\"' -"
    words = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", f"core.editor={editor}", "commit", "-qa"]
    subprocess.run(["git", "add", "file"], cwd=repository, check=True)
    lock, common = repository / ".git" / "index.lock", str(repository / ".git")
    with subprocess.Popen(words, cwd=repository) as commit:
        wait_for(lock.exists)
        with pytest.raises(GitProblem, match=r"index\.lock"):
            operations.unlock(common, common, "a/b", since, str(repository))
        assert lock.exists()
        assert commit.wait(10) == 0
    assert operations.unlock(common, common, "a/b", since, str(repository)) == []
    assert Git(str(repository)).line("log", "-1", "--format=%s") == "told"


def test_a_lock_that_goes_by_itself_is_not_spoken_of(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operations, "LOCK_PATIENCE", 5)
    common = str(repository / ".git")
    with subprocess.Popen(["sh", "-c", "touch .git/index.lock; sleep 0.3; rm .git/index.lock"], cwd=repository):
        wait_for((repository / ".git" / "index.lock").exists)
        assert operations.unlock(common, common, "a/b") == []


def test_a_run_stops_and_names_a_lock_that_was_there_before(tmp_path: Path) -> None:
    place = make_place(tmp_path, count=1)
    lock = place.path / ".git" / "index.lock"
    place.script(default=[{"run": f"touch -d '1 hour ago' {lock}"}])
    done = place.ralph("run", "-n", "1")
    assert done.code == 1
    assert str(lock) in done.out + done.err
    assert lock.exists()
    lock.unlink()
    place.script(default=good())
    assert place.ralph("run").code == 0


STATES = {
    "merge": "git merge -q side",
    "rebase": "git rebase -q side",
    "cherry-pick": "git cherry-pick side",
    "revert": "git revert --no-edit HEAD~1",
    "am": "git format-patch -q -1 --stdout side | git am -q",
    "bisect": "git bisect start -q HEAD HEAD~1",
}


@pytest.mark.parametrize("operation", STATES)
def test_every_unfinished_operation_is_known_and_given_up(repository: Path, operation: str) -> None:
    who = "git config user.name a; git config user.email a@b; "
    commit = "echo {0} > file; git add file; git commit -qm {0}; "
    history = who + commit.format("one") + "git switch -qc side; " + commit.format("two") + "git switch -q a/b; "
    history += commit.format("three") + commit.format("four")
    subprocess.run(["sh", "-c", history + STATES[operation]], cwd=repository, capture_output=True)
    git_dir = str(repository / ".git")
    assert operations.unfinished(git_dir) == operation
    assert operations.unfinished(git_dir, time.time() + 5) == "", "one from before the attempt is the user's"
    git = Git(str(repository))
    operations.give_up(git, operation)
    assert operations.unfinished(git_dir) == ""
    assert git.line("log", "-1", "--format=%s") == "four"
    assert git.line("branch", "--show-current") == "a/b"
