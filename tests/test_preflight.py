"""What is said before anything starts: the branch, its folder, the programs, and what the user will not hear of."""

import json
from pathlib import Path

import pytest

from place import Place, make_place, spec_of, stories

ALL_WELL = """\
Preflight checks for branch: {branch}
Feature folder: .ralph/{feature}/

✓ Branch detected: {branch}
{warning}✓ Folder exists: .ralph/{feature}/
✓ Required files present
✓ prd.json schema valid
✓ spec.md structure valid
✓ Sync check passed

{end}
"""
READY = "All checks passed. Ready to run."
WARNED = "Preflight checks passed with warnings. Ready to run."


def runs(place: Place) -> bool:
    return (place.home / "runs").exists() and any((place.home / "runs").iterdir())


@pytest.mark.parametrize(
    ("branch", "config", "warned"),
    [
        ("main", "", True),
        ("master", "", True),
        ("develop", "", True),
        ("feature/x", "", False),
        ("main/x", "", False),
        ("release", "protected_branches: [release]\n", True),
        ("main", "protected_branches: [release]\n", False),
        ("main", "protected_branches: []\n", False),
    ],
)
def test_a_protected_branch_is_a_warning_and_no_obstacle(
    tmp_path: Path, branch: str, config: str, warned: bool
) -> None:
    place = make_place(tmp_path, branch=branch, config=config)
    warning = f"⚠ Running on protected branch '{branch}'"
    done = place.ralph("validate")
    assert done.code == 0, done
    assert done.out == ALL_WELL.format(
        branch=branch,
        feature=place.feature,
        warning=f"{warning}\n" if warned else "",
        end=WARNED if warned else READY,
    )
    done = place.ralph("run", "-n", "1")
    assert done.code == 1
    assert "max iterations reached (1) with 1 of 2 stories finished" in done.out
    assert (f"{warning}\n" in done.err) == warned


@pytest.mark.parametrize("command", ["validate", "run"])
def test_a_branch_without_a_folder(place: Place, command: str) -> None:
    place.git("switch", "-q", "-c", "feature/none")
    done = place.ralph(command)
    assert done.code == 1
    assert "✓ Branch detected: feature/none\n✗ Folder not found: .ralph/feature-none/\n" in done.out
    assert "Ready to run" not in done.out
    assert not runs(place)


@pytest.mark.parametrize("words", [("run", "-f", "x"), ("run", "-fx"), ("-f", "x", "run"), ("validate", "-f", "x")])
def test_no_option_names_another_folder(place: Place, words: tuple[str, ...]) -> None:
    done = place.ralph(*words)
    assert done.code == 64
    assert ".ralph/feature-x/" in done.err
    assert "(branch feature/x)" in done.err
    assert done.out == ""
    assert not runs(place)


@pytest.mark.parametrize("command", ["run", "validate", "archive"])
def test_without_git_nothing_starts(place: Place, tmp_path: Path, command: str) -> None:
    (tmp_path / "empty").mkdir()
    done = place.ralph(command, PATH=str(tmp_path / "empty"))
    assert done.code == 1
    assert "git is not installed" in done.err
    assert "Traceback" not in done.err
    assert not runs(place)
    assert place.folder.exists()


def test_stories_that_are_not_those_of_the_spec(place: Place) -> None:
    spec = place.folder / "spec.md"
    spec.write_text(spec.read_text().replace("### STORY-002: Story number 2", "### STORY-002: Another one"))
    done = place.ralph("run")
    assert done.code == 1
    assert "✗ Sync check failed:\n    - STORY-002 title differs\n" in done.out
    assert not runs(place)
    assert place.passes() == {"STORY-001": False, "STORY-002": False}
    done = place.ralph("run", "--skip-preflight")
    assert done.code == 0, done
    assert "Sync check" not in done.out + done.err
    assert place.passes() == {"STORY-001": True, "STORY-002": True}


SYNC = """\
✗ Sync check failed:
    - STORY-004 in spec.md not found in prd.json
    - STORY-002 acceptance criteria differs

Resolve sync issues by running '/ralph-prd' in Claude Code.
"""
ORPHAN = """\
✗ Orphan check failed:
    - STORY-003 in prd.json (passes: true) not found in spec.md
      ^^^ COMPLETED WORK WILL BE LOST

This story was completed but is no longer in spec.md.
Options:
  1. Add STORY-003 back to spec.md (preserve completed work)
  2. Run '/ralph-prd' and confirm orphan removal (discard work)
"""


def test_what_validate_says_when_the_two_do_not_agree(tmp_path: Path) -> None:
    place = make_place(tmp_path, count=4)
    prd = json.loads(place.prd.read_text())
    prd["userStories"][1]["acceptanceCriteria"] = ["Other", "Typecheck passes"]
    del prd["userStories"][3]
    place.prd.write_text(json.dumps(prd))
    done = place.ralph("validate")
    assert (done.code, SYNC in done.out) == (1, True), done.out


def test_what_validate_says_when_finished_work_would_be_lost(tmp_path: Path) -> None:
    place = make_place(tmp_path, count=3)
    prd = json.loads(place.prd.read_text())
    prd["userStories"][2]["passes"] = True
    place.prd.write_text(json.dumps(prd))
    (place.folder / "spec.md").write_text(spec_of(stories(2)))
    done = place.ralph("validate")
    assert (done.code, ORPHAN in done.out) == (1, True), done.out
    assert "Orphaned COMPLETED story: STORY-003" in done.out
