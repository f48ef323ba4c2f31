"""Work on many things shared out among processes, when it is enough to pay for them."""

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

from ralphloop.host.files import write_all

Job = TypeVar("Job")
Bytes = bytes


def shared_out(
    jobs: Sequence[Job], sizes: Sequence[int], work: Callable[[Job], Bytes], *, worth: int, most: int = 4
) -> list[Bytes]:
    """What `work` makes of each job, in their order. Below `worth` all is done here.

    A child that dies leaves nothing half done: its share is then done here.
    """
    count = min(most, _processors(), len(jobs)) if sum(sizes) >= worth and _alone() else 1
    if count < 2:
        return [work(job) for job in jobs]
    shares = _shares(sizes, count)
    children = [(share, *_started(jobs, share, work)) for share in shares[1:]]
    made: dict[int, Bytes] = {}
    try:
        made |= {at: work(jobs[at]) for at in shares[0]}
    finally:
        answers = [(share, _heard(pipe, child)) for share, child, pipe in children]
    for share, answer in answers:
        made |= (
            zip(share, answer, strict=True)
            if len(answer) == len(share)
            else {at: work(jobs[at]) for at in share}.items()
        )
    return [made[at] for at in range(len(jobs))]


def _alone() -> bool:
    """A fork takes only one thread along, and whatever the others held stays held."""
    threading = sys.modules.get("threading")
    return hasattr(os, "fork") and (threading is None or threading.active_count() == 1)


def _processors() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except (AttributeError, OSError):
        return os.cpu_count() or 1


def _shares(sizes: Sequence[int], count: int) -> list[list[int]]:
    """The largest first, each to whoever has least."""
    shares: list[list[int]] = [[] for _ in range(count)]
    loads = [0] * count
    for at in sorted(range(len(sizes)), key=lambda at: -sizes[at]):
        least = loads.index(min(loads))
        shares[least].append(at)
        loads[least] += sizes[at]
    return shares


def _started(jobs: Sequence[Job], share: list[int], work: Callable[[Job], Bytes]) -> tuple[int, int]:
    """The pid of a child and the pipe it answers through: the size of each answer, then the answer."""
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(writing)
        return child, reading
    code = 1
    try:
        os.close(reading)
        for at in share:
            answer = work(jobs[at])
            write_all(writing, len(answer).to_bytes(8, "little") + answer)
        code = 0
    finally:
        # nothing of the parent's may be written or tidied up a second time
        os._exit(code)


def _heard(pipe: int, child: int) -> list[Bytes]:
    with os.fdopen(pipe, "rb") as stream:
        content = stream.read()
    with suppress(ChildProcessError):
        os.waitpid(child, 0)
    answers, at = [], 0
    while at + 8 <= len(content):
        size = int.from_bytes(content[at : at + 8], "little")
        if at + 8 + size > len(content):
            break
        answers.append(content[at + 8 : at + 8 + size])
        at += 8 + size
    return answers
