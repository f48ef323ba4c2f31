"""What to do next is told where somebody is stuck."""

import re
from pathlib import Path

from place import Place, busy, good, make_place
from ralphloop.agents.table import AGENTS as AGENT_KINDS


def test_a_folder_that_is_missing_has_an_alternative(place: Place) -> None:
    place.git("switch", "-qc", "feature/other")
    out = place.ralph("validate").out
    assert "✗ Folder not found: .ralph/feature-other/" in out
    assert "tasks.md" in out
    assert "docs/guide.md" in out
    assert "Finished" not in out


def test_required_files_have_an_alternative(place: Place) -> None:
    place.prd.unlink()
    out = place.ralph("validate").out
    assert "or by hand" in out
    assert "tasks.md, with lines like" in out


def test_advice_is_given_once(place: Place) -> None:
    place.prd.write_text(place.prd.read_text().replace("It is there", "It is here"))
    out = place.ralph("validate").out
    assert out.count("Run '/ralph-prd' to regenerate prd.json from spec.md") == 1
    assert out.count("Without that command: edit prd.json by hand") == 1


def test_a_feature_that_is_finished(place: Place) -> None:
    assert place.ralph("run").code == 0
    run = place.run_folder().name
    for command in ("run", "validate"):
        done = place.ralph(command)
        assert done.code == 1
        assert re.search(rf"\nFinished by run {run}, archived to \.ralph/archive/\S+; nothing to do\n", done.out), done


def test_claude_is_missing(place: Place) -> None:
    place.config("claude: {program: claude}\n")
    out = place.ralph("run", "--agent", "claude", PATH="/usr/bin:/bin").out
    assert "npm install -g @anthropic-ai/claude-code" in out
    assert "claude.program" in out


def test_what_the_repository_decides(place: Place) -> None:
    place.config("quality_checks: {tests: sh test.sh}\nclaude: {dangerously_skip_permissions: true, program: x}\n")
    err = place.ralph("validate").err
    start = "note: this repository's .ralph/config.yaml"
    assert f"{start} sets a command that will be run: quality_checks.tests: sh test.sh (line 5)\n" in err
    assert f"{start} sets a command that will be run: agents.scripted: " in err
    assert f"{start} lets the agent do anything without asking: claude.dangerously_skip_permissions: true" in err
    assert f"{start} sets a command for an agent that is not chosen: claude.program: x (line 6)\n" in err


def test_a_dry_run_shows_the_whole_command_line(place: Place) -> None:
    out = place.ralph("run", "--dry-run").out
    assert re.search(r"^Command: .*scripted_agent\.py .*script\.json < PROMPT$", out, re.MULTILINE)
    assert "Permissions" not in out
    place.config("claude: {program: /bin/true, model: sonnet}\n")
    out = place.ralph("run", "--dry-run", "--agent", "claude").out
    assert (
        "Command:     /bin/true -p --output-format stream-json --verbose --allowedTools 'Write,Bash(git *),Read'" in out
    )
    assert "--model sonnet < PROMPT\n" in out
    assert "Permissions: allowed tools" in out


def test_a_dry_run_says_that_a_loop_is_running(tmp_path: Path) -> None:
    place = make_place(tmp_path, script={"default": [{"say": "at it"}, "hang"]})
    runner = place.start("run")
    busy(place)
    out = place.ralph("run", "--dry-run").out
    assert f"a loop is running here (PID {runner.pid})" in out
    runner.terminate()
    runner.wait(20)
    assert "a loop is running" not in place.ralph("run", "--dry-run").out


def test_the_agents_there_are(place: Place) -> None:
    text = (place.path / ".ralph" / "config.yaml").read_text()
    text = text.replace("agents: {", "agents: {helper: {kind: command, argv: [x]}, ")
    (place.path / ".ralph" / "config.yaml").write_text(text)
    done = place.ralph("run", "--agent", "nope")
    assert done.code == 64
    assert f"known: {', '.join(AGENT_KINDS)}, helper" in done.err


def test_a_number_that_is_none(place: Place) -> None:
    done = place.ralph("undo", "abc")
    assert (done.code, "for example ralph undo 3" in done.err) == (64, True)


def test_help_can_be_copied(place: Place) -> None:
    out = place.ralph("run", "--help").out
    assert "  ralph run -n 5 -t 30  " in out
    assert re.search(r"ralph run --dry-run +# only show", out)
    assert "--monitor" not in out
    assert "also those before a" in out
    assert place.ralph("run", "-n", "2", "--monitor", "--dry-run").code == 0


def test_a_run_of_one(tmp_path: Path) -> None:
    place = make_place(tmp_path, count=1, script={"default": good()[:1]})
    out = place.ralph("run", "-n", "1").out
    assert "1 iteration · 0 commits" in out
