"""Where a conversation stands, read out of a request in any of the APIs."""

import hashlib
import re
from collections.abc import Iterator
from typing import NamedTuple

from messages import Json

SESSION = "x-session-id"  # a header; the server puts it into the request
OF_THE_MODEL = frozenset({"reasoning", "function_call", "custom_tool_call"})
OF_TOOLS = frozenset({"function_call_output", "custom_tool_call_output"})
OF_THE_CLI = ("<system-reminder>", "<environment_context>", "<user_instructions>", "This is the Qwen Code.")
THANKS = "Got it. Thanks for the context!"  # what the CLI has its model say before it was ever asked


class Turn(NamedTuple):
    """Where a conversation stands: its session, its prompt, the messages the model gave, the last tool results."""

    session: str
    prompt: str
    number: int
    results: str


def read_turn(request: Json) -> Turn:
    """Read a request; reminders that the CLI itself adds are not the prompt."""
    prompt, results, number, before = "", "", 0, ""
    for who, texts in _told(request):
        if who == "model":
            number += before != "model"
            results = ""
        else:
            said = [text for text in texts if not text.lstrip().startswith(OF_THE_CLI)]
            if number == 0:
                prompt += "\n".join(said)
            else:
                results += "\n".join(said)
        before = who
    return Turn(_session(request, prompt), prompt, number, results)


def _told(request: Json) -> Iterator[tuple[str, list[str]]]:
    """Who said what, in order; what the CLI itself says to the model is left out."""
    for told in request.get("messages") or request.get("input") or []:
        kind, role = told.get("type"), told.get("role")
        if role == "assistant" and told.get("content") == THANKS:
            continue
        if role == "assistant" or kind in OF_THE_MODEL:
            yield "model", []
        elif kind in OF_TOOLS:
            yield "tool", _texts(told.get("output"))
        elif role in ("user", "tool"):
            yield role, _texts(told.get("content"))


def _session(request: Json, prompt: str) -> str:
    """As the CLI tells it; one that tells nothing is known by its prompt, which holds the time or the iteration."""
    user = str(request.get("metadata", {}).get("user_id", ""))
    found = re.search(r'session(?:_id"\s*:\s*"|_)([0-9a-f-]{36})', user)
    told = found.group(1) if found else request.get("prompt_cache_key") or request.get(SESSION)
    return str(told or hashlib.sha256(prompt.encode()).hexdigest()[:16])


def _texts(content: object) -> list[str]:
    if isinstance(content, str):
        return [content]
    texts: list[str] = []
    for block in content if isinstance(content, list) else []:
        if block.get("type") in ("text", "input_text", "output_text"):
            texts.append(block.get("text", ""))
        elif block.get("type") == "tool_result":
            texts += _texts(block.get("content"))
    return texts
