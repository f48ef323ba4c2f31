"""With this folder on PYTHONPATH, a runner kills itself at the first event it meets that CRASH_AT names.

An event is a record of the journal or a command, before or after. It is named by the iteration and the last record that
stand in the journal, so that it has the same name in whichever runner it happens.
"""

import json
import os
import signal
import sys
from collections import Counter
from pathlib import Path
from typing import Any


class Crash:
    def __init__(self, at: Path, diary: Path) -> None:
        self.at, self.diary = at, diary
        self.wanted = set(at.read_text().split("\n")) if at.exists() else set()
        self.seen: Counter[str] = Counter()
        self.n, self.last = 0, "nothing"

    def stands(self, line: dict[str, Any]) -> None:
        if line["type"] not in ("resumed", "wished"):
            self.n, self.last = line.get("n", self.n), line["type"]
            self.seen.clear()

    def reached(self, what: str) -> bool:
        """Whether this is the end; the event is then crossed out, for the next runner to live on."""
        self.seen[what] += 1
        event = f"{self.n} after {self.last}: {what} {self.seen[what]}"
        with self.diary.open("a") as stream:
            stream.write(event + "\n")
        if event not in self.wanted:
            return False
        self.at.write_text("\n".join(sorted(self.wanted - {event})))
        return True


def install(crash: Crash) -> None:
    import subprocess

    from ralphloop.core.record import encode
    from ralphloop.host.journal import Journal

    opening, append, start = Journal.__init__, Journal.append, subprocess.Popen.__init__

    def opened(journal: Journal, path: Path) -> None:
        opening(journal, path)
        for line in path.read_bytes().splitlines():
            crash.stands(json.loads(line))

    def appending(journal: Journal, record: Any) -> None:
        line = encode(record)
        name = type(record).__name__
        if crash.reached(f"before {name}"):
            os.kill(os.getpid(), signal.SIGKILL)
        if crash.reached(f"half of {name}"):
            os.write(journal.descriptor, line[: len(line) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
        append(journal, record)
        if crash.reached(f"behind {name}"):
            os.kill(os.getpid(), signal.SIGKILL)
        crash.stands(json.loads(line))

    def starting(child: Any, argv: Any, *rest: Any, **options: Any) -> None:
        words = [word for word in argv[1:] if word[:1] not in "-/" and "=" not in word]
        name = f"git {words[0]}" if argv[0] == "git" else "check" if argv[0] == "/bin/sh" else "agent"
        if crash.reached(f"before {name}"):
            os.kill(os.getpid(), signal.SIGKILL)
        start(child, argv, *rest, **options)
        if crash.reached(f"start of {name}"):
            os.killpg(
                0, signal.SIGKILL
            )  # git dies in the middle as well; agents and checks are in sessions of their own

    Journal.__init__ = opened  # type: ignore[method-assign,assignment]
    Journal.append = appending  # type: ignore[method-assign,assignment]
    subprocess.Popen.__init__ = starting  # type: ignore[method-assign,assignment]


if "CRASH_DIARY" in os.environ and "ralphloop" in sys.orig_argv:
    # taken out of the environment: the runner's own children live
    install(Crash(Path(os.environ.pop("CRASH_AT")), Path(os.environ.pop("CRASH_DIARY"))))
