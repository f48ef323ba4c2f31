"""Keeps the views on disk true to the state. They are for reading only: nothing is ever read back from them."""

import os
from contextlib import suppress
from pathlib import Path

import msgspec

from ralphloop.core.current import current
from ralphloop.core.errors import Problem
from ralphloop.core.record import (
    Answered,
    Begun,
    Checked,
    Ended,
    Inspected,
    Record,
    Resumed,
    Settled,
    Started,
    Undone,
    Waiting,
    Wished,
)
from ralphloop.core.state import RunState
from ralphloop.core.step import Reserve, decide
from ralphloop.core.view import loop_state_file, run_row, status_file
from ralphloop.host.files import complaint, read, replace
from ralphloop.host.places import ASIDE, Home, RunFolder, inside

IGNORED = (
    ".claude/loop-state.json*",
    ".claude/ralph-*",
    ".claude/logs/",
    ".ralph/*/status.json",
    ".ralph/*/logs/",
    ".ralph/archive/*/logs/",
    ".ralph/**/.*.tmp",
    f"*{ASIDE}[0-9]*",
)
EXCLUDE_LIMIT = 16 << 20
TELLING = (Started, Resumed, Begun, Settled, Waiting, Answered, Wished, Undone, Ended)


def publish(home: Home, folder: RunFolder, state: RunState, record: Record, now: float) -> None:
    """A view that cannot be written must not stop the loop: the journal holds the truth."""
    if not _worth_telling(state, record):
        return
    pid = os.getpid()
    with suppress(OSError):
        replace(folder.view, msgspec.json.encode(run_row(state, pid)), durable=False)
    feature = Path(state.start.worktree, ".ralph", state.start.feature)
    if feature.is_dir():
        _write(state, feature / "status.json", status_file(state, now))
        if isinstance(record, Begun):
            _link_log(state, feature / "logs" / f"iteration-{record.n}.log", folder.attempt(record.n))
    if state.policy.loop_state:
        _write(state, Path(state.start.worktree, ".claude", "loop-state.json"), loop_state_file(state, pid))


def _worth_telling(state: RunState, record: Record) -> bool:
    if isinstance(record, Inspected | Checked):
        return current(state, record.at).step == "check"
    if isinstance(record, Settled) and isinstance(decide(state, record.at), Reserve):
        return False  # the next iteration begins at once, and tells of this one as well
    return isinstance(record, TELLING)


def _write(state: RunState, path: Path, value: msgspec.Struct) -> None:
    with suppress(OSError, Problem):
        inside(state.start.worktree, path)
        replace(path, msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n", durable=False)


def _link_log(state: RunState, link: Path, log: Path) -> None:
    """The raw output lies with the run, where no agent deletes it; the feature's folder shows it."""
    with suppress(OSError, Problem):
        inside(state.start.worktree, link.parent)
        link.parent.mkdir(exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(log)


def keep_out_of_commits(common_dir: str) -> None:
    """Name the views in info/exclude, which every worktree of the repository shares."""
    path = Path(common_dir, "info", "exclude")
    present = read(path, EXCLUDE_LIMIT) or b""
    lines = present.decode(errors="replace").splitlines()
    missing = [name for name in IGNORED if name not in lines]
    if missing:
        gap = b"" if not present or present.endswith(b"\n") else b"\n"
        try:
            replace(path, present + gap + "".join(f"{name}\n" for name in missing).encode())
        except OSError as error:
            raise complaint(error, "keep the views out of commits:") from error
