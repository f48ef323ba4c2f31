"""The block structure of Markdown, by a real parser: headings, paragraphs and list items with their lines."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from ralphloop.core.errors import DamagedProblem

if TYPE_CHECKING:
    from markdown_it.token import Token

MAX_NESTING = 60
LINE_ENDS = re.compile(r"\r\n?|\n")
MARKERS = re.compile(r"(?<![^\W_])(?<!\\)[*_`]+(?=\S)|(?<=[^\s\\])[*_`]+(?![^\W_])")
ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")


class Block(Struct, frozen=True):
    """A heading, a paragraph, or the first paragraph of a list item; code, comments and quotes are left out."""

    kind: str  # "heading", "paragraph", "item"
    text: str  # as it stands in the source, emphasis and all
    line: int  # counted from 0
    level: int = 0  # of a heading: 1 to 6; of an item: how many lists it is in


def blocks(file: str, text: str) -> Iterator[Block]:
    """Everything that is read as text, in order; raises DamagedProblem on a nesting nobody writes."""
    depth, quotes, fresh = 0, 0, False
    heading = 0
    for token in _tokens(file, text):
        kind = token.type
        depth += (kind in ("bullet_list_open", "ordered_list_open")) - (
            kind in ("bullet_list_close", "ordered_list_close")
        )
        quotes += (kind == "blockquote_open") - (kind == "blockquote_close")
        if kind == "heading_open":
            heading = int(token.tag[1:])
        elif kind == "inline" and not quotes:
            line = token.map[0] if token.map else 0
            if heading:
                # a heading within a list is no section of the document
                yield Block("paragraph" if depth else "heading", token.content, line, 0 if depth else heading)
            elif fresh:
                yield Block("item", token.content, line, depth)
            else:
                yield Block("paragraph", token.content, line, depth)
        elif kind == "heading_close":
            heading = 0
        # only what opens an item at once is its own text
        fresh = kind == "list_item_open" or (fresh and kind == "paragraph_open")


def plain(text: str) -> str:
    """The words alone, for comparing: no emphasis, no escapes, single spaces."""
    if not text.isascii():
        from unicodedata import normalize

        text = normalize("NFC", text)
    return " ".join(ESCAPED.sub(r"\1", MARKERS.sub("", text)).split())


def _tokens(file: str, text: str) -> "list[Token]":
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"maxNesting": MAX_NESTING})
    # inline text is wanted as source, and "[x]: word" is a task here, not a link's definition
    parser.core.ruler.enableOnly(["normalize", "block"])
    parser.block.ruler.disable("reference")
    try:
        return parser.parse(text)
    except RecursionError as error:
        raise DamagedProblem(f"{file}: lists or quotes are nested too deep", "flatten them") from error
