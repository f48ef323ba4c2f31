"""Budgets: what an attempt may spend, and when it must not begin."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralphloop.core.budget import NOTHING, Means, Refusal, afford, counted_for, spent
from ralphloop.core.history import Iteration
from ralphloop.core.policy import Bound, Budget, Policy

HELD = Means(cost=True, tokens=True)


def row(story: str = "s", **more: Any) -> Iteration:
    usual = {"n": 1, "started": 0.0, "ended": 9.0, "outcome": "nothing", "end": "natural", "seconds": 60.0}
    return Iteration(story=story, **{**usual, "cost": 1.0, "tokens": 1000, **more})


def allowed(rows: tuple[Iteration, ...] = (), *, means: Means = HELD, today: Bound = NOTHING, **rule: Bound) -> Any:
    return afford(Policy(budget=Budget(**rule)), rows, "s", today, means)


CASES: list[tuple[str, Any, Any]] = [
    ("no budget", allowed((row(),) * 9), Bound()),
    ("what one attempt may take at most", allowed(run=Bound(cost=50)), Bound(cost=10)),
    ("what is left", allowed((row(cost=4.0),), run=Bound(cost=5)), Bound(cost=1)),
    ("the story's is less", allowed((row(), row("t", cost=3.0)), run=Bound(9), story=Bound(3)), Bound(cost=2)),
    ("the day's is less", allowed((row(),), run=Bound(9), day=Bound(9), today=Bound(7.0)), Bound(cost=2)),
    ("tokens", allowed((row(),), run=Bound(tokens=2500)), Bound(tokens=1500)),
    ("tokens of an attempt", allowed(run=Bound(tokens=9_000_000)), Bound(tokens=1_000_000)),
    ("time", allowed((row(),), run=Bound(seconds=100)), Bound(seconds=40)),
    (
        "unknown counts what was reserved",
        allowed((row(cost=None, allowed=Bound(cost=2.0)),), run=Bound(cost=5)),
        Bound(cost=3),
    ),
    (
        "unknown counts the worst case",
        allowed((row(cost=None),), run=Bound(cost=15), attempt=Bound(10.0, 5)),
        Bound(cost=5),
    ),
    ("what was not started cost nothing", allowed((row(cost=None, kind="not_started"),), run=Bound(5)), Bound(5.0)),
    (
        "an agent that cannot be held to less, and room for it",
        allowed((row(),), means=Means(), run=Bound(cost=11)),
        Bound(cost=10),
    ),
]


@pytest.mark.parametrize(("what", "got", "bound"), CASES, ids=[case[0] for case in CASES])
def test_what_the_next_attempt_may_spend(what: str, got: Any, bound: Bound) -> None:
    assert got == bound


REFUSED: list[tuple[str, Any, str, str]] = [
    ("money", allowed((row(cost=5.0),), run=Bound(cost=5)), "run", "the run's budget is used up: $5.00 of $5.00"),
    ("next to nothing left", allowed((row(cost=4.95),), run=Bound(cost=5)), "run", "$4.95 of $5.00"),
    ("tokens", allowed((row(),), story=Bound(tokens=900)), "story", "the story's budget is used up: 1000 tokens"),
    ("time", allowed((row(),), run=Bound(seconds=60)), "run", "1m of 1m"),
    ("the day", allowed(day=Bound(3), today=Bound(3.5)), "day", "the day's budget is used up: $3.50 of $3.00"),
    ("it could pass it", allowed((row(),), means=Means(), run=Bound(9)), "run", "budget.attempt_cost"),
    ("in tokens", allowed((row(),), means=Means(), day=Bound(tokens=9000)), "day", "budget.attempt_tokens"),
]


@pytest.mark.parametrize(("what", "got", "scope", "said"), REFUSED, ids=[case[0] for case in REFUSED])
def test_why_it_must_not_begin(what: str, got: Any, scope: str, said: str) -> None:
    assert isinstance(got, Refusal)
    assert got.scope == scope
    assert said in got.said


amounts = st.one_of(st.none(), st.floats(0.01, 20))
rows = st.lists(
    st.builds(row, st.sampled_from(("s", "t")), cost=amounts, tokens=st.one_of(st.none(), st.integers(0, 10**6))),
    max_size=8,
)


@given(rows, amounts, amounts, amounts, st.floats(0, 20), st.booleans())
def test_no_attempt_is_ever_allowed_what_is_not_there(
    lived: list[Iteration], run: float | None, story: float | None, day: float | None, today: float, held: bool
) -> None:
    rule = Budget(run=Bound(run), story=Bound(story), day=Bound(day))
    got = afford(Policy(budget=rule), tuple(lived), "s", Bound(today), Means(cost=held))
    used = spent(lived, rule).cost or 0
    if isinstance(got, Refusal):
        assert run or story or day
        return
    assert (got.cost is None) == (run is None and story is None and day is None)
    if got.cost is not None:
        assert 0 < got.cost <= (rule.attempt.cost or 0)
        assert run is None or used + got.cost <= run + 1e-9
        assert day is None or today + got.cost <= day + 1e-9
        assert held or got.cost == rule.attempt.cost


def test_what_an_attempt_counts() -> None:
    rule = Budget()
    assert counted_for(row(), rule) == Bound(1.0, 1000, 60.0)
    assert counted_for(row(cost=None, tokens=None), rule) == Bound(10.0, 1_000_000, 60.0)
    assert spent([row(), row(cost=None)], rule) == Bound(11.0, 2000, 120.0)
