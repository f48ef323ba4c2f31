"""ralph archive and undo: shown first, done when confirmed."""

import msgspec

from ralphloop.api import changing
from ralphloop.cli.output import confirmed, data, say, talk
from ralphloop.cli.parse import Parsed
from ralphloop.core.errors import DONE, NOT_DONE


def call(parsed: Parsed) -> int:
    return archive(parsed) if parsed.command == "archive" else undo(parsed)


def archive(parsed: Parsed) -> int:
    planned = changing.plan_archive()
    as_json = bool(parsed.options.get("json"))
    open_stories = planned.stories_total - planned.stories_complete
    question = (
        f"Archive .ralph/{planned.feature} ({planned.stories_complete} of {planned.stories_total} stories finished)?"
    )
    if open_stories and not parsed.options.get("yes") and not confirmed(question):
        still = "1 story is" if open_stories == 1 else f"{open_stories} stories are"
        if as_json:
            data(msgspec.json.encode(planned))
        talk(f"not archived: {still} still open (-y archives all the same)")
        return NOT_DONE
    done = changing.archive(planned)
    if as_json:
        data(msgspec.json.encode(done))
    else:
        say(f"archived to {done.archive}")
    return DONE


def undo(parsed: Parsed) -> int:
    number = int(parsed.arguments[0]) if parsed.arguments else None
    run, back = str(parsed.options.get("run", "")), bool(parsed.options.get("back"))
    planned = changing.plan_undo(number, run, back=back)
    as_json = bool(parsed.options.get("json"))
    if not as_json:
        say(f"Run {planned.run}: {planned.why}, branch {planned.branch} at {planned.head[:10]}.")
        for commit in planned.dropped:
            say(f"  takes commit {commit.sha[:10]} {commit.subject} off the branch")
        for commit in planned.returning:
            say(f"  puts commit {commit.sha[:10]} {commit.subject} back on it")
        say(planned.summary or "  no file changes that git sees")
        if planned.folder_changes:
            say(f"  stories, marks and notes in .ralph/{planned.feature} are put back as they were")
    if not planned.changes:
        if as_json:
            data(msgspec.json.encode(planned))
        talk("there is nothing to take back: files and commits are as they were then")
        return DONE
    if not parsed.options.get("yes") and not (not as_json and confirmed("Do it?")):
        if as_json:
            data(msgspec.json.encode(planned))
        talk("nothing has been changed (-y does it)")
        return NOT_DONE
    done = changing.undo(planned)
    if as_json:
        data(msgspec.json.encode(done))
    else:
        say(f"done; how it stood before is kept as {done.kept}")
        say("  `ralph undo --back` goes back to it; `ralph run` goes on from here")
    return DONE
