"""What is looked at before anything is spent: the branch, the folder, the source, the agent."""

import shutil
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from ralphloop.core.errors import Problem
from ralphloop.core.ports import Agent, Finding, Source
from ralphloop.host import belongings, operations
from ralphloop.host.files import read
from ralphloop.host.git import Repository
from ralphloop.host.places import SOURCE_LIMIT, inside


class Preflight(Struct, frozen=True):
    branch: str
    folder: str
    findings: tuple[Finding, ...]
    notices: tuple[str, ...] = ()  # what else is worth knowing before a run, and no judgement

    @property
    def ok(self) -> bool:
        return not any(finding.level == "error" for finding in self.findings)


def preflight(
    repository: Repository, feature: str, source: Source, agent: Agent, protected: Iterable[str]
) -> Preflight:
    """Every finding, in the order of the checks; nothing is written and nothing is started."""
    folder = f".ralph/{feature}/"
    findings = [*_branch(repository, protected), *_unfinished(repository)]
    place = Path(repository.worktree, folder)
    needed = source.file.startswith(folder)
    try:
        inside(repository.worktree, place)
        if place.is_dir():
            findings.append(Finding("ok", f"Folder exists: {folder}"))
        elif needed:
            findings.append(_no_folder(folder))
        if odd := belongings.odd(place):
            findings += (_trouble(one) for one in odd)
        elif place.is_dir() or not needed:
            findings += source.review(_files(repository, source))
    except Problem as problem:
        findings.append(_trouble(problem))
    findings += _agent(agent, repository.worktree)
    return Preflight(repository.branch, folder, tuple(findings))


def _branch(repository: Repository, protected: Iterable[str]) -> Iterable[Finding]:
    yield Finding("ok", f"Branch detected: {repository.branch}")
    if repository.branch in protected:
        yield Finding("warning", f"Running on protected branch '{repository.branch}'")


def _unfinished(repository: Repository) -> Iterable[Finding]:
    if operation := operations.unfinished(repository.git_dir):
        what = operations.named(operation).capitalize()
        said = f"{what} is unfinished here: what it left in the files would be taken for work"
        yield Finding("error", said, advice=(f"The {operation}: {operations.way_out(operation)}.",))


def _trouble(problem: Problem) -> Finding:
    return Finding("error", problem.message, advice=(problem.hint,) if problem.hint else ())


def _no_folder(folder: str) -> Finding:
    return Finding(
        "error",
        f"Folder not found: {folder}",
        advice=(
            f"The folder's name comes from the branch. Put spec.md, prd.json and progress.txt into {folder}",
            f"or a checklist alone: {folder}tasks.md, or tasks.md at the top, with lines like `- [ ] Greet by name`",
            "README.md and docs/guide.md of ralphloop show both.",
        ),
    )


def _files(repository: Repository, source: Source) -> dict[str, bytes]:
    """The content of the source's files that exist, by name."""
    path = Path(repository.worktree, source.file)
    found = {}
    for name in (path.name, *source.companions):
        content = read(inside(repository.worktree, path.with_name(name)), SOURCE_LIMIT)
        if content is not None:
            found[name] = content
    return found


def _agent(agent: Agent, worktree: str) -> Iterable[Finding]:
    """It is started in the worktree, wherever we are."""
    named = agent.program
    path = Path(worktree, named) if "/" in named else None
    if shutil.which(str(path or named)) is None:
        said = "is not installed, or not on PATH"
        if path is not None:
            said = "is a folder" if path.is_dir() else "is not executable" if path.exists() else "does not exist"
        yield Finding("error", f"Agent {agent.name}: {named} {said}", advice=tuple(_instead(named)))


def _instead(program: str) -> Iterable[str]:
    if program == "claude":
        yield "Install it: `npm install -g @anthropic-ai/claude-code`; or set claude.program to where it lies"
    yield "`--agent NAME` chooses another agent; `ralph config` shows where it is set"
