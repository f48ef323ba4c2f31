"""Small objects one behind the other in one file: a copy of each at the price of a write, where a file of its own would
cost several times that."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from ralphloop.host.files import write_all
from ralphloop.host.object_file import Print

HEADER_LIMIT = 200


class Entry(Struct, frozen=True):
    name: str
    print: Print
    content: bytes

    @property
    def encoded(self) -> bytes:
        return f"{self.name} {self.print[0]} {self.print[1]}\n".encode() + self.content + b"\n"


class ObjectLog:
    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, entries: Iterable[Entry]) -> None:
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            write_all(descriptor, b"".join(entry.encoded for entry in entries))
        finally:
            os.close(descriptor)

    def entries(self) -> Iterator[Entry]:
        """All that are whole; a torn end is cut off."""
        if not self.path.exists():
            return
        with self.path.open("r+b") as stream:
            end = 0
            while header := stream.readline(HEADER_LIMIT):
                words = header.decode("ascii", "replace").split()
                if len(words) != 3 or not (words[1] + words[2]).isdecimal():
                    break
                content = stream.read(int(words[1]) + 1)
                if len(content) != int(words[1]) + 1:
                    break
                end = stream.tell()
                yield Entry(words[0], (int(words[1]), int(words[2])), content[:-1])
            stream.truncate(end)

    def keep_only(self, names: set[str]) -> None:
        """Leave out what is needed no longer."""
        temporary = self.path.with_name(f"{self.path.name}.new")
        temporary.unlink(missing_ok=True)
        shorter = ObjectLog(temporary)
        for entry in self.entries():
            if entry.name in names:
                shorter.append([entry])
        if temporary.exists():
            temporary.replace(self.path)
        else:
            self.path.unlink(missing_ok=True)
