"""Agents of other installed packages: entry points of the group `ralphloop.agents`, loaded only when asked for."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from ralphloop.core.errors import UsageProblem

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "ralphloop.agents"
NEEDED = ("traits", "program", "command", "parser")


def names() -> tuple[str, ...]:
    return tuple(dict.fromkeys(point.name for point in _points()))


def loaded(name: str) -> Any:
    """The settings class of this agent; whatever its package does wrong is told with the package's name."""
    point = next(point for point in _points() if point.name == name)
    package = f"{point.dist.name} {point.dist.version}" if point.dist else point.value
    where = f'the agent "{name}" of the package {package}'
    try:
        found = point.load()
    except Exception as trouble:
        told = f"{where} cannot be loaded: {type(trouble).__name__}: {trouble}"
        raise UsageProblem(told, "update that package, or uninstall it") from trouble
    if not (isinstance(found, type) and issubclass(found, msgspec.Struct)):
        raise UsageProblem(f"{where} is no msgspec Struct: {point.value}", "see CONTRIBUTING.md: a new agent")
    missing = [part for part in NEEDED if not hasattr(found, part)]
    if missing or "name" not in found.__struct_fields__:
        lacks = ", ".join([*missing, *(() if "name" in found.__struct_fields__ else ("name",))])
        raise UsageProblem(f"{where} lacks {lacks}: {point.value}", "see CONTRIBUTING.md: a new agent")
    return found


def _points() -> "Iterable[EntryPoint]":
    # not at the top: it takes longer to import than everything else, and few need it
    from importlib import metadata

    return metadata.entry_points(group=GROUP)
