"""opencode: a database with a row for each message, which grows until the message is complete."""

from collections.abc import Mapping

import msgspec
from msgspec import Struct

from ralphloop.agents.sessions.common import UNREADABLE, Count, Milliseconds, Money, all_lines, key_of
from ralphloop.core.event import Tokens
from ralphloop.core.session_file import Taken, Thread, Use, larger, nothing


class _Cache(Struct):
    read: Count | None = None
    write: Count | None = None


class _Tokens(Struct):
    input: Count | None = None
    output: Count | None = None
    reasoning: Count | None = None
    cache: _Cache | None = None


class _Path(Struct):
    cwd: str | None = None


class _Message(Struct):
    """A row: `data` is a JSON text of its own."""

    id: str
    session: str
    created: Milliseconds
    data: str


class _Data(Struct):
    modelID: str | None = None
    path: _Path | None = None
    tokens: _Tokens | None = None
    cost: Money | None = None


_rows, _datas = msgspec.json.Decoder(_Message), msgspec.json.Decoder(_Data)


class Opencode:
    name = "opencode"
    files = "opencode*.db"
    query = (
        "SELECT json_object('id', id, 'session', session_id, 'created', time_created, 'data', data)"
        " FROM message WHERE data LIKE '%\"tokens\"%' ORDER BY time_created, id"
    )
    project_file = ""
    keep = staticmethod(larger)

    def folders(self, home: str, environment: Mapping[str, str]) -> tuple[str, ...]:
        return (f"{environment.get('XDG_DATA_HOME') or f'{home}/.local/share'}/opencode",)

    def files_of(self, worktree: str) -> str:
        return self.files

    def take(self, lines: bytes, thread: Thread) -> Taken:
        uses, unread = [], 0
        for line in all_lines(lines):
            try:
                row = _rows.decode(line)
                use = _use(row, _datas.decode(row.data))
            except UNREADABLE:
                unread += 1
                continue
            if not nothing(use.tokens):
                uses.append(use)
        return Taken(uses, thread, unread)


def _use(row: _Message, data: _Data) -> Use:
    told = data.tokens or _Tokens()
    cache = told.cache or _Cache()
    # the input is without the cache, what was thought stands beside the output
    output = (told.output or 0) + (told.reasoning or 0)
    tokens = Tokens(told.input or 0, output, cache.read or 0, cache.write or 0)
    project = (data.path.cwd if data.path else None) or ""
    # it writes 0 where it does not know the price
    cost = data.cost or None
    return Use(key_of(row.id), row.session, project, data.modelID or "", row.created / 1000, tokens, 0, cost)
