"""Claude's stream-json as events: bytes cut anywhere in, values out, whatever the bytes are."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime

from ralphloop.agents import claude_limit, faults
from ralphloop.agents.claude_usage import Usage
from ralphloop.agents.json_stream import JsonStream
from ralphloop.agents.lines import ending, short
from ralphloop.agents.shapes import count, mapping, mappings, number, telling, text, words
from ralphloop.core.event import (
    Event,
    Fault,
    Finished,
    LimitMet,
    Retrying,
    Said,
    SessionStarted,
    Spent,
    ToolAnswered,
    ToolCalled,
)

NOISE = frozenset({
    "system", "rate_limit_event", "stream_event", "control_request", "control_response", "control_cancel_request",
    "keep_alive", "tool_progress", "tool_use_summary", "auth_status", "prompt_suggestion", "summary",
})  # fmt: skip
TOOL_CALLS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
ERRORS = {
    "error_max_turns": "the agent reached its maximum number of turns",
    "error_max_budget_usd": "the agent reached its maximum budget",
    "error_during_execution": "the agent was broken off while it worked",
}
FAULTS: dict[str, Fault] = {
    "rate_limit": "rate", "server_error": "transient", "billing_error": "money", "authentication_failed": "auth",
}  # fmt: skip
SYNTHETIC = "<synthetic>"
ERROR_LIMIT = 4000
CALLS_REMEMBERED = 256
ANSWER = b'{"type":"user"'  # what tools answered: never the agent's own word


class ClaudeStream:
    """A Parser."""

    def __init__(self, now: Callable[[], datetime] = datetime.now) -> None:
        self._stream = JsonStream(self.read, dull=ANSWER)
        self._now = now  # older versions tell when a limit ends by the clock on the wall
        self._usage = Usage()
        self._answer = ""
        self._calls: dict[str, str] = {}  # the tool of each call that was not answered yet
        self._limit: LimitMet | None = None
        self._fault: Fault = ""  # of the last message that was the CLI's and not its model's

    def written(self, at: float) -> None:
        self._now = lambda: datetime.fromtimestamp(at)

    def feed(self, data: bytes) -> Sequence[Event]:
        return self._stream.feed(data)

    def close(self) -> Sequence[Event]:
        return self._stream.close()

    def read(self, event: dict[str, object]) -> Iterable[Event] | None:
        """One object of the stream; None when it is none of claude's."""
        match event.get("type"):
            case "system":
                return self._system(event)
            case "assistant":
                return self._assistant(event)
            case "user":
                return self._user(event)
            case "result":
                return self._result(event)
            case "rate_limit_event":
                return self._limit_met(claude_limit.from_event(event))
            case str(kind) if kind in NOISE:
                return ()
            case _:
                return None

    def _system(self, event: dict[str, object]) -> Iterator[Event]:
        if event.get("subtype") == "init":
            yield SessionStarted(short(text(event.get("session_id"))), short(text(event.get("model"))))
        elif event.get("subtype") == "api_retry":
            reasons = (event.get("error_status"), event.get("error"))
            yield Retrying(
                count(event.get("attempt")),
                count(event.get("max_retries")),
                (number(event.get("retry_delay_ms")) or 0) / 1000,
                short(" ".join(str(reason) for reason in reasons if isinstance(reason, (str, int)))),
                FAULTS.get(text(event.get("error")))
                or faults.of_status(number(event.get("error_status")))
                or "transient",
            )

    def _assistant(self, event: dict[str, object]) -> Iterator[Event]:
        message = mapping(event.get("message"))
        content = message.get("content")
        if message.get("model") == SYNTHETIC:
            self._fault = FAULTS.get(text(event.get("error")), "")
        blocks = mappings([{"type": "text", "text": content}] if isinstance(content, str) else content)
        for block in blocks:
            if text(block.get("type")) in TOOL_CALLS:
                yield self._called(block)
            # what a subagent says is an answer to the agent, not the agent's word
            elif block.get("type") == "text" and not event.get("parent_tool_use_id"):
                yield from self._said(text(block.get("text")), synthetic=message.get("model") == SYNTHETIC)
        if self._usage.count(text(message.get("id"))[:200], message.get("usage")):
            yield Spent(self._usage.total)

    def _called(self, block: dict[str, object]) -> ToolCalled:
        name = short(text(block.get("name")))
        self._calls[text(block.get("id"))[:200]] = name
        if len(self._calls) > CALLS_REMEMBERED:
            del self._calls[next(iter(self._calls))]
        return ToolCalled(name, telling(mapping(block.get("input"))))

    def _said(self, said: str, *, synthetic: bool) -> Iterator[Event]:
        if not said.strip():
            return
        yield Said(ending(claude_limit.without_epoch(said) if synthetic else said))
        if synthetic:
            yield from self._limit_met(claude_limit.from_text(said, self._now()), in_words=True)
        else:
            self._answer = said[-ERROR_LIMIT:]

    def _user(self, event: dict[str, object]) -> Iterator[Event]:
        for block in mappings(mapping(event.get("message")).get("content")):
            if text(block.get("type")).endswith("tool_result"):
                name = self._calls.pop(text(block.get("tool_use_id"))[:200], "")
                yield ToolAnswered(block.get("is_error") is not True, short(words(block.get("content"))), name)

    def _result(self, event: dict[str, object]) -> Iterator[Event]:
        said = text(event.get("result"))
        error = _error(event)
        # an error that ends on the model's own answer tells nothing about the account
        ordinary = bool(said) and said[-ERROR_LIMIT:] == self._answer
        if error and not ordinary and text(event.get("subtype")) not in claude_limit.OWN_BUDGET:
            yield from self._limit_met(claude_limit.from_text(error, self._now()), in_words=True)
        cost, turns = number(event.get("total_cost_usd")), number(event.get("num_turns"))
        yield Finished(
            text=ending(claude_limit.without_epoch(said) if error else said),
            error=claude_limit.without_epoch(error),
            tokens=self._usage.final(event),
            cost=cost if cost is None or cost >= 0 else None,
            turns=int(turns) if turns is not None and turns >= 0 else None,
            fault=self._fault_of(event, error) if error and not ordinary else "",
        )

    def _fault_of(self, event: dict[str, object], error: str) -> Fault:
        if event.get("subtype") != "success":
            return ""
        return self._fault or faults.of_status(number(event.get("api_error_status"))) or faults.of_words(error)

    def _limit_met(self, limit: LimitMet | None, *, in_words: bool = False) -> Iterator[Event]:
        """Words are to the minute, and for versions that have no event for it."""
        if limit is None:
            return
        told = self._limit
        known = told is not None and told.resets_at is not None and in_words
        if told is None or (limit.resets_at not in (None, told.resets_at) and not known):
            self._limit = limit
            yield limit


def _error(event: dict[str, object]) -> str:
    """Why the turn did not go well. An error of the API comes with subtype success, so both are asked."""
    kind = text(event.get("subtype"))
    if event.get("is_error") is not True and not kind.startswith("error"):
        return ""
    errors = event.get("errors")
    listed = [item for item in errors if isinstance(item, str)] if isinstance(errors, list) else []
    told = "; ".join(part for part in (text(event.get("result")).strip(), *listed) if part)
    if kind in ERRORS:
        told = f"{ERRORS[kind]}: {told}" if told else ERRORS[kind]
    status, reason = event.get("api_error_status"), text(event.get("terminal_reason"))
    return ending(told[:ERROR_LIMIT]) or short(f"the agent ended with an error {status or reason or kind}".strip())
