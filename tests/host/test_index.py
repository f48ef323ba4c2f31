"""What stands in git's index besides content, whatever the kind of repository and the form of the index."""

from pathlib import Path

import pytest

from ralphloop.host import git, index
from ralphloop.host.git import Git
from repository import KINDS, ODD_NAMES, Repository, plain

LONG = "long/" * 50 + "name"  # shorter than what a file system takes, longer in all than 255
FORMS = {
    "version 2": "git update-index --index-version 2",
    "version 3": "echo x >intended; git add -N intended",
    "version 4": "git update-index --index-version 4",
    "split": "git update-index --split-index",
}


def seen(made: Repository) -> index.Odd:
    return index.odd(Git(str(made.path)), git.find(str(made.path)))


@pytest.mark.parametrize("kind", [name for name in KINDS if name not in ("sparse", "a submodule")])
def test_a_plain_index_has_nothing_odd(tmp_path: Path, kind: str) -> None:
    assert seen(KINDS[kind](tmp_path / "place")) == index.Odd()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("format_", ["sha1", "sha256"])
def test_every_form_is_read(tmp_path: Path, form: str, format_: str) -> None:
    made = plain(tmp_path / "place", f"--object-format={format_}")
    for name in (*ODD_NAMES, LONG, "x" * 250, "y/" * 2100 + "z"):
        made.git("update-index", "--add", "--cacheinfo", f"100644,{made.git('rev-parse', 'HEAD:first')},{name}")
    made.sh(FORMS[form])
    for option, names in (("--assume-unchanged", ODD_NAMES[::2]), ("--skip-worktree", (*ODD_NAMES[1::2], LONG))):
        for name in names:
            made.git("update-index", option, "--", name)
    made.git("update-index", "--add", "--cacheinfo", f"160000,{made.git('rev-parse', 'HEAD')},inner")
    found = seen(made)
    assert found.assumed == frozenset(ODD_NAMES[::2])
    assert found.skipped == frozenset((*ODD_NAMES[1::2], LONG))
    assert found.links == {"inner"}


def test_what_is_known_is_forgotten_with_the_index(tmp_path: Path) -> None:
    made = plain(tmp_path / "place")
    assert seen(made) == index.Odd()
    made.git("update-index", "--assume-unchanged", "first")
    assert seen(made).assumed == {"first"}
    made.git("update-index", "--no-assume-unchanged", "first")
    assert seen(made) == index.Odd()


@pytest.mark.parametrize(
    "content", [b"", b"DIRC", b"DIRC\0\0\0\2\0\0\0\x09", b"DIRC\0\0\0\2\xff\xff\xff\xff" + b"\xff" * 99]
)
def test_a_damaged_index_is_for_git_to_complain_of(tmp_path: Path, content: bytes) -> None:
    made = plain(tmp_path / "place")
    repository = git.find(str(made.path))
    (made.git_dir / "index").write_bytes(content)
    assert index.odd(Git(str(made.path)), repository) == index.Odd()
