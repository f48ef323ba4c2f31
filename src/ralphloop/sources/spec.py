"""spec.md as a value: what is to be built, the stories, and what the document lacks."""

import re

from msgspec import Struct

from ralphloop.core.errors import DamagedProblem
from ralphloop.sources.markdown import LINE_ENDS, Block, blocks, plain
from ralphloop.sources.prd_schema import is_iso
from ralphloop.sources.text import decode

LARGEST_FILE = 16 << 20
LARGEST_FRONTMATTER = 64 << 10
STORY = re.compile(r"[*_]*([A-Za-z][A-Za-z0-9]*-[A-Za-z0-9._-]+):[*_]*[ \t]*(.*?)[*_]*$", re.DOTALL)
LABEL = re.compile(r"(?:\*\*|__)([^*_:\n]+)(?::(?:\*\*|__)|(?:\*\*|__):)")
BOX = re.compile(r"\[[ \txX]?\](?:\s+|$)")
SENTENCE = ("as a", "as an", "i want", "i want to", "so that")
SAME = {"stories": "user stories"}
NOT_PLANNED = ("out of scope", "open questions")
FIELDS = {"acceptance criteria": "criteria", "technical notes": "notes"}


class SpecStory(Struct, frozen=True):
    """What spec.md says of a story; `line` is counted from 1."""

    id: str
    title: str
    line: int
    sentences: list[str] = []
    criteria: list[str] = []
    notes: list[str] = []

    @property
    def description(self) -> str:
        return " ".join(self.sentences)


class Spec(Struct, frozen=True):
    """What spec.md says; `sections` holds the names of the sections it has, in lower case."""

    title: str = ""
    created: str = ""
    sections: list[str] = []
    problem: str = ""
    success: list[str] = []
    stories: list[SpecStory] = []
    out_of_scope: list[str] = []
    open_questions: list[str] = []
    complaints: list[str] = []

    @property
    def by_id(self) -> dict[str, SpecStory]:
        """The stories by id; of two with the same id the first."""
        return {story.id: story for story in self.stories[::-1]}


def parse(file: str, content: bytes) -> Spec:
    """Raises DamagedProblem when the file is no text, too large or empty; anything else is read as far as it goes."""
    text = decode(file, content, LARGEST_FILE)
    if not text.strip():
        raise DamagedProblem(f"{file} is empty", "write it with '/ralph-plan' in Claude Code")
    front, body = split_frontmatter(text)
    created, complaints = _created(front)
    reader = _Reader()
    for block in blocks(file, body):
        reader.read(block)
    return Spec(
        title=reader.title,
        created=created,
        sections=list(reader.sections),
        problem="\n\n".join(reader.sections.get("problem statement", ())),
        success=[_unboxed(text) for text in reader.sections.get("success criteria", ())],
        stories=reader.stories,
        out_of_scope=reader.sections.get("out of scope", []),
        open_questions=reader.sections.get("open questions", []),
        complaints=[*complaints, *reader.complaints],
    )


def split_frontmatter(text: str) -> tuple[str | None, str]:
    """The YAML between the first two `---`, and the rest with its line numbers kept."""
    ends = [found.end() for found in LINE_ENDS.finditer(text)]
    starts = [0, *ends]
    lines = [text[start:end] for start, end in zip(starts, [*ends, len(text)], strict=True)]
    if lines[0].rstrip() != "---":
        return None, text
    for number, line in enumerate(lines[1:], 1):
        if line.rstrip() in ("---", "..."):
            front, rest = "".join(lines[1:number]), "".join(lines[number + 1 :])
            return front, "\n" * (number + 1) + rest
    return None, text


def _created(front: str | None) -> tuple[str, list[str]]:
    if front is None:
        return "", ['frontmatter missing (a first line "---", "created: <ISO-8601>", a line "---")']
    if len(front) > LARGEST_FRONTMATTER:
        return "", ["frontmatter is too large"]
    import yaml

    try:
        # every scalar stays a string; nothing is constructed
        value = yaml.load(front, Loader=yaml.BaseLoader)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 2}" if mark else ""
        return "", [f"frontmatter is not YAML{where}"]
    created = value.get("created") if isinstance(value, dict) else None
    if not isinstance(created, str) or not created.strip():
        return "", ['frontmatter missing "created" (ISO-8601)']
    if not is_iso(created):
        return created, [f'frontmatter "created" is not ISO-8601: {created[:60]}']
    return created, []


class _Reader:
    """Takes block after block and knows to which section, story and part of a story it belongs."""

    def __init__(self) -> None:
        self.title = ""
        self.sections: dict[str, list[str]] = {}
        self.stories: list[SpecStory] = []
        self.complaints: list[str] = []
        self._section, self._section_level = "", 0
        self._story: SpecStory | None = None
        self._story_level = 0
        self._field = "description"

    def read(self, block: Block) -> None:
        if block.kind == "heading":
            self._heading(block)
        elif self._story:
            self._of_story(self._story, block)
        elif self._section and (self._section != "success criteria" or block.kind == "item"):
            self.sections[self._section].append(block.text)

    def _heading(self, block: Block) -> None:
        name = plain(block.text)
        found = STORY.match(" ".join(block.text.split()))
        not_planned = self._section in NOT_PLANNED and block.level > self._section_level
        if found and 2 <= block.level <= 4 and not not_planned:
            self._story, self._story_level = SpecStory(found[1], found[2].strip(), block.line + 1), block.level
            self._field = "description"
            self.stories.append(self._story)
            return
        if name.startswith("STORY-") and not not_planned:
            advice = 'write "### STORY-001: Title"'
            self.complaints.append(f'line {block.line + 1}: "{name[:60]}" is read as no story ({advice})')
        if self._story and block.level > self._story_level:
            self._field = FIELDS.get(name.rstrip(":").lower(), "other")
        elif not not_planned:
            self._open_section(name, block.level)

    def _open_section(self, name: str, level: int) -> None:
        if level == 1 and not self.title:
            self.title = name
        section = name.rstrip(": ").lower()
        self._story = None
        self._section, self._section_level = SAME.get(section, section), level
        self.sections.setdefault(self._section, [])

    def _of_story(self, story: SpecStory, block: Block) -> None:
        if block.kind == "item":
            label = _label(block.text)
            if label in FIELDS:
                self._field = FIELDS[label]
            # a bullet below a criterion explains it, unless it has a box of its own
            elif self._field == "criteria" and (block.level == 1 or BOX.match(block.text)):
                story.criteria.append(_unboxed(block.text))
            elif self._field == "notes":
                story.notes.append(block.text)
            return
        for line in block.text.split("\n") if not block.level else ():
            label = _label(line)
            if label and label not in SENTENCE:
                self._field = FIELDS.get(label, "other")
            elif self._field == "description":
                story.sentences.append(plain(line))


def _label(line: str) -> str:
    """What a line like `**Technical Notes:**` announces, in lower case."""
    found = LABEL.match(line.strip())
    if found:
        return found[1].strip().lower()
    name = plain(line).rstrip(": ").lower() if len(line) < 60 else ""
    return name if name in FIELDS else ""


def _unboxed(text: str) -> str:
    return " ".join(BOX.sub("", text, count=1).split())
