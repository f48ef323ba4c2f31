"""Commits that hold a tree as it stands, untracked files included, without touching the tree or its index."""

import os
import shutil
import stat
import tempfile
from collections.abc import Iterable
from pathlib import Path

from ralphloop.host.git import WHO, Git, GitProblem

TRAILER = "Ralph-Run"


def take(git: Git, git_dir: str, ref: str, message: str, junk: Iterable[str], also: Iterable[bytes] = ()) -> str:
    """The commit that now holds everything which is not ignored or junk, and `also` these; `ref` keeps it."""
    return keep(git, tree_now(git, git_dir, junk, also), ref, message)


def keep(git: Git, tree: str, ref: str, message: str) -> str:
    """A commit of that tree on top of HEAD, kept under a ref."""
    made = git.ask("commit-tree", tree, "-p", "HEAD", "-m", message, env=WHO)
    if made.returncode == 0:
        commit = made.stdout.decode().strip()
    else:  # there is no HEAD, or it names nothing
        commit = git.line("commit-tree", tree, "-m", message, env=WHO)
    git.run("update-ref", ref, commit)
    return commit


def tree_now(git: Git, git_dir: str, junk: Iterable[str], also: Iterable[bytes] = ()) -> str:
    """The working tree as a tree of git's, made with an index of its own; `also` names ignored files to hold."""
    with tempfile.TemporaryDirectory(prefix="ralph-index-") as folder:
        index = Path(folder, "index")
        if Path(git_dir, "index").exists():
            shutil.copyfile(Path(git_dir, "index"), index)
        env = {"GIT_INDEX_FILE": str(index)}
        tracked = _listed(git, env, "--modified", "--deleted")
        _stage(git, tracked | _untracked(git, junk, env) | set(also), env)
        return git.line("write-tree", env=env)


def commit_paths(git: Git, message: str, run: str, paths: Iterable[str]) -> bool:
    """Put these paths on the branch, under our name and without the repository's hooks; False when git refuses.

    What else the user had staged stays staged and uncommitted.
    """
    names = {os.fsencode(path) for path in paths if not path.endswith("/")}
    try:
        _stage(git, names, {})
    except GitProblem:
        return False
    words = ("commit", "--quiet", "--no-verify", "--no-gpg-sign", "-m", f"{message}\n\n{TRAILER}: {run}")
    only = ("--only", "--pathspec-from-file=-", "--pathspec-file-nul")
    literal = {**WHO, "GIT_LITERAL_PATHSPECS": "1"}
    return git.ask(*words, *only, env=literal, stdin=_lines(sorted(names))).returncode == 0


def _listed(git: Git, env: dict[str, str], *options: str) -> set[bytes]:
    names = git.run("ls-files", "-z", *options, env=env).split(b"\0")
    # a name that ends with a slash is a repository inside this one: not ours to take
    return {name for name in names if name and not name.endswith(b"/")}


def _untracked(git: Git, junk: Iterable[str], env: dict[str, str]) -> set[bytes]:
    return _listed(git, env, "--others", "--exclude-standard", *(f"--exclude={pattern}" for pattern in junk))


def _stage(git: Git, names: set[bytes], env: dict[str, str]) -> None:
    """Make the index know these paths as they stand.

    `git add` would do, but refuses all when one of the paths to leave out is ignored anyway.
    """
    chosen: list[bytes] = []
    gone: list[bytes] = []
    for name in sorted(names):
        (gone if _is_no_file(Path(git.worktree), os.fsdecode(name)) else chosen).append(name)
    if gone:
        git.run("update-index", "--force-remove", "-z", "--stdin", env=env, stdin=_lines(gone))
    try:
        _update(git, chosen, env)
    except GitProblem:
        readable = [name for name in chosen if _readable(Path(git.worktree, os.fsdecode(name)))]
        if len(readable) == len(chosen):
            raise
        _update(git, readable, env)


def _update(git: Git, names: list[bytes], env: dict[str, str]) -> None:
    if names:
        git.run("update-index", "--add", "--remove", "--replace", "-z", "--stdin", env=env, stdin=_lines(names))


def _lines(names: Iterable[bytes]) -> bytes:
    return b"".join(name + b"\0" for name in names)


def _is_no_file(worktree: Path, name: str) -> bool:
    """Whether nothing stands there that git can hold: a plain folder, a pipe, a device, or all of it behind a link."""
    path = worktree / name
    if any((worktree / folder).is_symlink() for folder in Path(name).parents[:-1]):
        return True
    try:
        mode = path.lstat().st_mode
    except OSError:
        return False
    if stat.S_ISDIR(mode):
        return not (path / ".git").exists()
    return not (stat.S_ISREG(mode) or stat.S_ISLNK(mode))


def _readable(path: Path) -> bool:
    return path.is_symlink() or not path.exists() or os.access(path, os.R_OK)
