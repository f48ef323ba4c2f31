"""What a repository's configuration wants to run here: asked about at a terminal, refused elsewhere."""

import json
import os
import pty
import shlex
import shutil
from contextlib import suppress
from pathlib import Path

import pytest

from place import Place, good, make_place, tree
from ralphloop.config.demands import ALLOWING, STARTING
from ralphloop.config.table import KEYS
from terminal import Terminal

CHECK = "quality_checks: {tests: 'touch ../ran'}\n"
QUESTION = "Run and allow this, now and from now on? [y/N] "


@pytest.fixture
def unknown(tmp_path: Path) -> Place:
    """A repository that nobody has agreed to yet."""
    place = make_place(tmp_path, count=1, config=CHECK)
    place.trusting = False
    return place


def ran(place: Place) -> bool:
    """Whether the check, or any agent, was started."""
    return (place.path.parent / "ran").exists() or (place.home / "runs").exists()


def records(place: Place) -> list[Path]:
    return sorted((place.home / "trust").glob("*")) if (place.home / "trust").exists() else []


@pytest.mark.parametrize("more", [(), ("--skip-preflight",), ("--json",), ("--on-limit", "wait")])
def test_without_a_terminal_it_is_refused(unknown: Place, more: tuple[str, ...]) -> None:
    done = unknown.ralph("run", *more)
    assert done.code == 1
    assert "error: this repository's .ralph/config.yaml wants to run or allow something on this machine" in done.err
    assert "quality_checks.tests (line 5)\n    touch ../ran\n" in done.err
    assert "`ralph trust` agrees once and for all, `ralph run --trust` for one run" in done.err
    assert QUESTION not in done.err
    assert not ran(unknown)
    assert not records(unknown)
    if more == ("--json",):
        assert json.loads(done.out)["error"]["exit_code"] == 1


def test_for_one_run(unknown: Place) -> None:
    assert unknown.ralph("run", "--trust").code == 0
    assert ran(unknown)
    assert not records(unknown)


def test_once_and_for_all(unknown: Place) -> None:
    done = unknown.ralph("trust")
    assert done.code == 0
    assert "quality_checks.tests (line 5)\n    touch ../ran\n" in done.out
    assert not ran(unknown)
    assert len(records(unknown)) == 1
    assert unknown.ralph("trust").out == "there is nothing to agree to\n"
    assert unknown.ralph("run").code == 0


def test_asked_at_a_terminal(unknown: Place) -> None:
    with Terminal(unknown, "run") as terminal:
        text = terminal.shows(QUESTION)
        assert "touch ../ran" in text
        assert not ran(unknown)
        terminal.types("y\n")
        assert terminal.ends() == 0, terminal.text
    assert ran(unknown)
    assert len(records(unknown)) == 1
    assert unknown.ralph("status").code == 0


@pytest.mark.parametrize("answer", ["n\n", "\n", "perhaps\n", "\x04"])
def test_anything_but_yes_is_no(unknown: Place, answer: str) -> None:
    with Terminal(unknown, "run") as terminal:
        terminal.shows(QUESTION)
        terminal.types(answer)
        assert terminal.ends() == 1, terminal.text
        assert "nobody has agreed to it" in terminal.text
    assert not ran(unknown)
    assert not records(unknown)


def test_interrupted_at_the_question(unknown: Place) -> None:
    with Terminal(unknown, "run") as terminal:
        terminal.shows(QUESTION)
        terminal.process.send_signal(2)
        assert terminal.ends() == 130
        assert "Traceback" not in terminal.text
    assert not ran(unknown)


def test_a_program_is_not_asked(unknown: Place) -> None:
    with Terminal(unknown, "run", "--json") as terminal:
        assert terminal.ends() == 1
        assert QUESTION not in terminal.text


def test_a_run_in_the_background_is_not_stopped_by_a_question(unknown: Place) -> None:
    pid, terminal = pty.fork()
    if pid == 0:
        line = f"{shlex.join(unknown.argv('run'))} & wait $!; echo code $?"
        os.chdir(unknown.path)
        os.execvpe("bash", ["bash", "--norc", "-mc", line], unknown.env())
    said = b""
    with suppress(OSError):
        while data := os.read(terminal, 65536):
            said += data
    os.waitpid(pid, 0)
    os.close(terminal)
    assert b"nobody has agreed to it" in said
    assert b"code 1" in said


TOO_LATE = b'{"repository": "/x", "at": 1e300}'
COMMAND = "agents: {own: {kind: command, argv: [cat, -n], env: {A: x}}}\n"
BOTH = "quality_checks:\n  a: one\n  b: two\n"


@pytest.mark.parametrize(
    ("before", "after", "asked"),
    [
        (BOTH, BOTH, ()),
        (BOTH, "# other words\nquality_checks:\n\n  b: 'two'  # last\n  a: \"one\"\n", ()),
        (BOTH, "quality_checks: {a: {command: one, timeout: 3m}, b: two}\n", ()),
        (BOTH, BOTH + "defaults: {max_iterations: 5}\nclaude: {model: best}\n", ()),
        (BOTH, "quality_checks: {a: one}\n", ()),
        (BOTH, "", ()),
        (BOTH, "quality_checks: {a: one, b: two, c: three}\n", ("quality_checks.c",)),
        (BOTH, "quality_checks: {a: one, b: 'two; three'}\n", ("quality_checks.b",)),
        (BOTH, "quality_checks: {a: one, c: two}\n", ("quality_checks.c",)),
        (BOTH, "quality_checks: {a: off, b: two}\n", ()),
        (COMMAND, "agents: {own: {env: {A: x}, argv: [cat, -n], kind: command}}\n", ()),
        (COMMAND, COMMAND.replace("-n", "-v"), ("agents.own",)),
        (COMMAND, COMMAND.replace("A: x", "A: y"), ("agents.own",)),
        (COMMAND, COMMAND.replace("A: x", "API_KEY: y"), ("agents.own",)),
        ("", "claude: {program: ./tool}\n", ("claude.program",)),
        ("", "claude: {args: [--settings, x]}\n", ("claude.args",)),
        ("", "claude: {dangerously_skip_permissions: true}\n", ("claude.dangerously_skip_permissions",)),
        ("", "claude: {dangerously_skip_permissions: false}\n", ()),
        ("", "claude: {allowed_tools: 'Bash'}\n", ("claude.allowed_tools",)),
        ("", "environment: {add: ['*']}\n", ("environment.add",)),
        ("", "environment: {keep: ['*']}\n", ("environment.keep",)),
        ("", "defaults: {agent: claude, on_limit: wait}\nprotected_branches: []\n", ()),
    ],
)
def test_what_is_asked_about_again(tmp_path: Path, before: str, after: str, asked: tuple[str, ...]) -> None:
    place = make_place(tmp_path, count=1)
    config = place.path / ".ralph" / "config.yaml"
    config.write_text(before)
    assert place.ralph("trust").code == 0
    config.write_text(after)
    found = json.loads(place.ralph("trust", "--json").out)
    assert [one["key"] for one in found["agreed"]] == list(asked)


OWN = """budget: {run_cost: 10, run_tokens: 1000000, day_minutes: 1h, attempt_cost: 2}
quality_checks: {tests: make test}
limits: {account: mine}
prices: {own-model: {input: 1, output: 2}}
"""


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("budget: {run_cost: 5, run_tokens: 1000000, day_minutes: 30m}\n", ()),
        ("budget: {run_cost: 10.5}\n", ("budget.run_cost: 10.5 (without it: 10.0)",)),
        ("budget: {run_tokens: off}\n", ("budget.run_tokens: off (without it: 1000000)",)),
        ("budget: {day_minutes: 2h}\n", ("budget.day_minutes: 120 (without it: 60)",)),
        ("budget: {story_cost: 100, day_tokens: off}\n", ()),
        ("budget: {attempt_cost: 2}\n", ()),
        ("budget: {attempt_cost: 0.01}\n", ("budget.attempt_cost: 0.01 (without it: 2.0)",)),
        ("budget: {attempt_tokens: 1}\n", ("budget.attempt_tokens: 1 (without it: 1000000)",)),
        ("limits: {account: mine}\n", ()),
        ("limits: {account: ''}\n", ("limits.account:  (without it: mine)",)),
        ("prices: {own-model: {input: 1, output: 2}}\n", ()),
        ("prices: {other: {input: 0, output: 0}}\n",
         ("prices.other: input: 0.0; output: 0.0; cache_read: 0.0; cache_write: 0.0",)),
        ("completion: {trust_promise: false, require_commit: true}\n", ()),
        ("completion: {trust_promise: true}\n", ("completion.trust_promise: true (without it: false)",)),
        ("completion: {require_commit: false}\n", ("completion.require_commit: false (without it: true)",)),
        ("quality_checks: {tests: off, never: off}\n", ("quality_checks.tests: off (without it: make test)",)),
    ],
)  # fmt: skip
def test_a_limit_of_the_user_s_is_lifted_by_the_user_alone(tmp_path: Path, text: str, asked: tuple[str, ...]) -> None:
    place = make_place(tmp_path, count=1)
    place.home.mkdir()
    (place.home / "config.yaml").write_text(OWN)
    (place.path / ".ralph" / "config.yaml").write_text(text)
    found = json.loads(place.ralph("trust", "--json").out)
    assert tuple(f"{one['key']}: {one['says']}" for one in found["agreed"]) == asked
    assert place.ralph("trust").out == "there is nothing to agree to\n"


def test_a_run_under_lifted_limits_is_refused(tmp_path: Path) -> None:
    place = make_place(tmp_path, count=1)
    place.trusting = False
    place.home.mkdir()
    own = (place.path / ".ralph" / "config.yaml").read_text()
    (place.home / "config.yaml").write_text(f"{own}budget: {{run_cost: 10}}\n")
    (place.path / ".ralph" / "config.yaml").write_text("budget: {run_cost: off}\n")
    done = place.ralph("run")
    assert (done.code, ran(place)) == (1, False)
    assert "budget.run_cost (line 1)\n    off (without it: 10.0)\n" in done.err
    assert place.ralph("run", "--max-cost", "3", "--dry-run").code == 0
    assert place.ralph("run", "--trust").code == 0


def test_what_changed_is_shown(unknown: Place) -> None:
    unknown.ralph("trust")
    unknown.config(CHECK.replace("touch ../ran", "touch ../other"))
    done = unknown.ralph("run")
    assert done.code == 1
    assert "has changed what it wants to run or allow" in done.err
    assert "quality_checks.tests (line 5)\n    touch ../other\n    was: touch ../ran\n" in done.err
    assert "agents.scripted" not in done.err, "what was agreed to is not asked about again"
    unknown.config(CHECK)
    assert unknown.ralph("run").code == 0


def test_a_secret_is_not_shown_and_counts_all_the_same(tmp_path: Path) -> None:
    place = make_place(tmp_path)
    config = place.path / ".ralph" / "config.yaml"
    config.write_text("agents: {claude: {env: {MY_API_KEY: hush-1, BASE_URL: 'http://elsewhere'}}}\n")
    first = place.ralph("trust")
    assert "BASE_URL=http://elsewhere" in first.out
    config.write_text("agents: {claude: {env: {MY_API_KEY: hush-2, BASE_URL: 'http://elsewhere'}}}\n")
    assert "agents.claude" in place.ralph("trust").out
    kept = b"".join(content for _, content in tree(place.home).values())
    assert b"hush" not in kept + first.out.encode()


def test_the_user_s_own_configuration_needs_no_agreement(unknown: Place) -> None:
    text = (unknown.path / ".ralph" / "config.yaml").read_text()
    (unknown.path / ".ralph" / "config.yaml").unlink()
    unknown.home.mkdir()
    (unknown.home / "config.yaml").write_text(text)
    assert unknown.ralph("run").code == 0
    assert ran(unknown)


def test_a_configuration_without_commands_needs_none(tmp_path: Path) -> None:
    place = make_place(tmp_path, count=1)
    place.trusting = False
    own = (place.path / ".ralph" / "config.yaml").read_text()
    place.home.mkdir()
    (place.home / "config.yaml").write_text(own)
    (place.path / ".ralph" / "config.yaml").write_text("defaults: {max_iterations: 3}\n")
    assert place.ralph("run").code == 0
    assert not records(place)


@pytest.mark.parametrize("words", [("validate",), ("run", "--dry-run"), ("config",), ("run", "--dry-run", "--json")])
def test_looking_runs_nothing_and_says_what_is_not_agreed_to(unknown: Place, words: tuple[str, ...]) -> None:
    before = tree(unknown.path, unknown.home)
    done = unknown.ralph(*words)
    assert done.code == 0, done
    if words != ("config",):
        said = next(part for part in (done.err + done.out).split("not agreed to yet: ")[1:])
        assert "quality_checks.tests" in said.partition(";")[0]
    assert tree(unknown.path, unknown.home) == before
    assert not ran(unknown)


def test_worktrees_of_one_repository_share_it_and_clones_do_not(unknown: Place, tmp_path: Path) -> None:
    unknown.ralph("trust")
    unknown.git("worktree", "add", "-q", str(tmp_path / "second"), "-b", "feature/y")
    shutil.copytree(unknown.folder, tmp_path / "second" / ".ralph" / "feature-y")
    assert unknown.ralph("trust", cwd=tmp_path / "second").out == "there is nothing to agree to\n"
    unknown.git("clone", "-q", str(unknown.path), str(tmp_path / "clone"))
    assert "would have this run" in unknown.ralph("trust", cwd=tmp_path / "clone").out


def test_list_and_remove(unknown: Place) -> None:
    assert unknown.ralph("trust", "--list").out == "nothing was agreed to for any repository\n"
    assert unknown.ralph("trust", "--remove").out == "nothing was agreed to for this repository\n"
    unknown.ralph("trust")
    listed = unknown.ralph("trust", "--list").out
    assert listed.startswith(f"{unknown.path / '.git'} (")
    assert "\n  quality_checks.tests: touch ../ran\n" in listed
    (found,) = json.loads(unknown.ralph("trust", "--list", "--json").out)
    assert found["repository"] == str(unknown.path / ".git")
    assert json.loads(unknown.ralph("trust", "--remove", "--json").out) == {"removed": True}
    assert unknown.ralph("run").code == 1
    done = unknown.ralph("trust", "--list", "--remove")
    assert (done.code, "cannot both be meant" in done.err) == (64, True)


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"\xff\0", b'{"repository": 3}', b'{"granted": []}', b"null", TOO_LATE]
)
def test_a_damaged_record_trusts_nothing_and_can_be_written_anew(unknown: Place, content: bytes) -> None:
    unknown.ralph("trust")
    (record,) = records(unknown)
    record.write_bytes(content)
    done = unknown.ralph("run")
    assert done.code == 1
    assert f"the record of trust {record} is damaged" in done.err
    assert not ran(unknown)
    listed = unknown.ralph("trust", "--list")
    assert (listed.code, "is damaged" in listed.err) == (1, True)
    assert unknown.ralph("trust").code == 0
    assert unknown.ralph("run").code == 0


def test_a_record_of_another_repository_does_not_count(unknown: Place) -> None:
    unknown.ralph("trust")
    (record,) = records(unknown)
    record.write_text(record.read_text().replace(str(unknown.path), "/elsewhere"))
    assert unknown.ralph("run").code == 1


def test_what_an_agent_writes_into_the_configuration_is_not_run(tmp_path: Path) -> None:
    evil = "quality_checks: {evil: touch ../evil}"
    place = make_place(tmp_path, count=2, script={"default": [{"run": f"echo '{evil}' > .ralph/config.yaml"}, *good()]})
    place.trusting = False
    place.ralph("trust")
    assert place.ralph("run").code == 0
    assert not (tmp_path / "evil").exists()


def test_a_command_of_many_lines_is_shown_as_a_whole_and_moves_no_cursor(unknown: Place) -> None:
    unknown.config('quality_checks:\n  long: "one\\ntwo \\e[2Kthree"\n')
    done = unknown.ralph("run")
    assert "\n    one\n    two " in done.err
    assert "three" in done.err
    assert "\x1b" not in done.err


def test_without_a_repository(unknown: Place, tmp_path: Path) -> None:
    (tmp_path / "nowhere").mkdir()
    for words in (("trust",), ("trust", "--remove")):
        done = unknown.ralph(*words, cwd=tmp_path / "nowhere")
        assert (done.code, "is not in a git repository" in done.err) == (1, True)


def test_a_repository_at_the_top_of_the_home_folder_has_the_user_s_own_configuration(unknown: Place) -> None:
    unknown.home = unknown.path / ".ralph"
    assert unknown.ralph("trust").out == "there is nothing to agree to\n"
    assert unknown.ralph("run", "-n", "1").code == 0


# settings that can neither start anything nor allow anything on this machine
HARMLESS = {"defaults.fallback", "completion.promise", "claude.model", "protected_branches", "source.file"}


def test_every_setting_that_could_hold_a_command_is_a_demand_or_known_to_be_harmless() -> None:
    texts = {key.name for key in KEYS if key.kind in ("text", "texts", "names", "tools", "path")}
    assert texts - {*ALLOWING, *STARTING} <= HARMLESS, "a new setting: may a repository set it unasked?"
