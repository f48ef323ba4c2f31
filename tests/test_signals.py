"""Every signal that ends a run, in every phase: the agent is gone, everything is written down, the next run goes on."""

import os
import pty
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from place import Place, busy, good, make_place, nobody_left, shell_code, wait_for

CODES = {"SIGINT": 130, "SIGTERM": 143, "SIGHUP": 129, "SIGQUIT": 131}
SLOW_CHECK = "quality_checks: {tests: 'test -f go || sleep 60'}\n"


def assert_stopped(place: Place, name: str, code: int) -> None:
    """The state says stopped, nobody is left, no iteration is recorded twice or not at all."""
    assert shell_code(code) == CODES[name], place.said()
    assert nobody_left(place)
    ended = place.records("ended")
    assert [(one["status"], one["exit_code"]) for one in ended] == [("stopped", CODES[name])]
    state = place.loop_state()
    assert (state["status"], state["status_detail"], state["terminal_pid"]) == ("stopped", "signal", None)
    begun = [record["n"] for record in place.records("begun")]
    assert len(place.records("attempted")) == len(begun)
    assert [row["n"] for row in state["iterations"]] == begun
    assert place.status()["status"] == "failed"


def assert_goes_on(place: Place) -> None:
    """To the end, in the same run, each iteration once."""
    runs = len(list((place.home / "runs").iterdir()))
    place.script(default=good())
    (place.path / "go").write_text("")
    (place.path / ".git" / "info" / "exclude").open("a").write("go\n")
    done = place.ralph("run", "-r", "off")
    assert done.code == 0, done
    assert "goes on after iteration" in done.out
    assert len(list((place.home / "runs").iterdir())) == runs
    numbers = [record["n"] for record in place.records("begun")]
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(place.records("attempted")) == len(numbers)
    assert [row["n"] for row in place.loop_state()["iterations"]] == numbers
    subjects = place.git("log", "--format=%s").splitlines()
    assert len(subjects) == len(set(subjects))


@pytest.mark.parametrize("name", CODES)
@pytest.mark.parametrize("stubborn", [False, True], ids=["polite", "ignores TERM"])
def test_while_the_agent_runs(tmp_path: Path, name: str, stubborn: bool) -> None:
    actions: list[Any] = [*(["ignore_term"] if stubborn else []), *good()[:2], {"say": "at it"}, "hang"]
    place = make_place(tmp_path, script={"default": actions})
    runner = place.start("run")
    wait_for(lambda: any((place.home / "runs").glob("*/attempt-1.log")) and "at it" in place.log(1))
    runner.send_signal(CODES[name] - 128)
    assert_stopped(place, name, runner.wait(20))
    assert place.records("attempted")[0]["attempt"]["end"] == "stopped"
    assert len(place.loop_state()["iterations"][0]["commits"]) == 1, "work that was committed belongs to the iteration"
    assert place.loop_state()["iterations"][0]["exit_reason"] == "signal"
    assert_goes_on(place)


def waits(place: Place) -> bool:
    return bool(place.records("settled")[1:]) and place.journal()[-1]["type"] in ("settled", "waiting", "answered")


PHASES: dict[str, tuple[list[str], list[Any], str, Callable[[Place], Any]]] = {
    "check": ([], good(), SLOW_CHECK, lambda place: list(place.run_folder().glob("check-1-*"))),
    "pause": (["--pause", "60"], good(), "", waits),
    "rate": (["-r", "1"], good(), "", lambda place: place.records("waiting")),
    "limit": (["--on-limit", "wait"], [{"limit": {"resets_in": 3600}}], "", waits),
    "limit without a time": (["--on-limit", "wait"], ["limit"], "", waits),
}


@pytest.mark.parametrize(
    ("phase", "name"),
    [*((phase, "SIGTERM") for phase in PHASES), ("check", "SIGHUP"), ("rate", "SIGINT")],
)
def test_while_it_waits(tmp_path: Path, phase: str, name: str) -> None:
    words, actions, config, reached = PHASES[phase]
    place = make_place(tmp_path, config=config, script={"default": actions})
    runner = place.start("run", *words)
    wait_for(lambda: any((place.home / "runs").glob("*/journal.jsonl")) and place.journal() and reached(place))
    began = time.monotonic()
    runner.send_signal(CODES[name] - 128)
    assert_stopped(place, name, runner.wait(20))
    assert time.monotonic() - began < 5
    if "limit" in phase:  # an hour must not be waited for here
        (place.home / "accounts" / "scripted" / "ledger.json").unlink()
    assert_goes_on(place)


def test_a_stop_during_the_checks_costs_no_progress(tmp_path: Path) -> None:
    place = make_place(tmp_path, config=SLOW_CHECK)
    runner = place.start("run")
    wait_for(lambda: any((place.home / "runs").glob("*/check-1-*")))
    runner.send_signal(signal.SIGINT)
    runner.wait(20)
    assert place.status()["no_progress"] == 0
    assert place.status()["false_claims"] == 0
    assert_goes_on(place)


@pytest.mark.parametrize("name", CODES)
def test_twice(tmp_path: Path, name: str) -> None:
    """The second while the first one's ending is still going on; the first one names the exit code."""
    place = make_place(tmp_path, script={"default": ["ignore_term", {"say": "at it"}, "hang"]})
    runner = place.start("run")
    wait_for(lambda: any((place.home / "runs").glob("*/attempt-1.log")) and "at it" in place.log(1))
    runner.send_signal(CODES[name] - 128)
    for again in ("SIGINT", "SIGTERM", "SIGHUP", name):
        time.sleep(0.1)
        runner.send_signal(CODES[again] - 128)
    assert_stopped(place, name, runner.wait(20))
    assert_goes_on(place)


@pytest.mark.parametrize("delay", [0, 0.04, 0.08, 0.12, 0.16, 0.2, 0.24, 0.28])
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_right_at_the_start(tmp_path: Path, name: str, delay: float) -> None:
    place = make_place(tmp_path, script={"default": ["hang"]})
    runner = place.start("run")
    time.sleep(delay + (0.3 if "COVERAGE_PROCESS_CONFIG" in os.environ else 0))  # a tool that is loaded before us
    runner.send_signal(CODES[name] - 128)
    code = shell_code(runner.wait(20))
    if "Fatal Python error" in place.said() or "site import" in place.said():
        return  # it came while Python itself was being loaded
    assert code == CODES[name]
    assert "Traceback" not in place.said() or delay < 0.1, "once it is up, it ends with a word of its own"
    if (place.home / "runs").exists() and any((place.home / "runs").glob("*/journal.jsonl")) and place.journal():
        assert place.records("ended")[-1]["exit_code"] == CODES[name]
        assert nobody_left(place)
    place.script(default=good())
    assert place.ralph("run").code == 0


def test_a_stop_before_the_agent_starts_spends_no_agent(tmp_path: Path) -> None:
    """The second runner is told to stop while it ends what the first one left."""
    place = make_place(tmp_path, script={"default": ["ignore_term", {"say": "at it"}, "hang"]})
    first = place.start("run")
    wait_for(lambda: any((place.home / "runs").glob("*/attempt-1.log")) and "at it" in place.log(1))
    first.kill()
    first.wait()
    second = place.start("run")
    time.sleep(0.6)
    second.send_signal(signal.SIGTERM)
    assert shell_code(second.wait(20)) == 143
    assert place.records("ended")[-1]["exit_code"] == 143
    assert len(place.records("begun")) == len(place.records("attempted")) == 1
    assert nobody_left(place)


@pytest.mark.parametrize("verbose", [False, True])
def test_the_terminal_is_lost(tmp_path: Path, verbose: bool) -> None:
    """As when a window is closed: SIGHUP, and a stdout that takes nothing any more."""
    chatter = [{"say": f"word {n}"} for n in range(50)] if verbose else []
    place = make_place(tmp_path, script={"default": [{"say": "at it"}, "ignore_term", *chatter, "hang"]})
    terminal, end = pty.openpty()
    runner = subprocess.Popen(
        place.argv("run", *(["-v"] if verbose else [])),
        cwd=place.path,
        env=place.env(),
        stdin=end,
        stdout=end,
        stderr=end,
        start_new_session=True,
    )
    os.close(end)
    busy(place)
    os.close(terminal)
    runner.send_signal(signal.SIGHUP)
    code = runner.wait(20)
    (place.home / "out.txt").touch()
    assert_stopped(place, "SIGHUP", code)
    assert_goes_on(place)


def test_stdout_is_closed_while_the_agent_runs(tmp_path: Path) -> None:
    """`ralph run | head -1`: the run goes on to its end without a reader."""
    actions = [{"say": "at it"}, {"sleep": 0.5}, *({"say": f"word {n}"} for n in range(20)), *good()]
    place = make_place(tmp_path, script={"default": actions})
    runner = subprocess.Popen(
        place.argv("run"), cwd=place.path, env=place.env(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
    )
    assert runner.stdout is not None
    runner.stdout.readline()
    busy(place)
    runner.stdout.close()
    assert runner.wait(20) == 0
    assert nobody_left(place)
    assert place.records("ended")[-1]["status"] == "done"


def test_nohup_is_heard(tmp_path: Path) -> None:
    """Who has told the runner to ignore SIGHUP means it."""
    place = make_place(tmp_path, script={"default": [{"say": "at it"}, {"sleep": 0.5}, *good()]})
    place.home.mkdir()
    with (place.home / "out.txt").open("wb") as out:
        argv = ["nohup", *place.argv("run")]
        runner = subprocess.Popen(
            argv, cwd=place.path, env=place.env(), stdin=subprocess.DEVNULL, stdout=out, stderr=out
        )
    busy(place)
    runner.send_signal(signal.SIGHUP)
    assert runner.wait(20) == 0, place.said()


@pytest.mark.parametrize("words", [(), ("-v",), ("--json",)])
def test_output_that_nobody_reads_holds_nothing_up(tmp_path: Path, words: tuple[str, ...]) -> None:
    """A terminal held with Ctrl-S, a pager that waits: limits and signals work all the same."""
    flood = {"run": "i=0; while [ $i -lt 40 ]; do echo; i=$((i+1)); done"}
    talk = [{"say": "word " * 2000}] * 60
    place = make_place(tmp_path, script={"attempts": [[*talk, flood, "hang"]], "default": [*talk, "hang"]})
    runner = subprocess.Popen(
        place.argv("run", "-t", "2s", *words),
        cwd=place.path,
        env=place.env(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    busy(place, 2)  # the time limit has ended the first attempt
    runner.send_signal(signal.SIGTERM)
    assert runner.wait(20) == 143
    assert place.records("ended")[-1]["exit_code"] == 143
    assert runner.stdout is not None
    runner.stdout.close()
