"""What an agent left uncommitted, told apart from what the user had not committed before."""

from msgspec import Struct
from msgspec.structs import replace

from ralphloop.core.wording import some
from ralphloop.engine.desk import Desk
from ralphloop.host import git, snapshot
from ralphloop.host.git import OURS, SHOWN, VIEWS, Look, Moved


class Left(Struct, frozen=True):
    """The repository without what was the user's all along."""

    look: Look
    moved: Moved
    notes: tuple[str, ...] = ()


def left(desk: Desk, found: Look, moved: Moved) -> Left:
    """By policy committed by us, kept under a ref, or left alone; in the tree it stays in every case."""
    state = desk.now
    policy = state.policy
    had = state.given is not None and bool(state.given.tree) and state.attempt is not None
    if not found.dirty and not had:
        return Left(found, moved)
    if state.given is None:  # nobody but the user has been here
        return Left(replace(found, dirty=0, paths=()), moved, (_theirs(found),))
    tree = snapshot.tree_now(desk.git, desk.repository.git_dir, policy.junk)
    gone = _gone(desk, found, tree) if had else ()
    rest = _rest(desk, found, moved, tree)
    return replace(rest, notes=(*gone, *rest.notes))


def _rest(desk: Desk, found: Look, moved: Moved, tree: str) -> Left:
    state, policy = desk.now, desk.now.policy
    paths = _agents(desk, found, tree)
    found = replace(found, dirty=len(paths), paths=paths[:SHOWN])
    if not paths or state.attempt is None or policy.uncommitted == "leave":
        return Left(found, moved)
    if policy.uncommitted == "commit" and snapshot.commit_paths(
        desk.git, f"Work of iteration {state.n}: {state.story}", state.start.run, paths
    ):
        after = git.look(desk.git, policy.junk, (state.start.source,))
        inner = tuple(path for path in paths if path.endswith("/"))  # a repository inside this one cannot be committed
        return Left(
            replace(after, dirty=len(inner), paths=inner[:SHOWN]),
            git.moved(desk.git, state.head, after.head, (state.start.source,), git.TOLD),
            ("uncommitted work was committed by the runner",),
        )
    ref = f"{desk.refs}/left-{state.n}"
    snapshot.keep(desk.git, tree, ref, f"left uncommitted by iteration {state.n} of {state.start.run}")
    return Left(found, moved, (f"uncommitted work stays in the tree; it is also kept as {ref}",))


def _theirs(found: Look) -> str:
    return f"not committed, and left as it is: {some(found.paths, found.dirty)}"


def _gone(desk: Desk, found: Look, tree: str) -> tuple[str, ...]:
    """What the user had not committed and what this iteration took out of the tree, with the way to get it back."""
    given, begun = desk.now.given, desk.now.begun
    if given is None or begun is None or not begun.tree:
        return ()
    theirs = git.differing(desk.git, given.head, given.tree)
    changed = git.differing(desk.git, given.tree, tree)
    earlier = git.differing(desk.git, given.tree, begun.tree)
    worked_on = {*git.differing(desk.git, found.head, tree), *git.differing(desk.git, given.head, found.head)}
    gone = [path for path in theirs if path in changed and path not in earlier and path not in worked_on]
    gone = [path for path in gone if not path.startswith((*VIEWS, *desk.held_files))]
    if not gone:
        return ()
    ref, paths = f"{desk.refs}/before-{desk.now.n}", some(gone, len(gone))
    return (f"what you had not committed is gone from the tree: {paths}; `git checkout {ref} -- PATH` brings it back",)


def _agents(desk: Desk, found: Look, tree: str) -> tuple[str, ...]:
    """Every path that is not as HEAD has it and not as the user left it."""
    given, ours = desk.now.given, (*OURS, desk.now.start.source)
    before = git.differing(desk.git, given.head, given.tree) if given and given.tree else {}
    now = git.differing(desk.git, found.head, tree)
    paths = {path for path, (_, content) in now.items() if before.get(path, ("", ""))[1] != content}
    # what no tree can hold, such as a repository inside this one, is shown by `git status` alone
    known = given.dirty_paths if given else ()
    odd = {path for path in found.paths if path not in known and not _covered(path, now)}
    return tuple(sorted(path for path in paths | odd if not git.is_ours(path, ours)))


def _covered(path: str, now: dict[str, tuple[str, str]]) -> bool:
    return path in now or (path.endswith("/") and any(one.startswith(path) for one in now))
