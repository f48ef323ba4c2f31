"""Checks of what a user wrote for a command line: words and environment that a program can be started with."""

from collections.abc import Mapping, Sequence

from ralphloop.core.errors import UsageProblem


def checked_words(where: str, words: Sequence[str]) -> None:
    """No word of a command line may hold a NUL."""
    for place, word in enumerate(words):
        if "\0" in word:
            raise UsageProblem(f"{where}: word {place + 1} holds a NUL character", "no program can be given one")


def checked_program(where: str, program: str) -> None:
    if not program.strip():
        raise UsageProblem(f"{where}: no program is named", "give the name of a program on PATH, or its path")
    checked_words(where, (program,))


def checked_environment(where: str, environment: Mapping[str, str]) -> None:
    for name, value in environment.items():
        if not name or "=" in name or "\0" in name:
            raise UsageProblem(f"{where}: {name!r} is no name of a variable", "write NAME: value")
        if "\0" in value:
            raise UsageProblem(f"{where}.{name}: the value holds a NUL character", "no program can be given one")


def checked_cli(
    name: str, program: str, args: Sequence[str], environment: Mapping[str, str], refused: Mapping[str, str]
) -> None:
    """The settings every agent CLI has; `refused` says of words that would break the loop why they cannot be used."""
    checked_program(f"agents.{name}.program", program)
    checked_words(f"agents.{name}.args", args)
    checked_environment(f"agents.{name}.env", environment)
    for word in args:
        if why := refused.get(word.partition("=")[0]):
            raise UsageProblem(f"agents.{name}.args: {word} cannot be used: {why}", f"leave {word} out")
