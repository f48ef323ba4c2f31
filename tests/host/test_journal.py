"""A journal on disk: torn at every byte it is still a journal."""

import os
from pathlib import Path

import pytest

from ralphloop.core.errors import DamagedProblem
from ralphloop.core.policy import Policy
from ralphloop.core.record import Record, Reserved, Started, Waiting, Wished, encode
from ralphloop.host.journal import Journal, read, read_from

RECORDS: list[Record] = [
    Started(1.5, "run", "/w\n", "f", "b", "s", "claude", Policy(), "h", "what\u2028é"),
    Reserved(2, 3, 4.0),
    Waiting(3, "rate", 9.25, 100),
    Wished(4, "id", "tell", 'say "hello"\n\x00'),
]


def written(path: Path, records: list[Record]) -> bytes:
    journal = Journal(path)
    for record in records:
        journal.append(record)
    journal.close()
    return path.read_bytes()


def test_what_was_written_is_read(tmp_path: Path) -> None:
    content = written(tmp_path / "run" / "journal.jsonl", RECORDS)
    assert content.count(b"\n") == len(RECORDS)
    assert list(read(tmp_path / "run" / "journal.jsonl")) == RECORDS


def test_torn_at_every_byte_the_whole_lines_stay_and_more_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    content = written(path, RECORDS)
    for size in range(len(content)):
        path.write_bytes(content[:size])
        whole = content[:size].count(b"\n")
        assert list(read(path)) == RECORDS[:whole]
        written(path, [RECORDS[1]])
        assert list(read(path)) == [*RECORDS[:whole], RECORDS[1]]


def test_a_follower_reads_on_from_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    written(path, RECORDS[:2])
    seen = list(read_from(path, 0))
    written(path, RECORDS[2:])
    assert [record for record, _ in read_from(path, seen[-1][1])] == RECORDS[2:]


@pytest.mark.parametrize(
    "line",
    [
        b"\x00\x00\x00\n",
        b"{}\n",
        b'{"type":"nothing"}\n',
        b"[]\n",
        b'{"type":"reserved"}\n',
        b"\xff\n",
        b"[" * 3000 + b"\n",
    ],
)
def test_damage_in_the_middle_is_named_with_its_line(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "journal.jsonl"
    content = written(path, RECORDS)
    first, rest = content.split(b"\n", 1)
    path.write_bytes(first + b"\n" + line + rest)
    with pytest.raises(DamagedProblem, match="line 2"):
        list(read(path))


def test_a_journal_of_a_newer_version_is_not_guessed_at(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    started = RECORDS[0]
    assert isinstance(started, Started)
    path.write_bytes(encode(started).replace(b'"version":1', b'"version":99'))
    with pytest.raises(DamagedProblem, match="newer ralph"):
        list(read(path))


def test_a_record_that_finds_no_room_leaves_no_trace(tmp_path: Path) -> None:
    import resource

    path = tmp_path / "journal.jsonl"
    content = written(path, RECORDS)
    child = os.fork()
    if child == 0:
        import signal

        from ralphloop.core.errors import Problem

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(content) + 10, len(content) + 10))
        journal = Journal(path)
        try:
            journal.append(RECORDS[0])
        except Problem:
            os._exit(0)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    assert path.read_bytes() == content
