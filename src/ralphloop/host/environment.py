"""The environment of this process, as far as somebody is to have it."""

import os
from collections.abc import Iterable, Mapping

from ralphloop.core.environment import granted, in_force


def handed_down(patterns: Iterable[str] | None, present: Mapping[str, str] | None = None) -> dict[str, str]:
    """What of it is handed to a child; all of it without patterns."""
    given = dict(os.environ if present is None else present)
    if patterns is None:
        return given
    wanted = in_force(patterns, given)
    return {name: value for name, value in given.items() if granted(name, wanted)}
