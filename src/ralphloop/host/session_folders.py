"""Finds the session files below an agent's folders, by the pattern of their names."""

import os
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase

Found = tuple[str, "os.DirEntry[str]"]
Complain = Callable[[OSError], object]


def found(folder: str, pattern: str, complain: Complain) -> Iterator["os.DirEntry[str]"]:
    """Every regular file whose path below the folder fits; `**` stands for any folders, links among them not followed.

    What is not there is no trouble: the agent may never have run here.
    """
    yield from _below(folder, pattern.split("/"), complain)


def _below(folder: str, parts: list[str], complain: Complain) -> Iterator["os.DirEntry[str]"]:
    if parts[0] == "**":
        yield from _anywhere(folder, parts[1:], complain)
        return
    for entry in _entries(folder, complain):
        if not fnmatchcase(entry.name, parts[0]):
            continue
        if len(parts) > 1 and entry.is_dir():
            yield from _below(entry.path, parts[1:], complain)
        elif len(parts) == 1 and _is_file(entry, complain):
            yield entry


def _anywhere(folder: str, parts: list[str], complain: Complain) -> Iterator["os.DirEntry[str]"]:
    for entry in _entries(folder, complain):
        if entry.is_dir(follow_symlinks=False):
            yield from _anywhere(entry.path, parts, complain)
        elif fnmatchcase(entry.name, parts[0]) and _is_file(entry, complain):
            yield entry


def _is_file(entry: "os.DirEntry[str]", complain: Complain) -> bool:
    try:
        return entry.is_file()
    except OSError as error:
        complain(error)
        return False


def _entries(folder: str, complain: Complain) -> list["os.DirEntry[str]"]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        complain(error)
        return []
