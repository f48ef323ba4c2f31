"""What happened, in lines for people: the same words in every front end. See utterance.py for the agent's own."""

from typing import Literal

from ralphloop.core.attempt import NEUTRAL_ENDS, Attempt
from ralphloop.core.current import clock, current
from ralphloop.core.duration import spoken
from ralphloop.core.errors import LIMITED
from ralphloop.core.record import (
    Answered,
    Attempted,
    Begun,
    Checked,
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
from ralphloop.core.state import RunState
from ralphloop.core.verdict import ENDED, NO_COMMIT, Sight, Verdict
from ralphloop.core.wording import counted, cut, labelled, money, plain, tokens, wished

Kind = Literal["head", "begin", "good", "bad", "note", "talk", "tool", "answer", "fault", "quiet"]
Line = tuple[Kind, str]

MET = {
    "transient": "could not reach its model",
    "rate": "was held up by its model's rate limit",
    "auth": "was not let in by its model",
    "money": "has no credit left",
}
CHECK_SHOWN = 5  # lines of what a check said before it failed


def of_record(state: RunState, record: Record, *, verbose: bool = False) -> list[Line]:
    """The lines a record is worth."""
    match record:
        case Started():
            return [("head", f"run {record.run} · {record.feature} on {record.branch} · agent {record.agent}")]
        case Resumed():
            lines: list[Line] = [("head", f"run {state.start.run} goes on after iteration {state.n}")]
            return lines + [("note", f"ended what was left of it: {plain(what)}") for what in record.ended]
        case Reserved():
            return (
                [("note", cut(plain(f"{record.agent} goes on; {'; '.join(record.passed_over)}"), 300))]
                if (record.passed_over)
                else []
            )
        case Begun():
            return _begun(state, record, verbose=verbose)
        case Attempted():
            return _attempted(record.attempt)
        case Inspected():
            return _inspected(record.sight)
        case Checked():
            check = record.check
            verdict: Line = ("good" if check.ok else "bad", f"check {check.name} {check.said} ({check.seconds:.1f} s)")
            said = [] if check.ok else [plain(line) for line in check.output.splitlines() if line.strip()]
            return [verdict, *(("quiet", cut(line, 300)) for line in (said if verbose else said[-CHECK_SHOWN:]))]
        case Judged():
            return _judged(state, record.verdict)
        case Waiting(why="held"):
            return [("note", "other loops have reserved what is left of the day's budget; waiting for them")]
        case Waiting():
            limit = "the account's usage limit is reached"
            why = limit if record.why == "limit" else "the calls of this hour are used up"
            return [("note", f"{why}; {_until(record.until, record.at)}")]
        case Settled():
            return [*_notes(record.notes), *_settled(state, record.at)]
        case Wished():
            return [("note", _wish(record))]
        case Answered():
            return _settled(state, record.at) or [("note", "not waiting for the limit")]
        case Undone():
            return [("note", plain(f"{record.why}; how it stood is kept as {record.kept}"))]
        case Ended():
            return _ended(state, record)
        case _:
            return []


def _begun(state: RunState, record: Begun, *, verbose: bool) -> list[Line]:
    what = labelled(record.story, record.title) or "no open story: make the checks pass"
    again = f" (try {record.try_number})" if record.try_number > 1 else ""
    lines: list[Line] = [("begin", plain(f"{record.n}/{state.most}  {what}{again}"))]
    lines += _notes(record.notes)
    if record.tree:
        lines.append(("quiet", "the tree was not clean; a snapshot holds it"))
    if verbose:
        lines.append(("quiet", f"prompt of {record.prompt_size:,} characters"))
    return lines


def _notes(notes: tuple[str, ...]) -> list[Line]:
    return [("note", plain(note)) for note in notes]


def _attempted(attempt: Attempt) -> list[Line]:
    lines: list[Line] = []
    used = attempt.tokens.used if attempt.tokens else None
    facts = [
        tokens(used, estimated=attempt.tokens_estimated), money(attempt.cost, estimated=attempt.cost_estimated)
    ]  # fmt: skip
    if used is None and attempt.cost is None:
        facts = ["tokens and cost unknown"]
    told = ENDED.get(attempt.end, "ended" if not attempt.error else "failed")
    if attempt.limited:
        told = "met the usage limit"
    elif attempt.kind in MET:
        told = MET[attempt.kind]
    harmless = attempt.end in NEUTRAL_ENDS or attempt.limited
    kind: Kind = "bad" if attempt.failed and not harmless else "quiet"
    lines.append((kind, f"the attempt {told} · {' · '.join([spoken(attempt.seconds), *facts])}"))
    if attempt.error and not attempt.limited:
        lines.append(("bad", cut(plain(attempt.error), 300)))
    if attempt.claim.kind == "failed":
        lines.append(("bad", f"the agent gave up: {cut(plain(attempt.claim.reason), 300)}"))
    if attempt.leftovers:
        some = "; ".join(plain(what) for what in attempt.leftovers[:3])
        many = len(attempt.leftovers)
        left = "1 process was left behind and has" if many == 1 else f"{many} processes were left behind and have"
        lines.append(("note", cut(f"{left} been ended: {some}", 300)))
    return lines


def _inspected(sight: Sight) -> list[Line]:
    lines: list[Line] = [
        ("quiet", f"commit {one.sha[:10]} {cut(plain(one.subject), 80)}".strip()) for one in sight.commits[:5]
    ]
    if len(sight.commits) > 5:
        lines.append(("quiet", f"… and {counted(len(sight.commits) - 5, 'more commit')}"))
    lines += _notes(sight.notes)
    if sight.source_problem:
        problem = cut(plain(sight.source_problem), 200)
        lines.append(("bad", f"the story file was damaged and has been put back: {problem}"))
    if sight.change.removed:
        removed = cut(", ".join(sight.change.removed), 200)
        lines.append(("bad", f"stories were removed and have been put back: {removed}"))
    if sight.dirty:
        lines.append(
            ("note", plain(f"not committed: {', '.join(sight.dirty_paths[:5])}{' …' if sight.dirty > 5 else ''}"))
        )
    return lines


def _judged(state: RunState, verdict: Verdict) -> list[Line]:
    lines: list[Line] = [("good", f"{story} is finished") for story in verdict.counted]
    why = [cut(plain(_for_the_watcher(one)), 300) for one in verdict.why]
    if verdict.false_claim:
        lines.append(("bad", cut("a false claim: " + "; ".join(why), 400)))
    elif why and state.attempt is not None:
        lines += [("bad", one) for one in why]
    if verdict.taken_back:
        lines.append(("bad", f"the mark was taken back from {', '.join(verdict.taken_back)}"))
    if state.attempt is None:
        return lines
    if verdict.outcome == "nothing" and not why:
        nothing = "" if state.sight and state.sight.commits else ", and there is no commit"
        lines.append(("note", f"no story was marked or promised{nothing}"))
    form = state.forms.get(state.agent)
    if verdict.outcome == "hindered" and form is not None:
        lines.append(("quiet", f"{counted(form.hindered, 'attempt')} lost to this in a row; they count for nothing"))
    if verdict.outcome in ("nothing", "failed"):
        limit = state.policy.no_progress_threshold
        counter = f"no progress in {counted(state.no_progress, 'iteration')}"
        lines.append(("quiet", counter + (f" (limit {limit})" if limit else "")))
    return lines


def _for_the_watcher(why: str) -> str:
    """What the agent is advised to do stands in its prompt."""
    if why == NO_COMMIT:
        return why.partition(";")[0]
    return why.replace("1 of 1 stories are still open", "1 of 1 stories is still open")


def _settled(state: RunState, now: float) -> list[Line]:
    """Nothing more is told until it goes on: how long that is."""
    at_hand = current(state, now)
    if at_hand.step in ("trouble", "budget"):
        return [("note", at_hand.said(now))]
    if at_hand.step != "limit" or at_hand.until is None:
        return []
    return [("note", f"waiting for the usage limit to reset; {_until(at_hand.until, now)}")]


def _until(moment: float, now: float) -> str:
    return f"on again at {clock(moment, now)}, in {spoken(max(0, moment - now))}"


def _wish(record: Wished) -> str:
    return {
        "tell": f"for the next prompt: {cut(plain(record.text), 200)}",
        "pause": "pausing after this iteration",
        "resume": "going on",
        "stop": "stopping after this iteration",
        "stop_now": f"stopping now ({record.text or 'asked by the user'})",
    }[record.wish]


def _ended(state: RunState, record: Ended) -> list[Line]:
    why, advice = plain(record.why), record.advice
    lines: list[Line]
    if record.status == "done":
        lines = [("good", f"done: {why}")]
        if state.archive:
            lines.append(("good", plain(f"archived to {state.archive}; commit the move yourself")))
    elif wished(record.why):
        signal = record.why.removeprefix("stopped by ")
        lines = [("note", "stopped, as you asked" if signal == record.why else f"interrupted by {signal}")]
    elif record.exit_code == LIMITED:
        lines = [("note", f"stopped: {why}")]
    else:
        lines = [("bad", f"stopped: {why}" if record.status == "stopped" else why)]
    return [*lines, ("note", plain(advice))] if advice else lines
