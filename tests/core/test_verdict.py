"""judge(): a table of what was seen and what it is worth."""

from typing import Any

import pytest
from msgspec.structs import replace

from ralphloop.core.attempt import Attempt
from ralphloop.core.claim import Claim
from ralphloop.core.policy import CheckRule, Policy
from ralphloop.core.story import Plan, PlanChange, Story, compare
from ralphloop.core.verdict import Case, Check, Sight, judge

RULE = CheckRule("tests", "make test")
GREEN, RED = Check("tests", True, 1, "passed"), Check("tests", False, 1, "failed with exit code 1", "FAIL: test_x")
MARKED = PlanChange(marked=("s1",))
OPEN = Sight("h", 2, 0, complete=False)
ONE = Sight("h", 2, 1, complete=False, change=MARKED, worked=True)
LAST = Sight("h", 2, 2, complete=True, change=MARKED, worked=True)


ENDED_WELL = Attempt(exit_code=0)


def case(sight: Sight = OPEN, attempt: Attempt | None = ENDED_WELL, **more: Any) -> Case:
    given: dict[str, Any] = {
        "policy": Policy(),
        "attempt": attempt,
        "sight": sight,
        "story": "s1",
        "checks": (),
        "unchecked": False,
        "uncounted_work": sight.worked,
    }
    return Case(**(given | more))


CASES = [
    ("nothing was done", case(), "nothing"),
    ("a story", case(ONE), "progress"),
    ("the last story", case(LAST), "done"),
    ("the last story, checks green", case(LAST, policy=Policy(checks=(RULE,)), checks=(GREEN,)), "done"),
    ("the last story, checks red", case(LAST, policy=Policy(checks=(RULE,)), checks=(RED,)), "nothing"),
    ("marked without a commit", case(replace(ONE, worked=False)), "nothing"),
    ("marked, committed before", case(replace(ONE, worked=False), uncounted_work=True), "progress"),
    ("no commit needed", case(replace(ONE, worked=False), policy=Policy(require_commit=False)), "progress"),
    ("work left uncommitted", case(replace(ONE, dirty=1, dirty_paths=("a",))), "nothing"),
    ("the source was damaged", case(replace(ONE, source_problem="empty")), "nothing"),
    ("the repository is gone", case(replace(ONE, stuck="gone")), "stuck"),
    ("an error", case(attempt=Attempt(error="boom")), "failed"),
    ("a timeout without work", case(attempt=Attempt(end="timeout")), "failed"),
    ("a timeout with work", case(replace(OPEN, worked=True), Attempt(end="timeout")), "progress"),
    ("a usage limit", case(attempt=Attempt(limited=True, error="limit")), "limited"),
    ("a limit after the story was done", case(ONE, Attempt(limited=True, error="limit")), "progress"),
    ("stopped", case(attempt=Attempt(end="stopped")), "neutral"),
    ("the runner died", case(attempt=Attempt(end="interrupted")), "neutral"),
    ("nobody ran", case(attempt=None), "neutral"),
    ("all was finished before", case(replace(LAST, change=PlanChange(), worked=False), None), "done"),
    ("promised with stories open", case(attempt=Attempt(claim=Claim("complete"))), "nothing"),
    ("a promise and no stories", case(Sight("h", 0, 0, complete=False), Attempt(claim=Claim("complete"))), "done"),
    ("story promised, not marked", case(replace(OPEN, worked=True), Attempt(claim=Claim("story"))), "progress"),
    ("story promised, no work", case(attempt=Attempt(claim=Claim("story"))), "nothing"),
    (
        "promised, trusted",
        case(attempt=Attempt(claim=Claim("complete")), policy=Policy(trust_promise=True)),
        "done",
    ),
    (
        "promised, trusted, checks red",
        case(
            attempt=Attempt(claim=Claim("complete")),
            policy=Policy(trust_promise=True, checks=(RULE,)),
            checks=(RED,),
        ),
        "nothing",
    ),
]


@pytest.mark.parametrize(("what", "given", "outcome"), CASES, ids=[what for what, _, _ in CASES])
def test_what_an_attempt_is_worth(what: str, given: Case, outcome: str) -> None:
    assert judge(given).outcome == outcome


def test_a_red_check_takes_the_mark_back_and_says_why() -> None:
    verdict = judge(case(ONE, policy=Policy(checks=(RULE,)), checks=(RED,)))
    assert verdict.taken_back == ("s1",)
    assert verdict.false_claim
    assert "FAIL: test_x" in verdict.failure
    assert verdict.error == "tests: FAIL: test_x"


def test_a_run_stopped_before_its_checks_blames_nobody() -> None:
    verdict = judge(case(ONE, policy=Policy(checks=(RULE,)), unchecked=True, attempt=Attempt(end="stopped")))
    assert not verdict.counted
    assert not verdict.false_claim
    assert not verdict.taken_back
    assert verdict.pending == ("s1",)
    assert judge(case(ONE, unchecked=True)).outcome == "neutral"


@pytest.mark.parametrize(
    ("attempt", "error"),
    [
        (Attempt(exit_code=0), ""),
        (Attempt(end="timeout"), ""),
        (Attempt(end="natural", exit_code=3), "exit code 3"),
        (Attempt(end="natural", exit_code=3, last_words="TypeError: a 1"), "TypeError: a 1"),
        (Attempt(end="not_started"), "the agent could not be started"),
        (Attempt(error="Boom at /x/y.py:3"), "Boom at /x/y.py:3"),
    ],
)
def test_which_error_counts_for_the_breaker(attempt: Attempt, error: str) -> None:
    assert judge(case(attempt=attempt)).error == error


def plan(*stories: tuple[str, bool]) -> Plan:
    return Plan(tuple(Story(name, name, passes) for name, passes in stories))


def test_what_somebody_did_to_a_plan() -> None:
    change = compare(plan(("a", True), ("b", False), ("c", False)), plan(("a", False), ("b", True), ("d", True)))
    assert change == PlanChange(marked=("b", "d"), unmarked=("a",), added=("d",), removed=("c",))


def test_a_story_excused_from_being_built_is_noticed() -> None:
    before = Plan((Story("a", "a"), Story("b", "b", manual=True)))
    after = Plan((Story("a", "a", manual=True), Story("b", "b", manual=True)))
    assert compare(before, after).excused == ("a",)


def test_a_plan_is_complete_with_at_least_one_story_and_none_open() -> None:
    assert not plan().complete
    assert plan(("a", True)).complete
    assert not plan(("a", True), ("b", False)).complete
    assert not Plan((Story("a", "a", manual=True),)).complete
    assert [story.id for story in Plan((Story("a", "a", priority=2), Story("b", "b", priority=1))).open] == ["b", "a"]
