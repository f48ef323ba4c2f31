"""What a process hands down to all that come out of it, whatever they clear or close: two settings that do nothing.

The number is a limit on real-time work of a hundred thousand years: it says whose they are, but for a moment our whole
process has it, and whatever another thread starts in that moment. The sign is the usual I/O priority said aloud: only
the thread that starts the child has it, so it says that the number is no accident.
"""

import ctypes
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache

from ralphloop.host.glance import digest

FLOOR = 1 << 62
RUN_BITS, ITERATION_BITS = 40, 20
LINE = b"Max realtime timeout"
CALLS = {"x86_64": (251, 252), "aarch64": (30, 31), "riscv64": (30, 31)}  # ioprio_set and ioprio_get
BEST_EFFORT, CLASS_SHIFT, PROCESS = 2, 13, 1

_one_at_a_time = threading.Lock()


def number(mark: str) -> int:
    """The same for the same mark; what stands above the last bits is the same for all marks of a run."""
    run = mark.rpartition(".")[0]
    return FLOOR | _bits(run, RUN_BITS) << ITERATION_BITS | _bits(mark, ITERATION_BITS)


def is_of_run(found: int, run: str) -> bool:
    return found >> ITERATION_BITS == number(f"{run}.") >> ITERATION_BITS


def _bits(text: str, count: int) -> int:
    return int(digest(text.encode(errors="surrogateescape")), 16) % (1 << count)


@contextmanager
def handed_down(mark: str) -> Iterator[None]:
    """What this thread starts meanwhile has the mark's number; where that cannot be done, nothing has."""
    with _one_at_a_time, _limit(number(mark)), _sign():
        yield


def read(pid: int, limits: bytes) -> int:
    """The number of a process, from what /proc says of its limits; 0 when it has none of ours."""
    for line in limits.splitlines():
        if line.startswith(LINE):
            word = line[len(LINE) :].split()[0]
            found = int(word) if word.isdigit() else 0
            return found if found >= FLOOR and (not _signs() or _priority(pid) >> CLASS_SHIFT > 0) else 0
    return 0


@contextmanager
def _limit(soft: int) -> Iterator[None]:
    if sys.platform != "linux":
        yield
        return
    import resource

    usual = resource.getrlimit(resource.RLIMIT_RTTIME)
    ours = usual[0] == resource.RLIM_INFINITY or usual[0] >= FLOOR  # a limit that somebody set stays
    try:
        if ours:
            with suppress(OSError, ValueError):
                resource.setrlimit(resource.RLIMIT_RTTIME, (soft, usual[1]))
        yield
    finally:
        if ours:
            resource.setrlimit(resource.RLIMIT_RTTIME, usual)


@contextmanager
def _sign() -> Iterator[None]:
    if not _signs():
        yield
        return
    usual = _priority(0)
    _set_priority(BEST_EFFORT << CLASS_SHIFT | (os.getpriority(os.PRIO_PROCESS, 0) + 20) // 5)
    try:
        yield
    finally:
        _set_priority(usual)


@cache
def _signs() -> bool:
    """Whether what has the sign differs from us; a runner that an agent of another runner started has it already."""
    return sys.platform == "linux" and os.uname().machine in CALLS and _priority(0) >> CLASS_SHIFT == 0


@cache
def _library() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _priority(pid: int) -> int:
    """-1 when it cannot be told."""
    return int(_library().syscall(CALLS[os.uname().machine][1], PROCESS, pid))


def _set_priority(value: int) -> None:
    _library().syscall(CALLS[os.uname().machine][0], PROCESS, 0, value)
