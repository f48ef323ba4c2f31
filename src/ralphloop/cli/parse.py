"""Words of a command line into a command, its options and its arguments, by the table."""

from ralphloop.cli.commands import RALPH
from ralphloop.cli.options import (
    CHOICE,
    DURATION,
    FILE,
    FLAG,
    FOLDER,
    NUMBER,
    SCOPED,
    SCOPES,
    VERSION,
    Argument,
    Command,
    Option,
    Program,
)
from ralphloop.core import duration
from ralphloop.core.errors import UsageProblem

Value = str | int | float | bool
NO_FOLDER_OPTION = "there is no -f: the feature folder comes from the branch"
LARGEST = 1_000_000_000


class Parsed:
    """`options` holds what was given, by long name; what was not given is not in it. Durations are in seconds."""

    def __init__(self, command: str, options: dict[str, Value], arguments: list[str], program: Program = RALPH) -> None:
        self.command, self.options, self.arguments, self.program = command, options, arguments, program

    @property
    def overrides(self) -> dict[str, tuple[Value, str]]:
        """What the options say about settings of the configuration, with the option's name."""
        command = self.program.command(self.command)
        known = {option.long: option for option in command.options} if command else {}
        found: dict[str, tuple[Value, str]] = {}
        for long, value in self.options.items():
            option, name = known[long], f"--{long}"
            if option.kind == SCOPED:
                parts = scoped(name, str(value)).items()
                found |= {option.key.replace("SCOPE", scope): (part, name) for scope, part in parts}
            elif option.key:
                found[option.key] = (option.sets if option.kind == FLAG else value, name)
        return found


def parse(argv: list[str], program: Program = RALPH) -> Parsed:
    """Without words, or with -h anywhere, the command is "help"; with --version, "version"."""
    for word in argv[:1]:
        if word in VERSION.spellings:
            return Parsed("version", {"json": True} if "--json" in argv else {}, [], program)
        if word in ("-h", "--help"):
            # what follows is the command to explain
            return parse(["help", *(one for one in argv[1:] if one == "--json" or one[:1] != "-")], program)
        if word.startswith("-"):
            raise _no_command(word, program)
    if not argv:
        return Parsed("help", {}, [], program)
    command = program.command(argv[0])
    if command is None:
        what = f'"{_shown(argv[0])}" is not a command of {program.name}'
        raise UsageProblem(what, _near(argv[0], program.names) or f"see {program.name} help")
    reading = _Reading(program, command, argv[1:])
    reading.read()
    as_json: dict[str, Value] = {"json": True} if "json" in reading.options else {}
    if "help" in reading.options:
        return Parsed("help", as_json, [command.name], program)
    if "version" in reading.options:
        return Parsed("version", as_json, [], program)
    return Parsed(command.name, reading.options, _arguments(program, command, reading.arguments), program)


class _Reading:
    """The words after the command, taken from the left."""

    def __init__(self, program: Program, command: Command, words: list[str]) -> None:
        self.program, self.command, self.words = program, command, words[::-1]
        self.options: dict[str, Value] = {}
        self.arguments: list[str] = []
        self.known = {spelling: option for option in command.options for spelling in option.spellings}

    def read(self) -> None:
        while self.words:
            word = self.words.pop()
            if word == "--":
                self.arguments += self.words[::-1]
                return
            if word in VERSION.spellings:
                self.options["version"] = True
            elif word.startswith("--"):
                self._long(word)
            elif word.startswith("-") and word != "-":
                self._short(word)
            else:
                self.arguments.append(word)

    def _long(self, word: str) -> None:
        name, has_value, value = word.partition("=")
        option = self.known.get(name)
        if option is None:
            raise self._unknown(name)
        if option.kind != FLAG:
            self._take(option, name, value if has_value else self._next(name, option))
        elif has_value:
            raise UsageProblem(f"{name} takes no value", f"write {name} alone")
        else:
            self.options[option.long] = True

    def _short(self, word: str) -> None:
        if len(word) > 2 and f"-{word.partition('=')[0]}" in self.known:
            raise UsageProblem(f"{_shown(word)} has one dash too few", f"write -{_shown(word)}")
        for at, letter in enumerate(word[1:], 2):
            name = f"-{letter}"
            option = self.known.get(name)
            if option is None:
                raise self._unknown(name)
            if option.kind != FLAG:
                rest = word[at:].removeprefix("=")
                self._take(option, name, rest if word[at:] else self._next(name, option))
                return
            if word[at:].startswith("="):
                raise UsageProblem(f"{name} takes no value", f"write {name} alone")
            self.options[option.long] = True

    def _next(self, name: str, option: Option) -> str:
        if not self.words or self.words[-1] == "--" or self.words[-1].partition("=")[0] in self.known:
            raise UsageProblem(f"{name} needs a value: {option.metavar}", f"write {name} {option.metavar}")
        return self.words.pop()

    def _take(self, option: Option, name: str, value: str) -> None:
        before = self.options.get(option.long)
        found = _value(option, name, value)
        self.options[option.long] = f"{before},{found}" if before and option.kind == SCOPED else found

    def _unknown(self, name: str) -> UsageProblem:
        called = f"{self.program.name} {self.command.name}"
        if name == "-f":
            return UsageProblem(NO_FOLDER_OPTION, f"switch to the feature's branch, then {called}")
        hint = _near(name, tuple(self.known))
        others = [one.name for one in self.program.commands if any(name in option.spellings for option in one.options)]
        if others:
            hint = f"it is an option of {self.program.name} {others[0]}"
        shown = _shown(name)
        return UsageProblem(f"{called} has no option {shown}", hint or f"see {called} --help; a text goes after --")


def _value(option: Option, name: str, text: str) -> Value:
    """What the option's kind makes of the text."""
    if not text.strip():
        raise UsageProblem(f"{name} needs a value: {option.metavar}", f"write {name} {option.metavar}")
    if option.kind == DURATION:
        try:
            return duration.seconds(text, option.unit, zero=option.least == 0)
        except UsageProblem as problem:
            raise UsageProblem(f"{name}: {problem.message}", problem.hint) from None
    if option.kind == NUMBER:
        if option.off and text.lower() == "off":
            return 0
        return _number(name, text, option.least, " or off" if option.off else "")
    if option.kind == SCOPED:
        scoped(name, text)
    if option.kind == CHOICE and text not in option.choices:
        hint = _near(text, option.choices) or f"write {name} {option.choices[0]}"
        raise UsageProblem(f'{name} must be one of {", ".join(option.choices)}, not "{_shown(text)}"', hint)
    return text if option.kind in (FILE, FOLDER) else _readable(name, text)


def scoped(name: str, text: str) -> dict[str, str]:
    """`20` is for the run; `20,day=50,story=5` for each as it says."""
    found: dict[str, str] = {}
    for part in text.split(","):
        scope, named, value = part.strip().rpartition("=")
        scope = scope.strip() if named else "run"
        if scope not in SCOPES or not value.strip():
            hint = f"write {name} 20 for the run, or {name} run=20,story=5,day=50"
            raise UsageProblem(f'{name}: "{_shown(part)}" is no limit of a run, a story or a day', hint)
        found[scope] = value.strip()
    return found


def _arguments(program: Program, command: Command, words: list[str]) -> list[str]:
    called = f"{program.name} {command.name}"
    if command.arguments and command.arguments[-1].many:
        before = len(command.arguments) - 1
        words = words[:before] + ([" ".join(words[before:])] if words[before:] else [])
    if len(words) > len(command.arguments):
        extra = _shown(words[len(command.arguments)])
        takes = " ".join(argument.usage for argument in command.arguments) or "no arguments"
        raise UsageProblem(f'"{extra}" is one word too many: {called} takes {takes}', f"see {called} --help")
    for argument, word in zip(command.arguments, words, strict=False):
        _argument(called, argument, word)
    for argument in command.arguments[len(words) :]:
        if argument.required:
            raise UsageProblem(f"{called} needs {argument.name}: {argument.about}", f"write {called} {argument.name}")
    return words


def _argument(called: str, argument: Argument, word: str) -> None:
    if not word.strip():
        raise UsageProblem(f"{called}: {argument.name} is empty", f"write {called} {argument.name}")
    if argument.kind == NUMBER:
        _number(argument.name, word, 1, example=f"{called} 3")
    if argument.choices and word not in argument.choices:
        hint = " ".join((_near(word, argument.choices), f"known are {', '.join(argument.choices)}")).strip()
        raise UsageProblem(f'{called}: "{_shown(word)}" is not a {argument.name}', hint)
    _readable(argument.name, word)


def _number(name: str, text: str, least: int, more: str = "", example: str = "") -> int:
    digits = text.removeprefix("-")
    number = int(text) if digits.isascii() and digits.isdecimal() and len(digits) < 20 else None
    if number is None or not least <= number <= LARGEST:
        what = f"must be a whole number from {least}{more}"
        raise UsageProblem(f'{name} {what}, not "{_shown(text)}"', f"for example {example or f'{name} 5'}")
    return number


def _readable(name: str, text: str) -> str:
    """Bytes that are no text arrive as lone surrogates and could not be written down later."""
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        raise UsageProblem(f"{name}: this is not UTF-8 text", "look at the terminal's encoding")
    return text


def _no_command(word: str, program: Program) -> UsageProblem:
    if word.startswith("-f"):
        return UsageProblem(NO_FOLDER_OPTION, f"switch to the feature's branch, then {program.name} run")
    name = word.partition("=")[0]
    owner = next((one.name for one in program.commands if any(name in o.spellings for o in one.options)), "")
    hint = f"options stand after the command: {program.name} {owner} {name}" if owner else f"see {program.name} help"
    return UsageProblem(f"{program.name} has no option {_shown(name)} before the command", hint)


def _near(word: str, known: tuple[str, ...]) -> str:
    from difflib import get_close_matches

    found = get_close_matches(word.replace("_", "-").lower()[:60], known, 1, 0.6)
    return f"did you mean {found[0]}?" if found else ""


def _shown(text: str) -> str:
    shown = repr(text)[1:-1]
    return shown if len(shown) <= 60 else f"{shown[:59]}…"
