"""The session files of each agent, as it wrote them: what is read from them, whole and in pieces."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralphloop.agents.sessions.common import folder_of, seconds
from ralphloop.agents.sessions.table import READERS, reader_of
from ralphloop.core.event import Tokens
from ralphloop.core.session_file import Reader, Taken, Thread, Use

SAMPLES = Path(__file__).parent / "sessions"
NAMES = [reader.name for reader in READERS]
PROJECT = "/home/you/project"
Expected = list[tuple[str, str, str, Tokens, int, float | None]]

# session, model, time, tokens, of them written for an hour, cost
EXPECTED: dict[str, Expected] = {
    "claude": [
        ("3109037d", "claude-opus-4-8", "2026-11-20T00:00:01.310Z", Tokens(200, 40, 0, 10), 0, None),
        ("3109037d", "claude-haiku-4-5-20251001", "2026-11-20T00:00:05Z", Tokens(5, 7, 210, 1000), 800, None),
        ("3109037d", "claude-opus-4-8", "2026-11-20T00:00:06Z", Tokens(3, 4, 0, 0), 0, None),
    ],
    "codex": [("01a1f644", "gpt-5-codex", "2026-11-20T00:04:24.346Z", Tokens(600, 50, 400), 0, None)],
    "gemini": [("5a838655", "gemini-2.5-pro", "2026-11-20T00:04:25.182Z", Tokens(600, 70, 400), 0, None)],
    "opencode": [("ses_e09b", "fake-model", "2026-11-20T00:04:29.212Z", Tokens(600, 50, 400), 0, 0.0007)],
    "copilot": [("a193e222", "gpt-5", "2026-11-20T00:04:26.957Z", Tokens(600, 50, 400), 0, None)],
    "qwen": [
        ("2a2e26c6", "qwen3-coder-plus", "2026-11-20T00:04:26.986Z", Tokens(600, 50, 400), 0, None),
        ("2a2e26c6", "qwen3-coder-plus", "2026-11-20T00:04:27.025Z", Tokens(600, 50, 400), 0, None),
    ],
}


def reader(name: str) -> Reader:
    found = reader_of(name)
    assert found is not None
    return found


def sample(name: str) -> bytes:
    return (SAMPLES / f"{name}.jsonl").read_bytes()


def take(name: str, *lines: dict[str, Any] | str) -> Taken:
    texts = [line if isinstance(line, str) else json.dumps(line, separators=(",", ":")) for line in lines]
    return reader(name).take("".join(f"{text}\n" for text in texts).encode(), Thread())


def in_pieces(name: str, pieces: list[bytes]) -> Taken:
    found: dict[int, Use] = {}
    thread, unread = Thread(), 0
    for piece in pieces:
        taken = reader(name).take(piece, thread)
        thread, unread = taken.thread, unread + taken.unread
        for use in taken.uses:
            found[use.key] = reader(name).keep(found[use.key], use) if use.key in found else use
    return Taken(list(found.values()), thread, unread)


def test_every_reader_has_a_sample() -> None:
    assert {path.stem for path in SAMPLES.glob("*.jsonl")} == set(NAMES) == set(EXPECTED)


@pytest.mark.parametrize("name", NAMES)
def test_what_a_session_holds(name: str) -> None:
    taken = reader(name).take(sample(name), Thread())
    assert taken.unread == 0
    for use, (session, model, at, tokens, hour, cost) in zip(taken.uses, EXPECTED[name], strict=True):
        assert use.session.startswith(session)
        told = (use.model, use.at, use.tokens, use.written_1h, use.cost)
        assert told == (model, seconds(at), tokens, hour, cost)
        # gemini's project stands in a file beside it
        assert use.project == ("" if name == "gemini" else PROJECT)


@pytest.mark.parametrize("name", NAMES)
def test_pieces_of_whole_lines_give_what_the_whole_gives(name: str) -> None:
    whole = reader(name).take(sample(name), Thread())
    lines = sample(name).splitlines(keepends=True)
    for cut in range(len(lines) + 1):
        assert in_pieces(name, [b"".join(lines[:cut]), b"".join(lines[cut:])]) == whole
    assert in_pieces(name, lines) == whole


@pytest.mark.parametrize("name", NAMES)
def test_a_session_read_twice_counts_once(name: str) -> None:
    once = reader(name).take(sample(name), Thread())
    assert {use.key for use in in_pieces(name, [sample(name), sample(name)]).uses} == {use.key for use in once.uses}


@pytest.mark.parametrize("name", NAMES)
def test_a_line_that_is_cut_is_unread_or_nothing_and_hides_no_other(name: str) -> None:
    whole = reader(name).take(sample(name), Thread())
    lines = sample(name).splitlines(keepends=True)
    longest = max(range(len(lines)), key=lambda at: len(lines[at]))
    for size in (1, len(lines[longest]) // 2, len(lines[longest]) - 2):
        damaged = [*lines[:longest], lines[longest][:size] + b"\n", *lines[longest + 1 :], *lines]
        taken = in_pieces(name, [b"".join(damaged)])
        assert {use.key for use in whole.uses} <= {use.key for use in taken.uses}
        assert taken.unread <= 1


@pytest.mark.parametrize("name", NAMES)
def test_a_line_nested_without_end_is_unread_and_hides_no_other(name: str) -> None:
    lines = sample(name).splitlines(keepends=True)
    deep = b"[" * 5_000 + b"]" * 5_000
    whole = reader(name).take(sample(name), Thread())
    damaged = [line.rstrip()[:-1] + b',"deep":' + deep + b"}\n" for line in lines]
    taken = reader(name).take(b"".join([*damaged, *lines]), Thread())
    assert taken.unread > 0
    assert {use.key for use in taken.uses} == {use.key for use in whole.uses}


@pytest.mark.parametrize("name", NAMES)
@given(content=st.binary(max_size=300))
def test_anything_can_stand_in_a_file(name: str, content: bytes) -> None:
    assert reader(name).take(content, Thread()).uses == []


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
def test_damage_anywhere_raises_nothing(name: str, data: st.DataObject) -> None:
    content = bytearray(sample(name))
    for at in data.draw(st.lists(st.integers(0, len(content) - 1), min_size=1, max_size=5)):
        content[at] = data.draw(st.integers(0, 255))
    taken = reader(name).take(bytes(content), Thread())
    for use in taken.uses:
        assert min(use.tokens.input, use.tokens.output, use.tokens.cache_read, use.tokens.cache_write) >= 0


def claude(name: str | None, request: str | None, output: int, **more: Any) -> dict[str, Any]:
    usage = {"input_tokens": 10, "output_tokens": output}
    body = {"id": name, "model": "claude-opus-4-8", "usage": usage}
    told = {"type": "assistant", "sessionId": "s", "timestamp": "2026-01-07T12:00:00Z", "requestId": request}
    return {**told, "message": body, **more}


@pytest.mark.parametrize(
    ("lines", "outputs"),
    [
        ([claude("a", "r", 1), claude("a", "r", 50)], [50]),
        ([claude("a", "r", 50), claude("a", "r", 1)], [50]),
        ([claude("a", "r", 5), claude("a", "q", 6)], [5, 6]),
        ([claude("a", None, 5), claude("a", None, 7)], [7]),
        ([claude("a", None, 5), claude("a", None, 7, sessionId="t")], [5, 7]),
        ([claude(None, "r", 5, uuid="u"), claude(None, "r", 5, uuid="v")], [5, 5]),
        ([claude("a", "r", 50, message=None)], []),
        ([claude("a", "r", 50, message="a text", usage={"input_tokens": 5})], []),
        ([claude("a", "r", 50, message={"content": []}, requestId=5, toolUseResult={"usage": {}})], []),
        ([claude("a", "r", 50, message={"usage": None})], []),
    ],
)
def test_an_answer_of_claude_counts_once_with_its_largest_usage(lines: list[Any], outputs: list[int]) -> None:
    taken = take("claude", *lines)
    assert ([use.tokens.output for use in taken.uses], taken.unread) == (outputs, 0)


@pytest.mark.parametrize(
    "line",
    [
        claude("a", "r", -1),
        claude("a", "r", 50, timestamp="yesterday"),
        claude("a", "r", 50, timestamp=5),
        claude("a", "r", 50, timestamp="9999-12-31T23:59:59Z"),
        claude("a", "r", 50, timestamp="0001-01-01T00:00:00Z"),
        claude("a", "r", 1 << 60),
        claude("a", "r", 50, message={"usage": {"input_tokens": "10"}}),
        claude("a", "r", 50, message={"usage": [1]}),
        '{"message":{"usage":{"input_tokens":1}',
    ],
)
def test_a_line_of_claude_that_cannot_be_read_is_counted_as_that(line: Any) -> None:
    taken = take("claude", claude("b", "r", 1), line, claude("c", "r", 2))
    assert ([use.tokens.output for use in taken.uses], taken.unread) == ([1, 2], 1)


def count(total: int, **more: Any) -> dict[str, Any]:
    info = {"total_token_usage": {"input_tokens": total, "output_tokens": total // 10}, **more}
    payload = {"type": "token_count", "info": info}
    return {"timestamp": "2026-01-07T12:00:00Z", "type": "event_msg", "payload": payload}


def record(name: str, used: int, total: int) -> dict[str, Any]:
    told = {
        "usage": {"input_tokens": used},
        "thread_token_usage": {"input_tokens": total, "output_tokens": total // 10},
    }
    payload = {"thread_id": "t", "response_id": name, **told}
    return {"timestamp": "2026-01-07T12:00:00Z", "type": "token_usage_record", "payload": payload}


@pytest.mark.parametrize(
    ("lines", "inputs"),
    [
        ([count(100), count(100), count(250)], [100, 150]),
        ([record("a", 100, 100), count(100), record("b", 150, 250), count(250)], [100, 150]),
        ([count(100), record("b", 150, 250), count(250), count(300)], [100, 150, 50]),
        ([count(100), count(40, last_token_usage={"input_tokens": 40})], [100, 40]),
        ([record("a", 100, 100), record("a", 100, 100)], [100]),
        ([{"timestamp": "x", "type": "event_msg", "payload": {"type": "token_count", "info": None}}], []),
    ],
)
def test_codex_is_told_twice_and_counted_once(lines: list[Any], inputs: list[int]) -> None:
    assert [use.tokens.input for use in take("codex", *lines).uses] == inputs


def test_a_message_of_gemini_that_is_written_again_holds_as_it_was_written_last() -> None:
    head = {"sessionId": "s", "projectHash": "x"}
    line = {"id": "m", "timestamp": "2026-01-07T12:00:00Z", "type": "gemini", "model": "g", "tokens": {"input": 90}}
    again = {**line, "tokens": {"input": 70, "tool": 3, "output": 5}}
    taken = take("gemini", head, line, {"$set": {"messages": [again]}})
    assert [use.tokens for use in taken.uses] == [Tokens(73, 5)]


def test_an_older_qwen_has_messages_only() -> None:
    lines = [json.loads(line) for line in sample("qwen").splitlines() if b"ui_telemetry" not in line]
    (use,) = take("qwen", *lines).uses
    assert use.tokens == Tokens(600, 50, 400)


def test_an_older_copilot_has_its_sums_only() -> None:
    lines = [json.loads(line) for line in sample("copilot").splitlines() if b"usage_record" not in line]
    (use,) = take("copilot", *lines).uses
    assert (use.tokens, use.model, use.project) == (Tokens(600, 50, 400), "gpt-5", PROJECT)


@pytest.mark.parametrize(
    ("name", "environment", "folders"),
    [
        ("claude", {}, ("/h/.claude", "/h/.config/claude")),
        ("claude", {"CLAUDE_CONFIG_DIR": "/a, /b"}, ("/a", "/b")),
        ("codex", {}, ("/h/.codex",)),
        ("codex", {"CODEX_HOME": "/c"}, ("/c",)),
        ("gemini", {}, ("/h/.gemini",)),
        ("opencode", {}, ("/h/.local/share/opencode",)),
        ("opencode", {"XDG_DATA_HOME": "/d"}, ("/d/opencode",)),
        ("copilot", {}, ("/h/.copilot",)),
        ("qwen", {}, ("/h/.qwen",)),
    ],
)
def test_where_the_files_lie(name: str, environment: dict[str, str], folders: tuple[str, ...]) -> None:
    assert reader(name).folders("/h", environment) == folders


def test_the_name_of_a_project_s_folder() -> None:
    assert folder_of("/home/you/my_pro.ject é😀") == "-home-you-my-pro-ject----"
    assert len(folder_of("/x" * 500)) < 200
    assert "-home-you" in reader("claude").files_of("/home/you")
