"""The demo's repository and the script of its agent: six small stories of a program that counts words."""

STORIES = (
    ("Split a text into words", "split.py", "def words(text):\n    return text.split()\n"),
    ("Count words", "count.py", "from split import words\n\n\ndef count(text):\n    return len(words(text))\n"),
    (
        "Find the longest word",
        "longest.py",
        "from split import words\n\n\ndef longest(text):\n    return max(words(text), key=len, default='')\n",
    ),
    (
        "Count each word",
        "tally.py",
        "from collections import Counter\n\nfrom split import words\n\n\n"
        "def tally(text):\n    return Counter(words(text))\n",
    ),
    (
        "Show the most frequent words",
        "top.py",
        "from tally import tally\n\n\n"
        "def top(text, size=3):\n    return [word for word, _ in tally(text).most_common(size)]\n",
    ),
    (
        "A command that shows it all",
        "main.py",
        "import sys\n\nfrom count import count\nfrom longest import longest\nfrom top import top\n\n"
        "text = sys.stdin.read()\nprint(count(text), 'words, the longest is', longest(text) + ';', *top(text))\n",
    ),
)
TESTS = (
    "from split import words\nassert words(' a  b ') == ['a', 'b']\n",
    "from count import count\nassert count('a b c') == 3\nassert count('') == 0\n",
    "from longest import longest\nassert longest('a bbb cc') == 'bbb'\nassert longest('') == ''\n",
    "from tally import tally\nassert tally('a b a')['a'] == 2\n",
    "from top import top\nassert top('a b a', 1) == ['a']\n",
    "import subprocess, sys\n"
    "out = subprocess.run([sys.executable, 'main.py'], input='a bb a', text=True, capture_output=True)\n"
    "assert out.stdout == '3 words, the longest is bb; a bb\\n', out\n",
)
CHECK = (
    "import glob, runpy, sys\nsys.path.insert(0, '.')\nsys.dont_write_bytecode = True\n"
    "found = sorted(glob.glob('test_*.py'))\n"
    "for name in found:\n    print('running', name)\n    runpy.run_path(name)\nsys.exit(not found)\n"
)
SPEC = """---
created: 2026-01-01T00:00:00Z
---

# Count words

## Problem Statement

A text has words, and nobody has counted them yet.

## Success Criteria

- [ ] `main.py` tells how many words a text has

## User Stories

{stories}
## Out of Scope

- Anything but words

## Open Questions

None.
"""
STORY = """### {id}: {title}

**As a** reader **I want to** have this **So that** I know my text.

**Acceptance Criteria:**

- [ ] `{file}` does it
- [ ] Unit tests pass

"""


def story_id(number: int) -> str:
    return f"STORY-{number:03d}"


def spec() -> str:
    parts = [STORY.format(id=story_id(n), title=title, file=file) for n, (title, file, _) in enumerate(STORIES, 1)]
    return SPEC.format(stories="".join(parts))


def plan() -> dict[str, object]:
    stories = [
        {
            "id": story_id(n),
            "title": title,
            "description": "",
            "acceptanceCriteria": [f"`{file}` does it", "Unit tests pass"],
            "priority": n,
            "passes": False,
            "notes": "",
        }
        for n, (title, file, _) in enumerate(STORIES, 1)
    ]
    return {
        "description": "A text has words, and nobody has counted them yet.",
        "createdAt": "2026-01-01T00:00:00Z",
        "userStories": stories,
    }


def _built(number: int) -> list[object]:
    """What a good attempt does."""
    title, file, code = STORIES[number - 1]
    return [
        {"say": f"I build {story_id(number)}: {title.lower()}."},
        {"write": {f"test_{file}": TESTS[number - 1], file: code}},
        {"sleep": 0.4},
        {"progress": f"{title}: done"},
        {"mark": "current"},
        {"commit": f"{title} ({story_id(number)})"},
        {"tokens": {"input": 5200 + 310 * number, "output": 900 + 75 * number}},
        {"cost": round(0.03 + 0.004 * number, 3)},
        {"claim": "complete" if number == len(STORIES) else "story"},
    ]


def script() -> dict[str, object]:
    """Story 2 fails a check once, story 3 is claimed without being built, story 4 hangs."""
    wrong = "def count(text):\n    return len(text)\n"
    failing: list[object] = [
        {"say": "Counting characters will do."},
        {"write": {"test_count.py": TESTS[1], "count.py": wrong}},
        {"mark": "current"},
        {"commit": "Count words (STORY-002)"},
        {"cost": 0.03},
        {"claim": "story"},
    ]
    boasting: list[object] = [
        {"say": "Everything works. I am sure of it."},
        {"mark": "current"},
        {"cost": 0.02},
        {"claim": "complete"},
    ]
    hanging: list[object] = [{"say": "Let me think about this for a while."}, "hang"]
    tries: dict[int, list[list[object]]] = {2: [failing], 3: [boasting], 4: [hanging]}
    return {"stories": {story_id(n): [*tries.get(n, []), _built(n)] for n in range(1, len(STORIES) + 1)}}
