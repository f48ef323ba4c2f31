"""The streams that real agent CLIs printed, kept with the events they must become."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from ralphloop.agents.codex_stream import CodexStream
from ralphloop.agents.table import AGENTS, named
from ralphloop.core.event import Event
from ralphloop.core.ports import Parser

STREAMS = sorted((Path(__file__).parent / "agents" / "streams").glob("*.jsonl"))
NEEDED: dict[str, dict[str, object]] = {"command": {"argv": ["x"]}, "scripted": {"script": "x"}}


def the_day_they_were_kept() -> datetime:
    return datetime(2026, 11, 20, tzinfo=UTC)


# codex tells a time of the day it speaks on
OWN: dict[str, Callable[[], Parser]] = {"codex": lambda: CodexStream(the_day_they_were_kept)}


def agent_of(stream: Path) -> str:
    """The agent whose name the file's name begins with."""
    return max((name for name in AGENTS if stream.name.startswith(f"{name}-")), key=len)


def parser_of(agent: str) -> Parser:
    make = OWN.get(agent) or named(agent, NEEDED.get(agent, {})).parser
    return make()


def read(stream: Path, data: bytes, cuts: Sequence[int] = ()) -> list[Event]:
    """The events of these bytes, fed in pieces that end at the cuts."""
    parser, events, start = parser_of(agent_of(stream)), list[Event](), 0
    for cut in (*cuts, len(data)):
        events += parser.feed(data[start:cut])
        start = cut
    return [*events, *parser.close()]


def beside(stream: Path) -> Path:
    return stream.with_suffix(".events.json")


def expected(stream: Path) -> list[Event]:
    return msgspec.json.decode(beside(stream).read_bytes(), type=list[Event])
