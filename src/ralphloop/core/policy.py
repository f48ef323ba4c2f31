"""The rules of one run, as plain values: what a user configured, in seconds and counts."""

from typing import Literal

from msgspec import Struct

OnLimit = Literal["ask", "wait", "exit"]
Uncommitted = Literal["snapshot", "commit", "leave"]


class CheckRule(Struct, frozen=True):
    """A command that must end with 0 before anything counts as done."""

    name: str
    command: str
    timeout: float = 900


class PromptRule(Struct, frozen=True):
    """How much of what stands in the prompt; sizes in characters."""

    references: bool = True
    inline: bool = True
    finished_stories: int = 50
    open_stories: int = 20
    progress_entries: int = 5
    file_size: int = 20_000
    specs_size: int = 60_000


JUNK = (
    "__pycache__", "*.pyc", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", "*.egg-info",
    ".venv", "venv", ".tox", ".coverage", "node_modules", ".DS_Store", "Thumbs.db", "*.swp", "*~",
    ".aider.*.history*", ".aider.tags.cache.*",
)  # fmt: skip


class Policy(Struct, frozen=True):
    """Everything `decide` and `judge` need to know about what the user wants."""

    max_iterations: int = 20
    timeout: float = 900
    silence: float | None = None
    kill_grace: float = 5
    result_grace: float = 10
    pause: float = 2
    output_limit: int = 4 << 30
    rate_per_hour: int | None = 100
    account: str = ""
    no_progress_threshold: int | None = 3
    same_error_threshold: int | None = 5
    promise: str = "<promise>COMPLETE</promise>"
    trust_promise: bool = False
    require_commit: bool = True
    uncommitted: Uncommitted = "snapshot"
    junk: tuple[str, ...] = JUNK
    on_limit: OnLimit = "ask"
    ask_seconds: float = 30
    unknown_limit_wait: float = 900
    checks: tuple[CheckRule, ...] = ()
    archive: bool = True
    skip_permissions: bool = False
    allowed_tools: str = "Write,Bash(git *),Read"
    model: str = ""
    prompt: PromptRule = PromptRule()
    loop_state: bool = True
