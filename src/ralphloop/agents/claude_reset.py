"""When claude says in words that its limit resets: `resets 10:32pm (UTC)`, `resets Nov 25 at 3pm (UTC)`."""

import re
from datetime import datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

from ralphloop.agents.moment import MONTHS

_RESETS = re.compile(
    r"\bresets?\s+(?:at\s+)?(?:(?P<month>[A-Z][a-z]{2})[a-z]*\.?\s+(?P<day>\d{1,2}),?\s+(?:at\s+)?)?"
    r"(?P<hour>1[0-2]|0?[1-9])(?::(?P<minute>[0-5]\d))?\s*(?P<half>[ap])m\b(?:\s*\((?P<zone>[\w/+-]{1,64})\)|(?!\s*\())",
    re.IGNORECASE,
)
STALE = timedelta(days=7)  # a day of the year that lies further back is meant for the next one


def reset(words: str, now: datetime) -> float | None:
    """Seconds since 1970; without a day the next time that the clock shows this."""
    found = _RESETS.search(words[:4000])
    if found is None:
        return None
    try:
        here = now.astimezone(_zone(found["zone"]))
        hour = int(found["hour"]) % 12 + (12 if found["half"].lower() == "p" else 0)
        at = here.replace(hour=hour, minute=int(found["minute"] or 0), second=0, microsecond=0)
        if found["month"]:
            month = MONTHS.index(found["month"].title()) + 1
            at = at.replace(month=month, day=int(found["day"]))
            at = at.replace(year=at.year + 1) if at < here - STALE else at
        elif at <= here:
            at += timedelta(days=1)
        return at.timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def _zone(name: str | None) -> tzinfo | None:
    """This machine's when none is named; a name that nobody knows is an error."""
    if name is None:
        return None
    try:
        return ZoneInfo(name)
    except KeyError as error:  # as a zone that is not found is called
        raise ValueError(name) from error
