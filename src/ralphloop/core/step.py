"""What comes next: `decide` is the one place where limits, wishes and the order of an iteration are looked at."""

from typing import Literal

from msgspec import Struct

from ralphloop.core.duration import spoken
from ralphloop.core.errors import DONE, LIMITED, NOT_DONE, SIGNALLED
from ralphloop.core.policy import CheckRule
from ralphloop.core.record import Ended
from ralphloop.core.state import RunState
from ralphloop.core.verdict import Case, checks_wanted
from ralphloop.core.wording import counted


class Reserve(Struct, frozen=True, tag=True):
    """Take one call of the account's hour, or learn when there is one."""


class Begin(Struct, frozen=True, tag=True):
    n: int


class RunAgent(Struct, frozen=True, tag=True):
    n: int


class Inspect(Struct, frozen=True, tag=True):
    """Repair, then look at the repository and the source."""


class RunCheck(Struct, frozen=True, tag=True):
    rule: CheckRule


class Judge(Struct, frozen=True, tag=True):
    """Say what the attempt is worth."""


class Settle(Struct, frozen=True, tag=True):
    """Write the marks that hold."""


class Ask(Struct, frozen=True, tag=True):
    """Ask the user at the terminal whether to wait for the usage limit."""

    seconds: float


class Wait(Struct, frozen=True, tag=True):
    """Until a moment, or a wish; `until` None is for as long as it takes."""

    until: float | None
    why: Literal["pause between iterations", "paused", "rate", "limit"]


class Archive(Struct, frozen=True, tag=True):
    """Choose where the finished feature goes."""


class End(Struct, frozen=True, tag=True):
    ended: Ended


Step = Reserve | Begin | RunAgent | Inspect | RunCheck | Judge | Settle | Ask | Wait | Archive | End


LONGEST_LIMIT = 8 * 24 * 3600  # seconds; the longest limits are those of a week


def decide(state: RunState, now: float) -> Step:
    """The next step of this run, from what is known and the time alone."""
    match state.phase:
        case "reserved":
            return _ending(state, now) or Begin(state.n + 1)
        case "begun":
            return RunAgent(state.n)
        case "attempted":
            return Inspect()
        case "inspected":
            return _next_check(state) or Judge()
        case "judged":
            return Settle()
        case _:
            return _between(state, now)


def _next_check(state: RunState) -> RunCheck | None:
    if state.sight is None or state.stop_now:
        return None
    through = {check.name for check in state.checks}
    return next((RunCheck(rule) for rule in checks_wanted(case_of(state)) if rule.name not in through), None)


def case_of(state: RunState) -> Case:
    """What is to be judged, as far as it is known."""
    if state.sight is None:
        raise AssertionError("judged before it was looked at")
    return Case(
        policy=state.policy,
        attempt=state.attempt,
        sight=state.sight,
        story=state.story,
        checks=state.checks,
        uncounted_work=state.uncounted_work,
        promised=state.promised,
    )


def _between(state: RunState, now: float) -> Step:
    if state.complete:
        if state.policy.archive and not state.archive:
            return Archive()
        return End(Ended(now, "done", DONE, _why_done(state)))
    ending = _ending(state, now)
    if ending is not None:
        return ending
    if state.paused:
        return Wait(None, "paused")
    if state.limited:
        return _at_the_wall(state, now)
    if state.waiting is not None and state.waiting.at <= now < state.waiting.until:
        return Wait(state.waiting.until, "rate")
    if state.attempt is not None and now < state.settled_at + state.policy.pause:
        return Wait(min(state.settled_at, now) + state.policy.pause, "pause between iterations")
    return Reserve()


def _why_done(state: RunState) -> str:
    if not state.total:
        return "the agent's promise holds: every check is green"
    claimed = len(set(state.verdict.counted) - set(state.sight.change.marked)) if state.verdict and state.sight else 0
    still_open = (state.sight.open if state.sight else 0) - claimed
    if still_open > 0:
        return f"the agent's promise was trusted; {still_open} of {state.total} stories are still open"
    by_hand = state.total - state.done
    return "every story is finished and proven" + (f"; {by_hand} left for a person to do" if by_hand > 0 else "")


def _ending(state: RunState, now: float) -> End | None:
    """Every reason to end before another call is spent."""
    policy = state.policy
    if state.stop:
        code = SIGNALLED.get(state.stop, NOT_DONE)
        why = f"stopped by {state.stop}" if state.stop in SIGNALLED else "stopped at the user's wish"
        return End(Ended(now, "stopped", code, why, "`ralph run` goes on where this stopped"))
    if state.sight is not None and state.sight.stuck:
        return End(Ended(now, "stopped", NOT_DONE, state.sight.stuck, state.sight.advice))
    threshold = policy.no_progress_threshold
    if threshold and state.no_progress >= threshold:
        why = f"circuit breaker: no story was finished in {counted(state.no_progress, 'iteration')}"
        advice = "see `ralph log`; then make the story smaller or the checks clearer"
        if state.same_error >= threshold:
            why += f", each with the same error: {state.last_error[:200]}"
            advice = "see `ralph log`; mend what the error speaks of, then `ralph run`"
        return End(Ended(now, "stalled", NOT_DONE, why, advice))
    threshold = policy.same_error_threshold
    if threshold and state.same_error >= threshold:
        why = f"circuit breaker: the same error in {counted(state.same_error, 'iteration')}: {state.last_error[:200]}"
        return End(Ended(now, "stalled", NOT_DONE, why, "see `ralph log`"))
    if state.n >= state.most:
        why = f"max iterations reached ({state.most}) with {state.done} of {state.total} stories finished"
        return End(Ended(now, "stuck", NOT_DONE, why, "`ralph run` starts over with what is left; -n sets the limit"))
    return None


def _at_the_wall(state: RunState, now: float) -> Step:
    """The account's usage limit was met: ask once, then wait to the very moment or exit."""
    policy = state.policy
    resets_at = _resets_at(state)
    since = state.begun.at if state.begun is not None else state.settled_at
    if resets_at is not None and not since < resets_at < now + LONGEST_LIMIT:
        resets_at = None  # it was over before it was met, or lies years ahead: another clock, or a mistake
    choice = state.on_limit or policy.on_limit
    soon = resets_at is not None and policy.ask_seconds > 0 and resets_at - now <= policy.ask_seconds
    if choice == "ask" and not soon:  # what is over before anybody could answer is waited for
        return Ask(policy.ask_seconds)
    if choice == "exit":
        known = f"; it resets in {spoken(max(0, resets_at - now))}" if resets_at else ""
        advice = "`ralph run --on-limit wait` waits for the reset"
        return End(Ended(now, "stopped", LIMITED, f"the account's usage limit is reached{known}", advice))
    until = resets_at if resets_at is not None else state.settled_at + policy.unknown_limit_wait
    return Wait(until, "limit") if now < until else Reserve()


def _resets_at(state: RunState) -> float | None:
    if state.waiting is not None and state.waiting.why == "limit":
        return state.waiting.until
    return state.verdict.resets_at if state.verdict is not None else None
