"""What a run looks like from outside: status.json, loop-state.json and the rows that every front end draws."""

from datetime import UTC, datetime
from functools import lru_cache
from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from ralphloop.core.current import current
from ralphloop.core.errors import LIMITED, SIGNALLED
from ralphloop.core.history import Iteration
from ralphloop.core.state import RunState


def zulu(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@lru_cache(maxsize=4096)  # every view shows the whole history again
def with_offset(at: float) -> str:
    return datetime.fromtimestamp(at).astimezone().isoformat(timespec="seconds")


class StatusFile(Struct, frozen=True, rename="camel"):
    """`.ralph/<feature>/status.json`."""

    iteration: int
    max_iterations: int
    status: Literal["running", "paused", "completed", "failed"]
    feature: str
    stories_complete: int
    stories_total: int
    api_calls_used: int
    api_calls_limit: int | None
    rate_limit_resets_at: str | None
    started_at: str
    last_updated: str


def status_file(state: RunState, now: float) -> StatusFile:
    return StatusFile(
        iteration=state.n,
        max_iterations=state.most,
        status=status_word(state),
        feature=state.start.feature,
        stories_complete=state.done,
        stories_total=state.total,
        api_calls_used=state.calls,
        api_calls_limit=state.policy.rate_per_hour,
        rate_limit_resets_at=zulu(state.calls_reset_at) if state.calls_reset_at else None,
        started_at=zulu(state.start.at),
        last_updated=zulu(now),
    )


def status_word(state: RunState) -> Literal["running", "paused", "completed", "failed"]:
    if state.end is not None:
        return "completed" if state.end.status == "done" else "failed"
    waits = state.paused or state.limited or state.waiting is not None or state.denied is not None
    return "paused" if waits and state.phase == "idle" else "running"


class IterationEntry(Struct, frozen=True):
    """One finished iteration in loop-state.json."""

    n: int
    started: str
    ended: str
    done_check: bool
    commits: tuple[str, ...]
    tokens_used: int
    exit_reason: Literal["natural", "timeout", "error", "signal", "api_limit"]
    timed_out: bool | UnsetType = UNSET
    tokens_estimated: bool | UnsetType = UNSET


class LoopStateFile(Struct, frozen=True):
    """`.claude/loop-state.json`."""

    change_id: str
    worktree_name: str
    status: Literal["starting", "running", "done", "stuck", "stalled", "stopped"]
    task: str
    current_iteration: int
    max_iterations: int
    started_at: str
    done_criteria: Literal["tasks", "manual"]
    stall_threshold: int
    iteration_timeout_min: float
    total_tokens: int
    terminal_pid: int | None
    iterations: tuple[IterationEntry, ...]
    status_detail: str = ""


def loop_state_file(state: RunState, pid: int | None) -> LoopStateFile:
    starting = state.n == 0 and state.end is None
    return LoopStateFile(
        change_id=state.start.feature,
        worktree_name=state.start.worktree.rstrip("/").rpartition("/")[2],
        status=state.end.status if state.end else "starting" if starting else "running",
        task=state.start.description or f"stories of {state.start.source}",
        current_iteration=state.n,
        max_iterations=state.most,
        started_at=with_offset(state.start.at),
        done_criteria="tasks",
        stall_threshold=state.policy.no_progress_threshold or 0,
        iteration_timeout_min=state.policy.timeout / 60,
        total_tokens=sum(row.tokens or 0 for row in state.iterations),
        terminal_pid=pid if state.end is None else None,
        iterations=tuple(_entry(row) for row in state.iterations),
        status_detail=detail(state),
    )


def _entry(row: Iteration) -> IterationEntry:
    reasons: dict[str, Literal["natural", "timeout", "error", "signal", "api_limit"]] = {
        "timeout": "timeout",
        "silence": "timeout",
        "stopped": "signal",
        "interrupted": "signal",
        "flooded": "error",
        "not_started": "error",
    }
    reason = reasons.get(row.end, "error" if row.outcome == "failed" else "natural")
    return IterationEntry(
        n=row.n,
        started=with_offset(row.started),
        ended=with_offset(row.ended),
        done_check=row.done,
        commits=row.commits,
        tokens_used=row.tokens or 0,
        exit_reason="api_limit" if row.outcome == "limited" else reason,
        timed_out=True if row.end == "timeout" else UNSET,
        tokens_estimated=True if row.tokens_estimated else UNSET,
    )


def detail(state: RunState) -> str:
    """Why a run waits or has ended, in one word for programs."""
    if state.end is not None and state.end.detail:
        return state.end.detail
    if state.end is not None:
        words = {LIMITED: "api_limit", **dict.fromkeys(SIGNALLED.values(), "signal")}
        return words.get(state.end.exit_code, state.end.status)
    if state.paused:
        return "waiting:human"
    if state.limited:
        return "waiting:api"
    if state.denied is not None:
        return "waiting:budget"
    return f"waiting:{state.waiting.why}" if state.waiting is not None else ""


class RunRow(Struct, frozen=True):
    """A run in one line: kept beside its journal, so that a status costs one small read."""

    run: str
    feature: str
    branch: str
    worktree: str
    status: str
    detail: str
    iteration: int
    max_iterations: int
    stories_complete: int
    stories_total: int
    story: str
    story_title: str
    phase: str
    calls_used: int
    calls_limit: int | None
    calls_reset_at: float | None
    waiting_until: float | None
    no_progress: int
    no_progress_threshold: int | None
    same_error: int
    same_error_threshold: int | None
    false_claims: int
    tokens: int
    cost: float | None
    cost_unknown: int  # attempts whose cost nobody told
    started_at: float
    iteration_started_at: float | None
    updated_at: float
    why: str
    advice: str
    exit_code: int | None
    archive: str
    pid: int | None
    tokens_unknown: int = 0  # attempts whose tokens nobody told
    step: str = ""  # what is being done: see core/current.py
    check: str = ""  # the check that is run
    step_since: float | None = None
    step_allowed: float | None = None  # seconds it may take
    step_until: float | None = None  # when what is waited for has come
    agent: str = ""  # the one at hand
    cost_limit: float | None = None  # of the run's budget
    tokens_limit: int | None = None
    cost_estimated: bool = False  # from the table of prices, in part at least
    tokens_estimated: bool = False


def run_row(state: RunState, pid: int | None) -> RunRow:
    begun, end, policy = state.begun, state.end, state.policy
    waiting_until = state.waiting.until if state.waiting else None
    if state.limited and state.verdict is not None and waiting_until is None:
        waiting_until = state.verdict.resets_at
    at_hand = current(state, state.last_at)
    return RunRow(
        run=state.start.run,
        feature=state.start.feature,
        branch=state.start.branch,
        worktree=state.start.worktree,
        status=status_word(state),
        detail=detail(state),
        iteration=state.n,
        max_iterations=state.most,
        stories_complete=state.done,
        stories_total=state.total,
        story=state.story,
        story_title=begun.title if begun else "",
        phase=state.phase,
        calls_used=state.calls,
        calls_limit=policy.rate_per_hour,
        calls_reset_at=state.calls_reset_at,
        waiting_until=waiting_until,
        no_progress=state.no_progress,
        no_progress_threshold=policy.no_progress_threshold,
        same_error=state.same_error,
        same_error_threshold=policy.same_error_threshold,
        false_claims=sum(row.false_claim for row in state.iterations),
        tokens=sum(row.tokens or 0 for row in state.iterations),
        cost=known_cost(state),
        cost_unknown=cost_unknown(state),
        started_at=state.start.at,
        iteration_started_at=begun.at if begun and state.phase == "begun" else None,
        updated_at=state.last_at,
        why=end.why if end else "",
        advice=end.advice if end else "",
        exit_code=end.exit_code if end else None,
        archive=state.archive,
        pid=pid if end is None else None,
        tokens_unknown=tokens_unknown(state),
        step=at_hand.step,
        check=at_hand.name if at_hand.step == "check" else "",
        step_since=at_hand.since,
        step_allowed=at_hand.allowed,
        step_until=at_hand.until,
        agent=state.agent,
        cost_limit=policy.budget.run.cost,
        tokens_limit=policy.budget.run.tokens,
        cost_estimated=any(row.cost_estimated for row in state.iterations),
        tokens_estimated=any(row.tokens_estimated for row in state.iterations),
    )


def known_cost(state: RunState) -> float | None:
    """The sum of what is known; nothing known is not zero."""
    costs = [row.cost for row in state.iterations if row.cost is not None]
    return sum(costs) if costs else None


def cost_unknown(state: RunState) -> int:
    return sum(row.cost is None for row in state.iterations)


def tokens_unknown(state: RunState) -> int:
    return sum(row.tokens is None for row in state.iterations)
