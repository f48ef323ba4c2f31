"""The table of ends: what ralph comes to, whatever happens to a real Codex, OpenCode or Copilot and to its model."""

import json
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from clis import GEMINI, NEW, OPENCODE, QWEN, Cli, surroundings
from conftest import Keep, Serve
from messages import Answer, Cut, Fail, Refuse, Say, Silence, Tool
from played import alive, kept, play, same_shape
from ralphloop.core.event import Finished, LimitMet, Retrying
from repository import Repository
from scenarios import always, sequence, six_stories, turns
from session import until

RESETS_AT = int(time.time()) // 60 * 60 + 3600  # on the minute, which is as near as codex tells
SOON = {"retry-after-ms": "10", "retry-after": "0"}  # what CLIs that try again wait for
SPOKEN = "usage limit reached, 429 Too Many Requests, You've hit your usage limit"
LOG = Tool("Bash", {"command": f"echo \"{SPOKEN}\"; echo '401 Unauthorized' >&2; exit 3"})
NAMES = {"codex": "You’ve hit your usage limit", "opencode": "usage limit has been reached", "copilot": "usage limit"}


class Row(NamedTuple):
    """The answers of the model, one a request, and what must come of them; `said` may differ from CLI to CLI."""

    name: str
    answers: tuple[Answer, ...]
    said: Mapping[str, str] = {}  # a part of the error
    fault: str = ""
    limited: bool = False
    fails: bool = True


def refused(status: int, kind: str, message: str) -> Refuse:
    return Refuse(status, kind, message, SOON)


ROWS = (
    Row("words", (Say("Nothing was to be done."),), fails=False),
    Row("limit-words-are-words", (Say("I look.", (LOG,)), Say(SPOKEN)), fails=False),
    Row("rate-limited", (refused(429, "rate_limit_exceeded", "Rate limit reached"),), {"codex": "429"}, "rate"),
    Row(
        "usage-limit",
        (Refuse(429, "usage_limit_reached", "The usage limit has been reached", SOON, {"resets_at": RESETS_AT}),),
        NAMES, "rate", limited=True,
    ),
    Row("no-credit", (refused(429, "insufficient_quota", "You exceeded your current quota"),), fault="money"),
    Row("server-error", (refused(500, "server_error", "The server had an error"),), fault="transient"),
    Row("unknown-key", (refused(401, "invalid_api_key", "Incorrect key"),), {"codex": "401"}, "auth"),
    Row("bad-request", (refused(400, "invalid_request_error", "Unsupported parameter"),), {"codex": "Unsupported"}),
)  # fmt: skip
# opencode and copilot try these again for longer than a test can wait
CODEX_ROWS = (
    Row("unavailable", (refused(503, "overloaded", "Service unavailable"),), fault="transient"),
    Row("cut", (Cut(),), {"codex": "stream disconnected"}, "transient"),
    Row("error-in-a-good-answer", (Fail("server_error", "It broke"),), {"codex": "It broke"}, "transient"),
    Row("limit-in-a-good-answer", (Fail("rate_limit_exceeded", "Rate limit reached"),), fault="rate"),
)
COPILOT_ROWS = (
    Row("cut", (Cut(),), {"copilot": "error"}, "transient"),
    Row("error-in-a-good-answer", (Fail("server_error", "It broke"),), {"copilot": "No response"}, "transient"),
)
PLAYED = [
    *((cli, row) for cli in NEW for row in ROWS),
    *((cli, row) for cli in NEW if cli.name == "codex" for row in CODEX_ROWS),
    *((cli, row) for cli in NEW if cli.name == "copilot" for row in COPILOT_ROWS),
]


@pytest.mark.parametrize(("cli", "row"), PLAYED, ids=lambda each: each.name)
def test_an_end(cli: Cli, row: Row, tmp_path: Path, repository: Repository, serve: Serve, kept_of: Keep) -> None:
    server = serve(sequence(*row.answers))
    played = play(cli, repository, surroundings(cli, tmp_path, server.url), "-t", "60s")
    attempt = played.attempt
    assert (attempt["end"], attempt["exit_code"], attempt["leftovers"]) == ("natural", int(row.fails), [])
    (finished,) = played.of(Finished)
    assert bool(attempt["error"]) is bool(finished.error) is row.fails
    assert row.said.get(cli.name, "") in attempt["error"]
    assert (finished.fault, attempt["limited"]) == (row.fault, row.limited)
    assert bool(played.of(LimitMet)) is row.limited
    if row.limited and cli.name != "copilot":
        assert attempt["resets_at"] == RESETS_AT
    if not row.fails:
        used = attempt["tokens"]
        assert (used["input"], used["output"]) == (server.usage.input, server.usage.output)
    assert server.unknown == []
    assert attempt["unread"] == 0
    assert alive(tmp_path) == {}
    same_shape(cli, row.name, played, tmp_path, kept_of)


@pytest.mark.parametrize("cli", NEW, ids=lambda cli: cli.name)
def test_a_story_is_built_marked_and_committed(
    cli: Cli, tmp_path: Path, repository: Repository, serve: Serve, kept_of: Keep
) -> None:
    server = serve(six_stories(repository))
    played = play(cli, repository, surroundings(cli, tmp_path, server.url))
    assert played.attempt["claim"]["kind"] == "story"
    assert [story["passes"] for story in repository.stories()] == [True] + [False] * 5
    assert repository.subjects() == ["feat: STORY-001 Add the count tool"]
    assert server.unknown == []
    used = played.attempt["tokens"]
    assert used == {**server.usage._asdict()}, "from the stream, or from the session file"
    same_shape(cli, "story", played, tmp_path, kept_of)


@pytest.mark.parametrize("cli", NEW, ids=lambda cli: cli.name)
def test_a_cut_stream_is_asked_for_again(
    cli: Cli, tmp_path: Path, repository: Repository, serve: Serve, kept_of: Keep
) -> None:
    environment = surroundings(cli, tmp_path, (server := serve(sequence(Cut(), Say("Well again.")))).url)
    config = tmp_path / "home" / ".codex" / "config.toml"
    if config.exists():
        config.write_text(config.read_text().replace("stream_max_retries = 0", "stream_max_retries = 2"))
    played = play(cli, repository, environment, "-t", "60s")
    assert (played.attempt["exit_code"], played.attempt["error"]) == (0, "")
    assert played.attempt["last_words"] == "Well again."
    assert len(server.seen) == 2
    if cli.name != "opencode":
        assert [retry.attempt for retry in played.of(Retrying)] == [1], "opencode tries again without a word"
    same_shape(cli, "cut-then-well", played, tmp_path, kept_of)


def test_opencode_that_was_refused_a_tool_ends_with_0_and_has_failed(
    tmp_path: Path, repository: Repository, serve: Serve, kept_of: Keep
) -> None:
    server = serve(always(Say("I look.", (LOG,))))
    environment = surroundings(OPENCODE, tmp_path, server.url)
    file = tmp_path / "home" / ".config" / "opencode" / "opencode.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "permission": {"bash": "ask"}}))
    played = play(OPENCODE, repository, environment, "-t", "60s", skip=False)
    assert (played.attempt["end"], played.attempt["exit_code"]) == ("natural", 0)
    assert "the session was over before its work was: The user rejected" in played.attempt["error"]
    same_shape(OPENCODE, "refused-a-tool", played, tmp_path, kept_of)


HANG = Tool("Bash", {"command": "touch ../begun; tail -f /dev/null"})
LEFT = "setsid tail -f /dev/null > /dev/null 2>&1 & nohup tail -f /dev/null > /dev/null 2>&1 & echo it runs"
TERM, INT, KILL = signal.SIGTERM, signal.SIGINT, signal.SIGKILL


@pytest.mark.parametrize("cli", (*NEW, GEMINI, QWEN), ids=lambda cli: cli.name)
@pytest.mark.parametrize("answer", [Silence(), Say("", (HANG,))], ids=["silent-model", "silent-tool"])
def test_what_says_nothing_is_ended_in_time(
    cli: Cli, answer: Answer, tmp_path: Path, repository: Repository, serve: Serve
) -> None:
    server = serve(always(answer))
    played = play(cli, repository, surroundings(cli, tmp_path, server.url), "-t", "5s")
    assert played.attempt["end"] == "timeout"
    assert played.attempt["error"] or not played.attempt["finished"], "copilot may say that it was broken off"
    assert played.run.seconds < 15
    assert alive(tmp_path) == {}


@pytest.mark.parametrize("cli", (*NEW, GEMINI, QWEN), ids=lambda cli: cli.name)
def test_what_a_tool_leaves_running_is_ended(cli: Cli, tmp_path: Path, repository: Repository, serve: Serve) -> None:
    server = serve(turns(Say("", (Tool("Bash", {"command": LEFT}),)), Say("Done.")))
    played = play(cli, repository, surroundings(cli, tmp_path, server.url))
    assert played.attempt["end"] in ("natural", "lingered")
    assert played.attempt["error"] == ""
    assert played.attempt["last_words"] == "Done."
    assert cli is QWEN or any("tail" in each for each in played.attempt["leftovers"]), "only qwen ends them itself"
    assert alive(tmp_path) == {}


@pytest.mark.parametrize("cli", (*NEW, GEMINI, QWEN), ids=lambda cli: cli.name)
@pytest.mark.parametrize("sent", [TERM, INT, KILL], ids=lambda sent: sent.name)
def test_a_cli_that_is_ended_from_outside_leaves_nothing(
    cli: Cli, sent: signal.Signals, tmp_path: Path, repository: Repository, serve: Serve, kept_of: Keep
) -> None:
    server = serve(always(Say("I begin.", (HANG,))))
    begun = tmp_path / "begun"
    played = play(cli, repository, surroundings(cli, tmp_path, server.url), "-t", "12s", sent=sent, when=begun.exists)
    attempt = played.attempt
    how = (1, None) if (cli.name, sent) == ("codex", INT) else (None, sent)
    if cli is GEMINI and sent != KILL:
        assert (attempt["end"], attempt["finished"]) == ("timeout", False), "gemini ignores whoever asks it to end"
    else:
        assert (attempt["end"], attempt["exit_code"], attempt["signal"]) == ("natural", *how)
        assert attempt["error"], "an end from outside is never a success"
    if sent == KILL:
        assert attempt["leftovers"], "what it had started lived on, and was ended by ralph"
    assert attempt["claim"]["kind"] == "none"
    assert played.run.exit_code == 1
    until(lambda: alive(tmp_path) == {}, 3)
    kept_of(cli, f"ended-by-{sent.name[3:].lower()}", kept(played.raw, tmp_path))
