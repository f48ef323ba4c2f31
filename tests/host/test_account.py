"""The ledger of an account: so many calls an hour, one wall for all, whoever asks and whatever the clock does."""

import json
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Literal

import pytest
from msgspec.structs import replace

from place import ROOT
from ralphloop.core.budget import Refusal
from ralphloop.core.policy import Bound
from ralphloop.host.account import DAY, Account, Held, Reservation

RESERVES = """
import sys
from pathlib import Path
from ralphloop.host.account import Account

account = Account(Path(sys.argv[1]))
print("up", flush=True)
sys.stdin.read()
print(sum(account.reserve(1000.0 + n / 100, 50).granted for n in range(60)))
"""


def yes(until: float, calls: int) -> Reservation:
    return Reservation(True, until=until, calls=calls, allowed=Bound())


def no(until: float, calls: int, why: Literal["rate", "limit"] = "rate") -> Reservation:
    return Reservation(False, why, until, calls)


# the limit; then each moment at which a call is asked for, and the answer
HOURS: list[tuple[int | None, list[tuple[float, Reservation]]]] = [
    (
        2,
        [
            (1000, yes(4600, 1)),
            (1001, yes(4600, 2)),
            (1002, no(4600, 2)),
            (4599.9, no(4600, 2)),
            (4600, yes(8200, 1)),
            (4601, yes(8200, 2)),
            (4602, no(8200, 2)),
        ],
    ),
    (1, [(1000, yes(4600, 1)), (99_000, yes(102_600, 1)), (99_001, no(102_600, 1))]),
    (None, [(1000, yes(4600, 1)), (1000, yes(4600, 2)), (1000, yes(4600, 3))]),
    # the clock is set back: the hour is counted anew, the calls are not forgotten
    (3, [(5000, yes(8600, 1)), (5001, yes(8600, 2)), (1000, yes(4600, 3)), (1001, no(4600, 3)), (4600, yes(8200, 1))]),
    (1, [(5000, yes(8600, 1)), (1000, no(4600, 1)), (4600, yes(8200, 1))]),
]


@pytest.mark.parametrize(("limit", "asked"), HOURS)
def test_calls_of_an_hour(tmp_path: Path, limit: int | None, asked: list[tuple[float, Reservation]]) -> None:
    """Each by an Account of its own, as another loop would ask."""
    for now, answer in asked:
        assert Account(tmp_path / "one").reserve(now, limit) == answer, now
    assert Account(tmp_path / "other").reserve(1000, 1).granted


def test_a_lower_limit_holds_at_once(tmp_path: Path) -> None:
    account = Account(tmp_path)
    assert [account.reserve(1000 + n, 9).calls for n in range(3)] == [1, 2, 3]
    assert account.reserve(1003, 3) == no(4600, 3)
    assert account.reserve(1003, 4) == yes(4600, 4)


def test_the_wall_that_one_met_stands_before_all(tmp_path: Path) -> None:
    Account(tmp_path).reserve(1000, 9)
    Account(tmp_path).meet_wall(2000)
    assert Account(tmp_path).reserve(1001, 9) == no(2000, 1, "limit")
    assert Account(tmp_path).reserve(1999.9, None) == no(2000, 1, "limit")
    Account(tmp_path).meet_wall(1500)
    assert Account(tmp_path).reserve(1600, 9) == no(2000, 1, "limit")
    assert Account(tmp_path).reserve(2000, 9) == yes(4600, 2)
    assert Account(tmp_path).reserve(2001, 9) == yes(4600, 3)


def test_a_wall_longer_than_there_can_be_is_none(tmp_path: Path) -> None:
    """As after a clock that was a year ahead."""
    Account(tmp_path).meet_wall(1000 + 365 * 24 * 3600)
    assert Account(tmp_path).reserve(1000, 9).granted


BROKEN = [b"", b"{", b"\x00" * 40, b"\xff\xfe", b"[]", b"null", b'{"calls": 1']
WRONG = [b'{"calls": "many"}', b'{"calls": 1e999}', b'{"started_at": NaN}', b'{"wall_until": 1e999}']


@pytest.mark.parametrize("content", BROKEN + WRONG)
def test_a_damaged_ledger_is_begun_anew(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "ledger.json").write_bytes(content)
    first = Account(tmp_path).reserve(1000, 2)
    assert replace(first, note="") == yes(4600, 1)
    aside = tmp_path / "ledger-damaged.json"
    assert aside.exists() == bool(content) == (str(aside) in first.note)
    assert json.loads((tmp_path / "ledger.json").read_bytes())["calls"] == 1
    assert Account(tmp_path).reserve(1001, 2) == yes(4600, 2)
    assert Account(tmp_path).reserve(1002, 2) == no(4600, 2)
    (tmp_path / "ledger.json").write_bytes(content)
    Account(tmp_path).meet_wall(2000)
    assert Account(tmp_path).reserve(1000, 2).until == 2000


def test_processes_that_ask_at_once_never_get_more_than_there_is(tmp_path: Path) -> None:
    pipe = subprocess.PIPE
    argv = [sys.executable, "-P", "-c", RESERVES, str(tmp_path)]
    env = {"PYTHONPATH": str(ROOT / "src")}
    asking = [subprocess.Popen(argv, env=env, stdin=pipe, stdout=pipe, text=True) for _ in range(2)]
    for one in asking:
        assert one.stdout and one.stdout.readline() == "up\n"
    for one in asking:
        assert one.stdin
        one.stdin.close()
    got = [int(one.stdout.read()) for one in asking if one.stdout]
    assert [one.wait(20) for one in asking] == [0, 0]
    assert sum(got) == 50
    assert Account(tmp_path).reserve(1001, 50) == no(4600, 50)


def within(limit: float) -> Callable[[Bound], Bound | Refusal]:
    """A day of so many dollars, of which an attempt may take two."""

    def afford(today: Bound) -> Bound | Refusal:
        left = limit - (today.cost or 0)
        return Bound(cost=min(left, 2.0)) if left > 0 else Refusal("day", f"{today.cost} of {limit}")

    return afford


def take(folder: Path, attempt: str, now: float, limit: float = 5.0) -> Bound | None:
    got = Account(folder).reserve(now, None, held=Held(attempt, 60), afford=within(limit))
    return got.allowed


NOON = 1_000_000_000.0


def test_what_others_have_reserved_is_not_there_any_more(tmp_path: Path) -> None:
    assert take(tmp_path, "a.1", NOON) == Bound(cost=2.0)
    assert take(tmp_path, "b.1", NOON) == Bound(cost=2.0)
    assert take(tmp_path, "c.1", NOON) == Bound(cost=1.0)
    asked = Held("d.1", 60)
    assert Account(tmp_path).reserve(NOON, None, held=asked, afford=within(5.0)).why == "held"
    for attempt, cost in (("a.1", 2.0), ("b.1", 2.0), ("c.1", 1.0)):
        Account(tmp_path).settle(attempt, Bound(cost, 0, 0), NOON + 1)
    refused = Account(tmp_path).reserve(NOON, None, held=asked, afford=within(5.0))
    assert refused == Reservation(False, calls=3, refusal=Refusal("day", "5.0 of 5.0"))


def test_what_was_not_spent_is_there_again(tmp_path: Path) -> None:
    take(tmp_path, "a.1", NOON)
    Account(tmp_path).settle("a.1", Bound(0.5, 10, 3), NOON + 1)
    assert take(tmp_path, "a.2", NOON + 2, limit=2.0) == Bound(cost=1.5)


def test_an_attempt_is_reserved_for_and_settled_once(tmp_path: Path) -> None:
    """As when a runner dies before it can write down that it did."""
    take(tmp_path, "a.1", NOON)
    assert take(tmp_path, "a.1", NOON + 1) == Bound(cost=2.0)
    for _ in range(2):
        Account(tmp_path).settle("a.1", Bound(1.0, 10, 3), NOON + 2)
    ledger = json.loads((tmp_path / "ledger.json").read_bytes())
    assert (ledger["spent"], ledger["open"]) == ({"cost": 1.0, "tokens": 10, "seconds": 3.0}, {})


def test_a_new_day_begins_with_nothing_but_what_is_going_on(tmp_path: Path) -> None:
    midnight = datetime.fromtimestamp(NOON).replace(hour=0, minute=0, second=0).timestamp() + DAY
    take(tmp_path, "a.1", midnight - 5000)
    Account(tmp_path).settle("a.1", Bound(1.0, 0, 0), midnight - 4000)
    take(tmp_path, "given-up.1", midnight - 3000)
    take(tmp_path, "at-work.1", midnight - 30)
    assert take(tmp_path, "b.1", midnight + 10) == Bound(cost=2.0)
    ledger = json.loads((tmp_path / "ledger.json").read_bytes())
    assert list(ledger["open"]) == ["at-work.1", "b.1"]
    assert ledger["spent"]["cost"] == 0
    Account(tmp_path).settle("given-up.1", Bound(1.0, 0, 0), midnight + 20)  # taken up after all
    assert json.loads((tmp_path / "ledger.json").read_bytes())["spent"]["cost"] == 1.0


def test_loops_that_disagree_on_the_day_do_not_forget_what_it_cost(tmp_path: Path) -> None:
    """As with another zone, or a clock that was ahead for a moment."""
    for n, at in enumerate((NOON, NOON + DAY, NOON, NOON + DAY, NOON)):
        take(tmp_path, f"a.{n}", at, limit=50)
        Account(tmp_path).settle(f"a.{n}", Bound(1.0, 0, 0), at + 1)
    assert json.loads((tmp_path / "ledger.json").read_bytes())["spent"]["cost"] == 4.0
    take(tmp_path, "b.1", NOON - 9 * DAY, limit=50)
    assert json.loads((tmp_path / "ledger.json").read_bytes())["spent"]["cost"] == 4.0


def test_the_margin_behind_a_wall_belongs_to_whoever_asks(tmp_path: Path) -> None:
    Account(tmp_path).meet_wall(2000)
    assert Account(tmp_path).reserve(2100, None, margin=300) == no(2000, 0, "limit")
    assert Account(tmp_path).reserve(2100, None, margin=60).granted
