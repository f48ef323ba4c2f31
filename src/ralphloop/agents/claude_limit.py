"""Whether claude says that the account's usage limit is met, and until when."""

import re
from datetime import datetime

from ralphloop.agents.claude_reset import reset
from ralphloop.agents.lines import short
from ralphloop.agents.shapes import mapping, number, text
from ralphloop.core.event import LimitMet

_TEXTS = re.compile(
    r"\busage limits?\b"
    r"|\byou['’]ve (?:hit|reached) your (?:[\w.-]+ ){0,4}limit\b"
    r"|\b(?:\d+-hour|session|daily|weekly|monthly|opus|sonnet)(?: \w+)? limit reached\b"
    r"|\bout of extra usage\b"
    r"|\byour account['’]s rate limit\b",
    re.IGNORECASE,
)
_EPOCH = re.compile(r"(?<=limit reached)\|(\d{9,13})\b", re.IGNORECASE)
OWN_BUDGET = frozenset({"error_max_turns", "error_max_budget_usd", "error_max_structured_output_retries"})


def from_event(event: dict[str, object]) -> LimitMet | None:
    """A rate_limit_event; only a rejection that no paid overage carries is a wall."""
    told = mapping(event.get("rate_limit_info"))
    if told.get("status") != "rejected" or told.get("isUsingOverage") is True:
        return None
    kind = text(told.get("rateLimitType")).replace("_", " ")
    return LimitMet(short(f"usage limit met ({kind})" if kind else "usage limit met"), _epoch(told.get("resetsAt")))


def from_text(said: str, now: datetime) -> LimitMet | None:
    """A text of the agent itself, not of its model: never call this with an ordinary answer."""
    found = _TEXTS.search(said[:4000])
    if found is None:
        return None
    epoch = _EPOCH.search(said[:4000])
    start = said.rfind("\n", 0, found.start()) + 1
    line = without_epoch(said[start:]).partition("\n")[0]
    return LimitMet(short(line), _epoch(int(epoch[1])) if epoch else reset(said[start:], now))


def without_epoch(said: str) -> str:
    """As people read it: the seconds since 1970 stand in `resets_at`."""
    return _EPOCH.sub("", said)


def _epoch(value: object) -> float | None:
    seconds = number(value)
    if seconds is None or seconds <= 0:
        return None
    return seconds / 1000 if seconds > 1e11 else seconds
