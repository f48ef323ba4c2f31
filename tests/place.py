"""A real repository with stories and a scripted agent, and the program `ralph` run in it as a user would."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parent.parent
WHO = ["-c", "user.name=You", "-c", "user.email=you@example.com"]
Action = str | dict[str, Any]
LEAST = """\
defaults: {agent: scripted, pause_seconds: 0}
supervision: {kill_grace_seconds: 1, result_grace_seconds: 1}
environment: {add: [RALPH, COMMIT]}
"""


STARTED: list["subprocess.Popen[bytes]"] = []  # whoever still runs when its test is over, because it failed, is ended


class Result(NamedTuple):
    code: int
    out: str
    err: str


class Place:
    """One worktree, its RALPH_HOME, and what is asked of them."""

    def __init__(self, path: Path, home: Path, branch: str) -> None:
        self.path, self.home, self.branch = path, home, branch
        self.feature = branch.replace("/", "-")
        self.folder = path / ".ralph" / self.feature
        self.prd = self.folder / "prd.json"
        self.trusting = True  # a run is told to run what the configuration names: it is the tests' own

    def env(self, **more: str) -> dict[str, str]:
        source = str(ROOT / "src")
        return {**os.environ, "RALPH_HOME": str(self.home), "PYTHONPATH": source, "NO_COLOR": "1", **more}

    def argv(self, *words: str) -> list[str]:
        if self.trusting and words[:1] == ("run",):
            words = ("run", "--trust", *words[1:])
        return [sys.executable, "-P", "-m", "ralphloop", *words]

    def ralph(self, *words: str, timeout: float = 60, cwd: Path | None = None, **env: str) -> Result:
        done = subprocess.run(
            self.argv(*words),
            cwd=cwd or self.path,
            env=self.env(**env),
            capture_output=True,
            timeout=timeout,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        return Result(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))

    def start(self, *words: str, **env: str) -> "subprocess.Popen[bytes]":
        """In the background, in a session of its own; its output lies in `out.txt` of the home."""
        self.home.mkdir(parents=True, exist_ok=True)
        with (self.home / "out.txt").open("ab") as out:
            runner = subprocess.Popen(
                self.argv(*words),
                cwd=self.path,
                env=self.env(**env),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        STARTED.append(runner)
        return runner

    def git(self, *words: str, check: bool = True) -> str:
        done = subprocess.run(["git", *WHO, *words], cwd=self.path, check=check, capture_output=True)
        return done.stdout.decode(errors="replace").rstrip("\n")

    def passes(self) -> dict[str, bool]:
        """The marks, wherever the folder is by now."""
        found = self.prd if self.prd.exists() else self.archived() / "prd.json"
        return {story["id"]: story["passes"] for story in json.loads(found.read_text())["userStories"]}

    def archived(self) -> Path:
        return sorted((self.path / ".ralph" / "archive").iterdir())[-1]

    def script(self, **script: Any) -> None:
        (self.home.parent / "script.json").write_text(json.dumps(script))

    def config(self, text: str) -> None:
        """Keys beside those which every place has."""
        script = self.home.parent / "script.json"
        agents = f"agents: {{scripted: {{script: {json.dumps(str(script))}}}}}\n"
        # the tests wait to the very moment at which a limit resets
        margin = "limits: {margin_seconds: 0"
        text = text.replace("limits: {", f"{margin}, ", 1) if "limits: {" in text else f"{text}{margin}}}\n"
        (self.path / ".ralph" / "config.yaml").write_text(LEAST + agents + text)

    def run_folder(self) -> Path:
        """The last one here: places may share a home, and two runs begin within a second."""
        runs = sorted((self.home / "runs").iterdir())
        journals = {run: run / "journal.jsonl" for run in runs}
        here = f'"worktree":{json.dumps(str(self.path))}'.encode()
        mine = [run for run, journal in journals.items() if journal.exists() and here in journal.read_bytes()]
        return (mine or runs)[-1]

    def journal(self) -> list[dict[str, Any]]:
        text = (self.run_folder() / "journal.jsonl").read_text()
        return [json.loads(line) for line in text.split("\n") if line]

    def records(self, kind: str) -> list[dict[str, Any]]:
        return [record for record in self.journal() if record["type"] == kind]

    def prompt(self, n: int) -> str:
        return (self.run_folder() / f"prompt-{n}.md").read_text()

    def log(self, n: int) -> str:
        return (self.run_folder() / f"attempt-{n}.log").read_text(errors="replace")

    def said(self) -> str:
        """What the runner in the background has printed."""
        return (self.home / "out.txt").read_text(errors="replace")

    def loop_state(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.path / ".claude" / "loop-state.json").read_text())
        return found

    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.ralph("status", "--json").out)
        return found


def stories(count: int) -> list[dict[str, Any]]:
    return [
        {
            "id": f"STORY-{n:03d}",
            "title": f"Story number {n}",
            "description": "",
            "acceptanceCriteria": ["It is there", "Typecheck passes"],
            "priority": n,
            "passes": False,
            "notes": "",
        }
        for n in range(1, count + 1)
    ]


def spec_of(plan: Sequence[Mapping[str, Any]]) -> str:
    parts = [
        "---\ncreated: 2026-01-01T00:00:00Z\n---\n\n# A feature\n\n## Problem Statement\n\nSomething is missing.\n"
    ]
    parts.append("\n## Success Criteria\n\n- [ ] It is there\n\n## User Stories\n")
    for story in plan:
        criteria = "".join(f"- [ ] {criterion}\n" for criterion in story["acceptanceCriteria"])
        parts.append(f"\n### {story['id']}: {story['title']}\n\n**Acceptance Criteria:**\n\n{criteria}")
    parts.append("\n## Out of Scope\n\n- The rest\n\n## Open Questions\n\nNone.\n")
    return "".join(parts)


def write_feature(folder: Path, plan: Sequence[Mapping[str, Any]]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    prd = {"description": "Something is missing.", "createdAt": "2026-01-01T00:00:00Z", "userStories": list(plan)}
    (folder / "prd.json").write_text(json.dumps(prd, indent=2) + "\n")
    (folder / "spec.md").write_text(spec_of(plan))
    (folder / "progress.txt").write_text("# Progress Log: x\n# Started: 2026-01-01T00:00:00Z\n")


def good(claim: Action | None = None) -> list[Action]:
    """An attempt that does its story as it should be done."""
    return [
        {"write": {"{story}.txt": "built by {story}\n"}},
        {"commit": "Build {story}"},
        {"mark": "current"},
        *([claim] if claim else []),
    ]


def make_place(
    tmp_path: Path,
    *,
    count: int = 2,
    branch: str = "feature/x",
    config: str = "",
    name: str = "repository",
    script: Mapping[str, Any] | None = None,
) -> Place:
    place = Place(tmp_path / name, tmp_path / "ralph-home", branch)
    place.path.mkdir(parents=True)
    place.git("init", "-q", "-b", branch)
    place.git("config", "user.name", "You")
    place.git("config", "user.email", "you@example.com")
    write_feature(place.folder, stories(count))
    place.script(**(script or {"default": good()}))
    place.config(config)
    (place.path / "README").write_text("a repository\n")
    place.git("add", "-A")
    place.git("commit", "-q", "-m", "start")
    return place


def wait_for(found: Callable[[], Any], seconds: float = 20) -> Any:
    """Ask again and again until there is an answer."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if answer := found():
            return answer
        time.sleep(0.02)
    raise AssertionError("it did not happen in time")


def processes_with(mark: str) -> Iterator[int]:
    """The pids whose command line or environment holds a text."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                found = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if mark.encode() in found and state != "Z":
                yield int(entry.name)


def end(process: "subprocess.Popen[bytes]", number: int = signal.SIGTERM, seconds: float = 30) -> int:
    process.send_signal(number)
    return process.wait(seconds)


def busy(place: Place, n: int = 1) -> None:
    """Wait until the agent of iteration n has said its first word."""
    wait_for(lambda: any((place.home / "runs").glob(f"*/attempt-{n}.log")) and place.log(n))


def nobody_left(place: Place) -> bool:
    return not list(processes_with(f"RALPH_MARK={place.run_folder().name}."))


def shell_code(returned: int) -> int:
    """An exit code as a shell shows it, where death by a signal is 128 and its number."""
    return returned if returned >= 0 else 128 - returned


def tree(*roots: Path) -> dict[str, tuple[str, bytes]]:
    """Everything below some folders: kind and content of each name."""
    found = {}
    for root in roots:
        for path in sorted([root, *root.rglob("*")]) if root.exists() else ():
            if path.is_symlink():
                found[str(path)] = ("link", str(path.readlink()).encode())
            else:
                found[str(path)] = ("folder", b"") if path.is_dir() else ("file", path.read_bytes())
    return found
