"""Runs of the machine `decide`/`evolve` on an imagined machine: what every step may come to, chosen by hypothesis."""

from collections.abc import Callable

from hypothesis import strategies as st
from msgspec.structs import replace

from ralphloop.core import lineup
from ralphloop.core import step as steps
from ralphloop.core.attempt import Attempt
from ralphloop.core.claim import Claim
from ralphloop.core.event import Tokens
from ralphloop.core.policy import Bound, CheckRule, Policy
from ralphloop.core.record import (
    Answered,
    Archived,
    Attempted,
    Begun,
    Checked,
    Denied,
    Inspected,
    Judged,
    Record,
    Reserved,
    Resumed,
    Settled,
    Started,
    Undone,
    Waiting,
    Wished,
)
from ralphloop.core.state import RunState, evolve
from ralphloop.core.step import Step, decide
from ralphloop.core.story import PlanChange
from ralphloop.core.verdict import Case, Check, Sight, checks_wanted, judge

Draw = Callable[[st.SearchStrategy[object]], object]
ENDS = ("natural", "timeout", "silence", "flooded", "stopped", "lingered", "interrupted", "not_started", "overspent")

policies = st.builds(
    Policy,
    max_iterations=st.integers(1, 12),
    pause=st.sampled_from((0, 2)),
    no_progress_threshold=st.sampled_from((None, 1, 3)),
    same_error_threshold=st.sampled_from((None, 2, 5)),
    trust_promise=st.booleans(),
    require_commit=st.booleans(),
    on_limit=st.sampled_from(("ask", "wait", "exit")),
    checks=st.sampled_from(((), (CheckRule("a", "true"),), (CheckRule("a", "true"), CheckRule("b", "true")))),
    archive=st.booleans(),
    agents=st.sampled_from(((), ("agent",), ("agent", "other"))),
    transient_retries=st.integers(1, 3),
    limit_margin=st.sampled_from((0, 300)),
)
attempts = st.builds(
    Attempt,
    end=st.sampled_from(ENDS),
    exit_code=st.sampled_from((0, 1, None)),
    error=st.sampled_from(("", "", "boom at line 3", "boom at line 4", "bang")),
    limited=st.sampled_from((False, False, False, True)),
    resets_at=st.sampled_from((None, 5_000.0)),
    finished=st.booleans(),
    claim=st.sampled_from((Claim(), Claim(), Claim("complete"), Claim("story"), Claim("failed", "no"))),
    tokens=st.sampled_from((None, Tokens(5, 7))),
    cost=st.sampled_from((None, 0.5)),
    fault=st.sampled_from(("", "", "transient", "rate", "auth", "money")),
    hindrance=st.sampled_from(("", "", "transient")),
)
wishes = st.sampled_from((None,) * 12 + ("stop", "stop_now", "pause", "resume", "tell"))


def started(policy: Policy) -> Started:
    return Started(0, "run", "/w", "f", "b", ".ralph/f/prd.json", "agent", policy, "head0")


class World:
    """An imagined repository of three stories, and a clock."""

    def __init__(self, draw: Callable[..., object], policy: Policy) -> None:
        self.draw = draw
        self.now = 1.0
        self.records: list[Record] = []
        self.state: RunState | None = None
        self.marked: set[str] = set()
        self.head = 0
        self.emit(started(policy))

    @property
    def sure(self) -> RunState:
        assert self.state is not None
        return self.state

    def emit(self, record: Record) -> None:
        self.state = evolve(self.state, record)
        self.records.append(record)

    def pick(self, strategy: st.SearchStrategy[object]) -> object:
        return self.draw(strategy)

    def turn(self) -> Step:
        """One step, performed."""
        self.now += 0.5
        wish = self.pick(wishes)
        if wish and self.sure.active:
            self.emit(Wished(self.now, f"w{len(self.records)}", wish, "SIGTERM" if wish == "stop_now" else "text"))  # type: ignore[arg-type]
        step = decide(self.sure, self.now)
        self.perform(step)
        return step

    def perform(self, step: Step) -> None:
        now, state = self.now, self.sure
        match step:
            case steps.Reserve():
                self.emit(self.reserved())
            case steps.Begin():
                open_stories = [s for s in ("s1", "s2", "s3") if s not in self.marked]
                story = open_stories[0] if open_stories else ""
                told = len(state.told)
                self.emit(Begun(now, step.n, story, story, 1, self.sha, "", "x", 3, len(self.marked), 9, told))
            case steps.RunAgent():
                self.emit(Attempted(now, self.pick(attempts)))  # type: ignore[arg-type]
            case steps.Inspect():
                self.emit(Inspected(now, self.sight()))
            case steps.RunCheck():
                self.emit(Checked(now, Check(step.rule.name, bool(self.pick(st.booleans())), 1.0, "failed")))
            case steps.Judge():
                self.emit(Judged(now, judge(case_of(state))))
            case steps.Settle():
                self.settle()
            case steps.Wait():
                self.now = step.until if step.until is not None else now
                if step.until is None:
                    self.emit(Wished(now, f"w{len(self.records)}", "resume"))
            case steps.Ask():
                self.emit(Answered(now, self.pick(st.sampled_from(("wait", "exit")))))  # type: ignore[arg-type]
            case steps.Archive():
                self.emit(Archived(now, ".ralph/archive/x"))
            case steps.End():
                self.emit(step.ended)

    def reserved(self) -> Record:
        """As an account answers."""
        state, now = self.sure, self.now
        names = state.policy.agents or ("agent",)
        agent = (lineup.in_turn(state.policy, state.forms, names, now) or names[:1])[0]
        answer = self.pick(st.sampled_from(("yes",) * 9 + ("rate", "limit", "limit", "run", "day")))
        match answer:
            case "rate" | "limit":
                return Waiting(now, answer, now + 3, 100, agent)
            case "run":
                return Denied(now, "run", "used up")
            case "day":
                return Denied(now, "day", "used up", now + 9)
        return Reserved(now, 1, now + 9, agent, allowed=Bound(1.0, 100, 60))

    @property
    def sha(self) -> str:
        return f"head{self.head}"

    def sight(self) -> Sight:
        """What the agent came to, or what stands when none ran."""
        change, worked, dirty = PlanChange(), False, 0
        if self.sure.attempt is not None:
            marking = self.pick(st.sets(st.sampled_from(("s1", "s2", "s3"))))
            assert isinstance(marking, set)
            change = PlanChange(marked=tuple(sorted(marking - self.marked)))
            self.marked |= marking
            worked = bool(self.pick(st.booleans()))
            dirty = 1 if self.pick(st.sampled_from((False, False, True))) else 0
            self.head += worked
        stuck = self.pick(st.sampled_from(("",) * 30 + ("the repository is gone",)))
        marked = len(self.marked)
        return Sight(self.sha, 3, marked, marked == 3, 3 - marked, change, (), worked, dirty, stuck=str(stuck))

    def settle(self) -> None:
        verdict = self.sure.verdict
        assert verdict is not None
        self.marked -= set(verdict.taken_back)
        self.marked |= set(verdict.counted)
        self.emit(Settled(self.now, "x", 3, len(self.marked)))

    def die(self) -> None:
        """kill -9, and another runner."""
        self.emit(Resumed(self.now, "agent", self.sure.policy))

    def undo(self) -> None:
        """The user goes back, and takes the run up again."""
        self.emit(Undone(self.now, "back to before iteration 1", self.sha, "x", "", "refs/kept", "", ""))
        self.emit(Resumed(self.now, "agent", self.sure.policy))


def case_of(state: RunState) -> Case:
    case = steps.case_of(state)
    return replace(case, unchecked=len(case.checks) < len(checks_wanted(case)))
