"""OpenCode's JSON lines as events: the steps of a session, whose last line does not say that it is the last."""

import contextlib
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from ralphloop.agents import faults, opencode_limit
from ralphloop.agents.json_stream import JsonStream
from ralphloop.agents.lines import ending, short
from ralphloop.agents.shapes import count, mapping, number, telling, text
from ralphloop.core.event import Event, Fault, Finished, Said, SessionStarted, Spent, Tokens, ToolAnswered, ToolCalled

ERROR_LIMIT = 4000
WELL = "stop"
MIDDLE = "tool-calls"
REASONS = {
    MIDDLE: "the session was over before its work was",
    "length": "the model's answer was cut off at its greatest length",
    "content-filter": "the model's answer was held back by a filter",
    "error": "the model's answer ended with an error",
}
NAMES: dict[str, Fault] = {"ProviderAuthError": "auth"}


class OpenCodeStream:
    """A Parser. A step may end well and more may follow (a summary is a step too), so only the end is the end."""

    def __init__(self) -> None:
        self._stream = JsonStream(self._read, self._end)
        self._session = False
        self._answer = ""
        self._tokens = Tokens()
        self._cost = 0.0
        self._steps = 0
        self._reason = ""  # why the last step ended
        self._refused = ""  # what the last tool could not do
        self._error: dict[str, object] | None = None

    def feed(self, data: bytes) -> Sequence[Event]:
        return self._stream.feed(data)

    def close(self) -> Sequence[Event]:
        return self._stream.close()

    def _read(self, event: dict[str, object]) -> Iterable[Event] | None:
        part = mapping(event.get("part"))
        match event.get("type"):
            case "step_start":
                events = self._begun()
            case "text":
                events = self._said(text(part.get("text")))
            case "tool_use":
                events = self._used(part)
            case "step_finish":
                events = self._stepped(part)
            case "error":
                events = self._failed(mapping(event.get("error")))
            case "reasoning":
                events = iter(())
            case _:
                return None
        return [*self._started(event), *events]

    def _started(self, event: dict[str, object]) -> Iterator[Event]:
        if not self._session:
            self._session = True
            yield SessionStarted(short(text(event.get("sessionID"))))

    def _begun(self) -> Iterator[Event]:
        self._reason = MIDDLE
        return iter(())

    def _said(self, said: str) -> Iterator[Event]:
        if said.strip():
            self._answer = ending(said)
            yield Said(self._answer)

    def _used(self, part: dict[str, object]) -> Iterator[Event]:
        """A call is told when it has been answered."""
        name, state = short(text(part.get("tool"))), mapping(part.get("state"))
        code = number(mapping(state.get("metadata")).get("exit"))
        ok = state.get("status") == "completed" and not code
        about = short(text(state.get("output") or state.get("error")))
        self._refused = "" if state.get("status") == "completed" else about
        yield ToolCalled(name, telling(mapping(state.get("input"))))
        yield ToolAnswered(ok, about, name)

    def _stepped(self, part: dict[str, object]) -> Iterator[Event]:
        self._steps += 1
        self._reason = text(part.get("reason"))
        if self._reason == WELL:
            self._error = None
        cost = number(part.get("cost"))
        self._cost += cost if cost and cost > 0 else 0
        self._tokens += _tokens(part.get("tokens"))
        yield Spent(self._tokens)

    def _failed(self, error: dict[str, object]) -> Iterator[Event]:
        self._error = error
        limit = opencode_limit.from_error(mapping(error.get("data")))
        if limit:
            yield limit

    def _end(self) -> Iterable[Event]:
        if not self._session:
            return ()
        return (
            Finished(
                self._answer,
                self._problem(),
                tokens=self._tokens if self._steps else None,
                cost=self._cost or None,  # a model without a price costs 0 here
                turns=self._steps or None,
                fault=_fault(self._error) if self._error is not None else "",
            ),
        )

    def _problem(self) -> str:
        if self._error is not None:
            return _message(self._error) or short(text(self._error.get("name"))) or "opencode tells of an error"
        why = REASONS.get(self._reason, "")
        return f"{why}: {self._refused}" if why and self._reason == MIDDLE and self._refused else why


def _tokens(told: object) -> Tokens:
    """What was read from a cache is not part of the input here, what was thought is not part of the output."""
    tokens = mapping(told)
    cache = mapping(tokens.get("cache"))
    output = count(tokens.get("output")) + count(tokens.get("reasoning"))
    return Tokens(count(tokens.get("input")), output, count(cache.get("read")), count(cache.get("write")))


def _message(error: dict[str, object]) -> str:
    """The message; an error of a stream is told as the API's own JSON."""
    said = text(mapping(error.get("data")).get("message"))[:ERROR_LIMIT]
    if said.startswith("{"):
        with contextlib.suppress(ValueError, RecursionError):
            said = text(mapping(msgspec.json.decode(said)).get("message")) or said
    return ending(said)


def _fault(error: dict[str, object]) -> Fault:
    data = mapping(error.get("data"))
    if opencode_limit.from_error(data):
        return "rate"
    told = " ".join((text(data.get("message")), text(data.get("responseBody"))))
    status = number(data.get("statusCode"))
    by_status = faults.of_status(status)
    # a quota that is used up is answered with the status of a rate limit
    if by_status == "rate" and faults.of_words(told) == "money":
        return "money"
    return by_status or NAMES.get(text(error.get("name")), "") or ("" if status else faults.of_words(told))
