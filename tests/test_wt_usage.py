"""`wt-usage`: the windows, the words and the keys of wt-tools, and none of its silent zeros."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from place import Place, Result
from sessions import answer
from test_usage import write

KEYS = [
    "period", "input_tokens", "output_tokens", "cache_read_tokens", "cache_creation_tokens", "api_tokens",
    "total_tokens",
]  # fmt: skip


def wt_usage(place: Place, *words: str) -> Result:
    argv = [sys.executable, "-P", "-m", "ralphloop.cli.wt_usage", *words]
    done = subprocess.run(
        argv, cwd=place.path, env=place.env(), capture_output=True, text=True, check=False, timeout=60
    )
    return Result(done.returncode, done.stdout, done.stderr)


def ago(**length: float) -> str:
    return (datetime.now(UTC) - timedelta(**length)).isoformat()


def test_json_has_the_keys_of_wt_tools(place: Place) -> None:
    more = {"cache_read_input_tokens": 7, "cache_creation_input_tokens": 3}
    write("a", answer("m", 1, at=ago(hours=1)), answer("m", at=ago(hours=1), usage=more))
    done = wt_usage(place, "--format", "json")
    assert (done.code, done.err) == (0, "")
    told = json.loads(done.out)
    assert list(told) == KEYS
    assert list(told.values()) == ["5h", 10, 50, 7, 3, 60, 70]


@pytest.mark.parametrize(
    ("words", "period", "outputs"),
    [
        ((), "5h", 1),
        (("--week",), "week", 1 + 2),
        (("--month",), "month", 1 + 2 + 4),
        (("--since", ago(days=50)), "custom", 1 + 2 + 4 + 8),
        (("--since", ago(days=50)[:19]), "custom", 1 + 2 + 4 + 8),
    ],
)
def test_windows(place: Place, words: tuple[str, ...], period: str, outputs: int) -> None:
    for output, hours in ((1, 4), (2, 24 * 5), (4, 24 * 20), (8, 24 * 40), (16, 24 * 60)):
        write(f"s{hours}", answer(f"m{hours}", output, at=ago(hours=hours)))
    told = json.loads(wt_usage(place, *words, "--format", "json").out)
    assert (told["period"], told["output_tokens"]) == (period, outputs)


def test_today_begins_at_midnight_in_utc(place: Place) -> None:
    midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    before, after = midnight - timedelta(seconds=1), midnight + timedelta(seconds=1)
    write("a", answer("m", 1, at=before.isoformat()), answer("n", 2, at=after.isoformat()))
    assert json.loads(wt_usage(place, "--today", "--format", "json").out)["output_tokens"] == 2


def test_one_project(place: Place) -> None:
    write("a", answer("m", 1, at=ago(hours=1)), project="-p")
    write("b", answer("n", 2, at=ago(hours=1)), project="-p-2")
    assert json.loads(wt_usage(place, "--project-dir", "-p", "--format", "json").out)["output_tokens"] == 1
    done = wt_usage(place, "--project-dir", "-none")
    assert done.code == 0 and "no session file" in done.err and "projects/-none" in done.err
    assert wt_usage(place, "--project-dir", "../x").code == 64


def test_cost_is_told_when_it_is_known(place: Place) -> None:
    file = write("a", answer("m", at=ago(hours=1)))
    assert json.loads(wt_usage(place, "--cost", "--format", "json").out)["estimated_cost_usd"] == 0.0013
    assert "Cost:                 ~$0.00" in wt_usage(place, "--cost").out
    file.write_text(answer("m", at=ago(hours=1), message={"model": "unheard-of"}))
    assert json.loads(wt_usage(place, "--cost", "--format", "json").out)["estimated_cost_usd"] is None
    assert "Cost:                 unknown" in wt_usage(place, "--cost").out


def test_limits_come_from_a_file_or_not_at_all(place: Place) -> None:
    write("a", answer("m", at=ago(hours=1)))
    folder = Path(os.environ["HOME"], ".config", "wt-tools")
    folder.mkdir(parents=True)
    (folder / "claude-session.json").write_text('{"sessionKey": "x"}')
    assert "api" not in json.loads(wt_usage(place, "--format", "json").out)
    told = {"session_pct": 42, "session_reset": "in 2h 05m", "weekly_pct": 7.5, "weekly_reset": None}
    (folder / "usage.json").write_text(json.dumps(told))
    assert json.loads(wt_usage(place, "--format", "json").out)["api"] == told
    assert "Session: 42% | resets in 2h 05m\n" in wt_usage(place).out
    for content in ("", "{", "[]", '{"session_pct": "x"}'):
        (folder / "usage.json").write_text(content)
        assert wt_usage(place).code == 0


def test_text_is_aligned_with_thousands(place: Place) -> None:
    write("a", answer("m", 1_234_567, at=ago(hours=1)))
    lines = wt_usage(place).out.splitlines()
    assert lines[0] == "Claude usage, last 5 hours"
    assert "  Output tokens:        1,234,567" in lines
    assert len({len(line) for line in lines[1:]}) == 1


def test_an_unreadable_file_is_no_zero(place: Place) -> None:
    circle = write("circle")
    circle.unlink()
    circle.symlink_to(circle)
    done = wt_usage(place, "--format", "json")
    assert done.code == 1 and str(circle) in done.err
    assert json.loads(done.out)["total_tokens"] == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--wek",), "wt-usage has no option --wek"),
        (("--today", "--week"), "--today and --week both"),
        (("--since", "noon"), '--since: "noon" is no time'),
        (("--login",), "nothing to log in to"),
        (("x",), '"x" is one word too many: wt-usage takes'),
        (("--format", "xml"), "--format must be one of json, text"),
    ],
)
def test_what_cannot_be_understood(place: Place, words: tuple[str, ...], said: str) -> None:
    done = wt_usage(place, *words)
    assert (done.code, done.out) == (64, "")
    assert said in done.err


def test_help_and_version(place: Place) -> None:
    done = wt_usage(place, "--help")
    assert done.code == 0 and "  wt-usage [OPTIONS]\n" in done.out and "--project-dir NAME" in done.out
    assert max(map(len, done.out.splitlines())) <= 80
    assert wt_usage(place, "--version").out.startswith("wt-usage ")
