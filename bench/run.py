"""make bench: what the runner costs, side by side with what it is compared to, in one run.

python bench/run.py [--quick] [NAME...]
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from ground import (
    bare_loop,
    best,
    forks,
    ground,
    median,
    overheads,
    peak_memory,
    ralph_loop,
    timed,
)

ROOT = Path(__file__).parent.parent
RALPH = str(ROOT / ".venv" / "bin" / "ralph")
MEGABYTE = 1 << 20
Row = tuple[str, str, str, str, bool]


def row(what: str, got: float, unit: str, against: str, limit: float, *, more: bool = False) -> Row:
    met = got >= limit if more else got <= limit
    return what, f"{got:.2f}{unit}", against, f"{'≥' if more else '≤'} {limit:g}{unit}", met


def overhead(folder: Path, quick: bool) -> Iterator[Row]:
    """Per iteration, against the bare loop, both net of start and end: the slope between a short and a long run."""
    few, many, times = 3, 23 if quick else 53, 2 if quick else 4
    place = ground(folder)
    slopes: dict[str, list[float]] = {"bare": [], "ralph": [], "bare forks": [], "ralph forks": []}
    for _ in range(times):
        for name, loop in (("bare", bare_loop), ("ralph", ralph_loop)):
            taken, started = [], []
            for count in (few, many):
                before = forks()
                taken.append(loop(place, count))
                started.append(forks() - before)
            slopes[name].append((taken[1] - taken[0]) / (many - few))
            slopes[f"{name} forks"].append((started[1] - started[0]) / (many - few))
    bare, ralph = best(slopes["bare"]), best(slopes["ralph"])
    compared = f"bare loop {bare * 1000:.1f} ms, ralph {ralph * 1000:.1f} ms"
    yield row("overhead of an iteration", (ralph - bare) * 1000, " ms", compared, 20)
    started_by = best(slopes["ralph forks"]), best(slopes["bare forks"])
    compared = f"bare loop {started_by[1]:.1f}, ralph {started_by[0]:.1f}"
    yield row("processes an iteration starts", started_by[0] - started_by[1], "", compared, 10)


def long_run(folder: Path, quick: bool) -> Iterator[Row]:
    last = 60 if quick else 500
    place = ground(folder)
    ralph_loop(place, last + 5)
    spent = overheads(place)
    early, late = median(spent[2:12]), median(spent[last - 8 : last + 5])
    compared = f"iterations 3-12 {early * 1000:.1f} ms, {last - 7}-{last + 5} {late * 1000:.1f} ms"
    yield row(f"iteration {last} against iteration 5", late / early, " x", compared, 1.2)


def many_files(folder: Path, quick: bool) -> Iterator[Row]:
    count = 5_000 if quick else 50_000
    place = ground(folder)
    for n in range(count):
        path = place.path / f"d{n // 500}" / f"f{n}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{n}\n")
    place.git("add", "-A")
    place.git("-c", "gc.auto=0", "commit", "-q", "-m", "many files")
    place.git("-c", "gc.auto=0", "gc", "-q", "--force")
    place.git("status")
    status = [timed(["git", "status", "--porcelain"], place.path, os.environ) for _ in range(7)]
    ralph_loop(place, 9)
    spent = median(overheads(place)[2:])
    compared = f"git status {median(status) * 1000:.0f} ms, overhead {spent * 1000:.0f} ms"
    yield row(f"overhead with {count:,} files against git status", spent / median(status), " x", compared, 3)


def memory(folder: Path, quick: bool) -> Iterator[Row]:
    size = 50 if quick else 500
    place = ground(folder)
    process = place.start("run", "-n", "10")
    yield row("memory of the runner after 10 iterations", peak_memory(process), " MB", "", 50)
    big = folder / "big"
    line = '{"type":"user","message":{"content":[{"type":"tool_result","content":"%s"}]}}\n'
    contents = {
        "text": "0123456789 abcdefg\n" * 4000,
        "stream-json in lines of 2 KB": line % ("0123456789" * 200) * 40,
        "stream-json in lines of 0.3 KB": line % ("0123456789" * 20) * 300,
    }
    for name, content in contents.items():
        block = content.encode()
        with big.open("wb") as stream:
            while stream.tell() < size * MEGABYTE:
                stream.write(block)
        place = ground(folder / name, agent=f"#!/bin/sh\nexec cat {big}\n")
        kind = "stream: text" if name == "text" else "stream: claude"
        config = place.path / ".ralph" / "config.yaml"
        config.write_text(config.read_text().replace("kind: command,", f"kind: command, {kind},"))
        plain, seconds, used = [], [], 0.0
        for _ in range(3):
            plain.append(timed(["sh", "-c", f"cat {big} > copy"], folder, os.environ))
            (folder / "copy").unlink()
            used = max(used, peak_memory(place.start("run", "-n", "1")))
            seconds.append(place.records("attempted")[0]["attempt"]["seconds"])
            shutil.rmtree(place.run_folder())
        yield row(f"memory after {size} MB of {name}", used, " MB", "", 50)
        compared = f"cat > file {best(plain):.2f} s, attempt {best(seconds):.2f} s"
        what = f"speed of {size} MB of {name} against cat > file"
        yield row(what, best(plain) / best(seconds), " x", compared, 0.5, more=True)


def start_up(folder: Path, quick: bool) -> Iterator[Row]:
    place = ground(folder)
    ralph_loop(place, 1)
    python = str(ROOT / ".venv" / "bin" / "python")
    commands = {
        "python -I -c pass": [python, "-I", "-c", "pass"],
        "ralph --version": [RALPH, "--version"],
        "ralph status": [RALPH, "status"],
    }
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(10 if quick else 40):
        for name, argv in commands.items():
            times[name].append(timed(argv, place.path, place.env()))
    base = median(times["python -I -c pass"])
    for name, limit in (("ralph --version", 1.5), ("ralph status", 2.5)):
        compared = f"python -I -c pass {base * 1000:.1f} ms, {name} {median(times[name]) * 1000:.1f} ms"
        yield row(f"start of {name} against python", median(times[name]) / base, " x", compared, limit)


CROWD = """
import asyncio, os, resource, sys
from ralphloop import api

async def one(folder):
    state = await api.run(api.Request(folder, {"defaults.max_iterations": (2, "-n")}, trust=True))
    assert state.n == 2, state.end

async def main():
    await asyncio.gather(*(one(folder) for folder in sys.argv[1:]))

asyncio.run(main())
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def crowd(folder: Path, quick: bool) -> Iterator[Row]:
    count = 20 if quick else 200
    agent = "#!/bin/sh\ncat >/dev/null\nsleep 5\necho done\n"
    places = [ground(folder / str(n), agent=agent) for n in range(count)]
    env = places[0].env()
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", CROWD, *(str(place.path) for place in places)], env=env, check=True, capture_output=True
    )
    compared = f"{time.perf_counter() - began:.0f} s for two iterations each"
    yield row(f"memory of {count} loops in one process", float(done.stdout), " MB", compared, 300)


CASES: dict[str, Callable[[Path, bool], Iterator[Row]]] = {
    "overhead": overhead,
    "long": long_run,
    "files": many_files,
    "memory": memory,
    "start": start_up,
    "crowd": crowd,
}


def main(words: list[str]) -> int:
    quick = "--quick" in words
    names = [word for word in words if word != "--quick"] or list(CASES)
    missed = 0
    print(f"| {'what':<58} | {'got':>10} | {'target':>10} |     | compared with")
    print("|---|--:|--:|---|---|")
    for name in names:
        with tempfile.TemporaryDirectory(prefix="ralph-bench-", ignore_cleanup_errors=True) as folder:
            os.environ["HOME"] = folder
            for what, got, against, limit, met in CASES[name](Path(folder), quick):
                missed += not met
                print(f"| {what:<58} | {got:>10} | {limit:>10} | {'met' if met else 'NOT'} | {against}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
