"""A repository with six stories to build, and the environments that lead the real CLI to the loopback server."""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

CHECKOUT = Path(__file__).resolve().parent.parent
CLAUDE_FOLDER = CHECKOUT / ".agents" / "node_modules" / ".bin"
BRANCH = "feature/word-tools"
FEATURE = "feature-word-tools"
WORDS = ("count", "reverse", "upper", "lower", "sort", "join")
CREATED = "2026-01-09T10:00:00Z"
DESCRIPTION = "People who write scripts need small word tools they can trust."


class Repository(NamedTuple):
    """Where the six stories live, and the commit before the first of them."""

    path: Path
    feature: Path
    base: str

    def stories(self) -> list[dict[str, Any]]:
        stories: list[dict[str, Any]] = json.loads((self.feature / "prd.json").read_text())["userStories"]
        return stories

    def git(self, *arguments: str) -> str:
        return git(self.path, *arguments)

    def subjects(self) -> list[str]:
        """What was committed since the beginning, the oldest first."""
        return self.git("log", "--reverse", "--format=%s", f"{self.base}..HEAD").splitlines()


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=Test", "-c", "user.email=test@example.invalid")
    clean = {name: text for name, text in os.environ.items() if not name.startswith("GIT_")}
    environment = clean | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(
        ("git", *identity, *arguments), cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def story_id(number: int) -> str:
    return f"STORY-{number:03d}"


def _stories() -> list[dict[str, Any]]:
    return [
        {
            "id": story_id(number),
            "title": f"Add the {word} tool",
            "description": f"As a script writer I want to {word} words so that I need no helper of my own",
            "acceptanceCriteria": [
                f"`src/{word}.py` defines a function `{word}`",
                "Typecheck passes",
                "Unit tests pass",
            ],
            "priority": number,
            "passes": False,
            "notes": "",
        }
        for number, word in enumerate(WORDS, start=1)
    ]


def _spec(stories: list[dict[str, Any]]) -> str:
    parts = [
        f"---\ncreated: {CREATED}\n---\n\n# Word tools\n\n<!-- Feature folder: .ralph/{FEATURE}/ -->\n",
        f"## Problem Statement\n\n{DESCRIPTION}\n",
        "## Success Criteria\n\n- [ ] Six tools exist\n- [ ] Each has a test\n",
        "## User Stories\n",
    ]
    for word, story in zip(WORDS, stories, strict=True):
        criteria = "\n".join(f"- [ ] {line}" for line in story["acceptanceCriteria"])
        parts.append(
            f"### {story['id']}: {story['title']}\n\n**As a** script writer\n**I want to** {word} words\n"
            f"**So that** I need no helper of my own\n\n**Acceptance Criteria:**\n{criteria}\n\n"
            "**Technical Notes:**\n- One function, no dependency\n"
        )
    parts.append("## Out of Scope\n\n- Anything but ASCII words\n\n## Open Questions\n\n- None\n")
    return "\n".join(parts)


def make_six_story_repo(tmp_path: Path) -> Repository:
    """A committed repository on its feature branch, with a matching spec.md and prd.json."""
    path = tmp_path / "repo"
    feature = path / ".ralph" / FEATURE
    feature.mkdir(parents=True)
    git(path, "init", "-q", "-b", "main")
    (path / "README.md").write_text("# Word tools\n")
    git(path, "add", "-A")
    git(path, "commit", "-q", "-m", "chore: begin")
    git(path, "checkout", "-q", "-b", BRANCH)
    stories = _stories()
    prd = {"description": DESCRIPTION, "createdAt": CREATED, "userStories": stories}
    (feature / "prd.json").write_text(json.dumps(prd, indent=2) + "\n")
    (feature / "spec.md").write_text(_spec(stories))
    (feature / "progress.txt").write_text(f"# Progress Log: {FEATURE}\n# Started: {CREATED}\n")
    git(path, "add", "-A")
    git(path, "commit", "-q", "-m", "docs: plan six stories")
    return Repository(path, feature, git(path, "rev-parse", "HEAD"))


def claude_env(home: Path, url: str, *, retries: int | None = 0, oauth: bool = False) -> dict[str, str]:
    """Everything the CLI may see: an empty home, the loopback server, and no road beyond it."""
    home.mkdir(parents=True, exist_ok=True)
    (home / ".gitconfig").write_text("[user]\n\tname = Agent\n\temail = agent@example.invalid\n")
    nowhere = "http://127.0.0.1:9"
    environment = {
        "PATH": f"{CLAUDE_FOLDER}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "GIT_CONFIG_NOSYSTEM": "1",
        "IS_SANDBOX": "1",
        "ANTHROPIC_BASE_URL": url,
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "HTTP_PROXY": nowhere,
        "HTTPS_PROXY": nowhere,
        "NO_PROXY": "127.0.0.1",
    }
    # a subscription's token is what makes the CLI read the unified limit headers
    environment |= {"CLAUDE_CODE_OAUTH_TOKEN": "dummy"} if oauth else {"ANTHROPIC_API_KEY": "dummy"}
    if retries is not None:
        environment["CLAUDE_CODE_MAX_RETRIES"] = str(retries)
    return environment


def ralph_env(
    tmp_path: Path, url: str, *, retries: int | None = 0, oauth: bool = False, extra: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The environment for `python -m ralphloop run`: its own home, and the package from this checkout."""
    environment = claude_env(tmp_path / "home", url, retries=retries, oauth=oauth)
    home = tmp_path / "ralph-home"
    home.mkdir(exist_ok=True)
    # the tests wait to the very moment at which a limit resets, and not for long in between
    (home / "config.yaml").write_text("limits: {margin_seconds: 0, backoff_seconds: 1}\n")
    environment["RALPH_HOME"] = str(home)
    environment["PYTHONPATH"] = str(CHECKOUT / "src")
    return environment | dict(extra or {})
