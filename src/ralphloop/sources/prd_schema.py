"""What prd.json must hold, and the complaints when it does not."""

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import NamedTuple

from ralphloop.sources.json_text import shown

MOST_COMPLAINTS = 20
LONGEST_ID = 200
LARGEST = 1e15


class Complaint(NamedTuple):
    """One thing that is wrong, and the path to it."""

    path: tuple[str | int, ...]
    why: str

    def __str__(self) -> str:
        steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.path)
        return f"{''.join(steps).lstrip('.') or 'the file'} {self.why}"


class Rule(NamedTuple):
    key: str
    holds: Callable[[object], bool]
    must: str
    required: bool = True


def is_iso(value: object) -> bool:
    if not isinstance(value, str):
        return False
    try:
        datetime.fromisoformat(value.strip())
    except ValueError:
        return False
    return True


def _is_string(value: object) -> bool:
    return isinstance(value, str)


def _is_title(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_id(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= LONGEST_ID and value.isprintable() and value == value.strip()


def _is_name(value: object) -> bool:
    return isinstance(value, str) and len(value) <= LONGEST_ID and value.isprintable() and not value.startswith("-")


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST


def _is_list(value: object) -> bool:
    return isinstance(value, list)


def _is_strings(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


TOP = (
    Rule("description", _is_string, "must be a string"),
    Rule("createdAt", is_iso, "must be a time in ISO 8601, as 2026-01-31T12:00:00Z"),
    Rule("userStories", _is_list, "must be an array of stories"),
)
STORY = (
    Rule("id", _is_id, f"must be a string of 1 to {LONGEST_ID} characters without control characters, as STORY-001"),
    Rule("title", _is_title, "must be a string that is not empty"),
    Rule("acceptanceCriteria", _is_strings, "must be an array of strings"),
    Rule("priority", _is_number, "must be a number (1 is the most urgent)"),
    Rule("passes", _is_flag, "must be true or false"),
    Rule("description", _is_string, "must be a string", required=False),
    Rule("notes", _is_string, "must be a string", required=False),
    Rule("agent", _is_name, "must be the name of an agent, as codex", required=False),
    Rule("model", _is_name, "must be the name of a model", required=False),
)


def complaints(value: object) -> Iterator[Complaint]:
    """All that is wrong with a parsed prd.json, in the order of the file's structure."""
    if not isinstance(value, dict):
        yield Complaint((), f"holds {shown(value)}, must hold an object")
        return
    yield from _broken((), value, TOP)
    stories = value.get("userStories")
    first: dict[str, int] = {}
    for number, story in enumerate(stories if isinstance(stories, list) else ()):
        here = ("userStories", number)
        if not isinstance(story, dict):
            yield Complaint(here, f"is {shown(story)}, must be an object")
            continue
        yield from _broken(here, story, STORY)
        story_id = story.get("id")
        if isinstance(story_id, str) and first.setdefault(story_id, number) != number:
            yield Complaint((*here, "id"), f"is {shown(story_id)}, as userStories[{first[story_id]}].id is already")


def _broken(here: tuple[str | int, ...], value: dict[str, object], rules: tuple[Rule, ...]) -> Iterator[Complaint]:
    for key, holds, must, required in rules:
        if key not in value:
            if required:
                yield Complaint((*here, key), f"is missing, {must}")
        elif not holds(value[key]) and (required or value[key] is not None):
            yield _complaint((*here, key), value[key], must)


def _complaint(path: tuple[str | int, ...], value: object, must: str) -> Complaint:
    """Names the item that is to blame when an array of strings holds something else."""
    if must.endswith("array of strings") and isinstance(value, list):
        number = next(n for n, item in enumerate(value) if not isinstance(item, str))
        return Complaint((*path, number), f"is {shown(value[number])}, must be a string")
    return Complaint(path, f"is {shown(value)}, {must}")
