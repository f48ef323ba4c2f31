"""When a limit is over, as a text tells it: a moment, or a length of time from when it was said."""

import re
from datetime import datetime
from typing import NamedTuple

from ralphloop.core.duration import LONGEST, UNITS

LONGEST_TEXT = 60
_EPOCH = re.compile(r"\d{9,13}")
_UNIT = "|".join(sorted(UNITS, key=len, reverse=True))
_PART = rf"(\d+(?:\.\d+)?)\s*({_UNIT})(?![a-z])"
_LENGTH = re.compile(rf"{_PART}(?:,?\s*(?:and\s+)?{_PART})*", re.IGNORECASE)
_PARTS = re.compile(_PART, re.IGNORECASE)

_AT = re.compile(r"\bresets?\s+(?:at|on)\s+(\d{4}-\d\d-\d\d[T ][\d:.]+(?:Z|[+-]\d\d:?\d\d)?|\d{9,13}\b)", re.IGNORECASE)
_AFTER = re.compile(r"\b(?:resets?|retry|try again)\s+(?:after|in)\s+", re.IGNORECASE)


class Reset(NamedTuple):
    """When a limit is over: at a moment in epoch seconds, or so many seconds on; neither when nobody tells."""

    at: float | None = None
    after: float | None = None


def reset_of(text: str) -> Reset:
    """What an agent's own message about a limit says: `resets at …`, `retry in …`, `try again in …`."""
    if found := _AT.search(text):
        return Reset(at=moment_of(found[1]))
    if found := _AFTER.search(text):
        return Reset(after=length_in(text[found.end() : found.end() + LONGEST_TEXT], at_once=True))
    return Reset()


def length_in(text: str, *, at_once: bool = False) -> float | None:
    """The first length of time in a text, in seconds: `3h 20m`, `34.07s`, `2 days and 3 hours`."""
    found = _LENGTH.match(text) if at_once else _LENGTH.search(text)
    if found is None:
        return None
    total = sum(float(number) * UNITS[unit.lower()] for number, unit in _PARTS.findall(found[0]))
    return total if 0 < total <= LONGEST else None


def moment_of(text: str) -> float | None:
    """Epoch seconds, of seconds or milliseconds since 1970 or of an ISO time; without a zone it is this machine's."""
    words = text.strip()
    if _EPOCH.fullmatch(words):
        return int(words) / 1000 if len(words) > 11 else float(words)
    try:
        return datetime.fromisoformat(words).timestamp()
    except (ValueError, OverflowError, OSError):
        return None
