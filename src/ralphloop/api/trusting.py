"""Whether what a repository's configuration wants to run here was agreed to, and the agreement itself."""

import time
from pathlib import Path

from msgspec import Struct

from ralphloop.config import Config, load
from ralphloop.config.demands import demands
from ralphloop.core.demand import Demand as Demand
from ralphloop.core.demand import Trust as Trust
from ralphloop.core.errors import DamagedProblem, Problem
from ralphloop.host import git
from ralphloop.host import trust as record
from ralphloop.host.git import Repository
from ralphloop.host.places import Home

FILE = ".ralph/config.yaml"


class Distrust(Struct, frozen=True):
    """What is demanded and not agreed to, and what was agreed to in its place."""

    repository: str
    missing: tuple[Demand, ...] = ()
    trust: Trust = Trust("")
    note: str = ""  # why nothing is known of an agreement

    @property
    def changed(self) -> bool:
        """The repository is known; it is the demands that are new."""
        return bool(self.trust.granted)


class Untrusted(Problem):
    """A run is refused before anything of the repository's configuration was run."""

    def __init__(self, distrust: Distrust) -> None:
        why = "has changed what it wants to run or allow" if distrust.changed else "wants to run or allow something"
        super().__init__(
            f"this repository's {FILE} {why} on this machine, and nobody has agreed to it",
            "look at it, then `ralph trust` agrees once and for all, `ralph run --trust` for one run",
        )
        self.distrust = distrust


def distrust_in(home: Home, repository: Repository, config: Config) -> Distrust:
    """Without demands there is nothing to agree to, and nothing is read."""
    name = repository.common_dir
    if Path(repository.worktree, FILE).resolve() == home.config.resolve():
        return Distrust(name)  # the user's own: a repository at the top of the home folder
    wanted = demands(config, repository.worktree)
    if not wanted:
        return Distrust(name)
    try:
        name.encode()
    except UnicodeEncodeError:
        raise Problem(f"the path {name!r} is not UTF-8", "rename it") from None
    try:
        trust = record.trust_in(home, name)
    except DamagedProblem as problem:
        return Distrust(name, wanted, Trust(name), problem.message)
    return Distrust(name, trust.missing(wanted), trust)


def agree(distrust: Distrust) -> Trust:
    """From now on this may be run."""
    return record.grant(Home.usual(), distrust.trust, distrust.missing, time.time())


def wanted(folder: str = ".") -> Distrust:
    """What the repository around a folder demands and nobody has agreed to."""
    home, repository = Home.usual(), git.find(str(Path(folder).absolute()))
    return distrust_in(home, repository, load(home.root, Path(repository.worktree)))


def trust(folder: str = ".") -> Trust:
    """Agree to all that the repository's configuration wants to run and allow now."""
    found = wanted(folder)
    return agree(found) if found.missing else found.trust


def forget(folder: str = ".") -> bool:
    """Forget what was agreed to for this repository; whether anything was."""
    return record.forget(Home.usual(), git.find(str(Path(folder).absolute())).common_dir)


def trusted() -> tuple[Trust | Problem, ...]:
    """Every repository that something was agreed to for; for a record that cannot be read, why."""
    return tuple(record.every(Home.usual()))
