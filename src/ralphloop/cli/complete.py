"""Completion scripts for bash, zsh and fish, made from the table."""

from collections.abc import Iterable

from ralphloop.cli.options import (
    AGENT_NAME,
    FILE,
    FLAG,
    FOLDER,
    HELP,
    RUN_NAME,
    VERSION,
    Argument,
    Command,
    Option,
    Program,
)
from ralphloop.core.errors import UsageProblem

FILES, FOLDERS = "@files", "@folders"  # stand for what only the shell can list
RUNS, AGENTS = "@runs", "@agents"  # stand for what the program is asked for when it is needed
ASKED = {RUNS: "list --names", AGENTS: "config --agents"}


def script(shell: str, program: Program) -> str:
    """The text to be evaluated by the shell."""
    made = {"bash": bash, "zsh": zsh, "fish": fish}.get(shell)
    if made is None:
        raise UsageProblem(f'there is no completion for "{shell}"', "known are bash, zsh and fish")
    return made(program)


def _words(taker: Option | Argument) -> str:
    """What can stand as the value."""
    return {FILE: FILES, FOLDER: FOLDERS, RUN_NAME: RUNS, AGENT_NAME: AGENTS}.get(taker.kind) or " ".join(taker.choices)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


BASH = """\
# completion of {name} for bash; load it with: eval "$({name} completion bash)"
_{function}() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} previous= command=${{COMP_WORDS[1]}} words= IFS=$' \\t\\n'
    COMPREPLY=()
    (( COMP_CWORD > 0 )) && previous=${{COMP_WORDS[COMP_CWORD-1]}}
    # readline makes a word of its own of the = in --option=value
    if [[ $current == "=" ]]; then
        current=
    elif [[ $previous == "=" ]]; then
        previous=${{COMP_WORDS[COMP_CWORD-2]}}
    fi
    if (( COMP_CWORD <= 1 )); then
        words={top}
    else
        case "$command $previous" in
{values}
        *)
            case "$command" in
{commands}
            esac
            ;;
        esac
    fi
    if [[ $words == {files} || $words == {folders} ]]; then
        local kind=-f
        [[ $words == {folders} ]] && kind=-d
        IFS=$'\\n'
        COMPREPLY=( $(compgen "$kind" -- "$current") )
        compopt -o filenames 2>/dev/null
        return 0
    fi
    case "$words" in
{asked}
    esac
    COMPREPLY=( $(compgen -W "$words" -- "$current") )
    return 0
}}
complete -F _{function} {name}
"""


def bash(program: Program) -> str:
    values, commands = [], []
    for command in program.commands:
        for option in command.shown:
            if option.kind != FLAG:
                patterns = "|".join(_quoted(f"{command.name} {spelling}") for spelling in option.spellings)
                values.append(f"        {patterns}) words={_quoted(_words(option))} ;;")
        options = " ".join(spelling for option in command.shown for spelling in option.spellings)
        # options only once a dash is typed, where an argument can stand as well
        arguments = " ".join(_words(argument) for argument in command.arguments).strip()
        commands.append(f"            {command.name})")
        commands.append(f"                words={_quoted(options)}")
        if arguments:
            commands.append(f"                [[ $current == -* ]] || words={_quoted(arguments)}")
        commands.append("                ;;")
    return BASH.format(
        name=program.name,
        function=program.name.replace("-", "_"),
        top=_quoted(" ".join((*program.names, "-h", "--help", *VERSION.spellings))),
        values="\n".join(values),
        commands="\n".join(commands),
        files=FILES,
        folders=FOLDERS,
        asked="\n".join(f"    {word}) words=$({program.name} {ask} 2>/dev/null) ;;" for word, ask in ASKED.items()),
    )


ZSH = """\
#compdef {name}
# completion of {name} for zsh; load it with: eval "$({name} completion zsh)"
{asked}
_{function}() {{
    local curcontext="$curcontext" state line ret=1
    local -A opt_args
    local -a commands
    commands=(
{commands}
    )
    _arguments -C {top} \\
        '1: :->command' '*:: :->rest' && ret=0
    case $state in
    command)
        _describe -t commands {described} commands && ret=0
        ;;
    rest)
        case $words[1] in
{cases}
        esac
        ;;
    esac
    return ret
}}
if [[ $funcstack[1] == _{function} ]]; then
    _{function} "$@"
else
    compdef _{function} {name}
fi
"""


def zsh(program: Program) -> str:
    cases = []
    for command in program.commands:
        specs = [_zsh_option(program, option) for option in command.shown]
        specs += [_zsh_argument(program, argument) for argument in command.arguments]
        joined = " \\\n                ".join(specs)
        cases += [f"        {command.name})", f"            _arguments -s -S \\\n                {joined} && ret=0"]
        cases.append("            ;;")
    return ZSH.format(
        name=program.name,
        function=program.name.replace("-", "_"),
        commands="\n".join(f"        {_quoted(f'{one.name}:{one.about}')}" for one in program.commands),
        top=" ".join(_zsh_option(program, option) for option in (HELP, VERSION)),
        asked="\n".join(
            f'{_zsh_function(program, word)}() {{ compadd -- ${{(f)"$({program.name} {ask} 2>/dev/null)"}} }}'
            for word, ask in ASKED.items()
        ),
        described=_quoted(f"{program.name} command"),
        cases="\n".join(cases),
    )


def _zsh_text(text: str) -> str:
    return text.replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")


def _zsh_function(program: Program, word: str) -> str:
    return f"_{program.name.replace('-', '_')}_{word[1:]}"


def _zsh_action(program: Program, taker: Option | Argument) -> str:
    words = _words(taker)
    if words in ASKED:
        return _zsh_function(program, words)
    return {FILES: "_files", FOLDERS: "_files -/", "": " "}.get(words, f"({words})")


def _zsh_option(program: Program, option: Option) -> str:
    value = "" if option.kind == FLAG else f":{_zsh_text(option.metavar)}:{_zsh_action(program, option)}"
    about = f"[{_zsh_text(option.about)}]{value}"
    # a plus: the value may be in the same word or the next; an equals sign: likewise, after =
    plus, equals = ("", "") if option.kind == FLAG else ("+", "=")
    if not option.short:
        return _quoted(f"--{option.long}{equals}{about}")
    excluded = _quoted(f"({' '.join(option.spellings)})")
    return f"{excluded}{{-{option.short}{plus},--{option.long}{equals}}}{_quoted(about)}"


def _zsh_argument(program: Program, argument: Argument) -> str:
    place = "*" if argument.many else ("" if argument.required else ":")
    return _quoted(f"{place}:{_zsh_text(argument.name)}:{_zsh_action(program, argument)}")


def fish(program: Program) -> str:
    lines = [
        f"# completion of {program.name} for fish; load it with: {program.name} completion fish | source",
        f"complete -c {program.name} -f",
    ]
    first = f"complete -c {program.name} -n __fish_use_subcommand"
    lines += [f"{first} -a {command.name} -d {_fish(command.about)}" for command in program.commands]
    lines += [f"{first} {_fish_option(option, program.name)}" for option in (HELP, VERSION)]
    for command in program.commands:
        lines += _fish_command(program, command)
    return "\n".join(lines) + "\n"


def _fish_command(program: Program, command: Command) -> Iterable[str]:
    start = f"complete -c {program.name} -n '__fish_seen_subcommand_from {command.name}'"
    for option in command.shown:
        yield f"{start} {_fish_option(option, program.name)}"
    for argument in command.arguments:
        if words := _fish_words(_words(argument), program.name):
            yield f"{start} -a {words} -d {_fish(argument.name)}"


def _fish_words(words: str, program: str) -> str:
    return f"'({program} {ASKED[words]} 2>/dev/null)'" if words in ASKED else _fish(words) if words else ""


def _fish_option(option: Option, program: str) -> str:
    short = f"-s {option.short} " if option.short else ""
    words = _words(option)
    folders = "-x -a '(__fish_complete_directories)' "
    value = {FILES: "-r -F ", FOLDERS: folders, "": "-x "}.get(words, f"-x -a {_fish_words(words, program)} ")
    return f"{short}-l {option.long} {'' if option.kind == FLAG else value}-d {_fish(option.about)}"


def _fish(text: str) -> str:
    """Inside single quotes fish knows a backslash before a quote or a backslash."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
