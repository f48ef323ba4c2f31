"""One session of an agent: an Attempt is a fold of the events of its stream and of its end."""

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from ralphloop.core.claim import Claim, claim_of, without_echo
from ralphloop.core.event import (
    Event,
    Fault,
    Finished,
    LimitMet,
    Retrying,
    Said,
    SessionStarted,
    Spent,
    Tokens,
    ToolCalled,
    Unread,
)

LAST_WORDS = 8_000
MOST = 1e9  # dollars: what tells more is mistaken
End = Literal[
    "natural", "timeout", "silence", "flooded", "stopped", "lingered", "interrupted", "not_started", "overspent"
]
Kind = Literal[
    "done", "failed", "transient", "rate", "limit", "auth", "money", "timeout", "silence", "killed", "not_started"
]
HINDERED = ("transient", "rate", "auth", "money")  # trouble of the agent's model or account, and none of its own
NEUTRAL_ENDS = ("stopped", "interrupted")


class Attempt(Struct, frozen=True):
    """One session of an agent, from its start to nothing left of it."""

    end: End = "natural"
    exit_code: int | None = None
    signal: int | None = None
    seconds: float = 0
    size: int = 0
    session: str = ""
    model: str = ""
    last_words: str = ""
    finished: bool = False
    claim: Claim = Claim()
    error: str = ""
    limited: bool = False
    resets_at: float | None = None
    tokens: Tokens | None = None
    cost: float | None = None
    turns: int | None = None
    unread: int = 0
    leftovers: tuple[str, ...] = ()
    fault: Fault = ""
    hindrance: Fault = ""  # what the agent was waiting for when it was last heard of
    cost_estimated: bool = False
    tokens_estimated: bool = False

    @property
    def kind(self) -> Kind:
        """How it ended, in one word: the one classification that everything else rests on."""
        match self.end:
            case "not_started":
                return "not_started"
            case "timeout" | "silence":
                return self.hindrance or self.end
            case "stopped" | "interrupted" | "overspent":
                return "killed"
        if self.limited:
            return "limit"
        if self.fault and self.error:
            return self.fault
        if self.signal is not None:
            return "killed"
        return "failed" if self.failed else "done"

    @property
    def failed(self) -> bool:
        return bool(self.error) or self.end not in ("natural", "lingered") or self.exit_code not in (0, None)


def follow(attempt: Attempt, event: Event) -> Attempt:
    """The attempt after one more event of its stream."""
    match event:
        case SessionStarted():
            return replace(attempt, session=event.session, model=event.model)
        case Said():
            return replace(attempt, last_words=event.text[-LAST_WORDS:], hindrance="")
        case ToolCalled():  # whoever works on was not stopped by it
            going_on = bool(attempt.hindrance or attempt.limited)
            return replace(attempt, hindrance="", limited=False, resets_at=None) if going_on else attempt
        case Retrying():
            return replace(attempt, hindrance=event.fault)
        case Spent():
            return replace(attempt, tokens=event.tokens)
        case LimitMet():
            return replace(attempt, limited=True, resets_at=event.resets_at or attempt.resets_at)
        case Finished():
            return replace(
                attempt,
                finished=True,
                last_words=event.text[-LAST_WORDS:] or attempt.last_words,
                error=event.error,
                tokens=event.tokens or attempt.tokens,
                cost=event.cost if event.cost is not None and 0 <= event.cost < MOST else attempt.cost,
                turns=event.turns,
                fault=event.fault,
                hindrance="",
                limited=attempt.limited and bool(event.error),
            )
        case Unread():
            return replace(attempt, unread=attempt.unread + event.lines)
        case _:
            return attempt


def sealed(attempt: Attempt, promise: str, prompt: str = "") -> Attempt:
    """The attempt with its claim: only a final message that is no error can hold one, and no echo of the prompt."""
    if not attempt.finished or attempt.error:
        return attempt
    return replace(attempt, claim=claim_of(without_echo(attempt.last_words, prompt, promise), promise))
