"""ralph status: how the run of this worktree stands, at the price of one small read."""

import os
import time

from ralphloop.api import glance
from ralphloop.cli.output import Screen, data
from ralphloop.cli.parse import Parsed
from ralphloop.core.duration import spoken
from ralphloop.core.errors import Problem
from ralphloop.core.wording import WAITS, labelled, money, of_row, spent, standing, tokens, wished

Row = dict[str, object]
NEEDED = (
    "run", "feature", "branch", "status", "detail", "iteration", "max_iterations", "stories_complete", "stories_total",
    "story", "story_title", "calls_used", "calls_limit", "calls_reset_at", "no_progress",
    "no_progress_threshold", "same_error", "same_error_threshold", "false_claims", "tokens", "cost", "cost_unknown",
    "why", "advice", "exit_code", "archive", "tokens_unknown", "step", "check", "step_since", "step_allowed",
    "step_until", "agent", "cost_limit", "tokens_limit", "cost_estimated", "tokens_estimated",
)  # fmt: skip
GOOD, BAD, BUSY, REST = "32", "31", "36", "33"


def call(parsed: Parsed) -> int:
    if parsed.options.get("all"):
        from ralphloop.cli import showing

        return showing.running(as_json=bool(parsed.options.get("json")))
    folder = os.getcwd()  # noqa: PTH109
    worktree = glance.worktree_of(folder)
    if worktree is None:
        raise Problem(f"{folder} is not in a git repository", "`ralph status --all` shows every run of this machine")
    root = glance.home()
    run = glance.latest_run(root, worktree)
    if run is None:
        raise Problem(
            f"no run in {worktree} yet", "`ralph run` starts one; `ralph list --all` shows all of this machine"
        )
    content = glance.row(root, run) or b""
    row = glance.values(content)
    if any(name not in row for name in NEEDED):
        content, row = _from_the_journal(run)
    pid = glance.runner_lives(root, worktree) if row["exit_code"] is None else None
    if parsed.options.get("json"):
        data(content.rstrip().removesuffix(b"}") + f',"alive":{"true" if pid else "false"}}}'.encode())
    else:
        show(row, pid)
    return 0


def _from_the_journal(run: str) -> tuple[bytes, Row]:
    """The view is damaged, gone, or of another version."""
    import msgspec

    from ralphloop.cli import showing

    row = showing.row_of(run)
    return msgspec.json.encode(row), msgspec.to_builtins(row)


def show(row: Row, pid: int | None) -> None:
    now = time.time()
    doing = of_row(row, now, time_of_day) if pid else ""
    status = standing(row, bool(pid), doing)
    line("Feature", f"{row['feature']} (branch {row['branch']})")
    line("Status", _status(row, pid, status), _colour(row, pid))
    line("Iteration", f"{row['iteration']}/{row['max_iterations']}{_story(row)}")
    if doing and doing != status:
        line("Now", doing)
    line("Stories", f"{row['stories_complete']}/{row['stories_total']} complete")
    limit = row["calls_limit"]
    resets = _number(row["calls_reset_at"])
    known = f", the hour ends in {spoken(resets - now)}" if resets and resets > now else ""
    line("Calls", f"{row['calls_used']}/{limit if limit is not None else 'no limit'}{known}")
    line("Breakers", f"no progress {_of(row, 'no_progress')}, same error {_of(row, 'same_error')}")
    line("Spent", _spent(row))
    if row["false_claims"]:
        line("Claims", f"{row['false_claims']} false")
    if row["why"] and not wished(str(row["why"])):
        line("Ended", str(row["why"]))
    if row["archive"]:
        line("Archive", str(row["archive"]))
    line("Run", str(row["run"]))
    if row["advice"]:
        line("Try", str(row["advice"]))


def line(title: str, text: str, colour: str = "") -> None:
    Screen().row(f"{title + ':':<12}", text, colour)


def _colour(row: Row, pid: int | None) -> str:
    if row["exit_code"] is None:
        return (REST if row["step"] in WAITS else BUSY) if pid else BAD
    if row["exit_code"] and (row["detail"] in ("api_limit", "signal") or wished(str(row["why"]))):
        return REST
    return BAD if row["exit_code"] else GOOD


def _spent(row: Row) -> str:
    cost = _number(row["cost"])
    unknown, cost_unknown = _number(row["tokens_unknown"]) or 0, _number(row["cost_unknown"]) or 0
    used = _number(row["tokens"]) or 0
    if not (used or cost or unknown or cost_unknown):
        return "nothing yet"
    said = spent(
        int(used), int(unknown), cost, int(cost_unknown),
        cost_estimated=bool(row["cost_estimated"]), tokens_estimated=bool(row["tokens_estimated"]),
    ).replace(" · ", ", ")  # fmt: skip
    return "; ".join([said, *_limits(row)])


def _limits(row: Row) -> list[str]:
    """Of the run's budget."""
    most, count = _number(row["cost_limit"]), _number(row["tokens_limit"])
    limits = [money(most)] if most is not None else []
    limits += [tokens(int(count))] if count is not None else []
    return [f"at most {' and '.join(limits)}"] if limits else []


def _status(row: Row, pid: int | None, status: str) -> str:
    if row["exit_code"] is None:
        return f"{status} (PID {pid})" if pid else f"{status}: its runner is gone; `ralph run` goes on where it was"
    signal = str(row["why"]).removeprefix("stopped by ")
    return f"{status} ({signal})" if signal.startswith("SIG") else status


def _story(row: Row) -> str:
    return f"  {labelled(str(row['story']), str(row['story_title']))}" if row["story"] else ""


def time_of_day(at: float, now: float) -> str:
    """With the day when that is another one."""
    then = time.localtime(at)
    return time.strftime("%H:%M" if then[:3] == time.localtime(now)[:3] else "%a %H:%M", then)


def _of(row: Row, name: str) -> str:
    threshold = row[f"{name}_threshold"]
    return f"{row[name]}/{threshold if threshold else 'off'}"


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None
