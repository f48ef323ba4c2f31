"""What was not committed before the run is the user's; what an agent leaves uncommitted does not count as done."""

import os
import signal
import sys
import uuid
from pathlib import Path

import pytest

from place import Action, Place, good, make_place, processes_with

DIRTY = {"notes.txt": "mine\n", "README": "changed by me\n", "folder/deep.txt": "mine too\n"}


def make_dirty(place: Place) -> None:
    for name, text in DIRTY.items():
        (place.path / name).parent.mkdir(exist_ok=True)
        (place.path / name).write_text(text)


def untouched(place: Place) -> None:
    for name, text in DIRTY.items():
        assert (place.path / name).read_text() == text
    committed = place.git("log", "--name-only", "--format=").split()
    assert "notes.txt" not in committed and "folder/deep.txt" not in committed


@pytest.mark.parametrize("policy", ["snapshot", "commit", "leave"])
def test_what_the_user_left_uncommitted_is_no_obstacle(tmp_path: Path, policy: str) -> None:
    place = make_place(tmp_path, config=f"completion: {{uncommitted: {policy}}}\n")
    make_dirty(place)
    done = place.ralph("run")
    assert done.code == 0, done
    assert "not committed, and left as it is: README, folder/, notes.txt" in done.out
    untouched(place)


@pytest.mark.parametrize(
    ("actions", "path"),
    [
        ([{"write": {"new.txt": "half\n"}}], "new.txt"),
        ([{"write": {"notes.txt": "changed by the agent\n"}}], "notes.txt"),
        ([{"delete": "README"}], "README"),
        ([{"run": "git init -q inner && touch inner/file"}], "inner/"),
    ],
)
def test_what_the_agent_leaves_beside_it_does_not_count(tmp_path: Path, actions: list[Action], path: str) -> None:
    place = make_place(tmp_path, count=1, script={"default": [*actions, {"mark": "current"}]})
    make_dirty(place)
    place.ralph("run", "-n", "1")
    sight = place.records("inspected")[-1]["sight"]
    assert (sight["dirty"], sight["dirty_paths"]) == (1, [path])
    assert place.passes() == {"STORY-001": False}


def test_what_an_earlier_iteration_left_is_not_the_users(tmp_path: Path) -> None:
    left = [{"write": {"half.txt": "half\n"}}]
    script = {"attempts": [left, [*good()], [{"run": "git add half.txt && git commit -qm rest"}, {"mark": "current"}]]}
    place = make_place(tmp_path, count=1, script=script)
    make_dirty(place)
    assert place.ralph("run", "-n", "3").code == 0
    judged = [record["verdict"] for record in place.records("judged")][1:]
    assert [verdict["outcome"] for verdict in judged] == ["nothing", "nothing", "done"]
    assert "work is not committed: half.txt" in judged[1]["why"]


def test_it_is_not_the_users_after_a_stop_either(tmp_path: Path) -> None:
    script = {"attempts": [[{"write": {"half.txt": "half\n"}}, {"run": "$RALPH stop"}]], "default": good()}
    place = make_place(tmp_path, count=1, script=script)
    ralph = " ".join(place.argv())
    assert place.ralph("run", RALPH=ralph).code == 1
    place.ralph("run", "-n", "2")
    assert place.records("inspected")[-1]["sight"]["dirty_paths"] == ["half.txt"]
    assert place.passes() == {"STORY-001": False}


def test_only_what_the_agent_left_is_committed_by_policy(tmp_path: Path) -> None:
    writes = [{"write": {"work.txt": "whole\n", "-odd [name]*.txt": "odd\n"}}, {"delete": "old.txt"}]
    place = make_place(
        tmp_path,
        count=1,
        config="completion: {uncommitted: commit}\n",
        script={"default": [*writes, {"mark": "current"}]},
    )
    (place.path / "old.txt").write_text("old\n")
    place.git("add", "-A")
    place.git("commit", "-q", "-m", "old")
    make_dirty(place)
    (place.path / "staged.txt").write_text("staged by me\n")
    place.git("add", "staged.txt")
    done = place.ralph("run")
    assert done.code == 0, done
    changed = place.git("show", "--name-status", "--format=").splitlines()
    assert sorted(changed) == ["A\t-odd [name]*.txt", "A\twork.txt", "D\told.txt"]
    assert "A  staged.txt" in place.git("status", "--porcelain").splitlines()
    untouched(place)


def test_a_repository_that_refuses_commits_keeps_the_work(tmp_path: Path) -> None:
    """What cannot be committed is at least kept under a ref, and the mark does not count."""
    place = make_place(
        tmp_path,
        count=1,
        config="completion: {uncommitted: commit}\n",
        script={"default": [{"run": "git init -q inner && touch inner/file"}, {"mark": "current"}]},
    )
    place.ralph("run", "-n", "1")
    assert place.passes() == {"STORY-001": False}
    assert place.git("for-each-ref", "--format=%(refname)", "refs/ralph").splitlines()[-1].endswith("/left-1")


BARE = """
import os, resource, sys
os.fork() and os._exit(0)
os.setsid()
os.closerange(0, 50)
os.chdir("/")
resource.setrlimit(resource.RLIMIT_RTTIME, (resource.RLIM_INFINITY,) * 2)
if "twice" in sys.argv: os.fork() and os._exit(0)
os.execve("/bin/sleep", ["sleep", sys.argv[1]], {})
"""


@pytest.mark.parametrize("how", ["once", "twice"])
def test_a_daemon_that_drops_everything_is_ended_with_its_iteration(tmp_path: Path, how: str) -> None:
    seconds = f"7{uuid.uuid4().int % 10**8:08}"
    daemon = tmp_path / "daemon.py"
    daemon.write_text(BARE)
    command = {"run": f"{sys.executable} {daemon} {seconds} {how}"}
    place = make_place(tmp_path, count=1, script={"default": [command, *good()]})
    done = place.ralph("run")
    left = list(processes_with(f"sleep\0{seconds}"))
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert done.code == 0 and left == []
    assert place.records("attempted")[0]["attempt"]["leftovers"] == [f"sleep {seconds}"]
