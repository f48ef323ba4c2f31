"""A `ralph run` as a child process, and what must hold in its repository afterwards."""

import json
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from model_server import ModelServer
from repository import BRANCH, Repository, story_id
from session import until

SKIP = "--dangerously-skip-permissions"
ALL = [story_id(number) for number in range(1, 7)]


class Run(NamedTuple):
    """A finished `ralph run`."""

    exit_code: int
    out: str
    err: str
    seconds: float


def start(repository: Repository, environment: Mapping[str, str], *options: str) -> "subprocess.Popen[str]":
    argv = (sys.executable, "-m", "ralphloop", "run", "--trust", "--pause", "0", *options)
    return subprocess.Popen(
        argv, cwd=repository.path, env=dict(environment), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def finish(child: "subprocess.Popen[str]", seconds: float = 120) -> Run:
    """Wait for a `ralph run`; one that does not end is killed, and so fails its test."""
    began = time.monotonic()
    try:
        out, err = child.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        child.kill()
        child.communicate()
        raise
    return Run(child.returncode, out, err, time.monotonic() - began)


def loop_state(repository: Repository) -> dict[str, Any]:
    state: dict[str, Any] = json.loads((repository.path / ".claude" / "loop-state.json").read_text())
    return state


def built(repository: Repository) -> list[str]:
    """The stories in the order of their commits; whatever else was committed does not count."""
    return [subject.split()[1] for subject in repository.subjects() if subject.startswith("feat: STORY-")]


def assert_all_done(run: Run, repository: Repository, server: ModelServer, *, exact_tokens: bool = True) -> None:
    """Six stories in six commits, and the server's own count of tokens; a killed session cannot tell all of its own."""
    assert run.exit_code == 0, run.err
    assert built(repository) == ALL
    assert server.unknown == []
    state = loop_state(repository)
    assert state["status"] == "done"
    truth = server.usage.input + server.usage.output
    # of a session that was ended in silence nobody knows what it used: it is estimated, and marked so
    told = sum(row["tokens_used"] for row in state["iterations"] if not row.get("tokens_estimated"))
    assert told == truth if exact_tokens else 0 < told <= truth
    assert_tidy(repository)


def assert_tidy(repository: Repository) -> None:
    """Nothing runs on in the repository, its branch is the same, and no view of the runner was committed."""
    assert repository.git("branch", "--show-current") == BRANCH
    tracked = repository.git("ls-files").splitlines()
    assert [name for name in tracked if name.endswith(("loop-state.json", "status.json", ".log"))] == []
    until(lambda: living_in(repository.path) == [], 3)


def living_in(folder: Path) -> list[str]:
    """The processes whose working directory is this folder or below it."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            place = (process / "cwd").readlink()
            if place.is_relative_to(folder) and (process / "cmdline").read_bytes():
                found.append(f"{process.name} {(process / 'cmdline').read_bytes()!r}")
        except OSError:
            continue
    return found
