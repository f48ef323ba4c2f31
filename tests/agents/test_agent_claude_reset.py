"""The moment at which claude's limit resets, as its words tell it, seen from a Friday evening."""

import json
from datetime import UTC, datetime

import pytest

from ralphloop.agents.claude_reset import reset
from ralphloop.agents.claude_stream import ClaudeStream
from ralphloop.core.event import LimitMet

NOW = datetime(2026, 11, 20, 20, 30, tzinfo=UTC)
WORDS = {
    "You've hit your 5-hour limit · resets 10:32pm (UTC)": datetime(2026, 11, 20, 22, 32, tzinfo=UTC),
    "You've hit your session limit · resets 4:12am (UTC)": datetime(2026, 11, 21, 4, 12, tzinfo=UTC),
    "You've hit your 5-hour limit · resets 12am (UTC)": datetime(2026, 11, 21, 0, 0, tzinfo=UTC),
    "limit reached ∙ resets 7pm (America/Santiago)": datetime(2026, 11, 20, 22, 0, tzinfo=UTC),
    "You've hit your weekly limit · resets Nov 25 at 3pm (UTC)": datetime(2026, 11, 25, 15, 0, tzinfo=UTC),
    "You've hit your weekly limit · resets Nov 25, 3:30pm (UTC)": datetime(2026, 11, 25, 15, 30, tzinfo=UTC),
    "You've hit your monthly limit · resets Jan 1 at 12am (UTC)": datetime(2027, 1, 1, 0, 0, tzinfo=UTC),
}
NOTHING = (
    "You've hit your limit", "resets soon", "resets 25:00pm (UTC)", "resets 3pm (Nowhere/Nothing)",
    "resets Foo 3 at 3pm",
    "resets 3pm (../../etc/passwd)", "resets Feb 31 at 3pm (UTC)",
)  # fmt: skip


@pytest.mark.parametrize(("words", "moment"), WORDS.items())
def test_when_it_resets(words: str, moment: datetime) -> None:
    assert reset(words, NOW) == moment.timestamp()


@pytest.mark.parametrize("words", NOTHING)
def test_what_tells_no_moment(words: str) -> None:
    assert reset(words, NOW) is None


def test_without_a_zone_it_is_this_machine_s() -> None:
    here = NOW.astimezone()
    assert reset("resets 11:59pm", NOW) == here.replace(hour=23, minute=59, second=0, microsecond=0).timestamp()


def limits(*events: dict[str, object], at: float | None = None) -> list[LimitMet]:
    stream = ClaudeStream(lambda: NOW)
    if at is not None:
        stream.written(at)
    lines = b"".join(json.dumps(event).encode() + b"\n" for event in events)
    return [event for event in (*stream.feed(lines), *stream.close()) if isinstance(event, LimitMet)]


SAID: dict[str, object] = {
    "type": "result",
    "subtype": "success",
    "is_error": True,
    "result": "You've hit your limit · resets 10pm (UTC)",
}
EVENT: dict[str, object] = {
    "type": "rate_limit_event",
    "rate_limit_info": {"status": "rejected", "resetsAt": 1_795_000_000},
}


def test_the_event_knows_better_than_the_words() -> None:
    assert [limit.resets_at for limit in limits(EVENT, SAID)] == [1_795_000_000]
    assert [limit.resets_at for limit in limits(SAID)] == [NOW.replace(hour=22, minute=0).timestamp()]


def test_words_of_a_log_are_of_its_own_day() -> None:
    (limit,) = limits(SAID, at=NOW.timestamp() - 3 * 86_400)
    assert limit.resets_at == NOW.replace(day=17, hour=22, minute=0).timestamp()
