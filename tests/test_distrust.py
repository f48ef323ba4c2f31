"""What an agent may do by mistake or to look good, and what it must not get by it."""

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from place import Action, Place, busy, good, make_place, wait_for

ADD_ALL = [
    {"write": {"{story}.txt": "x\n"}},
    {"run": "git add -A && git commit -qm 'Build {story}'"},
    {"mark": "current"},
]
MARK_ALL = """
import json, pathlib
path = pathlib.Path(".ralph/feature-x/prd.json")
prd = json.loads(path.read_text())
for story in prd["userStories"]:
    story["passes"] = True
    story["priority"] = "high"
path.write_text(json.dumps(prd))
"""
EDIT = """
import json, os, pathlib
path = pathlib.Path(".ralph/feature-x/prd.json")
prd = json.loads(path.read_text())
{edit}
path.write_text(json.dumps(prd))
"""
RENAME = 'prd["userStories"][0] |= {"id": "US-" + os.environ["RALPH_ITERATION"], "passes": True}'
INVENT = (
    'prd["userStories"].append(prd["userStories"][0] | {"id": "S-" + os.environ["RALPH_ITERATION"], "passes": True})'
)
REWORD = 'prd["userStories"][0] |= {"acceptanceCriteria": ["Nothing", "Typecheck passes"]}'
COMMIT = {"run": "date +%N > junk.txt && git add junk.txt && git commit -qm 'Junk {iteration}'"}


def script_of(place: Place, name: str, code: str) -> Action:
    """Code in a file outside of the repository: nothing in it is filled in."""
    path = place.home.parent / name
    path.write_text(code)
    return {"run": f"{sys.executable} {path}"}


def verdicts(place: Place) -> list[dict[str, Any]]:
    return [record["verdict"] for record in place.records("judged")]


@pytest.mark.parametrize("check", ["", "quality_checks: {tests: 'false'}\n"])
def test_marks_in_a_damaged_story_file_count_for_nothing(tmp_path: Path, check: str) -> None:
    place = make_place(tmp_path, count=3, config=check)
    place.script(attempts=[[script_of(place, "mark.py", MARK_ALL)]], default=[])
    done = place.ralph("run", "-n", "2")
    assert done.code == 1
    assert place.passes() == {"STORY-001": False, "STORY-002": False, "STORY-003": False}
    assert "damaged" in done.out


@pytest.mark.parametrize(("edit", "note"), [(RENAME, "removed"), (INVENT, "added with its mark set")])
def test_invented_stories_are_no_progress(tmp_path: Path, edit: str, note: str) -> None:
    place = make_place(tmp_path)
    place.script(default=[script_of(place, "edit.py", EDIT.format(edit=edit)), COMMIT])
    done = place.ralph("run", "-n", "9")
    assert done.code == 1
    assert note in done.out
    assert len(place.records("begun")) == 3
    assert "circuit breaker: no story was finished in 3 iterations" in done.out
    assert not any(place.passes().values())


def test_other_words_for_a_story_are_said(tmp_path: Path) -> None:
    place = make_place(tmp_path, count=1)
    place.script(default=[script_of(place, "edit.py", EDIT.format(edit=REWORD)), *good()])
    assert "STORY-001: its title or criteria were changed" in place.ralph("run").out


@pytest.mark.parametrize("how", ["git reset -q --hard HEAD~1", "git checkout -q -B feature/x HEAD~1"])
def test_a_finished_change_in_a_shared_file_is_not_written_over(tmp_path: Path, how: str) -> None:
    first = [{"run": "echo 'def greet' >> app.py; git commit -qam Greet"}, {"mark": "current"}]
    again = "printf 'ONE\\ntwo\\nthree\\n' > app.py; git add app.py; git commit -qm 'Shout'"
    second = [{"run": f"{how}; {again}"}, {"mark": "current"}]
    place = make_place(tmp_path, script={"stories": {"STORY-001": [first], "STORY-002": [second]}})
    (place.path / "app.py").write_text("one\ntwo\nthree\n")
    place.git("add", "-A")
    place.git("commit", "-q", "-m", "app")
    place.ralph("run", "-n", "2")
    assert "def greet" in place.git("show", "HEAD:app.py")
    assert "def greet" in (place.path / "app.py").read_text()


@pytest.mark.parametrize("moving", ["git reset -q --hard HEAD~1", "git checkout -q -b wild", "git checkout -q HEAD~1"])
def test_a_check_that_moves_the_branch(tmp_path: Path, moving: str) -> None:
    place = make_place(tmp_path, count=1, config=f"quality_checks: {{all: '{moving}'}}\n")
    done = place.ralph("run", "-n", "1")
    assert place.git("branch", "--show-current") == "feature/x"
    assert place.git("log", "-1", "--format=%s") == "Build STORY-001"
    assert "check all moved the branch" in done.out
    assert done.code == 1


def test_a_check_that_commits_whenever_it_runs_ends_the_run_in_time(tmp_path: Path) -> None:
    check = "quality_checks: {all: 'date +%N > fmt; git add fmt; git commit -qm fmt'}\n"
    place = make_place(tmp_path, count=1, config=check)
    done = place.ralph("run", "-n", "2")
    assert done.code == 1
    assert len(place.records("inspected")) == 3


def test_checks_after_one_that_moves_the_branch_see_the_work(tmp_path: Path) -> None:
    checks = "quality_checks: {backend: 'git checkout -q HEAD~1', frontend: 'test -e STORY-001.txt'}\n"
    place = make_place(tmp_path, count=1, config=checks)
    assert place.ralph("run", "-n", "1").code == 1
    assert [(one["check"]["name"], one["check"]["ok"]) for one in place.records("checked")] == [
        ("backend", False), ("frontend", True),
    ]  # fmt: skip


def test_a_check_that_takes_the_repository_away(tmp_path: Path) -> None:
    place = make_place(
        tmp_path, count=1, config="quality_checks: {all: 'test -e ../once || { touch ../once; rm -rf .git; }'}\n"
    )
    done = place.ralph("run")
    assert done.code == 0, done
    assert place.git("log", "-1", "--format=%s") == "Build STORY-001"


def test_the_whole_worktree_is_taken_away(tmp_path: Path) -> None:
    place = make_place(tmp_path, script={"attempts": [good(), [{"run": "rm -rf $PWD"}]], "default": ADD_ALL})
    done = place.ralph("run")
    assert done.code == 0, done
    assert {"README", "STORY-001.txt", "STORY-002.txt"} <= set(place.git("ls-tree", "--name-only", "HEAD").splitlines())


def test_the_repository_is_gone_and_so_is_the_runner(tmp_path: Path) -> None:
    place = make_place(
        tmp_path,
        script={
            "stories": {"STORY-002": [[{"run": "rm -rf .git"}, {"say": "gone"}, "hang"], good()]},
            "default": good(),
        },
    )
    runner = place.start("run")
    busy(place, 2)
    wait_for(lambda: not (place.path / ".git").exists())
    runner.kill()
    runner.wait()
    done = place.ralph("run")
    assert done.code == 0, done
    assert "has been made anew" in done.err
    assert place.git("log", "--format=%s").splitlines() == ["Build STORY-002", "Build STORY-001", "start"]


@pytest.mark.parametrize(
    "how", ["mkdir .ralph/config.yaml", "ln -s /etc/passwd .ralph/config.yaml", "mkfifo .ralph/config.yaml"]
)
def test_what_is_no_file_holds_no_rules(tmp_path: Path, how: str) -> None:
    place = make_place(tmp_path, count=1)
    config = (place.path / ".ralph" / "config.yaml").read_text()
    place.script(attempts=[[{"run": f"rm .ralph/config.yaml; {how}"}]], default=good())
    assert place.ralph("run").code == 0
    assert (place.path / ".ralph" / "config.yaml").read_text() == config


def test_rules_that_the_user_writes_after_a_crash_hold(tmp_path: Path) -> None:
    place = make_place(tmp_path, count=1, script={"default": [*good(), "hang"]})
    runner = place.start("run")
    busy(place)
    wait_for(lambda: "true" in place.prd.read_text())
    runner.kill()
    runner.wait()
    lock = next((place.home / "worktrees").glob("*/lock"))
    for path in (lock, place.run_folder() / "attempt-1.log"):
        os.utime(path, (1, 1))
    time.sleep(3.2)  # what comes so much later cannot have been the agent
    place.config("quality_checks: {all: 'false'}\n")
    place.script(default=[])
    assert place.ralph("run", "-n", "2").code == 1
    assert "quality_checks" in (place.path / ".ralph" / "config.yaml").read_text()
    assert place.passes() == {"STORY-001": False}


def test_what_a_check_leaves_behind_is_not_the_agents(tmp_path: Path) -> None:
    place = make_place(tmp_path, count=3, config="quality_checks: {tests: 'date +%N > report.xml'}\n")
    done = place.ralph("run")
    assert done.code == 0, done.out
    assert "no part of what was proven: report.xml" in done.out


@pytest.mark.parametrize("how", ["sed -i /quality_checks/d .ralph/config.yaml", "rm .ralph/config.yaml"])
@pytest.mark.parametrize("kill", [False, True])
def test_the_rules_are_not_the_agents(tmp_path: Path, how: str, kill: bool) -> None:
    """It empties the checks, and kills the runner so that the next one reads them."""
    place = make_place(tmp_path, count=1, config="quality_checks: {tests: 'false'}\n")
    config = (place.path / ".ralph" / "config.yaml").read_text()
    place.script(attempts=[[{"run": how}, *good(), *(["hang"] if kill else [])]], default=[])
    if kill:
        runner = place.start("run", "-n", "1")
        wait_for(lambda: place.passes() == {"STORY-001": True})
        runner.kill()
        runner.wait()
    first = place.ralph("run", "-n", "1")
    assert first.code == 1
    assert "is as it was before" in first.out + first.err
    assert (place.path / ".ralph" / "config.yaml").read_text() == config
    assert place.passes() == {"STORY-001": False}


def test_rules_that_an_agent_made_are_taken_away(tmp_path: Path) -> None:
    place = make_place(tmp_path, count=1)
    (place.home / "config.yaml").parent.mkdir(parents=True, exist_ok=True)
    (place.path / ".ralph" / "config.yaml").rename(place.home / "config.yaml")
    place.git("commit", "-q", "-am", "no rules of its own")
    place.script(default=[{"run": "echo 'claude: {dangerously_skip_permissions: true}' > .ralph/config.yaml"}])
    done = place.ralph("run", "-n", "1")
    assert "config.yaml was made while iteration 1 went on" in done.out
    assert not (place.path / ".ralph" / "config.yaml").exists()


TEXT_AGENT = (
    "agents: {{mine: {{kind: command, argv: [sh, -c, {command}]}}}}\ndefaults: {{agent: mine, pause_seconds: 0}}\n"
)
STORY = "<promise>STORY_COMPLETE</promise>"
WORK = "date +%N > w.txt; git add w.txt; git commit -qm w"


def with_text_agent(tmp_path: Path, command: str, more: str = "") -> Place:
    place = make_place(tmp_path, count=1)
    (place.path / ".ralph" / "config.yaml").write_text(TEXT_AGENT.format(command=json.dumps(command)) + more)
    return place


@pytest.mark.parametrize(
    ("command", "counts"),
    [
        (f"cat > /dev/null; {WORK}; echo '{STORY}'", True),
        (f"cat; {WORK}; echo I could not do it.", False),
        (f"cat > /dev/null; {WORK}; printf 'Say:\\n\\n    {STORY}\\n'", False),
        (f"cat > /dev/null; {WORK}; echo '{STORY}'; exit 1", False),
        (f"cat > /dev/null; {WORK}; echo '{STORY}'; sleep 60", False),
        (f"cat > /dev/null; {WORK}; echo '{STORY}'; kill -9 $$", False),
    ],
    ids=["said", "echoed", "shown as code", "failed", "timed out", "killed"],
)
def test_a_promise_in_plain_text(tmp_path: Path, command: str, counts: bool) -> None:
    place = with_text_agent(tmp_path, command, "supervision: {kill_grace_seconds: 1}\n")
    (tmp_path / "prompt.md").write_text(f"Work. When you are through say:\n{STORY}\n")
    done = place.ralph("run", "-n", "1", "-t", "2s", "-p", str(tmp_path / "prompt.md"))
    assert (done.code == 0) is counts, done.out
    assert place.passes() == {"STORY-001": counts}


def test_what_is_finished_by_a_promise_is_done_at_once(tmp_path: Path) -> None:
    actions = [{"write": {"a.txt": "a\n"}}, {"commit": "A"}, {"claim": "story"}]
    place = make_place(tmp_path, count=1, script={"default": actions})
    assert place.ralph("run", "-n", "1").code == 0
    assert verdicts(place)[-1]["outcome"] == "done"


def test_a_promise_whose_check_was_cut_off_is_judged_later(tmp_path: Path) -> None:
    actions = [{"write": {"a.txt": "a\n"}}, {"commit": "A"}, {"claim": "story"}]
    check = "quality_checks: {tests: 'test -e ../go || { touch ../checking; sleep 60; }'}\n"
    place = make_place(tmp_path, count=1, script={"default": actions}, config=check)
    runner = place.start("run")
    wait_for((tmp_path / "checking").exists)
    runner.send_signal(signal.SIGINT)
    assert runner.wait(20) == 130
    (tmp_path / "go").touch()
    assert place.ralph("run").code == 0
    assert len(place.records("begun")) == 1


def test_the_users_uncommitted_work_that_an_agent_drops_is_said(tmp_path: Path) -> None:
    place = make_place(
        tmp_path, count=1, script={"default": [{"run": "git reset -q --hard && git clean -qfd"}, *good()]}
    )
    (place.path / "README").write_text("mine\n")
    (place.path / "notes.md").write_text("mine\n")
    done = place.ralph("run")
    (told,) = [line for line in done.out.splitlines() if "gone from the tree" in line]
    assert "README, notes.md" in told
    ref = told.partition("git checkout ")[2].split()[0]
    assert place.git("show", f"{ref}:notes.md") == "mine"


def test_work_beside_the_users_is_not_called_lost(tmp_path: Path) -> None:
    edit = [{"run": "echo more >> notes.md && git add notes.md && git commit -qm notes"}, *good()]
    place = make_place(tmp_path, count=1, script={"default": edit})
    (place.path / "notes.md").write_text("mine\n")
    (place.path / "other.md").write_text("mine\n")
    assert "gone from the tree" not in place.ralph("run").out


def test_git_works_here_whatever_its_configuration_says(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "README").write_text("not yours\n")
    turn = {"run": f"git reset -q --hard HEAD~1; git config core.worktree {elsewhere}"}
    place = make_place(tmp_path, script={"stories": {"STORY-001": [good()], "STORY-002": [[turn]]}})
    place.ralph("run", "-n", "2")
    assert (elsewhere / "README").read_text() == "not yours\n"
    assert sorted(path.name for path in elsewhere.iterdir()) == ["README"]
    assert place.git("log", "-1", "--format=%s") == "Build STORY-001"


@pytest.mark.parametrize(
    "how",
    [
        "rm .ralph/feature-x/prd.json && mkdir .ralph/feature-x/prd.json",
        "rm -r .ralph/feature-x && touch .ralph/feature-x",
        "rm -r .ralph && touch .ralph",
        "rm -r .ralph && ln -s /tmp .ralph",
        "rm -r .ralph && ln -s nowhere .ralph",
        "rm .ralph/feature-x/prd.json && ln -s /etc/passwd .ralph/feature-x/prd.json",
        "git clean -qfdx; rm -rf .ralph",
    ],
)
def test_obstacles_where_the_stories_were(tmp_path: Path, how: str) -> None:
    place = make_place(tmp_path, script={"attempts": [good(), [{"run": how}]], "default": good()})
    (place.folder / "specs").mkdir()
    (place.folder / "specs" / "a.md").write_text("a spec\n")
    done = place.ralph("run", "--no-archive")
    assert done.code == 0, done
    assert place.passes() == {"STORY-001": True, "STORY-002": True}
    assert (place.folder / "specs" / "a.md").read_text() == "a spec\n"
    assert "put back" in done.out


def test_entries_of_the_progress_log_survive_a_repair(tmp_path: Path) -> None:
    first = [{"run": "echo ONE >> .ralph/feature-x/progress.txt; git add -A; git commit -qm one"}, {"mark": "current"}]
    second = [{"run": "git checkout -q HEAD~1; echo PRECIOUS >> .ralph/feature-x/progress.txt"}]
    place = make_place(tmp_path, script={"attempts": [first, second]})
    place.ralph("run", "-n", "2")
    assert (place.folder / "progress.txt").read_text().splitlines()[-2:] == ["ONE", "PRECIOUS"]


def test_a_subject_that_looks_like_our_marks(tmp_path: Path) -> None:
    odd = {"run": "git commit -q --allow-empty -m \"$(printf 'x \\001<%040d\\002y' 0)\""}
    place = make_place(tmp_path, count=1, script={"default": [odd, *good()]})
    assert place.ralph("run").code == 0


def test_two_branches_with_one_folder(tmp_path: Path) -> None:
    place = make_place(tmp_path, branch="a/b", script={"default": ["hang"]})
    runner = place.start("run")
    busy(place)
    runner.send_signal(signal.SIGINT)
    runner.wait(20)
    place.git("switch", "-q", "-c", "a-b")
    place.git("commit", "-q", "--allow-empty", "-m", "mine")
    place.script(default=good())
    done = place.ralph("run")
    assert done.code == 0, done
    assert "branch a/b has the same feature folder" in done.err
    assert place.git("branch", "--show-current") == "a-b"
    assert place.git("log", "-1", "--format=%s", "a/b") == "start"


def test_a_branch_the_user_switched_to_after_a_crash_is_left_alone(tmp_path: Path) -> None:
    place = make_place(tmp_path, script={"default": ["hang"]})
    runner = place.start("run")
    busy(place)
    runner.send_signal(signal.SIGKILL)
    runner.wait()
    place.git("switch", "-q", "-c", "other")
    place.git("commit", "-q", "--allow-empty", "-m", "mine")
    later = (place.path / ".git" / "logs" / "HEAD").stat().st_mtime + 60
    os.utime(place.path / ".git" / "logs" / "HEAD", (later, later))
    done = place.ralph("run")
    assert done.code == 1, done
    assert "Folder not found: .ralph/other/" in done.out
    assert place.git("branch", "--show-current") == "other"
    assert place.git("log", "-1", "--format=%s", "feature/x") == "start"
    place.git("switch", "-q", "feature/x")
    place.script(default=good())
    assert place.ralph("run").code == 0
    assert len(list((place.home / "runs").iterdir())) == 1


def test_the_journal_cannot_be_written_and_a_signal_comes(tmp_path: Path) -> None:
    place = make_place(tmp_path, script={"default": ["hang"]})
    runner = place.start("run", COVERAGE_PROCESS_CONFIG="")  # it could not write its own file either
    busy(place)
    journal = place.run_folder() / "journal.jsonl"
    limit = journal.stat().st_size + 10
    import resource

    resource.prlimit(runner.pid, resource.RLIMIT_FSIZE, (limit, limit))
    runner.send_signal(signal.SIGTERM)
    assert runner.wait(20) in (1, 143)
    assert "/ralphloop/" not in place.said().replace(str(place.home), "")
    assert "write the journal" in place.said()
