"""Gemini's stream-json as events: its words come in pieces and are put together before they are told."""

import re
from collections.abc import Iterable, Iterator, Sequence

from ralphloop.agents import faults
from ralphloop.agents.json_stream import JsonStream
from ralphloop.agents.lines import SAID_LIMIT, ending, short
from ralphloop.agents.reset import moment_of, reset_of
from ralphloop.agents.shapes import count, mapping, telling, text
from ralphloop.core.event import (
    Event,
    Fault,
    Finished,
    LimitMet,
    Retrying,
    Said,
    SessionStarted,
    Tokens,
    ToolAnswered,
    ToolCalled,
)

ANSWER = b'{"type":"tool_result"'  # what tools answered: never the agent's own word
ERROR_LIMIT = 4000
CALLS_REMEMBERED = 256
LOOP = "Loop detected"  # told as a warning, but nothing more is done after it
API_ERROR = re.compile(r"^\[API Error: (?P<told>.*?)\](?P<advice>\s.*)?$", re.DOTALL)
STATUS = re.compile(r'"code": ?(\d{3})\b|\(Status: (\w+)\)')
NAMED = {
    "UNAUTHENTICATED": 401,
    "PERMISSION_DENIED": 403,
    "RESOURCE_EXHAUSTED": 429,
    "INTERNAL": 500,
    "UNAVAILABLE": 503,
}
# a quota that is not over in a moment; the CLI waits for the others by itself
LIMIT = re.compile(
    r"\bdaily quota\b|\bquota will reset\b|\bexhausted your capacity\b|\bquota exceeded for quota metric\b",
    re.IGNORECASE,
)
TERMINAL = re.compile(r"^Error when talking to Gemini API .*\bTerminalQuotaError: ")
RETRY = re.compile(
    r"^Attempt (?P<attempt>\d+) failed(?: with status (?P<status>\d{3}))?[.:](?P<why>.*?)"
    r" Retrying (?:with backoff|after (?P<wait>\d+)ms)\.\.\."
)
CREDIT = re.compile(r"\bcredits?\b|\blimit: 0\b", re.IGNORECASE)
# what the CLI writes to stderr beside its stream, when all is well and when a request was refused
CHATTER = re.compile(
    r"^(?:YOLO mode is enabled|Warning: |Ripgrep is not available|\[STARTUP\]|Loaded cached credentials"
    r"|Approval mode overridden|Error when talking to Gemini API|Error executing tool|Attempt \d+ failed"
    r"|\s+at |\s+[\w[\]]+: |\s*[{}]+,?\s*$)"
)


class GeminiStream:
    """A Parser."""

    def __init__(self) -> None:
        self._stream = JsonStream(self._read, self._put_together, dull=ANSWER, plain=self._plain)
        self._words = ""
        self._last_words = ""
        self._calls: dict[str, str] = {}  # the tool of each call that was not answered yet
        self._error = ""  # told in the stream, and nothing was done since
        self._terminal = False

    def feed(self, data: bytes) -> Sequence[Event]:
        return self._stream.feed(data)

    def close(self) -> Sequence[Event]:
        return self._stream.close()

    def _plain(self, line: str) -> Iterable[Event] | None:
        """What stands on stderr; it may hold what a tool answered, so it is believed only beside an error."""
        self._terminal = self._terminal or TERMINAL.search(line) is not None
        if retry := RETRY.search(line):
            why = f"{retry['status'] or ''} {retry['why']}".strip()
            return [Retrying(int(retry["attempt"]), 0, int(retry["wait"] or 0) / 1000, short(why))]
        return () if CHATTER.search(line) else None

    def _read(self, event: dict[str, object]) -> Iterable[Event] | None:
        match event.get("type"):
            case "message" if event.get("role") == "assistant":
                self._words = (self._words + text(event.get("content")))[-SAID_LIMIT:]
                self._error = ""
                return ()
            case "message":
                return self._put_together()
            case "init":
                return [SessionStarted(short(text(event.get("session_id"))), short(text(event.get("model"))))]
            case "tool_use":
                return self._called(event)
            case "tool_result":
                return self._answered(event)
            case "error":
                return self._complained(event)
            case "result":
                return self._result(event)
            case _:
                return None

    def _put_together(self) -> Iterator[Event]:
        words, self._words = self._words, ""
        if words.strip():
            self._last_words = ending(words)
            yield Said(self._last_words)

    def _called(self, event: dict[str, object]) -> Iterator[Event]:
        yield from self._put_together()
        self._error = ""
        name = short(text(event.get("tool_name")))
        self._calls[text(event.get("tool_id"))[:200]] = name
        if len(self._calls) > CALLS_REMEMBERED:
            del self._calls[next(iter(self._calls))]
        yield ToolCalled(name, telling(mapping(event.get("parameters"))))

    def _answered(self, event: dict[str, object]) -> Iterator[Event]:
        yield from self._put_together()
        name = self._calls.pop(text(event.get("tool_id"))[:200], "")
        told = text(event.get("output")) or text(mapping(event.get("error")).get("message"))
        yield ToolAnswered(event.get("status") == "success", short(told), name)

    def _complained(self, event: dict[str, object]) -> Iterator[Event]:
        yield from self._put_together()
        told = text(event.get("message")).strip()
        if event.get("severity") == "error" or told.startswith(LOOP):
            self._error = told or "an error without a message"

    def _result(self, event: dict[str, object]) -> Iterator[Event]:
        yield from self._put_together()
        told = text(mapping(event.get("error")).get("message")).strip()
        error = told or self._error
        if event.get("status") != "success" and not error:
            error = f"the agent ended with the status {short(str(event.get('status')), 60)}"
        refused = API_ERROR.search(told)
        limit = self._limit(told, event) if refused else None
        if limit:
            yield limit
        yield Finished(
            text=self._last_words,
            error=ending(error[:ERROR_LIMIT]),
            tokens=_tokens(event.get("stats"), told),
            fault="" if not error else "rate" if limit else _fault(refused) if refused else faults.of_words(error),
        )

    def _limit(self, told: str, event: dict[str, object]) -> LimitMet | None:
        if CREDIT.search(told) or not (self._terminal or LIMIT.search(told)):
            return None
        reset = reset_of(told)
        now = moment_of(text(event.get("timestamp")))
        why = short(told.partition("\n")[0].removeprefix("[API Error: ").rstrip("]"))
        if now and reset.after:
            return LimitMet(why, now + reset.after)
        return LimitMet(why, reset.at, reset.after)


def _fault(refused: re.Match[str]) -> Fault:
    """The status where one is told; the advice stands behind an error of too many requests only."""
    told = refused["told"]
    if CREDIT.search(told):
        return "money"
    found = STATUS.search(told)
    status = (int(found[1]) if found[1] else NAMED.get(found[2])) if found else None
    if status == 400 and "api key" in told.lower():
        return "auth"  # a key that nobody knows is an invalid argument there
    if known := faults.of_status(status):
        return known
    return "rate" if refused["advice"] else faults.of_words(refused[0])


def _tokens(stats: object, error: str) -> Tokens | None:
    """What was cached is told as part of the input; what was thought is in the total only."""
    told = mapping(stats)
    total, read, cached = count(told.get("total_tokens")), count(told.get("input_tokens")), count(told.get("cached"))
    if "total_tokens" not in told or (error and not total):
        return None
    return Tokens(max(0, read - cached), max(count(told.get("output_tokens")), total - read), cached)
