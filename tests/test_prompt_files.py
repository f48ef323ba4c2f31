"""Which prompt an agent is given: that of -p, else the feature's own, else the one that ships."""

from pathlib import Path

import pytest

import ralphloop
from place import Place

USUAL = (Path(ralphloop.__file__).parent / "templates" / "prompt-tdd.md").read_text().splitlines()[0]
FIRST = {"given": "GIVEN: do .ralph/feature-x/prd.json", "own": "MINE: do .ralph/feature-x/prd.json", "usual": USUAL}
QUOTED = "`@.ralph/feature-x/prd.json`\n`@.ralph/feature-x/progress.txt`\n"
REFERENCES = {
    "quoted beside their contents": ("", QUOTED),
    "alone": ("prompt: {inline: false}\n", "@.ralph/feature-x/prd.json\n@.ralph/feature-x/progress.txt\n"),
    "none": ("prompt: {references: false}\n", ""),
}


def furnish(place: Place, *, own: bool = True) -> Place:
    if own:
        (place.folder / "prompt.md").write_text("MINE: do {{story_file}}")
    (place.path / "p.md").write_text("GIVEN: do {{story_file}}")
    (place.path / "sub").mkdir()
    (place.path / "sub" / "p.md").write_text("BELOW")
    return place


def assert_told(place: Place, n: int, which: str, references: str = QUOTED) -> None:
    """The references, a blank line, and the prompt file's text; no word of another prompt file."""
    prompt = place.prompt(n)
    assert prompt.startswith(references + "\n" * bool(references) + FIRST[which] + "\n")
    assert [name for name, words in FIRST.items() if words in prompt] == [which]


@pytest.mark.parametrize("words", [["-p", "p.md"], ["--prompt", "./p.md"], ["--prompt=../repository/p.md"]])
def test_the_one_that_is_given_wins(place: Place, words: list[str]) -> None:
    furnish(place).ralph("run", "-n", "1", *words)
    assert_told(place, 1, "given")


@pytest.mark.parametrize(("given", "first"), [("../p.md", FIRST["given"]), ("p.md", "BELOW")])
def test_it_is_looked_for_where_one_stands(place: Place, given: str, first: str) -> None:
    furnish(place).ralph("run", "-n", "1", "-p", given, cwd=place.path / "sub")
    assert f"\n\n{first}\n" in place.prompt(1)


def test_without_it_the_feature_s_own(place: Place) -> None:
    furnish(place).ralph("run")
    assert_told(place, 1, "own")
    assert_told(place, 2, "own")


def test_without_both_the_usual_one(place: Place) -> None:
    furnish(place, own=False).ralph("run")
    assert_told(place, 1, "usual")
    assert_told(place, 2, "usual")


@pytest.mark.parametrize("how", REFERENCES)
def test_the_files_are_referred_to_first(place: Place, how: str) -> None:
    config, references = REFERENCES[how]
    furnish(place).config(config)
    place.ralph("run", "-n", "1")
    assert_told(place, 1, "own", references)
