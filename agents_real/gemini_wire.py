"""Gemini's generateContent API: its requests read as the Messages API's, its answers made of what the model says."""

import json
import re
from collections.abc import Iterator

from messages import Json, Refuse, Say, Tool, Usage

PATH = re.compile(r"/v1(?:beta)?/models/(?P<model>[^/:]+):(?P<way>generateContent|streamGenerateContent)")
STATUS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
}
SESSION_CONTEXT = "<session_context>"  # what the CLI tells its model about the place, before the prompt
PIECE = 7  # letters of a text that come at once: no promise comes whole
DETAIL = "type.googleapis.com/google.rpc."
PER_DAY = {
    "@type": f"{DETAIL}QuotaFailure",
    "violations": [
        {
            "quotaMetric": "generativelanguage.googleapis.com/generate_content_free_tier_requests",
            "quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier",
            "quotaValue": "250",
        }
    ],
}


def daily_quota() -> Refuse:
    """The quota that stands until the day is over."""
    return Refuse(429, "quota", "You exceeded your current quota.", more={"details": [PER_DAY]})


def quota_until(seconds: int) -> Refuse:
    """A quota whose end is told as a length of time, longer than the CLI waits by itself."""
    told = {"@type": f"{DETAIL}RetryInfo", "retryDelay": f"{seconds}s"}
    return Refuse(429, "quota", "You exceeded your current quota.", more={"details": [told]})


def as_messages(path: str, request: Json) -> Json:
    """The request as the Messages API would have it, so that one scenario serves every agent."""
    found = PATH.search(path)
    declared = [tool for group in request.get("tools", []) for tool in group.get("functionDeclarations", [])]
    messages = [_message(content) for content in request.get("contents", [])]
    return {
        "model": found["model"] if found else "",
        "messages": [message for message in messages if message["content"]],
        "tools": declared,
        "stream": found is not None and found["way"] == "streamGenerateContent",
        "schema": request.get("generationConfig", {}).get("responseJsonSchema"),
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


def whole_content(request: Json, number: int, answer: Say) -> Json:
    """A request with a schema is the CLI's own question of which model to use: it is given what fits."""
    text = json.dumps(_fitting(request["schema"])) if request.get("schema") else answer.text
    parts = [{"text": text}] if text or not answer.tools else []
    return _chunk(request, number, parts + [_call(tool) for tool in answer.tools], answer.usage, last=True)


def _fitting(schema: Json) -> Json:
    kinds = {name: str(told.get("type", "")).lower() for name, told in schema.get("properties", {}).items()}
    return {name: 1 if kind in ("integer", "number") else "as asked" for name, kind in kinds.items()}


def content_chunks(request: Json, number: int, answer: Say) -> Iterator[Json]:
    for start in range(0, len(answer.text), PIECE):
        yield _chunk(request, number, [{"text": answer.text[start : start + PIECE]}], answer.usage)
    calls = [_call(tool) for tool in answer.tools]
    yield _chunk(request, number, calls or [{"text": ""}], answer.usage, last=True)


def _call(tool: Tool) -> Json:
    return {"functionCall": {"name": tool.name, "args": tool.input}}


def _chunk(request: Json, number: int, parts: list[Json], usage: Usage, *, last: bool = False) -> Json:
    candidate: Json = {"content": {"parts": parts, "role": "model"}, "index": 0}
    if last:
        candidate["finishReason"] = "STOP"
    told = {
        "promptTokenCount": usage.input + usage.cache_read,  # what was cached is part of it
        "candidatesTokenCount": usage.output,
        "totalTokenCount": usage.input + usage.cache_read + usage.output,
        "cachedContentTokenCount": usage.cache_read,
    }
    head = {"modelVersion": request.get("model", ""), "responseId": f"answer-{number:04d}"}
    return {"candidates": [candidate], "usageMetadata": told, **head}


def google_error(refusal: Refuse) -> Json:
    status = STATUS.get(refusal.status, "UNKNOWN")
    return {"error": {"code": refusal.status, "message": refusal.message, "status": status, **refusal.more}}
