"""Windows of time as people name them: a day, a moment, or how long ago; days begin at midnight here."""

from datetime import datetime, timedelta

from ralphloop.core import duration
from ralphloop.core.errors import UsageProblem

EXAMPLES = "write 2026-01-31, 2026-01-31T08:30, 5h or 7d"


def moment(text: str, now: float, option: str, *, end: bool = False) -> float:
    """`end` stands behind a day that is named, not at its beginning. A length of time counts back from now."""
    words = text.strip()
    try:
        named = datetime.fromisoformat(words)
        day = len(words) in (8, 10) and ":" not in words
        return max(0.0, (named + timedelta(days=1) if day and end else named).timestamp())
    except (ValueError, OverflowError, OSError):
        pass
    try:
        if words[:1].isdigit() and words[-1:].isalpha():
            return now - duration.seconds(words, 1)
    except UsageProblem:
        pass
    shown = words if words.isprintable() and len(words) <= 40 else repr(words[:39])
    raise UsageProblem(f'{option}: "{shown}" is neither a day nor a time nor how long ago', EXAMPLES)


def midnight(now: float, days_before: int = 0) -> float:
    """The beginning of this day here, or of one before it."""
    today = datetime.fromtimestamp(now).replace(hour=0, minute=0, second=0, microsecond=0)
    return (today - timedelta(days=days_before)).timestamp()


def day(at: float) -> str:
    return datetime.fromtimestamp(at).isoformat()[:10]
