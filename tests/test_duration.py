"""Lengths of time: what is read, what is refused and how it is told."""

import math
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralphloop.core.duration import LONGEST, seconds, spoken, written
from ralphloop.core.errors import USAGE, UsageProblem

MINUTE = 60.0


@pytest.mark.parametrize(
    ("text", "unit", "expected"),
    [
        ("15", MINUTE, 900),
        ("15", 1.0, 15),
        (15, MINUTE, 900),
        (1.5, MINUTE, 90),
        ("0.5", MINUTE, 30),
        ("90s", MINUTE, 90),
        ("15m", 1.0, 900),
        ("1h", MINUTE, 3_600),
        ("1h30m", MINUTE, 5_400),
        ("1h 30m", MINUTE, 5_400),
        (" 1H30M ", MINUTE, 5_400),
        ("1d2h3m4s5ms", MINUTE, 93_784.005),
        ("500ms", MINUTE, 0.5),
        ("2d", MINUTE, 172_800),
        ("1.5h", MINUTE, 5_400),
        ("15 minutes", 1.0, 900),
        ("2 hours 5 min", 1.0, 7_500),
        (".5s", MINUTE, 0.5),
        ("366d", MINUTE, LONGEST),
    ],
)
def test_reads(text: str | int | float, unit: float, expected: float) -> None:
    assert seconds(text, unit) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is not a length of time"),
        ("   ", "is not a length of time"),
        ("-", "is not a length of time"),
        ("m", "is not a length of time"),
        (".", "is not a length of time"),
        ("1.2.3", "is not a length of time"),
        ("1.2.3s", "is not a length of time"),
        ("soon", "is not a length of time"),
        ("1h30", "is not a length of time"),
        ("1:30", 'unknown unit ":"'),
        ("1,5h", 'unknown unit ","'),
        ("5x", 'unknown unit "x"'),
        ("1e3", 'unknown unit "e"'),
        ("٣m", "is not a length of time"),
        ("30m1h", "from the largest to the smallest"),
        ("1m1m", "from the largest to the smallest"),
        ("-5", "is negative"),
        ("-5m", "is negative"),
        (-5, "is negative"),
        (-0.1, "is negative"),
        ("0", "is no time at all"),
        ("0s", "is no time at all"),
        (0, "is no time at all"),
        ("nan", "is not a length of time"),
        ("inf", "is not a length of time"),
        (math.nan, "is not a length of time"),
        (math.inf, "is longer than a year"),
        (10**400, "is longer than a year"),
        ("9" * 39, "is longer than a year"),
        ("9" * 400, "is not a length of time"),
        ("367d", "is longer than a year"),
        (True, "is not a length of time"),
    ],
)
def test_refuses(text: str | int | float, said: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        seconds(text, MINUTE)
    assert said in caught.value.message
    assert len(caught.value.message) < 120
    assert caught.value.hint == "write 90s, 15m, 1h30m or 2d; a plain number counts minutes"
    assert caught.value.exit_code == USAGE


@pytest.mark.parametrize("text", ["0", "0s", 0, 0.0, "0h0m"])
def test_zero_where_it_makes_sense(text: str | int | float) -> None:
    assert seconds(text, MINUTE, zero=True) == 0


@pytest.mark.parametrize(("unit", "word"), [(1.0, "seconds"), (3_600.0, "hours"), (7.0, "units of 7 seconds")])
def test_hint_names_the_unit_of_a_plain_number(unit: float, word: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        seconds("x", unit)
    assert caught.value.hint.endswith(word)


@pytest.mark.parametrize(
    ("length", "text"),
    [
        (0, "0s"),
        (-3, "0s"),
        (0.0001, "1ms"),
        (0.5, "500ms"),
        (0.9999, "1s"),
        (1, "1s"),
        (2.5, "2.5s"),
        (9.99, "10s"),
        (45, "45s"),
        (59.4, "59s"),
        (59.6, "1m"),
        (90, "1m 30s"),
        (720, "12m"),
        (3_599.7, "1h 00m"),
        (3_900, "1h 05m"),
        (86_399.9, "1d 00h"),
        (183_600, "2d 03h"),
        (math.inf, "unknown"),
        (math.nan, "unknown"),
    ],
)
def test_spoken(length: float, text: str) -> None:
    assert spoken(length) == text


@pytest.mark.parametrize(
    ("length", "text"),
    [(0, "0s"), (0.5, "500ms"), (2, "2s"), (2.5, "2.5s"), (900, "15m"), (5_400, "1h30m"), (86_401, "1d1s")],
)
def test_written(length: float, text: str) -> None:
    assert written(length) == text


@given(st.integers(min_value=1, max_value=round(LONGEST)))
def test_written_is_read_back(length: int) -> None:
    assert seconds(written(length), MINUTE) == pytest.approx(length)


@given(st.text(max_size=50))
def test_any_text_is_a_length_or_refused(text: str) -> None:
    try:
        assert 0 < seconds(text, MINUTE) <= LONGEST
    except UsageProblem as problem:
        assert problem.hint


def test_importing_it_is_cheap() -> None:
    code = "import sys, ralphloop.core.duration; print(sorted({'re', 'typing', 'msgspec'} & set(sys.modules)))"
    argv = [sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}; {code}"]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
