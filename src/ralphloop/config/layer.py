"""What one file says: its nodes, checked against the table, as settings that know their line."""

import re
from typing import Any

import yaml

from ralphloop.agents.table import is_known, named, names
from ralphloop.config.document import PREFIX, Document, nothing
from ralphloop.config.prices import prices
from ralphloop.config.table import AGENTS, BY_NAME, CHECKS, PRICES, SECTIONS, TOP, Setting, advice
from ralphloop.config.values import NO, YES, read
from ralphloop.core import duration
from ralphloop.core.errors import UsageProblem
from ralphloop.core.policy import CheckRule

LONGEST_NAME = 64


def settings(document: Document) -> list[Setting]:
    """Every key the file sets, in its order."""
    found: list[Setting] = []
    if document.root is None:
        return found
    for name, name_node, value in document.pairs(document.root, ""):
        if name == CHECKS:
            found += _checks(document, value)
        elif name == AGENTS:
            found += _agents(document, value)
        elif name == PRICES:
            found += prices(document, value)
        elif name in SECTIONS:
            for inner, inner_node, inner_value in document.pairs(value, name):
                found.append(_setting(document, f"{name}.{inner}", inner_node, inner_value))
        elif name in TOP:
            found.append(_setting(document, name, name_node, value))
        else:
            raise document.complaint(name_node, name, "is not a section of the configuration", _section(name))
    return found


def _section(name: str) -> str:
    """A key at the wrong depth is more often the trouble than a section that nobody knows."""
    near = advice(name, TOP)
    return near if near.startswith("did you mean") else advice(name, (*TOP, *BY_NAME))


def _setting(document: Document, name: str, name_node: yaml.Node, node: yaml.Node) -> Setting:
    key = BY_NAME.get(name)
    if key is None:
        raise document.complaint(name_node, name, "is not a key of the configuration", advice(name))
    if nothing(node) and not key.off:
        raise document.complaint(name_node, name, "has no value", "write a value, or remove the line")
    try:
        if key.kind == "flag" and node.tag == f"{PREFIX}str" and str(node.value).lower() in YES + NO:
            raise UsageProblem(
                f'must be true or false, not the text "{node.value}"',
                f"write it without quotes: {name.rpartition('.')[2]}: true",
            )
        value = read(key, _raw(node))
    except UsageProblem as problem:
        raise document.complaint(node, name, problem.message, problem.hint) from None
    return Setting(name, value, document.place(name_node))


def _raw(node: yaml.Node) -> Any:
    """The text as it was written, so that `off`, `010` and `1:30` are judged by the key and not by YAML."""
    if isinstance(node, yaml.SequenceNode):
        if any(not isinstance(item, yaml.ScalarNode) or nothing(item) for item in node.value):
            raise UsageProblem("must be a list of texts", "put quotes around each of them")
        return [str(item.value) for item in node.value]
    if isinstance(node, yaml.MappingNode):
        raise UsageProblem("must be one value, not a section", "write it on the same line, after the colon")
    return "off" if nothing(node) else str(node.value)


def _checks(document: Document, node: yaml.Node) -> list[Setting]:
    found = []
    for name, name_node, value in document.pairs(node, CHECKS):
        key = f"{CHECKS}.{name}"
        # the name becomes part of a file's name
        if "/" in name or "\\" in name or name.startswith(".") or not name.isprintable() or len(name) > LONGEST_NAME:
            what = "is not a name for a check"
            raise document.complaint(name_node, key, what, "use letters, digits, - and _, at most 64 characters")
        found.append(Setting(key, _check(document, key, name, value), document.place(name_node)))
    return found


def _check(document: Document, key: str, name: str, node: yaml.Node) -> CheckRule | None:
    """None turns off a check that the global file configured."""
    if not isinstance(node, yaml.MappingNode):
        return _command(document, key, name, node)
    known = (f"{key}.command", f"{key}.timeout")
    parts = {}
    for part, part_node, value in document.pairs(node, key):
        if f"{key}.{part}" not in known:
            raise document.complaint(part_node, f"{key}.{part}", "is not known", advice(f"{key}.{part}", known))
        parts[part] = value
    if "command" not in parts:
        raise document.complaint(node, key, "has no command", _command_hint("command"))
    rule = _command(document, f"{key}.command", name, parts["command"])
    if rule is None or "timeout" not in parts:
        return rule
    try:
        timeout = duration.seconds(_raw(parts["timeout"]), 60)
    except UsageProblem as problem:
        raise document.complaint(parts["timeout"], f"{key}.timeout", problem.message, problem.hint) from None
    return CheckRule(name, rule.command, timeout)


def _command_hint(word: str) -> str:
    return f'write the command as text: {word}: "make test"'


def _command(document: Document, key: str, name: str, node: yaml.Node) -> CheckRule | None:
    word = name if key == f"{CHECKS}.{name}" else "command"
    if isinstance(node, yaml.ScalarNode):
        text = node.value.strip()
        if node.tag == f"{PREFIX}bool" and text.lower() == "off":
            return None
        if node.tag == f"{PREFIX}str" and text:
            return CheckRule(name, text)
        if text:
            hint = f'{word}: off turns the check off; {word}: "{text}" runs the program {text}'
            raise document.complaint(node, key, f"must be a command, not {text}", hint)
    raise document.complaint(node, key, "must be a command", _command_hint(word))


def _agents(document: Document, node: yaml.Node) -> list[Setting]:
    if isinstance(node, yaml.SequenceNode):
        return _chain(document, node)
    found = []
    for name, name_node, value in document.pairs(node, AGENTS):
        key = f"{AGENTS}.{name}"
        try:
            read(BY_NAME["defaults.agent"], name)
        except UsageProblem as problem:
            raise document.complaint(name_node, key, problem.message, problem.hint) from None
        if not isinstance(value, yaml.MappingNode):
            hint = "write kind: command and argv: [PROGRAM, ...] below it"
            raise document.complaint(value, key, "must be a section", hint)
        found.append(Setting(key, _agent(document, key, name, value), document.place(name_node)))
    return found


def _chain(document: Document, node: yaml.Node) -> list[Setting]:
    """`agents: [claude, codex]` says in which order they take turns."""
    try:
        first, *rest = [read(BY_NAME["defaults.agent"], name) for name in _raw(node)] or [""]
        if not first:
            raise UsageProblem("is empty", "name one agent at least: agents: [claude, codex]")
    except UsageProblem as problem:
        raise document.complaint(node, AGENTS, problem.message, problem.hint) from None
    place = document.place(node)
    return [Setting("defaults.agent", first, place), Setting("defaults.fallback", tuple(rest), place)]


def _agent(document: Document, key: str, name: str, node: yaml.Node) -> dict[str, Any]:
    given: dict[str, Any] = document.plain(node, key)
    pairs = {part: (part_node, value) for part, part_node, value in document.pairs(node, key)}
    for part, (_, value) in pairs.items():
        given[part] = _as_written(value, given[part])
    kind = given.get("kind", name if is_known(name) else None)
    if not is_known(kind):
        what = "has no kind" if kind is None else f"has an unknown kind: {kind!r:.60}"
        raise document.complaint(node, key, what, f"write kind: and one of {', '.join(names())}")
    try:
        named(name, given)
    except UsageProblem as problem:
        told = re.search(rf"^agents\.{re.escape(name)}(?:\.(\w+)|: there is no key '(\w+)')", problem.message)
        place = pairs.get(told[1] or told[2]) if told else None
        raise document.complaint(place[0] if place else node, "", problem.message, problem.hint) from None
    return given


def _as_written(node: yaml.Node, value: Any) -> Any:
    """Words of a command line and variables are texts, whatever YAML takes them for."""
    if isinstance(node, yaml.SequenceNode) and isinstance(value, list):
        return [_text(part, one) for part, one in zip(node.value, value, strict=True)]
    if isinstance(node, yaml.MappingNode) and isinstance(value, dict):
        return {str(name.value): _text(part, value[str(name.value)]) for name, part in node.value}
    return value


def _text(node: yaml.Node, value: Any) -> Any:
    return str(node.value) if isinstance(node, yaml.ScalarNode) and not nothing(node) else value
