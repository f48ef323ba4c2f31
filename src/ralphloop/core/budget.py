"""What may still be spent: bounds of money, tokens and time for a story, a run and a day."""

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from ralphloop.core.duration import spoken
from ralphloop.core.history import Iteration
from ralphloop.core.policy import Bound, Budget, Policy
from ralphloop.core.wording import counted, money

NOTHING = Bound(0.0, 0, 0.0)
USED_UP = 0.02  # the share of a limit that is too little to begin an attempt with


class Means(Struct, frozen=True):
    """What an agent can be held to while it works."""

    cost: bool = False
    tokens: bool = False


Scope = Literal["story", "run", "day"]


class Refusal(Struct, frozen=True):
    """Why an attempt must not begin; `scope` is whose limit it is."""

    scope: Scope
    said: str


def plus(one: Bound, other: Bound) -> Bound:
    """Sums of what was spent, where nothing is unknown any more."""
    return Bound(
        (one.cost or 0) + (other.cost or 0),
        (one.tokens or 0) + (other.tokens or 0),
        (one.seconds or 0) + (other.seconds or 0),
    )


def counted_for(row: Iteration, rule: Budget) -> Bound:
    """What an attempt counts: where nobody tells, all that was reserved for it, or the worst case."""
    if row.kind == "not_started":
        return NOTHING
    reserved = row.allowed or Bound()
    worst_cost = reserved.cost if reserved.cost is not None else rule.attempt.cost
    worst_tokens = reserved.tokens if reserved.tokens is not None else rule.attempt.tokens
    return Bound(
        row.cost if row.cost is not None else worst_cost,
        row.tokens if row.tokens is not None else worst_tokens,
        row.seconds,
    )


def spent(rows: Iterable[Iteration], rule: Budget) -> Bound:
    total = NOTHING
    for row in rows:
        total = plus(total, counted_for(row, rule))
    return total


def afford(policy: Policy, rows: tuple[Iteration, ...], story: str, today: Bound, means: Means) -> Bound | Refusal:
    """What the next attempt may spend at most, or why it must not begin. `today` is what the account has spent."""
    rule = policy.budget
    scopes: tuple[tuple[Scope, Bound, Bound], ...] = (
        ("story", rule.story, spent((row for row in rows if row.story == story), rule)),
        ("run", rule.run, spent(rows, rule)),
        ("day", rule.day, today),
    )
    for scope, limit, used in scopes:
        if said := _used_up(scope, limit, used):
            return Refusal(scope, said)
    left = [_left(limit, used) for _, limit, used in scopes]
    cost = min((one.cost for one in left if one.cost is not None), default=None)
    tokens = min((one.tokens for one in left if one.tokens is not None), default=None)
    seconds = min((one.seconds for one in left if one.seconds is not None), default=None)
    most = rule.attempt
    if cost is not None and most.cost is not None:
        if cost < most.cost and not means.cost:
            return Refusal(_tightest(scopes, "cost"), _too_dear(money(most.cost), money(cost), "budget.attempt_cost"))
        cost = min(cost, most.cost)
    if tokens is not None and most.tokens is not None:
        if tokens < most.tokens and not means.tokens:
            said = _too_dear(counted(most.tokens, "token"), counted(tokens, "token"), "budget.attempt_tokens")
            return Refusal(_tightest(scopes, "tokens"), said)
        tokens = min(tokens, most.tokens)
    return Bound(cost, tokens, seconds)


def _used_up(scope: Scope, limit: Bound, used: Bound) -> str:
    whose = {"story": "the story's", "run": "the run's", "day": "the day's"}[scope]
    for most, gone, shown in (
        (limit.cost, used.cost or 0, money),
        (limit.tokens, used.tokens or 0, lambda count: counted(int(count), "token")),
        (limit.seconds, used.seconds or 0, spoken),
    ):
        if most is not None and most - gone <= most * USED_UP:
            return f"{whose} budget is used up: {shown(gone)} of {shown(most)}"
    return ""


def _left(limit: Bound, used: Bound) -> Bound:
    return Bound(
        limit.cost - (used.cost or 0) if limit.cost is not None else None,
        limit.tokens - (used.tokens or 0) if limit.tokens is not None else None,
        limit.seconds - (used.seconds or 0) if limit.seconds is not None else None,
    )


def _tightest(scopes: Iterable[tuple[Scope, Bound, Bound]], what: str) -> Scope:
    """Whose limit leaves the least."""
    left = [(getattr(_left(limit, used), what), scope) for scope, limit, used in scopes]
    return min((value, scope) for value, scope in left if value is not None)[1]


def _too_dear(most: str, left: str, key: str) -> str:
    return f"an attempt may come to {most} ({key}), this agent cannot be held to less, and {left} is left of the budget"
