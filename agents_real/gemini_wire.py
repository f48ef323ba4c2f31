"""Gemini's generateContent API, as values: its requests read as the Messages API's, its answers made of ours."""

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from messages import Json, Refuse, Say, Tool, Usage

TOOLS = {"Bash": "run_shell_command", "Read": "read_file", "Write": "write_file", "Edit": "replace"}
STATUS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
}
PER_DAY = "quota_per_day"  # the kind of a refusal that stands until the day is over
QUOTA_FAILURE = {
    "@type": "type.googleapis.com/google.rpc.QuotaFailure",
    "violations": [
        {
            "quotaMetric": "generativelanguage.googleapis.com/generate_content_free_tier_requests",
            "quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier",
            "quotaValue": "250",
        }
    ],
}
SESSION_CONTEXT = "<session_context>"


def as_messages(request: Json) -> Json:
    """The request as the Messages API would have it, so that one scenario serves every agent."""
    messages = [_message(content) for content in request.get("contents", [])]
    prompt = json.dumps([message["content"] for message in messages if message["role"] == "user"][:2])
    session = hashlib.sha256(prompt.encode()).hexdigest()[:32]
    declared = [tool for group in request.get("tools", []) for tool in group.get("functionDeclarations", [])]
    return {
        "messages": [message for message in messages if message["content"]],
        "tools": declared,
        "metadata": {"user_id": f"session_{session}"},
        "stream": True,
    }


def _message(content: Json) -> Json:
    blocks: list[Json] = []
    for part in content.get("parts", []):
        if "functionCall" in part:
            blocks.append({"type": "tool_use", "name": part["functionCall"].get("name", "")})
        elif "functionResponse" in part:
            told = json.dumps(part["functionResponse"].get("response", {}), ensure_ascii=False)
            blocks.append({"type": "tool_result", "content": told})
        elif not str(part.get("text", "")).lstrip().startswith(SESSION_CONTEXT):
            blocks.append({"type": "text", "text": str(part.get("text", ""))})
    return {"role": "assistant" if content.get("role") == "model" else "user", "content": blocks}


def whole_answer(number: int, answer: Say, model: str) -> Json:
    text = [{"text": answer.text}] if answer.text or not answer.tools else []
    return _chunk(number, model, text + [_call(tool) for tool in answer.tools], answer.usage, last=True)


def answer_chunks(number: int, answer: Say, model: str, size: int = 7) -> Iterator[Json]:
    """The stream of an answer, its text in pieces so small that no promise comes whole."""
    for start in range(0, len(answer.text), size):
        yield _chunk(number, model, [{"text": answer.text[start : start + size]}], answer.usage)
    yield _chunk(number, model, [_call(tool) for tool in answer.tools] or [{"text": ""}], answer.usage, last=True)


def _call(tool: Tool) -> Json:
    return {"functionCall": {"name": TOOLS.get(tool.name, tool.name), "args": tool.input}}


def _chunk(number: int, model: str, parts: list[Json], usage: Usage, *, last: bool = False) -> Json:
    candidate: Json = {"content": {"parts": parts, "role": "model"}, "index": 0}
    if last:
        candidate["finishReason"] = "STOP"
    told: dict[str, Any] = {
        "promptTokenCount": usage.input + usage.cache_read,  # what was cached is part of it
        "candidatesTokenCount": usage.output,
        "totalTokenCount": usage.input + usage.cache_read + usage.output,
    }
    if usage.cache_read:
        told["cachedContentTokenCount"] = usage.cache_read
    return {"candidates": [candidate], "usageMetadata": told, "modelVersion": model, "responseId": f"r{number:04d}"}


def error_body(refusal: Refuse) -> Json:
    error: Json = {
        "code": refusal.status,
        "message": refusal.message,
        "status": STATUS.get(refusal.status, "UNKNOWN"),
    }
    if refusal.kind == PER_DAY:
        error["details"] = [QUOTA_FAILURE]
    return {"error": error}
