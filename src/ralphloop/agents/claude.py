"""Claude Code, tried with 2.1.197 and 2.1.327: the prompt on stdin, a stream of JSON lines out."""

from typing import ClassVar

from msgspec import Struct

from ralphloop.agents.claude_stream import ClaudeStream
from ralphloop.agents.words import checked_cli
from ralphloop.core.ports import Call, Command, Parser, Traits

REFUSED = {
    "--resume": "every iteration is a session of its own",
    "-r": "every iteration is a session of its own",
    "--continue": "every iteration is a session of its own",
    "-c": "every iteration is a session of its own",
    "--from-pr": "every iteration is a session of its own",
    "--teleport": "every iteration is a session of its own",
    "--output-format": "the loop reads stream-json",
    "--input-format": "the prompt is given as text",
    "--background": "the loop waits for the session it starts",
}


class Claude(Struct, frozen=True, kw_only=True):
    """`claude -p`: settings, command line and stream."""

    traits: ClassVar[Traits] = Traits(
        tried=("2.1.197", "2.1.327"),
        tells=("end", "tokens", "cost", "limits"),
        caps_cost=True,
        folder=("CLAUDE_CONFIG_DIR", "~/.claude"),
        variables=(
            "ANTHROPIC_*",
            "CLAUDE_*",
            "AWS_* with CLAUDE_CODE_USE_BEDROCK",
            "GOOGLE_* with CLAUDE_CODE_USE_VERTEX",
            "CLOUD_ML_REGION",
            "VERTEX_*",
            "DISABLE_*",
            "IS_SANDBOX",
        ),
        install="npm install -g @anthropic-ai/claude-code",
    )

    name: str = "claude"
    program: str = "claude"
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}

    def __post_init__(self) -> None:
        checked_cli(self.name, self.program, self.args, self.env, REFUSED)

    def command(self, call: Call) -> Command:
        argv = [self.program, "-p", "--output-format", "stream-json", "--verbose", *self.args]
        # --allowedTools takes every word up to the next option, so nothing but options may follow
        if call.skip_permissions:
            argv.append("--dangerously-skip-permissions")
        elif call.allowed_tools:
            argv += ["--allowedTools", call.allowed_tools]
        if call.model:
            argv += ["--model", call.model]
        if call.max_cost is not None:
            argv += ["--max-budget-usd", f"{call.max_cost:.4f}"]
        return Command(
            argv=tuple(argv),
            env={"DISABLE_AUTOUPDATER": "1", **self.env},
            unset=("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT"),
        )

    @staticmethod
    def parser() -> Parser:
        return ClaudeStream()
