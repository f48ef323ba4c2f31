"""What git's index says that `git status` does not show. Read as the file it is, without a process."""

import os
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from ralphloop.core.errors import Problem
from ralphloop.host.files import read
from ralphloop.host.git import Git, Repository

LARGEST = 1 << 30
STAT, MODE, HEADER = 40, 26, 12  # bytes before the object's name, where its kind stands, and before the first entry
UNWATCHED, EXTENDED, UNWANTED, LINK = 0x80, 0x40, 0x40, 0xE0
LONG = 0xFFF
KINDS = ("assumed", "skipped", "link")


class Odd(Struct, frozen=True):
    """Paths whose content git is told not to look at, and other repositories that stand as one entry."""

    assumed: frozenset[str] = frozenset()  # --assume-unchanged
    skipped: frozenset[str] = frozenset()  # --skip-worktree
    links: frozenset[str] = frozenset()


_known: dict[str, tuple[tuple[int, int, int], Odd]] = {}  # by index: git writes a new one for every change


def odd(git: Git, repository: Repository) -> Odd:
    path = Path(repository.git_dir, "index")
    try:
        found = path.stat()
    except OSError:
        return Odd()
    stamp = (found.st_ino, found.st_mtime_ns, found.st_size)
    if (known := _known.get(str(path))) is None or known[0] != stamp:
        known = _known[str(path)] = (stamp, _read(git, repository, path))
    return known[1]


def _read(git: Git, repository: Repository, path: Path) -> Odd:
    try:
        content = read(path, LARGEST) or b""
    except Problem:
        return Odd()
    plain = content[:4] == b"DIRC" and content[4:8] in (b"\0\0\0\2", b"\0\0\0\3")
    split = any(name.startswith("sharedindex.") for name in os.listdir(repository.git_dir))
    try:
        found = list(_marked(content, len(repository.head) // 2) if plain and not split else _listed(git))
    except (IndexError, ValueError):  # damaged: git will say so
        return Odd()
    return Odd(*(frozenset(path for kind, path in found if kind == wanted) for wanted in KINDS))


def _marked(content: bytes, name_size: int) -> Iterator[tuple[str, str]]:
    at, flags = HEADER, STAT + name_size
    for _ in range(int.from_bytes(content[8:12])):
        high = content[at + flags]
        begin = at + flags + (4 if high & EXTENDED else 2)
        size = (high & 15) << 8 | content[at + flags + 1]
        if size == LONG:
            size = content.index(0, begin) - begin
        if high & (UNWATCHED | EXTENDED) or content[at + MODE] == LINK:
            path = os.fsdecode(content[begin : begin + size])
            if high & UNWATCHED:
                yield "assumed", path
            if high & EXTENDED and content[begin - 2] & UNWANTED:
                yield "skipped", path
            if content[at + MODE] == LINK:
                yield "link", path
        at += (begin - at + size + 8) & ~7


def _listed(git: Git) -> Iterator[tuple[str, str]]:
    """For the kinds of index that only git reads."""
    for line in git.ask("ls-files", "-v", "-s", "-z").stdout.split(b"\0"):
        told, _, name = line.partition(b"\t")
        tag, mode, *_ = (*told.decode().split(" "), "", "")
        path = os.fsdecode(name)
        if tag.islower():
            yield "assumed", path
        if tag.upper() == "S":
            yield "skipped", path
        if mode == "160000":
            yield "link", path
