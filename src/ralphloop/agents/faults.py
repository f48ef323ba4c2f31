"""What kind of trouble an agent's own error tells of: by its status first, by its words where there is none."""

import re

from ralphloop.core.event import Fault

STATUS: dict[int, Fault] = {401: "auth", 402: "money", 403: "auth", 408: "transient", 425: "transient", 429: "rate"}
WORDS: dict[Fault, str] = {
    "money": r"credit balance|insufficient[_ ](?:quota|credits?|funds|balance)|\bbilling|payment required|\b402\b",
    "auth": (
        r"\b401\b|\b403\b|unauthori[sz]ed|authentication|invalid (?:api[ -]?key|token|x-api-key)|api key not valid"
        r"|not (?:logged|signed) in|please (?:log|sign) in|log ?in (?:is )?required|missing api key|forbidden"
    ),
    "rate": r"\b429\b|rate.?limit|too many requests|resource.?exhausted",
    "transient": (
        r"\b5\d\d\b (?:\w+ ){0,2}(?:error|overloaded|unavailable|bad gateway|time)|\bstatus(?: code)?:? ?5\d\d\b"
        r"|overloaded|(?:service|temporarily) unavailable|internal server error|bad gateway|gateway time-?out"
        r"|\bserver[ _](?:had an )?error"
        r"|econn(?:reset|refused|aborted)|etimedout|eai_again|enotfound|epipe|socket hang up|fetch failed"
        r"|network error|connection (?:error|reset|refused|closed|to the api was lost|timed out|dropped)"
        r"|other side closed|api error: terminated"
        r"|stream (?:disconnected|closed|ended)|request timed out|terminated unexpectedly"
    ),
}


def of_status(status: float | None) -> Fault:
    """Nothing when the status tells of no trouble that passes, or of none at all."""
    if status is None:
        return ""
    return "transient" if 500 <= status < 600 else STATUS.get(int(status), "")


def of_words(error: str) -> Fault:
    """An error of the agent itself: never call this with an ordinary answer or the output of a tool."""
    said = error[:2000]
    return next((fault for fault, words in WORDS.items() if re.search(words, said, re.IGNORECASE)), "")
