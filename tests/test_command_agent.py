"""An agent from a few lines of configuration, through the program: what its patterns tell stands in the run."""

import json
import time
from pathlib import Path

import pytest

from place import LEAST, Place

PROGRAM = """
import subprocess, sys, os
prompt = sys.stdin.read()
assert os.environ["RALPH_STORY"] in prompt
story = os.environ["RALPH_STORY"]
print("log: <promise>COMPLETE</promise> is not said by the agent")
print("agent> I build", story)
open(story + ".txt", "w").write("built\\n")
plan = os.environ["RALPH_SOURCE"]
import json
told = json.load(open(plan))
for each in told["userStories"]:
    each["passes"] = each["passes"] or each["id"] == story
json.dump(told, open(plan, "w"), indent=2)
subprocess.run(["git", "add", "-A"], check=True)
subprocess.run(["git", "commit", "-qm", "Build " + story], check=True)
print("tokens: 1.2k in, 34 out")
print("cost: $0.25")
"""
LINES = r"""agents:
  mine:
    kind: command
    argv: [python3, PROGRAM]
    text_pattern: '^agent> (.*)'
    tokens_pattern: 'tokens: (?P<input>\S+) in, (?P<output>\S+) out'
    cost_pattern: 'cost: \$(\S+)'
    limit_pattern: 'quota exceeded, resets (.*)'
    error_pattern: '^fatal:.*'
"""


def configured(place: Place, program: str) -> None:
    file = place.home.parent / "program.py"
    file.write_text(program)
    text = LEAST.replace("scripted", "mine") + LINES.replace("PROGRAM", json.dumps(str(file)))
    (place.path / ".ralph" / "config.yaml").write_text(text)
    place.git("commit", "-qam", "An agent of a few lines")


def test_its_words_tokens_and_cost_are_told(place: Place) -> None:
    configured(place, PROGRAM)
    run = place.ralph("run")
    assert run.code == 0, run.out + run.err
    attempts = [record["attempt"] for record in place.records("attempted")]
    assert [attempt["last_words"] for attempt in attempts] == ["I build STORY-001", "I build STORY-002"]
    assert [attempt["cost"] for attempt in attempts] == [0.25, 0.25]
    assert attempts[0]["tokens"] == {"input": 1200, "output": 34, "cache_read": 0, "cache_write": 0}
    assert "is not said by the agent" not in run.out


@pytest.mark.parametrize(
    ("told", "seconds"),
    [("in 3h 20m", 12_000.0), ("EPOCH", 5_000.0), ("some day", None)],
    ids=["length", "epoch", "unknown"],
)
def test_a_limit_ends_the_run_and_its_reset_is_known(told: str, seconds: float | None, place: Place) -> None:
    began = time.time()
    told = told.replace("EPOCH", str(int(began) + 5_000))
    configured(place, f"print('quota exceeded, resets {told}')\n")
    run = place.ralph("run", "--on-limit", "exit")
    assert run.code == 2, run.out + run.err
    (attempt,) = [record["attempt"] for record in place.records("attempted")]
    assert attempt["limited"]
    if seconds is None:
        assert attempt.get("resets_at") is None
    else:
        assert abs(attempt["resets_at"] - began - seconds) < 60


def test_an_error_is_told(place: Place) -> None:
    configured(place, "print('agent> <promise>COMPLETE</promise>')\nprint('fatal: no disk')\n")
    run = place.ralph("run", "-n", "1")
    assert run.code == 1
    (attempt,) = [record["attempt"] for record in place.records("attempted")]
    assert attempt["error"] == "fatal: no disk"


def test_a_key_that_is_not_known_is_answered_with_the_nearest(place: Place) -> None:
    configured(place, "")
    file = Path(place.path, ".ralph", "config.yaml")
    file.write_text(file.read_text().replace("cost_pattern", "costs_pattern"))
    run = place.ralph("run")
    assert run.code == 64
    assert "costs_pattern" in run.err
    assert "did you mean cost_pattern?" in run.err
