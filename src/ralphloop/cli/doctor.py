"""ralph doctor: what a run needs, line by line; `--probe` starts the agents once."""

import msgspec

from ralphloop.api import checkup, probing
from ralphloop.api.checkup import Looked
from ralphloop.cli.output import Screen, confirmed, data, say, talk
from ralphloop.cli.parse import Parsed
from ralphloop.cli.preflight import GLYPHS
from ralphloop.core.errors import DONE, NOT_DONE, Problem, UsageProblem

COLOURS = {"ok": "", "warning": "33", "error": "31"}
WIDTH = 13


def call(parsed: Parsed) -> int:
    as_json = bool(parsed.options.get("json"))
    if parsed.arguments and not parsed.options.get("probe"):
        raise UsageProblem("an agent is named and not probed", f"write ralph doctor --probe {parsed.arguments[0]}")
    if parsed.options.get("probe"):
        found = _probed(parsed.arguments[0] if parsed.arguments else "", parsed, as_json=as_json)
    else:
        found = checkup.examine()
        if not as_json:
            show(found)
    sound = not any(one.finding.level == "error" for one in found)
    if as_json:
        rows = [{"area": one.area, **msgspec.to_builtins(one.finding)} for one in found]
        data(msgspec.json.encode({"ok": sound, "findings": rows}))
    return DONE if sound else NOT_DONE


def show(found: tuple[Looked, ...]) -> None:
    screen = Screen()
    for one in found:
        finding = one.finding
        screen.row(f"{GLYPHS[finding.level]} {one.area:<{WIDTH}} ", finding.line, COLOURS[finding.level])
        for line in finding.details:
            screen.row(" " * (WIDTH + 3), line, "2")
        for line in finding.advice:
            screen.row(" " * (WIDTH + 3) + "→ ", line)


def _probed(name: str, parsed: Parsed, *, as_json: bool) -> tuple[Looked, ...]:
    members = checkup.candidates(name)
    if not members:
        raise Problem("no agent is installed that could be probed", "`ralph agents` says how to install one")
    names = ", ".join(one.name for one in members)
    question = f"Start {names} once with a question of one line? It is done with your account and costs a few cents."
    if not parsed.options.get("yes") and (as_json or not confirmed(question)):
        raise Problem(f"a probe starts {names} with your account and costs a few cents", "--yes does it without asking")
    found: tuple[Looked, ...] = ()
    for member in members:
        talk(f"{member.name}: started once, this may take a minute")
        told = probing.probed(member)
        if not as_json:
            show(told)
        found += told
    if not as_json:
        say("")
        say("Nothing has drifted." if all(one.finding.level == "ok" for one in found) else "See above.")
    return found
