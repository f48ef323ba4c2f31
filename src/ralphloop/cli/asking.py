"""ralph stop, pause, resume and tell: a word for a run that goes on elsewhere."""

import sys

import msgspec

from ralphloop.api import changing
from ralphloop.cli.output import data, say
from ralphloop.cli.parse import Parsed
from ralphloop.core.errors import DONE

LONGEST = 1 << 18  # characters that are taken from stdin
SAID = {
    "stop": "run {run} stops after the iteration it is in (`ralph stop --now` ends it at once)",
    "stop_now": "run {run} ends its agent and stops",
    "pause": "run {run} rests after the iteration it is in; `ralph resume` lets it go on",
    "resume": "run {run} goes on",
    "tell": "run {run} puts it into its next prompt",
}


def call(parsed: Parsed) -> int:
    wish, words = parsed.command, parsed.arguments
    if wish == "tell":
        text = sys.stdin.read(LONGEST) if words == ["-"] else words[0]
        asked = changing.ask("tell", text, run=str(parsed.options.get("run", "")))
    elif wish == "stop":
        wish = "stop_now" if parsed.options.get("now") else "stop"
        asked = changing.ask("stop_now" if wish == "stop_now" else "stop", run=words[0] if words else "")
    else:
        asked = changing.ask("pause" if wish == "pause" else "resume", run=words[0] if words else "")
    if parsed.options.get("json"):
        data(msgspec.json.encode({"run": asked.run, "alive": asked.alive, "wish": wish}))
    else:
        say(SAID[wish].format(run=asked.run) + ("" if asked.alive else " when it goes on"))
    return DONE
