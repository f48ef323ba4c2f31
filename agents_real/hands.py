"""The tools that scenarios call by Claude Code's names, called by the names that the agent at hand offers."""

import json
import shlex
from collections.abc import Callable, Mapping

from messages import Answer, Json, Say, Tool


def offered(request: Json) -> frozenset[str]:
    """The names of the tools a request offers, in whatever API it speaks."""
    tools = list(request.get("tools") or [])
    for told in request.get("input") or []:
        # Codex tells some models of their tools in the conversation
        tools += told.get("tools") or []
    tools += [inner for tool in tools for inner in tool.get("tools") or []]
    return frozenset(str(tool.get("name") or (tool.get("function") or {}).get("name", "")) for tool in tools)


def fitted(answer: Answer, request: Json) -> Answer:
    """The same answer with each tool under a name that is offered; a tool that nothing fits keeps its own."""
    if not isinstance(answer, Say) or not answer.tools:
        return answer
    names = offered(request)
    return answer._replace(tools=tuple(_fitted(tool, names) for tool in answer.tools))


def _fitted(tool: Tool, names: frozenset[str]) -> Tool:
    if tool.name in names:
        return tool
    for name, made in HANDS.get(tool.name, {}).items():
        if name in names and isinstance(tool.input, dict):
            return Tool(name, made(tool.input))
    return tool


def _written(given: Json) -> str:
    file = shlex.quote(given["file_path"])
    return f"mkdir -p $(dirname {file}) && printf %s {shlex.quote(given['content'])} > {file}"


def _shell(given: Json) -> str:
    return str(given["command"])


def _shown(given: Json) -> str:
    return f"cat {shlex.quote(given['file_path'])}"


def _described(command: Callable[[Json], str]) -> Callable[[Json], Json]:
    return lambda given: {"command": command(given), "description": "A step of the work"}


def _executed(command: Callable[[Json], str]) -> Callable[[Json], Json]:
    return lambda given: {"cmd": command(given)}


def _programmed(command: Callable[[Json], str]) -> Callable[[Json], str]:
    """The tool whose only argument is a program that calls the others."""
    return lambda given: f"text(await tools.exec_command({json.dumps({'cmd': command(given)})}))"


# for each tool of Claude Code: the names others have for it, the best first
HANDS: Mapping[str, Mapping[str, Callable[[Json], Json | str]]] = {
    "Read": {
        "read": lambda given: {"filePath": given["file_path"]},
        "read_file": lambda given: {"file_path": given["file_path"]},
        "view": lambda given: {"path": given["file_path"]},
        "exec_command": _executed(_shown),
        "exec": _programmed(_shown),
    },
    "Write": {
        "write": lambda given: {"filePath": given["file_path"], "content": given["content"]},
        "write_file": lambda given: {"file_path": given["file_path"], "content": given["content"]},
        "bash": _described(_written),
        "exec_command": _executed(_written),
        "exec": _programmed(_written),
    },
    "Bash": {
        "bash": _described(_shell),
        "run_shell_command": lambda given: {
            "command": given["command"],
            "is_background": given.get("run_in_background", False),
        },
        "exec_command": _executed(_shell),
        "exec": _programmed(_shell),
    },
}
