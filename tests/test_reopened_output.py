"""`> /dev/stderr` in a script opens its output anew: nothing that was said before is lost by it."""

import json
from pathlib import Path

import pytest

from place import good, make_place

RESULT = json.dumps({"type": "result", "subtype": "success", "is_error": False, "result": "well"})
WIPES = {
    "stderr": "echo the reason; echo more > /dev/stderr; exit 3",
    "stdout": "echo the reason >&2; echo more > /dev/stdout; exit 3",
    "by its number": "echo the reason; echo more > /proc/self/fd/2; exit 3",
    "many times": "echo the reason; for n in 1 2 3 4; do echo more > /dev/stderr; sleep 0.05; done; exit 3",
    "in a child": "echo the reason; sh -c 'echo more > /dev/stderr'; exit 3",
}


@pytest.mark.parametrize("how", WIPES)
def test_a_check_keeps_what_it_said(tmp_path: Path, how: str) -> None:
    checks = f"quality_checks: {{unit: {{command: {json.dumps(WIPES[how])}}}}}\n"
    place = make_place(tmp_path, count=1, config=checks)
    place.ralph("run", "-n", "2")
    assert "the reason" in place.records("checked")[-1]["check"]["output"]
    assert "more" in place.records("checked")[-1]["check"]["output"]
    kept = next(place.run_folder().glob("check-*-unit.log")).read_text()
    assert kept.startswith("the reason\nmore\n")
    assert "the reason" in place.prompt(2)


def test_an_agent_keeps_what_it_said(tmp_path: Path) -> None:
    place = make_place(tmp_path, count=1, script={"default": [{"say": "first words"}, *good()]})
    script = f"echo first words; sleep 0.2; echo second > /dev/stderr; echo {RESULT!r} > /dev/stdout"
    agent = tmp_path / "agent"
    agent.write_text(f"#!/bin/sh\n{script}\n")
    agent.chmod(0o755)
    config = place.path / ".ralph" / "config.yaml"
    text = config.read_text().replace("agent: scripted", "agent: own")
    own = f"agents: {{own: {{kind: command, argv: [{json.dumps(str(agent))}], stream: claude}}, "
    config.write_text(text.replace("agents: {", own, 1))
    place.ralph("run", "-n", "1")
    assert place.log(1).startswith("first words\nsecond\n")
    assert place.records("attempted")[0]["attempt"]["last_words"] == "well"
