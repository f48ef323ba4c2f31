"""Before an attempt: whose turn it is, and a call, money, tokens and time of that agent's account."""

from datetime import datetime, timedelta

from ralphloop.core import budget, lineup
from ralphloop.core.current import clock
from ralphloop.core.errors import Problem
from ralphloop.core.history import finished
from ralphloop.core.policy import Bound
from ralphloop.core.record import Denied, Reserved, Waiting
from ralphloop.core.story import Story
from ralphloop.engine.desk import Desk
from ralphloop.host.account import Held, Reservation


def reserve(desk: Desk, now: float) -> Reserved | Waiting | Denied:
    """Ask the account of each agent in its turn; the first that grants it is the one that works."""
    state = desk.now
    story = _next_story(desk)
    names = lineup.order(state.policy, story.agent) or (state.agent,)
    passed = [f"{name}: {why}" for name in names if (why := _out(desk, name, now))]
    waits: list[Waiting] = []
    denials: list[Denied] = []
    turn = lineup.in_turn(state.policy, state.forms, names, now)
    for name in turn or lineup.soonest(state.policy, state.forms, names):
        got = _ask(desk, name, story.id, now)
        passed += [got.note] if got.note else []
        if got.granted:
            model = story.model if story.model and name == names[0] else state.policy.models.get(name, "")
            return Reserved(now, got.calls, got.until, name, model, got.allowed, tuple(passed))
        if got.refusal is not None:  # another agent has another day, or can be held to less
            until = _midnight(now) if got.refusal.scope == "day" else None
            denials.append(Denied(now, got.refusal.scope, got.refusal.said, until))
            passed.append(f"{name}: {got.refusal.said}")
            continue
        waits.append(Waiting(now, got.why or "rate", got.until, got.calls, name))
        margin = state.policy.limit_margin if got.why == "limit" else 0
        passed.append(f"{name}: {_until(got.why or 'rate', got.until + margin, now)}")
    if waits or denials:
        return min(waits, key=lambda one: one.until) if waits else denials[0]
    return Denied(now, "agents", "no agent can work: " + "; ".join(passed))


def _ask(desk: Desk, name: str, story: str, now: float) -> Reservation:
    state, policy = desk.now, desk.now.policy
    traits = desk.agent_named(name).traits
    means = budget.Means(cost=traits.caps_cost, tokens=traits.counts_on)

    def afford(today: Bound) -> Bound | budget.Refusal:
        return budget.afford(policy, state.iterations, story, today, means)

    held = Held(f"{state.start.run}.{state.n + 1}", policy.timeout)
    return desk.account(name).reserve(now, policy.rate_per_hour, margin=policy.limit_margin, held=held, afford=afford)


def settle(desk: Desk) -> None:
    """What the attempt at hand really came to; doing it twice counts it once."""
    state = desk.now
    if state.attempt is None or state.begun is None or state.verdict is None:
        return
    row = finished(state, state.begun, state.attempt, state.verdict, desk.clock())
    came_to = budget.counted_for(row, state.policy.budget)
    desk.account(state.agent).settle(f"{state.start.run}.{state.n}", came_to, desk.clock())


def _next_story(desk: Desk) -> Story:
    """As the source stands; when it cannot be read, the beginning of the iteration says so."""
    try:
        waiting = desk.read_plan()[1].open
    except Problem:
        waiting = ()
    return waiting[0] if waiting else Story("", "")


def _out(desk: Desk, name: str, now: float) -> str:
    """Why an agent of the chain is not in its turn, as far as the run itself has seen."""
    policy, form = desk.now.policy, desk.now.forms.get(name, lineup.FRESH)
    if form.free_at and form.free_at + policy.limit_margin > now:
        return _until("limit", form.free_at + policy.limit_margin, now)
    if lineup.worn_out(policy, form):
        return form.error[:200]
    return ""


def _until(why: str, moment: float, now: float) -> str:
    if why == "held":
        return "the rest of its day's budget is reserved by other loops"
    what = "at its usage limit" if why == "limit" else "its calls of this hour are used up,"
    return f"{what} until {clock(moment, now)}"


def _midnight(now: float) -> float:
    """When the next day begins here."""
    day = datetime.fromtimestamp(now).replace(hour=0, minute=0, second=0, microsecond=0)
    return (day + timedelta(days=1)).timestamp()
