"""What an attempt used, when its stream does not tell: from its session file, by its growth, from the prices."""

import json
from pathlib import Path
from typing import Any

import pytest

from place import Place, make_place
from ralphloop.api.metering import Meter
from ralphloop.config import load

INIT = {"type": "system", "subtype": "init", "session_id": "5e55", "model": "claude-sonnet-4-5"}
SLEEPY = """#!/bin/sh
cat > /dev/null
mkdir -p "$CLAUDE_CONFIG_DIR/projects/{slug}"
cat "{told}" >> "$CLAUDE_CONFIG_DIR/projects/{slug}/5e55.jsonl"
echo '{init}'
echo '{said}'
{end}
"""


def answer(place: Place, key: str, **usage: int) -> str:
    message = {"id": key, "model": "claude-sonnet-4-5", "role": "assistant", "type": "message", "usage": usage}
    line = {"type": "assistant", "message": message, "requestId": f"req_{key}", "sessionId": "5e55"}
    # a time that is always after the beginning of the attempt
    return json.dumps({**line, "cwd": str(place.path), "timestamp": "2100-01-01T00:00:00.000Z"}) + "\n"


def cut_off(tmp_path: Path, told: str = "", said: dict[str, Any] = INIT, end: str = "sleep 60") -> Place:
    """A claude that says nothing of what it uses, writes a session file, and has to be ended."""
    place = make_place(tmp_path, count=1)
    slug = "".join(c if c.isalnum() else "-" for c in str(place.path.resolve()))
    (tmp_path / "told").write_text(told or answer(place, "m1", input_tokens=1000, output_tokens=1)
                                   + answer(place, "m1", input_tokens=1000, output_tokens=500)
                                   + answer(place, "m2", input_tokens=2000, output_tokens=1500))  # fmt: skip
    words = {"slug": slug, "told": tmp_path / "told", "init": json.dumps(INIT), "said": json.dumps(said), "end": end}
    program = tmp_path / "claude"
    program.write_text(SLEEPY.format(**words))
    program.chmod(0o755)
    signed_in = f"agents: {{claude: {{env: {{CLAUDE_CONFIG_DIR: '{tmp_path}/signed-in'}}}}}}\n"
    config = f"defaults: {{agent: claude}}\nclaude: {{program: '{program}'}}\n{signed_in}"
    (place.path / ".ralph" / "config.yaml").write_text(config)
    return place


def test_the_session_file_tells_what_a_session_used_that_was_cut_off(tmp_path: Path) -> None:
    place = cut_off(tmp_path)
    done = place.ralph("run", "-n", "1", "-t", "2s")
    assert done.code == 1, done
    attempt = place.records("attempted")[0]["attempt"]
    assert (attempt["tokens"]["input"], attempt["tokens"]["output"]) == (3000, 2000)
    assert not attempt.get("tokens_estimated")
    assert attempt["cost"] == pytest.approx((3000 * 3 + 2000 * 15) / 1e6)
    assert "5.0k tokens · ~$0.04" in done.out
    assert "5.0k tokens, ~$0.04" in place.ralph("status").out


def test_what_cannot_be_read_is_estimated_by_its_growth(tmp_path: Path) -> None:
    place = cut_off(tmp_path)
    line = (
        json.dumps(
            {"type": "user", "cwd": str(place.path), "sessionId": "5e55", "text": "x" * 8000}, separators=(",", ":")
        )
        + "\n"
    )
    (tmp_path / "told").write_text(line)
    done = place.ralph("run", "-n", "1", "-t", "2s")
    attempt = place.records("attempted")[0]["attempt"]
    assert attempt["tokens"]["output"] == len(line) // 4
    assert attempt["tokens_estimated"] is True
    assert "~2.0k tokens" in done.out
    assert place.loop_state()["iterations"][0]["tokens_estimated"] is True
    assert place.status()["tokens_estimated"] is True


def test_where_nothing_is_known_nothing_is_guessed(tmp_path: Path) -> None:
    place = cut_off(tmp_path)
    (tmp_path / "told").write_text("")
    done = place.ralph("run", "-n", "1", "-t", "2s")
    assert place.records("attempted")[0]["attempt"].get("tokens") is None
    assert "tokens and cost unknown" in done.out
    assert "tokens_estimated" not in place.loop_state()["iterations"][0]


def test_what_the_stream_tells_at_its_end_is_what_counts(tmp_path: Path) -> None:
    used = {"modelUsage": {"m": {"inputTokens": 7, "outputTokens": 3}}, "total_cost_usd": 0.25}
    said = {"type": "result", "subtype": "success", "is_error": False, "result": "done", **used}
    place = cut_off(tmp_path, said=said, end="exit 0")
    assert place.ralph("run", "-n", "1").code == 1
    attempt = place.records("attempted")[0]["attempt"]
    assert (attempt["tokens"]["input"], attempt["cost"], attempt["cost_estimated"]) == (7, 0.25, False)


@pytest.mark.parametrize(
    ("agent", "variable", "file", "measured"),
    [
        ("codex", "CODEX_HOME", "sessions/2026/11/20/rollout-1.jsonl", False),
        ("gemini", "GEMINI_CLI_HOME", ".gemini/tmp/a/chats/session-1.jsonl", False),
        ("copilot", "COPILOT_HOME", "session-state/a/events.jsonl", True),
        ("claude", "CLAUDE_CONFIG_DIR", "projects/-home-you-project/5e55.jsonl", True),
        ("qwen", "QWEN_HOME", "projects/-home-you-project/chats/a.jsonl", True),
    ],
)
def test_what_is_measured_before_every_attempt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, agent: str, variable: str, file: str, measured: bool
) -> None:
    monkeypatch.setenv(variable, str(tmp_path))
    path = tmp_path / file
    path.parent.mkdir(parents=True)
    path.write_text('{"cwd":"/home/you/project"}\n')
    (path.parent.parent / ".project_root").write_text("/home/you/project")
    size = Meter(load(tmp_path / "home", None), "/home/you/project").size(agent)
    assert size == (path.stat().st_size if measured else 0)
