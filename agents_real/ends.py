"""One attempt of `ralph run` with any of the agent CLIs: what its log, its journal and its parser say of it."""

import json
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from model_server import ModelServer
from ralph_run import SKIP, Run, finish, living_in, start
from ralphloop.agents.table import named
from ralphloop.core.attempt import Attempt
from ralphloop.core.event import Event, Finished, LimitMet
from ralphloop.core.record import Attempted
from ralphloop.host import journal
from repository import CHECKOUT, CLAUDE_FOLDER, Repository
from session import scrub, until

STREAMS = CHECKOUT / "tests" / "agents" / "streams"
TELLING = ("type", "subtype", "role", "status", "severity")


class Cli(NamedTuple):
    """One agent CLI as the tests start it: the files of its home, and the variables that lead it to the server."""

    name: str
    model: str
    files: Mapping[str, object]
    variables: Callable[[str], dict[str, str]]
    program: Path = CLAUDE_FOLDER

    def environment(self, tmp_path: Path, url: str) -> dict[str, str]:
        """An empty home, the server, and nothing else of this machine."""
        home, temporary = tmp_path / "home", tmp_path / "tmp"
        for folder in (home, temporary):
            folder.mkdir(parents=True, exist_ok=True)
        (home / ".gitconfig").write_text("[user]\n\tname = Agent\n\temail = agent@example.invalid\n")
        for name, content in self.files.items():
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).write_text(content if isinstance(content, str) else json.dumps(content))
        return {
            "PATH": f"{self.program}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(home),
            "TMPDIR": str(temporary),
            "LANG": "C.UTF-8",
            "GIT_CONFIG_NOSYSTEM": "1",
            "NO_PROXY": "127.0.0.1",
            "RALPH_HOME": str(tmp_path / "ralph-home"),
            "PYTHONPATH": str(CHECKOUT / "src"),
            **self.variables(url),
        }


class End(NamedTuple):
    """How the first attempt of a run ended."""

    run: Run
    attempt: Attempt
    raw: bytes
    events: Sequence[Event]

    @property
    def last(self) -> Finished:
        return [event for event in self.events if isinstance(event, Finished)][-1]

    @property
    def limits(self) -> list[LimitMet]:
        return [event for event in self.events if isinstance(event, LimitMet)]


def one_attempt(
    cli: Cli,
    tmp_path: Path,
    repository: Repository,
    server: ModelServer,
    *options: str,
    skip: bool = True,
    seconds: float = 60,
    meanwhile: Callable[[], object] = lambda: None,
) -> End:
    """Run until the first attempt is recorded, `meanwhile` while it goes on; then nothing of it may be alive."""
    permissions = (SKIP,) if skip else ()
    options = ("-n", "1", "--agent", cli.name, "--model", cli.model, "--on-limit", "exit", *permissions, *options)
    child = start(repository, cli.environment(tmp_path, server.url), *options)
    try:
        meanwhile()
        until(lambda: attempts_of(tmp_path) != [] or child.poll() is not None, seconds)
    finally:
        if child.poll() is None and attempts_of(tmp_path) == []:
            child.send_signal(signal.SIGTERM)
    if child.poll() is None:
        child.send_signal(signal.SIGTERM)  # what a runner does after an attempt is tested elsewhere
    run = finish(child, 30)
    (attempt, *_) = attempts_of(tmp_path) or [Attempt(error=run.out + run.err)]
    assert living_in(repository.path) == []
    (log,) = (tmp_path / "ralph-home" / "runs").glob("*/attempt-1.log")
    raw = log.read_bytes()
    return End(run, attempt, raw, read_by(cli, raw))


def read_by(cli: Cli, raw: bytes) -> list[Event]:
    parser = named(cli.name, {}).parser()
    return [*parser.feed(raw), *parser.close()]


def attempts_of(tmp_path: Path) -> list[Attempt]:
    records = [
        record for file in (tmp_path / "ralph-home" / "runs").glob("*/journal.jsonl") for record in journal.read(file)
    ]
    return [record.attempt for record in records if isinstance(record, Attempted)]


def same_shape(cli: Cli, name: str, end: End, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """As the kept stream of this name; with --keep-streams this one is kept."""
    file = STREAMS / f"{cli.name}-{name}.jsonl"
    raw = scrub(end.raw, tmp_path).replace(str(CHECKOUT).encode(), b"/checkout")
    if request.config.getoption("--keep-streams"):
        file.write_bytes(raw)
    assert file.exists(), f"no kept stream {file.name}: run the tests once with --keep-streams"
    kept = file.read_bytes()
    assert kinds(cli, raw) == kinds(cli, kept), "the CLI's stream has changed"


def kinds(cli: Cli, raw: bytes) -> list[str]:
    """The kinds of the lines that are events, or of what plain text tells, each as often as it changes."""
    found: list[str] = []
    for kind in _kinds_of_lines(raw) or [type(event).__name__ for event in read_by(cli, raw)]:
        if found[-1:] != [kind]:
            found.append(kind)
    return found


def _kinds_of_lines(raw: bytes) -> list[str]:
    events: list[dict[str, Any]] = [json.loads(line) for line in raw.splitlines() if line.startswith(b'{"type"')]
    return [" ".join(str(event[key]) for key in TELLING if key in event) for event in events]
