"""The program at a terminal: a pty that is read as it fills and typed into."""

import os
import pty
import re
import signal
import subprocess
import termios
import threading
from collections.abc import Callable
from types import TracebackType

from place import Place, wait_for

MOVES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


class Terminal:
    """`ralph` with stdin, stdout and stderr at a pty; what it is ended with when a test is through is SIGINT."""

    def __init__(self, place: Place, *words: str, columns: int = 100, **env: str) -> None:
        self.ours, theirs = pty.openpty()
        termios.tcsetwinsize(theirs, (40, columns))
        place.home.mkdir(parents=True, exist_ok=True)
        self.raw = b""
        self.process = subprocess.Popen(
            place.argv(*words),
            cwd=place.path,
            env=place.env(TERM="xterm", **env),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        self.reader = threading.Thread(target=self._read)
        self.reader.start()

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self.ours, 65536)
            except OSError:
                return
            if not data:
                return
            self.raw += data

    @property
    def text(self) -> str:
        """All that was ever shown, the lines that were wiped out as well."""
        return MOVES.sub("", self.raw.decode(errors="replace")).replace("\r\n", "\n").replace("\r", "\n")

    def shows(self, word: str | re.Pattern[str], seconds: float = 20) -> str:
        found: Callable[[], object] = (
            (lambda: word in self.text) if isinstance(word, str) else (lambda: word.search(self.text))
        )
        try:
            wait_for(found, seconds)
        except AssertionError:
            raise AssertionError(f"{word!r} is not shown:\n{self.text}") from None
        return self.text

    def types(self, text: str) -> None:
        os.write(self.ours, text.encode())

    def ends(self, seconds: float = 20) -> int:
        code = self.process.wait(seconds)
        self.reader.join(seconds)
        return code

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            # a shell that has put the tests into the background may have SIGINT ignored, and so does all they start
            self.process.send_signal(
                signal.SIGTERM if signal.getsignal(signal.SIGINT) == signal.SIG_IGN else signal.SIGINT
            )
            self.process.wait(20)
        self.reader.join(5)
        os.close(self.ours)
