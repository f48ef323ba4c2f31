"""Writes docs/schemas/*.schema.json from the types: `python tools/schemas.py`; with --check it only compares."""

import json
import sys
from pathlib import Path
from typing import Any

import msgspec

from ralphloop.core.demand import Trust
from ralphloop.core.event import Event
from ralphloop.core.record import Record
from ralphloop.core.view import LoopStateFile, RunRow, StatusFile
from ralphloop.host.account import Ledger
from ralphloop.host.wishes import Wish

FOLDER = Path(__file__).parent.parent / "docs" / "schemas"
SCHEMAS: dict[str, tuple[str, Any]] = {
    "journal-record": ("One line of a run's journal.jsonl", Record),
    "event": ("One thing an agent's stream said, as `ralph run --json` prints it", Event),
    "view": ("view.json beside a run's journal", RunRow),
    "status": (".ralph/<feature>/status.json", StatusFile),
    "loop-state": (".claude/loop-state.json", LoopStateFile),
    "wish": ("A file in asked/", Wish),
    "trust": ("A file in trust/", Trust),
    "ledger": ("ledger.json of an account", Ledger),
}


def schema(name: str) -> str:
    """The schema's text, the same at every call."""
    title, kind = SCHEMAS[name]
    made = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title} | msgspec.json.schema(kind)
    return json.dumps(made, indent=1, ensure_ascii=False) + "\n"


def path_of(name: str) -> Path:
    return FOLDER / f"{name}.schema.json"


def stale() -> list[Path]:
    """The files that are missing, differ from the types, or belong to no type."""
    known = {path_of(name): schema(name) for name in SCHEMAS}
    differing = [path for path, text in known.items() if not path.exists() or path.read_text() != text]
    return differing + [path for path in FOLDER.glob("*") if path not in known]


def main() -> int:
    found = stale()
    if "--check" in sys.argv[1:]:
        for path in found:
            print(f"{path} is not what the types say: run `make schemas`", file=sys.stderr)
        return 1 if found else 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    for path in found:
        path.unlink(missing_ok=True)
    for name in SCHEMAS:
        path_of(name).write_text(schema(name))
    return 0


if __name__ == "__main__":
    sys.exit(main())
