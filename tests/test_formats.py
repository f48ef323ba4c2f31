"""The files of a real run hold what their schemas and docs/formats.md say, at every moment of it."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

import documents
from place import ROOT, Place, good, make_place
from ralphloop import api
from ralphloop.core.event import Event
from ralphloop.core.record import Record
from ralphloop.core.view import IterationEntry, LoopStateFile, RunRow, StatusFile

FORMATS = "docs/formats.md"
PAUSE = {"defaults.pause_seconds": (0.05, "test")}
VIEWS = (("status", (StatusFile,)), ("loop-state", (LoopStateFile, IterationEntry)), ("view", (RunRow,)))
UNIONS = (("records", Record), ("events", Event))
SCRIPT = {
    "attempts": [
        [*good({"claim": "complete"}), {"cost": 0.5}, {"tokens": {"input": 5, "output": 7}}],
        [{"write": {"left": "1"}}, {"mark": "current"}],
        [{"delete": "left"}, {"spawn": {"seconds": 60}}, {"claim": {"failed": "no reason"}}],
        ["hang"],
        [{"limit": {"resets_in": 1}}],
    ],
    "default": good(),
}


def validator(name: str) -> Any:
    schema = json.loads((ROOT / f"docs/schemas/{name}.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.fixture
def eventful(tmp_path: Path) -> Place:
    """A place whose run meets a false claim, work left behind, a hanging agent, and the usage limit."""
    checks = "quality_checks: {seen: 'test -e STORY-001.txt'}\ncircuit_breaker: {no_progress_threshold: off}\n"
    return make_place(tmp_path, count=3, script=SCRIPT, config=checks)


def test_every_view_and_record_of_a_run_is_as_its_schema_says(eventful: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RALPH_HOME", str(eventful.home))
    monkeypatch.chdir(eventful.path)
    validators = {
        name: validator(name) for name in ("journal-record", "event", "view", "status", "loop-state", "ledger")
    }
    seen: dict[str, set[str]] = {name: set() for name in validators}

    def check(name: str, value: Any, word: str) -> None:
        validators[name].validate(value)
        seen[name].add(str(value.get(word)))

    def hear(state: Any, said: Any) -> None:
        value = json.loads(msgspec.json.encode(said))
        check("event" if isinstance(said, Event.__args__) else "journal-record", value, "type")
        views = {
            "status": eventful.folder / "status.json",
            "loop-state": eventful.path / ".claude" / "loop-state.json",
            "view": eventful.run_folder() / "view.json",
        }
        for name, path in views.items():
            if path.exists():
                check(name, json.loads(path.read_text()), "status")

    settings = {"defaults.timeout_minutes": (3, "test"), "defaults.on_limit": ("wait", "test")} | PAUSE
    state = asyncio.run(api.run(api.Request(settings=settings, trust=True), hear=hear))
    assert state.end is not None
    assert state.end.exit_code == 0
    assert {"running", "paused", "completed"} == seen["view"]
    assert {"starting", "running", "done"} == seen["loop-state"]
    assert {"session", "said", "tool", "limit", "finished"} <= seen["event"]
    for record in eventful.journal():
        check("journal-record", record, "type")
    every = {one.__struct_config__.tag for one in Record.__args__}
    assert every - seen["journal-record"] <= {"resumed", "wished", "answered", "waiting", "denied", "undone"}
    (ledger,) = eventful.home.glob("accounts/*/ledger.json")
    check("ledger", json.loads(ledger.read_text()), "calls")


def test_the_feature_s_folder_shows_the_run(tmp_path: Path) -> None:
    """status.json as the agent finds it, and the raw output of each iteration: both lie there, the loop writes them."""
    seen = tmp_path / "seen.json"
    look = [{"run": f"cp .ralph/feature-x/status.json {seen}"}, {"binary": 2_000}]
    place = make_place(tmp_path, count=3, script={"attempts": [good(), look]})
    assert place.ralph("run", "-n", "2").code == 1
    found = json.loads(seen.read_text())
    validator("status").validate(found)
    times = [found.pop(name) for name in ("startedAt", "lastUpdated", "rateLimitResetsAt")]
    assert [bool(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", time)) for time in times] == [True] * 3
    assert found == {
        "iteration": 2,
        "maxIterations": 2,
        "status": "running",
        "feature": "feature-x",
        "storiesComplete": 1,
        "storiesTotal": 3,
        "apiCallsUsed": 2,
        "apiCallsLimit": 100,
    }
    assert json.loads((place.folder / "status.json").read_text())["status"] == "failed"
    for n in (1, 2):
        raw = (place.run_folder() / f"attempt-{n}.log").read_bytes()
        assert (place.folder / "logs" / f"iteration-{n}.log").read_bytes() == raw != b""


def test_what_commands_print_is_as_the_schemas_say(place: Place) -> None:
    lines = [json.loads(line) for line in place.ralph("run", "--json").out.splitlines()]
    kinds = {one.__struct_config__.tag for one in Event.__args__}
    lines += [json.loads(line) for line in place.ralph("log", "--json").out.splitlines()]
    for line in lines:
        validator("event" if line["type"] in kinds else "journal-record").validate(line)
    validator("view").validate(place.status())
    for row in json.loads(place.ralph("list", "--json").out):
        validator("view").validate(row)


def test_a_wish_as_another_program_would_leave_it(place: Place) -> None:
    place.ralph("run", "-n", "1")
    wish = next(json.loads(span) for span in documents.spans(FORMATS) if span.startswith("{"))
    validator("wish").validate(wish)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("journal-record", {"type": "nonsense", "at": 1}),
        ("journal-record", {"type": "ended", "at": 1, "status": "done"}),
        ("journal-record", {"type": "ended", "at": 1, "status": "fine", "exit_code": 0, "why": ""}),
        ("event", {"type": "said"}),
        ("status", {"iteration": "1"}),
        ("view", {}),
        ("loop-state", {"status": "asleep"}),
        ("wish", {"wish": "fly"}),
    ],
)
def test_a_schema_refuses_what_is_not_so(name: str, value: Any) -> None:
    with pytest.raises(jsonschema.ValidationError):
        validator(name).validate(value)


@pytest.mark.parametrize(("note", "kinds"), VIEWS)
def test_the_formats_name_every_field_of_a_view(note: str, kinds: tuple[type[msgspec.Struct], ...]) -> None:
    known = {name for kind in kinds for name in kind.__struct_encode_fields__}
    assert set(documents.first_names(documents.table(FORMATS, f"fields {note}"))) == known


@pytest.mark.parametrize(("note", "union"), UNIONS)
def test_the_formats_name_every_type(note: str, union: Any) -> None:
    rows = documents.table(FORMATS, note)
    assert documents.first_names(rows) == [one.__struct_config__.tag for one in union.__args__]


def test_the_layout_of_the_home_folder_is_complete(eventful: Place) -> None:
    eventful.ralph("run", "-t", "3s", "--on-limit", "wait")
    shapes = [_shape(line) for line in documents.block(FORMATS, "layout").splitlines()]
    for path in eventful.home.rglob("*"):
        parts = path.relative_to(eventful.home).parts
        if parts[0] != "vaults" and len(parts) == 3:
            assert any(shape.fullmatch(parts[2]) for shape in shapes), path


def _shape(line: str) -> re.Pattern[str]:
    """The first word as a pattern: N is a number, NAME and <...> are anything."""
    word = re.sub(r"<.*>", "<>", line).split()[0].partition("/")[0]
    return re.compile(re.escape(word).replace("<>", ".+").replace("NAME", ".+").replace(r"\-N", r"-\d+"))


def test_the_formats_name_every_ref(eventful: Place) -> None:
    eventful.ralph("run", "-n", "3")
    eventful.ralph("undo", "-y")
    refs = eventful.git("for-each-ref", "--format=%(refname)", "refs/ralph").split()
    kinds = {ref.split("/")[-1].partition("-")[0] for ref in refs}
    told = documents.first_names(documents.table(FORMATS, "refs"))
    assert {"kept", "left", "undone"} <= kinds
    assert kinds <= {name.split("/")[-1].partition("-")[0] for name in told}
