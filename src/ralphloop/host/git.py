"""git: argv in, values out. No call here changes a file of the user."""

import fnmatch
import os
import re
import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from ralphloop.core.errors import Problem
from ralphloop.core.verdict import Commit

VIEWS = (".claude/loop-state.json", ".claude/ralph-", ".claude/logs/")
OURS = (".ralph/", *VIEWS)  # what is no part of the work
SHOWN = 20
LONGEST = 900.0  # seconds a call of git may take
LAST_CHANCE = 10.0  # seconds it is given when the run is to end
LOOK = 0.5  # seconds between two looks whether that is so
COMMIT = re.compile(rb"\0\x01([<>])([0-9a-f]{40,64})\x02")  # what a subject or a name has in it is no commit
TOLD = 200  # new commits of one attempt that go into the journal: a merge may bring thousands
INHERITED = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX", "GIT_NAMESPACE")
SETTINGS = (
    "core.hooksPath=/dev/null", "core.fsmonitor=false", "core.quotePath=false", "core.safecrlf=false",
    "core.bigFileThreshold=64m", "gc.auto=0", "commit.gpgSign=false", "submodule.recurse=false",
    "log.showSignature=false", "color.ui=false", "advice.detachedHead=false",
)  # fmt: skip
STEADY = tuple(word for setting in SETTINGS for word in ("-c", setting))
WHO = {
    "GIT_AUTHOR_NAME": "ralphloop",
    "GIT_AUTHOR_EMAIL": "ralphloop@localhost",
    "GIT_COMMITTER_NAME": "ralphloop",
    "GIT_COMMITTER_EMAIL": "ralphloop@localhost",
}


class GitProblem(Problem):
    """git said no."""


class GitHangs(Problem):
    """git did not come to an end."""


def patient() -> bool:
    """Nobody waits for this to be over."""
    return False


def _kill(child: "subprocess.Popen[bytes]") -> None:
    """With what it has started, which may hold its pipes."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.kill()


class Repository(Struct, frozen=True):
    """Where a worktree and its repository lie, asked once."""

    worktree: str
    git_dir: str
    common_dir: str
    branch: str  # empty when HEAD is detached
    head: str  # empty when there is no commit yet


class Look(Struct, frozen=True):
    """What `git status` shows, the runner's own files left out."""

    branch: str
    head: str
    dirty: int = 0
    paths: tuple[str, ...] = ()
    aside: int = 0  # what is not committed either and is no work: stories, settings


class Moved(Struct, frozen=True):
    """The commits between two points: what is no longer there, and what is new."""

    lost: tuple[Commit, ...] = ()
    gained: tuple[Commit, ...] = ()
    worked: bool = False  # a new commit holds more than the runner's own files
    total: int = 0  # how many are new, where only the newest of them are told


class Git:
    """Calls in one worktree, free of the caller's hooks, editor, language and repository variables."""

    def __init__(self, worktree: str, *, pinned: bool = True) -> None:
        self.worktree = worktree
        self.env = {name: value for name, value in os.environ.items() if name not in INHERITED}
        self.env |= {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": "true", "GIT_PAGER": "cat"}
        self.hurry: Callable[[], bool] = patient
        if pinned:  # when the repository is gone, one that lies further out must not take its place
            self.env |= {"GIT_DIR": ".git", "GIT_WORK_TREE": "."}  # whatever core.worktree says by now

    def ask(
        self, *args: str, env: dict[str, str] | None = None, stdin: bytes = b""
    ) -> subprocess.CompletedProcess[bytes]:
        try:
            return self._run(["git", *STEADY, *args], {**self.env, **(env or {})}, stdin)
        except FileNotFoundError as error:
            if not Path(self.worktree).is_dir():
                raise GitProblem(
                    f"the worktree {self.worktree} is gone", "put it back, then run the same command"
                ) from error
            raise Problem("git is not installed, or not on PATH", "install git 2.30 or newer") from error
        except NotADirectoryError as error:
            raise GitProblem(f"the worktree {self.worktree} is not a folder") from error

    def _run(self, argv: list[str], env: dict[str, str], stdin: bytes) -> subprocess.CompletedProcess[bytes]:
        """To its end, but not for ever: a filter or a hook of the repository may hang."""
        with subprocess.Popen(
            argv,
            cwd=self.worktree,
            env=env,
            process_group=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as child:
            until, rushed = time.monotonic() + LONGEST, False
            given: bytes | None = stdin
            while True:
                try:
                    out, err = child.communicate(given, timeout=LOOK)
                    return subprocess.CompletedProcess(argv, child.returncode, out, err)
                except subprocess.TimeoutExpired:
                    given = None
                    if self.hurry() and not rushed:
                        until, rushed = min(until, time.monotonic() + LAST_CHANCE), True
                    if time.monotonic() > until:
                        _kill(child)
                        raise GitHangs(
                            f"git {argv[len(STEADY) + 1]} in {self.worktree} did not come to an end and was killed",
                            "a filter or another program that git calls hangs: see .gitattributes and `git config -l`",
                        ) from None
                except BaseException:
                    _kill(child)
                    raise

    def run(self, *args: str, env: dict[str, str] | None = None, stdin: bytes = b"") -> bytes:
        done = self.ask(*args, env=env, stdin=stdin)
        if done.returncode != 0:
            said = done.stderr.decode(errors="replace").strip() or f"exit code {done.returncode}"
            raise GitProblem(f"git {args[0]}: {said[-2000:]}")
        return done.stdout

    def line(self, *args: str, env: dict[str, str] | None = None) -> str:
        return os.fsdecode(self.run(*args, env=env).removesuffix(b"\n"))


def find(folder: str) -> Repository:
    """The repository around a folder. A Problem says why this is no place for a run."""
    git = Git(folder, pinned=False)
    top = git.ask("rev-parse", "--show-toplevel")
    if top.returncode != 0:
        said = top.stderr.decode(errors="replace")
        if "must be run in a work tree" in said:
            _not_in_git_itself(git)
            raise Problem(
                f"{folder} is in a bare repository", "run this in a worktree of it: `git worktree add <path>`"
            )
        if "not a git repository" in said:
            if broken := next((one for one in (Path(folder), *Path(folder).parents) if (one / ".git").exists()), None):
                raise Problem(
                    f"{broken / '.git'} is damaged: {said.strip()}",
                    "`ralph log` of the last run says what was kept; or take a clone's .git",
                )
            raise Problem(f"{folder} is not in a git repository", "`git init` makes one; then commit something")
        raise GitProblem(f"git rev-parse: {said.strip()}")
    worktree = os.fsdecode(top.stdout.removesuffix(b"\n"))
    git = Git(worktree)
    git_dir = git.line("rev-parse", "--absolute-git-dir")
    common = git.line("rev-parse", "--git-common-dir")
    head = git.ask("rev-parse", "--verify", "--quiet", "HEAD")
    return Repository(
        worktree=worktree,
        git_dir=git_dir,
        common_dir=str(Path(worktree, common)),
        branch=git.line("branch", "--show-current"),
        head=head.stdout.decode().strip(),
    )


def _not_in_git_itself(git: Git) -> None:
    """For a folder that git knows as no worktree, although it belongs to one."""
    own = git.ask("rev-parse", "--absolute-git-dir").stdout.decode(errors="surrogateescape").removesuffix("\n")
    bare = git.ask("rev-parse", "--is-bare-repository").stdout.strip() == b"true"
    if own.endswith("/.git") and bare:
        raise Problem(f"{own}/config says core.bare=true, so there is no worktree", "`git config core.bare false`")
    if not bare:
        outer = own.partition("/.git")[0] if "/.git" in own else own
        raise Problem(f"{git.worktree} is inside git's own folder {own}", f"run this in the worktree: `cd {outer}`")


def on_a_branch(repository: Repository) -> Repository:
    """The same, fit for a run: on a branch, with a commit to come back to."""
    if not repository.branch:
        raise Problem("Not on a branch (detached HEAD)", "`git switch -c my-feature` makes one here")
    if not repository.head:
        raise Problem(
            f"branch {repository.branch} has no commit yet",
            "the runner needs a point to come back to: `git commit --allow-empty -m start`",
        )
    return repository


def feature_of(branch: str) -> str:
    """The name of a branch's feature folder."""
    return branch.replace("/", "-")


def look(git: Git, junk: Iterable[str] = (), also_ours: Iterable[str] = (), held: tuple[str, ...] = ()) -> Look:
    """One process, whatever the size of the history. What is `held` elsewhere does not count as put aside."""
    out = git.run("status", "--porcelain=v2", "--branch", "-z", "--untracked-files=normal", "--ignore-submodules=none")
    branch, head, dirty, aside = "", "", 0, 0
    paths: list[str] = []
    ours, junk = (*OURS, *also_ours), tuple(junk)
    entries = iter(out.split(b"\0"))
    for entry in entries:
        if entry.startswith(b"# branch.oid "):
            head = entry[13:].decode()
        elif entry.startswith(b"# branch.head "):
            branch = os.fsdecode(entry[14:])
        elif entry[:2] in (b"1 ", b"2 ", b"u ", b"? "):
            path = os.fsdecode(entry.split(b" ", {b"1": 8, b"2": 9, b"u": 10, b"?": 1}[entry[:1]])[-1])
            if entry[:1] == b"2":
                next(entries, None)
            if is_ours(path, ours):
                aside += not path.startswith((*VIEWS, *held))
                continue
            if entry[:1] == b"?" and is_junk(path, junk):
                continue
            dirty += 1
            if len(paths) < SHOWN:
                paths.append(path)
    detached = branch == "(detached)"
    return Look("" if detached else branch, "" if head == "(initial)" else head, dirty, tuple(paths), aside)


def is_ours(path: str, ours: tuple[str, ...] = OURS) -> bool:
    # an untracked folder is shown as one entry, so a parent of ours alone is ours as well
    return path.startswith(ours) or path in (".ralph", ".claude/")


def is_junk(path: str, junk: tuple[str, ...]) -> bool:
    parts = path.rstrip("/").split("/")
    return any(fnmatch.fnmatchcase(part, pattern) for part in parts for pattern in junk)


def moved(git: Git, before: str, after: str, also_ours: Iterable[str] = (), most: int | None = None) -> Moved:
    """What happened between two commits, in one process; of the new ones only the newest are told, at `most`."""
    if before == after:
        return Moved()
    out = git.run(
        "log", "-z", "--reverse", "--left-right", "--name-only", "--no-renames", "--format=%x00%x01%m%H%x02%s",
        "--end-of-options", f"{before}...{after}", "--",
    )  # fmt: skip
    lost, gained = deque[Commit](maxlen=most), deque[Commit](maxlen=most)
    worked, total = False, 0
    ours = tuple(os.fsencode(name) for name in (*OURS, *also_ours))
    _, *told = COMMIT.split(out)
    for side, name, rest in zip(told[::3], told[1::3], told[2::3], strict=True):
        subject, *names = rest.split(b"\0")
        commit = Commit(name.decode(), subject.decode(errors="replace")[:200])
        if side == b"<":
            lost.append(commit)
            continue
        gained.append(commit)
        total += 1
        worked = worked or any(name.strip(b"\n") and not name.strip(b"\n").startswith(ours) for name in names)
    return Moved(tuple(lost), tuple(gained), worked, total)


def exists(git: Git, commit: str) -> bool:
    return bool(commit) and git.ask("cat-file", "-e", f"{commit}^{{commit}}").returncode == 0


def differing(git: Git, before: str, after: str) -> dict[str, tuple[str, str]]:
    """The paths in which two trees differ, each with what it was and what it is; zeros are nothing."""
    out = git.run("diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", before, after, "--").split(b"\0")
    pairs = zip(out[::2], out[1::2], strict=False)
    found = ((told.decode().split(" "), os.fsdecode(path)) for told, path in pairs)
    return {path: (f"{told[0][1:]} {told[2]}", f"{told[1]} {told[3]}") for told, path in found}


def is_ancestor(git: Git, older: str, newer: str) -> bool:
    return git.ask("merge-base", "--is-ancestor", older, newer).returncode == 0


def set_ref(git: Git, ref: str, commit: str) -> None:
    git.run("update-ref", ref, commit)
