"""The real Claude Code CLI under what `ralph` hands it and allows it, and what `ralph doctor --probe` says of it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import Serve
from messages import Say, Tool
from ralph_run import SKIP, finish, start
from repository import Repository, ralph_env
from scenarios import always, turns

SECRETS = {"GITHUB_TOKEN": "hush", "AWS_SECRET_ACCESS_KEY": "hush", "CLAUDECODE": "1", "CLAUDE_CODE_ENTRYPOINT": "cli"}
ENV = Tool("Bash", {"command": "env > seen.txt", "description": "look"})


def test_a_probe_finds_that_nothing_has_drifted(tmp_path: Path, repository: Repository, serve: Serve) -> None:
    server = serve(always(Say("ready")))
    argv = (sys.executable, "-m", "ralphloop", "doctor", "--probe", "claude", "--yes")
    done = subprocess.run(
        argv, cwd=repository.path, env=ralph_env(tmp_path, server.url), capture_output=True, text=True, check=False
    )
    assert (done.returncode, "✓ probe claude  it answered in " in done.stdout) == (0, True), done
    assert "Nothing has drifted." in done.stdout, done.stdout
    truth = server.usage.input + server.usage.output
    assert f"· {truth} tokens ·" in done.stdout


def test_secrets_do_not_reach_the_agent_s_tools(tmp_path: Path, repository: Repository, serve: Serve) -> None:
    server = serve(turns(Say(tools=(ENV,)), Say("done")))
    finish(start(repository, ralph_env(tmp_path, server.url, extra=SECRETS), SKIP, "-n", "1"))
    seen = (repository.path / "seen.txt").read_text()
    assert "RALPH_ITERATION=1\n" in seen
    assert "hush" not in seen


@pytest.mark.skipif(os.geteuid() != 0, reason="only root is refused")
def test_root_is_refused_before_claude_refuses(tmp_path: Path, repository: Repository, serve: Serve) -> None:
    server = serve(always(Say("ready")))
    environment = ralph_env(tmp_path, server.url)
    del environment["IS_SANDBOX"]
    run = finish(start(repository, environment, SKIP, "-n", "1"))
    assert run.exit_code == 1
    assert "✗ Agent claude: Claude Code refuses --dangerously-skip-permissions to root" in run.out
    run = finish(start(repository, environment, SKIP, "-n", "1", "--skip-preflight"))
    assert "cannot be used with root/sudo privileges" in run.out, "what was foreseen is what it says"
    assert server.seen == []
