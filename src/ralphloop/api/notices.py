"""What is worth knowing before a run and is no judgement: what the repository decides, what is finished already."""

import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from shutil import which

from msgspec.structs import replace

from ralphloop.agents import table as agents
from ralphloop.api.trusting import Distrust
from ralphloop.config import Config, Setting, plain
from ralphloop.config.table import advice
from ralphloop.core.errors import Problem
from ralphloop.core.ports import Finding
from ralphloop.core.state import replay
from ralphloop.core.story import Plan
from ralphloop.core.wording import cut
from ralphloop.host.journal import read
from ralphloop.host.places import Home


def decided(config: Config, worktree: str) -> Iterator[str]:
    """What a file that came with the repository decides about this machine."""
    chosen = config.get("defaults.agent")
    kind = config.agent_kind(chosen)
    for setting in config.settings:
        file, _, line = setting.origin.removeprefix(f"{worktree}/").partition(":")
        what = _decision(setting, chosen, kind) if file.startswith(".ralph/") and setting.value else ""
        if what:
            yield f"this repository's {file} {what} (line {line})"


def distrusted(found: Distrust) -> Iterator[str]:
    """That a run would ask, or be refused."""
    if found.note:
        yield found.note
    if found.missing:
        keys = ", ".join(one.key for one in found.missing)
        yield f"not agreed to yet: {keys}; `ralph run` asks at a terminal and is refused elsewhere (`ralph trust`)"


def _decision(setting: Setting, chosen: str, kind: str) -> str:
    key = setting.key
    if key == "claude.dangerously_skip_permissions":
        return f"lets the agent do anything without asking: {key}: true"
    if key == "defaults.agent":
        return f"chooses the agent: {chosen}"
    runs = key.startswith("quality_checks.") or key == f"agents.{chosen}"
    if runs or (kind == "claude" and key in ("claude.program", "claude.args")):
        return f"sets a command that will be run: {key}: {_brief(setting)}"
    if key.startswith("agents.") or key in ("claude.program", "claude.args"):
        return f"sets a command for an agent that is not chosen: {key}: {_brief(setting)}"
    return ""


def _brief(setting: Setting) -> str:
    """What is run of an agent's section: the rest may hold secrets."""
    value = plain(setting)
    if setting.key.startswith("agents."):
        value = value.get("argv") or value.get("script") or value.get("program") or value.get("kind")
    words = value.get("command") if isinstance(value, dict) else value
    return cut(shlex.join(map(str, words)) if isinstance(words, list) else str(words), 200)


def strangers(plan: Plan | None, config: Config, worktree: str) -> Iterator[Finding]:
    """Agents that stories or the chain name: those nobody knows, and those that are not there."""
    wanted = dict.fromkeys(config.chain[1:], "defaults.fallback")
    wanted |= {story.agent: story.id for story in (plan.open if plan else ()) if story.agent not in ("", *config.chain)}
    known = (*agents.names(), *config.agents)
    for name, who in wanted.items():
        if name not in known:
            near = advice(name, known)
            yield Finding("error", f'{who} wants agent "{name}", and there is none', advice=(near,))
            continue
        try:
            program = agents.named(name, config.agent_settings(name)).program
        except Problem as problem:
            yield Finding("error", f"{who} wants agent {name}: {problem.message}", advice=(problem.hint,))
            continue
        if which(str(Path(worktree, program)) if "/" in program else program) is None:
            yield Finding("warning", f"{who} wants agent {name}: {program} is not installed, or not on PATH")


def finished(home: Home, worktree: str, feature: str) -> str:
    """That the last run of a feature has finished it and put it away."""
    name = home.worktree(worktree).latest(feature)
    folder = home.run(name) if name else None
    if folder is None or not folder.journal.exists():
        return ""
    try:
        state = replay(read(folder.journal))
    except Problem:
        return ""
    if state.end is None or state.end.status != "done" or not state.archive:
        return ""
    return f"Finished by run {name}, archived to {state.archive}; nothing to do"


def explained(finding: Finding, home: Home, worktree: str, feature: str) -> Finding:
    """A folder is missed most often because the run that finished it has put it away."""
    if not finding.line.startswith("Folder not found"):
        return finding
    done = finished(home, worktree, feature) or archived(worktree, feature)
    return replace(finding, advice=(done, *finding.advice)) if done else finding


def archived(worktree: str, feature: str) -> str:
    """That somebody has put the feature away before it was finished."""
    stamped = re.compile(rf"\d{{8}}-\d{{6}}-{re.escape(feature)}(-\d+)?")
    try:
        names = sorted(name for name in os.listdir(Path(worktree, ".ralph", "archive")) if stamped.fullmatch(name))
    except OSError:
        return ""
    if not names:
        return ""
    last = f".ralph/archive/{names[-1]}"
    return f"It was archived to {last}; `mv {last} .ralph/{feature}` brings it back"
