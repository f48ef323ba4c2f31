"""Where everything of the runner lies: under RALPH_HOME, out of an agent's way."""

import os
import zlib
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from ralphloop.core.errors import Problem
from ralphloop.host import glance
from ralphloop.host.files import complaint, make_folder, make_private, read, replace

SOURCE_LIMIT = 64 << 20
ASIDE = ".ralph-aside-"  # between the name of what is moved out of the way, and a number


class RunFolder(Struct, frozen=True):
    """The folder of one run."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def journal(self) -> Path:
        return self.path / "journal.jsonl"

    @property
    def view(self) -> Path:
        return self.path / "view.json"

    @property
    def asked(self) -> Path:
        return self.path / "asked"

    def attempt(self, n: int) -> Path:
        return self.path / f"attempt-{n}.log"

    def prompt(self, n: int) -> Path:
        return self.path / f"prompt-{n}.md"

    def check(self, n: int, name: str) -> Path:
        return self.path / f"check-{n}-{_safe(name)}.log"

    def keep_source(self, content: bytes) -> str:
        """Keep a good source by its digest; the same content is kept once."""
        digest = glance.digest(content)
        path = self.path / "sources" / digest
        if not path.exists():
            replace(path, zlib.compress(content, 1))
        return digest

    def kept_source(self, digest: str) -> bytes | None:
        """None as well when it is damaged: then it is no good source."""
        try:
            packed = read(self.path / "sources" / digest, SOURCE_LIMIT) if digest else None
            content = zlib.decompress(packed) if packed is not None else None
        except zlib.error:
            return None
        return content if content is not None and glance.digest(content) == digest else None


class WorktreeFolder(Struct, frozen=True):
    """What is known of a worktree: its locks and its runs."""

    path: Path

    @property
    def lock(self) -> Path:
        return self.path / "lock"

    @property
    def agents_lock(self) -> Path:
        return self.path / "agents.lock"

    def latest(self, feature: str = "") -> str | None:
        """The name of the last run here, or of the last one for a feature."""
        try:
            name = (read(self.path / _pointer(feature), 4096) or b"").decode(errors="replace").strip()
        except Problem:
            return None
        return name if glance.is_name(name) else None

    def point_to(self, run: str, feature: str) -> None:
        replace(self.path / _pointer(feature), run.encode())
        replace(self.path / _pointer(""), run.encode())


def _pointer(feature: str) -> str:
    return f"run-{glance.digest(os.fsencode(feature))}" if feature else "run"


class Home(Struct, frozen=True):
    root: Path

    @staticmethod
    def usual() -> "Home":
        return Home(Path(glance.home()))

    @property
    def config(self) -> Path:
        return self.root / "config.yaml"

    def run(self, name: str) -> RunFolder:
        return RunFolder(self.root / "runs" / name)

    def new_run(self, name: str) -> RunFolder:
        folder = self.run(name)
        try:
            make_folder(folder.path.parent)
            folder.path.mkdir(0o700)
            make_folder(folder.asked)
        except OSError as error:
            raise complaint(error, "make the run's folder") from error
        return folder

    def runs(self) -> Iterator[RunFolder]:
        """Every run, the newest first."""
        try:
            names = sorted(os.listdir(self.root / "runs"), reverse=True)
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            raise complaint(error, "list the runs") from error
        for name in names:
            folder = self.run(name)
            if folder.journal.exists():
                yield folder

    def worktree(self, path: str) -> WorktreeFolder:
        return WorktreeFolder(Path(glance.worktree_folder(str(self.root), path)))

    def vault(self, common_dir: str) -> Path:
        return self.root / "vaults" / f"{glance.digest(os.fsencode(common_dir))}.git"

    def trust(self, common_dir: str) -> Path:
        return self.root / "trust" / f"{glance.digest(os.fsencode(common_dir))}.json"

    def account(self, name: str) -> Path:
        return self.root / "accounts" / (_safe(name) or "default")

    def writable(self) -> None:
        """Say it now rather than in the middle of the night."""
        try:
            make_private(self.root)
            replace(self.root / ".writable", b"")
            (self.root / ".writable").unlink()
        except OSError as error:
            error.filename = None
            problem = complaint(error, f"write under {self.root}")
            raise Problem(problem.message, problem.hint or "RALPH_HOME names another place") from error


def _safe(name: str) -> str:
    """A name that may stand in a path: short, and another one for every other name."""
    plain = "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "-" for c in name)[:40].lstrip(".")
    return name if plain == name else f"{plain}-{glance.digest(name.encode(errors='surrogatepass'))[:6]}"


def make_way(worktree: str, path: Path, *, whatever: bool = False) -> None:
    """What stands where a file and its folders must be, and is none, is moved aside; nothing of it is lost."""
    for place in reversed([path, *path.parents[: len(path.relative_to(worktree).parts) - 1]]):
        wrong = (whatever and place == path) or (
            os.path.lexists(place) and (not _leads_inside(worktree, place) or place.is_dir() == (place == path))
        )
        if wrong:
            names = (place.with_name(f"{place.name}{ASIDE}{number}") for number in range(1, 1000))
            place.rename(next(name for name in names if not os.path.lexists(name)))


def _leads_inside(worktree: str, path: Path) -> bool:
    try:
        return inside(worktree, path).exists()
    except Problem:
        return False


def inside(worktree: str, path: Path) -> Path:
    """The path with its links followed, if it does not lead out of the worktree: fit to be read and written."""
    root = Path(worktree).resolve()
    try:
        resolved = path.resolve()
    except (OSError, RuntimeError) as error:
        raise Problem(f"{path} leads in a circle of symbolic links") from error
    if resolved != root and root not in resolved.parents:
        raise Problem(
            f"{path} leads out of the repository, to {resolved}",
            "make it a folder or file of this worktree, not a link",
        )
    return resolved
