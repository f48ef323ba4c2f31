"""The OpenAI Responses API: its bodies and events, made of what the model says."""

import json
from collections.abc import Iterator

from messages import Json, Say, Tool, Usage, cut_up


def usage_of(usage: Usage) -> Json:
    """What was read from the cache is part of the input here; what was written to it has no field."""
    read = usage.input + usage.cache_read
    return {
        "input_tokens": read,
        "input_tokens_details": {"cached_tokens": usage.cache_read},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": read + usage.output,
    }


def _items(number: int, answer: Say) -> list[Json]:
    content = {"type": "output_text", "text": answer.text, "annotations": [], "logprobs": []}
    message = {
        "id": f"msg_{number:04d}", "type": "message", "status": "completed", "role": "assistant", "content": [content],
    }  # fmt: skip
    calls = [_call(f"{number:04d}_{place}", tool) for place, tool in enumerate(answer.tools)]
    return ([message] if answer.text or not calls else []) + calls


def _call(name: str, tool: Tool) -> Json:
    told = {"id": f"fc_{name}", "status": "completed", "call_id": f"call_{name}", "name": tool.name}
    if isinstance(tool.input, str):
        return {**told, "type": "custom_tool_call", "input": tool.input}
    return {**told, "type": "function_call", "arguments": json.dumps(tool.input)}


def whole_response(request: Json, number: int, answer: Say) -> Json:
    return {
        "id": f"resp_{number:04d}",
        "object": "response",
        "created_at": 1767972000,
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "model": request.get("model", ""),
        "output": _items(number, answer),
        "parallel_tool_calls": True,
        "usage": usage_of(answer.usage),
    }


def response_events(request: Json, number: int, answer: Say) -> Iterator[Json]:
    """The stream of one response; its items are told when they begin, in parts, and whole."""
    for sequence, event in enumerate(_unnumbered(request, number, answer)):
        yield {**event, "sequence_number": sequence}


def _unnumbered(request: Json, number: int, answer: Say) -> Iterator[Json]:
    whole = whole_response(request, number, answer)
    begun = {**whole, "status": "in_progress", "output": [], "usage": None}
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    for place, item in enumerate(whole["output"]):
        at = {"output_index": place, "item_id": item["id"]}
        if item["type"] == "message":
            parts = _message_parts(at, item)
            empty = {**item, "status": "in_progress", "content": []}
        else:
            key = "input" if item["type"] == "custom_tool_call" else "arguments"
            parts = _call_parts(at, f"response.{item['type']}_{key}", key, item[key])
            empty = {**item, "status": "in_progress", key: ""}
        yield {"type": "response.output_item.added", "output_index": place, "item": empty}
        yield from parts
        yield {"type": "response.output_item.done", "output_index": place, "item": item}
    yield {"type": "response.completed", "response": whole}


def _message_parts(at: Json, item: Json) -> Iterator[Json]:
    at = {**at, "content_index": 0}
    (content,) = item["content"]
    yield {"type": "response.content_part.added", **at, "part": {**content, "text": ""}}
    for part in cut_up(content["text"]):
        yield {"type": "response.output_text.delta", **at, "delta": part, "logprobs": []}
    yield {"type": "response.output_text.done", **at, "text": content["text"], "logprobs": []}
    yield {"type": "response.content_part.done", **at, "part": content}


def _call_parts(at: Json, kind: str, key: str, told: str) -> Iterator[Json]:
    for part in cut_up(told):
        yield {"type": f"{kind}.delta", **at, "delta": part}
    yield {"type": f"{kind}.done", **at, key: told}


def failed_response(request: Json, number: int, kind: str, message: str) -> Json:
    """The event of a response that did not come to its end."""
    whole = whole_response(request, number, Say())
    error = {"code": kind, "message": message}
    failed = {**whole, "status": "failed", "error": error, "output": [], "usage": None}
    return {"type": "response.failed", "sequence_number": 99, "response": failed}
