"""What an attempt used, when its stream does not tell: from its agent's session files, and from a table of prices."""

from msgspec.structs import replace

from ralphloop.core.attempt import Attempt
from ralphloop.core.event import Tokens
from ralphloop.engine.desk import Desk

BYTES_A_TOKEN = 4


def size_before(desk: Desk) -> int:
    return desk.meter.size(desk.now.agent)


def measured(desk: Desk, attempt: Attempt, before: int | None, since: float) -> Attempt:
    """With its tokens and its cost, as far as anything tells; what is worked out is marked as such."""
    if attempt.end == "not_started":
        return attempt
    agent, reserved = desk.now.agent, desk.now.reserved
    if attempt.tokens is None or not attempt.finished:  # a stream that was cut off tells too little
        attempt = _from_files(desk, attempt, before, since)
    if attempt.cost is None and attempt.tokens is not None:
        model = attempt.model or (reserved.model if reserved else "") or desk.now.policy.models.get(agent, "")
        cost = desk.meter.cost(model, attempt.tokens)
        attempt = replace(attempt, cost=cost, cost_estimated=cost is not None)
    return attempt


def _from_files(desk: Desk, attempt: Attempt, before: int | None, since: float) -> Attempt:
    agent = desk.now.agent
    recorded = desk.meter.recorded(agent, attempt.session, since)
    if recorded is not None:
        told = attempt.tokens or Tokens()
        return attempt if told.used > recorded.used else replace(attempt, tokens=recorded)
    if attempt.tokens is not None or before is None:
        return attempt
    growth = desk.meter.size(agent) - before
    if growth < BYTES_A_TOKEN:
        return attempt
    return replace(attempt, tokens=Tokens(output=growth // BYTES_A_TOKEN), tokens_estimated=True)
