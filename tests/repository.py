"""Real repositories of many kinds, made by git itself, for direct tests of the rooms that work on them."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

WHO = ("-c", "user.name=You", "-c", "user.email=you@example.com", "-c", "protocol.file.allow=always")
BRANCH = "feature/x"

# names as a careless program would stumble over them
ODD_NAMES = (
    "a space", "-rf", "--help", "two\nlines", "tab\there", 'quo"te', "back\\slash", "ümlaut-日本", "ends in .lock",
    ":(glob)*", "*", "[a]", "!not", "#no comment", "$HOME", "'single'", "a/b c/-d",
)  # fmt: skip


class Repository:
    """A worktree."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def git(self, *words: str, check: bool = True) -> str:
        done = subprocess.run(["git", *WHO, *words], cwd=self.path, check=check, capture_output=True)
        return done.stdout.decode(errors="surrogateescape").removesuffix("\n")

    def sh(self, script: str) -> str:
        """A shell script in the worktree; what it says."""
        settings = {f"GIT_{who}_{what}": "you@x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        done = subprocess.run(
            ["sh", "-c", script], cwd=self.path, capture_output=True, text=True, env={**os.environ, **settings}
        )
        return done.stdout

    def write(self, name: str, text: str = "text\n") -> Path:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def commit(self, name: str = "file", text: str = "text\n", message: str = "") -> str:
        """One more commit, of one file; its name."""
        self.write(name, text)
        self.git("add", "-f", "--", f":(literal){name}")
        self.git("commit", "-q", "-m", message or name)
        return self.git("rev-parse", "HEAD")

    @property
    def common(self) -> Path:
        return Path(self.git("rev-parse", "--path-format=absolute", "--git-common-dir"))

    @property
    def git_dir(self) -> Path:
        return Path(self.git("rev-parse", "--absolute-git-dir"))

    def sound(self) -> bool:
        """git finds no fault with it."""
        done = subprocess.run(["git", "fsck", "--no-dangling"], cwd=self.path, capture_output=True)
        return (done.returncode, done.stdout) == (0, b"")


def plain(folder: Path, *options: str) -> Repository:
    made = Repository(folder)
    folder.mkdir(parents=True)
    made.git("init", "-q", "-b", BRANCH, *options)
    made.commit("first", "1\n")
    made.commit("folder/second", "2\n")
    return made


def packed(folder: Path) -> Repository:
    made = plain(folder)
    made.git("gc", "-q")
    made.commit("third", "3\n")
    return made


def sha256(folder: Path) -> Repository:
    return plain(folder, "--object-format=sha256")


def linked(folder: Path) -> Repository:
    main = plain(folder.with_name(f"{folder.name}-main"))
    main.git("switch", "-q", "-c", "elsewhere")
    main.git("worktree", "add", "-q", str(folder), BRANCH)
    return Repository(folder)


def borrowing(folder: Path) -> Repository:
    """Most objects lie in another repository."""
    lender = plain(folder.with_name(f"{folder.name}-lender"))
    subprocess.run(["git", "clone", "-q", "--shared", str(lender.path), str(folder)], check=True)
    made = Repository(folder)
    made.commit("own", "own\n")
    return made


def shallow(folder: Path) -> Repository:
    source = plain(folder.with_name(f"{folder.name}-source"))
    subprocess.run(["git", "clone", "-q", "--depth=1", f"file://{source.path}", str(folder)], check=True)
    made = Repository(folder)
    made.commit("own", "own\n")
    return made


def superproject(folder: Path) -> Repository:
    inner = plain(folder.with_name(f"{folder.name}-inner"))
    made = plain(folder)
    made.git("submodule", "add", "-q", str(inner.path), "inner")
    made.git("commit", "-qm", "submodule")
    return made


def sparse(folder: Path) -> Repository:
    made = plain(folder)
    made.commit("left out/file", "not here\n")
    made.git("sparse-checkout", "set", "folder")
    return made


KINDS: dict[str, Callable[[Path], Repository]] = {
    "plain": plain, "packed": packed, "sha256": sha256, "a linked worktree": linked, "alternates": borrowing,
    "shallow": shallow, "a submodule": superproject, "sparse": sparse,
}  # fmt: skip
