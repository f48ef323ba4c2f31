"""The one question a run asks: what to do at the usage limit. Silence means exit."""

import asyncio
import sys
import time

from ralphloop.cli.account import Account, JsonLines
from ralphloop.cli.output import talk
from ralphloop.core.current import clock
from ralphloop.core.duration import spoken
from ralphloop.core.state import RunState


class Question:
    """Asked at a terminal only."""

    def __init__(self, account: Account | JsonLines) -> None:
        self.account = account

    async def ask(self, state: RunState, seconds: float) -> str:
        if not (sys.stdin.isatty() and seconds):
            return "exit"
        until = time.monotonic() + seconds
        exits_at = time.time() + seconds
        if isinstance(self.account, Account):
            self.account.exits_at = exits_at
        talk(f"The account's usage limit is reached; {resets(state, time.time())}.")
        talk(f"[w]ait for it or [e]xit? (exit in {spoken(seconds)})")
        try:
            while (left := until - time.monotonic()) > 0:
                answer = await _line(left)
                if answer is None or answer.strip()[:1] == "e":
                    return "exit"
                if answer.strip()[:1] == "w":
                    return "wait"
                talk("w and Enter waits, e and Enter exits: which?")
            return "exit"
        finally:
            if isinstance(self.account, Account):
                self.account.exits_at = None
                self.account.screen.bottom("")


def resets(state: RunState, now: float) -> str:
    """Until when it holds, as far as somebody told."""
    moment = state.waiting.until if state.waiting is not None and state.waiting.why == "limit" else None
    if moment is None and state.verdict is not None:
        moment = state.verdict.resets_at
    if moment is None:
        again = spoken(state.policy.unknown_limit_wait)
        return f"nobody says when it resets, waiting tries again after {again}"
    return f"it resets at {clock(moment, now)}, in {spoken(max(0, moment - now))}"


async def _line(seconds: float) -> str | None:
    """What is typed; None when nothing is, or nothing can be."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[str] = loop.create_future()

    def read() -> None:
        if not answer.done():
            answer.set_result(sys.stdin.readline())

    loop.add_reader(sys.stdin, read)
    try:
        return (await asyncio.wait_for(answer, seconds)).lower() or None
    except TimeoutError:
        return None
    finally:
        loop.remove_reader(sys.stdin)
