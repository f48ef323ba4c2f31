"""What is being done now: on the bottom line of a terminal, in `ralph status`, in `ralph list`."""

import re
import signal
import time
from pathlib import Path

import pytest

from place import Place, good, make_place, wait_for
from terminal import Terminal

SLOW = "quality_checks: {tests: {command: 'sleep 30', timeout: 20m}}\n"
AT_WORK = [{"say": "at it"}, {"run": "sleep 30"}]
WALL = [{"limit": {"resets_in": 2600}}]


def now_of(place: Place, words: tuple[str, ...]) -> str:
    """What a status says of the run once it is at this step."""
    found = place.ralph("status").out
    return found if all(word in found for word in words) else ""


@pytest.mark.parametrize(
    ("options", "actions", "config", "line", "status"),
    [
        (["-t", "10"], AT_WORK, "", r"STORY-001 · \d+s of 10m · 30 tokens · Bash sleep 30", "Now:        STORY-001 · "),
        ([], good(), SLOW, r"checking tests · \d+s of 20m", "Now:        checking tests · "),
        (["--pause", "50"], good(), "", r"the next iteration begins in \d\ds", "Now:        the next iteration"),
        (
            ["-r", "1"], good(), "",
            r"the calls of the next hour · until .*\d\d:\d\d · \d+m", "Status:     waiting for the calls",
        ),
        (
            ["--on-limit", "wait"], WALL, "",
            r"waiting for the usage limit · until .*\d\d:\d\d · 4\dm", "Status:     waiting for the usage limit",
        ),
    ],
    ids=["agent", "check", "pause", "rate", "limit"],
)  # fmt: skip
def test_every_phase_has_its_line(
    tmp_path: Path, options: list[str], actions: list[object], config: str, line: str, status: str
) -> None:
    place = make_place(tmp_path, config=config, script={"default": actions})
    with Terminal(place, "run", *options) as terminal:
        text = terminal.shows(re.compile(line))
        assert " 0 tokens · Bash" not in text
        shown = wait_for(lambda: now_of(place, (status,)))
        assert f"(PID {terminal.process.pid})" in shown
        for words in (["list"], ["status", "--all"]):
            listed = place.ralph(*words).out
            assert re.search(line.partition(r" · 30")[0], listed), listed
    assert "Ended:" not in place.ralph("status").out
    assert "interrupted (SIGINT)" in place.ralph("status").out


def test_paused(tmp_path: Path) -> None:
    place = make_place(tmp_path, script={"default": [{"run": "$RALPH pause"}, *good()]})
    with Terminal(place, "run", RALPH=" ".join(place.argv())) as terminal:
        terminal.shows("paused · `ralph resume` goes on")
        assert "Status:     paused · `ralph resume` goes on (PID" in place.ralph("status").out
        assert re.search(r" paused +", place.ralph("list").out)
        terminal.process.send_signal(signal.SIGINT)
        assert terminal.ends() == 130


def test_a_follower_sees_the_line_too(tmp_path: Path) -> None:
    place = make_place(tmp_path, script={"default": AT_WORK})
    with Terminal(place, "run"):
        wait_for(lambda: any((place.home / "runs").glob("*/attempt-1.log")))
        with Terminal(place, "log", "-f") as follower:
            follower.shows(re.compile(r"STORY-001 · \d+s of 15m · 30 tokens · Bash sleep 30"))


def test_unknown_tokens_are_not_shown(tmp_path: Path) -> None:
    config = "agents: {quiet: {kind: command, argv: [sh, -c, 'echo hello; sleep 1.5']}}\n"
    place = make_place(tmp_path, count=1)
    (place.path / ".ralph" / "config.yaml").write_text(f"defaults: {{agent: quiet}}\n{config}")
    with Terminal(place, "run", "-n", "1") as terminal:
        terminal.ends()
        assert re.search(r"STORY-001 · 1s of 15m", terminal.text)
        assert "0 tokens" not in terminal.text
        assert "1 iteration · 0 commits" in terminal.text
        assert "tokens and cost unknown" in terminal.text
    assert "Spent:      tokens and cost unknown" in place.ralph("status").out
    assert (place.status()["tokens_unknown"], place.status()["cost_unknown"]) == (1, 1)


@pytest.mark.parametrize("columns", [40, 100])
def test_the_line_is_no_wider_than_the_terminal(tmp_path: Path, columns: int) -> None:
    place = make_place(tmp_path, script={"default": [{"run": "sleep 30; echo " + "x" * 80}]})
    with Terminal(place, "run", columns=columns) as terminal:
        text = terminal.shows("STORY-001 · 1s of 15m")
        live = [line for line in text.split("\n") if " of 15m" in line]
        assert all(len(part) < columns for line in live for part in line.split("    STORY-001 ·")[1:])


class TestQuestion:
    """What to do at the usage limit."""

    def test_it_says_when_the_limit_resets_and_counts_down(self, tmp_path: Path) -> None:
        place = make_place(tmp_path, script={"default": WALL})
        with Terminal(place, "run") as terminal:
            terminal.shows(re.compile(r"it resets at (\w+ )?\d\d:\d\d, in 4\dm"))
            terminal.shows("wait or exit? · exit in 2")
            terminal.types("x\n")
            terminal.shows("w and Enter waits, e and Enter exits")
            terminal.types("e\n")
            assert terminal.ends() == 2
        assert "Status:     stopped at the usage limit\n" in place.ralph("status").out

    def test_w_waits(self, tmp_path: Path) -> None:
        place = make_place(tmp_path, script={"default": ["limit"]})
        with Terminal(place, "run") as terminal:
            terminal.shows("nobody says when it resets")
            terminal.types("W\n")
            terminal.shows("waiting for the usage limit · until")
            terminal.process.send_signal(signal.SIGINT)
            assert terminal.ends() == 130

    def test_silence_exits(self, tmp_path: Path) -> None:
        place = make_place(tmp_path, config="limits: {ask_seconds: 1}\n", script={"default": ["limit"]})
        began = time.monotonic()
        with Terminal(place, "run") as terminal:
            assert terminal.ends() == 2
        assert time.monotonic() - began < 10
