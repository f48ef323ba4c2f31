"""Which sources there are, and how one is had by name without loading the others."""

from importlib import import_module
from typing import cast

from ralphloop.core.errors import UsageProblem
from ralphloop.core.ports import Source

SOURCES = {
    "prd": "ralphloop.sources.prd:Prd",
    "tasks": "ralphloop.sources.tasks:Tasks",
}


def named(name: str, path: str) -> Source:
    """The source of this name that reads `path`, the file relative to the worktree, with slashes."""
    if name not in SOURCES:
        raise UsageProblem(f'there is no source "{name}"', f"known sources: {', '.join(SOURCES)}")
    module, _, kind = SOURCES[name].partition(":")
    return cast(Source, getattr(import_module(module), kind)(path))
