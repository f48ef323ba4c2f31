"""Which step a run is at, and since when: what every live line and every status is drawn from."""

from datetime import datetime

from msgspec import Struct

from ralphloop.core import step as steps
from ralphloop.core.state import RunState
from ralphloop.core.wording import going_on, labelled


class Current(Struct, frozen=True):
    """`step` is agent, check, look, ready, pause, paused, rate, limit, held, trouble, budget, ask; empty at the end."""

    step: str = ""
    name: str = ""
    since: float | None = None
    allowed: float | None = None  # seconds the step may take
    until: float | None = None

    def said(self, now: float, details: tuple[str, ...] = ()) -> str:
        return going_on(
            self.step,
            self.name,
            now=now,
            since=self.since,
            allowed=self.allowed,
            until=self.until,
            clock=clock,
            details=details,
        )


def current(state: RunState, now: float, since: float | None = None) -> Current:
    """What is being done; `since` is when the last step was through, by default the time of the last record."""
    if state.end is not None:
        return Current()
    since = state.last_at if since is None else since
    match steps.decide(state, now):
        case steps.RunAgent():
            begun = state.begun.at if state.begun else since
            return Current("agent", state.story, begun, allowed_seconds(state))
        case steps.RunCheck(rule=rule):
            return Current("check", rule.name, since, rule.timeout)
        case steps.Wait(until=until, why=why):
            return Current("pause" if why == "pause between iterations" else why, until=until)
        case steps.Ask(seconds=seconds):
            return Current("ask", until=since + seconds)
        case steps.Reserve() | steps.Begin():
            return Current("ready")
        case steps.Inspect() | steps.Judge() | steps.Settle():
            return Current("look")
        case _:
            return Current()


def allowed_seconds(state: RunState) -> float:
    """How long the attempt at hand may take."""
    reserved = state.reserved.allowed if state.reserved else None
    return min(state.policy.timeout, reserved.seconds) if reserved and reserved.seconds else state.policy.timeout


def story_at_hand(state: RunState) -> str:
    return labelled(state.story, state.begun.title if state.begun else "")


def clock(at: float, now: float) -> str:
    """The time of day here; with the day when that is another one."""
    then = datetime.fromtimestamp(at)
    return then.strftime("%H:%M" if then.date() == datetime.fromtimestamp(now).date() else "%a %H:%M")
