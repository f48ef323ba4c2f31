"""A finished feature's folder moves, whole, to the archive beside it."""

import os
import shutil
import time
from contextlib import suppress
from pathlib import Path

from ralphloop.host.files import complaint
from ralphloop.host.places import inside

VIEWS = ("status.json",)


def name_for(worktree: str, feature: str, now: float) -> str:
    """A path in the worktree that nothing has yet."""
    stamp = time.strftime("%Y%m%d-%H%M%S", time.localtime(now))
    base = f".ralph/archive/{stamp}-{feature}"
    path, number = base, 1
    while os.path.lexists(Path(worktree, path)):
        number += 1
        path = f"{base}-{number}"
    return path


def move(worktree: str, feature: str, archive: str) -> None:
    """Move the folder there; when it has been moved already, nothing is left to do."""
    source = Path(worktree, ".ralph", feature)
    target = inside(worktree, Path(worktree, archive))
    if not source.is_dir() or os.path.lexists(target):
        return
    inside(worktree, source)
    for name in VIEWS:
        (source / name).unlink(missing_ok=True)
    _keep_logs(source / "logs")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        source.rename(target)
    except OSError as error:
        raise complaint(error, "archive the feature") from error


def _keep_logs(logs: Path) -> None:
    """The logs shown here lie with the run; the archive gets them as files of its own."""
    if not logs.is_dir():
        return
    for link in list(logs.iterdir()):
        if link.is_symlink() and link.is_file():
            with suppress(OSError):  # then the link stays, and the log stays with the run
                _make_own(link.readlink(), link)


def _make_own(log: Path, link: Path) -> None:
    """A file instead of a link, at one blow; where RALPH_HOME is on another disk, a copy."""
    temporary = link.with_name(f".{link.name}.tmp")
    temporary.unlink(missing_ok=True)
    try:
        try:
            os.link(log, temporary)
        except OSError:
            shutil.copy2(log, temporary)
        temporary.replace(link)
    finally:
        temporary.unlink(missing_ok=True)
