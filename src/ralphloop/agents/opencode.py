"""OpenCode, tried with 1.18.33: the prompt on stdin, a stream of JSON lines out."""

from typing import ClassVar

from msgspec import Struct

from ralphloop.agents.opencode_stream import OpenCodeStream
from ralphloop.agents.words import checked_cli
from ralphloop.core.ports import Call, Command, Parser, Traits

OWN_SESSION = "every iteration is a session of its own"
REFUSED = {
    "--continue": OWN_SESSION,
    "-c": OWN_SESSION,
    "--session": OWN_SESSION,
    "-s": OWN_SESSION,
    "--fork": OWN_SESSION,
    "--attach": "the agent would work in another process, which the loop cannot end",
    "--dir": "the agent works in the worktree of the run",
    "--format": "the loop reads json",
    "--interactive": "nobody sits before it",
    "-i": "nobody sits before it",
    "--command": "the prompt is given on stdin",
    "--share": "a session is not made public by a loop",
    "--auto": "the run says whether permissions are skipped",
}
# unattended, whatever would be asked is refused and ends the session; what is denied is only told to the model
DENIED = '{"external_directory": "deny", "doom_loop": "deny"}'


class OpenCode(Struct, frozen=True, kw_only=True):
    """`opencode run`: settings, command line and stream."""

    traits: ClassVar[Traits] = Traits(
        counts_on=True,
        tried=("1.18.33",),
        tells=("tokens", "cost", "limits"),
        folder=("XDG_DATA_HOME", "~/.local/share"),
        variables=("OPENCODE_*", "XDG_*", "*_API_KEY", "ANTHROPIC_*", "OPENAI_*", "AWS_*", "AZURE_*", "GOOGLE_*"),
        install="npm install -g opencode-ai",
    )

    name: str = "opencode"
    program: str = "opencode"
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}

    def __post_init__(self) -> None:
        checked_cli(self.name, self.program, self.args, self.env, REFUSED)

    def command(self, call: Call) -> Command:
        argv = [self.program, "run", "--format", "json"]
        if not any(word.partition("=")[0] == "--title" for word in self.args):
            # without a title it pays a model for one
            argv += ["--title", "ralph"]
        argv += self.args
        if call.skip_permissions:
            argv.append("--auto")
        if call.model:
            argv += ["--model", call.model]
        own = {} if call.skip_permissions else {"OPENCODE_PERMISSION": DENIED}
        return Command(argv=tuple(argv), env={"OPENCODE_DISABLE_AUTOUPDATE": "1", **own, **self.env})

    @staticmethod
    def parser() -> Parser:
        return OpenCodeStream()
