"""The preflight of a feature folder as a user sees it: golden texts, and every rule of agreement."""

import json
from typing import Any

import pytest

from ralphloop.core.ports import Finding
from ralphloop.sources.prd import Prd

PRD = Prd(".ralph/feature-user-auth/prd.json")
GLYPHS = {"ok": "✓", "warning": "⚠", "error": "✗"}
HEAD = "---\ncreated: 2026-01-31T12:00:00Z\n---\n# T\n\n## Problem Statement\np\n\n## Success Criteria\n- [ ] s\n\n"
TAIL = "\n## Out of Scope\n- o\n"


def printed(findings: tuple[Finding, ...]) -> str:
    """As the contract says: a glyph, details indented by four, then what to do."""
    lines = []
    for finding in findings:
        lines.append(f"{GLYPHS[finding.level]} {finding.line}")
        lines += [f"    {detail}" for detail in finding.details]
    for finding in findings:
        if finding.advice:
            lines += ["", *finding.advice]
    return "\n".join(lines)


def document(stories: dict[str, tuple[str, list[str]]], head: str = HEAD, tail: str = TAIL) -> bytes:
    text = head + "## User Stories\n"
    for story_id, (title, criteria) in stories.items():
        text += f"\n### {story_id}: {title}\n\n**Acceptance Criteria:**\n"
        text += "".join(f"- [ ] {criterion}\n" for criterion in criteria)
    return (text + tail).encode()


def prd(stories: dict[str, tuple[str, list[str]]], **passes: bool) -> bytes:
    listed: list[dict[str, Any]] = [
        {"id": story_id, "title": title, "acceptanceCriteria": criteria, "priority": number, "notes": f"n{number}",
         "passes": passes.get(story_id.replace("-", "_"), False)}
        for number, (story_id, (title, criteria)) in enumerate(stories.items(), 1)
    ]  # fmt: skip
    return json.dumps({"description": "d", "createdAt": "2026-01-31", "userStories": listed}, indent=2).encode()


ONE = {"STORY-001": ("One", ["a", "b"])}
TWO = {**ONE, "STORY-002": ("Two", ["c"])}
THREE = {**TWO, "STORY-003": ("Three", ["d"])}


def review(prd_json: bytes | None, spec_md: bytes | None, progress: bytes | None = b"") -> tuple[Finding, ...]:
    files = {"prd.json": prd_json, "spec.md": spec_md, "progress.txt": progress}
    return PRD.review({name: content for name, content in files.items() if content is not None})


GOLDEN = {
    "all good": (
        (prd(TWO, STORY_001=True), document(TWO)),
        """\
✓ Required files present
✓ prd.json schema valid
✓ spec.md structure valid
✓ Sync check passed""",
    ),
    "out of sync": (
        (
            prd(THREE),
            document({**THREE, "STORY-002": ("Two", ["c2"]), "STORY-004": ("Four", ["e"])}, tail=""),
        ),
        """\
✓ Required files present
✓ prd.json schema valid
⚠ spec.md missing "Out of Scope" section (recommended)
✗ Sync check failed:
    - STORY-004 in spec.md not found in prd.json
    - STORY-002 acceptance criteria differs

Resolve sync issues by running '/ralph-prd' in Claude Code.
Run '/ralph-prd' to regenerate prd.json from spec.md
Without that command: edit prd.json by hand until `ralph validate` finds no fault
STORY-002, only in spec.md: c2
STORY-002, only in prd.json: c""",
    ),
    "finished story lost": (
        (prd(THREE, STORY_003=True), document(TWO)),
        """\
✓ Required files present
✓ prd.json schema valid
✓ spec.md structure valid
✗ Orphan check failed:
    - STORY-003 in prd.json (passes: true) not found in spec.md
      ^^^ COMPLETED WORK WILL BE LOST

This story was completed but is no longer in spec.md.
Options:
  1. Add STORY-003 back to spec.md (preserve completed work)
  2. Run '/ralph-prd' and confirm orphan removal (discard work)
Orphaned COMPLETED story: STORY-003
To confirm: '/ralph-prd --confirm-orphan-removal'
Without that command: take STORY-003 out of prd.json by hand (discard work)""",
    ),
    "open story left over": (
        (prd(TWO), document(ONE)),
        """\
✓ Required files present
✓ prd.json schema valid
✓ spec.md structure valid
⚠ Orphaned story: STORY-002 (passes: false, will be removed)
✓ Sync check passed""",
    ),
    "everything at once": (
        (prd(THREE, STORY_002=True, STORY_003=True), document({"STORY-001": ("Uno", ["b", "a"])})),
        """\
✓ Required files present
✓ prd.json schema valid
✓ spec.md structure valid
✗ Sync check failed:
    - STORY-001 title differs
    - STORY-001 acceptance criteria differs
✗ Orphan check failed:
    - STORY-002 in prd.json (passes: true) not found in spec.md
      ^^^ COMPLETED WORK WILL BE LOST
    - STORY-003 in prd.json (passes: true) not found in spec.md
      ^^^ COMPLETED WORK WILL BE LOST

Resolve sync issues by running '/ralph-prd' in Claude Code.
Run '/ralph-prd' to regenerate prd.json from spec.md
Without that command: edit prd.json by hand until `ralph validate` finds no fault
STORY-001 is "Uno" in spec.md, "One" in prd.json
STORY-001: the same criteria in another order

These stories were completed but are no longer in spec.md.
Options:
  1. Add STORY-002, STORY-003 back to spec.md (preserve completed work)
  2. Run '/ralph-prd' and confirm orphan removal (discard work)
Orphaned COMPLETED story: STORY-002
Orphaned COMPLETED story: STORY-003
To confirm: '/ralph-prd --confirm-orphan-removal'
Without that command: take STORY-002, STORY-003 out of prd.json by hand (discard work)""",
    ),
    "nothing there": (
        (None, None, None),
        """\
✗ Required files missing:
    - prd.json
    - spec.md
    - progress.txt

prd.json is made by '/ralph-prd' in Claude Code, from spec.md, or by hand
spec.md is written by '/ralph-plan' in Claude Code, or by hand
progress.txt may be empty at the start: create it
Without prd.json a checklist does as well: tasks.md, with lines like `- [ ] Greet by name`
README.md and docs/guide.md of ralphloop show them all.""",
    ),
    "prd.json wrong": (
        (prd(ONE).replace(b"false", b'"yes"').replace(b'"One"', b"1"), document(ONE)),
        """\
✓ Required files present
✗ prd.json schema invalid:
    - line 7: userStories[0].title is 1, must be a string that is not empty
    - line 14: userStories[0].passes is "yes", must be true or false
✓ spec.md structure valid

Run '/ralph-prd' to regenerate prd.json from spec.md
Without that command: edit prd.json by hand until `ralph validate` finds no fault""",
    ),
    "prd.json cut off": (
        (prd(ONE)[:40], document(ONE)),
        """\
✓ Required files present
✗ prd.json schema invalid:
    - prd.json, line 3, column 16: unterminated string
✓ spec.md structure valid

correct it there, or get the last good version back with git""",
    ),
    "spec.md binary": (
        (prd(ONE), b"\x89PNG"),
        """\
✓ Required files present
✓ prd.json schema valid
✗ spec.md cannot be read:
    - spec.md is not UTF-8: byte 0x89 in line 1

save it as UTF-8 text, or get the last good version back with git""",
    ),
    "spec.md bare": (
        (prd({}), b"words\n"),
        """\
✓ Required files present
✓ prd.json schema valid
⚠ prd.json has no stories
⚠ spec.md frontmatter missing (a first line "---", "created: <ISO-8601>", a line "---")
⚠ spec.md missing title (# Title)
⚠ spec.md missing "Problem Statement" section
⚠ spec.md missing "Success Criteria" section
⚠ spec.md missing "User Stories" section
⚠ spec.md missing "Out of Scope" section (recommended)
✓ Sync check passed

Run '/ralph-prd' to regenerate prd.json from spec.md
Without that command: edit prd.json by hand until `ralph validate` finds no fault""",
    ),
}


@pytest.mark.parametrize("case", GOLDEN)
def test_golden(case: str) -> None:
    files, expected = GOLDEN[case]
    assert printed(review(*files)) == expected


@pytest.mark.parametrize(
    ("in_prd", "in_spec", "lines"),
    [
        (("One", ["a"]), ("One", ["a"]), []),
        (("One  two", ["a\n b"]), ("One two", ["a b"]), []),
        (("One `x`", ["**a** b"]), ("One x", ["a _b_"]), []),
        (("One", ["a"]), ("one", ["a"]), ["- S-1 title differs"]),
        (("One", ["a"]), ("One", ["A"]), ["- S-1 acceptance criteria differs"]),
        (("One", ["a"]), ("One", ["a", "b"]), ["- S-1 acceptance criteria differs"]),
        (("One", ["a", "b"]), ("One", ["a"]), ["- S-1 acceptance criteria differs"]),
        (("One", ["a", "a"]), ("One", ["a"]), ["- S-1 acceptance criteria differs"]),
    ],
)
def test_what_differs(in_prd: tuple[str, list[str]], in_spec: tuple[str, list[str]], lines: list[str]) -> None:
    last = review(prd({"S-1": in_prd}), document({"S-1": in_spec}))[-1]
    assert list(last.details) == lines
    assert last.line == ("Sync check failed:" if lines else "Sync check passed")


def test_the_order_of_stories_is_no_difference() -> None:
    assert review(prd(dict(reversed(TWO.items()))), document(TWO))[-1].line == "Sync check passed"


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("### S-1: a\n**Acceptance Criteria:**\n- [ ] x\n\n### S-1: b\n", "has S-1 twice (lines 14 and 18)"),
        ("### S-1: a\n", "has no acceptance criteria for S-1 (line 14)"),
        ("### S-1:\n", "has no title for S-1 (line 14)"),
        ("", "has no stories (### STORY-001: Title)"),
        ("### STORY-1 a\n", 'line 14: "STORY-1 a" is read as no story (write "### STORY-001: Title")'),
    ],
)
def test_the_structure_of_stories(text: str, warning: str) -> None:
    findings = review(prd({}), f"{HEAD}\n## User Stories\n{text}{TAIL}".encode())
    assert f"spec.md {warning}" in [finding.line for finding in findings if finding.level == "warning"]


def test_long_lists_are_cut() -> None:
    many = {f"S-{number}": ("t", ["a"]) for number in range(40)}
    (failed,) = [f for f in review(prd(many), document({name: ("t", ["b"]) for name in many})) if f.level == "error"]
    assert len(failed.details) == 40
    assert failed.advice[-1] == "… and 68 more"
    (failed,) = [f for f in review(prd(many).replace(b"false", b"0"), document(many)) if f.level == "error"]
    assert failed.details[-1] == "… and 8 more"
