"""Processes that carry the mark of a run: whose they are, and what they do."""

from collections.abc import Iterator

from msgspec import Struct

from ralphloop.host import glance
from ralphloop.host.census import census, describe


class Remain(Struct, frozen=True):
    pid: int
    run: str
    command: str


def marked() -> Iterator[Remain]:
    """Those of every run of this machine that can be seen, but for us and those we came from."""
    found = census()
    ours = found.ancestors()
    for pid, row in found.rows.items():
        if pid in ours or not row.living:
            continue
        run = found.evidence(pid).mark.rpartition(".")[0]
        if glance.is_name(run):
            yield Remain(pid, run, describe(row))
