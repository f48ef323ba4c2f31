"""Start a run, or go on with one, and stay with it until it has ended."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from msgspec.structs import replace

from ralphloop.api.metering import Meter
from ralphloop.api.preparing import Preflight as Preflight
from ralphloop.api.preparing import Prepared as Prepared
from ralphloop.api.preparing import Request as Request
from ralphloop.api.preparing import prepare as prepare
from ralphloop.api.trusting import Untrusted as Untrusted
from ralphloop.core.errors import Problem
from ralphloop.core.state import RunState
from ralphloop.engine import opening
from ralphloop.engine.desk import Asks, Desk, Hear, deaf, exits
from ralphloop.engine.loop import drive
from ralphloop.host.family import ALONE
from ralphloop.host.places import Home


class PreflightFailed(Problem):
    def __init__(self, found: Preflight) -> None:
        super().__init__("preflight failed", "`ralph validate` shows the same list again")
        self.found = found


async def run(
    request: Request,
    *,
    hear: Hear = deaf,
    asks: Asks = exits,
    ready: Callable[[Prepared, Preflight | None], None] | None = None,
    opened: Callable[[Desk], None] | None = None,
    alone: bool = False,
    clock: Callable[[], float] = time.time,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> RunState:
    """Drive a run to its end. `hear` gets every record and event; `opened` the run once it is in hand.

    `alone` says that nothing else in this process starts processes: then whoever loses its parent is the agent's.
    `ready` is told what will be run and what its preflight found (None when there was none), before anything is.
    """
    if alone:
        ALONE.set()
    revived = opening.revive(Home.usual(), Path(request.folder).resolve())
    prepared = prepare(request)
    prepared.home.writable()
    alive = opening.last_alive(prepared.home, prepared.taken)
    locks = opening.lock(prepared.home, prepared.repository.worktree, prepared.feature)
    desk: Desk | None = None
    try:
        note = opening.mend_rules(prepared.taken, alive)
        prepared = prepare(request)  # look, lock, look again
        if word := "; ".join(one for one in (revived, note) if one):
            prepared = replace(prepared, taken=replace(prepared.taken, note=word))
        found = None if request.skip_preflight or prepared.taken.in_the_middle else prepared.preflight()
        if found is not None and not found.ok:
            raise PreflightFailed(found)
        if not request.trust and (distrust := prepared.distrust).missing:
            raise Untrusted(distrust)
        if ready is not None:
            ready(prepared, found)
        desk = await opening.open_run(_order(prepared, request), locks, prepared.taken, hear)
        desk.asks, desk.clock, desk.sleep = asks, clock, sleep
        if opened is not None:
            opened(desk)
        return await drive(desk)
    finally:
        if desk is not None:
            desk.close()
        else:
            for lock in locks:
                lock.close()


def _order(prepared: Prepared, request: Request) -> opening.Order:
    return opening.Order(
        home=prepared.home,
        repository=prepared.repository,
        feature=prepared.feature,
        source=prepared.source,
        agents=tuple(prepared.agents),
        agent_named=prepared.agent_named,
        meter=Meter(prepared.config, prepared.repository.worktree),
        policy=prepared.policy,
        template=prepared.template,
        reset_breakers=request.reset_circuit,
    )
