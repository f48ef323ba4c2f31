"""The settings of a repository's own file that are commands or permissions, apart from comments and order."""

import hashlib
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ralphloop.config import FILE, PROJECT, Config, Setting, plain
from ralphloop.config.table import AGENTS, CHECKS
from ralphloop.config.values import HIDDEN
from ralphloop.core.demand import Demand
from ralphloop.core.policy import CheckRule

ALLOWING = ("claude.dangerously_skip_permissions", "claude.allowed_tools", "environment.keep", "environment.add")
STARTING = ("claude.program", "claude.args")
SECRET = re.compile(r"KEY|TOKEN|SECRET|PASS|AUTH|CREDENTIAL", re.IGNORECASE)


def demands(config: Config, worktree: str) -> tuple[Demand, ...]:
    """In the order of the settings. What the user's own file or the command line says is no demand."""
    return tuple(_demands(config, str(Path(worktree, PROJECT, FILE))))


def _demands(config: Config, file: str) -> Iterator[Demand]:
    for setting in config.settings:
        where, _, line = setting.origin.rpartition(":")
        if where != file or not setting.value:
            continue
        value = _value(setting)
        if value is not None:
            exact = json.dumps([setting.key, value], sort_keys=True, ensure_ascii=True)
            digest = hashlib.sha256(exact.encode()).hexdigest()
            yield Demand(setting.key, _said(value), digest, f"{PROJECT}/{FILE}:{line}")


def _value(setting: Setting) -> Any:
    """What it comes to on this machine; None for a setting that neither runs nor allows anything."""
    if setting.key.startswith(f"{CHECKS}."):
        return setting.value.command if isinstance(setting.value, CheckRule) else None
    if setting.key.startswith(f"{AGENTS}.") or setting.key in ALLOWING + STARTING:
        return plain(setting)
    return None


def _said(value: Any) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{name}: {_part(name, part)}" for name, part in value.items())
    return shlex.join(value) if isinstance(value, list) else str(value).lower() if value is True else str(value)


def _part(name: str, part: Any) -> str:
    if name == "env" and isinstance(part, dict):
        return ", ".join(f"{one}={HIDDEN if SECRET.search(one) else held}" for one, held in part.items())
    return shlex.join(map(str, part)) if isinstance(part, list) else str(part)
