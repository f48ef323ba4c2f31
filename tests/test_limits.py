"""The account's limits: the calls of an hour are waited for; at the usage limit a user is asked, if there is one."""

import json
import os
import pty
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from place import Place, busy, end, good, make_place, wait_for

QUESTION = "[w]ait for it or [e]xit?"
LIMITED = "stopped: the account's usage limit is reached"


def limited(tmp_path: Path, resets_in: float = 1.2, config: str = "") -> Place:
    """A place whose first session meets the usage limit."""
    script = {"attempts": [[{"limit": {"resets_in": resets_in}}]], "default": good()}
    return make_place(tmp_path, count=1, config=config, script=script)


def resets_at(place: Place) -> float:
    found: float = place.records("attempted")[0]["attempt"]["resets_at"]
    return found


class Terminal:
    """A runner with a terminal as stdin; what it says goes to the place's `out.txt`."""

    def __init__(self, place: Place, *words: str) -> None:
        place.home.mkdir(parents=True, exist_ok=True)
        self.place = place
        self.keyboard, end = pty.openpty()
        with (place.home / "out.txt").open("ab") as out:
            self.runner = subprocess.Popen(
                place.argv("run", *words),
                cwd=place.path,
                env=place.env(),
                stdin=end,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        os.close(end)

    def answer(self, keys: bytes) -> int:
        """Type when asked; give the exit code."""
        wait_for(lambda: QUESTION in self.place.said())
        os.write(self.keyboard, keys)
        return self.wait()

    def wait(self, seconds: float = 20) -> int:
        try:
            return self.runner.wait(seconds)
        finally:
            self.runner.kill()
            os.close(self.keyboard)


@pytest.mark.parametrize("keys", [b"w\n", b" WAIT \n"])
def test_whoever_says_wait_waits_until_it_resets(tmp_path: Path, keys: bytes) -> None:
    place = limited(tmp_path, 4, config="limits: {ask_seconds: 1.5}\n")
    assert Terminal(place).answer(keys) == 0, place.said()
    assert [one["choice"] for one in place.records("answered")] == ["wait"]
    assert place.records("begun")[1]["at"] >= resets_at(place)
    assert place.said().count(QUESTION) == 1
    assert "waiting for the usage limit to reset; on again at " in place.said()


@pytest.mark.parametrize("keys", [b"e\n", b" Exit\n", b"\x04"], ids=["e", "exit", "ctrl-d"])
def test_whoever_says_exit_does_not(tmp_path: Path, keys: bytes) -> None:
    place = limited(tmp_path, 3600)
    began = time.monotonic()
    assert Terminal(place).answer(keys) == 2, place.said()
    assert time.monotonic() - began < 20
    assert "(exit in 30s)" in place.said()
    assert f"{LIMITED}; it resets in " in place.said()
    assert len(place.records("begun")) == 1


@pytest.mark.parametrize("keys", [b"\ne\n", b"never\ne\n"], ids=["enter", "anything"])
def test_an_answer_that_is_none_is_asked_for_again(tmp_path: Path, keys: bytes) -> None:
    place = limited(tmp_path, 3600)
    assert Terminal(place).answer(keys) == 2, place.said()
    assert place.said().count("which?") == 1


def test_what_resets_before_anybody_could_answer_is_waited_for(tmp_path: Path) -> None:
    place = limited(tmp_path)
    assert Terminal(place).wait() == 0, place.said()
    assert QUESTION not in place.said()
    assert len(place.records("waiting")) == 1
    assert place.records("begun")[1]["at"] >= resets_at(place)


def test_the_margin_is_waited_for_once(tmp_path: Path) -> None:
    place = limited(tmp_path)
    config = place.path / ".ralph" / "config.yaml"
    config.write_text(config.read_text().replace("margin_seconds: 0", "margin_seconds: 1"))
    assert place.ralph("run", "--on-limit", "wait").code == 0
    assert len(place.records("waiting")) == 1
    assert 1 <= place.records("begun")[1]["at"] - resets_at(place) < 10


def test_a_limit_that_has_reset_already_is_not_hammered(tmp_path: Path) -> None:
    """Its clock is not ours, or it is mistaken: how long to wait is then not known."""
    place = make_place(
        tmp_path,
        script={"default": [{"limit": {"resets_in": -120}}]},
        config="limits: {unknown_limit_wait_seconds: 2}\n",
    )
    runner = place.start("run", "--on-limit", "wait", "-n", "1")
    busy(place, 2)
    first, second = (record["at"] for record in place.records("begun"))
    assert second - first >= 2
    assert end(runner) == 143


@pytest.mark.parametrize(("on_limit", "code", "sessions"), [("exit", 2, 1), ("wait", 0, 2)])
def test_the_last_iteration_can_meet_the_limit_too(tmp_path: Path, on_limit: str, code: int, sessions: int) -> None:
    """An iteration that the limit took does not count as one."""
    place = limited(tmp_path)
    assert place.ralph("run", "--on-limit", on_limit, "-n", "1").code == code
    assert len(place.records("begun")) == sessions


def test_without_an_answer_it_ends(tmp_path: Path) -> None:
    place = limited(tmp_path, 3600, config="limits: {ask_seconds: 1}\n")
    assert Terminal(place).answer(b"") == 2, place.said()
    assert "(exit in 1s)" in place.said()
    asked, ended = place.records("settled")[-1]["at"], place.records("ended")[0]["at"]
    assert 0.9 < ended - asked < 10


def test_a_word_without_its_end_is_no_answer(tmp_path: Path) -> None:
    place = limited(tmp_path, 3600, config="limits: {ask_seconds: 1}\n")
    assert Terminal(place).answer(b"w") == 2, place.said()


def test_without_a_terminal_nobody_is_asked(tmp_path: Path) -> None:
    place = limited(tmp_path, 3600)
    done = place.ralph("run")
    assert done.code == 2
    assert LIMITED in done.out
    assert QUESTION not in done.out + done.err
    assert place.records("ended")[0]["at"] - place.records("settled")[-1]["at"] < 10
    assert place.loop_state()["status_detail"] == "api_limit"


# what is chosen beforehand, the exit code
CHOSEN: dict[str, tuple[list[str], str, int]] = {
    "wait": (["--on-limit", "wait"], "", 0),
    "wait, in the configuration": ([], "on_limit: wait, ", 0),
    "exit": (["--on-limit", "exit"], "", 2),
    "the option wins": (["--on-limit", "exit"], "on_limit: wait, ", 2),
}


@pytest.mark.parametrize("how", CHOSEN)
@pytest.mark.parametrize("terminal", [True, False])
def test_who_has_chosen_is_not_asked(tmp_path: Path, how: str, terminal: bool) -> None:
    words, setting, code = CHOSEN[how]
    place = limited(tmp_path)
    config = place.path / ".ralph" / "config.yaml"
    config.write_text(config.read_text().replace("defaults: {", f"defaults: {{{setting}"))
    runner = Terminal(place, *words) if terminal else place.start("run", *words)
    assert runner.wait(20) == code, place.said()
    assert QUESTION not in place.said()
    begun = [record["at"] for record in place.records("begun")]
    assert len(begun) == (1 if code else 2)
    assert code or begun[1] >= resets_at(place) > begun[0]


def test_the_calls_of_an_hour_are_waited_for(place: Place) -> None:
    """The hour of an account, all of whose calls were spent elsewhere, has a few more seconds."""
    ledger = place.home / "accounts" / "scripted" / "ledger.json"
    ledger.parent.mkdir(parents=True)
    end = time.time() + 3
    ledger.write_text(json.dumps({"started_at": end - 3600, "calls": 7}))
    done = place.ralph("run", "-r", "7")
    assert done.code == 0, done
    assert "the calls of this hour are used up; on again at " in done.out
    found: list[dict[str, Any]] = [*place.records("waiting"), *place.records("begun")]
    assert [(one["type"], one.get("n", 0)) for one in found] == [("waiting", 0), ("begun", 1), ("begun", 2)]
    assert found[1]["at"] >= end
    assert json.loads(ledger.read_text())["calls"] == 2
    assert (place.status()["calls_used"], place.status()["calls_limit"]) == (2, 7)


def test_every_view_says_that_it_waits(tmp_path: Path) -> None:
    place = limited(tmp_path, 3600)
    runner = place.start("run", "--on-limit", "wait")
    status = place.folder / "status.json"
    found = wait_for(lambda: status.exists() and (one := json.loads(status.read_text()))["status"] == "paused" and one)
    assert set(found) == {
        "iteration", "maxIterations", "status", "feature", "storiesComplete", "storiesTotal", "apiCallsUsed",
        "apiCallsLimit", "rateLimitResetsAt", "startedAt", "lastUpdated",
    }  # fmt: skip
    assert found["startedAt"].endswith("Z") and found["lastUpdated"].endswith("Z")
    wait_for(lambda: place.loop_state()["status_detail"] == "waiting:api")
    assert [row["exit_reason"] for row in place.loop_state()["iterations"]] == ["api_limit"]
    runner.terminate()
    assert runner.wait(20) == 143
