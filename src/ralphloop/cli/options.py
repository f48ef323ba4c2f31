"""What a command line is made of: options, arguments, commands, a program."""

# Plain classes: the modules that make better ones take longer to import than the rest of the program to start.

FLAG, TEXT, NUMBER, DURATION, CHOICE, FILE, FOLDER = "flag", "text", "number", "duration", "choice", "file", "folder"
SCOPED = "scoped"  # one value for a run, or one each for a run, a story and a day
SCOPES = ("run", "story", "day")
RUN_NAME, AGENT_NAME = "run", "agent"  # texts of which the program itself knows those that there are


class Option:
    """`key` names the setting of the configuration that the option overrides; a flag sets it to `sets`.

    A scoped one overrides the settings that come of its key with each scope in the place of SCOPE.
    """

    def __init__(
        self,
        long: str,
        about: str,
        *,
        short: str = "",
        kind: str = FLAG,
        metavar: str = "",
        unit: float = 1,
        least: int = 1,
        choices: tuple[str, ...] = (),
        off: bool = False,
        key: str = "",
        sets: bool = True,
        hidden: bool = False,
    ) -> None:
        self.long, self.about, self.short, self.kind, self.unit = long, about, short, kind, unit
        self.least, self.choices, self.off, self.key, self.sets = least, choices, off, key, sets
        self.hidden = hidden  # understood, but not told
        self.metavar = metavar or "|".join(choices)

    @property
    def spellings(self) -> tuple[str, ...]:
        """As they are typed, the short one first."""
        return (f"-{self.short}", f"--{self.long}") if self.short else (f"--{self.long}",)


class Argument:
    """What stands without a dash. With `many`, all words together are one text."""

    def __init__(
        self,
        name: str,
        about: str,
        *,
        required: bool = False,
        many: bool = False,
        kind: str = TEXT,
        choices: tuple[str, ...] = (),
    ) -> None:
        self.name, self.about, self.required, self.many, self.kind, self.choices = (
            name, about, required, many, kind, choices,
        )  # fmt: skip

    @property
    def usage(self) -> str:
        return self.name if self.required else f"[{self.name}]"


class Command:
    def __init__(
        self,
        name: str,
        about: str,
        *,
        options: tuple[Option, ...] = (),
        arguments: tuple[Argument, ...] = (),
        more: str = "",
        examples: tuple[tuple[str, str], ...] = (),
    ) -> None:
        self.name, self.about, self.arguments, self.more, self.examples = name, about, arguments, more, examples
        self.options = (*options, HELP)

    @property
    def shown(self) -> tuple[Option, ...]:
        """The options that help, the reference and completion tell."""
        return tuple(option for option in self.options if not option.hidden)


class Program:
    def __init__(
        self, name: str, about: str, commands: tuple[Command, ...], examples: tuple[tuple[str, str], ...]
    ) -> None:
        self.name, self.about, self.commands, self.examples = name, about, commands, examples

    def command(self, name: str) -> Command | None:
        return next((command for command in self.commands if command.name == name), None)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(command.name for command in self.commands)


HELP = Option("help", "show this help", short="h")
VERSION = Option("version", "print the version", short="V")
