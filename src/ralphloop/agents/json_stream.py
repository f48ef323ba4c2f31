"""A stream of JSON lines as events: an agent's own reader says what its objects mean, the rest is the same for all."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from ralphloop.agents.lines import Line, Lines, clean, short
from ralphloop.agents.shapes import json_object
from ralphloop.core.event import Event, Unread

Read = Callable[[dict[str, object]], Iterable[Event] | None]
ReadPlain = Callable[[str], Iterable[Event] | None]
ONE_BY_ONE = 20
UNREAD_BATCH = 1000
UNREAD_BATCH_SIZE = 1 << 20


class JsonStream:
    """A Parser. `read` is given each object and answers None to one it does not know; `end` has the last word.

    `plain` does the same with lines that are no objects: what the CLI writes to stderr beside its stream.
    The first unread lines are told one by one, a flood of them in batches.
    """

    def __init__(
        self,
        read: Read,
        end: Callable[[], Iterable[Event]] = tuple,
        *,
        dull: bytes = b"",
        plain: ReadPlain = lambda line: None,
    ) -> None:
        self._read, self._end, self._plain = read, end, plain
        self._lines = Lines(dull=dull)
        self._closed = False
        self._unread_told = 0
        self._unread = Unread(0, 0)

    def feed(self, data: bytes) -> Sequence[Event]:
        return [event for line in self._lines.feed(data) for event in self._of_line(line)]

    def close(self) -> Sequence[Event]:
        if self._closed:
            return []
        self._closed = True
        events = [event for line in self._lines.close() for event in self._of_line(line)]
        if self._lines.dropped:
            lines, size = self._lines.dropped, self._lines.dropped_size
            events.append(Unread(lines, size, "answers of tools, too many to be told"))
        return [*events, *self._told_unread(), *self._end()]

    def _of_line(self, line: Line) -> Iterator[Event]:
        if not line.whole:
            yield from self._not_read(line.text, line.size)
        elif line.text.strip():
            found, before = json_object(line.text)
            if before:
                yield from self._not_read(before, len(before))
            if found is not None:
                yield from self._of_object(found, line)

    def _of_object(self, found: dict[str, object], line: Line) -> Iterator[Event]:
        events = self._read(found)
        if events is None:
            yield from self._not_read(line.text, line.size)
        elif events := list(events):
            yield from self._told_unread()
            yield from events

    def _not_read(self, data: bytes, size: int) -> Iterator[Event]:
        words = data[:4000].decode("utf-8", "replace")
        events = self._plain(clean(words))
        if events is not None:
            yield from events
            return
        sample = short(words)
        self._unread = Unread(self._unread.lines + 1, self._unread.size + size, self._unread.sample or sample)
        self._unread_told += 1
        many = self._unread.lines >= UNREAD_BATCH or self._unread.size >= UNREAD_BATCH_SIZE
        if many or self._unread_told <= ONE_BY_ONE:
            yield from self._told_unread()

    def _told_unread(self) -> Iterator[Event]:
        if self._unread.lines:
            told, self._unread = self._unread, Unread(0, 0)
            yield told
