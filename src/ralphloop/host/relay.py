"""Carries what a child says into its log: whoever opens its stdout anew, as `> /dev/stderr` does, empties nothing."""

import asyncio
import fcntl
import os
import signal
import struct
import subprocess
import sys
import termios
import time
from contextlib import suppress
from types import TracebackType

from ralphloop.host.files import write_all

ROOM = 256 << 10  # bytes that wait in the pipe at most
LAST_WORDS = 5.0  # seconds in which what is in the pipe must have reached the log
NO_LONGER = 0.5  # seconds for a carrier that nobody has waited for
PAUSE = 0.001
CHUNK = 64 << 10


class Relay:
    """A pipe and a small program that copies it into the log, and outlives us: so a kill of ours loses no output.

    Nobody holds us by holding the pipe: what counts is that the child and all that came out of it are gone.
    """

    def __init__(self, log: str, held: int | None) -> None:
        self._held = held
        self._log = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._reading, self.writing = os.pipe()
        if sys.platform == "linux":
            with suppress(OSError):  # then it has the usual size
                fcntl.fcntl(self._reading, fcntl.F_SETPIPE_SZ, ROOM)
        try:
            self._carrier = self._started()
        except BaseException:
            self._close()
            raise

    @property
    def outlet(self) -> str:
        """What the system calls the pipe; empty when it cannot be told."""
        try:
            return os.readlink(f"/proc/self/fd/{self._reading}")  # noqa: PTH115
        except OSError:
            return ""

    def __enter__(self) -> "Relay":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.handed_over()
        try:
            self._carrier.wait(NO_LONGER)
        except subprocess.TimeoutExpired:
            self._carrier.kill()
            self._carrier.wait()
        self._close()

    def _close(self) -> None:
        self.handed_over()
        self._stop_reading()
        os.close(self._log)

    def handed_over(self) -> None:
        """The child has its end of the pipe: ours is not needed any more."""
        if self.writing >= 0:
            os.close(self.writing)
        self.writing = -1

    def tend(self) -> None:
        """Somebody may have killed the carrier; one that could not write leaves the child to its broken pipe."""
        code = self._carrier.poll()
        if code is not None and self._reading >= 0:
            if code < 0:
                self._carrier = self._started()
            elif code > 0:
                self._stop_reading()

    async def finish(self) -> None:
        """Until all that was said is in the log. Nobody who could say more is left, or it is not waited for."""
        self._carrier.send_signal(signal.SIGCONT)
        until = time.monotonic() + LAST_WORDS
        while self._carrier.poll() is None and time.monotonic() < until:
            await asyncio.sleep(PAUSE)
            if not self._waiting() and time.monotonic() > until - LAST_WORDS / 2:
                break  # somebody who could not be ended holds the pipe
        if self._carrier.poll() is None:
            self._carrier.kill()
            self._carrier.wait()
        if self._carrier.returncode < 0:
            self._carry_rest()

    def _started(self) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            ("cat",),
            stdin=self._reading,
            stdout=self._log,
            stderr=subprocess.DEVNULL,
            pass_fds=() if self._held is None else (self._held,),  # whoever waits for the agents waits for their words
            process_group=0,  # what a terminal sends us is not for it
        )

    def _waiting(self) -> int:
        """How many bytes are in the pipe."""
        if self._reading < 0:
            return 0
        return int(struct.unpack("i", fcntl.ioctl(self._reading, termios.FIONREAD, bytes(4)))[0])

    def _carry_rest(self) -> None:
        while waiting := self._waiting():
            write_all(self._log, os.read(self._reading, min(waiting, CHUNK)))

    def _stop_reading(self) -> None:
        if self._reading >= 0:
            os.close(self._reading)
        self._reading = -1
