"""GitHub Copilot CLI, tried with 1.0.102: the prompt on stdin, a stream of JSON lines out."""

from typing import ClassVar

from msgspec import Struct

from ralphloop.agents.copilot_stream import CopilotStream
from ralphloop.agents.words import checked_cli, checked_words
from ralphloop.core.ports import Call, Command, Parser, Traits

OWN_SESSION = "every iteration is a session of its own"
NOBODY = "nobody sits before it"
SKIPPED = "the run says whether permissions are skipped"
REFUSED = {
    "--resume": OWN_SESSION,
    "-r": OWN_SESSION,
    "--continue": OWN_SESSION,
    "--session-id": OWN_SESSION,
    "--connect": OWN_SESSION,
    "--prompt": "the prompt is given on stdin",
    "-p": "the prompt is given on stdin",
    "--interactive": NOBODY,
    "-i": NOBODY,
    "--mode": NOBODY,
    "--plan": "the agent is to build, not to plan",
    "--acp": "the loop reads its output",
    "--output-format": "the loop reads json",
    "--stream": "the loop reads whole messages",
    "--silent": "the loop reads json",
    "-s": "the loop reads json",
    "-C": "the agent works in the worktree of the run",
    "--share-gist": "a session is not made public by a loop",
    "--allow-all": SKIPPED,
    "--allow-all-tools": SKIPPED,
    "--yolo": SKIPPED,
}


class Copilot(Struct, frozen=True, kw_only=True):
    """`copilot`: settings, command line and stream; `allow_tools` holds while permissions are not skipped."""

    traits: ClassVar[Traits] = Traits(
        tried=("1.0.102",),
        tells=("end", "limits"),
        folder=("COPILOT_HOME", "~/.copilot"),
        variables=("COPILOT_*", "GH_TOKEN", "GITHUB_TOKEN", "GH_HOST"),
        install="npm install -g @github/copilot",
    )

    name: str = "copilot"
    program: str = "copilot"
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    allow_tools: tuple[str, ...] = ("write", "shell(git:*)")

    def __post_init__(self) -> None:
        checked_cli(self.name, self.program, self.args, self.env, REFUSED)
        checked_words(f"agents.{self.name}.allow_tools", self.allow_tools)

    def command(self, call: Call) -> Command:
        argv = [self.program, "--output-format", "json", "--stream", "off", "--no-ask-user", "--no-auto-update"]
        argv += self.args
        if call.skip_permissions:
            argv.append("--allow-all")
        else:
            argv += [f"--allow-tool={tool}" for tool in self.allow_tools]
        if call.model:
            argv += ["--model", call.model]
        return Command(argv=tuple(argv), env=self.env, unset=("COPILOT_ALLOW_ALL",))

    @staticmethod
    def parser() -> Parser:
        return CopilotStream()
