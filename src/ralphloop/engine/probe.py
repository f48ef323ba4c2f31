"""An agent CLI asked for its version, or run once with a question that has one answer: what of it has drifted."""

import asyncio
import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from ralphloop.core.attempt import Attempt, follow
from ralphloop.core.environment import KEPT, OF_A_SESSION
from ralphloop.core.event import Event, Unread
from ralphloop.core.policy import Bound, Policy
from ralphloop.core.ports import Agent, Call, Command, Finding
from ralphloop.host import process
from ralphloop.host.git import WHO, Git

Read = Callable[[bytes], bool]
NUMBER = re.compile(r"\d+(?:\.\d+)+[\w.+-]*")
VERSION_BOUNDS = process.Bounds(timeout=20, silence=None, kill_grace=1, result_grace=1, output_limit=1 << 20)
PROBE_BOUNDS = process.Bounds(timeout=240, silence=None, kill_grace=5, result_grace=10, output_limit=64 << 20)
QUESTION = "Answer with exactly one word: ready\nUse no tool, read no file and write no file.\n"
ANSWER = "ready"
MOST = Bound(0.5, 100_000, PROBE_BOUNDS.timeout)  # where nobody tells; agents that can hold the cost are told it
FLAGS = re.compile(
    r".*(?:unknown|unrecogni[sz]ed|unexpected|invalid|no such) (?:command.line )?(?:option|argument|flag|arguments).*",
    re.IGNORECASE,
)


class Heard(Struct, frozen=True):
    """What one session came to, and the beginning of what was no event."""

    attempt: Attempt
    unread: str = ""
    changed: tuple[str, ...] = ()  # files it wrote although it was told not to


async def version_of(agent: Agent, program: str, folder: Path, bounds: process.Bounds = VERSION_BOUNDS) -> str:
    """What it calls its version; empty when it does not say in time. `folder` is new and empty."""
    keep = (*KEPT, *agent.traits.variables)
    command = Command((program, *agent.traits.version), unset=OF_A_SESSION, keep=keep, prompt_as_file=True)
    _, said = await answer_of(command, folder, bounds)
    found = NUMBER.search(said)
    return found[0] if found else ""


async def answer_of(command: Command, folder: Path, bounds: process.Bounds) -> tuple[process.Ended, str]:
    """What a program says that is given no word, and how it ended. `folder` is new and empty."""
    said: list[bytes] = []

    def read(data: bytes) -> bool:
        said.append(data)
        return False

    ended = await _run(command, folder, folder, "", bounds, read)
    return ended, b"".join(said).decode(errors="replace")


async def ask(agent: Agent, policy: Policy, allowed: Bound, program: str, folder: Path) -> Heard:
    """One session in a repository made for it, under the supervision that a run has. `folder` is new and empty."""
    repository, prompt = folder / "repository", folder / "prompt.md"
    git = _scratch(repository)
    prompt.write_text(QUESTION)
    model = policy.models.get(agent.name, "")
    command = agent.command(Call(str(prompt), len(QUESTION), model=model, max_cost=allowed.cost))
    keep = (*policy.environment, *agent.traits.variables)
    argv = (program, *command.argv[1:]) if command.argv[0] == agent.program else command.argv
    command = replace(command, argv=argv, unset=(*OF_A_SESSION, *command.unset), keep=keep)
    parser, attempt, unread = agent.parser(), Attempt(), ""

    def take(events: Sequence[Event]) -> None:
        nonlocal attempt, unread
        for event in events:
            attempt = follow(attempt, event)
            unread += f"{event.sample}\n" if isinstance(event, Unread) and len(unread) < 2_000 else ""

    def read(data: bytes) -> bool:
        take(parser.feed(data))
        return attempt.finished

    bounds = replace(PROBE_BOUNDS, timeout=min(PROBE_BOUNDS.timeout, allowed.seconds or PROBE_BOUNDS.timeout))
    ended = await _run(command, folder, repository, str(prompt), bounds, read)
    told = attempt.finished
    take(parser.close())
    attempt = replace(
        attempt,
        finished=told or (attempt.finished and ended.end == "natural" and ended.exit_code == 0),
        end=ended.end,
        exit_code=ended.exit_code,
        signal=ended.signal,
        seconds=ended.seconds,
        leftovers=ended.leftovers,
        error=attempt.error or ended.problem,
    )
    changed = git.run("status", "--porcelain", "--untracked-files=all").decode(errors="replace").split("\n")
    return Heard(attempt, unread.strip(), tuple(line[3:] for line in changed if line))


async def _run(
    command: Command, folder: Path, cwd: Path, prompt: str, bounds: process.Bounds, read: Read
) -> process.Ended:
    return await process.run(
        command,
        cwd=str(cwd),
        log=str(folder / "output.log"),
        prompt=prompt,
        mark=f"probe-{os.getpid()}-{folder.name}.1",
        held=None,
        bounds=bounds,
        read=read,
        stop=asyncio.Event(),
    )


def _scratch(folder: Path) -> Git:
    folder.mkdir()
    git = Git(str(folder), pinned=False)
    git.run("init", "-q", "-b", "probe")
    (folder / "README").write_text("made by `ralph doctor --probe`\n")
    git.run("add", "-A")
    git.run("commit", "-q", "-m", "start", env=WHO)
    return git


def drift(agent: Agent, version: str, heard: Heard) -> Iterator[Finding]:
    """Where it is not what its adapter knows. Nothing when all is well."""
    attempt, traits = heard.attempt, agent.traits
    if flags := FLAGS.search(f"{heard.unread}\n{attempt.error}"):
        advice = ("The adapter's options are not those of this version: another version of it may work.",)
        yield Finding("error", "it does not know an option it is called with", (flags[0].strip()[:300],), advice)
    elif attempt.end != "natural" and attempt.end != "lingered":
        why = attempt.error or f"it did not come to an end within {PROBE_BOUNDS.timeout:.0f} s ({attempt.end})"
        yield Finding("error", why, advice=("Start it by hand once: does it ask for something, is it signed in?",))
    elif attempt.error or attempt.exit_code or attempt.signal:
        why = attempt.error or heard.unread or f"it ended with {attempt.signal or attempt.exit_code} and no word"
        yield Finding("error", why[:300], advice=("Start it by hand once: is it signed in, is there credit?",))
    elif not attempt.finished and "end" in traits.tells:
        yield Finding("error", "it ended without its last word: its stream has changed", (heard.unread[:300],))
    yield from _smaller(agent, version, heard)


def _smaller(agent: Agent, version: str, heard: Heard) -> Iterator[Finding]:
    """What a run would survive."""
    attempt, traits = heard.attempt, agent.traits
    well = attempt.finished and not attempt.error
    if attempt.unread and "end" in traits.tells and not FLAGS.search(heard.unread):
        lines = "1 line" if attempt.unread == 1 else f"{attempt.unread} lines"
        yield Finding("warning", f"{lines} of its output could not be read", (heard.unread.split("\n")[0][:300],))
    if well and attempt.tokens is None and "tokens" in traits.tells:
        yield Finding("warning", "it did not tell its tokens, as it is known to")
    if well and attempt.cost is None and "cost" in traits.tells:
        yield Finding("warning", "it did not tell its cost, as it is known to")
    if well and attempt.last_words.strip().strip(".!*\"'`").lower() != ANSWER:
        yield Finding("warning", f"it was to answer {ANSWER!r} and said {attempt.last_words.strip()[:100]!r}")
    if heard.changed:
        yield Finding("warning", f"it wrote files although it was told not to: {', '.join(heard.changed[:5])}")
    if attempt.leftovers:
        yield Finding("warning", "it left processes running, which were ended", attempt.leftovers)
    if version and traits.tried and version not in traits.tried:
        yield Finding("warning", f"version {version} is none of those tried: {', '.join(traits.tried)}")
