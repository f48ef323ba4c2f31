"""What is said in corners where it was wrong or missing before."""

import json
import signal
import subprocess
import time
from pathlib import Path

from place import Place, busy, make_place, shell_code, wait_for


def test_a_filter_that_hangs_does_not_change_what_a_signal_means(tmp_path: Path) -> None:
    hang = "echo '* filter=h' > .gitattributes; git config filter.h.clean 'sleep 1000'; echo x > new"
    place = make_place(tmp_path, script={"default": [{"run": hang}]})
    runner = place.start("run")
    wait_for(lambda: any((place.home / "runs").glob("*/journal.jsonl")) and place.records("attempted"))
    time.sleep(0.5)
    runner.send_signal(signal.SIGTERM)
    assert shell_code(runner.wait(30)) == 143
    ended = place.records("ended")[-1]
    assert ended["exit_code"] == 143
    assert ended["why"].startswith("stopped by SIGTERM: git ")


def test_the_version_for_programs(place: Place) -> None:
    for words in (("--version", "--json"), ("status", "--version", "--json")):
        assert json.loads(place.ralph(*words).out)["program"] == "ralph"


def test_inside_gits_own_folder(place: Place) -> None:
    for folder in (".git", ".git/refs"):
        done = place.ralph("validate", cwd=place.path / folder)
        assert done.code == 1
        assert "inside git's own folder" in done.err and f"cd {place.path}" in done.err
    place.git("config", "core.bare", "true")
    assert "git config core.bare false" in place.ralph("validate").err


def test_every_shell_is_named(place: Place) -> None:
    done = place.ralph("completion", "ksh")
    assert done.code == 64
    assert all(shell in done.err for shell in ("bash", "zsh", "fish"))


def test_words_for_the_agent_from_stdin(place: Place) -> None:
    place.script(default=[{"say": "at it"}, {"sleep": 2}])
    runner = place.start("run", "-n", "1")
    busy(place)
    words = subprocess.run(
        place.argv("tell", "-"), cwd=place.path, env=place.env(), input=b"use the new API\nand no other\n", check=False
    )
    assert words.returncode == 0
    runner.wait(30)
    assert [record["text"] for record in place.records("wished")] == ["use the new API\nand no other"]


def test_where_an_archived_feature_lies(place: Place) -> None:
    assert place.ralph("archive", "-y").code == 0
    done = place.ralph("run")
    assert done.code == 1
    archived = place.archived().relative_to(place.path)
    assert f"It was archived to {archived}; `mv {archived} .ralph/feature-x`" in done.out


def test_the_same_error_is_shown_as_it_came(tmp_path: Path) -> None:
    place = make_place(tmp_path, script={"default": [{"exit": 7}, "no_result"]})
    done = place.ralph("run")
    assert "each with the same error: exit code 7 without a last word" in done.out


def test_a_full_disk_is_named(place: Place) -> None:
    place.home.mkdir(parents=True, exist_ok=True)
    full = "import os, errno\nos_write = os.write\n"
    full += "def write(descriptor, content):\n"
    full += "    if b'agreed' in bytes(content) or b'granted' in bytes(content):\n"
    full += "        raise OSError(errno.ENOSPC, 'No space left on device')\n"
    full += "    return os_write(descriptor, content)\nos.write = write\n"
    (place.home.parent / "sitecustomize.py").write_text(full)
    path = f"{place.home.parent}:{place.env()['PYTHONPATH']}"
    place.config("quality_checks: {unit: 'true'}\n")
    done = place.ralph("trust", PYTHONPATH=path)
    assert "::" not in done.err
    assert "No space left on device" in done.err and str(place.home) in done.err, done
