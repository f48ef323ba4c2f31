"""Back to how it stood before an iteration: first shown, then done, and itself kept so that it can be taken back."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from ralphloop.core.errors import Problem
from ralphloop.core.record import Begun, Record, Undone
from ralphloop.core.state import replay
from ralphloop.core.story import Plan
from ralphloop.core.verdict import Commit
from ralphloop.host import belongings, files, git, operations, snapshot
from ralphloop.host.git import Git, Repository
from ralphloop.host.places import SOURCE_LIMIT, RunFolder, inside, make_way


class Undoing(Struct, frozen=True):
    """What going back would change."""

    run: str
    why: str
    head: str
    tree: str  # a commit that holds the files as they stood, when they were not as `head` has them
    branch: str
    before: int  # the first iteration that is taken back; 0 when an undo is
    dropped: tuple[Commit, ...]
    returning: tuple[Commit, ...]
    summary: str  # git's own account of the files that would change
    folder_changes: bool  # whether the feature's folder, which git may not see, is another one now
    source: str
    source_file: str
    folder: str
    archive: str
    feature: str
    junk: tuple[str, ...]
    kept: str = ""

    @property
    def target(self) -> str:
        return self.tree or self.head

    @property
    def changes(self) -> bool:
        return bool(self.dropped or self.returning or self.summary or self.folder_changes)


class _Target(Struct, frozen=True):
    why: str
    head: str
    tree: str
    source: str
    folder: str
    before: int = 0


def plan(
    repository: Repository, run: RunFolder, records: list[Record], iteration: int | None, *, back: bool = False
) -> Undoing:
    """What stood there, and what has come since. Without a number: before the last iteration."""
    state = replay(records)
    tool = Git(repository.worktree)
    target = _last_undone(tool, records) if back else _before(state.start.run, records, iteration)
    if not git.exists(tool, target.head):
        raise Problem(f"commit {target.head} is not in this repository any more")
    if repository.branch != state.start.branch:
        raise Problem(
            f"the run was on branch {state.start.branch}, the worktree is on {repository.branch or 'no branch'}",
            f"`git switch {state.start.branch}` first",
        )
    if operation := operations.unfinished(repository.git_dir):
        raise Problem(
            f"{operations.named(operation)} is unfinished in {repository.worktree}", operations.way_out(operation)
        )
    feature = Path(repository.worktree, ".ralph", state.start.feature)
    with_untracked = snapshot.tree_now(tool, repository.git_dir, state.policy.junk)
    shown = tool.run("diff", "--stat=100", "--no-color", with_untracked, target.tree or target.head, "--")
    since = git.moved(tool, target.head, "HEAD")
    return Undoing(
        run=state.start.run,
        why=target.why,
        before=target.before,
        head=target.head,
        tree=target.tree,
        branch=state.start.branch,
        dropped=since.gained,
        returning=since.lost,
        folder_changes=bool(target.folder) and feature.is_dir() and belongings.keep(run, feature) != target.folder,
        summary=shown.decode(errors="replace").rstrip(),
        source=target.source,
        source_file=state.start.source,
        folder=target.folder,
        archive=state.archive,
        feature=state.start.feature,
        junk=state.policy.junk,
    )


def _before(run: str, records: list[Record], iteration: int | None) -> _Target:
    begun = {record.n: record for record in records if isinstance(record, Begun)}
    if not begun:
        raise Problem(f"run {run} has no iteration to undo")
    standing = _standing(records)
    if iteration is None and not standing:
        raise Problem(
            f"every iteration of run {run} has been taken back", "`ralph undo --back` takes back the last undo"
        )
    number = iteration if iteration is not None else standing[-1]
    if number not in begun:
        raise Problem(f"run {run} has no iteration {number}", f"it has iterations 1 to {max(begun)}")
    found = begun[number]
    return _Target(f"back to before iteration {number}", found.head, found.tree, found.source, found.folder, number)


def _standing(records: list[Record]) -> list[int]:
    """The iterations whose work has not been taken back, in order."""
    earlier: list[list[int]] = []
    now: list[int] = []
    for record in records:
        if isinstance(record, Begun):
            now = [*now, record.n]
        elif isinstance(record, Undone) and record.before:
            earlier.append(now)
            now = [n for n in now if n < record.before]
        elif isinstance(record, Undone) and earlier:
            now = earlier.pop()
    return now


def _last_undone(tool: Git, records: list[Record]) -> _Target:
    """How it stood before the last undo: the kept commit stands on what was HEAD."""
    undone = next((record for record in reversed(records) if isinstance(record, Undone)), None)
    if undone is None:
        raise Problem("nothing was undone in this run")
    if not git.exists(tool, undone.kept):
        raise Problem(f"{undone.kept} is not in this repository any more")
    head = tool.line("rev-parse", f"{undone.kept}^")
    return _Target("the last undo was taken back", head, undone.kept, undone.kept_source, undone.kept_folder)


def keep(
    repository: Repository, run: RunFolder, undoing: Undoing, take: Callable[[bytes], Plan]
) -> tuple[Undoing, Undone]:
    """Hold everything as it stands now, and what the journal is to say before anything is changed."""
    _unarchive(repository, undoing)
    tool, feature = Git(repository.worktree), _feature(repository, undoing)
    stamp = f"refs/ralph/{undoing.run}/undone-{time.strftime('%Y%m%d-%H%M%S')}"
    ref = next(name for name in (stamp, *(f"{stamp}-{n}" for n in range(2, 1000))) if not git.exists(tool, name))
    # what would be written over is held as well when it is ignored by now
    now = snapshot.tree_now(tool, repository.git_dir, undoing.junk)
    changes = git.differing(tool, undoing.target, now)
    unseen = [path for path, (_, is_now) in changes.items() if not _there(is_now)]
    held = {path for path, (_, is_now) in changes.items() if _there(is_now)}
    hidden = {other for path in unseen for other in _in_the_way(repository.worktree, path) if other not in held}
    snapshot.take(tool, repository.git_dir, ref, undoing.why, undoing.junk, map(os.fsencode, hidden))
    plan = take(run.kept_source(undoing.source) or b"")
    source = files.read(inside(repository.worktree, Path(repository.worktree, undoing.source_file)), SOURCE_LIMIT)
    record = Undone(
        at=time.time(),
        why=undoing.why,
        head=undoing.head,
        source=undoing.source,
        folder=undoing.folder,
        kept=ref,
        kept_folder=belongings.keep(run, feature),
        kept_source=run.keep_source(source) if source is not None else "",
        before=undoing.before,
        total=len(plan.stories),
        done=len(plan.marked),
    )
    return replace(undoing, kept=ref), record


def undo(repository: Repository, run: RunFolder, undoing: Undoing) -> None:
    """Put commits, files, the feature's folder and the story file back; doing it twice does no harm."""
    tool = Git(repository.worktree)
    changes = git.differing(tool, undoing.target, undoing.kept)
    came_since = [path for path, (was, _) in changes.items() if not _there(was)]
    tool.run("read-tree", "--reset", undoing.kept)
    if came_since:  # the index forgets them, so that git takes none of them away
        lines = b"".join(os.fsencode(path) + b"\0" for path in came_since)
        tool.run("update-index", "--force-remove", "-z", "--stdin", stdin=lines)
    tool.run("read-tree", "-u", "--reset", undoing.target)
    tool.run("reset", "--quiet", "--soft", undoing.head)
    tool.run("read-tree", undoing.head)
    tool.ask("update-index", "-q", "--refresh")
    if tool.ask("config", "--type=bool", "core.sparseCheckout").stdout.strip() == b"true":
        tool.ask("sparse-checkout", "reapply")
    _take_away(tool, came_since)
    if undoing.folder:
        belongings.put_back(run, undoing.folder, repository.worktree, _feature(repository, undoing))
    good, source = run.kept_source(undoing.source), Path(repository.worktree, undoing.source_file)
    if good is not None:
        make_way(repository.worktree, source)
        files.replace(inside(repository.worktree, source), good)


def _take_away(tool: Git, came_since: list[str]) -> None:
    """All that came since, but for stories and settings, and for what the rules of that time ignore."""
    ours = (*git.OURS, ".ralph/")
    paths = [path for path in came_since if not git.is_ours(path, ours)]
    asked = b"".join(os.fsencode(path) + b"\0" for path in paths)
    ignored = tool.ask("check-ignore", "-z", "--stdin", "--no-index", stdin=asked).stdout.split(b"\0") if paths else []
    chosen = [path for path in paths if os.fsencode(path) not in ignored]
    for path in (Path(tool.worktree, path) for path in chosen if not _behind_a_link(tool.worktree, path)):
        with suppress(OSError):
            path.unlink()
            for folder in path.parents:  # git knows no empty folders
                folder.rmdir()


def _behind_a_link(worktree: str, path: str) -> bool:
    return any(Path(worktree, folder).is_symlink() for folder in Path(path).parents[:-1])


def _in_the_way(worktree: str, path: str) -> Iterator[str]:
    """What stands where this path is to be written: itself, all that is in a folder of its name, or a file above it."""
    for folder in reversed(Path(path).parents[:-1]):
        above = Path(worktree, folder)
        if os.path.lexists(above) and (above.is_symlink() or not above.is_dir()):
            yield str(folder)
            return
    here = Path(worktree, path)
    if here.is_dir() and not here.is_symlink():
        for place, _, names in os.walk(here):
            yield from (str(Path(place, name).relative_to(worktree)) for name in names)
    elif os.path.lexists(here):
        yield path


def _there(entry: str) -> bool:
    """Whether a tree holds something: zeros are nothing."""
    return not entry.startswith("000000")


def _feature(repository: Repository, undoing: Undoing) -> Path:
    return Path(repository.worktree, ".ralph", undoing.feature)


def _unarchive(repository: Repository, undoing: Undoing) -> None:
    """An archived feature comes back to its place."""
    place = _feature(repository, undoing)
    archived = Path(repository.worktree, undoing.archive) if undoing.archive else None
    if archived is not None and archived.is_dir() and not place.exists():
        inside(repository.worktree, archived)
        archived.rename(place)
