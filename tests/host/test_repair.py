"""What an agent did to the repository besides committing: what stands once it was set right, and what is kept."""

import os
import time
from pathlib import Path

import pytest

from ralphloop.host import git, operations, repair, restore, vault
from ralphloop.host.git import Git
from ralphloop.host.places import Home
from repository import BRANCH, KINDS, Repository, plain

RUN = "refs/ralph/run"


@pytest.fixture(autouse=True)
def afresh() -> None:
    vault._copies.clear()


class Attempt:
    """An attempt of an agent's in a repository with finished work, and what is made of it."""

    def __init__(self, made: Repository, folder: Path) -> None:
        self.made = made
        made.commit("done", "finished\n", "finished work")
        self.good = made.git("rev-parse", "HEAD")
        self.repository = git.find(str(made.path))
        home = Home(folder / "home")
        tool = Git(str(made.path))
        vault.keep(tool, self.repository, home, self.repository.branch, self.good, RUN)
        self.vault = home.vault(self.repository.common_dir)
        self.since = time.time()
        os.utime(self.made.path / "done", (0, 0))

    def mended(self, script: str) -> repair.Mended:
        self.made.sh(f"exec >/dev/null 2>&1; {script}")
        return repair.mend(
            Git(str(self.made.path)),
            restore.Expected(
                self.repository, self.repository.branch, self.good, self.since, RUN, 3, ("*.pyc",), self.vault
            ),
        )

    def kept(self) -> dict[str, str]:
        """What lies under the run's refs."""
        lines = self.made.git("for-each-ref", "--format=%(refname:lstrip=3) %(objectname)", RUN).splitlines()
        return dict(line.split(" ") for line in lines)


@pytest.fixture
def attempt(tmp_path: Path) -> Attempt:
    return Attempt(plain(tmp_path / "repository"), tmp_path)


COMMIT = "echo new >new; git add new; git commit -qm new"
SIDE = "git switch -qc side HEAD~1; echo other >done; git add done; git commit -qm side; git switch -q -"
OLD = "GIT_COMMITTER_DATE='2001-01-01 00:00 +0000' "
# what it does: what is said, the subjects of new commits, the files that stand, what is kept
CASES: dict[str, tuple[str, str, list[str], dict[str, str], list[str]]] = {
    "nothing": ("true", "", [], {"done": "finished\n"}, []),
    "a commit": (COMMIT, "", ["new"], {"new": "new\n"}, []),
    "uncommitted work": ("echo new >new", "", [], {"new": "new\n"}, []),
    "work on a detached HEAD": (f"git checkout -q --detach; {COMMIT}", "brought to", ["new"], {"new": "new\n"}, []),
    "work on a new branch": (f"git switch -qc mine; {COMMIT}", "was brought to", ["new"], {"new": "new\n"}, []),
    "the branch renamed": (f"git branch -m mine; {COMMIT}", "was brought to", ["new"], {"new": "new\n"}, []),
    "a switch to an older branch": ("git switch -qc old HEAD~1", "back on", [], {"done": "finished\n"}, ["stray-3"]),
    "a new branch on which old commits stand": (
        f"git switch -qc mine; {OLD}git commit -q --allow-empty -m old", "back on", [], {"done": "finished\n"},
        ["stray-3"],
    ),
    "uncommitted work on another branch": (
        "git switch -qc old HEAD~1; echo mine >first; echo more >more", "back on", [], {"first": "mine\n"}, ["stray-3"],
    ),
    "an orphan branch": (
        "git checkout -q --orphan new; git rm -rqf .", "back on", [], {"done": "finished\n"}, ["stray-3"],
    ),
    "reset": ("git reset -q --hard HEAD~2", "they are back", [], {"done": "finished\n"}, ["stray-3"]),
    "reset with work in the tree": (
        "git reset -q --hard HEAD~1; echo mine >first", "they are back", [], {"done": "finished\n", "first": "mine\n"},
        ["stray-3"],
    ),
    "amended and changed": (
        "echo better >done; git commit -q -a --amend -m amended", "against finished commits", [],
        {"done": "finished\n"}, ["stray-3"],
    ),
    "amended with more": (
        "echo more >>done; git commit -q -a --amend -m amended", "with every finished change in it", ["amended"],
        {"done": "finished\nmore\n"}, ["stray-3", "stray-3-before"],
    ),
    "rewritten without it": (
        f"git reset -q --hard HEAD~1; {COMMIT}", "merged back", ["new", "Bring back"],
        {"done": "finished\n", "new": "new\n"}, ["stray-3"],
    ),
    "rewritten against it": (
        "git reset -q --hard HEAD~1; echo other >done; git add done; git commit -qm other; git rm -q done;"
        " git commit -qm gone",
        "merged back", ["other", "gone", "Bring back"], {"done": "finished\n"}, ["stray-3"],
    ),
    "a merge unfinished": (
        f"{SIDE}; git merge side",
        "a merge was left unfinished", [], {"done": "finished\n"}, ["stray-3"],
    ),
    "a cherry-pick unfinished": (
        f"{SIDE}; git cherry-pick side",
        "a cherry-pick was left unfinished", [], {"done": "finished\n"}, ["stray-3"],
    ),
    "a rebase unfinished": (
        f"{SIDE}; git rebase side",
        "a rebase was left unfinished", [], {"done": "finished\n"}, ["stray-3"],
    ),
    "the branch deleted": ("git update-ref -d HEAD", "is back", [], {"done": "finished\n"}, []),
    "the index gone": ("rm $(git rev-parse --git-path index)", "index was gone", [], {"done": "finished\n"}, []),
    "a lock left": ("touch $(git rev-parse --git-path index.lock)", "was left behind", [], {"done": "finished\n"}, []),
    "refs packed": (f"{COMMIT}; git pack-refs --all", "", ["new"], {"new": "new\n"}, []),
    "collected": (f"{COMMIT}; git gc -q --prune=now", "", ["new"], {"new": "new\n"}, []),
    "an odd name": ("echo x >'-o d\nd'; git add .; git commit -qm odd", "", ["odd"], {"-o d\nd": "x\n"}, []),
}  # fmt: skip


def check(attempt: Attempt, what: str) -> None:
    script, said, gained, files, kept = CASES[what]
    mended = attempt.mended(script)
    assert bool(mended.notes) == bool(said)
    assert said in " ".join(mended.notes)
    subjects = [commit.subject for commit in mended.moved.gained]
    assert [subject.startswith(start) for subject, start in zip(subjects, gained, strict=True)] == [True] * len(gained)
    assert not mended.moved.lost or "stray-3-before" in kept
    assert mended.look.branch == attempt.repository.branch
    assert mended.look.head == attempt.made.git("rev-parse", "HEAD")
    for name, text in files.items():
        assert (attempt.made.path / name).read_text() == text
    assert sorted(attempt.kept()) == kept
    assert operations.unfinished(attempt.repository.git_dir) == ""
    assert attempt.made.sound()


@pytest.mark.parametrize("what", CASES)
def test_every_deed_is_set_right(attempt: Attempt, what: str) -> None:
    check(attempt, what)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("plain", "packed")])
@pytest.mark.parametrize(
    "what",
    ["work on a new branch", "reset", "rewritten without it", "a merge unfinished", "the index gone", "collected"],
)
def test_every_deed_is_set_right_in_repositories_of_every_kind(tmp_path: Path, kind: str, what: str) -> None:
    made = KINDS[kind](tmp_path / "repository")
    if kind in ("alternates", "shallow"):
        made.write("first", "1\n")
    check(Attempt(made, tmp_path), what)


def test_what_was_in_the_tree_is_kept_where_it_was_found(attempt: Attempt) -> None:
    attempt.mended("git switch -qc old HEAD~1; echo mine >first; echo more >'mo\nre'; touch junk.pyc; rm folder/second")
    stray = attempt.kept()["stray-3"]
    names = attempt.made.git("ls-tree", "-r", "-z", "--name-only", stray).split("\0")[:-1]
    assert names == ["first", "mo\nre"]
    assert attempt.made.git("show", f"{stray}:first") == "mine"


def test_every_find_of_one_attempt_has_a_ref(attempt: Attempt) -> None:
    merge = "git switch -qc side HEAD~1; echo other >done; git add done; git commit -qm side; git merge " + BRANCH
    attempt.mended(merge)
    assert sorted(attempt.kept()) == ["stray-3", "stray-3-2"]


@pytest.mark.parametrize("branch", ["a", "a/b", "ümlaut/日本", "with-dash/-x"])
def test_branches_with_odd_names(tmp_path: Path, branch: str) -> None:
    made = plain(tmp_path / "repository")
    made.git("branch", "-m", branch)
    attempt = Attempt(made, tmp_path)
    mended = attempt.mended(f"git switch -qc mine; {COMMIT}")
    assert (mended.look.branch, [commit.subject for commit in mended.moved.gained]) == (branch, ["new"])
    mended = attempt.mended("git reset -q --hard HEAD~2")
    assert made.git("show", "HEAD:done") == "finished"


def test_an_operation_that_the_user_had_begun_is_left(attempt: Attempt) -> None:
    attempt.made.sh("git bisect start HEAD HEAD~2")
    log = attempt.made.path / ".git" / "BISECT_LOG"
    os.utime(log, (0, 0))
    attempt.good = attempt.made.git("rev-parse", "HEAD")
    attempt.made.git("symbolic-ref", "HEAD", f"refs/heads/{BRANCH}")
    attempt.good = attempt.made.git("rev-parse", "HEAD")
    attempt.mended("true")
    assert log.exists()


def test_without_vault_and_objects_a_person_is_needed(attempt: Attempt) -> None:
    with pytest.raises(restore.Beaten) as beaten:
        attempt.mended(f"rm -rf .git {attempt.vault}")
    assert attempt.good in beaten.value.hint
    assert (attempt.made.path / "done").read_text() == "finished\n"
