"""How the run of a folder stands, in a few milliseconds: nothing heavy is imported here."""

import os
from _blake2 import blake2b

from ralphloop.core.errors import Problem, UsageProblem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MOST = 1 << 20


def digest(text: bytes) -> str:
    return blake2b(text, digest_size=10).hexdigest()


def home() -> str:
    """RALPH_HOME, or ~/.ralph."""
    given = os.environ.get("RALPH_HOME", "")
    if not given:
        given = f"{user_home()}/.ralph"
    elif given.startswith("~"):
        given = os.path.expanduser(given)  # noqa: PTH111
    if not given.startswith("/"):
        # runs that are found from one folder only would be lost from all others
        raise UsageProblem(f"RALPH_HOME is not an absolute path: {given}", "write it whole, for example /var/lib/ralph")
    root = os.path.normpath(given)
    if not os.path.isdir(root) and (os.path.lexists(root) or _below_a_file(root)):  # noqa: PTH112
        raise Problem(f"{root} is not a folder", "RALPH_HOME names the folder in which ralph keeps its runs")
    return root


def user_home() -> str:
    """HOME, or what the system says when it is unset or empty."""
    given = os.environ.get("HOME", "")
    if given.startswith("/"):
        return given.rstrip("/")
    try:
        import pwd

        return pwd.getpwuid(os.getuid()).pw_dir.rstrip("/")
    except (ImportError, KeyError):
        raise Problem("there is no home folder: HOME is not set", "set HOME, or RALPH_HOME to a folder") from None


def _below_a_file(path: str) -> bool:
    while path != "/":
        path = os.path.dirname(path)  # noqa: PTH120
        if os.path.lexists(path):
            return not os.path.isdir(path)  # noqa: PTH112
    return False


def is_name(run: str) -> bool:
    """Whether it can be the name of a run's folder: a damaged pointer must lead nowhere else."""
    return run.isprintable() and "/" not in run and run not in ("", ".", "..") and len(run) <= 200


def worktree_of(folder: str) -> str | None:
    """The nearest folder around this one that is a worktree."""
    folder = os.path.realpath(folder)
    while True:
        if os.path.lexists(folder + "/.git"):
            return folder or "/"
        outer = folder.rpartition("/")[0]
        if outer == folder or not folder:
            return None
        folder = outer


def worktree_folder(root: str, worktree: str) -> str:
    return f"{root}/worktrees/{digest(os.fsencode(worktree))}"


def latest_run(root: str, worktree: str) -> str | None:
    name = (_read(f"{worktree_folder(root, worktree)}/run") or b"").decode(errors="replace").strip()
    return name if is_name(name) else None


def row(root: str, run: str) -> bytes | None:
    """The view kept beside the run's journal, as JSON."""
    return _read(f"{root}/runs/{run}/view.json")


class _Context:
    """What the scanner wants to be told."""

    strict, memo = True, dict[str, str]()
    object_hook = object_pairs_hook = None
    parse_float, parse_int, parse_constant = float, int, float


def values(content: bytes) -> dict[str, object]:
    """Flat JSON, read by the scanner of the standard library without the rest of it; empty when it is none."""
    try:
        return _scanned(content)
    except (ValueError, TypeError, StopIteration, RecursionError):
        return {}


def _scanned(content: bytes) -> dict[str, object]:
    try:
        from _json import make_scanner
    except ImportError:
        import json

        return dict(json.loads(content))

    scanner: Any = make_scanner
    found = scanner(_Context())(content.decode(), 0)[0]
    return dict(found)


def start_of(pid: int) -> str:
    """When a process began, in the system's own count: a pid alone may be another's by now."""
    content = _read(f"/proc/{pid}/stat")
    fields = content.rpartition(b")")[2].split() if content else []
    return fields[19].decode() if fields and fields[0] not in (b"Z", b"X") else ""


def runner_lives(root: str, worktree: str) -> int | None:
    """The pid of the runner that works in this worktree."""
    content = _read(f"{worktree_folder(root, worktree)}/lock")
    pid, _, start = (content or b"").decode(errors="replace").partition(" ")
    if not (pid.isascii() and pid.isdigit() and len(pid) < 10):
        return None
    if os.path.isdir("/proc/self"):  # noqa: PTH112
        return int(pid) if start.strip() and start_of(int(pid)) == start.strip() else None
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        pass
    return int(pid)


def _read(path: str) -> bytes | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, ValueError):
        return None
    try:
        return os.read(descriptor, MOST)
    except OSError:
        return None
    finally:
        os.close(descriptor)
