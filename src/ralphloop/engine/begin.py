"""The beginning of an iteration: look, keep what could be lost, choose the story, write the prompt."""

from pathlib import Path

from ralphloop.core.errors import DamagedProblem, Problem
from ralphloop.core.prompt import Material, render
from ralphloop.core.record import Begun
from ralphloop.core.story import Plan
from ralphloop.engine import publish, rules
from ralphloop.engine.desk import Desk, must
from ralphloop.host import belongings, configuration, files, git, snapshot, vault
from ralphloop.host.places import inside

TEXT_LIMIT = 16 << 20


def begin(desk: Desk, n: int) -> Begun:
    """Everything an attempt starts from; nothing of the user's has been changed by it."""
    state = desk.now
    publish.keep_out_of_commits(desk.repository.common_dir)
    found = git.look(desk.git, state.policy.junk, (state.start.source,), desk.held_files)
    tree = ""
    if found.dirty or found.aside:
        ref = f"{desk.refs}/before-{n}"
        tree = snapshot.take(
            desk.git, desk.repository.git_dir, ref, f"before iteration {n} of {desk.folder.name}", state.policy.junk
        )
    vault.keep(desk.git, desk.repository, desk.home, state.start.branch, found.head or state.head, desk.refs)
    configuration.keep(desk.repository, desk.folder.path)
    content, plan, notes = sound_source(desk)
    notes += tuple(f"{one.message}: the prompt is without it" for one in belongings.odd(desk.feature_folder))
    open_stories = plan.open
    story = open_stories[0] if open_stories else None
    story_id = story.id if story else ""
    prompt = render(material(desk, plan, story_id, n, notes))
    files.replace(desk.folder.prompt(n), prompt.encode(errors="replace"))
    return Begun(
        at=desk.clock(),
        n=n,
        story=story_id,
        title=story.title if story else "",
        try_number=state.tries + 1 if story_id == state.story else 1,
        head=found.head or state.head,
        tree=tree,
        source=desk.keep_source(content),
        total=len(plan.stories),
        done=len(plan.marked),
        prompt_size=len(prompt),
        told=len(state.told),
        dirty_paths=found.paths,
        notes=notes,
        config=rules.keep(desk.folder, state.start.worktree),
        folder=belongings.keep(desk.folder, desk.feature_folder),
    )


def sound_source(desk: Desk) -> tuple[bytes, Plan, tuple[str, ...]]:
    """The source; when somebody broke it between two iterations, the last good one is put back, and that is said."""
    content: bytes | None = None
    try:
        content = desk.read_source()
        return must(content, desk.now.start.source), desk.source.take(content or b""), ()
    except Problem as problem:
        good = desk.good_source()
        if good is None:
            raise
        if not isinstance(problem, DamagedProblem) and content is not None:
            raise
        note = f"{problem.message}; the last good one was put back"
        if content is not None:
            aside = desk.folder.path / f"broken-source-{desk.now.n}-edited"
            files.replace(aside, content)
            note += f", and what stood there is {aside}"
        desk.write_source(good)
        return good, desk.source.take(good), (note,)


def material(desk: Desk, plan: Plan, story: str, n: int, notes: tuple[str, ...] = ()) -> Material:
    """The prompt's parts, read from the feature's folder."""
    state = desk.now
    folder = desk.feature_folder
    progress = _text(desk, folder / "progress.txt")
    return Material(
        template=desk.template,
        rule=state.policy.prompt,
        feature_dir=desk.feature_dir,
        story_file=state.start.source,
        promise=state.policy.promise,
        plan=plan,
        story=story,
        n=n,
        of=state.most,
        progress=progress or "",
        has_progress=progress is not None,
        specs=dict(_specs(desk, folder / "specs")),
        failure="\n".join(part for part in (state.failure, *(f"Noticed: {note}" for note in notes)) if part),
        told=state.told,
    )


def _text(desk: Desk, path: Path) -> str | None:
    """The end of a file, where a log's news stand; None when there is none or it is no file of ours."""
    try:
        content = files.read_end(inside(desk.repository.worktree, path), TEXT_LIMIT)
    except Problem:
        return None
    return content.decode(errors="replace") if content is not None else None


def _specs(desk: Desk, folder: Path) -> list[tuple[str, str]]:
    try:
        names = sorted(path.name for path in folder.iterdir() if path.suffix == ".md")
    except OSError:
        return []
    texts = [(name, _text(desk, folder / name)) for name in names]
    return [(name, text) for name, text in texts if text is not None]
