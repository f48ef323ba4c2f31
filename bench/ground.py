"""The ground the benchmarks stand on: repositories, agents that do next to nothing, and clocks."""

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from place import Place, make_place

AGENT = """#!/bin/sh
cat >/dev/null
echo "$RALPH_ITERATION$$" > work.txt
git add work.txt
git -c user.name=a -c user.email=a@b commit -q -m work
"""
SETTINGS = """defaults: {agent: noop, pause_seconds: 0, rate_limit_per_hour: off}
circuit_breaker: {no_progress_threshold: off, same_error_threshold: off}
agents: {noop: {kind: command, argv: [AGENT]}}
"""


def ground(folder: Path, *, agent: str = AGENT, settings: str = "") -> Place:
    """A repository of one story that never gets done, and its agent."""
    place = make_place(folder, count=3)
    program = folder / "agent"
    program.write_text(agent)
    program.chmod(0o755)
    (place.path / ".ralph" / "config.yaml").write_text(SETTINGS.replace("AGENT", json.dumps(str(program))) + settings)
    (folder / "PROMPT.md").write_text("Do the work.\n")
    place.git("add", "-A")
    place.git("commit", "-q", "-m", "ready")
    return place


def bare_loop(place: Place, count: int) -> float:
    """`while :; do cat PROMPT.md | agent -p; done`, so many times."""
    loop = f"i=0; while [ $i -lt {count} ]; do cat ../PROMPT.md | ../agent -p; i=$((i+1)); done"
    began = time.perf_counter()
    subprocess.run(["sh", "-c", loop], cwd=place.path, check=True, env=place.env(RALPH_ITERATION="x"))
    return time.perf_counter() - began


def ralph_loop(place: Place, count: int) -> float:
    began = time.perf_counter()
    done = place.ralph("run", "-n", str(count), timeout=3000)
    assert done.code == 1, done
    return time.perf_counter() - began


def forks() -> int:
    """Processes (and threads) the whole machine has started since it booted."""
    lines = Path("/proc/stat").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("processes"))


def overheads(place: Place) -> list[float]:
    """Seconds of each iteration of the last run that were not the agent's own."""
    found: list[float] = []
    began = spent = 0.0
    for record in place.journal():
        if record["type"] == "reserved":
            began = record["at"]
        elif record["type"] == "attempted":
            spent = record["attempt"]["seconds"]
        elif record["type"] == "settled" and began:
            found.append(record["at"] - began - spent)
    return found


def best(times: Sequence[float]) -> float:
    return min(times)


def median(times: Sequence[float]) -> float:
    return statistics.median(times)


def timed(argv: Sequence[str], cwd: Path, env: Mapping[str, str], **more: Any) -> float:
    began = time.perf_counter()
    subprocess.run(
        argv, cwd=cwd, env=dict(env), check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more
    )
    return time.perf_counter() - began


def peak_memory(process: "subprocess.Popen[bytes]") -> float:
    """The most memory a process ever had, in MB; it is waited for."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_maxrss / 1024
