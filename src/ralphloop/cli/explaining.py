"""help, --version and completion."""

from ralphloop import __version__
from ralphloop.cli import complete, help
from ralphloop.cli.options import FLAG, Argument, Command, Option, Program
from ralphloop.cli.output import say
from ralphloop.cli.parse import Parsed


def call(parsed: Parsed) -> int:
    program = parsed.program
    if parsed.command == "version" and parsed.options.get("json"):
        import json

        say(json.dumps({"program": program.name, "version": __version__}))
    elif parsed.command == "version":
        say(f"{program.name} {__version__}")
    elif parsed.command == "completion":
        say(complete.script(parsed.arguments[0], program).rstrip("\n"))
    elif parsed.options.get("json"):
        import json

        say(json.dumps(described(program, parsed.arguments[:1]), indent=1))
    else:
        command = program.command(parsed.arguments[0]) if parsed.arguments else None
        say((help.explained(program, command) if command else help.overview(program)).rstrip("\n"))
    return 0


def described(program: Program, names: list[str]) -> dict[str, object]:
    """The table of commands, or of one, for programs."""
    commands = [command for command in program.commands if not names or command.name in names]
    return {
        "program": program.name,
        "version": __version__,
        "about": program.about,
        "commands": [_command(command) for command in commands],
        "exit_codes": dict(help.EXIT_CODES),
    }


def _command(command: Command) -> dict[str, object]:
    return {
        "name": command.name,
        "about": command.about,
        "arguments": [_argument(argument) for argument in command.arguments],
        "options": [_option(option) for option in command.shown],
        "examples": [{"command": line, "about": about} for line, about in command.examples],
    }


def _argument(argument: Argument) -> dict[str, object]:
    choices = list(argument.choices)
    return {"name": argument.name, "about": argument.about, "required": argument.required, "choices": choices}


def _option(option: Option) -> dict[str, object]:
    return {
        "option": f"--{option.long}",
        "short": f"-{option.short}" if option.short else None,
        "about": option.about,
        "value": None if option.kind == FLAG else option.metavar,
        "choices": list(option.choices),
        "setting": option.key or None,
    }
