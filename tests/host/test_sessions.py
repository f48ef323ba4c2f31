"""Session files read with an index come to what they come to without one, whatever happens to them in between."""

import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from place import ROOT
from ralphloop.agents.sessions.table import reader_of
from ralphloop.core.event import Tokens
from ralphloop.host import pieces, session_file
from ralphloop.host.sessions import Shelf, look
from sessions import Folder, answer, told, total


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def test_each_answer_counts_once(folder: Folder) -> None:
    folder.file("a").write_text(answer("m", 1) + answer("m", 50) + answer("n", 7))
    assert folder.same() == Tokens(20, 57)


def test_what_a_file_gains_is_all_that_is_read(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    file = folder.file("a")
    file.write_text("".join(answer(f"m{n}", session="x" * 100) for n in range(1000)))
    assert folder.tokens() == Tokens(10_000, 50_000)
    size, read = file.stat().st_size, list[int]()
    os.utime(file, (1, 1))

    def pread(descriptor: int, count: int, offset: int, /) -> bytes:
        data = real(descriptor, count, offset)
        read.append(len(data))
        return data

    real = os.pread
    monkeypatch.setattr(os, "pread", pread)
    with file.open("a") as stream:
        stream.write(answer("m999", 60) + answer("new", 5))
    assert folder.tokens() == Tokens(10_010, 50_015)
    assert sum(read) < size // 2


def test_nothing_is_opened_when_nothing_has_changed(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    file = folder.file("a")
    file.write_text(answer("m"))
    folder.tokens()
    # what was written just before it was read is looked at once more
    index = next(folder.cache.iterdir())
    monkeypatch.setattr(session_file, "RACY", -(10**18))
    folder.tokens()
    before = index.stat().st_mtime_ns
    monkeypatch.setattr(session_file, "read", None)
    assert folder.tokens() == Tokens(10, 50)
    assert index.stat().st_mtime_ns == before


def test_a_file_that_grows_is_the_same_at_every_byte(folder: Folder) -> None:
    content = (answer("m", 1) + answer("m", 50) + "\n{}\n" + answer("n", 7)).encode()
    file = folder.file("a")
    for size in range(len(content) + 1):
        with file.open("ab") as stream:
            stream.write(content[size - 1 : size] if size else b"")
        folder.same()
    assert folder.same() == Tokens(20, 57)


def test_a_file_that_shrinks_is_the_same_at_every_byte(folder: Folder) -> None:
    content = (answer("m", 1) + answer("m", 50) + answer("n", 7)).encode()
    file = folder.file("a")
    file.write_bytes(content)
    for size in range(len(content), -1, -1):
        os.truncate(file, size)
        folder.same()
    assert folder.same() == Tokens()


def test_an_older_answer_that_gets_another_line_has_the_file_read_anew(folder: Folder) -> None:
    file = folder.file("a")
    file.write_text("".join(answer(f"m{n}") for n in range(session_file.RECENT * 3)))
    folder.same()
    with file.open("a") as stream:
        stream.write(answer("m0", 70))
    assert folder.same().output == session_file.RECENT * 3 * 50 + 20


def test_a_session_that_goes_on_in_another_file_counts_once(folder: Folder) -> None:
    folder.file("a").write_text(answer("m") + answer("n"))
    folder.same()
    folder.file("b", "-q").write_text(answer("m", session="t") + answer("n", 60, session="t") + answer("o"))
    assert folder.same() == Tokens(30, 160)
    with folder.file("a").open("a") as stream:
        stream.write(answer("o", 70) + answer("p"))
    assert folder.same() == Tokens(40, 230)
    folder.file("b", "-q").unlink()
    assert folder.same() == Tokens(40, 220)


def test_a_file_put_in_the_place_of_another(folder: Folder) -> None:
    file = folder.file("a")
    file.write_text(answer("m") + answer("n"))
    folder.same()
    other = file.with_name("other")
    other.write_text(answer("x", 1) + answer("n") + answer("o"))
    other.rename(file)
    assert folder.same() == Tokens(30, 101)
    file.write_text(answer("y", 2) + answer("n") + answer("o"))
    assert folder.same() == Tokens(30, 102)


Step = tuple[str, int, int]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["append", "tear", "end", "truncate", "rewrite", "rotate", "delete", "copy", "spoil"]),
        st.integers(0, 2),
        st.integers(0, 12),
    ),
    min_size=1,
    max_size=12,
)


def apply(folder: Folder, step: Step) -> None:
    what, which, number = step
    file, other = folder.file(f"f{which}"), folder.file(f"f{(which + 1) % 3}")
    content = file.read_bytes() if file.exists() else b""
    line = answer(f"m{number}", 10 + which + number, session=f"s{which}", at=f"2026-01-07T12:{number * 4:02}:00Z")
    match what:
        case "append":
            file.write_bytes(content + line.encode() * (1 + number % 2))
        case "tear":
            with file.open("ab") as stream:
                stream.write(line.encode()[: 20 * number])
        case "end":
            with file.open("ab") as stream:
                stream.write(line.encode().rstrip())
        case "truncate":
            file.write_bytes(content)
            os.truncate(file, len(content) * number // 13)
        case "rewrite":
            file.write_bytes(content[len(content) // 2 :] + line.encode())
        case "rotate":
            if file.exists():
                file.replace(other)
        case "delete":
            file.unlink(missing_ok=True)
        case "copy":
            other.write_bytes(content)
        case "spoil":
            if content:
                at = (len(content) - 1) * number // 12
                file.write_bytes(content[:at] + b"\x00" + content[at + 1 :])


@given(STEPS)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_happens_the_index_changes_nothing(folder: Folder, steps: list[Step]) -> None:
    shutil.rmtree(folder.path, ignore_errors=True)
    for step in steps:
        apply(folder, step)
        folder.same()


@given(STEPS, st.integers(0, 60), st.integers(0, 60))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_windows_to_the_second(folder: Folder, steps: list[Step], since: int, until: int) -> None:
    shutil.rmtree(folder.path, ignore_errors=True)
    for step in steps:
        apply(folder, step)
    noon = 1_767_787_200.0
    first, end = noon + since * 60 + 1, noon + until * 60 + 1
    parts = [folder.tokens(until=first), folder.tokens(since=first, until=end), folder.tokens(since=max(first, end))]
    if first <= end:
        assert parts[0] + parts[1] + parts[2] == folder.tokens(cold=True)
    assert parts[1] == folder.tokens(cold=True, since=first, until=end)


def spoil(index: Path, how: str) -> None:
    content = index.read_bytes()
    match how:
        case "gone":
            index.unlink()
        case "a folder":
            index.unlink()
            index.mkdir()
        case "a file in the place of the folder":
            shutil.rmtree(index.parent)
            index.parent.write_text("")
        case "half":
            os.truncate(index, len(content) // 2)
        case "one byte":
            index.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        case "another version":
            index.write_bytes(content.replace(b"index 1", b"index 0"))
        case _:
            index.write_bytes(how.encode() * 100)


@pytest.mark.parametrize(
    "how", ["gone", "a folder", "a file in the place of the folder", "half", "one byte", "another version", "", "x\n"]
)
def test_an_index_that_is_damaged_or_gone_is_made_anew(folder: Folder, how: str) -> None:
    folder.file("a").write_text(answer("m") + answer("n"))
    folder.tokens()
    spoil(next(folder.cache.iterdir()), how)
    assert folder.same() == folder.same() == Tokens(20, 100)


def test_an_index_cut_anywhere_is_none(folder: Folder) -> None:
    folder.file("a").write_text(answer("m"))
    folder.tokens()
    index = next(folder.cache.iterdir())
    content = index.read_bytes()
    for size in range(len(content)):
        index.write_bytes(content[:size])
        assert folder.tokens() == Tokens(10, 50)


def test_a_file_that_cannot_be_read_is_named_and_hides_no_other(folder: Folder) -> None:
    folder.file("a").write_text(answer("m"))
    circle = folder.file("circle")
    circle.symlink_to(circle.name)
    sessions = folder.look()
    assert total(sessions) == Tokens(10, 50)
    (trouble,) = sessions.troubles
    assert (trouble.path, trouble.lines) == (str(circle), 0)
    assert "symbolic links" in trouble.why


def test_what_is_no_file_is_left_alone(folder: Folder) -> None:
    folder.file("a").write_text(answer("m"))
    folder.file("folder").mkdir()
    os.mkfifo(folder.file("pipe"))
    assert folder.same() == Tokens(10, 50)
    assert folder.look().troubles == []


def test_lines_that_cannot_be_read_are_counted(folder: Folder) -> None:
    file = folder.file("a")
    file.write_text(answer("m") + answer("n")[:60] + ',"usage":\n' + answer("o"))
    sessions = folder.look()
    assert total(sessions) == Tokens(20, 100)
    assert [(one.path, one.lines) for one in sessions.troubles] == [(str(file), 1)]
    folder.same()


def test_a_line_without_an_end_takes_no_memory_and_hides_nothing_after_it(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pieces, "BLOCK", 256)
    monkeypatch.setattr(pieces, "LONGEST", 1000)
    file = folder.file("a")
    file.write_text(answer("m") + "x" * 5000)
    assert folder.same() == Tokens(10, 50)
    with file.open("a") as stream:
        stream.write("x" * 3000 + "\n" + answer("n"))
    assert folder.same() == Tokens(20, 100)
    assert [one.lines for one in folder.look().troubles] == [1]


def test_a_file_that_goes_while_it_is_read_is_gone(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.file("a").write_text(answer("m"))
    folder.file("b").write_text(answer("n"))
    real = os.open

    def opened(path: str | bytes, *more: int, **named: int) -> int:
        if os.fsdecode(path).endswith("b.jsonl"):
            folder.file("b").unlink()
        return real(path, *more, **named)

    monkeypatch.setattr(os, "open", opened)
    sessions = folder.look()
    assert (total(sessions), sessions.troubles) == (Tokens(10, 50), [])


LOOK = """
import sys
sys.path[:0] = sys.argv[2:]
from pathlib import Path
from sessions import Folder
print(Folder(Path(sys.argv[1])).tokens())
"""


def test_two_at_once(folder: Folder, tmp_path: Path) -> None:
    for n in range(30):
        folder.file(f"f{n}").write_text("".join(answer(f"m{n}-{k}") for k in range(200)))
    argv = [sys.executable, "-c", LOOK, str(tmp_path), str(ROOT / "src"), str(ROOT / "tests")]
    for _ in range(3):
        both = [subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) for _ in range(4)]
        outs = {process.communicate(timeout=60)[0] for process in both}
        assert outs == {f"{Tokens(60_000, 300_000)}\n"}
        with folder.file("f0").open("a") as stream:
            stream.write(answer("m0-0"))
    folder.same()


def test_work_shared_out_among_processes_comes_to_the_same(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    for n in range(9):
        folder.file(f"f{n}").write_text("".join(answer(f"m{n}-{k}") for k in range(50 * n)))
    circle = folder.file("circle")
    circle.symlink_to(circle.name)
    alone = folder.look(cold=True)
    monkeypatch.setattr("ralphloop.host.sessions.WORTH_A_PROCESS", 1)
    monkeypatch.setattr("ralphloop.host.crew._alone", lambda: True)
    together = folder.look(cold=True)
    assert told(together) == told(alone)
    assert together.troubles == alone.troubles


def test_a_child_that_dies_has_its_share_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    from ralphloop.host import crew

    ours = os.getpid()

    def work(number: int) -> bytes:
        if os.getpid() != ours and number > 3:
            os._exit(9)
        return str(number).encode()

    monkeypatch.setattr(crew, "_alone", lambda: True)
    monkeypatch.setattr(crew, "_processors", lambda: 3)
    assert crew.shared_out(range(9), [1] * 9, work, worth=1) == [str(n).encode() for n in range(9)]


def test_folders_that_are_links_to_one_another_are_read_once(folder: Folder, tmp_path: Path) -> None:
    folder.file("a").write_text(answer("m"))
    (tmp_path / "link").symlink_to(folder.path)
    reader = reader_of("claude")
    assert reader is not None
    found = look([Shelf(reader, (str(folder.path), str(tmp_path / "link"), str(tmp_path / "none")))], None)
    assert (found.files, total(found)) == (1, Tokens(10, 50))


def database(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    base = sqlite3.connect(path)
    base.execute("PRAGMA journal_mode=WAL")
    base.execute("CREATE TABLE IF NOT EXISTS message (id, session_id, time_created, time_updated, data)")
    return base


def test_a_database_that_is_being_written(tmp_path: Path) -> None:
    reader = reader_of("opencode")
    assert reader is not None
    base = database(tmp_path / "data" / "opencode.db")
    shelf, cache = Shelf(reader, (str(tmp_path / "data"),)), tmp_path / "cache"
    for n in range(1, 4):
        data = '{"role":"assistant","modelID":"m","tokens":{"input":5,"output":1},"cost":0.5,"path":{"cwd":"/p"}}'
        base.execute("INSERT INTO message VALUES (?, 's', 1767787200000, 0, ?)", (f"msg_{n}", data))
        base.execute("INSERT INTO message VALUES (?, 's', 1767787200000, 0, '{\"role\":\"user\"}')", (f"u{n}",))
        base.commit()
        assert total(look([shelf], cache)) == total(look([shelf], None)) == Tokens(5 * n, n)
    base.close()
    (tmp_path / "data" / "opencode.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 4000)
    (trouble,) = look([shelf], cache).troubles
    assert "cannot be read" in trouble.why and trouble.path.endswith("opencode.db")


def test_names_that_are_no_text(folder: Folder) -> None:
    name = os.fsdecode(os.fsencode(folder.file("a").parent) + b"/\xff.jsonl")
    Path(name).write_text(answer("m"))
    assert folder.same() == folder.same() == Tokens(10, 50)
