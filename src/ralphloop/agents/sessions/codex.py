"""Codex: each answer is told twice, by a record of its own and by a count that goes on through the session."""

from collections.abc import Mapping

import msgspec
from msgspec import Struct

from ralphloop.agents.sessions.common import UNREADABLE, Count, key_of, lines_with, seconds, without_cached
from ralphloop.core.event import Tokens
from ralphloop.core.session_file import Taken, Thread, Use, larger, nothing


class _Usage(Struct):
    input_tokens: Count | None = None
    cached_input_tokens: Count | None = None
    cache_write_input_tokens: Count | None = None
    output_tokens: Count | None = None

    @property
    def tokens(self) -> Tokens:
        """As they are counted here; what was thought is part of the output already."""
        cached, written = self.cached_input_tokens or 0, self.cache_write_input_tokens or 0
        return without_cached(self.input_tokens or 0, self.output_tokens or 0, cached, written)


class _Info(Struct):
    total_token_usage: _Usage | None = None
    last_token_usage: _Usage | None = None


class _Payload(Struct):
    type: str | None = None
    id: str | None = None
    cwd: str | None = None
    model: str | None = None
    thread_id: str | None = None
    response_id: str | None = None
    usage: _Usage | None = None
    thread_token_usage: _Usage | None = None
    info: _Info | None = None


class _Line(Struct):
    type: str = ""
    timestamp: str = ""
    payload: _Payload | None = None


_decoder = msgspec.json.Decoder(_Line)
_TELLING = (b'"session_meta"', b'"turn_context"', b'"token_usage_record"', b'"token_count"')


class Codex:
    name = "codex"
    files = "*sessions/**/rollout-*.jsonl"  # also archived_sessions
    query = ""
    project_file = ""
    keep = staticmethod(larger)

    def folders(self, home: str, environment: Mapping[str, str]) -> tuple[str, ...]:
        return (environment.get("CODEX_HOME") or f"{home}/.codex",)

    def files_of(self, worktree: str) -> str:
        return self.files

    def take(self, lines: bytes, thread: Thread) -> Taken:
        found: dict[int, Use] = {}
        unread = 0
        for line in lines_with(b'"payload"', lines):
            # the line's own type stands at its beginning
            head = bytes(line[:200])
            if not any(word in head for word in _TELLING):
                continue
            try:
                told = _decoder.decode(line)
            except UNREADABLE:
                unread += 1
                continue
            if told.payload is None:
                continue
            thread, tokens, key = _told(told, told.payload, thread)
            if nothing(tokens):
                continue
            at = seconds(told.timestamp)
            if at is None:
                unread += 1
                continue
            use = Use(key_of(key), thread.session, thread.project, thread.model, at, tokens)
            found[use.key] = larger(found[use.key], use) if use.key in found else use
        return Taken(list(found.values()), thread, unread)


def _told(line: _Line, payload: _Payload, thread: Thread) -> tuple[Thread, Tokens, str]:
    """The thread after a line, what the line adds, and under which key."""
    new = msgspec.structs.replace
    match line.type:
        case "session_meta" if not thread.session:  # a session that branched off repeats those of its parents
            return new(thread, session=payload.id or "", project=payload.cwd or ""), Tokens(), ""
        case "turn_context":
            return new(thread, model=payload.model or "", project=payload.cwd or thread.project), Tokens(), ""
        case "token_usage_record" if payload.usage is not None:
            after = payload.thread_token_usage
            total = after.tokens if after is not None else thread.total + payload.usage.tokens
            key = f"{payload.thread_id or thread.session}:{payload.response_id or line.timestamp}"
            return new(thread, total=total), payload.usage.tokens, key
        case "event_msg" if payload.type == "token_count" and payload.info is not None:
            return _counted(payload.info, thread)
    return thread, Tokens(), ""


def _counted(info: _Info, thread: Thread) -> tuple[Thread, Tokens, str]:
    """What the count has gained; nothing when a record has told it."""
    if info.total_token_usage is None:
        return thread, Tokens(), ""
    total, before = info.total_token_usage.tokens, thread.total
    gained = Tokens(
        total.input - before.input,
        total.output - before.output,
        total.cache_read - before.cache_read,
        total.cache_write - before.cache_write,
    )
    if min(gained.input, gained.output, gained.cache_read, gained.cache_write) < 0:
        # the count began anew
        gained = info.last_token_usage.tokens if info.last_token_usage is not None else total
    key = f"{thread.session}:{total.input}:{total.output}:{total.cache_read}:{total.cache_write}"
    return msgspec.structs.replace(thread, total=total), gained, key
