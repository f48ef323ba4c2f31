"""Calls of an account in this hour and the usage limit somebody met: shared by every loop on this machine."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

from ralphloop.host.files import Lock, read, replace

HOUR = 3600.0


class Ledger(Struct, frozen=True):
    """The hour begins with its first call."""

    started_at: float = 0
    calls: int = 0
    wall_until: float = 0


class Reservation(Struct, frozen=True):
    granted: bool
    why: str = ""  # "rate" or "limit" when it is not
    until: float = 0
    calls: int = 0


class Account(Struct, frozen=True):
    folder: Path

    def reserve(self, now: float, per_hour: int | None) -> Reservation:
        """Take one call, counted before it is spent; or say when there will be one."""
        with self._locked():
            ledger = self._current(now)
            if now < ledger.wall_until:
                return Reservation(False, "limit", ledger.wall_until, ledger.calls)
            if per_hour is not None and ledger.calls >= per_hour:
                self._write(ledger)  # an hour that was begun anew must have its end
                return Reservation(False, "rate", ledger.started_at + HOUR, ledger.calls)
            started_at = ledger.started_at or now
            self._write(Ledger(started_at, ledger.calls + 1))
            return Reservation(True, until=started_at + HOUR, calls=ledger.calls + 1)

    def meet_wall(self, until: float) -> None:
        with self._locked():
            ledger = self._read()
            self._write(Ledger(ledger.started_at, ledger.calls, max(until, ledger.wall_until)))

    def _current(self, now: float) -> Ledger:
        ledger = self._read()
        wall = ledger.wall_until if ledger.wall_until - now < 8 * 24 * HOUR else 0  # a week is the longest there is
        if ledger.started_at > now:  # the clock was set back: the hour is counted anew, its calls are not forgotten
            return Ledger(now, max(0, ledger.calls), wall)
        if now - ledger.started_at >= HOUR:
            return Ledger(wall_until=wall)
        return Ledger(ledger.started_at, max(0, ledger.calls), wall)

    def _read(self) -> Ledger:
        content = read(self.folder / "ledger.json", 65536)
        try:
            return msgspec.json.decode(content or b"{}", type=Ledger)
        except msgspec.DecodeError:
            return Ledger()

    def _write(self, ledger: Ledger) -> None:
        replace(self.folder / "ledger.json", msgspec.json.encode(ledger))

    @contextmanager
    def _locked(self) -> Iterator[None]:
        lock = Lock(self.folder / "lock")
        try:
            lock.wait()
            yield
        finally:
            lock.close()
