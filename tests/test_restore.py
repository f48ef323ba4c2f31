"""Whatever an agent does to `.git`: finished work is on the branch again, and the run goes on to its end."""

from pathlib import Path

import pytest

from place import Place, good, make_place

OPEN = "chmod -R u+w .git/objects"
BROKEN = {
    "all of it deleted": "rm -rf .git",
    "a new repository without a commit": "rm -rf .git && git init -q -b feature/x && git add .",
    "a new repository in its place": "rm -rf .git && git init -q -b other && git add -A && $COMMIT",
    "a new repository with the same branch": "rm -rf .git && git init -q -b feature/x && git add . && $COMMIT",
    "objects deleted": "rm -rf .git/objects && mkdir .git/objects",
    "the folder of objects deleted": "rm -rf .git/objects",
    "every object emptied": f"{OPEN}; for f in .git/objects/??/*; do : > $f; done",
    "every object cut": f"{OPEN}; for f in .git/objects/??/*; do truncate -s 20 $f; done",
    "some objects emptied": f"{OPEN}; for f in .git/objects/[0-7]?/*; do : > $f; done",
    "one object written over": f"{OPEN}; f=$(ls .git/objects/??/* | head -1); echo rubbish > $f",
    "packed, and the packs emptied": f"git gc -q; {OPEN}; for f in .git/objects/pack/*; do : > $f; done",
    "some objects deleted": "find .git/objects -type f -name '*[0-7]' -delete",
    "refs deleted": "rm -rf .git/refs .git/packed-refs",
    "the branch's ref emptied": ": > .git/refs/heads/feature/x",
    "the branch's ref full of rubbish": "echo rubbish > .git/refs/heads/feature/x",
    "the branch deleted": "git update-ref -d refs/heads/feature/x",
    "HEAD full of rubbish": "echo rubbish > .git/HEAD",
    "HEAD emptied": ": > .git/HEAD",
    "HEAD deleted": "rm .git/HEAD",
    "the index full of rubbish": "echo rubbish > .git/index",
    "the index deleted": "rm -f .git/index",
    "the configuration full of rubbish": "echo '[[[' > .git/config",
    "locks left": "touch .git/index.lock .git/HEAD.lock .git/refs/heads/feature/x.lock",
    "packed and collected": "git gc -q --prune=now",
    "reset to the beginning": "git reset -q --hard $(git rev-list --max-parents=0 HEAD)",
    "an orphan branch": "git checkout -q --orphan other",
    "a merge left unfinished": "git switch -q -c side HEAD~1 && echo other > STORY-001.txt && git add -f STORY-001.txt"
    " && git commit -qm side && git switch -q feature/x && (git merge side || true)",
    "a rebase left unfinished": "git switch -q -c side HEAD~1 && echo other > STORY-001.txt && git add -f STORY-001.txt"
    " && git commit -qm side && git switch -q feature/x && (git rebase --autostash side || true)",
}


def finished(place: Place) -> None:
    """Both stories are on the branch, and git finds no fault with anything."""
    assert place.passes() == {"STORY-001": True, "STORY-002": True}
    assert place.git("branch", "--show-current") == place.branch
    for story in ("STORY-001", "STORY-002"):
        assert place.git("show", f"{place.branch}:{story}.txt") == f"built by {story}"
    assert place.git("fsck", "--no-dangling") == ""
    assert not [line for line in place.git("status", "--porcelain").splitlines() if ".ralph" not in line]


@pytest.mark.parametrize("how", BROKEN)
def test_finished_work_survives(tmp_path: Path, how: str) -> None:
    script = {"attempts": [good(), [{"run": BROKEN[how]}]], "default": good()}
    place = make_place(tmp_path, script=script)
    place.git("config", "remote.origin.url", "somewhere")
    place.git("tag", "v1")
    done = place.ralph("run", "-n", "4", COMMIT="git -c user.name=a -c user.email=a@b commit -qm new")
    assert done.code == 0, done
    finished(place)
    assert place.git("config", "remote.origin.url") == "somewhere"
    assert place.git("tag") == "v1"
    if how != "packed and collected":
        assert place.records("inspected")[2]["sight"]["notes"], "what was found is said"


def test_packs_that_are_emptied_later_are_put_back(tmp_path: Path) -> None:
    empty = f"{OPEN}; for f in .git/objects/pack/*; do : > $f; done"
    script = {"attempts": [good(), [{"run": "git gc -q"}], [{"run": empty}]], "default": good()}
    place = make_place(tmp_path, script=script)
    done = place.ralph("run", "-n", "5")
    assert done.code == 0, done
    finished(place)


def test_a_commit_that_is_emptied_in_the_attempt_that_made_it_is_made_again(tmp_path: Path) -> None:
    empty = {"run": f"{OPEN}; for f in .git/objects/??/*; do : > $f; done"}
    place = make_place(tmp_path, script={"attempts": [good(), [*good(), empty]], "default": good()})
    done = place.ralph("run", "-n", "4")
    assert done.code == 0, done
    finished(place)
    assert "set back to" in " ".join(place.records("inspected")[2]["sight"]["notes"])


def test_a_blob_that_is_emptied_in_the_attempt_that_made_it_is_made_again(tmp_path: Path) -> None:
    blob = {"run": f"{OPEN}; b=$(git rev-parse HEAD:STORY-002.txt); : > .git/objects/$(echo $b | sed 's,^..,&/,')"}
    place = make_place(tmp_path, script={"attempts": [good(), [*good(), blob]], "default": good()})
    done = place.ralph("run", "-n", "4")
    assert done.code == 0, done
    finished(place)


PURGE = "git reflog expire --expire=now --all; git gc -q --prune=now"


def test_what_was_purged_does_not_come_back(tmp_path: Path) -> None:
    secret = "printf secret | git hash-object -w --stdin"
    script = {"attempts": [[{"run": secret}], good(), [{"run": PURGE}], good()], "default": []}
    place = make_place(tmp_path, script=script)
    done = place.ralph("run", "-n", "5")
    assert done.code == 0, done
    finished(place)
    (tmp_path / "secret").write_text("secret")
    blob = place.git("hash-object", str(tmp_path / "secret"))
    assert place.git("cat-file", "-t", blob, check=False) == ""
    assert not any(record["sight"]["notes"] for record in place.records("inspected"))
    [vault] = (place.home / "vaults").iterdir()
    assert place.git("--git-dir", str(vault), "cat-file", "-t", blob, check=False) == "", "nor is it kept any longer"


WORKTREES = {
    "the file .git deleted": "rm .git",
    "the file .git full of rubbish": "echo rubbish > .git",
    "its part of the repository deleted": "rm -rf $(git rev-parse --absolute-git-dir)",
    "all of the repository deleted": "rm -rf $(git rev-parse --path-format=absolute --git-common-dir)",
}


@pytest.mark.parametrize("how", WORKTREES)
def test_finished_work_in_a_linked_worktree_survives(tmp_path: Path, how: str) -> None:
    main = make_place(tmp_path, branch="feature/y")
    main.git("worktree", "add", "-q", "-b", "feature/x", str(tmp_path / "linked"))
    place = Place(tmp_path / "linked", main.home, "feature/x")
    (place.path / ".ralph" / "feature-y").rename(place.folder)
    place.git("add", "-A")
    place.git("commit", "-qm", "stories")
    place.script(attempts=[good(), [{"run": WORKTREES[how]}]], default=good())
    done = place.ralph("run", "-n", "4")
    assert done.code == 0, done
    finished(place)
    assert str(place.path) in main.git("worktree", "list")


def test_a_commit_amended_by_a_later_story_is_a_rewritten_history(tmp_path: Path) -> None:
    amend = [
        {"write": {"STORY-001.txt": "built by STORY-001\nand more\n", "STORY-002.txt": "built by STORY-002\n"}},
        {"run": "git add STORY-001.txt STORY-002.txt && git commit -q --amend --no-edit"},
        {"mark": "current"},
    ]
    place = make_place(tmp_path, script={"attempts": [good(), amend]})
    assert place.ralph("run").code == 0
    assert place.git("show", "HEAD:STORY-001.txt") == "built by STORY-001\nand more"
    run = place.run_folder().name
    assert place.git("show", f"refs/ralph/{run}/stray-2-before:STORY-001.txt") == "built by STORY-001"


def test_a_rewritten_history_without_a_finished_story_gets_it_back(tmp_path: Path) -> None:
    rewrite = [{"run": "git reset -q --hard HEAD~1"}, *good()]
    place = make_place(tmp_path, script={"attempts": [good(), rewrite]})
    assert place.ralph("run").code == 0
    finished(place)


def test_every_snapshot_of_one_iteration_is_kept(tmp_path: Path) -> None:
    """An unfinished merge on another branch: what the merge had made and what was on the branch, both."""
    script = {"attempts": [good(), [{"run": BROKEN["a merge left unfinished"]}, {"run": "git checkout -q -f side"}]]}
    place = make_place(tmp_path, script={**script, "default": good()})
    assert place.ralph("run", "-n", "4").code == 0
    finished(place)


def test_what_a_run_kept_is_there_in_the_repository_made_anew(tmp_path: Path) -> None:
    left = [{"write": {"half.txt": "half\n"}}]
    script = {"attempts": [left, [{"run": "rm -rf .git half.txt"}]], "default": good()}
    place = make_place(tmp_path, count=1, script=script)
    assert place.ralph("run", "-n", "4").code == 0
    run = place.run_folder().name
    assert place.git("show", f"refs/ralph/{run}/left-1:half.txt") == "half"


def test_without_a_vault_the_run_stops_and_says_how_to_recover(tmp_path: Path) -> None:
    place = make_place(tmp_path, count=1)
    place.script(attempts=[[{"run": f"rm -rf .git {place.home}/vaults"}]], default=good())
    done = place.ralph("run")
    assert done.code == 1
    assert "from a backup or a clone" in done.out
    assert (place.path / "README").read_text() == "a repository\n"
