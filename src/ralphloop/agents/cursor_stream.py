"""Cursor's stream-json as events: claude's, with tool calls as lines of their own."""

from collections.abc import Iterable, Iterator, Sequence

from ralphloop.agents.claude_stream import ClaudeStream
from ralphloop.agents.json_stream import JsonStream
from ralphloop.agents.lines import short
from ralphloop.agents.shapes import mapping, telling, text
from ralphloop.core.event import Event, ToolAnswered, ToolCalled

NOISE = frozenset({"thinking", "user", "interaction_query"})


class CursorStream:
    """A Parser."""

    def __init__(self) -> None:
        self._claude = ClaudeStream()
        self._stream = JsonStream(self._read)

    def feed(self, data: bytes) -> Sequence[Event]:
        return self._stream.feed(data)

    def close(self) -> Sequence[Event]:
        return self._stream.close()

    def _read(self, event: dict[str, object]) -> Iterable[Event] | None:
        match event.get("type"):
            case "tool_call":
                return _of_tool(event)
            case str(kind) if kind in NOISE:
                return ()
            case _:
                return self._claude.read(event)


def _of_tool(event: dict[str, object]) -> Iterator[Event]:
    """The call lies under a name like `readToolCall`."""
    for key, told in mapping(event.get("tool_call")).items():
        call, name = mapping(told), short(key.removesuffix("ToolCall"))
        if event.get("subtype") == "started":
            yield ToolCalled(name, telling(mapping(call.get("args"))))
        elif event.get("subtype") == "completed":
            result = mapping(call.get("result"))
            yield ToolAnswered("success" in result, short(_answer(result)), name)


def _answer(result: dict[str, object]) -> str:
    told = result.get("success", next(iter(result.values()), ""))
    return text(told) or telling(mapping(told))
