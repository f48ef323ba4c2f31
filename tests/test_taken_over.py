"""The log of an attempt whose runner died is read as of the day it was written."""

import os
import signal
import time
from datetime import datetime, timedelta
from pathlib import Path

from place import ROOT, make_place

WORDS = "You've hit your usage limit. Try again at 11:30 PM."
CODEX = f"""#!/bin/sh
cat > /dev/null
echo '{{"type":"thread.started","thread_id":"7e57"}}'
cat <<'EOF'
{{"type":"turn.failed","error":{{"message":"{WORDS}"}}}}
EOF
exit 1
"""


def test_a_limit_of_yesterday_is_no_limit_of_today(tmp_path: Path) -> None:
    place = make_place(tmp_path, count=1)
    program = tmp_path / "codex"
    program.write_text(CODEX)
    program.chmod(0o755)
    config = f"defaults: {{agent: codex, on_limit: exit}}\nagents: {{codex: {{program: '{program}'}}}}\n"
    (place.path / ".ralph" / "config.yaml").write_text(config)
    (tmp_path / "crash-at").write_text("1 after begun: before Attempted 1")
    crashing = {
        "CRASH_AT": str(tmp_path / "crash-at"),
        "CRASH_DIARY": str(tmp_path / "diary"),
        "PYTHONPATH": f"{ROOT / 'tests' / 'crashing'}:{ROOT / 'src'}",
    }
    assert place.start("run", "-n", "1", **crashing).wait(60) == -signal.SIGKILL, place.said()
    yesterday = datetime.now().replace(hour=12, minute=0, second=0, microsecond=0) - timedelta(days=1)
    log = place.run_folder() / "attempt-1.log"
    os.utime(log, (yesterday.timestamp(), yesterday.timestamp()))
    place.ralph("run", "-n", "1")
    attempt = place.records("attempted")[0]["attempt"]
    assert attempt["limited"]
    assert attempt["resets_at"] == yesterday.replace(hour=23, minute=30).timestamp() < time.time()
