"""ralph list, validate and config."""

import os
import sys
import time

import msgspec

from ralphloop.api import glance, looking
from ralphloop.api.looking import Standing
from ralphloop.cli import preflight
from ralphloop.cli.output import Screen, clean, data, refusal, say, talk
from ralphloop.cli.parse import Parsed
from ralphloop.core.current import clock
from ralphloop.core.duration import spoken
from ralphloop.core.errors import DONE, NOT_DONE, Problem
from ralphloop.core.view import RunRow
from ralphloop.core.wording import of_row, standing


def call(parsed: Parsed) -> int:
    return {"list": listed, "validate": validated, "config": configured}[parsed.command](parsed)


def running(*, as_json: bool) -> int:
    """ralph status --all: what goes on now, anywhere on this machine."""
    return _rows([one for one in looking.runs(None) if one.alive], as_json=as_json, empty="nothing is running")


def listed(parsed: Parsed) -> int:
    damaged: list[tuple[str, Problem]] = []
    everywhere = bool(parsed.options.get("all"))
    if parsed.options.get("names"):
        for one in looking.runs(None if everywhere else "."):
            say(one.row.run)
        return DONE
    empty = "no run on this machine yet" if everywhere else "no run in this repository yet"
    rows = list(looking.runs(None if everywhere else ".", lambda run, problem: damaged.append((run.name, problem))))
    code = _rows(rows, as_json=bool(parsed.options.get("json")), empty=empty, places=everywhere)
    for name, problem in damaged:
        talk(f"warning: run {name} cannot be shown: {clean(problem.message)}")
    return code


def row_of(run: str) -> RunRow:
    """The row of a run whose view is damaged, read from its journal."""
    return looking.status(run).row


def _rows(rows: list[Standing], *, as_json: bool, empty: str, places: bool = True) -> int:
    if as_json:
        data(msgspec.json.encode([msgspec.to_builtins(one.row) | {"alive": one.alive} for one in rows]))
        return DONE
    if not rows:
        say(empty)
        return DONE
    now = time.time()
    table = [("RUN", "STATUS", "STORIES", "ITERATION", "CHANGED", *(["WORKTREE"] if places else []))]
    for one in rows:
        row = one.row
        ago = f"{spoken(max(1, round(now - row.updated_at)))} ago"
        facts = (f"{row.stories_complete}/{row.stories_total}", f"{row.iteration}/{row.max_iterations}", ago)
        table.append((row.run, _word(one, now), *facts, *([clean(row.worktree)] if places else [])))
    widths = [max(len(cell) for cell in column) for column in zip(*table, strict=True)]
    for cells in table:
        say("  ".join(f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True)).rstrip())
    return DONE


def _word(one: Standing, now: float) -> str:
    row = msgspec.structs.asdict(one.row)
    doing = of_row(row, now, clock) if one.alive else ""
    word = standing(row, one.alive, doing)
    return f"{word} · {doing}" if doing and doing != word else word


def validated(parsed: Parsed) -> int:
    found = looking.validate()
    if not parsed.options.get("json"):
        preflight.show(found, sys.stdout)
    elif found.branch:
        data(msgspec.json.encode(msgspec.to_builtins(found) | {"ok": found.ok}))
    else:
        problem = Problem(found.findings[0].line, " ".join(found.findings[0].advice))
        refusal(problem, **msgspec.to_builtins(found), ok=False)
    return DONE if found.ok else NOT_DONE


def configured(parsed: Parsed) -> int:
    if parsed.options.get("agents"):
        for name in looking.agents():
            say(name)
        return DONE
    settings = looking.settings()
    if parsed.options.get("json"):
        data(msgspec.json.encode([{"key": s.key, "value": looking.shown(s), "origin": s.origin} for s in settings]))
        return DONE
    keys = max(len(setting.key) for setting in settings)
    origins = [_place(setting.origin) for setting in settings]
    width = max(len(origin) for origin in origins)
    screen = Screen()
    for setting, origin in zip(settings, origins, strict=True):
        colour = "2" if origin == "built in" else ""
        # the value stands last: it is the only one that can be long
        screen.row(f"{setting.key:<{keys}}  {origin:<{width}}  ", _value(looking.shown(setting)), colour)
    return DONE


def _place(origin: str) -> str:
    """A file as people call it: from the worktree, or from the home folder."""
    worktree = glance.worktree_of(os.getcwd())  # noqa: PTH109
    for folder, short in ((worktree, ""), (os.environ.get("HOME"), "~/")):
        if folder and origin.startswith(f"{folder.rstrip('/')}/"):
            return clean(short + origin[len(folder.rstrip("/")) + 1 :])
    return clean(origin)


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) and value else msgspec.json.encode(value).decode()
