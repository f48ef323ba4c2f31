"""ralph agents: every agent there is, and what is known of it."""

import msgspec

from ralphloop.api.roster import Member, roster
from ralphloop.cli.output import Screen, clean, data, say
from ralphloop.cli.parse import Parsed
from ralphloop.core.errors import DONE

HEADS = ("AGENT", "VERSION", "TRIED WITH", "TELLS", "PROMPT", "FOLDER")


def call(parsed: Parsed) -> int:
    members = roster()
    if parsed.options.get("json"):
        data(msgspec.json.encode(members))
        return DONE
    table = [HEADS, *map(_cells, members)]
    widths = [max(len(cell) for cell in column) for column in zip(*table, strict=True)]
    for cells in table:
        say("  ".join(f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True)).rstrip())
    screen = Screen()
    notes = [(f"{one.name}: ", one.note or _way(one.install)) for one in members if _wanting(one)]
    if notes:
        say("")
    for title, text in notes:
        screen.row(title, text)
    return DONE


def _wanting(member: Member) -> bool:
    return bool(member.note or (member.install and not member.path))


def _cells(member: Member) -> tuple[str, ...]:
    here = member.version or ("installed" if member.path else "not installed" if member.program else "not set up")
    known = bool(member.install)
    return (
        clean(member.name) + ("*" if member.chosen else ""),
        here,
        ", ".join(member.tried) or ("not run" if known else "-"),
        ", ".join(member.tells) or "its end only",
        "on stdin" if member.stdin else "not on stdin",
        clean(member.folder) or "-",
    )


def _way(install: str) -> str:
    """A command, or where to read about one."""
    return install if install.startswith("see ") else f"install it with `{install}`"
