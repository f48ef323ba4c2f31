"""Claude Code: one line for each block of an answer, all with its usage, some of it from before the end."""

from collections.abc import Mapping

import msgspec
from msgspec import Struct

from ralphloop.agents.sessions.common import UNREADABLE, Count, Money, folder_of, key_of, lines_with, seconds
from ralphloop.core.event import Tokens
from ralphloop.core.session_file import Taken, Thread, Use, larger


class _Created(Struct):
    ephemeral_1h_input_tokens: Count | None = None


class _Usage(Struct):
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cache_read_input_tokens: Count | None = None
    cache_creation_input_tokens: Count | None = None
    cache_creation: _Created | None = None

    @property
    def size(self) -> tuple[int, int]:
        output = self.output_tokens or 0
        cached = (self.cache_read_input_tokens or 0) + (self.cache_creation_input_tokens or 0)
        return (self.input_tokens or 0) + output + cached, output


class _Message(Struct):
    id: str | None = None
    model: str | None = None
    usage: _Usage | None = None


class _Line(Struct):
    message: _Message | None = None
    timestamp: str = ""
    requestId: str | None = None
    sessionId: str | None = None
    cwd: str | None = None
    costUSD: Money | None = None
    uuid: str | None = None


_decoder = msgspec.json.Decoder(_Line)


class Claude:
    name = "claude"
    files = "projects/**/*.jsonl"
    query = ""
    project_file = ""
    keep = staticmethod(larger)

    def folders(self, home: str, environment: Mapping[str, str]) -> tuple[str, ...]:
        given = [one.strip() for one in environment.get("CLAUDE_CONFIG_DIR", "").split(",") if one.strip()]
        return tuple(given) or (f"{home}/.claude", f"{home}/.config/claude")

    def files_of(self, worktree: str) -> str:
        return f"projects/{folder_of(worktree)}*/**/*.jsonl"

    def take(self, lines: bytes, thread: Thread) -> Taken:
        found: dict[str, tuple[_Line, _Message, tuple[int, int]]] = {}
        unread = 0
        # quotes within a text are escaped: with bare ones it is a name
        for line in lines_with(b'"usage"', lines):
            try:
                told = _decoder.decode(line)
            except msgspec.ValidationError:
                unread += _tells(line)
                continue
            except UNREADABLE:
                unread += 1
                continue
            message = told.message
            if message is None or message.usage is None:
                continue
            size = message.usage.size
            if not size[0]:
                continue
            key = _key(told, message)
            before = found.get(key)
            if before is None or size > before[2]:
                found[key] = told, message, size
        uses = [_use(key, line, message) for key, (line, message, _) in found.items()]
        known = [use for use in uses if use is not None]
        return Taken(known, thread, unread + len(uses) - len(known))


def _tells(line: memoryview) -> bool:
    """Whether a line that is not as expected is one of those that should be."""
    try:
        message = msgspec.json.decode(line, type=dict[str, object]).get("message")
    except UNREADABLE:
        return True
    return isinstance(message, dict) and message.get("usage") is not None


def _key(line: _Line, message: _Message) -> str:
    """An answer that came through somebody else's server has no request, and an id that others may have as well."""
    if message.id:
        return f"{message.id}:{line.requestId or line.sessionId}"
    return f":{line.sessionId}:{line.uuid}:{line.timestamp}"


def _use(key: str, line: _Line, message: _Message) -> Use | None:
    at, usage = seconds(line.timestamp), message.usage
    if at is None or usage is None:
        return None
    tokens = Tokens(
        usage.input_tokens or 0,
        usage.output_tokens or 0,
        usage.cache_read_input_tokens or 0,
        usage.cache_creation_input_tokens or 0,
    )
    hour = (usage.cache_creation.ephemeral_1h_input_tokens or 0) if usage.cache_creation else 0
    return Use(
        key_of(key), line.sessionId or "", line.cwd or "", message.model or "", at, tokens, hour, line.costUSD or None
    )
