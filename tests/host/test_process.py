"""One child: how it is started, read, bounded, stopped and cancelled."""

import asyncio
import fcntl
import os
import subprocess
import sys
import textwrap
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from ralphloop.core.ports import Command
from ralphloop.host.census import Row, census
from ralphloop.host.process import Bounds, Ended, run

OURS = f"{uuid.uuid4().hex}.1"  # other test runs on this machine must not be touched
QUICK = Bounds(timeout=10, silence=None, kill_grace=0.3, result_grace=0.3)
DEAF = "trap '' TERM; while :; do sleep 0.05; done"


class Case:
    """A folder to run commands in, and what they wrote."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "attempt-1.log"
        self.prompt = folder / "prompt.md"
        self.prompt.write_bytes("do it: äöü\n".encode())
        self.heard = b""
        self.spoke = asyncio.Event()

    def hear(self, data: bytes) -> bool:
        self.heard += data
        self.spoke.set()
        return b"RESULT" in self.heard

    async def start(
        self,
        command: Command | str,
        bounds: Bounds = QUICK,
        *,
        mark: str = OURS,
        held: int | None = None,
        read: Callable[[bytes], bool] | None = None,
        stop: asyncio.Event | None = None,
        beat: Callable[[], None] | None = None,
        cwd: Path | None = None,
    ) -> Ended:
        return await run(
            Command(("sh", "-c", command)) if isinstance(command, str) else command,
            cwd=str(cwd or self.folder),
            log=str(self.log),
            prompt=str(self.prompt),
            mark=mark,
            held=held,
            bounds=bounds,
            read=read or self.hear,
            stop=stop or asyncio.Event(),
            beat=beat,
        )


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case(tmp_path)


def zombies() -> list[Row]:
    return [row for row in census().rows.values() if row.parent == os.getpid() and not row.living]


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.parametrize(
    ("script", "code", "number"),
    [
        ("true", 0, None),
        ("exit 1", 1, None),
        ("exit 173", 173, None),
        ("exit 255", 255, None),
        ("kill -KILL $$", None, 9),
        ("kill -TERM $$", None, 15),
    ],
)
def test_a_natural_end_tells_its_code_or_signal(case: Case, script: str, code: int | None, number: int | None) -> None:
    ended = asyncio.run(case.start(script))
    assert (ended.end, ended.exit_code, ended.signal, ended.leftovers) == ("natural", code, number, ())
    assert ended.seconds < 2
    assert not zombies()


def test_both_streams_are_in_the_log_and_are_read_once(case: Case) -> None:
    case.log.write_bytes(b"from before\n")
    ended = asyncio.run(case.start("echo out; echo err >&2; sleep 0.15; printf 'no newline \\377'"))
    assert case.heard == b"out\nerr\nno newline \xff"
    assert case.log.read_bytes() == b"from before\n" + case.heard
    assert ended.size == len(case.heard)


@pytest.mark.parametrize(("as_file", "expected"), [(False, "do it: äöü\n"), (True, "")])
def test_stdin_is_the_prompt_or_empty(case: Case, as_file: bool, expected: str) -> None:
    asyncio.run(case.start(Command(("cat",), prompt_as_file=as_file)))
    assert case.heard.decode() == expected


def test_environment_folder_and_session(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEPT", "yes")
    monkeypatch.setenv("DROPPED", "x")
    monkeypatch.setenv("RALPH_MARK", "outer.3")
    script = 'echo "$KEPT $ADDED ${DROPPED-none} $RALPH_MARK"; pwd; cut -d" " -f6 /proc/$$/stat; echo $$'
    command = Command(("sh", "-c", script), env={"ADDED": "new"}, unset=("DROPPED", "NEVER_THERE"))
    asyncio.run(case.start(command, mark="7" + OURS))
    words, folder, session, pid = case.heard.decode().split("\n")[:4]
    assert words == f"yes new none 7{OURS}"
    assert folder == str(case.folder)
    assert session.strip() == pid


@pytest.mark.parametrize(
    ("script", "bounds", "end", "number"),
    [
        ("sleep 60", Bounds(timeout=0.2, silence=None, kill_grace=2), "timeout", 15),
        (DEAF, Bounds(timeout=0.2, silence=None, kill_grace=0.2), "timeout", 9),
        (DEAF, Bounds(timeout=0.2, silence=None, kill_grace=0), "timeout", 9),
        ("kill -STOP $$", Bounds(timeout=0.2, silence=None, kill_grace=2), "timeout", 15),
        ("echo hi; sleep 60", Bounds(timeout=9, silence=0.25, kill_grace=2), "silence", 15),
        ("echo RESULT; sleep 60", Bounds(timeout=9, silence=0.1, kill_grace=2, result_grace=0.3), "lingered", 15),
        ("echo RESULT; sleep 60", Bounds(timeout=0.2, silence=None, kill_grace=2, result_grace=0.4), "lingered", 15),
        ("yes", Bounds(timeout=9, silence=None, kill_grace=2, output_limit=1 << 20), "flooded", 15),
    ],
)
def test_what_goes_on_for_too_long_is_ended(case: Case, script: str, bounds: Bounds, end: str, number: int) -> None:
    ended = asyncio.run(case.start(script, bounds))
    assert (ended.end, ended.exit_code, ended.signal) == (end, None, number)
    assert 0.1 <= ended.seconds < 1.5 or end == "flooded"
    assert not zombies()


def test_words_now_and_then_are_no_silence(case: Case) -> None:
    ended = asyncio.run(case.start("for i in 1 2 3 4; do echo $i; sleep 0.15; done", Bounds(9, silence=0.3)))
    assert (ended.end, case.heard) == ("natural", b"1\n2\n3\n4\n")


def test_an_end_within_the_grace_of_the_result_is_natural(case: Case) -> None:
    ended = asyncio.run(case.start("echo RESULT; sleep 0.1; echo after; exit 3"))
    assert (ended.end, ended.exit_code, case.heard) == ("natural", 3, b"RESULT\nafter\n")


def test_last_words_on_term_are_read(case: Case) -> None:
    script = "trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.02; done"
    ended = asyncio.run(case.start(script, Bounds(timeout=0.3, silence=None, kill_grace=2)))
    assert (ended.end, ended.exit_code) == ("timeout", 0)
    assert case.heard.startswith(b"up\n")
    assert case.heard.endswith(b"bye\n")


@pytest.mark.parametrize("before", [True, False])
def test_a_stop_ends_it(case: Case, before: bool) -> None:
    async def stopped() -> Ended:
        stop = asyncio.Event()
        if before:
            stop.set()
        asyncio.get_running_loop().call_later(0.2, stop.set)
        return await case.start("sleep 60", stop=stop)

    ended = asyncio.run(stopped())
    assert (ended.end, ended.signal) == ("stopped", 15)
    assert ended.seconds < 1


def test_the_end_is_noticed_at_once_and_waiting_is_cheap(case: Case) -> None:
    beats: list[float] = []
    used = time.process_time()
    ended = asyncio.run(case.start("sleep 0.8", beat=lambda: beats.append(time.monotonic())))
    assert time.process_time() - used < 0.25
    assert 0.8 <= ended.seconds < 1.1
    assert 5 <= len(beats) <= 14


@pytest.mark.parametrize("missing", [("pidfd_open",), ("pidfd_open", "waitid")])
@pytest.mark.parametrize(("script", "code"), [("exit 4", 4), ("sleep 0.1; exit 5", 5)])
def test_systems_that_cannot_tell_of_an_end_are_asked(
    case: Case, monkeypatch: pytest.MonkeyPatch, missing: tuple[str, ...], script: str, code: int
) -> None:
    for name in missing:
        monkeypatch.delattr(os, name)
    ended = asyncio.run(case.start(script + " & wait $!" if code == 5 else script))
    assert (ended.end, ended.exit_code) == ("natural", code)
    assert asyncio.run(case.start("sleep 60", Bounds(timeout=0.1, silence=None))).signal == 15


def make(path: Path, content: bytes, mode: int) -> str:
    path.write_bytes(content)
    path.chmod(mode)
    return str(path)


def test_what_cannot_be_started_is_explained(case: Case) -> None:
    folder = case.folder
    table: list[tuple[Command, str]] = [
        (Command(("no-such-agent-cli",)), "'no-such-agent-cli': no such file or directory (is it installed"),
        (Command((make(folder / "plain", b"echo\n", 0o644),)), "permission denied (it must be executable"),
        (Command((make(folder / "odd", b"\x00\x01", 0o755),)), "exec format error (it is neither a program"),
        (Command((make(folder / "lost", b"#!/no/such\n", 0o755),)), "does its first line name a program"),
        (Command((str(folder),)), "permission denied"),
        (Command(("true", "x" * 140_000)), "argument list too long (its arguments and environment"),
        (Command(("true",), env={"BIG": "x" * 140_000}), "argument list too long"),
        (Command(("true", "a\0b")), "null byte"),
        (Command(("true",), env={"A=B": "x"}), "illegal environment variable name"),
        (Command(("true", "\ud800")), "surrogates not allowed"),
        (Command(("",)), "no program is named"),
        (Command(()), "no program is named"),
    ]
    for command, expected in table:
        ended = asyncio.run(case.start(command))
        assert (ended.end, ended.exit_code, ended.leftovers) == ("not_started", None, ()), command
        assert expected in ended.problem
    assert not zombies()


def test_a_folder_a_prompt_or_a_log_that_is_missing_is_named(case: Case) -> None:
    ended = asyncio.run(case.start("true", cwd=case.folder / "gone"))
    assert (ended.end, "there is no folder" in ended.problem) == ("not_started", True)
    case.prompt.unlink()
    ended = asyncio.run(case.start("true"))
    assert (ended.end, str(case.prompt) in ended.problem) == ("not_started", True)
    case.log = case.folder / "no" / "log"
    ended = asyncio.run(case.start("true"))
    assert (ended.end, str(case.log) in ended.problem) == ("not_started", True)
    assert asyncio.run(case.start("true", held=987)).end == "not_started"


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_no_descriptor_is_left_open(case: Case) -> None:
    asyncio.run(case.start("true"))
    before = open_files()
    for command in ("true", Command(("no-such-agent-cli",))):
        asyncio.run(case.start(command))
    assert open_files() == before


def test_the_held_lock_is_held_by_the_child_too(case: Case) -> None:
    async def locked_while_running() -> tuple[bool, bool]:
        held = os.open(case.folder / "agents.lock", os.O_RDWR | os.O_CREAT)
        fcntl.flock(held, fcntl.LOCK_EX)
        running = asyncio.create_task(case.start("echo up; sleep 0.5", held=held))
        await case.spoke.wait()
        os.close(held)
        during = try_lock(case.folder / "agents.lock")
        await running
        return during, try_lock(case.folder / "agents.lock")

    assert asyncio.run(locked_while_running()) == (False, True)


def try_lock(path: Path) -> bool:
    with path.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


FLOOD = """
import asyncio, resource, sys
from ralphloop.core.ports import Command
from ralphloop.host.process import Bounds, run

async def flood(size):
    seen = [0]
    def read(data):
        seen[0] += len(data)
        return False
    ended = await run(Command(("head", "-c", str(size), "/dev/zero")), cwd=".", log=f"{size}.log", prompt="/dev/null",
        mark=sys.argv[1], held=None, bounds=Bounds(60, None), read=read, stop=asyncio.Event())
    assert (ended.end, ended.size, seen[0]) == ("natural", size, size), ended

asyncio.run(flood(10))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
asyncio.run(flood(200 << 20))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_one_endless_line_of_200_megabytes_needs_no_memory(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", FLOOD, OURS], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    assert int(done.stdout) < 20_000  # kilobytes


def test_a_reader_that_is_slower_than_the_child_does_not_hold_back_the_limits(case: Case) -> None:
    def slow(data: bytes) -> bool:
        time.sleep(0.02)
        return False

    ended = asyncio.run(
        case.start("yes", Bounds(timeout=0.4, silence=0.2, kill_grace=0.1, output_limit=64 << 20), read=slow)
    )
    assert ended.end in ("timeout", "flooded")
    assert ended.seconds < 30


@pytest.mark.parametrize("times", [1, 2, 5])
@pytest.mark.parametrize("script", ["echo $$; sleep 60", "echo $$; " + DEAF])
def test_a_cancel_ends_the_family_before_it_goes_on(case: Case, times: int, script: str) -> None:
    async def cancelled() -> None:
        running = asyncio.create_task(case.start(script))
        await case.spoke.wait()
        for _ in range(times):
            running.cancel()
            await asyncio.sleep(0.01)
        with pytest.raises(asyncio.CancelledError):
            await running
        assert gone(int(case.heard))

    asyncio.run(cancelled())
    assert not zombies()


def test_a_timeout_around_it_is_a_cancel(case: Case) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(0.3):
            await case.start("echo $$; " + DEAF)

    with pytest.raises(TimeoutError):
        asyncio.run(bounded())
    assert gone(int(case.heard))


def test_a_loop_that_is_closed_leaves_nothing(case: Case) -> None:
    async def leave() -> None:
        background = asyncio.create_task(case.start("echo $$; " + DEAF))
        await case.spoke.wait()
        assert not background.done()

    asyncio.run(leave())
    assert gone(int(case.heard))


def test_a_reader_that_fails_leaves_nothing(case: Case) -> None:
    def fail(data: bytes) -> bool:
        case.hear(data)
        raise RuntimeError("a bug of ours")

    with pytest.raises(RuntimeError, match="a bug of ours"):
        asyncio.run(case.start("echo $$; sleep 60", read=fail))
    assert gone(int(case.heard))


def test_a_killed_reader_loses_no_output(tmp_path: Path) -> None:
    script = textwrap.dedent("""
        import asyncio, sys
        from ralphloop.core.ports import Command
        from ralphloop.host.process import Bounds, run
        command = Command(("sh", "-c", "echo one; sleep 0.4; echo two"))
        asyncio.run(run(command, cwd=".", log="log", prompt="/dev/null", mark=sys.argv[1], held=None,
            bounds=Bounds(9, None), read=lambda data: print("read", flush=True), stop=asyncio.Event()))
    """)
    with subprocess.Popen([sys.executable, "-c", script, OURS], cwd=tmp_path, stdout=subprocess.PIPE) as runner:
        assert runner.stdout and runner.stdout.readline() == b"read\n"
        runner.kill()
    until = time.monotonic() + 5
    while (tmp_path / "log").read_bytes() != b"one\ntwo\n" and time.monotonic() < until:
        time.sleep(0.05)
    assert (tmp_path / "log").read_bytes() == b"one\ntwo\n"
