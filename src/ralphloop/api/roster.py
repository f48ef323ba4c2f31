"""Every agent there is: whether it is here, in which version, and what is known of it."""

import asyncio
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from ralphloop.agents import table
from ralphloop.api.trusting import distrust_in
from ralphloop.config import Config, load
from ralphloop.core.errors import Problem, UsageProblem
from ralphloop.core.ports import Agent
from ralphloop.engine import probe
from ralphloop.host import git
from ralphloop.host.places import Home

Origin = Literal["package", "configured"]


class Member(Struct, frozen=True):
    """One agent, as `ralph agents` shows it."""

    name: str
    origin: Origin
    chosen: bool = False
    program: str = ""
    path: str = ""  # where it is; empty when it is not installed
    version: str = ""  # as it tells it; empty when it was not asked or does not say
    tried: tuple[str, ...] = ()
    tells: tuple[str, ...] = ()
    stdin: bool = True
    caps_cost: bool = False
    folder: str = ""
    install: str = ""
    note: str = ""  # why it cannot be used, or was not asked


class Group(Struct, frozen=True):
    """What agents are made from, and which of them nobody may start yet."""

    config: Config
    worktree: str = ""
    untrusted: frozenset[str] = frozenset()

    def agent(self, name: str) -> Agent:
        return table.named(name, self.config.agent_settings(name))

    def is_untrusted(self, name: str) -> bool:
        """Whether a repository that nobody has agreed to says what is started under this name."""
        own = f"agents.{name}" in self.untrusted
        return own or (self.config.agent_kind(name) == "claude" and "claude.program" in self.untrusted)

    def place(self, agent: Agent) -> str:
        """The program's path; empty when there is none."""
        named = agent.program
        found = shutil.which(str(Path(self.worktree, named)) if "/" in named else named)
        return str(Path(found).absolute()) if found else ""


def group(folder: str = ".") -> Group:
    """Outside of a repository the user's own configuration alone counts."""
    home = Home.usual()
    try:
        repository = git.find(str(Path(folder).absolute()))
    except Problem:
        return Group(load(home.root, None))
    config = load(home.root, Path(repository.worktree))
    missing = distrust_in(home, repository, config).missing
    return Group(config, repository.worktree, frozenset(one.key for one in missing))


def roster(folder: str = ".") -> tuple[Member, ...]:
    """In the order of the table, then those of the configuration. Installed ones are asked for their version."""
    found = group(folder)
    names = dict.fromkeys((*table.names(), *found.config.agents))
    return asyncio.run(_asked(found, [_member(found, name) for name in names]))


def _member(found: Group, name: str) -> Member:
    origin: Origin = "configured" if name in found.config.agents else "package"
    chosen = found.config.get("defaults.agent") == name
    try:
        agent = found.agent(name)
    except UsageProblem as problem:
        return Member(name, origin, chosen, note=f"{problem.message}; {problem.hint}")
    traits = agent.traits
    variable, usual = traits.folder
    return Member(
        name=name,
        origin=origin,
        chosen=chosen,
        program=agent.program,
        path=found.place(agent),
        tried=traits.tried,
        tells=traits.tells,
        stdin=traits.stdin,
        caps_cost=traits.caps_cost,
        folder=f"{usual} ({variable})" if usual and variable else usual or variable,
        install=traits.install,
        note="not asked for its version: nobody has agreed to this repository's configuration"
        if found.is_untrusted(name)
        else "",
    )


async def _asked(found: Group, members: Iterable[Member]) -> tuple[Member, ...]:
    """All at the same time. Who gives no way to install it is the user's own: its version option is unknown."""
    with tempfile.TemporaryDirectory(prefix="ralph-agents-", ignore_cleanup_errors=True) as folder:
        return tuple(await asyncio.gather(*(_versioned(found, one, Path(folder)) for one in members)))


async def _versioned(found: Group, member: Member, folder: Path) -> Member:
    if not (member.path and member.install) or member.note:
        return member
    own = folder / member.name
    own.mkdir()
    return replace(member, version=await probe.version_of(found.agent(member.name), member.path, own))
