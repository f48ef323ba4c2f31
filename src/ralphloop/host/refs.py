"""Refs read and written as files, without git: for a repository that git may not be able to read."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from ralphloop.core.errors import Problem
from ralphloop.host.files import make_folder, read, replace

LONGEST_REF = 4096
LARGEST = 256 << 20
HEX = frozenset("0123456789abcdef")
LENGTHS = (40, 64)


def is_commit(text: str) -> bool:
    return len(text) in LENGTHS and set(text) <= HEX


def write(repository: Path, name: str, commit: str) -> None:
    path = repository / name
    if not path.exists() or path.read_text(errors="replace").strip() != commit:
        replace(path, f"{commit}\n".encode(), durable=False)


def copy_new(here: Path, there: Path) -> None:
    """For refs that are made once, and stay."""
    new = {*_names(here)} - {*_names(there)}
    if new:
        make_folder(there)
    for name in new:
        with suppress(OSError, Problem):
            if (content := read(here / name, LONGEST_REF)) is not None:
                replace(there / name, content, durable=False)


def _names(folder: Path) -> list[str]:
    with suppress(OSError):
        return os.listdir(folder)
    return []


def loose(repository: Path, below: str) -> Iterator[tuple[str, str]]:
    """Name and commit of each ref that is a file of its own."""
    for folder, _, names in os.walk(repository / below):
        for name in names:
            with suppress(Problem):
                text = (read(Path(folder, name), LONGEST_REF) or b"").decode(errors="replace").strip()
                if is_commit(text):
                    yield str(Path(folder, name).relative_to(repository)), text


def every(repository: Path) -> dict[str, str]:
    """All refs by name, packed or not."""
    found = {}
    with suppress(Problem):
        packed = read(repository / "packed-refs", LARGEST) or b""
        for line in packed.decode(errors="surrogateescape").splitlines():
            commit, _, name = line.partition(" ")
            if name.startswith("refs/") and is_commit(commit):
                found[name] = commit
    return found | dict(loose(repository, "refs"))
