"""`ralph undo` brings back how it stood, takes nothing of the user's with it, and can itself be taken back."""

import json
import os
import signal
from pathlib import Path

import pytest

from place import Place, busy, good, make_place, tree, write_feature

ADD_ALL = [{"write": {"{story}.txt": "built by {story}\n"}}, {"run": "git add -A && git commit -qm 'Build {story}'"}]


def standing(place: Place) -> dict[str, tuple[str, bytes]]:
    """All files but git's and the views, and what git knows of them."""
    files = {
        name.removeprefix(str(place.path)): found
        for name, found in tree(place.path).items()
        if "/.git" not in name and "/logs" not in name and not name.endswith(("status.json", "loop-state.json"))
    }
    files = {name: found for name, found in files.items() if found[0] != "folder"}
    return files | {"git status": ("", place.git("status", "--porcelain").encode())}


def undone(place: Place, *words: str) -> str:
    done = place.ralph("undo", "-y", *words)
    assert done.code == 0, done
    return done.out


def test_back_and_forth(tmp_path: Path) -> None:
    place = make_place(tmp_path, count=3)
    before = standing(place)
    assert place.ralph("run").code == 0
    after = standing(place)
    assert "  takes commit" in undone(place, "1")
    assert standing(place) == before
    undone(place, "--back")
    now = standing(place)
    unarchived = {name.replace(f"archive/{place.feature}", place.feature): found for name, found in now.items()}
    assert {name for name in after if "/.ralph/" not in name} == {name for name in unarchived if "/.ralph/" not in name}
    assert place.git("log", "--format=%s").splitlines()[0] == "Build STORY-003"
    assert place.ralph("run").code == 0
    assert place.passes() == {"STORY-001": True, "STORY-002": True, "STORY-003": True}


def test_one_iteration_and_the_run_goes_on(tmp_path: Path) -> None:
    place = make_place(tmp_path, count=3)
    assert place.ralph("run", "-n", "2").code == 1
    undone(place)
    assert place.git("log", "--format=%s").splitlines() == ["Build STORY-001", "start"]
    status = place.status()
    assert (status["status"], status["why"]) == ("failed", "back to before iteration 2")
    assert place.ralph("run", "-n", "9").code == 0
    assert place.git("log", "--format=%s").splitlines()[:2] == ["Build STORY-003", "Build STORY-002"]
    assert "The user took back what was there: back to before iteration 2." in place.prompt(3)


def test_again_and_again_and_back(tmp_path: Path) -> None:
    place = make_place(tmp_path, count=3)
    assert place.ralph("run", "--no-archive").code == 0
    for left in (2, 1, 0):
        undone(place)
        assert place.git("rev-list", "--count", "HEAD") == str(left + 1)
        status = place.status()
        assert (status["stories_complete"], status["stories_total"]) == (left, 3)
    assert "every iteration" in place.ralph("undo", "-y").err
    assert "puts commit" in undone(place, "--back")
    assert "stopped" in place.ralph("status").out
    assert place.git("rev-list", "--count", "HEAD") == "2"
    undone(place)
    assert place.git("rev-list", "--count", "HEAD") == "1"


def test_stories_that_were_never_committed_stay(tmp_path: Path) -> None:
    """As after the five-minute start: the agent adds all that is there."""
    place = make_place(tmp_path, count=1, script={"default": [*ADD_ALL, {"mark": "current"}]})
    place.git("rm", "-r", "-q", "--cached", ".ralph")
    place.git("commit", "-q", "-m", "stories are not committed")
    (place.folder / "specs").mkdir()
    (place.folder / "specs" / "a.md").write_text("a spec\n")
    before = standing(place)
    assert place.ralph("run").code == 0
    undone(place)
    assert standing(place) == before


@pytest.mark.parametrize("ignored", [True, False])
def test_the_users_own_uncommitted_work_comes_back(tmp_path: Path, ignored: bool) -> None:
    tidy = [{"run": "git reset -q --hard && git clean -qfd"}, *good()]
    place = make_place(tmp_path, count=1, script={"default": tidy})
    if ignored:
        (place.path / ".git" / "info" / "exclude").write_text("/.ralph/\n")
        place.git("rm", "-r", "-q", "--cached", ".ralph")
        place.git("commit", "-q", "-m", "stories are ignored")
    (place.path / "README").write_text("changed\n")
    (place.path / "folder").mkdir()
    (place.path / "folder" / "odd ‘näme’\n.txt").write_text("mine\n")
    before = standing(place)
    place.ralph("run", "-n", "1")
    assert (place.path / "README").read_text() == "a repository\n"
    undone(place)
    assert standing(place) == before


def test_nothing_ignored_is_taken_away_or_lost(tmp_path: Path) -> None:
    mess = [{"run": "rm .gitignore && echo notes.md > .git/info/exclude && git commit -qam gone"}]
    place = make_place(tmp_path, count=1, script={"default": mess})
    (place.path / ".gitignore").write_text(".env\nbig/\n")
    place.git("add", "-A")
    place.git("commit", "-q", "-m", "ignore")
    (place.path / ".env").write_text("SECRET=1\n")
    (place.path / "big").mkdir()
    (place.path / "big" / "file").write_text("big\n")
    (place.path / "notes.md").write_text("first\n")
    place.ralph("run", "-n", "1")
    (place.path / "notes.md").write_text("final\n")
    undone(place)
    assert (place.path / ".env").read_text() == "SECRET=1\n"
    assert (place.path / "big" / "file").read_text() == "big\n"
    assert (place.path / "notes.md").read_text() == "first\n"
    ref = place.git("for-each-ref", "--format=%(refname)", "refs/ralph/*/undone-*")
    assert place.git("show", f"{ref}:notes.md") == "final"


def test_twice_in_a_second_keeps_both(tmp_path: Path) -> None:
    place = make_place(tmp_path, count=3)
    place.ralph("run", "-n", "2")
    undone(place, "2")
    undone(place, "1")
    assert "nothing to take back" in place.ralph("undo", "-y", "1").err
    refs = place.git("for-each-ref", "--format=%(refname)", "refs/ralph/*/undone-*").splitlines()
    assert [place.git("log", "-1", "--format=%s", f"{ref}^") for ref in refs] == ["Build STORY-002", "Build STORY-001"]
    undone(place, "--back")
    assert place.git("log", "-1", "--format=%s") == "Build STORY-001"


def test_after_a_kill_the_next_run_does_not_undo_the_undo(tmp_path: Path) -> None:
    place = make_place(tmp_path, count=3, script={"stories": {"STORY-002": [["hang"]]}, "default": good()})
    runner = place.start("run")
    busy(place, 2)
    runner.send_signal(signal.SIGKILL)
    runner.wait()
    undone(place, "1")
    assert place.git("log", "--format=%s") == "start"
    place.script(default=good())
    assert place.ralph("run").code == 0
    subjects = place.git("log", "--format=%s").splitlines()
    assert subjects == ["Build STORY-003", "Build STORY-002", "Build STORY-001", "start"]


def test_not_beside_a_running_loop(tmp_path: Path) -> None:
    place = make_place(tmp_path, script={"stories": {"STORY-001": [good()]}, "default": ["hang"]})
    runner = place.start("run")
    busy(place, 2)
    done = place.ralph("undo", "-y")
    assert (done.code, "Loop already running" in done.err, done.out) == (1, True, "")
    runner.send_signal(signal.SIGTERM)
    runner.wait(20)


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("undo", "7"), 1, "has no iteration 7"),
        (("undo", "0"), 64, "ITERATION"),
        (("undo", "--back"), 1, "nothing was undone"),
        (("undo",), 1, "-y does it"),
    ],
)
def test_refused(tmp_path: Path, words: tuple[str, ...], code: int, told: str) -> None:
    place = make_place(tmp_path)
    place.ralph("run", "-n", "1")
    before = standing(place)
    done = place.ralph(*words)
    assert (done.code, told in done.err) == (code, True), done
    assert standing(place) == before


def test_json_shows_the_plan_and_what_was_done(tmp_path: Path) -> None:
    place = make_place(tmp_path)
    place.ralph("run", "-n", "1")
    planned = json.loads(place.ralph("undo", "--json").out)
    assert (planned["why"], len(planned["dropped"]), planned["kept"]) == ("back to before iteration 1", 1, "")
    done = json.loads(place.ralph("undo", "--json", "-y").out)
    assert place.git("rev-parse", done["kept"])


def test_on_another_branch_it_says_where_to_go(tmp_path: Path) -> None:
    place = make_place(tmp_path)
    place.ralph("run", "-n", "1")
    place.git("switch", "-q", "-c", "other")
    done = place.ralph("undo", "-y", "--run", os.path.basename(place.run_folder()))  # noqa: PTH119
    assert (done.code, "`git switch feature/x` first" in done.err) == (1, True)
    write_feature(place.path / ".ralph" / "other", [])


def test_nothing_behind_a_link_is_touched(tmp_path: Path) -> None:
    swap = {"run": "rm out in; mkdir out in; echo new > out/a; echo new > in/a; git add -A; git commit -qm swap"}
    place = make_place(tmp_path, count=1, script={"default": [swap, {"mark": "current"}]})
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a").write_text("precious\n")
    (place.path / "docs").mkdir()
    (place.path / "docs" / "a").write_text("precious\n")
    (place.path / "out").symlink_to(outside)
    (place.path / "in").symlink_to("docs")
    place.git("add", "-A")
    place.git("commit", "-q", "-m", "links")
    before = standing(place)
    place.ralph("run", "-n", "1")
    undone(place)
    assert standing(place) == before
    assert (outside / "a").read_text() == "precious\n"


def test_what_stands_in_the_way_is_held(tmp_path: Path) -> None:
    change = {
        "run": "git rm -q build data/d; printf 'build/\\n/data\\n' > .gitignore; git add .gitignore; git commit -qm x"
    }
    place = make_place(tmp_path, count=1, script={"default": [change, {"mark": "current"}]})
    (place.path / "data").mkdir()
    (place.path / "build").write_text("a file\n")
    (place.path / "data" / "d").write_text("d\n")
    place.git("add", "-A")
    place.git("commit", "-q", "-m", "swapped later")
    place.ralph("run", "-n", "1")
    (place.path / "build").mkdir()
    (place.path / "build" / "local.db").write_text("precious\n")
    (place.path / "data").write_text("precious too\n")
    undone(place)
    assert (place.path / "build").read_text() == "a file\n"
    undone(place, "--back")
    assert (place.path / "build" / "local.db").read_text() == "precious\n"
    assert (place.path / "data").read_text() == "precious too\n"


def test_a_sparse_checkout_stays_sparse(tmp_path: Path) -> None:
    place = make_place(tmp_path, count=1)
    for name in ("a/1", "b/2"):
        (place.path / name).parent.mkdir()
        (place.path / name).write_text("x\n")
    place.git("add", "-A")
    place.git("commit", "-q", "-m", "two folders")
    place.git("sparse-checkout", "set", "--cone", "a", ".ralph")
    before = standing(place)
    place.ralph("run", "-n", "1")
    undone(place)
    assert standing(place) == before


def test_what_was_taken_back_does_not_count_against_the_limit(tmp_path: Path) -> None:
    place = make_place(tmp_path, count=3)
    assert place.ralph("run", "-n", "2").code == 1
    undone(place)
    assert place.ralph("run", "-n", "2").code == 1
    assert len(place.records("begun")) == 3
