"""The project's config.yaml while a run goes on: what an agent writes into it must not become the rules."""

import os
from pathlib import Path

from ralphloop.core.errors import Problem
from ralphloop.core.record import Begun
from ralphloop.host import files
from ralphloop.host.places import RunFolder, inside, make_way

CONFIG = ".ralph/config.yaml"
LARGEST = 1 << 20


def keep(folder: RunFolder, worktree: str) -> str:
    """The digest under which the file is held; empty when there is none."""
    content = _read(worktree)
    return folder.keep_source(content) if content is not None else ""


def put_back(folder: RunFolder, begun: Begun, worktree: str) -> str:
    """As it was when the iteration began. What it became is kept with the run, and said."""
    path = Path(worktree, CONFIG)
    if os.path.lexists(path) and not (path.is_file() and not path.is_symlink()):
        make_way(worktree, path, whatever=True)  # a folder, a link or a pipe holds no rules
    now = _read(worktree)
    before = folder.kept_source(begun.config) if begun.config else None
    if now == before or (begun.config and before is None):
        return ""
    aside = folder.path / f"changed-config-{begun.n}.yaml"
    if now is not None:
        files.replace(aside, now)
    if before is None:
        path.unlink(missing_ok=True)
    else:
        files.replace(inside(worktree, path), before)
    what = "made" if before is None else "deleted" if now is None else "changed"
    kept = f"; what was written there is {aside}" if now is not None else ""
    return (
        f"{CONFIG} was {what} while iteration {begun.n} went on, and is as it was before{kept}."
        " Rules are changed between runs"
    )


def _read(worktree: str) -> bytes | None:
    try:
        return files.read(inside(worktree, Path(worktree, CONFIG)), LARGEST)
    except Problem:
        return None
