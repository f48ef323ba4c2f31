"""Bytes cut anywhere become whole lines and clean text, in bounded memory."""

import re

from msgspec import Struct

LINE_LIMIT = 8 << 20
HEAD_OF_DROPPED = 1024
SAID_LIMIT = 64 << 10
SHORT_LIMIT = 200
FLOOD = 8 << 20  # bytes of a session that are told in full; the log on disk has the rest
_ESCAPE = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|[\]PX^_][^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"  # OSC and its kin: titles, links
    r"|[ -/]*[0-~]?)"
)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class Line(Struct, frozen=True):
    """One line without its end; `size` is what it really had, `text` only its head when that was too much."""

    text: bytes
    size: int

    @property
    def whole(self) -> bool:
        return len(self.text) == self.size


class Lines:
    """Splits a stream at line feeds, the same lines wherever the stream was cut.

    In a flood, whole lines that begin with `dull` are only counted: `dropped` lines of `dropped_size` bytes.
    """

    def __init__(self, limit: int = LINE_LIMIT, *, dull: bytes = b"", flood: int = FLOOD) -> None:
        self._limit = limit
        self._dull = dull
        self._flood = flood if dull else None
        self._rest = bytearray()
        self._size = 0
        self._offset = 0  # where the line at hand begins
        self.dropped = self.dropped_size = 0

    def feed(self, data: bytes) -> list[Line]:
        if self._flood is not None and self._offset >= self._flood:
            data = self._without_dull(data)
        *ends, rest = data.split(b"\n")
        found = []
        for end in ends:
            self._keep(end)
            found += self._taken()
        self._keep(rest)
        return found

    def close(self) -> list[Line]:
        """The last line when no line feed came after it."""
        return self._taken() if self._size else []

    def _without_dull(self, data: bytes) -> bytes:
        """A piece whose whole lines are all dull is dealt with at one blow: there may be millions of them."""
        first, last = data.find(b"\n"), data.rfind(b"\n")
        lines = data.count(b"\n", first, last)
        if first == last or data.count(b"\n" + self._dull, first, last) != lines:
            return data
        self.dropped += lines
        self.dropped_size += last - first - lines
        self._offset += last - first
        return data[:first] + data[last:]

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        if self._size <= self._limit:
            self._rest += part
        elif len(self._rest) < HEAD_OF_DROPPED:
            self._rest += part[: HEAD_OF_DROPPED - len(self._rest)]
        else:
            del self._rest[HEAD_OF_DROPPED:]

    def _taken(self) -> list[Line]:
        line = Line(bytes(self._rest), self._size)
        dull = self._flood is not None and self._offset >= self._flood and self._rest.startswith(self._dull)
        self._offset += self._size + 1
        self._rest, self._size = bytearray(), 0
        if dull:
            self.dropped += 1
            self.dropped_size += line.size
        return [] if dull else [line]


def clean(text: str) -> str:
    """Text that can be shown in a terminal and written as UTF-8: no escapes, no controls, no half characters."""
    if "\x1b" in text:
        text = _ESCAPE.sub("", text)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROL.sub("", text).encode("utf-8", "replace").decode("utf-8")


def ending(text: str, limit: int = SAID_LIMIT) -> str:
    """The last `limit` characters, clean."""
    return clean(text[-limit:])


def short(text: str, limit: int = SHORT_LIMIT) -> str:
    """One line of at most `limit` characters, clean."""
    words = " ".join(clean(text[: limit * 20]).split())
    return words if len(words) <= limit else words[: limit - 1] + "…"
