"""drive(): decide, perform, write down, until the run has ended."""

import asyncio
from contextlib import suppress

from ralphloop.core.errors import SIGNALLED, Problem
from ralphloop.core.record import Ended
from ralphloop.core.state import RunState
from ralphloop.core.step import decide
from ralphloop.engine.desk import Desk
from ralphloop.engine.perform import perform


async def drive(desk: Desk) -> RunState:
    """Expected trouble ends the run in its journal; when even that cannot be written, it is raised."""
    try:
        while desk.now.active:
            desk.take_wishes()
            await perform(desk, decide(desk.now, desk.clock()))
            await asyncio.sleep(0)  # signals come in, whatever the steps are
    except (Problem, OSError) as trouble:
        _give_up(desk, trouble)
    return desk.now


def _give_up(desk: Desk, trouble: Problem | OSError) -> None:
    message = trouble.message if isinstance(trouble, Problem) else f"the system refused: {trouble}"
    hint = trouble.hint if isinstance(trouble, Problem) else ""
    code = trouble.exit_code if isinstance(trouble, Problem) else Problem.exit_code
    with suppress(Problem, OSError):
        desk.take_wishes()
    if desk.now.stop in SIGNALLED:  # what was given up had to be, for it did not end when it was asked to
        code, message = SIGNALLED[desk.now.stop], f"stopped by {desk.now.stop}: {message}"
    try:
        desk.emit(Ended(desk.clock(), "stopped", code, message, hint or "`ralph run` goes on where this stopped"))
    except Problem:
        raise trouble from None
