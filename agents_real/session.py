"""One session of the real Claude Code CLI: start it, read it, end it, and make its stream fit to be kept."""

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from repository import CLAUDE_FOLDER

SKIP_PERMISSIONS = ("--dangerously-skip-permissions",)
ALLOWED_TOOLS = ("--allowedTools", "Write,Bash(git *),Read")


class Session(NamedTuple):
    """What came of a session that has ended."""

    exit_code: int
    raw: bytes
    complaint: str
    seconds: float

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.raw.splitlines()]

    def of(self, kind: str, subtype: str = "") -> list[dict[str, Any]]:
        return [line for line in self.lines if line["type"] == kind and subtype in ("", line.get("subtype"))]

    @property
    def result(self) -> dict[str, Any]:
        return self.of("result")[-1]

    @property
    def text(self) -> str:
        return str(self.result["result"])


def run_claude(
    folder: Path,
    environment: Mapping[str, str],
    prompt: str,
    arguments: Sequence[str] = SKIP_PERMISSIONS,
    *,
    end_with: signal.Signals | None = None,
    end_when: Callable[[], bool] = lambda: True,
    seconds: float = 60,
) -> Session:
    """Run to the end, or send `end_with` as soon as `end_when` holds; nothing of the CLI's group is left after."""
    folder.mkdir(parents=True, exist_ok=True)
    output, complaint, asked = folder.parent / "stdout", folder.parent / "stderr", folder.parent / "prompt"
    asked.write_text(prompt)
    began = time.monotonic()
    argv = [str(CLAUDE_FOLDER / "claude"), "-p", "--output-format", "stream-json", "--verbose", *arguments]
    with asked.open("rb") as stdin, output.open("wb") as stdout, complaint.open("wb") as stderr:
        child = subprocess.Popen(
            argv, cwd=folder, env=dict(environment), stdin=stdin, stdout=stdout, stderr=stderr, start_new_session=True
        )
        try:
            if end_with is not None:
                until(end_when, seconds)
                child.send_signal(end_with)
            until(lambda: has_ended(child), seconds)
        finally:
            exit_code = end_group(child)
    return Session(exit_code, output.read_bytes(), complaint.read_text(), time.monotonic() - began)


def until(holds: Callable[[], bool], seconds: float) -> None:
    """Wait for something another process does."""
    latest = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < latest, f"still not so after {seconds} s"
        time.sleep(0.05)


def has_ended(child: "subprocess.Popen[bytes]") -> bool:
    """Whether a child has ended; it is left unreaped, so that its number cannot become another's."""
    return os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def end_group(child: "subprocess.Popen[bytes]") -> int:
    """Kill the group this unreaped child leads, and reap the child."""
    os.killpg(child.pid, signal.SIGKILL)
    return child.wait(10)


def shape(raw: bytes) -> list[str]:
    """The kinds of lines in their order; a stream of another shape means that the CLI has changed."""
    kinds: list[str] = []
    for line in raw.splitlines():
        event = json.loads(line)
        kind = "/".join(filter(None, (event["type"], event.get("subtype"))))
        content = (event.get("message") or {}).get("content")
        if isinstance(content, list):
            kind += ":" + ",".join(block["type"] for block in content)
        if not kinds or kinds[-1] != kind:
            kinds.append(kind)
    return kinds


def scrub(raw: bytes, tmp_path: Path) -> bytes:
    """The stream without this machine: paths, ports, and folders named after paths."""
    text = raw.decode()
    for folder, name in ((tmp_path / "repo", "/repo"), (tmp_path / "home", "/home/agent"), (tmp_path, "/tmp/test")):
        text = text.replace(str(folder), name)
        text = text.replace(re.sub(r"[^A-Za-z0-9]", "-", str(folder)), name.replace("/", "-"))
    text = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:8080", text)
    text = re.sub(r"/tmp/claude-\d+", "/tmp/claude", text)
    return text.encode()
