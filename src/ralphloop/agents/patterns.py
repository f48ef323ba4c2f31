"""The patterns a user writes for the plain output of a program: its words, tokens, cost, limit and error."""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ralphloop.agents.lines import ending, short
from ralphloop.agents.reset import Reset, length_in, moment_of
from ralphloop.agents.shapes import LARGEST_COUNT
from ralphloop.agents.text_stream import TextStream
from ralphloop.core.errors import UsageProblem
from ralphloop.core.event import Event, Finished, LimitMet, Said, Tokens

KINDS = ("input", "output", "cache_read", "cache_write")
SIZES = {"k": 1_000, "m": 1_000_000}
NUMBER = re.compile(r"\$?\s*(\d[\d,_ ]*(?:\.\d+)?|\.\d+)\s*([km])?\b", re.IGNORECASE)
COUNTED = ("tokens", "cost")  # without a group nothing says which number is meant
SYNTAX = "patterns are Python regular expressions; put a backslash before . ( ) [ ] * + ? to mean the character"
GROUPS = {
    "tokens": "put the number in a group: (\\d+), or (?P<input>\\d+) and (?P<output>\\d+)",
    "cost": "put the number in a group: \\$([\\d.]+)",
}


class Patterns(Struct, frozen=True):
    """Each is looked for in every line; of those that tell a number the last one counts."""

    text: str = ""
    tokens: str = ""
    cost: str = ""
    limit: str = ""
    error: str = ""

    def compiled(self, kind: str) -> re.Pattern[str] | None:
        pattern: str = getattr(self, kind)
        return re.compile(pattern, re.MULTILINE) if pattern else None

    def check(self, where: str) -> None:
        for kind in self.__struct_fields__:
            try:
                found = self.compiled(kind)
            except (re.error, OverflowError, RecursionError) as trouble:
                told = f"{where}.{kind}_pattern: {getattr(self, kind)!r} is no regular expression: {trouble}"
                raise UsageProblem(told, SYNTAX) from None
            if found is None:
                continue
            if kind in COUNTED and not found.groups:
                raise UsageProblem(f"{where}.{kind}_pattern has no group", GROUPS[kind])
            wrong = set(found.groupindex) - set(KINDS if kind == "tokens" else ("reset",) if kind == "limit" else ())
            if wrong:
                known = {"tokens": ", ".join(KINDS), "limit": "reset"}.get(kind, "none")
                raise UsageProblem(f"{where}.{kind}_pattern: no group can be named {min(wrong)!r}", f"known: {known}")


class PatternStream:
    """A Parser: plain text, of which the patterns tell more than its words."""

    def __init__(self, patterns: Patterns) -> None:
        self._text = TextStream(error=patterns.compiled("error"))
        self._words = patterns.compiled("text")
        self._tokens, self._cost = patterns.compiled("tokens"), patterns.compiled("cost")
        self._limit = patterns.compiled("limit")
        self._rest = ""
        self._last_words = ""

    def feed(self, data: bytes) -> Sequence[Event]:
        return [told for event in self._text.feed(data) for told in self._follow(event)]

    def close(self) -> Sequence[Event]:
        return [told for event in self._text.close() for told in self._follow(event)]

    def _follow(self, event: Event) -> Iterator[Event]:
        match event:
            case Finished():
                if self._words:
                    yield from self._own_words(self._rest + "\n")
                yield from self._ended(event)
            case Said() if self._words:
                lines, line_feed, self._rest = (self._rest + event.text).rpartition("\n")
                yield from self._own_words(lines + line_feed)
            case _:
                yield event

    def _own_words(self, text: str) -> Iterator[Event]:
        """Only what the pattern finds is the agent's; its first group, when it has one."""
        found = self._words.finditer(text) if self._words else ()
        parts = (match[1 if match.re.groups else 0] for match in found)
        words = ending("\n".join(part for part in parts if part and part.strip()))
        if words:
            self._last_words = words
            yield Said(words)

    def _ended(self, event: Finished) -> Iterator[Event]:
        limit = _last(self._limit, event.text)
        if limit:
            reset = _reset(limit)
            why = short(_line_of(limit)) or "a pattern matched an empty line"
            yield LimitMet(why, reset.at, reset.after)
            event = replace(event, error=event.error or why, fault="rate")
        tokens, cost = _tokens(_last(self._tokens, event.text)), _cost(_last(self._cost, event.text))
        words = self._last_words if self._words else event.text
        yield replace(event, text=words, tokens=tokens, cost=cost)


def _last(pattern: re.Pattern[str] | None, text: str) -> re.Match[str] | None:
    matches = [*pattern.finditer(text)] if pattern else []
    return matches[-1] if matches else None


def _line_of(match: re.Match[str]) -> str:
    start = match.string.rfind("\n", 0, match.start()) + 1
    return match.string[start : match.end()] + match.string[match.end() :].partition("\n")[0]


def _reset(match: re.Match[str]) -> Reset:
    """The group `reset`, or the first: seconds since 1970, an ISO time, or a length of time like `in 3h 20m`."""
    told = match["reset"] if "reset" in match.re.groupindex else match[1] if match.re.groups else None
    if not told:
        return Reset()
    at = moment_of(told)
    return Reset(at=at) if at is not None else Reset(after=length_in(told))


def _tokens(match: re.Match[str] | None) -> Tokens | None:
    if match is None:
        return None
    named = {kind: _number(told) for kind, told in match.groupdict().items() if told}
    if not named:
        total = _number(match[1] or "")
        return None if total is None else Tokens(round(total))
    return Tokens(**{kind: round(number) for kind, number in named.items() if number is not None})


def _cost(match: re.Match[str] | None) -> float | None:
    return None if match is None else _number(match[1] or "")


def _number(told: str) -> float | None:
    """As people and programs write numbers: `1,234`, `2.4k`, `$0.05`."""
    found = NUMBER.search(told)
    if found is None:
        return None
    number = float(re.sub(r"[,_ ]", "", found[1])) * SIZES.get((found[2] or "").lower(), 1)
    return number if number <= LARGEST_COUNT else None
