"""The configured `allowed_tools` (`Write,Bash(git *),Read`), read for agents that have words of their own for them."""

import re

_TOOL = re.compile(r"\s*([\w.-]+)\s*(?:\(([^()]*)\))?\s*(?:,|$)")


def shell_commands(allowed_tools: str) -> tuple[str, ...]:
    """The beginnings of the commands the shell may run; one empty text when it may run any."""
    patterns = [found[2] for found in _TOOL.finditer(allowed_tools) if found[1] == "Bash"]
    beginnings = (re.sub(r"[\s:]*\*.*$", "", pattern or "").strip() for pattern in patterns)
    return tuple(dict.fromkeys(beginnings))


def shell_words(allowed_tools: str) -> list[str]:
    """The same as options of Gemini CLI and of Qwen Code, which came from it."""
    commands = shell_commands(allowed_tools)
    tools = (f"run_shell_command({command})" if command else "run_shell_command" for command in commands)
    return [word for tool in tools for word in ("--allowed-tools", tool)]
