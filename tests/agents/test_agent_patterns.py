"""Agents from a few lines of configuration: what the patterns tell, and the words of time and permission they share."""

import re
from typing import Any

import pytest

from ralphloop.agents.allowed import shell_commands
from ralphloop.agents.reset import Reset, length_in, moment_of, reset_of
from ralphloop.agents.table import named
from ralphloop.core.errors import UsageProblem
from ralphloop.core.event import Event, Finished, LimitMet, Said, Tokens


def told(settings: dict[str, str], text: str, cut: int = 0) -> list[Event]:
    parser = named("mine", {"kind": "command", "argv": ["x"], **settings}).parser()
    data = text.encode()
    return [*parser.feed(data[:cut]), *parser.feed(data[cut:]), *parser.close()]


def last(settings: dict[str, str], text: str) -> Finished:
    (finished,) = (event for event in told(settings, text) if isinstance(event, Finished))
    return finished


@pytest.mark.parametrize(
    ("pattern", "text", "tokens"),
    [
        (r"^tokens: (\d+)", "tokens: 10\nmore\ntokens: 25\n", Tokens(25)),
        (r"tokens used\D+([\d,.]+k?)", "tokens used: 12,345\n", Tokens(12_345)),
        (r"tokens used\D+([\d,.]+k?)", "tokens used: 2.4k\n", Tokens(2_400)),
        (r"in (?P<input>\S+) out (?P<output>\S+)", "in 1,000 out 2M\n", Tokens(1_000, 2_000_000)),
        (r"in (?P<input>\d+)(?: cached (?P<cache_read>\d+))?", "in 7\n", Tokens(7)),
        (r"in (?P<input>\w+)", "in many\n", Tokens()),
        (r"tokens: (\w+)", "tokens: many\n", None),
        (r"tokens: (\d+)", "nothing\n", None),
    ],
)
def test_tokens(pattern: str, text: str, tokens: Tokens | None) -> None:
    assert last({"tokens_pattern": pattern}, text).tokens == tokens


@pytest.mark.parametrize(
    ("text", "cost"),
    [("cost $0.25\ncost $1,000.50\n", 1000.5), ("cost $x\n", None), ("free\n", None), ("cost $.5", 0.5)],
)
def test_cost(text: str, cost: float | None) -> None:
    assert last({"cost_pattern": r"cost \$(\S+)"}, text).cost == cost


@pytest.mark.parametrize(
    ("pattern", "text", "limit"),
    [
        ("quota", "the quota is met\n", LimitMet("the quota is met")),
        (r"limit, resets (\d+)", "limit, resets 1795132800\n", LimitMet("limit, resets 1795132800", 1795132800.0)),
        (r"limit, resets (\d+)", "limit, resets 1795132800000\n",
         LimitMet("limit, resets 1795132800000", 1795132800.0)),
        (r"limit until (\S+)", "limit until 2026-11-20T00:00:00Z\n",
         LimitMet("limit until 2026-11-20T00:00:00Z", 1795132800.0)),
        (r"(usage|rate) limit (?P<reset>.*)", "usage limit in 3h 20m\n",
         LimitMet("usage limit in 3h 20m", None, 12_000.0)),
        (r"limit(?: (in .*))?", "limit\n", LimitMet("limit")),
        (r"limit (.*)", "limit some day\n", LimitMet("limit some day")),
    ],
)  # fmt: skip
def test_a_limit_and_its_end(pattern: str, text: str, limit: LimitMet) -> None:
    events = told({"limit_pattern": pattern}, f"I work.\n{text}")
    assert [event for event in events if isinstance(event, LimitMet)] == [limit]
    finished = events[-1]
    assert isinstance(finished, Finished)
    assert (finished.error, finished.fault) == (limit.why, "rate")


@pytest.mark.parametrize("cut", range(0, 60, 7))
def test_only_its_own_words_count(cut: int) -> None:
    text = "log: <promise>COMPLETE</promise>\nagent> I build.\nlog: x\nagent> Done.\nerror: disk\n"
    events = told({"text_pattern": "^agent> (.*)", "error_pattern": "^error: .*"}, text, cut)
    assert "\n".join(event.text for event in events if isinstance(event, Said)) == "I build.\nDone."
    assert isinstance(events[-1], Finished)
    assert events[-1].text in ("I build.\nDone.", "Done.")
    assert events[-1].error == "error: disk"
    assert last({"text_pattern": "^agent> (.*)"}, "log: all\n").text == ""


@pytest.mark.parametrize(
    ("settings", "message", "hint"),
    [
        ({"tokens_pattern": "tokens"}, "agents.mine.tokens_pattern has no group", "<input>"),
        ({"cost_pattern": "cost"}, "agents.mine.cost_pattern has no group", r"\$"),
        ({"cost_pattern": "cost ("}, "agents.mine.cost_pattern: 'cost (' is no regular expression", "Python"),
        ({"tokens_pattern": "(?P<in>x)"}, "no group can be named 'in'", "input, output"),
        ({"limit_pattern": "(?P<until>x)"}, "no group can be named 'until'", "reset"),
        ({"text_pattern": "x", "stream": "claude"}, "agents.mine.text_pattern has no meaning", "claude's stream"),
        ({"token_pattern": "(x)"}, "agents.mine: there is no key 'token_pattern'", r"did you mean tokens_pattern\?"),
        ({"tokens_pattern": 3}, "agents.mine.tokens_pattern: must be text, is a number", "quotes"),
    ],
)
def test_patterns_that_cannot_be_understood(settings: dict[str, Any], message: str, hint: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        named("mine", {"kind": "command", "argv": ["x"], **settings})
    assert message in caught.value.message
    assert re.search(hint, caught.value.hint)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("in 3h 20m", 12_000.0),
        ("3h20m12s", 12_012.0),
        ("34.5s.", 34.5),
        ("2 days, 3 hours and 1 minute", 183_660.0),
        ("500ms", 0.5),
        ("5 apples", None),
        ("0s", None),
        ("9999999 days", None),
        ("", None),
    ],
)
def test_lengths_of_time(text: str, seconds: float | None) -> None:
    assert length_in(text) == seconds


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("1795132800", 1795132800.0),
        (" 1795132800123 ", 1795132800.123),
        ("2026-11-20T01:00:00+01:00", 1795132800.0),
        ("2026-11-20T00:00:00.000Z", 1795132800.0),
        ("12345", None),
        ("0001-01-01T00:00:00+14:00", None),
        ("tomorrow", None),
        ("", None),
    ],
)
def test_moments(text: str, moment: float | None) -> None:
    found = moment_of(text)
    assert found == moment or (text.startswith("0001") and found is not None)


@pytest.mark.parametrize(
    ("text", "reset"),
    [
        ("quota; it resets at 2026-11-20T00:00:00Z.", Reset(at=1795132800.0)),
        ("Please retry in 34.5s.", Reset(after=34.5)),
        ("try again in 3 hours 20 minutes", Reset(after=12_000.0)),
        ("try again in some time, 3h perhaps", Reset()),
        ("nothing", Reset()),
    ],
)
def test_the_end_of_a_limit(text: str, reset: Reset) -> None:
    assert reset_of(text) == reset


@pytest.mark.parametrize(
    ("allowed", "commands"),
    [
        ("Write,Bash(git *),Read", ("git",)),
        ("Bash(npm test:*), Bash(git add *)", ("npm test", "git add")),
        ("Bash", ("",)),
        ("Bash(make), Bash(make)", ("make",)),
        ("Write,Read", ()),
        ("", ()),
    ],
)
def test_the_commands_of_the_allowed_tools(allowed: str, commands: tuple[str, ...]) -> None:
    assert shell_commands(allowed) == commands
