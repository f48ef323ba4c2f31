"""One session of the agent: from its start to nothing left of it, its stream read as it comes."""

import asyncio
from pathlib import Path

from msgspec.structs import replace

from ralphloop.core.attempt import Attempt, follow, sealed
from ralphloop.core.claim import error_in
from ralphloop.core.current import allowed_seconds
from ralphloop.core.environment import OF_A_SESSION
from ralphloop.core.errors import Problem
from ralphloop.core.event import Event, LimitMet, Spent, Unread
from ralphloop.core.ports import Call, Command, Dated, Parser, Traits
from ralphloop.core.state import RunState
from ralphloop.engine import metering
from ralphloop.engine.desk import Desk
from ralphloop.host import process

CHUNK = 1 << 18
UNREAD_KEPT = 2_000


class Reading:
    """The fold of a stream into an Attempt."""

    def __init__(self, desk: Desk, parser: Parser) -> None:
        self.desk, self.parser = desk, parser
        self.clock = desk.clock
        self.attempt = Attempt()
        self.most_tokens: int | None = None
        self.overspent = False
        self.unread = ""  # the beginning of what was no event: an agent's complaint, when it could not even start

    def feed(self, data: bytes) -> bool:
        """True once the agent has said its last word."""
        for event in self.parser.feed(data):
            self._take(event)
        return self.attempt.finished

    def close(self) -> None:
        for event in self.parser.close():
            self._take(event)

    def _take(self, event: Event) -> None:
        if isinstance(event, LimitMet) and event.resets_in is not None:
            event = replace(event, resets_at=self.clock() + event.resets_in)
        self.attempt = follow(self.attempt, event)
        if isinstance(event, Spent) and self.most_tokens is not None and event.tokens.used >= self.most_tokens:
            self.overspent = True
        if isinstance(event, Unread) and len(self.unread) < UNREAD_KEPT:
            self.unread += event.sample + "\n"
        self.desk.tell(event)


async def attempt(desk: Desk, n: int) -> Attempt:
    """Run the agent once; when a runner before us has started it already, read what it came to."""
    log = desk.folder.attempt(n)
    reading = Reading(desk, desk.agent.parser())
    if log.exists():
        return await _taken_over(desk, reading, log)
    if desk.stop.is_set():
        return Attempt(end="stopped")
    desk.attended = n
    policy = desk.now.policy
    allowed = desk.now.reserved.allowed if desk.now.reserved else None
    reading.most_tokens = allowed.tokens if allowed else None
    bounds = process.Bounds(
        timeout=allowed_seconds(desk.now),
        silence=policy.silence,
        kill_grace=policy.kill_grace,
        result_grace=policy.result_grace,
        output_limit=policy.output_limit,
    )
    before, since = await desk.off(metering.size_before, desk), desk.clock()
    try:
        command = _command(desk, n)
    except Problem as problem:
        return Attempt(
            end="not_started", error=f"{problem.message} ({problem.hint})" if problem.hint else problem.message
        )
    if desk.stop.is_set():
        return Attempt(end="stopped")
    ended = await process.run(
        command,
        cwd=desk.repository.worktree,
        log=str(log),
        prompt=str(desk.folder.prompt(n)),
        mark=f"{desk.folder.name}.{n}",
        held=desk.locks[-1].descriptor if desk.locks else None,
        bounds=bounds,
        read=reading.feed,
        stop=desk.stop,
        beat=desk.take_wishes,
        enough=lambda: reading.overspent,
    )
    told = reading.attempt.finished  # a stream that tells its own end has done so by now
    reading.close()
    got = replace(
        reading.attempt,
        finished=told or (reading.attempt.finished and ended.end == "natural" and ended.exit_code == 0),
        end=ended.end,
        exit_code=ended.exit_code,
        signal=ended.signal,
        seconds=round(ended.seconds, 3),
        size=ended.size,
        leftovers=ended.leftovers,
        error=reading.attempt.error or ended.problem,
    )
    got = _read_by_exit(got, reading.unread, desk.agent.traits)
    got = await desk.off(metering.measured, desk, got, before, since)
    return sealed(got, policy.promise, _prompt(desk, n))


def _read_by_exit(attempt: Attempt, unread: str, traits: Traits) -> Attempt:
    """A session that ended badly without saying so in its stream has failed all the same."""
    code = attempt.exit_code or 0
    if attempt.end == "natural" and not attempt.error:
        if attempt.signal:
            return replace(attempt, error=f"the agent was killed by signal {attempt.signal}")
        if code and not attempt.finished:
            attempt = replace(attempt, error=error_in(unread) or unread or f"exit code {code} without a last word")
        elif "end" in traits.tells and not attempt.finished:
            attempt = replace(attempt, error="it ended without a last word")
    if attempt.error and not attempt.fault and code in traits.exits:
        attempt = replace(attempt, fault=traits.exits[code])
    return attempt


async def _taken_over(desk: Desk, reading: Reading, log: Path) -> Attempt:
    """What the log of a dead runner's attempt holds; whether it had ended, only its last word can tell."""
    written_at = log.stat().st_mtime
    reading.clock = lambda: written_at
    if isinstance(reading.parser, Dated):
        reading.parser.written(written_at)
    with log.open("rb") as stream:
        while data := stream.read(CHUNK):
            reading.feed(data)
            await asyncio.sleep(0)
    # a stream of plain text has no last word of its own: only the end of the agent would have told
    told = reading.attempt.finished
    reading.close()
    begun = desk.now.begun
    began = begun.at if begun else written_at
    # nobody knows how long one lived on that had not said its last word: as long as it may have
    lived = written_at - began if told else min(desk.clock() - began, allowed_seconds(desk.now))
    seconds = max(0.001, lived)
    got = replace(
        reading.attempt,
        finished=told,
        end="natural" if told else "interrupted",
        size=log.stat().st_size,
        seconds=round(seconds, 3),
    )
    got = await desk.off(metering.measured, desk, got, None, begun.at if begun else 0)
    return sealed(got, desk.now.policy.promise, _prompt(desk, desk.now.n))


def _prompt(desk: Desk, n: int) -> str:
    try:
        return desk.folder.prompt(n).read_text(errors="replace")
    except OSError:
        return ""


def _command(desk: Desk, n: int) -> Command:
    state = desk.now
    prompt = desk.folder.prompt(n)
    policy, reserved = state.policy, state.reserved
    command = desk.agent.command(
        Call(
            prompt_file=str(prompt),
            prompt_size=prompt.stat().st_size,
            skip_permissions=policy.skip_permissions,
            allowed_tools=policy.allowed_tools,
            model=reserved.model if reserved else "",
            max_cost=reserved.allowed.cost if reserved and reserved.allowed else None,
            git_folders=tuple(dict.fromkeys((desk.repository.common_dir, desk.repository.git_dir))),
        )
    )
    return replace(
        command,
        env={**surroundings(state), **command.env},
        unset=(*OF_A_SESSION, *command.unset),
        keep=(*policy.environment, *desk.agent.traits.variables),
    )


def surroundings(state: RunState) -> dict[str, str]:
    """What every child of a run may know of it."""
    return {
        "RALPH_RUN": state.start.run,
        "RALPH_ITERATION": str(state.n),
        "RALPH_STORY": state.story,
        "RALPH_TRY": str(state.tries),
        "RALPH_FEATURE_DIR": f".ralph/{state.start.feature}",
        "RALPH_SOURCE": state.start.source,
        "RALPH_PROMISE": state.policy.promise,
    }


def mark_of(run: str) -> str:
    """What every mark of a run's children begins with."""
    return f"{run}."
