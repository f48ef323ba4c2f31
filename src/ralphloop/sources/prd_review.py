"""The preflight of a feature folder: files, schema, the structure of spec.md, and whether both say the same."""

from collections.abc import Iterator, Mapping
from itertools import islice

from ralphloop.core.errors import DamagedProblem
from ralphloop.core.ports import Finding
from ralphloop.core.story import Plan, Story
from ralphloop.sources import json_text, spec
from ralphloop.sources.markdown import plain
from ralphloop.sources.prd import BY_HAND, PROGRESS, REGENERATE, SPEC, Prd, located, read
from ralphloop.sources.prd_schema import MOST_COMPLAINTS, complaints
from ralphloop.sources.spec import Spec, SpecStory
from ralphloop.sources.text import basename, given

MOST_DIFFERENCES = 12
WRITTEN_BY = {
    SPEC: "{} is written by '/ralph-plan' in Claude Code, or by hand",
    PROGRESS: "{} may be empty at the start: create it",
}
REQUIRED = (("problem statement", "Problem Statement"), ("success criteria", "Success Criteria"))


def review(file: str, files: Mapping[str, bytes]) -> tuple[Finding, ...]:
    """All findings, in the order in which they are shown."""
    prd = basename(file)
    contents = {name: given(files, path) for name, path in ((prd, file), (SPEC, SPEC), (PROGRESS, PROGRESS))}
    findings = [required(contents)]
    plan, document = None, None
    if (content := contents[prd]) is not None:
        findings += schema(prd, content)
        plan = None if findings[-1].level == "error" else Prd(prd).take(content)
    if (content := contents[SPEC]) is not None:
        try:
            document = spec.parse(SPEC, content)
        except DamagedProblem as problem:
            findings.append(Finding("error", f"{SPEC} cannot be read:", (f"- {problem.message}",), (problem.hint,)))
        else:
            findings += structure(document)
    if plan is not None and document is not None:
        findings += agreement(document, plan)
    return tuple(findings)


def required(contents: Mapping[str, bytes | None]) -> Finding:
    missing = [name for name, content in contents.items() if content is None]
    if not missing:
        return Finding("ok", "Required files present")
    made = "{} is made by '/ralph-prd' in Claude Code, from " + SPEC + ", or by hand"
    advice = [WRITTEN_BY.get(name, made).format(name) for name in missing]
    if set(missing) - {SPEC, PROGRESS}:
        advice.append("Without prd.json a checklist does as well: tasks.md, with lines like `- [ ] Greet by name`")
    advice.append("README.md and docs/guide.md of ralphloop show them all.")
    return Finding("error", "Required files missing:", tuple(f"- {name}" for name in missing), tuple(advice))


def schema(file: str, content: bytes) -> list[Finding]:
    """Every complaint about prd.json, not only the first; a finding that is an error is the last one."""
    try:
        text = read(file, content)
        value = json_text.parse(file, text)
    except DamagedProblem as problem:
        return [Finding("error", f"{file} schema invalid:", (f"- {problem.message}",), (problem.hint,))]
    found = [f"- {located(text, complaint)}" for complaint in islice(complaints(value), MOST_COMPLAINTS)]
    if found:
        return [Finding("error", f"{file} schema invalid:", _few(found), (REGENERATE, BY_HAND))]
    valid = Finding("ok", f"{file} schema valid")
    if isinstance(value, dict) and not value["userStories"]:
        return [valid, Finding("warning", f"{file} has no stories", advice=(REGENERATE, BY_HAND))]
    return [valid]


def structure(document: Spec) -> list[Finding]:
    lines = list(_lacking(document))
    return [Finding("warning", f"{SPEC} {line}") for line in lines] or [Finding("ok", f"{SPEC} structure valid")]


def _lacking(document: Spec) -> Iterator[str]:
    yield from document.complaints
    if not document.title:
        yield "missing title (# Title)"
    for key, name in REQUIRED:
        if key not in document.sections:
            yield f'missing "{name}" section'
    if not document.stories and "user stories" in document.sections:
        yield "has no stories (### STORY-001: Title)"
    elif not document.stories:
        yield 'missing "User Stories" section'
    if "out of scope" not in document.sections:
        yield 'missing "Out of Scope" section (recommended)'
    seen: dict[str, int] = {}
    for story in document.stories:
        if story.id in seen:
            yield f"has {story.id} twice (lines {seen[story.id]} and {story.line})"
        elif not story.title:
            yield f"has no title for {story.id} (line {story.line})"
        elif not story.criteria:
            yield f"has no acceptance criteria for {story.id} (line {story.line})"
        seen.setdefault(story.id, story.line)


def agreement(document: Spec, plan: Plan) -> list[Finding]:
    """Whether prd.json says what spec.md says; marks and notes may differ."""
    wanted, there = document.by_id, {story.id: story for story in plan.stories}
    differences, reasons = _differences(wanted, there)
    orphans = [story for story in plan.stories if story.id not in wanted]
    lost = [story for story in orphans if story.passes]
    findings = [
        Finding("warning", f"Orphaned story: {story.id} (passes: false, will be removed)")
        for story in orphans
        if not story.passes
    ]
    if differences:
        advice = ("Resolve sync issues by running '/ralph-prd' in Claude Code.", REGENERATE, BY_HAND, *_few(reasons))
        findings.append(Finding("error", "Sync check failed:", tuple(differences), advice))
    if lost:
        findings.append(_orphaned(lost))
    if not differences and not lost:
        findings.append(Finding("ok", "Sync check passed"))
    return findings


def _differences(wanted: dict[str, SpecStory], there: dict[str, Story]) -> tuple[list[str], list[str]]:
    """What differs, new stories first, and the words that make the difference."""
    found = [f"- {story_id} in spec.md not found in prd.json" for story_id in wanted if story_id not in there]
    reasons = []
    for story_id, described in wanted.items():
        story = there.get(story_id)
        if story is None:
            continue
        if plain(described.title) != plain(story.title):
            found.append(f"- {story_id} title differs")
            reasons.append(f'{story_id} is "{described.title}" in spec.md, "{story.title}" in prd.json')
        ours, theirs = [plain(c) for c in described.criteria], [plain(c) for c in story.criteria]
        if ours != theirs:
            found.append(f"- {story_id} acceptance criteria differs")
            reasons += [f"{story_id}, only in spec.md: {text}" for text in ours if text not in theirs]
            reasons += [f"{story_id}, only in prd.json: {text}" for text in theirs if text not in ours]
            if sorted(ours) == sorted(theirs):
                reasons.append(f"{story_id}: the same criteria in another order")
    return found, reasons


def _orphaned(lost: list[Story]) -> Finding:
    names = ", ".join(story.id for story in lost)
    details: list[str] = []
    for story in lost:
        details.append(f"- {story.id} in prd.json (passes: true) not found in spec.md")
        details.append("  ^^^ COMPLETED WORK WILL BE LOST")
    subject = "This story was" if len(lost) == 1 else "These stories were"
    advice = (
        f"{subject} completed but {'is' if len(lost) == 1 else 'are'} no longer in spec.md.",
        "Options:",
        f"  1. Add {names} back to spec.md (preserve completed work)",
        "  2. Run '/ralph-prd' and confirm orphan removal (discard work)",
        *(f"Orphaned COMPLETED story: {story.id}" for story in lost),
        "To confirm: '/ralph-prd --confirm-orphan-removal'",
        f"Without that command: take {names} out of prd.json by hand (discard work)",
    )
    return Finding("error", "Orphan check failed:", tuple(details), advice)


def _few(lines: list[str]) -> tuple[str, ...]:
    more = len(lines) - MOST_DIFFERENCES
    return (*lines[:MOST_DIFFERENCES], f"… and {more} more") if more > 0 else tuple(lines)
