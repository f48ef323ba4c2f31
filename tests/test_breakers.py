"""Both circuit breakers over several iterations: what counts up, what begins anew, and what a user can set to zero."""

from pathlib import Path
from typing import Any

import pytest

from place import Place, busy, good, make_place

ERRORS_ONLY = "circuit_breaker: {no_progress_threshold: off, same_error_threshold: 3}\n"
IDLE: list[Any] = []


def failing(*errors: str) -> list[list[Any]]:
    """Sessions that end with these errors; an empty one ends well, with nothing done."""
    return [[{"error": error}] if error else IDLE for error in errors]


def begun(place: Place) -> list[int]:
    return [record["n"] for record in place.records("begun")]


BOOM, SAME = "Boom at 1", "the same error in 3 iterations"
SEQUENCES = {
    "one error, only its numbers differ": (["Boom at 1", "Boom at 2", "Boom at 3"], 3, SAME),
    "no error between, and another one": (
        ["Boom at 1", "Boom at 2", "", "Boom at 3", "Boom at 4", "Bang", "Boom at 4", "Boom at 5", "Boom at 6"],
        9,
        SAME,
    ),
    "no error is no error that is the same": (["", "", "", ""], 4, "max iterations reached (4)"),
    "always another one": (["Boom", "Bang", "Boom", "Bang"], 4, "max iterations reached (4)"),
}


@pytest.mark.parametrize("name", SEQUENCES)
def test_the_same_error_again_and_again(tmp_path: Path, name: str) -> None:
    errors, count, why = SEQUENCES[name]
    script = {"attempts": failing(*errors), "default": [{"error": "More than there should be"}]}
    place = make_place(tmp_path, config=ERRORS_ONLY, script=script)
    done = place.ralph("run", *(["-n", "4"] if "max" in why else []))
    assert done.code == 1, done
    assert begun(place) == list(range(1, count + 1))
    assert why in done.out
    status = "stuck" if "max" in why else "stalled"
    assert [(one["status"], one["exit_code"]) for one in place.records("ended")] == [(status, 1)]
    assert place.loop_state()["status"] == status


# sessions, the configuration, how many of them are begun, what is said of it
THRESHOLDS = {
    "five of one error, if nothing is set": (
        failing(*(f"Boom at {n}" for n in range(9))),
        "circuit_breaker: {no_progress_threshold: off}\n",
        5,
        "the same error in 5 iterations: Boom at ",
    ),
    "three without progress, if nothing is set": ([IDLE] * 9, "", 3, "no story was finished in 3 iterations"),
    "errors are no progress either": (
        failing(*(f"{word} went wrong" for word in "abcdefghi")),
        "circuit_breaker: {no_progress_threshold: 4}\n",
        4,
        "no story was finished in 4 iterations",
    ),
    "a session that went well sets the count to zero": (
        [*failing(BOOM), good(), *failing(BOOM, BOOM, BOOM, BOOM)],
        "circuit_breaker: {no_progress_threshold: off, same_error_threshold: 2}\n",
        4,
        "the same error in 2 iterations",
    ),
    "progress begins the count anew": (
        [IDLE, good(), IDLE, IDLE, IDLE],
        "circuit_breaker: {no_progress_threshold: 2}\n",
        4,
        "no story was finished in 2 iterations",
    ),
    "both are off": (
        failing(*[BOOM] * 9),
        "circuit_breaker: {no_progress_threshold: off, same_error_threshold: off}\n",
        6,
        "max iterations reached (6)",
    ),
}


@pytest.mark.parametrize("name", THRESHOLDS)
def test_it_trips_exactly_there(tmp_path: Path, name: str) -> None:
    sessions, config, count, why = THRESHOLDS[name]
    place = make_place(tmp_path, count=3, script={"attempts": sessions, "default": IDLE})
    place.config(config)
    done = place.ralph("run", "-n", "6")
    assert done.code == 1, done
    assert begun(place) == list(range(1, count + 1))
    assert why in done.out
    if "max" not in why:
        assert f"circuit breaker: {why}" in place.status()["why"]


@pytest.mark.parametrize(("words", "count"), [([], 2), (["--reset-circuit"], 3)], ids=["goes on counting", "reset"])
def test_a_run_that_goes_on(tmp_path: Path, words: list[str], count: int) -> None:
    """One idle iteration before the stop; the second one that follows it trips the breaker."""
    wait = {"run": f"until [ -e {tmp_path}/go ]; do sleep 0.02; done"}
    config = "circuit_breaker: {no_progress_threshold: 2}\n"
    place = make_place(tmp_path, config=config, script={"attempts": [[{"say": "at it"}, wait]], "default": IDLE})
    runner = place.start("run")
    busy(place)
    assert "stops after the iteration it is in" in place.ralph("stop").out
    (tmp_path / "go").touch()
    assert runner.wait(20) == 1, place.said()
    assert place.records("ended")[0]["status"] == "stopped"
    assert (begun(place), place.status()["no_progress"]) == ([1], 1)
    done = place.ralph("run", *words)
    assert done.code == 1, done
    assert "no story was finished in 2 iterations" in done.out
    assert begun(place) == list(range(1, count + 1))
