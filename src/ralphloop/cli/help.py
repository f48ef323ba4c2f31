"""The help texts, made from the table: plain text, never wider than 80 columns."""

from ralphloop.cli.options import FLAG, HELP, VERSION, Command, Option, Program
from ralphloop.core import errors

WIDTH = 80
COLUMN = 31
EXIT_CODES = (
    (str(errors.DONE), "done: every story passes, every check is green"),
    (str(errors.NOT_DONE), "not done: iterations used up, circuit breaker, an error before the start"),
    (str(errors.LIMITED), "the usage limit was met"),
    (str(errors.USAGE), "the command line or the configuration cannot be understood"),
    (str(errors.INTERNAL), "a bug in ralphloop; the path of its log is printed"),
    *((str(code), f"ended by {name}") for name, code in errors.SIGNALLED.items() if code < errors.BROKEN_PIPE),
    (str(errors.BROKEN_PIPE), "nobody read the output any more; a run goes on all the same"),
    *((str(code), f"ended by {name}") for name, code in errors.SIGNALLED.items() if code > errors.BROKEN_PIPE),
)


def overview(program: Program) -> str:
    """What the program is, its commands, and how it ends."""
    commands = [(command.name, command.about) for command in program.commands]
    return _joined(
        _wrapped(program.about, WIDTH),
        _headed("Usage", [f"  {program.name} COMMAND [OPTIONS] [ARGUMENTS]"]),
        _headed("Commands", _rows(commands)),
        _headed("Options", _rows([_option_row(HELP), _option_row(VERSION)])),
        _headed("Examples", _rows(_commented(program.examples))),
        _headed("Exit codes", _rows([(code.rjust(3), about) for code, about in EXIT_CODES])),
        _wrapped(f"`{program.name} COMMAND --help` explains a command.", WIDTH),
    )


def explained(program: Program, command: Command) -> str:
    """One command: how it is called and all it takes."""
    arguments = [(argument.name, argument.about) for argument in command.arguments]
    return _joined(
        _wrapped(_sentence(command.about), WIDTH),
        _headed("Usage", _usage(program, command)),
        _headed("Arguments", _rows(arguments)) if arguments else [],
        _headed("Options", _rows([_option_row(option) for option in command.shown])),
        _headed("Examples", _rows(_commented(command.examples))) if command.examples else [],
        _wrapped(command.more, WIDTH) if command.more else [],
    )


def _usage(program: Program, command: Command) -> list[str]:
    words = [program.name, command.name]
    words += ["[OPTIONS]"] if len(command.options) > 1 else []
    words += [argument.usage for argument in command.arguments]
    return [f"  {' '.join(words)}"]


def _option_row(option: Option) -> tuple[str, str]:
    short, long = (f"-{option.short}, " if option.short else "    "), f"--{option.long}"
    return f"{short}{long}" + ("" if option.kind == FLAG else f" {option.metavar}"), option.about


def _commented(examples: tuple[tuple[str, str], ...]) -> list[tuple[str, str]]:
    """What can be copied as a whole."""
    return [(line, f"# {about}") for line, about in examples]


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _headed(title: str, lines: list[str]) -> list[str]:
    return [f"{title}:", *lines]


def _joined(*blocks: list[str]) -> str:
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def _rows(rows: list[tuple[str, str]]) -> list[str]:
    """Two columns; a label too long for its column has a line of its own."""
    wide = [len(label) for label, _ in rows if len(label) <= COLUMN]
    column = max(wide, default=COLUMN) + 4
    lines = []
    for label, text in rows:
        first, *more = _wrapped(text, WIDTH - column)
        if len(label) + 4 > column:
            lines += [f"  {label}", f"{'':{column}}{first}"]
        else:
            lines.append(f"{f'  {label}':{column}}{first}")
        lines += [f"{'':{column}}{line}" for line in more]
    return lines


def _wrapped(text: str, width: int) -> list[str]:
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".lstrip()
        if len(longer) > width and lines[-1]:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines
