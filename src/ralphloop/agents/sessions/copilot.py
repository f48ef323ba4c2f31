"""GitHub Copilot CLI: a record for every call of the model; older sessions tell their sums when they end."""

from collections.abc import Mapping

import msgspec
from msgspec import Struct

from ralphloop.agents.sessions.common import (
    UNREADABLE,
    Count,
    Milliseconds,
    key_of,
    lines_with,
    seconds,
    without_cached,
)
from ralphloop.core.event import Tokens
from ralphloop.core.session_file import Taken, Thread, Use, larger, nothing


class _Usage(Struct):
    model: str | None = None
    inputTokens: Count | None = None
    outputTokens: Count | None = None
    cacheReadTokens: Count | None = None
    cacheWriteTokens: Count | None = None

    @property
    def tokens(self) -> Tokens:
        """As they are counted here; what was thought is part of the output already."""
        cached, written = self.cacheReadTokens or 0, self.cacheWriteTokens or 0
        return without_cached(self.inputTokens or 0, self.outputTokens or 0, cached, written)


class _Metrics(Struct):
    usage: _Usage | None = None


class _Context(Struct):
    cwd: str | None = None


class _Data(Struct):
    sessionId: str | None = None
    context: _Context | None = None
    usage: _Usage | None = None
    modelMetrics: dict[str, _Metrics] | None = None
    sessionStartTime: Milliseconds | None = None


class _Line(Struct):
    type: str = ""
    id: str = ""
    timestamp: str = ""
    data: _Data | None = None


_decoder = msgspec.json.Decoder(_Line)
_TELLING = (b'"session.start"', b'"session.usage_record"', b'"session.shutdown"', b'"session.resume"')


class Copilot:
    name = "copilot"
    files = "session-state/**/events.jsonl"
    query = ""
    project_file = ""
    keep = staticmethod(larger)

    def folders(self, home: str, environment: Mapping[str, str]) -> tuple[str, ...]:
        return (environment.get("COPILOT_HOME") or f"{home}/.copilot",)

    def files_of(self, worktree: str) -> str:
        return self.files

    def take(self, lines: bytes, thread: Thread) -> Taken:
        found: dict[int, Use] = {}
        unread = 0
        for line in lines_with(b'"session.', lines):
            if not any(word in bytes(line[:100]) for word in _TELLING):
                continue
            try:
                told = _decoder.decode(line)
            except UNREADABLE:
                unread += 1
                continue
            if told.data is None:
                continue
            thread = _after(told, told.data, thread)
            for name, model, tokens in _told(told, told.data, thread):
                if nothing(tokens):
                    continue
                at = seconds(told.timestamp)
                if at is None:
                    unread += 1
                    continue
                use = Use(key_of(name), thread.session, thread.project, model, at, tokens)
                found[use.key] = larger(found[use.key], use) if use.key in found else use
        return Taken(list(found.values()), thread, unread)


def _after(line: _Line, data: _Data, thread: Thread) -> Thread:
    project = (data.context.cwd if data.context is not None else "") or thread.project
    exact = thread.exact or line.type == "session.usage_record"
    return msgspec.structs.replace(thread, session=data.sessionId or thread.session, project=project, exact=exact)


def _told(line: _Line, data: _Data, thread: Thread) -> list[tuple[str, str, Tokens]]:
    """Key, model and tokens of each answer the line stands for."""
    if line.type == "session.usage_record" and data.usage is not None:
        return [(f"{thread.session}:{line.id}", data.usage.model or "", data.usage.tokens)]
    if line.type != "session.shutdown" or thread.exact:
        return []
    # the sums go on when a session is taken up again: the last and largest has them all
    key = f"{thread.session}:{data.sessionStartTime}"
    sums = (data.modelMetrics or {}).items()
    return [(f"{key}:{model}", model, one.usage.tokens) for model, one in sums if one.usage is not None]
