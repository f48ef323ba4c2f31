"""What the tests with real agent CLIs share: the option that keeps streams, servers, repositories and sessions."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from clis import ALL, Cli
from messages import Scenario
from model_server import ModelServer
from repository import CHECKOUT, CLAUDE_FOLDER, Repository, make_six_story_repo

STREAMS = CHECKOUT / "tests" / "agents" / "streams"
Serve = Callable[[Scenario], ModelServer]
Keep = Callable[[Cli, str, bytes], bytes]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--keep-streams", action="store_true", help="write what the CLI printed over the kept streams")


@pytest.fixture(autouse=True, scope="session")
def installed() -> None:
    """Say what to do instead of failing everywhere when a CLI is not there."""
    missing = [cli.name for cli in ALL if not (CLAUDE_FOLDER / cli.name).exists()]
    if missing:
        pytest.exit(f"not installed in .agents: {', '.join(missing)}; run `make test-agents`", returncode=4)


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Start a model server for a scenario; it ends with the test."""
    with ExitStack() as servers:
        yield lambda scenario: servers.enter_context(ModelServer(scenario))


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return make_six_story_repo(tmp_path)


@pytest.fixture
def kept_stream(request: pytest.FixtureRequest) -> Callable[[str, bytes], bytes]:
    """The kept stream of a name; with --keep-streams the one just printed is kept first."""

    def keep(name: str, raw: bytes) -> bytes:
        file = STREAMS / f"claude-{name}.jsonl"
        if request.config.getoption("--keep-streams"):
            file.write_bytes(raw)
        assert file.exists(), f"no kept stream {file.name}: run the tests once with --keep-streams"
        return file.read_bytes()

    return keep


@pytest.fixture
def kept_of(request: pytest.FixtureRequest) -> Keep:
    """The kept stream of a CLI and a name; with --keep-streams the one just printed is kept first, with its events."""

    def keep(cli: Cli, name: str, raw: bytes) -> bytes:
        file = STREAMS / f"{cli.name}-{name}.jsonl"
        if request.config.getoption("--keep-streams"):
            file.write_bytes(raw)
        assert file.exists(), f"no kept stream {file.name}: run the tests once with --keep-streams"
        return file.read_bytes()

    return keep
