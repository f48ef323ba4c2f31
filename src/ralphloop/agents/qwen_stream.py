"""Qwen Code's stream: claude's, but its errors come as the last words of a turn that calls itself a success."""

import re
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from ralphloop.agents import faults
from ralphloop.agents.claude_stream import ClaudeStream
from ralphloop.agents.lines import short
from ralphloop.agents.reset import reset_of
from ralphloop.core.event import Event, Finished, LimitMet, Said, Spent, Tokens

API_ERROR = "[API Error: "
# a coding plan's quota of five hours, a week or a month, and the free one of a day
LIMIT = re.compile(r"\b(?:hour|day|week|month|free) allocated quota exceeded|\bdaily quota\b|^Qwen OAuth quota", re.I)
OTHERWISE = ("Qwen OAuth quota exceeded:", "Qwen OAuth free tier has been discontinued")


class QwenStream:
    """A Parser."""

    def __init__(self) -> None:
        self._claude = ClaudeStream()
        self._answered = False  # the last words have a usage: a model said them, and not the CLI

    def feed(self, data: bytes) -> Sequence[Event]:
        return [told for event in self._claude.feed(data) for told in self._read(event)]

    def close(self) -> Sequence[Event]:
        return [told for event in self._claude.close() for told in self._read(event)]

    def _read(self, event: Event) -> Iterator[Event]:
        match event:
            case Said():
                self._answered = False
                yield event
            case Spent():
                self._answered = True
                yield Spent(_apart(event.tokens))
            case Finished():
                yield from self._ended(event)
            case _:
                yield event

    def _ended(self, event: Finished) -> Iterator[Event]:
        if event.tokens is not None:
            event = replace(event, tokens=_apart(event.tokens))
        error = "" if event.error or self._answered else _error_of(event.text)
        if not error:
            yield event
            return
        limit = LIMIT.search(error)
        if limit:
            reset = reset_of(error)
            yield LimitMet(short(error.removeprefix(API_ERROR).partition("]")[0]), reset.at, reset.after)
        spent = event.tokens if event.tokens != Tokens() else None
        yield replace(event, error=error, tokens=spent, fault="rate" if limit else faults.of_words(error))


def _apart(tokens: Tokens) -> Tokens:
    """What was cached is told as part of the input."""
    return replace(tokens, input=max(0, tokens.input - tokens.cache_read))


def _error_of(last_words: str) -> str:
    """The error that the last words are, or end with when the model was broken off in the middle of its own."""
    said = last_words.rstrip()
    if said.startswith(OTHERWISE):
        return said
    start = said.rfind(API_ERROR)
    tail = said[start:] if start >= 0 else ""
    return tail if tail.partition("\n")[0].rstrip().endswith("]") or tail.endswith("]") else ""
