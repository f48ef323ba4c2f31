"""The account of a run on the terminal or as JSON lines: the same while it goes on and when it is told anew."""

import time

import msgspec

from ralphloop.cli.output import Screen, data, say
from ralphloop.core import sentence, utterance
from ralphloop.core.current import current, story_at_hand
from ralphloop.core.duration import spoken
from ralphloop.core.event import Event, Said, Spent, ToolCalled
from ralphloop.core.record import Begun, Record, Wished
from ralphloop.core.state import RunState
from ralphloop.core.view import cost_unknown, known_cost, tokens_unknown
from ralphloop.core.wording import counted, cut, plain, spent, tokens

EVENTS = Event.__args__
ONCE = ("bad", "note")  # kinds of lines that are told once an iteration: the second time they are no news


def _spent(state: RunState, used: int) -> str:
    return spent(
        used,
        tokens_unknown(state),
        known_cost(state),
        cost_unknown(state),
        cost_estimated=any(row.cost_estimated for row in state.iterations),
        tokens_estimated=any(row.tokens_estimated for row in state.iterations),
    )


class JsonLines:
    """Every record and event as a line; nothing else on stdout."""

    def hear(self, state: RunState | None, said: Record | Event) -> None:
        data(msgspec.json.encode(said))

    def tick(self) -> None:
        """Nothing changes here while nothing happens."""

    def close(self, state: RunState) -> None:
        """The last record says it all."""


class Account:
    """What happens, readable; with -v all of it. `stamped` lines tell the time of day."""

    def __init__(self, *, verbose: bool, stamped: bool = False) -> None:
        self.verbose, self.stamped = verbose, stamped
        self.screen = Screen()
        self.state: RunState | None = None
        self.doing, self.spent = "", 0
        self.since: float | None = None  # when the last step was through
        self.exits_at: float | None = None  # while a question is open
        self.told: set[tuple[str, str]] = set()

    def hear(self, state: RunState | None, said: Record | Event) -> None:
        self.state = state
        if isinstance(said, EVENTS):
            self._event(said)
        elif state is not None:
            self._record(state, said)  # type: ignore[arg-type]

    def _event(self, event: Event) -> None:
        worktree = self.state.start.worktree if self.state else ""
        if isinstance(event, ToolCalled):
            self.doing = cut(plain(f"{event.name} {event.about}".replace(f"{worktree}/", "")), 60)
        elif isinstance(event, Said):
            self.doing = ""
        elif isinstance(event, Spent):
            self.spent = event.tokens.used
        for kind, text in utterance.of_event(event, verbose=self.verbose, worktree=worktree):
            self._line(kind, text)

    def _record(self, state: RunState, record: Record) -> None:
        if isinstance(record, Begun):
            self.doing, self.spent = "", 0
            self.told.clear()
            self.screen.line("head", "")
        if not isinstance(record, Wished):
            self.since = record.at
            self.screen.bottom("")
        stamp = time.strftime("%H:%M:%S ", time.localtime(record.at)) if self.stamped else ""
        for kind, text in sentence.of_record(state, record, verbose=self.verbose):
            self._line(kind, f"{stamp}{text}" if kind in ("head", "begin") else text)

    def _line(self, kind: str, text: str) -> None:
        if kind in ONCE and (kind, text) in self.told:
            return
        self.told.add((kind, text))
        self.screen.line(kind, text)

    def tick(self) -> None:
        """What is being done now, on the line at the bottom."""
        if self.state is None or not self.screen.live:
            return
        now = time.time()
        at_hand = current(self.state, now, self.since)
        details: tuple[str, ...] = ()
        if at_hand.step == "agent":
            details = (tokens(self.spent) if self.spent else "", self.doing)
            at_hand = msgspec.structs.replace(at_hand, name=self.state.story or story_at_hand(self.state))
        elif at_hand.step == "ask" and self.exits_at is not None:
            at_hand = msgspec.structs.replace(at_hand, until=self.exits_at)
        said = at_hand.said(now, details)
        self.screen.bottom(f"    {said}" if said else "")

    def close(self, state: RunState) -> None:
        """The last lines: what was built, what it took."""
        self.screen.bottom("")
        commits, rounds = sum(len(row.commits) for row in state.iterations), len(state.iterations)
        used = sum(row.tokens or 0 for row in state.iterations)
        say("")
        facts = [f"{state.done} of {state.total} stories finished", counted(rounds, "iteration")]
        facts += [counted(commits, "commit"), spoken(sum(row.seconds for row in state.iterations))]
        if rounds:
            facts.append(_spent(state, used))
        self.screen.line("head", " · ".join(facts))
