"""Agents of other installed packages: found by their entry point, loaded only when asked for, named when they fail."""

import json
import sys
from pathlib import Path

import pytest

from place import LEAST, Place, good
from ralphloop.agents import plugins
from ralphloop.agents.table import AGENTS, named, names
from ralphloop.agents.text_stream import TextStream
from ralphloop.core.errors import UsageProblem
from ralphloop.core.ports import Call

AGENT = """
import sys
from typing import ClassVar
from msgspec import Struct
from ralphloop.agents.scripted import PLAYER
from ralphloop.agents.claude import Claude
from ralphloop.core.ports import Call, Command, Traits

class Acme(Struct, frozen=True, kw_only=True):
    traits: ClassVar[Traits] = Traits(tells=("end", "tokens", "cost"), variables=("ACME_*",))
    name: str = "acme"
    script: str = "script.json"

    @property
    def program(self) -> str:
        return sys.executable

    def command(self, call: Call) -> Command:
        return Command(argv=(sys.executable, "-I", str(PLAYER), self.script))

    parser = staticmethod(Claude.parser)
"""


def package(folder: Path, code: str, *points: str) -> Path:
    """An installed package: a module, and what its installer wrote about it."""
    about = folder / "acme_agents-1.2.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-agents\nVersion: 1.2\n")
    (about / "entry_points.txt").write_text("[ralphloop.agents]\n" + "\n".join(points) + "\n")
    (folder / "acme_agents_module.py").write_text(code)
    return folder


def test_an_agent_of_another_package_builds_the_stories(place: Place, tmp_path: Path) -> None:
    path = f"{Path(plugins.__file__).parents[2]}:{package(tmp_path / 'site', AGENT, 'acme = acme_agents_module:Acme')}"
    place.script(default=good())
    script = place.home.parent / "script.json"
    agents = f"agents: {{acme: {{script: {json.dumps(str(script))}}}}}\n"
    (place.path / ".ralph" / "config.yaml").write_text(LEAST + agents)
    place.git("commit", "-qam", "Another agent")
    assert "acme" in place.ralph("config", "--agents", PYTHONPATH=path).out.split()
    run = place.ralph("run", "--agent", "acme", PYTHONPATH=path)
    assert run.code == 0, run.err
    assert place.records("started")[0]["agent"] == "acme"
    missing = place.ralph("run", "--agent", "acme")
    assert missing.code == 64
    assert "agents.acme" in missing.err


@pytest.mark.parametrize(
    ("code", "point", "message"),
    [
        ("", "acme = acme_agents_module:Missing", "cannot be loaded: AttributeError"),
        ("1 / 0", "acme = acme_agents_module:Acme", "cannot be loaded: ZeroDivisionError: division by zero"),
        ("", "acme = no_such_module_anywhere:Acme", "cannot be loaded: ModuleNotFoundError"),
        ("Acme = 3", "acme = acme_agents_module:Acme", "is no msgspec Struct"),
        ("from msgspec import Struct\nclass Acme(Struct):\n    a: int = 1", "acme = acme_agents_module:Acme",
         "lacks traits, program, command, parser, name"),
    ],
)  # fmt: skip
def test_a_package_that_does_wrong_is_named(
    code: str, point: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(package(tmp_path / "site", code, point)))
    monkeypatch.delitem(sys.modules, "acme_agents_module", raising=False)
    assert names() == (*AGENTS, "acme"), "its name is known without loading it"
    with pytest.raises(UsageProblem) as caught:
        plugins.loaded("acme")
    assert message in caught.value.message
    assert "acme-agents 1.2" in caught.value.message


def test_the_example_of_the_documents_is_an_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    document = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text()
    code = document.split("```python\n")[1].split("```")[0]
    monkeypatch.syspath_prepend(str(package(tmp_path / "site", code, "acme = acme_agents_module:Acme")))
    monkeypatch.delitem(sys.modules, "acme_agents_module", raising=False)
    agent = named("acme", {"program": "acme-next"})
    assert agent.command(Call("/p", 1)).argv == ("acme-next", "--batch")
    assert isinstance(agent.parser(), TextStream)
    with pytest.raises(UsageProblem, match="there is no key 'programm'"):
        named("mine", {"kind": "acme", "programm": "x"})
