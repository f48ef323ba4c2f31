"""The prompt: what stands in it, and that it does not grow with the run."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ralphloop.core.policy import PromptRule
from ralphloop.core.prompt import Material, render
from ralphloop.core.story import Plan, Story

ENTRY = "---\nIteration: {n}\nStory: S-{n}\nLearnings:\n  - something about {n}\n"


def material(finished: int = 0, count: int = 300, entries: int = 0, **more: Any) -> Material:
    stories = tuple(
        Story(f"S-{n:04d}", f"title {n}", passes=n <= finished, criteria=(f"criterion {n}",))
        for n in range(1, count + 1)
    )
    given: dict[str, Any] = {
        "template": "Do {{promise}} in {{feature_dir}} by {{story_file}}.",
        "rule": PromptRule(),
        "feature_dir": ".ralph/f",
        "story_file": ".ralph/f/prd.json",
        "promise": "<promise>COMPLETE</promise>",
        "plan": Plan(stories, "What it is about."),
        "story": f"S-{finished + 1:04d}" if finished < count else "",
        "n": finished + 1,
        "of": 500,
        "progress": "# Progress Log: f\n# Started: x\n" + "".join(ENTRY.format(n=n) for n in range(1, entries + 1)),
    }
    return Material(**(given | more))


def test_references_first_then_a_blank_line_then_the_template() -> None:
    text = render(material(specs={"a.md": "A"}, rule=PromptRule(inline=False)))
    head = "@.ralph/f/prd.json\n@.ralph/f/progress.txt\n@.ralph/f/specs/\n\n"
    assert text.startswith(head + "Do <promise>COMPLETE</promise> in .ralph/f by .ralph/f/prd.json.")


def test_beside_inlined_contents_references_are_quoted_so_that_no_agent_takes_the_files_in_again() -> None:
    assert render(material()).startswith("`@.ralph/f/prd.json`\n`@.ralph/f/progress.txt`\n\nDo ")


def test_what_is_missing_is_not_referred_to() -> None:
    text = render(material(has_progress=False))
    assert "progress.txt" not in text.split("Do ")[0]
    assert "specs/" not in text


def test_the_story_at_hand_stands_whole_and_finished_ones_by_title() -> None:
    text = render(material(finished=3, count=6))
    assert "### S-0004: title 4" in text
    assert "criterion 4" in text
    assert "criterion 1" not in text
    assert "- S-0001: title 1" in text
    assert "criterion 5" not in text


def test_the_same_work_costs_the_same_late_as_early() -> None:
    early = len(render(material(finished=100, entries=100)))
    late = len(render(material(finished=250, entries=250)))
    assert late < 1.05 * early


def test_the_rest_is_said_to_be_where_it_is() -> None:
    text = render(material(finished=200, entries=40))
    assert "the last 5 of 40 entries; the earlier ones are in .ralph/f/progress.txt" in text
    assert "(150 more finished stories are in .ralph/f/prd.json)" in text
    assert "(79 more open stories are in .ralph/f/prd.json)" in text
    assert "something about 40" in text
    assert "something about 35\n" not in text


def test_failure_and_words_of_the_user_are_told() -> None:
    text = render(material(failure="check x failed", told=("use blue", "not red")))
    assert "check x failed" in text
    assert "use blue\n\nnot red" in text


def test_without_inlining_only_references_and_the_template_are_left() -> None:
    text = render(material(finished=3, rule=PromptRule(inline=False), entries=3))
    assert "criterion" not in text
    assert "something about" not in text


def test_specs_share_a_bound() -> None:
    specs = {f"{n}.md": "x" * 30_000 for n in range(9)}
    text = render(material(specs=specs))
    assert len(text) < 100_000
    assert "(see also .ralph/f/specs/8.md)" in text
    assert "10000 more characters: read .ralph/f/specs/0.md" in text


def test_no_open_story_means_the_checks_are_the_work() -> None:
    assert "Every story is marked as finished" in render(material(finished=5, count=5))


@settings(max_examples=200, deadline=None)
@given(
    st.integers(0, 60),
    st.integers(1, 60),
    st.text(max_size=500),
    st.builds(
        PromptRule,
        finished_stories=st.integers(0, 5),
        open_stories=st.integers(1, 5),
        progress_entries=st.integers(0, 3),
        file_size=st.integers(0, 300),
        specs_size=st.integers(0, 300),
    ),
)
def test_any_material_renders_within_its_bounds(finished: int, count: int, text: str, rule: PromptRule) -> None:
    made = render(material(min(finished, count), count, rule=rule, progress=text, specs={"a": text}, failure=text))
    assert len(made) < 14_000
    assert made.endswith("\n")


@pytest.mark.parametrize("size", [0, 10, 5_000])
def test_progress_is_cut_at_its_beginning(size: int) -> None:
    rule = PromptRule(file_size=100)
    text = render(material(rule=rule, progress="---\n" + "a" * size + "END"))
    assert "END" in text
