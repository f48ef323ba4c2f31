"""The templates that ship: the examples agree with the readers, the prompts say what the runner relies on."""

import re
from pathlib import Path

import pytest
import yaml

import ralphloop
from ralphloop.core.policy import Policy
from ralphloop.sources.prd import Prd

TEMPLATES = Path(ralphloop.__file__).parent / "templates"
ALLOWED = {"{{promise}}", "{{feature_dir}}", "{{story_file}}"}
KEYS = {
    "defaults": {
        "max_iterations", "timeout_minutes", "rate_limit_per_hour", "pause_seconds", "on_limit", "silence_minutes",
        "agent",
    },
    "circuit_breaker": {"no_progress_threshold", "same_error_threshold"},
    "completion": {"promise", "trust_promise", "require_commit", "uncommitted"},
    "claude": {"dangerously_skip_permissions", "allowed_tools", "model"},
    "quality_checks": {"backend", "frontend"},
}  # fmt: skip


def text(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")


def test_the_examples_pass_the_preflight() -> None:
    files = {name: text(f"{name}.example").encode() for name in ("prd.json", "spec.md")}
    findings = Prd("prd.json").review({**files, "progress.txt": b""})
    assert [finding.line for finding in findings if finding.level != "ok"] == []
    assert len(Prd("prd.json").take(files["prd.json"]).open) == 2


@pytest.mark.parametrize("name", ["prompt.md", "prompt-tdd.md"])
def test_prompts_say_what_the_runner_relies_on(name: str) -> None:
    prompt = text(name)
    assert set(re.findall(r"\{\{.*?\}\}", prompt)) == ALLOWED
    words = [
        "<promise>STORY_COMPLETE</promise>",
        "<promise>FAILED: reason</promise>",
        "progress.txt",
        "amend",
        "branch",
    ]
    assert [word for word in words if word not in prompt] == []
    # the runner's own promise is only ever written by its placeholder
    assert Policy().promise not in prompt


STEPS = (
    ("story", "`passes`", "`false`"),
    ("`progress.txt`", "specs"),
    ("test that fails",),
    ("code", "pass"),
    ("quality checks",),
    ("Commit",),
    ("`passes`", "`true`"),
    ("Append", "`progress.txt`"),
)
RULES = ("One story", "Tests before code", "Never commit code that is broken", "write down in `progress.txt`")
SECTIONS = ("What to read", "How to work", "progress.txt", "How to end", "Rules")


def test_the_usual_prompt_says_what_to_do_in_order() -> None:
    first, *sections = re.split(r"^## ", text("prompt-tdd.md"), flags=re.MULTILINE)
    assert first.startswith("# ")
    named = {section.partition("\n")[0]: section.partition("\n")[2] for section in sections}
    assert tuple(named) == SECTIONS
    read = [name for name in ("{{story_file}}", "progress.txt", "spec.md", "specs/") if name in named["What to read"]]
    assert len(read) == 4
    steps = re.findall(r"^(\d+)\. (.*)$", named["How to work"], re.MULTILINE)
    assert [int(number) for number, _ in steps] == list(range(1, len(STEPS) + 1))
    for (number, step), words in zip(steps, STEPS, strict=True):
        assert [word for word in words if word not in step] == [], number
    # after the last step comes the promise, and only if everything passes
    assert "`{{promise}}` only when every story" in named["How to end"]
    assert [rule for rule in RULES if rule not in named["Rules"]] == []


def test_the_entry_of_progress_has_every_field() -> None:
    fields = ["Iteration", "Date", "Story", "Status", "Files Changed", "Tests Added", "Learnings", "Commit"]
    entry = text("prompt-tdd.md").split("```")[1]
    assert entry.split("\n")[1] == "---"
    assert re.findall(r"^([A-Z][A-Za-z ]+):", entry, re.MULTILINE) == fields


def test_the_example_configuration_holds_the_built_in_values() -> None:
    value = yaml.safe_load(text("config.yaml.example"))
    policy = Policy()
    assert value["defaults"] == {"max_iterations": 20, "timeout_minutes": 15, "rate_limit_per_hour": 100}
    assert value["completion"] == {"promise": policy.promise}
    assert value["claude"] == {"dangerously_skip_permissions": False, "allowed_tools": policy.allowed_tools}
    assert value["circuit_breaker"] == {"no_progress_threshold": 3, "same_error_threshold": 5}
    assert value["protected_branches"] == ["main", "master", "develop"]
    # commands of another project must not run because somebody copied the example
    assert "quality_checks" not in value


def test_every_key_can_be_switched_on() -> None:
    switched_on = re.sub(r"^( *)#(?=\S| {2}\w+: \")", r"\1", text("config.yaml.example"), flags=re.M)
    value = yaml.safe_load(switched_on)
    assert {section: set(value[section]) for section in KEYS} == KEYS
    assert set(value) == {*KEYS, "protected_branches"}
