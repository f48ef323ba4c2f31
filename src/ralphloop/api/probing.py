"""An agent put to the proof with the user's own account: reserved there before it starts, settled after it."""

import asyncio
import os
import tempfile
import time
from pathlib import Path

from msgspec.structs import replace

from ralphloop.api.checkup import Looked
from ralphloop.api.metering import Meter
from ralphloop.api.preparing import for_one_session
from ralphloop.api.roster import Member, group
from ralphloop.core import budget, lineup
from ralphloop.core.current import clock
from ralphloop.core.history import Iteration
from ralphloop.core.policy import Bound, Policy
from ralphloop.core.ports import Agent, Finding
from ralphloop.engine import probe
from ralphloop.engine.probe import MOST, Heard
from ralphloop.host.account import Account, Held, Reservation
from ralphloop.host.places import Home

ADVICE = ("Look at it again then; a probe takes of the same account as a run.",)


def probed(member: Member, folder: str = ".") -> tuple[Looked, ...]:
    """One session of it in a repository made for it; none when the account has none to give."""
    here, area, began = group(folder), f"probe {member.name}", time.time()
    agent = here.agent(member.name)
    policy = _ruled(for_one_session(here.config, member.name, agent))
    account = Account(Home.usual().account(policy.accounts[member.name]))
    held = Held(f"probe-{os.getpid()}-{member.name}-{began}", MOST.seconds or 0)
    got = _reserved(account, agent, policy, held, began)
    if not got.granted:
        return (Looked(area, Finding("error", f"not started: {_why(got, policy, began)}", advice=ADVICE)),)
    allowed = got.allowed or MOST
    with tempfile.TemporaryDirectory(prefix="ralph-probe-", ignore_cleanup_errors=True) as scratch:
        heard = asyncio.run(probe.ask(agent, policy, allowed, member.path, Path(scratch)))
    model = heard.attempt.model or policy.models.get(member.name, "")
    account.settle(held.id, _came_to(heard, allowed, Meter(here.config, here.worktree), model, policy), time.time())
    if heard.attempt.limited:
        account.meet_wall(lineup.opens_at(heard.attempt.resets_at, policy, began, time.time()))
    found = tuple(Looked(area, one) for one in probe.drift(agent, member.version, heard))
    if any(one.finding.level == "error" for one in found):
        return found
    return (Looked(area, Finding("ok", _cost(heard.attempt.seconds, heard))), *found)


def _ruled(policy: Policy) -> Policy:
    """Of no run and no story, so that of all budgets the day's counts; and it is one question."""
    worst = policy.budget.attempt
    most = Bound(min(MOST.cost or 0, worst.cost or 0), min(MOST.tokens or 0, worst.tokens or 0))
    return replace(policy, budget=replace(policy.budget, run=Bound(), story=Bound(), attempt=most))


def _reserved(account: Account, agent: Agent, policy: Policy, held: Held, now: float) -> Reservation:
    def afford(today: Bound) -> Bound | budget.Refusal:
        return budget.afford(policy, (), "", today, budget.Means(cost=agent.traits.caps_cost))

    got = account.reserve(now, policy.rate_per_hour, margin=policy.limit_margin, held=held, afford=afford)
    worst = policy.budget.attempt
    allowed = got.allowed or Bound()
    cost = allowed.cost if allowed.cost is not None else worst.cost
    return replace(got, allowed=replace(allowed, cost=cost, tokens=allowed.tokens or worst.tokens))


def _why(got: Reservation, policy: Policy, now: float) -> str:
    if got.refusal is not None:
        return got.refusal.said
    if got.why == "limit":
        return f"the account is at its usage limit until {clock(got.until + policy.limit_margin, now)}"
    return f"the account's calls of this hour are used up until {clock(got.until, now)}"


def _came_to(heard: Heard, allowed: Bound, meter: Meter, model: str, policy: Policy) -> Bound:
    """As an attempt of a run is counted: what nobody tells is the worst that was allowed."""
    attempt, cost = heard.attempt, heard.attempt.cost
    if cost is None and attempt.tokens is not None:
        cost = meter.cost(model, attempt.tokens)
    row = Iteration(
        n=0,
        story="",
        started=0,
        ended=0,
        outcome="",
        end=attempt.end,
        tokens=attempt.tokens.used if attempt.tokens else None,
        cost=cost,
        kind=attempt.kind,
        seconds=attempt.seconds,
        allowed=allowed,
    )
    return budget.counted_for(row, policy.budget)


def _cost(seconds: float, heard: Heard) -> str:
    tokens, cost = heard.attempt.tokens, heard.attempt.cost
    spent = f"{tokens.used} tokens" if tokens else "tokens unknown"
    price = f"${cost:.4f}" if cost is not None else "cost unknown"
    return f"it answered in {seconds:.1f} s · {spent} · {price}"
