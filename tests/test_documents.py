"""The documents say what is so: links lead somewhere, names are those of the program, and none is missing."""

import inspect
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import documents
from place import ROOT, Place, make_place
from ralphloop import __version__, api
from ralphloop.cli.commands import RALPH
from ralphloop.cli.help import EXIT_CODES
from ralphloop.cli.options import VERSION
from ralphloop.config import load
from ralphloop.config.table import AGENTS, BY_NAME, CHECKS, KEYS, SECTIONS, Key, Setting
from ralphloop.config.values import plain

PROGRAM = {"--help", "-h", *VERSION.spellings}
REQUIREMENTS = "docs/requirements.md"
NUMBERS = [*range(1, 230)]
COMMANDS = [name for name in documents.NAMES if name != REQUIREMENTS]


@pytest.mark.parametrize("name", documents.NAMES)
def test_links_lead_somewhere(name: str) -> None:
    for link in documents.links(name):
        if link.startswith("https://"):
            continue
        place, _, anchor = link.partition("#")
        target = (ROOT / name).parent / place if place else ROOT / name
        assert target.exists(), link
        assert not anchor or anchor in documents.anchors(target), link


@pytest.mark.parametrize("name", documents.NAMES)
def test_nothing_of_a_machine_stands_in_a_document(name: str) -> None:
    found = re.findall(r"(?:/work/|/home/|/root/|/tmp/|[A-Z]:\\)\S*", documents.text_of(name))
    assert not found


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_option_named_exists(name: str) -> None:
    for line in documents.lines_of_code(name):
        words = line.removeprefix("$ ").split("#")[0].split()
        if words[:1] != ["ralph"] or len(words) < 2 or words[1] == "COMMAND":
            continue
        command = RALPH.command(words[1])
        assert command or words[1] in PROGRAM, line
        known = {spelling for option in command.options for spelling in option.spellings} if command else PROGRAM
        used = {word.partition("=")[0] for word in words[1:] if word.startswith("-")}
        assert used <= known | PROGRAM, line


@pytest.mark.parametrize("name", COMMANDS)
def test_every_make_target_named_exists(name: str) -> None:
    targets = set(re.findall(r"^([\w-]+):", documents.text_of("Makefile"), re.MULTILINE))
    named = {found for line in documents.lines_of_code(name) for found in re.findall(r"\bmake ([a-z-]+)", line)}
    assert named <= targets


@pytest.mark.parametrize("name", COMMANDS)
def test_every_setting_named_exists(name: str) -> None:
    own = (f"{CHECKS}.", f"{AGENTS}.")
    for span in documents.spans(name):
        key = span.partition(":")[0].strip()
        if "." in key and key.split(".")[0] in SECTIONS and re.fullmatch(r"[a-z_.]+(?<!\.md)", key):
            assert key in BY_NAME or key.startswith(own), span


@pytest.mark.parametrize("script", ["schemas", "reference"])
def test_what_is_generated_is_up_to_date(script: str) -> None:
    argv = [sys.executable, str(ROOT / "tools" / f"{script}.py"), "--check"]
    done = subprocess.run(argv, capture_output=True, text=True, env={"PYTHONPATH": str(ROOT / "src")}, check=False)
    assert done.returncode == 0, done.stderr


def test_the_reference_has_every_command_and_option() -> None:
    text = documents.text_of("docs/reference.md")
    for command in RALPH.commands:
        part = text.partition(f"### ralph {command.name}\n")[2].partition("\n### ")[0]
        assert part, command.name
        for option in command.shown:
            assert f"--{option.long}" in part


def _kind(key: Key) -> str:
    unit = "minutes" if key.unit == 60 else "seconds"
    kinds = {
        "flag": "true or false",
        "count": "number",
        "duration": f"duration in {unit}",
        "choice": " or ".join([", ".join(key.choices[:-1]), *key.choices[-1:]]),
        "texts": "list of texts",
        "names": "list of names",
        "tools": "text or list of texts",
    }
    return kinds.get(key.kind, key.kind) + (" or off" if key.off else "")


def _default(key: Key) -> str:
    value = plain(Setting(key.name, key.default))
    texts = value if isinstance(value, list) else [str(value).lower() if isinstance(value, bool) else str(value)]
    return ", ".join(f"`{text}`" for text in texts if text) or "empty"


def test_the_reference_has_every_setting_with_its_type_and_default() -> None:
    rows = {row[0]: row[1:] for _, rows in documents.tables("docs/reference.md") for row in rows if len(row) == 4}
    assert {name.strip("`") for name in rows} == set(BY_NAME)
    for key in KEYS:
        told_kind, default, meaning = rows[f"`{key.name}`"]
        assert (told_kind, default) == (_kind(key), _default(key)), key.name
        assert meaning


def test_the_reference_has_every_agent_s_keys() -> None:
    from importlib import import_module

    from ralphloop.agents.table import AGENTS as TABLE

    told = {
        tuple(re.findall(r"`([^`]+)`", " ".join(row[:2]))) for row in documents.table("docs/reference.md", "agents")
    }
    known = set()
    for kind, place in TABLE.items():
        module, _, name = place.partition(":")
        fields = getattr(import_module(module), name).__struct_fields__
        known |= {(kind, field) for field in fields if field != "name"}
    assert told == known


def test_what_is_known_of_an_agent_is_told_as_it_is() -> None:
    from ralphloop.agents.table import AGENTS as TABLE
    from ralphloop.agents.table import named

    rows = {row[0].strip("`"): row[1:] for row in documents.table("docs/agents.md", "known")}
    assert set(rows) == set(TABLE) - {"command", "scripted"}
    for name, (tried, tells, *_) in rows.items():
        traits = named(name, {}).traits
        assert (tried, tells) == (", ".join(traits.tried) or "not run", ", ".join(traits.tells) or "nothing"), name


def test_the_reference_has_the_variables_an_agent_is_given(tmp_path: Path) -> None:
    place = make_place(tmp_path, count=1, script={"default": [{"run": "env > given.txt"}]})
    place.ralph("run", "-n", "1")
    given = {line.partition("=")[0] for line in (place.path / "given.txt").read_text().splitlines()}
    ours = {name for name in given if name.startswith("RALPH_")} - {"RALPH_HOME"}
    assert set(documents.first_names(documents.table("docs/reference.md", "given"))) == ours


def test_the_reference_has_the_whole_library() -> None:
    told: dict[str, list[str]] = {}
    for span in documents.first_names(documents.table("docs/reference.md", "api")):
        name, _, arguments = span.rstrip(")").partition("(")
        told[name] = [one.strip() for one in arguments.split(",")]
    assert set(told) == set(api.__all__)
    for name, parameters in told.items():
        assert list(inspect.signature(getattr(api, name)).parameters) == parameters, name


def test_readme_exit_codes() -> None:
    rows = next(rows for _, rows in documents.tables("README.md") if rows[0][0] == "`0`")
    assert [tuple(row) for row in rows] == [(f"`{code}`", about) for code, about in EXIT_CODES]


def test_readme_picture_comes_from_the_demo(tmp_path: Path) -> None:
    place = Place(tmp_path, tmp_path / "home", "")
    done = place.ralph("demo", "--keep", str(tmp_path / "demo"), timeout=120)
    assert done.code == 0, done

    def same(text: str) -> list[str]:
        text = re.sub(r"\b[0-9a-f]{10}\b|\b\d+(\.\d+)?(ms|s)\b|\b\d+(\.\d+)? s\b", "#", text)
        return [line for line in text.splitlines() if line.strip() and line != "…"]

    picture, shown = same(documents.block("README.md", "picture")), iter(same(done.out))
    for line in picture:
        assert line in shown, f"in this order the demo does not print: {line}"


def test_readme_stories_pass_the_preflight(tmp_path: Path) -> None:
    place = make_place(tmp_path, branch="feature/greeting")
    for name in ("spec.md", "prd.json"):
        (place.folder / name).write_text(documents.block("README.md", f"file {name}"))
    (place.folder / "progress.txt").write_text("")
    (place.path / ".ralph/config.yaml").write_text(documents.block("README.md", "file config.yaml"))
    claude = tmp_path / "bin" / "claude"
    claude.parent.mkdir()
    claude.write_text("#!/bin/sh\n")
    claude.chmod(0o755)
    done = place.ralph("validate", PATH=f"{claude.parent}:/usr/bin:/bin")
    assert done.code == 0, done
    assert done.out == documents.block("README.md", "file validate")
    place.trusting = False
    refused = place.ralph("run", PATH=f"{claude.parent}:/usr/bin:/bin")
    assert refused.code == 1
    assert f":\n{documents.block('README.md', 'file trust')}error: " in refused.err


@pytest.mark.parametrize("name", ["README.md", "docs/guide.md", "docs/reference.md", "docs/agents.md"])
def test_every_example_of_a_configuration_can_be_read(name: str, tmp_path: Path) -> None:
    for number, code in enumerate(one for one in documents.blocks(name) if one.language == "yaml"):
        folder = tmp_path / str(number)
        (folder / ".ralph").mkdir(parents=True)
        (folder / ".ralph" / "config.yaml").write_text(code.text)
        config = load(tmp_path / "home", folder)
        assert config.policy()
        if config.get("defaults.agent") != "claude":
            from ralphloop.agents.table import named

            assert named(config.get("defaults.agent"), config.agent_settings(config.get("defaults.agent")))


def test_readme_library_example_runs(place: Place) -> None:
    (code,) = [one.text for one in documents.blocks("README.md") if one.language == "python"]
    assert place.ralph("trust").code == 0
    argv = [sys.executable, "-c", code]
    done = subprocess.run(
        argv, cwd=place.path, env=place.env(), capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.splitlines() == [
        "iteration 1, STORY-001: progress",
        "iteration 2, STORY-002: done",
        "done 0 2 of 2",
    ], done.stderr


def test_changelog_names_this_version() -> None:
    assert f"## {__version__}" in documents.text_of("CHANGELOG.md")


def test_every_dependency_is_explained() -> None:
    told = re.findall(
        r"[\w-]+", " ".join(row[0] for _, rows in documents.tables("docs/design/dependencies.md") for row in rows)
    )
    asked = [line for name in ("requirements.in", "requirements-dev.in") for line in documents.text_of(name).split()]
    assert {name for name in asked if not name.startswith("-") and not name.endswith(".in")} <= set(told)


def _requirements() -> dict[int, str]:
    """What is told of each number that stands alone in the first column."""
    rows = [row for _, rows in documents.tables(REQUIREMENTS) for row in rows]
    return {int(row[0][1:]): row[-1] for row in rows if re.fullmatch(r"R\d{3}", row[0])}


def test_every_requirement_has_a_test_or_a_word_why_not() -> None:
    told = _requirements()
    assert sorted(told) == NUMBERS
    for number, shown in told.items():
        assert "::" in shown or shown.startswith("not yet: "), f"R{number:03d}"


def test_requirements_name_only_tests_that_exist() -> None:
    named = set(re.findall(r"`([\w/]+\.py)::(\w+)`", documents.text_of(REQUIREMENTS)))
    assert named
    for file, function in sorted(named):
        path = ROOT / file
        assert path.exists(), file
        assert re.search(rf"^(?:async )?def {function}\(", path.read_text(), re.MULTILINE), f"{file}::{function}"


def test_the_example_of_a_wish_is_one() -> None:
    import msgspec

    from ralphloop.host.wishes import Wish

    (span,) = [span for span in documents.spans("docs/formats.md") if span.startswith("{")]
    assert msgspec.json.decode(json.dumps(json.loads(span)), type=Wish)
