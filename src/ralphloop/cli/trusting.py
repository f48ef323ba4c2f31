"""ralph trust, and the question that a run asks: what this repository wants to run here, and whether it may."""

import time

import msgspec

from ralphloop.api import trusting
from ralphloop.api.trusting import Distrust, Trust
from ralphloop.cli.output import clean, confirmed, data, say, talk
from ralphloop.cli.parse import Parsed
from ralphloop.core.demand import Demand
from ralphloop.core.errors import DONE, NOT_DONE, Problem, UsageProblem


def call(parsed: Parsed) -> int:
    as_json = bool(parsed.options.get("json"))
    if parsed.options.get("list") and parsed.options.get("remove"):
        raise UsageProblem("--list and --remove cannot both be meant", "write one of them")
    if parsed.options.get("list"):
        return _listed(as_json=as_json)
    if parsed.options.get("remove"):
        return _removed(as_json=as_json)
    found = trusting.wanted()
    trust = trusting.agree(found) if found.missing else found.trust
    if as_json:
        data(msgspec.json.encode({"repository": trust.repository or found.repository, "agreed": found.missing}))
        return DONE
    if found.note:
        talk(f"warning: {clean(found.note)}; it is written anew")
    for line in lines(found):
        say(line)
    say("agreed: a run does not ask about this any more" if found.missing else "there is nothing to agree to")
    return DONE


def agreed(found: Distrust, *, as_json: bool) -> bool:
    """Ask at a terminal; what is answered with yes is remembered."""
    if found.note:
        talk(f"warning: {clean(found.note)}")
    for line in lines(found):
        talk(line)
    if as_json or not confirmed("Run and allow this, now and from now on?"):
        return False
    trusting.agree(found)
    return True


def lines(found: Distrust) -> list[str]:
    """Every demand in full, and what it was before."""
    if not found.missing:
        return []
    what = "has changed; new or other than you agreed to" if found.changed else "would have this run or allowed here"
    told = [f"The {trusting.FILE} of {clean(found.repository.removesuffix('/.git'))} {what}:"]
    for one in found.missing:
        told += _block(one.key, one)
        if before := found.trust.before(one.key):
            told.append(f"    was: {_indented(before)}")
    return told


def _block(key: str, demand: Demand) -> list[str]:
    return [f"  {clean(key)} (line {demand.place.rpartition(':')[2]})", f"    {_indented(demand.says)}"]


def _indented(text: str) -> str:
    return clean(text).rstrip("\n").replace("\n", "\n    ")


def _listed(*, as_json: bool) -> int:
    found = trusting.trusted()
    held = [one for one in found if isinstance(one, Trust)]
    for one in found:
        if isinstance(one, Problem):
            talk(f"warning: {clean(one.message)}")
    if as_json:
        data(msgspec.json.encode(held))
    elif not held:
        say("nothing was agreed to for any repository")
    else:
        for trust in held:
            say(f"{clean(trust.repository)} ({time.strftime('%Y-%m-%d %H:%M', time.localtime(trust.at))})")
            for demand in trust.granted:
                say(f"  {clean(demand.key)}: {_indented(demand.says)}")
    return DONE if len(held) == len(found) else NOT_DONE


def _removed(*, as_json: bool) -> int:
    was = trusting.forget()
    if as_json:
        data(msgspec.json.encode({"removed": was}))
    else:
        say("forgotten: the next run asks again" if was else "nothing was agreed to for this repository")
    return DONE
