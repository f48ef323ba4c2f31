"""How each agent is called, and how its settings are read."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ralphloop.agents.claude_stream import ClaudeStream
from ralphloop.agents.patterns import PatternStream
from ralphloop.agents.scripted import PLAYER
from ralphloop.agents.table import AGENTS, named
from ralphloop.agents.text_stream import TextStream
from ralphloop.core.errors import UsageProblem
from ralphloop.core.ports import Call, Command

CALL = Call(prompt_file="/run/prompt 1.md", prompt_size=10)
FULL = Call("/run/p.md", 1 << 20, skip_permissions=True, allowed_tools="Write,Bash(git *)", model="best")
NO_PERMISSIONS = Call("/run/p.md", 10, allowed_tools="Write,Bash(git *)", model="best")
STREAM = ("-p", "--output-format", "stream-json", "--verbose")


def command(name: str, settings: dict[str, Any], call: Call = CALL) -> Command:
    return named(name, settings).command(call)


@pytest.mark.parametrize(
    ("settings", "call", "argv"),
    [
        ({}, CALL, ("claude", *STREAM)),
        ({}, FULL, ("claude", *STREAM, "--dangerously-skip-permissions", "--model", "best")),
        ({}, NO_PERMISSIONS, ("claude", *STREAM, "--allowedTools", "Write,Bash(git *)", "--model", "best")),
        ({"program": "/opt/my claude"}, CALL, ("/opt/my claude", *STREAM)),
        ({"args": ["--max-turns", "5"]}, FULL, (
            "claude", *STREAM, "--max-turns", "5", "--dangerously-skip-permissions", "--model", "best",
        )),
    ],
)  # fmt: skip
def test_claude(settings: dict[str, Any], call: Call, argv: tuple[str, ...]) -> None:
    assert command("claude", settings, call).argv == argv


def test_claude_runs_as_a_session_of_its_own_with_the_prompt_on_stdin() -> None:
    started = command("claude", {"env": {"IS_SANDBOX": "1", "DISABLE_AUTOUPDATER": "0"}})
    assert started.env == {"DISABLE_AUTOUPDATER": "0", "IS_SANDBOX": "1"}
    assert started.unset == ("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT")
    assert not started.prompt_as_file
    assert command("claude", {}).env == {"DISABLE_AUTOUPDATER": "1"}


@pytest.mark.parametrize(
    ("argv", "call", "filled"),
    [
        (["aider", "--message-file", "{prompt_file}"], CALL, ("aider", "--message-file", "/run/prompt 1.md")),
        (["x", "--file={prompt_file}", "{prompt_file}"], FULL, ("x", "--file=/run/p.md", "/run/p.md")),
        (["x", "--model={model}", "-m", "{model}"], FULL, ("x", "--model=best", "-m", "best")),
        (["x", "--model={model}", "-m", "{model}", "end"], CALL, ("x", "end")),
        (["-x", "{model}", "end"], CALL, ("-x", "end")),
        (["x", "{modell}", "{}"], CALL, ("x", "{modell}", "{}")),
    ],
)
def test_words_of_a_command_are_filled_in(argv: list[str], call: Call, filled: tuple[str, ...]) -> None:
    agent = named("command", {"argv": argv})
    assert agent.command(call).argv == filled
    assert agent.program == argv[0]


@pytest.mark.parametrize(
    ("settings", "prompt_as_file", "parser"),
    [
        ({"argv": ["x"]}, False, TextStream),
        ({"argv": ["x"], "stream": "claude"}, False, ClaudeStream),
        ({"argv": ["x", "{prompt_file}"], "prompt": "file"}, True, TextStream),
        ({"argv": ["x"], "limit_pattern": "quota|429", "env": None}, False, PatternStream),
    ],
)
def test_prompt_and_stream_of_a_command(settings: dict[str, Any], prompt_as_file: bool, parser: type) -> None:
    agent = named("command", settings)
    assert agent.command(CALL).prompt_as_file is prompt_as_file
    assert type(agent.parser()) is parser
    assert agent.parser() is not agent.parser()


def test_scripted_is_started_by_path_with_this_python() -> None:
    agent = named("scripted", {"script": "demo.yaml"})
    assert agent.command(CALL).argv == (sys.executable, "-I", str(PLAYER), "demo.yaml")
    assert agent.program == sys.executable
    assert PLAYER.is_file()
    assert isinstance(agent.parser(), ClaudeStream)


@pytest.mark.parametrize(
    ("name", "settings", "kind"),
    [
        ("claude", {}, "Claude"),
        ("mine", {"kind": "claude", "program": "claude-next"}, "Claude"),
        ("my agent", {"kind": "command", "argv": ["x"]}, "CommandAgent"),
        ("demo", {"kind": "scripted", "script": "x"}, "Scripted"),
        ("claude", {"kind": "command", "argv": ["x"]}, "CommandAgent"),
    ],
)
def test_a_users_own_agent_keeps_its_name(name: str, settings: dict[str, Any], kind: str) -> None:
    given = dict(settings)
    agent = named(name, settings)
    assert (agent.name, type(agent).__name__) == (name, kind)
    assert settings == given


@pytest.mark.parametrize(
    ("name", "settings", "message", "hint"),
    [
        ("cluade", {}, 'there is no agent "cluade"', rf"known: {', '.join(AGENTS)}; did you mean claude\?"),
        ("nobody", {}, 'there is no agent "nobody"', r"agents\.nobody\.kind: command"),
        ("", {}, 'there is no agent ""', "known: "),
        ("mine", {"kind": "comand"}, "agents.mine.kind: there is no kind 'comand'", r"did you mean command\?"),
        ("mine", {"kind": 3}, "agents.mine.kind: there is no kind 3", "known: "),
        ("claude", {"programm": "x"}, "agents.claude: there is no key 'programm'", r"did you mean program\?"),
        ("claude", {"name": "x"}, "agents.claude: there is no key 'name'", "known: program, args, env"),
        ("claude", {1: "x"}, "agents.claude: there is no key 1", "known: "),
        ("claude", {"program": 3}, "agents.claude.program: must be text, is a number", "quotes"),
        ("claude", {"program": " "}, "agents.claude.program: no program is named", "PATH"),
        ("claude", {"args": "--max-turns 5"}, "agents.claude.args: must be a list, is text", "a list of words"),
        ("claude", {"args": ["--max-turns", 5]}, "agents.claude.args[1]: must be text, is a number", "quotes"),
        ("claude", {"args": ["--resume"]}, "--resume cannot be used", "leave --resume out"),
        ("claude", {"args": ["--output-format=text"]}, "the loop reads stream-json", "leave"),
        ("claude", {"args": ["a\0b"]}, "agents.claude.args: word 1 holds a NUL", "no program"),
        ("claude", {"env": ["A=1"]}, "agents.claude.env: must be a mapping, is a list", "give a mapping"),
        ("claude", {"env": {"A": 1}}, "agents.claude.env: must be text, is a number", "quotes"),
        ("claude", {"env": {"A=B": "1"}}, "agents.claude.env: 'A=B' is no name", "NAME: value"),
        ("claude", {"env": {"A": "\0"}}, "agents.claude.env.A: the value holds a NUL", "no program"),
        ("command", {}, "agents.command.argv is missing", "write argv:"),
        ("command", {"argv": None}, "agents.command.argv is missing", "write argv:"),
        ("command", {"argv": []}, "agents.command.argv: no program is named", "PATH"),
        ("command", {"argv": "aider -m"}, "agents.command.argv: must be a list", "a list of words"),
        ("command", {"argv": ["x", "{prompt}"]}, "the prompt cannot be a word", "stdin"),
        ("command", {"argv": ["x"], "prompt": "file"}, "no word of argv holds {prompt_file}", "stdin"),
        ("command", {"argv": ["x"], "prompt": "argument"}, "must be one of stdin, file, not 'argument'", "stdin"),
        ("command", {"argv": ["x"], "error_pattern": "("}, "agents.command.error_pattern: '(' is no regular", "Python"),
        ("command", {"argv": ["x"], "limit_pattern": "x", "stream": "claude"}, "has no meaning", "claude's stream"),
        ("mine", {"kind": "scripted"}, "agents.mine.script is missing", "write script:"),
        ("scripted", {"script": ""}, "agents.scripted.script: no", ""),
    ],
)  # fmt: skip
def test_settings_that_cannot_be_understood(name: str, settings: Any, message: str, hint: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        named(name, settings)
    assert message in caught.value.message
    assert re.search(hint, caught.value.hint)


@pytest.mark.parametrize("name", AGENTS)
def test_only_the_chosen_agent_is_imported(name: str, tmp_path: Path) -> None:
    settings = {"command": {"argv": ["x"]}, "scripted": {"script": "x"}}.get(name, {})
    code = (
        "import sys; from ralphloop.agents.table import AGENTS, named\n"
        "loaded = lambda: {m for m in sys.modules if m in {v.partition(':')[0] for v in AGENTS.values()}}\n"
        f"assert not loaded(); named({name!r}, {settings!r}); print(*sorted(loaded()))\n"
        "assert not {'asyncio', 'yaml', 'difflib', 'subprocess'} & set(sys.modules)"
    )
    ended = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "ralphloop.agents." + name in ended.stdout
    assert ("ralphloop.agents.command" in ended.stdout) is (name == "command")
