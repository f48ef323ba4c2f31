"""What is asked of git and what its answers are taken for, in repositories of all kinds."""

import os
import subprocess
from pathlib import Path

import pytest

from ralphloop.core.errors import Problem
from ralphloop.host import git
from ralphloop.host.git import Git, GitProblem
from repository import BRANCH, KINDS, ODD_NAMES, Repository, plain


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return plain(tmp_path / "repository")


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_repository_is_found_from_a_folder_in_it(tmp_path: Path, kind: str) -> None:
    # no path of an alternate can have a line's end in it
    made = KINDS[kind](tmp_path / ("ümlaut and space" if kind == "alternates" else "two\nlines"))
    (made.path / "folder" / "deep").mkdir(parents=True, exist_ok=True)
    found = git.find(str(made.path / "folder" / "deep"))
    assert found.worktree == str(made.path)
    assert (Path(found.git_dir), Path(found.common_dir)) == (made.git_dir, made.common)
    assert (found.branch, found.head) == (BRANCH, made.git("rev-parse", "HEAD"))
    look = git.look(Git(found.worktree))
    assert (look.branch, look.head, look.dirty) == (BRANCH, found.head, 0)


def test_a_submodule_is_a_repository_of_its_own(tmp_path: Path) -> None:
    made = KINDS["a submodule"](tmp_path / "outer")
    found = git.find(str(made.path / "inner"))
    assert found.worktree == str(made.path / "inner")
    assert Path(found.git_dir) == made.path / ".git" / "modules" / "inner"


NO_PLACE = {
    "no repository": ("mkdir place", "is not in a git repository"),
    "a bare one": ("git init -q --bare place", "is in a bare repository"),
    "a damaged one": ("git init -q place; rm place/.git/HEAD", "is damaged"),
}


@pytest.mark.parametrize("what", NO_PLACE)
def test_what_is_no_place_for_a_run_is_said(tmp_path: Path, what: str) -> None:
    script, said = NO_PLACE[what]
    Repository(tmp_path).sh(script)
    with pytest.raises(Problem, match=said):
        git.find(str(tmp_path / "place"))


def test_a_run_needs_a_branch_with_a_commit(repository: Repository) -> None:
    assert git.on_a_branch(git.find(str(repository.path))).branch == BRANCH
    repository.git("checkout", "-q", "--orphan", "empty")
    with pytest.raises(Problem, match="no commit yet"):
        git.on_a_branch(git.find(str(repository.path)))
    repository.git("checkout", "-q", "--detach", BRANCH)
    with pytest.raises(Problem, match="detached HEAD"):
        git.on_a_branch(git.find(str(repository.path)))


def test_the_callers_variables_lead_nowhere_else(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in git.INHERITED:
        monkeypatch.setenv(name, "/nowhere")
    assert git.find(str(repository.path)).branch == BRANCH


def test_a_repository_that_is_gone_is_not_replaced_by_an_outer_one(tmp_path: Path) -> None:
    plain(tmp_path / "outer")
    inner = plain(tmp_path / "outer" / "inner")
    tool = Git(str(inner.path))
    assert git.look(tool).branch == BRANCH
    inner.sh("rm -rf .git")
    with pytest.raises(GitProblem):
        git.look(tool)


def test_a_worktree_that_is_gone_is_said(tmp_path: Path) -> None:
    with pytest.raises(GitProblem, match="is gone"):
        Git(str(tmp_path / "gone")).ask("status")
    (tmp_path / "file").touch()
    with pytest.raises(GitProblem, match="not a folder"):
        Git(str(tmp_path / "file")).ask("status")


CHANGES: dict[str, tuple[str, list[str]]] = {
    "nothing": ("true", []),
    "untracked": ("echo x >new", ["new"]),
    "an untracked folder": ("mkdir new; echo x >new/file", ["new/"]),
    "changed": ("echo x >first", ["first"]),
    "changed and staged": ("echo x >first; git add first", ["first"]),
    "staged and changed again": ("echo x >first; git add first; echo y >first", ["first"]),
    "deleted": ("rm first", ["first"]),
    "deleted from the index": ("git rm -q --cached first", ["first", "first"]),
    "renamed": ("git mv first renamed", ["renamed"]),
    "renamed to an odd name": ("git mv -- first '-o d\nd'", ["-o d\nd"]),
    "executable": ("chmod +x first", ["first"]),
    "a link": ("ln -s first link", ["link"]),
    "a link in place of a file": ("ln -sf folder first", ["first"]),
    "a file in place of a folder": ("rm -r folder; echo x >folder", ["folder/second", "folder"]),
    "intent to add": ("echo x >new; git add -N new", ["new"]),
    "a conflict": (
        "git switch -qc side; echo a >first; git commit -qam a; git switch -q -; echo b >first; git commit -qam b;"
        " git merge side",
        ["first"],
    ),
    "ours": ("mkdir -p .ralph/x .claude; echo x >.ralph/x/prd.json; echo x >.claude/loop-state.json", []),
    "ours and another in .claude": ("mkdir .claude; echo x >.claude/mine; git add .claude", [".claude/mine"]),
    "junk": ("mkdir -p __pycache__ folder/__pycache__; touch __pycache__/a folder/__pycache__/b a.pyc", []),
    "junk that is tracked": ("touch a.pyc; git add -f a.pyc; git commit -qm a; echo x >a.pyc", ["a.pyc"]),
    "ignored": ("echo new >.git/info/exclude; echo x >new", []),
    "a repository inside": ("git init -q inner; touch inner/file", ["inner/"]),
}  # fmt: skip


@pytest.mark.parametrize("what", CHANGES)
def test_what_is_not_committed_is_seen(repository: Repository, what: str) -> None:
    script, paths = CHANGES[what]
    repository.sh(script)
    look = git.look(Git(str(repository.path)), ("__pycache__", "*.pyc"))
    assert sorted(look.paths) == sorted(paths)
    assert look.dirty == len(paths)


@pytest.mark.parametrize("name", ODD_NAMES)
def test_odd_names_come_back_as_they_are(repository: Repository, name: str) -> None:
    repository.write(name)
    shown = name if "/" not in name else "a/"
    tool = Git(str(repository.path))
    assert git.look(tool).paths == (shown,)
    before = repository.git("rev-parse", "HEAD")
    after = repository.commit(name)
    assert git.look(tool).dirty == 0
    assert list(git.differing(tool, before, after)) == [name]
    assert git.moved(tool, before, after).worked
    assert not git.moved(tool, before, after, (name,)).worked


def test_a_name_that_is_no_text_comes_back_as_it_is(repository: Repository) -> None:
    name = os.fsdecode(b"\xff\xfe")
    repository.write(name)
    assert git.look(Git(str(repository.path))).paths == (name,)


def test_many_paths_are_counted_and_some_are_shown(repository: Repository) -> None:
    for n in range(50):
        repository.write(f"file-{n:02}")
    look = git.look(Git(str(repository.path)))
    assert (look.dirty, look.paths) == (50, tuple(f"file-{n:02}" for n in range(git.SHOWN)))


@pytest.mark.parametrize(
    ("script", "branch", "has_head"),
    [
        ("git checkout -q --detach", "", True),
        ("git checkout -q --orphan new", "new", False),
        ("git switch -qc ümlaut", "ümlaut", True),
        ("git pack-refs --all", BRANCH, True),
    ],
)
def test_where_head_is(repository: Repository, script: str, branch: str, has_head: bool) -> None:
    repository.sh(script)
    look = git.look(Git(str(repository.path)))
    assert (look.branch, bool(look.head)) == (branch, has_head)


SINCE = {
    "nothing": ("true", [], [], False),
    "one more": ("echo x >new; git add new; git commit -qm 'two words'", [], ["two words"], True),
    "an empty one": ("git commit -q --allow-empty -m empty", [], ["empty"], False),
    "ours alone": ("mkdir .ralph; echo x >.ralph/notes; git add -f .ralph; git commit -qm notes", [], ["notes"], False),
    "an old one dropped": ("git reset -q --hard HEAD~1", ["folder/second"], [], False),
    "amended": ("git commit -q --amend -m other", ["folder/second"], ["other"], True),
    "an odd subject": (
        "printf 'a\\001b\\002 <c>' | git commit -q --allow-empty -F -",
        [],
        ["a\x01b\x02 <c>"],
        False,
    ),
    "merged": (
        "git switch -qc side HEAD~1; echo x >side; git add side; git commit -qm side; git switch -q -;"
        " git merge -q -m merged side",
        [],
        ["side", "merged"],
        True,
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", SINCE)
def test_what_happened_between_two_commits(repository: Repository, what: str) -> None:
    script, lost, gained, worked = SINCE[what]
    before = repository.git("rev-parse", "HEAD")
    repository.sh(script)
    moved = git.moved(Git(str(repository.path)), before, repository.git("rev-parse", "HEAD"))
    assert [commit.subject for commit in moved.lost] == lost
    assert [commit.subject for commit in moved.gained] == gained
    assert (moved.worked, moved.total) == (worked, len(gained))


def test_of_thousands_of_commits_the_newest_are_told_and_all_are_counted(repository: Repository) -> None:
    before = repository.git("rev-parse", "HEAD")
    commits = "".join(
        f"commit refs/heads/upstream\ncommitter a <a@b> {n + 1} +0000\ndata {len(str(n))}\n{n}\n"
        + (f"from {before}\n" if n == 0 else "")
        + f"M 100644 inline f{n % 7}\ndata {len(str(n))}\n{n}\n\n"
        for n in range(3000)
    )
    subprocess.run(["git", "fast-import", "--quiet"], cwd=repository.path, input=commits.encode(), check=True)
    tool = Git(str(repository.path))
    moved = git.moved(tool, before, "upstream", (), git.TOLD)
    assert (len(moved.gained), moved.total, moved.worked) == (git.TOLD, 3000, True)
    assert moved.gained[-1].subject == "2999"
    assert len(git.moved(tool, before, "upstream").gained) == 3000
    lost = git.moved(tool, "upstream", before, (), git.TOLD)
    assert (len(lost.lost), lost.gained, lost.total) == (git.TOLD, (), 0)


def test_two_trees_differ_in_content_kind_and_mode(repository: Repository) -> None:
    before = repository.git("rev-parse", "HEAD")
    repository.sh("chmod +x first; git mv folder/second moved; ln -s first link; git add .; git commit -qm changed")
    differing = git.differing(Git(str(repository.path)), before, "HEAD")
    modes = {path: (was.split()[0], now.split()[0]) for path, (was, now) in differing.items()}
    assert modes == {
        "first": ("100644", "100755"),
        "folder/second": ("100644", "000000"),
        "moved": ("000000", "100644"),
        "link": ("000000", "120000"),
    }


def test_whether_a_commit_is_there(repository: Repository) -> None:
    tool = Git(str(repository.path))
    head = repository.git("rev-parse", "HEAD")
    assert git.exists(tool, head) and git.exists(tool, BRANCH)
    assert not any(git.exists(tool, name) for name in ("", "nothing", "0" * 40, f"{head}:first"))
    assert git.is_ancestor(tool, f"{head}~1", head)
    assert not git.is_ancestor(tool, head, f"{head}~1")


def test_what_git_refuses_is_told_with_its_words(repository: Repository) -> None:
    with pytest.raises(GitProblem, match=r"git rev-parse: .*unknown revision"):
        Git(str(repository.path)).run("rev-parse", "nothing")
