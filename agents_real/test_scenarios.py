"""The harness itself: what it reads out of prompts and requests, what it serves, and the repository it builds."""

import json
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from conftest import Serve
from conversation import read_turn
from messages import Answer, Cut, Json, Say, Tool, Usage, message_events
from ralphloop.core.policy import PromptRule
from ralphloop.core.prompt import Material, render
from ralphloop.sources.prd import Prd
from repository import Repository
from scenarios import OVERLOADED, disturb, limit_headers, named_story, rate_limited, sequence, usage_limit
from session import scrub, shape

ENTRY = "---\nIteration: 1\nStory: STORY-001 - Add\nStatus: complete\n"
PLAN = json.dumps({"userStories": [{"id": f"STORY-00{n}", "priority": 4 - n, "passes": n == 3} for n in (1, 2, 3)]})
SESSION = "0f0e0d0c-0000-4000-8000-000000000000"


@pytest.mark.parametrize(
    ("prompt", "story"),
    [
        ("Story: STORY-003 - Sort\n", "STORY-003"),
        ("Iteration 2 of 20.\nStory: STORY-002 - Reverse\n\n" + ENTRY, "STORY-002"),
        (ENTRY + "\nStory: STORY-002 - Reverse\n", "STORY-002"),
        (ENTRY + "\nStory: STORY-001 - Add\n", "STORY-001"),
        (PLAN, "STORY-002"),
        ("before { not json\n" + PLAN + "\n}", "STORY-002"),
        ("Story: <ID> - <Title>\n", ""),
        (ENTRY, ""),
        ("", ""),
    ],
)
def test_the_story_a_prompt_asks_for(prompt: str, story: str) -> None:
    assert named_story(prompt) == story


@pytest.mark.parametrize("inline", [True, False])
def test_the_prompt_of_ralph_names_its_story(inline: bool, repository: Repository) -> None:
    file = ".ralph/feature-word-tools/prd.json"
    plan = Prd(file).take((repository.path / file).read_bytes())
    material = Material(
        template="Story: <ID> - <Title>\n",
        rule=PromptRule(inline=inline),
        feature_dir=".ralph/feature-word-tools",
        story_file=file,
        promise="<promise>COMPLETE</promise>",
        plan=plan,
        story="STORY-004",
        n=4,
        of=20,
        progress=ENTRY,
    )
    assert named_story(render(material)) == "STORY-004"


def test_the_repository_passes_the_preflight(repository: Repository) -> None:
    files = {file.name: file.read_bytes() for file in repository.feature.iterdir()}
    findings = Prd(str(repository.feature.relative_to(repository.path) / "prd.json")).review(files)
    assert [(finding.level, finding.line) for finding in findings if finding.level != "ok"] == []
    assert len(repository.stories()) == 6


REMINDER = {"type": "text", "text": "<system-reminder>\nStory: STORY-009\n</system-reminder>"}
CALL = {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "Read", "input": {}}]}
RESULT = {"role": "user", "content": [{"type": "tool_result", "content": [{"type": "text", "text": "found"}]}]}
FIRST = {"role": "user", "content": [REMINDER, {"type": "text", "text": "Do it"}]}
SYSTEM = {"role": "system", "content": "skills"}


@pytest.mark.parametrize(
    ("messages", "turn"),
    [
        ([FIRST, SYSTEM], (SESSION, "Do it", 0, "")),
        ([{"role": "user", "content": "Do it"}], (SESSION, "Do it", 0, "")),
        ([FIRST, SYSTEM, CALL, RESULT], (SESSION, "Do it", 1, "found")),
        ([FIRST, CALL, RESULT, CALL, RESULT], (SESSION, "Do it", 2, "found")),
    ],
)
def test_where_a_conversation_stands(messages: list[Json], turn: tuple[object, ...]) -> None:
    assert read_turn(asked(messages)) == turn


def asked(messages: list[Json], session: str = SESSION) -> Json:
    return {"messages": messages, "metadata": {"user_id": json.dumps({"session_id": session})}, "stream": True}


def test_a_disturbance_meets_its_session_and_turn_and_is_used_up() -> None:
    well = Say("well")
    scenario = disturb(sequence(well), {(2, 0): (OVERLOADED, Cut())})
    sessions = [SESSION, SESSION.replace("f", "a"), SESSION.replace("f", "a"), SESSION.replace("f", "a"), SESSION]
    assert [scenario(asked([FIRST], session), 0) for session in sessions] == [well, OVERLOADED, Cut(), well, well]


def ask(url: str, path: str, body: bytes) -> tuple[int, bytes]:
    try:
        with urllib.request.urlopen(urllib.request.Request(url + path, body), timeout=5) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read()


@pytest.mark.parametrize(
    ("path", "body", "answer", "status", "part"),
    [
        ("/v1/messages", b'{"stream": true}', Say("hello"), 200, b"message_stop"),
        ("/v1/messages?beta=true", b'{"model": "m"}', Say("hello"), 200, b'"text": "hello"'),
        ("/v1/messages", b"{}", OVERLOADED, 529, b"overloaded_error"),
        ("/v1/messages", b"{}", rate_limited(3), 429, b"rate_limit_error"),
        ("/v1/messages", b"not json", Say("hello"), 400, b"not JSON"),
        ("/v1/messages/count_tokens", b"{}", Say("hello"), 200, b"input_tokens"),
        ("/v1/elsewhere", b"{}", Say("hello"), 404, b"/v1/elsewhere"),
    ],
)
def test_what_is_served(path: str, body: bytes, answer: Answer, status: int, part: bytes, serve: Serve) -> None:
    server = serve(sequence(answer))
    given, said = ask(server.url, path, body)
    assert (given, part in said) == (status, True)
    assert server.usage == (Usage() if b"hello" in said or b"message_stop" in said else Usage(0, 0, 0, 0))
    assert server.unknown == (["POST /v1/elsewhere"] if status == 404 else [])


def test_the_first_usage_of_a_stream_is_stale() -> None:
    events = list(message_events({}, 1, Say("a" * 50, (Tool("Bash", {"command": "true"}),), Usage(9, 8))))
    assert events[0]["message"]["usage"]["output_tokens"] == 1
    assert events[-2]["usage"]["output_tokens"] == 8
    parts = [event["delta"].get("partial_json", "") for event in events if event["type"] == "content_block_delta"]
    assert json.loads("".join(parts)) == {"command": "true"}


@pytest.mark.parametrize("status", ["allowed", "allowed_warning", "rejected"])
def test_limit_headers_say_their_status_and_reset(status: str) -> None:
    headers = limit_headers(status, 1767972000)
    assert headers["anthropic-ratelimit-unified-status"] == status
    assert ("anthropic-ratelimit-unified-5h-surpassed-threshold" in headers) == (status == "allowed_warning")
    assert int(usage_limit(1767972000).headers["retry-after"]) >= 1


def test_a_kept_stream_names_no_place(tmp_path: Path) -> None:
    encoded = "".join(letter if letter.isalnum() else "-" for letter in str(tmp_path / "repo"))
    raw = json.dumps({"type": "system", "subtype": "init", "cwd": f"{tmp_path}/repo/src", "at": encoded}).encode()
    assert json.loads(scrub(raw, tmp_path)) == {"type": "system", "subtype": "init", "cwd": "/repo/src", "at": "-repo"}
    assert shape(raw) == ["system/init"]
