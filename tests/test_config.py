"""The configuration: what holds, where it comes from, and every complaint."""

import os
import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from msgspec.structs import replace

import ralphloop
from place import ROOT
from ralphloop.agents.table import AGENTS as AGENT_KINDS
from ralphloop.config import Config, load, plain, shown
from ralphloop.config.document import ALIASES, DEEPEST, LARGEST
from ralphloop.config.table import BY_NAME, KEYS
from ralphloop.core.errors import NOT_DONE, USAGE, Problem, UsageProblem
from ralphloop.core.policy import Bound, CheckRule, Policy, PromptRule
from ralphloop.core.price import TABLE, Price

Folders = tuple[Path, Path]


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    home, worktree = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    (worktree / ".ralph").mkdir(parents=True)
    return home, worktree


def write(folder: Path, content: str | bytes) -> Path:
    file = folder / "config.yaml"
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return file


def project(folders: Folders, content: str | bytes) -> Config:
    write(folders[1] / ".ralph", content)
    return load(*folders)


def refusal(folders: Folders, content: str | bytes) -> Problem:
    with pytest.raises(Problem) as caught:
        project(folders, content)
    return caught.value


def test_built_in_is_the_policy_s_own(tmp_path: Path) -> None:
    config = load(tmp_path / "nowhere", None)
    assert config.policy() == Policy()
    assert {setting.origin for setting in config.settings} == {"built in"}
    assert [setting.key for setting in config.settings] == [key.name for key in KEYS]
    assert config.get("protected_branches") == ("main", "master", "develop")
    assert config.checks == ()


def test_every_field_of_the_policy_has_a_key() -> None:
    fields = {key.field for key in KEYS if key.field}
    own = {*Policy.__struct_fields__} - {"junk", "checks", "prompt", "budget"}
    own -= {"agents", "accounts", "models"}  # made of the sections of the agents
    bounds = {f"budget.{scope}.{field}" for scope in ("run", "story", "day") for field in Bound.__struct_fields__}
    attempt = {"budget.attempt.cost", "budget.attempt.tokens"}
    assert fields == own | bounds | attempt | {f"prompt.{field}" for field in PromptRule.__struct_fields__}


def test_missing_and_empty_files_are_nothing(folders: Folders) -> None:
    built_in = load(*folders)
    for content in ("", "\n\n", "# only a comment\n", "---\n", "\ufeff", "defaults:\nquality_checks:\nagents: ~\n"):
        write(folders[0], content)
        assert project(folders, content) == built_in


def test_order_of_the_layers(folders: Folders) -> None:
    home, worktree = folders
    global_file = write(home, "defaults:\n  max_iterations: 5\n  pause_seconds: 1\n  timeout_minutes: 3\n")
    project_file = write(worktree / ".ralph", "# mine\ndefaults:\n  max_iterations: 30\n  timeout_minutes: 90s\n")
    config = load(home, worktree, {"defaults.timeout_minutes": (120.0, "--timeout")})
    assert (config.get("defaults.pause_seconds"), config.setting("defaults.pause_seconds").origin) == (
        1,
        f"{global_file}:3",
    )
    assert config.setting("defaults.max_iterations").origin == f"{project_file}:3"
    assert config.setting("defaults.timeout_minutes").origin == "command line --timeout"
    policy = config.policy()
    assert (policy.max_iterations, policy.pause, policy.timeout) == (30, 1, 120)


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("defaults.max_iterations", "30", 30),
        ("defaults.max_iterations", '"30"', 30),
        ("defaults.max_iterations", "010", 10),
        ("defaults.timeout_minutes", "15", 900),
        ("defaults.timeout_minutes", "0.5", 30),
        ("defaults.timeout_minutes", "1h30m", 5_400),
        ("defaults.pause_seconds", "0", 0),
        ("defaults.rate_limit_per_hour", "0", None),
        ("defaults.rate_limit_per_hour", "off", None),
        ("defaults.rate_limit_per_hour", '"off"', None),
        ("defaults.rate_limit_per_hour", "~", None),
        ("defaults.silence_minutes", "5", 300),
        ("defaults.silence_minutes", "off", None),
        ("defaults.on_limit", "Wait", "wait"),
        ("circuit_breaker.no_progress_threshold", "off", None),
        ("completion.promise", '"<promise>ALL DONE</promise>"', "<promise>ALL DONE</promise>"),
        ("completion.trust_promise", "yes", True),
        ("completion.require_commit", "off", False),
        ("claude.allowed_tools", "[Write, 'Bash(git *)']", "Write,Bash(git *)"),
        ("claude.allowed_tools", ">\n    Write,Read\n", "Write,Read"),
        ("claude.model", "4", "4"),
        ("claude.model", '""', ""),
        ("claude.args", "[--a, '', 5]", ("--a", "", "5")),
        ("claude.args", "--one", ("--one",)),
        ("supervision.output_limit_megabytes", "2", 2),
        ("limits.account", "team-a", "team-a"),
        ("source.file", "docs/tasks.md", "docs/tasks.md"),
        ("source.kind", "tasks", "tasks"),
    ],
)
def test_values(folders: Folders, key: str, text: str, value: Any) -> None:
    section, name = key.split(".")
    assert project(folders, f"{section}:\n  {name}: {text}\n").get(key) == value


def test_protected_branches(folders: Folders) -> None:
    assert project(folders, "protected_branches: [trunk, release/1]").get("protected_branches") == (
        "trunk",
        "release/1",
    )
    assert project(folders, "protected_branches: []").get("protected_branches") == ()
    assert project(folders, "protected_branches: trunk").get("protected_branches") == ("trunk",)


def test_policy_is_scaled(folders: Folders) -> None:
    text = "supervision: {output_limit_megabytes: 2}\nprompt: {inline: false, file_size: 7}\narchive: {on_done: no}\n"
    policy = project(folders, text).policy()
    assert policy.output_limit == 2 << 20
    assert policy.prompt == PromptRule(inline=False, file_size=7)
    assert policy.archive is False


# key, value as written, what must be said, what the hint must hold
REFUSED_VALUES = [
    ("defaults.max_iterations", "0", "must be from 1", "max_iterations: 20"),
    ("defaults.max_iterations", "-3", "must be from 1", ""),
    ("defaults.max_iterations", "1.5", 'must be a whole number, not "1.5"', ""),
    ("defaults.max_iterations", "many", "must be a whole number", ""),
    ("defaults.max_iterations", "true", "must be a whole number", ""),
    ("defaults.max_iterations", "9" * 5_000, "must be a whole number", ""),
    ("defaults.max_iterations", "", "has no value", "remove the line"),
    ("defaults.max_iterations", "[1]", "not a list", ""),
    ("defaults.max_iterations", "{a: 1}", "not a section", ""),
    ("defaults.timeout_minutes", "0", "is no time at all", "90s"),
    ("defaults.timeout_minutes", "off", "is not a length of time", "90s"),
    ("defaults.timeout_minutes", ".nan", 'unknown unit "nan"', "plain number counts minutes"),
    ("defaults.timeout_minutes", "1:30", "unknown unit", ""),
    ("defaults.rate_limit_per_hour", "-1", "must be from 1", ""),
    ("defaults.rate_limit_per_hour", "lots", "whole number or off", ""),
    ("defaults.on_limit", "wiat", "must be one of ask, wait, exit", "did you mean wait?"),
    ("defaults.on_limit", "zzz", "must be one of ask, wait, exit", "ask, wait, exit"),
    ("defaults.agent", "../x", "must be a plain name", ""),
    ("completion.promise", '""', "is empty", ""),
    ("completion.promise", '"a\\nb"', "control characters", ""),
    ("completion.promise", "x" * 5_000, "5000 characters", ""),
    ("completion.trust_promise", "maybe", "must be true or false", ""),
    ("completion.trust_promise", "1", "must be true or false", ""),
    ("claude.args", "{a: b}", "not a section", ""),
    ("claude.args", "[[a]]", "list of texts", ""),
    ("claude.args", "[a, ~]", "list of texts", ""),
    ("limits.account", "a/b", "must be a plain name", ""),
    ("source.file", "../outside.md", "inside the repository", "relative"),
    ("source.file", "/etc/passwd", "inside the repository", "relative"),
]


@pytest.mark.parametrize(("key", "text", "said", "hint"), REFUSED_VALUES)
def test_refused_values_name_file_line_and_key(folders: Folders, key: str, text: str, said: str, hint: str) -> None:
    section, name = key.split(".")
    problem = refusal(folders, f"# a comment\n{section}:\n  {name}: {text}\n")
    assert problem.message.startswith(f"{folders[1]}/.ralph/config.yaml:3: {key} ")
    assert said in problem.message
    assert hint in problem.hint
    assert problem.hint
    assert problem.exit_code == USAGE


@pytest.mark.parametrize(
    ("content", "line", "said", "hint"),
    [
        ("default:\n  max_iterations: 3\n", 1, "default is not a section", "did you mean defaults?"),
        ("max_iterations: 3\n", 1, "max_iterations is not a section", "did you mean defaults.max_iterations?"),
        ("defaults.timeout_minutes: 3\n", 1, "is not a section", "did you mean defaults.timeout_minutes?"),
        ("zebra: 3\n", 1, "zebra is not a section", "known here: defaults, circuit_breaker"),
        (
            "defaults:\n  max_iteration: 3\n",
            2,
            "defaults.max_iteration is not",
            "did you mean defaults.max_iterations?",
        ),
        ("defaults:\n  allowed_tools: x\n", 2, "allowed_tools is not a key", "did you mean claude.allowed_tools?"),
        ("views:\n  zebra: x\n", 2, "views.zebra is not a key", "known here: views.loop_state"),
        ("defaults:\n  agent: a\n  agent: b\n", 3, "defaults.agent stands twice, first in line 2", "remove one"),
        ("defaults: {}\ndefaults: {}\n", 2, "defaults stands twice, first in line 1", "remove one"),
        ("defaults: 5\n", 1, "defaults must be a section", "indented"),
        ("defaults: [a]\n", 1, "defaults must be a section", "indented"),
        ("- a\n- b\n", 1, "the file must be a section of names and values", ""),
        ("just words\n", 1, "the file must be a section of names and values", ""),
        ("? [a]\n: b\n", 1, "a name is missing before the colon", "name: value"),
        ("defaults:\n  '': 5\n", 2, "in defaults a name is missing", "name: value"),
        ("a: &x {b: c}\nd:\n  <<: *x\n", 1, "a is not a section", ""),
        ("defaults: &x {agent: c}\nclaude:\n  <<: *x\n", 3, '"<<" (merging) is not read', "write the names"),
        ("defaults:\n\tagent: x\n", 2, "cannot start any token", "spaces"),
        ("claude:\n  model: a: b\n", 2, "mapping values are not allowed", "quotes"),
        ("claude:\n  model: [a\n", 3, "expected ',' or ']'", "look at this line"),
        ("claude:\n  model: *nobody\n", 2, "undefined alias", "begins with *"),
        ("claude:\n  model: @x\n", 2, "cannot start any token", "quotes"),
        ("a: b\n---\nc: d\n", 2, "but found another document", "one document"),
        (
            "claude:\n  model: !!python/object/apply:os.system [ls]\n",
            2,
            "!!python/object/apply:os.system is not",
            "tag",
        ),
        ("claude:\n  model: !env HOME\n", 2, "the tag !env is not allowed", "remove the tag"),
        ("claude:\n  model: !!binary aGk=\n", 2, "the tag !!binary is not allowed", "remove the tag"),
        ('claude:\n  model: "\\0"\n', 2, "an escape that is no character", "remove it"),
        ('claude:\n  model: "\\uD800"\n', 2, "an escape that is no character", "remove it"),
        (b"claude:\n  model: a\x00b\n", 2, "a control character", "text file"),
        (b"claude:\n  model: \xff\xfe\n", 2, "this is not UTF-8", "UTF-8"),
        ("claude:\n  model: x\n".encode("utf-16"), 1, "this is not UTF-8", "UTF-8"),
        (b"\x7fELF\x02\x01\x01\x00", 1, "a control character", "text file"),
        ("a: " + "[" * 5_000, 1, f"nested deeper than {DEEPEST}", "write it out"),
        ("a: &a x\nb: [" + "*a, " * (ALIASES + 1) + "]", 2, f"more than {ALIASES} aliases", "write it out"),
    ],
)
def test_refused_files(folders: Folders, content: str | bytes, line: int, said: str, hint: str) -> None:
    problem = refusal(folders, content)
    assert problem.message.startswith(f"{folders[1]}/.ralph/config.yaml:{line}: ")
    assert said in problem.message
    assert hint in problem.hint
    assert problem.exit_code == USAGE


def test_what_others_wrote_is_shown_short_and_harmless(folders: Folders) -> None:
    problem = refusal(folders, '"\\e[31mred": 1\n')
    assert "\\x1b[31mred is not a section" in problem.message
    assert "\x1b" not in problem.message + problem.hint
    for content in (f"{'k' * 1_000}: 1\n", f"a: !{'t' * 100_000} 1\n", f"agents: {{{'k' * 1_000}: 1}}"):
        problem = refusal(folders, content)
        assert len(problem.message) < 800
        assert len(problem.hint) < 400


def test_escapes_that_are_no_number_of_a_character(folders: Folders) -> None:
    problem = refusal(folders, 'claude:\n  model: "\\UFFFFFFFF"\n')
    assert "is not YAML" in problem.message


def test_alias_bomb_in_a_free_mapping(folders: Folders) -> None:
    lines = ["agents:", "  bomb:", "    kind: command", "    a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"    a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 6)}]" for n in range(1, 8)]
    problem = refusal(folders, "\n".join(lines))
    assert "agents.bomb.a" in problem.message
    assert "grows too large through its aliases" in problem.message


def test_alias_to_itself(folders: Folders) -> None:
    problem = refusal(folders, "agents:\n  mine: &me\n    kind: command\n    again: *me\n")
    assert "grows too large" in problem.message


def test_a_few_aliases_are_fine(folders: Folders) -> None:
    config = project(folders, "quality_checks:\n  one: &it make test\n  two: *it\n")
    assert [check.command for check in config.checks] == ["make test", "make test"]


def test_checks(folders: Folders) -> None:
    write(folders[0], "quality_checks:\n  lint: ruff check\n  slow: make slow\n")
    text = "quality_checks:\n  slow: off\n  all: {command: make test, timeout: 90s}\n  lint: ruff check .\n"
    config = project(folders, text)
    assert config.checks == (CheckRule("lint", "ruff check ."), CheckRule("all", "make test", 90))
    assert config.policy().checks == config.checks
    assert config.setting("quality_checks.lint").origin == f"{folders[1]}/.ralph/config.yaml:4"
    assert plain(config.setting("quality_checks.all")) == {"command": "make test", "timeout": "1m30s"}
    assert plain(config.setting("quality_checks.lint")) == "ruff check ."
    assert plain(config.setting("quality_checks.slow")) == "off"


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ('"false"', "false"),
        ("|\n    make lint\n    make test\n", "make lint\nmake test"),
        ("cd web && npm test -- --ci | tee log", "cd web && npm test -- --ci | tee log"),
        ("echo $(touch never)", "echo $(touch never)"),
    ],
)
def test_commands_stay_as_they_are(folders: Folders, text: str, command: str) -> None:
    assert project(folders, f"quality_checks:\n  all: {text}\n").checks == (CheckRule("all", command),)
    assert not list(folders[1].rglob("never"))


@pytest.mark.parametrize(
    ("content", "line", "said", "hint"),
    [
        ("  all: false\n", 2, "quality_checks.all must be a command, not false", 'all: "false" runs the program'),
        ("  all: 5\n", 2, "quality_checks.all must be a command, not 5", ""),
        ("  all:\n", 2, "quality_checks.all must be a command", "make test"),
        ('  all: "  "\n', 2, "quality_checks.all must be a command", "make test"),
        ("  all: [make, test]\n", 2, "quality_checks.all must be a command", "make test"),
        ("  all: {timeout: 5}\n", 2, "quality_checks.all has no command", "make test"),
        (
            "  all: {comand: x}\n",
            2,
            "quality_checks.all.comand is not known",
            "did you mean quality_checks.all.command?",
        ),
        ("  all: {command: x, timeout: 0}\n", 2, "quality_checks.all.timeout", "90s"),
        ("  a/b: x\n", 2, "is not a name for a check", "letters"),
        ("  ../a: x\n", 2, "is not a name for a check", "letters"),
        ("  " + "a" * 65 + ": x\n", 2, "is not a name for a check", "letters"),
        ('  "a\\nb": x\n', 2, "is not a name for a check", "letters"),
        ("  a: x\n  a: y\n", 3, "quality_checks.a stands twice, first in line 2", "remove"),
    ],
)
def test_refused_checks(folders: Folders, content: str, line: int, said: str, hint: str) -> None:
    problem = refusal(folders, f"quality_checks:\n{content}")
    assert problem.message.startswith(f"{folders[1]}/.ralph/config.yaml:{line}: ")
    assert said in problem.message
    assert hint in problem.hint


def test_agents(folders: Folders) -> None:
    text = """
claude: {program: /opt/claude, args: [--fast]}
agents:
  mine:
    kind: command
    argv: [my-agent, --prompt, "{prompt_file}"]
    env: {DEBUG: 1, LEVEL: 1.5, ON: yes, WHEN: 2026-01-01, CLOCK: "1:30", HEX: 0x1F}
  other: {kind: claude, args: []}
  claude: {env: {A: b}}
"""
    config = project(folders, text)
    assert config.agents == ("mine", "other", "claude")
    mine = config.agent_settings("mine")
    assert mine["argv"] == ["my-agent", "--prompt", "{prompt_file}"]
    assert mine["env"] == {
        "DEBUG": "1", "LEVEL": "1.5", "ON": "yes", "WHEN": "2026-01-01", "CLOCK": "1:30", "HEX": "0x1F",
    }  # fmt: skip
    assert config.agent_settings("other") == {"program": "/opt/claude", "args": [], "kind": "claude"}
    assert config.agent_settings("claude") == {"program": "/opt/claude", "args": ["--fast"], "env": {"A": "b"}}
    assert config.agent_settings("scripted") == {}
    assert load(folders[0], None).agent_settings("claude") == {"program": "claude", "args": []}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("  mine: {argv: [x]}\n", "agents.mine has no kind"),
        ("  mine: {kind: comand}\n", "agents.mine has an unknown kind: 'comand'"),
        ("  mine: {kind: [a]}\n", "agents.mine has an unknown kind"),
        ("  mine: codex\n", "agents.mine must be a section"),
        ("  mine:\n", "agents.mine must be a section"),
        ("  a/b: {kind: command}\n", "agents.a/b must be a plain name"),
        ("  mine: {kind: command, env: {A: 1, A: 2}}\n", "agents.mine.env.A stands twice"),
        ("  mine: {kind: command}\n", "agents.mine.argv is missing"),
        ("  mine: {kind: command, argv: x}\n", "agents.mine.argv: must be a list"),
        ("  mine: {kind: command, argv: [x], prompt: no}\n", "agents.mine.prompt: must be text"),
        ("  mine: {kind: command, argv: [x], prompt: fil}\n", "agents.mine.prompt: must be one of stdin, file"),
        ("  mine: {kind: command, argv: [x], stream: json}\n", "agents.mine.stream: must be one of text, claude"),
        ("  mine: {kind: command, argv: [x], limit_pattern: '('}\n", "agents.mine.limit_pattern: '(' is no regular"),
        ("  mine: {kind: command, argv: [x], env: {A: ~}}\n", "agents.mine.env: must be text, is empty"),
        ("  mine: {kind: command, argv: [x], promt: file}\n", "agents.mine: there is no key 'promt'"),
        ("  claude: {args: [--resume]}\n", "agents.claude.args: --resume cannot be used"),
        ("  scripted: {}\n", "agents.scripted.script is missing"),
    ],
)
def test_refused_agents(folders: Folders, content: str, said: str) -> None:
    problem = refusal(folders, f"agents:\n{content}")
    assert problem.message.startswith(f"{folders[1]}/.ralph/config.yaml:2: {said}")
    assert problem.hint


@pytest.mark.parametrize(
    ("content", "line", "said", "hint"),
    [
        ("agents:\n  mine:\n    kind: command\n    argv: [x]\n    prompt: fil\n", 5, "agents.mine.prompt", "stdin"),
        ("claude:\n  model: x\n  args: [--resume]\n", 3, "claude.args: --resume cannot be used", "leave"),
        ("defaults:\n  agent: nope\n", 2, 'there is no agent "nope"', f"known: {', '.join(AGENT_KINDS)}"),
        ("completion:\n  trust_promise: 'yes'\n", 2, 'not the text "yes"', "trust_promise: true"),
        ("archive:\n  on_done: maybe\n", 2, "must be true or false", "for example on_done: true"),
        ("claude:\n  model: 'a\tb'\n", 2, "control characters", "for example model: sonnet"),
        ("quality_checks:\n  unit: 5\n", 2, "must be a command, not 5", "unit: off"),
        ("quality_checks:\n  unit:\n    command: 5\n", 3, "must be a command, not 5", "command: off"),
        ("quality_checks:\n  unit: []\n", 2, "must be a command", 'unit: "make test"'),
    ],
)
def test_a_complaint_names_its_line_and_the_right_key(
    folders: Folders, content: str, line: int, said: str, hint: str
) -> None:
    problem = refusal(folders, content)
    assert problem.message.startswith(f"{folders[1]}/.ralph/config.yaml:{line}: ")
    assert said in problem.message
    assert hint in problem.hint


def test_no_hint_leaves_out_what_it_means(folders: Folders) -> None:
    for key in KEYS:
        section, _, name = key.name.rpartition(".")
        for text in ('"a\\tb"', "{a: b}", "[[a]]"):
            content = f"{section}:\n  {name}: {text}\n" if section else f"{name}: {text}\n"
            hint = refusal(folders, content).hint
            assert hint
            assert "…" not in hint
            assert not (found := re.search(r"for example (\w+):", hint)) or found[1] == name


def test_an_agent_that_is_not_there_is_told_with_those_that_are(folders: Folders) -> None:
    (folders[1] / ".ralph" / "config.yaml").write_text("agents: {helper: {kind: command, argv: [x]}}\n")
    with pytest.raises(UsageProblem) as caught:
        load(*folders, {"defaults.agent": ("helpr", "--agent")})
    assert "--agent" in caught.value.message
    assert f"known: {', '.join(AGENT_KINDS)}, helper; did you mean helper?" in caught.value.hint


def test_what_variables_hold_is_hidden(folders: Folders) -> None:
    config = project(folders, "agents: {mine: {kind: command, argv: [x], env: {TOKEN: s3cret}}}\n")
    assert config.agent_settings("mine")["env"] == {"TOKEN": "s3cret"}
    assert shown(config.setting("agents.mine"))["env"] == {"TOKEN": "…hidden…"}


@pytest.mark.parametrize(
    ("key", "value", "held"),
    [
        ("defaults.max_iterations", 7, 7),
        ("defaults.timeout_minutes", 6.0, 6.0),
        ("defaults.timeout_minutes", "6", 360.0),
        ("defaults.rate_limit_per_hour", 0, None),
        ("defaults.pause_seconds", 0.0, 0.0),
        ("archive.on_done", False, False),
        ("claude.args", ("a", "b"), ("a", "b")),
    ],
)
def test_overrides(tmp_path: Path, key: str, value: Any, held: Any) -> None:
    setting = load(tmp_path, None, {key: (value, "--it")}).setting(key)
    assert (setting.value, setting.origin) == (held, "command line --it")


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("defaults.max_iterations", 0, "--it must be from 1"),
        ("defaults.timeout_minutes", 0, '--it "0" is no time at all'),
        ("claude.args", (1,), "--it must be a list of texts"),
        ("defaults.max_iteration", 1, "--it: defaults.max_iteration is not a key"),
    ],
)
def test_refused_overrides(tmp_path: Path, key: str, value: Any, said: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        load(tmp_path, None, {key: (value, "--it")})
    assert said in caught.value.message
    assert caught.value.hint


def test_plain_is_what_could_be_written(folders: Folders) -> None:
    shown = {setting.key: plain(setting) for setting in load(*folders).settings}
    assert shown["defaults.timeout_minutes"] == 15
    assert shown["defaults.silence_minutes"] == "off"
    assert shown["completion.trust_promise"] is False
    assert shown["protected_branches"] == ["main", "master", "develop"]
    odd = load(*folders, {"defaults.timeout_minutes": (100.0, "--timeout")})
    assert plain(odd.setting("defaults.timeout_minutes")) == "1m40s"


def test_what_is_shown_is_read_back(folders: Folders) -> None:
    import yaml

    config = load(*folders)
    sections: dict[str, Any] = {}
    for setting in config.settings:
        section, _, name = setting.key.rpartition(".")
        (sections.setdefault(section, {}) if section else sections)[name] = plain(setting)
    again = project(folders, yaml.safe_dump(sections))
    assert [(s.key, s.value) for s in again.settings] == [(s.key, s.value) for s in config.settings]


def test_the_example_that_ships_says_what_is_built_in(folders: Folders) -> None:
    text = (Path(ralphloop.__file__).parent / "templates" / "config.yaml.example").read_text()
    assert project(folders, text).policy() == Policy()
    switched_on = re.sub(r"^( *)#((?:  )*\w+:)", r"\1\2", text, flags=re.MULTILINE)
    config = project(folders, switched_on)
    assert [check.name for check in config.checks] == ["backend", "frontend"]
    assert replace(config.policy(), checks=()) == Policy()


def test_unknown_key_is_a_bug_of_the_caller(tmp_path: Path) -> None:
    with pytest.raises(KeyError):
        load(tmp_path, None).get("defaults.nothing")


def test_links(folders: Folders, tmp_path: Path) -> None:
    home, worktree = folders
    (tmp_path / "far.yaml").write_text("defaults: {max_iterations: 9}\n")
    (home / "config.yaml").symlink_to(tmp_path / "far.yaml")
    assert load(*folders).get("defaults.max_iterations") == 9
    (worktree / "near.yaml").write_text("defaults: {max_iterations: 8}\n")
    file = worktree / ".ralph" / "config.yaml"
    file.symlink_to("../near.yaml")
    assert load(*folders).get("defaults.max_iterations") == 8
    file.unlink()
    file.symlink_to(tmp_path / "far.yaml")
    with pytest.raises(Problem, match="leads out of the repository"):
        load(*folders)


def test_folder_that_leads_out(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    write(tmp_path / "far", "defaults: {max_iterations: 9}\n")
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / ".ralph").symlink_to("../far")
    with pytest.raises(Problem, match="leads out of the repository"):
        load(tmp_path / "home", tmp_path / "work")


def test_a_worktree_that_is_itself_reached_by_a_link(folders: Folders, tmp_path: Path) -> None:
    write(folders[1] / ".ralph", "defaults: {max_iterations: 9}\n")
    (tmp_path / "other").symlink_to(folders[1])
    assert load(folders[0], tmp_path / "other").get("defaults.max_iterations") == 9


def _pipe(file: Path) -> None:
    os.mkfifo(file)


def _socket(file: Path) -> None:
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(os.path.relpath(file))


def _huge(file: Path) -> None:
    file.write_bytes(b"# " + b"x" * LARGEST)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (Path.mkdir, "is not a file"),
        (_pipe, "is not a file"),
        (_socket, "is not a file"),
        (_huge, "is larger than 256 KB"),
        (lambda file: file.symlink_to("nobody.yaml"), "is a link to nothing"),
        (lambda file: file.symlink_to("config.yaml"), "cannot be read"),
    ],
)
def test_what_is_no_readable_file(folders: Folders, make: Any, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folders[1])
    make(folders[1] / ".ralph" / "config.yaml")
    with pytest.raises(Problem, match=re.escape(said)) as caught:
        load(*folders)
    assert str(folders[1] / ".ralph" / "config.yaml") in caught.value.message
    assert caught.value.hint
    assert caught.value.exit_code == NOT_DONE


def test_a_file_where_the_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / ".ralph").write_text("x")
    with pytest.raises(Problem, match="cannot be read: Not a directory"):
        load(tmp_path / "home", tmp_path)


def test_unreadable(folders: Folders) -> None:
    write(folders[0], "a: b").chmod(0)
    read = "import sys, pathlib; from ralphloop.config import load; load(*map(pathlib.Path, sys.argv[1:]))"
    argv = [sys.executable, "-c", read, *map(str, folders)]
    if os.geteuid() == 0:  # who may read everything, unless that is taken away
        argv = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search", *argv]
    done = subprocess.run(argv, capture_output=True, text=True, env={"PYTHONPATH": str(ROOT / "src")}, check=False)
    assert "cannot be read: Permission denied" in done.stderr


WORDS = [
    *BY_NAME,
    *(name.split(".")[0] for name in BY_NAME),
    "agents",
    "quality_checks",
    "kind",
    "off",
    "1",
    "~",
    "all",
]


@hypothesis_settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    content=st.one_of(
        st.binary(max_size=60),
        st.lists(st.sampled_from([*WORDS, ": ", "\n", "\n  ", "- ", "[", "]", "{", "}", "&a ", "*a ", "!", '"', ", "]))
        .map("".join)
        .map(str.encode),
    )
)
def test_any_bytes_are_read_or_refused(folders: Folders, content: bytes) -> None:
    try:
        project(folders, content)
    except Problem as problem:
        assert "config.yaml" in problem.message


def test_prices_lie_over_the_table(folders: Folders) -> None:
    write(folders[0], "prices:\n  gpt-5: {input: 7, output: $8}\n  mine: {input: 1, output: 2}\n")
    told = "{input: 0, output: 2.5, cache_read: 3, cache_write: 4, cache_write_1h: 5}"
    config = project(folders, f"prices:\n  mine: {told}\n")
    assert config.prices["gpt-5"] == Price(7, 8, 7, 7)
    assert config.prices["mine"] == Price(0, 2.5, 3, 4, 5)
    assert config.prices["gpt-5-mini"] == TABLE["gpt-5-mini"]
    assert shown(config.setting("prices.gpt-5")) == {"input": 7, "output": 8, "cache_read": 7, "cache_write": 7}
    assert config.setting("prices.mine").origin.endswith(".ralph/config.yaml:2")
    assert config.policy() == Policy()


@pytest.mark.parametrize(
    ("content", "line", "said"),
    [
        ("prices: 5\n", 1, "prices must be a section"),
        ("prices:\n  m: 5\n", 2, "prices.m must be a section of prices"),
        ("prices:\n  m: {input: 1}\n", 2, "prices.m has no output"),
        ("prices:\n  m: {input: 1, output: 2,\n    cache_raed: 3}\n", 3, "prices.m.cache_raed is not known"),
        ("prices:\n  m:\n    input: -1\n    output: 2\n", 3, "prices.m.input must be dollars"),
        ("prices:\n  m: {input: .nan, output: 2}\n", 2, "prices.m.input must be dollars"),
        ("prices:\n  m: {input: [1], output: 2}\n", 2, "prices.m.input must be one number"),
        ("prices:\n  m: {input: 1e9, output: 2}\n", 2, "prices.m.input must be dollars"),
        ("prices:\n  m: {input: , output: 2}\n", 2, "prices.m.input must be one number"),
        ("prices:\n  m: {input: 1, output: 2}\n  m: {input: 1, output: 2}\n", 3, "prices.m stands twice"),
        ('prices:\n  "a\\e": {input: 1, output: 2}\n', 2, "is not the name of a model"),
        ("price: {}\n", 1, "price is not a section"),
    ],
)
def test_a_price_that_is_none(folders: Folders, content: str, line: int, said: str) -> None:
    problem = refusal(folders, content)
    assert isinstance(problem, UsageProblem)
    assert f"config.yaml:{line}: " in problem.message and said in problem.message
    assert problem.hint
