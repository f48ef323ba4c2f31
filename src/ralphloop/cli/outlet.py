"""Writes for others without waiting for them: a terminal that is held with Ctrl-S must not hold the loop."""

import os
import threading
import time
from collections import deque

MOST = 8 << 20  # bytes that may wait to be written
LEFT_OUT = b"\n... %d lines were left out: nobody read them\n"
LEFT_OUT_JSON = b'{"type":"left_out","lines":%d}\n'
NAP = 0.05  # seconds before a stream that takes nothing now is tried again


class Outlet:
    """A queue and a thread that empties it. What has no room is left out, and how much is said."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._waiting: deque[tuple[int, bytes]] = deque()
        self._size = self._left_out = self._written = 0
        self._trouble: dict[int, OSError] = {}
        self._changed = threading.Condition()
        threading.Thread(target=self._write_on, name="outlet", daemon=True).start()

    def put(self, descriptor: int, content: bytes) -> None:
        """Returns at once. Raises, once, what the system said to an earlier write."""
        with self._changed:
            if descriptor in self._trouble:
                raise self._trouble.pop(descriptor)
            if self._size + len(content) > self._most:
                self._left_out += max(1, content.count(b"\n"))
                return
            if self._left_out:
                said = LEFT_OUT_JSON if content.startswith(b"{") else LEFT_OUT
                self._add(descriptor, said % self._left_out)
                self._left_out = 0
            self._add(descriptor, content)
            self._changed.notify_all()

    def close(self, seconds: float) -> None:
        """Wait until all is written; not when for so long nothing is."""
        with self._changed:
            before = -1
            while self._waiting and self._written != before:
                before = self._written
                self._changed.wait_for(lambda: not self._waiting, seconds)

    def _add(self, descriptor: int, content: bytes) -> None:
        self._waiting.append((descriptor, content))
        self._size += len(content)

    def _write_on(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: bool(self._waiting))
                descriptor, content = self._waiting[0]
            trouble = self._write(descriptor, content)
            with self._changed:
                self._waiting.popleft()
                self._size -= len(content)
                if trouble is not None:
                    self._trouble[descriptor] = trouble
                self._changed.notify_all()

    def _write(self, descriptor: int, content: bytes) -> OSError | None:
        view = memoryview(content)
        while view:
            try:
                count = os.write(descriptor, view)
                self._written += count
                view = view[count:]
            except BlockingIOError:
                time.sleep(NAP)
            except OSError as trouble:
                return trouble
        return None
