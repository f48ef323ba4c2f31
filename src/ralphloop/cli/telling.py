"""ralph log: the account of a run, told anew or as it goes on."""

import sys
import time

from ralphloop.api import looking, retelling
from ralphloop.cli.account import Account, JsonLines
from ralphloop.cli.output import talk
from ralphloop.cli.parse import Parsed
from ralphloop.core.errors import DONE, Problem, UsageProblem
from ralphloop.core.event import Event
from ralphloop.core.record import Begun, Record, Started
from ralphloop.core.state import RunState

LOOK = 0.3  # seconds between two looks for the first run
CHUNK = 1 << 16


def call(parsed: Parsed) -> int:
    options = parsed.options
    run = parsed.arguments[0] if parsed.arguments else ""
    number = int(options["iteration"]) if "iteration" in options else 0
    if run.isdecimal() and len(run) < 4:
        raise UsageProblem(f'"{run}" is no name of a run', f"`ralph log -n {run}` shows iteration {run}")
    if options.get("raw"):
        return _raw(run, number)
    verbose = bool(number or options.get("verbose"))
    teller = Teller(JsonLines() if options.get("json") else Account(verbose=verbose, stamped=True))
    if options.get("follow"):
        _follow(run, number, teller)
    else:
        retelling.retell(run, ".", teller.hear, iteration=number)
    if teller.state is not None and teller.state.end is not None and not number:
        teller.account.close(teller.state)
    return DONE


class Teller:
    """Hears what happened and passes it on; knows how the run stands."""

    def __init__(self, account: Account | JsonLines) -> None:
        self.account = account
        self.state: RunState | None = None

    def hear(self, state: RunState, said: Record | Event) -> None:
        self.state = state
        self.account.hear(state, said)


def _follow(run: str, number: int, teller: Teller) -> None:
    if not run:
        _wait_for_the_first()
    try:
        retelling.follow(run, ".", teller.hear, iteration=number, beat=teller.account.tick)
    finally:
        if isinstance(teller.account, Account):
            teller.account.screen.bottom("")


def _wait_for_the_first() -> None:
    waiting = False
    while True:
        try:
            looking.find_run()
        except looking.NoRunYet as problem:
            if not waiting:
                talk(f"{problem.message}: waiting for the first one (Ctrl-C ends this)")
            waiting = True
            time.sleep(LOOK)
        else:
            return


def _raw(run: str, number: int) -> int:
    n = number or _last_iteration(run)
    with looking.output_of(run, ".", n).open("rb") as stream:
        while content := stream.read(CHUNK):
            sys.stdout.buffer.write(content)
            sys.stdout.buffer.flush()
    return DONE


def _last_iteration(run: str) -> int:
    numbers = [record.n for record in looking.history(run) if isinstance(record, Begun)]
    if not numbers:
        started = next((record.run for record in looking.history(run) if isinstance(record, Started)), run)
        raise Problem(f"run {started} has no iteration yet", "`ralph status` shows how it stands")
    return numbers[-1]
