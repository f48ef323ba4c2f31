"""Rows of usage as bars for a terminal, and as a plain table for whoever reads it from a pipe."""

import sys

from ralphloop.cli.output import clean, fitting, spread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ralphloop.core.usage import Row

EIGHTHS = " ▏▎▍▌▋▊▉█"
LONGEST_BAR, SHORTEST_BAR = 60, 6
HEADS = ("INPUT", "OUTPUT", "CACHE", "COST")
PLAIN_HEADS = ("INPUT", "OUTPUT", "CACHE_READ", "CACHE_WRITE", "TOTAL", "COST")
BAR, QUIET, STRONG = "36", "2", "1"


def amount(count: int) -> str:
    """`999`, `1.2k`, `34.5M`, `7.9B`."""
    for size, letter in ((1_000_000_000, "B"), (1_000_000, "M"), (1_000, "k")):
        # what would be rounded up to 1000 of a unit is 1 of the next
        if count >= size * 0.99995:
            return f"{count / size:.1f}{letter}"
    return str(count)


def dollars(row: "Row") -> str:
    """With what it is not: exact, whole, or known at all."""
    if row.cost is None:
        return "unknown"
    small = 0 < row.cost < 0.01
    least = "≥ " if row.unpriced else ""
    return f"{least}{'~' if row.estimated else ''}${row.cost:,.{4 if small else 2}f}"


def chart(rows: "Sequence[Row]", total: "Row", heading: str, by: str, width: int, *, colour: bool) -> "Iterator[str]":
    """Lines of at most `width` columns."""

    def paint(code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if colour and code else text

    cells = [_cells(row) for row in (*rows, total)]
    widths = [max(len(head), *(len(cell[at]) for cell in cells)) for at, head in enumerate(HEADS)]
    rest = width - sum(widths) - 2 * len(widths) - 2
    widest = max(spread(clean(row.key)) for row in (*rows, total))
    label = max(5, min(widest, rest - SHORTEST_BAR))
    bar = max(0, min(LONGEST_BAR, rest - label))
    priced = total.cost is not None and not total.unpriced
    values = [row.cost or 0.0 if priced else float(row.all_tokens) for row in rows]
    most = max(values, default=0) or 1
    yield paint(STRONG, _fitted(heading, width))
    yield ""
    heads = "  ".join(f"{head:>{size}}" for head, size in zip(HEADS, widths, strict=True))
    yield paint(QUIET, f"{_padded(by.upper(), label)}  {'':{bar}}  {heads}")
    for row, cell, value in zip(rows, cells, values, strict=False):
        drawn = _bar(value / most, bar)
        numbers = "  ".join(f"{text:>{size}}" for text, size in zip(cell, widths, strict=True))
        yield f"{_padded(row.key, label)}  {paint(BAR, drawn)}{' ' * (bar - len(drawn))}  {numbers}"
    numbers = "  ".join(f"{text:>{size}}" for text, size in zip(cells[-1], widths, strict=True))
    yield paint(STRONG, f"{_padded('total', label)}  {'':{bar}}  {numbers}")


def _cells(row: "Row") -> tuple[str, ...]:
    tokens = row.tokens
    return amount(tokens.input), amount(tokens.output), amount(tokens.cache_read + tokens.cache_write), dollars(row)


def _bar(share: float, width: int) -> str:
    """Something is never drawn as nothing."""
    try:
        EIGHTHS.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return "#" * max(round(share * width), share > 0)
    eighths = max(round(share * width * 8), share > 0)
    return EIGHTHS[8] * (eighths // 8) + EIGHTHS[eighths % 8].strip()


def _padded(text: str, width: int) -> str:
    """A long name loses its beginning: what tells paths apart is their end."""
    text = clean(text).replace("\n", " ")
    if spread(text) > width:
        while spread(text) > width - 1:
            text = text[1:]
        text = f"…{text}"
    return text + " " * (width - spread(text))


def _fitted(text: str, width: int) -> str:
    return text if spread(text) <= width else fitting(text, width - 1) + "…"


def table(rows: "Sequence[Row]", total: "Row", by: str) -> "Iterator[str]":
    """Whole numbers in columns."""
    lines: list[tuple[str, ...]] = [(by.upper(), *PLAIN_HEADS)]
    lines += [(clean(row.key).replace("\n", " "), *_numbers(row)) for row in (*rows, total)]
    widths = [max(spread(line[at]) for line in lines) for at in range(len(lines[0]))]
    for key, *numbers in lines:
        told = "  ".join(f"{number:>{width}}" for number, width in zip(numbers, widths[1:], strict=True))
        yield f"{key}{' ' * (widths[0] - spread(key))}  {told}"


def _numbers(row: "Row") -> tuple[str, ...]:
    tokens = row.tokens
    counts = (tokens.input, tokens.output, tokens.cache_read, tokens.cache_write, row.all_tokens)
    return (*map(str, counts), dollars(row).replace(" ", "").replace(",", ""))
