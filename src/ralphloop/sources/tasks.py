"""tasks.md as a source of stories: every box of a list is one, with an id that outlives insertions."""

import re
from collections.abc import Mapping
from hashlib import sha256
from itertools import islice

from msgspec import Struct

from ralphloop.core.errors import DamagedProblem
from ralphloop.core.ports import Finding
from ralphloop.core.story import Plan, Story
from ralphloop.sources.markdown import LINE_ENDS, blocks, plain
from ralphloop.sources.text import basename, decode, edited, encode, given

LARGEST_FILE = 4 << 20
MOST_ODDITIES = 10
BOX = re.compile(r"\[([^\S\r\n]?|[xX?])\]\s+(?=\S)")
NUMBER = re.compile(r"(\d+(?:\.\d+)+)[.)]?[*_`]*\s|(\d+)[.)][*_`]*\s")
NEARLY_BOX = re.compile(r"\[[^\]\w]{0,3}\](?![(\[])|\[[xX?]\]")


class Task(Struct, frozen=True):
    """A story and the span of the character in its box."""

    story: Story
    box: tuple[int, int]


class Tasks(Struct, frozen=True):
    """A checklist; `- [?]` is for a person to do and never blocks the end."""

    file: str

    @property
    def companions(self) -> tuple[str, ...]:
        return ()

    def review(self, files: Mapping[str, bytes]) -> tuple[Finding, ...]:
        name, content = basename(self.file), given(files, self.file)
        if content is None:
            return (Finding("error", "Required files missing:", (f"- {name}",), (f"Write {self.file}: - [ ] task",)),)
        present = Finding("ok", "Required files present")
        try:
            text, _, tasks = _read(name, content)
        except DamagedProblem as problem:
            return (present, Finding("error", f"{name} cannot be read:", (f"- {problem.message}",), (problem.hint,)))
        readable = Finding("ok", f"{name} readable")
        odd = _oddities(name, text)
        warnings = (Finding("warning", f"{name} has items that are read as no task:", odd),) if odd else ()
        if not tasks:
            none = Finding("warning", f"{name} has no tasks", advice=("A task is a list item with a box: - [ ] text",))
            return (present, readable, *warnings, none)
        return (present, readable, *warnings, Finding("ok", f"{name} has {_counted(tasks)}"))

    def take(self, content: bytes) -> Plan:
        _, title, tasks = _read(self.file, content)
        return Plan(tuple(task.story for task in tasks), title)

    def settle(self, content: bytes, marks: dict[str, bool]) -> bytes:
        """A person's task stays one when it is unmarked."""
        text, _, tasks = _read(self.file, content)
        changes = [
            (*task.box, "x" if marks[task.story.id] else " ")
            for task in tasks
            if marks.get(task.story.id, task.story.passes) != task.story.passes
        ]
        return encode(edited(text, changes), content) if changes else content

    def heal(self, good: bytes, now: bytes) -> bytes:
        """Tasks that only `now` has are left out; when `now` is no text, `good` is all there is."""
        try:
            _, _, later = _read(self.file, now)
        except DamagedProblem:
            later = []
        return self.settle(good, {task.story.id: task.story.passes for task in later})


def _read(file: str, content: bytes) -> tuple[str, str, list[Task]]:
    """The text, its title and its tasks; a file that is empty has none."""
    text = decode(file, content, LARGEST_FILE)
    title, heading = "", ""
    tasks: list[Task] = []
    taken: dict[str, int] = {}
    starts = [0, *(found.end() for found in LINE_ENDS.finditer(text))]
    for block in blocks(file, text):
        if block.kind == "heading":
            heading = plain(block.text)
            title = title or (heading if block.level == 1 else "")
        box = BOX.match(block.text) if block.kind == "item" else None
        if box:
            words = block.text[box.end() :]
            # only list markers can stand before the box
            at = text.index(f"[{box[1]}]", starts[block.line]) + 1
            story = _story(_unique(_name(words), taken), words, box[1], heading)
            tasks.append(Task(story, (at, at + len(box[1]))))
    return text, title, tasks


def _story(story_id: str, words: str, mark: str, heading: str) -> Story:
    return Story(
        id=story_id,
        title=" ".join(words.split()),
        passes=mark in ("x", "X"),
        description=heading,
        manual=mark == "?",
    )


def _name(words: str) -> str:
    """The number a task begins with, or a name made of its words."""
    found = NUMBER.match(words.lstrip("*_`"))
    if found:
        return found[1] or found[2]
    return f"task-{sha256(plain(words).encode()).hexdigest()[:6]}"


def _unique(name: str, taken: dict[str, int]) -> str:
    """The name, or with the first number behind it that makes it one of its kind; `taken` counts each."""
    chosen = name
    while chosen in taken:
        taken[name] += 1
        chosen = f"{name}-{taken[name]}"
    taken[chosen] = 1
    return chosen


def _oddities(file: str, text: str) -> tuple[str, ...]:
    """Items that look as if a box was meant: said, so that no task is lost in silence."""
    odd = (
        f'- line {block.line + 1}: "{block.text[:40]}" (write "- [ ] text")'
        for block in blocks(file, text)
        if block.kind == "item" and not BOX.match(block.text) and NEARLY_BOX.match(block.text)
    )
    return tuple(islice(odd, MOST_ODDITIES))


def _counted(tasks: list[Task]) -> str:
    done = sum(task.story.passes for task in tasks)
    manual = sum(task.story.manual for task in tasks)
    about = f"{done} done" + (f", {manual} for a person" if manual else "")
    return f"{len(tasks)} task{'s' if len(tasks) != 1 else ''} ({about})"
