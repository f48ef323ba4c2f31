"""What an agent is told: the template, then the contents of its files, each within bounds."""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from ralphloop.core.policy import PromptRule
from ralphloop.core.story import Plan, Story

CUT = "[… {cut} more characters: read {where}]"


class Material(Struct, frozen=True):
    """All that one prompt is made of."""

    template: str
    rule: PromptRule
    feature_dir: str
    story_file: str
    promise: str
    plan: Plan
    story: str
    n: int
    of: int
    progress: str = ""
    has_progress: bool = True
    specs: Mapping[str, str] = {}
    failure: str = ""
    told: tuple[str, ...] = ()


def render(material: Material) -> str:
    """The whole prompt; its size depends on the rule, not on how long the run has gone on."""
    parts = ["".join(_references(material)), _filled(material), _where(material)]
    if material.told:
        parts.append("## A word from the user\n\n" + "\n\n".join(material.told))
    if material.failure:
        parts.append("## What went wrong in the last attempt\n\n" + clipped(material.failure, 8_000, "the logs"))
    if material.rule.inline:
        parts += [_stories(material), _progress(material), *_specs(material)]
    return "\n\n".join(part.strip("\n") for part in parts if part.strip()) + "\n"


def clipped(text: str, size: int, where: str) -> str:
    """The beginning of a text, with a word on where the rest is."""
    if len(text) <= size:
        return text
    return text[:size] + "\n" + CUT.format(cut=len(text) - size, where=where)


def _references(material: Material) -> Iterator[str]:
    """The files to read; quoted beside their inlined contents, as a bare `@file` makes agents take it in whole."""
    if not material.rule.references:
        return
    names = [material.story_file]
    names += [f"{material.feature_dir}/progress.txt"] if material.has_progress else []
    names += [f"{material.feature_dir}/specs/"] if material.specs else []
    quote = "`" if material.rule.inline else ""
    for name in names:
        yield f"{quote}@{name}{quote}\n"


def _filled(material: Material) -> str:
    text = material.template
    for name, value in (
        ("promise", material.promise),
        ("feature_dir", material.feature_dir),
        ("story_file", material.story_file),
    ):
        text = text.replace("{{" + name + "}}", value)
    return text


def _where(material: Material) -> str:
    title = material.plan.title(material.story)
    lines = [f"Iteration {material.n} of {material.of}."]
    if material.story:
        lines.append(f"Story: {material.story} - {title}")
    elif material.plan.stories:
        lines.append("Every story is marked as finished, but the checks do not agree: make them pass.")
    return "\n".join(lines)


def _stories(material: Material) -> str:
    """The story at hand whole, open ones within bounds, finished ones by id and title only."""
    plan, rule = material.plan, material.rule
    if not plan.stories and not plan.description:
        return ""
    finished = [story for story in plan.stories if story.passes]
    waiting = [story for story in plan.open if story.id != material.story]
    lines = [f"## Stories (from {material.story_file}: {len(finished)} of {len(plan.stories)} finished)"]
    if plan.description:
        lines += ["", clipped(plan.description, rule.file_size, material.story_file)]
    for story in plan.stories:
        if story.id == material.story:
            lines += ["", *_whole(story, rule.file_size, material.story_file)]
    if waiting:
        lines += ["", "Still open after it, in order:"]
        lines += [f"- {story.id}: {story.title[:200]}" for story in waiting[: rule.open_stories]]
        lines += _rest(len(waiting) - rule.open_stories, "open", material.story_file)
    if finished:
        shown = finished[-rule.finished_stories :] if rule.finished_stories else []
        lines += ["", "Finished:"]
        lines += _rest(len(finished) - len(shown), "finished", material.story_file)
        lines += [f"- {story.id}: {story.title[:200]}" for story in shown]
    return "\n".join(lines)


def _rest(count: int, kind: str, where: str) -> list[str]:
    return [f"- ({count} more {kind} stories are in {where})"] if count > 0 else []


def _whole(story: Story, size: int, where: str) -> list[str]:
    lines = [f"### {story.id}: {story.title}"]
    if story.description:
        lines += ["", story.description]
    if story.criteria:
        lines += ["", "Acceptance criteria:", *(f"- {criterion}" for criterion in story.criteria)]
    if story.notes:
        lines += ["", f"Notes: {story.notes}"]
    return clipped("\n".join(lines), size, where).split("\n")


def _progress(material: Material) -> str:
    """The last entries of the log, which are the newest."""
    rule, text = material.rule, material.progress.strip()
    if not text:
        return ""
    where = f"{material.feature_dir}/progress.txt"
    entries = [entry.strip() for entry in ("\n" + text).split("\n---")]
    entries = [entry for entry in entries if entry and not all(line.startswith("#") for line in entry.split("\n"))]
    shown = entries[-rule.progress_entries :] if rule.progress_entries else []
    heading = f"## Progress so far (the last {len(shown)} of {len(entries)} entries"
    heading += f"; the earlier ones are in {where})" if len(shown) < len(entries) else f" of {where})"
    body = "\n---\n".join(shown)
    if len(body) > rule.file_size:
        body = f"[… the beginning is in {where}]\n{body[-rule.file_size :]}"
    return f"{heading}\n\n{body}" if shown else ""


def _specs(material: Material) -> Iterator[str]:
    left = material.rule.specs_size
    for name, text in material.specs.items():
        where = f"{material.feature_dir}/specs/{name}"
        if left <= 0:
            yield f"(see also {where})"
            continue
        yield f"## {where}\n\n{clipped(text, min(left, material.rule.file_size), where)}"
        left -= len(text)
