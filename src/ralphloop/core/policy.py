"""The rules of one run, as plain values: what a user configured, in seconds and counts."""

from typing import Literal

from msgspec import Struct

from ralphloop.core.environment import KEPT

OnLimit = Literal["ask", "wait", "exit"]
Uncommitted = Literal["snapshot", "commit", "leave"]


class CheckRule(Struct, frozen=True):
    """A command that must end with 0 before anything counts as done."""

    name: str
    command: str
    timeout: float = 900


class Bound(Struct, frozen=True):
    """So much and no more; None is without a limit."""

    cost: float | None = None  # dollars
    tokens: int | None = None  # input and output
    seconds: float | None = None  # of agents at work


class Budget(Struct, frozen=True):
    """Limits of what is spent, and the most that one attempt may come to: counted where nobody tells."""

    run: Bound = Bound()
    story: Bound = Bound()
    day: Bound = Bound()  # of the account, whatever loops use it
    attempt: Bound = Bound(10.0, 1_000_000)


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
    agents: tuple[str, ...] = ()  # the chain: the next one when the first is limited or keeps failing
    accounts: dict[str, str] = {}  # whose limits and money an agent uses
    models: dict[str, str] = {}
    limit_margin: float = 300  # seconds after the moment at which a usage limit resets
    transient_retries: int = 12
    backoff: float = 10
    failures_before_next: int = 2
    budget: Budget = Budget()
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
    environment: tuple[str, ...] = KEPT  # the variables an agent is handed, beside those it needs itself
    prompt: PromptRule = PromptRule()
    loop_state: bool = True
