"""The APIs the model server speaks: by path, how each tells a message, streams it, refuses and fails."""

import json
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

from completions import completion_chunks, whole_completion
from gemini_wire import PATH as GEMINI_PATH
from gemini_wire import as_messages, content_chunks, google_error, whole_content
from messages import Fail, Json, Refuse, Say, Usage, error_body, message_events, whole_message
from responses import failed_response, response_events, whole_response

Mark = Literal["", "said", "last"]


class Frame(NamedTuple):
    """Bytes of a stream that are sent at once: `said` comes when the words are out, `last` ends the stream."""

    data: bytes
    mark: Mark = ""


class Dialect(NamedTuple):
    """One API."""

    frames: Callable[[Json, int, Say], Iterator[Frame]]
    whole: Callable[[Json, int, Say], Json]
    refusal: Callable[[Refuse], Json]
    failure: Callable[[Json, int, Fail], Frame]
    counts_cache_writes: bool = False
    read: Callable[[str, Json], Json] = lambda path, request: request  # as scenarios understand it

    def given(self, usage: Usage) -> Usage:
        """What of a usage this API can tell, and so has told."""
        return usage if self.counts_cache_writes else usage._replace(cache_write=0)


def event_frame(event: Json, marks: dict[str, Mark]) -> Frame:
    """A server-sent event that is named by its type."""
    kind = event["type"]
    return Frame(f"event: {kind}\ndata: {json.dumps(event)}\n\n".encode(), marks.get(kind, ""))


def data_frame(value: Json | str, mark: Mark = "") -> Frame:
    """A server-sent event without a name."""
    return Frame(f"data: {value if isinstance(value, str) else json.dumps(value)}\n\n".encode(), mark)


def _messages(request: Json, number: int, answer: Say) -> Iterator[Frame]:
    marks: dict[str, Mark] = {"content_block_stop": "said", "message_stop": "last"}
    return (event_frame(event, marks) for event in message_events(request, number, answer))


def _responses(request: Json, number: int, answer: Say) -> Iterator[Frame]:
    marks: dict[str, Mark] = {"response.output_item.done": "said", "response.completed": "last"}
    return (event_frame(event, marks) for event in response_events(request, number, answer))


def _completions(request: Json, number: int, answer: Say) -> Iterator[Frame]:
    for chunk in completion_chunks(request, number, answer):
        ended = any(choice["finish_reason"] for choice in chunk["choices"])
        yield data_frame(chunk, "said" if ended else "")
    yield data_frame("[DONE]", "last")


def _contents(request: Json, number: int, answer: Say) -> Iterator[Frame]:
    chunks = [*content_chunks(request, number, answer)]
    marks: dict[int, Mark] = {len(chunks) - 1: "last", len(chunks) - 2: "said"}
    return (data_frame(chunk, marks.get(place, "")) for place, chunk in enumerate(chunks))


def openai_error(refusal: Refuse) -> Json:
    told = {"message": refusal.message, "type": refusal.kind, "param": None, "code": refusal.kind}
    return {"error": {**told, **refusal.more}}


MESSAGES = Dialect(
    frames=_messages,
    whole=whole_message,
    refusal=lambda refusal: error_body(refusal.kind, refusal.message),
    failure=lambda request, number, fail: event_frame(error_body(fail.kind, fail.message), {}),
    counts_cache_writes=True,
)
RESPONSES = Dialect(
    frames=_responses,
    whole=whole_response,
    refusal=openai_error,
    failure=lambda request, number, fail: event_frame(failed_response(request, number, fail.kind, fail.message), {}),
)
COMPLETIONS = Dialect(
    frames=_completions,
    whole=whole_completion,
    refusal=openai_error,
    failure=lambda request, number, fail: data_frame(openai_error(Refuse(200, fail.kind, fail.message))),
)
GEMINI = Dialect(
    frames=_contents,
    whole=whole_content,
    refusal=google_error,
    failure=lambda request, number, fail: data_frame(google_error(Refuse(500, fail.kind, fail.message))),
    read=as_messages,
)
DIALECTS = {"/v1/messages": MESSAGES, "/v1/responses": RESPONSES, "/v1/chat/completions": COMPLETIONS}


def dialect_of(path: str) -> Dialect | None:
    """Of a path without its query; Gemini's paths hold the name of the model."""
    return DIALECTS.get(path) or (GEMINI if GEMINI_PATH.fullmatch(path) else None)


def streams(path: str, request: Json) -> bool:
    """Whether the answer is wanted in parts."""
    return bool(request.get("stream"))
