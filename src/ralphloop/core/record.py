"""The journal's lines: one closed union of frozen values, how they are written and read, and their version."""

from typing import Literal

import msgspec
from msgspec import Struct

from ralphloop.core.attempt import Attempt
from ralphloop.core.errors import DamagedProblem
from ralphloop.core.policy import Bound, Policy
from ralphloop.core.verdict import Check, Sight, Verdict

VERSION = 1


class Started(Struct, frozen=True, tag="started"):
    """A new run: where it is, what it is made of, and what it starts from."""

    at: float
    run: str
    worktree: str
    feature: str
    branch: str
    source: str  # the file's path in the worktree
    agent: str
    policy: Policy
    head: str
    description: str = ""
    pending: tuple[str, ...] = ()  # marks that an earlier run, whose journal is damaged, never judged
    version: int = VERSION


class Resumed(Struct, frozen=True, tag="resumed"):
    """Another runner took the run up, perhaps under new rules."""

    at: float
    agent: str
    policy: Policy
    ended: tuple[str, ...] = ()  # what the runner before had left running
    reset_breakers: bool = False


class Reserved(Struct, frozen=True, tag="reserved"):
    """A call of the account's hour is ours, and so much of its money, tokens and time."""

    at: float
    calls: int = 0
    resets_at: float | None = None
    agent: str = ""
    model: str = ""
    allowed: Bound | None = None
    passed_over: tuple[str, ...] = ()  # agents of the chain whose turn it would have been, and why it is not


class Waiting(Struct, frozen=True, tag="waiting"):
    """Nothing to do before `until`."""

    at: float
    why: Literal["rate", "limit", "held"]  # held: other loops have reserved what is left of the day's budget
    until: float
    calls: int = 0
    agent: str = ""


class Denied(Struct, frozen=True, tag="denied"):
    """No attempt may begin: a budget would be passed, or no agent can work."""

    at: float
    scope: Literal["story", "run", "day", "agents"]
    why: str
    until: float | None = None


class Begun(Struct, frozen=True, tag="begun"):
    """An iteration: which story it is for, and all that is needed to go back to before it."""

    at: float
    n: int
    story: str
    title: str
    try_number: int
    head: str
    tree: str  # a commit holding what was not committed, or nothing
    source: str  # the digest under which the source is kept
    total: int
    done: int
    prompt_size: int = 0
    told: int = 0  # how many words of the user stand in the prompt
    dirty_paths: tuple[str, ...] = ()  # some of what was not committed
    folder: str = ""  # the digest under which the feature's folder is kept
    config: str = ""  # and that of the project's config.yaml
    notes: tuple[str, ...] = ()  # what had to be set right before it could begin


class Attempted(Struct, frozen=True, tag="attempted"):
    at: float
    attempt: Attempt


class Inspected(Struct, frozen=True, tag="inspected"):
    at: float
    sight: Sight


class Checked(Struct, frozen=True, tag="checked"):
    at: float
    check: Check


class Judged(Struct, frozen=True, tag="judged"):
    at: float
    verdict: Verdict


class Settled(Struct, frozen=True, tag="settled"):
    """The marks that hold stand in the source."""

    at: float
    source: str
    total: int
    done: int
    notes: tuple[str, ...] = ()
    wanted: str = ""  # the agent that the next story names


class Wished(Struct, frozen=True, tag="wished"):
    """Somebody asked for something: a file in `asked/`, or a signal."""

    at: float
    id: str
    wish: Literal["stop", "stop_now", "pause", "resume", "tell"]
    text: str = ""


class Answered(Struct, frozen=True, tag="answered"):
    """What to do about a usage limit."""

    at: float
    choice: Literal["wait", "exit"]


class Archived(Struct, frozen=True, tag="archived"):
    at: float
    path: str


class Undone(Struct, frozen=True, tag="undone"):
    """The user goes back to before an iteration, or takes such a step back. The run rests until it is taken up."""

    at: float
    why: str
    head: str
    source: str
    folder: str
    kept: str  # the ref that holds how it stood
    kept_folder: str  # and the digest under which the feature's folder is kept as it stood
    kept_source: str
    before: int = 0  # the first iteration that is taken back; 0 when an undo is
    total: int = 0
    done: int = 0


class Ended(Struct, frozen=True, tag="ended"):
    """`status` in the words of loop-state.json; `why` for the user."""

    at: float
    status: Literal["done", "stuck", "stalled", "stopped"]
    exit_code: int
    why: str
    advice: str = ""
    detail: str = ""  # one word for programs, when the status alone does not tell


Record = (
    Started
    | Resumed
    | Reserved
    | Waiting
    | Denied
    | Begun
    | Attempted
    | Inspected
    | Checked
    | Judged
    | Settled
    | Wished
    | Answered
    | Archived
    | Undone
    | Ended
)

_encoder = msgspec.json.Encoder()
_decoder: "msgspec.json.Decoder[Record]" = msgspec.json.Decoder(Record)


def encode(record: Record) -> bytes:
    """One line, its end included."""
    return _encoder.encode(record) + b"\n"


def decode(line: bytes) -> Record:
    try:
        return _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DamagedProblem(f"this line of the journal cannot be read ({error})") from error
