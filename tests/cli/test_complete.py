"""Completion: asked of a real bash; of other shells where they are installed, else by what the script holds."""

import shutil
import subprocess
from pathlib import Path

import pytest

from place import Place
from ralphloop.agents.table import AGENTS
from ralphloop.cli.commands import RALPH
from ralphloop.cli.complete import script
from ralphloop.cli.options import VERSION, Option, Program
from ralphloop.core.errors import UsageProblem

BASH = shutil.which("bash")
OPTIONS = [option for command in RALPH.commands for option in command.shown] + [VERSION]


def completed(words: list[str], folder: Path, program: Program = RALPH) -> list[str]:
    """What bash offers for the last of these words."""
    assert BASH
    (folder / "completion.bash").write_text(script("bash", program))
    ask = 'source ./completion.bash; COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 )); _ralph; '
    ask += 'printf "%s\\n" "${COMPREPLY[@]}"'
    argv = [BASH, "--norc", "-uc", ask, "bash", "ralph", *words]
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, timeout=20, check=True)
    assert done.stderr == ""
    return done.stdout.split("\n")[:-1] if done.stdout.strip() else []


needs_bash = pytest.mark.skipif(BASH is None, reason="bash is not installed")


@needs_bash
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["r"], ["run", "resume"]),
        (["sta"], ["status"]),
        (["--v"], ["--version"]),
        (["run", "--dr"], ["--dry-run"]),
        (["run", "--max-iterations", "5", "--time"], ["--timeout"]),
        (["run", "--on-limit", ""], ["ask", "wait", "exit"]),
        (["run", "--on-limit", "w"], ["wait"]),
        (["run", "--on-limit", "="], ["ask", "wait", "exit"]),
        (["run", "--on-limit", "=", "e"], ["exit"]),
        (["run", "-n", ""], []),
        (["run", "--model", "--"], []),
        (["log", "--fo"], ["--follow"]),
        (["log", "-n", ""], []),
        (["completion", ""], ["bash", "zsh", "fish"]),
        (["completion", "-"], ["-h", "--help"]),
        (["help", "va"], ["validate"]),
        (["stop", "--n"], ["--now"]),
        (["nothing", ""], []),
        (["run", "-p", "two w"], ["two words.md"]),
        (["run", "--prompt", "=", "two"], ["two words.md"]),
        (["demo", "--keep", ""], ["a folder"]),
    ],
)
def test_bash_offers(words: list[str], offered: list[str], tmp_path: Path) -> None:
    (tmp_path / "two words.md").write_text("")
    (tmp_path / "a folder").mkdir()
    assert sorted(completed(words, tmp_path)) == sorted(offered)


@needs_bash
def test_bash_offers_all_options_of_a_command(tmp_path: Path) -> None:
    run = RALPH.command("run")
    assert run is not None
    expected = {spelling for option in run.shown for spelling in option.spellings}
    assert set(completed(["run", ""], tmp_path)) == expected


@needs_bash
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["log", ""], ["20260101-one", "20260102-two"]),
        (["stop", "20260102"], ["20260102-two"]),
        (["undo", "--run", ""], ["20260101-one", "20260102-two"]),
        (["tell", "--run", "="], ["20260101-one", "20260102-two"]),
        (["run", "--agent", "h"], ["helper"]),
        (["log", "--ra"], ["--raw"]),
    ],
)
def test_bash_asks_the_program_for_names(
    words: list[str], offered: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bin" / "ralph"
    program.parent.mkdir()
    program.write_text(
        "#!/bin/sh\ncase $* in 'list --names') printf '20260101-one\\n20260102-two\\n' ;;"
        " 'config --agents') printf 'claude\\nhelper\\n' ;; esac\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    assert completed(words, tmp_path) == offered


def test_the_names_are_those_there_are(place: Place) -> None:
    assert place.ralph("list", "--names").out == ""
    place.ralph("run")
    assert place.ralph("list", "--names").out == f"{place.run_folder().name}\n"
    assert place.ralph("config", "--agents").out.split() == list(AGENTS)


@needs_bash
def test_bash_loads_it_by_eval() -> None:
    ask = 'eval "$1"; complete -p ralph'
    argv = [str(BASH), "--norc", "-c", ask, "bash", script("bash", RALPH)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=20, check=True)
    assert done.stdout == "complete -F _ralph ralph\n"


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_shell_finds_no_fault(shell: str, tmp_path: Path) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    (tmp_path / "script").write_text(script(shell, RALPH))
    done = subprocess.run([program, "-n", "script"], cwd=tmp_path, capture_output=True, text=True, timeout=20)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", RALPH.names)
def test_every_script_names_every_command(name: str) -> None:
    assert f"            {name})\n" in script("bash", RALPH)
    assert f"        {name})\n" in script("zsh", RALPH)
    assert f"-a {name} -d" in script("fish", RALPH)


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.long)
def test_every_script_names_every_option(option: Option) -> None:
    assert all(spelling in script("bash", RALPH) for spelling in option.spellings)
    assert f"--{option.long}" in script("zsh", RALPH)
    assert f"-l {option.long} " in script("fish", RALPH)
    assert not option.short or f"-s {option.short} -l {option.long} " in script("fish", RALPH)


@pytest.mark.parametrize(
    ("shell", "line"),
    [
        ("zsh", "#compdef ralph"),
        ("zsh", "'--on-limit=[what to do at the usage limit (default ask)]:ask|wait|exit:(ask wait exit)'"),
        ("zsh", "'(-p --prompt)'{-p+,--prompt=}'[a prompt of your own instead of the usual one]:FILE:_files'"),
        ("zsh", "'--raw[the agent'\\''s output as it came]'"),
        ("zsh", "':SHELL:(bash zsh fish)'"),
        ("fish", "-s p -l prompt -r -F -d"),
        ("fish", "-l on-limit -x -a 'ask wait exit' -d"),
        ("fish", "-d 'the agent\\'s output as it came'"),
        ("fish", "-n '__fish_seen_subcommand_from completion' -a 'bash zsh fish'"),
        ("fish", "-n '__fish_seen_subcommand_from log' -a '(ralph list --names 2>/dev/null)' -d 'RUN'"),
        ("fish", "-l agent -x -a '(ralph config --agents 2>/dev/null)' -d"),
        (
            "zsh",
            "'--agent=[the agent to run (default claude), or several in turn, as claude,codex]:NAME:_ralph_agents'",
        ),
        ("zsh", '_ralph_runs() { compadd -- ${(f)"$(ralph list --names 2>/dev/null)"} }'),
        ("zsh", "'::RUN:_ralph_runs'"),
    ],
)
def test_quoting(shell: str, line: str) -> None:
    assert line in script(shell, RALPH)


def test_a_program_with_a_dash_has_a_function_without() -> None:
    other = Program("wt-loop", RALPH.about, RALPH.commands, ())
    assert "complete -F _wt_loop wt-loop" in script("bash", other)
    assert "compdef _wt_loop wt-loop" in script("zsh", other)


def test_unknown_shell() -> None:
    with pytest.raises(UsageProblem, match='no completion for "tcsh"'):
        script("tcsh", RALPH)
