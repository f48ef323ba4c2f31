"""What an agent says and does, in lines for people while it happens."""

from ralphloop.core.event import Event, Finished, LimitMet, Retrying, Said, SessionStarted, ToolAnswered, ToolCalled
from ralphloop.core.sentence import Line
from ralphloop.core.wording import counted, cut, plain

SHOWN = 4  # lines of what an agent says at once


def of_event(event: Event, *, verbose: bool, worktree: str = "") -> list[Line]:
    """The lines an event is worth while it happens; paths in the worktree are told from there."""
    most = 400 if verbose else 120

    def near(text: str) -> str:
        return cut(plain(text.replace(f"{worktree}/", "") if worktree else text).strip(), most)

    match event:
        case Said():
            words = [line for line in event.text.strip().splitlines() if line.strip()]
            shown = words if verbose else words[:SHOWN]
            lines: list[Line] = [("talk", cut(plain(word).strip(), 20_000 if verbose else 160)) for word in shown]
            more = len(words) - len(shown)
            return [*lines, ("quiet", f"… {counted(more, 'more line')}")] if more else lines
        case ToolCalled():
            return [("tool", near(f"{event.name} {event.about}"))]
        case ToolAnswered() if not event.ok:
            return [("fault", near(f"{event.name or 'the tool'}: {event.about or 'failed'}"))]
        case ToolAnswered() if verbose:
            return [("answer", near(event.about) or "nothing")]
        case Retrying():
            why = cut(plain(event.why), 80)
            of = f" of {event.of}" if event.of else ""
            return [("note", f"the model cannot be reached ({why}); try {event.attempt}{of}")]
        case LimitMet():
            return [("note", cut(plain(event.why), 200))]
        case SessionStarted() if verbose:
            return [("quiet", f"session {event.session} {event.model}".strip())]
        case Finished() if event.error:
            return [("bad", cut(plain(event.error), 300))]
        case _:
            return []
