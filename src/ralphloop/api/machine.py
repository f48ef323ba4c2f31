"""What a run needs of the machine: git, room, a clock, a sandbox, and nothing left over from runs that died."""

import asyncio
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import ralphloop
from ralphloop.api.looking import standing
from ralphloop.core.errors import Problem
from ralphloop.core.ports import Command, Finding
from ralphloop.engine import probe
from ralphloop.host import operations, remains, sandbox
from ralphloop.host.census import has_proc
from ralphloop.host.git import Git, Repository, feature_of, look
from ralphloop.host.places import Home
from ralphloop.host.process import Bounds

OLDEST_GIT = (2, 30)
LITTLE, TOO_LITTLE = 2 << 30, 200 << 20  # bytes
PATIENCE = Bounds(timeout=5, silence=None, kill_grace=1, result_grace=1, output_limit=1 << 20)
CLOCK_SLACK = 60.0
SHOWN = 5


def git_itself(folder: str) -> Iterator[Finding]:
    git = Git(folder, pinned=False)
    said = git.ask("version").stdout.decode(errors="replace").strip()
    numbers = re.search(r"(\d+)\.(\d+)", said)
    if numbers and (int(numbers[1]), int(numbers[2])) < OLDEST_GIT:
        yield Finding("error", f"{said} is too old", advice=("Install git 2.30 or newer.",))
    else:
        yield Finding("ok", said)
    wanting = [name for name in ("name", "email") if not _identity(git, name)]
    if wanting:
        yield Finding(
            "error",
            f"git does not know your {' and '.join(wanting)}: an agent cannot commit",
            advice=tuple(f'git config --global user.{name} "YOUR {name.upper()}"' for name in wanting),
        )
    else:
        yield Finding("ok", f"commits as {_identity(git, 'name')} <{_identity(git, 'email')}>")


def _identity(git: Git, name: str) -> str:
    given = os.environ.get(f"GIT_AUTHOR_{name.upper()}") or os.environ.get("EMAIL" if name == "email" else "", "")
    return given or git.ask("config", f"user.{name}").stdout.decode(errors="replace").strip()


def repository(found: Repository) -> Iterator[Finding]:
    if not found.branch:
        yield Finding("error", "HEAD is detached", advice=("`git switch -c my-feature` makes a branch here.",))
        return
    if not found.head:
        advice = ("The runner needs a point to come back to: `git commit --allow-empty -m start`",)
        yield Finding("error", f"branch {found.branch} has no commit yet", advice=advice)
        return
    if operation := operations.unfinished(found.git_dir):
        advice = (f"Finish it, or `git {operation} --abort`: what it left would be taken for the agent's work.",)
        yield Finding("error", f"in the middle of a {operation}", advice=advice)
    folder = f".ralph/{feature_of(found.branch)}/"
    yield Finding("ok", f"{found.worktree}, branch {found.branch}, feature folder {folder}")
    dirty = look(Git(found.worktree)).dirty
    if dirty:
        what = "1 path is" if dirty == 1 else f"{dirty} paths are"
        advice = ("Commit it, or leave it: a snapshot keeps it, but an agent that runs `git add -A` commits it.",)
        yield Finding("warning", f"{what} not committed", advice=advice)


def tool(name: str, option: str, use: str) -> Finding:
    """A program that is good to have; one that hangs is not waited for."""
    if shutil.which(name) is None:
        return Finding("warning", "not installed", advice=(use,))
    with tempfile.TemporaryDirectory(prefix="ralph-tool-", ignore_cleanup_errors=True) as folder:
        command = Command((name, option), prompt_as_file=True)
        ended, said = asyncio.run(probe.answer_of(command, Path(folder), PATIENCE))
    if ended.end not in ("natural", "lingered"):
        why = ended.problem or f"it came to no end ({ended.end})"
        return Finding("warning", f"cannot be asked for its version: {why}", advice=(use,))
    lines = said.strip().splitlines()
    return Finding("ok", lines[0][:80] if lines else "installed")


def disk(home: Home, worktree: str) -> Iterator[Finding]:
    places = {"runs": home.root, **({"repository": Path(worktree)} if worktree else {})}
    for what, path in places.items():
        there = next(one for one in (path, *path.parents) if one.exists())
        free = shutil.disk_usage(there).free
        room = f"{what}: {free / (1 << 30):.1f} GB free in {path}"
        if not os.access(there, os.W_OK | os.X_OK):
            advice = ("RALPH_HOME names another place for runs.",) if what == "runs" else ("Look at its owner.",)
            yield Finding("error", f"{what}: {there} cannot be written", advice=advice)
        elif free < TOO_LITTLE:
            yield Finding("error", room, advice=("Make room: a run that cannot write its journal stops.",))
        elif free < LITTLE:
            yield Finding("warning", room, advice=("A night of an agent's output and builds may need more.",))
        else:
            yield Finding("ok", room)


def surroundings() -> Finding:
    """Whether what an agent breaks is the user's own machine."""
    signs = sandbox.signs()
    if signs:
        return Finding("ok", "; ".join(signs))
    return Finding("ok", f"none found: an agent works on your own machine (looked for: {sandbox.LOOKED_FOR})")


def clock(home: Home) -> Finding:
    """Limits are waited for until a time of day: a clock that is behind the files it has written is wrong."""
    now = time.time()
    told = time.strftime("%Y-%m-%d %H:%M %Z", time.localtime(now))
    newest = [Path(ralphloop.__file__), *(run.journal for run in list(home.runs())[:SHOWN])]
    behind = max(path.stat().st_mtime for path in newest) - now
    if behind > CLOCK_SLACK:
        advice = ("Set it: the hour's calls and the reset of a usage limit are reckoned by it.",)
        return Finding("error", f"{told} is before files that are already written ({behind:.0f} s)", advice=advice)
    return Finding("ok", told)


def leftovers(home: Home) -> Iterator[Finding]:
    """What runs that nobody drives any more have left going: it may spend money."""
    if not has_proc():
        yield Finding("ok", "this system does not show them")
        return
    alive: dict[str, bool] = {}
    dead = []
    for one in remains.marked():
        folder = home.run(one.run)
        if one.run not in alive:
            alive[one.run] = not folder.journal.exists() or _driven(home, one.run)
        if not alive[one.run]:
            dead.append(one)
    if not dead:
        yield Finding("ok", "no process of a run that died")
    for one in dead[: SHOWN * 4]:
        advice = (f"`ralph run` in the run's worktree ends it; or `kill {one.pid}`",)
        yield Finding("error", f"process {one.pid} of run {one.run} still goes on: {one.command}", advice=advice)


def _driven(home: Home, run: str) -> bool:
    try:
        return standing(home.run(run)).alive
    except Problem:
        return False
