"""The repository's own settings over an iteration: what would make the worktree unusable is put back, the rest said."""

from collections.abc import Iterator
from pathlib import Path

from ralphloop.core.errors import Problem
from ralphloop.host.files import read, replace
from ralphloop.host.git import Git, Repository

LARGEST = 4 << 20
NAMES = ("config", "config.worktree")
UNUSABLE = ("core.bare", "core.worktree", "core.repositoryformatversion", "extensions.")
HARMLESS = ("extensions.worktreeconfig", "extensions.partialclone")
TOLD = ("core.", "filter.", "include.", "includeif.", "commit.", "gpg.")  # what changes how git works here

Settings = dict[str, list[str]]


def keep(repository: Repository, folder: Path) -> None:
    """Hold the settings as they stand."""
    for path, kept in _pairs(repository, folder):
        content = read(path, LARGEST)
        if content is None:
            kept.unlink(missing_ok=True)
        elif content != read(kept, LARGEST):
            replace(kept, content, durable=False)


def mend(git: Git, repository: Repository, folder: Path, *, harmless: bool = True) -> list[str]:
    """Compare with what is held; `harmless` changes are said as well. Starts no process when nothing was changed."""
    if not (folder / f"git-{NAMES[0]}").exists():
        return []
    notes: list[str] = []
    for path, kept in _pairs(repository, folder):
        try:
            content, held = read(path, LARGEST), read(kept, LARGEST)
        except Problem:
            continue
        if content == held:
            continue
        if content is None:
            notes += _missing(path, held)
            continue
        now = _settings(git, path)
        if now is not None:  # else git cannot read it, and it is put back as a whole
            before = (_settings(git, kept) or {}) if held is not None else {}
            notes += _put_back(git, path, before, now)
            notes += _left(path, before, now) if harmless else ()
    return notes


def _put_back(git: Git, path: Path, before: Settings, now: Settings) -> Iterator[str]:
    wrong = [key for key in _changed(before, now) if _unusable(key, before, now)]
    for key in wrong:
        if key in now:
            git.run("config", "--file", str(path), "--unset-all", key)
        for value in before.get(key, ()):
            git.run("config", "--file", str(path), "--add", key, value)
    if wrong:
        what = ", ".join(_said(key, now) for key in wrong)
        yield f"git's {path.name} was changed so that the worktree could not be used ({what}); that is as it was before"


def _left(path: Path, before: Settings, now: Settings) -> Iterator[str]:
    told = [key for key in _changed(before, now) if key.startswith(TOLD) and not _unusable(key, before, now)]
    if told:
        yield f"git's {path.name} was changed and is left so: {', '.join(_said(key, now) for key in told[:10])}"


def _changed(before: Settings, now: Settings) -> list[str]:
    return [key for key in sorted({*before, *now}) if before.get(key) != now.get(key)]


def _unusable(key: str, before: Settings, now: Settings) -> bool:
    if key == "core.repositoryformatversion" and (before.get(key), now.get(key)) == (["0"], ["1"]):
        return False  # as git itself does it
    return key.startswith(UNUSABLE) and key not in HARMLESS


def _said(key: str, now: Settings) -> str:
    return f"{key}={now[key][-1]}" if key in now else f"{key} is gone"


def _pairs(repository: Repository, folder: Path) -> Iterator[tuple[Path, Path]]:
    places = (repository.common_dir, repository.git_dir)
    for name, place in zip(NAMES, places, strict=True):
        yield Path(place, name), folder / f"git-{name}"


def _missing(path: Path, held: bytes | None) -> Iterator[str]:
    if held is not None and (path.parent / "HEAD").is_file():  # else more is gone, and is made anew as a whole
        replace(path, held)
        yield f"git's {path.name} was gone; it is as it was before"


def _settings(git: Git, path: Path) -> Settings | None:
    """None when git cannot read it."""
    listed = git.ask("config", "--file", str(path), "--no-includes", "-z", "--list")
    if listed.returncode != 0:
        return None
    found: Settings = {}
    for entry in listed.stdout.decode(errors="surrogateescape").split("\0"):
        key, _, value = entry.partition("\n")
        if key:
            found.setdefault(key, []).append(value)
    return found
