"""Gemini CLI: a message is written again under its id as it grows, alone or within the whole list of them."""

from collections.abc import Mapping

import msgspec
from msgspec import Struct

from ralphloop.agents.sessions.common import UNREADABLE, Count, key_of, lines_with, seconds, without_cached
from ralphloop.core.session_file import Taken, Thread, Use, last, nothing


class _Tokens(Struct):
    input: Count | None = None
    output: Count | None = None
    cached: Count | None = None
    thoughts: Count | None = None
    tool: Count | None = None


class _Message(Struct):
    id: str = ""
    timestamp: str = ""
    model: str | None = None
    tokens: _Tokens | None = None


class _Set(Struct):
    messages: list[_Message] = []


class _Line(_Message):
    sessionId: str | None = None
    set: _Set | None = msgspec.field(default=None, name="$set")


_decoder = msgspec.json.Decoder(_Line)


class Gemini:
    name = "gemini"
    files = "tmp/*/chats/**/session-*.jsonl"
    query = ""
    project_file = "../.project_root"
    keep = staticmethod(last)

    def folders(self, home: str, environment: Mapping[str, str]) -> tuple[str, ...]:
        return (f"{environment.get('GEMINI_CLI_HOME') or home}/.gemini",)

    def files_of(self, worktree: str) -> str:
        return self.files

    def take(self, lines: bytes, thread: Thread) -> Taken:
        found: dict[int, Use] = {}
        unread = 0
        for line in lines_with(b"{", lines):
            if b'"sessionId"' not in bytes(line[:200]) and b'"tokens"' not in bytes(line):
                continue
            try:
                told = _decoder.decode(line)
            except UNREADABLE:
                unread += 1
                continue
            if told.sessionId:
                thread = msgspec.structs.replace(thread, session=told.sessionId)
            for message in (told, *(told.set.messages if told.set else ())):
                if message.tokens is None:
                    continue
                use = _use(message, message.tokens, thread)
                if use is None:
                    unread += 1
                elif not nothing(use.tokens):
                    found[use.key] = use
        return Taken(list(found.values()), thread, unread)


def _use(message: _Message, told: _Tokens, thread: Thread) -> Use | None:
    at = seconds(message.timestamp)
    if at is None or not message.id:
        return None
    # what tools put in is told apart from the input; what was thought apart from the output
    input, output = (told.input or 0) + (told.tool or 0), (told.output or 0) + (told.thoughts or 0)
    tokens = without_cached(input, output, told.cached or 0)
    key = key_of(f"{thread.session}:{message.id}")
    return Use(key, thread.session, thread.project, message.model or "", at, tokens)
