"""The configured `allowed_tools` (`Write,Bash(git *),Read`), read for agents that have words of their own for them."""

import re

_TOOL = re.compile(r"\s*([\w.-]+)\s*(?:\(([^()]*)\))?\s*(?:,|$)")


def shell_commands(allowed_tools: str) -> tuple[str, ...]:
    """The beginnings of the commands the shell may run; one empty text when it may run any."""
    patterns = [found[2] for found in _TOOL.finditer(allowed_tools) if found[1] == "Bash"]
    beginnings = (re.sub(r"[\s:]*\*.*$", "", pattern or "").strip() for pattern in patterns)
    return tuple(dict.fromkeys(beginnings))
