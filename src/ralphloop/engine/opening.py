"""How a run comes to be in hand: the worktree's lock, what a dead runner left, an unfinished run or a new one."""

import asyncio
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from ralphloop.core.errors import BusyProblem, DamagedProblem, Problem
from ralphloop.core.policy import Policy
from ralphloop.core.ports import Agent, Meter, Source
from ralphloop.core.record import Begun, Resumed, Settled, Started
from ralphloop.core.state import RunState, replay
from ralphloop.core.story import compare
from ralphloop.engine import publish, rules
from ralphloop.engine.desk import Desk, Hear, read_plan
from ralphloop.engine.remembering import Remembering
from ralphloop.engine.session import mark_of
from ralphloop.host import family, operations, vault, wishes
from ralphloop.host.census import start_time
from ralphloop.host.files import Lock
from ralphloop.host.files import read as read_file
from ralphloop.host.git import Git, Repository, feature_of
from ralphloop.host.journal import Journal, read
from ralphloop.host.places import Home, RunFolder, WorktreeFolder
from ralphloop.host.restore import put_back_files

LOCK_PATIENCE = 0.5
GONE_PATIENCE = 10.0
VIEW_LIMIT = 1 << 20
SWITCH_SLACK = 3.0  # seconds; a runner shows every second that it lives


class Order(Struct, frozen=True):
    """What is to be run, all of it resolved by the caller."""

    home: Home
    repository: Repository
    feature: str
    source: Source
    agents: tuple[str, ...]  # the chain, the first choice first
    agent_named: Callable[[str], Agent]
    meter: Meter
    policy: Policy
    template: str
    reset_breakers: bool = False


class Taken(Struct, frozen=True):
    """The run that this worktree's feature has, if it can be gone on with."""

    folder: RunFolder | None = None
    state: RunState | None = None
    note: str = ""
    damaged: RunFolder | None = None  # the run that cannot be taken up

    @property
    def in_the_middle(self) -> bool:
        """An attempt or the archiving was going on: the worktree may look as no user would leave it."""
        state = self.state
        going = state is not None and state.begun is not None and state.phase not in ("idle", "reserved")
        return going or (state is not None and bool(state.archive))


def unfinished(home: Home, worktree: str, feature: str = "") -> Taken:
    """The last run of a feature, or of the worktree, when it was cut off or stopped. Reads only."""
    name = home.worktree(worktree).latest(feature)
    if name is None:
        return Taken()
    folder = home.run(name)
    if not folder.journal.exists():
        return Taken()
    try:
        if next(read(folder.journal), None) is None:  # cut off before its first word: it is begun again
            return Taken(folder)
        state = replay(read(folder.journal))
    except DamagedProblem as problem:
        return Taken(note=f"{problem.message}; a new run is started, that one is left as it is", damaged=folder)
    if state.end is not None and state.end.status != "stopped":
        return Taken()
    return Taken(folder, state)


def revive(home: Home, worktree: Path) -> str:
    """A repository that an agent took away before its runner died is made anew, from what the runner had kept."""
    common = worktree / ".git"
    state = None if os.path.lexists(common) else unfinished(home, str(worktree)).state
    if state is None or not vault.rebuild(home.vault(str(common)), common, state.start.branch, state.head):
        return ""
    git = Git(str(worktree))
    git.ask("reset", "--quiet")
    return "; ".join((f"{common} was gone and has been made anew from what the runner had kept", *put_back_files(git)))


def left_by_the_user(home: Home, repository: Repository, taken: Taken) -> bool:
    """Whether the worktree was switched to another branch when neither the runner nor its agent can have done it."""
    state, folder = taken.state, taken.folder
    if state is None or folder is None or repository.branch == state.start.branch:
        return False
    last_alive = _last_alive(home, repository.worktree, folder, state)
    return _changed_at(Path(repository.git_dir, "logs", "HEAD")) > last_alive + SWITCH_SLACK


def _last_alive(home: Home, worktree: str, folder: RunFolder, state: RunState) -> float:
    """When the runner or its agent last showed that it lived."""
    return max(state.last_at, _changed_at(folder.attempt(state.n)), _changed_at(home.worktree(worktree).lock))


def last_alive(home: Home, taken: Taken) -> float:
    """To be asked before the lock is taken, which is a sign of life of ours."""
    state, folder = taken.state, taken.folder
    return _last_alive(home, state.start.worktree, folder, state) if state is not None and folder is not None else 0


def _written_at(path: Path) -> float:
    """A time that nobody can set."""
    try:
        return path.lstat().st_ctime
    except OSError:
        return 0


def _changed_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0


def of_branch(home: Home, repository: Repository, latest: Taken) -> Taken:
    """The unfinished run of the branch the worktree is on; a word when another one waits elsewhere."""
    taken = unfinished(home, repository.worktree, feature_of(repository.branch))
    if taken.state is not None and taken.state.start.branch != repository.branch:
        branch = taken.state.start.branch
        return Taken(note=f"branch {branch} has the same feature folder; its run {taken.state.start.run} waits there")
    if latest.in_the_middle and latest.state is not None and latest.state.start.branch != repository.branch:
        start = latest.state.start
        word = f"run {start.run} was cut off on branch {start.branch} and waits there: `git switch {start.branch}`"
        return replace(taken, note=taken.note or word)
    return taken


def lock(home: Home, worktree: str, feature: str) -> list[Lock]:
    """The worktree's two locks; a second runner is refused, the agents of a dead one are not yet ended."""
    place = home.worktree(worktree)
    runner, agents = Lock(place.lock), Lock(place.agents_lock)
    until = time.monotonic() + LOCK_PATIENCE
    while not runner.take():
        if time.monotonic() > until:
            pid = runner.word().partition(" ")[0] or "unknown"
            runner.close()
            agents.close()
            raise BusyProblem(
                f"Loop already running for {feature} (PID {pid})",
                "`ralph status` shows it, `ralph log -f` follows it, `ralph stop` ends it",
            )
        time.sleep(0.05)
    runner.write(f"{os.getpid()} {start_time(os.getpid())}")
    _redraw(home, place)
    return [runner, agents]


def _redraw(home: Home, place: WorktreeFolder) -> None:
    """A runner that died on its very last word could not show it any more."""
    name = place.latest()
    folder = home.run(name) if name else None
    if folder is None or not folder.journal.exists():
        return
    with suppress(Problem):
        shown = read_file(folder.view, VIEW_LIMIT) or b""
        if b'"exit_code":null' in shown and (state := replay(read(folder.journal))).end is not None:
            publish.publish(home, folder, state, state.end, state.last_at)


def mend_rules(taken: Taken, last_alive: float) -> str:
    """Before the rules are read: an attempt that was cut off may have written into them; what came later did not."""
    state = taken.state
    if state is not None and _written_at(Path(state.start.worktree, rules.CONFIG)) > last_alive + SWITCH_SLACK:
        return ""
    if taken.folder is None or state is None or state.begun is None or not taken.in_the_middle:
        return ""
    return rules.put_back(taken.folder, state.begun, state.start.worktree)


async def clear(locks: list[Lock], taken: Taken, grace: float) -> tuple[str, ...]:
    """End what a dead runner's agent left; then nobody else may hold the agents' lock."""
    agents = locks[-1]
    latest = WorktreeFolder(agents.path.parent).latest()
    cut_off = {taken.folder.name} if taken.folder and taken.state and taken.state.end is None else set()
    if latest and not agents.take():
        cut_off.add(latest)
    ended = tuple([word for name in sorted(cut_off) for word in await family.end_marked(mark_of(name), grace)])
    until = time.monotonic() + (GONE_PATIENCE if ended else LOCK_PATIENCE)
    while not agents.take():
        if time.monotonic() > until:
            raise BusyProblem(
                "a process that an earlier run started still lives and works in this worktree",
                f"find it with `fuser {agents.path}` and end it, then run the same command",
            )
        await asyncio.sleep(0.05)
    return ended


async def open_run(order: Order, locks: list[Lock], taken: Taken, hear: Hear) -> Desk:
    """Take up the unfinished run, or begin a new one. The journal is open and holds the first record."""
    ended = await clear(locks, taken, order.policy.kill_grace)
    if taken.state is not None and taken.state.end is None:  # the runner died, and its git may have died with it
        repository = order.repository
        since = (taken.state.begun or taken.state.start).at
        place = (repository.git_dir, repository.common_dir, repository.branch)
        await asyncio.to_thread(operations.unlock, *place, since, repository.worktree)
    publish.keep_out_of_commits(order.repository.common_dir)
    now = time.time()
    folder = taken.folder or order.home.new_run(run_name(order.feature, now))
    desk = Desk(
        home=order.home,
        folder=folder,
        repository=order.repository,
        source=Remembering(order.source),
        agent_named=order.agent_named,
        meter=order.meter,
        template=order.template,
    )
    desk.locks, desk.hear = locks, hear
    desk.journal = Journal(folder.journal)
    order.home.worktree(order.repository.worktree).point_to(folder.name, order.feature)
    if taken.state is not None:
        wishes.forget(folder.asked, before=now - 1)
        desk.state = taken.state
        desk.emit(Resumed(now, order.agents[0], order.policy, ended, order.reset_breakers))
    else:
        desk.emit(_started(order, folder, now, _unjudged(order, taken.damaged)))
    return desk


def _unjudged(order: Order, damaged: RunFolder | None) -> tuple[str, ...]:
    """Marks that have come since the damaged journal last held the story file for sound: nobody has proven them."""
    if damaged is None:
        return ()
    good = damaged.kept_source(_last_source(damaged))
    try:
        now = read_plan(order.source, order.repository.worktree)[1]
        return compare(order.source.take(good), now).marked if good is not None else tuple(sorted(now.marked))
    except Problem:
        return ()


def _last_source(damaged: RunFolder) -> str:
    """As far as the journal can be read."""
    last = ""
    with suppress(Problem):
        for record in read(damaged.journal):
            last = getattr(record, "source", "") if isinstance(record, Begun | Settled) else last
    return last


def _started(order: Order, folder: RunFolder, now: float, pending: tuple[str, ...]) -> Started:
    return Started(
        at=now,
        run=folder.name,
        worktree=order.repository.worktree,
        feature=order.feature,
        branch=order.repository.branch,
        source=order.source.file,
        agent=order.agents[0],
        policy=order.policy,
        head=order.repository.head,
        description=_description(order),
        pending=pending,
    )


def _description(order: Order) -> str:
    try:
        return read_plan(order.source, order.repository.worktree)[1].description[:500]
    except Problem:
        return ""


def run_name(feature: str, now: float) -> str:
    """Sorts by time, and may stand in a path and in the name of a ref."""
    plain = "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "-" for c in feature)[:60].strip("-")
    stamp = time.strftime("%Y%m%d-%H%M%S", time.localtime(now))
    return f"{stamp}-{plain or 'run'}-{os.urandom(2).hex()}"
