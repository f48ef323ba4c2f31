"""Lengths of time as people write them (`15`, `90s`, `1h30m`) and how they are spoken back."""

from ralphloop.core.errors import UsageProblem

LONGEST = 366 * 86_400.0
SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}
SPELLED = {
    "ms": "ms milli millis millisecond milliseconds",
    "s": "s sec secs second seconds",
    "m": "m min mins minute minutes",
    "h": "h hr hrs hour hours",
    "d": "d day days",
}
UNITS = {word: SECONDS[unit] for unit, words in SPELLED.items() for word in words.split()}
NAMES = {0.001: "milliseconds", 1.0: "seconds", 60.0: "minutes", 3_600.0: "hours", 86_400.0: "days"}
DIGITS = frozenset("0123456789.")


def seconds(text: str | int | float, unit: float, *, zero: bool = False) -> float:
    """The length in seconds; a plain number counts in `unit` seconds."""
    if isinstance(text, str):
        found = _parsed(text, unit)
    elif isinstance(text, bool):
        raise _refused(text, "is not a length of time", unit)
    else:
        # compared as it came: a whole number may be too large to become a float at all
        found = float(text) * unit if -LONGEST <= text <= LONGEST or text != text else float("inf")
    if found != found:
        raise _refused(text, "is not a length of time", unit)
    if found < 0:
        raise _refused(text, "is negative", unit)
    if found > LONGEST:
        raise _refused(text, "is longer than a year", unit)
    if found == 0 and not zero:
        raise _refused(text, "is no time at all", unit)
    return found


def _parsed(text: str, unit: float) -> float:
    words = "".join(text.split()).lower()
    sign = -1 if words.startswith("-") else 1
    words = words.removeprefix("-")
    if not words or len(words) > 40:
        raise _refused(text, "is not a length of time", unit)
    pairs = _pairs(words)
    if len(pairs) == 1 and not pairs[0][1]:
        return sign * _number(text, pairs[0][0], unit) * unit
    total, last = 0.0, float("inf")
    for number, word in pairs:
        size = UNITS.get(word)
        if size is None:
            what = f'has an unknown unit "{word}"' if word and number else "is not a length of time"
            raise _refused(text, what, unit)
        if size >= last:
            raise _refused(text, "does not name its units from the largest to the smallest", unit)
        total, last = total + _number(text, number, unit) * size, size
    return sign * total


def _pairs(words: str) -> list[tuple[str, str]]:
    """`1h30m` as [("1", "h"), ("30", "m")]."""
    found, at = [], 0
    while at < len(words):
        middle = at
        while middle < len(words) and words[middle] in DIGITS:
            middle += 1
        end = middle
        while end < len(words) and words[end] not in DIGITS:
            end += 1
        found.append((words[at:middle], words[middle:end]))
        at = end
    return found


def _number(text: str, number: str, unit: float) -> float:
    try:
        return float(number)
    except ValueError:
        raise _refused(text, "is not a length of time", unit) from None


def _refused(text: object, what: str, unit: float) -> UsageProblem:
    shown = str(text) if isinstance(text, float) else repr(text)[1:-1] if isinstance(text, str) else repr(text)
    shown = shown if len(shown) <= 60 else shown[:59] + "…"
    plain = NAMES.get(unit, f"units of {unit:g} seconds")
    return UsageProblem(f'"{shown}" {what}', f"write 90s, 15m, 1h30m or 2d; a plain number counts {plain}")


def spoken(length: float) -> str:
    """`500ms`, `45s`, `12m`, `1m 30s`, `1h 05m`, `2d 03h`."""
    if length != length or length == float("inf"):
        return "unknown"
    if length <= 0:
        return "0s"
    if length < 1:
        return f"{max(1, round(length * 1_000))}ms" if length < 0.9995 else "1s"
    if length < 10 and round(length, 1) % 1:
        return f"{length:.1f}s"
    whole = round(length)
    minutes, rest = divmod(whole, 60)
    if whole < 60:
        return f"{whole}s"
    if whole < 3_600:
        return f"{minutes}m {rest:02d}s" if rest else f"{minutes}m"
    hours, minutes = divmod(minutes, 60)
    if whole < 86_400:
        return f"{hours}h {minutes:02d}m"
    days, hours = divmod(hours, 24)
    return f"{days}d {hours:02d}h"


def written(length: float) -> str:
    """The shortest text that `seconds` reads back as the same length: `1h30m`, `2.5s`."""
    parts, rest = "", round(length * 1_000)
    if rest % 1_000:
        return f"{rest / 1_000}s" if rest > 1_000 else f"{rest}ms"
    for unit in ("d", "h", "m", "s"):
        count, rest = divmod(rest, round(SECONDS[unit] * 1_000))
        parts += f"{count}{unit}" if count else ""
    return parts or "0s"
