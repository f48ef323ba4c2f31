"""Ask something of a run, put a finished feature away, or go back to before an iteration."""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

from ralphloop.api.looking import find_run, standing
from ralphloop.core import wording
from ralphloop.core.errors import BusyProblem, Problem
from ralphloop.core.state import evolve, replay
from ralphloop.core.story import Plan
from ralphloop.engine import archive as archiving
from ralphloop.engine import opening
from ralphloop.engine import undo as undoing
from ralphloop.engine.publish import publish
from ralphloop.host import git, glance, operations, wishes
from ralphloop.host.git import Repository
from ralphloop.host.journal import Journal, read
from ralphloop.host.places import Home, RunFolder, inside
from ralphloop.sources import table as sources

GRACE = 5.0  # seconds for an agent that a dead runner left
ASLEEP = {
    "stop": "nothing is running",
    "stop_now": "nothing is running",
    "pause": "nothing is running that could pause",
    "resume": "nothing is running that could go on",
}


class Asked(Struct, frozen=True):
    run: str
    alive: bool


def ask(wish: wishes.Kind, text: str = "", run: str = "", folder: str = ".") -> Asked:
    """Leave a wish. Words for the agent wait for a run that sleeps; anything else needs one that is awake."""
    place = find_run(run, folder)
    now = standing(place)
    if not now.alive and wish != "tell":
        over = now.row.exit_code is not None and now.row.detail not in ("stopped", "signal", "api_limit")
        hint = "`ralph run` starts a new one" if over else "`ralph run` goes on with it"
        row = msgspec.structs.asdict(now.row)
        raise Problem(f"{ASLEEP[wish]} in {now.row.worktree} (run {place.name}: {wording.standing(row, False)})", hint)
    if wish == "tell" and not text.strip():
        raise Problem("there is nothing to tell", 'write it behind: ralph tell "use the new API"')
    if (
        wish == "tell"
        and not now.alive
        and now.row.exit_code is not None
        and now.row.detail not in ("stopped", "signal", "api_limit")
    ):
        raise Problem(
            f"run {place.name} has ended ({now.row.why}); nobody will hear it", "`ralph run` starts a new one"
        )
    wishes.leave(place.asked, wishes.Wish(wish, text.strip()))
    return Asked(place.name, now.alive)


class Archiving(Struct, frozen=True):
    feature: str
    stories_complete: int
    stories_total: int
    worktree: str
    archive: str = ""


def plan_archive(folder: str = ".") -> Archiving:
    """What would be put away."""
    from ralphloop.api.preparing import Request, prepare

    prepared = prepare(Request(folder))
    worktree = prepared.repository.worktree
    if not inside(worktree, Path(worktree, ".ralph", prepared.feature)).is_dir():
        raise Problem(f"there is no .ralph/{prepared.feature} to archive")
    plan = prepared.plan()
    done, total = (len(plan.marked), len(plan.stories)) if plan else (0, 0)
    return Archiving(prepared.feature, done, total, worktree)


def archive(planned: Archiving) -> Archiving:
    with _held(planned.worktree, planned.feature):
        target = archiving.name_for(planned.worktree, planned.feature, time.time())
        archiving.move(planned.worktree, planned.feature, target)
    return Archiving(planned.feature, planned.stories_complete, planned.stories_total, planned.worktree, target)


def plan_undo(iteration: int | None = None, run: str = "", folder: str = ".", *, back: bool = False) -> undoing.Undoing:
    """What going back to before an iteration would change; without a number, before the last one.

    With `back`: what taking back the last undo would change.
    """
    place, repository = _of_run(run, folder)
    if (pid := glance.runner_lives(str(Home.usual().root), repository.worktree)) is not None:
        raise BusyProblem(f"Loop already running in {repository.worktree} (PID {pid})", "`ralph stop` ends it first")
    return undoing.plan(repository, place, list(read(place.journal)), iteration, back=back)


def undo(planned: undoing.Undoing, folder: str = ".") -> undoing.Undoing:
    """Keep how it stands, write down what is about to happen, then do it."""
    place, repository = _of_run(planned.run, folder)
    with _held(repository.worktree, planned.feature):
        now = undoing.plan(
            repository, place, list(read(place.journal)), planned.before or None, back=not planned.before
        )
        if (now.head, now.tree, now.dropped, now.returning) != (
            planned.head, planned.tree, planned.dropped, planned.returning
        ):  # fmt: skip
            raise Problem("the run or the branch has changed since this was planned", "look at `ralph undo` again")
        operations.unlock(repository.git_dir, repository.common_dir, repository.branch, 0, repository.worktree)
        kept, record = undoing.keep(repository, place, planned, _stories_of(planned.source_file))
        journal = Journal(place.journal)
        try:
            state = evolve(replay(read(place.journal)), record)
            journal.append(record)
        finally:
            journal.close()
        undoing.undo(repository, place, kept)
        publish(Home.usual(), place, state, record, record.at)
    return kept


def _stories_of(file: str) -> Callable[[bytes], Plan]:
    """Reads what a file held; nothing, when that cannot be read."""
    source = sources.named("prd" if file.endswith(".json") else "tasks", file)

    def take(content: bytes) -> Plan:
        try:
            return source.take(content)
        except Problem:
            return Plan(())

    return take


@contextmanager
def _held(worktree: str, feature: str) -> Iterator[None]:
    """Nobody else works in the worktree: no runner, and no agent that a dead one left."""
    home = Home.usual()
    locks = opening.lock(home, worktree, feature)
    try:
        asyncio.run(opening.clear(locks, opening.unfinished(home, worktree), GRACE))
        yield
    finally:
        for lock in locks:
            lock.close()


def _of_run(run: str, folder: str) -> tuple[RunFolder, Repository]:
    place = find_run(run, folder)
    return place, git.find(standing(place).row.worktree)
