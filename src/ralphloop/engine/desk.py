"""Everything the steps of one run need at hand: its places, its source, its agent, its journal and its clock."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import ParamSpec, TypeVar

from ralphloop.core.errors import DamagedProblem, Problem
from ralphloop.core.event import Event
from ralphloop.core.ports import Agent, Meter, Source
from ralphloop.core.record import Record, Wished
from ralphloop.core.state import RunState, evolve
from ralphloop.core.story import Plan
from ralphloop.engine import publish
from ralphloop.host import wishes
from ralphloop.host.account import Account
from ralphloop.host.census import MARK
from ralphloop.host.files import Lock, make_folder, read, replace
from ralphloop.host.git import Git, Repository
from ralphloop.host.journal import Journal
from ralphloop.host.places import SOURCE_LIMIT, Home, RunFolder, inside

Given = ParamSpec("Given")
Got = TypeVar("Got")
Hear = Callable[[RunState | None, Record | Event], None]
Asks = Callable[[RunState, float], Awaitable[str]]


BEAT = 1.0  # seconds


def deaf(state: RunState | None, said: Record | Event) -> None:
    """For a run that nobody watches."""


async def exits(state: RunState, seconds: float) -> str:
    """The answer where nobody can be asked."""
    return "exit"


class Desk:
    """One run in hand. Only `emit` changes its state."""

    def __init__(
        self,
        *,
        home: Home,
        folder: RunFolder,
        repository: Repository,
        source: Source,
        agent_named: Callable[[str], Agent],
        meter: Meter,
        template: str,
    ) -> None:
        self.home, self.folder, self.repository = home, folder, repository
        self.source, self.agent_named, self.meter, self.template = source, agent_named, meter, template
        self.git = Git(repository.worktree)
        self.state: RunState | None = None
        self.journal: Journal | None = None
        self.locks: list[Lock] = []
        self.hear: Hear = deaf
        self.asks: Asks = exits
        self.clock: Callable[[], float] = time.time
        self.sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
        self.stop = asyncio.Event()
        self.stirred = asyncio.Event()  # something was wished for
        self.attended = 0  # the iteration whose agent this runner has started
        self._next_beat = 0.0
        self.git.hurry = self.stop.is_set
        self.git.env[MARK] = f"{folder.name}.git"  # by which the next runner finds what a filter of git left
        self._good = ("", b"")
        self.signals: list[tuple[str, str]] = []  # that came and are not in the journal yet

    @property
    def now(self) -> RunState:
        if self.state is None:
            raise DamagedProblem("this run has not been started")
        return self.state

    @property
    def feature_dir(self) -> str:
        return f".ralph/{self.now.start.feature}"

    @property
    def feature_folder(self) -> Path:
        return Path(self.repository.worktree, self.feature_dir)

    @property
    def held_files(self) -> tuple[str, ...]:
        """What changes with every iteration and is held with the run."""
        return (self.now.start.source, f"{self.feature_dir}/progress.txt")

    @property
    def source_path(self) -> Path:
        return Path(self.repository.worktree, self.now.start.source)

    @property
    def agent(self) -> Agent:
        """The one whose turn it is."""
        return self.agent_named(self.now.agent)

    def account(self, agent: str) -> Account:
        return Account(self.home.account(self.now.policy.accounts.get(agent) or agent))

    @property
    def refs(self) -> str:
        return f"refs/ralph/{self.folder.name}"

    def emit(self, record: Record) -> RunState:
        """Law 1: it is on disk when this returns, and only then it is so."""
        after = evolve(self.state, record)
        if self.journal is None:
            raise DamagedProblem("this run's journal is not open")
        self.journal.append(record)
        self.state = after
        publish.publish(self.home, self.folder, after, record, self.clock())
        self.hear(after, record)
        return after

    def tell(self, event: Event) -> None:
        self.hear(self.state, event)

    async def off(self, function: Callable[Given, Got], *args: Given.args, **options: Given.kwargs) -> Got:
        """Do something that blocks, while signals and other loops go on."""
        return await asyncio.to_thread(function, *args, **options)

    def take_wishes(self) -> None:
        if not self.now.active:
            return
        self._beat()
        while self.signals:
            self.wish(self.signals[0][0], "stop_now", self.signals[0][1])
            self.signals.pop(0)
        for name, wish in wishes.waiting(self.folder.asked):
            self.wish(name, wish.wish, wish.text)
            wishes.take_away(self.folder.asked, name)

    def _beat(self) -> None:
        """The lock's time of change says when this runner last lived."""
        if self.locks and time.monotonic() > self._next_beat:
            self._next_beat = time.monotonic() + BEAT
            self.locks[0].touch()

    def wish(self, name: str, kind: wishes.Kind, text: str = "") -> None:
        try:
            if name not in self.now.wishes:  # a runner died before it could take the file away
                self.emit(Wished(self.clock(), name, kind, text))
        finally:
            if self.now.stop_now:
                self.stop.set()
            self.stirred.set()

    def interrupt(self, signal_name: str) -> None:
        """A signal came: end the agent, write everything down, end the run."""
        self.stop.set()
        self.stirred.set()
        self.signals.append((f"{signal_name}-{os.getpid()}-{time.monotonic_ns()}", signal_name))
        with suppress(Problem, OSError):  # a journal that cannot be written is the next step's trouble
            self.take_wishes()

    def keep_source(self, content: bytes) -> str:
        """Held with the run, and here, where no agent reaches it."""
        digest = self.folder.keep_source(content)
        self._good = (digest, content)
        return digest

    def good_source(self) -> bytes | None:
        """The source as it stood when it was last known to be sound."""
        digest, content = self._good
        known = digest and digest == self.now.source
        return content if known else self.folder.kept_source(self.now.source)

    def renew(self) -> str:
        """A run's folder that somebody has deleted is made anew, from what this runner still has in hand."""
        if self.journal is None or not self.journal.lost:
            return ""
        make_folder(self.folder.asked)
        self.journal.renew()
        if self._good[0]:
            self.folder.keep_source(self._good[1])
        return f"the run's folder {self.folder.path} was taken away, and its journal has been written anew"

    def read_source(self) -> bytes | None:
        return read(inside(self.repository.worktree, self.source_path), SOURCE_LIMIT)

    def write_source(self, content: bytes) -> None:
        replace(inside(self.repository.worktree, self.source_path), content)

    def read_plan(self) -> tuple[bytes, Plan]:
        """The source as it stands; a Problem when it cannot be read."""
        return read_plan(self.source, self.repository.worktree)

    def close(self) -> None:
        if self.journal is not None:
            self.journal.close()
            self.journal = None
        for lock in self.locks:
            lock.close()
        self.locks = []


def read_plan(source: Source, worktree: str) -> tuple[bytes, Plan]:
    """A source as it stands; a Problem when it cannot be read, is too large, or lies outside."""
    content = read(inside(worktree, Path(worktree, source.file)), SOURCE_LIMIT)
    if content is None:
        raise DamagedProblem(f"{source.file} is missing")
    return content, source.take(content)


def must(content: bytes | None, what: str) -> bytes:
    if content is None:
        raise Problem(f"{what} is missing")
    return content
