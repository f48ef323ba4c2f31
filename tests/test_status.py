"""What `ralph status` tells people: every line of it, in each state that a run can be in."""

import re
import signal
from pathlib import Path
from typing import Any

import pytest

from place import Place, busy, good, make_place, wait_for

LENGTH = r"\d+(?:\.\d+)?(?:ms|s|m|m \d\ds)"
RUNS = """\
Feature:    feature-x (branch feature/x)
Status:     running (PID <pid>)
Iteration:  1/20  STORY-001 Story number 1
Now:        STORY-001 · <length> of 15m
Stories:    0/2 complete
Calls:      1/100, the hour ends in <hour>
Breakers:   no progress 0/3, same error 0/5
Spent:      nothing yet
Run:        <run>
"""
STOPPED = """\
Feature:    feature-x (branch feature/x)
Status:     stopped
Iteration:  1/20  STORY-001 Story number 1
Stories:    1/2 complete
Calls:      1/100, the hour ends in <hour>
Breakers:   no progress 0/3, same error 0/5
Spent:      75 tokens, $0.25
Run:        <run>
Try:        `ralph run` goes on where this stopped
"""
DONE = """\
Feature:    feature-x (branch feature/x)
Status:     done
Iteration:  2/20  STORY-002 Story number 2
Stories:    2/2 complete
Calls:      2/100, the hour ends in <hour>
Breakers:   no progress 0/3, same error 0/5
Spent:      120 tokens, $0.25
Ended:      every story is finished and proven
Archive:    .ralph/archive/<time>-feature-x
Run:        <run>
"""
CUT_OFF = """\
Feature:    feature-x (branch feature/x)
Status:     cut off: its runner is gone; `ralph run` goes on where it was
Iteration:  1/20  STORY-001 Story number 1
Stories:    0/2 complete
Calls:      1/100, the hour ends in <hour>
Breakers:   no progress 0/3, same error 0/5
Spent:      nothing yet
Run:        <run>
"""
WAITS = """\
Feature:    feature-x (branch feature/x)
Status:     waiting for the calls of the next hour · until <clock> · <hour> left (PID <pid>)
Iteration:  1/20  STORY-001 Story number 1
Stories:    1/2 complete
Calls:      1/1, the hour ends in <hour>
Breakers:   no progress 0/3, same error 0/5
Spent:      45 tokens, $0.00
Run:        <run>
"""
STALLED = """\
Feature:    feature-x (branch feature/x)
Status:     ended by the circuit breaker
Iteration:  2/4  STORY-001 Story number 1
Stories:    0/2 complete
Calls:      2/no limit, the hour ends in <hour>
Breakers:   no progress 2/2, same error 1/off
Spent:      15 tokens, $0.00
Claims:     1 false
Ended:      circuit breaker: no story was finished in 2 iterations
Run:        <run>
Try:        see `ralph log`; then make the story smaller or the checks clearer
"""


def told(place: Place, pid: int = 0) -> str:
    """The text, with what differs from run to run replaced by a name."""
    done = place.ralph("status")
    assert (done.code, done.err) == (0, "")
    text = done.out.replace(place.run_folder().name, "<run>").replace(f"(PID {pid}", "(PID <pid>")
    text = re.sub(r"(in|·) (?:1h 00m|59m \d\ds)", r"\1 <hour>", text)
    text = re.sub(r"until (?:\w+ )?\d\d:\d\d", "until <clock>", re.sub(r"\d{8}-\d{6}-", "<time>-", text))
    return re.sub(rf"STORY-001 · {LENGTH}", "STORY-001 · <length>", text)


@pytest.fixture
def waiting(tmp_path: Path) -> Place:
    """A place whose first session waits until there is a file `go`."""
    first: list[Any] = [{"say": "at it"}, {"run": f"until [ -e {tmp_path}/go ]; do sleep 0.02; done"}, {"cost": 0.25}]
    return make_place(tmp_path, script={"attempts": [[*first, *good()]], "default": good()})


def test_from_the_first_iteration_to_the_end(waiting: Place, tmp_path: Path) -> None:
    runner = waiting.start("run")
    busy(waiting)
    assert told(waiting, runner.pid) == RUNS
    waiting.ralph("stop")
    (tmp_path / "go").touch()
    assert runner.wait(20) == 1
    assert told(waiting) == STOPPED
    assert waiting.ralph("run").code == 0
    assert told(waiting) == DONE


def test_when_its_runner_was_killed(waiting: Place, tmp_path: Path) -> None:
    runner = waiting.start("run")
    busy(waiting)
    runner.kill()
    runner.wait(20)
    assert told(waiting) == CUT_OFF
    (tmp_path / "go").touch()
    assert waiting.ralph("run").code == 0


def test_while_it_waits_for_the_hour(place: Place) -> None:
    runner = place.start("run", "-r", "1")
    wait_for(lambda: any((place.home / "runs").glob("*/journal.jsonl")) and place.records("waiting"))
    wait_for(lambda: place.status()["detail"])
    assert told(place, runner.pid) == WAITS
    runner.send_signal(signal.SIGTERM)
    assert runner.wait(20) == 143


def test_when_a_breaker_has_tripped(tmp_path: Path) -> None:
    breakers = "circuit_breaker: {no_progress_threshold: 2, same_error_threshold: off}\n"
    script = {"attempts": [[{"claim": "complete"}]], "default": [{"error": "Boom"}]}
    place = make_place(tmp_path, config=breakers, script=script)
    assert place.ralph("run", "-n", "4", "-r", "off").code == 1
    assert told(place) == STALLED
