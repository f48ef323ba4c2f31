"""One value at a time: what a key of the table makes of what somebody wrote, and how it is shown again."""

from collections.abc import Sequence
from typing import Any

from msgspec.structs import asdict

from ralphloop.config.table import AGENTS, BY_NAME, Key, Setting, advice
from ralphloop.core import duration
from ralphloop.core.errors import UsageProblem
from ralphloop.core.policy import CheckRule
from ralphloop.core.price import Price

YES = ("true", "yes", "on")
NO = ("false", "no", "off")
OFF = ("off", "none", "no", "false", "0")
LARGEST = 1_000_000_000
LONGEST = 4_000
HIDDEN = "…hidden…"


def read(key: Key, raw: object) -> Any:
    """The value; raises UsageProblem that tells what is wrong, not yet where."""
    if key.off and str(raw).strip().lower() in OFF:
        return None
    if key.kind in ("texts", "names", "tools"):
        return _texts(key, raw)
    if not isinstance(raw, str | int | float):
        raise UsageProblem("must be one value, not a list", _example(key))
    text = str(raw).strip()
    match key.kind:
        case "flag":
            return _flag(key, text)
        case "count":
            return _count(key, text)
        case "duration":
            # numbers come from inside the program, where every duration is in seconds
            return duration.seconds(raw, key.unit if isinstance(raw, str) else 1, zero=key.least == 0)
        case "choice":
            return _choice(key, text)
        case "amount":
            return _amount(key, text)
        case _:
            return _text(key, text)


def _flag(key: Key, text: str) -> bool:
    if text.lower() not in YES + NO:
        raise UsageProblem(f"must be true or false, not {_shown(text)}", _example(key))
    return text.lower() in YES


def _count(key: Key, text: str) -> int:
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal()) or len(text) > 300:
        raise UsageProblem(f"must be a whole number{' or off' if key.off else ''}, not {_shown(text)}", _example(key))
    number = int(text)
    if not key.least <= number <= LARGEST:
        raise UsageProblem(f"must be from {key.least} to {LARGEST}, not {_shown(text)}", _example(key))
    return number


def _amount(key: Key, text: str) -> float:
    """Dollars."""
    digits = text.removeprefix("$").strip()
    try:
        amount = float(digits) if len(digits) <= 30 else float("nan")
    except ValueError:
        amount = float("nan")
    if not 0 < amount <= LARGEST:
        more = " or off" if key.off else ""
        raise UsageProblem(f"must be an amount in dollars above 0{more}, not {_shown(text)}", _example(key))
    return amount


def _choice(key: Key, text: str) -> str:
    if text.lower() not in key.choices:
        hint = advice(text.lower(), key.choices)
        raise UsageProblem(f"must be one of {', '.join(key.choices)}, not {_shown(text)}", hint)
    return text.lower()


def _text(key: Key, text: str) -> str:
    if not text and not key.blank:
        raise UsageProblem("is empty", _example(key))
    if len(text) > LONGEST:
        raise UsageProblem(f"has {len(text)} characters; {LONGEST} are allowed", _example(key))
    if not text.isprintable():
        raise UsageProblem("must be one line without control characters", _example(key))
    if key.kind == "name" and ("/" in text or "\\" in text or text.startswith(".") or len(text) > 64):
        raise UsageProblem("must be a plain name: no slash, no dot in front, at most 64 characters", _example(key))
    if key.kind == "path" and (text.startswith(("/", "~", "\\")) or ".." in text.replace("\\", "/").split("/")):
        raise UsageProblem("must be a path inside the repository", "write it relative to the folder of the worktree")
    return text


def _texts(key: Key, raw: object) -> Any:
    """A list of texts; one text stands for a list of one. Tools are held as the one text the agent is given."""
    given = list(raw) if isinstance(raw, Sequence) and not isinstance(raw, str) else [raw]
    parts = [part for part in given if isinstance(part, str)]
    if len(parts) < len(given):
        raise UsageProblem("must be a list of texts", _example(key))
    if key.kind == "tools":
        return ",".join(_text(key, part.strip()) for part in parts)
    if key.kind == "names" and (wrong := next((part for part in parts if "=" in part or " " in part.strip()), "")):
        raise UsageProblem(f"must be names of variables or patterns of names, not {_shown(wrong)}", _example(key))
    return tuple(_text(key, part) for part in parts)


def _shown(text: str) -> str:
    shown = repr(text)[1:-1]
    return f'"{shown}"' if len(shown) <= 60 else f'"{shown[:59]}…"'


SAMPLES = {
    "claude.model": "sonnet",
    "claude.args": '[--max-turns, "50"]',
    "limits.account": "team-a",
    "source.file": "docs/tasks.md",
    "defaults.fallback": "[codex]",
    **{f"budget.{scope}_cost": "20" for scope in ("run", "story", "day")},
    **{f"budget.{scope}_tokens": "5000000" for scope in ("run", "story", "day")},
    **{f"budget.{scope}_minutes": "8h" for scope in ("run", "story", "day")},
    "environment.keep": "[PATH, HOME, LC_*]",
    "environment.add": "[MY_TOKEN, MY_APP_*]",
}


def _example(key: Key) -> str:
    value = _plain(key, key.default)
    if isinstance(value, bool):
        shown = "true" if value else "false"
    elif isinstance(value, list):
        shown = f"[{', '.join(value)}]"
    else:
        shown = f'"{value}"' if key.kind in ("text", "tools") and value else str(value)
    return f"for example {key.name.rpartition('.')[2]}: {SAMPLES.get(key.name, shown)}"


def plain(setting: Setting) -> Any:
    """The value as it could stand in the file, in the unit that the key's name tells."""
    if isinstance(setting.value, CheckRule):
        rule, usual = setting.value, CheckRule("", "")
        if rule.timeout == usual.timeout:
            return rule.command
        return {"command": rule.command, "timeout": duration.written(rule.timeout)}
    if isinstance(setting.value, Price):
        return {name: price for name, price in asdict(setting.value).items() if price is not None}
    key = BY_NAME.get(setting.key)
    return _plain(key, setting.value) if key else ("off" if setting.value is None else setting.value)


def shown(setting: Setting) -> Any:
    """The value as anybody may see it: what an agent's variables hold may be a secret."""
    value = plain(setting)
    if setting.key.startswith(f"{AGENTS}.") and isinstance(value, dict) and isinstance(value.get("env"), dict):
        return value | {"env": dict.fromkeys(value["env"], HIDDEN)}
    return value


def _plain(key: Key, value: Any) -> Any:
    if value is None:
        return "off"
    if key.kind == "flag":
        return value
    if key.kind == "duration":
        count = value / key.unit
        return int(count) if count == int(count) else duration.written(value)
    return list(value) if isinstance(value, tuple) else value
