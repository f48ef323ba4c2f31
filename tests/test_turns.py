"""Whose turn it is: the chain of agents, trouble that passes or does not, and stories that name their agent."""

import json
from pathlib import Path
from typing import Any

import pytest

from place import Place, busy, end, good, make_place, wait_for

OVERLOADED = {"error": "API Error: 529 Overloaded"}
KEY = {"error": "Invalid API key"}
AT_ONCE = "limits: {backoff_seconds: 0}\n"


def two(tmp_path: Path, first: dict[str, Any], other: dict[str, Any] | None = None, **more: Any) -> Place:
    """A place with a chain of two scripted agents."""
    place = make_place(tmp_path, script=first, **more)
    script = tmp_path / "other.json"
    script.write_text(json.dumps(other or {"default": good()}))
    config = place.path / ".ralph" / "config.yaml"
    text = config.read_text().replace("agents: {", f"agents: {{other: {{kind: scripted, script: '{script}'}}, ", 1)
    config.write_text(text.replace("agent: scripted", "agent: scripted, fallback: [other]"))
    return place


def turns(place: Place) -> list[str]:
    return [record["agent"] for record in place.records("reserved")]


def test_at_the_limit_of_the_first_the_next_goes_on(tmp_path: Path) -> None:
    place = two(tmp_path, {"default": [{"limit": {"resets_in": 3600}}]})
    done = place.ralph("run")
    assert done.code == 0, done
    assert turns(place) == ["scripted", "other", "other"]
    assert "other goes on; scripted: at its usage limit until " in done.out
    # the wall is the account's: the next loop does not run into it
    again = two(tmp_path / "second", {"default": good()})
    again.home = place.home
    assert again.ralph("run").code == 0
    assert turns(again) == ["other", "other"]


def test_when_all_are_at_their_limit_it_is_the_limit(tmp_path: Path) -> None:
    place = two(tmp_path, {"default": [{"limit": {"resets_in": 7200}}]}, {"default": [{"limit": {"resets_in": 3600}}]})
    done = place.ralph("run")
    assert done.code == 2, done
    assert turns(place) == ["scripted", "other"]
    assert "it resets in 1h 00m" in done.out or "it resets in 59m" in done.out


def test_who_keeps_failing_is_passed_over(tmp_path: Path) -> None:
    place = two(tmp_path, {"default": [{"error": "boom"}]})
    done = place.ralph("run")
    assert done.code == 0, done
    assert turns(place) == ["scripted", "scripted", "other", "other"]


def test_a_chain_on_the_command_line_and_as_a_list(tmp_path: Path) -> None:
    place = two(tmp_path, {"default": [{"limit": {"resets_in": 3600}}]}, count=1)
    assert place.ralph("run", "--agent", "other,scripted").code == 0
    assert turns(place) == ["other"]
    assert place.ralph("config", "--json").out
    (place.home / "config.yaml").write_text("agents: [other, scripted]\n")
    found = {row["key"]: row["value"] for row in json.loads(place.ralph("config", "--json").out)}
    assert (found["defaults.agent"], found["defaults.fallback"]) == ("scripted", ["other"])  # the project's goes first


def test_trouble_that_passes_counts_for_nothing(tmp_path: Path) -> None:
    attempts = [[OVERLOADED]] * 4
    place = make_place(tmp_path, count=1, config=AT_ONCE, script={"attempts": attempts, "default": good()})
    done = place.ralph("run", "-n", "4")
    assert done.code == 0, done
    assert len(place.records("begun")) == 5
    assert "the attempt could not reach its model" in done.out
    assert "4 attempts lost to this in a row; they count for nothing" in done.out
    assert "529" not in place.prompt(5)
    assert place.status()["no_progress"] == 0


def test_trouble_that_does_not_pass_ends_the_run(tmp_path: Path) -> None:
    config = "limits: {backoff_seconds: 0, transient_retries: 3}\n"
    place = make_place(tmp_path, count=1, config=config, script={"default": [OVERLOADED]})
    done = place.ralph("run")
    assert done.code == 1, done
    assert "scripted cannot reach its model, 3 attempts in a row: API Error: 529 Overloaded" in done.out
    assert place.status()["detail"] == "agents"
    assert len(place.records("begun")) == 3
    place.script(default=good())
    assert place.ralph("run").code == 0  # it goes on where it stopped


@pytest.mark.parametrize(
    ("trouble", "said"), [(KEY, "is not let in by its model"), ({"error": "Credit balance is too low"}, "no credit")]
)
def test_what_time_does_not_mend_is_tried_twice(tmp_path: Path, trouble: dict[str, str], said: str) -> None:
    place = make_place(tmp_path, count=1, config=AT_ONCE, script={"default": [trouble]})
    done = place.ralph("run")
    assert done.code == 1
    assert said in done.out
    assert len(place.records("begun")) == 2


def test_between_two_tries_it_waits(tmp_path: Path) -> None:
    script = {"attempts": [[OVERLOADED]] * 2, "default": good()}
    place = make_place(tmp_path, count=1, config="limits: {backoff_seconds: 1}\n", script=script)
    done = place.ralph("run")
    assert done.code == 0
    first, second, third = (record["at"] for record in place.records("begun"))
    assert second - first > 0.7
    assert third - second > 1.4
    assert "waiting to try again" in done.out


def test_what_a_file_or_a_tool_speaks_of_is_no_trouble(tmp_path: Path) -> None:
    talk = [{"run": "echo 'usage limit reached, 429, 529 Overloaded, Invalid API key'"}, {"say": "It was 429."}]
    place = make_place(tmp_path, count=1, script={"default": [*talk, *good()]})
    assert place.ralph("run").code == 0
    assert [row["outcome"] for row in (one["verdict"] for one in place.records("judged"))][-1] == "done"


def named(place: Place, story: int, **more: str) -> None:
    plan = json.loads(place.prd.read_text())
    plan["userStories"][story].update(more)
    place.prd.write_text(json.dumps(plan, indent=2))
    place.git("commit", "-qam", "who is to do it")


def test_a_story_names_its_agent_and_its_model(tmp_path: Path) -> None:
    place = two(tmp_path, {"default": good()})
    named(place, 1, agent="other", model="best")
    done = place.ralph("run")
    assert done.code == 0, done
    assert turns(place) == ["scripted", "other"]
    assert [record["model"] for record in place.records("reserved")] == ["", "best"]


def test_a_story_that_wants_nobody_we_know_is_told_before_anything_is_spent(tmp_path: Path) -> None:
    place = make_place(tmp_path, count=1)
    named(place, 0, agent="scriptet")
    done = place.ralph("run")
    assert done.code == 1
    assert 'STORY-001 wants agent "scriptet"' in done.out
    assert "did you mean scripted?" in done.out
    assert not (place.home / "runs").exists()


def test_killed_while_another_agent_works_it_goes_on(tmp_path: Path) -> None:
    first = {"default": [{"limit": {"resets_in": 3600}}]}
    place = two(tmp_path, first, {"attempts": [[], [{"sleep": 30}]], "default": good()}, count=1)
    runner = place.start("run")
    busy(place, 2)
    runner.kill()
    runner.wait(20)
    done = place.ralph("run")
    assert done.code == 0, done
    assert turns(place)[0] == "scripted"
    assert set(turns(place)[1:]) == {"other"}


def test_who_is_worn_out_is_not_started_while_the_others_wait(tmp_path: Path) -> None:
    """Both were at their limit; the first is back, and is not let in any more."""
    first = {"attempts": [[{"limit": {"resets_in": 1}}]], "default": [KEY]}
    place = two(tmp_path, first, {"default": [{"limit": {"resets_in": 3600}}]}, config=AT_ONCE)
    runner = place.start("run", "--on-limit", "wait")
    busy(place)
    wait_for(lambda: turns(place).count("scripted") == 3 and place.status()["step"] == "limit")
    assert turns(place) == ["scripted", "other", "scripted", "scripted"]
    assert end(runner) == 143


def test_work_after_a_limit_was_spoken_of_is_no_limit(tmp_path: Path) -> None:
    """As when the limit is that of one model, and the session goes on with another."""
    event = {"type": "rate_limit_event", "rate_limit_info": {"status": "rejected", "resetsAt": 4_000_000_000}}
    went_on = [{"raw": json.dumps(event) + "\n"}, {"run": "true"}, *good()[:2], "hang"]
    place = make_place(tmp_path, count=1, script={"attempts": [went_on], "default": good()})
    done = place.ralph("run", "-t", "3s")
    assert done.code == 0, done
    first = place.records("attempted")[0]["attempt"]
    assert (first["end"], first["limited"]) == ("timeout", False)
