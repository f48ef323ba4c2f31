"""Budgets through the program: nothing begins that could pass one, across restarts and loops."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from place import Place, busy, good, make_place

CENTS = "budget: {attempt_cost: 0.5}\n"


def costly(tmp_path: Path, cost: float = 0.4, config: str = CENTS, **more: Any) -> Place:
    """Each attempt costs something and comes to nothing."""
    script = {"default": [{"say": "Let me think."}, {"cost": cost}]}
    breakers = "circuit_breaker: {no_progress_threshold: off, same_error_threshold: off}\n"
    return make_place(tmp_path, count=1, config=breakers + config, script=script, **more)


def test_a_run_ends_before_it_would_pass_its_budget(tmp_path: Path) -> None:
    place = costly(tmp_path)
    done = place.ralph("run", "--max-cost", "1.5")
    assert done.code == 1, done
    assert len(place.records("begun")) == 3  # with $1.20 spent, another $0.50 would be too much
    assert "budget.attempt_cost" in done.out
    assert place.status()["detail"] == "budget"
    again = place.ralph("run", "--max-cost", "1.5")
    assert again.code == 1
    assert len(place.records("begun")) == 3
    more = place.ralph("run", "--max-cost", "1.75")
    assert more.code == 1
    assert len(place.records("begun")) == 4
    assert "at most $1.75" in place.ralph("status").out


def test_what_nobody_tells_is_counted_as_the_worst(tmp_path: Path) -> None:
    config = "budget: {attempt_cost: 0.5, run_cost: 1}\ncircuit_breaker: {no_progress_threshold: off}\n"
    place = make_place(tmp_path, count=1, config=config, script={"default": ["no_result"]})
    assert place.ralph("run").code == 1
    assert len(place.records("begun")) == 2
    assert place.status()["cost"] is None
    assert "cost unknown" in place.ralph("status").out


def test_the_story_and_the_day_have_budgets_of_their_own(tmp_path: Path) -> None:
    place = costly(tmp_path)
    done = place.ralph("run", "--max-cost", "story=1,day=50")
    assert done.code == 1
    assert len(place.records("begun")) == 2
    other = costly(tmp_path / "other")
    other.home = place.home
    done = other.ralph("run", "--max-cost", "day=1.4")
    assert done.code == 1, done
    assert len(other.records("begun")) == 1  # the account had spent $0.80 today
    assert "it begins anew in " in done.out
    ledger = json.loads((place.home / "accounts" / "scripted" / "ledger.json").read_text())
    assert ledger["spent"]["cost"] == pytest.approx(1.2)
    assert ledger["open"] == {}


def test_tokens_end_the_attempt_that_uses_them_up(tmp_path: Path) -> None:
    """Ten in and five out a message."""
    script = {"default": [*[{"say": f"word {n}"} for n in range(3)], {"sleep": 30}, {"say": "more"}]}
    place = make_place(tmp_path, count=1, script=script)
    done = place.ralph("run", "--max-tokens", "40", timeout=30)
    assert done.code == 1
    assert [one["attempt"]["end"] for one in place.records("attempted")] == ["overspent"]
    assert "used up what it may spend and was ended" in done.out
    assert "the run's budget is used up: 45 tokens of 40 tokens" in done.out


def test_time_ends_an_attempt_and_then_the_run(tmp_path: Path) -> None:
    place = make_place(tmp_path, count=1, script={"default": ["hang"]})
    done = place.ralph("run", "--max-time", "2s", timeout=30)
    assert done.code == 1
    assert [one["attempt"]["end"] for one in place.records("attempted")] == ["timeout"]
    assert "of 2s" in done.out


def test_what_a_runner_that_died_had_reserved_stays_reserved(tmp_path: Path) -> None:
    place = make_place(tmp_path, count=1, config=CENTS, script={"default": [{"sleep": 60}]})
    runner = place.start("run", "--max-cost", "day=5")
    busy(place)
    runner.kill()
    runner.wait(20)
    ledger = place.home / "accounts" / "scripted" / "ledger.json"
    assert [one["most"]["cost"] for one in json.loads(ledger.read_text())["open"].values()] == [0.5]
    place.script(default=[{"cost": 0.1}, *good()])
    assert place.ralph("run", "--max-cost", "day=5").code == 0
    found = json.loads(ledger.read_text())
    assert found["open"] == {}
    assert found["spent"]["cost"] == pytest.approx(0.6)  # what nobody told of the first, and what the second cost


def test_what_other_loops_hold_of_a_day_is_waited_for(tmp_path: Path) -> None:
    """A moment later they have settled, and most of it is there again."""
    slow = [{"sleep": 2}, {"cost": 0.1}, *good()]
    place = make_place(tmp_path, count=1, script={"default": slow})
    other = make_place(tmp_path / "other", count=1, script={"default": slow})
    other.home = place.home
    runner = place.start("run", "--max-cost", "day=12")
    busy(place)
    done = other.ralph("run", "--max-cost", "day=12")
    assert done.code == 0, done
    assert "other loops have reserved what is left of the day's budget" in done.out
    assert runner.wait(30) == 0
    assert "denied" not in {record["type"] for record in (*place.journal(), *other.journal())}


def test_time_goes_on_for_an_agent_whose_runner_has_died(tmp_path: Path) -> None:
    place = make_place(tmp_path, count=1, script={"default": [{"say": "at it"}, {"sleep": 60}]})
    runner = place.start("run", "--max-time", "60s")
    busy(place)
    time.sleep(2)
    runner.kill()
    runner.wait(20)
    place.script(default=good())
    assert place.ralph("run", "--max-time", "60s").code == 0
    assert 2 <= place.records("attempted")[0]["attempt"]["seconds"] < 60


def test_numbers_beyond_all_measure_are_none(tmp_path: Path) -> None:
    many = "9" * 400
    place = make_place(tmp_path, count=1)
    program = f"agents: {{odd: {{kind: command, argv: [sh, -c, 'echo tokens: {many} cost: {many}'], "
    patterns = "tokens_pattern: 'tokens: (\\d+)', cost_pattern: 'cost: (\\d+)'}}\n"
    (place.path / ".ralph" / "config.yaml").write_text(
        f"defaults: {{agent: odd, pause_seconds: 0}}\n{program}{patterns}"
    )
    done = place.ralph("run", "-n", "1", "--max-cost", "day=20")
    assert done.code == 1, done
    attempt = place.records("attempted")[0]["attempt"]
    assert (attempt.get("tokens"), attempt["cost"]) == (None, None)
    ledger = json.loads((place.home / "accounts" / "odd" / "ledger.json").read_text())
    assert ledger["spent"]["cost"] == 10  # as the worst case


WRONG = [
    ("--max-cost", "much", "--max-cost must be an amount in dollars above 0 or off"),
    ("--max-cost", "week=5", '"week=5" is no limit of a run, a story or a day'),
    ("--max-cost", "-1", "above 0"),
    ("--max-tokens", "1.5", "whole number"),
    ("--max-time", "day=never", "--max-time"),
]


@pytest.mark.parametrize(("option", "value", "said"), WRONG)
def test_a_budget_that_is_none(tmp_path: Path, option: str, value: str, said: str) -> None:
    done = make_place(tmp_path).ralph("run", option, value)
    assert done.code == 64
    assert said in done.err
