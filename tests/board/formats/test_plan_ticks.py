"""Plans that are written: one character a box in the user's file, and checklists that are read back as they were."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from atm.board.formats.plan_ticks import as_checklist, ticked, ticked_bytes
from atm.board.formats.task_import import NotAPlan, TaskDraft, read_plan
from atm.files.formats.json_record import encode

PLAN = """# Plan

- [ ] A  \t
\t* [ ] B (id: b)
1. [x] C
```
- [ ] D
```
- [] E
"""


class TestTicking:
    def test_exactly_the_boxes_that_are_asked_for_are_ticked(self):
        expected = PLAN.replace("- [ ] A", "- [x] A").replace("* [ ] B", "* [x] B")
        assert ticked(PLAN, [3, 4]) == expected
        assert ticked(expected, [3, 4]) == expected

    def test_nothing_is_unticked(self):
        assert ticked("- [X] A\n- [x] B\n", []) == "- [X] A\n- [x] B\n"
        assert ticked("- [X] A\n- [x] B\n", [1, 2]) == "- [X] A\n- [x] B\n"

    @pytest.mark.parametrize("line", [0, 1, 5, 6, 7, 8, 9, 10, 99, -1])
    def test_a_line_without_an_empty_box_stays_as_it_is(self, line):
        assert ticked(PLAN, [line]) == PLAN

    @pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
    def test_the_ends_of_lines_and_a_mark_of_byte_order_stay(self, end):
        text = "\ufeff" + PLAN.replace("\n", end)
        assert ticked(text, [3]) == text.replace("- [ ] A", "- [x] A")
        assert ticked("\ufeff- [ ] A", [1]) == "\ufeff- [x] A"

    def test_bytes_that_are_no_text_stay(self):
        assert ticked_bytes(b"\xff\xfe\r\n- [ ] \xc3\x28\0\n", [2]) == b"\xff\xfe\r\n- [x] \xc3\x28\0\n"

    def test_a_subject_may_be_a_box_itself(self):
        assert ticked("- [ ] [ ] [x]", [1]) == "- [x] [ ] [x]"

    @given(st.text(alphabet="-* []xX`~\n\r\t \ufeff1.a") | st.text(), st.sets(st.integers(0, 12)))
    @example("```\n- [ ] A\r```\r\n- [ ] B", {2, 4})
    def test_any_text_differs_in_boxes_alone_and_reads_as_done(self, text, lines):
        found = ticked(text, lines)
        assert len(found) == len(text)
        different = [(old, new) for old, new in zip(text, found, strict=True) if old != new]
        assert set(different) <= {(" ", "x")}
        before, after = drafts_in(text), drafts_in(found)
        assert after == [replace(draft, done=draft.done or draft.line in lines) for draft in before]
        if before:
            assert len(different) == sum(draft.line in lines and not draft.done for draft in before)


def drafts_in(text: str) -> list[TaskDraft]:
    """None for what is no plan."""
    try:
        return read_plan(text, "markdown")
    except NotAPlan:
        return []


def same(drafts: list[TaskDraft]) -> list[TaskDraft]:
    return [replace(draft, line=0, item="") for draft in drafts]


def assert_reads_back(drafts: list[TaskDraft]) -> str:
    text = as_checklist(drafts)
    assert same(read_plan(text, "markdown")) == same(drafts)
    text.encode()
    return text


class TestAChecklistOfAnyPlan:
    def test_it_looks_as_a_person_would_have_written_it(self):
        text = """\
- [ ] Write (the) parser (id: p) (priority: high) (files: src/**, "a, b.md") (runtime: codex) (accept: make test)
  What it is about.

      code stays indented
  - [x] Lexer (owner: @ann) (run: touch x)
- [ ] Print (depends: p, #12, "Fix (old) things") (plan: required) (accept: f(x) && echo "ok (really)")
"""
        assert as_checklist(read_plan(text, "markdown")) == text

    @pytest.mark.parametrize(
        "hostile",
        [
            "a (id: b)",
            "a (id: b) (see RFC)",
            "(depends: x)",
            "a )",
            "a (",
            ":)",
            'say "hi',
            'a (files: "',
            "[ ] a",
            "- [ ] a",
            "```",
            "a, b",
            '"a", b',
            "#12",
            "12",
            "&#0000041;",
            "&#41;",
            "a\\",
            "a\u2028b\x0bc",
            "\ud800",
            "\ufeffa",
            "a\tb",
            "@a",
            "é 𝕏",
        ],
    )
    def test_hostile_words_are_read_back_wherever_they_stand(self, hostile):
        assert_reads_back([TaskDraft(hostile)])
        assert_reads_back([TaskDraft("A", key="k", accept=[hostile], run=[hostile, "x"], files=[hostile, "y"])])
        assert_reads_back([TaskDraft("A", description=hostile, runtime=hostile.strip())])
        assert_reads_back(read_plan(encode([{"title": "A", "depends_on": [hostile], "tasks": [hostile]}]), "json"))

    @pytest.mark.parametrize(
        "description",
        [
            "a\nb",
            "a\n\nb",
            "  indented\nnot",
            "  all\n  of it",
            "\n\na\n\n",
            "a \n b ",
            "a\n \nb",
            "\ttab\n\t\ttwo",
            "```\ncode\n- [ ] no task\n```",
            "- [ ] no task",
            "- [ ]",
            "~~~",
            "a\r\nb\rc",
            "# heading",
            "\u3000\na",
            " ",
            "\n",
        ],
    )
    def test_a_description_is_read_back_line_by_line(self, description):
        assert_reads_back([TaskDraft("A", description=description), TaskDraft("B")])

    @pytest.mark.parametrize(
        "command", ["cd x\nmake", " make ", "echo ')'", 'echo \\"', "(", 'echo "', "a\r\n", '"make test"']
    )
    def test_a_command_is_read_back_to_the_letter(self, command):
        assert_reads_back([TaskDraft("A", accept=[command], run=[command])])

    def test_a_line_break_in_a_title_becomes_a_blank(self):
        assert [draft.subject for draft in read_plan(as_checklist([TaskDraft("a\nb")]), "markdown")] == ["a b"]

    def test_parts_stand_below_their_parents(self):
        whole = {"title": "A", "depends_on": ["B", "Z"], "tasks": ["B", {"title": "C", "tasks": ["D"]}]}
        assert_reads_back(read_plan(encode([whole, "Z"]), "json"))

    def test_a_plan_of_ten_thousand_tasks_is_read_back(self):
        chance = random.Random(7)
        drafts = [
            TaskDraft(f"task {n}", key=f"k{n}", depends_on=[f"k{chance.randrange(n)}"] if n else [], files=[f"{n}.py"])
            for n in range(10_000)
        ]
        assert_reads_back(drafts)


WORDS = st.text(alphabet='()":,&#01;[]- x`~@\t', max_size=12) | st.text(max_size=6)
LINES = st.text(alphabet="`~-[ ]x\n\r\t (:)a", max_size=20) | st.text(max_size=10)


def titled(text: str) -> bool:
    return bool(" ".join(text.split("\n")).strip())


ITEMS = st.recursive(
    st.fixed_dictionaries(
        {"title": WORDS.filter(titled)},
        optional={
            "description": LINES,
            "files": st.lists(WORDS.filter(bool), max_size=2, unique=True),
            "accept": st.lists(WORDS.filter(bool), max_size=2),
            "run": st.lists(LINES.filter(bool), max_size=2),
            "depends_on": st.lists(WORDS.filter(lambda text: bool(text.strip())), max_size=2),
            "owner": WORDS,
            "runtime": WORDS,
            "plan": st.booleans(),
            "timeout": st.integers(0, 2_592_000),
            "done": st.booleans(),
            "priority": st.sampled_from(["critical", "high", "normal", "low"]),
        },
    ),
    lambda inner: st.builds(lambda item, parts: {**item, "tasks": parts}, inner, st.lists(inner, max_size=2)),
    max_leaves=4,
)


@given(st.lists(ITEMS, min_size=1, max_size=3))
def test_any_plan_is_read_back_from_its_checklist(items):
    try:
        drafts = read_plan(encode(items), "json")
    except NotAPlan:
        return
    assert_reads_back(drafts)
