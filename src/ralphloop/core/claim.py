"""What an agent claims in its own last words, and the one error that a failed output speaks of."""

import re
from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

STORY = "<promise>STORY_COMPLETE</promise>"
OPENED, CLOSED, LONGEST_REASON = "<promise>", "</promise>", 2000
FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
INLINE_CODE = re.compile(r"(`+)(?!`).{1,2000}?(?<!`)\1(?!`)", re.DOTALL)
QUOTED = re.compile(r"""(["'“‘«])<promise>[^\n]{0,2000}?</promise>["'”’»]""")
COMMENT = re.compile(r"<!--.{0,20000}?-->", re.DOTALL)


class Claim(Struct, frozen=True):
    kind: Literal["none", "complete", "story", "failed"] = "none"
    reason: str = ""


def bare(text: str) -> str:
    """The text without code, quotations and comments: what the writer says in their own name."""
    lines, fence, blank = [], "", True
    for line in text.splitlines():
        was_blank, blank = blank, not line.strip()
        opened = FENCE.match(line)
        if fence:
            if opened and opened[1][0] == fence[0] and len(opened[1]) >= len(fence) and not line.strip(" `~"):
                fence = ""
        elif opened:
            fence = opened[1]
        elif line.startswith(("    ", "\t")) and was_blank:
            blank = True  # code by its indent, as is what follows it like that
        elif not line.lstrip().startswith(">"):
            lines.append(line)
    return QUOTED.sub("", COMMENT.sub("", INLINE_CODE.sub("", "\n".join(lines))))


def without_echo(text: str, prompt: str, promise: str) -> str:
    """The text without the lines of promises that stand, behind the same line, in the prompt."""
    told = set(_promises(prompt, promise))
    if not told:
        return text
    echoed = {number for number, before, line in _numbered(text) if (before, line) in told}
    return "\n".join(line for number, line in enumerate(text.splitlines()) if number not in echoed)


def _promises(text: str, promise: str) -> Iterator[tuple[str, str]]:
    return ((before, line) for _, before, line in _numbered(text) if OPENED in line or promise in line)


def _numbered(text: str) -> Iterator[tuple[int, str, str]]:
    """Each line that says something, with its number and the one before it that does."""
    before = ""
    for number, line in enumerate(text.splitlines()):
        if words := line.strip():
            yield number, before, words
            before = words


def claim_of(last_words: str, promise: str) -> Claim:
    """FAILED beats COMPLETE beats STORY_COMPLETE when several stand in one message."""
    if "<" not in last_words and promise not in last_words:
        return Claim()
    said = bare(last_words)
    if (reason := _given_up(said)) is not None:
        return Claim("failed", reason or "no reason given")
    if promise and promise in said:
        return Claim("complete")
    return Claim("story") if STORY in said else Claim()


def _given_up(said: str) -> str | None:
    """The reason of the first promise that says FAILED."""
    for part in said.split(OPENED)[1:]:
        inside, closed, _ = part.partition(CLOSED)
        if closed and len(inside) <= LONGEST_REASON and inside.lstrip().startswith("FAILED"):
            return " ".join(inside.lstrip().removeprefix("FAILED").lstrip().removeprefix(":").split())
    return None


ERROR_LINE = re.compile(
    r"^\s*(?:.{0,80}\bFAILED\b|FAIL:|\S{0,200}(?:Error|Exception)\b\s*:|(?:fatal )?error(?:\[E\d+\])?\s*:|panic:"
    r"|fatal:|\d+ (?:tests? )?failed|.{0,80}\btests? failed|.{0,40}\bbuild failed|.{0,80}command failed"
    r"|.{0,80}exit status [1-9])",
    re.IGNORECASE,
)
TIMES = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?\S*|\b\d{1,2}:\d\d(?::\d\d)?(?:\.\d+)?\b|\b\d+(?:\.\d+)? ?m?s\b"
)
PATHS = re.compile(r"(?:[A-Za-z]:)?(?:[\w.@~-]*[/\\])+[\w.@-]*")
NUMBERS = re.compile(r"0x[0-9a-f]+|\b[0-9a-f]{7,64}\b|\d+", re.IGNORECASE)


def error_in(output: str) -> str:
    """The line of an output that tells what went wrong, or nothing."""
    lines = output[-200_000:].splitlines()
    return next((line.strip()[:500] for line in lines if ERROR_LINE.match(line[:500])), "")


def normalised(error: str) -> str:
    """The same for two errors that differ only in times, paths, line numbers and addresses."""
    text = NUMBERS.sub("#", PATHS.sub("PATH", TIMES.sub("TIME", error[:2000])))
    return " ".join(text.split()).lower()
