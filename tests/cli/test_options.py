"""The table of commands and options: whole, without contradictions, and cheap to load."""

import subprocess
import sys

import pytest

from ralphloop.cli.commands import RALPH
from ralphloop.cli.options import AGENT_NAME, CHOICE, DURATION, FLAG, NUMBER, SCOPED, SCOPES, VERSION, Command
from ralphloop.config.table import BY_NAME

COMMANDS = pytest.mark.parametrize("command", RALPH.commands, ids=RALPH.names)


def test_commands_of_the_program() -> None:
    assert RALPH.names == (
        "run", "status", "stop", "pause", "resume", "tell", "log", "list", "usage", "validate", "trust", "archive",
        "undo", "config", "agents", "doctor", "demo", "completion", "help",
    )  # fmt: skip
    assert RALPH.command("nothing") is None


def test_options_of_run() -> None:
    run = RALPH.command("run")
    assert run is not None
    assert {spelling for option in run.options for spelling in option.spellings} == {
        "-n", "--max-iterations", "-t", "--timeout", "-r", "--rate-limit", "-p", "--prompt", "-v", "--verbose",
        "--no-archive", "--reset-circuit", "--dry-run", "--monitor", "--skip-preflight", "--json", "--agent", "--model",
        "--dangerously-skip-permissions", "--on-limit", "--pause", "-h", "--help", "--max-cost",
        "--max-tokens", "--max-time", "--trust",
    }  # fmt: skip


@COMMANDS
def test_spellings_are_unique(command: Command) -> None:
    spellings = [spelling for option in command.options for spelling in option.spellings]
    assert len(spellings) == len(set(spellings))
    assert not set(VERSION.spellings) & set(spellings)


@COMMANDS
def test_every_option_is_whole(command: Command) -> None:
    for option in command.options:
        assert option.about
        assert (option.kind == FLAG) == (not option.metavar)
        assert (option.kind == CHOICE) == bool(option.choices)
        assert option.unit == 1 or option.kind == DURATION
        assert not option.off or option.kind == NUMBER
        assert len(option.short) <= 1


@COMMANDS
def test_overriding_options_agree_with_the_configuration(command: Command) -> None:
    kinds = {NUMBER: "count", DURATION: "duration", CHOICE: "choice", FLAG: "flag", "text": "text", AGENT_NAME: "name"}
    kinds[SCOPED] = "amount count duration"
    for option in command.options:
        for scope in SCOPES if option.kind == SCOPED else [""] if option.key else []:
            key = BY_NAME[option.key.replace("SCOPE", scope)]
            assert key.kind in kinds[option.kind]
            assert option.choices == key.choices
            assert option.kind != DURATION or (option.unit, option.least) == (key.unit, key.least)
            assert option.kind != NUMBER or option.off == key.off


@COMMANDS
def test_only_the_last_argument_may_be_many_or_missing(command: Command) -> None:
    required = [argument.required for argument in command.arguments]
    assert required == sorted(required, reverse=True)
    assert not any(argument.many for argument in command.arguments[:-1])


def test_importing_it_is_cheap() -> None:
    heavy = {"re", "typing", "msgspec", "argparse", "dataclasses", "difflib", "textwrap", "json", "asyncio", "inspect"}
    code = f"""
import sys
sys.path[:0] = {sys.path!r}
from ralphloop.cli.parse import parse
parse(["run", "-n", "5", "-t", "90s"])
from ralphloop.cli import help
help.overview(parse([]).program)
print(sorted({heavy!r} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
