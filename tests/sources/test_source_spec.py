"""spec.md: what is read of a document, and what is said of an odd one."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ralphloop.core.errors import DamagedProblem
from ralphloop.sources import spec
from ralphloop.sources.markdown import plain
from ralphloop.sources.spec import Spec

WHOLE = """---
created: 2026-01-31T12:00:00Z
---

# Accounts

## Problem Statement
First paragraph
of the problem.

Second.

## Success Criteria
- [ ] It works
* [x] It *really* works

## User Stories

### STORY-001: Store `accounts`
**As a** visitor
**I want to** have an account
**So that** it is mine

**Acceptance Criteria:**
- [ ] Criterion with **bold** and `code`
      that goes on
  - explained by this
  - [x] nested with a box
+ [X] Another bullet
1. [ ] Numbered
- Without a box

**Technical Notes:**
- [ ] A note is no criterion
- Another

### STORY-002.1: Second: with a colon ###

```markdown
### STORY-003: in a fence
- [ ] in a fence
```

<!--
### STORY-004: in a comment

- [ ] in a comment
-->

> ### STORY-005: in a quote

    ### STORY-006: indented code

#### Acceptance Criteria
- [ ] One

#### Other Things
- [ ] Not this

## Out of Scope
- Passwords

### STORY-007: dropped

## Open Questions
- Why?
"""


def read(text: str) -> Spec:
    return spec.parse("spec.md", text.encode())


def test_a_whole_document() -> None:
    document = read(WHOLE)
    assert (document.title, document.created) == ("Accounts", "2026-01-31T12:00:00Z")
    assert document.problem == "First paragraph\nof the problem.\n\nSecond."
    assert document.success == ["It works", "It *really* works"]
    assert document.out_of_scope == ["Passwords"]
    assert document.open_questions == ["Why?"]
    assert document.complaints == []
    first, second = document.stories
    assert (first.id, first.title, first.line) == ("STORY-001", "Store `accounts`", 19)
    assert first.description == "As a visitor I want to have an account So that it is mine"
    assert first.criteria == [
        "Criterion with **bold** and `code` that goes on",
        "nested with a box",
        "Another bullet",
        "Numbered",
        "Without a box",
    ]
    assert first.notes == ["[ ] A note is no criterion", "Another"]
    assert (second.id, second.title) == ("STORY-002.1", "Second: with a colon")
    assert second.criteria == ["One"]


@pytest.mark.parametrize("line_end", ["\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_and_byte_order_marks_make_no_difference(line_end: str, mark: str) -> None:
    assert read(mark + WHOLE.replace("\n", line_end)) == read(WHOLE)


@pytest.mark.parametrize(
    ("heading", "found"),
    [
        ("## STORY-1: A", ("STORY-1", "A")),
        ("### STORY-1: A", ("STORY-1", "A")),
        ("#### US-1.2_b: A", ("US-1.2_b", "A")),
        ("###\tSTORY-1:\tA", ("STORY-1", "A")),
        ("### **STORY-1: A**", ("STORY-1", "A")),
        ("### **STORY-1:** A", ("STORY-1", "A")),
        ("### STORY-1:", ("STORY-1", "")),
        ("STORY-1: A\n---", ("STORY-1", "A")),
        ("   ### STORY-1: A", ("STORY-1", "A")),
        ("# STORY-1: A", None),
        ("##### STORY-1: A", None),
        ("### STORY-1 A", None),
        ("### STORY1: A", None),
        ("###STORY-1: A", None),
        ("    ### STORY-1: A", None),
        ("- ### STORY-1: A", None),
        ("~~~\n### STORY-1: A\n~~~", None),
        ("<!-- ### STORY-1: A -->", None),
    ],
)
def test_what_is_a_story_heading(heading: str, found: tuple[str, str] | None) -> None:
    stories = [(story.id, story.title) for story in read(f"\n{heading}\n").stories]
    assert stories == ([found] if found else [])


@pytest.mark.parametrize(
    "label",
    ["**Acceptance Criteria:**", "**Acceptance Criteria**:", "__acceptance criteria:__", "Acceptance Criteria:",
     "#### Acceptance Criteria", "**So that** x\n**Acceptance Criteria:**", "- **Acceptance Criteria:**"],
)  # fmt: skip
@pytest.mark.parametrize("bullet", ["- [ ] a", "\n* [x] a", "\n1. [ ]\ta", "\n+ [] a", "\n   - [ ] a"])
def test_how_criteria_may_be_announced(label: str, bullet: str) -> None:
    (story,) = read(f"### S-1: t\n{label}\n{bullet}\n\n**Other:**\n- [ ] b\n").stories
    assert story.criteria == ["a"]


@pytest.mark.parametrize(
    ("front", "complaint"),
    [
        ("", "frontmatter missing (a first line"),
        ("---\ncreated: 2026-01-31\n", "frontmatter missing (a first line"),
        ("---\n---\n", 'frontmatter missing "created" (ISO-8601)'),
        ("---\ncreated:\n---\n", 'frontmatter missing "created" (ISO-8601)'),
        ("---\n- created\n---\n", 'frontmatter missing "created" (ISO-8601)'),
        ("---\ncreated: soon\n---\n", 'frontmatter "created" is not ISO-8601: soon'),
        ("---\ncreated: 2026-99-99\n---\n", 'frontmatter "created" is not ISO-8601: 2026-99-99'),
        ("---\na: 1\ncreated: [\n---\n", "frontmatter is not YAML, line "),
        ("---\ncreated: !!python/object:os.system x\n---\n", 'frontmatter "created" is not ISO-8601: x'),
        ("---\na: " + "[" * 5000 + "\n---\n", "frontmatter is not YAML"),
        ("---\na: " + "x" * 70_000 + "\n---\n", "frontmatter is too large"),
        ("---\ncreated: 2026-01-31\n---\n", None),
        ("---\r\ncreated: '2026-01-31T12:00:00+02:00'\r\n---\r\n", None),
    ],
)
def test_frontmatter(front: str, complaint: str | None) -> None:
    found = read(f"{front}# T\n").complaints
    assert (found == []) if complaint is None else found[0].startswith(complaint)


def test_a_heading_that_is_nearly_a_story_is_said() -> None:
    document = read("---\ncreated: 2026-01-31\n---\n### STORY-001 Title\n")
    assert document.complaints == ['line 4: "STORY-001 Title" is read as no story (write "### STORY-001: Title")']


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "spec.md is empty"),
        (b"\n \t\n", "spec.md is empty"),
        (b"\x89PNG\r\n", "spec.md is not UTF-8"),
        (b"# a\n\0", "spec.md is not text: a NUL byte in line 2"),
        (b"a" * (17 << 20), "spec.md is too large: 17.0 MB"),
    ],
)
def test_what_cannot_be_read_is_said(content: bytes, said: str) -> None:
    with pytest.raises(DamagedProblem) as caught:
        spec.parse("spec.md", content)
    assert caught.value.message.startswith(said)
    assert caught.value.hint


@pytest.mark.parametrize(
    "text", ["- " * 20_000, "> " * 20_000, "".join("  " * n + "- a\n" for n in range(300)), "[" * 50_000, "*" * 50_000]
)
def test_bombs_are_read_as_far_as_they_go(text: str) -> None:
    document = read(f"## Problem Statement\n\n{text}\n\n### S-1: {text}\n")
    assert "problem statement" in document.sections


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("a  b\n c", "a b c", True),
        ("**a** _b_ `c`", "a b c", True),
        (r"a\*b \[x\]", "a*b [x]", True),
        ("caf\u00e9", "cafe\u0301", True),
        ("user_id", "userid", False),
        ("2*3", "23", False),
        ("a", "A", False),
    ],
)
def test_plain_words_are_compared(one: str, other: str, same: bool) -> None:
    assert (plain(one) == plain(other)) is same


PIECES = ["### S-1: t", "## Out of Scope", "- [ ] a", "  - b", "```", "<!--", "-->", "---", "**Acceptance Criteria:**",
          "created: 1", "> q", "\t", "", "[x]: y", "1. [x] z", "===", "\u2028", "\x0b- [ ] c", "\r"]  # fmt: skip


@settings(max_examples=120, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=14).map("\n".join) | st.text(max_size=60))
def test_any_text_is_read_or_said(text: str) -> None:
    try:
        document = spec.parse("spec.md", text.encode(errors="replace"))
    except DamagedProblem as problem:
        assert problem.message and problem.hint
    else:
        assert all(story.id and 0 < story.line <= len(text) + 1 for story in document.stories)
