"""Session files as Claude Code writes them, of any size, and the truth about them."""

import json
import random
import string
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

MODELS = ("claude-opus-4-5-20251101", "claude-sonnet-4-5-20250929", "claude-haiku-4-5-20251001")
BLOCKS = (1, 1, 2, 2, 2, 3, 3, 4)  # lines of one answer
PROJECTS = 23
START = 1_760_000_000
Json = dict[str, Any]
Counts = tuple[int, int, int, int]  # input, cache written, cache read, output


class Ground(NamedTuple):
    """The folder, what it really holds, and what summing up every line would make of it."""

    folder: Path
    truth: Counts
    naive: int
    size: int


class Writer:
    """One stream of chance: the same seed, the same files."""

    def __init__(self, folder: Path, seed: int = 7) -> None:
        self.folder, self.chance = folder, random.Random(seed)
        words = ["".join(self.chance.choices(string.ascii_lowercase, k=self.chance.randint(2, 9))) for _ in range(2000)]
        self.texts = [" ".join(self.chance.choices(words, k=7000)) for _ in range(8)]
        self.truth = [0, 0, 0, 0]
        self.naive = self.size = self.sessions = 0

    def fill(self, size: int) -> Ground:
        while self.size < size:
            self.session()
        return self.ground()

    def ground(self) -> Ground:
        first, second, third, fourth = self.truth
        return Ground(self.folder, (first, second, third, fourth), self.naive, self.size)

    def session(self) -> None:
        self.sessions += 1
        project = self.sessions % PROJECTS
        name = self._name("", 32)
        path = self.folder / "projects" / f"-home-user-project-{project}" / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        at = START + self.chance.randrange(90 * 86_400)
        about = {"isSidechain": False, "cwd": f"/home/user/project/{project}", "sessionId": name, "version": "2.1.197"}
        lines = list(self.turns(about, at, self.chance.randint(40, 400)))
        self._write(path, lines)
        if self.sessions % 20 == 0:
            # taken up again: what was said stands in a second file, and counts once
            again = self._name("", 32)
            copied = [line.replace(name, again) for line in lines[: len(lines) // 4]]
            self._write(path.with_name(f"{again}.jsonl"), copied)
            self.naive += sum(_sum(line) for line in copied)

    def more(self, size: int) -> int:
        """So many bytes more at the end of a file that is there, as a session that goes on."""
        path = max((self.folder / "projects").glob("*/*.jsonl"))
        at, written = START + 91 * 86_400, 0
        while written < size:
            lines = list(self.turns({"cwd": "/home/user/project/0", "sessionId": path.stem}, at + written, 10))
            written += self._write(path, lines)
        return written

    def turns(self, about: Json, at: int, count: int) -> Iterator[str]:
        for _ in range(count):
            at += self.chance.randint(2, 60)
            stamp = f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(at))}.{self.chance.randrange(1000):03}Z"
            yield from self._answer(about, stamp)
            content = self._text(min(30_000, int(self.chance.expovariate(1 / 2500)) + 100))
            result = {"tool_use_id": "toolu_1", "type": "tool_result", "content": content}
            told = {"stdout": content, "stderr": "", "interrupted": False}
            message = {"role": "user", "content": [result]}
            yield _line({**about, "type": "user", "message": message, "timestamp": stamp, "toolUseResult": told})

    def _answer(self, about: Json, stamp: str) -> Iterator[str]:
        chance = self.chance
        counts = (chance.randint(1, 20), chance.randint(0, 9000), chance.randint(0, 150_000), chance.randint(5, 3000))
        for at, count in enumerate(counts):
            self.truth[at] += count
        message, request, model = self._name("msg_01", 22), self._name("req_011", 21), chance.choice(MODELS)
        many = chance.choice(BLOCKS)
        for number in range(many):
            stale = number < many - 1 and chance.random() < 0.5
            output = 1 if stale else counts[3]
            self.naive += sum(counts[:3]) + output
            body = {
                "model": model,
                "id": message,
                "type": "message",
                "role": "assistant",
                "content": [self._block()],
                "stop_reason": None,
                "usage": _usage(counts, output),
            }
            uuid = self._name("", 32)
            more = {"requestId": request, "type": "assistant", "uuid": uuid, "timestamp": stamp}
            yield _line({"parentUuid": self._name("", 32), **about, "message": body, **more})

    def _block(self) -> Json:
        match self.chance.randrange(3):
            case 0:
                return {"type": "text", "text": self._text(self.chance.randint(50, 1500))}
            case 1:
                return {
                    "type": "thinking",
                    "thinking": self._text(self.chance.randint(100, 2000)),
                    "signature": "x" * 400,
                }
        edit = {"file_path": "/home/user/x.py", "old_string": self._text(500), "new_string": self._text(900)}
        return {"type": "tool_use", "id": "toolu_1", "name": "Edit", "input": edit}

    def _text(self, size: int) -> str:
        text = self.chance.choice(self.texts)
        start = self.chance.randrange(max(1, len(text) - size))
        return text[start : start + size].replace(" e", "\n")

    def _name(self, prefix: str, size: int) -> str:
        return prefix + "".join(self.chance.choices(string.ascii_letters + string.digits, k=size))

    def _write(self, path: Path, lines: list[str]) -> int:
        content = "".join(lines).encode()
        with path.open("ab") as stream:
            stream.write(content)
        self.size += len(content)
        return len(content)


def _usage(counts: Counts, output: int) -> Json:
    return {
        "input_tokens": counts[0],
        "cache_creation_input_tokens": counts[1],
        "cache_read_input_tokens": counts[2],
        "output_tokens": output,
        "cache_creation": {"ephemeral_5m_input_tokens": counts[1], "ephemeral_1h_input_tokens": 0},
        "service_tier": "standard",
    }


def _line(told: Json) -> str:
    return json.dumps(told, separators=(",", ":")) + "\n"


def _sum(line: str) -> int:
    usage = json.loads(line)["message"].get("usage", {})
    return sum(value for key, value in usage.items() if key.endswith("_tokens"))
