"""A model that builds a story as Aider wants it: in edits of files, for it is offered no tools."""

import json
from pathlib import Path

from messages import Answer, Json, Say, Usage
from repository import Repository
from scenarios import COMPLETE, STORY_COMPLETE, named_story


class AiderStory:
    """A model that builds the story of its prompt in edits of files; the weak one writes the message of the commit."""

    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        self._story = ""

    def __call__(self, request: Json, before: int) -> Answer:
        if "mini" in request.get("model", ""):
            return Say(f"feat: {self._story} by aider", usage=Usage(30, 8))
        # the prompt stands behind examples that the CLI gives its model, as if they had been said
        told = [message.get("content") for message in request["messages"] if message.get("role") == "user"]
        self._story = self._story or named_story("\n".join(each for each in told if isinstance(each, str)))
        if all(story["passes"] for story in self.repository.stories() if story["id"] == self._story):
            return Say("It is built already.", usage=Usage(200, 10))
        rest = sum(not story["passes"] for story in self.repository.stories()) > 1
        promise = STORY_COMPLETE if rest else COMPLETE
        said = "\n\n".join((f"I build {self._story}.", self._code(), self._mark(), promise))
        return Say(said, usage=Usage(500, 60))

    def _code(self) -> str:
        return _edit(Path("src", f"{self._story.lower().replace('-', '_')}.py"), "", f'NAME = "{self._story}"\n')

    def _mark(self) -> str:
        file = self.repository.feature / "prd.json"
        lines = file.read_text().splitlines(keepends=True)
        start = next(place for place, line in enumerate(lines) if f'"id": {json.dumps(self._story)}' in line)
        end = next(place for place, line in enumerate(lines[start:], start) if '"passes"' in line) + 1
        before = "".join(lines[start:end])
        return _edit(file.relative_to(self.repository.path), before, before.replace("false", "true"))


def _edit(file: Path, before: str, after: str) -> str:
    return f"{file}\n```\n<<<<<<< SEARCH\n{before}=======\n{after}>>>>>>> REPLACE\n```"
