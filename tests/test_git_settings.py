"""What an agent writes into `.git/config`: the worktree stays usable, and the rest is said."""

from pathlib import Path

import pytest

from place import good, make_place

UNUSABLE = {
    "a bare repository": "git config core.bare true",
    "another worktree": "git config core.worktree /tmp",
    "an unknown format": "git config core.repositoryformatversion 99",
    "an unknown extension": "git config core.repositoryformatversion 1; git config extensions.never true",
    "two of them": "git config --add core.bare true; git config core.worktree /nowhere",
    "for this worktree alone": "git config extensions.worktreeConfig true; git config --worktree core.worktree /tmp",
}


@pytest.mark.parametrize("how", UNUSABLE)
def test_the_worktree_stays_usable(tmp_path: Path, how: str) -> None:
    script = {"attempts": [[{"run": UNUSABLE[how]}]], "default": good()}
    place = make_place(tmp_path, script=script)
    place.git("config", "--add", "remote.origin.fetch", "one")
    done = place.ralph("run", "-n", "4")
    assert done.code == 0, done
    assert place.git("status", "--porcelain", "--untracked-files=no", "--", "README") == ""
    assert place.git("rev-parse", "--show-toplevel") == str(place.path)
    assert place.git("config", "remote.origin.fetch") == "one"
    notes = " ".join(place.records("inspected")[1]["sight"]["notes"])
    assert "could not be used" in notes
    assert "could not be used" in place.prompt(2)


def test_settings_that_are_gone_are_put_back(tmp_path: Path) -> None:
    place = make_place(tmp_path, script={"attempts": [[{"run": "rm .git/config"}]], "default": good()})
    place.git("config", "remote.origin.url", "there")
    before = (place.path / ".git" / "config").read_bytes()
    assert place.ralph("run", "-n", "4").code == 0
    assert (place.path / ".git" / "config").read_bytes() == before
    assert "git's config was gone" in " ".join(place.records("inspected")[1]["sight"]["notes"])
    assert "git's config was gone" in place.prompt(2)
    assert place.records("inspected")[2]["sight"]["notes"] == []


def test_settings_that_were_never_there_are_not_missed(tmp_path: Path) -> None:
    place = make_place(tmp_path)
    (place.path / ".git" / "config").unlink()
    done = place.ralph("run")
    assert done.code == 0, done
    assert place.records("inspected")[1]["sight"]["notes"] == []


def test_other_changes_stay_and_are_said(tmp_path: Path) -> None:
    change = "git config core.hooksPath hooks; git config user.nickname me; git config remote.origin.url there"
    place = make_place(tmp_path, script={"attempts": [[{"run": change}]], "default": good()})
    assert place.ralph("run", "-n", "4").code == 0
    notes = " ".join(place.records("inspected")[1]["sight"]["notes"])
    assert "left so: core.hookspath=hooks" in notes and "nickname" not in notes
    assert place.git("config", "remote.origin.url") == "there"
    assert place.records("inspected")[2]["sight"]["notes"] == []


def test_a_check_that_makes_the_worktree_unusable_is_red(tmp_path: Path) -> None:
    spoil = "git config core.hooksPath hooks; git config core.bare true"
    place = make_place(tmp_path, config=f"quality_checks: {{spoil: '{spoil}', other: 'true'}}\n")
    place.ralph("run", "-n", "1")
    checks = {record["check"]["name"]: record["check"] for record in place.records("checked")}
    assert "could not be used" in checks["spoil"]["said"] and "hookspath" not in checks["spoil"]["said"]
    assert place.git("rev-parse", "--show-toplevel") == str(place.path)
    assert checks.get("other", {}).get("ok", True)
