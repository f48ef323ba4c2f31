"""Output that is no event of its agent: the first of it told line by line, a flood of it in batches."""

from collections.abc import Iterator

from ralphloop.agents.lines import short
from ralphloop.core.event import Unread

ONE_BY_ONE = 20
BATCH = 1000
BATCH_SIZE = 1 << 20
SAMPLE = 4000
NOTHING = Unread(0, 0)


class UnreadLines:
    """What was not understood and is not told yet."""

    def __init__(self) -> None:
        self._told = 0
        self._kept = NOTHING

    def add(self, data: bytes, size: int) -> Iterator[Unread]:
        """One line of so many bytes, of which `data` is what was kept."""
        sample = short(data[:SAMPLE].decode("utf-8", "replace"))
        self._kept = Unread(self._kept.lines + 1, self._kept.size + size, self._kept.sample or sample)
        self._told += 1
        many = self._kept.lines >= BATCH or self._kept.size >= BATCH_SIZE
        if many or self._told <= ONE_BY_ONE:
            yield from self.flush()

    def flush(self) -> Iterator[Unread]:
        """What is kept, before another event is told."""
        if self._kept.lines:
            told, self._kept = self._kept, NOTHING
            yield told
