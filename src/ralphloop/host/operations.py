"""What git was in the middle of: locks that were left, and merges, rebases and picks that were not finished."""

import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from ralphloop.host.git import Git, GitProblem

LOCK_PATIENCE = 1.0  # seconds for a git that is just ending
FOREIGN_PATIENCE = 10.0  # seconds for one that is somebody else's
CLOCK_STEP = 1.0  # seconds by which the times of files may lag behind the clock
MARKERS = {
    "rebase-merge": "rebase",
    "rebase-apply/applying": "am",
    "rebase-apply": "rebase",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "MERGE_HEAD": "merge",
    "sequencer": "cherry-pick",
    "BISECT_LOG": "bisect",
}


def unfinished(git_dir: str, since: float = 0) -> str:
    """The operation that a worktree is in the middle of, or nothing. Costs no process."""
    for marker, operation in MARKERS.items():
        try:
            if Path(git_dir, marker).lstat().st_mtime >= since:
                return operation
        except OSError:
            continue
    return ""


def named(operation: str) -> str:
    return f"an {operation}" if operation == "am" else f"a {operation}"


def way_out(operation: str) -> str:
    """What a person can do about it."""
    if operation == "bisect":
        return "`git bisect reset` ends it"
    return f"finish it, or `git {operation} --abort` takes it back"


def give_up(git: Git, operation: str) -> None:
    """End it as git would; when git refuses, only its state is dropped and the files stay as they are."""
    if operation == "bisect":
        git.ask("bisect", "reset")
        return
    if git.ask(operation, "--abort").returncode != 0:
        git.ask(operation, "--quit")
        git.ask("reset", "--quiet")


def unlock(git_dir: str, common_dir: str, branch: str, since: float = 0, worktree: str = "") -> list[str]:
    """Remove the locks that an agent, of which nothing lives any more, left behind.

    One that is older than `since`, or while somebody's git works in the worktree, is not the agent's to lose:
    it is waited for, and a problem names it when it stays.
    """
    notes = []
    for lock in _locks(git_dir, common_dir, branch):
        if not _goes_away(lock, LOCK_PATIENCE):
            if not _is_foreign(lock, since, worktree):
                lock.unlink(missing_ok=True)
                notes.append(f"git's {lock.name} was left behind and has been removed")
            elif not _goes_away(lock, FOREIGN_PATIENCE):
                raise GitProblem(
                    f"{lock} is there, and the agent did not make it: somebody else is at work here",
                    "end that git, a commit in an open editor perhaps; when there is none, remove the file",
                )
    return notes


def _goes_away(lock: Path, patience: float) -> bool:
    until = time.monotonic() + patience
    while lock.exists():
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


def _is_foreign(lock: Path, since: float, worktree: str) -> bool:
    try:
        made = lock.stat().st_mtime
    except FileNotFoundError:
        return False
    return made < since - CLOCK_STEP or bool(worktree and _git_at_work(worktree))


def _git_at_work(worktree: str) -> bool:
    """Whether a git lives that was started in this worktree, or went there."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (process / "comm").read_text().strip() == "git" and str((process / "cwd").readlink()) == worktree:
                return True
    return False


def _locks(git_dir: str, common_dir: str, branch: str) -> Iterable[Path]:
    here, common = Path(git_dir), Path(common_dir)
    yield from (here / "index.lock", here / "HEAD.lock")
    yield from (common / "packed-refs.lock", common / "config.lock", common / "shallow.lock")
    branch_ref = common / "refs" / "heads" / branch
    yield branch_ref.with_name(f"{branch_ref.name}.lock")
