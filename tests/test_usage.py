"""`ralph usage`: what was used, as a user sees it, a pipe reads it, and a program takes it."""

import json
import os
import re
import shutil
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from place import Place, make_place
from sessions import MODEL, answer
from terminal import Terminal

SAMPLES = Path(__file__).parent / "agents" / "sessions"
NOON = datetime.now().astimezone().replace(hour=12, minute=0, second=0, microsecond=0) - timedelta(days=1)


def write(name: str, *lines: str, project: str = "-p") -> Path:
    path = Path(os.environ["HOME"], ".claude", "projects", project, f"{name}.jsonl")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(lines))
    return path


def days_ago(days: int) -> str:
    return (NOON - timedelta(days=days)).isoformat()


def usage(place: Place, *words: str, code: int = 0) -> dict[str, Any]:
    done = place.ralph("usage", "--json", *words)
    assert done.code == code, done
    found: dict[str, Any] = json.loads(done.out)
    return found


def rows(found: dict[str, Any]) -> dict[str, int]:
    return {row["key"]: row["output_tokens"] for row in found["rows"]}


def test_json_has_every_count_and_what_is_not_known(place: Place) -> None:
    write("a", answer("m", 1, at=days_ago(0)), answer("m", at=days_ago(0)))
    found = usage(place)
    (row,) = found["rows"]
    assert row | {"first": 0, "last": 0} == {
        "key": NOON.strftime("%Y-%m-%d"), "input_tokens": 10, "output_tokens": 50, "cache_read_tokens": 0,
        "cache_creation_tokens": 0, "total_tokens": 60, "answers": 1, "cost_usd": 0.0013, "cost_estimated": True,
        "unpriced_tokens": 0, "models": [MODEL], "agents": ["claude"], "first": 0, "last": 0,
    }  # fmt: skip
    assert found["total"]["total_tokens"] == 60
    assert (found["by"], found["files"], found["until"], found["troubles"]) == ("day", 1, None, [])


@pytest.mark.parametrize(
    ("words", "outputs"),
    [
        ((), {1, 2, 4}),
        (("--month",), {1, 2, 4}),
        (("--week",), {1, 2}),
        (("--today",), set()),
        (("--since", "100d"), {1, 2, 4, 8}),
        (("--since", (NOON - timedelta(days=3)).strftime("%Y-%m-%d")), {1, 2}),
        (("--since", "100d", "--until", (NOON - timedelta(days=3)).strftime("%Y-%m-%d")), {2, 4, 8}),
        (("--since", (NOON - timedelta(days=3, seconds=-1)).isoformat()), {1}),
        (("--since", "100d", "--until", (NOON - timedelta(days=3)).isoformat()), {4, 8}),
    ],
)
def test_windows(place: Place, words: tuple[str, ...], outputs: set[int]) -> None:
    for output, days in ((1, 0), (2, 3), (4, 20), (8, 60)):
        write(f"s{days}", answer(f"m{days}", output, at=days_ago(days)))
    assert set(rows(usage(place, *words)).values()) == outputs


@pytest.mark.parametrize(
    ("by", "keys"),
    [
        ("session", {"s": 3, "t": 4}),
        ("project", {"/p": 1, "/q": 6}),
        ("model", {MODEL: 3, "unheard-of": 4}),
        ("agent", {"claude": 7}),
        ("run", {"(not started by ralph)": 7}),
        ("story", {"(not started by ralph)": 7}),
    ],
)
def test_groups(place: Place, by: str, keys: dict[str, int]) -> None:
    write("a", answer("m", 1, at=days_ago(0)), answer("n", 2, at=days_ago(0), cwd="/q"))
    write("b", answer("o", 4, at=days_ago(0), session="t", cwd="/q", message={"model": "unheard-of"}))
    assert rows(usage(place, "--by", by)) == keys


def test_every_agent_s_files_are_read(place: Place) -> None:
    home = Path(os.environ["HOME"])
    places = {
        "claude": ".claude/projects/-p/3109037d.jsonl",
        "codex": ".codex/sessions/2026/11/20/rollout-2026-11-20T00-04-24-01a1f644.jsonl",
        "gemini": ".gemini/tmp/project/chats/session-2026-11-20T00-04-5a838655.jsonl",
        "copilot": ".copilot/session-state/a193e222/events.jsonl",
        "qwen": ".qwen/projects/-home-you-project/chats/2a2e26c6.jsonl",
    }
    for name, file in places.items():
        (home / file).parent.mkdir(parents=True)
        shutil.copy(SAMPLES / f"{name}.jsonl", home / file)
    (home / ".gemini/tmp/project/.project_root").write_text("/home/you/project")
    found = usage(place, "--since", "2026-11-01", "--by", "agent")
    assert rows(found) == {"claude": 51, "codex": 50, "gemini": 70, "copilot": 50, "qwen": 100}
    assert rows(usage(place, "--since", "2026-11-01", "--by", "project")) == {"/home/you/project": 321}


def test_a_run_and_its_stories(tmp_path: Path) -> None:
    place = make_place(tmp_path)
    assert place.ralph("run", "-n", "5").code == 0
    sessions = [record["attempt"]["session"] for record in place.records("attempted")]
    assert len(set(sessions)) == 2
    for number, session in enumerate(sessions):
        write(session, answer(f"m{number}", 10 + number, at=days_ago(0), session=session))
    write("other", answer("x", 5, at=days_ago(0), session="other"))
    run = place.run_folder().name
    assert rows(usage(place, "--by", "run")) == {run: 21, "(not started by ralph)": 5}
    assert rows(usage(place, "--by", "story")) == {
        "feature-x: STORY-001 Story number 1": 10,
        "feature-x: STORY-002 Story number 2": 11,
        "(not started by ralph)": 5,
    }


def test_a_damaged_journal_is_named(tmp_path: Path) -> None:
    place = make_place(tmp_path)
    assert place.ralph("run", "-n", "1").code == 1
    journal = place.run_folder() / "journal.jsonl"
    journal.write_text("{broken\n")
    write("a", answer("m", at=days_ago(0)))
    found = usage(place, "--by", "run", code=1)
    assert found["total"]["output_tokens"] == 50
    assert [one["file"] for one in found["troubles"]] == [str(journal)]


def test_an_unreadable_file_is_named_and_the_rest_is_shown(place: Place) -> None:
    write("a", answer("m", at=days_ago(0)))
    circle = Path(os.environ["HOME"], ".claude", "projects", "-p", "circle.jsonl")
    circle.symlink_to(circle)
    done = place.ralph("usage")
    assert done.code == 1
    assert re.search(r"total +10 +50 +0 +0 +60 ", done.out)
    assert f"warning: {circle}: " in done.err
    assert usage(place, code=1)["troubles"][0]["file"] == str(circle)


def test_lines_that_cannot_be_read_are_told(place: Place) -> None:
    file = write("a", answer("m", at=days_ago(0)), '{"message":{"usage":{"input_tokens":-1}}}\n')
    done = place.ralph("usage")
    assert done.code == 0
    assert f"warning: {file}: some lines" in done.err and ": 1 of them" in done.err


def test_a_plain_table_for_a_pipe(place: Place) -> None:
    write("a", answer("m", at=days_ago(0)), answer("n", 7, at=days_ago(1), message={"model": "unheard-of"}))
    done = place.ralph("usage")
    assert done.err == ""
    heads, first, second, total = (line.split() for line in done.out.splitlines())
    assert heads == ["DAY", "INPUT", "OUTPUT", "CACHE_READ", "CACHE_WRITE", "TOTAL", "COST"]
    assert first == [(NOON - timedelta(days=1)).strftime("%Y-%m-%d"), "10", "7", "0", "0", "17", "unknown"]
    assert second[1:] == ["10", "50", "0", "0", "60", "~$0.0013"]
    assert total == ["total", "20", "57", "0", "0", "77", "≥~$0.0013"]


def test_where_only_plain_letters_can_be_shown(place: Place) -> None:
    write("a", answer("m", at=days_ago(0)), answer("n", 7, at=days_ago(1), message={"model": "unheard-of"}))
    out = place.ralph("usage", PYTHONIOENCODING="ascii").out
    assert ">=~$0.0013" in out and "?" not in out
    with Terminal(place, "usage", PYTHONIOENCODING="ascii") as terminal:
        assert terminal.ends() == 0
    assert "####" in terminal.text and "?" not in terminal.text


@pytest.mark.parametrize("columns", [40, 80, 81, 200])
def test_bars_fit_the_terminal(place: Place, columns: int) -> None:
    for days in range(4):
        write(f"s{days}", answer(f"m{days}", 10**days, at=days_ago(days), cwd="/a/very/long/path/" + "x" * 90))
    for by in ("day", "project"):
        with Terminal(place, "usage", "--by", by, columns=columns) as terminal:
            assert terminal.ends() == 0
        lines = terminal.text.splitlines()
        assert all(len(line) <= columns for line in lines), lines
        assert any("total" in line and "1.1k" in line for line in lines)
        assert not any("\x1b" in line for line in lines)
        if columns >= 80 and by == "day":
            bars = [line.count("█") for line in lines if line[:2] == "20"]
            assert bars[0] > 4 * max(bars[1:]) and bars[-1] == 0


def test_colours_only_where_they_are_wanted(place: Place) -> None:
    write("a", answer("m", at=days_ago(0)))
    for no_color, seen in (("1", False), ("", True)):
        with Terminal(place, "usage", NO_COLOR=no_color) as terminal:
            assert terminal.ends() == 0
        assert (b"\x1b[36m" in terminal.raw) is seen


def test_nothing_is_said_as_nothing(place: Place) -> None:
    done = place.ralph("usage")
    assert done.code == 0 and "no session file of any agent was found in" in done.out and "/.codex" in done.out
    write("a", answer("m", at=days_ago(60)))
    assert "nothing was used in this time" in place.ralph("usage").out
    assert usage(place)["rows"] == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--since", "yesterday"), '--since: "yesterday" is neither'),
        (("--today", "--week"), "--today and --week both say when to begin"),
        (("--since", "1d", "--month"), "--month and --since both"),
        (("--since", "1d", "--until", "2d"), "--until lies before the beginning"),
        (("--by", "moon"), "--by must be one of day, session"),
    ],
)
def test_what_cannot_be_understood(place: Place, words: tuple[str, ...], said: str) -> None:
    done = place.ralph("usage", *words)
    assert (done.code, done.out) == (64, "")
    assert said in done.err and "try: " in done.err


def test_prices_of_one_s_own(place: Place) -> None:
    place.config("prices:\n  unheard-of: {input: 1000000, output: 0}\n")
    write("a", answer("m", at=days_ago(0), message={"model": "unheard-of"}))
    assert usage(place)["total"]["cost_usd"] == 10
    place.config("prices: {unheard-of: {input: free, output: 0}}\n")
    done = place.ralph("usage")
    assert done.code == 64 and "prices.unheard-of.input must be dollars" in done.err


def test_a_configuration_without_an_end_is_refused(place: Place) -> None:
    config = place.path / ".ralph" / "config.yaml"
    with config.open("ab") as stream:
        stream.truncate(1 << 42)
    done = place.ralph("usage")
    assert "Traceback" not in done.err
    assert (done.code, "config.yaml is larger than 256 KB" in done.err) == (1, True), done


def test_the_door_of_the_library(place: Place) -> None:
    from ralphloop import api

    write("a", answer("m", at=days_ago(0)))
    found = api.usage(by="model")
    assert [(row.key, row.tokens.output) for row in found.rows] == [(MODEL, 50)] and found.whole


def test_what_is_kept_lies_in_the_home_of_ralph_alone(place: Place) -> None:
    file = write("a", answer("m", at=days_ago(0)))
    usage(place)
    kept = [path for path in Path(os.environ["HOME"]).rglob("*") if path.is_file() and path != file]
    assert kept == []
    assert list((place.home / "cache" / "usage").iterdir())
