"""Wishes to a running loop: one file each, renamed in, taken away once the journal holds it."""

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from ralphloop.core.errors import Problem
from ralphloop.host.files import complaint, read, replace

Kind = Literal["stop", "stop_now", "pause", "resume", "tell"]
LONGEST = 1 << 20


class Wish(Struct, frozen=True):
    wish: Kind
    text: str = ""


def leave(asked: Path, wish: Wish) -> None:
    name = f"{time.time_ns():020d}-{os.getpid()}.json"
    try:
        replace(asked / name, msgspec.json.encode(wish))
    except OSError as error:
        raise complaint(error, "leave a word for the run") from error


def waiting(asked: Path) -> Iterator[tuple[str, Wish]]:
    """What was asked and not yet taken, the oldest first; what cannot be read is put aside."""
    try:
        names = sorted(name for name in os.listdir(asked) if name.endswith(".json") and not name.startswith("."))
    except (FileNotFoundError, NotADirectoryError):
        return
    for name in names:
        try:
            wish = msgspec.json.decode(read(asked / name, LONGEST) or b"", type=Wish)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, Problem):
            with suppress(OSError):
                (asked / name).rename(asked / f".unread-{name}")
            continue
        yield name, wish


def forget(asked: Path, before: float) -> None:
    """What was wished of a runner that is gone; words for the agent still wait for it."""
    for name, wish in waiting(asked):
        if wish.wish != "tell" and name[:20].isdigit() and int(name[:20]) < before * 1e9:
            take_away(asked, name)


def take_away(asked: Path, name: str) -> None:
    (asked / name).unlink(missing_ok=True)
