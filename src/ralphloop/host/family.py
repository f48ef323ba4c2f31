"""Finds, remembers and ends every process that came out of one child, and touches no other."""

import asyncio
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from ralphloop.host import brand
from ralphloop.host.census import CHILDREN, Census, Row, census, describe, has_proc, is_within, read_row

GIVE_UP = 5.0  # seconds of SIGKILL after which a process is reported instead of waited for
SHOWN = 20  # leftovers that are named
LOOKS = {signal.SIGTERM: 5, signal.SIGKILL: 25}  # in a row that show nobody but are not certain, at most
ALONE = threading.Event()  # nobody in this process starts processes but us: then every orphan is an attempt's
CROWD = 50  # so many more processes than at first, while asked to end, and there is no more asking


def _send(row: Row, number: int) -> None:
    """Signals exactly this process, never a later one with the same pid."""
    handle = -1
    with suppress(AttributeError, OSError):
        handle = os.pidfd_open(row.pid)
    try:
        now = read_row(row.pid)
        if now is None or now.key != row.key:
            return
        if handle >= 0:
            signal.pidfd_send_signal(handle, number)
        else:
            os.kill(row.pid, number)
    finally:
        if handle >= 0:
            os.close(handle)


class Family:
    """The child and all that came out of it: by parenthood, session, mark, brand, or by writing into its output."""

    def __init__(
        self,
        owns: Callable[[str], bool],
        child: "subprocess.Popen[bytes] | None" = None,
        outlet: str = "",
        place: str = "",
        branded: Callable[[int], bool] = lambda found: False,
    ) -> None:
        self._owns, self._branded = owns, branded
        self._child = child
        self._root = child.pid if child else 0
        self._outlet, self._place = outlet, place
        root = read_row(self._root) if child else None
        self._since = root.start if root else 0  # nothing older can be of this family
        self._known: set[tuple[int, int]] = {root.key} if root else set()
        self._sessions: set[int] = {self._root} if child else set()
        self._groups: set[int] = set()
        self._child_gone = child is None
        self._dead: set[tuple[int, int]] = set()
        self._certain = True  # the last look cannot have missed anybody
        self._outlived: dict[tuple[int, int], str] = {}
        self._refused: set[tuple[int, int]] = set()
        self._cancelled = False
        CHILDREN.add(self._root)

    def remember(self, max_age: float) -> None:
        """Takes note of who belongs to it now, while it can be seen; content with a look that old."""
        if has_proc():
            self._note(census(max_age))

    def _note(self, found: Census) -> list[Row]:
        """The living members of a census; remembers them and reaps the dead that were adopted."""
        spared = found.ancestors()
        young = [row for row in found.rows.values() if row.start >= self._since and row.pid not in spared]
        members: dict[int, Row] = {}
        for row in young:
            if row.key in self._known or (row.living and self._is_ours(row, found)):
                members[row.pid] = row
        sessions = self._close(found, members, spared)
        root = found.rows.get(self._root)
        self._child_gone = root is None or not root.living
        self._known = {row.key for row in members.values()}
        self._sessions = sessions
        self._groups = {row.group for row in members.values() if row.session in sessions}
        others = (os.getsid(0), *CHILDREN)
        orphans = [row for row in young if row.parent == os.getpid() and row.session not in others]
        dead = {row.pid: row for row in (*members.values(), *orphans) if not row.living}
        ending = any(row.living and not found.evidence(row.pid).readable for row in orphans if row.pid not in members)
        before, self._dead = self._dead, {row.key for row in dead.values()}
        self._certain = found.whole and not ending and self._dead <= before
        self._reap(list(dead.values()), members)
        # the oldest first: an agent should hear of its end from us, not from the death of its tools
        return sorted((row for row in members.values() if row.living), key=lambda row: (row.start, row.pid))

    def _is_ours(self, row: Row, found: Census) -> bool:
        evidence = found.evidence(row.pid)
        if self._owns(evidence.mark) or self._outlet in evidence.files:
            return True
        # whoever lost its parent is a child of ours by now; what a dead runner left is a child of anybody's
        number = found.brand(row.pid)
        if (self._child is None or row.parent == os.getpid()) and self._branded(number):
            return True
        return not (evidence.mark or number) and self._is_stray(row)

    def _is_stray(self, row: Row) -> bool:
        """An orphan that has dropped all that says whose it is, when nobody else here can have lost it.

        What a program starts itself has its session or one of its own; init adopts the orphans of strangers.
        Beside other loops only who still stands in this one's folder is known to be of it.
        """
        if self._child is None or row.parent != os.getpid() or os.getpid() == 1:
            return False
        if row.session in (os.getsid(0), *CHILDREN) or (row.session == row.pid and not ALONE.is_set()):
            return False
        return len(CHILDREN) == 1 or (bool(self._place) and is_within(row.pid, self._place))

    def _close(self, found: Census, members: dict[int, Row], spared: set[int]) -> set[int]:
        """Adds the children of members and their sessions' others, until nobody is new; those sessions."""
        sessions = set[int]()
        waiting = list(members.values())
        opened = {row.session for row in waiting} | self._sessions
        while waiting or opened:
            related = [row for parent in waiting for row in found.children.get(parent.pid, ())]
            # a session's number is its first process's pid, and is not given out again while it lasts
            own = {s for s in opened - {0, os.getsid(0)} if s in members or self._leaderless(found, s)}
            related += [row for session in own - sessions for row in found.sessions.get(session, ())]
            sessions |= {session for session in own if session in found.sessions}
            waiting = [row for row in related if row.pid not in members and row.pid not in spared]
            members |= {row.pid: row for row in waiting}
            opened = {row.session for row in waiting}
        return sessions

    def _leaderless(self, found: Census, session: int) -> bool:
        leader = found.rows.get(session)
        return leader is None or (not leader.living and leader.parent == os.getpid() and session not in CHILDREN)

    def _reap(self, dead: list[Row], members: dict[int, Row]) -> None:
        """Takes leave of those that were adopted. A child somebody here started has our session or its own."""
        for row in dead:
            if row.parent == os.getpid() and row.pid != self._root and (row.pid in members or row.session != row.pid):
                with suppress(ChildProcessError):
                    os.waitpid(row.pid, os.WNOHANG)

    def _living(self) -> list[Row]:
        """Every living member that can be seen.

        Whoever is not seen was born after the pids were listed, of somebody who was listed and then died:
        a look is certain when nobody was dying in it.
        """
        if not has_proc():
            return self._living_group()
        child = read_row(self._root) if self._child else None
        if child and not child.living:
            self._dead.add(child.key)
        return self._note(census())

    def _living_group(self) -> list[Row]:
        """Without /proc: the child's process group, as one row that stands for all of it."""
        if self._child is None:
            return []
        try:
            self._child_gone = self._child.poll() is not None
            with suppress(ChildProcessError):
                while self._child_gone and os.waitpid(-self._root, os.WNOHANG)[0]:
                    pass
            os.killpg(self._root, 0)
        except (ProcessLookupError, PermissionError):
            return []
        return [Row(pid=0, start=0, parent=0, group=self._root, session=self._root, state="S")]

    async def end(self, grace: float) -> tuple[str, ...]:
        """Asks all to end, kills the rest; names those the child left behind. A cancel waits until it is over."""
        remaining = await self._press(signal.SIGTERM, grace)
        if remaining or not self._certain:
            remaining = await self._press(signal.SIGKILL, GIVE_UP)
        if self._child:
            self._child.poll()
        CHILDREN.discard(self._root)
        if self._cancelled:
            raise asyncio.CancelledError
        return self._report(remaining)

    async def _press(self, number: signal.Signals, seconds: float) -> list[Row]:
        """Signals every member as it is seen, until none lives or the time is over; who lives still."""
        until, pause, unseen, asked = time.monotonic() + seconds, 0.002, 0, set[tuple[int, int]]()
        members = self._living()
        crowd = len(members) + CROWD
        while (members or not self._certain) and time.monotonic() < until:
            for row in members:
                if number == signal.SIGKILL or row.key not in asked:
                    asked.add(row.key)
                    self._signal(row, number)
            if number == signal.SIGKILL:
                self._kill_groups()
            unseen = 0 if members else unseen + 1
            if (len(members) > crowd and number == signal.SIGTERM) or unseen > LOOKS[number]:
                break
            try:
                await asyncio.sleep(pause if members else 0)
            except asyncio.CancelledError:
                self._cancelled = True
            pause = min(pause * 1.5, 0.05)
            members = self._living()
        return members

    def _signal(self, row: Row, number: int) -> None:
        if self._child_gone and row.key not in self._outlived and (name := describe(row)):
            self._outlived[row.key] = name
        try:
            if row.pid == 0:
                os.killpg(row.group, number)
                return
            _send(row, number)
            if row.state in "Tt" and number != signal.SIGKILL:
                _send(row, signal.SIGCONT)
        except PermissionError:
            self._refused.add(row.key)
        except ProcessLookupError:
            pass

    def _kill_groups(self) -> None:
        """At one blow, so that whoever forks faster than we look cannot slip away."""
        for group in self._groups - {0, os.getpgid(0)}:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(group, signal.SIGKILL)

    def _report(self, remaining: list[Row]) -> tuple[str, ...]:
        for row in remaining:
            why = "not permitted" if row.key in self._refused else "it waits in the kernel" if row.state == "D" else ""
            name = self._outlived.get(row.key) or describe(row) or f"process {row.pid}"
            self._outlived[row.key] = f"{name} (could not be ended{': ' if why else ''}{why})"
        names = list(self._outlived.values())
        more = (f"… and {len(names) - SHOWN} more",) if len(names) > SHOWN else ()
        return (*names[-SHOWN:], *more)


async def end_marked(mark_prefix: str, grace: float) -> tuple[str, ...]:
    """Ends whoever carries a mark that begins so, and their descendants: what a killed runner left behind."""
    if not mark_prefix:
        raise ValueError("an empty prefix would be the mark of everybody")
    run, _, iteration = mark_prefix.rpartition(".")
    number = brand.number(mark_prefix)
    return await Family(
        lambda mark: mark.startswith(mark_prefix),
        branded=lambda found: found == number if iteration else brand.is_of_run(found, run),
    ).end(grace)
