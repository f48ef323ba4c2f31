"""Thousands of histories: whatever agents, users and power failures do, the rules of a run hold."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.histories import World, case_of, policies, started
from ralphloop.core import lineup
from ralphloop.core import step as steps
from ralphloop.core.errors import DamagedProblem
from ralphloop.core.policy import Policy
from ralphloop.core.record import Begun, Inspected, Judged, Reserved, Settled, Wished, decode, encode
from ralphloop.core.state import IllegalRecord, RunState, evolve, replay
from ralphloop.core.step import decide
from ralphloop.core.verdict import Sight, judge
from ralphloop.core.view import loop_state_file, run_row, status_file

MANY = settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))


def lived(data: st.DataObject, policy: Policy, *, deaths: bool = False) -> World:
    """A run to its end; at most so long that one which never ends is seen."""
    world = World(data.draw, policy)
    for _ in range(400):
        if not world.sure.active:
            return world
        world.turn()
        if deaths and world.sure.active and data.draw(st.sampled_from((False,) * 9 + (True,))):
            world.undo() if data.draw(st.sampled_from((False, False, True))) else world.die()
    raise AssertionError("the run never ends")


@MANY
@given(st.data(), policies)
def test_every_run_ends_within_its_limits(data: st.DataObject, policy: Policy) -> None:
    world = lived(data, policy)
    state = world.sure
    assert state.end is not None
    limits = sum(row.outcome == "limited" for row in state.iterations)
    assert state.n <= state.most <= 2 * policy.max_iterations + limits
    assert state.n - sum(row.outcome in ("hindered", "limited") for row in state.iterations) <= policy.max_iterations
    assert [row.n for row in state.iterations] == list(range(1, state.n + 1))
    assert sum(isinstance(one, Reserved) for one in world.records) <= state.most + 1
    if state.end.status == "done":
        assert state.end.exit_code == 0
        assert state.verdict is not None
        assert state.verdict.complete
        assert not any(not check.ok for check in state.checks)
        assert {check.name for check in state.checks} >= {rule.name for rule in policy.checks}
        assert state.sight is not None
        assert not state.sight.dirty
        assert not state.sight.stuck


@MANY
@given(st.data(), policies)
def test_death_at_any_moment_neither_loses_nor_repeats_an_iteration(data: st.DataObject, policy: Policy) -> None:
    world = lived(data, policy, deaths=True)
    begun = [one.n for one in world.records if isinstance(one, Begun)]
    assert begun == sorted(set(begun))
    assert [row.n for row in world.sure.iterations] == begun[: len(world.sure.iterations)]
    assert len(begun) - len(world.sure.iterations) <= 1


@MANY
@given(st.data(), policies)
def test_the_journal_read_again_is_the_same_state(data: st.DataObject, policy: Policy) -> None:
    world = lived(data, policy, deaths=True)
    lines = [encode(record) for record in world.records]
    assert replay(decode(line) for line in lines) == world.sure


@MANY
@given(st.data(), policies)
def test_breakers_trip_exactly_at_their_threshold(data: st.DataObject, policy: Policy) -> None:
    world = lived(data, policy)
    state: RunState | None = None
    for record in world.records:
        before, state = state, evolve(state, record)
        if isinstance(record, Begun) and before is not None:
            assert not policy.no_progress_threshold or before.no_progress < policy.no_progress_threshold
            assert not policy.same_error_threshold or before.same_error < policy.same_error_threshold
            assert not before.stop
            assert not before.paused or before.phase == "reserved"


@MANY
@given(st.data(), policies)
def test_nobody_works_who_cannot(data: st.DataObject, policy: Policy) -> None:
    """At a wall, worn out, before its time, or without what it may spend."""
    world = lived(data, policy)
    state: RunState | None = None
    for record in world.records:
        before, state = state, evolve(state, record)
        if isinstance(record, Reserved) and before is not None:
            form = before.forms.get(record.agent, lineup.FRESH)
            assert not before.denied or before.denied.scope == "day"
            assert not policy.agents or not lineup.worn_out(policy, form)
            assert not policy.agents or lineup.again_at(policy, form, "run") <= record.at
            others = [name for name in policy.agents if name != record.agent and name not in before.forms]
            assert not others or not form.free_at or form.free_at + policy.limit_margin <= record.at


@MANY
@given(st.data(), policies)
def test_a_story_never_counts_against_an_obstacle(data: st.DataObject, policy: Policy) -> None:
    world = lived(data, policy)
    state: RunState | None = None
    for record in world.records:
        before, state = state, evolve(state, record)
        if isinstance(record, Judged) and before is not None and record.verdict.counted:
            assert before.sight is not None
            assert not before.sight.dirty
            assert not before.sight.stuck
            assert all(check.ok for check in before.checks)
            assert {rule.name for rule in policy.checks} <= {check.name for check in before.checks}
            assert not policy.require_commit or before.uncounted_work or not before.sight.change.marked


@MANY
@given(st.data(), policies)
def test_every_moment_has_views(data: st.DataObject, policy: Policy) -> None:
    world = lived(data, policy, deaths=True)
    state: RunState | None = None
    for record in world.records:
        state = evolve(state, record)
        assert status_file(state, 1).status in ("running", "paused", "completed", "failed")
        assert loop_state_file(state, 1).current_iteration == state.n
        assert run_row(state, 1).iteration == state.n


@MANY
@given(st.data(), policies)
def test_illegal_records_raise_and_change_nothing(data: st.DataObject, policy: Policy) -> None:
    world = lived(data, policy)
    shuffled: list[Any] = data.draw(st.permutations(world.records))
    state: RunState | None = None
    for record in shuffled:
        before = state
        try:
            state = evolve(state, record)
        except IllegalRecord:
            assert state is before
            continue
        decide(state, 10.0)


def test_an_empty_journal_is_no_run() -> None:
    with pytest.raises(DamagedProblem, match="empty"):
        replay([])


@pytest.mark.parametrize("after", [Settled(1, "x", 1, 1), Judged, Begun(1, 1, "s", "s", 1, "h", "", "x", 1, 0)])
def test_nothing_comes_before_the_start(after: Any) -> None:
    with pytest.raises(IllegalRecord):
        evolve(None, after)


def test_a_run_that_is_paused_waits_for_as_long_as_it_takes() -> None:
    state = evolve(None, started(Policy()))
    state = evolve(state, Inspected(1, Sight("h", 3, 0, complete=False)))
    state = evolve(state, Judged(2, judge(case_of(state))))
    state = evolve(state, Settled(3, "x", 3, 0))
    state = evolve(state, Wished(4, "w", "pause"))
    assert decide(state, 5) == steps.Wait(None, "paused")
    assert isinstance(decide(evolve(state, Wished(6, "v", "resume")), 7), steps.Reserve)
