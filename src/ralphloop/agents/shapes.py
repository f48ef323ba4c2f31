"""Decoded JSON of any shape, read as the shape that is wanted or as nothing."""

import json
import math
import re

import msgspec

from ralphloop.agents.lines import clean, short

_JSON_START = re.compile(rb'\{\s*"type"\s*:\s*"')
LARGEST_COUNT = 1 << 53
TELLING = (
    "command", "cmd", "file_path", "filePath", "notebook_path", "pattern", "path", "query", "url", "description",
    "skill", "task_id", "prompt",
)  # fmt: skip


def text(value: object) -> str:
    return value if isinstance(value, str) else ""


def mapping(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def mappings(value: object) -> list[dict[str, object]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def number(value: object) -> float | None:
    """A finite number; a bool is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if abs(value) > LARGEST_COUNT or not math.isfinite(value):
        return None
    return float(value)


def count(value: object) -> int:
    """A number of things: never negative, and 0 when it is not told."""
    found = number(value)
    return int(found) if found is not None and found > 0 else 0


def words(value: object) -> str:
    """The text of a message's content: a string, or a list of blocks that have text."""
    if isinstance(value, str):
        return value
    return "\n".join(text(block.get("text")) for block in mappings(value) if text(block.get("text")))


def telling(arguments: dict[str, object]) -> str:
    """The one argument that says what a tool was called for."""
    for name in TELLING:
        if told := text(arguments.get(name)).strip():
            return short(told)
    return short(next((value for value in arguments.values() if isinstance(value, str) and value.strip()), ""))


def json_object(line: bytes) -> tuple[dict[str, object] | None, bytes]:
    """The object a line holds, and what stood on the line before it (another writer's output without an end)."""
    found = _decoded(line)
    if found is not None:
        return found, b""
    start = _JSON_START.search(line)
    if start is None:
        return None, line
    found = _decoded(line[start.start() :])
    return (found, line[: start.start()]) if found is not None else (None, line)


def _decoded(line: bytes) -> dict[str, object] | None:
    if line.lstrip()[:1] != b"{":
        return None
    try:
        found: object = msgspec.json.decode(line)
    except (ValueError, RecursionError):
        found = _tolerantly(line)
    return found if isinstance(found, dict) else None


def _tolerantly(line: bytes) -> object:
    # colours, raw controls, bytes that are not UTF-8, half a surrogate pair: such comes when a tool's output was cut
    try:
        return json.loads(clean(line.decode("utf-8", "replace")), strict=False)
    except (ValueError, RecursionError):
        return None
