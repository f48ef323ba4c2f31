"""Session files of Claude Code for tests: lines of them, and a folder that holds some."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ralphloop.agents.sessions.table import CLAUDE
from ralphloop.core.buckets import Bucket
from ralphloop.core.event import Tokens
from ralphloop.core.usage import grouped, summed
from ralphloop.host.sessions import Sessions, Shelf, look

MODEL = "claude-opus-4-8"
AT = "2026-01-07T12:00:00Z"


def answer(name: str, output: int = 50, *, at: str = AT, session: str = "s", cwd: str = "/p", **more: Any) -> str:
    """A line: 10 tokens in, so many out."""
    usage = {"input_tokens": 10, "output_tokens": output, **more.pop("usage", {})}
    message = {"id": name, "model": MODEL, "usage": usage} | more.pop("message", {})
    told = {"type": "assistant", "cwd": cwd, "sessionId": session, "timestamp": at, "requestId": f"r-{name}"}
    return json.dumps({**told, "message": message, **more}, separators=(",", ":")) + "\n"


class Folder:
    """A config folder of Claude Code, and a cache for what is read of it."""

    def __init__(self, path: Path) -> None:
        self.path, self.cache = path / "claude", path / "cache"

    def file(self, name: str, project: str = "-p") -> Path:
        path = self.path / "projects" / project / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def look(self, *, cold: bool = False) -> Sessions:
        return look([Shelf(CLAUDE, (str(self.path),))], None if cold else self.cache)

    def tokens(self, *, cold: bool = False, since: float = 0, until: float = float("inf")) -> Tokens:
        return total(self.look(cold=cold), since, until)

    def same(self) -> Tokens:
        """With the index as without it, down to each bucket and each trouble."""
        cold, warm = self.look(cold=True), self.look()
        assert told(warm) == told(cold)
        assert warm.troubles == cold.troubles
        return total(warm)


def total(sessions: Sessions, since: float = 0, until: float = float("inf")) -> Tokens:
    return summed(grouped(sessions.portions(since, until), lambda agent, who, slot: "")).tokens


def told(sessions: Sessions) -> dict[tuple[str, str, str, str, int], Bucket]:
    """Each slot of each session, what was counted twice left out."""
    found: dict[tuple[str, str, str, str, int], Bucket] = {}
    each: Callable[[int], str] = str
    for portion in sessions.portions(split=each):
        who, bucket = portion.who, portion.bucket
        key = portion.agent, who.session, who.project, who.model, bucket.slot
        one = found.setdefault(key, Bucket(bucket.slot, bucket.last))
        for name in ("answers", "input", "output", "cache_read", "cache_write", "written_1h"):
            setattr(one, name, getattr(one, name) + getattr(bucket, name))
    return {key: bucket for key, bucket in found.items() if bucket.answers}
