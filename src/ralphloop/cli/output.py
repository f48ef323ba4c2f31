"""The only place that writes to stdout and stderr: data on one, talk on the other; colours where they are seen."""

import os
import sys
from typing import TYPE_CHECKING, TextIO

from ralphloop.core.errors import NOT_DONE, Problem

if TYPE_CHECKING:
    from ralphloop.cli.outlet import Outlet

COLOURS = {
    "head": "1",
    "begin": "1;36",
    "good": "32",
    "bad": "31",
    "note": "33",
    "quiet": "2",
    "talk": "",
    "tool": "34",
    "answer": "2",
    "fault": "2",
}
GLYPHS = {
    "head": "",
    "begin": "▶ ",
    "good": "  ✓ ",
    "bad": "  ✗ ",
    "note": "  ! ",
    "quiet": "    ",
    "talk": "    ",
    "tool": "    → ",
    "answer": "    ← ",
    "fault": "    ✗ ",
}
PLAIN_GLYPHS = {"▶": ">", "✓": "+", "✗": "x", "→": "-", "←": "<", "·": "-", "…": "...", "⚠": "!", "≥": ">="}
NARROWEST = 10  # columns


def seen(stream: TextIO) -> bool:
    """Whether somebody sits before it, at a terminal that knows how to move its cursor."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


_outlet: "Outlet | None" = None
LAST_LOOK, LONG_LOOK = 2.0, 15.0  # seconds without a reader after which the last words are given up


def coloured(stream: TextIO) -> bool:
    return seen(stream) and not os.environ.get("NO_COLOR")


def clean(text: str) -> str:
    """Nothing in it that a terminal would obey or that turns the reading order."""
    if text.isprintable():
        return text
    from unicodedata import category

    return "".join(c if c == "\n" or category(c) not in ("Cc", "Cf", "Cs", "Zl", "Zp") else "�" for c in text)


def columns(stream: TextIO) -> int | None:
    """How wide the terminal is; None when it is none."""
    try:
        return os.get_terminal_size(stream.fileno()).columns if stream.isatty() else None
    except (OSError, ValueError):
        return None


def folded(text: str, width: int, indent: int) -> list[str]:
    """Lines of at most so many columns, all but the first indented; a word longer than a line is broken."""
    indent = min(indent, max(0, width - NARROWEST))
    lines: list[str] = []
    line = ""
    for number, word in enumerate(text.split(" ")):
        longer = f"{line} {word}" if number else word
        if spread(longer) > width and line.strip() and spread(word) <= width - indent:
            lines.append(line)
            longer = " " * indent + word
        while spread(longer) > max(width, NARROWEST):
            head = fitting(longer, max(width, NARROWEST))
            lines.append(head)
            longer = " " * indent + longer[len(head) :]
        line = longer
    return [*lines, line]


def fitting(text: str, width: int) -> str:
    """The beginning of a text that takes at most so many columns."""
    head = text[:width]
    while spread(head) > width:
        head = head[:-1]
    return head


def spread(text: str) -> int:
    """The columns a text takes: some letters take two."""
    if text.isascii():
        return len(text)
    from unicodedata import east_asian_width

    return sum(2 if east_asian_width(c) in "WF" else 1 for c in text)


class Screen:
    """Lines that stay and, on a terminal, one at the bottom that changes."""

    def __init__(self) -> None:
        self.colour = coloured(sys.stdout)
        self.live = seen(sys.stdout)
        self.below = ""

    def line(self, kind: str, text: str) -> None:
        glyph, text = GLYPHS.get(kind, ""), clean(text)
        self._clear()
        width = columns(sys.stdout)
        for one in folded(glyph + text, width, len(glyph)) if width else [glyph + text]:
            say(self.paint(COLOURS.get(kind, ""), one))
        if self.below:
            self._draw()

    def row(self, title: str, text: str, colour: str = "") -> None:
        """A title and what belongs to it, folded below one another on a terminal."""
        width = columns(sys.stdout)
        lines = folded(title + clean(text), width, len(title)) if width else [title + clean(text)]
        for line in lines:
            say(self.paint(colour, line))

    def paint(self, colour: str, text: str) -> str:
        return f"\x1b[{colour}m{text}\x1b[0m" if self.colour and colour else text

    def bottom(self, text: str) -> None:
        """The changing line; shown on a terminal only."""
        if not self.live:
            return
        self._clear()
        self.below = text
        if text:
            self._draw()

    def _clear(self) -> None:
        if self.below:
            put(sys.stdout, "\r\x1b[K")

    def _draw(self) -> None:
        text, width = clean(self.below).replace("\n", " "), max(10, (columns(sys.stdout) or 80) - 1)
        short = text if spread(text) <= width else fitting(text, width - 1) + "…"
        put(sys.stdout, self.paint("2", short))


def say(text: str) -> None:
    """One line of data or account on stdout."""
    put(sys.stdout, text + "\n")


def put(stream: TextIO, text: str) -> None:
    """In whatever the stream can show."""
    try:
        content = text.encode(stream.encoding)
    except UnicodeEncodeError:
        for glyph, plain in PLAIN_GLYPHS.items():
            text = text.replace(glyph, plain)
        content = text.encode(stream.encoding, "replace")
    _give(stream, content)


def wait_for_nobody() -> None:
    """From now on a reader that reads no more, or a terminal that is held, holds up nothing here."""
    from ralphloop.cli.outlet import Outlet

    global _outlet
    sys.stdout.flush()
    _outlet = Outlet()


def wait_for_readers(*, hurry: bool) -> None:
    """Let what was said last be seen, as far as anybody looks; a program that reads may take its time."""
    if _outlet is not None:
        _outlet.close(LAST_LOOK if hurry or seen(sys.stdout) else LONG_LOOK)


def _give(stream: TextIO, content: bytes) -> None:
    if _outlet is not None:
        _outlet.put(stream.fileno(), content)
        return
    stream.flush()
    stream.buffer.write(content)
    stream.buffer.flush()


def hush() -> None:
    """When nobody reads stdout any more, what the stream holds back must not come up again."""
    try:
        sys.stdout.flush()
    except OSError:
        silence()


def silence() -> None:
    """What is still said on stdout goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def data(content: bytes) -> None:
    """Bytes as they are, and a line's end when they have none."""
    _give(sys.stdout, content if content.endswith(b"\n") else content + b"\n")


def talk(text: str) -> None:
    """A line on stderr; when nobody hears it, nothing can be done about that."""
    try:
        width = columns(sys.stderr)
        lines = text.split("\n")
        if width:
            lines = [one for line in lines for one in folded(line, width, 2)]
        put(sys.stderr, "".join(f"{line}\n" for line in lines))
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def complain(problem: Problem, *, as_json: bool = False) -> None:
    """What happened, and what to try; for programs on stdout as well."""
    if as_json:
        refusal(problem)
    red = coloured(sys.stderr)
    message = clean(problem.message)
    talk(f"\x1b[31merror:\x1b[0m {message}" if red else f"error: {message}")
    if problem.hint:
        talk(f"  try: {clean(problem.hint)}")


def refusal(problem: Problem, **more: object) -> None:
    """The one JSON object that says that it went wrong."""
    import json
    from contextlib import suppress

    error = {"message": problem.message, "hint": problem.hint, "exit_code": problem.exit_code or NOT_DONE}
    with suppress(OSError):
        data(json.dumps({"error": error, **more}, ensure_ascii=True).encode())


def _in_background() -> bool:
    """Who reads from the terminal there is stopped until somebody comes and looks."""
    try:
        return os.tcgetpgrp(sys.stdin.fileno()) != os.getpgrp()
    except OSError:  # it is not the terminal that controls us
        return False


def confirmed(question: str) -> bool:
    """Ask at a terminal; without one, or in its background, the answer is no."""
    if not sys.stdin.isatty() or _in_background():
        return False
    put(sys.stderr, f"{question} [y/N] ")
    return sys.stdin.readline().strip().lower() in ("y", "yes")
