"""What Claude Code really does when its model answers, refuses, breaks off or says nothing."""

import json
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from conftest import STREAMS, Serve
from messages import Answer, Cut, Say, Scenario, Silence, Tool, Usage
from model_server import ModelServer
from repository import Repository, claude_env, story_id
from scenarios import (
    BROKEN,
    COMPLETE,
    CUT_TWICE,
    NO_CREDIT,
    OVERLOADED,
    STORY_COMPLETE,
    UNKNOWN_KEY,
    always,
    disturb,
    limit_headers,
    rate_limited,
    sequence,
    six_stories,
    turns,
    usage_limit,
)
from session import ALLOWED_TOOLS, SKIP_PERMISSIONS, Session, run_claude, scrub, shape

Keep = Callable[[str, bytes], bytes]
RESETS_AT = int(time.time()) + 3600
SPOKEN = "The file speaks of a usage limit and of 429: Claude AI usage limit reached|1767972000"
FAILING = Tool("Bash", {"command": "echo no >&2; exit 3"})
LOG = Tool("Bash", {"command": f"echo '{SPOKEN}'"})


class Case(NamedTuple):
    """Answers of the model, one a request, and what must come of them."""

    name: str
    answers: tuple[Answer, ...]
    exit_code: int
    requests: int
    text: str
    status: int | None = None
    retries: int = 0
    oauth: bool = False
    arguments: tuple[str, ...] = SKIP_PERMISSIONS
    subtype: str = "success"


CASES = (
    Case("words", (Say("Nothing was to be done."),), 0, 1, "Nothing was to be done."),
    Case("slow-words", (Say("One word after another, " * 3, pace=0.05),), 0, 1, "One word after another"),
    Case("markup-and-letters", (Say("\x1b[31mred\x1b[0m ünïcödé 🎉 \u2028 end\r\n"),), 0, 1, "ünïcödé 🎉"),
    Case("limit-words-are-words", (Say("I look.", (LOG,)), Say(SPOKEN)), 0, 2, SPOKEN),
    Case("tool-fails", (Say("", (FAILING,)), Say("It failed.")), 0, 2, "It failed."),
    Case(
        "permission-denied",
        (Say("", (Tool("Bash", {"command": "touch /repo/forbidden"}),)), Say("I may not.")),
        0,
        2,
        "I may not.",
        arguments=ALLOWED_TOOLS,
    ),
    Case("rate-limited-then-well", (rate_limited(1), Say("Well again.")), 0, 2, "Well again.", retries=1),
    Case("rate-limited", (rate_limited(),), 1, 2, "API Error: Request rejected (429)", 429, retries=1),
    Case("overloaded-then-well", (OVERLOADED, Say("Well again.")), 0, 2, "Well again.", retries=1),
    Case("overloaded", (OVERLOADED,), 1, 2, "API Error: 529 Overloaded", 529, retries=1),
    Case("server-error", (BROKEN,), 1, 1, "API Error: 500 Internal server error", 500),
    Case("unknown-key", (UNKNOWN_KEY,), 1, 1, "Invalid API key", 401),
    Case("no-credit", (NO_CREDIT,), 1, 1, "Credit balance is too low", 400),
    Case("usage-limit", (usage_limit(RESETS_AT),), 1, 1, "You've hit your session limit", 429, retries=9, oauth=True),
    Case(
        "usage-limit-after-work", (Say("I look.", (LOG,)), usage_limit(RESETS_AT)), 1, 2, "hit your session limit", 429,
        oauth=True,
    ),
    Case("usage-limit-with-key", (usage_limit(RESETS_AT),), 1, 1, "would exceed your account's rate limit", 429),
    Case(
        "usage-limit-near", (Say("Still well.", headers=limit_headers("allowed_warning", RESETS_AT)),), 0, 1,
        "Still well.", oauth=True,
    ),
    Case("cut-then-well", (Cut(), Say("Well again.")), 0, 2, "Well again."),
    Case("cut", CUT_TWICE, 1, 2, "Connection to the API was lost"),
    Case(
        "too-many-turns", (Say("", (LOG,)),), 1, 1, "", arguments=(*SKIP_PERMISSIONS, "--max-turns", "1"),
        subtype="error_max_turns",
    ),
)  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_answers(case: Case, tmp_path: Path, serve: Serve, kept_stream: Keep) -> None:
    server = serve(sequence(*case.answers))
    environment = claude_env(tmp_path / "home", server.url, retries=case.retries, oauth=case.oauth)
    session = run_claude(tmp_path / "repo", environment, "Do the next story.", case.arguments)
    assert (session.exit_code, session.complaint) == (case.exit_code, "")
    assert (len(server.seen), server.unknown) == (case.requests, [])
    result = session.result
    assert result["subtype"] == case.subtype
    assert result["is_error"] is (case.exit_code != 0)
    assert case.text in result.get("result", "")
    assert result.get("api_error_status") == case.status
    assert spent(session) == server.usage
    same_shape(case.name, session, tmp_path, kept_stream)


def spent(session: Session) -> Usage:
    """What the CLI's last word says was used, over all models."""
    total = Usage(0, 0, 0, 0)
    for used in session.result["modelUsage"].values():
        fields = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens")
        total = total.plus(Usage(*(used[field] for field in fields)))
    return total


def same_shape(name: str, session: Session, tmp_path: Path, kept_stream: Keep) -> None:
    assert shape(session.raw) == shape(kept_stream(name, scrub(session.raw, tmp_path))), "the CLI's stream has changed"


def prompt_for(repository: Repository) -> str:
    return "Do the next story.\n" + (repository.feature / "prd.json").read_text()


@pytest.mark.parametrize(("name", "arguments"), [("story", SKIP_PERMISSIONS), ("story-allowed-tools", ALLOWED_TOOLS)])
def test_a_story_is_built_marked_and_committed(
    name: str, arguments: tuple[str, ...], tmp_path: Path, repository: Repository, serve: Serve, kept_stream: Keep
) -> None:
    model = six_stories(repository)
    server = serve(model)
    environment = claude_env(tmp_path / "home", server.url)
    for number, word in enumerate(("count", "reverse"), start=1):
        session = run_claude(repository.path, environment, prompt_for(repository), arguments)
        assert session.exit_code == 0, session.text
        assert session.text.endswith(STORY_COMPLETE)
        assert (repository.path / "src" / f"{word}.py").exists()
        assert [story["passes"] for story in repository.stories()].count(True) == number
        assert len(repository.subjects()) == number
        assert session.result["permission_denials"] == []
    assert model.asked == [story_id(1), story_id(2)]
    assert repository.git("status", "--porcelain") == ""
    assert (repository.feature / "progress.txt").read_text().count("Status: complete") == 2
    same_shape(name, session, tmp_path, kept_stream)


def test_a_naive_count_of_a_message_with_tools_is_wrong(tmp_path: Path, repository: Repository, serve: Serve) -> None:
    server = serve(six_stories(repository))
    session = run_claude(repository.path, claude_env(tmp_path / "home", server.url), prompt_for(repository))
    said = session.of("assistant")
    naive = sum(line["message"]["usage"]["input_tokens"] for line in said)
    once = {line["message"]["id"]: line["message"]["usage"]["input_tokens"] for line in said}
    assert naive > sum(once.values()) == server.usage.input
    assert {line["message"]["usage"]["output_tokens"] for line in said} == {1}
    assert spent(session) == server.usage


def test_the_session_file_holds_the_true_tokens(tmp_path: Path, repository: Repository, serve: Serve) -> None:
    server = serve(six_stories(repository))
    session = run_claude(repository.path, claude_env(tmp_path / "home", server.url), prompt_for(repository))
    (file,) = (tmp_path / "home" / ".claude" / "projects").glob("*/*.jsonl")
    assert file.stem == session.result["session_id"]
    usages = {}
    for line in map(json.loads, file.read_text().splitlines()):
        if line["type"] == "assistant":
            usages[line["message"]["id"]] = line["message"]["usage"]
    assert sum(usage["input_tokens"] for usage in usages.values()) == server.usage.input
    assert sum(usage["output_tokens"] for usage in usages.values()) == server.usage.output


def test_the_fallback_after_a_cut_reports_its_tokens_in_one_place_only(tmp_path: Path, serve: Serve) -> None:
    server = serve(sequence(Cut(), Say("Well again.", usage=Usage(300, 30))))
    session = run_claude(tmp_path / "repo", claude_env(tmp_path / "home", server.url), "Go on.")
    assert [seen.request.get("stream", False) for seen in server.seen] == [True, False]
    assert session.result["usage"]["output_tokens"] == 0
    assert spent(session) == Usage(300, 30)


SLOW = always(Say("word " * 400, pace=0.1))
TOOL = turns(
    Say("", (Tool("Bash", {"command": "timeout 2 tail -f /dev/null; touch ../begun; timeout 8 tail -f /dev/null"}),)),
    Say("It has ended."),
)
TERM, INT = signal.SIGTERM, signal.SIGINT


def silent_for_a_second(server: ModelServer, folder: Path) -> bool:
    return bool(server.seen) and time.monotonic() > server.seen[0].at + 1


def thirty_words_are_out(server: ModelServer, folder: Path) -> bool:
    return server.told >= 30


def the_tool_runs(server: ModelServer, folder: Path) -> bool:
    return (folder / "begun").exists()


class End(NamedTuple):
    """One way in which an interrupted session may end."""

    exit_code: int
    reasons: tuple[str, ...] = ()
    like: str = ""  # another kept stream, when it is not the case's own


BY_TERM = (End(143),)
# interrupted in its own words, it gets its last line out or not, as it happens
IN_ITS_WORDS = (End(0, ("aborted_streaming",)), End(0, like="silence-int"))


@pytest.mark.parametrize(
    ("name", "scenario", "when", "sent", "ends"),
    [
        ("silence-term", always(Silence()), silent_for_a_second, TERM, BY_TERM),
        ("silence-int", always(Silence()), silent_for_a_second, INT, (End(0),)),
        ("words-term", SLOW, thirty_words_are_out, TERM, BY_TERM),
        ("words-int", SLOW, thirty_words_are_out, INT, IN_ITS_WORDS),
        ("tool-term", TOOL, the_tool_runs, TERM, BY_TERM),
        ("tool-int", TOOL, the_tool_runs, INT, (End(1, ("aborted_tools",)), End(0, ("aborted_tools",)))),
    ],
)
def test_an_ended_session_says_little(
    name: str, scenario: Scenario, when: Callable[[ModelServer, Path], bool], sent: signal.Signals,
    ends: tuple[End, ...], tmp_path: Path, serve: Serve, kept_stream: Keep,
) -> None:  # fmt: skip
    server = serve(scenario)
    environment = claude_env(tmp_path / "home", server.url, retries=None)
    session = run_claude(
        tmp_path / "repo", environment, "Go on.", end_with=sent, end_when=lambda: when(server, tmp_path), seconds=30
    )
    reasons = tuple(result["terminal_reason"] for result in session.of("result"))
    end = next((end for end in ends if (end.exit_code, end.reasons) == (session.exit_code, reasons)), None)
    assert end is not None, f"ended in a way of its own: {session.exit_code} {reasons}"
    assert all(result["is_error"] and "result" not in result for result in session.of("result"))
    same_shape(end.like or name, session, tmp_path, kept_stream)


def test_a_background_command_brings_a_second_turn(tmp_path: Path, serve: Serve, kept_stream: Keep) -> None:
    command = {"command": "timeout 1 tail -f /dev/null", "run_in_background": True}
    server = serve(turns(Say("", (Tool("Bash", command),)), Say(f"It runs. {STORY_COMPLETE}"), Say("It has ended.")))
    session = run_claude(tmp_path / "repo", claude_env(tmp_path / "home", server.url), "Go on.")
    assert session.exit_code == 0
    assert len(session.of("system", "init")) == len(session.of("result")) == 2
    assert [result["result"] for result in session.of("result")] == [f"It runs. {STORY_COMPLETE}", "It has ended."]
    first, second = session.of("result")
    assert first["usage"]["output_tokens"] + second["usage"]["output_tokens"] == spent(session).output
    assert spent(session) == server.usage, "the last result counts the whole session, not its own turn"
    same_shape("second-turn", session, tmp_path, kept_stream)


def test_faults_meet_the_session_and_turn_they_are_meant_for(
    tmp_path: Path, repository: Repository, serve: Serve
) -> None:
    model = six_stories(repository)
    server = serve(disturb(model, {(2, 3): CUT_TWICE}))
    codes = []
    for _ in range(6):
        session = run_claude(repository.path, claude_env(tmp_path / "home", server.url), prompt_for(repository))
        codes.append(session.exit_code)
    assert codes == [0, 1, 0, 0, 0, 0]
    assert [subject.split()[1] for subject in repository.subjects()] == [story_id(number) for number in range(1, 7)]
    assert session.text.endswith(COMPLETE)


@pytest.mark.parametrize("file", sorted(STREAMS.glob("claude-*.jsonl")), ids=lambda file: str(file.stem))
def test_kept_streams_are_small_and_name_no_machine(file: Path) -> None:
    raw = file.read_bytes()
    assert 0 < len(raw) < 60_000
    assert shape(raw)[0] == "system/init"
    for trace in (b"/root", b"/tmp/pytest", b"pytest-of", b"/work/", b"/var/folders", b"/Users/"):
        assert trace not in raw
