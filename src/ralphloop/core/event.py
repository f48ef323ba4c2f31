"""What an agent's stream said: one closed union of frozen values, the same for every agent."""

from typing import Literal

from msgspec import Struct

Fault = Literal[
    "", "transient", "rate", "auth", "money"
]  # what no agent can help: its model's or its account's trouble


class Tokens(Struct, frozen=True):
    """Counted once a message, whatever the stream repeats."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    def __add__(self, other: "Tokens") -> "Tokens":
        return Tokens(
            self.input + other.input,
            self.output + other.output,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
        )

    @property
    def used(self) -> int:
        return self.input + self.output


class SessionStarted(Struct, frozen=True, tag="session"):
    session: str
    model: str = ""


class Said(Struct, frozen=True, tag="said"):
    """The agent's own words, one block."""

    text: str


class ToolCalled(Struct, frozen=True, tag="tool"):
    name: str
    about: str = ""


class ToolAnswered(Struct, frozen=True, tag="answer"):
    ok: bool
    about: str = ""
    name: str = ""  # the tool's, when the stream tells which call it answers


class Spent(Struct, frozen=True, tag="spent"):
    """Tokens so far in this session, as well as the stream tells before its end."""

    tokens: Tokens


class Retrying(Struct, frozen=True, tag="retrying"):
    """The agent itself meets trouble with its model and tries again."""

    attempt: int
    of: int
    seconds: float
    why: str
    fault: Fault = "transient"


class LimitMet(Struct, frozen=True, tag="limit"):
    """The account's usage limit; when the agent tells its end: `resets_at` in epoch seconds, or so many seconds on."""

    why: str
    resets_at: float | None = None
    resets_in: float | None = None


class Finished(Struct, frozen=True, tag="finished"):
    """The agent's last word. `error` is empty only when the turn really went well."""

    text: str
    error: str = ""
    tokens: Tokens | None = None
    cost: float | None = None
    turns: int | None = None
    fault: Fault = ""  # what kind of error, when it is none of the agent's own


class Unread(Struct, frozen=True, tag="unread"):
    """Output that is no event of this agent: how much, and a sample to show."""

    lines: int
    size: int
    sample: str = ""


Event = SessionStarted | Said | ToolCalled | ToolAnswered | Spent | Retrying | LimitMet | Finished | Unread
