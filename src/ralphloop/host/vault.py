"""Finished commits where an agent that destroys `.git` does not reach: a repository of ours with all objects."""

import fcntl
import os
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ralphloop.core.errors import Problem
from ralphloop.host import glance, objects, refs
from ralphloop.host.files import make_folder, read, replace
from ralphloop.host.git import Git, Repository
from ralphloop.host.objects import Copies, Found
from ralphloop.host.places import Home

REFS_KEPT_FOR = 600.0  # seconds until the list of all refs is written anew
LARGEST = 64 << 20  # bytes of what makes a repository besides its objects
HEADS_KEPT_FOR = 7 * 86_400.0  # seconds in which another loop on this repository may still count on its last good head
VAULTS_KEPT_FOR = 30 * 86_400.0  # seconds from when a repository was first seen gone until its vault is removed
SMALL = ("config", "shallow", "info/exclude", "info/grafts")  # what makes a repository besides objects and refs
LISTED = ("refs/heads/", "refs/tags/", "refs/remotes/", "refs/stash")

_copies: dict[str, Copies] = {}  # by vault


def keep(git: Git, repository: Repository, home: Home, branch: str, head: str, run_refs: str) -> Path:
    """Have the vault hold `head`, what it stands on, and what a run keeps under `run_refs`. Starts no process."""
    vault, common = home.vault(repository.common_dir), Path(repository.common_dir)
    with _locked(vault):
        if not (vault / "HEAD").exists():
            _open(vault, common, head)
            _sweep(vault.parent)
        with suppress(FileNotFoundError):  # the repository is going away under our hands: the next look will tell
            _keep_alternates(common / "objects", vault / "objects")
            _of(vault, common).take()
            _keep_refs(common, vault)
        ref = f"refs/heads/{kept_name(branch)}"
        refs.write(vault, ref, head)
        os.utime(vault / ref)
        refs.copy_new(common / run_refs, vault / run_refs)
    return vault


def look(repository: Repository, vault: Path, *, at_all: bool = False) -> Found:
    """Object files that were damaged or are gone; what is new and whole is kept. Starts no process."""
    common = Path(repository.common_dir)
    if not (vault / "objects").is_dir() or not (common / "objects").is_dir():
        return Found()
    with _locked(vault):
        copies = _of(vault, common)
        found = copies.take()
        damaged = copies.damaged(all_of_them=at_all or bool(found))
        found = Found((*found.damaged, *damaged), found.gone)
        if found:
            copies.make_whole()
        return found


def put_back(repository: Repository, vault: Path, damaged: Iterable[str]) -> int:
    """Object files as they were; one that nobody has whole goes out of git's way. How many could be put back."""
    common = Path(repository.common_dir)
    aside = common / "objects.damaged"
    number = 0
    with _locked(vault):
        copies = _of(vault, common)
        for name in damaged:
            if not copies.put_back(name):
                aside.mkdir(exist_ok=True)
                with suppress(OSError):  # git writes no object where a file of its name stands
                    (common / "objects" / name).replace(aside / name.replace("/", "-"))
                if not copies.put_back(name):
                    continue
            number += 1
    return number


def drop(repository: Repository, vault: Path, gone: Iterable[str], run_refs: str) -> None:
    """Nothing needs these files: what somebody purged must not come back from here."""
    common = Path(repository.common_dir)
    with _locked(vault):
        _of(vault, common).forget(gone)
        (vault / "of-repository" / "packed-refs").unlink(missing_ok=True)
        present = refs.every(common)
        for name, _ in list(refs.loose(vault, "refs/ralph")):
            if name not in present and not name.startswith(f"{run_refs}/"):
                (vault / name).unlink(missing_ok=True)


def spare(repository: Repository, vault: Path, gone: Iterable[str]) -> None:
    """Nothing of this run needs these files, but perhaps another loop does."""
    _of(vault, Path(repository.common_dir)).harmless.update(gone)


def heads(vault: Path) -> list[str]:
    """The last good heads of all that may be at work on this repository."""
    young = time.time() - HEADS_KEPT_FOR
    return [commit for name, commit in refs.loose(vault, "refs/heads") if _changed(vault / name) > young]


def kept_under(vault: Path, run_refs: str) -> list[str]:
    """The commits that a run keeps."""
    return [commit for _, commit in refs.loose(vault, run_refs)]


def kept_name(branch: str) -> str:
    """Flat, so that a branch `a` and a branch `a/b` can be kept one after the other."""
    plain = "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "-" for c in branch)[:60].strip("-")
    return f"{plain or 'branch'}-{glance.digest(os.fsencode(branch))[:8]}"


def rebuild(vault: Path, common_dir: Path, branch: str, head: str) -> bool:
    """Make a repository that is gone anew from what the vault knows of it; False when it knows too little."""
    if not (vault / "objects").is_dir() or os.path.lexists(common_dir):
        return False
    temporary = common_dir.with_name(f"{common_dir.name}.ralph-{os.getpid()}")
    for folder in ("refs/heads", "refs/tags", "objects/info", "objects/pack", "info"):
        (temporary / folder).mkdir(parents=True, exist_ok=True)
    for name in SMALL:
        with suppress(FileNotFoundError):
            shutil.copyfile(vault / "of-repository" / name, temporary / name)
    refill(vault, temporary, branch, head)
    (temporary / "HEAD").write_text(f"ref: refs/heads/{branch}\n")
    temporary.rename(common_dir)
    return True


def refill(vault: Path, common_dir: Path, branch: str, head: str) -> None:
    """All objects of the vault, and every ref that is not there."""
    _keep_alternates(vault / "objects", common_dir / "objects")
    here, there = str(vault / "objects"), str(common_dir / "objects")
    Copies(there, here).make_whole()
    objects.fill(here, there)
    put_back_refs(vault, common_dir, branch, head)


def put_back_refs(vault: Path, common_dir: Path, branch: str, head: str) -> None:
    """Every ref that is not there: the branch at its head, others as they last were."""
    packed, present = vault / "of-repository" / "packed-refs", refs.every(common_dir)
    known = packed.read_text(errors="surrogateescape").splitlines() if packed.exists() else []
    for line in (f"{head} refs/heads/{branch}", *known):
        commit, _, name = line.partition(" ")
        if name not in present:
            present[name] = commit
            with suppress(OSError):  # a branch of today may stand where one of yesterday had a folder
                refs.write(common_dir, name, commit)
    put_back_run_refs(vault, common_dir)


def put_back_run_refs(vault: Path, common_dir: Path, below: str = "refs/ralph") -> None:
    for place, _, names in os.walk(vault / below):
        if names:
            refs.copy_new(Path(place), common_dir / Path(place).relative_to(vault))


@contextmanager
def _locked(vault: Path) -> Iterator[None]:
    """Loops in several worktrees of one repository share its vault."""
    try:
        handle = os.open(vault / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except FileNotFoundError:
        make_folder(vault)
        handle = os.open(vault / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _of(vault: Path, common: Path) -> Copies:
    return _copies.setdefault(str(vault), Copies(str(common / "objects"), str(vault / "objects")))


def _open(vault: Path, common: Path, head: str) -> None:
    _copies.pop(str(vault), None)
    for folder in ("objects/pack", "objects/info", "refs/heads", "of-repository/info"):
        make_folder(vault / folder)
    replace(vault / "of-repository" / "path", os.fsencode(common))
    sha256 = "\trepositoryformatversion = 1\n[extensions]\n\tobjectFormat = sha256\n[core]\n"
    version = sha256 if len(head) == 64 else "\trepositoryformatversion = 0\n"
    replace(vault / "config", f"[core]\n{version}\tbare = true\n".encode())
    replace(vault / "HEAD", b"ref: refs/heads/main\n")


def _sweep(vaults: Path) -> None:
    """Remove the vaults whose repositories have been gone for a long time."""
    for path in vaults.glob("*/of-repository/path"):
        mark = path.with_name("gone")
        with suppress(OSError):
            if os.path.lexists(os.fsdecode(path.read_bytes())):
                mark.unlink(missing_ok=True)
            elif not mark.exists():
                mark.touch()
            elif _changed(mark) < time.time() - VAULTS_KEPT_FOR:
                shutil.rmtree(path.parent.parent)


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0


def _keep_alternates(objects: Path, kept: Path) -> None:
    alternates = objects / "info" / "alternates"
    if alternates.exists() and not (kept / "info" / "alternates").exists():
        lines = alternates.read_text(errors="surrogateescape").splitlines()
        absolute = "".join(f"{Path(objects, line).resolve()}\n" for line in lines if line and line[0] != "#")
        replace(kept / "info" / "alternates", absolute.encode(errors="surrogateescape"))


def _keep_refs(common: Path, vault: Path) -> None:
    """What else makes the repository: its other branches, its configuration. Now and then is enough."""
    kept = vault / "of-repository"
    packed = kept / "packed-refs"
    if time.time() - _changed(packed) < REFS_KEPT_FOR:
        return
    for name in SMALL:
        with suppress(OSError, Problem):
            if (content := read(common / name, LARGEST)) is not None:
                replace(kept / name, content, durable=False)
    if (shallow := read(common / "shallow", LARGEST)) is not None:
        replace(vault / "shallow", shallow, durable=False)
    lines = (f"{commit} {name}\n" for name, commit in sorted(refs.every(common).items()) if name.startswith(LISTED))
    replace(packed, "".join(lines).encode(errors="surrogateescape"), durable=False)
