"""ralph usage: what every agent on this machine has used, as bars, as a plain table or as JSON."""

import sys
import time

from ralphloop.cli.chart import amount, chart, table
from ralphloop.cli.output import clean, coloured, columns, data, folded, say, talk
from ralphloop.cli.parse import Parsed
from ralphloop.core.errors import DONE, NOT_DONE, UsageProblem
from ralphloop.core.period import midnight, moment
from ralphloop.core.price import DATE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ralphloop.api.spending import Usage
    from ralphloop.core.usage import Row

WINDOWS = {"today": 1, "week": 7, "month": 30}  # days, this one among them


def call(parsed: Parsed) -> int:
    from ralphloop.api.spending import usage

    since, until = _window(parsed, time.time())
    by = parsed.options.get("by", "day")
    found = usage(since, until, by)  # type: ignore[arg-type]
    if parsed.options.get("json"):
        _json(found)
    else:
        show(found)
    for trouble in found.troubles:
        many = f": {trouble.lines} of them" if trouble.lines else ""
        talk(f"warning: {clean(trouble.path)}: {clean(trouble.why)}{many}")
    return DONE if found.whole else NOT_DONE


def _window(parsed: Parsed, now: float) -> tuple[float, float | None]:
    options = parsed.options
    named = [name for name in (*WINDOWS, "since") if name in options]
    if len(named) > 1:
        raise UsageProblem(f"--{named[0]} and --{named[1]} both say when to begin", "give one of them")
    until = moment(str(options["until"]), now, "--until", end=True) if "until" in options else None
    since = moment(str(options["since"]), now, "--since") if "since" in options else None
    if since is None:
        days = WINDOWS[named[0]] if named else WINDOWS["month"]
        since = midnight(min(now, until - 1) if until is not None else now, days - 1)
    if until is not None and until <= since:
        raise UsageProblem("--until lies before the beginning", "give an earlier --since or a later --until")
    return since, until


def show(found: "Usage") -> None:
    if not found.rows:
        say(_nothing(found))
        return
    width = columns(sys.stdout)
    if width:
        for line in chart(found.rows, found.total, _heading(found), found.by, width, colour=coloured(sys.stdout)):
            say(line)
        _explain(found, width)
        return
    for line in table(found.rows, found.total, found.by):
        say(line)


def _heading(found: "Usage") -> str:
    until = found.until if found.until is not None else time.time()
    days = [time.strftime("%-d %b %Y", time.localtime(at)) for at in (found.since, until - 1)]
    period = days[0] if days[0] == days[1] else f"{days[0]} to {days[1]}"
    return f"{period} · {', '.join(found.total.agents)} · {amount(found.total.answers)} answers"


def _explain(found: "Usage", width: int) -> None:
    notes = []
    if found.total.estimated:
        notes.append(f"~ estimated: the agent told no cost; prices of {DATE}, or those of your configuration")
    if found.total.unpriced:
        models = clean(", ".join(found.total.unpriced_models)) or "models without a name"
        count = amount(found.total.unpriced)
        notes.append(f"! no price is known for {count} tokens of {models}; write it under prices: in config.yaml")
    for note in notes:
        for line in folded(note, width, 2):
            say(line)


def _nothing(found: "Usage") -> str:
    if found.files:
        return "nothing was used in this time; --since looks further back"
    return f"no session file of any agent was found in {', '.join(clean(folder) for folder in found.folders)}"


def _json(found: "Usage") -> None:
    import msgspec

    troubles = [{"file": one.path, "why": one.why, "lines": one.lines or None} for one in found.troubles]
    data(
        msgspec.json.encode(
            {
                "since": found.since,
                "until": found.until,
                "by": found.by,
                "rows": [_row(row) for row in found.rows],
                "total": _row(found.total),
                "files": found.files,
                "prices": DATE,
                "troubles": troubles,
            }
        )
    )


def _row(row: "Row") -> dict[str, object]:
    tokens = row.tokens
    return {
        "key": row.key,
        "input_tokens": tokens.input,
        "output_tokens": tokens.output,
        "cache_read_tokens": tokens.cache_read,
        "cache_creation_tokens": tokens.cache_write,
        "total_tokens": row.all_tokens,
        "answers": row.answers,
        "cost_usd": row.cost,
        "cost_estimated": row.estimated,
        "unpriced_tokens": row.unpriced,
        "models": row.models,
        "agents": row.agents,
        "first": row.first,
        "last": row.last,
    }
