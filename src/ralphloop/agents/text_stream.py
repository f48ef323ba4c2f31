"""The plain output of any program as events: its words, and at the end whether they tell of an error or a limit."""

import codecs
import re
from collections.abc import Sequence

from ralphloop.agents.lines import FLOOD, SAID_LIMIT, clean, short
from ralphloop.core.event import Event, Finished, LimitMet, Said, Unread

LONGEST_PENDING = SAID_LIMIT
LONGEST_TAIL = SAID_LIMIT * 4  # bytes; a character has four at most


class TextStream:
    """A Parser. The texts of its Said events put together are the output, clean, without blank parts.

    Of a flood only the beginning and the end are said; how much was between them is told as unread.
    """

    def __init__(
        self, error: re.Pattern[str] | None = None, limit: re.Pattern[str] | None = None, *, flood: int = FLOOD
    ) -> None:
        self._error = error
        self._limit = limit
        self._left = flood  # bytes that are still told in full
        self._end, self._beyond, self._beyond_lines = b"", 0, 0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._pending = ""
        self._tail = ""
        self._closed = False

    def feed(self, data: bytes) -> Sequence[Event]:
        told = data[: self._left]
        self._left -= len(told)
        if len(told) < len(data):
            beyond = data[len(told) :]
            self._beyond += len(beyond)
            self._beyond_lines += beyond.count(b"\n")
            self._end = (self._end + beyond if len(beyond) < LONGEST_TAIL else beyond)[-LONGEST_TAIL:]
        return self._told(told)

    def _told(self, data: bytes) -> list[Event]:
        self._pending += self._decoder.decode(data)
        lines, line_feed, rest = self._pending.rpartition("\n")
        # a line without an end is told in parts, or it would be held for ever
        if len(rest) > LONGEST_PENDING:
            lines, line_feed, rest = self._pending, "", ""
        self._pending = rest
        return self._said(lines + line_feed)

    def close(self) -> Sequence[Event]:
        if self._closed:
            return []
        self._closed = True
        events: list[Event] = []
        if skipped := self._beyond - len(self._end):
            events += self._said(self._pending + self._decoder.decode(b"", True))
            self._pending = ""
            events.append(Unread(max(1, self._beyond_lines), skipped, "more output than is told"))
        events += self._told(self._end)
        events += self._said(self._pending + self._decoder.decode(b"", True))
        error = _line_of(self._error, self._tail)
        if limit := _line_of(self._limit, self._tail):
            events.append(LimitMet(limit))
        events.append(Finished(self._tail.strip(), error or limit))
        return events

    def _said(self, text: str) -> list[Event]:
        if "\r" in text:
            text = "\n".join(_last_drawn(line) for line in text.split("\n"))
        words = clean(text)
        self._tail = (self._tail + words)[-SAID_LIMIT:]
        parts = (words[start : start + SAID_LIMIT] for start in range(0, len(words), SAID_LIMIT))
        return [Said(part) for part in parts if part.strip()]


def _last_drawn(line: str) -> str:
    """What a progress bar that redraws its line has left standing."""
    return line.rstrip("\r").rpartition("\r")[2] if "\r" in line else line


def _line_of(pattern: re.Pattern[str] | None, text: str) -> str:
    """The whole line of the last match."""
    matches = [*pattern.finditer(text)] if pattern else []
    if not matches:
        return ""
    last = matches[-1]
    start = text.rfind("\n", 0, last.start()) + 1
    return short(text[start : last.end()] + text[last.end() :].partition("\n")[0]) or "a pattern matched an empty line"
