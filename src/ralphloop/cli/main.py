"""The program `ralph`: parse, call, print. What a command needs is imported when it is called."""

import os
import sys

from ralphloop.core.errors import BROKEN_PIPE, INTERNAL, NOT_DONE, SIGNALLED, Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

ROOMS = {
    "run": "running",
    "status": "glancing",
    "list": "showing",
    "usage": "usage",
    "log": "telling",
    "validate": "showing",
    "config": "showing",
    "stop": "asking",
    "pause": "asking",
    "resume": "asking",
    "tell": "asking",
    "trust": "trusting",
    "archive": "changing",
    "undo": "changing",
    "agents": "roster",
    "doctor": "doctor",
    "demo": "demo",
    "completion": "explaining",
    "help": "explaining",
    "version": "explaining",
}


def main(called: "Callable[[list[str]], int] | None" = None) -> int:
    """Runs a command of this program, or of another that is called with its words, and gives the exit code."""
    _open_streams()
    code = _guarded(called or _called)
    if output := sys.modules.get("ralphloop.cli.output"):
        output.wait_for_readers(hurry=code in SIGNALLED.values())
    return code


def _guarded(called: "Callable[[list[str]], int]") -> int:
    """Expected trouble is a message, anything else a bug with a log."""
    try:
        return called(sys.argv[1:])
    except Problem as problem:
        return _refused(problem)
    except KeyboardInterrupt:
        return SIGNALLED["SIGINT"]
    except BrokenPipeError:
        from ralphloop.cli.output import hush

        # whoever reads has gone; nothing more can be said to them, not even at the end
        hush()
        return BROKEN_PIPE
    except OSError as error:
        from ralphloop.api.trouble import expected

        trouble = expected(error)
        return _refused(trouble) if trouble else _crashed(error)
    except Exception as bug:  # noqa: BLE001
        return _crashed(bug)


def _open_streams() -> None:
    """A file that is opened later must not get the number of a standard stream that is closed."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))


def _refused(problem: Problem) -> int:
    from ralphloop.cli.output import complain, hush

    hush()
    complain(problem, as_json=_for_programs(sys.argv[1:]))
    return problem.exit_code or NOT_DONE


def _for_programs(words: list[str]) -> bool:
    """Whether JSON was asked for, also by a command line that could not be understood as a whole."""
    return "--json" in (words[: words.index("--")] if "--" in words else words)


def _called(words: list[str]) -> int:
    if words == ["--version"]:
        from ralphloop import __version__

        sys.stdout.write(f"ralph {__version__}\n")
        return 0
    from ralphloop.cli.parse import NO_FOLDER_OPTION, parse

    try:
        parsed = parse(words)
    except Problem as problem:
        if problem.message == NO_FOLDER_OPTION:
            problem.message += _folder_here()
        raise
    if parsed.command in ("run", "demo"):
        _stop_at_once()
    room = __import__(f"ralphloop.cli.{ROOMS[parsed.command]}", fromlist=["call"])
    code: int = room.call(parsed)
    return code


def _stop_at_once() -> None:
    """Until the run listens to signals itself nothing has begun, so an interrupt just ends us.

    A KeyboardInterrupt that is raised while modules are loaded can get lost.
    """
    import signal

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, lambda *_: os._exit(SIGNALLED["SIGINT"]))


def _folder_here() -> str:
    """The folder that would be used."""
    from ralphloop.api.looking import feature_folder

    try:
        branch, folder = feature_folder()
    except Problem:
        return ""
    return f"; here it is {folder} (branch {branch})"


def _crashed(bug: Exception) -> int:
    """A bug: the whole story goes into a log, its path to the user."""
    import tempfile
    import traceback
    from pathlib import Path

    from ralphloop import __version__
    from ralphloop.api.trouble import crash_folder

    story = "".join(traceback.format_exception(bug))
    text = f"ralphloop {__version__}, Python {sys.version}\nralph {' '.join(sys.argv[1:2])}\n\n{story}"
    try:
        log = crash_folder() / f"crash-{os.getpid()}.log"
        log.write_text(text)
    except (OSError, Problem):
        with tempfile.NamedTemporaryFile("w", prefix="ralph-crash-", suffix=".log", delete=False) as stream:
            stream.write(text)
            log = Path(stream.name)
    from ralphloop.cli.output import complain, hush

    hush()
    problem = Problem(f"ralph met a bug: {type(bug).__name__}: {bug}", f"report it with the log {log}")
    problem.exit_code = INTERNAL
    complain(problem, as_json=_for_programs(sys.argv[1:]))
    return INTERNAL
