"""What a repository's own configuration asks of this machine, and what of it somebody has agreed to."""

from typing import Annotated

from msgspec import Meta, Struct


class Demand(Struct, frozen=True):
    """One command to be run, or one thing to be allowed."""

    key: str
    says: str  # as people are shown it; what may be a secret is hidden
    digest: str  # of all of it, also of what is hidden
    place: str = ""  # the file and its line


class Trust(Struct, frozen=True):
    """What somebody has agreed to for one repository, by its common folder."""

    repository: str
    granted: tuple[Demand, ...] = ()
    at: Annotated[float, Meta(ge=0, le=1e11)] = 0  # what a clock can show

    def missing(self, demands: tuple[Demand, ...]) -> tuple[Demand, ...]:
        """What nobody has agreed to: it is new, or not as it was."""
        known = {(one.key, one.digest) for one in self.granted}
        return tuple(one for one in demands if (one.key, one.digest) not in known)

    def before(self, key: str) -> str:
        """What was agreed to last under this key; empty when nothing was."""
        return next((one.says for one in reversed(self.granted) if one.key == key), "")
