"""The checks a user configured, run by us, their output kept."""

from collections import deque

from ralphloop.core.policy import CheckRule
from ralphloop.core.ports import Command
from ralphloop.core.verdict import Check
from ralphloop.engine.desk import Desk
from ralphloop.engine.session import surroundings
from ralphloop.host import process

TOLD = 4_000  # characters of output that the next attempt is told


class _End:
    """The last bytes of an output, whatever its size."""

    def __init__(self) -> None:
        self.chunks: deque[bytes] = deque()
        self.size = 0

    def feed(self, data: bytes) -> bool:
        self.chunks.append(data[-TOLD * 4 :])
        self.size += len(self.chunks[-1])
        while len(self.chunks) > 1 and self.size - len(self.chunks[0]) >= TOLD * 4:
            self.size -= len(self.chunks.popleft())
        return False

    def text(self) -> str:
        return b"".join(self.chunks).decode(errors="replace")[-TOLD:]


async def run(desk: Desk, rule: CheckRule) -> Check:
    state = desk.now
    log = desk.folder.check(state.n, rule.name)
    log.unlink(missing_ok=True)
    tail = _End()
    command = Command(("/bin/sh", "-c", rule.command), env=surroundings(state), prompt_as_file=True)
    bounds = process.Bounds(rule.timeout, None, state.policy.kill_grace, 0, state.policy.output_limit)
    ended = await process.run(
        command,
        cwd=desk.repository.worktree,
        log=str(log),
        prompt="",
        mark=f"{desk.folder.name}.check-{state.n}",
        held=desk.locks[-1].descriptor if desk.locks else None,
        bounds=bounds,
        read=tail.feed,
        stop=desk.stop,
        beat=desk.take_wishes,
    )
    return Check(rule.name, _green(ended), round(ended.seconds, 3), _said(ended, rule), tail.text())


def _green(ended: process.Ended) -> bool:
    return ended.end == "natural" and ended.exit_code == 0


def _said(ended: process.Ended, rule: CheckRule) -> str:
    if _green(ended):
        return "passed"
    if ended.end == "timeout":
        return f"did not end within {rule.timeout:.0f} s"
    if ended.end == "not_started":
        return f"could not be started: {ended.problem}"
    if ended.end != "natural":
        return f"was ended ({ended.end})"
    return f"was killed by signal {ended.signal}" if ended.signal else f"failed with exit code {ended.exit_code}"
