"""A finished feature goes to the archive: under its time and name, whole, and only when it should."""

import re
from pathlib import Path

import pytest

from place import Place, busy, good, make_place, tree

FILES = {"prd.json", "progress.txt", "prompt.md", "spec.md", "specs/a.md"}
LOGS = {"logs/iteration-1.log", "logs/iteration-2.log"}
NAME = r"\d{8}-\d{6}-feature-x"


def furnish(place: Place) -> Place:
    """Give the feature every file that one may have."""
    (place.folder / "specs").mkdir()
    (place.folder / "specs" / "a.md").write_text("# In detail\n")
    (place.folder / "prompt.md").write_text("Do the next story.\n")
    return place


@pytest.fixture
def furnished(place: Place) -> Place:
    return furnish(place)


def files(root: Path) -> dict[str, bytes]:
    """Every file below a folder; none of them is a link to somewhere else."""
    found = {path.removeprefix(f"{root}/"): entry for path, entry in tree(root).items()}
    assert not [path for path, (kind, _) in found.items() if kind == "link"]
    return {path: content for path, (kind, content) in found.items() if kind == "file"}


def test_a_finished_feature_is_moved_with_all_its_files(furnished: Place) -> None:
    own = {name: (furnished.folder / name).read_bytes() for name in FILES - {"prd.json"}}
    done = furnished.ralph("run")
    assert done.code == 0, done
    assert re.fullmatch(NAME, furnished.archived().name)
    assert f".ralph/archive/{furnished.archived().name}" in done.out
    assert not furnished.folder.exists()
    found = files(furnished.archived())
    assert set(found) == FILES | LOGS
    assert {name: found[name] for name in own} == own
    assert furnished.passes() == {"STORY-001": True, "STORY-002": True}
    for n in (1, 2):
        assert found[f"logs/iteration-{n}.log"] == (furnished.run_folder() / f"attempt-{n}.log").read_bytes() != b""


@pytest.mark.parametrize(
    ("words", "config"),
    [(["--no-archive"], ""), ([], "archive: {on_done: false}\n")],
    ids=["option", "setting"],
)
def test_it_stays_when_that_is_wanted(furnished: Place, words: list[str], config: str) -> None:
    furnished.config(config)
    done = furnished.ralph("run", *words)
    assert done.code == 0, done
    assert not (furnished.path / ".ralph" / "archive").exists()
    assert {name for name in FILES if (furnished.folder / name).exists()} == FILES
    assert furnished.passes() == {"STORY-001": True, "STORY-002": True}


def test_a_run_that_is_not_done_archives_nothing(furnished: Place) -> None:
    assert furnished.ralph("run", "-n", "1").code == 1
    assert not (furnished.path / ".ralph" / "archive").exists()
    assert furnished.folder.exists()


def test_open_stories_are_archived_only_when_that_is_meant(tmp_path: Path) -> None:
    place = furnish(make_place(tmp_path, count=3))
    assert place.ralph("run", "-n", "1").code == 1
    before = {name: (place.folder / name).read_bytes() for name in (*FILES, "logs/iteration-1.log")}
    done = place.ralph("archive")
    assert done.code == 1
    assert "not archived: 2 stories are still open" in done.err
    assert {name: (place.folder / name).read_bytes() for name in before} == before
    assert not (place.path / ".ralph" / "archive").exists()
    done = place.ralph("archive", "-y")
    assert done.code == 0, done
    assert re.fullmatch(NAME, place.archived().name)
    assert done.out == f"archived to .ralph/archive/{place.archived().name}\n"
    assert not place.folder.exists()
    assert files(place.archived()) == before


def test_finished_stories_need_no_yes(furnished: Place) -> None:
    assert furnished.ralph("run", "--no-archive").code == 0
    assert furnished.ralph("archive").code == 0
    assert not furnished.folder.exists()
    assert set(files(furnished.archived())) == FILES | LOGS


def test_two_archives_of_one_feature_do_not_meet(furnished: Place) -> None:
    """Made within one second, they would have the same name."""
    kept = [files(furnished.folder)]
    assert furnished.ralph("archive", "-y").code == 0
    furnished.git("checkout", "HEAD", "--", ".ralph/feature-x")
    kept.append(files(furnished.folder))
    assert furnished.ralph("archive", "-y").code == 0
    found = sorted((furnished.path / ".ralph" / "archive").iterdir())
    assert [bool(re.fullmatch(NAME + "(-2)?", path.name)) for path in found] == [True, True]
    assert [files(path) for path in found] == kept


def test_the_folder_of_a_loop_that_goes_on_is_left_alone(tmp_path: Path) -> None:
    wait = {"run": f"until [ -e {tmp_path}/go ]; do sleep 0.02; done"}
    place = furnish(make_place(tmp_path, count=1, script={"default": [{"say": "at it"}, wait, *good()]}))
    runner = place.start("run")
    busy(place)
    done = place.ralph("archive", "-y")
    assert done.code == 1
    assert f"Loop already running for feature-x (PID {runner.pid})" in done.err
    assert place.folder.exists()
    (tmp_path / "go").touch()
    assert runner.wait(20) == 0, place.said()
    assert not place.folder.exists()
