"""What the model server answers, as data: single answers, sequences, disturbances, and six stories built in order."""

import json
import re
import threading
import time
from collections.abc import Mapping, Sequence

from conversation import Turn, read_turn
from hands import offered
from messages import Answer, Cut, Json, Refuse, Say, Scenario, Tool, Usage
from repository import Repository

COMPLETE = "<promise>COMPLETE</promise>"
STORY_COMPLETE = "<promise>STORY_COMPLETE</promise>"
WOULD_EXCEED = "This request would exceed your account's rate limit. Please try again later."

OVERLOADED = Refuse(529, "overloaded_error", "Overloaded")
BROKEN = Refuse(500, "api_error", "Internal server error")
UNKNOWN_KEY = Refuse(401, "authentication_error", "invalid x-api-key")
NO_CREDIT = Refuse(400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API.")
CUT_TWICE = (Cut(), Cut())  # after a cut stream the CLI asks once more, without streaming


def rate_limited(retry_after: int | None = None) -> Refuse:
    """Too many requests just now; not the account's usage limit."""
    headers = {} if retry_after is None else {"retry-after": str(retry_after)}
    return Refuse(429, "rate_limit_error", "Number of request tokens has exceeded your per-minute limit", headers)


def limit_headers(status: str, resets_at: int, claim: str = "five_hour") -> dict[str, str]:
    """What a subscription's answers carry about its usage."""
    near = {"anthropic-ratelimit-unified-5h-surpassed-threshold": "0.9"} if status == "allowed_warning" else {}
    return near | {
        "anthropic-ratelimit-unified-status": status,
        "anthropic-ratelimit-unified-reset": str(resets_at),
        "anthropic-ratelimit-unified-representative-claim": claim,
        "anthropic-ratelimit-unified-5h-status": status,
        "anthropic-ratelimit-unified-5h-reset": str(resets_at),
        "anthropic-ratelimit-unified-5h-utilization": "1.0" if status == "rejected" else "0.92",
        "anthropic-ratelimit-unified-overage-status": "rejected",
        "anthropic-ratelimit-unified-overage-disabled-reason": "org_level_disabled",
    }


def usage_limit(resets_at: int) -> Refuse:
    """The account's usage limit, as the API says it to a subscription."""
    wait = max(1, resets_at - int(time.time()))
    headers = limit_headers("rejected", resets_at) | {"retry-after": str(wait)}
    return Refuse(429, "rate_limit_error", WOULD_EXCEED, headers)


def always(answer: Answer) -> Scenario:
    return lambda request, before: answer


def sequence(*answers: Answer) -> Scenario:
    """One answer a request; the last is repeated."""
    return lambda request, before: answers[min(before, len(answers) - 1)]


def turns(*answers: Answer) -> Scenario:
    """One answer a turn of the conversation, however often it is asked for; the last is repeated."""
    return lambda request, before: answers[min(read_turn(request).number, len(answers) - 1)]


def disturb(scenario: Scenario, faults: Mapping[tuple[int, int], Sequence[Answer]]) -> Scenario:
    """`scenario`, but the k-th session meets these answers at its turn t, one a request, before it goes on."""
    sessions: list[str] = []
    left = {place: list(answers) for place, answers in faults.items()}

    def disturbed(request: Json, before: int) -> Answer:
        turn = read_turn(request)
        if turn.session not in sessions:
            sessions.append(turn.session)
        waiting = left.get((sessions.index(turn.session) + 1, turn.number))
        return waiting.pop(0) if waiting else scenario(request, before)

    return disturbed


def named_story(prompt: str) -> str:
    """The story of the first `Story:` line that is no progress entry, else the most urgent open one of a prd.json."""
    named = re.search(r"^Story: (STORY-\d+)(?![^\n]*\n\s*Status:)", prompt, re.MULTILINE)
    if named:
        return named.group(1)
    shown = [story for plan in _plans(prompt) for story in plan]
    still_open = [story for story in shown if story.get("passes") is False]
    return str(min(still_open, key=lambda story: story["priority"])["id"]) if still_open else ""


def _plans(text: str) -> list[list[Json]]:
    plans = []
    for place in re.finditer(r"\{\s*\"", text):
        try:
            value, _ = json.JSONDecoder().raw_decode(text, place.start())
        except ValueError:
            continue
        if isinstance(value.get("userStories"), list):
            plans.append(value["userStories"])
    return plans


class SixStories:
    """A model that builds the story its prompt asks for, marks it, commits, and says the promise that fits."""

    def __init__(self, repository: Repository, *, last_words: str = "") -> None:
        self.repository = repository
        self.last_words = last_words
        self.asked: list[str] = []  # the story of each session, in order
        self.prompts: list[str] = []
        self._stories: dict[str, str] = {}
        self._lock = threading.Lock()

    def __call__(self, request: Json, before: int) -> Answer:
        if not offered(request):
            return Say("ok", usage=Usage(7, 3))
        turn = read_turn(request)
        with self._lock:
            if turn.session not in self._stories:
                self._stories[turn.session] = named_story(turn.prompt)
                self.asked.append(self._stories[turn.session])
                self.prompts.append(turn.prompt)
        story = self._stories[turn.session]
        return self._answer(story, turn) if story else Say("The prompt names no story that is open.")

    def _answer(self, story: str, turn: Turn) -> Answer:
        usage = Usage(200 + turn.number, 40 + turn.number, 1000 * turn.number, 10)
        match turn.number:
            case 0:
                tools = (self._read("prd.json"), self._read("progress.txt"), self._code(story))
                return Say(f"I take {story}.", tools, usage)
            case 1:
                return Say("It stands; I mark it.", (self._mark(story), self._progress(story)), usage)
            case 2:
                message = f"feat: {story} {self._story(story)['title']}"
                return Say("", (Tool("Bash", {"command": f"git add -A && git commit -q -m '{message}'"}),), usage)
            case _:
                rest = [each for each in self.repository.stories() if not each["passes"]]
                promise = STORY_COMPLETE if rest else COMPLETE
                return Say(f"{story} is built and committed. {self.last_words}\n{promise}", usage=usage)

    def _story(self, story: str) -> Json:
        return next(each for each in self.repository.stories() if each["id"] == story)

    def _read(self, name: str) -> Tool:
        return Tool("Read", {"file_path": str(self.repository.feature / name)})

    def _code(self, story: str) -> Tool:
        word = self._story(story)["title"].split()[2]
        text = f'"""{story}"""\n\n\ndef {word}(words: list[str]) -> list[str]:\n    return words\n'
        return Tool("Write", {"file_path": str(self.repository.path / "src" / f"{word}.py"), "content": text})

    def _mark(self, story: str) -> Tool:
        file = self.repository.feature / "prd.json"
        plan = json.loads(file.read_text())
        for each in plan["userStories"]:
            each["passes"] = each["passes"] or each["id"] == story
        return Tool("Write", {"file_path": str(file), "content": json.dumps(plan, indent=2) + "\n"})

    def _progress(self, story: str) -> Tool:
        file = self.repository.feature / "progress.txt"
        entry = (
            f"---\nIteration: {len(self.asked)}\nDate: 2026-01-09T12:00:00Z\nStory: {story} - "
            f"{self._story(story)['title']}\nStatus: complete\nFiles Changed: src\nTests Added: none\n"
            "Learnings: none\nCommit: see git log\n"
        )
        return Tool("Write", {"file_path": str(file), "content": file.read_text() + entry})


def six_stories(repository: Repository, *, last_words: str = "") -> SixStories:
    return SixStories(repository, last_words=last_words)
