"""What `ralph run` prints for people: short, in their words, each thing once."""

import re
from pathlib import Path

import pytest

from place import Action, good, make_place
from terminal import Terminal


def printed(tmp_path: Path, actions: list[Action], *words: str, config: str = "") -> str:
    place = make_place(tmp_path, count=1, script={"default": actions}, config=config)
    return place.ralph("run", "-n", "1", *words).out


def test_nothing_was_claimed(tmp_path: Path) -> None:
    out = printed(tmp_path, [{"say": "I looked around."}])
    assert "  ! no story was marked or promised, and there is no commit\n" in out
    assert "no progress in 1 iteration (limit 3)" in out


def test_nothing_was_claimed_but_committed(tmp_path: Path) -> None:
    out = printed(tmp_path, good()[:2])
    assert "  ! no story was marked or promised\n" in out


def test_advice_for_the_agent_is_for_the_agent(tmp_path: Path) -> None:
    place = make_place(tmp_path, count=1, script={"default": [{"mark": "current"}]})
    out = place.ralph("run", "-n", "2").out
    assert "a false claim: no commit holds the work\n" in out
    assert "commit a test that shows it" in place.prompt(2)


def test_the_end_of_a_done_run(tmp_path: Path) -> None:
    out = printed(tmp_path, good())
    assert re.search(r"^  ✓ archived to \.ralph/archive/\S+-feature-x; commit the move yourself$", out, re.MULTILINE)
    assert "goes to" not in out


def test_paths_in_the_worktree_are_told_from_there(tmp_path: Path) -> None:
    out = printed(tmp_path, [{"run": f"cat {tmp_path}/repository/README"}, *good()])
    assert "→ Bash cat README\n" in out


def test_a_tool_that_fails_is_no_verdict_of_the_runner(tmp_path: Path) -> None:
    out = printed(tmp_path, [{"run": "echo no such thing; exit 3"}, *good()])
    assert "\n    ✗ Bash: no such thing\n" in out
    assert "\n  ✗ no such" not in out


def test_all_of_it_has_the_answers(tmp_path: Path) -> None:
    out = printed(tmp_path, [{"run": "echo it is there"}, *good()], "-v")
    assert "\n    ← it is there\n" in out


def test_what_is_cut_off_says_so(tmp_path: Path) -> None:
    out = printed(tmp_path, [{"say": "word " * 100}, *good()])
    line = next(line for line in out.splitlines() if line.startswith("    word"))
    assert line.endswith("…")
    assert len(line) < 170


def test_an_error_is_told_once(tmp_path: Path) -> None:
    out = printed(tmp_path, [{"error": "API Error: 500 nothing works"}])
    assert out.count("✗ API Error: 500 nothing works") == 1, out


@pytest.mark.parametrize("how", ["stop", "stop --now"])
def test_a_stop_is_no_failure(tmp_path: Path, how: str) -> None:
    place = make_place(tmp_path, script={"default": [{"run": f"$RALPH {how}; sleep 1"}, *good()]})
    out = place.ralph("run", RALPH=" ".join(place.argv())).out
    assert "  ! stopped, as you asked\n" in out
    assert "✗" not in out
    assert "user's wish" not in out + place.ralph("status").out


def test_long_words_keep_their_indent_at_a_narrow_terminal(tmp_path: Path) -> None:
    place = make_place(tmp_path, count=1, script={"default": [{"run": "true " + "x" * 90}, *good()]})
    with Terminal(place, "run", columns=40) as terminal:
        assert terminal.ends() == 0
    assert "\n    → Bash true " + "x" * 24 + "\n      " + "x" * 34 + "\n      " + "x" * 32 + "\n" in terminal.text


def test_a_task_s_number_is_not_told_twice(tmp_path: Path) -> None:
    place = make_place(tmp_path, script={"default": good()})
    place.prd.unlink()
    (place.folder / "tasks.md").write_text("# X\n\n- [ ] 1.1 Greet by name\n- [ ] Say goodbye\n")
    place.git("add", "-A")
    place.git("commit", "-qm", "tasks")
    assert "1 finished" not in place.ralph("run", "--dry-run").out
    assert "next 1.1 Greet by name\n" in place.ralph("run", "--dry-run").out
    out = place.ralph("run").out
    assert "▶ 1/20  1.1 Greet by name\n" in out
    assert re.search(r"▶ 2/20  task-\w{6} Say goodbye\n", out)
