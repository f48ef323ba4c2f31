"""prd.json as a source of stories: read strictly, written only where a mark or a note stands."""

import json
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import cast

from msgspec import Struct

from ralphloop.core.errors import DamagedProblem
from ralphloop.core.ports import Finding
from ralphloop.core.story import Plan, Story
from ralphloop.sources import json_text
from ralphloop.sources.json_text import Member
from ralphloop.sources.prd_schema import MOST_COMPLAINTS, Complaint, complaints
from ralphloop.sources.text import decode, edited, encode

LARGEST_FILE = 64 << 20
SPEC, PROGRESS = "spec.md", "progress.txt"
REGENERATE = "Run '/ralph-prd' to regenerate prd.json from spec.md"
BY_HAND = "Without that command: edit prd.json by hand until `ralph validate` finds no fault"

Json = dict[str, object]
Change = tuple[int, int, str]


class Prd(Struct, frozen=True):
    """The stories of a feature folder; spec.md stands beside it as the source of truth."""

    file: str

    @property
    def companions(self) -> tuple[str, ...]:
        return (SPEC, PROGRESS)

    def review(self, files: Mapping[str, bytes]) -> tuple[Finding, ...]:
        # the Markdown parser is only needed here
        from ralphloop.sources.prd_review import review

        return review(self.file, files)

    def take(self, content: bytes) -> Plan:
        text = read(self.file, content)
        value = parsed(self.file, text)
        return _plan(value)

    def settle(self, content: bytes, marks: dict[str, bool]) -> bytes:
        """Marks of stories that the file does not have are nobody's: they change nothing."""
        text = read(self.file, content)
        parsed(self.file, text)
        changes: list[Change] = []
        for member, story in _stories(text):
            wanted = marks.get(str(story["id"]))
            if wanted is not None and wanted != story["passes"]:
                changes.append(_passes(text, member, wanted))
        return encode(edited(text, changes), content) if changes else content

    def heal(self, good: bytes, now: bytes) -> bytes:
        """Stories that only `now` has are left out; when `now` is no JSON, `good` is all there is."""
        text = read(self.file, good)
        parsed(self.file, text)
        later = _loosely(self.file, now)
        changes: list[Change] = []
        for member, story in _stories(text):
            other = later.get(str(story["id"]), {})
            passes, notes = other.get("passes"), other.get("notes")
            if isinstance(passes, bool) and passes != story["passes"]:
                changes.append(_passes(text, member, passes))
            if isinstance(notes, str) and notes != story.get("notes"):
                changes.append(_notes(text, member, notes))
        return encode(edited(text, changes), good) if changes else good


def read(file: str, content: bytes) -> str:
    text = decode(file, content, LARGEST_FILE)
    if not text.strip():
        raise DamagedProblem(f"{file} is empty", f"{REGENERATE}, or get the last good version back with git")
    return text


def parsed(file: str, text: str) -> Json:
    """The value of a prd.json that has everything it must have."""
    value = json_text.parse(file, text)
    found = list(islice(complaints(value), MOST_COMPLAINTS))
    if found:
        more = f" (and {len(found) - 1}{'+' if len(found) == MOST_COMPLAINTS else ''} more)" if len(found) > 1 else ""
        raise DamagedProblem(f"{file}, {located(text, found[0])}{more}", "correct it there, or run '/ralph-prd'")
    return cast(Json, value)


def located(text: str, complaint: Complaint) -> str:
    line, _ = json_text.line_and_column(text, json_text.place(text, complaint.path))
    return f"line {line}: {complaint}"


def _plan(value: Json) -> Plan:
    return Plan(
        stories=tuple(_story(story) for story in cast(list[Json], value["userStories"])),
        description=str(value["description"]),
    )


def _story(story: Json) -> Story:
    return Story(
        id=cast(str, story["id"]),
        title=cast(str, story["title"]),
        passes=cast(bool, story["passes"]),
        priority=float(cast(float, story["priority"])),
        description=cast(str, story.get("description") or ""),
        criteria=tuple(cast(list[str], story["acceptanceCriteria"])),
        notes=cast(str, story.get("notes") or ""),
        agent=cast(str, story.get("agent") or ""),
        model=cast(str, story.get("model") or ""),
    )


def _stories(text: str) -> Iterator[tuple[Member, Json]]:
    """Each story of a valid text with the place where it stands."""
    for member in json_text.items(text, json_text.place(text, ("userStories",))):
        yield member, cast(Json, member.value)


def _passes(text: str, story: Member, wanted: bool) -> Change:
    passes = next(m for m in json_text.items(text, story.value_at) if m.key == "passes")
    return (passes.value_at, passes.end, "true" if wanted else "false")


def _notes(text: str, story: Member, notes: str) -> Change:
    """Puts notes where they stand, or a new member last, set off as the one before it is."""
    members = list(json_text.items(text, story.value_at))
    written = json.dumps(notes, ensure_ascii=False)
    for member in members:
        if member.key == "notes":
            return (member.value_at, member.end, written)
    before, last = members[-2:]
    return (last.end, last.end, f'{text[before.end : last.key_at]}"notes": {written}')


def _loosely(file: str, content: bytes) -> dict[str, Json]:
    """The stories by id of a file that may be wrong in many ways; an id that stands twice tells nothing."""
    try:
        value = json_text.parse(file, decode(file, content, LARGEST_FILE))
    except DamagedProblem:
        return {}
    stories = value.get("userStories") if isinstance(value, dict) else None
    found: dict[str, Json] = {}
    for story in stories if isinstance(stories, list) else ():
        story_id = story.get("id") if isinstance(story, dict) else None
        if isinstance(story_id, str):
            found[story_id] = {} if story_id in found else story
    return found
