"""--json: one object or line for programs, also when something goes wrong."""

import json
from pathlib import Path
from typing import Any

import pytest

from place import Place, busy, make_place, wait_for


def only_object(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text)
    assert isinstance(found, dict)
    return found


def test_wishes(tmp_path: Path) -> None:
    place = make_place(tmp_path, script={"default": [{"say": "at it"}, "hang"]})
    runner = place.start("run")
    busy(place)
    wait_for(lambda: place.records("begun"))
    run = place.run_folder().name
    for words, wish in (
        (("pause",), "pause"),
        (("resume",), "resume"),
        (("tell", "be", "careful"), "tell"),
        (("stop",), "stop"),
        (("stop", "--now"), "stop_now"),
    ):
        done = place.ralph(*words, "--json")
        assert only_object(done.out) == {"run": run, "alive": True, "wish": wish}, done
    assert runner.wait(20) == 1
    assert "Status:     stopped\n" in place.ralph("status").out
    assert " stopped " in place.ralph("list").out
    assert place.status()["status"] == "failed", "programs are told the words of the formats"


REFUSED = [
    ("stop",), ("pause",), ("resume",), ("tell", "x"), ("status",), ("log",), ("undo",), ("log", "nothing"),
    ("stop", "--nwo"), ("run", "-n", "x"), ("stop", "no-such-run"), ("run", "--agent", "nope"), ("undo", "abc"),
]  # fmt: skip


@pytest.mark.parametrize("words", REFUSED, ids=" ".join)
def test_a_failure_is_an_object_too(place: Place, words: tuple[str, ...]) -> None:
    done = place.ralph(*words, "--json")
    error = only_object(done.out)["error"]
    assert set(error) == {"message", "hint", "exit_code"}
    assert error["exit_code"] == done.code != 0
    assert f"error: {error['message']}" in done.err
    assert error["hint"]


@pytest.mark.parametrize("words", [("run",), ("run", "--dry-run"), ("validate",), ("archive",)], ids=" ".join)
def test_without_a_branch(place: Place, words: tuple[str, ...]) -> None:
    place.git("switch", "-q", "--detach")
    done = place.ralph(*words, "--json")
    assert done.code == 1
    error = only_object(done.out)["error"]
    assert (error["message"], error["exit_code"]) == ("Not on a branch (detached HEAD)", 1)
    assert "git switch" in error["hint"]


def test_validate_without_a_branch(place: Place) -> None:
    place.git("switch", "-q", "--detach")
    done = place.ralph("validate")
    assert done.code == 1
    assert done.out.startswith("Preflight checks for branch: (none)\nFeature folder: (none)\n\n")
    assert "\n✗ Not on a branch (detached HEAD)\n" in done.out
    assert "git switch -c" in done.out


def test_a_preflight_that_fails(place: Place) -> None:
    (place.folder / "spec.md").unlink()
    done = place.ralph("run", "--json")
    found = only_object(done.out)
    assert (found["error"]["message"], done.code) == ("preflight failed", 1)
    assert "Required files missing:" in [finding["line"] for finding in found["findings"]]


def test_words_behind_two_dashes_are_no_options(place: Place) -> None:
    done = place.ralph("tell", "--", "--json")
    assert done.out == ""


def test_help() -> None:
    place = Place(Path.cwd(), Path.cwd(), "")
    found = only_object(place.ralph("help", "--json").out)
    commands = {command["name"]: command for command in found["commands"]}
    assert {"run", "log", "help"} <= set(commands)
    assert found["exit_codes"]["141"]
    (option,) = [one for one in commands["run"]["options"] if one["option"] == "--on-limit"]
    assert (option["choices"], option["setting"]) == (["ask", "wait", "exit"], "defaults.on_limit")
    for words in (("help", "log", "--json"), ("log", "--help", "--json"), ("--help", "log", "--json")):
        assert [one["name"] for one in only_object(place.ralph(*words).out)["commands"]] == ["log"], words
