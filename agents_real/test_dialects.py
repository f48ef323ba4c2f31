"""The model server's OpenAI APIs: what is served, what is counted, and how requests in them are read."""

import json
import socket
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from completions import completion_chunks
from conftest import Serve
from conversation import read_turn
from hands import fitted, offered
from messages import Answer, Cut, Fail, Json, Refuse, Say, Tool, Usage
from model_server import ModelServer
from responses import response_events
from scenarios import always, sequence

LS = Tool("Bash", {"command": "ls -l /tmp; echo a long enough line of words"})
USED = Usage(9, 8, 7, 6)
SAID = Say("Words, and more of them than a part holds.", (LS, LS), USED)
KNOWN = Usage(9, 8, 7, 0)  # these APIs have no field for what was written to a cache
CHAT, RESPONSES = "/v1/chat/completions", "/v1/responses"


def ask(server: ModelServer, path: str, request: Json) -> bytes:
    body = json.dumps(request).encode()
    with urllib.request.urlopen(urllib.request.Request(server.url + path, body), timeout=5) as answer:
        told: bytes = answer.read()
        return told


def data(stream: bytes) -> Iterator[Any]:
    """The values of a stream of server-sent events; `[DONE]` is none."""
    for line in stream.decode().splitlines():
        if line.startswith("data: ") and line != "data: [DONE]":
            yield json.loads(line[6:])


def test_a_completion_comes_in_parts_with_its_usage_last(serve: Serve) -> None:
    server = serve(always(SAID))
    stream = ask(server, CHAT, {"model": "m", "stream": True, "stream_options": {"include_usage": True}})
    *chunks, last = data(stream)
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
    assert "".join(delta.get("content", "") for delta in deltas) == SAID.text
    calls = [call for delta in deltas for call in delta.get("tool_calls", [])]
    for index in (0, 1):
        parts = [call["function"] for call in calls if call["index"] == index]
        assert [part["name"] for part in parts if "name" in part] == ["Bash"]
        assert json.loads("".join(part["arguments"] for part in parts)) == LS.input
    assert chunks[-1]["choices"][0]["finish_reason"] == "tool_calls"
    assert (last["choices"], last["usage"]["prompt_tokens"], last["usage"]["completion_tokens"]) == ([], 16, 8)
    assert last["usage"]["prompt_tokens_details"] == {"cached_tokens": 7}
    assert stream.endswith(b"data: [DONE]\n\n")
    assert server.usage == KNOWN


def test_usage_comes_to_whoever_asked_and_is_counted_all_the_same(serve: Serve) -> None:
    server = serve(always(SAID))
    assert b"prompt_tokens" not in ask(server, CHAT, {"stream": True})
    assert server.usage == KNOWN


def test_a_whole_completion(serve: Serve) -> None:
    server = serve(sequence(SAID, Say("Done.")))
    first, second = (json.loads(ask(server, CHAT, {"model": "m"}))["choices"][0] for _ in range(2))
    assert (first["message"]["content"], first["finish_reason"]) == (SAID.text, "tool_calls")
    assert [call["function"]["name"] for call in first["message"]["tool_calls"]] == ["Bash", "Bash"]
    assert second["message"] == {"role": "assistant", "content": "Done."}
    assert server.usage == KNOWN.plus(Usage())


def test_a_response_comes_in_parts_and_whole(serve: Serve) -> None:
    server = serve(always(SAID))
    events = list(data(ask(server, RESPONSES, {"model": "m", "stream": True})))
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    parts = [event["delta"] for event in events if event["type"] == "response.output_text.delta"]
    assert (len(parts), "".join(parts)) == (2, SAID.text)
    done = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    assert [item["type"] for item in done] == ["message", "function_call", "function_call"]
    assert [json.loads(item["arguments"]) for item in done[1:]] == [LS.input, LS.input]
    assert events[-1]["type"] == "response.completed"
    assert events[-1]["response"]["output"] == done
    used = events[-1]["response"]["usage"]
    assert (used["input_tokens"], used["input_tokens_details"], used["output_tokens"]) == (16, {"cached_tokens": 7}, 8)
    assert server.usage == KNOWN


def test_a_tool_that_takes_a_text_is_a_custom_one() -> None:
    events = list(response_events({}, 1, Say("", (Tool("exec", "text(1)"),))))
    (item,) = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    assert (item["type"], item["name"], item["input"]) == ("custom_tool_call", "exec", "text(1)")
    assert "response.custom_tool_call_input.delta" in {event["type"] for event in events}


@pytest.mark.parametrize("path", [CHAT, RESPONSES])
@pytest.mark.parametrize(
    ("answer", "status", "told"),
    [
        (Refuse(429, "usage_limit_reached", "No more", more={"resets_at": 1767972000}), 429, {"resets_at": 1767972000}),
        (Refuse(401, "invalid_api_key", "Who?"), 401, {"message": "Who?", "type": "invalid_api_key"}),
    ],
)
def test_a_refusal_has_the_apis_body(path: str, answer: Answer, status: int, told: Json, serve: Serve) -> None:
    server = serve(always(answer))
    with pytest.raises(urllib.error.HTTPError) as refused:
        ask(server, path, {"stream": True})
    error = json.loads(refused.value.read())["error"]
    assert refused.value.code == status
    assert error == {**error, **told}
    assert server.usage == Usage(0, 0, 0, 0)


@pytest.mark.parametrize(("path", "part"), [(CHAT, b'{"error": '), (RESPONSES, b"event: response.failed")])
def test_an_error_can_come_under_a_good_status(path: str, part: bytes, serve: Serve) -> None:
    server = serve(always(Fail("server_error", "It broke")))
    stream = ask(server, path, {"stream": True})
    assert stream.count(part) == 1
    assert b"[DONE]" not in stream and b"response.completed" not in stream
    assert server.usage == Usage(0, 0, 0, 0)


def test_an_error_under_a_good_status_can_be_the_whole_answer(serve: Serve) -> None:
    server = serve(always(Fail("server_error", "It broke")))
    assert json.loads(ask(server, CHAT, {}))["error"]["message"] == "It broke"
    assert server.usage == Usage(0, 0, 0, 0)


@pytest.mark.parametrize("path", [CHAT, RESPONSES, "/v1/messages"])
def test_a_cut_stream_has_no_end(path: str, serve: Serve) -> None:
    server = serve(always(Cut()))
    body = b'{"stream": true}'
    head = f"POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n\r\n".encode()
    port = int(server.url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), 5) as connection:
        connection.sendall(head + body)
        told = b"".join(iter(lambda: connection.recv(65536), b""))
    assert b"This sentence" in told
    assert not told.endswith(b"0\r\n\r\n")
    assert server.usage == Usage(0, 0, 0, 0)


USER = {"role": "user", "content": [{"type": "input_text", "text": "Do it"}]}
CONTEXT = {"role": "user", "content": [{"type": "input_text", "text": "<environment_context>here"}]}
CALL = {"type": "function_call", "call_id": "a"}
RESULT = {"type": "function_call_output", "call_id": "a", "output": "found"}
PARTS = {"type": "custom_tool_call_output", "output": [{"type": "input_text", "text": "seen"}]}
ASSISTANT = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look"}]}
ASKED = {"role": "user", "content": "Do it"}
CALLED = {"role": "assistant", "content": None, "tool_calls": [{"id": "a"}]}
FOUND = {"role": "tool", "content": "found"}


@pytest.mark.parametrize(
    ("request_", "turn"),
    [
        ({"input": [CONTEXT, USER], "prompt_cache_key": "k"}, ("k", "Do it", 0, "")),
        ({"input": [USER, ASSISTANT, CALL, CALL, RESULT, RESULT], "prompt_cache_key": "k"},
         ("k", "Do it", 1, "foundfound")),
        ({"input": [USER, CALL, RESULT, CALL, PARTS], "prompt_cache_key": "k"}, ("k", "Do it", 2, "seen")),
        ({"messages": [{"role": "system", "content": "x"}, ASKED], "x-session-id": "s"}, ("s", "Do it", 0, "")),
        ({"messages": [ASKED, CALLED, FOUND], "x-session-id": "s"}, ("s", "Do it", 1, "found")),
    ],
)  # fmt: skip
def test_where_a_conversation_stands(request_: Json, turn: tuple[object, ...]) -> None:
    assert read_turn(request_) == turn


def test_a_session_without_a_name_is_known_by_its_prompt() -> None:
    one, same, other = (
        read_turn({"messages": [{"role": "user", "content": text}, *rest]})
        for text, rest in (("Do it", []), ("Do it", [CALLED, FOUND]), ("Do that", []))
    )
    assert one.session == same.session != other.session


READ, WRITE = Tool("Read", {"file_path": "/a b"}), Tool("Write", {"file_path": "/d/a", "content": "it's\n"})
WRITING = "mkdir -p $(dirname /d/a) && printf %s 'it'\"'\"'s\n' > /d/a"


@pytest.mark.parametrize(
    ("tool", "request_", "called"),
    [
        (READ, {"tools": [{"name": "Read"}]}, READ),
        (READ, {"tools": [{"function": {"name": "read"}}]}, Tool("read", {"filePath": "/a b"})),
        (READ, {"tools": [{"function": {"name": "view"}}]}, Tool("view", {"path": "/a b"})),
        (READ, {"tools": [{"name": "exec_command"}]}, Tool("exec_command", {"cmd": "cat '/a b'"})),
        (WRITE, {"tools": [{"name": "exec_command"}]}, Tool("exec_command", {"cmd": WRITING})),
        (Tool("Bash", {"command": "ls"}), {"input": [{"tools": [{"tools": [{"name": "exec"}]}]}]},
         Tool("exec", 'text(await tools.exec_command({"cmd": "ls"}))')),
        (Tool("Else", {}), {"tools": [{"name": "Read"}]}, Tool("Else", {})),
        (READ, {}, READ),
    ],
)  # fmt: skip
def test_a_tool_is_called_by_the_name_that_is_offered(tool: Tool, request_: Json, called: Tool) -> None:
    assert fitted(Say("x", (tool,)), request_) == Say("x", (called,))
    assert fitted(Cut(), request_) == Cut()


def test_what_is_offered_is_read_wherever_it_stands() -> None:
    inner = {"name": "functions", "tools": [{"name": "exec"}]}
    assert offered({"tools": [{"name": "a"}], "input": [{"tools": [inner]}]}) == {"a", "functions", "exec"}
    assert offered({}) == frozenset()


def test_chunks_have_one_shape() -> None:
    for chunk in completion_chunks({"model": "m"}, 3, SAID):
        assert (chunk["object"], chunk["id"], chunk["model"]) == ("chat.completion.chunk", "chatcmpl-0003", "m")
