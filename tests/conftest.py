"""Every test has a home of its own, in the past of no other, and touching the real one fails it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from place import STARTED, Place, make_place

REAL_HOME = Path.home()


def _seen(home: Path) -> tuple[bool, float]:
    place = home / ".ralph"
    return place.exists(), place.stat().st_mtime if place.exists() else 0.0


@pytest.fixture(autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("RALPH_HOME", str(home / ".ralph"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    before = _seen(REAL_HOME)
    yield
    while STARTED:
        runner = STARTED.pop()
        if runner.poll() is None:  # the test has failed before it could end it: TERM, so that it ends its agent too
            runner.terminate()
            runner.wait(20)
    assert _seen(REAL_HOME) == before, "a test touched the real home folder"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A repository on a feature branch with two stories."""
    return make_place(tmp_path)
