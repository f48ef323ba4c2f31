"""How Codex, OpenCode and Copilot are called: what stands on the command line, what is refused, what is in the way."""

from typing import Any

import pytest

from ralphloop.agents.table import named
from ralphloop.core.errors import UsageProblem
from ralphloop.core.ports import Call

CALL = Call(prompt_file="/run/prompt 1.md", prompt_size=10, git_folders=("/repo/.git", "/my tree/.git"))
SKIP = Call("/run/p.md", 1 << 20, skip_permissions=True, allowed_tools="Write,Bash(git *)", model="best")
CODEX = ("codex", "exec", "--json", "--skip-git-repo-check")
SANDBOX = ("--sandbox", "workspace-write", "--add-dir", "/repo/.git", "--add-dir", "/my tree/.git")
COPILOT = ("copilot", "--output-format", "json", "--stream", "off", "--no-ask-user", "--no-auto-update")
OPENCODE = ("opencode", "run", "--format", "json", "--title", "ralph")


@pytest.mark.parametrize(
    ("name", "settings", "call", "argv"),
    [
        ("codex", {}, CALL, (*CODEX, *SANDBOX, "-")),
        ("codex", {}, SKIP, (*CODEX, "--dangerously-bypass-approvals-and-sandbox", "--model", "best", "-")),
        ("codex", {"args": ["-c", "a=1"]}, CALL, (*CODEX, *SANDBOX, "-c", "a=1", "-")),
        ("codex", {"args": ["--sandbox=read-only"]}, CALL, (*CODEX, "--sandbox=read-only", "-")),
        ("codex", {"program": "/opt/my codex"}, CALL, ("/opt/my codex", *CODEX[1:], *SANDBOX, "-")),
        ("opencode", {}, CALL, OPENCODE),
        ("opencode", {}, SKIP, (*OPENCODE, "--auto", "--model", "best")),
        ("opencode", {"args": ["--title", "x"]}, CALL, ("opencode", "run", "--format", "json", "--title", "x")),
        ("opencode", {"args": ["--agent", "build"]}, CALL, (*OPENCODE, "--agent", "build")),
        ("copilot", {}, CALL, (*COPILOT, "--allow-tool=write", "--allow-tool=shell(git:*)")),
        ("copilot", {"allow_tools": []}, CALL, COPILOT),
        ("copilot", {"allow_tools": ["shell(make)"]}, CALL, (*COPILOT, "--allow-tool=shell(make)")),
        ("copilot", {"args": ["--disable-builtin-mcps"]}, SKIP,
         (*COPILOT, "--disable-builtin-mcps", "--allow-all", "--model", "best")),
    ],
)  # fmt: skip
def test_command_line(name: str, settings: dict[str, Any], call: Call, argv: tuple[str, ...]) -> None:
    command = named(name, settings).command(call)
    assert command.argv == argv
    assert not command.prompt_as_file, "the prompt is on stdin, where it may be as long as it likes"


def test_environments_of_their_own() -> None:
    asked, skipped = (named("opencode", {}).command(call).env for call in (CALL, SKIP))
    assert "external_directory" in asked["OPENCODE_PERMISSION"]
    assert skipped == {"OPENCODE_DISABLE_AUTOUPDATE": "1"}
    own = {"OPENCODE_PERMISSION": "{}", "A": "b"}
    assert named("opencode", {"env": own}).command(CALL).env == {"OPENCODE_DISABLE_AUTOUPDATE": "1", **own}
    assert named("codex", {"env": {"A": "b"}}).command(CALL).env == {"A": "b"}
    assert named("copilot", {}).command(CALL).unset == ("COPILOT_ALLOW_ALL",)


@pytest.mark.parametrize(
    ("name", "word", "why"),
    [
        ("codex", "resume", "a session of its own"),
        ("codex", "--json", "always given"),
        ("codex", "--cd=/tmp", "the worktree"),
        ("codex", "--dangerously-bypass-approvals-and-sandbox", "permissions are skipped"),
        ("opencode", "--continue", "a session of its own"),
        ("opencode", "--format=default", "reads json"),
        ("opencode", "--attach=http://127.0.0.1:1", "another process"),
        ("opencode", "--auto", "permissions are skipped"),
        ("copilot", "--resume", "a session of its own"),
        ("copilot", "-p", "on stdin"),
        ("copilot", "--stream=on", "whole messages"),
        ("copilot", "--yolo", "permissions are skipped"),
    ],
)
def test_words_that_would_break_the_loop_are_refused(name: str, word: str, why: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        named("mine", {"kind": name, "args": ["--verbose", word]})
    assert f"agents.mine.args: {word} cannot be used: " in caught.value.message
    assert why in caught.value.message
    assert caught.value.hint == f"leave {word} out"


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("codex", {"program": ""}, "agents.codex.program: no program is named"),
        ("codex", {"sandbox": "off"}, "agents.codex: there is no key 'sandbox'"),
        ("opencode", {"env": {"": "x"}}, "agents.opencode.env: '' is no name"),
        ("copilot", {"allow_tools": "write"}, "agents.copilot.allow_tools: must be a list, is text"),
        ("copilot", {"allow_tools": ["a\0"]}, "agents.copilot.allow_tools: word 1 holds a NUL"),
    ],
)
def test_settings_that_cannot_be_understood(name: str, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        named(name, settings)
    assert message in caught.value.message


@pytest.mark.parametrize("name", ["codex", "opencode", "copilot"])
def test_what_is_known_of_an_agent(name: str) -> None:
    traits = named(name, {}).traits
    assert traits.tried and traits.install and traits.variables and all(traits.folder)
    assert traits.stdin
