"""What an agent destroys beside its work, a journal that is lost or damaged, a clock that is set back."""

import asyncio
import shutil
import time
from pathlib import Path

import pytest

from place import Place, busy, good, make_place
from ralphloop import api

PLANNED = "an hour of planning\n"


def planning(place: Place, name: str) -> Path:
    file = place.path / ".ralph" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(PLANNED)
    return file


# where the user has planned something and not committed it, and what the agent does
DESTROYED = [
    ("feature-next/spec.md", "git clean -qfdx"),
    ("archive/20260101-000000-old/progress.txt", "git clean -qfdx"),
    ("feature-y/spec.md", "git checkout -q ."),
    ("feature-x/specs/api.md", "git checkout -q ."),
    ("config.yaml", "git checkout -q ."),
]


@pytest.mark.parametrize(("name", "deed"), DESTROYED)
def test_plans_that_were_not_committed_can_be_brought_back(tmp_path: Path, name: str, deed: str) -> None:
    place = make_place(tmp_path, count=1)
    file = place.path / ".ralph" / name
    if "checkout" in deed:
        planning(place, name).write_text("old: 1\n" if name == "config.yaml" else "old\n")
        place.config("")
        place.git("add", "-A")
        place.git("commit", "-qm", "old plans", "--allow-empty")
    if name == "config.yaml":
        file.write_text(f"# {PLANNED}{file.read_text()}")
    else:
        planning(place, name)
    place.script(default=[{"run": deed}, *good()])
    done = place.ralph("run")
    assert done.code == 0, done
    stands = file.read_text() if file.exists() else ""
    kept = place.git("show", f"refs/ralph/{place.run_folder().name}/before-1:.ralph/{name}")
    assert PLANNED.strip() in kept
    assert PLANNED.strip() in stands or (f".ralph/{name}" in done.out and "brings it back" in done.out)


def test_a_finished_feature_that_was_put_away_is_held_too(tmp_path: Path) -> None:
    place = make_place(tmp_path, count=1)
    assert place.ralph("run").code == 0
    archived = place.archived() / "prd.json"
    place.git("switch", "-qc", "feature/z")
    shutil.copytree(place.archived(), place.path / ".ralph" / "feature-z", ignore=shutil.ignore_patterns("logs"))
    (place.path / ".ralph/feature-z/prd.json").write_text(archived.read_text().replace("true", "false"))
    place.git("add", ".ralph/feature-z")
    place.git("commit", "-qm", "more stories")
    place.script(default=[{"run": "git clean -qfdx"}, {"write": {"more.txt": "more"}}, {"commit": "More"}, *good()])
    done = place.ralph("run")
    assert done.code == 0, done
    assert archived.relative_to(place.path).as_posix() in done.out


def test_the_settings_come_back_with_an_undo(tmp_path: Path) -> None:
    place = make_place(tmp_path, count=1)
    config = place.path / ".ralph" / "config.yaml"
    config.write_text(f"# mine\n{config.read_text()}")
    mine = config.read_text()
    assert place.ralph("run").code == 0
    assert place.ralph("undo", "1", "-y").code == 0
    assert config.read_text() == mine


def test_a_run_s_folder_that_is_taken_away_proves_nothing(tmp_path: Path) -> None:
    place = make_place(tmp_path, count=2)
    gone = [{"mark": ["STORY-001", "STORY-002"]}, {"run": f"rm -rf {place.home}/runs/$RALPH_RUN"}]
    place.script(attempts=[gone], default=good())
    done = place.ralph("run")
    assert done.code == 0, done
    assert "was taken away, and its journal has been written anew" in done.out
    assert "the mark was taken back from STORY-001, STORY-002" in done.out
    assert [record["n"] for record in place.records("begun")] == [1, 2, 3]
    assert place.ralph("log").code == 0


def test_marks_that_a_damaged_run_never_judged_prove_nothing(tmp_path: Path) -> None:
    place = make_place(tmp_path, count=2)
    place.script(default=[{"mark": ["STORY-001", "STORY-002"]}, {"say": "marked"}, {"sleep": 60}])
    runner = place.start("run")
    busy(place)
    while place.prd.read_text().count("true") < 2:
        time.sleep(0.02)
    runner.kill()
    runner.wait(20)
    journal = place.run_folder() / "journal.jsonl"
    lines = journal.read_text().splitlines()
    lines[-1] = "garbage"
    journal.write_text("\n".join(lines) + "\n")
    place.script(default=good())
    done = place.ralph("run")
    assert done.code == 0, done
    assert "the mark was taken back from STORY-001, STORY-002" in done.out
    assert len(place.git("log", "--oneline").splitlines()) == 3


@pytest.mark.parametrize("pause", [0.0, 1.0])
def test_a_clock_that_is_set_back_holds_nothing_up(
    tmp_path: Path, pause: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = make_place(tmp_path, count=4)
    monkeypatch.setenv("RALPH_HOME", str(place.home))
    began = time.time()

    def clock() -> float:
        now = time.time()
        return now - 86_400 if now > began + 1 else now

    settings = {"defaults.pause_seconds": (pause, "test")}
    request = api.Request(folder=str(place.path), settings=settings, trust=True)
    state = asyncio.run(asyncio.wait_for(api.run(request, clock=clock), 30))
    assert state.end is not None
    assert state.end.status == "done"
