"""What an agent is handed of the environment: what it needs, by name, and no secret of anything else."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from place import Place, make_place
from ralphloop.core.environment import KEPT, OF_A_SESSION, granted
from ralphloop.host.environment import handed_down

Variables = dict[str, Any]
SECRETS: Variables = {
    "GITHUB_TOKEN": "ghp_x", "DATABASE_URL": "postgres://u:p@h", "AWS_SECRET_ACCESS_KEY": "aws", "MY_KEY": "m",
}  # fmt: skip
SESSION: Variables = {"CLAUDECODE": "1", "CLAUDE_CODE_ENTRYPOINT": "cli", "CLAUDE_CODE_SSE_PORT": "1234"}
USUAL: Variables = {"LC_TIME": "C", "VIRTUAL_ENV": "/v", "HTTPS_PROXY": "http://127.0.0.1:9", "GIT_AUTHOR_NAME": "A"}


def given(place: Place) -> dict[str, str]:
    """What the agent has found in its environment."""
    lines = (place.path / "given.txt").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line)


CLAUDE = "claude: {program: PROGRAM}\n"
OWN = "agents: {own: {kind: command, argv: [PROGRAM], env: {MINE: yes}}}\n"


@pytest.mark.parametrize(
    ("config", "more", "handed", "not_handed"),
    [
        (CLAUDE, {"ANTHROPIC_API_KEY": "k", "CLAUDE_CONFIG_DIR": "/c"}, {"ANTHROPIC_API_KEY", "CLAUDE_CONFIG_DIR"}, {}),
        (CLAUDE, {"CLAUDE_CODE_USE_BEDROCK": "1"}, {"AWS_SECRET_ACCESS_KEY"}, {"GITHUB_TOKEN"}),
        (CLAUDE + "agents: {claude: {env: {GITHUB_TOKEN: own}}}\n", {}, {"GITHUB_TOKEN"}, {"MY_KEY"}),
        (CLAUDE + "environment: {add: [MY_*, DATABASE_URL]}\n", {}, {"MY_KEY", "DATABASE_URL"}, {"GITHUB_TOKEN"}),
        (CLAUDE + "environment: {keep: [PATH, GITHUB_TOKEN]}\n", {}, {"GITHUB_TOKEN"}, {"LC_TIME", "VIRTUAL_ENV"}),
        (CLAUDE + "environment: {keep: ['*']}\n", {}, {"GITHUB_TOKEN", "MY_KEY"}, {}),
        (CLAUDE + "environment: {keep: []}\n", {}, {"RALPH_RUN"}, {"HOME", "LC_TIME"}),
        (OWN, {"OPENAI_API_KEY": "k"}, {"MINE", "OPENAI_API_KEY"}, {"GITHUB_TOKEN"}),
    ],
    ids=[
        "claude",
        "claude of Amazon",
        "env of the agent",
        "added",
        "kept",
        "everything",
        "nothing",
        "an agent of one's own",
    ],
)
def test_what_an_agent_is_handed(
    place: Place, config: str, more: Variables, handed: set[str], not_handed: set[str]
) -> None:
    chosen = "" if config.startswith("claude") else "defaults: {pause_seconds: 0, agent: own}\n"
    program = place.home.parent / "program"
    program.write_text("#!/bin/sh\ncat >/dev/null\n/usr/bin/env > given.txt || env > given.txt\n")
    program.chmod(0o755)
    text = (chosen or "defaults: {pause_seconds: 0}\n") + config.replace("PROGRAM", json.dumps(str(program)))
    (place.path / ".ralph" / "config.yaml").write_text(text)
    done = place.ralph("run", "-n", "1", **SECRETS, **SESSION, **USUAL, **more)
    assert done.code == 1, done
    found = given(place)
    assert handed <= found.keys()
    assert not set(not_handed) & found.keys()
    assert not SESSION.keys() & found.keys()
    if "environment" not in config:
        assert found.keys() >= {"PATH", "HOME", *USUAL}
        assert not ((SECRETS.keys() - handed) & found.keys())


def test_checks_are_the_user_s_own_and_have_everything(tmp_path: Path) -> None:
    place = make_place(tmp_path, count=1, config='quality_checks: {all: "env > ../seen.txt"}\n')
    assert place.ralph("run", **SECRETS).code == 0
    seen = (tmp_path / "seen.txt").read_text()
    assert all(f"{name}={value}\n" in seen for name, value in SECRETS.items())


def test_what_is_withheld_is_told_by_name_and_never_by_value(place: Place) -> None:
    for words in (("run", "-v", "-n", "1"), ("run", "--dry-run")):
        done = place.ralph(*words, **SECRETS)
        said = done.out + done.err
        assert "withheld from the agent: " in said.lower(), said
        assert all(name in said for name in SECRETS)
        assert not any(value in said for value in SECRETS.values() if len(value) > 3)
    report = json.loads(place.ralph("run", "--dry-run", "--json", **SECRETS).out)
    assert set(SECRETS) <= set(report["withheld"])


def test_a_quiet_run_does_not_tell(place: Place) -> None:
    assert "withheld" not in place.ralph("run", "-n", "1", **SECRETS).err


def test_config_shows_the_list_and_its_origin(place: Place) -> None:
    place.config("")
    found = {one["key"]: one for one in json.loads(place.ralph("config", "--json").out)}
    assert found["environment.keep"]["origin"] == "built in"
    assert found["environment.keep"]["value"] == list(KEPT)
    assert found["environment.add"]["value"] == ["RALPH", "COMMIT"]
    assert found["environment.add"]["origin"].endswith(".ralph/config.yaml:3")


@pytest.mark.parametrize(
    "text", ["environment: {add: [A=b]}", "environment: {keep: ['A B']}", "environment: {add: {}}"]
)
def test_what_is_no_name_is_refused(place: Place, text: str) -> None:
    (place.path / ".ralph" / "config.yaml").write_text(text + "\n")
    done = place.ralph("config")
    assert done.code == 64
    assert "config.yaml:1" in done.err
    assert "try: " in done.err


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("PATH", True), ("LC_ALL", True), ("LC", False), ("path", False), ("GIT_DIR", False), ("GIT_WORK_TREE", False),
        ("GIT_INDEX_FILE", False), ("GIT_AUTHOR_EMAIL", True), ("GIT_CONFIG_GLOBAL", True), ("JAVA_HOME", True),
        ("NPM_TOKEN", False), ("npm_config__authToken", False), ("UV_PUBLISH_TOKEN", False), ("SSH_AUTH_SOCK", True),
        ("HOMEBREW_GITHUB_API_TOKEN", False), ("XDG_RUNTIME_DIR", True), ("OPENAI_API_KEY", False), ("", False),
    ],
)  # fmt: skip
def test_the_built_in_list(name: str, kept: bool) -> None:
    assert granted(name, KEPT) == kept


def test_names_are_matched_as_they_are() -> None:
    present = {"A": "1", "AB": "2", "[A]": "3", "ü": "4"}
    assert handed_down(("A",), present) == {"A": "1"}
    assert handed_down(None, present) == present
    assert handed_down(None) == dict(os.environ)
    assert handed_down(("[[]A]", "?"), present) == {"A": "1", "[A]": "3", "ü": "4"}
    assert handed_down(("A* with X",), present) == {}
    assert handed_down(("A* with X",), present | {"X": ""}) == {}
    assert handed_down(("A* with X",), present | {"X": "1"}) == {"A": "1", "AB": "2"}


def test_a_session_s_own_marks_are_in_no_list() -> None:
    assert not any(granted(name, KEPT) for name in OF_A_SESSION)
