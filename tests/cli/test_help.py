"""The help texts: complete, narrow, and true to the exit codes."""

import pytest

from ralphloop.cli.commands import RALPH
from ralphloop.cli.help import explained, overview
from ralphloop.cli.options import NUMBER, Argument, Command, Option
from ralphloop.cli.parse import parse
from ralphloop.core import errors

COMMANDS = pytest.mark.parametrize("command", RALPH.commands, ids=RALPH.names)
TEXTS = [overview(RALPH), *(explained(RALPH, command) for command in RALPH.commands)]


@pytest.mark.parametrize("text", TEXTS)
def test_fits_any_terminal(text: str) -> None:
    assert all(len(line) <= 80 and line == line.rstrip() for line in text.splitlines())
    assert text.isascii()
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
    assert "\n\n\n" not in text


def test_overview_names_every_command_and_exit_code() -> None:
    text = overview(RALPH)
    for command in RALPH.commands:
        assert f"\n  {command.name} " in text
    codes = [errors.DONE, errors.NOT_DONE, errors.LIMITED, errors.USAGE, errors.INTERNAL, *errors.SIGNALLED.values()]
    for code in codes:
        assert f"\n  {code:3}  " in text
    assert "-V, --version" in text


@COMMANDS
def test_a_command_s_help_names_all_it_takes(command: Command) -> None:
    text = explained(RALPH, command)
    assert f"  ralph {command.name}" in text
    for option in command.shown:
        assert all(spelling in text for spelling in option.spellings)
    for argument in command.arguments:
        assert argument.name in text


@COMMANDS
def test_examples_can_be_parsed(command: Command) -> None:
    for line, _ in command.examples:
        if line.startswith("ralph "):
            assert parse(line.removeprefix("ralph ").partition(" | ")[0].split()).command == command.name


def test_layout() -> None:
    about = "how deep it is to be, in metres, which may take quite a while in hard ground"
    command = Command(
        "dig",
        "dig a hole",
        options=(
            Option("deep", about, short="d", kind=NUMBER, metavar="METRES"),
            Option("without-asking-anybody-at-all", "no questions"),
        ),
        arguments=(Argument("PLACE", "where", required=True), Argument("SPADE", "with what")),
        more="Holes are not filled again.",
        examples=(("ralph dig here", "a small one"),),
    )
    assert explained(RALPH, command) == (
        "Dig a hole.\n"
        "\n"
        "Usage:\n"
        "  ralph dig [OPTIONS] PLACE [SPADE]\n"
        "\n"
        "Arguments:\n"
        "  PLACE  where\n"
        "  SPADE  with what\n"
        "\n"
        "Options:\n"
        "  -d, --deep METRES  how deep it is to be, in metres, which may take quite a\n"
        "                     while in hard ground\n"
        "      --without-asking-anybody-at-all\n"
        "                     no questions\n"
        "  -h, --help         show this help\n"
        "\n"
        "Examples:\n"
        "  ralph dig here  # a small one\n"
        "\n"
        "Holes are not filled again.\n"
    )
