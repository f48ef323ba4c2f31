"""Which agents there are, and how a name and its settings become one. Only the chosen one is imported."""

import importlib
import re
from collections.abc import Iterable, Mapping
from typing import Any, get_args

import msgspec

from ralphloop.agents import plugins
from ralphloop.core.errors import UsageProblem
from ralphloop.core.ports import Agent

AGENTS = {
    "aider": "ralphloop.agents.aider:Aider",
    "amp": "ralphloop.agents.amp:Amp",
    "claude": "ralphloop.agents.claude:Claude",
    "codex": "ralphloop.agents.codex:Codex",
    "command": "ralphloop.agents.command:CommandAgent",
    "copilot": "ralphloop.agents.copilot:Copilot",
    "cursor": "ralphloop.agents.cursor:Cursor",
    "droid": "ralphloop.agents.droid:Droid",
    "gemini": "ralphloop.agents.gemini:Gemini",
    "goose": "ralphloop.agents.goose:Goose",
    "kiro": "ralphloop.agents.kiro:Kiro",
    "opencode": "ralphloop.agents.opencode:OpenCode",
    "qwen": "ralphloop.agents.qwen:Qwen",
    "scripted": "ralphloop.agents.scripted:Scripted",
}
EXAMPLES = {"argv": "argv: [my-agent, --batch]", "script": "script: actions.json"}
TYPES = {
    "array": "a list",
    "object": "a mapping",
    "str": "text",
    "int": "a number",
    "bool": "true or false",
    "null": "empty",
}


def named(name: str, settings: Mapping[str, object]) -> Agent:
    """The agent of this name: one of the table, or a user's own whose settings say its `kind`."""
    given = dict(settings)
    kind = given.pop("kind", None)
    for key in ("account", "model"):
        _plain(name, key, given.pop(key, None))
    if kind is None and not is_known(name):
        own = f"; an agent of your own needs agents.{name}.kind: command"
        raise UsageProblem(f'there is no agent "{name}"', _known_ones(name) + own)
    if kind is not None and not is_known(kind):
        raise UsageProblem(f"agents.{name}.kind: there is no kind {kind!r}", _known_ones(str(kind)))
    return _converted(name, given, _loaded(name if kind is None else str(kind)))


def _plain(name: str, key: str, value: object) -> None:
    """What every agent may be given beside its own settings: whose limits it uses, and its model."""
    if value is not None and not (isinstance(value, str) and value.isprintable() and len(value) <= 200):
        raise UsageProblem(f"agents.{name}.{key}: must be text on one line", f"write {key}: NAME")


def is_known(kind: object) -> bool:
    """Whether the package or another that is installed has such an agent; those are asked for nothing but names."""
    return isinstance(kind, str) and (kind in AGENTS or kind in plugins.names())


def names() -> tuple[str, ...]:
    """The agents of the package, then those of other packages."""
    return (*AGENTS, *(name for name in plugins.names() if name not in AGENTS))


def _loaded(kind: str) -> Any:
    if kind not in AGENTS:
        return plugins.loaded(kind)
    module, _, class_name = AGENTS[kind].partition(":")
    return getattr(importlib.import_module(module), class_name)


def _known_ones(name: str) -> str:
    return f"known: {', '.join(names())}" + _nearest(name, names())


def _nearest(wrong: str, right: Iterable[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(wrong.lower(), list(right), n=1)
    return f"; did you mean {close[0]}?" if close else ""


def _converted(name: str, given: dict[str, object], settings_class: Any) -> Agent:
    keys = [field.name for field in msgspec.structs.fields(settings_class) if field.name != "name"]
    for key in given:
        if key not in keys:
            raise UsageProblem(
                f"agents.{name}: there is no key {key!r}", f"known: {', '.join(keys)}{_nearest(str(key), keys)}"
            )
    present = {key: value for key, value in given.items() if value is not None}
    try:
        agent: Agent = msgspec.convert({**present, "name": name}, settings_class)
    except msgspec.ValidationError as trouble:
        raise _problem(name, str(trouble), settings_class) from None
    return agent


def _problem(name: str, complaint: str, settings_class: Any) -> UsageProblem:
    """msgspec's complaint in the words of the configuration."""
    if missing := re.search(r"missing required field `(\w+)`", complaint):
        key = missing[1]
        return UsageProblem(f"agents.{name}.{key} is missing", f"write {EXAMPLES.get(key, key)} under agents: {name}:")
    what, _, path = complaint.partition(" - at ")
    place = re.search(r"\$\.([\w.]+(?:\[\d+\])?)", path)
    where = f"agents.{name}.{place[1]}" if place else f"agents.{name}"
    if chosen := re.fullmatch(r"Invalid enum value '(.*)'", what, re.DOTALL):
        allowed = _choices(settings_class, place[1] if place else "")
        hint = f"write {place[1] if place else name}: {allowed[0]}" if allowed else "look at this value"
        return UsageProblem(f"{where}: must be one of {', '.join(allowed)}, not {chosen[1]!r:.60}", hint)
    types = re.fullmatch(r"Expected `([^`]+)`, got `(\w+)`", what)
    if types is None:
        return UsageProblem(f"{where}: {what[:1].lower()}{what[1:]}", "look at this value")
    wanted, got = (TYPES.get(kind, kind) for kind in types.groups())
    hints = {"a list": "write a list of words: [program, --option, value]", "text": "put it in quotes"}
    return UsageProblem(f"{where}: must be {wanted}, is {got}", hints.get(wanted, f"give {wanted}"))


def _choices(settings_class: Any, key: str) -> tuple[str, ...]:
    found = [field.type for field in msgspec.structs.fields(settings_class) if field.name == key]
    return get_args(found[0]) if found else ()
