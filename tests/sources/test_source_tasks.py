"""tasks.md: which boxes are tasks, what they are called, and how one is ticked."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ralphloop.core.errors import DamagedProblem
from ralphloop.sources.tasks import Tasks

TASKS = Tasks("docs/tasks.md")
WHOLE = """# The plan

## 1. Setup
- [ ] 1.1 Make the folder
- [x] 1.2 Write the file
  * [X] **1.2.1** and check it
  + [ ] without a number
- [?] 3.3 Ask somebody [input:KEY]

```
- [ ] in a fence
```

<!--
- [ ] in a comment
-->

    - [ ] indented code

1. [ ] numbered list
2. [ ] 7) seventh
- [x]no space
- [link](x)
- [ ]
> - [ ] in a quote
"""


def test_what_is_a_task() -> None:
    plan = TASKS.take(WHOLE.encode())
    assert [(s.title, s.passes, s.manual) for s in plan.stories] == [
        ("1.1 Make the folder", False, False),
        ("1.2 Write the file", True, False),
        ("**1.2.1** and check it", True, False),
        ("without a number", False, False),
        ("3.3 Ask somebody [input:KEY]", False, True),
        ("numbered list", False, False),
        ("7) seventh", False, False),
    ]
    assert [s.id for s in plan.stories if not s.id.startswith("task-")] == ["1.1", "1.2", "1.2.1", "3.3", "7"]
    assert plan.description == "The plan"
    assert plan.stories[0].description == "1. Setup"


@pytest.mark.parametrize(
    ("line", "state"),
    [
        ("- [ ] a", "open"),
        ("-\t[ ]\ta", "open"),
        ("-   [] a", "open"),
        ("+ [\u00a0] a", "open"),
        ("* [x] a", "done"),
        ("12) [X] a", "done"),
        ("- - [x] a", "done"),
        ("-\n  [x] a", "done"),
        ("- [x]\n  a", "done"),
        ("- [x]: a", None),
        ("- [?] a", "manual"),
        ("-[ ] a", None),
        ("[ ] a", None),
        ("- a [ ] b", None),
        ("- [  ] a", None),
        ("- [ ]a", None),
        ("- # [ ] a", None),
        ("- [y] a", None),
        ("<details>\n- [ ] a\n</details>", None),
    ],
)
def test_how_a_task_may_be_written(line: str, state: str | None) -> None:
    content = f"intro\n\n{line}\n".encode()
    states = ["manual" if s.manual else "done" if s.passes else "open" for s in TASKS.take(content).stories]
    assert states == ([state] if state else [])


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_settle_flips_one_character(line_end: str, mark: bytes) -> None:
    content = mark + WHOLE.replace("\n", line_end).encode()
    done = TASKS.settle(content, {"1.1": True, "1.2.1": False, "3.3": False, "unknown": True})
    assert done == content.replace(b"- [ ] 1.1", b"- [x] 1.1").replace(b"[X] **1.2.1", b"[ ] **1.2.1")
    assert TASKS.settle(done, {"1.1": True, "1.2.1": False}) == done
    assert TASKS.settle(content, {"1.2.1": True}) == content


@pytest.mark.parametrize(
    ("before", "passes", "after"),
    [
        ("- [] a", True, "- [x] a"),
        ("- [?] a", True, "- [x] a"),
        ("- [?] a", False, "- [?] a"),
        ("- [X] a", True, "- [X] a"),
        ("-\n  [ ] a [ ] b", True, "-\n  [x] a [ ] b"),
        ("- - 1. [ ] a", True, "- - 1. [x] a"),
        ("- [ ] \u2028 a", True, "- [x] \u2028 a"),
    ],
)
def test_odd_boxes_are_flipped_too(before: str, passes: bool, after: str) -> None:
    (story,) = TASKS.take(before.encode()).stories
    assert TASKS.settle(before.encode(), {story.id: passes}).decode() == after


def test_ids_outlive_insertions_and_marks_and_are_unique() -> None:
    before = TASKS.take(b"- [ ] build\n- [ ] test\n- [ ] 1.1 x\n").ids
    after = TASKS.take(b"- [ ] new\n- [x] **build**\n- [ ] test\n- [ ] test\n- [x] 1.1 x\n- [ ] 1.1 y\n- [ ] 1.1-2 z\n")
    assert before < after.ids
    assert len(after.ids) == 7
    assert {"1.1", "1.1-2"} < after.ids


@pytest.mark.parametrize(
    ("content", "complete"),
    [
        (b"", False),
        (b"# nothing\n", False),
        (b"- [ ] a\n", False),
        (b"- [x] a\n- [ ] b\n", False),
        (b"- [x] a\n", True),
        (b"- [x] a\n- [?] b\n", True),
        (b"- [?] b\n", False),
        (b"- [x] a\n```\n- [ ] b\n```\n", True),
    ],
)
def test_when_a_list_is_done(content: bytes, complete: bool) -> None:
    assert TASKS.take(content).complete is complete


@pytest.mark.parametrize(
    ("now", "healed"),
    [
        (b"- [x] a\n- [ ] b\n", b"- [x] a\n- [ ] b\n- [?] c\n"),
        (b"- [x] b\n- [x] more\n", b"- [ ] a\n- [x] b\n- [?] c\n"),
        (b"- [?] a\n- [x] c\n", b"- [ ] a\n- [x] b\n- [x] c\n"),
        (b"", b"- [ ] a\n- [x] b\n- [?] c\n"),
        (b"\xff", b"- [ ] a\n- [x] b\n- [?] c\n"),
    ],
)
def test_heal_keeps_good_with_the_marks_of_now(now: bytes, healed: bytes) -> None:
    assert TASKS.heal(b"- [ ] a\n- [x] b\n- [?] c\n", now) == healed


@pytest.mark.parametrize("content", [b"\xff\xfe", b"- [ ] \0", b"x" * (5 << 20)])
def test_what_is_no_text_is_said(content: bytes) -> None:
    for attempt in (TASKS.take, lambda bad: TASKS.settle(bad, {}), lambda bad: TASKS.heal(bad, b"")):
        with pytest.raises(DamagedProblem, match=r"^docs/tasks\.md is "):
            attempt(content)
    finding = TASKS.review({"tasks.md": content})[-1]
    assert (finding.level, finding.line) == ("error", "tasks.md cannot be read:")
    assert finding.details and finding.advice


@pytest.mark.parametrize(
    ("files", "shown"),
    [
        ({}, ["error Required files missing:"]),
        ({"tasks.md": b""}, ["ok Required files present", "ok tasks.md readable", "warning tasks.md has no tasks"]),
        (
            {"tasks.md": b"- [x] a\n- [ ] b\n- [?] c\n"},
            ["ok Required files present", "ok tasks.md readable", "ok tasks.md has 3 tasks (1 done, 1 for a person)"],
        ),
        (
            {"tasks.md": b"- [x] a\n- [  ] b\n- [ ]c\n- [ ]\n- [x](link)\n"},
            [
                "ok Required files present",
                "ok tasks.md readable",
                "warning tasks.md has items that are read as no task:",
                "ok tasks.md has 1 task (1 done)",
            ],
        ),
    ],
)
def test_review(files: dict[str, bytes], shown: list[str]) -> None:
    assert [f"{finding.level} {finding.line}" for finding in TASKS.review(files)] == shown


def test_odd_items_are_named_with_their_lines() -> None:
    odd = TASKS.review({"tasks.md": b"- [x] a\n- [  ] b\n- [x]c\n- [link](u)\n- [link]\n"})[2]
    assert odd.details == (
        '- line 2: "[  ] b" (write "- [ ] text")',
        '- line 3: "[x]c" (write "- [ ] text")',
    )


def test_many_tasks_with_the_same_words_are_read() -> None:
    assert len(TASKS.take(b"- [ ] the same\n" * 5_000).ids) == 5_000


PIECES = ["- [ ] a", "- [x] 1.1 b", "  * [?] c", "1. [X] a", "```", "<!--", "-->", "> - [ ] q", "\t- [ ] d", "",
          "---", "- [] e", "- - [ ] [x] f", "-", "  [ ] g", "\x0c- [ ] h", "\u2028- [ ] i", "# [ ] j",
          "- [ ]", "lazy"]  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.sampled_from(PIECES), max_size=12),
    st.sampled_from(["\n", "\r\n", "\r", "\n\n"]),
    st.lists(st.booleans(), min_size=30, max_size=30),
)
def test_settle_and_take_agree(lines: list[str], line_end: str, wishes: list[bool]) -> None:
    content = line_end.join(lines).encode()
    plan = TASKS.take(content)
    marks = {story.id: wish for story, wish in zip(plan.stories, wishes, strict=False)}
    done = TASKS.settle(content, marks)
    assert {story.id: story.passes for story in TASKS.take(done).stories} == marks
    assert TASKS.settle(done, marks) == done
    assert len(done) - len(content) in range(len(lines) + 1)
    assert TASKS.heal(content, done) == done


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=60) | st.text(max_size=60).map(lambda text: text.encode(errors="replace")))
def test_arbitrary_bytes_are_nothing_worse_than_damaged(content: bytes) -> None:
    assert TASKS.review({"tasks.md": content})
    try:
        plan = TASKS.take(content)
    except DamagedProblem as problem:
        assert problem.message and problem.hint
    else:
        assert TASKS.take(TASKS.settle(content, {story.id: True for story in plan.stories})).open == ()
