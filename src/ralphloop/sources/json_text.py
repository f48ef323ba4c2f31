"""Strict JSON that knows offsets: what a text says, and where in it each value stands."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ralphloop.core.errors import DamagedProblem

MAX_DEPTH = 100
BLAME_DEPTH = 8
WHITE = re.compile(r"[ \t\n\r]*")
HALF_PAIR = re.compile(r"\\u[dD][89a-fA-F]")


class Member(NamedTuple):
    """One key of an object, or one item of an array (then key is empty and key_at is value_at)."""

    key: str
    key_at: int
    value_at: int
    end: int
    value: object


class _Refused(ValueError):
    """Correct for Python's reader, not for us."""


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    value = dict(pairs)
    if len(value) != len(pairs):
        twice = next(key for key, times in Counter(key for key, _ in pairs).items() if times > 1)
        raise _Refused(f"the key {shown(twice)} stands twice in one object")
    return value


def _constant(name: str) -> object:
    raise _Refused(f"{name} is not JSON")


STRICT = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant)
# for finding places: no number is too long for it
PLAIN = json.JSONDecoder(parse_int=str)


def parse(file: str, text: str) -> object:
    """The value of the whole text; raises DamagedProblem naming file, line and column."""
    try:
        value = STRICT.decode(text)
    except json.JSONDecodeError as error:
        raise _damaged(file, text, error.pos, _why(error)) from error
    except RecursionError as error:
        raise _too_deep(file) from error
    except _Refused as error:
        raise _damaged(file, text, _blame(text), str(error)) from error
    except ValueError as error:
        raise _damaged(file, text, _blame(text), "a number has too many digits") from error
    _check_depth(file, value)
    _check_characters(file, text, value)
    return value


def items(text: str, at: int) -> Iterator[Member]:
    """What stands in the array or object that opens at `at`; the text must have been parsed."""
    in_object, at = text[at] == "{", skip(text, at + 1)
    while text[at] not in "]}":
        key, key_at = "", at
        if in_object:
            key, at = PLAIN.raw_decode(text, at)
            at = skip(text, skip(text, at) + 1)
        value, end = PLAIN.raw_decode(text, at)
        yield Member(key, key_at, at, end, value)
        at = skip(text, end)
        if text[at] == ",":
            at = skip(text, at + 1)


def place(text: str, path: Sequence[str | int]) -> int:
    """Where the value of this path stands, or the deepest thing on the way to it that is there."""
    at = skip(text, 0)
    for step in path:
        if text[at] not in "[{":
            return at
        for number, member in enumerate(items(text, at)):
            if step == (number if text[at] == "[" else member.key):
                at = member.value_at
                break
        else:
            return at
    return at


def skip(text: str, at: int) -> int:
    """Where the white space that may stand at `at` ends."""
    found = WHITE.match(text, at)
    return found.end() if found else at


def line_and_column(text: str, at: int) -> tuple[int, int]:
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


def shown(value: object) -> str:
    """A value as it may be quoted in a message."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "an array"
    short = value[:60] if isinstance(value, str) else value
    said = json.dumps(short, ensure_ascii=False)
    # what a terminal would not show as it is, is shown as an escape
    said = said if said.isprintable() else json.dumps(short)
    return said if short == value and len(said) <= 80 else f"{said[:80]}…"


def _why(error: json.JSONDecodeError) -> str:
    if not error.doc[error.pos :].strip():
        return f"the file ends too early, it seems to be cut off ({error.msg[0].lower()}{error.msg[1:]})"
    if error.msg == "Extra data":
        return "something follows the end of the JSON value"
    return error.msg[0].lower() + error.msg[1:].removesuffix(" starting at").removesuffix(" at")


def _blame(text: str) -> int:
    """Where the smallest value stands that is refused, as deep as is worth looking."""
    at = skip(text, 0)
    try:
        for _ in range(BLAME_DEPTH):
            inner = next((m.value_at for m in items(text, at) if not _accepted(text, m.value_at)), None)
            if inner is None:
                return at
            at = inner
            if text[at] not in "[{":
                return at
    except (ValueError, RecursionError, IndexError):
        return at
    return at


def _accepted(text: str, at: int) -> bool:
    try:
        STRICT.raw_decode(text, at)
    except ValueError:
        return False
    return True


def _check_depth(file: str, value: object) -> None:
    layer: list[object] = [value]
    for _ in range(MAX_DEPTH):
        children = (c for node in layer for c in _children(node))
        layer = [child for child in children if isinstance(child, list | dict)]
        if not layer:
            return
    raise _too_deep(file)


def _children(node: object) -> Sequence[object] | Iterator[object]:
    if isinstance(node, dict):
        return iter(node.values())
    return node if isinstance(node, list) else ()


def _check_characters(file: str, text: str, value: object) -> None:
    """Half a surrogate pair is no character: it could be written to no file and no terminal."""
    found = HALF_PAIR.search(text)
    if not found:
        return
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        half = f"\\u{ord(error.object[error.start]):04x}"
        at = text.lower().find(half)
        raise _damaged(file, text, max(at, 0), f"{half} is half a character (a lone surrogate)") from error


def _too_deep(file: str) -> DamagedProblem:
    return DamagedProblem(f"{file}: values are nested more than {MAX_DEPTH} deep", "this is no list of stories")


def _damaged(file: str, text: str, at: int, why: str) -> DamagedProblem:
    line, column = line_and_column(text, at)
    return DamagedProblem(
        f"{file}, line {line}, column {column}: {why}",
        "correct it there, or get the last good version back with git",
    )
