"""ralph demo: a real run in a new repository, with a scripted agent: no account, no key, no network."""

import json
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from ralphloop.cli import running
from ralphloop.cli.output import say
from ralphloop.cli.parse import Parsed, parse
from ralphloop.core.errors import DONE, Problem
from ralphloop.templates import demo

BRANCH = "feature/count-words"
CONFIG = """# Written by `ralph demo`.
defaults:
  agent: scripted
  timeout_minutes: 4s
  pause_seconds: 0.3
agents:
  scripted:
    script: {script}
quality_checks:
  tests: {check}
"""


def call(parsed: Parsed) -> int:
    kept = parsed.options.get("keep")
    folder = Path(str(kept)).absolute() if kept else Path(tempfile.mkdtemp(prefix="ralph-demo-"))
    if folder.exists() and any(folder.iterdir()):
        raise Problem(f"{folder} is not empty", "name a folder that does not exist yet")
    repository, home = folder / "repository", folder / "home"
    build(repository)
    os.environ["RALPH_HOME"] = str(home)
    os.chdir(repository)
    say(f"A new repository with six stories lies in {repository}")
    say("Its agent is scripted: one attempt fails a check, one claims what is not so, one hangs. Watch.\n")
    code = running.call(parse(["run", "--trust", *(["--verbose"] if parsed.options.get("verbose") else [])]))
    if code == DONE:
        _show(repository, home)
    return code


def build(repository: Path) -> None:
    """The repository as a user would have it before `ralph run`."""
    feature = repository / ".ralph" / BRANCH.replace("/", "-")
    feature.mkdir(parents=True)
    (feature / "spec.md").write_text(demo.spec())
    (feature / "prd.json").write_text(json.dumps(demo.plan(), indent=2) + "\n")
    (feature / "progress.txt").write_text("# Progress Log: count-words\n# Started: 2026-01-01T00:00:00Z\n")
    script = repository / ".ralph" / "agent-script.json"
    script.write_text(json.dumps(demo.script(), indent=1) + "\n")
    (repository / "run_tests.py").write_text(demo.CHECK)
    check = json.dumps(f"{shlex.quote(sys.executable)} -B run_tests.py")
    (repository / ".ralph" / "config.yaml").write_text(CONFIG.format(script=".ralph/agent-script.json", check=check))
    for words in (
        ["init", "-q", "-b", BRANCH],
        ["add", "-A"],
        ["-c", "user.name=You", "-c", "user.email=you@example.com", "commit", "-q", "-m", "Stories to build"],
    ):
        subprocess.run(["git", *words], cwd=repository, check=True)


def _show(repository: Path, home: Path) -> None:
    say("\nWhat was built:")
    log = subprocess.run(
        ["git", "log", "--reverse", "--format=  %h %s"], cwd=repository, check=True, capture_output=True, text=True
    )
    say(log.stdout.rstrip())
    text = "the loop goes on until the work is done and the work is proven"
    shown = subprocess.run(
        [sys.executable, "-B", "main.py"], cwd=repository, check=True, capture_output=True, text=True, input=text
    )
    say(f'  $ echo "{text}" | python main.py\n  {shown.stdout.rstrip()}')
    say("\nWhere things lie:")
    say(f"  the repository    {repository}")
    say(f"  the run's folder  {next((home / 'runs').iterdir())}")
    say(f"  look again with   cd {repository} && RALPH_HOME={home} ralph log")
