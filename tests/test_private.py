"""What the runner keeps may hold secrets: it is for its owner alone, and what stands in the worktree stays as it is."""

import os
from pathlib import Path

from place import Place, make_place


def open_to_others(root: Path) -> list[str]:
    found = [Path(place, name) for place, folders, names in os.walk(root) for name in (*folders, *names)]
    return [str(path) for path in (root, *found) if not path.is_symlink() and path.stat().st_mode & 0o077]


def outside_objects(paths: list[str]) -> list[str]:
    """git writes its packs and objects for whoever may enter the folder."""
    return [path for path in paths if "/objects/" not in path]


def test_everything_the_runner_keeps_is_the_owners_alone(place: Place) -> None:
    assert place.ralph("run").code == 0
    place.ralph("usage")
    assert outside_objects(open_to_others(place.home)) == []


def test_a_home_of_an_earlier_version_is_closed(place: Place) -> None:
    old = place.home / "runs" / "20200101-000000-old-0000"
    for folder in (old / "sources", place.home / "accounts" / "scripted", place.home / "worktrees"):
        folder.mkdir(parents=True)
    (old / "prompt-1.md").write_text("old\n")
    for path in (place.home, *place.home.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    assert place.ralph("run").code == 0
    for folder in (place.home, place.home / "runs", old, place.home / "accounts" / "scripted"):
        assert folder.stat().st_mode & 0o777 == 0o700, folder
    assert all(str(old) in path for path in outside_objects(open_to_others(place.home)))


def test_what_stands_in_the_worktree_keeps_its_modes(tmp_path: Path) -> None:
    place = make_place(tmp_path, config="archive: {on_done: false}\n")
    place.prd.chmod(0o664)
    assert place.ralph("run").code == 0
    assert place.prd.stat().st_mode & 0o777 == 0o664
    status = place.folder / "status.json"
    umask = os.umask(0)
    os.umask(umask)
    assert status.stat().st_mode & 0o777 == 0o644 & ~umask
    assert (place.path / ".git" / "info" / "exclude").stat().st_mode & 0o777 == 0o666 & ~umask
