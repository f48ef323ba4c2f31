"""One short function for each kind of Step, on this machine: each does it and emits what happened."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from msgspec.structs import replace

from ralphloop.core import lineup
from ralphloop.core import step as steps
from ralphloop.core.record import (
    Answered,
    Archived,
    Attempted,
    Checked,
    Inspected,
    Judged,
    Settled,
    Waiting,
)
from ralphloop.core.verdict import checks_wanted, judge
from ralphloop.engine import archive, begin, checks, reserving, session, sighting
from ralphloop.engine.desk import Desk
from ralphloop.host import vault

TICK = 0.25  # seconds between two looks for wishes while waiting
LONGEST_SLEEP = 30.0  # the clock may jump: a long wait is looked at again


async def reserve(desk: Desk, step: steps.Reserve) -> None:
    desk.emit(await desk.off(reserving.reserve, desk, desk.clock()))


async def begin_iteration(desk: Desk, step: steps.Begin) -> None:
    desk.emit(await desk.off(begin.begin, desk, step.n))


async def run_agent(desk: Desk, step: steps.RunAgent) -> None:
    attempt = await session.attempt(desk, step.n)
    if attempt.limited:
        since = desk.now.begun.at if desk.now.begun else desk.clock()
        free_at = lineup.opens_at(attempt.resets_at, desk.now.policy, since, desk.clock())
        await desk.off(desk.account(desk.now.agent).meet_wall, free_at)
    desk.emit(Attempted(desk.clock(), attempt))


async def inspect(desk: Desk, step: steps.Inspect) -> None:
    desk.emit(Inspected(desk.clock(), await desk.off(sighting.sight, desk)))


async def run_check(desk: Desk, step: steps.RunCheck) -> None:
    check = await checks.run(desk, step.rule)
    if desk.stop.is_set():
        return
    if moved := await desk.off(sighting.after_check, desk):
        check = replace(check, ok=False, said=moved)
    desk.emit(Checked(desk.clock(), check))


async def judge_attempt(desk: Desk, step: steps.Judge) -> None:
    case = steps.case_of(desk.now)
    case = replace(case, unchecked=len(case.checks) < len(checks_wanted(case)))
    desk.emit(Judged(desk.clock(), judge(case)))


async def settle(desk: Desk, step: steps.Settle) -> None:
    desk.emit(await desk.off(_settled, desk))


def _settled(desk: Desk) -> Settled:
    """Write the marks that hold; doing it twice writes the same."""
    state = desk.now
    verdict = state.verdict
    if state.sight is not None and state.sight.stuck:
        reserving.settle(desk)
        return Settled(desk.clock(), state.source, state.total, state.done)
    content, plan, notes = begin.sound_source(desk)
    if verdict is not None:
        marks = dict.fromkeys(verdict.counted, True) | dict.fromkeys(verdict.taken_back, False)
        marks = {story: mark for story, mark in marks.items() if story in plan.ids}
        marked = desk.source.settle(content, marks) if marks else content
        if marked != content:
            desk.write_source(marked)
            content, plan = marked, desk.source.take(marked)
        if verdict.counted and state.sight is not None:
            vault.keep(desk.git, desk.repository, desk.home, state.start.branch, state.sight.head, desk.refs)
    reserving.settle(desk)
    return Settled(desk.clock(), desk.keep_source(content), len(plan.stories), len(plan.marked), notes)


async def ask(desk: Desk, step: steps.Ask) -> None:
    """Until there is an answer, or somebody wishes something that comes before it."""
    asking = asyncio.ensure_future(desk.asks(desk.now, step.seconds))
    try:
        while not asking.done() and not desk.now.stop:
            await asyncio.wait((asking,), timeout=TICK)
            desk.take_wishes()
    finally:
        asking.cancel()
    if not desk.now.stop:
        desk.emit(Answered(desk.clock(), "wait" if asking.result() == "wait" else "exit"))


async def wait(desk: Desk, step: steps.Wait) -> None:
    """Until the moment has come or somebody wishes something; the clock is asked again and again."""
    known = desk.now.waiting
    if step.why == "limit" and step.until is not None and (known is None or known.until != step.until):
        desk.emit(Waiting(desk.clock(), "limit", step.until))  # written down, so that everybody sees until when
        return
    desk.stirred.clear()
    until = step.until
    looked = desk.clock()
    while not desk.stirred.is_set():
        now = desk.clock()
        left = LONGEST_SLEEP if until is None else until - now
        if left <= 0 or now < looked - 1:
            return
        looked = now
        await _doze(desk, min(left, TICK))
        desk.take_wishes()


async def _doze(desk: Desk, seconds: float) -> None:
    """Sleep, unless a signal comes."""
    dream = asyncio.ensure_future(desk.sleep(seconds))
    call = asyncio.ensure_future(desk.stirred.wait())
    try:
        await asyncio.wait((dream, call), return_when=asyncio.FIRST_COMPLETED)
    finally:
        dream.cancel()
        call.cancel()


async def choose_archive(desk: Desk, step: steps.Archive) -> None:
    start = desk.now.start
    desk.emit(Archived(desk.clock(), archive.name_for(start.worktree, start.feature, desk.clock())))


async def end(desk: Desk, step: steps.End) -> None:
    state = desk.now
    if state.complete and state.archive:
        await desk.off(archive.move, state.start.worktree, state.start.feature, state.archive)
    ended = step.ended
    if ended.status == "done" and (left := await desk.off(sighting.uncommitted, desk)):
        ended = replace(ended, advice=f"not committed, and no part of what was proven: {left}")
    desk.emit(ended)


Performing = Callable[[Desk, Any], Awaitable[None]]
PERFORM: dict[type, Performing] = {
    steps.Reserve: reserve,
    steps.Begin: begin_iteration,
    steps.RunAgent: run_agent,
    steps.Inspect: inspect,
    steps.RunCheck: run_check,
    steps.Judge: judge_attempt,
    steps.Settle: settle,
    steps.Ask: ask,
    steps.Wait: wait,
    steps.Archive: choose_archive,
    steps.End: end,
}


async def perform(desk: Desk, step: steps.Step) -> None:
    await PERFORM[type(step)](desk, step)
