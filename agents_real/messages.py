"""What the model says, as values, and the Anthropic Messages API's bodies and events made of them."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

Json = dict[str, Any]


class Tool(NamedTuple):
    """A tool the model wants called; one that takes no arguments but a text is given a text."""

    name: str
    input: Json | str


class Usage(NamedTuple):
    """The tokens of one message, as the API's own last word on it."""

    input: int = 100
    output: int = 20
    cache_read: int = 0
    cache_write: int = 0

    def plus(self, other: "Usage") -> "Usage":
        return Usage(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))

    def wire(self, output: int) -> Json:
        return {
            "input_tokens": self.input,
            "output_tokens": output,
            "cache_read_input_tokens": self.cache_read,
            "cache_creation_input_tokens": self.cache_write,
        }


class Say(NamedTuple):
    """A whole message; `pace` is the pause before each event of the stream, in seconds."""

    text: str = ""
    tools: tuple[Tool, ...] = ()
    usage: Usage = Usage()
    pace: float = 0.0
    headers: Mapping[str, str] = {}


class Refuse(NamedTuple):
    """An HTTP error with the API's error body; `more` stands in it beside the kind and the message."""

    status: int
    kind: str
    message: str
    headers: Mapping[str, str] = {}
    more: Mapping[str, object] = {}


class Cut(NamedTuple):
    """A stream that breaks off in the middle of its text."""

    text: str = "This sentence will never be"


class Fail(NamedTuple):
    """An answer under status 200 that tells of an error; a stream begins well before."""

    kind: str
    message: str
    text: str = "This sentence will never be"


class Silence(NamedTuple):
    """Takes the request and never says a byte."""


Answer = Say | Refuse | Cut | Fail | Silence
Scenario = Callable[[Json, int], Answer]


def error_body(kind: str, message: str) -> Json:
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_loopback"}


def _blocks(number: int, answer: Say) -> list[Json]:
    text = [{"type": "text", "text": answer.text}] if answer.text or not answer.tools else []
    tools = [
        {"type": "tool_use", "id": f"toolu_{number:04d}_{place}", "name": tool.name, "input": tool.input}
        for place, tool in enumerate(answer.tools)
    ]
    return text + tools


def whole_message(request: Json, number: int, answer: Say) -> Json:
    return {
        "id": f"msg_{number:04d}",
        "type": "message",
        "role": "assistant",
        "model": request.get("model", ""),
        "content": _blocks(number, answer),
        "stop_reason": "tool_use" if answer.tools else "end_turn",
        "stop_sequence": None,
        "usage": answer.usage.wire(answer.usage.output),
    }


def message_events(request: Json, number: int, answer: Say) -> Iterator[Json]:
    """The stream of one message; its first usage is stale, as the real one's is."""
    whole = whole_message(request, number, answer)
    start = {**whole, "content": [], "stop_reason": None, "usage": answer.usage.wire(1)}
    yield {"type": "message_start", "message": start}
    yield {"type": "ping"}
    for index, block in enumerate(whole["content"]):
        if block["type"] == "text":
            empty: Json = {"type": "text", "text": ""}
            parts = [{"type": "text_delta", "text": part} for part in cut_up(block["text"])]
        else:
            empty = {**block, "input": {}}
            parts = [{"type": "input_json_delta", "partial_json": part} for part in cut_up(json.dumps(block["input"]))]
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        for part in parts:
            yield {"type": "content_block_delta", "index": index, "delta": part}
        yield {"type": "content_block_stop", "index": index}
    stop = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": stop, "usage": whole["usage"]}
    yield {"type": "message_stop"}


def cut_up(text: str, size: int = 24) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)] or [""]
