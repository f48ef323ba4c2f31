"""Qwen Code, tried with 0.15.10: the prompt on stdin, a stream of JSON lines like claude's out."""

from typing import ClassVar

from msgspec import Struct

from ralphloop.agents.allowed import shell_words
from ralphloop.agents.gemini import REFUSED as OF_GEMINI
from ralphloop.agents.qwen_stream import QwenStream
from ralphloop.agents.words import checked_cli
from ralphloop.core.ports import Call, Command, Parser, Traits

REFUSED = OF_GEMINI | {
    "--continue": "every iteration is a session of its own",
    "-c": "every iteration is a session of its own",
    "--input-format": "the prompt is given as text",
}


class Qwen(Struct, frozen=True, kw_only=True):
    """`qwen`: settings, command line and stream."""

    traits: ClassVar[Traits] = Traits(
        counts_on=True,
        tried=("0.15.10",),
        tells=("end", "tokens", "limits"),
        folder=("QWEN_HOME", "~/.qwen"),
        variables=("QWEN_*", "OPENAI_*", "DASHSCOPE_*", "BAILIAN_*", "ANTHROPIC_*", "GEMINI_*", "GOOGLE_*"),
        install="npm install -g @qwen-code/qwen-code",
    )

    name: str = "qwen"
    program: str = "qwen"
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}

    def __post_init__(self) -> None:
        checked_cli(self.name, self.program, self.args, self.env, REFUSED)

    def command(self, call: Call) -> Command:
        argv = [self.program, "--output-format", "stream-json", *self.args]
        # --allowed-tools takes every word up to the next option, so nothing but options may follow
        if call.skip_permissions:
            argv += ["--approval-mode", "yolo"]
        else:
            argv += ["--approval-mode", "auto-edit"]
            argv += shell_words(call.allowed_tools)
        if call.model:
            argv += ["--model", call.model]
        return Command(argv=tuple(argv), env=self.env, unset=("QWEN_CODE",))

    @staticmethod
    def parser() -> Parser:
        return QwenStream()
