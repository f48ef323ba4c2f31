"""Windows of time: what people write, and where days begin."""

import time
from collections.abc import Iterator

import pytest

from ralphloop.core.errors import UsageProblem
from ralphloop.core.period import day, midnight, moment

NOW = 1_767_787_200.0 + 30 * 60  # 2026-01-07 12:30 UTC


@pytest.fixture(autouse=True, params=["UTC", "America/New_York", "Asia/Kathmandu"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def local(text: str) -> float:
    return time.mktime(time.strptime(text, "%Y-%m-%d %H:%M"))


@pytest.mark.parametrize(
    ("text", "end", "wanted"),
    [
        ("2026-01-05", False, "2026-01-05 00:00"),
        ("2026-01-05", True, "2026-01-06 00:00"),
        ("20260105", False, "2026-01-05 00:00"),
        (" 2026-01-05T08:30 ", False, "2026-01-05 08:30"),
        ("2026-01-05 08:30", True, "2026-01-05 08:30"),
    ],
)
def test_days_and_times_are_those_here(text: str, end: bool, wanted: str) -> None:
    assert moment(text, NOW, "--since", end=end) == local(wanted)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("2026-01-07T12:00:00Z", 1800), ("2026-01-07T13:00+01:00", 1800), ("5h", 18_000), ("7d", 604_800)],
)
def test_a_zone_or_a_length_of_time(text: str, seconds: float) -> None:
    assert moment(text, NOW, "--since") == NOW - seconds


@pytest.mark.parametrize(
    "text", ["", "yesterday", "5", "-5h", "2026-13-01", "5 parsecs", "h", "\x1b[2J", "9" * 500 + "d"]
)
def test_what_is_neither_is_refused_with_examples(text: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        moment(text, NOW, "--until")
    assert caught.value.message.startswith("--until: ") and len(caught.value.message) < 200
    assert "\x1b" not in caught.value.message
    assert "2026-01-31" in caught.value.hint


def test_midnight_is_that_of_here_over_a_change_of_the_clocks() -> None:
    after = local("2026-03-10 12:00")  # New York went over to summer time on the 8th
    assert midnight(after) == local("2026-03-10 00:00")
    assert midnight(after, 6) == local("2026-03-04 00:00")
    assert [day(midnight(after, back)) for back in range(3)] == ["2026-03-10", "2026-03-09", "2026-03-08"]
