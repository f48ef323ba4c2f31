"""The meter of a run: the session files of its agents, and what tokens cost."""

import os

from ralphloop.agents.sessions.table import reader_of
from ralphloop.agents.table import named
from ralphloop.config import Config
from ralphloop.core.event import Tokens
from ralphloop.core.price import cost_of
from ralphloop.core.session_file import Reader
from ralphloop.host import session_growth


class Meter:
    """Agents without session files that we can read tell nothing here."""

    def __init__(self, config: Config, worktree: str) -> None:
        self.config, self.worktree = config, worktree
        self.prices = config.prices
        self.known: dict[bytes, bool] = {}  # whose project a session file is of

    def size(self, agent: str) -> int:
        """Bytes of this project's session files, where they are worth a look.

        An agent that tells its tokens needs no guess, but when it is cut off; to go through its files of all projects
        before every attempt is too dear for that.
        """
        reader = self._reader(agent)
        if reader is None or (reader.files_of(self.worktree) == reader.files and self._tells_tokens(agent)):
            return 0
        return sum(
            session_growth.size_of(reader, one, self.worktree, self.known) for one in self._folders(agent, reader)
        )

    def recorded(self, agent: str, session: str, since: float) -> Tokens | None:
        """What its files say that a session has used; without its name nobody knows which one it was."""
        reader = self._reader(agent)
        if reader is None or not session:
            return None
        for folder in self._folders(agent, reader):
            found = session_growth.recorded(reader, folder, self.worktree, session, since)
            if found is not None:
                return found
        return None

    def cost(self, model: str, tokens: Tokens) -> float | None:
        return cost_of(model, tokens, self.prices) if model else None

    def _reader(self, agent: str) -> Reader | None:
        return reader_of(self.config.agent_kind(agent))

    def _tells_tokens(self, agent: str) -> bool:
        return "tokens" in named(agent, self.config.agent_settings(agent)).traits.tells

    def _folders(self, agent: str, reader: Reader) -> tuple[str, ...]:
        """Where this agent, with the variables it is given, keeps its files."""
        own = self.config.agent_settings(agent).get("env")
        environment = {**os.environ, **(own if isinstance(own, dict) else {})}
        return reader.folders(environment.get("HOME", ""), environment)
