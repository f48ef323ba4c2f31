"""Sums of what was used, by day, project, model or whatever makes a group, with what is known of their cost."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal

from msgspec import Struct

from ralphloop.core.buckets import SLOT, Bucket, Portion, Who
from ralphloop.core.event import Tokens
from ralphloop.core.price import TABLE, Price, cost_of

By = Literal["day", "session", "model", "project", "agent", "story", "run"]


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
