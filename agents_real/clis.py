"""The agent CLIs that are driven through the table of ends: how each is led to the loopback server and kept brief."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from repository import CHECKOUT, CLAUDE_FOLDER

AIDER_FOLDER = CHECKOUT / ".agents" / "aider" / "bin"
NOWHERE = "http://127.0.0.1:9"


class Cli(NamedTuple):
    """One CLI: what leads it to a model server, as files in its home and as variables."""

    name: str
    settle: Callable[[Path, str], dict[str, str]]
    told: frozenset[str] = frozenset()  # the kinds of lines whose order is the same every time; none: all of them


def _claude(home: Path, url: str) -> dict[str, str]:
    return {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "dummy",
        "CLAUDE_CODE_MAX_RETRIES": "0",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "IS_SANDBOX": "1",
    }


def _codex(home: Path, url: str) -> dict[str, str]:
    folder = home / ".codex"
    folder.mkdir()
    (folder / "config.toml").write_text(
        f'model_provider = "loopback"\n[model_providers.loopback]\nname = "loopback"\nbase_url = "{url}/v1"\n'
        'env_key = "CODEX_TEST_KEY"\nwire_api = "responses"\nrequest_max_retries = 0\nstream_max_retries = 0\n'
    )
    return {"CODEX_TEST_KEY": "dummy"}


def _opencode(home: Path, url: str) -> dict[str, str]:
    folder = home / ".config" / "opencode"
    folder.mkdir(parents=True)
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Loopback",
        "options": {"baseURL": f"{url}/v1", "apiKey": "dummy"},
        "models": {"words": {"name": "Words", "limit": {"context": 200_000, "output": 8_000}}},
    }
    settings = {"provider": {"loopback": provider}, "model": "loopback/words", "share": "disabled"}
    (folder / "opencode.json").write_text(json.dumps(settings))
    return {"OPENCODE_DISABLE_MODELS_FETCH": "1"}


def _copilot(home: Path, url: str) -> dict[str, str]:
    return {
        "COPILOT_OFFLINE": "true",
        "COPILOT_PROVIDER_BASE_URL": f"{url}/v1",
        "COPILOT_PROVIDER_TYPE": "openai",
        "COPILOT_PROVIDER_API_KEY": "dummy",
        "COPILOT_MODEL": "words",
    }


def _gemini(home: Path, url: str) -> dict[str, str]:
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "general": {"maxAttempts": 1, "enableAutoUpdate": False, "enableAutoUpdateNotification": False},
        "privacy": {"usageStatisticsEnabled": False},
    }
    _settings(home / ".gemini", settings)
    # with a model it does not ask a smaller one before every session which to use
    own = {"GEMINI_MODEL": "gemini-2.5-pro", "GEMINI_CLI_TRUST_WORKSPACE": "true"}
    return {"GEMINI_API_KEY": "dummy", "GOOGLE_GEMINI_BASE_URL": url, **own}


def _qwen(home: Path, url: str) -> dict[str, str]:
    settings = {
        "general": {"enableAutoUpdate": False, "disableAutoUpdate": True},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "memory": {"enableManagedAutoMemory": False},
        "model": {"generationConfig": {"maxRetries": 0}},
    }
    _settings(home / ".qwen", settings)
    # no proxy that leads nowhere: the CLI would ask it for the loopback server too
    open_road = {"HTTP_PROXY": "", "HTTPS_PROXY": ""}
    return {"OPENAI_API_KEY": "dummy", "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_MODEL": "qwen3-coder", **open_road}


def _aider(home: Path, url: str) -> dict[str, str]:
    own = {"AIDER_MODEL": "openai/gpt-4o", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    path = f"{AIDER_FOLDER}{os.pathsep}{os.environ['PATH']}"
    return {"OPENAI_API_KEY": "dummy", "OPENAI_API_BASE": f"{url}/v1", "PATH": path, **own}


def _settings(folder: Path, settings: object) -> None:
    folder.mkdir()
    (folder / "settings.json").write_text(json.dumps(settings))


CLAUDE = Cli("claude", _claude)
GEMINI = Cli("gemini", _gemini)
QWEN = Cli("qwen", _qwen)
AIDER = Cli("aider", _aider)
CODEX = Cli("codex", _codex)
OPENCODE = Cli("opencode", _opencode)
COPILOT = Cli(
    "copilot",
    _copilot,
    frozenset({
        "assistant.message", "tool.execution_complete", "model.call_failure", "assistant.turn_retry", "session.error",
        "result",
    }),
)  # fmt: skip
NEW = (CODEX, OPENCODE, COPILOT)
ALL = (CLAUDE, *NEW, GEMINI, QWEN)


def surroundings(cli: Cli, tmp_path: Path, url: str) -> dict[str, str]:
    """The environment of a `ralph run` with this CLI: an empty home, the loopback server, no road beyond it."""
    home, ralph_home, scratch = (tmp_path / name for name in ("home", "ralph-home", "scratch"))
    for folder in (home, ralph_home, scratch):
        folder.mkdir()
    (home / ".gitconfig").write_text("[user]\n\tname = Agent\n\temail = agent@example.invalid\n")
    (ralph_home / "config.yaml").write_text(
        f"defaults: {{agent: {cli.name}}}\nsupervision: {{result_grace_seconds: 1, kill_grace_seconds: 2}}\n"
    )
    return {
        "PATH": f"{CLAUDE_FOLDER}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(home),
        "TMPDIR": str(scratch),
        "LANG": "C.UTF-8",
        "GIT_CONFIG_NOSYSTEM": "1",
        "HTTP_PROXY": NOWHERE,
        "HTTPS_PROXY": NOWHERE,
        "NO_PROXY": "127.0.0.1",
        "RALPH_HOME": str(ralph_home),
        "PYTHONPATH": str(CHECKOUT / "src"),
        **cli.settle(home, url),
    }
