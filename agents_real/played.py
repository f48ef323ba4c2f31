"""One iteration of a `ralph run` with a real CLI: what ralph came to, what the CLI printed, what was left of it."""

import json
import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from clis import Cli
from ralph_run import SKIP, Run, finish, start
from ralphloop.agents.table import named
from ralphloop.core.event import Event
from repository import CHECKOUT, Repository
from session import scrub, until

Keep = Callable[[Cli, str, bytes], bytes]


class Played(NamedTuple):
    """What came of one iteration."""

    run: Run
    attempt: dict[str, Any]  # as the journal holds it
    raw: bytes
    events: list[Event]

    def of(self, kind: type) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


def play(
    cli: Cli,
    repository: Repository,
    environment: Mapping[str, str],
    *options: str,
    skip: bool = True,
    sent: signal.Signals | None = None,
    when: Callable[[], bool] = lambda: True,
) -> Played:
    """Run one iteration; `sent` goes to the CLI itself, not to ralph, as soon as `when` holds."""
    permissions = (SKIP,) if skip else ()
    child = start(repository, environment, *permissions, "-n", "1", "--on-limit", "exit", *options)
    try:
        if sent is not None:
            until(when, 60)
            os.kill(_agent_of(child), sent)
    except BaseException:
        child.terminate()
        raise
    finally:
        run = finish(child)
    (folder,) = Path(environment["RALPH_HOME"], "runs").iterdir()
    records = [json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines()]
    attempts = [record["attempt"] for record in records if record["type"] == "attempted"]
    raw = (folder / "attempt-1.log").read_bytes()
    return Played(run, attempts[-1] if attempts else {}, raw, read(cli.name, raw))


def read(name: str, raw: bytes) -> list[Event]:
    parser = named(name, {}).parser()
    return [*parser.feed(raw), *parser.close()]


def _agent_of(runner: "subprocess.Popen[str]") -> int:
    """The process that ralph started: the only child that carries the run's mark and leads a session."""
    children = Path(f"/proc/{runner.pid}/task/{runner.pid}/children").read_text().split()
    leaders = [int(child) for child in children if os.getsid(int(child)) == int(child)]
    assert len(leaders) == 1, f"more than one agent: {leaders}"
    return leaders[0]


def alive(tmp_path: Path) -> dict[int, str]:
    """Every process that has to do with a test: by its environment, its folder or its command line."""
    trace, found = str(tmp_path).encode(), {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes()
            told = (process / "environ").read_bytes() + words + os.fsencode((process / "cwd").readlink())
        except OSError:
            continue
        if words and trace in told and int(process.name) != os.getpid():
            found[int(process.name)] = words.replace(b"\0", b" ").decode(errors="replace")
    return found


def shape(cli: Cli, raw: bytes) -> list[str]:
    """The kinds of lines in their order, without repetitions; another shape means that the CLI has changed.

    Of plain text, the kinds of what it tells.
    """
    kinds: list[str] = []
    for kind in [*_kinds(raw)] or [type(event).__name__ for event in read(cli.name, raw)]:
        if (not cli.told or kind in cli.told) and kind not in kinds[-1:]:
            kinds.append(kind)
    return kinds


def _kinds(raw: bytes) -> Iterable[str]:
    for line in raw.splitlines():
        if line.startswith(b'{"'):
            event = json.loads(line)
            yield ":".join(filter(None, (event["type"], (event.get("item") or {}).get("type"))))


def kept(raw: bytes, tmp_path: Path) -> bytes:
    """A stream that names no machine, no user and no installation."""
    text = scrub(raw, tmp_path).decode()
    text = re.sub(r'"/[^"]*?/home/agent/', '"/home/agent/', text)
    text = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:8080", text)
    return text.replace(str(CHECKOUT), "/checkout").encode()


def same_shape(cli: Cli, name: str, played: Played, tmp_path: Path, kept_of: Keep) -> None:
    assert shape(cli, played.raw) == shape(cli, kept_of(cli, name, kept(played.raw, tmp_path))), (
        "the stream has changed"
    )
