"""Write the events of every kept stream anew, beside it; what git then shows is what the change does to users."""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]


def main() -> None:
    import msgspec

    from kept_streams import STREAMS, beside, read

    for stream in STREAMS:
        events = msgspec.to_builtins(read(stream, stream.read_bytes()))
        lines = ",\n".join(json.dumps(event, ensure_ascii=False) for event in events)
        beside(stream).write_text(f"[\n{lines}\n]\n")
    print(f"{len(STREAMS)} streams")


main()
