"""Codex's JSON lines as events: items of one turn, and how the turn ended."""

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime

from ralphloop.agents import faults
from ralphloop.agents.json_stream import JsonStream
from ralphloop.agents.lines import ending, short
from ralphloop.agents.moment import moment
from ralphloop.agents.shapes import count, mapping, mappings, number, telling, text, words
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

ERROR_LIMIT = 4000
SILENT = frozenset({"reasoning", "todo_list", "plan"})
TOOLS = {"command_execution": "shell", "file_change": "edit", "web_search": "web_search"}
_RETRY = re.compile(r"Reconnecting\.\.\. (\d{1,6})/(\d{1,6})(?: \((.*)\))?", re.DOTALL)
_STATUS = re.compile(r"(?:unexpected|last) status:? (\d{3})\b")
_LIMIT = re.compile(
    r"\byou['’]ve (?:hit|reached) your (?:\w+ )?limit\b|\busage limit (?:has been )?reached", re.IGNORECASE
)
_AGAIN = re.compile(r"\btry again at (.{5,40})", re.IGNORECASE)
OWN_WORDS: dict[str, Fault] = {
    "experiencing high demand": "transient",
    "at capacity": "transient",
    "quota exceeded": "money",
    "upgrade to plus": "money",
}


class CodexStream:
    """A Parser. Codex tells when a limit ends by the clock on the wall, so it needs to know the day."""

    def __init__(self, now: Callable[[], datetime] = datetime.now) -> None:
        self._stream = JsonStream(self._read, self._end)
        self._now = now
        self._answer = ""
        self._calls: dict[str, str] = {}  # the tool of each item that was begun
        self._error = ""  # the last that no turn has owned up to

    def written(self, at: float) -> None:
        self._now = lambda: datetime.fromtimestamp(at)

    def feed(self, data: bytes) -> Sequence[Event]:
        return self._stream.feed(data)

    def close(self) -> Sequence[Event]:
        return self._stream.close()

    def _read(self, event: dict[str, object]) -> Iterable[Event] | None:
        item = mapping(event.get("item"))
        match event.get("type"):
            case "thread.started":
                return (SessionStarted(short(text(event.get("thread_id")))),)
            case "turn.started" | "item.updated":
                return ()
            case "item.started":
                return self._begun(item)
            case "item.completed":
                return self._completed(item)
            case "error":
                return self._errors(text(event.get("message")))
            case "turn.failed":
                return self._failed(text(mapping(event.get("error")).get("message")))
            case "turn.completed":
                self._error = ""
                return (Finished(self._answer, tokens=_tokens(event.get("usage"))),)
            case _:
                return None

    def _begun(self, item: dict[str, object]) -> Iterator[Event]:
        kind = text(item.get("type"))
        if kind in SILENT or kind in ("agent_message", "error"):
            return
        name = TOOLS.get(kind) or ".".join(filter(None, (text(item.get("server")), text(item.get("tool"))))) or kind
        self._calls[text(item.get("id"))[:200]] = short(name)
        yield ToolCalled(short(name), _about(kind, item))

    def _completed(self, item: dict[str, object]) -> Iterator[Event]:
        kind = text(item.get("type"))
        if kind == "agent_message":
            if said := text(item.get("text")).strip():
                self._answer = ending(said)
                yield Said(self._answer)
        elif kind == "error":
            # a notice about the setup; the turn goes on
            yield ToolAnswered(False, short(text(item.get("message"))), "codex")
        elif kind not in SILENT:
            known = text(item.get("id"))[:200]
            if known not in self._calls:
                yield from self._begun(item)
            yield ToolAnswered(item.get("status") in ("completed", None), _answer(item), self._calls.pop(known, ""))

    def _errors(self, message: str) -> Iterator[Event]:
        if retry := _RETRY.match(message):
            why = retry[3] or ""
            yield Retrying(int(retry[1]), int(retry[2]), 0.0, short(why), _fault(why) or "transient")
        else:
            self._error = message[:ERROR_LIMIT]

    def _failed(self, message: str) -> Iterator[Event]:
        message = message[:ERROR_LIMIT] or self._error or "the turn failed and codex does not tell why"
        self._error = ""
        limited = _LIMIT.search(message)
        if limited:
            again = _AGAIN.search(message)
            yield LimitMet(short(message), moment(again[1], self._now()) if again else None)
        yield Finished(self._answer, ending(message), fault="rate" if limited else _fault(message))

    def _end(self) -> Iterable[Event]:
        return self._failed(self._error) if self._error else ()


def _tokens(usage: object) -> Tokens | None:
    """What was read from a cache, or written to it, is part of the input here."""
    told = mapping(usage)
    if number(told.get("input_tokens")) is None:
        return None
    read, written = count(told.get("cached_input_tokens")), count(told.get("cache_write_input_tokens"))
    into = max(0, count(told.get("input_tokens")) - read - written)
    return Tokens(into, count(told.get("output_tokens")), read, written)


def _about(kind: str, item: dict[str, object]) -> str:
    match kind:
        case "command_execution":
            return short(_without_shell(text(item.get("command"))[:ERROR_LIMIT]))
        case "file_change":
            return short(" ".join(text(change.get("path")) for change in mappings(item.get("changes"))))
        case "mcp_tool_call":
            return telling(mapping(item.get("arguments")))
        case _:
            return telling({key: value for key, value in item.items() if key not in ("id", "type", "status")})


def _without_shell(command: str) -> str:
    """What the shell was given, as the agent wrote it."""
    try:
        parts = shlex.split(command)
    except ValueError:
        return command
    return parts[2] if len(parts) == 3 and parts[1] in ("-lc", "-c") else command


def _answer(item: dict[str, object]) -> str:
    """What a tool said, or why it could not."""
    error = text(mapping(item.get("error")).get("message"))
    return short(text(item.get("aggregated_output")) or error or words(mapping(item.get("result")).get("content")))


def _fault(message: str) -> Fault:
    status = _STATUS.search(message)
    known = faults.of_status(float(status[1])) if status else ""
    if known:
        return known
    return next((fault for said, fault in OWN_WORDS.items() if said in message.lower()), faults.of_words(message))
