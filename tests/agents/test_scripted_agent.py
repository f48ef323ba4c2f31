"""The scripted agent, every action of it really run and read back through claude's stream."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TypeVar

import pytest

from ralphloop.agents.claude_stream import ClaudeStream
from ralphloop.agents.scripted import PLAYER
from ralphloop.core.event import (
    Event,
    Finished,
    LimitMet,
    Retrying,
    Said,
    SessionStarted,
    Tokens,
    ToolAnswered,
    ToolCalled,
    Unread,
)

Kind = TypeVar("Kind")
FEATURE = ".ralph/words"
STORIES = [
    {"id": "STORY-001", "title": "Count words", "acceptanceCriteria": ["ü counts"], "priority": 1, "passes": False},
    {"id": "STORY-002", "title": "Turn words", "acceptanceCriteria": [], "priority": 2, "passes": False},
]
TASKS = "# Tasks\n\n- [ ] 1.1 First\n* [x] 1.2 Second\n1. [ ] 1.3 Third\n- [ ] no number\n"


def surroundings(folder: Path, **told: object) -> dict[str, str]:
    """What the agent sees: nothing of this machine but PATH."""
    kept = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    run = {"RALPH_ITERATION": 1, "RALPH_TRY": 1, "RALPH_STORY": "STORY-001", "RALPH_FEATURE_DIR": FEATURE, **told}
    return kept | {name: str(value) for name, value in run.items()}


def start(folder: Path, script: object, **told: object) -> subprocess.Popen[bytes]:
    file = folder / "script.json"
    file.write_text(script if isinstance(script, str) else json.dumps(script))
    return subprocess.Popen(
        [sys.executable, "-I", str(PLAYER), str(file)],
        cwd=folder,
        env=surroundings(folder, **told),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


@contextmanager
def running(folder: Path, *actions: object) -> Iterator[tuple[subprocess.Popen[bytes], IO[bytes]]]:
    """An agent that has got its prompt, and its output; it is ended at the end."""
    with start(folder, {"default": list(actions)}) as child:
        try:
            assert child.stdin and child.stdout
            child.stdin.close()
            yield child, child.stdout
        finally:
            child.kill()


def ended(folder: Path, script: object, prompt: bytes = b"", **told: object) -> tuple[int, bytes, str]:
    child = start(folder, script, **told)
    try:
        output, errors = child.communicate(prompt, timeout=20)
    finally:
        child.kill()
    return child.returncode, output, errors.decode()


def play(folder: Path, *actions: object, prompt: bytes = b"", code: int = 0, **told: object) -> list[Event]:
    returned, output, errors = ended(folder, {"attempts": [list(actions)]}, prompt, **told)
    assert (returned, errors) == (code, "")
    stream = ClaudeStream()
    return [*stream.feed(output), *stream.close()]


def only(kind: type[Kind], events: list[Event]) -> list[Kind]:
    return [event for event in events if isinstance(event, kind)]


def finished(events: list[Event]) -> Finished:
    (last,) = only(Finished, events)
    return last


def git(folder: Path, *words: str) -> str:
    ran = subprocess.run(["git", *words], cwd=folder, env=surroundings(folder), capture_output=True, check=True)
    return ran.stdout.decode()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    feature = tmp_path / FEATURE
    feature.mkdir(parents=True)
    (feature / "prd.json").write_text(json.dumps({"description": "grüße", "userStories": STORIES}, ensure_ascii=False))
    git(tmp_path, "init", "-q", "-b", "words")
    return tmp_path


def passes(repository: Path) -> list[bool]:
    return [story["passes"] for story in json.loads((repository / FEATURE / "prd.json").read_text())["userStories"]]


def test_a_session_speaks_claudes_stream(tmp_path: Path) -> None:
    events = play(tmp_path, {"say": "hello ü"}, {"cost": 0.5}, {"tokens": {"input": 7, "output": 3}})
    assert only(SessionStarted, events)[0].model == "scripted"
    assert only(Said, events) == [Said("hello ü")]
    assert finished(events) == Finished("hello ü", tokens=Tokens(7, 3), cost=0.5, turns=1)
    assert only(Unread, events) == []


def test_tokens_are_counted_when_the_script_tells_none(tmp_path: Path) -> None:
    assert finished(play(tmp_path, {"say": "a"}, {"say": "b"})).tokens == Tokens(20, 10)
    assert finished(play(tmp_path)) == Finished("", tokens=Tokens(), cost=0.0, turns=1)


def test_files_are_written_appended_and_deleted(tmp_path: Path) -> None:
    events = play(
        tmp_path,
        {"write": {"src/a.py": "one\r\n", "b.txt": "ü"}},
        {"append": {"src/a.py": "two", "new/c.txt": "c"}},
        {"delete": "b.txt"},
        {"delete": ["new", "not there"]},
    )
    assert (tmp_path / "src/a.py").read_bytes() == b"one\r\ntwo"
    assert not (tmp_path / "b.txt").exists() and not (tmp_path / "new").exists()
    assert [call.name for call in only(ToolCalled, events)] == [
        "Write",
        "Write",
        "Edit",
        "Edit",
        "Bash",
        "Bash",
        "Bash",
    ]
    assert [answer.ok for answer in only(ToolAnswered, events)] == [True] * 6 + [False]


def test_a_file_that_cannot_be_written_is_a_failed_tool(tmp_path: Path) -> None:
    events = play(tmp_path, {"write": {"a": "x"}}, {"write": {"a/b": "x"}}, {"say": "still here"})
    assert [answer.ok for answer in only(ToolAnswered, events)] == [True, False]
    assert finished(events).text == "still here"


def test_commit_holds_what_the_agent_touched_and_nothing_else(repository: Path) -> None:
    (repository / "mine.txt").write_text("the user's")
    events = play(
        repository, {"write": {"a.txt": "1", "b.txt": "2"}}, {"commit": "first: it's done"}, {"commit": "again"}
    )
    assert git(repository, "log", "--format=%an|%s").splitlines() == ["Scripted Agent|first: it's done"]
    assert git(repository, "ls-files").split() == ["a.txt", "b.txt"]
    assert [answer.ok for answer in only(ToolAnswered, events)] == [True, True, True, False]
    play(repository, {"delete": "a.txt"}, {"write": {"c.txt": "3"}}, {"delete": "c.txt"}, {"commit": "second"})
    assert git(repository, "ls-files").split() == ["b.txt"]


@pytest.mark.parametrize(
    ("actions", "expected"),
    [
        ([{"mark": "current"}], [True, False]),
        ([{"mark": "STORY-002"}], [False, True]),
        ([{"mark": ["STORY-001", "STORY-002"]}, {"unmark": "current"}], [False, True]),
        ([{"mark": "STORY-009"}], [False, False]),
    ],
)
def test_stories_are_marked(repository: Path, actions: list[object], expected: list[bool]) -> None:
    events = play(repository, *actions)
    assert passes(repository) == expected
    assert all(answer.ok for answer in only(ToolAnswered, events)) is (actions != [{"mark": "STORY-009"}])
    assert "ü counts" in (repository / FEATURE / "prd.json").read_text()


@pytest.mark.parametrize(
    ("action", "story", "changed"),
    [
        ({"mark": "current"}, "1.3", {"1. [ ] 1.3": "1. [x] 1.3"}),
        ({"mark": "1.1"}, "1.3", {"- [ ] 1.1": "- [x] 1.1"}),
        ({"mark": "no number"}, "", {"- [ ] no": "- [x] no"}),
        ({"mark": "current"}, "", {"- [ ] 1.1": "- [x] 1.1"}),
        ({"unmark": "1.2"}, "", {"* [x] 1.2": "* [ ] 1.2"}),
    ],
)
@pytest.mark.parametrize("source", ["", "changes/tasks.md"])
def test_tasks_are_marked(tmp_path: Path, action: object, story: str, changed: dict[str, str], source: str) -> None:
    file = tmp_path / (source or f"{FEATURE}/tasks.md")
    file.parent.mkdir(parents=True)
    file.write_text(TASKS)
    play(tmp_path, action, RALPH_STORY=story, RALPH_SOURCE=source)
    ((before, after),) = changed.items()
    assert file.read_text() == TASKS.replace(before, after)


def test_a_story_file_that_is_no_json_is_a_failed_tool(repository: Path) -> None:
    (repository / FEATURE / "prd.json").write_text("{")
    assert [answer.ok for answer in only(ToolAnswered, play(repository, {"mark": "current"}))] == [False]


def test_progress_is_written_in_entries(repository: Path) -> None:
    work = [{"write": {"a.txt": "1"}}, {"mark": "current"}, {"commit": "one"}, {"progress": "words have ends"}]
    play(repository, *work, {"unmark": "current"}, {"progress": "again"}, RALPH_ITERATION=1)
    header, first, second = (repository / FEATURE / "progress.txt").read_text().split("\n---\n")
    assert re.fullmatch(r"# Progress Log: words\n# Started: \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\n", header)
    for line in (
        "Iteration: 1",
        "Story: STORY-001 - Count words",
        "Status: complete",
        "  - a.txt",
        "  - words have ends",
    ):
        assert line in first.splitlines()
    assert re.search(r"^Commit: [0-9a-f]{7,}$", first, re.MULTILINE)
    assert "Status: in-progress" in second


@pytest.mark.parametrize(
    ("claim", "told", "text"),
    [
        ("complete", {}, "<promise>COMPLETE</promise>"),
        ("complete", {"RALPH_PROMISE": "<promise>ALL</promise>"}, "<promise>ALL</promise>"),
        ("story", {}, "<promise>STORY_COMPLETE</promise>"),
        ({"failed": "no network"}, {}, "<promise>FAILED: no network</promise>"),
    ],
)
def test_a_claim_is_the_last_word(tmp_path: Path, claim: object, told: dict[str, Any], text: str) -> None:
    events = play(tmp_path, {"claim": claim}, {"say": "done"}, **told)
    assert finished(events).text == text
    assert only(Said, events) == [Said("done"), Said(text)]


def test_the_prompt_can_be_shown(tmp_path: Path) -> None:
    (answer,) = only(ToolAnswered, play(tmp_path, "echo_prompt", prompt="Story: ü <promise>".encode()))
    assert answer == ToolAnswered(True, "Story: ü <promise>", "Bash")
    assert len(play(tmp_path, "echo_prompt", prompt=b"x" * 500_000)) == len(play(tmp_path, "echo_prompt"))


def test_commands_are_run(repository: Path) -> None:
    events = play(
        repository,
        {"run": "echo out; echo err >&2; exit 3"},
        {"run": "cat"},
        {"git": ["commit", "--allow-empty", "-m", "x"]},
    )
    assert only(ToolCalled, events)[0] == ToolCalled("Bash", "echo out; echo err >&2; exit 3")
    assert only(ToolAnswered, events)[:2] == [ToolAnswered(False, "out err", "Bash"), ToolAnswered(True, "", "Bash")]
    assert git(repository, "log", "--format=%s").split() == ["x"]


def test_an_error_and_a_limit_end_with_1(tmp_path: Path) -> None:
    assert (
        finished(play(tmp_path, {"error": "API Error: 500"}, {"claim": "complete"}, code=1)).error == "API Error: 500"
    )
    before = time.time()
    events = play(tmp_path, {"limit": {"resets_in": 100}}, {"write": {"never.txt": ""}}, code=1)
    ((limit),) = only(LimitMet, events)
    assert limit.resets_at and -1 <= limit.resets_at - before - 100 <= 20
    assert finished(events).error.startswith("You've hit your 5-hour limit")
    assert not (tmp_path / "never.txt").exists()
    assert [event.resets_at for event in only(LimitMet, play(tmp_path, "limit", code=1))] == [None]


def test_retries_are_told(tmp_path: Path) -> None:
    assert only(Retrying, play(tmp_path, {"api_retry": 2})) == [
        Retrying(1, 2, 0.5, "529 overloaded_error"),
        Retrying(2, 2, 1.0, "529 overloaded_error"),
    ]


@pytest.mark.parametrize(
    ("action", "size", "lines"),
    [
        ({"flood": {"bytes": 160_000}}, 160_000 - 2_000, 2_000),
        ({"flood": 80}, 79, 1),
        ({"flood": {"bytes": 3_000_000, "line": True}}, 3_000_000, 1),
        ({"raw": "no json ü\n"}, 10, 1),
    ],
)
def test_noise_is_written_as_it_is(tmp_path: Path, action: object, size: int, lines: int) -> None:
    unread = only(Unread, play(tmp_path, action))
    assert (sum(event.size for event in unread), sum(event.lines for event in unread)) == (size, lines)


def test_binary_is_the_same_every_time(tmp_path: Path) -> None:
    one, other = (ended(tmp_path, {"default": [{"binary": 5_000}, "no_result"]})[1] for _ in range(2))
    assert one.partition(b"\n")[2] == other.partition(b"\n")[2]
    assert len(one.partition(b"\n")[2]) == 5_000


@pytest.mark.parametrize("actions", [["no_result"], ["no_result", {"say": "x"}]])
def test_without_a_result(tmp_path: Path, actions: list[object]) -> None:
    assert only(Finished, play(tmp_path, *actions)) == []


def test_exit_code_and_signal(tmp_path: Path) -> None:
    assert finished(play(tmp_path, {"exit": 7}, {"say": "x"}, code=7)).text == "x"
    assert only(Finished, play(tmp_path, {"kill_self": "KILL"}, code=-9)) == []
    assert only(Finished, play(tmp_path, {"kill_self": "sigterm"}, code=-15)) == []
    assert only(Finished, play(tmp_path, {"kill_self": 6}, code=-6)) == []


def test_sleep_and_a_life_after_the_result(tmp_path: Path) -> None:
    begun = time.monotonic()
    with running(tmp_path, {"sleep": 0.2}, {"say": "x"}, {"after_result": 30}) as (child, output):
        while b'"result"' not in output.readline():
            pass
        assert time.monotonic() - begun >= 0.2
        assert child.poll() is None


@pytest.mark.parametrize(("deaf", "code"), [(False, -signal.SIGTERM), (True, -signal.SIGKILL)])
def test_hang_ends_by_a_signal_and_ignore_term_makes_it_deaf(tmp_path: Path, deaf: bool, code: int) -> None:
    with running(tmp_path, *(["ignore_term"] if deaf else []), {"say": "ready"}, "hang") as (child, output):
        while b"ready" not in output.readline():
            pass
        child.terminate()
        if deaf:
            with pytest.raises(subprocess.TimeoutExpired):
                child.wait(0.3)
            child.kill()
        assert child.wait(10) == code


@pytest.mark.parametrize(("session", "holds"), [(False, False), (True, False), (True, True)])
def test_a_child_is_left_behind(tmp_path: Path, session: bool, holds: bool) -> None:
    how = {"seconds": 30, "session": session, "holds_output": holds}
    with running(tmp_path, {"spawn": how}) as (agent, output):
        lines = [output.readline() for _ in range(4)]
        found = re.search(rb"pid (\d+)", lines[2])
        assert found
        pid = int(found[1])
        try:
            assert agent.wait(10) == 0
            assert (os.getsid(pid) == pid) is session
            os.set_blocking(output.fileno(), False)
            assert output.read() == (None if holds else b"")
        finally:
            os.kill(pid, signal.SIGKILL)


TRIES = {
    "attempts": [[{"say": "attempt 1"}], [{"say": "attempt 2"}]],
    "stories": {"STORY-002": [[{"say": "try 1 of {story}"}], [{"say": "try {try} in {iteration} at {feature}"}]]},
    "default": [{"say": "default"}],
}


@pytest.mark.parametrize(
    ("iteration", "story", "attempt", "text"),
    [
        (1, "STORY-001", 1, "attempt 1"),
        (2, "STORY-001", 1, "attempt 2"),
        (3, "STORY-001", 1, "default"),
        (1, "STORY-002", 1, "try 1 of STORY-002"),
        (9, "STORY-002", 2, f"try 2 in 9 at {FEATURE}"),
        (9, "STORY-002", 5, f"try 5 in 9 at {FEATURE}"),
        ("", "", "x", "attempt 1"),
        (0, 'q"uote', -1, "attempt 1"),
    ],
)
def test_which_actions_are_played(tmp_path: Path, iteration: object, story: str, attempt: object, text: str) -> None:
    told: dict[str, Any] = {"RALPH_ITERATION": iteration, "RALPH_STORY": story, "RALPH_TRY": attempt}
    assert f'"result": "{text}"' in ended(tmp_path, TRIES, **told)[1].decode()


def test_names_are_filled_into_keys_and_texts(tmp_path: Path) -> None:
    play(tmp_path, {"write": {"{story}.txt": 'it is "{story}" {else}'}}, RALPH_STORY='a"b\\')
    assert (tmp_path / 'a"b\\.txt').read_text() == 'it is "a"b\\" {else}'


def test_a_script_can_be_yaml(tmp_path: Path) -> None:
    (tmp_path / "script.yaml").write_text("default:\n  - say: |\n      two\n      lines\n  - claim: story\n")
    code = subprocess.run(
        [sys.executable, "-I", str(PLAYER), "script.yaml"],
        cwd=tmp_path, env=surroundings(tmp_path), stdin=subprocess.DEVNULL, capture_output=True, check=False,
    )  # fmt: skip
    assert (code.returncode, code.stderr) == (0, b"")
    assert b"STORY_COMPLETE" in code.stdout


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ({"default": [{"fly": 1}]}, "unknown action 'fly'; known: after_result, api_retry, "),
        ({"default": ["hagn"]}, "unknown action 'hagn'"),
        ({"default": [{"say": "a", "run": "b"}]}, "unknown action {'say': 'a', 'run': 'b'}"),
        ({"default": [None]}, "unknown action None"),
        ({"default": [{"write": "a.txt"}]}, "write cannot be played: AttributeError"),
        ({"default": [{"claim": "everything"}]}, "claim cannot be played: KeyError: 'everything'"),
        ({"default": [{"sleep": "long"}]}, "sleep cannot be played: TypeError"),
        ({"default": [{"kill_self": "nothing"}]}, "kill_self cannot be played: AttributeError"),
        ({"stories": [1]}, "the script cannot be played: AttributeError"),
        ([1], "a script is a mapping"),
        ("", "script.json: Expecting value"),
        ('{"default": [', "script.json: Expecting value"),
        ("[" * 100_000, "script.json: maximum recursion"),
    ],
)
def test_a_script_that_cannot_be_played(tmp_path: Path, script: object, message: str) -> None:
    code, _, errors = ended(tmp_path, script)
    assert code == 64
    assert errors.startswith("scripted agent: ") and message in errors


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("none.yaml", None, "cannot be read"),
        ("bytes.yaml", b"\xff\xfe", "cannot be read"),
        ("bad.yaml", b"a: [", "while parsing"),
        ("empty.yaml", b"", "a script is a mapping"),
    ],
)
def test_a_script_that_cannot_be_read(tmp_path: Path, name: str, content: bytes | None, message: str) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    argv = [sys.executable, "-I", str(PLAYER), name]
    ran = subprocess.run(argv, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert ran.returncode == 64
    assert name in ran.stderr and message in ran.stderr


def test_every_action_is_tested_here(tmp_path: Path) -> None:
    names = ended(tmp_path, {"default": ["?"]})[2].partition("known: ")[2].split(", ")
    source = Path(__file__).read_text()
    assert len(names) == 28
    assert [name for name in names if f'"{name.strip()}"' not in source] == []


def test_more_than_one_script_is_refused() -> None:
    ran: Any = subprocess.run([sys.executable, "-I", str(PLAYER)], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (64, "scripted agent: give it one script: scripted_agent.py SCRIPT\n")
