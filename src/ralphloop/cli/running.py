"""ralph run: drive a run with an account of it on the terminal, or as JSON lines."""

import asyncio
import signal
import sys
from collections.abc import Callable
from typing import Any

import msgspec

from ralphloop import api
from ralphloop.api.preparing import Preflight, Prepared, Request
from ralphloop.api.running import PreflightFailed, Untrusted
from ralphloop.cli import preflight, trusting
from ralphloop.cli.account import Account, JsonLines
from ralphloop.cli.output import clean, refusal, say, silence, talk, wait_for_nobody
from ralphloop.cli.parse import Parsed
from ralphloop.cli.question import Question
from ralphloop.core.errors import NOT_DONE, SIGNALLED
from ralphloop.core.event import Event
from ralphloop.core.record import Record
from ralphloop.core.state import RunState

TICK = 0.5


def call(parsed: Parsed) -> int:
    options = parsed.options
    settings: dict[str, tuple[Any, str]] = dict(parsed.overrides)
    if settings.get("defaults.on_limit", ("ask", ""))[0] == "ask" and not sys.stdin.isatty():
        settings.setdefault("limits.ask_seconds", (0, "--on-limit"))
    request = Request(
        settings=settings,
        prompt=str(options.get("prompt", "")),
        reset_circuit=bool(options.get("reset-circuit")),
        skip_preflight=bool(options.get("skip-preflight")),
        trust=bool(options.get("trust")),
    )
    if options.get("monitor"):
        talk("warning: --monitor is ignored: there is no dashboard in this version; `ralph log -f` follows the run")
    if options.get("dry-run"):
        from ralphloop.cli import rehearsing

        return rehearsing.dry_run(
            api.prepare(request), as_json=bool(options.get("json")), skip_preflight=request.skip_preflight
        )
    account: Account | JsonLines = JsonLines() if options.get("json") else Account(verbose=bool(options.get("verbose")))
    wait_for_nobody()
    return _driven(request, account, as_json=bool(options.get("json")))


def _driven(request: Request, account: Account | JsonLines, *, as_json: bool) -> int:
    try:
        state = asyncio.run(_run(request, account))
    except PreflightFailed as failed:
        preflight.show(failed.found, sys.stderr if as_json else sys.stdout)
        if as_json:
            refusal(failed, findings=[msgspec.to_builtins(finding) for finding in failed.found.findings])
        return NOT_DONE
    except Untrusted as refused:
        if trusting.agreed(refused.distrust, as_json=as_json):
            return _driven(request, account, as_json=as_json)
        raise
    _heard(lambda: _close(account, state))
    return state.end.exit_code if state.end else NOT_DONE


def _close(account: Account | JsonLines, state: RunState) -> None:
    account.close(state)
    if isinstance(account, Account):
        say(f"see it again: ralph log {state.start.run}")


def _heard(saying: Callable[[], None]) -> None:
    """Whoever read the output has gone or has no room: the work goes on without them."""
    try:
        saying()
    except OSError as error:
        silence()
        talk(f"warning: nobody reads the output any more ({error.strerror}); the run goes on, `ralph log -f` shows it")


def _ready(prepared: Prepared, found: Preflight | None, *, verbose: bool) -> None:
    if prepared.taken.note:
        talk(f"warning: {clean(prepared.taken.note)}")
    preflight.warn(prepared.permissions if found is None else found.findings)
    if verbose:
        talk(f"withheld from the agent: {clean(', '.join(prepared.withheld)) or 'nothing'}")


async def _run(request: Request, account: Account | JsonLines) -> RunState:
    """Signals end the agent first, then the run; a lost terminal is a signal too."""
    loop = asyncio.get_running_loop()
    desks: list[Any] = []
    came: list[str] = []

    def signalled(name: str) -> None:
        came.append(name)
        for desk in desks:
            desk.interrupt(name)

    def opened(desk: Any) -> None:
        desks.append(desk)
        if came:
            desk.interrupt(came[0])

    for name in SIGNALLED:
        number = getattr(signal, name)
        if signal.getsignal(number) != signal.SIG_IGN:  # as nohup sets it
            loop.add_signal_handler(number, signalled, name)

    def hear(state: RunState | None, said: Record | Event) -> None:
        _heard(lambda: account.hear(state, said))

    def ready(prepared: Prepared, found: Preflight | None) -> None:
        _ready(prepared, found, verbose=isinstance(account, Account) and account.verbose)

    ticking = asyncio.create_task(_tick(account))
    try:
        return await api.run(request, hear=hear, asks=Question(account).ask, ready=ready, opened=opened, alone=True)
    finally:
        ticking.cancel()


async def _tick(account: Account | JsonLines) -> None:
    while True:
        await asyncio.sleep(TICK)
        _heard(account.tick)
