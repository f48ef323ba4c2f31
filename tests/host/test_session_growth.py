"""What one attempt left in the session files: its tokens, and how much the files of its project grew."""

import sqlite3
from pathlib import Path

import pytest

from ralphloop.agents.sessions.table import CLAUDE, reader_of
from ralphloop.core.event import Tokens
from ralphloop.host.session_growth import HEAD, recorded, size_of
from sessions import Folder, answer

NOON = 1_767_787_200.0
WORKTREE = "/home/you/project"


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def tokens(folder: Folder, session: str = "s", since: float = 0) -> Tokens | None:
    return recorded(CLAUDE, str(folder.path), WORKTREE, session, since)


def line(name: str, output: int = 50, *, session: str = "s", cwd: str = WORKTREE, minute: int = 0) -> str:
    return answer(name, output, session=session, cwd=cwd, at=f"2026-01-07T12:{minute:02}:00Z")


def test_the_tokens_of_a_session_since_a_moment(folder: Folder) -> None:
    content = line("m", 1) + line("m", 20) + line("n", 3, minute=5) + line("o", 4, session="t")
    folder.file("s", "-home-you-project").write_text(content)
    assert tokens(folder) == Tokens(20, 23)
    assert tokens(folder, since=NOON + 1) == Tokens(10, 3)
    assert tokens(folder, session="") == Tokens(30, 27)


def test_what_is_not_told_is_unknown(folder: Folder) -> None:
    assert tokens(folder) is None
    file = folder.file("s", "-home-you-project")
    file.write_text(line("m"))
    assert tokens(folder, session="another") is None
    assert tokens(folder, since=NOON + 1) is None
    file.unlink()
    file.symlink_to(file)
    assert tokens(folder) is None


def test_a_helper_s_file_and_another_name_of_the_folder_are_found(folder: Folder) -> None:
    folder.file("s/subagents/agent-1", "-home-you-project").write_text(line("m", 1))
    folder.file("s", "-home-you-project").write_text(line("n", 2))
    assert tokens(folder) == Tokens(20, 3)
    folder.file("u", "named-otherwise").write_text(line("o", 4, session="u"))
    assert tokens(folder, session="u") == Tokens(10, 4)


def test_answers_with_the_same_name_in_other_sessions_are_others(folder: Folder) -> None:
    for session in ("s", "t"):
        told = answer("m", session=session, cwd=WORKTREE, requestId=None)
        folder.file(session, "-home-you-project").write_text(told)
    assert tokens(folder) == Tokens(10, 50)
    assert tokens(folder, session="") == Tokens(20, 100)


def test_the_size_is_that_of_this_project_alone(folder: Folder) -> None:
    mine, deeper = folder.file("s", "-home-you-project"), folder.file("d", "-home-you-project-deeper")
    other = folder.file("o", "-home-you-project-2")
    mine.write_text(line("m"))
    deeper.write_text(line("m", cwd=f"{WORKTREE}/deeper"))
    other.write_text(line("m", cwd=f"{WORKTREE}-2"))
    before = size_of(CLAUDE, str(folder.path), WORKTREE)
    assert before == mine.stat().st_size + deeper.stat().st_size
    with mine.open("a") as stream:
        stream.write("x" * 400)
    with other.open("a") as stream:
        stream.write("x" * 4000)
    assert size_of(CLAUDE, str(folder.path), WORKTREE) - before == 400
    assert size_of(CLAUDE, str(folder.path / "none"), WORKTREE) == 0


def test_a_file_that_does_not_say_yet_whose_it_is_is_looked_at_again(folder: Folder) -> None:
    known: dict[bytes, bool] = {}
    mine, long = folder.file("s", "-home-you-project"), folder.file("o", "-home-you-project-2")
    mine.write_text('{"type":"summary"}\n')
    long.write_text("x" * HEAD)
    folder.file("e", "-home-you-project-2").write_text(line("m", cwd="/elsewhere"))
    assert size_of(CLAUDE, str(folder.path), WORKTREE, known) == 0
    assert list(known.values()) == [False, False], "of the others it is known"
    with mine.open("a") as stream:
        stream.write(line("m"))
    assert size_of(CLAUDE, str(folder.path), WORKTREE, known) == mine.stat().st_size


def test_a_worktree_that_is_reached_by_a_link(folder: Folder, tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    link.symlink_to(real)
    name = "".join(letter if letter.isalnum() else "-" for letter in str(real))
    folder.file("s", name).write_text(line("m", cwd=str(real)))
    assert size_of(CLAUDE, str(folder.path), str(link)) > 0
    assert recorded(CLAUDE, str(folder.path), str(link), "", 0) == Tokens(10, 50)


def test_gemini_tells_the_project_beside_the_file(tmp_path: Path) -> None:
    reader = reader_of("gemini")
    assert reader is not None
    for name, project in (("a", WORKTREE), ("b", "/elsewhere")):
        chats = tmp_path / "tmp" / name / "chats"
        chats.mkdir(parents=True)
        (tmp_path / "tmp" / name / ".project_root").write_text(project)
        (chats / "session-1.jsonl").write_bytes(
            (Path(__file__).parent.parent / "agents" / "sessions" / "gemini.jsonl").read_bytes()
        )
    size = (tmp_path / "tmp" / "a" / "chats" / "session-1.jsonl").stat().st_size
    assert size_of(reader, str(tmp_path), WORKTREE) == size
    assert recorded(reader, str(tmp_path), WORKTREE, "", 0) == Tokens(600, 70, 400)


def test_a_database_of_all_projects(tmp_path: Path) -> None:
    reader = reader_of("opencode")
    assert reader is not None
    base = sqlite3.connect(tmp_path / "opencode.db")
    base.execute("CREATE TABLE message (id, session_id, time_created, time_updated, data)")
    for name, project in (("a", WORKTREE), ("b", "/elsewhere")):
        data = f'{{"tokens":{{"input":5,"output":1}},"path":{{"cwd":"{project}"}}}}'
        base.execute("INSERT INTO message VALUES (?, ?, 1767787200000, 0, ?)", (name, f"ses_{name}", data))
    base.commit()
    base.close()
    assert size_of(reader, str(tmp_path), WORKTREE) == 0, "nobody goes through all of it before every attempt"
    assert recorded(reader, str(tmp_path), WORKTREE, "ses_a", 0) == Tokens(5, 1)
    assert recorded(reader, str(tmp_path), WORKTREE, "", 0) == Tokens(5, 1)
