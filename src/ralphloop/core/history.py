"""All that is known of a run, as a value, and the iterations that are over, a line each."""

from typing import Literal

from msgspec import Struct

from ralphloop.core.attempt import Attempt
from ralphloop.core.lineup import Form
from ralphloop.core.policy import Bound, Policy
from ralphloop.core.record import Begun, Denied, Ended, Reserved, Started, Waiting
from ralphloop.core.verdict import Check, Sight, Verdict

Phase = Literal["idle", "reserved", "begun", "attempted", "inspected", "judged"]


class Iteration(Struct, frozen=True):
    """One line of the history that every view shows."""

    n: int
    story: str
    started: float
    ended: float
    outcome: str
    end: str
    done: bool = False
    commits: tuple[str, ...] = ()
    counted: tuple[str, ...] = ()
    tokens: int | None = None
    cost: float | None = None
    false_claim: bool = False
    agent: str = ""
    model: str = ""
    kind: str = ""
    seconds: float = 0  # of the agent at work
    allowed: Bound | None = None  # what was reserved for it
    cost_estimated: bool = False
    tokens_estimated: bool = False


class RunState(Struct, frozen=True):
    """All that `decide` and the views need to know of a run."""

    start: Started
    policy: Policy
    agent: str  # the one at hand
    phase: Phase = "attempted"  # the first thing to do is to look
    n: int = 0
    begun: Begun | None = None
    attempt: Attempt | None = None
    sight: Sight | None = None
    checks: tuple[Check, ...] = ()
    verdict: Verdict | None = None
    iterations: tuple[Iteration, ...] = ()
    head: str = ""  # the last good head: everything up to it is finished or the user's
    given: Begun | None = None  # the iteration before which only the user had been here
    source: str = ""
    total: int = 0
    done: int = 0
    story: str = ""
    tries: int = 0  # attempts at the story at hand
    complete: bool = False
    promised: bool = False  # it was complete by the agent's promise, which no file shows
    uncounted_work: bool = False
    pending: tuple[str, ...] = ()
    no_progress: int = 0
    same_error: int = 0
    last_error: str = ""
    failure: str = ""
    told: tuple[str, ...] = ()
    wishes: frozenset[str] = frozenset()
    paused: bool = False
    stop: str = ""  # who asked: a signal's name, or "user"
    stop_now: bool = False
    limited: bool = False
    waiting: Waiting | None = None
    on_limit: str = ""
    forms: dict[str, Form] = {}
    wanted: str = ""  # the agent that the next story names
    reserved: Reserved | None = None
    denied: Denied | None = None  # why no attempt may begin
    lost: int = 0  # iterations that an agent's model or account has cost: they do not count against the limit
    waited_for: int = 0  # and those that met the usage limit, each of which is waited for
    calls: int = 0
    calls_reset_at: float | None = None
    archive: str = ""
    end: Ended | None = None
    settled_at: float = 0
    taken_back: int = 0  # iterations that the user took back: they do not count against the limit
    last_at: float = 0

    @property
    def most(self) -> int:
        """The number of the last iteration there may be."""
        return (
            self.policy.max_iterations + self.taken_back + min(self.lost, self.policy.max_iterations) + self.waited_for
        )

    @property
    def active(self) -> bool:
        return self.end is None


def finished(state: RunState, begun: Begun, attempt: Attempt, verdict: Verdict, at: float) -> Iteration:
    sight, reserved = state.sight, state.reserved
    return Iteration(
        n=begun.n,
        story=begun.story,
        started=begun.at,
        ended=at,
        outcome=verdict.outcome,
        end=attempt.end,
        done=verdict.complete,
        commits=tuple(commit.sha for commit in sight.commits) if sight else (),
        counted=verdict.counted,
        tokens=attempt.tokens.used if attempt.tokens else None,
        cost=attempt.cost,
        false_claim=verdict.false_claim,
        agent=state.agent,
        model=attempt.model,
        kind=attempt.kind,
        seconds=attempt.seconds,
        allowed=reserved.allowed if reserved else None,
        cost_estimated=attempt.cost_estimated,
        tokens_estimated=attempt.tokens_estimated,
    )


def unfinished(begun: Begun, at: float) -> Iteration:
    """What was never judged, for the user went back to before it."""
    return Iteration(n=begun.n, story=begun.story, started=begun.at, ended=at, outcome="undone", end="interrupted")
