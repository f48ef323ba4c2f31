"""What stands in a feature's folder, held with the run: for an agent that deletes it, and for going back."""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from ralphloop.core.errors import Problem
from ralphloop.host.files import read, replace
from ralphloop.host.places import RunFolder, inside, make_way

DRAWN = ("status.json", "logs")  # views of the runner: they are drawn anew
LARGEST = 4 << 20  # bytes of one file; larger ones are left where they are
MOST = 1000  # files
SPECS = "specs"
OWNED = ("spec.md", "prompt.md", "progress.txt", SPECS)  # what no agent has a reason to delete


def keep(run: RunFolder, feature: Path) -> str:
    """Hold every file of the folder as it stands; the digest under which they are found again."""
    held = {}
    for name, path in _files(feature):
        try:
            content = read(path, LARGEST)
        except Problem:
            continue
        if content is not None:
            held[os.fsencode(name).decode("latin-1")] = run.keep_source(content)
    return run.keep_source(msgspec.json.encode(held, order="sorted"))


def deleted(run: RunFolder, digest: str, feature: Path) -> list[str]:
    """The user's files that are held and stand there no more, or only as something that is no file."""
    names = [name for name in held(run, digest) if name.split("/")[0] in OWNED]
    return [name for name in names if not (feature / name).is_file()]


def odd(feature: Path) -> list[Problem]:
    """What stands where the prompt looks for a file and is a pipe, a socket or a device."""
    names = [feature / name for name in OWNED if name != SPECS]
    with suppress(OSError):
        names += sorted(path for path in (feature / SPECS).iterdir() if path.suffix == ".md" and not path.is_dir())
    return [
        Problem(f"{path} is not a file", "a regular file is needed here, no folder, pipe, socket or device")
        for path in names[:MOST]
        if path.exists() and not path.is_file()
    ]


def held(run: RunFolder, digest: str) -> dict[str, str]:
    """Names, relative to the folder, and the digests of their contents; nothing when it cannot be read."""
    found = msgspec.json.decode(run.kept_source(digest) or b"{}", type=dict[str, str])
    return {os.fsdecode(name.encode("latin-1")): content for name, content in found.items()}


def put_back(run: RunFolder, digest: str, worktree: str, feature: Path, only: list[str] | None = None) -> None:
    for name, content_digest in held(run, digest).items():
        content = run.kept_source(content_digest)
        if content is not None and (only is None or name in only):
            make_way(worktree, feature / name)
            replace(inside(worktree, feature / name), content)


def with_additions(before: bytes, after: bytes) -> bytes:
    """`after`, and behind it what `before` has added since both parted; for a log that only grows."""
    if before == after:
        return after
    pairs = zip(before, after, strict=False)
    alike = next((at for at, (one, other) in enumerate(pairs) if one != other), min(len(before), len(after)))
    added = before[alike:]
    return after if not added.strip() or after.endswith(added) else after + added


def _files(feature: Path) -> Iterator[tuple[str, Path]]:
    count = 0
    for place, folders, names in os.walk(feature):
        folders[:] = sorted(name for name in folders if name not in (*DRAWN, ".git"))
        for name in sorted(names):
            path = Path(place, name)
            if name in DRAWN or name.endswith(".tmp") or not _is_plain(path):
                continue
            count += 1
            if count > MOST:
                return
            yield str(path.relative_to(feature)), path


def _is_plain(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False
