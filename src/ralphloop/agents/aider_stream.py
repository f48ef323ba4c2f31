"""Aider's plain output as events: its own lines about tokens, cost and errors are told apart from its model's words."""

import re
from collections.abc import Iterator, Sequence

from ralphloop.agents import faults
from ralphloop.agents.lines import FLOOD, SAID_LIMIT, Line, Lines, clean, ending, short
from ralphloop.agents.reset import reset_of
from ralphloop.core.event import Event, Fault, Finished, LimitMet, Retrying, Said, Spent, Tokens, Unread

NUMBER = r"([\d.]+[kM]?)"
REPORT = re.compile(rf"^Tokens: {NUMBER} sent(?:, {NUMBER} cache write)?(?:, {NUMBER} cache hit)?, {NUMBER} received\.")
COST = re.compile(r"(?:^|\. )Cost: \$([\d.]+) message, \$([\d.]+) session\.")
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
    """A Parser. What stands before a usage report is said as one block; the last word is its model's last answer."""

    def __init__(self) -> None:
        self._lines = Lines(SAID_LIMIT)
        self._block: list[str] = []
        self._size = 0
        self._left = FLOOD  # bytes that are still told
        self._untold, self._untold_lines = 0, 0
        self._answer = ""
        self._error: list[str] = []  # its lines, while nothing has answered since
        self._kind: Fault = ""
        self._tries = 0
        self._tokens: Tokens | None = None
        self._cost: float | None = None
        self._closed = False

    def feed(self, data: bytes) -> Sequence[Event]:
        return [event for line in self._lines.feed(data) for event in self._of_line(line)]

    def close(self) -> Sequence[Event]:
        if self._closed:
            return []
        self._closed = True
        events = [event for line in self._lines.close() for event in self._of_line(line)]
        events += self._said()
        if self._untold:
            events.append(Unread(self._untold_lines, self._untold, "more output than is told"))
        return [*events, *self._ended()]

    def _of_line(self, line: Line) -> Iterator[Event]:
        # of a line that is drawn again and again only the last drawing stands
        words = clean(line.text.decode("utf-8", "replace").rstrip("\r").rpartition("\r")[2])
        if cost := COST.search(words) if self._tokens is not None or REPORT.match(words) else None:
            self._cost = _number(cost[2])
        if report := REPORT.match(words):
            self._answer = ending("\n".join(self._block).strip())
            yield from self._said()
            yield from self._reported(report)
        elif retry := RETRY.match(words):
            self._tries += 1
            yield from self._said()
            yield Retrying(self._tries, 0, _number(retry[1]) or 0, short(" ".join(self._error)))
        else:
            self._look_for_an_error(words)
            self._block.append(words)
            self._size += line.size + 1
            if self._size > SAID_LIMIT:
                yield from self._said()

    def _look_for_an_error(self, line: str) -> None:
        if refused := REFUSED.match(line):
            self._error, self._kind = [line], KINDS.get(refused[1], "")
        elif line.startswith(EMPTY) or STOPPED.match(line):
            self._error, self._kind = [line], ""
        elif self._error and line.strip() and len(self._error) < LINES_OF_AN_ERROR:
            self._error.append(line.strip())

    def _said(self) -> list[Event]:
        words, lines, size = "\n".join(self._block).strip(), len(self._block), self._size
        self._block, self._size = [], 0
        if not words:
            return []
        if size > self._left:
            self._untold, self._untold_lines = self._untold + size, self._untold_lines + lines
            return []
        self._left -= size
        return [Said(ending(words))]

    def _reported(self, report: re.Match[str]) -> Iterator[Event]:
        """Words that looked like an error were its model's, for it has answered."""
        sent, written, read, received = (_count(number) for number in report.groups())
        self._tokens = (self._tokens or Tokens()) + Tokens(max(0, sent - written - read), received, read, written)
        self._tries = 0
        if not self._error or not self._error[0].startswith(EMPTY):
            self._error = []
        yield Spent(self._tokens)

    def _ended(self) -> Iterator[Event]:
        error = ending(" ".join(self._error))
        kind = self._kind if error else ""
        if not error and self._tokens is None:
            error = NO_ANSWER
        if kind and LIMIT.search(error):
            reset = reset_of(error)
            yield LimitMet(short(error), reset.at, reset.after)
        elif kind == "rate" and faults.of_words(error) == "money":
            kind = "money"
        yield Finished(self._answer, error, tokens=self._tokens, cost=self._cost, fault=kind)


def _count(number: str | None) -> int:
    """As it writes numbers: `950`, `2.4k`, `1.2M`."""
    if not number:
        return 0
    return round((_number(number.rstrip("kM")) or 0) * SIZES.get(number[-1], 1))


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
