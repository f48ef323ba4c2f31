"""Droid's stream-json as events."""

from collections.abc import Iterable, Iterator, Sequence

from ralphloop.agents import faults
from ralphloop.agents.json_stream import JsonStream
from ralphloop.agents.lines import ending, short
from ralphloop.agents.shapes import mapping, number, telling, text, words
from ralphloop.core.event import Event, Finished, Said, SessionStarted, ToolAnswered, ToolCalled

CALLS_REMEMBERED = 256
ERROR_LIMIT = 4000


class DroidStream:
    """A Parser. Its last word is a `completion`; an `error` after which nothing was done is one as well."""

    def __init__(self) -> None:
        self._stream = JsonStream(self._read, self._broken_off)
        self._calls: dict[str, str] = {}  # the tool of each call that was not answered yet
        self._error = ""

    def feed(self, data: bytes) -> Sequence[Event]:
        return self._stream.feed(data)

    def close(self) -> Sequence[Event]:
        return self._stream.close()

    def _read(self, event: dict[str, object]) -> Iterable[Event] | None:
        match event.get("type"):
            case "system":
                return [SessionStarted(short(text(event.get("session_id"))), short(text(event.get("model"))))]
            case "message":
                return self._message(event)
            case "tool_call":
                return self._called(event)
            case "tool_result":
                return self._answered(event)
            case "error":
                self._error = ending(text(event.get("message"))[:ERROR_LIMIT]) or "an error without a message"
                return ()
            case "completion":
                return self._completed(event)
            case _:
                return None

    def _message(self, event: dict[str, object]) -> Iterator[Event]:
        said = text(event.get("text"))
        if event.get("role") == "assistant" and said.strip():
            self._error = ""
            yield Said(ending(said))

    def _called(self, event: dict[str, object]) -> Iterator[Event]:
        self._error = ""
        name = short(text(event.get("toolName")) or text(event.get("toolId")))
        self._calls[text(event.get("id"))[:200]] = name
        if len(self._calls) > CALLS_REMEMBERED:
            del self._calls[next(iter(self._calls))]
        yield ToolCalled(name, telling(mapping(event.get("parameters"))))

    def _answered(self, event: dict[str, object]) -> Iterator[Event]:
        name = self._calls.pop(text(event.get("id"))[:200], "")
        told = words(event.get("value")) or text(mapping(event.get("error")).get("message"))
        yield ToolAnswered(event.get("isError") is not True, short(told), name)

    def _completed(self, event: dict[str, object]) -> Iterator[Event]:
        turns = number(event.get("numTurns"))
        told = ending(text(event.get("finalText")))
        turned = int(turns) if turns is not None and turns >= 0 else None
        error, self._error = self._error, ""
        yield Finished(told, error, turns=turned, fault=faults.of_words(error) if error else "")

    def _broken_off(self) -> Iterator[Event]:
        if self._error:
            yield Finished("", self._error, fault=faults.of_words(self._error))
