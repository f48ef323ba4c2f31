"""The moment that words of an agent name: `1:11 AM` is today's, `Nov 25th, 2026 1:11 AM` is that day's."""

import re
from datetime import datetime

_DATE = r"(?:(?P<month>[A-Z][a-z]{2})[a-z]* (?P<day>\d{1,2})(?:st|nd|rd|th)?, (?P<year>\d{4}),? (?:at )?)?"
_TIME = r"(?P<hour>\d{1,2}):(?P<minute>\d{2}) ?(?P<half>[AP]M)\b"
_MOMENT = re.compile(_DATE + _TIME)
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def moment(words: str, now: datetime) -> float | None:
    """Seconds since 1970, read in the time zone of `now`, or this machine's; nothing when no moment is named."""
    found = _MOMENT.search(words)
    if found is None:
        return None
    hour = int(found["hour"]) % 12 + (12 if found["half"] == "PM" else 0)
    day = now.replace(hour=0, minute=0, second=0, microsecond=0)
    try:
        if found["month"]:
            month = MONTHS.index(found["month"]) + 1
            day = day.replace(year=int(found["year"]), month=month, day=int(found["day"]))
        return day.replace(hour=hour, minute=int(found["minute"])).timestamp()
    except (ValueError, OverflowError, OSError):
        return None
