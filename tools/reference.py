"""Writes the generated parts of docs/reference.md from the tables of the program; with --check it only compares."""

import sys
from pathlib import Path

from ralphloop.cli.commands import RALPH
from ralphloop.cli.help import EXIT_CODES
from ralphloop.cli.options import FLAG, Command, Option

FILE = Path(__file__).parent.parent / "docs" / "reference.md"


def commands() -> str:
    """Every command with its arguments, options and examples."""
    return "\n\n".join(_command(command) for command in RALPH.commands)


def exit_codes() -> str:
    return _table(("code", "meaning"), [(f"`{code}`", about) for code, about in EXIT_CODES])


PARTS = {"commands": commands, "exit codes": exit_codes}


def _command(command: Command) -> str:
    words = [RALPH.name, command.name, *(["[OPTIONS]"] if len(command.options) > 1 else [])]
    usage = " ".join([*words, *(argument.usage for argument in command.arguments)])
    parts = [f"### ralph {command.name}", f"{command.about[:1].upper()}{command.about[1:]}.", f"    {usage}"]
    if command.arguments:
        parts.append(_table(("argument", "meaning"), [(f"`{one.name}`", one.about) for one in command.arguments]))
    rows = [(_spelled(option), option.about, f"`{option.key}`" if option.key else "") for option in command.shown]
    if any(key for *_, key in rows):
        parts.append(_table(("option", "meaning", "setting it overrides"), rows))
    else:
        parts.append(_table(("option", "meaning"), [row[:2] for row in rows]))
    if command.more:
        parts.append(command.more)
    if command.examples:
        parts.append("\n".join(f"    {example:<34}  # {about}" for example, about in command.examples))
    return "\n\n".join(parts)


def _spelled(option: Option) -> str:
    words = ", ".join(option.spellings) + ("" if option.kind == FLAG else f" {option.metavar}")
    return f"`{words}`"


def _table(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [heads, tuple("---" for _ in heads), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def filled(text: str) -> str:
    """The document with each generated part as it must be now."""
    for name, make in PARTS.items():
        begin, end = f"<!-- begin {name} -->\n", f"<!-- end {name} -->"
        before, found, rest = text.partition(begin)
        _, ended, after = rest.partition(end)
        if not (found and ended):
            raise ValueError(f"{FILE} has no part between {begin.strip()} and {end}")
        text = f"{before}{begin}\n{make()}\n\n{end}{after}"
    return text


def main() -> int:
    present = FILE.read_text()
    wanted = filled(present)
    if "--check" in sys.argv[1:]:
        if present != wanted:
            print(f"{FILE} is not what the tables say: run `make schemas`", file=sys.stderr)
        return int(present != wanted)
    if present != wanted:
        FILE.write_text(wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main())
