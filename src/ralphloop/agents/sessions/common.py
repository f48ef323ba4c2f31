"""What the readers of session files share: finding the lines that tell, keys, times, counts."""

import re
from _blake2 import blake2b
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Annotated

from msgspec import DecodeError, Meta

from ralphloop.core.event import Tokens

FOLDER_NAME = 180  # letters of it that are the same in every version
Count = Annotated[int, Meta(ge=0, le=1 << 40)]  # of tokens; no answer has more, and sums of them stay in bounds
Milliseconds = Annotated[int, Meta(ge=0, le=7_000_000_000_000)]
Money = Annotated[float, Meta(ge=0)]
UNREADABLE = (DecodeError, UnicodeDecodeError, RecursionError)  # what a line may raise that is not as expected


def key_of(text: str) -> int:
    """64 bits that stand for a name: in a million answers two share them once in forty million times."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def lines_with(word: bytes, lines: bytes) -> Iterator[memoryview]:
    """Only the lines that hold a word: most lines are somebody's text, and need not be looked at any closer."""
    view, end = memoryview(lines), 0
    while (found := lines.find(word, end)) >= 0:
        start = lines.rfind(b"\n", end, found) + 1 or end
        end = lines.find(b"\n", found)
        if end < 0:
            end = len(lines)
        yield view[start:end]


def all_lines(lines: bytes) -> Iterator[memoryview]:
    return lines_with(b"{", lines)


def seconds(stamp: str) -> float | None:
    """The moment an ISO time names, in these times; one without a zone is in UTC, as every agent here writes it."""
    try:
        told = datetime.fromisoformat(stamp)
    except ValueError:
        return None
    if not 1970 < told.year < 2190:
        return None
    return (told if told.tzinfo else told.replace(tzinfo=UTC)).timestamp()


def without_cached(input: int, output: int, cache_read: int, cache_write: int = 0) -> Tokens:
    """For agents whose input includes what came from the cache."""
    return Tokens(max(0, input - cache_read - cache_write), output, cache_read, cache_write)


def folder_of(worktree: str) -> str:
    """How a project's folder is named: a dash for all but letters and digits; the end of a long name varies."""
    return re.sub("[^a-zA-Z0-9]", _dashes, worktree)[:FOLDER_NAME]


def _dashes(found: "re.Match[str]") -> str:
    """It is UTF-16 that is counted."""
    return "-" * (len(found[0].encode("utf-16-le", "surrogatepass")) // 2)
