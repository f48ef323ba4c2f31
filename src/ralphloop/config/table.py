"""Every key there is: its kind, its default, and the field of the policy it becomes."""

from typing import Any, Literal

from msgspec import Struct

from ralphloop.core.policy import Policy, PromptRule

Kind = Literal["flag", "count", "duration", "choice", "text", "name", "path", "texts", "names", "tools", "amount"]
ON_LIMIT = ("ask", "wait", "exit")
UNCOMMITTED = ("snapshot", "commit", "leave")
SOURCES = ("auto", "prd", "tasks")


class Key(Struct, frozen=True):
    """One line of the table. A duration is held in seconds, whatever unit a plain number in the file counts."""

    name: str
    kind: Kind
    default: Any
    field: str = ""  # of Policy, or of a value in it: `prompt.inline`, `budget.run.cost`
    unit: float = 1
    least: int = 1
    off: bool = False  # `off` is allowed and held as None
    blank: bool = False  # an empty text is allowed
    choices: tuple[str, ...] = ()


class Setting(Struct, frozen=True):
    """A key with the value that holds, where it comes from, and the value that would hold without it."""

    key: str
    value: Any
    origin: str = "built in"
    beneath: Any = None


NORMAL = Policy()
PROMPT = PromptRule()


def _bounds(scope: str) -> tuple[Key, ...]:
    """The limits of what a run, a story or a day may take."""
    return (
        Key(f"budget.{scope}_cost", "amount", None, f"budget.{scope}.cost", off=True),
        Key(f"budget.{scope}_tokens", "count", None, f"budget.{scope}.tokens", off=True),
        Key(f"budget.{scope}_minutes", "duration", None, f"budget.{scope}.seconds", unit=60, off=True),
    )


KEYS = (
    Key("defaults.max_iterations", "count", NORMAL.max_iterations, "max_iterations"),
    Key("defaults.timeout_minutes", "duration", NORMAL.timeout, "timeout", unit=60),
    Key("defaults.rate_limit_per_hour", "count", NORMAL.rate_per_hour, "rate_per_hour", off=True),
    Key("defaults.pause_seconds", "duration", NORMAL.pause, "pause", least=0),
    Key("defaults.on_limit", "choice", NORMAL.on_limit, "on_limit", choices=ON_LIMIT),
    Key("defaults.silence_minutes", "duration", NORMAL.silence, "silence", unit=60, off=True),
    Key("defaults.agent", "name", "claude"),
    Key("defaults.fallback", "texts", (), blank=True),
    Key(
        "circuit_breaker.no_progress_threshold",
        "count",
        NORMAL.no_progress_threshold,
        "no_progress_threshold",
        off=True,
    ),
    Key("circuit_breaker.same_error_threshold", "count", NORMAL.same_error_threshold, "same_error_threshold", off=True),
    Key("completion.promise", "text", NORMAL.promise, "promise"),
    Key("completion.trust_promise", "flag", NORMAL.trust_promise, "trust_promise"),
    Key("completion.require_commit", "flag", NORMAL.require_commit, "require_commit"),
    Key("completion.uncommitted", "choice", NORMAL.uncommitted, "uncommitted", choices=UNCOMMITTED),
    Key("claude.dangerously_skip_permissions", "flag", NORMAL.skip_permissions, "skip_permissions"),
    Key("claude.allowed_tools", "tools", NORMAL.allowed_tools, "allowed_tools", blank=True),
    Key("claude.model", "text", "", blank=True),
    Key("claude.program", "text", "claude"),
    Key("claude.args", "texts", (), blank=True),
    Key("environment.keep", "names", NORMAL.environment, "environment", blank=True),
    Key("environment.add", "names", (), blank=True),
    Key("protected_branches", "texts", ("main", "master", "develop")),
    Key("prompt.inline", "flag", PROMPT.inline, "prompt.inline"),
    Key("prompt.references", "flag", PROMPT.references, "prompt.references"),
    Key("prompt.finished_stories", "count", PROMPT.finished_stories, "prompt.finished_stories", least=0),
    Key("prompt.open_stories", "count", PROMPT.open_stories, "prompt.open_stories"),
    Key("prompt.progress_entries", "count", PROMPT.progress_entries, "prompt.progress_entries", least=0),
    Key("prompt.file_size", "count", PROMPT.file_size, "prompt.file_size", least=0),
    Key("prompt.specs_size", "count", PROMPT.specs_size, "prompt.specs_size", least=0),
    Key("supervision.kill_grace_seconds", "duration", NORMAL.kill_grace, "kill_grace", least=0),
    Key("supervision.result_grace_seconds", "duration", NORMAL.result_grace, "result_grace", least=0),
    Key("supervision.output_limit_megabytes", "count", NORMAL.output_limit >> 20, "output_limit", unit=1 << 20),
    Key("limits.account", "name", "", blank=True),
    Key("limits.margin_seconds", "duration", NORMAL.limit_margin, "limit_margin", least=0),
    Key("limits.ask_seconds", "duration", NORMAL.ask_seconds, "ask_seconds", least=0),
    Key("limits.unknown_limit_wait_seconds", "duration", NORMAL.unknown_limit_wait, "unknown_limit_wait"),
    Key("limits.transient_retries", "count", NORMAL.transient_retries, "transient_retries"),
    Key("limits.backoff_seconds", "duration", NORMAL.backoff, "backoff", least=0),
    Key("limits.failures_before_next", "count", NORMAL.failures_before_next, "failures_before_next"),
    *(key for scope in ("run", "story", "day") for key in _bounds(scope)),
    Key("budget.attempt_cost", "amount", NORMAL.budget.attempt.cost, "budget.attempt.cost"),
    Key("budget.attempt_tokens", "count", NORMAL.budget.attempt.tokens, "budget.attempt.tokens"),
    Key("views.loop_state", "flag", NORMAL.loop_state, "loop_state"),
    Key("archive.on_done", "flag", NORMAL.archive, "archive"),
    Key("source.kind", "choice", "auto", choices=SOURCES),
    Key("source.file", "path", "", blank=True),
)

CHECKS = "quality_checks"
AGENTS = "agents"
PRICES = "prices"
BY_NAME = {key.name: key for key in KEYS}
SECTIONS = tuple(dict.fromkeys([*(key.name.split(".")[0] for key in KEYS if "." in key.name), CHECKS, AGENTS, PRICES]))
TOP = (*SECTIONS, *(name for name in BY_NAME if "." not in name))


def advice(name: str, known: tuple[str, ...] = tuple(BY_NAME)) -> str:
    """The hint for a name that is not known: the nearest, or all that could stand there."""
    from difflib import get_close_matches

    section, _, last = name.rpartition(".")
    tails = {one.rpartition(".")[2]: one for one in reversed(known)}
    near = get_close_matches(name, known, 1, 0.75) or [tails[tail] for tail in get_close_matches(last, tails, 1, 0.7)]
    if near:
        return f"did you mean {near[0]}?"
    siblings = [one for one in known if section and one.startswith(f"{section}.")] or list(known)
    return f"known here: {', '.join(siblings if len(siblings) < 20 else TOP)}"
