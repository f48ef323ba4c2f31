"""What the user configured: built in, then the global file, then the project's, then the command line."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ralphloop.agents.table import is_known, named, names
from ralphloop.config.document import document
from ralphloop.config.layer import settings
from ralphloop.config.table import AGENTS, BY_NAME, CHECKS, KEYS, PRICES, Key, Setting, advice
from ralphloop.config.values import plain, read, shown
from ralphloop.core.errors import UsageProblem
from ralphloop.core.policy import Bound, Budget, CheckRule, Policy, PromptRule
from ralphloop.core.price import TABLE, Price

__all__ = ["Config", "Setting", "load", "plain", "shown"]

FILE = "config.yaml"
PROJECT = ".ralph"


class Config(Struct, frozen=True):
    """Every setting with its origin, in the order of the table, then the checks, then the user's agents."""

    settings: tuple[Setting, ...]

    def setting(self, key: str) -> Setting:
        """Raises KeyError for a key that is not in the table and not set."""
        for setting in self.settings:
            if setting.key == key:
                return setting
        raise KeyError(key)

    def get(self, key: str) -> Any:
        """The value; durations are in seconds, what is `off` is None."""
        return self.setting(key).value

    @property
    def checks(self) -> tuple[CheckRule, ...]:
        return tuple(setting.value for setting in self.settings if isinstance(setting.value, CheckRule))

    @property
    def agents(self) -> tuple[str, ...]:
        """The names of the agents that the user configured."""
        return tuple(s.key.removeprefix(f"{AGENTS}.") for s in self.settings if s.key.startswith(f"{AGENTS}."))

    def agent_settings(self, name: str) -> dict[str, Any]:
        """What the agent of this name is made from; empty when nothing is configured for it."""
        given = dict(self.get(f"{AGENTS}.{name}")) if name in self.agents else {}
        if given.get("kind", name) != "claude":
            return given
        return {"program": self.get("claude.program"), "args": list(self.get("claude.args"))} | given

    def agent_kind(self, name: str) -> str:
        return str(self.agent_settings(name).get("kind", name))

    @property
    def prices(self) -> dict[str, Price]:
        """What tokens cost: the table of the package, and over it what the user configured."""
        own = {s.key.removeprefix(f"{PRICES}."): s.value for s in self.settings if isinstance(s.value, Price)}
        return {**TABLE, **own}

    def policy(self) -> Policy:
        """The rules of a run."""
        fields: dict[str, dict[str, Any]] = {}
        for key in KEYS:
            group, _, field = key.field.rpartition(".")
            if field:
                fields.setdefault(group, {})[field] = _scaled(key, self.get(key.name))
        own = fields[""]
        own["environment"] = (*own["environment"], *self.get("environment.add"))
        bounds = {scope: Bound(**fields[f"budget.{scope}"]) for scope in ("run", "story", "day", "attempt")}
        return Policy(**own, prompt=PromptRule(**fields["prompt"]), budget=Budget(**bounds), checks=self.checks)

    @property
    def chain(self) -> tuple[str, ...]:
        """The agents that may work, the first choice first."""
        return tuple(dict.fromkeys((self.get("defaults.agent"), *self.get("defaults.fallback"))))


def _scaled(key: Key, value: Any) -> Any:
    return value * int(key.unit) if key.kind == "count" and value is not None else value


def load(home: Path, worktree: Path | None, overrides: Mapping[str, tuple[Any, str]] | None = None) -> Config:
    """Read both files and lay the command line over them. Nothing is run, whatever the files say."""
    held = {key.name: Setting(key.name, key.default) for key in KEYS}
    layers = [document(home / FILE)]
    if worktree is not None:
        layers.append(document(worktree / PROJECT / FILE, inside=worktree))
    for layer in filter(None, layers):
        for setting in settings(layer):
            beneath = held[setting.key].value if setting.key in held else None
            held[setting.key] = replace(setting, beneath=beneath)
    for name, (value, option) in _spread(overrides or {}).items():
        held[name] = _overridden(name, value, option)
    ranks = {name: rank for rank, name in enumerate([*BY_NAME, CHECKS, AGENTS, PRICES])}
    # the sort is stable: checks and agents stay in the order in which they were first named
    ordered = sorted(held.values(), key=lambda s: ranks.get(s.key, ranks.get(s.key.split(".")[0], 0)))
    config = Config(tuple(ordered))
    _look_at_the_agent(config)
    return config


def _look_at_the_agent(config: Config) -> None:
    """What only both files and the command line together tell: that the chosen agent is there, and can be started."""
    for name in config.chain:
        if name not in config.agents and not is_known(name):
            known = (*dict.fromkeys((*names(), *config.agents)),)
            chosen = config.setting("defaults.agent" if name == config.chain[0] else "defaults.fallback")
            near = advice(name, known)
            nearest = f"; {near}" if near.startswith("did you mean") else ""
            hint = f"known: {', '.join(known)}{nearest}; one of your own needs agents.{name}.kind: command"
            raise UsageProblem(f'{chosen.origin}: there is no agent "{name}"', hint)
    try:
        named("claude", {"program": config.get("claude.program"), "args": list(config.get("claude.args"))})
    except UsageProblem as problem:
        key = "claude.args" if ".args" in problem.message else "claude.program"
        said = problem.message.replace("agents.claude.", "claude.")
        raise UsageProblem(f"{config.setting(key).origin}: {said}", problem.hint) from None


def _spread(overrides: Mapping[str, tuple[Any, str]]) -> Mapping[str, tuple[Any, str]]:
    """`--agent claude,codex` is a chain; `--agent codex` alone is no part of one."""
    value, option = overrides.get("defaults.agent", (None, ""))
    if not isinstance(value, str):
        return overrides
    first, *rest = (part.strip() for part in value.split(","))
    return {**overrides, "defaults.agent": (first, option), "defaults.fallback": (tuple(rest), option)}


def _overridden(name: str, value: Any, option: str) -> Setting:
    key = BY_NAME.get(name)
    if key is None:
        raise UsageProblem(f"{option}: {name} is not a key of the configuration", advice(name))
    try:
        return Setting(name, read(key, value), f"command line {option}")
    except UsageProblem as problem:
        hint = problem.hint.replace(f"{name.rpartition('.')[2]}: ", f"{option} ")
        raise UsageProblem(f"{option} {problem.message}", hint) from None
