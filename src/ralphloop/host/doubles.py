"""Answers that stand in several files, as in a session that was taken up in a new file: one of them counts."""

from collections.abc import Callable, Collection

from ralphloop.core.session_file import Reader, Use, larger
from ralphloop.host import session_file
from ralphloop.host.session_index import Index


def find(
    index: Index, changed: Collection[bytes], reader: Reader, complain: Callable[[bytes, OSError], object]
) -> None:
    """Bring the index's doubles up to date after these files have changed."""
    for found in index.doubles.values():
        for path in found.keys() & changed:
            del found[path]
    shared = _shared(index, changed)
    for path, entry in list(index.entries.items()) if shared else ():
        mine = shared.intersection(entry.key_view)
        wanted = {key for key in mine if path not in index.doubles.get(key, {})}
        try:
            for use in session_file.uses(entry, reader) if wanted else ():
                if use.key in wanted:
                    index.doubles.setdefault(use.key, {})[path] = use
        except OSError as error:
            del index.entries[path]
            complain(path, error)
    index.doubles = {key: found for key, found in index.doubles.items() if len(found) > 1}


def _shared(index: Index, changed: Collection[bytes]) -> set[int]:
    """The keys of changed files that others have as well."""
    fresh, shared = set[int](), set[int]()
    for path, entry in index.entries.items():
        if path in changed:
            keys = set(entry.key_view)
            shared |= fresh & keys
            fresh |= keys
    for path, entry in index.entries.items():
        if path not in changed and not fresh.isdisjoint(entry.key_view):
            shared |= fresh.intersection(entry.key_view)
    return shared


def lost(index: Index) -> dict[bytes, list[Use]]:
    """By file, the answers that another file has as well, and better or first."""
    found: dict[bytes, list[Use]] = {}
    for uses in index.doubles.values():
        paths = sorted(uses)
        kept = paths[0]
        for path in paths[1:]:
            kept = path if larger(uses[kept], uses[path]) is uses[path] else kept
        for path in paths:
            if path != kept:
                found.setdefault(path, []).append(uses[path])
    return found
