"""The table of sources, and bytes as text."""

import subprocess
import sys

import pytest

from ralphloop.core.errors import DamagedProblem, UsageProblem
from ralphloop.core.ports import Source
from ralphloop.sources.table import SOURCES, named
from ralphloop.sources.text import decode, edited, encode, given


@pytest.mark.parametrize("name", SOURCES)
def test_every_source_is_had_by_name(name: str) -> None:
    source: Source = named(name, ".ralph/x/file")
    assert source.file == ".ralph/x/file"
    assert all("/" not in companion for companion in source.companions)


def test_unknown_source_is_answered_with_the_known_ones() -> None:
    with pytest.raises(UsageProblem) as caught:
        named("jira", "x")
    assert "jira" in caught.value.message
    assert caught.value.hint == "known sources: prd, tasks"


def test_the_markdown_parser_and_yaml_are_not_loaded_before_they_are_needed() -> None:
    code = (
        "import sys; from ralphloop.sources.table import named; named('prd', 'p'); named('tasks', 't');"
        "print([m for m in ('markdown_it', 'yaml') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\xff\xfea\0", "f.md is not UTF-8: it looks like UTF-16"),
        (b"one\ntwo \xe9", "f.md is not UTF-8: byte 0xe9 in line 2"),
        (b"\x89PNG\r\n\x1a\n", "f.md is not UTF-8: byte 0x89 in line 1"),
        (b"a\nb\0c", "f.md is not text: a NUL byte in line 2"),
        (b"a" * 101, "f.md is too large: 0.0 MB, at most 0.0 MB can be read"),
        (b"\xed\xa0\x80", "f.md is not UTF-8: byte 0xed in line 1"),
    ],
)
def test_what_is_no_text_is_said(content: bytes, said: str) -> None:
    with pytest.raises(DamagedProblem) as caught:
        decode("f.md", content, 100)
    assert caught.value.message == said
    assert caught.value.hint


@pytest.mark.parametrize("content", [b"", b"a\r\nb\rc\n", b"\xef\xbb\xbfa", "ä€😀".encode()])
def test_text_goes_back_to_the_same_bytes(content: bytes) -> None:
    text = decode("f", content, 100)
    assert not text.startswith("\ufeff")
    assert encode(text, content) == content


def test_edited_touches_only_the_spans() -> None:
    assert edited("0123456789", [(8, 9, "Y"), (2, 4, "X"), (6, 6, "+")]) == "01X45+67Y9"


def test_a_file_is_found_by_name_or_path() -> None:
    assert given({"prd.json": b"1"}, ".ralph/x/prd.json") == b"1"
    assert given({".ralph/x/prd.json": b"2"}, ".ralph/x/prd.json") == b"2"
    assert given({}, "prd.json") is None
