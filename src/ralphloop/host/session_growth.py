"""What one attempt left in the session files of its agent: its true tokens, or how much the files grew."""

import json
import os
from collections.abc import Callable, Iterator

from ralphloop.core.event import Tokens
from ralphloop.core.session_file import Reader, Use
from ralphloop.host import session_file, session_folders

HEAD = 64 << 10  # bytes within which a session file says where it was started
EARLY = 2.0  # seconds that a file's time may lag behind the clock


def recorded(reader: Reader, config_folder: str, worktree: str, session: str, since: float) -> Tokens | None:
    """What a session has used since a moment, each answer once; None when its files tell nothing of it.

    Without the name of the session, every one in this worktree is meant.
    """
    mine = _uses(reader, config_folder, _pattern(reader, worktree), since, lambda use: _is_of(use, session, worktree))
    if not mine and session and _pattern(reader, worktree) != reader.files:
        # the agent may have named the project's folder otherwise
        mine = _uses(reader, config_folder, reader.files, since, lambda use: use.session == session)
    total = Tokens()
    for use in mine:
        total += use.tokens
    return total if mine else None


def size_of(reader: Reader, config_folder: str, worktree: str, known: dict[bytes, bool] | None = None) -> int:
    """Bytes of the session files of this project and of no other; what cannot be read is left out both times.

    `known` remembers whose files are, from one call to the next. A database's size says nothing of a project.
    """
    known = {} if known is None else known
    total = 0
    for entry in () if reader.query else session_folders.found(config_folder, _pattern(reader, worktree), _no_matter):
        path = os.fsencode(entry.path)
        if known.get(path) is False:
            continue
        try:
            size = os.stat(path).st_size  # noqa: PTH116
            mine = known.get(path) or _belongs(reader, path, worktree)
        except OSError:
            continue
        if mine is not None:
            known[path] = mine
        total += size if mine else 0
    return total


def _no_matter(error: OSError) -> None:
    """What cannot be looked into holds nothing that can be counted."""


def _pattern(reader: Reader, worktree: str) -> str:
    """Agents name a project by the folder they find themselves in, whatever link led there."""
    return reader.files_of(os.path.realpath(worktree))


def _is_of(use: Use, session: str, worktree: str) -> bool:
    return use.session == session if session else use.project in _names(worktree)


def _names(worktree: str) -> tuple[str, str]:
    return worktree, os.path.realpath(worktree)


def _uses(reader: Reader, folder: str, pattern: str, since: float, wanted: Callable[[Use], bool]) -> list[Use]:
    found: dict[int, Use] = {}
    for path in _paths(reader, folder, pattern, since - EARLY):
        try:
            uses = session_file.all_uses(path, reader)
        except OSError:
            continue
        for use in uses:
            if use.at >= since and wanted(use):
                before = found.get(use.key)
                found[use.key] = use if before is None else reader.keep(before, use)
    return list(found.values())


def _paths(reader: Reader, folder: str, pattern: str, since: float) -> Iterator[bytes]:
    for entry in session_folders.found(folder, pattern, _no_matter):
        try:
            path = os.fsencode(entry.path)
            stamp = session_file.stamp_of(path, reader, entry.stat())
        except OSError:
            continue
        if stamp.modified >= since * 1e9:
            yield path


def _belongs(reader: Reader, path: bytes, worktree: str) -> bool | None:
    """None as long as nothing tells."""
    if reader.project_file:
        return session_file.project_of(path, reader) in _names(worktree)
    with open(path, "rb") as stream:  # noqa: PTH123
        head = stream.read(HEAD)
    written = (json.dumps(name, ensure_ascii=False)[:-1].encode("utf-8", "replace") for name in _names(worktree))
    if any(b'"cwd":' + name + end in head for name in written for end in (b'"', b"/")):
        return True
    return False if b'"cwd":' in head or len(head) == HEAD else None
