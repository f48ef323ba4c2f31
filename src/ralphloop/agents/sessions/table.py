"""Whose session files can be read."""

from ralphloop.agents.sessions.claude import Claude
from ralphloop.agents.sessions.codex import Codex
from ralphloop.agents.sessions.copilot import Copilot
from ralphloop.agents.sessions.gemini import Gemini
from ralphloop.agents.sessions.opencode import Opencode
from ralphloop.agents.sessions.qwen import Qwen
from ralphloop.core.session_file import Reader

CLAUDE: Reader = Claude()
READERS: tuple[Reader, ...] = (CLAUDE, Codex(), Gemini(), Opencode(), Copilot(), Qwen())


def reader_of(agent: str) -> Reader | None:
    return next((reader for reader in READERS if reader.name == agent), None)
