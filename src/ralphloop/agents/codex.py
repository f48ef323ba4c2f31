"""Codex, tried with 0.169.0: the prompt on stdin, a stream of JSON lines out."""

from typing import ClassVar

from msgspec import Struct

from ralphloop.agents.codex_stream import CodexStream
from ralphloop.agents.words import checked_cli
from ralphloop.core.ports import Call, Command, Parser, Traits

OWN_SESSION = "every iteration is a session of its own"
OTHER_COMMAND = "the loop runs codex exec"
REFUSED = {
    "resume": OWN_SESSION,
    "fork": OWN_SESSION,
    "review": OTHER_COMMAND,
    "help": OTHER_COMMAND,
    "-": "the prompt is given on stdin without it",
    "--json": "it is always given",
    "--skip-git-repo-check": "it is always given",
    "--output-schema": "the last message is read for the promise, as text",
    "--cd": "the agent works in the worktree of the run",
    "-C": "the agent works in the worktree of the run",
    "--worktree": "the loop looks for the work in the worktree of the run",
    "--dangerously-bypass-approvals-and-sandbox": "the run says whether permissions are skipped",
}
SANDBOX = frozenset({"-s", "--sandbox", "--approve-for-me"})


class Codex(Struct, frozen=True, kw_only=True):
    """`codex exec`: settings, command line and stream."""

    traits: ClassVar[Traits] = Traits(
        tried=("0.169.0",),
        tells=("end", "tokens", "limits"),
        folder=("CODEX_HOME", "~/.codex"),
        variables=("CODEX_*", "OPENAI_*", "AZURE_OPENAI_*"),
        install="npm install -g @openai/codex",
    )

    name: str = "codex"
    program: str = "codex"
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}

    def __post_init__(self) -> None:
        checked_cli(self.name, self.program, self.args, self.env, REFUSED)

    def command(self, call: Call) -> Command:
        argv = [self.program, "exec", "--json", "--skip-git-repo-check", *self._permissions(call), *self.args]
        if call.model:
            argv += ["--model", call.model]
        return Command(argv=(*argv, "-"), env=self.env)

    def _permissions(self, call: Call) -> tuple[str, ...]:
        if call.skip_permissions:
            return ("--dangerously-bypass-approvals-and-sandbox",)
        if any(word.partition("=")[0] in SANDBOX for word in self.args):
            return ()
        # the sandbox closes .git, and without it nothing can be committed
        opened = (word for folder in call.git_folders for word in ("--add-dir", folder))
        return ("--sandbox", "workspace-write", *opened)

    @staticmethod
    def parser() -> Parser:
        return CodexStream()
