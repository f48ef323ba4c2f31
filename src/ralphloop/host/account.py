"""What loops of this machine share of an account: its calls an hour, the usage limit somebody met, the day's money."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace as changed

from ralphloop.core.budget import NOTHING, Refusal, plus
from ralphloop.core.lineup import LONGEST_LIMIT
from ralphloop.core.policy import Bound
from ralphloop.host.files import Lock, read, replace

HOUR = 3600.0
DAY = 24 * HOUR
SLACK = 600.0  # seconds that may pass between the end of an attempt and its settlement
SETTLED = 100
HELD = 20.0  # seconds between two looks whether other loops have settled
ASIDE = "ledger-damaged.json"
DAMAGED = "what this hour and this day had spent is lost: the ledger was damaged, and is {folder}/" + ASIDE


class Open(Struct, frozen=True):
    """An attempt that is going on, and what is reserved for it."""

    at: float
    most: Bound


class Ledger(Struct, frozen=True):
    """The hour begins with its first call, the day at midnight."""

    started_at: float = 0
    calls: int = 0
    wall_until: float = 0
    day: str = ""
    spent: Bound = NOTHING
    open: dict[str, Open] = {}
    settled: tuple[str, ...] = ()  # the last attempts that were: none counts twice
    damaged: bool = False  # it could not be read, and has begun anew

    @property
    def today(self) -> Bound:
        """What is spent, and what may be by those who are at work."""
        total = self.spent
        for one in self.open.values():
            total = plus(total, one.most)
        return total


class Held(Struct, frozen=True):
    """For what attempt something is reserved, and how long it may take."""

    id: str = ""
    seconds: float = 0


NOBODY = Held()


class Reservation(Struct, frozen=True):
    granted: bool
    why: Literal["", "rate", "limit", "held"] = ""  # when it is not
    until: float = 0
    calls: int = 0
    allowed: Bound | None = None
    refusal: Refusal | None = None
    note: str = ""  # what had to be set right


def boundless(today: Bound) -> Bound | Refusal:
    """For whoever has no budget."""
    return Bound()


class Account(Struct, frozen=True):
    folder: Path

    def reserve(
        self,
        now: float,
        per_hour: int | None,
        *,
        margin: float = 0,
        held: Held = NOBODY,
        afford: Callable[[Bound], Bound | Refusal] = boundless,
    ) -> Reservation:
        """Take one call and what it may cost, counted before it is spent; or say when there will be one."""
        with self._locked():
            ledger = self._current(now)
            note = DAMAGED.format(folder=self.folder) if ledger.damaged else ""
            if ledger.wall_until and now < ledger.wall_until + margin:
                return Reservation(False, "limit", ledger.wall_until, ledger.calls)
            # asked for again by a runner that could not write down the first answer: the call is counted already
            calls = ledger.calls + (held.id not in ledger.open)
            if per_hour is not None and calls > per_hour:
                self._write(ledger)  # an hour that was begun anew must have its end
                return Reservation(False, "rate", ledger.started_at + HOUR, ledger.calls)
            others = {name: one for name, one in ledger.open.items() if name != held.id}
            allowed = afford(changed(ledger, open=others).today)
            if isinstance(allowed, Refusal) and others and not isinstance(afford(ledger.spent), Refusal):
                return Reservation(False, "held", now + HELD, ledger.calls, note=note)
            if isinstance(allowed, Refusal):
                return Reservation(False, calls=ledger.calls, refusal=allowed, note=note)
            most = changed(allowed, seconds=min(allowed.seconds or held.seconds, held.seconds))
            started_at = ledger.started_at or now
            self._write(
                changed(
                    ledger,
                    started_at=started_at,
                    calls=calls,
                    wall_until=0,
                    damaged=False,
                    open=others | ({held.id: Open(now, most)} if held.id else {}),
                )
            )
            return Reservation(True, "", started_at + HOUR, calls, allowed, note=note)

    def settle(self, attempt: str, came_to: Bound, now: float) -> None:
        """What it really was takes the place of what was reserved. Lost in a power cut, the reservation stands."""
        with self._locked():
            ledger = self._current(now)
            if attempt not in ledger.settled:
                others = {name: one for name, one in ledger.open.items() if name != attempt}
                settled = (*ledger.settled, attempt)[-SETTLED:]
                spent = plus(ledger.spent, came_to)
                self._write(changed(ledger, spent=spent, open=others, settled=settled), durable=False)

    def meet_wall(self, until: float) -> None:
        with self._locked():
            ledger = self._read()
            self._write(changed(ledger, wall_until=max(until, ledger.wall_until)))

    def _current(self, now: float) -> Ledger:
        ledger = self._of_today(self._read(), now)
        wall = ledger.wall_until if ledger.wall_until - now < LONGEST_LIMIT else 0
        if ledger.started_at > now:  # the clock was set back: the hour is counted anew, its calls are not forgotten
            return changed(ledger, started_at=now, calls=max(0, ledger.calls), wall_until=wall)
        if now - ledger.started_at >= HOUR:
            return changed(ledger, started_at=0, calls=0, wall_until=wall)
        return changed(ledger, calls=max(0, ledger.calls), wall_until=wall)

    def _of_today(self, ledger: Ledger, now: float) -> Ledger:
        """A day that is over is forgotten; one that has not come yet, as another loop's clock may have it, is not."""
        day, tomorrow = (time.strftime("%Y-%m-%d", time.localtime(at)) for at in (now, now + DAY))
        if day <= ledger.day <= tomorrow:
            return ledger
        if ledger.day > tomorrow:  # a clock was ahead
            return changed(ledger, day=day)
        at_work = {name: one for name, one in ledger.open.items() if now < one.at + (one.most.seconds or 0) + SLACK}
        return changed(ledger, day=day, spent=NOTHING, open=at_work)

    def _read(self) -> Ledger:
        path = self.folder / "ledger.json"
        content = read(path, 1 << 20)
        try:
            return msgspec.json.decode(content or b"{}", type=Ledger)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            path.replace(self.folder / ASIDE)
            return Ledger(damaged=True)

    def _write(self, ledger: Ledger, *, durable: bool = True) -> None:
        replace(self.folder / "ledger.json", msgspec.json.encode(ledger), durable=durable)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        lock = Lock(self.folder / "lock")
        try:
            lock.wait()
            yield
        finally:
            lock.close()
