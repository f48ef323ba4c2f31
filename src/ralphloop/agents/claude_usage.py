"""What a claude session has used, each message counted once however often its lines repeat."""

from ralphloop.agents.shapes import count, mapping
from ralphloop.core.event import Tokens

MESSAGES_REMEMBERED = 4096
NOTHING = Tokens()


class Usage:
    """A running estimate: lines of one message repeat its id, with the usage known at that time."""

    def __init__(self) -> None:
        self.total = NOTHING
        self._messages: dict[str, Tokens] = {}

    def count(self, message_id: str, usage: object) -> bool:
        """Take in one line's usage; true when the total is another one now."""
        if not message_id:
            return False
        before = self._messages.pop(message_id, NOTHING)
        now = _most(before, from_usage(usage))
        self._messages[message_id] = now
        if len(self._messages) > MESSAGES_REMEMBERED:
            del self._messages[next(iter(self._messages))]
        self.total = Tokens(
            self.total.input + now.input - before.input,
            self.total.output + now.output - before.output,
            self.total.cache_read + now.cache_read - before.cache_read,
            self.total.cache_write + now.cache_write - before.cache_write,
        )
        return now != before

    def final(self, result: dict[str, object]) -> Tokens | None:
        """The result's own numbers; None when it has none and the estimate is the best there is."""
        by_model = from_models(result.get("modelUsage"))
        if by_model != NOTHING:
            return by_model
        plain = from_usage(result.get("usage"))
        if plain != NOTHING:
            return plain
        told = "input_tokens" in mapping(result.get("usage"))
        return NOTHING if told and self.total == NOTHING else None


def from_usage(usage: object) -> Tokens:
    """The API's names."""
    told = mapping(usage)
    return Tokens(
        count(told.get("input_tokens")),
        count(told.get("output_tokens")),
        count(told.get("cache_read_input_tokens")),
        count(told.get("cache_creation_input_tokens")),
    )


def from_models(models: object) -> Tokens:
    """The sum over every model the session used."""
    total = NOTHING
    for used in mapping(models).values():
        told = mapping(used)
        total += Tokens(
            count(told.get("inputTokens")),
            count(told.get("outputTokens")),
            count(told.get("cacheReadInputTokens")),
            count(told.get("cacheCreationInputTokens")),
        )
    return total


def _most(one: Tokens, other: Tokens) -> Tokens:
    return Tokens(
        max(one.input, other.input),
        max(one.output, other.output),
        max(one.cache_read, other.cache_read),
        max(one.cache_write, other.cache_write),
    )
