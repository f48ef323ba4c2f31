"""Which agent's turn it is: the one that is wanted, or the next of the chain while that one cannot or keeps failing."""

from collections.abc import Iterable, Mapping
from zlib import crc32

from msgspec import Struct
from msgspec.structs import replace

from ralphloop.core.event import Fault
from ralphloop.core.policy import Policy
from ralphloop.core.verdict import Verdict

HOPELESS: tuple[Fault, ...] = ("auth", "money")  # time alone mends neither
HOPELESS_RETRIES = 2
LONGEST_BACKOFF = 900.0
LONGEST_LIMIT = 8 * 24 * 3600.0  # the longest limits are those of a week
PASSED_OVER = 1800.0  # seconds after which an agent that kept failing gets another chance


class Form(Struct, frozen=True):
    """How an agent has been doing of late."""

    failed: int = 0  # sessions in a row that ended with an error of its own
    hindered: int = 0  # and in a row with one of its model or its account
    refused: int = 0  # of which the last so many with one that time alone does not mend
    fault: Fault = ""
    error: str = ""
    at: float = 0  # when the last of them was over
    free_at: float = 0  # when its account's usage limit is over


Forms = Mapping[str, Form]
FRESH = Form()


def after(form: Form, verdict: Verdict, policy: Policy, since: float, at: float) -> Form:
    """How it does after one more session, which began at `since`."""
    match verdict.outcome:
        case "failed":
            return Form(failed=form.failed + 1, error=verdict.error, at=at)
        case "hindered":
            why = verdict.why[0] if verdict.why else verdict.error
            refused = form.refused + 1 if verdict.fault in HOPELESS else 0
            return replace(form, hindered=form.hindered + 1, refused=refused, fault=verdict.fault, error=why, at=at)
        case "neutral" | "stuck":
            return form
    if verdict.limited:
        return Form(at=at, free_at=opens_at(verdict.resets_at, policy, since, at))
    return FRESH


def opens_at(resets_at: float | None, policy: Policy, since: float, now: float) -> float:
    """When a usage limit resets; what was over before it was met, or lies years ahead, is another clock's."""
    if resets_at is not None and since < resets_at < now + LONGEST_LIMIT:
        return resets_at
    return now + policy.unknown_limit_wait - policy.limit_margin


def order(policy: Policy, wanted: str = "") -> tuple[str, ...]:
    """The agents that may work, the one that is wanted first."""
    return tuple(dict.fromkeys((wanted, *policy.agents) if wanted else policy.agents))


def worn_out(policy: Policy, form: Form) -> bool:
    """Whether trying it again would be no use."""
    return form.refused >= HOPELESS_RETRIES or form.hindered >= policy.transient_retries


def in_turn(policy: Policy, forms: Forms, names: Iterable[str], now: float) -> tuple[str, ...]:
    """Those who can be tried now, the first choice first; who keeps failing comes last."""
    able = [name for name in names if _free(policy, forms.get(name, FRESH), now)]
    late = [name for name in able if _passed_over(policy, forms.get(name, FRESH), now)]
    return tuple([name for name in able if name not in late] + late)


def soonest(policy: Policy, forms: Forms, names: Iterable[str]) -> tuple[str, ...]:
    """Of those that have to wait for their account, the one that waits the least."""
    able = [name for name in names if not worn_out(policy, forms.get(name, FRESH))]
    return tuple(sorted(able, key=lambda name: forms.get(name, FRESH).free_at)[:1])


def _free(policy: Policy, form: Form, now: float) -> bool:
    margin = policy.limit_margin if form.free_at else 0
    return not worn_out(policy, form) and form.free_at + margin <= now


def _passed_over(policy: Policy, form: Form, now: float) -> bool:
    failures = form.failed + form.hindered
    return failures >= policy.failures_before_next and form.at <= now < form.at + PASSED_OVER


def again_at(policy: Policy, form: Form, seed: str) -> float:
    """When an agent that was hindered is tried again: later each time, and not at the moment all others choose."""
    if not form.hindered:
        return 0
    pause = min(policy.backoff * 2.0 ** min(form.hindered - 1, 20), LONGEST_BACKOFF)
    return form.at + pause * (0.75 + 0.5 * crc32(f"{seed}.{form.hindered}".encode()) / 2**32)
