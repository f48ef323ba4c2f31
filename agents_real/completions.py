"""The OpenAI Chat Completions API: its bodies and chunks, made of what the model says."""

import json
from collections.abc import Iterator

from messages import Json, Say, Usage, cut_up


def usage_of(usage: Usage) -> Json:
    """What was read from the cache is part of the prompt here; what was written to it has no field."""
    read = usage.input + usage.cache_read
    return {
        "prompt_tokens": read,
        "completion_tokens": usage.output,
        "total_tokens": read + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read},
        "completion_tokens_details": {"reasoning_tokens": 0},
    }


def _calls(number: int, answer: Say) -> list[Json]:
    return [
        {
            "id": f"call_{number:04d}_{place}",
            "type": "function",
            "function": {"name": tool.name, "arguments": json.dumps(tool.input)},
        }
        for place, tool in enumerate(answer.tools)
    ]


def whole_completion(request: Json, number: int, answer: Say) -> Json:
    calls = _calls(number, answer)
    message: Json = {"role": "assistant", "content": answer.text or None}
    if calls:
        message["tool_calls"] = calls
    choice = {"index": 0, "message": message, "finish_reason": _reason(answer), "logprobs": None}
    return {**_head(request, number, "chat.completion"), "choices": [choice], "usage": usage_of(answer.usage)}


def completion_chunks(request: Json, number: int, answer: Say) -> Iterator[Json]:
    """The stream of one completion; its usage comes last, and only to whoever asked for it."""
    head = _head(request, number, "chat.completion.chunk")

    def chunk(delta: Json, reason: str | None = None) -> Json:
        return {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": reason, "logprobs": None}]}

    yield chunk({"role": "assistant", "content": ""})
    for part in cut_up(answer.text):
        yield chunk({"content": part})
    for index, call in enumerate(_calls(number, answer)):
        function = call["function"]
        yield chunk({"tool_calls": [{**call, "index": index, "function": {**function, "arguments": ""}}]})
        for part in cut_up(function["arguments"]):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": part}}]})
    yield chunk({}, _reason(answer))
    if (request.get("stream_options") or {}).get("include_usage"):
        yield {**head, "choices": [], "usage": usage_of(answer.usage)}


def _reason(answer: Say) -> str:
    return "tool_calls" if answer.tools else "stop"


def _head(request: Json, number: int, kind: str) -> Json:
    return {
        "id": f"chatcmpl-{number:04d}", "object": kind, "created": 1767972000, "model": request.get("model", ""),
    }  # fmt: skip
