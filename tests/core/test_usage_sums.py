"""Sums of uses: the same whichever way they are put together, and honest about what they leave out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralphloop.core.buckets import SLOT, Bucket, Portion, Summing, Sums, Who
from ralphloop.core.event import Tokens
from ralphloop.core.price import Price
from ralphloop.core.session_file import Use, larger, last
from ralphloop.core.usage import grouped, summed, total

PRICES = {"known": Price(1, 1, 1, 1)}
USES = st.lists(
    st.builds(
        Use,
        key=st.integers(0, 1 << 63),
        session=st.sampled_from(["s", "t"]),
        project=st.just("/p"),
        model=st.sampled_from(["known", "other"]),
        at=st.integers(0, 10 * SLOT).map(float),
        tokens=st.builds(Tokens, *[st.integers(0, 1 << 40)] * 4),
        written_1h=st.integers(0, 10),
        cost=st.none() | st.just(0.25),
    ),
    max_size=30,
)
ALL = (-(1 << 62), 1 << 62)


def made(uses: list[Use]) -> Sums:
    summing = Summing()
    for use in uses:
        summing.add(use)
    return summing.sums()


def portions(sums: Sums, first: int = ALL[0], end: int = ALL[1]) -> list[Portion]:
    return [Portion("a", who, bucket) for who, bucket in sums.buckets(first, end, None)]


def added(uses: list[Use]) -> Tokens:
    tokens = Tokens()
    for use in uses:
        tokens += use.tokens
    return tokens


@given(USES, st.integers(-1, 11), st.integers(-1, 11))
def test_the_buckets_of_some_slots_hold_what_was_used_in_them(uses: list[Use], first: int, end: int) -> None:
    inside = [use for use in uses if first <= use.at // SLOT < end]
    row = summed(grouped(portions(made(uses), first, end), lambda agent, who, slot: who.session))
    assert (row.tokens, row.answers) == (added(inside), len(inside))


@given(USES)
def test_a_bucket_never_holds_two_of_what_is_told_apart(uses: list[Use]) -> None:
    for _, bucket in made(uses).buckets(*ALL, lambda slot: str(slot // 3)):
        assert bucket.slot // 3 == bucket.last // 3


@given(USES, USES)
def test_what_is_added_can_be_taken_back(uses: list[Use], more: list[Use]) -> None:
    summing = Summing(made(uses))
    for use in more:
        summing.add(use)
    for use in more:
        summing.add(use, -1)
    same = summed(grouped(portions(summing.sums()), lambda agent, who, slot: ""))
    assert (same.tokens, same.answers) == (added(uses), len(uses))


def row_of(*uses: tuple[str, int, float | None]) -> object:
    found = [Use(at, "s", "/p", model, 0.0, Tokens(count), 0, cost) for at, (model, count, cost) in enumerate(uses)]
    (row,) = grouped(portions(made(found)), lambda agent, who, slot: "all", PRICES)
    return row.cost, row.estimated, row.unpriced, row.unpriced_models


@pytest.mark.parametrize(
    ("uses", "told"),
    [
        ([("known", 2_000_000, None)], (2.0, True, 0, ())),
        ([("other", 5, 0.5)], (0.5, False, 0, ())),
        ([("other", 5, 0.5), ("known", 1_000_000, None)], (1.5, True, 0, ())),
        ([("other", 5, None)], (None, False, 5, ("other",))),
        ([("other", 5, None), ("known", 1_000_000, None)], (1.0, True, 5, ("other",))),
        ([("", 7, None)], (None, False, 7, ())),
    ],
)
def test_what_is_not_known_is_no_zero(uses: list[tuple[str, int, float | None]], told: object) -> None:
    assert row_of(*uses) == told


def test_what_was_counted_twice_is_counted_out_again() -> None:
    who = Who("s", "/p", "known", False)
    one = [Portion("a", who, Bucket(1, 1, sign, sign * 10)) for sign in (1, 1, -1)]
    (row,) = grouped(one, lambda agent, who, slot: "x")
    assert (row.tokens, row.answers) == (Tokens(10), 1)
    assert grouped([one[0], one[2]], lambda agent, who, slot: "x") == []


def test_nothing_at_all() -> None:
    row = summed([])
    assert (row.tokens, row.cost, total(row.tokens)) == (Tokens(), None, 0)
    assert list(Sums().buckets(*ALL, None)) == []


def test_which_record_of_an_answer_holds() -> None:
    small, large, same = (
        Use(1, name, "", "", 0.0, Tokens(1, output)) for name, output in (("a", 1), ("b", 9), ("c", 9))
    )
    assert larger(small, large) is larger(large, small) is larger(large, same) is large
    assert last(large, small) is small
