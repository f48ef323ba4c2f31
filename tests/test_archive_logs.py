"""The archive of a finished feature has its logs, wherever the run's folder lies and whenever the runner dies."""

import errno
import os
import shutil
from pathlib import Path

import pytest

from place import Place, good, make_place
from ralphloop.engine import archive

ELSEWHERE = Path("/dev/shm")


def logs(place: Place) -> list[Path]:
    return sorted((place.archived() / "logs").iterdir())


def on_another_disk(path: Path) -> bool:
    return ELSEWHERE.is_dir() and ELSEWHERE.stat().st_dev != path.stat().st_dev


def test_the_archive_has_the_logs_as_files(tmp_path: Path) -> None:
    place = make_place(tmp_path)
    assert place.ralph("run").code == 0
    assert [log.name for log in logs(place)] == ["iteration-1.log", "iteration-2.log"]
    assert all(log.is_file() and not log.is_symlink() and log.stat().st_size for log in logs(place))
    assert not [path for path in place.archived().rglob(".*") if path.name.endswith(".tmp")]


def test_a_home_on_another_disk_loses_no_log(tmp_path: Path) -> None:
    if not on_another_disk(tmp_path):
        pytest.skip("this machine has one disk")
    home = ELSEWHERE / f"ralph-test-{os.getpid()}"
    place = make_place(tmp_path)
    try:
        assert place.ralph("run", RALPH_HOME=str(home)).code == 0
        texts = [log.read_text() for log in logs(place)]
    finally:
        shutil.rmtree(home)
    assert len(texts) == 2 and all(texts)


@pytest.fixture
def feature(tmp_path: Path) -> Path:
    """A feature's folder that shows one log of a run."""
    log = tmp_path / "attempt-1.log"
    log.write_text("what the agent said\n")
    shown = tmp_path / ".ralph" / "x" / "logs"
    shown.mkdir(parents=True)
    (shown / "iteration-1.log").symlink_to(log)
    (shown / "iteration-2.log").symlink_to(tmp_path / "attempt-2.log")
    return shown.parent


@pytest.mark.parametrize("broken", ["link", "replace"])
def test_a_kill_on_the_way_loses_nothing(feature: Path, monkeypatch: pytest.MonkeyPatch, broken: str) -> None:
    class Killed(BaseException):
        pass

    def killed(*_: object) -> None:
        raise Killed

    worktree = str(feature.parent.parent)
    with monkeypatch.context() as dying:
        owner: object = os if broken == "link" else Path
        dying.setattr(owner, broken, killed)
        with pytest.raises(Killed):
            archive.move(worktree, "x", ".ralph/archive/1-x")
    assert (feature / "logs" / "iteration-1.log").read_text() == "what the agent said\n"
    archive.move(worktree, "x", ".ralph/archive/1-x")
    moved = feature.parent / "archive" / "1-x" / "logs" / "iteration-1.log"
    assert not moved.is_symlink()
    assert moved.read_text() == "what the agent said\n"


def test_a_log_that_cannot_be_copied_stays_a_link(feature: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "no space")

    monkeypatch.setattr(os, "link", full)
    monkeypatch.setattr(shutil, "copy2", full)
    archive.move(str(feature.parent.parent), "x", ".ralph/archive/1-x")
    moved = feature.parent / "archive" / "1-x" / "logs"
    assert (moved / "iteration-1.log").read_text() == "what the agent said\n"
    assert sorted(path.name for path in moved.iterdir()) == ["iteration-1.log", "iteration-2.log"]


def test_moving_twice_is_moving_once(feature: Path) -> None:
    worktree = str(feature.parent.parent)
    archive.move(worktree, "x", ".ralph/archive/1-x")
    feature.mkdir()
    archive.move(worktree, "x", ".ralph/archive/1-x")
    assert feature.is_dir()


def test_good_attempts_are_what_is_archived(tmp_path: Path) -> None:
    place = make_place(tmp_path, count=1, script={"default": good()})
    assert place.ralph("run").code == 0
    assert logs(place)[0].read_bytes() == (place.run_folder() / "attempt-1.log").read_bytes()


def test_archived_logs_stay_out_of_commits(tmp_path: Path) -> None:
    place = make_place(tmp_path)
    assert place.ralph("run").code == 0
    place.git("add", "-A")
    assert "logs/" not in place.git("diff", "--cached", "--name-only")
