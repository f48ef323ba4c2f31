"""A run told anew: its records, and what the agent said and did, read from its logs, where it was heard."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from ralphloop.agents import table as agents
from ralphloop.api.looking import find_run, standing
from ralphloop.config import Config, load
from ralphloop.core.errors import Problem
from ralphloop.core.event import Event, Said
from ralphloop.core.ports import Parser
from ralphloop.core.record import Attempted, Begun, Ended, Record, Settled, Wished
from ralphloop.core.state import RunState, evolve
from ralphloop.host.journal import read, read_from
from ralphloop.host.places import Home, RunFolder

CHUNK = 1 << 18
PATIENCE = 25
WHICH = "`ralph log` shows which iterations there are"
Hear = Callable[[RunState, Record | Event], None]


def quiet() -> None:
    """For those who have nothing to do while nothing happens."""


def retell(run: str, folder: str, hear: Hear, *, iteration: int = 0) -> None:
    """Everything that happened until now, or in one iteration, in the order in which it was told then."""
    place = find_run(run, folder)
    teller = _Teller(place, hear, iteration)
    for record in read(place.journal):
        teller.record(record)
    teller.log()
    if iteration and not teller.seen:
        raise Problem(f"run {place.name} has no iteration {iteration}", WHICH)


def follow(
    run: str,
    folder: str,
    hear: Hear,
    *,
    iteration: int = 0,
    until: Callable[[], bool] = lambda: False,
    beat: Callable[[], None] = quiet,
    sleep: float = 0.2,
) -> None:
    """The same, and what is to come: to the end of the run or iteration, or until somebody has heard enough."""
    place = find_run(run, folder)
    teller = _Teller(place, hear, iteration)
    offset, alive, patience = 0, True, PATIENCE
    while True:
        for record, behind in read_from(place.journal, offset):
            offset = behind
            teller.record(record)
        teller.log()
        if teller.over or until() or not alive:
            break
        if teller.state is None:  # the journal is there, its first word is not
            patience -= 1
            alive = patience > 0
        else:
            alive = standing(place).alive  # what a runner wrote last is read once more
        beat()
        time.sleep(sleep if alive else 0)
    if iteration and not teller.seen:
        raise Problem(f"run {place.name} has ended before iteration {iteration}", WHICH)


class _Teller:
    """Puts a run's records and the events of its logs in one row."""

    def __init__(self, place: RunFolder, hear: Hear, iteration: int) -> None:
        self.place, self.hear, self.iteration = place, hear, iteration
        self.state: RunState | None = None
        self.reading: _Reading | None = None
        self.waiting: list[tuple[RunState, Record]] = []  # wishes that came while the agent worked
        self.seen = self.through = self.over = False
        self.config: Config | None = None

    @property
    def wanted(self) -> bool:
        """Whether what comes now belongs to what was asked for."""
        if not self.iteration:
            return True
        return self.seen and not self.through and self.state is not None and self.state.n == self.iteration

    def record(self, record: Record) -> None:
        state = self.state = evolve(self.state, record)
        if isinstance(record, Begun):
            self.seen = self.seen or record.n == self.iteration
            self._tell(record)
            log = self.place.attempt(record.n)
            self.reading = _Reading(log, self._parser(state)) if self.wanted else None
            return
        if isinstance(record, Wished) and self.reading is not None:
            # nobody knows any more between which words it came; it ends them, if anything
            self.waiting.append((state, record))
            return
        if isinstance(record, Attempted):
            self.log(last=True, words=record.attempt.last_words)
        self._tell(record)
        self.through = self.through or (isinstance(record, Settled) and self.seen and state.n == self.iteration)
        self.over = self.through or isinstance(record, Ended)

    def log(self, *, last: bool = False, words: str = "") -> None:
        """What the log of the attempt at hand has gained; `last` when nothing more will come."""
        if self.reading is not None and self.state is not None:
            heard = self.reading.take(self._tell)
            if last:
                if not heard and words:
                    self._tell(Said(words))
                self.reading.close(self._tell)
                self.reading = None
        for state, record in self.waiting:
            if self.wanted:
                self.hear(state, record)
        self.waiting.clear()

    def _tell(self, said: Record | Event) -> None:
        if self.state is not None and self.wanted:
            self.hear(self.state, said)

    def _parser(self, state: RunState) -> Parser | None:
        """None when the configuration has lost the agent of that time: the journal still has its last words."""
        try:
            self.config = self.config or load(Home.usual().root, Path(state.start.worktree))
            return agents.named(state.agent, self.config.agent_settings(state.agent)).parser()
        except Problem:
            return None


class _Reading:
    """One attempt's log as it grows."""

    def __init__(self, path: Path, parser: Parser | None) -> None:
        self.path, self.parser = path, parser
        self.stream: BinaryIO | None = None
        self.heard = False

    def take(self, tell: Callable[[Event], None]) -> bool:
        """True when there is a log to read."""
        if self.parser is None:
            return False
        if self.stream is None:
            try:
                self.stream = self.path.open("rb")
            except OSError:
                return False
        while data := self.stream.read(CHUNK):
            for event in self.parser.feed(data):
                tell(event)
        return True

    def close(self, tell: Callable[[Event], None]) -> None:
        if self.stream is not None and self.parser is not None:
            for event in self.parser.close():
                tell(event)
            self.stream.close()
