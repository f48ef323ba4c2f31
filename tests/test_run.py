"""ralph run through the program: until done, by whatever shows that it is done."""

import json
from pathlib import Path

import pytest

from place import Place, busy, good, make_place, nobody_left, wait_for


def test_until_every_story_is_finished(place: Place) -> None:
    done = place.ralph("run")
    assert done.code == 0, done
    assert place.passes() == {"STORY-001": True, "STORY-002": True}
    assert [record["n"] for record in place.records("begun")] == [1, 2]
    assert "Build STORY-002" in place.git("log", "--format=%s")
    assert "2 of 2 stories finished" in done.out


def test_the_promise_ends_a_run_whose_stories_are_finished(tmp_path: Path) -> None:
    place = make_place(tmp_path, count=1, script={"default": good({"claim": "complete"})})
    assert place.ralph("run").code == 0
    assert place.records("attempted")[0]["attempt"]["claim"]["kind"] == "complete"


def test_a_promise_with_open_stories_is_a_false_claim(tmp_path: Path) -> None:
    place = make_place(tmp_path, script={"attempts": [good({"claim": "complete"})], "default": good()})
    done = place.ralph("run")
    assert done.code == 0
    assert "a false claim" in done.out
    assert place.records("judged")[1]["verdict"]["false_claim"]
    assert "That claim was false" in place.prompt(2)


def test_trust_promise_ends_at_once(tmp_path: Path) -> None:
    script = {"attempts": [good({"claim": "complete"})]}
    place = make_place(tmp_path, config="completion: {trust_promise: true}\n", script=script)
    done = place.ralph("run")
    assert done.code == 0
    assert len(place.records("begun")) == 1
    assert "the agent's promise was trusted; 1 of 2 stories are still open" in done.out
    assert "every story is finished" not in done.out


def test_max_iterations(tmp_path: Path) -> None:
    place = make_place(tmp_path, count=5)
    done = place.ralph("run", "-n", "2")
    assert done.code == 1
    assert "max iterations reached (2) with 2 of 5 stories finished" in done.out


def test_a_red_check_takes_the_mark_back_and_is_told(tmp_path: Path) -> None:
    check = "quality_checks: {backend: 'test -f good || { echo nothing good here; exit 3; }'}\n"
    better = [{"write": {"good": "1"}}, *good()]
    place = make_place(tmp_path, count=1, config=check, script={"attempts": [good()], "default": better})
    done = place.ralph("run")
    assert done.code == 0, done
    verdicts = [record["verdict"] for record in place.records("judged")]
    assert verdicts[1]["taken_back"] == ["STORY-001"]
    assert "nothing good here" in place.prompt(2)
    assert "the mark was taken back from STORY-001" in done.out
    assert "nothing good here" in (place.run_folder() / "check-1-backend.log").read_text()


@pytest.mark.parametrize("how", ["no commit", "left uncommitted"])
def test_marked_without_committed_work_does_not_count(tmp_path: Path, how: str) -> None:
    writes = [{"write": {"work.txt": "half\n"}}] if how == "left uncommitted" else []
    script = {"attempts": [[*writes, {"mark": "current"}]], "default": good()}
    place = make_place(tmp_path, count=1, script=script)
    place.ralph("run", "-n", "1")
    assert place.passes() == {"STORY-001": False}
    assert (place.path / "work.txt").exists() == bool(writes)


def test_uncommitted_work_is_committed_by_policy(tmp_path: Path) -> None:
    script = {"default": [{"write": {"work.txt": "whole\n"}}, {"mark": "current"}]}
    place = make_place(tmp_path, count=1, config="completion: {uncommitted: commit}\n", script=script)
    assert place.ralph("run").code == 0
    assert "work.txt" in place.git("show", "--name-only", "--format=%an")
    assert "Ralph-Run: " in place.git("log", "-1", "--format=%b")


def test_uncommitted_work_is_snapshotted_and_stays(tmp_path: Path) -> None:
    script = {"default": [{"write": {"work.txt": "half\n"}}]}
    place = make_place(tmp_path, count=1, script=script)
    place.ralph("run", "-n", "1")
    assert (place.path / "work.txt").read_text() == "half\n"
    ref = f"refs/ralph/{place.run_folder().name}/left-1"
    assert place.git("show", f"{ref}:work.txt") == "half"


def test_json_lines_hold_every_record_and_nothing_else(place: Place) -> None:
    done = place.ralph("run", "--json")
    lines = [json.loads(line) for line in done.out.splitlines()]
    assert next(line for line in lines if line["type"] == "ended")["status"] == "done"
    journal = place.journal()
    assert [line for line in lines if line["type"] in {one["type"] for one in journal}] == journal


def test_told_words_stand_in_the_next_prompt(tmp_path: Path) -> None:
    place = make_place(tmp_path, count=3, script={"default": good()})
    assert place.ralph("run", "-n", "1").code == 1
    place.config("")
    assert place.ralph("tell", "use the blue one").code == 1, "a run that is stuck hears nothing"
    script = {"attempts": [[*good(), {"sleep": 0.1}]], "default": good()}
    place.script(**script)
    assert place.ralph("run").code == 0


def test_a_second_loop_in_a_worktree_is_refused(tmp_path: Path) -> None:
    wait = {"run": f"until [ -e {tmp_path}/go ]; do sleep 0.02; done"}
    place = make_place(tmp_path, script={"attempts": [[{"say": "at it"}, wait, *good()]], "default": good()})
    (place.path / "sub").mkdir()
    runner = place.start("run")
    busy(place)
    journal = place.journal()
    for cwd in (place.path, place.path / "sub"):
        done = place.ralph("run", cwd=cwd)
        assert done.code == 1
        assert f"Loop already running for feature-x (PID {runner.pid})" in done.err
        assert "Traceback" not in done.err
    assert (place.journal(), runner.poll()) == (journal, None)
    assert len(list((place.home / "runs").iterdir())) == 1
    (tmp_path / "go").touch()
    assert runner.wait(20) == 0, place.said()
    assert place.passes() == {"STORY-001": True, "STORY-002": True}
    assert [record["n"] for record in place.records("begun")] == [1, 2]
    assert not place.records("wished")
    assert nobody_left(place)


def test_of_two_loops_begun_at_once_one_works(tmp_path: Path) -> None:
    """Whichever was first does the work, the other one is refused with its number."""
    wait = {"run": f"until [ -e {tmp_path}/go ]; do sleep 0.02; done"}
    place = make_place(tmp_path, count=1, script={"default": [{"say": "at it"}, wait, *good()]})
    runners = [place.start("run") for _ in range(2)]
    refused = wait_for(lambda: next((runner for runner in runners if runner.poll() is not None), None))
    works = next(runner for runner in runners if runner is not refused)
    assert refused.returncode == 1, place.said()
    assert f"Loop already running for feature-x (PID {works.pid})" in place.said()
    (tmp_path / "go").touch()
    assert works.wait(20) == 0, place.said()
    assert len(place.records("begun")) == 1


NINE = [f"word {n}" for n in range(1, 10)]


@pytest.mark.parametrize("words", [[], ["-v"], ["--verbose"]])
def test_verbose_shows_all_that_the_agent_says(tmp_path: Path, words: list[str]) -> None:
    script = {"default": [{"say": "\n".join(NINE)}, {"run": "echo an answer"}, *good()]}
    place = make_place(tmp_path, count=1, script=script)
    done = place.ralph("run", *words)
    assert done.code == 0, done
    said = [line.strip() for line in done.out.splitlines()]
    assert [word for word in NINE if word in said] == (NINE if words else NINE[:4])
    assert ("… 5 more lines" in said) == (not words)
    assert ("← an answer" in said) == bool(words)
    assert done.err.startswith("withheld from the agent: ") if words else done.err == ""
    assert done.err.count("\n") == len(words)


def test_what_is_left_for_a_person_is_said_and_holds_nothing_up(tmp_path: Path) -> None:
    place = make_place(tmp_path, script={"default": good()})
    place.prd.unlink()
    (place.folder / "tasks.md").write_text("- [ ] 1.1 Greet\n- [?] 1.2 Choose a font\n")
    done = place.ralph("run")
    assert done.code == 0, done
    assert "done: every story is finished and proven; 1 left for a person to do" in done.out
