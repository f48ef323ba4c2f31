"""The documents as data: their links, code, tables, and the parts that a comment names."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

from place import ROOT

FILES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
NAMES = [str(path.relative_to(ROOT)) for path in FILES]
PARSER = MarkdownIt("commonmark").enable("table")
NOTE = re.compile(r"<!-- (.+?) -->")


class Code(NamedTuple):
    """A block of code; `note` is the comment right before it."""

    language: str
    text: str
    note: str


def text_of(name: str) -> str:
    return (ROOT / name).read_text()


def tokens(name: str) -> list[Token]:
    return PARSER.parse(text_of(name))


def inline(name: str) -> Iterator[Token]:
    for token in tokens(name):
        yield from token.children or ()


def links(name: str) -> list[str]:
    """Where the document points to."""
    return [str(token.attrs["href"]) for token in inline(name) if token.type == "link_open"]


def anchors(path: Path) -> set[str]:
    """The names of the headings, as they are linked to."""
    found, heading = set(), False
    for token in PARSER.parse(path.read_text()):
        if heading:
            plain = "".join(child.content for child in token.children or ()).lower()
            found.add(re.sub(r"[^\w\- ]", "", plain).replace(" ", "-"))
        heading = token.type == "heading_open"
    return found


def blocks(name: str) -> Iterator[Code]:
    note = ""
    for token in tokens(name):
        if token.type in ("fence", "code_block"):
            yield Code(token.info.strip(), token.content, note)
        found = NOTE.search(token.content) if token.type == "html_block" else None
        note = found[1] if found else ""


def block(name: str, note: str) -> str:
    """The one block of code that this comment names."""
    (found,) = [one.text for one in blocks(name) if one.note == note]
    return found


def spans(name: str) -> Iterator[str]:
    """Code within sentences and tables."""
    yield from (token.content for token in inline(name) if token.type == "code_inline")


def lines_of_code(name: str) -> Iterator[str]:
    """Every span, and every line of a block that is no file of its own."""
    yield from spans(name)
    for one in blocks(name):
        if one.language in ("", "sh"):
            yield from one.text.splitlines()


def tables(name: str) -> Iterator[tuple[str, list[list[str]]]]:
    """Each table with the comment or heading before it; cells as they were written."""
    rows: list[list[str]] = []
    before, cell = "", False
    for token in tokens(name):
        if token.type == "html_block" and (found := NOTE.search(token.content)):
            before = found[1]
        elif token.type == "heading_open":
            before = ""
        elif token.type == "table_open":
            rows = []
        elif token.type == "tr_open":
            rows.append([])
        elif token.type == "table_close":
            yield before, rows[1:]
        elif token.type == "inline" and cell:
            rows[-1].append(token.content)
        cell = token.type in ("td_open", "th_open")


def table(name: str, note: str) -> list[list[str]]:
    """The first table after this comment."""
    return next(rows for before, rows in tables(name) if before == note)


def first_names(rows: list[list[str]]) -> list[str]:
    """The code in the first column, several of them in one cell taken apart."""
    return [found for row in rows for found in re.findall(r"`([^`]+)`", row[0])]
