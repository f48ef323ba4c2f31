"""Starts a child, reads its log as it grows, and returns only when nothing of it is left."""

import asyncio
import errno
import functools
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from types import TracebackType

from msgspec import Struct

from ralphloop.core.ports import Command
from ralphloop.core.verdict import End
from ralphloop.host import brand
from ralphloop.host.census import MARK
from ralphloop.host.environment import handed_down
from ralphloop.host.family import Family
from ralphloop.host.relay import Relay
from ralphloop.host.tail import CHUNK, Tail

PR_SET_CHILD_SUBREAPER = 36
POLL = 0.075  # seconds between two looks at the log
POLL_END = 0.01  # seconds between two looks at the child, where the system cannot tell of its end
FIRST_SCAN, LAST_SCAN = 0.02, 1.0  # seconds between two looks at the family; they double from the first to the last
SCAN_SHARE = 20  # a look may cost this part of the time between two
FLOOD_GRACE = 0.5  # a child that fills the disk is not given long


@functools.cache
def adopt_orphans() -> bool:
    """From now on whoever loses its parent below this process becomes its child."""
    if sys.platform != "linux":
        return False
    try:
        import ctypes

        return bool(ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)
    except (ImportError, OSError, AttributeError):
        return False


class Bounds(Struct, frozen=True):
    """How long and how much a child may; sizes in bytes, times in seconds."""

    timeout: float
    silence: float | None
    kill_grace: float = 5
    result_grace: float = 10
    output_limit: int = 4 << 30


class Ended(Struct, frozen=True):
    """How a child ended, once nothing of it is left."""

    end: End
    exit_code: int | None = None
    signal: int | None = None
    seconds: float = 0
    size: int = 0
    leftovers: tuple[str, ...] = ()  # what outlived the child and had to be ended
    problem: str = ""  # why it could not be started


class _Exit:
    """Tells at once when a child has ended, and leaves it unreaped so that its pid stays its own."""

    def __init__(self, child: "subprocess.Popen[bytes]") -> None:
        self._child = child
        self._loop = asyncio.get_running_loop()
        self._told = self._loop.create_future()
        self._handle = -1

    def __enter__(self) -> "_Exit":
        try:
            self._handle = os.pidfd_open(self._child.pid)
            self._loop.add_reader(self._handle, self._tell)
        except (AttributeError, NotImplementedError, OSError):
            self._forget()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._forget()

    def _forget(self) -> None:
        if self._handle >= 0:
            self._loop.remove_reader(self._handle)
            os.close(self._handle)
        self._handle = -1

    def _tell(self) -> None:
        self._loop.remove_reader(self._handle)
        if not self._told.done():
            self._told.set_result(None)

    @property
    def seen(self) -> bool:
        return self._told.done() or (self._handle < 0 and _is_over(self._child))

    async def wait(self, seconds: float) -> None:
        """Until the child ends, but no longer than this."""
        if self._handle < 0:
            seconds = min(seconds, POLL_END)
        await asyncio.wait((self._told,), timeout=max(seconds, 0.001))


def _is_over(child: "subprocess.Popen[bytes]") -> bool:
    if not hasattr(os, "waitid"):  # macOS before Python 3.13
        return child.poll() is not None
    try:
        return os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True


def _start(
    command: Command, cwd: str, target: int, prompt: str, mark: str, held: int | None
) -> "subprocess.Popen[bytes]":
    if not command.argv or not command.argv[0]:
        raise ValueError("no program is named")
    environment = {**handed_down(command.keep, {**os.environ, **command.env}), **command.env}
    for name in command.unset:
        environment.pop(name, None)
    source = os.open(os.devnull if command.prompt_as_file else prompt, os.O_RDONLY | os.O_CLOEXEC)
    try:
        with brand.handed_down(mark):
            return subprocess.Popen(
                command.argv,
                stdin=source,
                stdout=target,
                stderr=target,
                cwd=cwd,
                env={**environment, MARK: mark},
                pass_fds=() if held is None else (held,),
                start_new_session=True,
            )
    finally:
        os.close(source)


HINTS = {
    errno.ENOENT: "is it installed, and does its first line name a program that is?",
    errno.EACCES: "it must be executable, and every folder on the way to it must be open to you",
    errno.ENOEXEC: "it is neither a program for this machine nor a script with a #! line",
    errno.E2BIG: "its arguments and environment are more than the system takes; hand over the prompt on stdin",
    errno.EAGAIN: "the system allows no more processes",
    errno.ENOMEM: "the system is out of memory",
    errno.EMFILE: "too many files are open in this process",
}


def _explain(error: Exception, command: Command, cwd: str) -> str:
    """What the system said, about what, and what to try."""
    program = command.argv[0] if command.argv else ""
    if not isinstance(error, OSError):
        return f"cannot start {program[:200]!r}: {error}"
    if not os.path.isdir(cwd):  # noqa: PTH112 - this one never raises
        return f"cannot start {program!r}: there is no folder {cwd!r}"
    subject = str(error.filename or program)
    said = (error.strerror or str(error)).lower()
    hint = HINTS.get(error.errno or 0, "") if subject == program else ""
    about = "" if subject == program else f"{subject!r}: "
    return f"cannot start {program!r}: {about}{said}" + (f" ({hint})" if hint else "")


class _Watch:
    """Follows a running child until it ends or must be ended."""

    def __init__(
        self,
        bounds: Bounds,
        tail: Tail,
        relay: Relay,
        family: Family,
        stop: asyncio.Event,
        enough: Callable[[], bool],
    ) -> None:
        self._bounds, self._tail, self._relay, self._family = bounds, tail, relay, family
        self._stop, self._enough = stop, enough
        self._began = self._last_news = self._last_beat = time.monotonic()
        self._result_at: float | None = None
        self._scan_after = FIRST_SCAN
        self._next_scan = self._began + FIRST_SCAN

    async def over(self, ending: _Exit, read: Callable[[bytes], bool], beat: Callable[[], None] | None) -> End:
        """Why it is over; the child may still live."""
        while True:
            now = time.monotonic()
            data = self._tail.take()
            if data:
                self._last_news = now
                if read(data) and self._result_at is None:
                    self._result_at = now
            if self._tail.size > self._bounds.output_limit:
                return "flooded"
            if ending.seen:
                return "natural"
            if self._stop.is_set():
                return "stopped"
            if self._enough():
                return "overspent"
            late, deadline = self._deadline()
            if now >= deadline:
                return late
            if beat and now - self._last_beat >= POLL:
                self._last_beat = now
                beat()
            self._relay.tend()
            self._scan(now)
            if len(data) == CHUNK:
                await asyncio.sleep(0)
            else:
                await ending.wait(min(POLL, deadline - now, self._next_scan - now))

    def _deadline(self) -> tuple[End, float]:
        """What comes next if nothing happens; after the agent's last word only its grace counts."""
        if self._result_at is not None:
            return "lingered", self._result_at + self._bounds.result_grace
        timeout = self._began + self._bounds.timeout
        if self._bounds.silence is not None and self._last_news + self._bounds.silence < timeout:
            return "silence", self._last_news + self._bounds.silence
        return "timeout", timeout

    def _scan(self, now: float) -> None:
        if now < self._next_scan:
            return
        self._family.remember(max_age=self._scan_after / 2)
        after = time.monotonic()
        self._scan_after = min(self._scan_after * 2, LAST_SCAN)
        self._next_scan = after + max(self._scan_after, (after - now) * SCAN_SHARE)


async def run(
    command: Command,
    *,
    cwd: str,
    log: str,
    prompt: str,
    mark: str,
    held: int | None,
    bounds: Bounds,
    read: Callable[[bytes], bool],
    stop: asyncio.Event,
    beat: Callable[[], None] | None = None,
    enough: Callable[[], bool] = lambda: False,
) -> Ended:
    """Runs a command to its end. `read` gets what it writes and says whether that held its last word.

    `enough` says that what it may spend is used up.
    """
    adopt_orphans()
    began = time.monotonic()
    with ExitStack() as open_files:
        try:
            tail = open_files.enter_context(Tail(log))
            relay = open_files.enter_context(Relay(log, held))
            child = _start(command, cwd, relay.writing, prompt, mark, held)
            relay.handed_over()
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            return Ended("not_started", problem=_explain(error, command, cwd))
        number = brand.number(mark)
        place = os.path.realpath(cwd)
        family = Family(lambda found: found == mark, child, relay.outlet, place, lambda found: found == number)
        grace = bounds.kill_grace
        try:
            with _Exit(child) as ending:
                end = await _Watch(bounds, tail, relay, family, stop, enough).over(ending, read, beat)
            grace = min(grace, FLOOD_GRACE) if end == "flooded" else grace
        finally:
            leftovers = await family.end(grace)
        if end != "flooded":  # nobody needs to read on in what nobody wanted
            await relay.finish()
            await tail.drain(read)
        return _ended(end, child.returncode, time.monotonic() - began, tail.size, leftovers)


def _ended(end: End, code: int | None, seconds: float, size: int, leftovers: tuple[str, ...]) -> Ended:
    """The code of a child that could not even be killed is unknown."""
    by_signal = code is not None and code < 0
    return Ended(
        end,
        exit_code=None if by_signal else code,
        signal=-code if code is not None and by_signal else None,
        seconds=seconds,
        size=size,
        leftovers=leftovers,
    )
