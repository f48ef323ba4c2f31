"""ralph run --dry-run: what a run would do. Nothing is written and nothing is started."""

import shlex
import sys

import msgspec
from msgspec.structs import replace

from ralphloop.api import glance
from ralphloop.api.preparing import Prepared
from ralphloop.cli import preflight
from ralphloop.cli.output import Screen, data, say
from ralphloop.core.duration import spoken
from ralphloop.core.errors import DONE, NOT_DONE
from ralphloop.core.ports import Call, Command
from ralphloop.core.wording import labelled


def dry_run(prepared: Prepared, *, as_json: bool, skip_preflight: bool = False) -> int:
    found = replace(prepared.preflight(), findings=()) if skip_preflight else prepared.preflight()
    if as_json:
        data(msgspec.json.encode(_report(prepared) | {"ok": found.ok, "findings": found.findings}))
        return DONE if found.ok else NOT_DONE
    if not skip_preflight:
        preflight.show(found, sys.stdout)
    if not found.ok:
        return NOT_DONE
    say("")
    say("Dry run: nothing is written, nothing is started.")
    screen = Screen()
    for title, text in _rows(prepared):
        screen.row(f"{title + ':':<13}", text)
    return DONE


def _report(prepared: Prepared) -> dict[str, object]:
    state = prepared.taken.state
    return {
        "branch": prepared.repository.branch,
        "feature": prepared.feature,
        "source": prepared.source.file,
        "agent": prepared.agent.name,
        "program": prepared.agent.program,
        "command": _command(prepared).argv,
        "running": _running(prepared),
        "goes_on_with": state.start.run if state else None,
        "policy": prepared.policy,
        "withheld": prepared.withheld,
        "notices": prepared.notices,
    }


def _command(prepared: Prepared) -> Command:
    policy = prepared.policy
    call = Call(
        "PROMPT",
        len(prepared.template),
        policy.skip_permissions,
        policy.allowed_tools,
        policy.models.get(prepared.agent.name, ""),
    )
    return prepared.agent.command(call)


def _command_line(command: Command) -> str:
    """As it could be typed; PROMPT stands for the file with the prompt."""
    return shlex.join(command.argv) + ("" if command.prompt_as_file else " < PROMPT")


def _running(prepared: Prepared) -> int | None:
    return glance.runner_lives(str(prepared.home.root), prepared.repository.worktree)


def _rows(prepared: Prepared) -> list[tuple[str, str]]:
    policy, state = prepared.policy, prepared.taken.state
    command = _command(prepared)
    limit = "no limit" if policy.rate_per_hour is None else str(policy.rate_per_hour)
    permissions = "skipped" if policy.skip_permissions else f"allowed tools {policy.allowed_tools}"
    again = f"goes on with {state.start.run} after iteration {state.n}" if state else "a new one"
    rows = [
        ("Run", again),
        ("Agent", prepared.agent.name),
        ("Command", _command_line(command)),
        ("Stories", _stories(prepared)),
        ("Prompt", f"template of {len(prepared.template):,} characters"),
        ("Iterations", f"at most {policy.max_iterations}, each at most {spoken(policy.timeout)}"),
        ("Calls", f"{limit} an hour"),
    ]
    rows.append(("Environment", f"withheld from the agent: {', '.join(prepared.withheld) or 'nothing'}"))
    if prepared.kind == "claude":
        rows.append(("Permissions", permissions))
    if pid := _running(prepared):
        rows.insert(0, ("Now", f"a loop is running here (PID {pid}): `ralph run` is refused; `ralph log -f` shows it"))
    rows += [("Check", f"{one.name}: {one.command} (at most {spoken(one.timeout)})") for one in policy.checks]
    return rows if policy.checks else [*rows, ("Check", "none configured: marks and commits are all that is looked at")]


def _stories(prepared: Prepared) -> str:
    plan = prepared.plan()
    if plan is None:
        return "unknown: `ralph validate` says why"
    upcoming = f", next {labelled(plan.open[0].id, plan.open[0].title)}" if plan.open else ""
    return f"{len(plan.marked)} of {len(plan.stories)} finished{upcoming}"
