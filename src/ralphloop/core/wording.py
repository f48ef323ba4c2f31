"""Words for people, made of plain values: nothing heavy is imported here, a status must cost no more than a glance."""

from ralphloop.core.duration import spoken

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


def plain(text: str) -> str:
    """Without what would move a cursor, ring a bell or colour a terminal."""
    return "".join(c if c.isprintable() else " " if c in "\t\n\r" else "�" for c in text)


def cut(text: str, most: int) -> str:
    """At most so many characters; one sees that there was more."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def some(paths: "Sequence[str]", total: int) -> str:
    """The first five, and a sign when there are more."""
    return ", ".join(paths[:5]) + (" …" if total > 5 else "")


def counted(number: int, what: str) -> str:
    """`1 commit`, `2 commits`."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def labelled(story: str, title: str) -> str:
    """The story as people call it; a title that begins with its own number is not given it twice."""
    behind = title[len(story) : len(story) + 1]
    numbered = story and title.startswith(story) and not behind.isalnum() and behind != "-"
    return title if numbered else f"{story} {title}".strip()


def tokens(count: int | None, *, estimated: bool = False) -> str:
    if count is None:
        return "tokens unknown"
    about = "~" if estimated else ""
    return f"{about}{counted(count, 'token') if count < 1000 else f'{count / 1000:.1f}k tokens'}"


def money(cost: float | None, *, estimated: bool = False) -> str:
    if cost is None:
        return "cost unknown"
    about = "~" if estimated else ""
    return f"{about}${cost:.2f}" if cost >= 0.01 or not cost else f"{about}${cost:.4f}"


def spent(
    used: int, tokens_unknown: int, cost: float | None, cost_unknown: int, *, cost_estimated: bool = False,
    tokens_estimated: bool = False,
) -> str:  # fmt: skip
    """Sums; one that leaves something out says so, and one of which nothing is known is none."""
    if tokens_unknown and not used and cost is None:
        return "tokens and cost unknown"
    some = "tokens unknown" if tokens_unknown and not used else tokens(used, estimated=tokens_estimated)
    if tokens_unknown and used:
        some = f"at least {some}"
    if cost is None:
        return f"{some} · cost unknown" if cost_unknown else some
    if not cost_unknown:
        return f"{some} · {money(cost, estimated=cost_estimated)}"
    least = money(cost, estimated=cost_estimated)
    return f"{some} · at least {least} ({counted(cost_unknown, 'attempt')} of unknown cost)"


def going_on(
    step: str,
    name: str,
    *,
    now: float,
    since: float | None,
    allowed: float | None,
    until: float | None,
    clock: "Callable[[float, float], str]",
    details: tuple[str, ...] = (),
) -> str:
    """The step at hand in one line: what, since when and for how long, with what else there is to tell."""
    passed = spoken(max(1, round(now - since))) if since is not None else ""
    if passed and allowed:
        passed = f"{passed} of {spoken(allowed)}"
    parts: tuple[str, ...]
    match step:
        case "agent":
            parts = (name or "the agent is at work", passed, *details)
        case "check":
            parts = (f"checking {name}", passed)
        case "paused":
            parts = ("paused", "`ralph resume` goes on")
        case "limit":
            parts = ("waiting for the usage limit", *_left(until, now, clock))
        case "rate":
            parts = ("waiting for the calls of the next hour", *_left(until, now, clock))
        case "budget":
            parts = ("waiting for the next day's budget", *_left(until, now, clock))
        case "held":
            parts = ("waiting for what other loops have reserved of the day's budget",)
        case "trouble":
            parts = ("the model could not be reached; waiting to try again", *_left(until, now, clock))
        case "pause":
            parts = (f"the next iteration begins in {spoken(max(0, round((until or now) - now)))}",)
        case "ask":
            gone = f"exit in {spoken(max(0, round(until - now)))}" if until is not None else ""
            parts = ("the usage limit is reached: wait or exit?", gone)
        case "look":
            parts = ("looking at what was done",)
        case "ready":
            parts = ("getting ready",)
        case _:
            parts = ()
    return " · ".join(part for part in parts if part)


def _left(until: float | None, now: float, clock: "Callable[[float, float], str]") -> tuple[str, ...]:
    if until is None or until <= now:
        return ()
    return (f"until {clock(until, now)}", f"{spoken(until - now)} left")


WAITS = ("paused", "limit", "rate", "ask", "budget", "held", "trouble")


def standing(row: "Mapping[str, object]", alive: bool, doing: str = "") -> str:
    """How a run stands, by its row; `doing` is the step at hand, as `going_on` tells it."""
    if row["exit_code"] is not None:
        return _ended(row)
    if not alive:
        return "cut off"
    if row["step"] in WAITS and doing:
        return doing
    pausing = ", pausing after this iteration" if row["detail"] == "waiting:human" else ""
    return f"running{pausing}"


def of_row(row: "Mapping[str, object]", now: float, clock: "Callable[[float, float], str]") -> str:
    """The step at hand, as it stood when the row was written."""
    step = str(row["step"])
    return going_on(
        step,
        str(row["check"] if step == "check" else row["story"]),
        now=now,
        since=_number(row["step_since"]),
        allowed=_number(row["step_allowed"]),
        until=_number(row["step_until"]),
        clock=clock,
    )


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _ended(row: "Mapping[str, object]") -> str:
    """In two or three words."""
    detail, why = str(row["detail"]), str(row["why"])
    if row["exit_code"] == 0:
        return "done"
    if detail == "stopped":
        return "stopped" if wished(why) else "failed"
    words = {
        "api_limit": "stopped at the usage limit",
        "signal": "interrupted",
        "stuck": "iterations used up",
        "stalled": "ended by the circuit breaker",
        "budget": "stopped at the budget",
        "agents": "stopped: no agent could work",
    }
    return words.get(detail, str(row["status"]))


WISHED = ("stopped at the user's wish", "stopped by SIG", "back to before iteration", "the last undo was taken back")


def wished(why: str) -> bool:
    """Whether the end is what somebody asked for: `decide` says so in these words, a Problem says what happened."""
    return why.startswith(WISHED)
