"""make bench-usage: ralph usage against ccusage on the same session files, whose truth is known.

python bench/usage.py [--quick]
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from session_ground import Ground, Writer

ROOT = Path(__file__).parent.parent
TOOLS = ROOT / ".bench"
RALPH = str(TOOLS / "venv" / "bin" / "ralph")
PEER = "ccusage@20.0.24"
MEGABYTE = 1 << 20
TIMES = 7
Counts = tuple[int, int, int, int]
Row = tuple[str, str, str, str, bool]


class Run:
    """One run of a program: how long, how much memory, what it said."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str]) -> None:
        began = time.perf_counter()
        process = subprocess.Popen(argv, env=dict(env), stdout=subprocess.PIPE)
        assert process.stdout is not None
        self.out = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        self.seconds = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0, argv
        self.memory = used.ru_maxrss / 1024
        self.processor = used.ru_utime + used.ru_stime


def peer() -> str:
    """The native program itself, without the script that starts it."""
    if not list(TOOLS.glob("node_modules/@ccusage/ccusage-*/bin/ccusage")):
        TOOLS.mkdir(exist_ok=True)
        words = ["npm", "install", "--prefix", str(TOOLS), "--no-audit", "--no-fund", "--loglevel=error", PEER]
        subprocess.run(words, check=True, stdout=sys.stderr)
    (found,) = TOOLS.glob("node_modules/@ccusage/ccusage-*/bin/ccusage")
    found.chmod(0o755)
    return str(found)


def install() -> None:
    """What a user installs: without the tools that only the tests need, one of which every start would load."""
    place = str(Path(RALPH).parent.parent.relative_to(ROOT))
    subprocess.run(["make", "-C", str(ROOT), f"VENV={place}", f"{place}/.run"], check=True, stdout=sys.stderr)


def peer_counts(run: Run) -> Counts:
    told = json.loads(run.out)["totals"]
    return told["inputTokens"], told["cacheCreationTokens"], told["cacheReadTokens"], told["outputTokens"]


def own_counts(run: Run) -> Counts:
    told = json.loads(run.out)["total"]
    return (
        told["input_tokens"],
        told["cache_creation_tokens"],
        told["cache_read_tokens"],
        told["output_tokens"],
    )


def rows(ground: Ground, writer: Writer, env: Mapping[str, str]) -> Iterator[Row]:
    theirs = [peer(), "claude", "daily", "--offline", "--json"]
    ours = [RALPH, "usage", "--since", "2020-01-01", "--json"]
    index = Path(env["RALPH_HOME"]) / "cache"
    colds, peers, warms = [], [], []
    wrong = {"ralph usage": 0, "ccusage": 0}
    for _ in range(TIMES):  # turn by turn, so that whatever else the machine does meets all three
        shutil.rmtree(index, ignore_errors=True)
        colds.append(Run(ours, env))
        writer.more(MEGABYTE)
        warms.append(Run(ours, env))
        peers.append(Run(theirs, env))
        truth = writer.ground().truth
        for name, counts in (("ralph usage", own_counts(warms[-1])), ("ccusage", peer_counts(peers[-1]))):
            wrong[name] = max(wrong[name], *(abs(told - true) for told, true in zip(counts, truth, strict=True)))
        shutil.rmtree(index)
        again = own_counts(Run(ours, env))
        assert again == own_counts(warms[-1]), "with an index as without one"
    for name, tokens in wrong.items():
        compared = (
            f"truth {sum(ground.truth):,}; a sum of all lines is {ground.naive / sum(ground.truth):.2f} x as much"
        )
        yield f"tokens {name} is wrong by", f"{tokens}", "0", compared, not tokens
    cold, against, warm = (min(run.seconds for run in runs) for runs in (colds, peers, warms))
    size = f"{ground.size / MEGABYTE:,.0f} MB"
    told = f"ccusage {against:.2f} s, ralph usage {cold:.2f} s"
    yield f"{size} without an index, against ccusage", f"{against / cold:.2f} x", "≥ 1 x", told, cold <= against
    told = f"ccusage {against:.2f} s, ralph usage {warm * 1000:.0f} ms"
    yield "again with 1 MB more, against ccusage", f"{against / warm:.1f} x", "≥ 20 x", told, against / warm >= 20
    share = min(run.processor for run in peers) / min(run.processor for run in colds)
    yield (
        "time of the processors without an index",
        f"{share:.2f} x",
        "≥ 1 x",
        "less is more: ccusage by ralph",
        share >= 1,
    )
    # the system tells the largest of our processes; there are as many as processors, four at most
    processes = min(4, len(os.sched_getaffinity(0)))
    own, other = max(run.memory for run in colds) * processes, max(run.memory for run in peers)
    told = f"ccusage {other:.0f} MB; {processes} processes of ralph at {own / processes:.0f} MB"
    yield "memory without an index", f"{own:.0f} MB", f"≤ {other:.0f} MB", told, own <= other


def main(words: list[str]) -> int:
    missed = 0
    install()
    print(f"| {'what':<46} | {'got':>8} | {'target':>8} |     | compared with")
    print("|---|--:|--:|---|---|")
    with tempfile.TemporaryDirectory(prefix="ralph-bench-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        writer = Writer(folder / "claude")
        ground = writer.fill((64 if "--quick" in words else 1024) * MEGABYTE)
        env = {"PATH": os.environ["PATH"], "HOME": name, "RALPH_HOME": f"{name}/ralph", "TZ": "UTC"}
        for what, got, limit, against, met in rows(ground, writer, env | {"CLAUDE_CONFIG_DIR": str(folder / "claude")}):
            missed += not met
            print(f"| {what:<46} | {got:>8} | {limit:>8} | {'met' if met else 'NOT'} | {against}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
