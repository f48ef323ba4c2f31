"""Sums of what was used: small buckets of time that any grouping is made of, and the groups themselves."""

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal

from msgspec import Struct

from ralphloop.core.event import Tokens
from ralphloop.core.price import TABLE, Price, cost_of
from ralphloop.core.session_file import Use

SLOT = 900  # seconds; every zone's midnight is at the beginning of one
By = Literal["day", "session", "model", "project", "agent", "story", "run"]


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
        least, most = min(slots), max(slots)
        together = first <= least and most < end and (split is None or split(least) == split(most))
        start = 0
        for who, stop in zip(self.whose, self.ends, strict=True):
            if together:
                answers, input, output, read, written, hour = [sum(column[start:stop]) for column in columns]
                cost = sum(costs[start:stop])
                yield who, Bucket(slots[start], slots[stop - 1], answers, input, output, read, written, hour, cost)
            else:
                for at in range(start, stop):
                    if first <= slots[at] < end:
                        answers, input, output, read, written, hour = [column[at] for column in columns]
                        yield who, Bucket(slots[at], slots[at], answers, input, output, read, written, hour, costs[at])
            start = stop


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


class Row(Struct, frozen=True):
    """One group. `cost` is None when nothing of it is known; `unpriced` are the tokens that it leaves out."""

    key: str
    tokens: Tokens
    answers: int
    cost: float | None
    estimated: bool  # some of the cost comes from the table of prices
    unpriced: int
    unpriced_models: tuple[str, ...]
    models: tuple[str, ...]
    agents: tuple[str, ...]
    first: float
    last: float

    @property
    def all_tokens(self) -> int:
        return total(self.tokens)


def total(tokens: Tokens) -> int:
    """All four kinds."""
    return tokens.input + tokens.output + tokens.cache_read + tokens.cache_write


class _Part:
    """What one model used within a group."""

    def __init__(self) -> None:
        self.answers = self.input = self.output = self.cache_read = self.cache_write = self.written_1h = 0
        self.cost = 0.0
        self.first, self.last = 1 << 62, -(1 << 62)

    def add(self, one: Bucket) -> None:
        self.answers += one.answers
        self.input += one.input
        self.output += one.output
        self.cache_read += one.cache_read
        self.cache_write += one.cache_write
        self.written_1h += one.written_1h
        self.cost += one.cost
        if one.slot < self.first:
            self.first = one.slot
        if one.last > self.last:
            self.last = one.last

    @property
    def tokens(self) -> Tokens:
        return Tokens(self.input, self.output, self.cache_read, self.cache_write)


Parts = dict[tuple[str, str, bool], _Part]


def grouped(
    portions: Iterable[Portion], key: Callable[[str, Who, int], str], prices: Mapping[str, Price] = TABLE
) -> list[Row]:
    """One row for each key; `key` is asked with agent, who and slot."""
    groups: dict[str, Parts] = {}
    for portion in portions:
        who = portion.who
        parts = groups.setdefault(key(portion.agent, who, portion.bucket.slot), {})
        name = portion.agent, who.model, who.told
        part = parts.get(name)
        if part is None:
            part = parts[name] = _Part()
        part.add(portion.bucket)
    rows = [_row(key, parts, prices) for key, parts in groups.items()]
    return [row for row in rows if row.answers]


def _row(key: str, parts: Parts, prices: Mapping[str, Price]) -> Row:
    present = {name: part for name, part in parts.items() if part.answers}
    costs = dict(_costs(present, prices))
    known = [cost for cost in costs.values() if cost is not None]
    tokens, unpriced = Tokens(), 0
    for name, part in present.items():
        tokens += part.tokens
        unpriced += total(part.tokens) if costs[name] is None else 0
    return Row(
        key,
        tokens,
        sum(part.answers for part in present.values()),
        sum(known) if known else None,
        any(cost is not None and not told for (_, _, told), cost in costs.items()),
        unpriced,
        tuple(sorted({name[1] for name in present if costs[name] is None and name[1]})),
        tuple(sorted({model for _, model, _ in present if model})),
        tuple(sorted({agent for agent, _, _ in present})),
        min((part.first for part in present.values()), default=0) * SLOT,
        (max((part.last for part in present.values()), default=0) + 1) * SLOT,
    )


def _costs(parts: Parts, prices: Mapping[str, Price]) -> Iterator[tuple[tuple[str, str, bool], float | None]]:
    for name, part in parts.items():
        told = name[2]
        yield name, part.cost if told else cost_of(name[1], part.tokens, prices, written_1h=part.written_1h)


def summed(rows: Iterable[Row]) -> Row:
    """All rows as one."""
    every = list(rows)
    costs = [row.cost for row in every if row.cost is not None]
    tokens = Tokens()
    for row in every:
        tokens += row.tokens
    return Row(
        "total",
        tokens,
        sum(row.answers for row in every),
        sum(costs) if costs else None,
        any(row.estimated for row in every),
        sum(row.unpriced for row in every),
        tuple(sorted({model for row in every for model in row.unpriced_models})),
        tuple(sorted({model for row in every for model in row.models})),
        tuple(sorted({agent for row in every for agent in row.agents})),
        min((row.first for row in every), default=0),
        max((row.last for row in every), default=0),
    )
