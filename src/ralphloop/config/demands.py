"""The settings of a repository's own file that run or allow something, or lift a limit, apart from their order."""

import hashlib
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from ralphloop.config import FILE, PROJECT, Config, Setting, plain
from ralphloop.config.table import AGENTS, CHECKS, PRICES
from ralphloop.config.values import HIDDEN
from ralphloop.core.demand import Demand
from ralphloop.core.policy import CheckRule
from ralphloop.core.price import TABLE

ALLOWING = ("claude.dangerously_skip_permissions", "claude.allowed_tools", "environment.keep", "environment.add")
STARTING = ("claude.program", "claude.args")
LIFTING = {"completion.trust_promise": True, "completion.require_commit": False}
# by which it is reckoned what was spent, and whose it is: one that is lower lifts every limit
COUNTING = ("limits.account", "budget.attempt_cost", "budget.attempt_tokens")
SECRET = re.compile(r"KEY|TOKEN|SECRET|PASS|AUTH|CREDENTIAL", re.IGNORECASE)


def demands(config: Config, worktree: str) -> tuple[Demand, ...]:
    """In the order of the settings. What the user's own file or the command line says is no demand."""
    return tuple(_demands(config, str(Path(worktree, PROJECT, FILE))))


def _demands(config: Config, file: str) -> Iterator[Demand]:
    for setting in config.settings:
        where, _, line = setting.origin.rpartition(":")
        if where != file:
            continue
        lifts = _lifts(setting)
        value = plain(setting) if lifts else _value(setting)
        if value is not None:
            exact = json.dumps([setting.key, value], sort_keys=True, ensure_ascii=True)
            digest = hashlib.sha256(exact.encode()).hexdigest()
            without = _without(setting) if lifts else ""
            yield Demand(setting.key, _said(value) + without, digest, f"{PROJECT}/{FILE}:{line}")


def _value(setting: Setting) -> Any:
    """What it comes to on this machine; None for a setting that neither runs nor allows anything."""
    if setting.key.startswith(f"{CHECKS}."):
        return setting.value.command if isinstance(setting.value, CheckRule) else None
    if setting.value and (setting.key.startswith(f"{AGENTS}.") or setting.key in ALLOWING + STARTING):
        return plain(setting)
    return None


def _lifts(setting: Setting) -> bool:
    """Whether a limit of the user's would not hold any more; one that is only lowered need not be agreed to."""
    key, value, own = setting.key, setting.value, setting.beneath
    if key in LIFTING:
        return bool(value is LIFTING[key] and value is not own)
    if key in COUNTING or key.startswith(f"{PRICES}."):
        return bool(value != (TABLE.get(key.removeprefix(f"{PRICES}.")) if own is None else own))
    if key.startswith("budget."):
        return own is not None and (value is None or value > own)
    return key.startswith(f"{CHECKS}.") and value is None and own is not None


def _without(setting: Setting) -> str:
    """What would hold otherwise."""
    if setting.beneath in (None, ""):
        return ""
    return f" (without it: {_said(plain(replace(setting, value=setting.beneath)))})"


def _said(value: Any) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{name}: {_part(name, part)}" for name, part in value.items())
    return (
        shlex.join(value) if isinstance(value, list) else str(value).lower() if isinstance(value, bool) else str(value)
    )


def _part(name: str, part: Any) -> str:
    if name == "env" and isinstance(part, dict):
        return ", ".join(f"{one}={HIDDEN if SECRET.search(one) else held}" for one, held in part.items())
    return shlex.join(map(str, part)) if isinstance(part, list) else str(part)
