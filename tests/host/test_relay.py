"""What a child says reaches its log whatever becomes of the pipe's carrier, and nobody is held by the pipe."""

import asyncio
import os
import signal
import time
from pathlib import Path

from ralphloop.core.ports import Command
from ralphloop.host import relay
from ralphloop.host.process import Bounds, Ended, run
from ralphloop.host.relay import Relay

OUR_PIPE = "$(readlink /proc/$$/fd/1)"
CARRIER = f'for p in /proc/[0-9]*; do [ "$(readlink $p/fd/0)" = "{OUR_PIPE}" ] && kill -9 ${{p#/proc/}}; done'


def said(folder: Path, script: str) -> tuple[Ended, bytes]:
    heard: list[bytes] = []

    def hear(data: bytes) -> bool:
        heard.append(data)
        return False

    async def start() -> Ended:
        return await run(
            Command(("sh", "-c", script), prompt_as_file=True),
            cwd=str(folder),
            log=str(folder / "log"),
            prompt="",
            mark=f"relay-{os.getpid()}.1",
            held=None,
            bounds=Bounds(20, None, kill_grace=0.3),
            read=hear,
            stop=asyncio.Event(),
        )

    ended = asyncio.run(start())
    assert b"".join(heard) == (folder / "log").read_bytes()
    return ended, b"".join(heard)


def test_a_killed_carrier_is_replaced(tmp_path: Path) -> None:
    ended, heard = said(tmp_path, f"echo one; sleep 0.1; {CARRIER}; echo two; sleep 0.3; echo three")
    assert (ended.exit_code, heard) == (0, b"one\ntwo\nthree\n")


def test_the_last_words_are_kept_when_the_carrier_is_killed_at_the_end(tmp_path: Path) -> None:
    ended, heard = said(tmp_path, f"{CARRIER}; echo last words")
    assert (ended.exit_code, heard) == (0, b"last words\n")


def test_a_log_that_cannot_be_written_breaks_the_pipe(tmp_path: Path) -> None:
    (tmp_path / "log").symlink_to("/dev/full")
    with Relay(str(tmp_path / "log"), None) as made:
        os.write(made.writing, b"words")
        until = time.monotonic() + 5
        while made._reading >= 0 and time.monotonic() < until:
            made.tend()
            time.sleep(0.01)
        assert made._reading < 0


def test_whoever_holds_the_pipe_is_not_waited_for(tmp_path: Path) -> None:
    async def finished(made: Relay) -> float:
        began = time.monotonic()
        await made.finish()
        return time.monotonic() - began

    with Relay(str(tmp_path / "log"), None) as made:
        holder = os.dup(made.writing)
        os.write(holder, b"words")
        made.handed_over()
        seconds = asyncio.run(finished(made))
        os.close(holder)
    assert seconds < relay.LAST_WORDS
    assert (tmp_path / "log").read_bytes() == b"words"


def test_a_stopped_carrier_holds_nobody(tmp_path: Path) -> None:
    with Relay(str(tmp_path / "log"), None) as made:
        made._carrier.send_signal(signal.SIGSTOP)
        os.write(made.writing, b"words")
        made.handed_over()
        asyncio.run(made.finish())
    assert (tmp_path / "log").read_bytes() == b"words"
