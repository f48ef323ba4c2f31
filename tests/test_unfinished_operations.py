"""A merge or the like that the user has not finished: said before anything is spent."""

import subprocess
from pathlib import Path

import pytest

from place import good, make_place

SIDE = "git switch -qc side && echo a > README && git commit -qam a && git switch -q feature/x && echo b > README"
CONFLICT = f"{SIDE} && git commit -qam b"
LEFT = {
    "merge": f"{CONFLICT} && git merge side",
    "cherry-pick": f"{CONFLICT} && git cherry-pick side",
    "revert": f"{CONFLICT} && echo c > README && git commit -qam c && git revert HEAD~1",
    "rebase": f"{CONFLICT} && git rebase side",
    "am": f"{CONFLICT} && git format-patch -1 side --stdout | git am",
    "bisect": "git bisect start",
}


@pytest.mark.parametrize("operation", LEFT)
def test_it_is_an_error_before_the_run(tmp_path: Path, operation: str) -> None:
    place = make_place(tmp_path)
    subprocess.run(["sh", "-c", LEFT[operation]], cwd=place.path, capture_output=True)
    for words in (("validate",), ("run", "-n", "2")):
        done = place.ralph(*words)
        said = done.out + done.err
        assert done.code == 1, done
        assert f"{operation} is unfinished" in said, said
        assert (f"git {operation} --abort" if operation != "bisect" else "git bisect reset") in said
    assert not (place.home / "runs").exists()


def test_what_was_moved_out_of_the_way_is_nobodys_obstacle(tmp_path: Path) -> None:
    wrong = {"run": "rm -rf .ralph && echo rubbish > .ralph"}
    place = make_place(tmp_path, script={"attempts": [[wrong]], "default": good()})
    done = place.ralph("run", "-n", "4")
    assert done.code == 0, done
    aside = list(place.path.glob("*.ralph-aside-*"))
    assert [path.read_text() for path in aside] == ["rubbish\n"]
    assert "aside" not in place.git("status", "--porcelain") + place.git("log", "--name-only", "--format=")
    assert not [one for record in place.records("inspected") for one in record["sight"]["dirty_paths"]]
