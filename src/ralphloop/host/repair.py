"""What an agent did to the repository besides committing: noticed, kept under a ref, set right where it is safe."""

from collections import Counter
from itertools import count

from msgspec import Struct

from ralphloop.host import configuration, hidden, operations, restore, snapshot
from ralphloop.host.git import (
    TOLD,
    WHO,
    Git,
    GitProblem,
    Look,
    Moved,
    differing,
    exists,
    is_ancestor,
    look,
    moved,
)
from ralphloop.host.restore import Expected


class Mended(Struct, frozen=True):
    look: Look
    moved: Moved
    notes: tuple[str, ...] = ()


def mend(git: Git, expected: Expected) -> Mended:
    """Set right what is safe to set right, and say what was found. Raises Beaten when a person is needed."""
    repository = expected.repository
    notes = operations.unlock(
        repository.git_dir, repository.common_dir, expected.branch, expected.since, repository.worktree
    )
    try:
        if expected.settings is not None:
            notes += configuration.mend(git, repository, expected.settings)
            notes += hidden.uncover(git, repository, expected.settings)
        notes += restore.bring_back_objects(git, expected)
        notes += restore.rebuild_missing_index(git, expected)
        found = look(git, expected.junk, expected.ours)
    except (GitProblem, OSError):
        notes += restore.restore(git, expected)
        found = look(git, expected.junk, expected.ours)
    if operation := operations.unfinished(repository.git_dir, expected.since - 1):
        notes += _give_up(git, expected, operation)
        found = look(git, expected.junk, expected.ours)
    if not found.head or found.branch != expected.branch:
        notes += _return_to_branch(git, expected, found)
        found = look(git, expected.junk, expected.ours)
    try:
        since = moved(git, expected.good, found.head, expected.ours, TOLD)
    except GitProblem:
        notes += restore.restore(git, expected)
        since = moved(git, expected.good, found.head, expected.ours, TOLD)
    if since.lost:
        notes += _bring_back(git, expected, found)
        found = look(git, expected.junk, expected.ours)
        since = moved(git, expected.good, found.head, expected.ours, TOLD)
    return Mended(found, since, tuple(notes))


def _keep(git: Git, expected: Expected, what: str) -> str:
    """The tree as it stands, on top of HEAD, under a ref that nothing has yet."""
    base = f"{expected.refs}/stray-{expected.n}"
    names = (base if number == 1 else f"{base}-{number}" for number in count(1))
    ref = next(name for name in names if not exists(git, name))
    snapshot.take(git, expected.repository.git_dir, ref, what, expected.junk)
    return ref


def _give_up(git: Git, expected: Expected, operation: str) -> list[str]:
    ref = _keep(git, expected, f"an unfinished {operation}")
    operations.give_up(git, operation)
    return [f"a {operation} was left unfinished; it was ended, and what it had made is kept as {ref}"]


def _return_to_branch(git: Git, expected: Expected, found: Look) -> list[str]:
    """New commits on top of ours are brought to our branch where they lie; anything else is kept aside."""
    place = f"branch {found.branch}" if found.branch else "a detached HEAD"
    branch_ref = f"refs/heads/{expected.branch}"
    if not exists(git, branch_ref):
        restore.put_back_branch(git, expected)
    ours = git.line("rev-parse", branch_ref)
    if found.head and is_ancestor(git, ours, found.head) and _all_new(git, ours, found.head, expected.since):
        git.run("update-ref", "-m", "ralph: brought back", branch_ref, found.head, ours)
        git.run("symbolic-ref", "HEAD", branch_ref)
        return [f"work was done on {place}; it was brought to {expected.branch}. Stay on {expected.branch}"]
    if found.branch == expected.branch:  # only its ref was gone
        git.run("symbolic-ref", "HEAD", branch_ref)
        return [f"the branch {expected.branch} was gone; it is back"]
    ref = _keep(git, expected, f"found on {place}")
    if git.ask("checkout", "--quiet", expected.branch, "--").returncode != 0:
        git.run("checkout", "--quiet", "--force", expected.branch, "--")
    return [f"the branch was switched to {place}; back on {expected.branch}. What was there is kept as {ref}"]


def _all_new(git: Git, older: str, newer: str, since: float) -> bool:
    """Whether every commit between was made in this attempt: only then it is the agent's to bring back."""
    dates = git.run("log", "--format=%ct", f"{older}..{newer}", "--").split()
    return all(int(date) >= int(since) - 1 for date in dates)


def _bring_back(git: Git, expected: Expected, found: Look) -> list[str]:
    """Finished commits are no longer in the branch: join them with what is there, or go back to them."""
    stray = _keep(git, expected, "the branch after finished commits were dropped")
    good, ahead = expected.good, found.head
    if is_ancestor(git, ahead, good):
        _go_to(git, good)
        return [f"finished commits were dropped from the branch; they are back. What was there is kept as {stray}"]
    merged = git.ask("merge-tree", "--write-tree", ahead, good)
    tree = merged.stdout.decode(errors="replace").split("\n")[0] if merged.returncode == 0 else ""
    adds_nothing = bool(tree) and tree == git.line("rev-parse", f"{ahead}^{{tree}}")
    if adds_nothing or (not tree and _still_in(git, good, ahead)):
        git.run("update-ref", f"{stray}-before", good)
        return [
            "the branch's history was rewritten with every finished change in it or changed further;"
            f" how it was before is kept as {stray}-before"
        ]
    if tree and not found.dirty:
        message = "Bring back finished commits that were dropped from the branch"
        _go_to(git, git.line("commit-tree", tree, "-p", ahead, "-p", good, "-m", message, env=WHO))
        return ["the branch's history was rewritten and finished commits were dropped; they have been merged back"]
    _go_to(git, good)
    return [
        "the branch's history was rewritten against finished commits; they are back,"
        f" and the rewritten one is kept as {stray}"
    ]


def _go_to(git: Git, commit: str) -> None:
    """The branch, the index and the files; what is lost by it has been kept before."""
    if git.ask("reset", "--quiet", "--keep", commit).returncode != 0:
        git.run("reset", "--quiet", "--hard", commit)


def _still_in(git: Git, good: str, ahead: str) -> bool:
    """Whether every line that the dropped commits added still stands in its file, where no merge can tell."""
    base = git.ask("merge-base", good, ahead)
    if base.returncode != 0:
        return False
    start = base.stdout.decode().strip()
    finished, rewritten = differing(git, start, good), differing(git, start, ahead)
    return all(path in rewritten and _lines_stand(git, path, start, good, ahead) for path in finished)


def _lines_stand(git: Git, path: str, start: str, good: str, ahead: str) -> bool:
    before, finished, now = (
        Counter(git.ask("cat-file", "blob", f"{commit}:{path}").stdout.splitlines()) for commit in (start, good, ahead)
    )
    return finished - before <= now
