"""What people and agents hand to `ralph` that it cannot use: each is said clearly, and nothing is lost or left."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from place import Place, Result, good, make_place, spec_of, stories, tree, write_feature

Prepare = Callable[[Place], None]
SECRET = "not yours\n"


def refused(done: Result, code: int, *words: str) -> None:
    """A message of ours, not a crash; with a way out of it."""
    said = done.err + done.out
    assert done.code == code, said
    assert "bug" not in said and "Traceback" not in said
    for word in words:
        assert word in said, said
    assert "try: " in done.err or "✗" in done.out, said


def runs(place: Place) -> list[str]:
    folder = place.home / "runs"
    return sorted(os.listdir(folder)) if folder.exists() else []


def detach(place: Place) -> None:
    place.git("checkout", "-q", "--detach")


def orphan(place: Place) -> None:
    place.git("switch", "-q", "--orphan", "empty")


def no_repository(place: Place) -> None:
    (place.path / ".git").rename(place.path.parent / "gone")


def empty_git_folder(place: Place) -> None:
    no_repository(place)
    (place.path / ".git").mkdir()


@pytest.mark.parametrize(
    ("prepare", "words"),
    [
        (no_repository, ("is not in a git repository", "git init")),
        (empty_git_folder, (".git is damaged",)),
        (detach, ("Not on a branch (detached HEAD)", "git switch")),
        (orphan, ("branch empty has no commit yet", "git commit")),
    ],
)
@pytest.mark.parametrize("command", ["run", "validate", "archive"])
def test_no_place_for_a_run(place: Place, prepare: Prepare, words: tuple[str, ...], command: str) -> None:
    prepare(place)
    refused(place.ralph(command), 1, *words)
    assert not runs(place)


@pytest.mark.parametrize("command", ["run", "validate", "status"])
def test_a_bare_repository(place: Place, command: str) -> None:
    bare = place.path.parent / "bare.git"
    subprocess.run(["git", "clone", "-q", "--bare", str(place.path), str(bare)], check=True)
    refused(place.ralph(command, cwd=bare), 1, str(bare), "repository")


def test_a_submodule_is_a_repository_of_its_own(tmp_path: Path) -> None:
    inner, outer = make_place(tmp_path / "a"), make_place(tmp_path / "b")
    outer.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner.path), "sub")
    inside = Place(outer.path / "sub", outer.home, inner.branch)
    inside.script(default=good())
    before = outer.git("rev-parse", "HEAD")
    for key, value in (("user.name", "You"), ("user.email", "you@example.com")):
        inside.git("config", key, value)
    assert inside.ralph("run").code == 0
    assert outer.git("rev-parse", "HEAD") == before
    assert outer.prd.read_text().count('"passes": false') == 2, "the outer repository's stories are not ours"


def test_a_linked_worktree_has_a_run_of_its_own(place: Place, tmp_path: Path) -> None:
    place.git("worktree", "add", "-q", "-b", "feature/y", str(tmp_path / "linked"))
    linked = Place(tmp_path / "linked", place.home, "feature/y")
    write_feature(linked.folder, stories(1))
    assert linked.ralph("run").code == 0
    assert linked.passes() == {"STORY-001": True}
    refused(place.ralph("status"), 1, f"no run in {place.path} yet")
    assert len(json.loads(place.ralph("list", "--json").out)) == 1


BRANCHES = [
    "a/b/c.d-e",
    "grün/日本語",
    "no\u00a0break",
    "wide\u3000space",
    "$(touch${IFS}canary)",
    "a;touch canary;b".replace(" ", "${IFS}"),
    "a&b",
    "it's",
    'say"so"',
    "`id`",
    "--x".replace("--", "x--"),
    "x" * 200,
]


@pytest.mark.parametrize("branch", BRANCHES)
def test_a_branch_of_any_name(tmp_path: Path, branch: str) -> None:
    place = make_place(tmp_path, count=1, branch=branch)
    done = place.ralph("run")
    assert done.code == 0, done
    assert place.passes() == {"STORY-001": True}
    assert place.archived().name.endswith(place.feature)
    assert not list(tmp_path.rglob("canary")), "a name was run as a command"
    assert json.loads(place.ralph("status", "--json").out)["branch"] == branch


@pytest.mark.parametrize(
    ("branch", "words"),
    [
        ("y" * 245, ("is too long for a feature folder", "git branch -m")),
        ("a" * 200 + "/" + "b" * 200, ("is too long for a feature folder",)),
        ("archive", ("cannot have the feature folder .ralph/archive", "git branch -m")),
        ("config.yaml", ("cannot have the feature folder",)),
    ],
)
def test_a_branch_that_can_have_no_folder(place: Place, branch: str, words: tuple[str, ...]) -> None:
    place.git("switch", "-q", "-c", branch)
    for command in ("run", "validate"):
        refused(place.ralph(command), 1, *words)
    assert not runs(place)


@pytest.mark.parametrize("name", ["with space", "ünï 日本", "two\nlines", "a:b", "$(id)", 'it\'s "so"'])
def test_a_path_of_any_name(tmp_path: Path, name: str) -> None:
    check = "quality_checks: {all: 'test -f STORY-001.txt'}\n"
    place = make_place(tmp_path, count=1, name=name, config=check)
    done = place.ralph("run")
    assert done.code == 0, done
    for command in ("status", "list", "log", "config"):
        assert place.ralph(command).code == 0
    assert json.loads(place.ralph("status", "--json").out)["worktree"] == str(place.path)


def test_a_path_that_is_no_text(tmp_path: Path) -> None:
    folder = os.fsdecode(os.fsencode(tmp_path) + b"/not-\xff-text")
    subprocess.run(["git", "init", "-q", "-b", "x", folder], check=True)
    place = Place(Path(folder), tmp_path / "ralph-home", "x")
    refused(place.ralph("run"), 1, "is not UTF-8")


TWICE = json.dumps({"description": "x", "createdAt": "2026-01-01T00:00:00Z", "userStories": stories(1) * 2}).encode()
SOURCES = [
    (None, ("Required files missing", "prd.json")),
    (b"", ("prd.json", "empty")),
    (b'{"description": "x", "userStories": [{"id":', ("prd.json",)),
    (b'\xff\xfe{"description": "x"}', ("prd.json", "UTF-8")),
    (b"[1, 2]", ("prd.json",)),
    (b'{"description": 7, "createdAt": "2026-01-01T00:00:00Z", "userStories": {}}', ("description", "userStories")),
    (TWICE, ("userStories[1].id", "as userStories[0].id is already")),
    (b"[" * 100_000, ("prd.json",)),
]  # fmt: skip


@pytest.mark.parametrize(("content", "words"), SOURCES)
def test_a_prd_that_cannot_be_used(place: Place, content: bytes | None, words: tuple[str, ...]) -> None:
    if content is None:
        place.prd.unlink()
    else:
        place.prd.write_bytes(content)
    before = tree(place.path)
    for command in ("validate", "run"):
        refused(place.ralph(command), 1, *words)
    assert tree(place.path) == before
    assert not runs(place)


def test_ids_with_shell_metacharacters_are_texts(tmp_path: Path) -> None:
    place = make_place(tmp_path, count=0)
    odd = ["S;touch canary", "$(touch canary)", "`touch canary`", "a'b", "../../x"]
    plan = [{**stories(1)[0], "id": name, "title": name, "priority": n} for n, name in enumerate(odd, 1)]
    write_feature(place.folder, plan)
    place.script(default=[{"write": {"work-{iteration}.txt": "x\n"}}, {"commit": "Work"}, {"mark": "current"}])
    place.config("quality_checks: {all: 'true'}\n")
    done = place.ralph("run", "--skip-preflight")
    assert done.code == 0, done
    assert place.passes() == dict.fromkeys(odd, True)
    assert not list(tmp_path.rglob("canary"))


def test_fifty_thousand_stories(tmp_path: Path) -> None:
    place = make_place(tmp_path, count=0)
    plan = stories(50_000)
    write_feature(place.folder, plan)
    done = place.ralph("run", "-n", "1", timeout=120)
    assert done.code == 1
    assert "max iterations reached (1) with 1 of 50000 stories finished" in done.out
    assert place.records("begun")[0]["prompt_size"] < 60_000, "what is inlined is bounded"
    took = place.records("ended")[0]["at"] - place.records("started")[0]["at"]
    assert took < 30, f"{took} s"


SPECS = [
    (None, 1, ("Required files missing", "spec.md")),
    (b"", 1, ("spec.md",)),
    (b"\xff\xfe\x00", 1, ("spec.md",)),
    (b"# only a title\n", 0, ("⚠", "STORY-001")),
    (b"```\n### STORY-001: Story number 1\n```\n", 0, ("Orphaned story: STORY-001",)),
    (spec_of(stories(2)).replace("## Out of Scope", "## Whatever").encode(), 0, ('missing "Out of Scope"',)),
    (b"\xef\xbb\xbf" + spec_of(stories(2)).replace("\n", "\r\n").encode(), 0, ("Sync check passed",)),
]


@pytest.mark.parametrize(("content", "code", "words"), SPECS)
def test_a_spec_that_is_missing_or_odd(place: Place, content: bytes | None, code: int, words: tuple[str, ...]) -> None:
    spec = place.folder / "spec.md"
    spec.unlink() if content is None else spec.write_bytes(content)
    done = place.ralph("validate")
    assert done.code == code, done
    assert "bug" not in done.err
    for word in words:
        assert word in done.out, done


CONFIGS = [
    (b"defaults: {max_iteration: 3}\n", 64, ("config.yaml:1", "did you mean defaults.max_iterations?")),
    (b"default: {max_iterations: 3}\n", 64, ("config.yaml:1", "did you mean defaults")),
    (b"defaults:\n  max_iterations: many\n", 64, ("config.yaml:2", "must be a whole number")),
    (b"defaults: [1, 2]\n", 64, ("config.yaml:1", "must be a section")),
    (b"defaults:\n\tmax_iterations: 3\n", 64, ("config.yaml:2", "spaces")),
    (b"a: [1\n", 64, ("config.yaml",)),
    (b"\xff\xfe", 64, ("UTF-8",)),
    (b"x: !!python/object/apply:os.system ['touch canary']\n", 64, ("not allowed",)),
    (b"# " + b"x" * 300_000, 1, ("larger than",)),
]  # fmt: skip


@pytest.mark.parametrize(("content", "code", "words"), CONFIGS)
@pytest.mark.parametrize("command", ["run", "validate", "config"])
def test_a_configuration_that_cannot_be_used(
    place: Place, content: bytes, code: int, words: tuple[str, ...], command: str
) -> None:
    (place.path / ".ralph" / "config.yaml").write_bytes(content)
    refused(place.ralph(command), code, *words)
    assert not runs(place)
    assert not list(place.path.rglob("canary"))


LINKS = {
    ".ralph": ("run", "validate", "archive"),
    ".ralph/feature-x": ("run", "validate", "archive"),
    ".ralph/feature-x/prd.json": ("run", "validate"),
    ".ralph/feature-x/prompt.md": ("run", "validate"),
    ".ralph/config.yaml": ("run", "validate", "config"),
}


@pytest.mark.parametrize("name", LINKS)
def test_a_link_out_of_the_repository_is_refused(place: Place, tmp_path: Path, name: str) -> None:
    inside, outside = place.path / name, tmp_path / "outside"
    inside.rename(outside) if inside.exists() else outside.write_text(SECRET)
    inside.symlink_to(outside)
    before = tree(outside)
    for command in LINKS[name]:
        refused(place.ralph(command), 1, "leads out of the repository")
    refused(place.ralph("run", "--skip-preflight"), 1, "leads out of the repository")
    assert tree(outside) == before


@pytest.mark.parametrize("name", [".ralph/feature-x/logs", ".ralph/feature-x/status.json", ".claude", ".ralph/archive"])
def test_views_and_archives_are_not_written_through_links(place: Place, tmp_path: Path, name: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text(SECRET)
    (place.path / name).symlink_to(outside / "file" if name.endswith("json") else outside)
    assert place.ralph("run").code == (1 if "archive" in name else 0)
    assert tree(outside) == {str(outside): ("folder", b""), str(outside / "file"): ("file", SECRET.encode())}


def agent_missing(path: Path) -> None:
    """Nothing is there."""


def agent_not_executable(path: Path) -> None:
    path.write_text("#!/bin/sh\n")
    path.chmod(0o644)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (agent_missing, ("does not exist", "--agent")),
        (agent_not_executable, ("is not executable", "--agent")),
        (Path.mkdir, ("is a folder", "--agent")),
    ],
)
@pytest.mark.parametrize("how", ["absolute", "relative"])
def test_an_agent_that_cannot_be_started(
    place: Place, make: Callable[[Path], None], words: tuple[str, ...], how: str
) -> None:
    program = place.path / "agent"
    make(program)
    place.config(f"claude: {{program: {program if how == 'absolute' else './agent'}}}\n")
    for command in (("run",), ("run", "--dry-run")):
        refused(place.ralph(*command, "--agent", "claude"), 1, "Agent claude", *words)
    assert not runs(place)


def test_an_agent_that_is_nowhere_on_the_path(place: Place) -> None:
    place.config("claude: {program: no-such-agent}\n")
    refused(place.ralph("run", "--agent", "claude"), 1, "no-such-agent is not installed, or not on PATH")
    refused(place.ralph("run", "--agent", "clod"), 64, "clod", "claude")


def test_an_agent_that_cannot_start_trips_the_breaker(place: Place) -> None:
    program = place.path / "agent"
    program.write_text("#!/no/such/interpreter\n")
    program.chmod(0o755)
    place.config("claude: {program: ./agent}\n")
    done = place.ralph("run", "--agent", "claude")
    assert done.code == 1
    assert "could not be started" in done.out


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, ("does not exist",)),
        ("folder", ("is not a file",)),
        (b"", ("is empty",)),
        (b"\x7fELF\x00\x01\xff", ("is not UTF-8 text",)),
        (b"text\x00text", ("is binary",)),
        (b"x" * (17 << 20), ("is larger than",)),
    ],
)
@pytest.mark.parametrize("own", [False, True])
def test_a_prompt_that_cannot_be_used(
    place: Place, content: bytes | str | None, words: tuple[str, ...], own: bool
) -> None:
    path = place.folder / "prompt.md" if own else place.path / "p.md"
    if own and content is None:
        return
    if content == "folder":
        path.mkdir()
    elif isinstance(content, bytes):
        path.write_bytes(content)
    refused(
        place.ralph("run", *([] if own else ["-p", "p.md"])), 1, "prompt file" if content else "", path.name, *words
    )
    assert not runs(place)


def test_a_prompt_of_three_megabytes_reaches_the_agent_whole(tmp_path: Path) -> None:
    place = make_place(tmp_path, count=1)
    (place.path / "p.md").write_text("é" * 1_500_000 + "END")
    assert place.ralph("run", "-p", "p.md").code == 0
    assert "END" in place.prompt(1)
    assert len(place.prompt(1)) > 1_500_000


CANARY = "touch {canary}"


def test_nothing_is_run_or_written_by_looking(tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    touch = CANARY.format(canary=canary)
    agent = tmp_path / "agent.sh"
    agent.write_text(f"#!/bin/sh\n{touch}\n")
    agent.chmod(0o755)
    config = (
        f"quality_checks: {{all: '{touch}', other: '$({touch})'}}\n"
        f"claude: {{program: {agent}, args: ['$({touch})'], dangerously_skip_permissions: true}}\n"
    )
    place = make_place(tmp_path, config=config)
    before = tree(place.path, place.home)
    for words in (("run", "--dry-run"), ("validate",), ("config",), ("run", "--dry-run", "--json", "-v")):
        done = place.ralph(*words, *(["--agent", "claude"] if words[0] == "run" else []), IS_SANDBOX="1")
        assert done.code == 0, done
        if words[0] != "config":
            for told in ("dangerously_skip_permissions: true", "quality_checks.all", "claude.program"):
                assert told in done.err + done.out.replace("\\", "")
    assert tree(place.path, place.home) == before
    assert not canary.exists()


@pytest.mark.parametrize("words", [("validate",), ("config",), ("run",), ("config", "--json"), ("run", "--dry-run")])
def test_an_agent_that_cannot_be_understood_is_told_by_everybody(place: Place, words: tuple[str, ...]) -> None:
    with (place.path / ".ralph" / "config.yaml").open("a") as stream:
        stream.write("quality_checks: {}\n")
    text = (place.path / ".ralph" / "config.yaml").read_text()
    text = text.replace("agents: {", "agents: {helper: {kind: command, prompt: file}, ")
    (place.path / ".ralph" / "config.yaml").write_text(text)
    refused(place.ralph(*words), 64, "config.yaml:", "agents.helper.argv is missing", "write argv: [my-agent")


def test_secrets_are_not_shown(place: Place) -> None:
    text = (place.path / ".ralph" / "config.yaml").read_text()
    text = text.replace("agents: {", "agents: {helper: {kind: command, argv: [x], env: {API_KEY: s3cret}}, ")
    (place.path / ".ralph" / "config.yaml").write_text(text)
    for words in (("config",), ("config", "--json"), ("validate",), ("run", "--dry-run"), ("run", "--agent", "helper")):
        done = place.ralph(*words)
        assert "s3cret" not in done.out + done.err
    assert '"API_KEY":"…hidden…"' in place.ralph("config").out
