"""Whether an error that OpenCode tells of is the account's usage limit, and until when."""

import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

import msgspec

from ralphloop.agents.lines import short
from ralphloop.agents.shapes import mapping, number, text
from ralphloop.core.event import LimitMet

_WORDS = re.compile(
    r"usage[ _]?limit|\byou['’]ve (?:hit|reached) your (?:\w+ )?limit\b|\byour account['’]s rate limit\b", re.IGNORECASE
)
REJECTED, RESET = "anthropic-ratelimit-unified-status", "anthropic-ratelimit-unified-reset"


def from_error(data: Mapping[str, object]) -> LimitMet | None:
    """The data of an APIError: its message, the body and the headers of the API's answer."""
    message, headers = text(data.get("message")), mapping(data.get("responseHeaders"))
    body = _body(text(data.get("responseBody")))
    told = " ".join((message, text(body.get("type")), text(body.get("code"))))
    if headers.get(REJECTED) != "rejected" and not _WORDS.search(told[:2000]):
        return None
    return LimitMet(short(message) or "usage limit met", _resets_at(body, headers))


def _body(told: str) -> dict[str, object]:
    try:
        return mapping(mapping(msgspec.json.decode(told)).get("error"))
    except (ValueError, RecursionError):
        return {}


def _resets_at(body: dict[str, object], headers: dict[str, object]) -> float | None:
    moment = number(body.get("resets_at")) or _seconds(headers.get(RESET))
    if moment:
        return moment if moment > 0 else None
    wait = _seconds(headers.get("retry-after"))
    try:
        return parsedate_to_datetime(text(headers.get("date"))).timestamp() + wait if wait else None
    except (ValueError, OverflowError):
        return None


def _seconds(told: object) -> float | None:
    return float(told) if isinstance(told, str) and re.fullmatch(r"\d{1,12}", told) else None
