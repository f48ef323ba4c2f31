"""When a limit is over, as a text tells it: a moment, or a length of time from when it was said."""

import re
from datetime import datetime

from ralphloop.core.duration import LONGEST, UNITS

_EPOCH = re.compile(r"\d{9,13}")
_UNIT = "|".join(sorted(UNITS, key=len, reverse=True))
_PART = rf"(\d+(?:\.\d+)?)\s*({_UNIT})(?![a-z])"
_LENGTH = re.compile(rf"{_PART}(?:,?\s*(?:and\s+)?{_PART})*", re.IGNORECASE)
_PARTS = re.compile(_PART, re.IGNORECASE)


def length_in(text: str) -> float | None:
    """The first length of time in a text, in seconds: `3h 20m`, `34.07s`, `2 days and 3 hours`."""
    found = _LENGTH.search(text)
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
