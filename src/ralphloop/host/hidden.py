"""Work that `git status` does not show: files git was told not to look at, and repositories inside this one."""

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from ralphloop.core.wording import some
from ralphloop.host import index, snapshot
from ralphloop.host.files import read, replace
from ralphloop.host.git import Git, Repository

LARGEST = 64 << 20
MOST = 10_000  # files of a repository inside this one that are held


def keep(git: Git, repository: Repository, folder: Path) -> None:
    """Hold what the user told git not to look at: that is theirs to hide."""
    found = index.odd(git, repository)
    kept = _kept(folder)
    if found.assumed or found.skipped:
        replace(kept, msgspec.json.encode(sorted(map(os.fsencode, found.assumed | found.skipped))), durable=False)
    else:
        kept.unlink(missing_ok=True)


def uncover(git: Git, repository: Repository, folder: Path) -> list[str]:
    """Have git look again at what an agent told it not to look at."""
    found = index.odd(git, repository)
    if not (found.assumed or found.skipped):
        return []
    users, notes = _users(folder)
    assumed, skipped = sorted(found.assumed - users), sorted(found.skipped - users)
    if skipped and git.ask("config", "--type=bool", "core.sparseCheckout").stdout.strip() == b"true":
        skipped = []
    for option, paths in (("--no-assume-unchanged", assumed), ("--no-skip-worktree", skipped)):
        if paths:
            git.ask(
                "update-index", option, "-z", "--stdin", stdin=b"".join(os.fsencode(path) + b"\0" for path in paths)
            )
    paths = sorted({*assumed, *skipped})
    return [*notes, f"git was told not to look at {some(paths, len(paths))}; it looks again"] if paths else []


def _users(folder: Path) -> tuple[set[str], list[str]]:
    """What is held; what cannot be read holds nothing, and that is said."""
    content = read(_kept(folder), LARGEST)
    try:
        return set(map(os.fsdecode, msgspec.json.decode(b"[]" if content is None else content, type=list[bytes]))), []
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return set(), [
            f"{_kept(folder)} is damaged: which files you had hidden from git yourself is not known any more"
        ]


def nested(git: Git, repository: Repository, start: str) -> list[str]:
    """Repositories that stand as one entry, are no submodules, and were not there when the run began."""
    links = index.odd(git, repository).links
    if not links:
        return []
    told = git.ask("config", "--file", ".gitmodules", "-z", "--get-regexp", r"^submodule\..*\.path$").stdout
    known = {os.fsdecode(entry.partition(b"\n")[2]) for entry in told.split(b"\0")}
    unknown = sorted(links - known)
    if unknown:
        listed = git.ask("ls-tree", "-z", "--name-only", start, "--", *(f":(literal){path}" for path in unknown))
        known = set(map(os.fsdecode, listed.stdout.split(b"\0")))
    return [path for path in unknown if path not in known]


def hold(git: Git, repository: Repository, paths: list[str], ref: str, junk: tuple[str, ...]) -> str:
    """Have a ref keep their files, which no commit of this repository has; what there is to be said."""
    files = [name for path in paths for name in _files(git.worktree, path)]
    snapshot.take(git, repository.git_dir, ref, "what is in repositories inside this one", junk, files[:MOST])
    one = some([f"{path}/" for path in paths], len(paths))
    return (
        f"{one} has a .git of its own, so what is in it is in no commit of this branch (it is kept as {ref})."
        " Remove that .git and `git rm --cached` the entry, then add its files; or make it a submodule"
    )


def _files(worktree: str, path: str) -> Iterator[bytes]:
    for place, folders, names in os.walk(Path(worktree, path)):
        folders[:] = [name for name in folders if name != ".git"]
        yield from (os.fsencode(Path(place, name).relative_to(worktree)) for name in names if name != ".git")


def _kept(folder: Path) -> Path:
    return folder / "git-hidden"
