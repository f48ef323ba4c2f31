"""ralph agents and ralph doctor, with programs on PATH that stand for agents."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from place import Place, Result, busy, end, make_place
from ralphloop.agents.claude import Claude
from ralphloop.engine import probe
from ralphloop.host.process import Bounds
from terminal import Terminal

VERSION = "2.1.327"
INIT = {"type": "system", "subtype": "init", "session_id": "s", "model": "m"}
USAGE = {"input_tokens": 10, "output_tokens": 2}
RESULT = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "result": "ready",
    "total_cost_usd": 0.01,
    "num_turns": 1,
    "usage": USAGE,
    "modelUsage": {"m": {"inputTokens": 10, "outputTokens": 2}},
}


def stream(*lines: object) -> str:
    """Shell that prints these lines as JSON."""
    return "cat <<'END'\n" + "\n".join(one if isinstance(one, str) else json.dumps(one) for one in lines) + "\nEND\n"


def install(place: Place, body: str, version: str = VERSION) -> None:
    """A program `claude` on the PATH that the place's programs are called with."""
    program = place.home.parent / "bin" / "claude"
    program.parent.mkdir(exist_ok=True)
    asked = place.home.parent / "asked.txt"
    program.write_text(
        f'#!/bin/sh\necho "$@" >> {asked}\n[ "$1" = --version ] && echo "{version} (Claude Code)" && exit 0\n'
        f"cat > {place.home.parent / 'prompt.txt'}\n{body}\n"
    )
    program.chmod(0o755)


@pytest.fixture
def claude(tmp_path: Path) -> Place:
    """A repository whose own configuration says nothing, and a claude that answers."""
    place = make_place(tmp_path)
    (place.path / ".ralph" / "config.yaml").unlink()
    place.git("add", "-A")
    place.git("commit", "-q", "-m", "no configuration")
    install(place, stream(INIT, RESULT))
    return place


def path_of(place: Place) -> str:
    return f"{place.home.parent / 'bin'}:/usr/bin:/bin"


def call(place: Place, *words: str, **env: Any) -> Result:
    return place.ralph(*words, **{"PATH": path_of(place), "IS_SANDBOX": "1", **env})


def findings(place: Place, *words: str, **env: Any) -> dict[str, list[tuple[str, str]]]:
    """What the doctor finds, by its area."""
    done = call(place, "doctor", *words, "--json", **env)
    report = json.loads(done.out)
    assert done.code == (0 if report["ok"] else 1)
    found: dict[str, list[tuple[str, str]]] = {}
    for one in report["findings"]:
        assert one["level"] == "ok" or one["advice"] or one["details"] or one["area"].startswith("probe")
        found.setdefault(one["area"], []).append((one["level"], one["line"]))
    return found


def test_all_is_well(claude: Place) -> None:
    done = call(claude, "doctor")
    assert done.code == 0, done
    assert "✗" not in done.out
    assert f"✓ agent         claude (chosen) {VERSION}\n" in done.out
    assert "✓ git           commits as You <you@example.com>\n" in done.out
    assert list(findings(claude)) == [
        "git", "repository", "config", "agent", "permissions", "environment", "sandbox", "tmux", "gh", "disk", "clock",
        "left over",
    ]  # fmt: skip
    assert not claude.home.exists(), "looking writes nothing"


def test_the_agent_is_asked_for_its_version_only(claude: Place) -> None:
    call(claude, "doctor")
    call(claude, "agents")
    assert (claude.home.parent / "asked.txt").read_text() == "--version\n--version\n"


@pytest.mark.parametrize(
    ("version", "level", "said"),
    [
        (VERSION, "ok", f"claude (chosen) {VERSION}"),
        ("9.9.9", "warning", "claude (chosen) 9.9.9: tried with "),
        ("none", "warning", "does not tell its version"),
    ],
)
def test_versions(claude: Place, version: str, level: str, said: str) -> None:
    install(claude, "", version)
    (found,) = (one for one in findings(claude)["agent"] if "(chosen)" in one[1])
    assert found[0] == level
    assert said in found[1]


def test_no_agent(claude: Place) -> None:
    shutil.rmtree(claude.home.parent / "bin")
    done = call(claude, "doctor")
    assert done.code == 1
    assert "✗ agent         claude (chosen): claude is not installed, or not on PATH\n" in done.out
    assert "→ Install it: `npm install -g @anthropic-ai/claude-code`\n" in done.out


def test_an_agent_that_hangs_when_asked(tmp_path: Path) -> None:
    program = tmp_path / "claude"
    program.write_text("#!/bin/sh\necho 1.2.3\nexec sleep 1234\n")
    program.chmod(0o755)
    folder = tmp_path / "scratch"
    folder.mkdir()
    bounds = Bounds(timeout=0.3, silence=None, kill_grace=0.1)
    assert asyncio.run(probe.version_of(Claude(), str(program), folder, bounds)) == "1.2.3"
    assert not any(b"sleep\x001234" in one for one in _command_lines())


def _command_lines() -> Iterator[bytes]:
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            yield (process / "cmdline").read_bytes()


def detached(place: Place) -> None:
    place.git("switch", "-q", "--detach")


def merging(place: Place) -> None:
    place.git("switch", "-q", "-c", "other", "HEAD~1")
    (place.path / "README").write_text("other\n")
    place.git("commit", "-qam", "other")
    place.git("switch", "-q", "feature/x")
    (place.path / "README").write_text("this\n")
    place.git("commit", "-qam", "this")
    place.git("merge", "other", check=False)


def nameless(place: Place) -> None:
    place.git("config", "--unset", "user.name")


def broken_config(place: Place) -> None:
    (place.path / ".ralph" / "config.yaml").write_text("defaults: {max_iterations: many}\n")


def untrusted(place: Place) -> None:
    (place.path / ".ralph" / "config.yaml").write_text("quality_checks: {a: touch ../ran}\n")


def dirty(place: Place) -> None:
    (place.path / "new").write_text("x")


def no_repository(place: Place) -> None:
    shutil.rmtree(place.path / ".git")


def from_the_future(place: Place) -> None:
    folder = place.home / "runs" / "20990101-000000-x"
    folder.mkdir(parents=True)
    (folder / "journal.jsonl").write_text("")
    os.utime(folder / "journal.jsonl", (4e9, 4e9))


@pytest.mark.parametrize(
    ("harm", "area", "level", "said"),
    [
        (detached, "repository", "error", "HEAD is detached"),
        (merging, "repository", "error", "in the middle of a merge"),
        (dirty, "repository", "warning", "1 path is not committed"),
        (no_repository, "repository", "warning", "is not in a git repository"),
        (nameless, "git", "error", "git does not know your name: an agent cannot commit"),
        (broken_config, "config", "error", "config.yaml:1: defaults.max_iterations must be a whole number"),
        (untrusted, "config", "warning", "nobody has agreed to what .ralph/config.yaml runs and allows"),
        (from_the_future, "clock", "error", "is before files that are already written"),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_what_is_wrong(claude: Place, harm: Any, area: str, level: str, said: str) -> None:
    harm(claude)
    found = findings(claude)[area]
    assert any(one[0] == level and said in one[1] for one in found), found


def test_without_git(claude: Place, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = call(claude, "doctor", PATH=str(tmp_path / "empty"))
    assert done.code == 1
    assert "✗ git           git is not installed, or not on PATH\n" in done.out


def test_a_tool_that_floods_and_leaves_a_process_behind(claude: Place) -> None:
    tool = claude.home.parent / "bin" / "tmux"
    tool.write_text("#!/bin/sh\nsleep 4321 &\nyes | head -c 100000000\n")
    tool.chmod(0o755)
    ((level, line),) = findings(claude)["tmux"]
    assert (level, line) == ("warning", "cannot be asked for its version: it came to no end (flooded)")
    tool.write_text("#!/bin/sh\nsleep 4321 >/dev/null 2>&1 &\necho tmux 1.2\n")
    assert findings(claude)["tmux"] == [("ok", "tmux 1.2")]
    assert not any(b"sleep\x004321" in one for one in _command_lines())


def test_what_is_withheld_is_named(claude: Place) -> None:
    out = call(claude, "doctor", MY_TOKEN="hush").out
    assert "MY_TOKEN" in out
    assert "hush" not in out


@pytest.mark.skipif(os.geteuid() != 0, reason="only root is refused")
def test_permissions_of_root(claude: Place) -> None:
    claude.home.mkdir()
    (claude.home / "config.yaml").write_text("claude: {dangerously_skip_permissions: true}\n")
    ((level, line),) = findings(claude, IS_SANDBOX="")["permissions"]
    assert (level, "refuses --dangerously-skip-permissions to root" in line) == ("error", True)
    assert findings(claude)["permissions"] == [("ok", "claude is told to ask for nothing")]


def test_what_a_dead_run_left(tmp_path: Path) -> None:
    place = make_place(tmp_path, script={"default": [{"run": "exec sleep 600"}]})
    runner = place.start("run")
    busy(place)
    assert not [one for one in findings(place)["left over"] if one[0] != "ok"], "it lives"
    end(runner, 9)
    found = [line for level, line in findings(place)["left over"] if level == "error"]
    assert found
    assert all(f"of run {place.run_folder().name} still goes on" in line for line in found)
    assert place.ralph("run", "-n", "1", "-t", "1s").code == 1
    assert findings(place)["left over"] == [("ok", "no process of a run that died")]


def rows(place: Place, **env: Any) -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in json.loads(call(place, "agents", "--json", **env).out)}


def test_agents(claude: Place) -> None:
    claude.home.mkdir()
    (claude.home / "config.yaml").write_text(
        "agents:\n  own: {kind: command, argv: [sh, -c, 'touch started']}\n  gone: {kind: command, argv: [no-such]}\n"
    )
    found = rows(claude)
    assert (found["claude"]["version"], found["claude"]["chosen"]) == (VERSION, True)
    assert found["claude"]["path"].endswith("/bin/claude")
    assert found["claude"]["tells"] == ["end", "tokens", "cost", "limits"]
    assert (found["own"]["origin"], found["own"]["path"] != "", found["own"]["version"]) == ("configured", True, "")
    assert found["gone"]["path"] == ""
    assert "agents.command.argv is missing" in found["command"]["note"]
    assert not (claude.path / "started").exists(), "an agent of the user's own is not started to be asked"
    text = call(claude, "agents").out
    assert text.splitlines()[0].split() == ["AGENT", "VERSION", "TRIED", "WITH", "TELLS", "PROMPT", "FOLDER"]
    assert any(line.startswith("claude*") and VERSION in line for line in text.splitlines())


def test_what_nobody_agreed_to_is_not_even_asked_for_its_version(claude: Place) -> None:
    program = claude.path / "tool"
    program.write_text(f"#!/bin/sh\ntouch {claude.path.parent}/ran\ncat > /dev/null\n{stream(INIT, RESULT)}")
    program.chmod(0o755)
    (claude.path / ".ralph" / "config.yaml").write_text("claude: {program: ./tool}\n")
    assert "nobody has agreed" in rows(claude)["claude"]["note"]
    call(claude, "doctor")
    done = call(claude, "doctor", "--probe", "--yes")
    assert (done.code, "nobody has agreed to it" in done.err) == (1, True)
    assert not (claude.path.parent / "ran").exists()
    assert call(claude, "trust").code == 0
    assert findings(claude, "--probe", "--yes")["probe claude"][0][0] == "ok"
    assert (claude.path.parent / "ran").exists()


PROBES: dict[str, tuple[str, list[tuple[str, str]]]] = {
    "well": (stream(INIT, RESULT), [("ok", "12 tokens · $0.0100")]),
    "an option is unknown": (
        "echo \"error: unknown option '--verbose'\" >&2; exit 1",
        [("error", "does not know an option")],
    ),
    "no last word": (stream(INIT), [("error", "without its last word")]),
    "another stream": (stream(INIT, {"type": "novelty"}, "words", RESULT), [("ok", ""), ("warning", "could not be")]),
    "no tokens": (stream(INIT, {**RESULT, "usage": None, "modelUsage": None}), [("ok", ""), ("warning", "its tokens")]),
    "no cost": (stream(INIT, {**RESULT, "total_cost_usd": None}), [("ok", ""), ("warning", "its cost")]),
    "another answer": (stream(INIT, {**RESULT, "result": "No."}), [("ok", ""), ("warning", "and said 'No.'")]),
    "an error": (
        stream(INIT, {**RESULT, "is_error": True, "result": "Invalid API key"}) + "exit 1",
        [("error", "Invalid API key")],
    ),
    "killed": ("kill -9 $$", [("error", "ended with 9 and no word")]),
    "files": ("echo x > file\n" + stream(INIT, RESULT), [("ok", ""), ("warning", "wrote files")]),
    "a process left": (
        "sleep 300 </dev/null >/dev/null 2>&1 &\n" + stream(INIT, RESULT),
        [("ok", ""), ("warning", "left processes running")],
    ),
}


@pytest.mark.parametrize(("body", "expected"), PROBES.values(), ids=PROBES)
def test_probe(claude: Place, body: str, expected: list[tuple[str, str]]) -> None:
    install(claude, body)
    found = findings(claude, "--probe", "claude", "--yes")["probe claude"]
    assert [level for level, _ in found] == [level for level, _ in expected], found
    assert all(said in line for (_, said), (_, line) in zip(expected, found, strict=True)), found
    assert "exactly one word: ready" in (claude.home.parent / "prompt.txt").read_text()
    assert claude.git("status", "--porcelain") == ""


def ledger(place: Place) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((place.home / "accounts" / "claude" / "ledger.json").read_text())
    return found


def test_a_probe_is_counted_for_its_account(claude: Place) -> None:
    claude.home.mkdir()
    (claude.home / "config.yaml").write_text("claude: {model: the-best}\n")
    findings(claude, "--probe", "claude", "--yes")
    after = ledger(claude)
    assert (after["calls"], after["open"], after["spent"]["cost"], after["spent"]["tokens"]) == (1, {}, 0.01, 12)
    assert "--model the-best" in (claude.home.parent / "asked.txt").read_text()
    assert "--max-budget-usd 0.5" in (claude.home.parent / "asked.txt").read_text()
    install(claude, stream(INIT))
    findings(claude, "--probe", "claude", "--yes")
    assert ledger(claude)["spent"]["cost"] == 0.51, "what nobody tells is the worst that was allowed"


@pytest.mark.parametrize(
    ("config", "held", "said"),
    [
        ("budget: {day_cost: 2}\n", {"day": "today", "spent": {"cost": 2}}, "the day's budget is used up: $2.00 of"),
        ("defaults: {rate_limit_per_hour: 3}\n", {"calls": 3, "started_at": -60}, "calls of this hour are used up"),
        ("", {"wall_until": 3600}, "the account is at its usage limit until "),
    ],
    ids=["day", "hour", "wall"],
)  # fmt: skip
def test_a_probe_takes_nothing_that_a_run_may_not(claude: Place, config: str, held: dict[str, Any], said: str) -> None:
    folder = claude.home / "accounts" / "claude"
    folder.mkdir(parents=True)
    (claude.home / "config.yaml").write_text(config)
    now = time.time()
    moments = {name: now + held[name] for name in ("wall_until", "started_at") if name in held}
    day = {"day": time.strftime("%Y-%m-%d")} if "day" in held else {}
    (folder / "ledger.json").write_text(json.dumps({**held, **moments, **day}))
    ((level, line),) = findings(claude, "--probe", "claude", "--yes")["probe claude"]
    assert (level, line.startswith("not started: "), said in line) == ("error", True, True), line
    assert "-p" not in (claude.home.parent / "asked.txt").read_text().split()


def test_a_probe_that_meets_the_limit_tells_the_others(claude: Place) -> None:
    resets = int(time.time()) + 3600
    limit = {"type": "rate_limit_event", "rate_limit_info": {"status": "rejected", "resetsAt": resets}}
    refused = {**RESULT, "is_error": True, "api_error_status": 429, "result": "You've hit your limit"}
    install(claude, stream(INIT, limit, refused) + "exit 1")
    assert findings(claude, "--probe", "claude", "--yes")["probe claude"][0][0] == "error"
    assert ledger(claude)["wall_until"] == resets


def test_a_version_that_was_never_tried_is_told_by_a_probe(claude: Place) -> None:
    install(claude, stream(INIT, RESULT), "9.9.9")
    done = call(claude, "doctor", "--probe", "--yes")
    assert done.code == 0
    assert "⚠ probe claude  version 9.9.9 is none of those tried: " in done.out


def test_a_probe_is_asked_about(claude: Place) -> None:
    done = call(claude, "doctor", "--probe")
    assert (done.code, "costs a few cents" in done.err, "--yes does it" in done.err) == (1, True, True)
    for answer, code in (("n\n", 1), ("y\n", 0)):
        with Terminal(claude, "doctor", "--probe", columns=200, PATH=path_of(claude)) as terminal:
            terminal.shows("Start claude once with a question of one line?")
            assert "-p" not in (claude.home.parent / "asked.txt").read_text()
            terminal.types(answer)
            assert terminal.ends() == code, terminal.text
    assert "Nothing has drifted." in terminal.text


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("claude",), 64, "write ralph doctor --probe claude"),
        (("--probe", "nobody", "--yes"), 64, 'there is no agent "nobody"'),
        (("--probe", "command", "--yes"), 1, "agents.command.argv is missing"),
    ],
)
def test_a_probe_of_nothing(claude: Place, words: tuple[str, ...], code: int, said: str) -> None:
    done = call(claude, "doctor", *words)
    assert (done.code, said in done.err) == (code, True), done


def test_outside_of_a_repository(claude: Place, tmp_path: Path) -> None:
    (tmp_path / "nowhere").mkdir()
    for words in (("doctor",), ("agents",), ("doctor", "--probe", "--yes")):
        done = claude.ralph(*words, cwd=tmp_path / "nowhere", PATH=path_of(claude), IS_SANDBOX="1", **_who())
        assert done.code == 0, done


def _who() -> dict[str, Any]:
    return {"GIT_AUTHOR_NAME": "You", "GIT_AUTHOR_EMAIL": "you@example.com"}


def test_neither_loads_when_it_is_not_asked_for() -> None:
    code = "import sys, ralphloop.cli.main, ralphloop.api.running; print([m for m in sys.modules if 'checkup' in m])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
