"""The preflight's lines, to the letter of their description."""

from typing import TextIO

from ralphloop.api.preparing import Preflight as Preflight
from ralphloop.cli.output import clean, put, talk
from ralphloop.core.ports import Finding

GLYPHS = {"ok": "✓", "warning": "⚠", "error": "✗"}


def show(found: Preflight, stream: TextIO) -> None:
    for line in lines(found.branch, found.folder, found.findings):
        put(stream, clean(line) + "\n")
    for notice in found.notices:
        talk(f"note: {clean(notice)}")


def warn(findings: tuple[Finding, ...]) -> None:
    """The warnings alone, where the list as a whole would be noise."""
    for finding in findings:
        if finding.level == "warning":
            talk(clean("\n".join([f"{GLYPHS['warning']} {finding.line}", *(f"    {one}" for one in finding.details)])))


def lines(branch: str, folder: str, findings: tuple[Finding, ...]) -> list[str]:
    out = [f"Preflight checks for branch: {branch or '(none)'}", f"Feature folder: {folder or '(none)'}", ""]
    for finding in findings:
        out.append(f"{GLYPHS[finding.level]} {finding.line}")
        out += [f"    {detail}" for detail in finding.details]
    advice = [*dict.fromkeys(line for finding in findings for line in finding.advice)]
    if advice:
        out += ["", *advice]
    levels = {finding.level for finding in findings}
    if "error" not in levels:
        passed = "All checks passed. Ready to run."
        out += ["", passed if "warning" not in levels else "Preflight checks passed with warnings. Ready to run."]
    return out
