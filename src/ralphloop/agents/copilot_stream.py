"""Copilot's JSON lines as events: most of its many types are for a terminal and say nothing to a loop."""

import re
from collections.abc import Iterable, Iterator, Sequence

from ralphloop.agents import faults
from ralphloop.agents.json_stream import JsonStream
from ralphloop.agents.lines import ending, short
from ralphloop.agents.shapes import count, mapping, number, telling, text
from ralphloop.core.event import (
    Event,
    Fault,
    Finished,
    LimitMet,
    Retrying,
    Said,
    SessionStarted,
    ToolAnswered,
    ToolCalled,
)

ERROR_LIMIT = 4000
PASSING = ("; retried ", "No response was returned")  # it tries again only what may pass
TALK = (
    "session.", "assistant.", "user.", "system.", "model.", "tool.", "agent.", "subagent.", "hook.", "skill.",
    "permission.",
)  # fmt: skip
KINDS: dict[str, Fault] = {"authentication": "auth", "authorization": "auth", "quota": "money", "rate_limit": "rate"}
_LIMIT = re.compile(r"\busage limit\b|\b(?:hit|reached|exceeded) your (?:\w+ )?(?:rate )?limit\b", re.IGNORECASE)


class CopilotStream:
    """A Parser. It tells its errors beside its end; how it ended stands in its last line as an exit code."""

    def __init__(self) -> None:
        self._stream = JsonStream(self._read, self._end, dull=b'{"type":"tool.execution_partial_result"')
        self._model = ""
        self._answer = ""
        self._calls: dict[str, str] = {}
        self._failure: dict[str, object] = {}  # of the last call of the model
        self._error: dict[str, object] = {}

    def feed(self, data: bytes) -> Sequence[Event]:
        return self._stream.feed(data)

    def close(self) -> Sequence[Event]:
        return self._stream.close()

    def _read(self, event: dict[str, object]) -> Iterable[Event] | None:
        data, kind = mapping(event.get("data")), text(event.get("type"))
        match kind:
            case "session.tools_updated":
                return self._began(data)
            case "assistant.message":
                return self._said(data)
            case "tool.execution_start":
                return self._called(data)
            case "tool.execution_complete":
                return self._answered(data)
            case "model.call_failure" | "model.call_finished":
                return self._asked(kind, data)
            case "assistant.turn_retry":
                return self._retrying()
            case "session.error":
                return self._failed(data)
            case "abort":
                self._error = {
                    "message": f"the agent was broken off ({short(text(data.get('reason'))) or 'no reason'})"
                }
                return ()
            case "result":
                return self._finished(event)
            case _:
                return () if kind.startswith(TALK) else None

    def _began(self, data: dict[str, object]) -> Iterator[Event]:
        """The session's name comes with its end only."""
        model = short(text(data.get("model")))
        if model and model != self._model:
            self._model = model
            yield SessionStarted("", model)

    def _said(self, data: dict[str, object]) -> Iterator[Event]:
        # what a subagent says is an answer to the agent, not the agent's word
        if (said := text(data.get("content")).strip()) and not data.get("parentToolCallId"):
            self._answer = ending(said)
            yield Said(self._answer)

    def _called(self, data: dict[str, object]) -> Iterator[Event]:
        name = short(text(data.get("toolName")))
        self._calls[text(data.get("toolCallId"))[:200]] = name
        yield ToolCalled(name, telling(mapping(data.get("arguments"))))

    def _answered(self, data: dict[str, object]) -> Iterator[Event]:
        error, result = mapping(data.get("error")), mapping(data.get("result"))
        code = number(mapping(data.get("shellExecution")).get("exitCode"))
        about = text(result.get("content")) or text(error.get("message"))
        name = self._calls.pop(text(data.get("toolCallId"))[:200], "")
        yield ToolAnswered(data.get("success") is True and not code, short(about), name)

    def _asked(self, kind: str, data: dict[str, object]) -> tuple[()]:
        if kind == "model.call_failure":
            self._failure = data
        elif data.get("outcome") == "success":
            self._failure = {}
        return ()

    def _retrying(self) -> Iterator[Event]:
        status = number(self._failure.get("statusCode"))
        why = " ".join(filter(None, (str(int(status)) if status else "", text(self._failure.get("errorType")))))
        told = why or text(self._failure.get("errorMessage")) or text(self._failure.get("failureKind"))
        yield Retrying(count(self._failure.get("retryAttempt")) + 1, 0, 0.0, short(told))

    def _failed(self, data: dict[str, object]) -> Iterator[Event]:
        self._error = data
        if _LIMIT.search(message := text(data.get("message"))[:ERROR_LIMIT]):
            yield LimitMet(short(message))

    def _finished(self, event: dict[str, object]) -> Iterator[Event]:
        code = number(event.get("exitCode"))
        error = ending(text(self._error.get("message"))[:ERROR_LIMIT])
        if not error and (self._error or code):
            error = f"copilot ended with exit code {int(code or 0)} and does not tell why"
        fault = self._fault() if error else ""
        self._error = {}
        yield SessionStarted(short(text(event.get("sessionId"))), self._model)
        yield Finished(self._answer, error, fault=fault)

    def _end(self) -> Iterable[Event]:
        """Errors that no last line followed."""
        message = ending(text(self._error.get("message"))[:ERROR_LIMIT])
        return (Finished(self._answer, message, fault=self._fault()),) if message else ()

    def _fault(self) -> Fault:
        message = text(self._error.get("message"))[:ERROR_LIMIT]
        if _LIMIT.search(message):
            return "rate"
        kind = KINDS.get(text(self._error.get("errorType")), "")
        known = kind or faults.of_status(_status(self._error, self._failure))
        apis = faults.of_words(text(self._failure.get("errorMessage")))
        # a quota that is used up is answered with the status of a rate limit
        if known == "rate" and apis == "money":
            return "money"
        passing = any(words in message for words in PASSING)
        return known or faults.of_words(message) or apis or ("transient" if passing else "")


def _status(*told: dict[str, object]) -> float | None:
    return next((status for each in told if (status := number(each.get("statusCode")))), None)
