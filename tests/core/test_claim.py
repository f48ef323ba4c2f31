"""What counts as a claim, and when two errors are the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralphloop.core.attempt import Attempt, follow, sealed
from ralphloop.core.claim import claim_of, error_in, normalised
from ralphloop.core.event import Finished, LimitMet, Said

PROMISE = "<promise>COMPLETE</promise>"
CLAIMS = [
    ("All is done. " + PROMISE, "complete"),
    (PROMISE, "complete"),
    (f"**{PROMISE}**", "complete"),
    ("STORY: <promise>STORY_COMPLETE</promise>", "story"),
    (f"{PROMISE} <promise>STORY_COMPLETE</promise>", "complete"),
    (f"{PROMISE}\n<promise>FAILED: no key</promise>", "failed"),
    ("<promise>FAILED</promise>", "failed"),
    (f"I must not write `{PROMISE}` yet.", "none"),
    (f"```\n{PROMISE}\n```", "none"),
    (f"~~~text\n{PROMISE}\n~~~\nnot yet", "none"),
    (f"````\n```\n{PROMISE}\n```\n````", "none"),
    (f"```\nnever closed\n{PROMISE}", "none"),
    (f"> {PROMISE}", "none"),
    (f'The prompt says "{PROMISE}", but a story is open.', "none"),
    (f"<!-- {PROMISE} -->", "none"),
    ("<promise>complete</promise>", "none"),
    ("COMPLETE", "none"),
    ("", "none"),
    (f"```\ncode\n```\n{PROMISE}", "complete"),
]


@pytest.mark.parametrize(("words", "kind"), CLAIMS)
def test_a_claim_counts_in_the_agents_own_name_only(words: str, kind: str) -> None:
    assert claim_of(words, PROMISE).kind == kind


def test_a_promise_of_ones_own() -> None:
    assert claim_of("ALL GREEN", "ALL GREEN").kind == "complete"
    assert claim_of(PROMISE, "ALL GREEN").kind == "none"


def test_the_reason_of_a_failure() -> None:
    assert claim_of("<promise>FAILED: the\n  API is down</promise>", PROMISE).reason == "the API is down"


@given(st.text(max_size=300), st.sampled_from((PROMISE, "x", "")))
def test_no_words_break_the_reading(words: str, promise: str) -> None:
    assert claim_of(words, promise).kind in ("none", "complete", "story", "failed")


def test_only_a_final_message_that_is_no_error_claims() -> None:
    said = follow(Attempt(), Said(PROMISE))
    assert sealed(said, PROMISE).claim.kind == "none"
    assert sealed(follow(said, Finished(PROMISE)), PROMISE).claim.kind == "complete"
    assert sealed(follow(said, Finished(PROMISE, error="cut off")), PROMISE).claim.kind == "none"


def test_a_limit_that_was_overcome_is_no_limit() -> None:
    met = follow(Attempt(), LimitMet("5-hour limit", 99.0))
    assert met.limited
    assert not follow(met, Finished("all well")).limited
    assert follow(met, Finished("", error="limit")).limited


ERRORS = [
    ("fine\nTypeError: x is not a function\nmore", "TypeError: x is not a function"),
    ("error[E0382]: use of moved value", "error[E0382]: use of moved value"),
    ("FAIL: test_one", "FAIL: test_one"),
    ("3 tests failed", "3 tests failed"),
    ("java.lang.IllegalStateException: no", "java.lang.IllegalStateException: no"),
    ("make: *** exit status 2", "make: *** exit status 2"),
    ("fatal: not a git repository", "fatal: not a git repository"),
    ("all is well\nno trouble at all", ""),
    ("", ""),
]


@pytest.mark.parametrize(("output", "error"), ERRORS)
def test_the_error_of_an_output(output: str, error: str) -> None:
    assert error_in(output) == error


SAME = [
    ("Error at 2026-01-02T03:04:05Z: boom", "Error at 2026-11-30T23:59:59Z: boom"),
    ("/a/b.py:10: TypeError", "/other/place/c.py:99: TypeError"),
    ("took 3.2s, then boom", "took 14s,  then  BOOM"),
    ("object at 0x7f01", "object at 0xdeadbeef"),
    ("commit 1a2b3c4 is bad", "commit 9f8e7d6 is bad"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_the_same_error_twice(one: str, other: str) -> None:
    assert normalised(one) == normalised(other) != ""


def test_two_different_errors() -> None:
    assert normalised("TypeError: a") != normalised("ValueError: a")
