"""Qwen Code: every call of the model, also a helper's, has a line of telemetry; older sessions have messages only."""

from collections.abc import Mapping

import msgspec
from msgspec import Struct

from ralphloop.agents.sessions.common import UNREADABLE, Count, folder_of, key_of, lines_with, seconds, without_cached
from ralphloop.core.event import Tokens
from ralphloop.core.session_file import Taken, Thread, Use, larger, nothing


class _Usage(Struct):
    promptTokenCount: Count | None = None
    candidatesTokenCount: Count | None = None
    thoughtsTokenCount: Count | None = None
    totalTokenCount: Count | None = None
    cachedContentTokenCount: Count | None = None


class _Telemetry(Struct):
    name: str = msgspec.field(default="", name="event.name")
    model: str | None = None
    input_token_count: Count | None = None
    output_token_count: Count | None = None
    thoughts_token_count: Count | None = None
    total_token_count: Count | None = None
    cached_content_token_count: Count | None = None


class _Payload(Struct):
    uiEvent: _Telemetry | None = None


class _Line(Struct):
    uuid: str = ""
    sessionId: str = ""
    timestamp: str = ""
    cwd: str | None = None
    model: str | None = None
    usageMetadata: _Usage | None = None
    systemPayload: _Payload | None = None


_decoder = msgspec.json.Decoder(_Line)


class Qwen:
    name = "qwen"
    files = "projects/*/chats/**/*.jsonl"
    query = ""
    project_file = ""
    keep = staticmethod(larger)

    def folders(self, home: str, environment: Mapping[str, str]) -> tuple[str, ...]:
        return (environment.get("QWEN_HOME") or f"{home}/.qwen",)

    def files_of(self, worktree: str) -> str:
        return f"projects/{folder_of(worktree)}*/chats/**/*.jsonl"

    def take(self, lines: bytes, thread: Thread) -> Taken:
        found: dict[int, Use] = {}
        unread = 0
        for line in lines_with(b'"sessionId"', lines):
            content = bytes(line)
            if b'"usageMetadata"' not in content and b"api_response" not in content:
                continue
            try:
                told = _decoder.decode(line)
            except UNREADABLE:
                unread += 1
                continue
            model, tokens, exact = _told(told)
            thread = msgspec.structs.replace(thread, exact=True) if exact else thread
            if nothing(tokens) or (thread.exact and not exact):
                continue
            at = seconds(told.timestamp)
            if at is None or not told.uuid:
                unread += 1
                continue
            use = Use(key_of(told.uuid), told.sessionId, told.cwd or "", model, at, tokens)
            found[use.key] = larger(found[use.key], use) if use.key in found else use
        return Taken(list(found.values()), thread, unread)


def _told(line: _Line) -> tuple[str, Tokens, bool]:
    """Model and tokens of a line, and whether it is one of telemetry."""
    event = line.systemPayload.uiEvent if line.systemPayload is not None else None
    if event is not None and event.name.endswith("api_response"):
        output = _output(
            event.input_token_count, event.output_token_count, event.thoughts_token_count, event.total_token_count
        )
        cached = event.cached_content_token_count or 0
        return event.model or "", without_cached(event.input_token_count or 0, output, cached), True
    used = line.usageMetadata
    if used is None:
        return "", Tokens(), False
    output = _output(used.promptTokenCount, used.candidatesTokenCount, used.thoughtsTokenCount, used.totalTokenCount)
    cached = used.cachedContentTokenCount or 0
    return line.model or "", without_cached(used.promptTokenCount or 0, output, cached), False


def _output(input: int | None, output: int | None, thoughts: int | None, total: int | None) -> int:
    """Some servers count thoughts as output and some beside it: the total tells which."""
    apart = (output or 0) + (thoughts or 0)
    return apart if total and total == (input or 0) + apart else output or 0
