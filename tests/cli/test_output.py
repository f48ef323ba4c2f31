"""Lines at a terminal: folded with their indent, whatever the words are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralphloop.cli.output import folded, spread


@pytest.mark.parametrize(
    ("text", "width", "indent", "lines"),
    [
        ("one two three", 40, 4, ["one two three"]),
        ("    → Bash one two three", 16, 6, ["    → Bash one", "      two three"]),
        ("    → /a/long/path/without/end", 16, 6, ["    → /a/long/pa", "      th/without", "      /end"]),
        ("  ✗ 漢字漢字漢字漢字漢字", 15, 4, ["  ✗ 漢字漢字漢", "    字漢字漢字"]),
        ("", 10, 4, [""]),
    ],
)
def test_folded(text: str, width: int, indent: int, lines: list[str]) -> None:
    assert folded(text, width, indent) == lines


@given(st.text("ab/ 漢", max_size=80), st.integers(10, 40), st.integers(0, 12))
def test_nothing_is_wider_and_nothing_is_lost(text: str, width: int, indent: int) -> None:
    lines = folded(text, width, indent)
    assert all(spread(line) <= max(width, 10) or not line.strip() for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())
