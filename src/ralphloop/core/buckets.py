"""What was used, in small buckets of time that any grouping is made of, and how they are kept."""

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator

from msgspec import Struct

from ralphloop.core.session_file import Use

SLOT = 900  # seconds; every zone's midnight is at the beginning of one


class Who(Struct, frozen=True, array_like=True, gc=False):
    """Whose tokens they are. `told` ones have a cost that the file tells; the others are priced by the table."""

    session: str
    project: str
    model: str
    told: bool


class Bucket(Struct, array_like=True, gc=False):
    """What one of them used from one slot of time to another."""

    slot: int
    last: int
    answers: int = 0
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    written_1h: int = 0
    cost: float = 0.0

    def add(self, use: Use, sign: int = 1) -> None:
        tokens = use.tokens
        self.answers += sign
        self.input += sign * tokens.input
        self.output += sign * tokens.output
        self.cache_read += sign * tokens.cache_read
        self.cache_write += sign * tokens.cache_write
        self.written_1h += sign * use.written_1h
        self.cost += sign * (use.cost or 0.0)


class Portion(Struct, frozen=True, gc=False):
    """A bucket with its agent, to be counted in or, when it was counted twice, out again."""

    agent: str
    who: Who
    bucket: Bucket


class Sums(Struct, frozen=True, array_like=True):
    """What one session file comes to, in columns: every run reads those of all files, and few of them change."""

    whose: list[Who] = []
    ends: list[int] = []  # behind the last row of each
    counts: bytes = b""  # a column after the other: slot, answers, and the five kinds of tokens
    costs: bytes = b""

    @property
    def slots(self) -> memoryview:
        return memoryview(self.counts)[: len(self.costs)].cast("q")

    def buckets(self, first: int, end: int, split: Callable[[int], str] | None) -> Iterator[tuple[Who, Bucket]]:
        """What lies in these slots, as few buckets as can be; one never holds two of what `split` tells apart."""
        height = len(self.costs) // 8
        if not height:
            return
        cells = memoryview(self.counts).cast("q").tolist()
        costs = memoryview(self.costs).cast("d").tolist()
        slots, *columns = (cells[at : at + height] for at in range(0, len(cells), height))
        start = 0
        for who, stop in zip(self.whose, self.ends, strict=True):
            for begin, behind in _stretches(slots, start, stop, first, end, split):
                answers, input, output, read, written, hour = [sum(column[begin:behind]) for column in columns]
                cost = sum(costs[begin:behind])
                yield who, Bucket(slots[begin], slots[behind - 1], answers, input, output, read, written, hour, cost)
            start = stop


def _stretches(
    slots: list[int], start: int, stop: int, first: int, end: int, split: Callable[[int], str] | None
) -> Iterator[tuple[int, int]]:
    """The rows of these slots, those together that need not be told apart. Slots only grow, and so do days."""
    start, stop = bisect_left(slots, first, start, stop), bisect_left(slots, end, start, stop)
    while start < stop:
        behind = stop
        if split is not None:
            same = split(slots[start])
            if split(slots[stop - 1]) != same:
                behind = start + 1
                while split(slots[behind]) == same:
                    behind += 1
        yield start, behind
        start = behind


class Summing:
    """Sums that grow with each use."""

    def __init__(self, sums: Sums | None = None) -> None:
        self._buckets: dict[Who, dict[int, Bucket]] = {}
        for who, bucket in sums.buckets(-(1 << 62), 1 << 62, str) if sums is not None else ():
            self._buckets.setdefault(who, {})[bucket.slot] = bucket

    def add(self, use: Use, sign: int = 1) -> None:
        buckets = self._buckets.setdefault(Who(use.session, use.project, use.model, use.cost is not None), {})
        slot = int(use.at // SLOT)
        bucket = buckets.get(slot)
        if bucket is None:
            bucket = buckets[slot] = Bucket(slot, slot)
        bucket.add(use, sign)

    def sums(self) -> Sums:
        whose, ends, rows = [], [], []
        for who, buckets in self._buckets.items():
            told = [buckets[slot] for slot in sorted(buckets) if buckets[slot].answers]
            if told:
                rows += told
                whose.append(who)
                ends.append(len(rows))
        names = ("slot", "answers", "input", "output", "cache_read", "cache_write", "written_1h")
        counts = array("q", (getattr(row, name) for name in names for row in rows))
        return Sums(whose, ends, counts.tobytes(), array("d", (row.cost for row in rows)).tobytes())
