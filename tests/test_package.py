"""The wheel: built here, installed by pip into an empty environment, and at work there."""

import os
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from place import ROOT
from ralphloop import __version__
from ralphloop.cli.commands import RALPH

DEPENDENCIES = ("msgspec", "markdown_it", "mdurl", "yaml", "_yaml")


class Installed(NamedTuple):
    """An environment that has the wheel and its dependencies, and nothing of this checkout."""

    folder: Path
    wheel: Path

    def run(self, *words: str, timeout: float = 60) -> "subprocess.CompletedProcess[str]":
        env = {"PATH": os.environ["PATH"], "HOME": str(self.folder / "home"), "LANG": "C.UTF-8", "NO_COLOR": "1"}
        argv = [str(self.folder / "bin" / words[0]), *words[1:]]
        where = self.folder / "elsewhere"
        where.mkdir(exist_ok=True)
        return subprocess.run(argv, cwd=where, env=env, capture_output=True, text=True, timeout=timeout, check=False)


def run(*words: object) -> None:
    done = subprocess.run([str(word) for word in words], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    """Nothing is fetched: the build uses this environment, the dependencies are linked from it."""
    folder = tmp_path_factory.mktemp("installed")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder / "dist", ROOT)
    (wheel,) = (folder / "dist").glob("*.whl")
    run(sys.executable, "-m", "venv", folder)
    python, there = folder / "bin" / "python", Path(sysconfig.get_path("purelib"))
    run(python, "-m", "pip", "install", "--no-index", "--no-deps", "--disable-pip-version-check", wheel)
    (site,) = folder.glob("lib/python*/site-packages")
    borrowed = folder / "borrowed"
    borrowed.mkdir()
    for name in DEPENDENCIES:
        (borrowed / name).symlink_to(there / name)
    (site / "borrowed.pth").write_text(f"{borrowed}\n")
    yield Installed(folder, wheel)


def test_the_wheel_holds_the_package_and_its_templates(installed: Installed) -> None:
    with zipfile.ZipFile(installed.wheel) as archive:
        names = set(archive.namelist())
        metadata = next(archive.read(name).decode() for name in names if name.endswith("/METADATA"))
    source = ROOT / "src"
    wanted = {
        str(path.relative_to(source))
        for path in source.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc"
    }
    assert wanted <= names
    assert not {name for name in names - wanted if ".dist-info/" not in name}
    assert any(name.endswith("/licenses/LICENSE") for name in names)
    assert f"Version: {__version__}" in metadata
    assert {line for line in metadata.splitlines() if line.startswith("Requires-Dist")} == {
        "Requires-Dist: markdown-it-py>=3",
        "Requires-Dist: msgspec>=0.19",
        "Requires-Dist: pyyaml>=6",
    }


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("ralph", "--version"), f"ralph {__version__}\n"),
        (("python", "-m", "ralphloop", "--version"), f"ralph {__version__}\n"),
        (("ralph", "help"), "Usage:\n  ralph COMMAND"),
        (("ralph", "run", "--help"), "--max-iterations"),
        (("ralph", "completion", "bash"), "complete "),
        (("ralph", "config"), "defaults.max_iterations"),
        (("ralph", "list", "--all"), "no run on this machine yet"),
        (("ralph", "usage"), "no session file of any agent was found"),
        (("wt-usage", "--version"), f"wt-usage {__version__}\n"),
        (("wt-usage", "--help"), "  wt-usage [OPTIONS]\n"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_command_works(installed: Installed, words: tuple[str, ...], said: str) -> None:
    done = installed.run(*words)
    assert (done.returncode, done.stderr) == (0, "")
    assert said in done.stdout


def test_help_names_every_command(installed: Installed) -> None:
    said = installed.run("ralph", "help").stdout
    assert all(f"\n  {name} " in said for name in RALPH.names)


def test_it_comes_from_the_wheel(installed: Installed) -> None:
    done = installed.run("python", "-c", "import ralphloop; print(ralphloop.__file__)")
    assert Path(done.stdout.strip()).is_relative_to(installed.folder)


def test_a_place_that_is_no_repository_is_told(installed: Installed) -> None:
    done = installed.run("ralph", "run")
    assert done.returncode == 1
    assert "is not in a git repository" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_demo_works(installed: Installed) -> None:
    done = installed.run("ralph", "demo", "--keep", str(installed.folder / "demo"), timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "6 of 6 stories finished" in done.stdout
    log = installed.folder / "demo" / "repository"
    subjects = subprocess.run(["git", "log", "--format=%s"], cwd=log, capture_output=True, text=True, check=True).stdout
    assert "STORY-006" in subjects
    assert not (installed.folder / "home" / ".ralph" / "runs").exists(), "the demo keeps to its own folder"
