"""Skipped permissions: said plainly outside a sandbox, and to root before Claude Code would refuse."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from place import Place, make_place
from ralphloop.agents.claude import Claude
from ralphloop.agents.command import CommandAgent
from ralphloop.agents.scripted import Scripted
from ralphloop.core.policy import Policy
from ralphloop.core.ports import Agent
from ralphloop.engine.permissions import environment_of, permissions
from ralphloop.host import sandbox

SKIP = Policy(skip_permissions=True)
BYPASS = Claude(args=("--permission-mode", "bypassPermissions"))
WRAPPER = CommandAgent(name="own", argv=("claude", "-p", "--dangerously-skip-permissions"))
DOCKER = ("/.dockerenv: a Docker container",)
REFUSED = "Agent {}: Claude Code refuses --dangerously-skip-permissions to root"
UNSAFE = "Permissions are skipped, and this does not look like a sandbox"


@pytest.mark.parametrize(
    ("agent", "policy", "present", "signs", "root", "said"),
    [
        (Claude(), Policy(), {}, (), False, []),
        (Claude(), Policy(), {}, (), True, []),
        (Claude(), SKIP, {}, (), False, [("warning", UNSAFE)]),
        (Claude(), SKIP, {}, DOCKER, False, []),
        (Claude(), SKIP, {}, (), True, [("error", REFUSED.format("claude"))]),
        (Claude(), SKIP, {}, DOCKER, True, [("error", REFUSED.format("claude"))]),
        (Claude(), SKIP, {"IS_SANDBOX": "1"}, DOCKER, True, []),
        (Claude(), SKIP, {"IS_SANDBOX": "yes"}, DOCKER, True, [("error", REFUSED.format("claude"))]),
        (Claude(env={"IS_SANDBOX": "1"}), SKIP, {}, (), True, []),
        (BYPASS, Policy(), {}, (), True, [("error", REFUSED.format("claude"))]),
        (BYPASS, Policy(), {}, (), False, [("warning", UNSAFE)]),
        (WRAPPER, Policy(), {}, (), True, [("error", REFUSED.format("own"))]),
        (WRAPPER, Policy(), {}, (), False, [("warning", UNSAFE)]),
        (CommandAgent(argv=("my-agent",)), SKIP, {}, (), True, []),
        (CommandAgent(argv=("codex", "--yolo")), Policy(), {}, (), False, [("warning", UNSAFE)]),
        (Scripted(script="x"), SKIP, {}, (), True, []),
    ],
)
def test_what_is_said(
    agent: Agent, policy: Policy, present: Mapping[str, str], signs: tuple[str, ...], root: bool, said: list[object]
) -> None:
    found = list(permissions(agent, policy, environment_of(agent, policy, present), signs, root=root))
    assert [(one.level, one.line) for one in found] == said
    assert all(one.advice or one.details for one in found)


def claude(tmp_path: Path, text: str = "exit 0") -> str:
    program = tmp_path / "bin" / "claude"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f"#!/bin/sh\ncat >/dev/null\n{text}\n")
    program.chmod(0o755)
    return f"claude: {{program: {program}}}\ndefaults: {{pause_seconds: 0}}\n"


@pytest.fixture
def skipping(tmp_path: Path) -> Place:
    place = make_place(tmp_path)
    (place.path / ".ralph" / "config.yaml").write_text(claude(tmp_path))
    return place


@pytest.mark.skipif(os.geteuid() != 0, reason="only root is refused")
@pytest.mark.parametrize("words", [("run",), ("run", "--dry-run")])
def test_root_is_told_before_anything_is_spent(skipping: Place, words: tuple[str, ...]) -> None:
    done = skipping.ralph(*words, "--dangerously-skip-permissions", IS_SANDBOX="")
    assert done.code == 1
    assert f"✗ {REFUSED.format('claude')}\n" in done.out
    for way in ('IS_SANDBOX: "1"', "claude.allowed_tools", "another user"):
        assert way in done.out
    assert not (skipping.home / "runs").exists()


@pytest.mark.parametrize("more", [(), ("--skip-preflight",)])
def test_a_run_says_it_once(skipping: Place, more: tuple[str, ...]) -> None:
    done = skipping.ralph("run", "-n", "2", "--dangerously-skip-permissions", *more, IS_SANDBOX="")
    safe = sandbox.signs(os.environ | {"IS_SANDBOX": ""}) or os.geteuid() == 0  # which is told something else
    assert (done.out + done.err).count(UNSAFE) == (0 if safe else 1)


FILES = {
    "nothing": ({}, {}, 0),
    "somebody says so": ({"IS_SANDBOX": "1"}, {}, 1),
    "somebody says it otherwise": ({"IS_SANDBOX": "0"}, {}, 0),
    "docker": ({}, {".dockerenv": ""}, 1),
    "podman": ({"container": "podman"}, {"run/.containerenv": ""}, 2),
    "pod": ({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, {"proc/1/cgroup": "0::/kubepods/besteffort/pod1\n"}, 2),
    "a machine": (
        {},
        {"proc/1/cgroup": "0::/init.scope\n", "proc/1/comm": "systemd\n", "proc/self/uid_map": "0 0 4294967295\n"},
        0,
    ),
    "bubblewrap": ({}, {"proc/1/comm": "bwrap\n", "proc/self/uid_map": "1000 1000 1\n"}, 2),
    "seccomp alone": ({}, {"proc/self/status": "Name:\tsh\nNoNewPrivs:\t0\nSeccomp:\t2\n"}, 0),
    "seccomp": ({}, {"proc/self/status": "Name:\tsh\nNoNewPrivs:\t1\nSeccomp:\t2\n"}, 1),
}


@pytest.mark.parametrize(("environ", "files", "count"), FILES.values(), ids=FILES)
def test_signs_of_a_sandbox(tmp_path: Path, environ: dict[str, str], files: dict[str, str], count: int) -> None:
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    assert len(sandbox.signs(environ, str(tmp_path))) == count
