"""prd.json: read strictly, written only where a mark or a note stands."""

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ralphloop.core.errors import DamagedProblem
from ralphloop.sources.prd import Prd

PRD = Prd(".ralph/feature-x/prd.json")


def story(number: int = 1, **other: Any) -> dict[str, Any]:
    plain = {"id": f"STORY-{number:03}", "title": "T", "acceptanceCriteria": ["a"], "priority": number, "passes": False}
    return {**plain, **other}


def prd(*stories: Any, **other: Any) -> dict[str, Any]:
    return {"description": "d", "createdAt": "2026-01-31T12:00:00Z", "userStories": list(stories), **other}


def written(value: Any, indent: int | None = 2) -> bytes:
    return json.dumps(value, indent=indent, ensure_ascii=False).encode()


def without(value: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: held for name, held in value.items() if name != key}


ODD = (
    b'\xef\xbb\xbf{"userStories" :\r\n [ {"passes":false, "x":{"passes":false,"id":"STORY-001"}, "id":"STORY-001",'
    b'\t"title":"\\"passes\\": false","acceptanceCriteria":["{}"],"priority":2.5e0,"notes":null}\r\n,'
    b'{"p\\u0061sses" : true,'
    b'"id":"\xc3\xa4 1","title":"\\u00e4","acceptanceCriteria":[],"priority":-1,"description":"z","notes":"n"} ] ,'
    b'"createdAt":"2026-01-31","description":"","extra":[1,{"userStories":[]}]}\r\n\r\n'
)


def test_takes_stories_in_the_order_of_the_file() -> None:
    plan = PRD.take(ODD)
    first, second = plan.stories
    assert (first.id, first.title, first.passes, first.priority) == ("STORY-001", '"passes": false', False, 2.5)
    assert (first.criteria, first.notes, first.description) == (("{}",), "", "")
    assert (second.id, second.title, second.passes, second.priority) == ("ä 1", "ä", True, -1)
    assert (second.notes, second.description) == ("n", "z")
    assert plan.marked == {"ä 1"}


def test_no_stories_is_a_plan_that_is_never_complete() -> None:
    plan = PRD.take(written(prd()))
    assert plan.stories == ()
    assert not plan.complete


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ([], "the file holds an array, must hold an object"),
        ("x", 'the file holds "x", must hold an object'),
        (without(prd(story()), "description"), "description is missing, must be a string"),
        (prd(story(), description=None), "description is null, must be a string"),
        (without(prd(story()), "createdAt"), "createdAt is missing, must be a time in ISO 8601"),
        (prd(story(), createdAt="yesterday"), 'createdAt is "yesterday", must be a time'),
        (without(prd(), "userStories"), "userStories is missing, must be an array"),
        (prd(userStories={}), "userStories is an object, must be an array"),
        (prd("x"), 'userStories[0] is "x", must be an object'),
        (prd(story(1), story(2), story(3), story(4, passes="yes")), 'userStories[3].passes is "yes", must be true or'),
        (prd(story(passes=1)), "userStories[0].passes is 1, must be true or false"),
        (prd(story(passes=None)), "userStories[0].passes is null, must be true or false"),
        (prd(without(story(), "passes")), "userStories[0].passes is missing, must be true or false"),
        (prd(story(id=7)), "userStories[0].id is 7, must be a string"),
        (prd(story(id="")), 'userStories[0].id is "", must be a string of 1'),
        (prd(story(id="a\nb")), r'userStories[0].id is "a\nb", must be'),
        (prd(story(id=" a")), 'userStories[0].id is " a", must be'),
        (prd(story(id="a\u202eb")), r'userStories[0].id is "a\u202eb", must be'),
        (prd(story(id="x" * 201)), "userStories[0].id is"),
        (prd(story(1), story(1)), 'userStories[1].id is "STORY-001", as userStories[0].id is already'),
        (prd(story(title=" ")), 'userStories[0].title is " ", must be'),
        (prd(story(priority=True)), "userStories[0].priority is true, must be a number"),
        (prd(story(priority="1")), 'userStories[0].priority is "1", must be a number'),
        (prd(story(priority=10**400)), "userStories[0].priority is 1000"),
        (prd(story(acceptanceCriteria="a")), 'userStories[0].acceptanceCriteria is "a", must be an array'),
        (prd(story(acceptanceCriteria=["a", 3])), "userStories[0].acceptanceCriteria[1] is 3, must be a string"),
        (prd(story(notes=[])), "userStories[0].notes is an array, must be a string"),
        (prd(story(description=1)), "userStories[0].description is 1, must be a string"),
        (prd(story(passes=0, title=0)), "userStories[0].title is 0, must be a string that is not empty (and 1 more)"),
        (prd(*[{}] * 30), "userStories[0].id is missing"),
    ],
)
def test_a_wrong_schema_is_said_with_its_path(value: Any, said: str) -> None:
    with pytest.raises(DamagedProblem) as caught:
        PRD.take(written(value))
    assert said in caught.value.message
    assert caught.value.message.startswith(".ralph/feature-x/prd.json, line ")
    assert caught.value.hint
    assert len(caught.value.message) < 400


def test_a_complaint_names_the_line() -> None:
    with pytest.raises(DamagedProblem, match=r"prd\.json, line 21: userStories\[1\]\.passes is 5"):
        PRD.take(written(prd(story(1), story(2, passes=5))))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "prd.json is empty"),
        (b" \r\n", "prd.json is empty"),
        (b"\xef\xbb\xbf", "prd.json is empty"),
        (b"hello", "line 1, column 1: expecting value"),
        (b'{\n  "a": 1,\n  "b" 2\n}', "line 3, column 7: expecting ':' delimiter"),
        (b'{"a": 1,}', "line 1, column"),
        (b'{"a": [1, 2', "the file ends too early, it seems to be cut off"),
        (b'{"a": "b', "line 1, column 7: unterminated string"),
        (b"{} {}", "line 1, column 4: something follows the end of the JSON value"),
        (b'{"a": "x\ny"}', "line 1, column 9: invalid control character"),
        (b'{"a":\n [1, NaN]}', "line 2, column 6: NaN is not JSON"),
        (b"[-Infinity]", "line 1, column 2: -Infinity is not JSON"),
        (b'{"a": 1,\n "b": {"c": 1, "c": 2}}', 'line 2, column 7: the key "c" stands twice in one object'),
        (b"[" + b"9" * 5000 + b"]", "column 2: a number has too many digits"),
        (b"[" * 100_000, "nested more than 100 deep"),
        (b"[" * 100_000 + b"]" * 100_000, "nested more than 100 deep"),
        (b"[" * 150 + b"]" * 150, "nested more than 100 deep"),
        (b'{"a":' * 500 + b"1" + b"}" * 500, "nested more than 100 deep"),
        (b'{"a": "\\ud800"}', "line 1, column 8: \\ud800 is half a character"),
        (b'{"\\udc00": 1, "\\udc00": 1}', "stands twice"),
        (b"\xff\xfe{\0}\0", "is not UTF-8: it looks like UTF-16"),
        (b'{"a": "\0"}', "a NUL byte in line 1"),
    ],
)
def test_what_is_no_json_is_said_with_its_place(content: bytes, said: str) -> None:
    for attempt in (PRD.take, lambda bad: PRD.settle(bad, {}), lambda bad: PRD.heal(bad, ODD)):
        with pytest.raises(DamagedProblem) as caught:
            attempt(content)
        assert said in caught.value.message
        assert caught.value.message.encode()


def test_settle_changes_two_words_and_nothing_else() -> None:
    done = PRD.settle(ODD, {"STORY-001": True, "ä 1": False, "unknown": True})
    changed = ODD.replace(b'{"passes":false, "x"', b'{"passes":true, "x"').replace(b'sses" : true', b'sses" : false')
    assert done == changed
    assert PRD.settle(done, {"STORY-001": True, "ä 1": False}) == done
    assert PRD.settle(done, {"STORY-001": False, "ä 1": True}) == ODD


@pytest.mark.parametrize("content", [ODD, written(prd(story()), None), written(prd(story()), 4), written(prd())])
def test_settle_without_a_change_is_the_same_file(content: bytes) -> None:
    assert PRD.settle(content, {}) == content
    assert PRD.settle(content, {"STORY-001": False}) == content


GOOD = prd(story(1, notes="old"), story(2), story(3, passes=True))


@pytest.mark.parametrize(
    ("now", "healed"),
    [
        (prd(story(1, passes=True), story(2), story(3)), prd(story(1, notes="old", passes=True), story(2), story(3))),
        (prd(story(2, notes="näh")), prd(story(1, notes="old"), story(2, notes="näh"), story(3, passes=True))),
        (prd(story(9, passes=True)), GOOD),
        (prd(story(2, passes="yes", notes=3)), GOOD),
        (prd(story(2, passes=True), story(2, passes=True)), GOOD),
        ({"userStories": [None, 1, {"id": []}, {"id": "STORY-001", "passes": True, "notes": ""}]},
         prd(story(1, notes="", passes=True), story(2), story(3, passes=True))),
        ({"userStories": {"STORY-001": True}}, GOOD),
        ([], GOOD),
    ],
)  # fmt: skip
def test_heal_keeps_good_with_marks_and_notes_of_now(now: Any, healed: Any) -> None:
    assert PRD.heal(written(GOOD), written(now)) == written(healed)


@pytest.mark.parametrize("now", [b"", b"{", b"\xff", written(GOOD)[:-9], b'{"a":1,"a":2}', b"[" * 9999])
def test_heal_from_a_wreck_is_good(now: bytes) -> None:
    assert PRD.heal(written(GOOD), now) == written(GOOD)


def test_many_stories_are_read_and_marked_quickly() -> None:
    many = written(prd(*(story(number, description="x" * 100, notes="") for number in range(50_000))))
    began = time.perf_counter()
    plan = PRD.take(many)
    taken = time.perf_counter() - began
    done = PRD.settle(many, {"STORY-49999": True})
    assert len(plan.stories) == 50_000
    assert len(done) == len(many) - 1
    # a wide margin for a busy machine: 0.4 s is usual
    assert taken < 5


IDS = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=8)
NOTES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)
STORIES = st.lists(st.tuples(IDS, st.booleans(), NOTES), unique_by=lambda drawn: drawn[0], max_size=6)
LAYOUTS = st.tuples(st.sampled_from([None, 0, 1, 2, 4]), st.booleans(), st.sampled_from(["\n", "\r\n"]), st.booleans())


def laid_out(value: Any, layout: tuple[int | None, bool, str, bool]) -> bytes:
    indent, ascii_only, line_end, mark = layout
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only).replace("\n", line_end)
    return (b"\xef\xbb\xbf" if mark else b"") + text.encode()


@settings(max_examples=60, deadline=None)
@given(STORIES, LAYOUTS, st.lists(st.booleans(), min_size=6, max_size=6))
def test_settle_and_take_agree_whatever_the_layout(
    drawn: list[tuple[str, bool, str]], layout: tuple[int | None, bool, str, bool], wishes: list[bool]
) -> None:
    content = laid_out(prd(*(story(1, id=i, passes=p, notes=n) for i, p, n in drawn)), layout)
    marks = {i: wish for (i, _, _), wish in zip(drawn, wishes, strict=False)}
    done = PRD.settle(content, marks)
    assert {s.id: s.passes for s in PRD.take(done).stories} == marks
    assert PRD.settle(done, marks) == done
    assert PRD.settle(done, {i: p for i, p, _ in drawn}) == content
    assert PRD.heal(content, done) == done
    assert PRD.heal(done, content) == content


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=60) | st.text(alphabet='{}[]":,\\u \n1eNa', max_size=60).map(str.encode))
def test_arbitrary_bytes_are_nothing_worse_than_damaged(content: bytes) -> None:
    for attempt in (PRD.take, lambda bad: PRD.settle(bad, {"a": True}), lambda bad: PRD.heal(bad, ODD)):
        try:
            attempt(content)
        except DamagedProblem as problem:
            assert problem.message and problem.hint
    assert PRD.heal(ODD, content) == ODD
    assert PRD.review({"prd.json": content, "spec.md": content, "progress.txt": content})


@settings(max_examples=80, deadline=None)
@given(st.integers(0, len(ODD) - 1), st.integers(0, 255))
def test_one_wrong_byte_is_read_or_said(at: int, byte: int) -> None:
    content = ODD[:at] + bytes([byte]) + ODD[at + 1 :]
    try:
        plan = PRD.take(content)
    except DamagedProblem:
        return
    done = PRD.settle(content, {s.id: True for s in plan.stories})
    assert PRD.take(done).complete
