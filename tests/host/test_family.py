"""What comes out of a child is found and ended, whatever it does; nobody else is touched."""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ralphloop.core.ports import Command
from ralphloop.host import family
from ralphloop.host.census import LONGEST, Row, alive, census, describe, read_row, start_time
from ralphloop.host.family import Family, end_marked
from ralphloop.host.process import Bounds, Ended, run

QUICK = Bounds(timeout=10, silence=None, kill_grace=0.5, result_grace=0.3)
OURS = uuid.uuid4().hex  # in every mark, for other test runs on this machine must not be touched
CHILD = "import os, signal, subprocess, sys, time\n"


async def start(folder: Path, code: str, mark: str, *, bounds: Bounds = QUICK, token: str = "") -> Ended:
    """Runs Python code as an agent, or shell code when it begins with `sh:`."""
    python = (sys.executable, "-S", "-E", "-c", CHILD + textwrap.dedent(code), token)
    argv = ("sh", "-c", code[3:].replace("TOKEN", token)) if code.startswith("sh:") else python
    return await run(
        Command(argv),
        cwd=str(folder),
        log=str(folder / f"{mark}.log"),
        prompt=os.devnull,
        mark=OURS + mark,
        held=None,
        bounds=bounds,
        read=lambda data: False,
        stop=asyncio.Event(),
    )


@pytest.fixture
def token() -> Iterator[str]:
    """A word on the command lines of a test's processes; what is left of them is ended after it."""
    word = f"7{uuid.uuid4().int % 10**9:09}"
    yield word
    for pid in carrying(word):
        os.kill(pid, signal.SIGKILL)
    for pid in zombies():
        os.waitpid(pid, os.WNOHANG)


def carrying(token: str) -> list[int]:
    """The living processes with this word on their command line."""
    found = []
    for row in census().rows.values():
        try:
            words = Path("/proc", str(row.pid), "cmdline").read_bytes()
        except OSError:
            continue
        if token.encode() in words and row.living and row.pid != os.getpid():
            found.append(row.pid)
    return found


@contextmanager
def child(*argv: str | bytes, executable: str | None = None) -> Iterator["subprocess.Popen[bytes]"]:
    """A process that this test itself started, in a session of its own; ended with the block."""
    with subprocess.Popen(argv, executable=executable, start_new_session=True) as process:
        try:
            yield process
        finally:
            process.kill()


def zombies() -> list[int]:
    return [row.pid for row in census().rows.values() if row.parent == os.getpid() and not row.living]


SETSID = """
    subprocess.Popen(["sleep", sys.argv[1]], start_new_session=True)
"""
HOLDS_STDOUT = "sh:sleep TOKEN & echo started"
IGNORES_TERM = "sh:(trap '' TERM; while :; do sleep 0.05; : TOKEN; done) & exit 0"
STOPPED = "sh:sleep TOKEN & kill -STOP $!"
DAEMON_BY_DEFAULT = """
    if os.fork(): os._exit(0)
    os.setsid()
    if os.fork(): os._exit(0)
    os.closerange(0, 50)
    os.chdir("/")
    time.sleep(60)
"""
CLEARED_ENVIRONMENT = """
    if os.fork(): time.sleep(0.3); os._exit(0)
    os.setsid()
    if os.fork(): time.sleep(0.1); os._exit(0)
    os.closerange(0, 50)
    time.sleep(0.05)
    os.execve("/bin/sleep", ["sleep", sys.argv[1]], {})
"""
CLEARED_BUT_WRITES_THE_LOG = """
    if os.fork(): os._exit(0)
    os.setsid()
    if os.fork(): os._exit(0)
    os.execve("/bin/sleep", ["sleep", sys.argv[1]], {})
"""
CLEARED_IN_THE_SESSION = """
    if os.fork(): os._exit(0)
    os.closerange(0, 50)
    os.execve("/bin/sleep", ["sleep", sys.argv[1]], {})
"""
CLEARED_AT_ONCE = "sh:env -i setsid --fork sleep TOKEN </dev/null >/dev/null 2>&1"
CLEARED_TWICE = f"{CLEARED_AT_ONCE}; cd /; {CLEARED_AT_ONCE[3:]}"
CLEARED_AND_BARE = """
    if os.fork(): os._exit(0)
    os.setsid()
    os.closerange(0, 50)
    os.chdir("/")
    if os.fork(): os._exit(0)
    os.execve("/bin/sleep", ["sleep", sys.argv[1]], {})
"""
NOTHING_LEFT = """
    import resource
    if os.fork(): os._exit(0)
    os.setsid()
    os.closerange(0, 50)
    os.chdir("/")
    resource.setrlimit(resource.RLIMIT_RTTIME, (resource.RLIM_INFINITY,) * 2)
    if os.fork(): os._exit(0)
    os.execve("/bin/sleep", ["sleep", sys.argv[1]], {})
"""
CHILD_OF_A_CLEARED_ONE = """
    if os.fork(): time.sleep(0.3); os._exit(0)
    os.setsid()
    os.closerange(0, 50)
    script = "setsid sleep $0 & setsid sleep $0 & exec sleep $0"
    os.execve("/bin/sh", ["sh", "-c", script, sys.argv[1]], {"PATH": os.environ["PATH"]})
"""


@pytest.mark.parametrize(
    ("code", "at_least"),
    [
        (SETSID, 1),
        (HOLDS_STDOUT, 1),
        (IGNORES_TERM, 1),
        (STOPPED, 1),
        (DAEMON_BY_DEFAULT, 1),
        (CLEARED_ENVIRONMENT, 1),
        (CLEARED_BUT_WRITES_THE_LOG, 1),
        (CLEARED_IN_THE_SESSION, 1),
        (CLEARED_AT_ONCE, 1),
        (CLEARED_TWICE, 2),
        (CLEARED_AND_BARE, 1),
        (NOTHING_LEFT, 1),
        (CHILD_OF_A_CLEARED_ONE, 3),
    ],
)
def test_what_outlives_the_child_is_ended_and_named(tmp_path: Path, token: str, code: str, at_least: int) -> None:
    ended = asyncio.run(start(tmp_path, code, "stays.1", token=token))
    assert (ended.end, ended.exit_code) == ("natural", 0)
    assert len(ended.leftovers) >= at_least, ended
    assert carrying(token) == []
    assert zombies() == []
    assert ended.seconds < 2.5


FORKS_ON_TERM = """
    def again(*_):
        if os.fork(): os._exit(0)
    signal.signal(signal.SIGTERM, again)
    while True: time.sleep(0.05)
"""
HOPS = """
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for _ in range(1500):  # should it get away, it does not get far
        if os.fork(): os._exit(0)
        time.sleep(0.001)
"""
HOPS_THROUGH_SESSIONS = """
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for _ in range(1500):  # should it get away, it does not get far
        if os.fork(): os._exit(0)
        os.setsid()
        time.sleep(0.002)
"""
MULTIPLIES = """
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for _ in range(8):
        os.fork()
    time.sleep(60)
"""
REPLACES_ITS_CHILDREN = """
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    children = [subprocess.Popen(["sleep", sys.argv[1]], start_new_session=True) for _ in range(5)]
    while True:
        for index, child in enumerate(children):
            if child.poll() is not None:
                children[index] = subprocess.Popen(["sleep", sys.argv[1]], start_new_session=True)
        time.sleep(0.005)
"""


@pytest.mark.parametrize("code", [FORKS_ON_TERM, HOPS, HOPS_THROUGH_SESSIONS, MULTIPLIES, REPLACES_ITS_CHILDREN])
def test_who_forks_does_not_get_away(tmp_path: Path, token: str, code: str) -> None:
    bounds = Bounds(timeout=0.5, silence=None, kill_grace=0.2)
    asyncio.run(start(tmp_path, code, "forks.1", bounds=bounds, token=token))
    time.sleep(0.02)
    assert carrying(token) == []
    if code != HOPS_THROUGH_SESSIONS:  # its dead look like children that somebody else here started
        assert zombies() == []


def test_those_who_go_with_the_child_are_no_leftovers(tmp_path: Path, token: str) -> None:
    bounds = Bounds(timeout=0.2, silence=None, kill_grace=2)
    ended = asyncio.run(start(tmp_path, "sh:sleep TOKEN & sleep TOKEN & wait", "tree.1", bounds=bounds, token=token))
    assert (ended.end, ended.leftovers) == ("timeout", ())
    assert carrying(token) == []


def test_many_leftovers_are_counted_and_long_ones_are_cut(tmp_path: Path, token: str) -> None:
    code = "sh:i=0; while [ $i -lt 25 ]; do sleep TOKEN LONG & i=$((i+1)); done; sleep 0.3".replace("LONG", "0" * 200)
    ended = asyncio.run(start(tmp_path, code, "many.1", token=token))
    assert ended.leftovers[-1] == "… and 5 more"
    assert len(ended.leftovers) == 21
    assert all(len(line) <= LONGEST for line in ended.leftovers)


def test_short_lived_orphans_leave_no_zombies(tmp_path: Path) -> None:
    code = "sh:for i in 1 2 3 4 5; do (sleep 0.05 &); setsid sh -c '(true &) ; true'; done; sleep 0.4"
    assert asyncio.run(start(tmp_path, code, "orphans.1")).leftovers == ()
    assert zombies() == []


def test_another_loop_and_other_children_are_left_alone(tmp_path: Path, token: str) -> None:
    async def side_by_side() -> tuple[Ended, bool]:
        other = asyncio.create_task(
            start(tmp_path, "sh:setsid sleep TOKEN & sleep 1.2; kill $!; wait; exit 0", "one.1", token=token)
        )
        await asyncio.sleep(0.1)
        neighbours = carrying(token)
        ended = await start(tmp_path, DAEMON_BY_DEFAULT, "one.12")
        untouched = neighbours == carrying(token) and not other.done()
        last = await other
        assert (last.end, last.exit_code, last.leftovers) == ("natural", 0, ())
        return ended, untouched

    with child("sleep", "60") as stranger, child("sh", "-c", "exit 7") as dead:
        ended, untouched = asyncio.run(side_by_side())
        assert untouched
        assert ended.leftovers
        assert stranger.poll() is None
        assert dead.wait() == 7


def test_a_daemon_without_environment_is_ended_with_its_own_loop(tmp_path: Path, token: str) -> None:
    """Nobody saw where it came from: both loops have adopted orphans, and each ends its own."""

    async def side_by_side() -> tuple[Ended, Ended]:
        other = asyncio.create_task(start(tmp_path, CLEARED_AT_ONCE + "; sleep 1.2", "one.1", token=token))
        await asyncio.sleep(0.3)
        before = carrying(f"\0{token}")
        first = await start(tmp_path, CLEARED_AT_ONCE, "two.1", token="5" + token)
        assert not other.done()
        assert before and before == carrying(f"\0{token}")
        return first, await other

    first, other = asyncio.run(side_by_side())
    assert [name.endswith(f"sleep 5{token}") for name in first.leftovers] == [True]
    assert other.leftovers == (f"sleep {token}",)
    assert carrying(token) == []


def test_a_stray_is_nobodys_when_two_loops_may_have_lost_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with child("sleep", "60") as one, child("sleep", "60") as other:
        monkeypatch.setattr(family, "CHILDREN", {one.pid})
        mine = Family(lambda mark: False, one)
        adopted = Row(7, 0, os.getpid(), 6, 6, "S")
        own_session = Row(7, 0, os.getpid(), 7, 7, "S")
        assert mine._is_stray(adopted)
        assert not mine._is_stray(own_session), "whoever uses the library may have started it"
        assert not mine._is_stray(Row(7, 0, os.getppid(), 6, 6, "S"))
        assert not mine._is_stray(Row(7, 0, os.getpid(), 6, os.getsid(0), "S"))
        Family(lambda mark: False, other)
        assert not mine._is_stray(adopted)
        here = Row(other.pid, 0, os.getpid(), 6, 6, "S")
        assert Family(lambda mark: False, one, place=str(Path.cwd()))._is_stray(here), "it stands in our folder"
        assert not Family(lambda mark: False, one, place="/nowhere")._is_stray(here)


def test_what_a_program_starts_beside_its_loops_is_left_alone(tmp_path: Path, token: str) -> None:
    """From other threads, without environment, in sessions of their own: as an adopted orphan looks."""
    started: list[subprocess.Popen[bytes]] = []
    over = threading.Event()

    def work() -> None:
        while not over.is_set() and len(started) < 200:
            started.append(subprocess.Popen(["/bin/sleep", token], env={}, start_new_session=True))

    async def loops() -> None:
        for n in range(12):
            ended = await start(tmp_path, CLEARED_AT_ONCE, f"beside.{n}", token="5" + token)
            assert [name.endswith(f"sleep 5{token}") for name in ended.leftovers] == [True]

    thread = threading.Thread(target=work)
    thread.start()
    try:
        asyncio.run(loops())
    finally:
        over.set()
        thread.join()
    living = [process.poll() is None for process in started]
    for process in started:
        process.kill()
        process.wait()
    assert all(living) and len(living) > 12


def test_forty_at_once(tmp_path: Path, token: str) -> None:
    async def all_of_them() -> list[Ended]:
        code = "sh:setsid sleep TOKEN & sleep 0.2; exit 3"
        return await asyncio.gather(*(start(tmp_path, code, f"many.{n}", token=token) for n in range(40)))

    ended = asyncio.run(all_of_them())
    assert {(one.end, one.exit_code, len(one.leftovers)) for one in ended} == {("natural", 3, 1)}
    assert carrying(token) == []
    assert zombies() == []


RUNNER = """
import asyncio, sys
from ralphloop.core.ports import Command
from ralphloop.host.process import Bounds, run
script = "sleep $0 & setsid sleep $0 & env -i setsid --fork sleep $0 </dev/null >&- 2>&-; echo up; exec sleep $0"
asyncio.run(run(Command(("sh", "-c", script, sys.argv[2])), cwd=".", log=sys.argv[1] + "log", prompt="/dev/null",
    mark=sys.argv[1], held=None, bounds=Bounds(60, None), stop=asyncio.Event(),
    read=lambda data: print("up", flush=True)))
"""


def test_what_a_killed_runner_left_is_found_by_its_mark(tmp_path: Path, token: str) -> None:
    marks = (f"{OURS}dead.1", f"{OURS}dead2.1")
    runners = [
        subprocess.Popen([sys.executable, "-c", RUNNER, mark, token], cwd=tmp_path, stdout=subprocess.PIPE)
        for mark in marks
    ]
    for runner in runners:
        with runner:
            assert runner.stdout and runner.stdout.readline() == b"up\n"
            runner.kill()
    assert len(carrying(token)) == 8
    ended = asyncio.run(end_marked(OURS + "dead.", 0.5))
    assert len(ended) == 4
    assert all(token in line for line in ended)
    assert len(carrying(token)) == 4
    assert len(asyncio.run(end_marked(OURS + "dead2.1", 0))) == 4
    assert carrying(token) == []
    assert asyncio.run(end_marked(OURS + "dead", 0.5)) == ()


def test_our_own_mark_and_our_ancestors_are_spared(tmp_path: Path) -> None:
    script = f"""
import asyncio
from ralphloop.host.family import end_marked
print(asyncio.run(end_marked("{OURS}mine.", 0)))
"""
    shell = ["sh", "-c", '"$0" -c "$1"; echo lives', sys.executable, script]
    environment = {**os.environ, "RALPH_MARK": f"{OURS}mine.1"}
    done = subprocess.run(shell, env=environment, capture_output=True, text=True, timeout=20)
    assert done.stdout == "()\nlives\n"


def test_an_empty_prefix_ends_nobody() -> None:
    with pytest.raises(ValueError, match="everybody"):
        asyncio.run(end_marked("", 0))


def test_a_process_is_known_by_its_start() -> None:
    with child("sleep", "60") as process:
        began = start_time(process.pid)
        assert int(began) > 0
        assert alive(process.pid, began)
        assert alive(process.pid, "")
        assert not alive(process.pid, str(int(began) + 1))
        assert not alive(process.pid, "nonsense")
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert not alive(process.pid, began)  # a zombie
    assert not alive(process.pid, began)
    assert start_time(process.pid) == ""


@pytest.mark.parametrize("pid", [0, -1, 1 << 22, 1 << 40, 1 << 80])
def test_no_such_process(pid: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert not alive(pid, "")
    assert start_time(pid) == ""
    monkeypatch.setattr("ralphloop.host.census.PROC", str(tmp_path))
    assert not alive(pid, "")


def test_names_with_brackets_spaces_and_bytes_are_read(tmp_path: Path) -> None:
    program = tmp_path / "a) Z (b"
    program.symlink_to("/bin/sleep")
    with child(b"odd\xff\n\x1bname", "60", executable=str(program)) as process:
        time.sleep(0.05)  # its arguments are there a moment after it was started
        row = read_row(process.pid)
        assert row and row.living
        assert (row.parent, row.session, row.key) == (os.getpid(), process.pid, (process.pid, row.start))
        assert describe(row) == "odd\ufffd  name 60"


def test_a_later_process_with_the_same_pid_is_not_signalled() -> None:
    with child("sleep", "60") as process:
        row = read_row(process.pid)
        assert row
        family._send(Row(row.pid, row.start - 1, row.parent, row.group, row.session, row.state), signal.SIGKILL)
        time.sleep(0.05)
        assert process.poll() is None
        family._send(row, signal.SIGKILL)
        assert process.wait() == -9


@pytest.mark.parametrize(
    ("code", "bounds", "expected"),
    [
        ("sh:exit 3", QUICK, ("natural", 3, None, 0)),
        ("sh:sleep TOKEN & exit 3", QUICK, ("natural", 3, None, 1)),
        (
            "sh:sleep TOKEN & exec sleep TOKEN",
            Bounds(timeout=0.2, silence=None, kill_grace=2),
            ("timeout", None, 15, 0),
        ),
        ("sh:trap '' TERM; sleep TOKEN & wait", Bounds(0.2, None, kill_grace=0.2), ("timeout", None, 9, 0)),
    ],
)
def test_without_proc_the_group_is_ended(
    tmp_path: Path, token: str, monkeypatch: pytest.MonkeyPatch, code: str, bounds: Bounds, expected: tuple[object, ...]
) -> None:
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr("ralphloop.host.census.PROC", str(tmp_path))
        elsewhere.delattr(os, "pidfd_open")
        elsewhere.delattr(os, "waitid")
        ended = asyncio.run(start(tmp_path, code, "plain.1", bounds=bounds, token=token))
        assert asyncio.run(end_marked(OURS + "plain.", 0)) == ()
        assert start_time(os.getpid()) == ""
        assert alive(os.getpid(), "")
    assert (ended.end, ended.exit_code, ended.signal, len(ended.leftovers)) == expected
    assert carrying(token) == []
    assert zombies() == []


def test_what_cannot_be_ended_is_given_up_and_said(monkeypatch: pytest.MonkeyPatch, token: str) -> None:
    def refuse(row: Row, number: int) -> None:
        raise PermissionError

    monkeypatch.setattr(family, "GIVE_UP", 0.1)
    with monkeypatch.context() as refusing, child("sleep", token) as process:
        refusing.setattr(family, "_send", refuse)
        refusing.setattr(os, "killpg", lambda group, number: None)
        left = asyncio.run(Family(lambda mark: False, process).end(0.1))
        assert left == (f"sleep {token} (could not be ended: not permitted)",)
