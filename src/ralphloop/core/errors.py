"""The kinds of trouble that are expected, and the exit codes every front end shares."""

DONE = 0
NOT_DONE = 1
LIMITED = 2
USAGE = 64
INTERNAL = 70
BROKEN_PIPE = 141
SIGNALLED = {"SIGHUP": 129, "SIGINT": 130, "SIGQUIT": 131, "SIGTERM": 143}


class Problem(Exception):
    """Trouble a user can do something about: what happened and where, and what to try."""

    exit_code = NOT_DONE

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageProblem(Problem):
    """The command line or a value in the configuration cannot be understood."""

    exit_code = USAGE


class DamagedProblem(Problem):
    """A file that must be whole is not: a journal line, a source, a repository."""


class BusyProblem(Problem):
    """Somebody else holds what this needs."""
