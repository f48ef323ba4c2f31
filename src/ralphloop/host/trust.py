"""The record of what somebody agreed to have run for a repository: one file for each, whole or absent."""

from collections.abc import Iterator

import msgspec

from ralphloop.core.demand import Demand, Trust
from ralphloop.core.errors import DamagedProblem, Problem
from ralphloop.host.files import complaint, make_private, read, replace
from ralphloop.host.places import Home

LARGEST = 4 << 20
MOST = 500  # demands that are remembered of a repository


def trust_in(home: Home, repository: str) -> Trust:
    """What holds for a repository; nothing when it was never asked about. A damaged record is a DamagedProblem."""
    path = home.trust(repository)
    content = read(path, LARGEST, "the record of trust")
    if content is None:
        return Trust(repository)
    try:
        found = msgspec.json.decode(content, type=Trust)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DamagedProblem(
            f"the record of trust {path} is damaged: {error}", "`ralph trust` writes it anew"
        ) from None
    return found if found.repository == repository else Trust(repository)


def grant(home: Home, trust: Trust, demands: tuple[Demand, ...], now: float) -> Trust:
    """The same, with these agreed to as well."""
    granted = (*trust.granted, *trust.missing(demands))[-MOST:]
    wider = Trust(trust.repository, granted, now)
    path = home.trust(trust.repository)
    try:
        make_private(home.root)
        replace(path, msgspec.json.format(msgspec.json.encode(wider), indent=1) + b"\n")
    except OSError as error:
        raise complaint(error, "write the record of trust") from error
    return wider


def forget(home: Home, repository: str) -> bool:
    """Whether there was something to forget."""
    try:
        home.trust(repository).unlink()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise complaint(error, "remove the record of trust") from error
    return True


def every(home: Home) -> Iterator[Trust | Problem]:
    """All there are, in the order of their repositories; for one that cannot be read, why."""
    found: list[Trust] = []
    for path in sorted(home.trust("").parent.glob("*.json")):
        try:
            found.append(msgspec.json.decode(read(path, LARGEST) or b"", type=Trust))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            yield DamagedProblem(f"the record of trust {path} is damaged: {error}", "remove the file")
        except Problem as problem:
            yield problem
    yield from sorted(found, key=lambda one: one.repository)
