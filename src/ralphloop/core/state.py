"""RunState, the fold of a journal: the one file in which the state of a run changes."""

from collections.abc import Iterable

from msgspec.structs import replace

from ralphloop.core import lineup
from ralphloop.core.claim import normalised
from ralphloop.core.errors import NOT_DONE, DamagedProblem
from ralphloop.core.history import Phase, finished, unfinished
from ralphloop.core.history import RunState as RunState
from ralphloop.core.record import (
    Answered,
    Archived,
    Attempted,
    Begun,
    Checked,
    Denied,
    Ended,
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
from ralphloop.core.verdict import Verdict


class IllegalRecord(DamagedProblem):
    """A record that cannot follow what stands before it."""


COMES_AFTER: dict[type, tuple[Phase, ...]] = {
    Reserved: ("idle",),
    Waiting: ("idle", "reserved"),
    Denied: ("idle", "reserved"),
    Begun: ("reserved",),
    Attempted: ("begun",),
    Inspected: ("attempted", "inspected"),
    Checked: ("inspected",),
    Judged: ("inspected",),
    Settled: ("judged",),
    Answered: ("idle",),
    Archived: ("idle",),
}


def evolve(state: RunState | None, record: Record) -> RunState:
    """The state after one more record. An illegal one raises and changes nothing."""
    if isinstance(record, Started):
        if state is not None:
            raise IllegalRecord("a run cannot start twice")
        return RunState(
            record, record.policy, record.agent, head=record.head, pending=record.pending, last_at=record.at
        )
    if state is None:
        raise IllegalRecord("a journal begins with the start of its run")
    allowed = COMES_AFTER.get(type(record))
    if allowed is not None and state.phase not in allowed:
        raise IllegalRecord(f"{type(record).__name__} cannot follow while the run is {state.phase}")
    if state.end is not None and not isinstance(record, Resumed | Undone):
        raise IllegalRecord("the run has ended")
    return replace(_applied(state, record), last_at=record.at)


def replay(records: Iterable[Record]) -> RunState:
    state: RunState | None = None
    for record in records:
        state = evolve(state, record)
    if state is None:
        raise DamagedProblem("the journal is empty")
    return state


def _applied(state: RunState, record: Record) -> RunState:
    match record:
        case Resumed():
            return _resumed(state, record)
        case Reserved():
            return replace(
                state,
                phase="reserved",
                waiting=None,
                limited=False,
                denied=None,
                reserved=record,
                agent=record.agent or state.agent,
                calls=record.calls,
                calls_reset_at=record.resets_at,
            )
        case Waiting():
            return _waiting(state, record)
        case Denied():
            return replace(state, phase="idle", denied=record)
        case Begun():
            return _begun(state, record)
        case Attempted():
            return replace(state, phase="attempted", attempt=record.attempt)
        case Inspected():
            return _inspected(state, record)
        case Checked():
            return replace(state, checks=(*state.checks, record.check))
        case Judged():
            return _judged(state, record.verdict, record.at)
        case Settled():
            return _settled(state, record)
        case Wished():
            return _wished(state, record)
        case Answered():
            return replace(state, on_limit=record.choice)
        case Archived():
            return replace(state, archive=record.path)
        case Ended():
            return replace(state, end=record)
        case Undone():
            return _undone(state, record)
        case _:
            raise IllegalRecord(f"{type(record).__name__} is not known here")


def _waiting(state: RunState, record: Waiting) -> RunState:
    limited = record.why == "limit"
    forms = state.forms | {record.agent: lineup.Form(free_at=record.until)} if limited and record.agent else state.forms
    return replace(
        state,
        phase="idle",
        waiting=record,
        limited=limited,
        forms=forms,
        calls=record.calls or state.calls,
        calls_reset_at=record.until if record.why == "rate" else state.calls_reset_at,
    )


def _resumed(state: RunState, record: Resumed) -> RunState:
    in_hand = state.phase not in ("idle", "reserved")
    fresh = replace(
        state,
        policy=record.policy,
        agent=state.agent if in_hand else record.agent,
        end=None,
        stop="",
        stop_now=False,
        paused=False,
        waiting=None,  # the account's ledger knows, under whatever rules hold now
        denied=None,
        forms={},
        phase="idle" if state.phase == "reserved" else state.phase,  # what was reserved is asked for anew
        limited=False,
        on_limit="",
    )
    if fresh.phase == "idle" and not (state.sight and state.sight.dirty):
        fresh = replace(fresh, given=None)
    if state.phase == "inspected":
        same = record.policy.checks == state.policy.checks
        green = tuple(check for check in state.checks if check.ok) if same else ()
        fresh = replace(fresh, phase="attempted", checks=green)
    if fresh.phase == "idle" and not state.archive:
        # time has passed: nothing is believed that was not seen by this runner
        fresh = replace(fresh, phase="attempted", attempt=None, begun=None, sight=None, checks=(), complete=False)
    if record.reset_breakers:
        fresh = replace(fresh, no_progress=0, same_error=0, last_error="")
    return fresh


def _undone(state: RunState, record: Undone) -> RunState:
    """As if the run had just begun there; its history and its numbers go on."""
    fresh = RunState(state.start, state.policy, state.agent, n=state.n, head=record.head, source=record.source)
    advice = "`ralph run` goes on from there; `ralph undo --back` takes it back"
    cut_off = (
        () if state.begun is None or state.phase in ("idle", "reserved") else (unfinished(state.begun, record.at),)
    )
    return replace(
        fresh,
        iterations=(*state.iterations, *cut_off),
        total=record.total,
        done=record.done,
        failure=f"The user took back what was there: {record.why}.",
        told=state.told,
        wishes=state.wishes,
        taken_back=state.n - record.before + 1 if record.before else state.taken_back,
        lost=state.lost - _undone_of(state, record, "hindered"),
        waited_for=state.waited_for - _undone_of(state, record, "limited"),
        calls=state.calls,
        calls_reset_at=state.calls_reset_at,
        end=Ended(record.at, "stopped", NOT_DONE, record.why, advice),
    )


def _begun(state: RunState, record: Begun) -> RunState:
    if record.n != state.n + 1:
        raise IllegalRecord(f"iteration {record.n} cannot follow iteration {state.n}")
    return replace(
        state,
        phase="begun",
        n=record.n,
        begun=record,
        given=state.given or record,
        head=record.head,
        source=record.source,
        story=record.story,
        tries=record.try_number,
        total=record.total,
        done=record.done,
        attempt=None,
        sight=None,
        checks=(),
        verdict=None,
        promised=False,
    )


def _inspected(state: RunState, record: Inspected) -> RunState:
    sight = record.sight
    same = state.sight is not None and state.sight.head == sight.head and not sight.dirty
    return replace(
        state,
        phase="inspected",
        sight=sight,
        checks=state.checks if same else (),
        total=sight.total,
        done=sight.done - len(sight.change.marked),  # what is claimed is not proven yet
        uncounted_work=state.uncounted_work or sight.worked,
    )


def _judged(state: RunState, verdict: Verdict, at: float) -> RunState:
    moved = verdict.outcome in ("progress", "done")
    neutral = verdict.outcome in ("neutral", "limited", "hindered", "stuck")
    same = bool(verdict.error) and normalised(verdict.error) == normalised(state.last_error)
    changed = replace(
        state,
        phase="judged",
        verdict=verdict,
        complete=verdict.complete,
        promised=verdict.complete,
        limited=verdict.limited,
        pending=verdict.pending,
        failure=state.failure or verdict.failure if neutral else verdict.failure,
        uncounted_work=state.uncounted_work and not verdict.counted,
    )
    if verdict.limited:
        changed = replace(changed, waiting=None, on_limit="")
    if state.attempt is None:
        return changed
    since = state.begun.at if state.begun else state.last_at
    form = lineup.after(state.forms.get(state.agent, lineup.FRESH), verdict, state.policy, since, at)
    changed = replace(changed, forms=state.forms | {state.agent: form})
    if neutral:
        limited = verdict.outcome == "limited"
        return replace(
            changed, lost=state.lost + (verdict.outcome == "hindered"), waited_for=state.waited_for + limited
        )
    return replace(
        changed,
        told=state.told[state.begun.told if state.begun else 0 :],
        no_progress=0 if moved else state.no_progress + 1,
        same_error=(state.same_error + 1 if same else 1) if verdict.error else 0,
        last_error=verdict.error,
    )


def _undone_of(state: RunState, record: Undone, outcome: str) -> int:
    """How many iterations that ended like this are taken back."""
    return sum(row.outcome == outcome for row in state.iterations if 0 < record.before <= row.n)


def _settled(state: RunState, record: Settled) -> RunState:
    unproven = set(state.pending) & set(state.sight.change.marked) if state.sight is not None else ()
    settled = replace(
        state,
        phase="idle",
        source=record.source,
        total=record.total,
        done=record.done - len(unproven),
        settled_at=record.at,
        wanted=record.wanted,
    )
    if state.sight is not None:
        settled = replace(settled, head=state.sight.head)
        if not state.sight.dirty:  # what is found uncommitted from now on came from the user or from a check
            settled = replace(settled, given=None)
    if state.attempt is None or state.begun is None or state.verdict is None:
        return settled
    row = finished(state, state.begun, state.attempt, state.verdict, record.at)
    return replace(settled, iterations=(*state.iterations, row))


def _wished(state: RunState, record: Wished) -> RunState:
    if record.id in state.wishes:
        return state
    known = replace(state, wishes=state.wishes | {record.id})
    match record.wish:
        case "tell":
            return replace(known, told=(*state.told, record.text))
        case "pause":
            return replace(known, paused=True)
        case "resume":
            return replace(known, paused=False)
        case _:
            now = state.stop_now or record.wish == "stop_now"
            return replace(known, stop=state.stop or record.text or "user", stop_now=now)
