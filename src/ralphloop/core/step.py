"""What comes next: `decide` is the one place where limits, wishes and the order of an iteration are looked at."""

from typing import Literal

from msgspec import Struct

from ralphloop.core import lineup
from ralphloop.core.duration import spoken
from ralphloop.core.errors import DONE, LIMITED, NOT_DONE, SIGNALLED
from ralphloop.core.policy import CheckRule
from ralphloop.core.record import Denied, Ended
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
    why: Literal["pause between iterations", "paused", "rate", "limit", "held", "trouble", "budget"]


class Archive(Struct, frozen=True, tag=True):
    """Choose where the finished feature goes."""


class End(Struct, frozen=True, tag=True):
    ended: Ended


Step = Reserve | Begin | RunAgent | Inspect | RunCheck | Judge | Settle | Ask | Wait | Archive | End


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
    if state.denied is not None:
        return _denied(state, state.denied, now)
    if state.limited and not _another(state, now):
        return _at_the_wall(state, now)
    if (again := _again_at(state, now)) is not None:
        return Wait(again, "trouble")
    waiting = state.waiting
    if waiting is not None and waiting.why != "limit" and waiting.at <= now < waiting.until:
        return Wait(waiting.until, waiting.why)
    # a clock that was set back tells nothing about how long it has rested
    if state.attempt is not None and state.settled_at <= now < state.settled_at + state.policy.pause:
        return Wait(state.settled_at + state.policy.pause, "pause between iterations")
    return Reserve()


def _denied(state: RunState, denied: Denied, now: float) -> Step:
    """A budget is used up: of a day, the next one can be waited for; any other has to be raised."""
    if denied.until is not None and state.policy.on_limit == "wait":
        return Wait(denied.until, "budget") if denied.at <= now < denied.until else Reserve()
    advice = "`ralph run --max-cost`, `--max-tokens` or `--max-time` with more goes on where this stopped"
    if denied.until is not None:
        advice = f"it begins anew in {spoken(max(0, denied.until - now))}; `ralph run --on-limit wait` waits for that"
    if denied.scope == "agents":
        advice = "`ralph doctor` looks at the agents; then `ralph run` goes on where this stopped"
    detail = "agents" if denied.scope == "agents" else "budget"
    return End(Ended(now, "stopped", NOT_DONE, denied.why, advice, detail))


def _another(state: RunState, now: float) -> bool:
    """Whether an agent of the chain can work while the one at hand cannot."""
    return bool(lineup.in_turn(state.policy, state.forms, lineup.order(state.policy, state.wanted), now))


def _names(state: RunState) -> tuple[str, ...]:
    return lineup.order(state.policy, state.wanted) or (state.agent,)


def _again_at(state: RunState, now: float) -> float | None:
    """When the agent whose turn it is may be tried again, if that is later than now."""
    turn = lineup.in_turn(state.policy, state.forms, _names(state), now)
    form = state.forms.get(turn[0]) if turn else None
    if form is None or not form.at <= now:
        return None
    again = lineup.again_at(state.policy, form, state.start.run)
    return again if now < again else None


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
    if (tired := _tired(state, now)) is not None:
        return tired
    if state.n >= state.most:
        why = f"max iterations reached ({state.most}) with {state.done} of {state.total} stories finished"
        return End(Ended(now, "stuck", NOT_DONE, why, "`ralph run` starts over with what is left; -n sets the limit"))
    return None


def _tired(state: RunState, now: float) -> End | None:
    """Every agent of the chain has met trouble of its model or account too often in a row."""
    names = _names(state)
    forms = [(name, state.forms.get(name, lineup.FRESH)) for name in names]
    if not all(lineup.worn_out(state.policy, form) for _, form in forms):
        return None
    name, form = forms[0]
    what = {"auth": "is not let in by its model", "money": "has no credit left"}.get(
        form.fault, "cannot reach its model"
    )
    times = form.refused if form.fault in lineup.HOPELESS else form.hindered
    why = f"{name} {what}, {counted(times, 'attempt')} in a row: {form.error[:200]}"
    why += "".join(f"; {other}: {one.error[:100]}" for other, one in forms[1:])
    advice = {
        "auth": f"sign in with {name} (`ralph doctor` looks at the agents), then `ralph run` goes on",
        "money": "add credit to the account or choose another agent with --agent, then `ralph run` goes on",
    }.get(form.fault, "`ralph run` goes on where this stopped")
    return End(Ended(now, "stopped", NOT_DONE, why, advice, "agents"))


def _at_the_wall(state: RunState, now: float) -> Step:
    """The account's usage limit was met: ask once, then wait to the very moment or exit."""
    policy, waiting = state.policy, state.waiting
    if waiting is not None and waiting.why == "limit" and not waiting.agent and waiting.at <= now:
        # this run has written down until when it waits
        return Wait(waiting.until, "limit") if now < waiting.until else Reserve()
    resets_at = _resets_at(state)
    since = state.begun.at if state.begun is not None else state.settled_at
    if resets_at is not None and not since < resets_at < now + lineup.LONGEST_LIMIT:
        resets_at = None  # it was over before it was met, or lies years ahead: another clock, or a mistake
    choice = state.on_limit or policy.on_limit
    opens_at = resets_at + policy.limit_margin if resets_at is not None else None
    soon = opens_at is not None and policy.ask_seconds > 0 and opens_at - now <= policy.ask_seconds
    if choice == "ask" and not soon:  # what is over before anybody could answer is waited for
        return Ask(policy.ask_seconds)
    if choice == "exit":
        known = f"; it resets in {spoken(max(0, resets_at - now))}" if resets_at else ""
        advice = "`ralph run --on-limit wait` waits for the reset"
        return End(Ended(now, "stopped", LIMITED, f"the account's usage limit is reached{known}", advice))
    until = opens_at if opens_at is not None else min(state.settled_at, now) + policy.unknown_limit_wait
    return Wait(until, "limit") if now < until else Reserve()


def _resets_at(state: RunState) -> float | None:
    """Of the account at hand, or of the first of the chain's."""
    forms = [state.forms[name] for name in _names(state) if name in state.forms]
    if len(forms) > 1:
        free = (form.free_at for form in forms if form.free_at and not lineup.worn_out(state.policy, form))
        return min(free, default=None)
    if state.waiting is not None and state.waiting.why == "limit":
        return state.waiting.until
    return state.verdict.resets_at if state.verdict is not None else None
