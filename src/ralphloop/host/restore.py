"""A repository that git cannot read any more is made readable: from what the journal knows, and from the vault."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from ralphloop.core.errors import Problem
from ralphloop.host import recover, vault
from ralphloop.host.files import read, replace
from ralphloop.host.git import Git, Repository, exists
from ralphloop.host.refs import is_commit

SMALL_FILE = 1 << 20
ANEW = "it has been made anew"


class Beaten(Problem):
    """The repository cannot be set right without a person."""


class Expected(Struct, frozen=True):
    """How the repository must stand: our branch, holding everything up to the last good head."""

    repository: Repository
    branch: str
    good: str
    since: float  # commits younger than this were made in this attempt
    refs: str  # where what is found elsewhere is kept: refs/ralph/<run>
    n: int
    junk: tuple[str, ...]
    vault: Path
    ours: tuple[str, ...] = ()
    settings: Path | None = None  # where git's own are held as they were when the iteration began

    @property
    def common(self) -> Path:
        return Path(self.repository.common_dir)

    @property
    def git_dir(self) -> Path:
        return Path(self.repository.git_dir)


def restore(git: Git, expected: Expected) -> list[str]:
    """Everything that can be made anew is; raises Beaten when git still cannot read it."""
    notes = [note for remedy in REMEDIES for note in remedy(git, expected)]
    if git.ask("status", "--porcelain").returncode != 0:
        said = git.ask("status", "--porcelain").stderr.decode(errors="replace").strip()
        raise Beaten(f"the repository is damaged: {said[-500:]}", _by_hand(expected))
    return notes + (put_back_files(git) if ANEW in " ".join(notes) else [])


def put_back_files(git: Git) -> list[str]:
    """Where a repository had to be made anew, files that are missing went with it."""
    missing = git.run("ls-files", "--deleted", "-z")
    if not missing:
        return []
    git.ask("checkout-index", "-q", "-z", "--stdin", stdin=missing)
    return [f"{missing.count(bytes(1))} files that were missing have been put back"]


def bring_back_objects(git: Git, expected: Expected, *, at_all: bool = False) -> list[str]:
    """What was damaged, and what finished work needs and git has lost. What else went is forgotten here as well."""
    repository, kept = expected.repository, expected.vault
    found = vault.look(repository, kept, at_all=at_all)
    if not found:
        return []
    notes = []
    if found.damaged:
        number = vault.put_back(repository, kept, found.damaged)
        notes.append(f"{len(found.damaged)} of git's object files were damaged; {number} have been put back")
    ours = (expected.good, *vault.kept_under(kept, expected.refs))
    if not recover.reachable(git, recover.EVERYTHING, *ours):
        notes += _bring_back(git, expected, ours)
    if recover.reachable(git, recover.EVERYTHING, *ours, *vault.heads(kept)):
        vault.drop(repository, kept, found.gone, expected.refs)
    elif recover.reachable(git, *ours):
        vault.spare(repository, kept, found.gone)
    return notes


def _bring_back(git: Git, expected: Expected, ours: tuple[str, ...]) -> list[str]:
    """First what finished work stands on, then the rest of what there is a ref for."""
    repository, kept = expected.repository, expected.vault
    another = not exists(git, expected.good)
    vault.put_back_run_refs(kept, expected.common, expected.refs)
    if another:  # a new repository stands in its place, with an index that knows nothing of what is excluded
        vault.put_back_refs(kept, expected.common, expected.branch, expected.good)
    number = recover.bring_back(git, repository, kept, *ours)
    notes = _put_back_configuration(expected) if another else []
    notes += _unread_commits(git, expected)
    number += recover.bring_back(git, repository, kept, recover.EVERYTHING, *ours)
    if another or not recover.reachable(git, recover.INDEX):
        git.ask("reset", "--quiet")
    git.ask("reflog", "expire", "--stale-fix", "--expire=never", "--expire-unreachable=never", "--all")
    return [f"{number} of git's objects were gone and have been put back", *notes] if number else notes


def _unread_commits(git: Git, expected: Expected) -> list[str]:
    """New commits of which something is gone that nobody has."""
    ref = f"refs/heads/{expected.branch}"
    named = git.ask("rev-parse", "--verify", "--quiet", ref).returncode == 0
    if not named or recover.reachable(git, ref, but=expected.good):
        return []
    put_back_branch(git, expected)
    return [f"new commits could not be read any more; {expected.branch} was set back to {expected.good[:10]}"]


def _refill(expected: Expected) -> None:
    vault.refill(expected.vault, expected.common, expected.branch, expected.good)


def put_back_branch(git: Git, expected: Expected) -> None:
    ref = f"refs/heads/{expected.branch}"
    (expected.common / ref).unlink(missing_ok=True)  # git refuses to write over what it cannot read
    git.run("update-ref", ref, expected.good)


def rebuild_missing_index(git: Git, expected: Expected) -> list[str]:
    """Without an index every file would seem deleted."""
    if (expected.git_dir / "index").exists():
        return []
    git.ask("reset", "--quiet")
    return ["git's index was gone and has been built anew"]


def _repository(git: Git, expected: Expected) -> list[str]:
    """The folder that holds objects and refs."""
    common = expected.common
    missing = [name for name in ("objects", "refs") if not (common / name).is_dir()]
    if not missing:
        return []
    if len(missing) == 1:
        for folder in ("objects", "refs/heads"):
            (common / folder).mkdir(parents=True, exist_ok=True)
        _refill(expected)
        return [f"{missing[0]} of the repository were gone and have been put back"]
    if os.path.lexists(common):  # what little is left of it stays beside it
        common.rename(common.with_name(f"{common.name}.damaged-{expected.n}"))
    if not vault.rebuild(expected.vault, common, expected.branch, expected.good):
        raise Beaten(f"the repository's {common} is gone", _by_hand(expected))
    return [f"the repository's {common.name} was gone; {ANEW} from what the runner had kept"]


def _pointers(git: Git, expected: Expected) -> list[str]:
    """A linked worktree: the file that leads to its part of the repository, and that part."""
    link, git_dir = Path(expected.repository.worktree, ".git"), expected.git_dir
    if git_dir == link:
        return []
    notes = []
    if not git_dir.is_dir() and git_dir.parent.name == "worktrees":
        git_dir.mkdir(parents=True)
        replace(git_dir / "commondir", b"../..\n")
        replace(git_dir / "gitdir", f"{link}\n".encode(errors="surrogateescape"))
        notes.append("what git knew of this worktree was gone and has been written anew")
    if not link.is_file() or not link.read_bytes().startswith(b"gitdir: "):
        if link.is_dir():
            link.rename(link.with_name(f".git.damaged-{expected.n}"))
        replace(link, f"gitdir: {git_dir}\n".encode(errors="surrogateescape"))
        notes.append("the file .git was damaged and has been written anew")
    return notes


def _configuration(git: Git, expected: Expected) -> list[str]:
    config = expected.common / "config"
    if config.exists() and git.ask("config", "--file", str(config), "--list").returncode == 0:
        return []
    return _put_back_configuration(expected)


def _put_back_configuration(expected: Expected) -> list[str]:
    config, kept = expected.common / "config", expected.vault / "of-repository" / "config"
    if not kept.exists() or (config.exists() and config.read_bytes() == kept.read_bytes()):
        return []
    if config.exists():
        config.rename(config.with_name("config.damaged"))
    shutil.copyfile(kept, config)
    return ["git's config has been put back as it was"]


def _head(git: Git, expected: Expected) -> list[str]:
    head = expected.git_dir / "HEAD"
    if _reads_as_head(head):
        return []
    replace(head, f"ref: refs/heads/{expected.branch}\n".encode())
    return ["git's HEAD was damaged and has been written anew"]


def _reads_as_head(head: Path) -> bool:
    try:
        text = (read(head, SMALL_FILE) or b"").decode().strip()
    except (Problem, UnicodeDecodeError):
        return False
    return text.startswith("ref: refs/") or is_commit(text)


def _branch(git: Git, expected: Expected) -> list[str]:
    ref = f"refs/heads/{expected.branch}"
    notes = bring_back_objects(git, expected, at_all=True)
    if not exists(git, expected.good):
        raise Beaten(f"finished work is no longer in {expected.common}", _by_hand(expected))
    if exists(git, ref):
        return notes
    put_back_branch(git, expected)
    return [*notes, f"the branch {expected.branch} was damaged and has been set to {expected.good[:10]}"]


def _index(git: Git, expected: Expected) -> list[str]:
    index = expected.git_dir / "index"
    if not index.exists() or git.ask("status", "--porcelain").returncode == 0:
        return rebuild_missing_index(git, expected)
    index.rename(index.with_name("index.damaged"))
    git.ask("reset", "--quiet")
    return ["git's index was damaged and has been built anew"]


REMEDIES: tuple[Callable[[Git, Expected], list[str]], ...] = (
    _repository, _pointers, _head, _configuration, _branch, _index,
)  # fmt: skip


def _by_hand(expected: Expected) -> str:
    return (
        f"the working files are as they were; finished work is commit {expected.good}."
        f" {expected.vault} is a repository that may hold it."
        f" Bring {expected.common} back from a backup or a clone, then run the same command"
    )
