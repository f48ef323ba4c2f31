"""Words of a command line: every way to write them, and every complaint."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralphloop.cli.commands import RALPH
from ralphloop.cli.parse import NO_FOLDER_OPTION, parse
from ralphloop.config import load
from ralphloop.core.errors import USAGE, UsageProblem


@pytest.mark.parametrize(
    ("line", "command", "options", "arguments"),
    [
        ("", "help", {}, []),
        ("-h", "help", {}, []),
        ("--help", "help", {}, []),
        ("--help run", "help", {}, ["run"]),
        ("help", "help", {}, []),
        ("help run", "help", {}, ["run"]),
        ("help help", "help", {}, ["help"]),
        ("run --help", "help", {}, ["run"]),
        ("run -n 5 -h", "help", {}, ["run"]),
        ("run -vh", "help", {}, ["run"]),
        ("tell -h", "help", {}, ["tell"]),
        ("completion --help", "help", {}, ["completion"]),
        ("--version", "version", {}, []),
        ("-V", "version", {}, []),
        ("run --version", "version", {}, []),
        ("run", "run", {}, []),
        ("run -n 5", "run", {"max-iterations": 5}, []),
        ("run -n5", "run", {"max-iterations": 5}, []),
        ("run -n=5", "run", {"max-iterations": 5}, []),
        ("run --max-iterations 5", "run", {"max-iterations": 5}, []),
        ("run --max-iterations=5", "run", {"max-iterations": 5}, []),
        ("run -n 5 -n 6", "run", {"max-iterations": 6}, []),
        ("run -vn5", "run", {"verbose": True, "max-iterations": 5}, []),
        ("run -vt 6s", "run", {"verbose": True, "timeout": 6.0}, []),
        ("run -t 15", "run", {"timeout": 900.0}, []),
        ("run -t1h30m", "run", {"timeout": 5_400.0}, []),
        ("run --pause 0", "run", {"pause": 0.0}, []),
        ("run --pause 3", "run", {"pause": 3.0}, []),
        ("run -r 0", "run", {"rate-limit": 0}, []),
        ("run --rate-limit=off", "run", {"rate-limit": 0}, []),
        ("run --on-limit wait", "run", {"on-limit": "wait"}, []),
        ("run -p my=file.md", "run", {"prompt": "my=file.md"}, []),
        ("run --prompt=a=b", "run", {"prompt": "a=b"}, []),
        ("run -p -", "run", {"prompt": "-"}, []),
        ("run --prompt=-v", "run", {"prompt": "-v"}, []),
        ("run --no-archive --dry-run", "run", {"no-archive": True, "dry-run": True}, []),
        (
            "run --reset-circuit --skip-preflight --monitor",
            "run",
            {"reset-circuit": True, "skip-preflight": True, "monitor": True},
            [],
        ),
        (
            "run --dangerously-skip-permissions --json --agent a --model m",
            "run",
            {"dangerously-skip-permissions": True, "json": True, "agent": "a", "model": "m"},
            [],
        ),
        ("run -v -v", "run", {"verbose": True}, []),
        ("status --json --all", "status", {"json": True, "all": True}, []),
        ("stop", "stop", {}, []),
        ("stop --now a-run", "stop", {"now": True}, ["a-run"]),
        ("stop a-run --now", "stop", {"now": True}, ["a-run"]),
        ("tell use it", "tell", {}, ["use it"]),
        ("tell use it --run r", "tell", {"run": "r"}, ["use it"]),
        ("tell -- --help -n", "tell", {}, ["--help -n"]),
        ("tell -", "tell", {}, ["-"]),
        ("log -f", "log", {"follow": True}, []),
        ("log -fn 3 r", "log", {"follow": True, "iteration": 3}, ["r"]),
        ("undo 3 -y", "undo", {"yes": True}, ["3"]),
        ("demo --keep here", "demo", {"keep": "here"}, []),
        ("completion zsh", "completion", {}, ["zsh"]),
        ("run --", "run", {}, []),
    ],
)
def test_reads(line: str, command: str, options: dict[str, Any], arguments: list[str]) -> None:
    parsed = parse(line.split())
    assert (parsed.command, parsed.options, parsed.arguments) == (command, options, arguments)


def test_one_word_with_spaces_stays_as_it_is() -> None:
    assert parse(["tell", "two  words", "more"]).arguments == ["two  words more"]
    assert parse(["run", "--model", " x "]).options == {"model": " x "}


# line, what must be said, what the hint must be (or hold)
REFUSED = [
    ("rnu", '"rnu" is not a command of ralph', "did you mean run?"),
    ("zzz", '"zzz" is not a command of ralph', "see ralph help"),
    ("run --max-iteration 5", "ralph run has no option --max-iteration", "did you mean --max-iterations?"),
    ("run --max_iterations=5", "ralph run has no option --max_iterations", "did you mean --max-iterations?"),
    ("run --follow", "ralph run has no option --follow", "it is an option of ralph log"),
    ("run --zzz", "ralph run has no option --zzz", "see ralph run --help"),
    ("run -z", "ralph run has no option -z", "see ralph run --help"),
    ("run -vz", "ralph run has no option -z", "see ralph run --help"),
    ("run -timeout 5", "-timeout has one dash too few", "write --timeout"),
    ("run -max-iterations=5", "-max-iterations=5 has one dash too few", "write --max-iterations=5"),
    ("run -f user-auth", NO_FOLDER_OPTION, "switch to the feature's branch, then ralph run"),
    ("run -fuser-auth", NO_FOLDER_OPTION, "ralph run"),
    ("run -vf x", NO_FOLDER_OPTION, "ralph run"),
    ("status -f x", NO_FOLDER_OPTION, "ralph status"),
    ("-f x run", NO_FOLDER_OPTION, "ralph run"),
    ("--json status", "ralph has no option --json before the command", "options stand after the command: ralph run"),
    ("--zzz", "ralph has no option --zzz before the command", "see ralph help"),
    ("run -n", "-n needs a value: COUNT", "write -n COUNT"),
    ("run --max-iterations", "--max-iterations needs a value: COUNT", "COUNT"),
    ("run --max-iterations=", "--max-iterations needs a value: COUNT", "COUNT"),
    ("run -p -v", "-p needs a value: FILE", "write -p FILE"),
    ("run -p --", "-p needs a value: FILE", "write -p FILE"),
    ("run -p --timeout=5", "-p needs a value: FILE", "write -p FILE"),
    ("run --dry-run=yes", "--dry-run takes no value", "write --dry-run alone"),
    ("run -v=yes", "-v takes no value", "write -v alone"),
    ("run -n five", '-n must be a whole number from 1, not "five"', "for example -n 5"),
    ("run -n 0", "-n must be a whole number from 1", "for example -n 5"),
    ("run -n -5", '-n must be a whole number from 1, not "-5"', "for example -n 5"),
    ("run -n 1.5", "-n must be a whole number from 1", "for example -n 5"),
    ("run -n ٣", "-n must be a whole number from 1", "for example -n 5"),
    ("run -n 99999999999999999999999", "-n must be a whole number from 1", "for example -n 5"),
    ("run -r lots", '-r must be a whole number from 0 or off, not "lots"', "for example -r 5"),
    ("run -t 0", '-t: "0" is no time at all', "a plain number counts minutes"),
    ("run -t soon", '-t: "soon" is not a length of time', "90s"),
    ("run --pause=-1", '--pause: "-1" is negative', "a plain number counts seconds"),
    ("run --on-limit wiat", '--on-limit must be one of ask, wait, exit, not "wiat"', "did you mean wait?"),
    ("run --on-limit zzz", "--on-limit must be one of ask, wait, exit", "write --on-limit ask"),
    ("run now", '"now" is one word too many: ralph run takes no arguments', "see ralph run --help"),
    ("stop a b", '"b" is one word too many: ralph stop takes [RUN]', "see ralph stop --help"),
    ("tell", "ralph tell needs TEXT", "write ralph tell TEXT"),
    ("completion", "ralph completion needs SHELL: the shell it is for: bash, zsh or fish", "SHELL"),
    ("completion bsh", '"bsh" is not a SHELL', "did you mean bash? known are bash, zsh, fish"),
    ("completion powershell", '"powershell" is not a SHELL', "known are bash, zsh, fish"),
    ("help rnu", '"rnu" is not a COMMAND', "did you mean run?"),
    ("undo last", 'ITERATION must be a whole number from 1, not "last"', ""),
    ("undo 0", "ITERATION must be a whole number from 1", ""),
]


@pytest.mark.parametrize(("line", "said", "hint"), REFUSED)
def test_refuses(line: str, said: str, hint: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        parse(line.split())
    assert said in caught.value.message
    assert hint in caught.value.hint
    assert caught.value.exit_code == USAGE


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        ([""], '"" is not a command'),
        (["tell", ""], "TEXT is empty"),
        (["tell", " ", " "], "TEXT is empty"),
        (["stop", ""], "RUN is empty"),
        (["run", "--model", " "], "--model needs a value"),
        (["run", "--model", "\udcff"], "--model: this is not UTF-8 text"),
        (["tell", "caf\udce9"], "TEXT: this is not UTF-8 text"),
        (["run", "--\x1b[31mred"], "no option --\\x1b[31mred"),
        (["run", "--on-limit", "\x1b[31m"], 'not "\\x1b[31m"'),
        (["x" * 10_000], "…"),
        (["run", "-n", "9" * 10_000], "…"),
    ],
)
def test_odd_words(argv: list[str], said: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        parse(argv)
    assert said in caught.value.message
    assert len(caught.value.message) < 200
    assert "\x1b" not in caught.value.message


def test_a_file_may_have_any_name() -> None:
    assert parse(["run", "-p", "caf\udce9"]).options == {"prompt": "caf\udce9"}


def test_overrides_hold_in_the_configuration(tmp_path: Path) -> None:
    line = "run -n 7 -t 6s -r off --agent scripted --model m --pause 1 --on-limit exit --no-archive -v -p x"
    parsed = parse([*line.split(), "--dangerously-skip-permissions"])
    assert parsed.overrides["archive.on_done"] == (False, "--no-archive")
    config = load(tmp_path, None, parsed.overrides)
    policy = config.policy()
    assert (policy.max_iterations, policy.timeout, policy.rate_per_hour, policy.pause) == (7, 6, None, 1)
    assert (policy.on_limit, policy.archive, policy.skip_permissions) == ("exit", False, True)
    assert config.get("claude.model") == "m"
    assert config.get("defaults.agent") == "scripted"
    assert config.setting("defaults.timeout_minutes").origin == "command line --timeout"
    assert parse(["run"]).overrides == {}
    assert parse([]).overrides == {}


SPELLINGS = [spelling for command in RALPH.commands for option in command.options for spelling in option.spellings]


@given(
    st.lists(st.one_of(st.sampled_from([*RALPH.names, *SPELLINGS, "5", "--", "-"]), st.text(max_size=5)), max_size=6)
)
def test_any_words_are_read_or_refused(argv: list[str]) -> None:
    try:
        assert parse(argv).command in (*RALPH.names, "version")
    except UsageProblem as problem:
        assert problem.message
