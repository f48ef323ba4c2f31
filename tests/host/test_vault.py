"""The vault: what it takes in, what it notices, what it gives back, and what it lets go of."""

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ralphloop.host import git, object_file, objects, recover, vault
from ralphloop.host.git import Git
from ralphloop.host.object_file import copy, is_whole
from ralphloop.host.object_log import Entry, ObjectLog
from ralphloop.host.objects import Copies, Found
from ralphloop.host.places import Home
from repository import BRANCH, KINDS, Repository, plain

RUN = "refs/ralph/run"


class Kept:
    """A repository and its vault."""

    def __init__(self, made: Repository, folder: Path) -> None:
        self.made, self.home = made, Home(folder / "home")
        self.repository = git.find(str(made.path))
        self.tool = Git(str(made.path))
        self.vault = self.home.vault(self.repository.common_dir)
        self.objects = Path(self.repository.common_dir, "objects")

    def keep(self, branch: str = BRANCH, refs: str = RUN) -> None:
        time.sleep(0.03)  # what changed just now may change again: such a folder is looked at again
        vault.keep(self.tool, self.repository, self.home, branch, self.made.git("rev-parse", "HEAD"), refs)

    def look(self, *, at_all: bool = False) -> Found:
        return vault.look(self.repository, self.vault, at_all=at_all)

    def loose(self) -> list[Path]:
        return sorted(path for path in self.objects.glob("??/*"))

    def packs(self) -> list[Path]:
        return sorted((self.objects / "pack").iterdir())


@pytest.fixture(autouse=True)
def another_process() -> Iterator[Callable[[], None]]:
    """What a runner that was started anew knows: nothing."""
    vault._copies.clear()
    yield vault._copies.clear
    vault._copies.clear()


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    made = Kept(plain(tmp_path / "repository"), tmp_path)
    made.keep()
    return made


def empty(path: Path) -> None:
    """In place, as a shell does: every other name of the file has nothing in it either."""
    path.chmod(0o644)
    path.write_bytes(b"")


@pytest.mark.parametrize("kind", KINDS)
def test_a_repository_of_every_kind_is_made_anew(tmp_path: Path, kind: str) -> None:
    kept = Kept(KINDS[kind](tmp_path / "repository"), tmp_path)
    head, files = kept.made.git("rev-parse", "HEAD"), kept.made.git("ls-tree", "-r", "HEAD")
    kept.made.git("tag", "v1")
    kept.keep()
    common = Path(kept.repository.common_dir)
    shutil.rmtree(common)
    assert vault.rebuild(kept.vault, common, BRANCH, head)
    whole = Repository(tmp_path / "whole")
    subprocess.run(["git", "clone", "-q", str(common), str(whole.path)], check=True)
    assert (whole.git("rev-parse", "HEAD"), whole.git("rev-parse", "v1")) == (head, head)
    assert whole.git("ls-tree", "-r", "HEAD") == files
    assert subprocess.run(["git", "--git-dir", str(common), "fsck", "--no-dangling"], check=True)


@pytest.mark.parametrize("kind", KINDS)
def test_the_vault_is_a_sound_repository_of_its_own(tmp_path: Path, kind: str) -> None:
    kept = Kept(KINDS[kind](tmp_path / "repository"), tmp_path)
    kept.keep()
    head = kept.made.git("rev-parse", "HEAD")
    found = subprocess.run(["git", "--git-dir", str(kept.vault), "for-each-ref"], capture_output=True, check=True)
    assert f"{head} commit\trefs/heads/{vault.kept_name(BRANCH)}" in found.stdout.decode()
    assert subprocess.run(["git", "--git-dir", str(kept.vault), "fsck"], check=True)


@pytest.mark.parametrize("kind", KINDS)
def test_emptied_objects_are_noticed_and_put_back(tmp_path: Path, kind: str) -> None:
    kept = Kept(KINDS[kind](tmp_path / "repository"), tmp_path)
    kept.keep()
    for path in (*kept.loose(), *kept.packs()):
        empty(path)
    found = kept.look()
    assert not found.gone
    assert len(found.damaged) == len([path for path in (*kept.loose(), *kept.packs()) if path.suffix != ".rev"])
    assert vault.put_back(kept.repository, kept.vault, found.damaged) == len(found.damaged)
    assert kept.made.sound()
    assert not kept.look()


DAMAGE = {
    "emptied": ": > $f",
    "cut": "truncate -s 10 $f",
    "appended to": "echo more >> $f",
    "written over": "tr '\\000-\\377' x < $f > x; cat x > $f",
    "replaced": "rm $f; echo rubbish > $f",
    "a link to nothing": "rm $f; ln -s nowhere $f",
    "a folder": "rm $f; mkdir $f",
    "a pipe": "rm $f; mkfifo $f",
}


@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize("how", DAMAGE)
def test_every_damage_to_one_object_is_noticed(
    kept: Kept, how: str, restarted: bool, another_process: Callable[[], None]
) -> None:
    kept.made.sh(f"f={kept.loose()[0]}; chmod u+w $f; {DAMAGE[how]}")
    if restarted:
        another_process()
    found = kept.look()
    assert len(found.damaged) == 1 and not found.gone
    assert vault.put_back(kept.repository, kept.vault, found.damaged) == 1
    assert kept.made.sound()


def test_what_git_itself_renews_is_no_damage(kept: Kept) -> None:
    for path in kept.loose():
        os.utime(path)
    assert not kept.look()
    kept.made.git("gc", "-q")
    kept.keep()
    for path in kept.packs():
        os.utime(path)
    kept.made.git("repack", "-adq")
    assert not kept.look(at_all=True).damaged


def test_an_object_that_git_packed_differently_is_no_damage(kept: Kept) -> None:
    """The same object, and another file."""
    [name] = [path for path in kept.loose() if is_whole(f"{path.parent.name}/{path.name}", str(path))][:1]
    blob = f"{name.parent.name}{name.name}"
    kind, content = kept.made.git("cat-file", "-t", blob), name.read_bytes()
    kept.made.sh(f"git cat-file {kind} {blob} >x; rm -f {name}; git -c core.compression=0 hash-object -t {kind} -w x")
    assert name.read_bytes() != content
    assert not kept.look(at_all=True)


def test_an_object_that_was_never_whole_is_not_taken_and_goes_out_of_the_way(kept: Kept) -> None:
    name = kept.objects / "ab" / ("c" * 38)
    name.parent.mkdir(exist_ok=True)
    name.write_bytes(b"rubbish")
    found = kept.look()
    assert found.damaged == (f"ab/{'c' * 38}",)
    assert vault.put_back(kept.repository, kept.vault, found.damaged) == 0
    assert not name.exists()
    assert (kept.objects.parent / "objects.damaged" / f"ab-{'c' * 38}").read_bytes() == b"rubbish"


def test_what_comes_between_two_looks_is_kept(kept: Kept) -> None:
    kept.made.commit("new", "new\n")
    assert not kept.look()
    for path in kept.loose():
        empty(path)
    found = kept.look()
    assert vault.put_back(kept.repository, kept.vault, found.damaged) == len(kept.loose())
    assert kept.made.sound()


def test_what_was_emptied_and_then_deleted_is_brought_back(kept: Kept) -> None:
    """The vault's link has nothing in it any more; its log has."""
    for path in kept.loose():
        empty(path)
        path.unlink()
    assert kept.look().gone
    head = (kept.made.path / ".git" / "refs" / "heads" / BRANCH).read_text().strip()
    assert not recover.reachable(kept.tool, head)
    assert recover.bring_back(kept.tool, kept.repository, kept.vault, head) > 0
    assert kept.made.sound()


def test_only_what_is_needed_is_brought_back(kept: Kept) -> None:
    secret = kept.made.sh("printf secret | git hash-object -w --stdin").strip()
    kept.keep()
    for path in kept.loose():
        path.unlink()
    assert kept.look().gone
    recover.bring_back(kept.tool, kept.repository, kept.vault, recover.EVERYTHING)
    assert kept.made.sound()
    assert kept.made.git("cat-file", "-t", secret, check=False) == ""


@pytest.mark.parametrize("restarted", [False, True])
def test_what_is_dropped_is_nowhere_any_more(kept: Kept, restarted: bool, another_process: Callable[[], None]) -> None:
    secret = kept.made.sh("printf secret | git hash-object -w --stdin").strip()
    kept.keep()
    kept.made.git("gc", "-q", "--prune=now")
    found = kept.look()
    assert f"{secret[:2]}/{secret[2:]}" in found.gone
    vault.drop(kept.repository, kept.vault, found.gone, RUN)
    if restarted:
        another_process()
    kept.keep()
    assert not kept.look(at_all=True)
    assert not list((kept.vault / "objects").glob("??/*")), "all of it is packed"
    assert b"secret" not in b"".join(path.read_bytes() for path in kept.vault.rglob("*") if path.is_file())
    assert not (kept.vault / "objects.log").exists()
    for path in kept.packs():
        empty(path)
    assert vault.put_back(kept.repository, kept.vault, kept.look().damaged) >= 2
    assert kept.made.sound()


def test_what_another_loop_may_need_is_spared_and_said_once(kept: Kept) -> None:
    kept.made.sh("printf secret | git hash-object -w --stdin")
    kept.keep()
    kept.made.git("gc", "-q", "--prune=now")
    found = kept.look()
    vault.spare(kept.repository, kept.vault, found.gone)
    assert not kept.look()
    assert list((kept.vault / "objects").glob("??/*"))


def test_the_last_good_heads_of_loops_that_may_live(kept: Kept) -> None:
    first = kept.made.git("rev-parse", "HEAD")
    kept.made.commit("second")
    kept.keep("feature/x/deeper")
    second = kept.made.git("rev-parse", "HEAD")
    assert sorted(vault.heads(kept.vault)) == sorted([first, second])
    old = time.time() - vault.HEADS_KEPT_FOR - 60
    os.utime(kept.vault / "refs" / "heads" / vault.kept_name(BRANCH), (old, old))
    assert vault.heads(kept.vault) == [second]


def test_a_branch_and_one_below_its_name_are_kept_one_after_the_other(kept: Kept) -> None:
    kept.made.sh("git branch -m a")
    kept.keep("a")
    kept.made.sh("git branch -m a/b")
    kept.keep("a/b")
    (kept.vault / "of-repository" / "packed-refs").unlink()
    kept.keep("a/b")
    head = kept.made.git("rev-parse", "HEAD")
    shutil.rmtree(kept.objects.parent)
    assert vault.rebuild(kept.vault, kept.objects.parent, "a/b", head)
    assert kept.made.git("for-each-ref", "--format=%(refname)") == "refs/heads/a/b"


def test_packed_refs_and_loose_ones_come_back(kept: Kept) -> None:
    kept.made.sh("git tag -am one one; git branch ümlaut; git pack-refs --all; git tag two; git stash -q || true")
    (kept.vault / "of-repository" / "packed-refs").unlink()
    kept.made.git("update-ref", f"{RUN}/before-1", "HEAD~1")
    kept.keep()
    before = kept.made.git("for-each-ref")
    shutil.rmtree(kept.objects.parent)
    assert vault.rebuild(kept.vault, kept.objects.parent, BRANCH, kept.repository.head)
    assert kept.made.git("for-each-ref") == before
    assert vault.kept_under(kept.vault, RUN) == [kept.made.git("rev-parse", "HEAD~1")]


def test_refs_that_are_rubbish_are_written_over_and_others_are_left(kept: Kept) -> None:
    head = kept.repository.head
    (kept.objects.parent / "refs" / "heads" / BRANCH).write_bytes(b"\xff\xfe rubbish")
    kept.made.git("update-ref", "refs/heads/other", head)
    vault.put_back_refs(kept.vault, kept.objects.parent, BRANCH, head)
    assert kept.made.git("rev-parse", BRANCH, "other") == f"{head}\n{head}"


def test_with_little_known_nothing_is_made(tmp_path: Path, kept: Kept) -> None:
    assert not vault.rebuild(tmp_path / "no vault", tmp_path / "x", BRANCH, kept.repository.head)
    assert not vault.rebuild(kept.vault, kept.objects.parent, BRANCH, kept.repository.head), "one stands there"
    assert kept.made.sound()


@pytest.mark.parametrize("what", ["large", "another disk"])
def test_what_is_large_or_cannot_be_linked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    def refuse(*_: object) -> None:
        raise OSError("another disk")

    monkeypatch.setattr(objects, "SMALL", 100)
    if what == "another disk":
        monkeypatch.setattr(os, "link", refuse)
    kept = Kept(plain(tmp_path / "repository"), tmp_path)
    kept.made.commit("large", os.urandom(4000).hex())
    kept.keep()
    for path in kept.loose():
        empty(path)
    found = kept.look()
    assert vault.put_back(kept.repository, kept.vault, found.damaged) == len(kept.loose())
    assert kept.made.sound()


def test_what_is_too_large_for_a_copy_is_linked_and_its_damage_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = Kept(KINDS["packed"](tmp_path / "repository"), tmp_path)
    monkeypatch.setattr(object_file, "LARGEST_COPY", 100)
    kept.keep()
    [pack] = (kept.objects / "pack").glob("*.pack")
    assert (kept.vault / "objects" / "pack" / pack.name).samefile(pack)
    empty(pack)
    found = kept.look()
    assert found.damaged == (f"pack/{pack.name}",)
    assert vault.put_back(kept.repository, kept.vault, found.damaged) == 0
    shutil.rmtree(kept.objects / "pack")
    assert kept.look().gone


def test_a_vault_that_somebody_removed_is_made_again(kept: Kept) -> None:
    shutil.rmtree(kept.vault)
    assert not kept.look()
    kept.keep()
    for path in kept.loose():
        path.unlink()
    assert len(kept.look().gone) == 7


def test_an_index_is_not_taken_before_its_pack(kept: Kept) -> None:
    kept.made.git("gc", "-q")
    [pack] = (kept.objects / "pack").glob("*.pack")
    aside = pack.rename(kept.objects / "aside")
    assert not kept.look().damaged
    assert not list((kept.vault / "objects" / "pack").iterdir())
    aside.rename(pack)
    kept.look()
    assert sorted(path.suffix for path in (kept.vault / "objects" / "pack").iterdir()) == [".idx", ".pack"]


def test_vaults_of_repositories_that_are_long_gone_are_removed(tmp_path: Path, kept: Kept) -> None:
    def another(name: str) -> None:
        Kept(plain(tmp_path / name), tmp_path).keep()

    shutil.rmtree(kept.made.path)
    another("two")
    mark = kept.vault / "of-repository" / "gone"
    assert mark.exists()
    another("three")
    assert kept.vault.exists(), "it has not been gone for long"
    os.utime(mark, (0, time.time() - vault.VAULTS_KEPT_FOR - 60))
    another("four")
    assert not kept.vault.exists()
    assert len(list(kept.vault.parent.iterdir())) == 3


def test_a_repository_that_came_back_keeps_its_vault(tmp_path: Path, kept: Kept) -> None:
    moved = kept.made.path.rename(tmp_path / "elsewhere")
    Kept(plain(tmp_path / "two"), tmp_path).keep()
    moved.rename(kept.made.path)
    os.utime(kept.vault / "of-repository" / "gone", (0, 0))
    Kept(plain(tmp_path / "three"), tmp_path).keep()
    assert kept.vault.exists()
    assert not (kept.vault / "of-repository" / "gone").exists()


def test_a_torn_end_of_the_log_is_cut_off(tmp_path: Path) -> None:
    log = ObjectLog(tmp_path / "log")
    entries = [Entry(f"ab/{n}", (3, n), b"a\nb") for n in range(3)]
    log.append(entries[:2])
    whole = log.path.stat().st_size
    for cut in range(1, len(entries[2].encoded)):
        with log.path.open("ab") as stream:
            stream.write(entries[2].encoded[:cut])
        assert list(log.entries()) == entries[:2]
        assert log.path.stat().st_size == whole
    log.append(entries[2:])
    log.keep_only({"ab/0", "ab/2"})
    assert list(log.entries()) == [entries[0], entries[2]]
    log.keep_only(set())
    assert list(log.entries()) == []


def test_a_runner_that_died_between_link_and_log_leaves_no_shared_file(
    kept: Kept, another_process: Callable[[], None]
) -> None:
    (kept.vault / "objects.log").unlink()
    another_process()
    kept.keep()
    for path in kept.loose():
        empty(path)
    found = kept.look()
    assert vault.put_back(kept.repository, kept.vault, found.damaged) == len(kept.loose())
    assert kept.made.sound()


def test_only_some_files_are_looked_at_each_time_and_all_in_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(objects, "NEWEST", 2)
    monkeypatch.setattr(objects, "OTHERS", 3)
    kept = Kept(plain(tmp_path / "repository"), tmp_path)
    for n in range(10):
        kept.made.commit(f"file-{n}", f"{n}\n")
    kept.keep()
    kept.look()
    looked_at: list[str] = []

    def noting(path: str) -> object_file.Print:
        looked_at.append(path)
        return object_file.print_of(path)

    monkeypatch.setattr(objects, "print_of", noting)
    counts = []
    for _ in range(len(kept.loose()) // 3 + 1):
        before = len(looked_at)
        kept.look()
        counts.append(len(looked_at) - before)
    assert max(counts) <= 5
    assert {Path(path) for path in looked_at} == set(kept.loose())


@pytest.mark.parametrize("kind", ["plain", "packed", "sha256"])
def test_a_file_is_copied_only_when_it_is_whole(tmp_path: Path, kind: str) -> None:
    kept = Kept(KINDS[kind](tmp_path / "repository"), tmp_path)
    names = [str(path.relative_to(kept.objects)) for path in (*kept.loose(), *kept.packs()) if path.suffix != ".rev"]
    for name in names:
        source, target = kept.objects / name, tmp_path / "target"
        content = source.read_bytes()
        assert copy(name, str(source), str(target)) == object_file.print_of(str(target))
        assert target.read_bytes() == content
        target.unlink()
        for wrong in (b"", content[:-1], content + b"x", content[:20] + b"?" + content[21:]):
            source.unlink()
            source.write_bytes(wrong)
            if wrong != content:
                assert copy(name, str(source), str(target)) is None, (name, wrong)
                assert not target.exists()
        assert not list(tmp_path.glob("tmp_obj*"))


def test_two_copies_of_a_large_object_pass_through_little_memory(kept: Kept) -> None:
    """What unpacks to a hundred times its size is read piece by piece."""
    kept.made.commit("zeros", "0" * (64 << 20))
    copies = Copies(str(kept.objects), str(kept.vault / "objects"))
    assert not copies.take()
