"""ralph doctor: all that a run needs, each with how it stands and what to do; and which agents can be probed."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct

from ralphloop.api import machine, trusting
from ralphloop.api.roster import Group, Member, group, roster
from ralphloop.config import FILE, PROJECT, load
from ralphloop.core.errors import Problem, UsageProblem
from ralphloop.core.ports import Finding
from ralphloop.engine import permissions
from ralphloop.host import git, sandbox
from ralphloop.host.files import complaint
from ralphloop.host.git import Repository
from ralphloop.host.places import Home

TMUX = "Install it: inside tmux a run outlives a closed terminal; elsewhere the run is stopped with it."
GH = "Install it when an agent is to open pull requests or read issues; ralph itself does without."


class Looked(Struct, frozen=True):
    """One finding, and what of the whole it is about."""

    area: str
    finding: Finding


def examine(folder: str = ".") -> tuple[Looked, ...]:
    """Looks and changes nothing. What is started: git, and agents, tmux and gh to be asked for their version."""
    return tuple(_examined(str(Path(folder).absolute())))


def _examined(folder: str) -> Iterator[Looked]:
    home = Home.usual()
    found: Repository | None = None
    yield from _about("git", lambda: machine.git_itself(folder))
    try:
        found = git.find(folder)
    except Problem as problem:
        yield Looked("repository", _trouble(problem, "warning"))
    if found is not None:
        here = found
        yield from _about("repository", lambda: machine.repository(here))
    whole = True
    for one in _configuration(home, found):
        whole = whole and one.level != "error"
        yield Looked("config", one)
    if whole:
        yield from _agents(folder)
    yield Looked("sandbox", machine.surroundings())
    yield Looked("tmux", machine.tool("tmux", "-V", TMUX))
    yield Looked("gh", machine.tool("gh", "--version", GH))
    yield from _about("disk", lambda: machine.disk(home, found.worktree if found else ""))
    yield from _about("clock", lambda: iter([machine.clock(home)]))
    yield from _about("left over", lambda: machine.leftovers(home))


def _about(area: str, look: Callable[[], Iterator[Finding]]) -> Iterator[Looked]:
    """What cannot be looked at is a finding too."""
    try:
        for finding in look():
            yield Looked(area, finding)
    except Problem as problem:
        yield Looked(area, _trouble(problem))
    except OSError as error:
        yield Looked(area, _trouble(complaint(error, "look at")))


def _trouble(problem: Problem, level: str = "error") -> Finding:
    advice = (problem.hint,) if problem.hint else ()
    return Finding("warning" if level == "warning" else "error", problem.message, advice=advice)


def _configuration(home: Home, found: Repository | None) -> Iterator[Finding]:
    """Both files on their own, then together."""
    files = [home.config, *([Path(found.worktree, PROJECT, FILE)] if found else [])]
    for path in files:
        if not os.path.lexists(path):
            yield Finding("ok", f"{path}: none, which is fine")
    try:
        load(home.root, Path(found.worktree) if found else None)
    except Problem as problem:
        yield _trouble(problem)
        return
    for path in files:
        if os.path.lexists(path):
            yield Finding("ok", f"{path}: can be read")
    if found is None:
        return
    distrust = trusting.wanted(found.worktree)
    if distrust.missing:
        yield Finding(
            "warning",
            f"nobody has agreed to what {trusting.FILE} runs and allows",
            tuple(f"{one.key}: {one.says}" for one in distrust.missing),
            ("Look at it, then `ralph trust`. `ralph run` asks at a terminal and is refused elsewhere.",),
        )


def _agents(folder: str) -> Iterator[Looked]:
    members = roster(folder)
    for member in members:
        if member.path or member.chosen:
            yield Looked("agent", _agent(member))
    others = [one.name for one in members if not (one.path or one.chosen or one.note)]
    if others:
        yield Looked("agent", Finding("ok", f"not installed: {', '.join(others)} (`ralph agents` says how)"))
    here = group(folder)
    name = here.config.get("defaults.agent")
    try:
        agent = here.agent(name)
    except UsageProblem:
        return
    policy = here.config.policy()
    environment = permissions.environment_of(agent, policy)
    found = [*permissions.permissions(agent, policy, environment, sandbox.signs(), root=os.geteuid() == 0)]
    if not found:
        word = f"{name} is told to ask for nothing" if permissions.skipped(agent, policy) else _allowed(here, name)
        found = [Finding("ok", word)]
    yield from (Looked("permissions", one) for one in found)
    withheld = sorted(os.environ.keys() - environment.keys())
    handed = f"{len(os.environ.keys() & environment.keys())} variables are handed to {name}, {len(withheld)} withheld"
    yield Looked("environment", Finding("ok", handed, (", ".join(withheld),) if withheld else ()))


def _allowed(here: Group, name: str) -> str:
    if here.config.agent_kind(name) == "claude":
        return f"{name} may do this unasked: {here.config.get('claude.allowed_tools') or 'nothing'}"
    return f"{name} is not told to skip permissions; what it may do is its own configuration"


def _agent(member: Member) -> Finding:
    named = f"{member.name} (chosen)" if member.chosen else member.name
    if not member.path:
        why = member.note or f"{member.program} is not installed, or not on PATH"
        advice = (f"Install it: `{member.install}`",) if member.install else ("`ralph config` shows where it is set.",)
        return Finding("error", f"{named}: {why}", advice=advice)
    if member.note:
        return Finding("warning", f"{named}: {member.note}", advice=("`ralph trust` agrees to it.",))
    if not member.install:
        return Finding("ok", f"{named}: {member.path}")
    if not member.version:
        return Finding(
            "warning", f"{named}: {member.path} does not tell its version", advice=("Start it by hand once.",)
        )
    if member.version in member.tried:
        return Finding("ok", f"{named} {member.version}")
    tried = f"tried with {', '.join(member.tried)}" if member.tried else "its adapter was never run with it"
    advice = (f"`ralph doctor --probe {member.name}` shows whether it works; it costs a few cents.",)
    return Finding("warning", f"{named} {member.version}: {tried}", advice=advice)


def candidates(name: str = "", folder: str = ".") -> tuple[Member, ...]:
    """The agents that a probe would start: those that are installed and known, or the one of this name."""
    if (distrust := _distrust(folder)).missing:
        raise trusting.Untrusted(distrust)
    members = roster(folder)
    if not name:
        return tuple(one for one in members if one.path and one.install)
    chosen = next((one for one in members if one.name == name), None)
    if chosen is None:
        raise UsageProblem(f'there is no agent "{name}"', f"known: {', '.join(one.name for one in members)}")
    if not chosen.path:
        why = chosen.note or f"{chosen.program} is not installed, or not on PATH"
        raise Problem(f"agent {name}: {why}", f"install it: {chosen.install}" if chosen.install else "")
    return (chosen,)


def _distrust(folder: str) -> trusting.Distrust:
    try:
        git.find(str(Path(folder).absolute()))
    except Problem:
        return trusting.Distrust("")
    return trusting.wanted(folder)
