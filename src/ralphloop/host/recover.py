"""Objects that are needed and that git has lost: those, and no others, are brought back from the vault."""

from pathlib import Path

from ralphloop.host.git import Git, Repository

EVERYTHING, INDEX = "every ref and reflog", "the index"
OPTIONS = {EVERYTHING: ("--all", "--reflog"), INDEX: ("--indexed-objects",)}
LOCAL = {"GIT_NO_LAZY_FETCH": "1"}
WALK = ("rev-list", "--objects", "--exclude-promisor-objects")


def reachable(git: Git, *roots: str, but: str = "") -> bool:
    """Whether git finds every object that these stand on, `but` those which a commit stands on that it does find."""
    options, words = _from(roots)
    return (
        git.ask(*WALK, "--quiet", *options, env=LOCAL, stdin=words + (f"^{but}\n".encode() if but else b"")).returncode
        == 0
    )


def bring_back(git: Git, repository: Repository, vault: Path, *roots: str) -> int:
    """Have git find what these stand on, as far as the vault holds it; how many objects that took."""
    options, words = _from(roots)
    both = {**LOCAL, "GIT_ALTERNATE_OBJECT_DIRECTORIES": _quoted(str(vault / "objects"))}
    needed = git.ask(*WALK, "--no-object-names", *options, env=both, stdin=words)
    if needed.returncode != 0:
        return 0
    found = git.ask("cat-file", "--batch-check=%(objectname)", env=LOCAL, stdin=needed.stdout).stdout
    missing = [line.partition(b" ")[0] for line in found.splitlines() if line.endswith(b" missing")]
    if not missing:
        return 0
    packs = Path(repository.common_dir, "objects", "pack")
    packs.mkdir(parents=True, exist_ok=True)
    git.run("pack-objects", "-q", str(packs / "pack"), env={"GIT_DIR": str(vault)}, stdin=b"\n".join(missing) + b"\n")
    return len(missing)


def _from(roots: tuple[str, ...]) -> tuple[tuple[str, ...], bytes]:
    """Options and input for the walk."""
    options = [option for root in roots for option in OPTIONS.get(root, ())]
    return (*options, "--stdin"), "".join(f"{root}\n" for root in roots if root not in OPTIONS).encode()


def _quoted(path: str) -> str:
    """As git reads it in a list that is parted by colons."""
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"'
