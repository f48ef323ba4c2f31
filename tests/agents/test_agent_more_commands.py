"""How Gemini, Qwen, Aider and the agents that were not run here are called, and what their settings refuse."""

from typing import Any

import pytest

from ralphloop.agents.aider import UNASKED
from ralphloop.agents.table import AGENTS, named
from ralphloop.core.errors import UsageProblem
from ralphloop.core.ports import Call

CALL = Call("/run/prompt 1.md", 10, allowed_tools="Write,Bash(git *),Read")
SKIP = Call("/run/p.md", 1 << 20, skip_permissions=True, allowed_tools="Write,Bash(git *)", model="best")
JSON = ("--output-format", "stream-json")
GIT = ("--allowed-tools", "run_shell_command(git)")
AIDER = ("--yes-always", "--no-stream", "--no-pretty", *UNASKED)


@pytest.mark.parametrize(
    ("name", "settings", "call", "argv"),
    [
        ("gemini", {}, CALL, ("gemini", *JSON, "--approval-mode", "auto_edit", *GIT)),
        ("gemini", {}, SKIP, ("gemini", *JSON, "--yolo", "--skip-trust", "--model", "best")),
        ("gemini", {"args": ["--skip-trust"]}, Call("/p", 1, allowed_tools="Bash"),
         ("gemini", *JSON, "--skip-trust", "--approval-mode", "auto_edit", "--allowed-tools", "run_shell_command")),
        ("qwen", {}, CALL, ("qwen", *JSON, "--approval-mode", "auto-edit", *GIT)),
        ("qwen", {}, SKIP, ("qwen", *JSON, "--approval-mode", "yolo", "--model", "best")),
        ("aider", {}, CALL, ("aider", "--message-file", "/run/prompt 1.md", *AIDER)),
        ("aider", {"args": ["--architect"]}, SKIP,
         ("aider", "--message-file", "/run/p.md", *AIDER, "--architect", "--model", "best")),
        ("amp", {}, CALL, ("amp", "-x", "--stream-json")),
        ("amp", {}, Call("/p", 1, skip_permissions=True), ("amp", "-x", "--stream-json", "--dangerously-allow-all")),
        ("cursor", {}, CALL, ("cursor-agent", "-p", *JSON)),
        ("cursor", {}, SKIP, ("cursor-agent", "-p", *JSON, "--force", "--model", "best")),
        ("droid", {}, CALL, ("droid", "exec", *JSON, "--auto", "medium", "--file", "/run/prompt 1.md")),
        ("droid", {}, SKIP, ("droid", "exec", *JSON, "--auto", "high", "--model", "best", "--file", "/run/p.md")),
        ("droid", {"args": ["--auto", "low"]}, CALL,
         ("droid", "exec", *JSON, "--auto", "low", "--file", "/run/prompt 1.md")),
        ("goose", {}, CALL, ("goose", "run", "--no-session", "-i", "-")),
        ("goose", {}, SKIP, ("goose", "run", "--no-session", "--model", "best", "-i", "-")),
        ("kiro", {}, CALL, ("kiro-cli", "chat", "--no-interactive", "--trust-tools=fs_read,fs_write")),
        ("kiro", {}, SKIP, ("kiro-cli", "chat", "--no-interactive", "--trust-all-tools", "--model", "best")),
    ],
)  # fmt: skip
def test_command_line(name: str, settings: dict[str, Any], call: Call, argv: tuple[str, ...]) -> None:
    agent = named(name, settings)
    command = agent.command(call)
    assert command.argv == argv
    assert command.prompt_as_file is not agent.traits.stdin
    assert command.prompt_as_file is (call.prompt_file in argv)


def test_goose_is_told_its_mode() -> None:
    modes = [named("goose", {}).command(call).env["GOOSE_MODE"] for call in (CALL, SKIP)]
    assert modes == ["smart_approve", "auto"]
    assert named("goose", {"env": {"GOOSE_MODE": "chat"}}).command(SKIP).env == {"GOOSE_MODE": "chat"}


def test_gemini_s_commits_have_an_author() -> None:
    env = named("gemini", {"env": {"A": "b"}}).command(CALL).env
    assert (env["GIT_CONFIG_COUNT"], env["GIT_CONFIG_VALUE_1"], env["A"]) == ("2", "~/.gitconfig", "b")


def test_amp_cannot_be_told_a_model() -> None:
    with pytest.raises(UsageProblem, match="amp cannot be told a model"):
        named("amp", {}).command(SKIP)


@pytest.mark.parametrize(
    ("name", "word", "why"),
    [
        ("gemini", "--resume", "a session of its own"),
        ("gemini", "-o=text", "stream-json"),
        ("gemini", "-i", "nobody"),
        ("qwen", "--continue", "a session of its own"),
        ("qwen", "-p", "on stdin"),
        ("aider", "--message=x", "as a file"),
        ("aider", "--no-git", "what is committed"),
        ("amp", "--dangerously-allow-all", "permissions"),
        ("cursor", "--force", "permissions"),
        ("droid", "--session-id", "a session of its own"),
        ("goose", "--interactive", "nobody"),
        ("kiro", "--trust-all-tools", "permissions"),
    ],
)
def test_words_that_would_break_the_loop(name: str, word: str, why: str) -> None:
    with pytest.raises(UsageProblem, match=why) as caught:
        named(name, {"args": [word]})
    assert word.partition("=")[0] in caught.value.message


UNTRIED = frozenset({"amp", "cursor", "droid", "goose", "kiro"})


@pytest.mark.parametrize("name", [name for name in AGENTS if name not in ("command", "scripted")])
def test_what_was_not_run_says_so(name: str) -> None:
    traits = named(name, {}).traits
    assert (traits.tried == ()) is (name in UNTRIED)
    assert traits.install and traits.variables
    assert "cost" not in traits.tells or traits.tried
