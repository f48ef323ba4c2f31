"""Look at runs without touching them: how they stand, what happened, what the next one would be made of."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from ralphloop.agents.table import names
from ralphloop.api.preparing import Request, prepare
from ralphloop.config import Config, Setting, load
from ralphloop.config import shown as shown
from ralphloop.core.errors import Problem
from ralphloop.core.ports import Finding
from ralphloop.core.record import Record
from ralphloop.core.state import replay
from ralphloop.core.view import RunRow, run_row
from ralphloop.engine.preflight import Preflight
from ralphloop.host import git, glance
from ralphloop.host.journal import read
from ralphloop.host.places import Home, RunFolder


class NoRunYet(Problem):
    """The worktree has never had one."""


class Standing(Struct, frozen=True):
    """A run's row, and whether a runner works on it now."""

    row: RunRow
    alive: bool

    @property
    def cut_off(self) -> bool:
        """The runner died without a word: the next `ralph run` goes on."""
        return not self.alive and self.row.exit_code is None


def find_run(run: str = "", folder: str = ".") -> RunFolder:
    """A run by its name or the beginning of it, or the last one of the worktree."""
    home = Home.usual()
    if not run:
        worktree = git.find(str(Path(folder).absolute())).worktree
        latest = home.worktree(worktree).latest()
        if latest is None or not home.run(latest).journal.exists():
            raise NoRunYet(
                f"no run in {worktree} yet", "`ralph run` starts one; `ralph list --all` shows all of this machine"
            )
        return home.run(latest)
    exact = home.run(run) if glance.is_name(run) else None
    if exact is not None and exact.journal.exists():
        return exact
    matching = [one for one in home.runs() if run in one.name]
    if len(matching) == 1:
        return matching[0]
    if matching:
        names = ", ".join(one.name for one in matching[:5])
        raise Problem(f'"{run}" is the name of {len(matching)} runs', f"for example {names}")
    raise Problem(f'no run is named "{run}"', "`ralph list --all` shows their names")


def status(run: str = "", folder: str = ".") -> Standing:
    return standing(find_run(run, folder))


def standing(folder: RunFolder) -> Standing:
    """From the view beside the journal, or from the journal when the view is gone."""
    row = _row(folder)
    pid = glance.runner_lives(str(folder.path.parent.parent), row.worktree)
    mine = pid is not None and row.run == folder.name
    latest = Home(folder.path.parent.parent).worktree(row.worktree).latest()
    return Standing(row, alive=mine and row.exit_code is None and latest == row.run)


def _row(folder: RunFolder) -> RunRow:
    try:
        return msgspec.json.decode(folder.view.read_bytes(), type=RunRow)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return run_row(replay(read(folder.journal)), None)


def silent(run: RunFolder, problem: Problem) -> None:
    """For those who do not care."""


def runs(folder: str | None = ".", unreadable: Callable[[RunFolder, Problem], None] = silent) -> Iterator[Standing]:
    """The runs of a repository, the newest first; of all of them when no folder is given.

    `unreadable` hears of those whose journal is damaged: nobody can say whose they are.
    """
    common = git.find(str(Path(folder).absolute())).common_dir if folder is not None else None
    known: dict[str, str] = {}
    for one in Home.usual().runs():
        try:
            found = standing(one)
        except Problem as problem:
            unreadable(one, problem)
            continue
        if common is not None:
            worktree = found.row.worktree
            if worktree not in known:
                known[worktree] = _common_dir(worktree)
            if known[worktree] != common:
                continue
        yield found


def _common_dir(worktree: str) -> str:
    try:
        return git.find(worktree).common_dir
    except Problem:
        return ""


def history(run: str = "", folder: str = ".") -> Iterator[Record]:
    """Every record of a run."""
    return read(find_run(run, folder).journal)


def output_of(run: str, folder: str, n: int) -> Path:
    """The raw output of an attempt."""
    path = find_run(run, folder).attempt(n)
    if not path.exists():
        raise Problem(f"iteration {n} of this run has no output", "`ralph log` shows which iterations there are")
    return path


def validate(folder: str = ".", settings: Mapping[str, tuple[Any, str]] | None = None) -> Preflight:
    """The preflight alone. Writes nothing. Without a branch there is nothing more to look at."""
    try:
        return prepare(Request(folder, settings or {})).preflight()
    except Problem as problem:
        if git.find(str(Path(folder).absolute())).branch:
            raise
        advice = (problem.hint,) if problem.hint else ()
        return Preflight("", "", (Finding("error", problem.message, advice=advice),))


def feature_folder(folder: str = ".") -> tuple[str, str]:
    """The branch here and the feature folder that belongs to it."""
    repository = git.find(str(Path(folder).absolute()))
    if not repository.branch:
        repository = git.on_a_branch(repository)
    return repository.branch, f".ralph/{git.feature_of(repository.branch)}/"


def settings(folder: str = ".") -> tuple[Setting, ...]:
    """Every setting with the file it comes from."""
    return _config(folder).settings


def agents(folder: str = ".") -> tuple[str, ...]:
    """The names of the agents there are: those of the package, and those that are configured."""
    return (*dict.fromkeys((*names(), *_config(folder).agents)),)


def _config(folder: str) -> Config:
    try:
        worktree = Path(git.find(str(Path(folder).absolute())).worktree)
    except Problem:
        worktree = None
    return load(Home.usual().root, worktree)
