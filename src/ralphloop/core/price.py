"""What a model's tokens cost, for agents that do not tell it: a dated table, and the names models go by."""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from ralphloop.core.event import Tokens

DATE = "2026-11-20"  # when the table was made; the newest models are as the table within ccusage 20.0.24 has them
MILLION = 1_000_000


class Price(Struct, frozen=True):
    """Dollars for a million tokens. What is written into a cache that lasts an hour may have a price of its own."""

    input: float
    output: float
    cache_read: float
    cache_write: float
    cache_write_1h: float | None = None


def _claude(input: float, output: float) -> Price:
    return Price(input, output, round(input * 0.1, 6), input * 1.25, input * 2)


def _other(input: float, output: float, cache_read: float) -> Price:
    """Makers that take nothing extra for writing into a cache."""
    return Price(input, output, cache_read, input)


TABLE: Mapping[str, Price] = {
    "claude-fable-5": _claude(10, 50),
    "claude-opus-5": _claude(5, 25),
    "claude-opus-4-8": _claude(5, 25),
    "claude-opus-4-7": _claude(5, 25),
    "claude-opus-4-6": _claude(5, 25),
    "claude-opus-4-5": _claude(5, 25),
    "claude-opus-4-1": _claude(15, 75),
    "claude-opus-4": _claude(15, 75),
    "claude-3-opus": _claude(15, 75),
    "claude-sonnet-5": _claude(2, 10),
    "claude-sonnet-4-6": _claude(3, 15),
    "claude-sonnet-4-5": _claude(3, 15),
    "claude-sonnet-4": _claude(3, 15),
    "claude-3-7-sonnet": _claude(3, 15),
    "claude-3-5-sonnet": _claude(3, 15),
    "claude-haiku-4-5": _claude(1, 5),
    "claude-3-5-haiku": _claude(0.8, 4),
    "claude-3-haiku": Price(0.25, 1.25, 0.03, 0.3, 0.5),
    "gpt-5.5": _other(5, 30, 0.5),
    "gpt-5.5-pro": _other(30, 180, 30),
    "gpt-5.4": _other(2.5, 15, 0.25),
    "gpt-5.4-mini": _other(0.75, 4.5, 0.075),
    "gpt-5.4-nano": _other(0.2, 1.25, 0.02),
    "gpt-5.4-pro": _other(30, 180, 30),
    "gpt-5.3-codex": _other(1.75, 14, 0.175),
    "gpt-5.2": _other(1.75, 14, 0.175),
    "gpt-5.2-codex": _other(1.75, 14, 0.175),
    "gpt-5.2-pro": _other(21, 168, 21),
    "gpt-5.1": _other(1.25, 10, 0.125),
    "gpt-5.1-codex": _other(1.25, 10, 0.125),
    "gpt-5.1-codex-max": _other(1.25, 10, 0.125),
    "gpt-5.1-codex-mini": _other(0.25, 2, 0.025),
    "gpt-5": _other(1.25, 10, 0.125),
    "gpt-5-codex": _other(1.25, 10, 0.125),
    "gpt-5-mini": _other(0.25, 2, 0.025),
    "gpt-5-nano": _other(0.05, 0.4, 0.005),
    "gpt-5-pro": _other(15, 120, 15),
    "gpt-4.1": _other(2, 8, 0.5),
    "gpt-4.1-mini": _other(0.4, 1.6, 0.1),
    "gpt-4.1-nano": _other(0.1, 0.4, 0.025),
    "gpt-4o": _other(2.5, 10, 1.25),
    "gpt-4o-mini": _other(0.15, 0.6, 0.075),
    "o3": _other(2, 8, 0.5),
    "o4-mini": _other(1.1, 4.4, 0.275),
    "gemini-3.5-flash": _other(1.5, 9, 0.15),
    "gemini-3.1-pro-preview": _other(2, 12, 0.2),
    "gemini-3.1-flash-lite-preview": _other(0.25, 1.5, 0.025),
    "gemini-3-pro-preview": _other(2, 12, 0.2),
    "gemini-3-flash-preview": _other(0.5, 3, 0.05),
    "gemini-2.5-pro": _other(1.25, 10, 0.125),
    "gemini-2.5-flash": _other(0.3, 2.5, 0.03),
    "gemini-2.5-flash-lite": _other(0.1, 0.4, 0.01),
    "qwen3-coder-plus": _other(1, 5, 0.1),
    "qwen3-coder-flash": _other(0.3, 1.5, 0.03),
    "qwen3-max": _other(1.2, 6, 0.12),
    "qwen3.6-plus": _other(0.5, 3, 0.05),
    "qwen3.5-plus": _other(0.4, 2.4, 0.04),
    "qwen-plus": _other(0.4, 1.2, 0.04),
}

PROVIDERS = ("anthropic.", "openai.", "google.", "qwen.")


def cost_of(model: str, tokens: Tokens, prices: Mapping[str, Price] = TABLE, *, written_1h: int = 0) -> float | None:
    """Dollars; None when the model's price is not known. `written_1h` is the part of `cache_write` kept an hour."""
    price = price_of(model, prices)
    if price is None:
        return None
    hour = price.cache_write if price.cache_write_1h is None else price.cache_write_1h
    kept = min(max(written_1h, 0), tokens.cache_write)
    return (
        tokens.input * price.input
        + tokens.output * price.output
        + tokens.cache_read * price.cache_read
        + (tokens.cache_write - kept) * price.cache_write
        + kept * hour
    ) / MILLION


def price_of(model: str, prices: Mapping[str, Price] = TABLE) -> Price | None:
    """The price of the name as it is, else of the nearest plainer one: no provider, no date, no revision."""
    return next((prices[name] for name in _names(model) if name in prices), None)


def _names(model: str) -> Iterator[str]:
    yield model
    name = model.lower().removesuffix("[1m]")  # claude's name for a larger window
    yield name
    name = name.rpartition("/")[2]
    for provider in PROVIDERS:  # also behind the name of a region
        name = name.rpartition(provider)[2]
    yield name
    plain, _, revision = name.rpartition("-v")
    name = plain if revision.replace(":", "").isdecimal() else name
    yield name
    name = _undated(name).removesuffix("-latest")
    yield name
    if name.startswith("claude"):
        yield name.replace(".", "-")


def _undated(name: str) -> str:
    """Without `-20251101`, `@20251101` or `-2025-11-01`."""
    for size in (8, 10):
        plain, date = name[: -size - 1], name[-size:]
        digits = date if size == 8 else date.replace("-", "", 2)
        if digits.isdecimal() and len(digits) == 8 and digits.startswith("20") and name[-size - 1 :][:1] in ("-", "@"):
            return plain
    return name
