"""What is found once nothing of the agent is left: the repository set right, the source made whole, the work seen."""

from contextlib import suppress
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from ralphloop.core.errors import Problem
from ralphloop.core.story import Plan, PlanChange, compare
from ralphloop.core.verdict import Sight
from ralphloop.core.wording import some
from ralphloop.engine import leftovers, rules
from ralphloop.engine.desk import Desk
from ralphloop.host import belongings, configuration, files, git, hidden, repair, restore
from ralphloop.host.git import Look, Moved
from ralphloop.host.places import SOURCE_LIMIT, inside, make_way


class Source(Struct, frozen=True):
    """The source after it was made whole."""

    plan: Plan
    change: PlanChange = PlanChange()
    problem: str = ""
    notes: tuple[str, ...] = ()


def sight(desk: Desk) -> Sight:
    """Look at everything; whatever is repaired here is said in the notes."""
    state = desk.now
    renewed = desk.renew()
    progress = _progress(desk)
    try:
        found, moved, notes = _repository(desk)
        notes = (renewed, *notes) if renewed else notes
        notes += _folder(desk, progress)
        source = _source(desk)
    except restore.Beaten as beaten:
        return Sight(state.head, state.total, state.done, complete=False, stuck=beaten.message, advice=beaten.hint)
    left = leftovers.left(desk, found, moved)
    found, moved = left.look, left.moved
    if moved.gained:
        git.set_ref(desk.git, f"{desk.refs}/kept", found.head)
    return Sight(
        head=found.head,
        total=len(source.plan.stories),
        done=len(source.plan.marked),
        complete=source.plan.complete,
        open=sum(story.id not in source.change.marked for story in source.plan.open),
        change=source.change,
        commits=moved.gained,
        worked=moved.worked,
        dirty=found.dirty,
        dirty_paths=found.paths,
        source_problem=source.problem,
        notes=(*notes, *source.notes, *left.notes),
    )


def after_check(desk: Desk) -> str:
    """What a check did to the repository, which is put right at once; nothing when it stands where it was seen."""
    state = desk.now
    seen = state.sight
    if seen is None:
        return ""
    spoilt = configuration.mend(desk.git, desk.repository, desk.folder.path, harmless=False)
    try:
        found = git.look(desk.git, state.policy.junk, (state.start.source,))
        if (found.head, found.branch) == (seen.head, state.start.branch):
            return "; ".join(spoilt)
    except git.GitProblem:
        pass  # it has damaged the repository
    notes = repair.mend(desk.git, _expected(desk, seen.head)).notes
    return "; ".join(("moved the branch; checks must leave the repository as it is", *spoilt, *notes))


def uncommitted(desk: Desk) -> str:
    """What stands in the tree at the end and in no commit, in words."""
    found = git.look(desk.git, desk.now.policy.junk, (desk.now.start.source,))
    return some(found.paths, found.dirty)


def _repository(desk: Desk) -> tuple[Look, Moved, tuple[str, ...]]:
    state = desk.now
    if state.attempt is None:  # nobody but the user has been here: what stands is what is wanted
        configuration.keep(desk.repository, desk.folder.path)
        hidden.keep(desk.git, desk.repository, desk.folder.path)
        return git.look(desk.git, state.policy.junk, (state.start.source,)), Moved(), ()
    mended = repair.mend(desk.git, _expected(desk, state.head))
    found, notes = mended.look, mended.notes
    if nested := hidden.nested(desk.git, desk.repository, state.start.head):
        ref = f"{desk.refs}/nested-{state.n}"
        notes = (*notes, hidden.hold(desk.git, desk.repository, nested, ref, state.policy.junk))
        paths = tuple(f"{path}/" for path in nested if f"{path}/" not in found.paths and path not in found.paths)
        found = replace(found, dirty=found.dirty + len(paths), paths=(*paths, *found.paths))
    return found, mended.moved, notes


def _expected(desk: Desk, good: str) -> restore.Expected:
    state = desk.now
    return restore.Expected(
        repository=desk.repository,
        branch=state.start.branch,
        good=good,
        since=state.begun.at if state.begun else state.start.at,
        refs=desk.refs,
        vault=desk.home.vault(desk.repository.common_dir),
        n=state.n,
        junk=state.policy.junk,
        ours=(state.start.source,),
        settings=desk.folder.path,
    )


def _progress(desk: Desk) -> bytes:
    path = desk.feature_folder / "progress.txt"
    try:
        return files.read(inside(desk.repository.worktree, path), SOURCE_LIMIT) or b""
    except Problem:
        return b""


def _folder(desk: Desk, progress: bytes) -> tuple[str, ...]:
    """Setting the branch right takes nothing from progress.txt; the user's files an agent deleted are put back."""
    state = desk.now
    if state.attempt is None or state.begun is None:
        return ()
    feature = desk.feature_folder
    make_way(desk.repository.worktree, desk.feature_folder / "any")
    now = _progress(desk)
    if progress and (whole := belongings.with_additions(progress, now)) != now:
        files.replace(inside(desk.repository.worktree, feature / "progress.txt"), whole)
    # of an attempt that a runner before us began, the rules were looked at before they were read
    ours = desk.attended == state.n
    notes = [rules.put_back(desk.folder, state.begun, desk.repository.worktree)] if ours else []
    if gone := belongings.deleted(desk.folder, state.begun.folder, feature):
        belongings.put_back(desk.folder, state.begun.folder, desk.repository.worktree, feature, gone)
        notes.append(f"gone from {desk.feature_dir} and put back: {', '.join(gone[:10])}")
    return tuple(note for note in notes if note)


def _source(desk: Desk) -> Source:
    """Damaged, emptied or deleted: the last good one is put back. Removed stories are put back."""
    state = desk.now
    good = desk.good_source()
    left = _as_left(desk)
    try:
        if left is None:
            left, plan = desk.read_plan()
        else:
            plan = desk.source.take(left)
    except Problem as problem:  # damaged, or a link out of the worktree, or a file of gigabytes
        return _restored(desk, good, left, problem)
    if state.attempt is None:  # what changed meanwhile is the user's; only what was still to be judged is looked at
        return Source(plan, PlanChange(marked=tuple(story for story in state.pending if story in plan.ids)))
    if good is None:
        raise restore.Beaten(
            f"nobody knows any more what stood in {state.start.source} before iteration {state.n}: {desk.folder.path}"
            " has been damaged",
            "look at the marks yourself, then `ralph run`",
        )
    before = desk.source.take(good)
    change = compare(before, plan)
    invented = [story for story in change.added if story in change.marked]
    notes = [f"{story} was unmarked; its work was proven, so it is marked again" for story in change.unmarked]
    notes += [f"{story} was added to the stories" for story in change.added[:20]]
    notes += [f"{story} was added with its mark set, which does not count" for story in invented[:20]]
    notes += [f"{story}: its title or criteria were changed" for story in change.reworded[:20]]
    notes += [f"{story}: another agent or model was chosen for it" for story in change.rehanded[:20]]
    notes += [f"{story} was handed to a person; it is still to be built" for story in change.excused]
    if change.removed or change.excused or change.unmarked or invented:
        healed = desk.source.heal(good, left) if change.removed or change.excused else left
        there = desk.source.take(healed).ids
        marks = dict.fromkeys(change.unmarked, True) | {story: False for story in invented if story in there}
        plan = _mended(desk, left, desk.source.settle(healed, marks))
        change = replace(change, marked=compare(before, plan).marked)
    return Source(plan, change, notes=tuple(notes))


def _restored(desk: Desk, good: bytes | None, left: bytes | None, problem: Problem) -> Source:
    if good is None:
        raise problem
    if left is None:
        with suppress(Problem):  # a folder, a link that leads out, or gigabytes: no text to learn from
            left = desk.read_source()
        left = left or b""
    plan = _mended(desk, left, desk.source.heal(good, left))
    return Source(plan, PlanChange(marked=compare(desk.source.take(good), plan).marked), problem=problem.message)


def _aside(desk: Desk) -> Path:
    return desk.folder.path / f"broken-source-{desk.now.n}"


def _as_left(desk: Desk) -> bytes | None:
    """The source as the agent left it, when a runner died after it had mended that and before it could say so."""
    return files.read(_aside(desk), SOURCE_LIMIT) if desk.now.attempt is not None else None


def _mended(desk: Desk, left: bytes, whole: bytes) -> Plan:
    """What the agent made of the file stays with the run, where a later look finds it; then it is made whole."""
    if _aside(desk).exists():
        with suppress(Problem):
            now, plan = desk.read_plan()
            if now != left:
                return plan
    files.replace(_aside(desk), left)
    make_way(desk.repository.worktree, desk.source_path)
    desk.write_source(whole)
    return desk.source.take(whole)
