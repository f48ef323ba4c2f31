"""Plays a script as if it were `claude -p`; run by path: `python scripted_agent.py SCRIPT`, the prompt on stdin.

SCRIPT is JSON or YAML: {"attempts": [[action, ...], ...], "stories": {"STORY-001": [[first try], [second try]]},
"default": [action, ...]}. A story's last try is repeated; an attempt beyond the list does the default.
In every text {story}, {iteration}, {try} and {feature} are filled in.
"""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

MODEL = "scripted"
USAGE = 64
AUTHOR = ("-c", "user.name=Scripted Agent", "-c", "user.email=scripted@example.invalid", "-c", "commit.gpgsign=false")
TOOL_OUTPUT_LIMIT = 30_000


def complain(message: str) -> NoReturn:
    print(f"scripted agent: {message}", file=sys.stderr, flush=True)
    raise SystemExit(USAGE)


def numbered(variable: str) -> int:
    told = os.environ.get(variable, "")
    return int(told) if told.isdecimal() and int(told) else 1


class Player:
    """One session: what it was told, what it has done, and the lines it says about it."""

    def __init__(self, prompt: str) -> None:
        self.prompt = prompt
        self.iteration, self.attempt = numbered("RALPH_ITERATION"), numbered("RALPH_TRY")
        self.story = os.environ.get("RALPH_STORY", "")
        self.feature = os.environ.get("RALPH_FEATURE_DIR", "") or "."
        self.session = f"scripted-{self.iteration}-{os.getpid()}"
        self.messages = self.calls = 0
        self.last_text = self.claim = self.error = self.commit = ""
        self.touched: dict[Path, None] = {}
        self.changed: dict[Path, None] = {}
        self.marked: set[str] = set()
        self.cost, self.tokens = 0.0, {"input": 0, "output": 0}
        self.told_tokens: dict[str, int] | None = None
        self.exit_code, self.result, self.over, self.linger = 0, True, False, 0.0

    def filled(self, value: Any) -> Any:
        text = json.dumps(value)
        known = {"story": self.story, "iteration": self.iteration, "try": self.attempt, "feature": self.feature}
        for name, content in known.items():
            text = text.replace("{" + name + "}", json.dumps(str(content))[1:-1])
        return json.loads(text)

    def raw(self, data: bytes) -> None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()

    def line(self, kind: str, **content: Any) -> None:
        self.raw(json.dumps({"type": kind, **content, "session_id": self.session}).encode() + b"\n")

    def message(self, *blocks: dict[str, Any], model: str = MODEL) -> None:
        self.messages += 1
        spent = {"input": 10, "output": 5} if model == MODEL else {"input": 0, "output": 0}
        self.tokens = {kind: self.tokens[kind] + number for kind, number in spent.items()}
        usage = {"input_tokens": spent["input"], "output_tokens": spent["output"]}
        content = {"id": f"msg_{self.messages}", "role": "assistant", "model": model, "usage": usage}
        self.line("assistant", message={**content, "content": list(blocks)}, parent_tool_use_id=None)

    def say(self, text: str, model: str = MODEL) -> None:
        self.last_text = text
        self.message({"type": "text", "text": text}, model=model)

    def tool(self, name: str, arguments: dict[str, Any], work: Callable[[], tuple[bool, str]]) -> None:
        self.calls += 1
        call = f"toolu_{self.calls}"
        self.message({"type": "tool_use", "id": call, "name": name, "input": arguments})
        try:
            ok, answer = work()
        except (OSError, ValueError) as trouble:
            ok, answer = False, str(trouble)
        block = {"type": "tool_result", "tool_use_id": call, "content": answer[-TOOL_OUTPUT_LIMIT:], "is_error": not ok}
        self.line("user", message={"role": "user", "content": [block]}, parent_tool_use_id=None)

    def end(self) -> int:
        if self.claim and not self.error:
            self.say(self.claim)
        if self.result:
            used = self.told_tokens or self.tokens
            self.line(
                "result",
                subtype="success",
                is_error=bool(self.error),
                result=self.error or self.last_text,
                num_turns=max(self.messages, 1),
                total_cost_usd=self.cost,
                usage={"input_tokens": used["input"], "output_tokens": used["output"]},
                modelUsage={MODEL: {"inputTokens": used["input"], "outputTokens": used["output"]}},
            )
        if self.linger:
            sleep(self, self.linger)
        return self.exit_code

    @property
    def source(self) -> Path:
        found = Path(self.feature, "prd.json")
        told = os.environ.get("RALPH_SOURCE", "")
        return Path(told) if told else found if found.exists() else found.with_name("tasks.md")

    def touch(self, path: Path) -> None:
        self.touched[path] = self.changed[path] = None


def write(player: Player, files: dict[str, str], name: str = "Write") -> None:
    for told, text in files.items():

        def work(path: Path = Path(told), text: str = text) -> tuple[bool, str]:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("w" if name == "Write" else "a", encoding="utf-8", newline="") as file:
                file.write(text)
            player.touch(path)
            return True, f"wrote {path}"

        player.tool(name, {"file_path": told, "content": text}, work)


def append(player: Player, files: dict[str, str]) -> None:
    write(player, files, "Edit")


def delete(player: Player, paths: str | list[str]) -> None:
    for told in [paths] if isinstance(paths, str) else paths:

        def work(path: Path = Path(told)) -> tuple[bool, str]:
            import shutil

            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
            player.touch(path)
            return True, f"removed {path}"

        player.tool("Bash", {"command": f"rm -r {told}"}, work)


def started(*argv: str) -> tuple[bool, str]:
    """Run to the end: whether it went well, and what it printed."""
    import subprocess

    ended = subprocess.run(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    return ended.returncode == 0, ended.stdout.decode("utf-8", "replace")


def commit(player: Player, message: str) -> None:
    def work() -> tuple[bool, str]:
        there = [str(path) for path in player.touched if os.path.lexists(path)]
        gone = [str(path) for path in player.touched if str(path) not in there]
        said = started("git", "add", "-A", "--", *there)[1] if there else ""
        said += started("git", "rm", "-r", "-q", "--cached", "--ignore-unmatch", "--", *gone)[1] if gone else ""
        ok, answer = started("git", *AUTHOR, "commit", "-q", "-m", message)
        if ok:
            player.touched.clear()
            player.commit = started("git", "rev-parse", "--short", "HEAD")[1].strip()
        return ok, said + answer + player.commit

    player.tool("Bash", {"command": f'git commit -m "{message}"'}, work)


def mark(player: Player, stories: str | list[str], passes: bool = True) -> None:
    path = player.source
    setter = set_story if path.suffix == ".json" else set_task
    for told in [stories] if isinstance(stories, str) else stories:

        def work(story: str = player.story if told == "current" else told) -> tuple[bool, str]:
            text = setter(path.read_bytes().decode("utf-8"), story, passes)
            if text is None:
                return False, f"{path}: there is no story {story or 'left'}"
            path.write_bytes(text.encode("utf-8"))
            player.touch(path)
            player.marked = (player.marked | {story}) if passes else (player.marked - {story})
            return True, f"{story} passes: {passes}"

        player.tool("Edit", {"file_path": str(path)}, work)


def set_story(text: str, story: str, passes: bool) -> str | None:
    document = json.loads(text)
    for entry in document["userStories"]:
        if entry["id"] == story or (not story and entry["passes"] is not passes):
            entry["passes"] = passes
            return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    return None


def set_task(text: str, story: str, passes: bool) -> str | None:
    """The task that begins with the story's id or holds it, else the first one that is not so yet."""
    import re

    box = re.compile(r"^(\s*(?:[-*+]|\d+[.)])\s+\[)([ xX])(\]\s+)(.*)$", re.MULTILINE)
    tasks = [task for task in box.finditer(text) if (task[2] != " ") is not passes]
    chosen = [task for task in tasks if story and task[4].split(" ")[0].rstrip(".:") == story]
    chosen = chosen or [task for task in tasks if story and story in task[4]] or tasks
    if not chosen:
        return None
    return text[: chosen[0].start(2)] + ("x" if passes else " ") + text[chosen[0].end(2) :]


def progress(player: Player, text: str) -> None:
    import time

    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    path = Path(player.feature, "progress.txt")
    header = "" if path.exists() else f"# Progress Log: {path.parent.resolve().name}\n# Started: {now}\n"
    status = "complete" if player.story in player.marked else "in-progress"
    files = "".join(f"\n  - {changed}" for changed in player.changed) or " none"
    entry = (
        f"\n---\nIteration: {player.iteration}\nDate: {now}\nStory: {player.story or 'none'} - {title(player)}\n"
        f"Status: {status}\nFiles Changed:{files}\nTests Added: none\nLearnings:\n  - {text}\n"
        f"Commit: {player.commit or 'none yet'}\n"
    )
    append(player, {str(path): header + entry})


def title(player: Player) -> str:
    try:
        stories = json.loads(player.source.read_bytes())["userStories"]
        return next((str(story["title"]) for story in stories if story["id"] == player.story), "untitled")
    except (OSError, ValueError, KeyError, TypeError):
        return "untitled"


def claim(player: Player, what: str | dict[str, str]) -> None:
    if isinstance(what, dict):
        player.claim = f"<promise>FAILED: {what['failed']}</promise>"
        return
    complete = os.environ.get("RALPH_PROMISE", "") or "<promise>COMPLETE</promise>"
    player.claim = {"complete": complete, "story": "<promise>STORY_COMPLETE</promise>"}[what]


def sleep(player: Player, seconds: float) -> None:
    import time

    time.sleep(seconds)


def hang(player: Player, _: object) -> None:
    while True:
        sleep(player, 3600)


def ignore_term(player: Player, _: object) -> None:
    import signal

    # a handler, not SIG_IGN: what is ignored would be ignored by every child as well
    signal.signal(signal.SIGTERM, lambda number, frame: None)


def flood(player: Player, how: int | dict[str, Any]) -> None:
    """`bytes` of noise; with `line: true` all on one line that never ends."""
    wanted, one_line = (how["bytes"], how.get("line", False)) if isinstance(how, dict) else (how, False)
    block = b"x" * (1 << 20) if one_line else (b"x" * 79 + b"\n") * (1 << 14)
    while wanted > 0:
        player.raw(block[:wanted])
        wanted -= len(block)


def binary(player: Player, size: int) -> None:
    import random

    player.raw(random.Random(size).randbytes(size))


def spawn(player: Player, how: dict[str, Any]) -> None:
    """A child that is left behind."""

    def work() -> tuple[bool, str]:
        import subprocess

        argv, own = ["sleep", str(how["seconds"])], bool(how.get("session"))
        output, quiet = None if how.get("holds_output") else subprocess.DEVNULL, subprocess.DEVNULL
        child = subprocess.Popen(argv, stdin=quiet, stdout=output, stderr=output, start_new_session=own)
        return True, f"pid {child.pid}"

    player.tool("Bash", {"command": f"sleep {how['seconds']} &"}, work)


def error(player: Player, text: str) -> None:
    player.error, player.exit_code = str(text), 1


def limit(player: Player, how: dict[str, float] | None) -> None:
    import time

    info: dict[str, Any] = {"status": "rejected", "rateLimitType": "five_hour"}
    if how:
        info["resetsAt"] = int(time.time() + how["resets_in"])
    player.line("rate_limit_event", rate_limit_info=info)
    error(player, "You've hit your 5-hour limit · resets later")
    player.say(player.error, model="<synthetic>")
    player.over = True


def api_retry(player: Player, times: int) -> None:
    trouble = {"error_status": 529, "error": "overloaded_error"}
    for attempt in range(1, times + 1):
        counted = {"attempt": attempt, "max_retries": times, "retry_delay_ms": 500 * attempt}
        player.line("system", subtype="api_retry", **counted, **trouble)


def kill_self(player: Player, name: str | int) -> None:
    import signal

    number = name if isinstance(name, int) else getattr(signal, "SIG" + name.upper().removeprefix("SIG"))
    os.kill(os.getpid(), number)


ACTIONS: dict[str, Callable[[Player, Any], None]] = {
    action.__name__: action
    for action in (
        write, append, delete, commit, mark, progress, claim, sleep, hang, ignore_term, flood,
        binary, spawn, error, limit, api_retry, kill_self,
    )
}  # fmt: skip
ACTIONS |= {
    "unmark": lambda player, stories: mark(player, stories, passes=False),
    "echo_prompt": lambda player, _: player.tool("Bash", {"command": "cat prompt"}, lambda: (True, player.prompt)),
    "run": lambda player, command: player.tool("Bash", {"command": command}, lambda: started("sh", "-c", command)),
    "git": lambda player, words: player.tool(
        "Bash", {"command": f"git {' '.join(words)}"}, lambda: started("git", *AUTHOR, *words)
    ),
    "tokens": lambda player, used: setattr(player, "told_tokens", {"input": 0, "output": 0, **used}),
    "say": lambda player, text: player.say(str(text)),
    "raw": lambda player, text: player.raw(text.encode("utf-8", "surrogatepass")),
    "cost": lambda player, dollars: setattr(player, "cost", float(dollars)),
    "exit": lambda player, code: setattr(player, "exit_code", int(code)),
    "after_result": lambda player, seconds: setattr(player, "linger", float(seconds)),
    "no_result": lambda player, _: setattr(player, "result", False),
}


def read_script(path: str) -> dict[str, Any]:
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as trouble:
        complain(f"the script {path} cannot be read: {trouble}")
    try:
        script = json.loads(text)
    except (ValueError, RecursionError) as trouble:
        script = complain(f"{path}: {trouble}") if path.endswith(".json") else from_yaml(path, text)
    if not isinstance(script, dict):
        complain(f"{path}: a script is a mapping with attempts, stories or default")
    return script


def from_yaml(path: str, text: str) -> Any:
    try:
        import yaml

        return yaml.safe_load(text)
    except ImportError:
        complain(f"{path} is no JSON, and PyYAML is not installed here")
    except (yaml.YAMLError, RecursionError) as trouble:
        complain(f"{path}: {trouble}")


def chosen(script: dict[str, Any], player: Player) -> list[tuple[str, Any]]:
    """The actions of this attempt, all of them known."""
    actions: Any = script.get("default") or []
    tries = (script.get("stories") or {}).get(player.story)
    attempts = script.get("attempts") or []
    if tries:
        actions = tries[min(player.attempt, len(tries)) - 1]
    elif player.iteration <= len(attempts):
        actions = attempts[player.iteration - 1]
    named = []
    for action in actions if isinstance(actions, list) else [actions]:
        name, argument = next(iter(action.items())) if isinstance(action, dict) and len(action) == 1 else (action, None)
        if not isinstance(name, str) or name not in ACTIONS:
            complain(f"unknown action {name!r}; known: {', '.join(sorted(ACTIONS))}")
        named.append((name, argument))
    return named


def main(argv: list[str]) -> int:
    if len(argv) != 2:
        complain("give it one script: scripted_agent.py SCRIPT")
    prompt = "" if sys.stdin is None or sys.stdin.isatty() else sys.stdin.buffer.read().decode("utf-8", "replace")
    script, player = read_script(argv[1]), Player(prompt)
    name = "the script"
    try:
        actions = chosen(script, player)
        player.line("system", subtype="init", model=MODEL, cwd=str(Path.cwd()), tools=["Bash", "Edit", "Write"])
        for name, argument in actions:
            if not player.over:
                ACTIONS[name](player, player.filled(argument))
    except (TypeError, ValueError, KeyError, IndexError, AttributeError) as trouble:
        complain(f"{name} cannot be played: {type(trouble).__name__}: {trouble}")
    return player.end()


if __name__ == "__main__":
    raise SystemExit(main(sys.argv))
