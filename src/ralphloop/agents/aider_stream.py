"""Aider's plain output as events: its own lines about tokens, cost and errors are told apart from its model's words."""

import re
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from ralphloop.agents import faults
from ralphloop.agents.lines import short
from ralphloop.agents.reset import reset_of
from ralphloop.agents.text_stream import TextStream
from ralphloop.core.event import Event, Fault, Finished, LimitMet, Retrying, Said, Spent, Tokens

NUMBER = r"([\d.]+[kM]?)"
REPORT = re.compile(rf"^Tokens: {NUMBER} sent(?:, {NUMBER} cache write)?(?:, {NUMBER} cache hit)?, {NUMBER} received\.")
COST = re.compile(r"\bCost: \$[\d.]+ message, \$([\d.]+) session\.")
# an exception of its model's library; the usage report comes after whatever its model has said
REFUSED = re.compile(r"^litellm\.(?:exceptions\.)?(\w+): ")
RETRY = re.compile(r"^Retrying in ([\d.]+) seconds\.\.\.")
EMPTY = "Empty response received from LLM. Check your provider account?"
STOPPED = re.compile(
    r"^(?:Model \S+ has hit a token limit!|Only \d+ reflections allowed, stopping\.|Unable to commit: "
    r"|Message file not found: |Error reading message file: |Aider only works with git repos "
    r"|Unable to read git repository)"
)
KINDS: dict[str, Fault] = {
    "AuthenticationError": "auth",
    "PermissionDeniedError": "auth",
    "BudgetExceededError": "money",
    "RateLimitError": "rate",
    "RouterRateLimitError": "rate",
    "InternalServerError": "transient",
    "ServiceUnavailableError": "transient",
    "BadGatewayError": "transient",
    "APIConnectionError": "transient",
    "APIError": "transient",
    "Timeout": "transient",
}
LIMIT = re.compile(
    r"\busage limit\b|\b(?:daily|weekly|monthly) (?:\w+ )?(?:limit|quota)\b|\bquota will reset\b"
    r"|\ballocated quota exceeded\b",
    re.IGNORECASE,
)
LINES_OF_AN_ERROR = 12  # a long one is broken at the width of a terminal
NO_ANSWER = "aider ended without an answer of its model"
SIZES = {"k": 1_000, "M": 1_000_000}


class AiderStream:
    """A Parser."""

    def __init__(self) -> None:
        self._text = TextStream()
        self._rest = ""
        self._error: list[str] = []  # its lines, while nothing has answered since
        self._kind: Fault = ""
        self._tries = 0
        self._tokens: Tokens | None = None
        self._cost: float | None = None

    def feed(self, data: bytes) -> Sequence[Event]:
        return [told for event in self._text.feed(data) for told in self._follow(event)]

    def close(self) -> Sequence[Event]:
        return [told for event in self._text.close() for told in self._follow(event)]

    def _follow(self, event: Event) -> Iterator[Event]:
        if isinstance(event, Finished):
            yield from self._line(self._rest)
            self._rest = ""
            yield from self._ended(event)
            return
        yield event
        if isinstance(event, Said):
            *lines, self._rest = (self._rest + event.text).split("\n")
            for line in lines:
                yield from self._line(line)

    def _line(self, line: str) -> Iterator[Event]:
        if report := REPORT.match(line):
            yield from self._reported(report)
        elif refused := REFUSED.match(line):
            self._error, self._kind = [line], KINDS.get(refused[1], "")
        elif retry := RETRY.match(line):
            self._tries += 1
            yield Retrying(self._tries, 0, float(retry[1]), short(" ".join(self._error)))
        elif line.startswith(EMPTY) or STOPPED.match(line):
            self._error, self._kind = [line], ""
        elif self._error and line.strip() and len(self._error) < LINES_OF_AN_ERROR:
            self._error.append(line)
        if cost := COST.search(line) if self._tokens is not None else None:
            self._cost = float(cost[1])

    def _reported(self, report: re.Match[str]) -> Iterator[Event]:
        """Words that looked like an error were its model's, for it has answered."""
        sent, written, read, received = (_count(number) for number in report.groups())
        self._tokens = (self._tokens or Tokens()) + Tokens(max(0, sent - written - read), received, read, written)
        self._tries = 0
        if not self._error or not self._error[0].startswith(EMPTY):
            self._error = []
        yield Spent(self._tokens)

    def _ended(self, event: Finished) -> Iterator[Event]:
        error = " ".join(line.strip() for line in self._error)
        kind = self._kind
        if not error and self._tokens is None:
            error = NO_ANSWER
        limit = LIMIT.search(error) if self._kind else None
        if limit:
            reset = reset_of(error)
            yield LimitMet(short(error), reset.at, reset.after)
        elif kind == "rate" and faults.of_words(error) == "money":
            kind = "money"
        yield replace(
            event, error=error, tokens=self._tokens, cost=self._cost, fault="" if limit or not error else kind
        )


def _count(number: str | None) -> int:
    """As it writes numbers: `950`, `2.4k`, `1.2M`."""
    if not number:
        return 0
    size = SIZES.get(number[-1], 1)
    try:
        return round(float(number.rstrip("kM")) * size)
    except ValueError:
        return 0
