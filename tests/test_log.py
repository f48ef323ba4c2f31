"""ralph log: the same account as `ralph run` gave, told anew or while it goes on."""

import json
import re
import signal
import subprocess
from pathlib import Path

from place import Place, busy, good, make_place, wait_for

CHATTY = [
    {"say": "I begin with {story}"},
    {"write": {"{story}.txt": "built\n"}},
    {"commit": "Build {story}"},
    {"mark": "current"},
]
HALF = [{"say": "one thing"}, {"run": "while ! test -e go; do sleep 0.05; done"}, {"say": "another thing"}]


def told(text: str) -> list[str]:
    """The lines without times of day and without what only the end of `ralph run` says."""
    lines = [re.sub(r"\b\d\d:\d\d:\d\d ", "", line) for line in text.splitlines()]
    return [line for line in lines if not line.startswith("see it again")]


def test_it_is_the_same_account_in_the_same_order(tmp_path: Path) -> None:
    checks = "quality_checks: {seen: 'test -e STORY-001.txt'}\n"
    script = {"attempts": [[{"say": "Nothing yet."}, {"mark": "current"}], CHATTY], "default": good()}
    place = make_place(tmp_path, config=checks, script=script)
    ran = place.ralph("run")
    assert ran.code == 0, ran
    assert told(place.ralph("log").out) == told(ran.out)
    assert told(place.ralph("log", "-f").out) == told(ran.out)
    before_the_end, _, _ = ran.out.partition("the attempt ended")
    assert "Nothing yet." in before_the_end


def test_all_of_it_like_run_with_v(place: Place) -> None:
    ran = place.ralph("run", "-v")
    assert "session " in ran.out
    assert told(place.ralph("log", "-v").out) == told(ran.out)


def test_json_is_what_run_printed(place: Place) -> None:
    ran = place.ralph("run", "--json")
    logged = place.ralph("log", "--json")
    assert [json.loads(line) for line in logged.out.splitlines()] == [json.loads(line) for line in ran.out.splitlines()]


def test_without_the_log_the_last_words_are_left(tmp_path: Path) -> None:
    place = make_place(tmp_path, count=1, script={"default": CHATTY})
    place.ralph("run")
    (place.run_folder() / "attempt-1.log").unlink()
    done = place.ralph("log")
    assert done.code == 0
    before, _, after = done.out.partition("the attempt ended")
    assert "I begin with STORY-001" in before
    assert "STORY-001 is finished" in after


def test_one_iteration(place: Place) -> None:
    place.ralph("run")
    one = place.ralph("log", "-n", "2").out
    assert "2/20  STORY-002" in one
    assert "STORY-001" not in one
    assert "the attempt ended" in one
    missing = place.ralph("log", "-n", "9")
    assert (missing.code, "has no iteration 9" in missing.err) == (1, True)


def test_a_small_number_is_no_run(place: Place) -> None:
    place.ralph("run")
    done = place.ralph("log", "2")
    assert done.code == 64
    assert "`ralph log -n 2`" in done.err


def _following(place: Place, *words: str) -> "tuple[subprocess.Popen[bytes], Path]":
    path = place.home.parent / "followed.txt"
    with path.open("wb") as out:
        follower = subprocess.Popen(
            place.argv("log", "-f", *words), cwd=place.path, env=place.env(), stdin=subprocess.DEVNULL,
            stdout=out, stderr=out,
        )  # fmt: skip
    return follower, path


def test_what_is_said_is_followed_while_it_is_said(tmp_path: Path) -> None:
    place = make_place(tmp_path, count=1, script={"default": [*HALF, *good()]})
    (place.path / ".git" / "info" / "exclude").open("a").write("go\n")
    runner = place.start("run")
    busy(place)
    follower, path = _following(place)
    wait_for(lambda: "one thing" in path.read_text())
    assert "another thing" not in path.read_text()
    (place.path / "go").write_text("")
    assert runner.wait(20) == 0
    assert follower.wait(20) == 0
    assert told(path.read_text()) == told(place.said())


def test_one_iteration_is_followed_to_its_end(tmp_path: Path) -> None:
    place = make_place(tmp_path, script={"attempts": [good(), [*HALF, *good()]], "default": good()}, count=3)
    (place.path / ".git" / "info" / "exclude").open("a").write("go\n")
    runner = place.start("run", "--pause", "1")
    busy(place)
    follower, path = _following(place, "-n", "2")
    wait_for(lambda: "one thing" in path.read_text())
    (place.path / "go").write_text("")
    assert follower.wait(20) == 0
    text = path.read_text()
    assert "another thing" in text
    assert "STORY-002 is finished" in text
    assert "STORY-001" not in text
    assert "STORY-003" not in text
    assert runner.wait(20) == 0


def test_an_iteration_that_never_comes(place: Place) -> None:
    place.ralph("run")
    done = place.ralph("log", "-f", "-n", "7")
    assert (done.code, "has ended before iteration 7" in done.err) == (1, True)


def test_the_first_run_is_waited_for(place: Place) -> None:
    follower, path = _following(place)
    wait_for(lambda: "waiting for the first one" in path.read_text())
    assert place.ralph("run").code == 0
    assert follower.wait(20) == 0
    assert "STORY-002 is finished" in path.read_text()


def test_waiting_ends_with_ctrl_c(place: Place) -> None:
    follower, path = _following(place)
    wait_for(lambda: "waiting for the first one" in path.read_text())
    follower.send_signal(signal.SIGINT)
    assert follower.wait(20) == 130
    assert "Traceback" not in path.read_text()


def test_a_wish_while_the_agent_works_is_told_before_its_end(tmp_path: Path) -> None:
    actions = [{"say": "at it"}, {"run": "$RALPH tell be careful; $RALPH stop; $RALPH stop; sleep 0.5"}, *good()]
    place = make_place(tmp_path, script={"default": actions})
    ran = place.ralph("run", RALPH=" ".join(place.argv()))
    assert ran.code == 1
    logged = place.ralph("log").out
    for text in (ran.out, logged):
        assert text.count("stopping after this iteration") == 1, text
        assert text.index("for the next prompt: be careful") < text.index("the attempt ended")
        assert "stopped, as you asked" in text
    assert json.loads(place.ralph("status", "--json").out)["status"] == "failed"


def test_an_undo_is_told(place: Place) -> None:
    place.ralph("run", "-n", "1")
    assert place.ralph("undo", "-y").code == 0
    assert "how it stood is kept as refs/ralph/" in place.ralph("log").out
