"""The program `wt-usage`: what Claude Code has used in a window of time, in the words of wt-tools."""

import sys
import time
from datetime import UTC, datetime

from ralphloop.cli import explaining, help
from ralphloop.cli import main as ralph
from ralphloop.cli.options import CHOICE, TEXT, Command, Option, Program
from ralphloop.cli.output import clean, data, say, talk
from ralphloop.cli.parse import Parsed, parse
from ralphloop.core.errors import DONE, NOT_DONE, UsageProblem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ralphloop.api.spending import Usage

NAME = "wt-usage"
USUAL = 5 * 3600  # seconds, as long as a session limit
DAY = 86_400
WINDOWS = ("today", "week", "month", "since")
LABELS = (
    ("input_tokens", "Input tokens"),
    ("output_tokens", "Output tokens"),
    ("cache_read_tokens", "Cache read"),
    ("cache_creation_tokens", "Cache creation"),
    ("api_tokens", "API tokens (in+out)"),
    ("total_tokens", "Total tokens"),
)
COMMAND = Command(
    NAME,
    "show the tokens that Claude Code has used in the last 5 hours",
    options=(
        Option("since", "since this moment, as 2026-01-31T08:00:00+00:00", kind=TEXT, metavar="ISO"),
        Option("today", "since midnight UTC"),
        Option("week", "the last 7 days"),
        Option("month", "the last 30 days"),
        Option("format", "json or text (default text)", kind=CHOICE, choices=("json", "text")),
        Option("project-dir", "one folder below ~/.claude/projects", kind=TEXT, metavar="NAME"),
        Option("cost", "with the cost, by the table of prices"),
        Option("login", "is understood and refused: nothing here needs a session key"),
    ),
    more="How much of the session's and the week's limit is used is shown when something has written it to"
    " usage.json in ~/.config/wt-tools (or WT_CONFIG_DIR). Nothing is asked on the network.",
)
# the program has one command, its own name
PROGRAM = Program("", COMMAND.about, (COMMAND,), ())


def main() -> int:
    return ralph.main(called)


def called(words: list[str]) -> int:
    try:
        parsed = parse([NAME, *words], PROGRAM)
    except UsageProblem as problem:
        raise UsageProblem(_single_spaced(problem.message), _single_spaced(problem.hint)) from None
    if parsed.command == "version":
        return explaining.call(Parsed("version", {}, [], Program(NAME, "", (), ())))
    if parsed.command == "help":
        say(help.explained(PROGRAM, COMMAND).replace(f"   {NAME}", f"  {NAME}").rstrip("\n"))
        return DONE
    if "login" in parsed.options:
        raise UsageProblem("there is nothing to log in to", "the tokens are read from files; leave --login out")
    return _used(parsed)


def _single_spaced(text: str) -> str:
    return " ".join(text.split())


def _used(parsed: Parsed) -> int:
    from ralphloop.api.spending import of_claude

    period, since = _window(parsed, time.time())
    found = of_claude(since, str(parsed.options.get("project-dir", "")))
    told = _told(found, period, with_cost="cost" in parsed.options)
    if parsed.options.get("format") == "json":
        import msgspec

        data(msgspec.json.encode(told))
    else:
        _show(told)
    if not found.files:
        within = clean(str(parsed.options.get("project-dir", "")))
        places = ", ".join(f"{clean(folder)}/projects/{within}".rstrip("/") for folder in found.folders)
        talk(f"warning: no session file of Claude Code was found in {places}")
    for trouble in found.troubles:
        talk(f"warning: {clean(trouble.path)}: {clean(trouble.why)}")
    return DONE if found.whole else NOT_DONE


def _window(parsed: Parsed, now: float) -> tuple[str, float]:
    named = [name for name in WINDOWS if name in parsed.options]
    if len(named) > 1:
        raise UsageProblem(f"--{named[0]} and --{named[1]} both say when to begin", "give one of them")
    match named:
        case ["today"]:
            return "today", now // DAY * DAY
        case ["week"]:
            return "week", now - 7 * DAY
        case ["month"]:
            return "month", now - 30 * DAY
        case ["since"]:
            return "custom", _moment(str(parsed.options["since"]))
    return "5h", now - USUAL


def _moment(text: str) -> float:
    """A time without a zone is in UTC, as it was in wt-tools."""
    try:
        told = datetime.fromisoformat(text.strip())
        return (told if told.tzinfo else told.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        hint = "write --since 2026-01-31T08:00:00+00:00"
        raise UsageProblem(f'--since: "{clean(text[:60])}" is no time in ISO 8601', hint) from None


def _told(found: "Usage", period: str, *, with_cost: bool) -> dict[str, object]:
    from msgspec.structs import asdict

    from ralphloop.api.spending import capacity

    tokens = found.total.tokens
    told: dict[str, object] = {
        "period": period,
        "input_tokens": tokens.input,
        "output_tokens": tokens.output,
        "cache_read_tokens": tokens.cache_read,
        "cache_creation_tokens": tokens.cache_write,
        "api_tokens": tokens.used,
        "total_tokens": found.total.all_tokens,
    }
    if with_cost:
        # nothing used costs nothing; what has no price is unknown
        cost = 0.0 if not found.rows else found.total.cost
        told["estimated_cost_usd"] = None if cost is None or found.total.unpriced else round(cost, 6)
    limits = capacity()
    return told | ({"api": asdict(limits)} if limits is not None else {})


def _show(told: dict[str, object]) -> None:
    names = {"5h": "last 5 hours", "today": "today (UTC)", "week": "last 7 days", "month": "last 30 days"}
    say(f"Claude usage, {names.get(str(told['period']), 'since the time given')}")
    width = max(len(f"{told[key]:,}") for key, _ in LABELS)
    for key, label in LABELS:
        say(f"  {label + ':':<21} {told[key]:>{width},}")
    if "estimated_cost_usd" in told:
        cost = told["estimated_cost_usd"]
        say(f"  {'Cost:':<21} {'unknown' if cost is None else f'~${cost:,.2f}'}")
    limits = told.get("api")
    if isinstance(limits, dict):
        say(f"  Session: {_limit(limits, 'session')}")
        say(f"  Weekly:  {_limit(limits, 'weekly')}")


def _limit(limits: dict[str, object], name: str) -> str:
    percent, reset = limits.get(f"{name}_pct"), limits.get(f"{name}_reset")
    used = f"{percent:.0f}%" if isinstance(percent, int | float) else "n/a"
    return f"{used} | resets {clean(str(reset))}" if reset else used


if __name__ == "__main__":
    sys.exit(main())
