"""The runner is killed at every record and at every command, and `ralph run` brings every run to the same end."""

import fcntl
import json
import signal
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from place import ROOT, Place, good, make_place, processes_with

BATCHES = 6
CHECK = "quality_checks: {tests: 'test ! -f two.txt || grep -q whole two.txt'}\n"
RED = [{"write": {"two.txt": "half\n"}}, {"commit": "Build half of STORY-002"}, {"mark": "current"}]
FALSE = [{"write": {"left.txt": "left\n"}}, {"mark": "current"}, {"claim": "complete"}]
WHOLE = [
    {"write": {"two.txt": "whole\n", "left.txt": "left\n"}},
    {"commit": "Finish STORY-002"},
    {"mark": "current"},
    {"claim": "complete"},
]
SCRIPT = {"stories": {"STORY-001": [good()], "STORY-002": [RED, FALSE, WHOLE]}}


class Course(NamedTuple):
    """What an unkilled run is: its events in their order, and what it leaves."""

    events: list[str]
    left: dict[str, Any]


def crashing(place: Place) -> dict[str, str]:
    folder = place.home.parent
    return {
        "CRASH_AT": str(folder / "crash-at"),
        "CRASH_DIARY": str(folder / "diary"),
        "PYTHONPATH": f"{ROOT / 'tests' / 'crashing'}:{ROOT / 'src'}",
    }


def run(place: Place) -> int:
    """In a session of its own: a runner may take its git with it."""
    child = subprocess.run(
        place.argv("run", "-n", "300"),
        cwd=place.path,
        env=place.env(**crashing(place)),
        stdin=subprocess.DEVNULL,
        stdout=(place.home.parent / "out.txt").open("ab"),
        stderr=subprocess.STDOUT,
        timeout=60,
        start_new_session=True,
        check=False,
    )
    return child.returncode


def what_is_left(place: Place) -> dict[str, Any]:
    """Everything that must be the same however often the runner was killed."""
    archived = place.archived()
    status = json.loads((place.run_folder() / "view.json").read_text())
    loop_state = json.loads((place.path / ".claude" / "loop-state.json").read_text())
    return {
        "marks": place.passes(),
        "branch": place.git("branch", "--show-current"),
        "tree": [line for line in place.git("ls-tree", "-r", "HEAD").splitlines() if "config.yaml" not in line],
        "dirty": [line.replace(archived.name, "X") for line in place.git("status", "--porcelain").splitlines()],
        "archive": sorted(path.name for path in archived.iterdir()),
        "folders": sorted(path.name for path in (place.path / ".ralph").iterdir()),
        "archives": len(list(archived.parent.iterdir())),
        "end": (status["status"], status["exit_code"], status["stories_complete"], status["stories_total"]),
        "loop state": (loop_state["status"], loop_state["terminal_pid"], loop_state["status_detail"]),
        "counted": sorted(story for one in place.records("judged") for story in one["verdict"]["counted"]),
    }


def free(lock: Path) -> bool:
    with lock.open("rb") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def assert_sound(place: Place, kills: list[str]) -> None:
    """Nothing lost, nothing done twice, nobody left."""
    numbers = [record["n"] for record in place.records("begun")]
    assert numbers == list(range(1, len(numbers) + 1)), kills
    kinds = [record["type"] for record in place.journal() if record["type"] in ("begun", "attempted")]
    assert kinds == ["begun", "attempted"] * len(numbers), kills
    logs = [(place.run_folder() / f"attempt-{n}.log").read_text() for n in numbers]
    assert all(log.count('"subtype": "init"') <= 1 for log in logs), kills
    subjects = place.git("log", "--format=%s").splitlines()
    assert len(subjects) == len(set(subjects)), subjects
    calls = json.loads((place.home / "accounts" / "scripted" / "ledger.json").read_text())["calls"]
    lost = sum("before Reserved" in event or "half of Reserved" in event for event in kills)
    assert calls <= len(numbers) + lost, kills
    loop_state = json.loads((place.path / ".claude" / "loop-state.json").read_text())
    assert [row["n"] for row in loop_state["iterations"]] == numbers, kills
    commits = [commit for row in loop_state["iterations"] for commit in row["commits"]]
    assert sorted(commits) == sorted(place.git("log", "--format=%H").splitlines()[:-1]), kills
    assert len([one for one in (place.home / "runs").iterdir() if (one / "journal.jsonl").stat().st_size]) == 1
    assert not list(processes_with(f"RALPH_MARK={place.run_folder().name}."))
    assert all(free(lock) for lock in (place.home / "worktrees").glob("*/*lock"))
    place.git("fsck", "--strict")


_course: list[Course] = []


def course(tmp_path: Path) -> Course:
    """The unkilled run, once a process."""
    if not _course:
        place = make_place(tmp_path / "unkilled", config=CHECK, script=SCRIPT)
        assert run(place) == 0, (place.home.parent / "out.txt").read_text()
        assert_sound(place, [])
        events = (place.home.parent / "diary").read_text().splitlines()
        assert len(events) == len(set(events))
        _course.append(Course(events, what_is_left(place)))
    return _course[0]


def test_the_course_has_everything_in_it(tmp_path: Path) -> None:
    events, left = course(tmp_path)
    assert len(events) > 150
    assert left["marks"] == {"STORY-001": True, "STORY-002": True}
    for name in ("Started", "Reserved", "Begun", "Attempted", "Checked", "Judged", "Settled", "Archived", "Ended"):
        assert any(f"half of {name} " in event for event in events)
    for name in ("agent", "check", "git commit-tree", "git update-ref", "git status"):
        assert any(f"start of {name} " in event for event in events)


@pytest.mark.parametrize("batch", range(BATCHES))
def test_killed_at_every_event(tmp_path: Path, batch: int) -> None:
    """Every BATCHES-th event kills a runner; the next runner takes the run up and meets the next such event."""
    events, left = course(tmp_path)
    wanted = set(events[batch::BATCHES])
    for number in range(20):
        if not wanted:
            return
        place = make_place(tmp_path / str(number), config=CHECK, script=SCRIPT)
        kills = run_until_done(place, wanted)
        assert kills, f"never reached: {sorted(wanted)}"
        assert what_is_left(place) == left, kills
        assert_sound(place, kills)
    raise AssertionError(f"not reached: {sorted(wanted)}")


def run_until_done(place: Place, wanted: set[str]) -> list[str]:
    """The events at which runners of this place died; they are no longer wanted."""
    at = Path(crashing(place)["CRASH_AT"])
    at.write_text("\n".join(sorted(wanted)))
    kills: list[str] = []
    while (code := run(place)) == -signal.SIGKILL:
        left = {event for event in at.read_text().split("\n") if event}
        kills += wanted - left
        wanted &= left
    # after the last word there is nothing to go on with, and the feature is in the archive
    over = bool(kills) and "behind Ended" in kills[-1]
    assert code == (1 if over else 0), (kills, (place.home.parent / "out.txt").read_text()[-4000:])
    return kills
