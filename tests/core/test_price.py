"""What tokens cost: by which names a price is found, and what is not known."""

import pytest

from ralphloop.core.event import Tokens
from ralphloop.core.price import TABLE, Price, cost_of, price_of

MILLION = Tokens(1_000_000)


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("claude-opus-4-5", "claude-opus-4-5"),
        ("claude-opus-4-5-20251101", "claude-opus-4-5"),
        ("claude-opus-4-6[1m]", "claude-opus-4-6"),
        ("claude-3-5-sonnet-latest", "claude-3-5-sonnet"),
        ("anthropic/claude-sonnet-4.5", "claude-sonnet-4-5"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5"),
        ("anthropic.claude-opus-4-1-20250805-v1:0", "claude-opus-4-1"),
        ("claude-sonnet-4-5@20250929", "claude-sonnet-4-5"),
        ("openrouter/openai/gpt-5", "gpt-5"),
        ("gpt-5-2025-08-07", "gpt-5"),
        ("GPT-5.1-Codex", "gpt-5.1-codex"),
        ("models/gemini-2.5-pro", "gemini-2.5-pro"),
        ("qwen/qwen3-coder-plus", "qwen3-coder-plus"),
    ],
)
def test_the_names_a_model_goes_by(model: str, name: str) -> None:
    assert price_of(model) == TABLE[name]


@pytest.mark.parametrize(
    "model", ["", "/", "<synthetic>", "gpt", "gpt-5-chat", "claude", "qwen/qwen3-coder-plus:free", "x" * 10_000]
)
def test_an_unknown_model_has_no_price_rather_than_none_to_pay(model: str) -> None:
    assert price_of(model) is None
    assert cost_of(model, Tokens()) is None


def test_each_kind_of_token_has_its_price() -> None:
    price = {"m": Price(1, 10, 100, 1000, 5000)}
    assert cost_of("m", Tokens(1_000_000, 2_000_000, 3_000_000, 4_000_000), price) == 1 + 20 + 300 + 4000
    assert cost_of("m", Tokens(0, 0, 0, 4_000_000), price, written_1h=1_000_000) == 3000 + 5000
    assert cost_of("m", Tokens(0, 0, 0, 1_000_000), price, written_1h=9_000_000) == 5000
    assert cost_of("m", Tokens(0, 0, 0, 1_000_000), {"m": Price(1, 1, 1, 7)}, written_1h=1_000_000) == 7


def test_a_price_of_one_s_own_holds_for_the_exact_name_first() -> None:
    own = {**TABLE, "anthropic/claude-opus-4-5": Price(1, 1, 1, 1), "claude-opus-4-5-20251101": Price(2, 2, 2, 2)}
    assert cost_of("anthropic/claude-opus-4-5", MILLION, own) == 1
    assert cost_of("claude-opus-4-5-20251101", MILLION, own) == 2
    assert cost_of("claude-opus-4-5", MILLION, own) == 5


def test_no_price_of_the_table_is_out_of_proportion() -> None:
    for name, price in TABLE.items():
        assert 0 < price.cache_read <= price.input < price.output <= 500, name
        assert price.cache_write >= price.input, name
