"""What an attempt came to: `judge` says what it is worth and what the next one must be told."""

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from ralphloop.core.attempt import HINDERED, NEUTRAL_ENDS, Attempt
from ralphloop.core.attempt import End as End
from ralphloop.core.claim import error_in
from ralphloop.core.event import Fault
from ralphloop.core.policy import CheckRule, Policy
from ralphloop.core.story import PlanChange
from ralphloop.core.wording import some


class Commit(Struct, frozen=True):
    sha: str
    subject: str = ""


class Sight(Struct, frozen=True):
    """What was found in the repository and the source once nothing of the agent was left."""

    head: str
    total: int
    done: int
    complete: bool
    open: int = -1  # stories that are not claimed, and not for a person
    change: PlanChange = PlanChange()
    commits: tuple[Commit, ...] = ()
    worked: bool = False
    dirty: int = 0
    dirty_paths: tuple[str, ...] = ()
    source_problem: str = ""
    notes: tuple[str, ...] = ()
    stuck: str = ""
    advice: str = ""


class Check(Struct, frozen=True):
    name: str
    ok: bool
    seconds: float
    said: str = ""
    output: str = ""


Outcome = Literal["done", "progress", "nothing", "failed", "limited", "hindered", "neutral", "stuck"]


class Verdict(Struct, frozen=True):
    """What counts, what is taken back, and what the next attempt must be told."""

    outcome: Outcome
    counted: tuple[str, ...] = ()
    taken_back: tuple[str, ...] = ()
    pending: tuple[str, ...] = ()  # claimed, and to be judged when the run goes on
    false_claim: bool = False
    why: tuple[str, ...] = ()
    failure: str = ""
    error: str = ""
    limited: bool = False
    resets_at: float | None = None
    fault: Fault = ""

    @property
    def complete(self) -> bool:
        return self.outcome == "done"


NO_COMMIT = "no commit holds the work; if an earlier one does, commit a test that shows it"


def obstacles(policy: Policy, sight: Sight, *, claims: bool, uncounted_work: bool) -> tuple[str, ...]:
    """Why nothing that is claimed can count, whatever the checks would say."""
    found = []
    if sight.source_problem:
        found.append(f"the story file was damaged and put back as it was: {sight.source_problem}")
    if sight.stuck:
        found.append(sight.stuck)
    if sight.dirty:
        found.append(f"work is not committed: {some(sight.dirty_paths, sight.dirty)}")
    if policy.require_commit and claims and not (sight.worked or uncounted_work):
        found.append(NO_COMMIT)
    return tuple(found)


def claimed(attempt: Attempt | None, sight: Sight, story: str) -> tuple[str, ...]:
    """The stories somebody now says are finished: by their mark, or by the promise for the story at hand."""
    marked = sight.change.marked
    if attempt and attempt.claim.kind == "story" and story and story not in marked:
        return (*marked, story)
    return marked


class Case(Struct, frozen=True):
    """All that a judgement rests on."""

    policy: Policy
    attempt: Attempt | None
    sight: Sight
    story: str
    checks: tuple[Check, ...] = ()
    unchecked: bool = False  # the run was stopped before every check could be run
    uncounted_work: bool = False  # commits of earlier attempts that no story has been counted for yet
    promised: bool = False  # a promise had been accepted before the runner died

    @property
    def says_done(self) -> bool:
        return self.promised or (self.attempt is not None and self.attempt.claim.kind == "complete")


def checks_wanted(case: Case) -> tuple[CheckRule, ...]:
    """The checks that must be run before this attempt can be judged."""
    claims = bool(claimed(case.attempt, case.sight, case.story))
    if obstacles(case.policy, case.sight, claims=claims, uncounted_work=case.uncounted_work):
        return ()
    return case.policy.checks if case.sight.complete or case.says_done or claims else ()


def judge(case: Case) -> Verdict:
    """What the attempt is worth. Knows nothing of what comes next."""
    attempt, sight, policy = case.attempt, case.sight, case.policy
    marked = claimed(attempt, sight, case.story)
    against = [*obstacles(policy, sight, claims=bool(marked), uncounted_work=case.uncounted_work)]
    against += [f'check "{check.name}" {check.said}' for check in case.checks if not check.ok]
    if case.unchecked:
        against.append("the run was stopped before its checks were through")
    counted = () if against else marked
    taken_back = marked if against and not case.unchecked else ()
    says_done = case.says_done
    # a plan without stories is finished by the promise alone
    by_promise = says_done and (sight.total == 0 or policy.trust_promise)
    # what a promise has claimed gets its mark when it is settled
    by_word = bool(counted) and sight.open == len(set(counted) - set(sight.change.marked))
    complete = not against and (sight.complete or by_promise or by_word)
    false_claim = (says_done and not complete and not case.unchecked) or bool(taken_back)
    if says_done and not complete and not against:
        against.append(f"{sight.total - sight.done} of {sight.total} stories are still open")
    verdict = Verdict(
        outcome=_outcome(case, complete=complete, counted=counted),
        counted=counted,
        taken_back=taken_back,
        pending=marked if case.unchecked else (),
        false_claim=false_claim,
        why=tuple(against),
        error=_error(case),
    )
    if attempt is not None and attempt.limited:
        verdict = replace(verdict, limited=not complete, resets_at=attempt.resets_at)
    if attempt is not None and verdict.outcome == "hindered":
        why = (attempt.error or ENDED.get(attempt.end, attempt.kind))[:500]
        verdict = replace(verdict, fault=attempt.fault or attempt.hindrance, why=(why, *verdict.why), error="")
    return replace(verdict, failure=_failure(case, verdict))


def _outcome(case: Case, *, complete: bool, counted: tuple[str, ...]) -> Outcome:
    attempt = case.attempt
    if complete:
        return "done"
    if case.sight.stuck:
        return "stuck"
    if counted:
        return "progress"
    if attempt is None or case.unchecked:
        return "neutral"
    if attempt.limited:
        return "limited"
    if attempt.end in NEUTRAL_ENDS:
        return "neutral"
    if attempt.kind in HINDERED:
        return "hindered"
    if attempt.end == "timeout" and case.sight.worked:
        return "progress"
    return "failed" if attempt.failed else "nothing"


def _error(case: Case) -> str:
    """What went wrong, as it was said; a time limit is no error."""
    attempt = case.attempt
    if attempt is not None and attempt.error:
        return attempt.error[:LONGEST_ERROR]
    if attempt is not None and attempt.end == "not_started":
        return "the agent could not be started"
    if attempt is not None and attempt.end == "natural" and attempt.exit_code not in (0, None):
        return error_in(attempt.last_words) or f"exit code {attempt.exit_code}"
    red = next((check for check in case.checks if not check.ok), None)
    return f"{red.name}: {error_in(red.output) or red.said}" if red else ""


LONGEST_ERROR = 2_000
ENDED = {
    "timeout": "ran into the time limit and was ended",
    "silence": "was silent for too long and was ended",
    "flooded": "wrote more output than is allowed and was ended",
    "not_started": "could not be started",
    "interrupted": "was cut off when the runner died",
    "stopped": "was stopped by the user",
    "overspent": "used up what it may spend and was ended",
}


def _failure(case: Case, verdict: Verdict) -> str:
    """The account of what went wrong, for the next attempt's prompt."""
    attempt, lines = case.attempt, []
    if attempt is not None:
        if attempt.end in ENDED and verdict.outcome != "hindered":
            lines.append(f"The last attempt {ENDED[attempt.end]} after {attempt.seconds:.0f} s.")
        if attempt.claim.kind == "failed":
            lines.append(f"The last attempt gave up: {attempt.claim.reason}")
        if attempt.error and verdict.outcome != "hindered":
            lines.append(f"It ended with an error: {attempt.error[:2000]}")
        if attempt.claim.kind == "complete" and not verdict.complete:
            lines.append("It claimed that everything is complete. That claim was false.")
    refused = verdict.why[1:] if verdict.outcome == "hindered" else verdict.why
    lines += [f"Not accepted: {why}" for why in refused]
    if verdict.taken_back:
        lines.append(f"The mark was taken back from: {', '.join(verdict.taken_back)}")
    if case.sight.change.unmarked:
        lines.append(f"These stories were unmarked and are marked again: {', '.join(case.sight.change.unmarked)}")
    if case.sight.change.removed:
        lines.append(f"These stories had been removed and were put back: {', '.join(case.sight.change.removed)}")
    lines += [f"Noticed: {note}" for note in case.sight.notes]
    lines += [f'Output of check "{check.name}" (its end):\n{check.output}' for check in case.checks if not check.ok]
    return "\n".join(lines)
