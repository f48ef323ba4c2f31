"""A snapshot holds the tree as it stands and touches neither tree nor index."""

import os
from pathlib import Path

import pytest

from ralphloop.host import snapshot
from ralphloop.host.git import Git
from repository import KINDS, ODD_NAMES, Repository, plain

REF = "refs/ralph/run/before-1"


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return plain(tmp_path / "repository")


def take(made: Repository, *junk: str) -> dict[str, str]:
    """Each name in the snapshot, with mode and content."""
    index = made.git_dir / "index"
    before = made.git("status", "--porcelain"), index.read_bytes() if index.exists() else b""
    snapshot.take(Git(str(made.path)), str(made.git_dir), REF, "before", junk)
    assert (made.git("status", "--porcelain"), index.read_bytes() if index.exists() else b"") == before
    found = {}
    for entry in made.git("ls-tree", "-r", "-z", REF).split("\0")[:-1]:
        told, _, name = entry.partition("\t")
        mode, kind, digest = told.split(" ")
        found[name] = f"{mode} {made.git('cat-file', 'blob', digest) if kind == 'blob' else kind}"
    return found


STANDS = {"first": "100644 1", "folder/second": "100644 2"}
TREES: dict[str, tuple[str, dict[str, str | None]]] = {
    "as committed": ("true", {}),
    "changed": ("echo x >first", {"first": "100644 x"}),
    "staged and changed again": ("echo x >first; git add first; echo y >first", {"first": "100644 y"}),
    "untracked": ("mkdir deep; echo x >deep/new", {"deep/new": "100644 x"}),
    "deleted": ("rm first", {"first": None}),
    "deleted from the index alone": ("git rm -q --cached first", {}),
    "renamed": ("git mv -- first '-r'", {"first": None, "-r": "100644 1"}),
    "executable": ("chmod +x first", {"first": "100755 1"}),
    "a link": ("ln -s 'no\nwhere' link", {"link": "120000 no\nwhere"}),
    "a link to a folder": ("ln -s folder link", {"link": "120000 folder"}),
    "a link in place of a folder": (
        "rm -r folder; ln -s /tmp folder",
        {"folder/second": None, "folder": "120000 /tmp"},
    ),
    "a file in place of a folder": ("rm -r folder; echo x >folder", {"folder/second": None, "folder": "100644 x"}),
    "a folder in place of a file": ("rm first; mkdir first; echo x >first/f", {"first": None, "first/f": "100644 x"}),
    "a pipe in place of a file": ("rm first; mkfifo first", {"first": None}),
    "a pipe": ("mkfifo pipe", {}),
    "intent to add": ("echo x >new; git add -N new", {"new": "100644 x"}),
    "ignored": ("echo new >.git/info/exclude; echo x >new", {}),
    "ignored and tracked": ("echo first >.git/info/exclude; echo x >first", {"first": "100644 x"}),
    "junk": ("touch a.pyc; mkdir folder/__pycache__; touch folder/__pycache__/b", {}),
    "junk that is tracked": ("touch a.pyc; git add -f a.pyc; git commit -qm a; echo x >a.pyc", {"a.pyc": "100644 x"}),
    "a repository inside": ("git init -q inner; touch inner/file", {}),
    "a conflict": (
        "git switch -qc side; echo a >first; git commit -qam a; git switch -q -; echo b >first; git commit -qam b;"
        " git merge -q side; echo both >first",
        {"first": "100644 both"},
    ),
    "no index": ("rm .git/index", {}),
    "no HEAD": ("git checkout -q --orphan new", {}),
    "the end of a line": ("git config core.autocrlf true; printf 'a\\r\\nb\\r\\n' >first", {"first": "100644 a\nb"}),
}  # fmt: skip


@pytest.mark.parametrize("what", TREES)
def test_the_tree_is_held_as_it_stands(repository: Repository, what: str) -> None:
    script, changes = TREES[what]
    repository.sh(script)
    expected = {name: text for name, text in {**STANDS, **changes}.items() if text is not None}
    assert take(repository, "__pycache__", "*.pyc") == expected


@pytest.mark.parametrize("name", ODD_NAMES)
def test_odd_names(repository: Repository, name: str) -> None:
    repository.write(name)
    assert take(repository) == {**STANDS, name: "100644 text"}


@pytest.mark.parametrize("kind", KINDS)
def test_repositories_of_every_kind(tmp_path: Path, kind: str) -> None:
    made = KINDS[kind](tmp_path / "repository")
    before = take(made)
    made.write("folder/new", "new\n")
    assert take(made) == {**before, "folder/new": "100644 new"}
    assert made.sound()


def test_what_a_sparse_checkout_leaves_out_is_not_deleted(tmp_path: Path) -> None:
    made = KINDS["sparse"](tmp_path / "repository")
    assert "left out/file" in take(made)


def test_the_snapshot_brings_the_tree_back(repository: Repository) -> None:
    repository.sh("echo x >first; chmod +x first; ln -s first link; mkdir new; echo y >'new/-o d'; rm folder/second")
    held, commit = take(repository), repository.git("rev-parse", REF)
    repository.sh("git reset -q --hard; git clean -qfdx")
    assert take(repository) == STANDS
    repository.sh(f"git read-tree --reset {commit}; git checkout-index -qfa; git read-tree HEAD; rm folder/second")
    assert take(repository) == held


def test_a_file_that_cannot_be_read_does_not_keep_the_others_out(repository: Repository) -> None:
    if os.geteuid() == 0:
        pytest.skip("root reads everything")
    repository.write("secret").chmod(0)
    repository.write("other")
    assert set(take(repository)) == {*STANDS, "other"}


def test_ignored_files_are_held_when_they_are_named(repository: Repository) -> None:
    repository.sh("echo 'kept/' >.git/info/exclude; mkdir -p kept/logs; echo x >kept/prd.json; echo y >kept/logs/1")
    tree = snapshot.tree_now(Git(str(repository.path)), str(repository.git_dir), (), [b"kept/prd.json"])
    names = repository.git("ls-tree", "-r", "--name-only", tree).splitlines()
    assert ("kept/prd.json" in names, "kept/logs/1" in names) == (True, False)


@pytest.mark.parametrize("name", ODD_NAMES)
def test_only_the_named_paths_are_committed(repository: Repository, name: str) -> None:
    repository.write(name)
    repository.write("staged by the user")
    repository.git("add", "staged by the user")
    repository.write("first", "changed by the user\n")
    tool = Git(str(repository.path))
    assert snapshot.commit_paths(tool, "Work", "run-1", [name])
    assert repository.git("show", "--format=%an|%s|%(trailers:key=Ralph-Run,valueonly)", "--no-patch") == (
        "ralphloop|Work|run-1\n"
    )
    assert repository.git("diff-tree", "-r", "-z", "--name-only", "--no-commit-id", "HEAD").split("\0") == [name, ""]
    assert repository.git("status", "--porcelain").splitlines() == [" M first", 'A  "staged by the user"']


def test_a_deletion_and_a_change_of_kind_are_committed(repository: Repository) -> None:
    repository.sh("rm -r folder; ln -s first link; echo x >folder; chmod +x first")
    paths = ["folder/second", "folder", "link", "first"]
    assert snapshot.commit_paths(Git(str(repository.path)), "Work", "run", paths)
    assert repository.git("status", "--porcelain") == ""
    assert repository.git("ls-files").splitlines() == ["first", "folder", "link"]


def test_hooks_of_the_repository_do_not_run(repository: Repository) -> None:
    repository.sh(
        "printf '#!/bin/sh\\nexit 1\\n' >.git/hooks/pre-commit; chmod +x .git/hooks/pre-commit; echo x >first"
    )
    assert snapshot.commit_paths(Git(str(repository.path)), "Work", "run", ["first"])


def test_what_git_refuses_is_no_commit(repository: Repository) -> None:
    repository.write("first", "x\n")
    (repository.git_dir / "index.lock").touch()
    head = repository.git("rev-parse", "HEAD")
    assert not snapshot.commit_paths(Git(str(repository.path)), "Work", "run", ["first"])
    assert repository.git("rev-parse", "HEAD") == head
