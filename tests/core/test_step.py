"""decide(): what comes next, moment by moment."""

from typing import Any

import pytest
from msgspec.structs import replace

from core.histories import started
from ralphloop.core import lineup
from ralphloop.core import step as steps
from ralphloop.core.attempt import Attempt
from ralphloop.core.lineup import Form
from ralphloop.core.policy import CheckRule, Policy
from ralphloop.core.record import Denied, Ended, Resumed, Waiting
from ralphloop.core.state import RunState, evolve
from ralphloop.core.step import decide
from ralphloop.core.story import PlanChange
from ralphloop.core.verdict import Check, Sight, Verdict

RULES = (CheckRule("a", "x"), CheckRule("b", "y"))
MARKED = Sight("h", 2, 1, complete=False, change=PlanChange(marked=("s1",)), worked=True)


def state(**more: Any) -> RunState:
    policy = more.pop("policy", Policy())
    fresh = evolve(None, started(policy))
    return replace(fresh, **({"phase": "idle", "attempt": Attempt(), "last_at": 100.0, "settled_at": 100.0} | more))


def ended(step: steps.Step) -> Ended:
    assert isinstance(step, steps.End)
    return step.ended


CHAIN = Policy(agents=("a", "b"), pause=0)
LIMITED = Verdict("limited", limited=True, resets_at=5000.0)
MOMENTS = [
    ("the first thing is to look", state(phase="attempted"), 100, steps.Inspect()),
    ("a pause between iterations", state(), 101, steps.Wait(102, "pause between iterations")),
    ("the clock went back: nobody knows how long it has rested", state(), 50, steps.Reserve()),
    ("after the pause", state(), 102, steps.Reserve()),
    ("no pause before the first", state(attempt=None), 100, steps.Reserve()),
    ("a reserved call begins an iteration", state(phase="reserved", n=4), 100, steps.Begin(5)),
    ("what has begun is run", state(phase="begun", n=5), 100, steps.RunAgent(5)),
    (
        "checks in their order",
        state(phase="inspected", sight=MARKED, policy=Policy(checks=RULES)),
        1,
        steps.RunCheck(RULES[0]),
    ),
    (
        "the next check",
        state(phase="inspected", sight=MARKED, policy=Policy(checks=RULES), checks=(Check("a", False, 1),)),
        1,
        steps.RunCheck(RULES[1]),
    ),
    (
        "no checks when nothing is claimed",
        state(phase="inspected", sight=Sight("h", 2, 0, complete=False)),
        1,
        steps.Judge(),
    ),
    (
        "a stop leaves the checks",
        state(phase="inspected", sight=MARKED, policy=Policy(checks=RULES), stop_now=True),
        1,
        steps.Judge(),
    ),
    ("what is judged is settled", state(phase="judged"), 1, steps.Settle()),
    ("paused", state(paused=True), 500, steps.Wait(None, "paused")),
    ("the hour is used up", state(waiting=Waiting(90, "rate", 3690)), 500, steps.Wait(3690, "rate")),
    ("the hour is over", state(waiting=Waiting(90, "rate", 3690)), 3690, steps.Reserve()),
    (
        "the clock went back before the wait began",
        state(waiting=Waiting(90, "rate", 3690)),
        80,
        steps.Reserve(),
    ),
    ("the wall: ask", state(limited=True, verdict=LIMITED), 500, steps.Ask(30)),
    (
        "the wall: wait to the moment, and five minutes more",
        state(limited=True, verdict=LIMITED, on_limit="wait"),
        500,
        steps.Wait(5300, "limit"),
    ),
    (
        "the wall was over before it was met: another clock",
        state(limited=True, verdict=LIMITED, on_limit="wait", settled_at=6000.0),
        6001,
        steps.Wait(6900, "limit"),
    ),
    (
        "the wall lies years ahead",
        state(limited=True, verdict=Verdict("limited", limited=True, resets_at=4e9), on_limit="wait"),
        101,
        steps.Wait(1000, "limit"),
    ),
    ("the wall is over", state(limited=True, verdict=LIMITED, on_limit="wait"), 5300, steps.Reserve()),
    (
        "the wall of the first, and another is free",
        state(limited=True, verdict=LIMITED, policy=CHAIN, forms={"a": Form(free_at=5000)}),
        500,
        steps.Reserve(),
    ),
    (
        "the walls of both: the first that opens is waited for",
        state(limited=True, policy=CHAIN, on_limit="wait", forms={"a": Form(free_at=5000), "b": Form(free_at=4000)}),
        500,
        steps.Wait(4300, "limit"),
    ),
    (
        "the model could not be reached",
        state(policy=Policy(agents=("a",), pause=0), forms={"a": Form(hindered=1, fault="transient", at=100)}),
        102,
        steps.Wait(lineup.again_at(Policy(), Form(hindered=1, at=100), "run"), "trouble"),
    ),
    (
        "that was long ago",
        state(policy=Policy(agents=("a",), pause=0), forms={"a": Form(hindered=1, fault="transient", at=100)}),
        120,
        steps.Reserve(),
    ),
    (
        "the day's budget: the next day is waited for",
        state(policy=Policy(on_limit="wait"), denied=Denied(100, "day", "used up", 9000)),
        500,
        steps.Wait(9000, "budget"),
    ),
    (
        "the next day",
        state(policy=Policy(on_limit="wait"), denied=Denied(100, "day", "used up", 9000)),
        9000,
        steps.Reserve(),
    ),
    (
        "a wall of unknown height",
        state(limited=True, verdict=Verdict("limited", limited=True), policy=Policy(on_limit="wait")),
        500,
        steps.Wait(1000, "limit"),
    ),
    ("done, and put away", state(complete=True), 500, steps.Archive()),
]


@pytest.mark.parametrize(("what", "now_state", "now", "step"), MOMENTS, ids=[one[0] for one in MOMENTS])
def test_the_next_step(what: str, now_state: RunState, now: float, step: steps.Step) -> None:
    assert decide(now_state, now) == step


ENDS = [
    ("done", state(complete=True, policy=Policy(archive=False)), "done", 0),
    ("done, archived", state(complete=True, archive="x"), "done", 0),
    ("done beats a stop", state(complete=True, archive="x", stop="SIGINT"), "done", 0),
    ("SIGINT", state(stop="SIGINT"), "stopped", 130),
    ("SIGTERM", state(stop="SIGTERM"), "stopped", 143),
    ("SIGHUP", state(stop="SIGHUP"), "stopped", 129),
    ("asked to", state(stop="user"), "stopped", 1),
    ("asked to, before it began", state(stop="user", phase="reserved"), "stopped", 1),
    ("no progress", state(no_progress=3), "stalled", 1),
    ("the same error", state(same_error=5, last_error="boom"), "stalled", 1),
    ("enough", state(n=20), "stuck", 1),
    ("the repository is gone", state(sight=Sight("h", 1, 0, complete=False, stuck="gone")), "stopped", 1),
    ("the wall: exit", state(limited=True, verdict=LIMITED, policy=Policy(on_limit="exit")), "stopped", 2),
    ("the day's budget", state(denied=Denied(100, "day", "used up", 9000)), "stopped", 1),
    ("the run's budget", state(denied=Denied(100, "run", "used up"), policy=Policy(on_limit="wait")), "stopped", 1),
    (
        "not let in, twice",
        state(policy=Policy(agents=("a",)), forms={"a": Form(hindered=2, fault="auth", at=100)}),
        "stopped",
        1,
    ),
    (
        "neither of the chain",
        state(policy=CHAIN, forms={"a": Form(hindered=12, fault="rate", at=1), "b": Form(hindered=2, fault="money")}),
        "stopped",
        1,
    ),
    ("the wall: answered exit", state(limited=True, verdict=LIMITED, on_limit="exit"), "stopped", 2),
]


@pytest.mark.parametrize(("what", "now_state", "status", "code"), ENDS, ids=[one[0] for one in ENDS])
def test_why_a_run_ends(what: str, now_state: RunState, status: str, code: int) -> None:
    end = ended(decide(now_state, 500))
    assert (end.status, end.exit_code) == (status, code)
    assert end.why


@pytest.mark.parametrize("threshold", ["no_progress_threshold", "same_error_threshold"])
def test_a_breaker_that_is_off_never_trips(threshold: str) -> None:
    policy = replace(Policy(), **{threshold: None})
    quiet = state(policy=policy, **{threshold.removesuffix("_threshold"): 99})
    assert not isinstance(decide(quiet, 500), steps.End)


def test_a_run_that_goes_on_believes_nothing_it_has_not_seen() -> None:
    before = state(complete=True, no_progress=2, limited=True, stop="SIGINT", end=Ended(1, "stopped", 130, "x"))
    after = evolve(before, Resumed(200, "agent", Policy()))
    assert decide(after, 201) == steps.Inspect()
    assert (after.complete, after.limited, after.stop, after.no_progress) == (False, False, "", 2)
    assert evolve(before, Resumed(200, "agent", Policy(), reset_breakers=True)).no_progress == 0


def test_an_archive_that_was_begun_is_ended() -> None:
    before = state(complete=True, archive=".ralph/archive/x")
    assert ended(decide(evolve(before, Resumed(200, "agent", Policy())), 201)).status == "done"
