"""Work that is hidden from `git status` is work that is not committed, and it is kept."""

from pathlib import Path

import pytest

from place import Place, good, make_place

HIDE = {
    "assume-unchanged": "git update-index --assume-unchanged README",
    "skip-worktree": "git update-index --skip-worktree README",
    "both, an index of another format": "git update-index --index-version 4 --skip-worktree README"
    " && git update-index --assume-unchanged README",
}


def notes(place: Place, at: int = 1) -> str:
    return " ".join(place.records("inspected")[at]["sight"]["notes"])


@pytest.mark.parametrize("how", HIDE)
def test_what_git_is_told_not_to_look_at_is_not_done(tmp_path: Path, how: str) -> None:
    hide = {"run": f"echo hidden work >> README; {HIDE[how]}"}
    place = make_place(tmp_path, count=1, script={"default": [*good(), hide]})
    place.ralph("run", "-n", "1")
    assert place.passes() == {"STORY-001": False}
    assert place.records("inspected")[1]["sight"]["dirty_paths"] == ["README"]
    assert "told not to look at README" in notes(place)
    kept = place.git("show", f"refs/ralph/{place.run_folder().name}/left-1:README")
    assert kept.endswith("hidden work")
    assert "M README" in place.git("status", "--porcelain")


@pytest.mark.parametrize("option", ["--assume-unchanged", "--skip-worktree"])
def test_what_the_user_hides_stays_hidden(tmp_path: Path, option: str) -> None:
    place = make_place(tmp_path)
    (place.path / "README").write_text("mine\n")
    place.git("update-index", option, "README")
    done = place.ralph("run")
    assert done.code == 0, done
    assert place.git("status", "--porcelain", "README") == ""
    assert (place.path / "README").read_text() == "mine\n"
    assert notes(place) == ""


@pytest.mark.parametrize("content", ["", "[", "{}", "[1]", "[" * 5_000, "\udcff"])
def test_what_is_held_of_it_may_be_damaged(tmp_path: Path, content: str) -> None:
    place = make_place(tmp_path, count=1)
    held = tmp_path / "damaged"
    held.write_bytes(content.encode(errors="surrogateescape"))
    place.git("update-index", "--assume-unchanged", "README")
    damage = f'for one in {place.home}/runs/*/git-hidden; do cp {held} "$one"; done'
    place.script(default=[*good(), {"run": damage}])
    done = place.ralph("run", "-n", "1")
    assert "Traceback" not in done.err
    assert "told not to look at README" in notes(place)
    assert "git-hidden is damaged" in notes(place)


def test_a_sparse_checkout_stays_sparse(tmp_path: Path) -> None:
    place = make_place(tmp_path)
    (place.path / "left-out").mkdir()
    (place.path / "left-out" / "file").write_text("not here\n")
    place.git("add", "-A")
    place.git("commit", "-qm", "more")
    sparse = {"run": "git sparse-checkout set --no-cone '/*' '!/left-out'"}
    place.script(attempts=[[sparse, *good()]], default=good())
    done = place.ralph("run")
    assert done.code == 0, done
    assert not (place.path / "left-out").exists()


NEST = "git init -q inner && echo inside > inner/work.txt && (cd inner && git add -A && $COMMIT)"


def test_a_repository_inside_this_one_is_not_committed_work(tmp_path: Path) -> None:
    mend = {"run": "rm -rf inner/.git && git rm -q --cached inner && git add inner && $COMMIT"}
    nest = {"run": f"{NEST}; git add -A -- inner && $COMMIT"}
    place = make_place(tmp_path, count=1, script={"attempts": [[*good(), nest], [mend, {"mark": "current"}]]})
    done = place.ralph("run", "-n", "2", COMMIT="git -c user.name=a -c user.email=a@b commit -qm new")
    sight = place.records("inspected")[1]["sight"]
    assert sight["dirty_paths"] == ["inner/"]
    assert place.records("judged")[1]["verdict"]["counted"] == [], "the content is in no commit"
    assert "inner/ has a .git of its own" in notes(place)
    assert "inner/ has a .git of its own" in place.prompt(2)
    assert place.git("show", f"refs/ralph/{place.run_folder().name}/nested-1:inner/work.txt") == "inside"
    assert done.code == 0, done
    assert place.git("show", f"{place.branch}:inner/work.txt") == "inside"


@pytest.mark.parametrize("add", ["git add -A -- inner && $COMMIT", "true"], ids=["committed", "untracked"])
def test_no_policy_takes_a_repository_inside_this_one_for_committed(tmp_path: Path, add: str) -> None:
    nest = {"run": f"{NEST}; {add}; echo more > beside.txt"}
    script = {"default": [*good(), nest]}
    place = make_place(tmp_path, count=1, script=script, config="completion: {uncommitted: commit}\n")
    place.ralph("run", "-n", "1", COMMIT="git -c user.name=a -c user.email=a@b commit -qm new")
    assert place.git("show", f"{place.branch}:beside.txt") == "more"
    assert place.records("inspected")[1]["sight"]["dirty_paths"] == ["inner/"]
    assert place.passes() == {"STORY-001": False}


def test_one_that_was_there_before_is_the_users(tmp_path: Path) -> None:
    place = make_place(tmp_path)
    place.git("init", "-q", "inner")
    place.git("-C", "inner", "commit", "-q", "--allow-empty", "-m", "one")
    place.git("add", "inner")
    place.git("commit", "-qm", "inner")
    done = place.ralph("run")
    assert done.code == 0, done
    assert notes(place) == ""
