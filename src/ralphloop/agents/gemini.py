"""Gemini CLI, tried with 0.61.0: the prompt on stdin, a stream of JSON lines out."""

from typing import ClassVar

from msgspec import Struct

from ralphloop.agents.allowed import shell_words
from ralphloop.agents.gemini_stream import GeminiStream
from ralphloop.agents.words import checked_cli
from ralphloop.core.ports import Call, Command, Parser, Traits

OWN_SESSION = "every iteration is a session of its own"
REFUSED = {
    "--resume": OWN_SESSION,
    "-r": OWN_SESSION,
    "--session-file": OWN_SESSION,
    "--worktree": "the loop works in the worktree it was started in",
    "-w": "the loop works in the worktree it was started in",
    "--output-format": "the loop reads stream-json",
    "-o": "the loop reads stream-json",
    "--prompt": "the prompt is given on stdin",
    "-p": "the prompt is given on stdin",
    "--prompt-interactive": "nobody is there to talk to",
    "-i": "nobody is there to talk to",
}
# its shell does not look at the user's git configuration, and who has no name cannot commit
GIT_SETTINGS = {
    "GIT_CONFIG_COUNT": "2",
    "GIT_CONFIG_KEY_0": "include.path",
    "GIT_CONFIG_VALUE_0": "~/.config/git/config",
    "GIT_CONFIG_KEY_1": "include.path",
    "GIT_CONFIG_VALUE_1": "~/.gitconfig",
}


class Gemini(Struct, frozen=True, kw_only=True):
    """`gemini`: settings, command line and stream."""

    traits: ClassVar[Traits] = Traits(
        tried=("0.61.0",),
        tells=("end", "tokens", "limits"),
        folder=("GEMINI_CLI_HOME", "~"),
        variables=("GEMINI_*", "GOOGLE_*", "CODE_ASSIST_*", "CLOUDSDK_*"),
        exits={
            41: "auth",
            145: "auth",
            147: "auth",
            173: "rate",
            244: "transient",
            246: "transient",
            247: "transient",
            248: "transient",
        },
        install="npm install -g @google/gemini-cli",
    )

    name: str = "gemini"
    program: str = "gemini"
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}

    def __post_init__(self) -> None:
        checked_cli(self.name, self.program, self.args, self.env, REFUSED)

    def command(self, call: Call) -> Command:
        argv = [self.program, "--output-format", "stream-json", *self.args]
        # --allowed-tools takes every word up to the next option, so nothing but options may follow
        if call.skip_permissions:
            argv += ["--yolo", "--skip-trust"]
        else:
            argv += ["--approval-mode", "auto_edit"]
            argv += shell_words(call.allowed_tools)
        if call.model:
            argv += ["--model", call.model]
        return Command(argv=tuple(argv), env={**GIT_SETTINGS, **self.env}, unset=("GEMINI_CLI",))

    @staticmethod
    def parser() -> Parser:
        return GeminiStream()
