"""Pipes, sockets and devices where files belong: nothing waits for them, and they are named."""

import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from place import Place, good, make_place

MAKE = {"a named pipe": "mkfifo {0}", "a link to an endless device": "ln -s /dev/zero {0}"}
NAMES = ("specs/more.md", "progress.txt", "prompt.md", "spec.md", "prd.json", "../config.yaml")


def make_socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # the name of a socket must be short
    try:
        socket.socket(socket.AF_UNIX).bind(path.name)
    finally:
        os.chdir(here)


KINDS: dict[str, Callable[[Path], None]] = {"a named pipe": os.mkfifo, "a socket": make_socket}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", KINDS)
def test_validate_names_what_is_no_file(place: Place, name: str, kind: str) -> None:
    path = place.folder / name
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    KINDS[kind](path)
    done = place.ralph("validate", timeout=20)
    assert done.code == 1, done
    assert path.name in done.out + done.err and "file" in done.out + done.err
    assert "Traceback" not in done.err and "bug" not in done.err


@pytest.mark.parametrize("name", [name for name in NAMES if name != "prompt.md"])
@pytest.mark.parametrize("kind", MAKE)
def test_an_agent_makes_one(tmp_path: Path, name: str, kind: str) -> None:
    made = f".ralph/feature-x/{name}"
    command = f"mkdir -p .ralph/feature-x/specs; rm -f {made}; " + MAKE[kind].format(made)
    script = {"attempts": [[{"run": command}]], "default": good()}
    place = make_place(tmp_path, script=script, config="archive: {on_done: false}\n")
    done = place.ralph("run", "-n", "4", timeout=40)
    assert done.code == 0, done
    assert place.passes() == {"STORY-001": True, "STORY-002": True}
    notes = [note for kind in ("begun", "inspected") for record in place.records(kind) for note in said(record)]
    words = Path(name).name
    assert any(words in note for note in notes), notes


def said(record: dict[str, Any]) -> list[str]:
    sight = record.get("sight") or {}
    return [*record.get("notes", ()), *sight.get("notes", ()), sight.get("source_problem", "")]


COMMANDS = ("doctor", "status", "archive -y", "undo -y", "run --dry-run", "run", "list", "log", "config", "trust")


def test_no_command_waits_for_a_pipe(tmp_path: Path) -> None:
    place = make_place(tmp_path, config="archive: {on_done: false}\n")
    assert place.ralph("run", "-n", "1").code == 1
    (place.folder / "specs").mkdir()
    (place.folder / "logs" / "iteration-2.log").symlink_to("/dev/zero")
    for name in ("specs/more.md", "progress.txt", "spec.md", "prd.json", "status.json", "tasks.md"):
        (place.folder / name).unlink(missing_ok=True)
        os.mkfifo(place.folder / name)
    for command in COMMANDS:
        done = place.ralph(*command.split(), timeout=20)
        assert "Traceback" not in done.err and "bug" not in done.err, (command, done)
