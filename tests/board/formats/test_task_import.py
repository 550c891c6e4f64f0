"""Plans: what people and agents write down, read as drafts; nothing that is written hangs the reader."""

from __future__ import annotations

import sys
from textwrap import dedent
from time import thread_time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from atm.board.formats.checklist import KNOWN_KEYS
from atm.board.formats.task_drafts import unknown_in_words
from atm.board.formats.task_import import LARGEST_PLAN, NotAPlan, TaskDraft, kind_of, read_plan
from atm.files.formats.json_record import encode


def checklist(text: str) -> list[TaskDraft]:
    return read_plan(dedent(text), "markdown")


def only(text: str) -> TaskDraft:
    [draft] = checklist(text)
    return draft


def items(*values: object) -> list[TaskDraft]:
    return read_plan(encode(list(values)), "json")


def item(**fields: object) -> TaskDraft:
    return items({"subject": "A", **fields})[0]


def from_yaml(text: str) -> list[TaskDraft]:
    return read_plan(dedent(text), "yaml")


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("plan.md", "[]", "markdown"),
        ("PLAN.MARKDOWN", "", "markdown"),
        ("a.json", "- [ ] x", "json"),
        ("a.yaml", "[]", "yaml"),
        ("a.yml", "- [ ] x", "yaml"),
        ("-", '["a"]', "json"),
        ("-", ' \n\ufeff {"tasks": []}', "json"),
        ("plan.txt", "# Plan\n\n- [ ] x", "markdown"),
        ("", "* [ ] x", "markdown"),
        ("", "1. [x] x", "markdown"),
        ("", "  - [X] x", "markdown"),
        ("", "- subject: x", "yaml"),
        ("", "- x [ ] y", "yaml"),
        ("", "", "yaml"),
    ],
)
def test_the_kind_is_told_by_the_name_or_by_the_look(name, text, kind):
    assert kind_of(name, text) == kind


def test_every_checkbox_is_a_task_and_a_cross_means_done():
    drafts = checklist("""\
        # Plan
        Some prose about [ ] boxes, and - [ ] such.

        - [ ] One
        * [x] Two
        + [X] Three
        1. [ ] Four
        12) [ ] Five
        - No box
        - [] no box either
    """)
    assert [(draft.subject, draft.done, draft.line) for draft in drafts] == [
        ("One", False, 4),
        ("Two", True, 5),
        ("Three", True, 6),
        ("Four", False, 7),
        ("Five", False, 8),
    ]
    assert drafts[0].place == "line 4"


def test_a_plain_item_has_the_defaults():
    assert only("- [ ] Do it") == TaskDraft("Do it", line=1)


def test_attributes_end_the_line_in_any_order():
    draft = only(
        "- [ ] Write (the) parser (files: src/a/**, b.py) (owner: @bob) (Priority: HIGH) (accept: make test) "
        "(depends: Title A, Title B) (accept: f(x, y) && echo ok) (after: #12)"
    )
    assert draft.subject == "Write (the) parser"
    assert draft.files == ["src/a/**", "b.py"]
    assert (draft.owner, draft.priority) == ("bob", "high")
    assert draft.accept == ["make test", "f(x, y) && echo ok"]
    assert draft.depends_on == ["Title A", "Title B", "#12"]


@pytest.mark.parametrize(
    ("line", "subject", "depends_on"),
    [
        ("A (depends on: #12)", "A", ["#12"]),
        ("A (depends_on: B)", "A", ["B"]),
        ("A ( Depends  On : B )", "A", ["B"]),
        ('A (depends: "B, C", D)', "A", ["B, C", "D"]),
        ('A (depends: "B (old)", C (new))', "A", ["B (old)", "C (new)"]),
        ('A (depends: "B )", C)', "A", ["B )", "C"]),
        ('A (depends: say "B")', "A", ['say "B"']),
        ("A (depends: B, B, , C)", "A", ["B", "C"]),
        ("A (depends: )", "A", []),
        ("A (depends: B: the sequel)", "A", ["B: the sequel"]),
        ("A (depends: B) (see RFC)", "A (see RFC)", ["B"]),
        ("A (see RFC) (depends: B)", "A (see RFC)", ["B"]),
        ("A(x)(y) (depends: B)(after: C)", "A(x)(y)", ["B", "C"]),
        ("Call foo()", "Call foo()", []),
        ("Fix run(after: int)", "Fix run(after: int)", []),
        ("A (depends: B) later", "A (depends: B) later", []),
        ("A (note: B)", "A (note: B)", []),
        ("A depends: B)", "A depends: B)", []),
        ("A :)", "A :)", []),
        ('Fix the 5" disk (after: B)', 'Fix the 5" disk', ["B"]),
    ],
)
def test_only_known_keys_are_taken_from_the_subject(line, subject, depends_on):
    draft = only(f"- [ ] {line}")
    assert (draft.subject, draft.depends_on) == (subject, depends_on)


def test_a_parent_depends_on_its_parts():
    drafts = checklist("""\
        - [ ] Parser (after: Design)
          - [ ] Lexer
            - [ ] Tokens
          - [x] Grammar
        - [ ] Printer
    """)
    assert [draft.subject for draft in drafts] == ["Parser", "Lexer", "Tokens", "Grammar", "Printer"]
    assert [draft.depends_on for draft in drafts] == [["Design", "Lexer", "Grammar"], ["Tokens"], [], [], []]
    assert [draft.parts for draft in drafts] == [[1, 3], [2], [], [], []]


def test_parts_with_the_same_title_are_told_apart_by_position():
    drafts = checklist("""\
        - [ ] A
          - [ ] Tests
        - [ ] B
          - [ ] Tests
    """)
    assert drafts[0].depends_on == drafts[2].depends_on == ["Tests"]
    assert (drafts[0].parts, drafts[2].parts) == ([1], [3])


def test_tabs_indent_and_a_single_blank_does_not():
    assert [draft.parts for draft in checklist("- [ ] A\n\t- [ ] B\n\t\t- [ ] C")] == [[1], [2], []]
    assert [draft.parts for draft in checklist("- [ ] A\n - [ ] B")] == [[], []]


def test_indented_text_is_the_description():
    drafts = checklist("""\
        - [ ] A
          First line,
          second line.

          - a bullet
            - a deeper one
          - [ ] B
            about B
          about A again
        Not about anything.
            Nor this.
        - [ ] C
    """)
    assert drafts[0].description == ("First line,\nsecond line.\n\n- a bullet\n  - a deeper one\nabout A again")
    assert drafts[1].description == "about B"
    assert drafts[2].description == ""


def test_a_heading_between_items_ends_what_was_open():
    drafts = checklist("- [ ] A\n\n# Next\n  text\n  - [ ] B")
    assert [draft.parts for draft in drafts] == [[], []]
    assert drafts[0].description == ""


def test_boxes_below_a_plain_bullet_are_tasks_of_their_own():
    assert [draft.parts for draft in checklist("- Backend\n  - [ ] A\n  - [ ] B")] == [[], []]


@pytest.mark.parametrize("fence", ["```", "````", "~~~", "  ```", "```sh", "- ```"])
def test_what_stands_in_a_code_fence_is_no_task(fence):
    closing = fence.replace("sh", "").replace("- ", "  ")
    text = f"- [ ] A\n{fence}\n- [ ] no\n``\n{closing}\n- [ ] B"
    assert [draft.subject for draft in read_plan(text, "markdown")] == ["A", "B"]


def test_a_shorter_fence_does_not_close_a_longer_one():
    text = "````\n```\n- [ ] no\n```\n````\n- [ ] A\n``` inline ```\n- [ ] B"
    assert [draft.subject for draft in read_plan(text, "markdown")] == ["A", "B"]


def test_windows_files_are_read_like_others():
    drafts = read_plan("\ufeff- [ ] A\r\n  note\r\n- [ ] B\r\n", "markdown")
    assert [(draft.subject, draft.description) for draft in drafts] == [("A", "note"), ("B", "")]


def test_control_characters_stay_in_a_subject():
    assert only("- [ ] a\x1b[31m\0\u2028b\x0bc").subject == "a\x1b[31m\0\u2028b\x0bc"
    assert items({"subject": "a\x1b\0b\r\nc\nd\re"})[0].subject == "a\x1b\0b c d e"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no line"),
        ("# Plan\n- item", "no line"),
        ("```\n- [ ] A\n```", "no line"),
        ("- [ ] A\n- [ ]", "line 2: the task has no subject"),
        ("- [ ] (priority: high)", "line 1: the task has no subject"),
        ("\n- [ ] A (priority: urgent)", "line 2: 'urgent' is no priority; those are critical, high, normal, low"),
        ("- [ ] A (priority:)", "line 1: '' is no priority"),
    ],
)
def test_a_checklist_that_is_wrong_says_where(text, message):
    with pytest.raises(NotAPlan, match=message):
        read_plan(text, "markdown")


def test_a_list_of_words_is_a_plan():
    drafts = read_plan('["A", 7, 1.5, {"title": "B"}]', "json")
    assert [draft.subject for draft in drafts] == ["A", "7", "1.5", "B"]
    assert [draft.place for draft in drafts] == ["item 1", "item 2", "item 3", "item 4"]


def test_an_item_says_everything_about_its_task():
    expected = TaskDraft(
        "A",
        description="long\ntext",
        depends_on=["B, with comma", "#12", "#13"],
        priority="critical",
        files=["a.py", "b/**"],
        owner="bob",
        accept=["make", "make test"],
        done=True,
        item="1",
    )
    draft = item(
        description="long\ntext",
        depends_on=["B, with comma", 12, "#13", 12],
        priority="Critical",
        files=["a.py", "b/**"],
        owner="@bob",
        accept=["make", "make test"],
        done=True,
    )
    assert draft == expected


def test_one_word_stands_for_a_list_of_one():
    draft = item(depends_on="B, C", files="a.py, b.py", accept="make a, b")
    assert (draft.depends_on, draft.files, draft.accept) == (["B, C"], ["a.py", "b.py"], ["make a, b"])
    assert item(depends=7).depends_on == ["#7"]


@pytest.mark.parametrize("key", ["depends_on", "dependsOn", "blockedBy", "depends"])
def test_dependencies_have_several_names(key):
    assert item(**{key: ["B"]}).depends_on == ["B"]


@pytest.mark.parametrize(("status", "done"), [("completed", True), ("pending", False), ("in_progress", False)])
def test_a_status_says_whether_it_is_done(status, done):
    assert item(status=status).done is done


def test_what_is_null_is_not_there():
    assert item(description=None, owner=None, depends_on=None, files=None, tasks=None, status=None) == TaskDraft(
        "A", item="1"
    )


@pytest.mark.parametrize("key", ["tasks", "subtasks"])
def test_an_item_depends_on_the_items_below_it(key):
    drafts = items({"subject": "A", "depends_on": "Z", key: ["B", {"subject": "C", key: ["D"]}]}, "E")
    assert [draft.subject for draft in drafts] == ["A", "B", "C", "D", "E"]
    assert [draft.depends_on for draft in drafts] == [["Z", "B", "C"], [], ["D"], [], []]
    assert [draft.parts for draft in drafts] == [[1, 2], [], [3], [], []]
    assert drafts[3].place == "item 1.2.1"


def test_a_plan_may_be_an_object_with_tasks():
    assert [draft.subject for draft in read_plan('\ufeff{"name": "x", "tasks": ["A"]}', "json")] == ["A"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON"),
        ("[", "not JSON"),
        ("[] x", "not JSON"),
        ("[" * 200_000, "not JSON"),
        ("[]", "has no tasks"),
        ('{"tasks": []}', "has no tasks"),
        ("{}", "neither a list"),
        ('{"tasks": {}}', "neither a list"),
        ('"A"', "neither a list"),
        ("null", "neither a list"),
        ('["A", null]', "item 2: the task has no subject"),
        ('["A", []]', "item 2: subject must be text"),
        ('["A", true]', "item 2: subject must be text"),
        ('["A", ""]', "item 2: the task has no subject"),
        ('["A", "\\n"]', "item 2: the task has no subject"),
        ("[{}]", "item 1: the task has no subject"),
        ('[{"subject": "A", "priorty": "high"}]', "item 1: unknown key 'priorty'; did you mean 'priority'?"),
        ('[{"subject": "A", "depend_on": []}]', "did you mean 'depends_on'?"),
        ('[{"subject": "A", "zzz": 1}]', "unknown key 'zzz'; known are accept, depends_on, description"),
        ('[{"subject": "A", "title": "B"}]', "item 1: 'title' says the same"),
        ('[{"subject": "A", "priority": "p1"}]', "item 1: 'p1' is no priority; those are critical, high, normal, low"),
        ('[{"subject": "A", "priority": 1}]', "item 1: '1' is no priority"),
        ('[{"subject": "A", "files": 1.5, "owner": {}}]', "item 1: owner must be text"),
        ('[{"subject": "A", "files": [[]]}]', "item 1: files must be text"),
        ('[{"subject": "A", "accept": {"a": 1}}]', "item 1: accept must be text"),
        ('[{"subject": "A", "depends_on": [1.5]}]', "item 1: depends_on must be titles"),
        ('[{"subject": "A", "depends_on": [true]}]', "item 1: depends_on must be titles"),
        ('[{"subject": "A", "depends_on": [-1]}]', "item 1: depends_on must be titles"),
        ('[{"subject": "A", "depends_on": [""]}]', "item 1: depends_on must be titles"),
        ('[{"subject": "A", "depends_on": {"B": 1}}]', "item 1: depends_on must be titles"),
        ('[{"subject": "A", "done": "yes"}]', "item 1: done must be true or false"),
        ('[{"subject": "A", "status": "doen"}]', "item 1: status must be pending, in_progress or completed"),
        ('[{"subject": "A", "status": []}]', "item 1: status must be"),
        ('[{"subject": "A", "tasks": "B"}]', "item 1: tasks must be a list of tasks"),
        ('["A", {"subject": "B", "tasks": ["C", {"x": 1}]}]', "item 2.2: unknown key 'x'"),
    ],
)
def test_a_list_that_is_wrong_says_at_which_item(text, message):
    with pytest.raises(NotAPlan) as raised:
        read_plan(text, "json")
    assert message in str(raised.value)


def test_sub_tasks_have_a_deepest_level():
    nested: object = "A"
    for _ in range(60):
        nested = {"subject": "A", "tasks": [nested]}
    with pytest.raises(NotAPlan, match="more than 50 deep"):
        items(nested)
    with pytest.raises(NotAPlan, match="nested"):
        read_plan(encode([nested]), "yaml")


def test_yaml_says_the_same_with_fewer_quotes():
    drafts = from_yaml("""\
        tasks:
          - Set up the repository
          - subject: Write the parser
            depends_on: [Set up the repository, 12]
            priority: high
            owner:
            description: |
              First line.
              Second line.
            tasks:
              - title: Lexer
                done: yes
          - 404
    """)
    assert [draft.subject for draft in drafts] == ["Set up the repository", "Write the parser", "Lexer", "404"]
    assert drafts[1].depends_on == ["Set up the repository", "#12", "Lexer"]
    assert drafts[1].description == "First line.\nSecond line.\n"
    assert drafts[2].done


BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{chr(98 + i)}: &{chr(98 + i)} [{', '.join([f'*{chr(97 + i)}'] * 9)}]\n" for i in range(20)
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "neither a list"),
        ("just text", "neither a list"),
        ("- a\n- b: [", "line 2: "),
        ("- a\n-b: c\n d", "line 2: "),
        ("- a\n- \0", "line 2: special characters"),
        ("- a\n- \ud800", "line 2: special characters"),
        ("- a\n--- \n- b", "line 2: but found another document"),
        ("- &x a\n- *x", "line 2: a plan may not use aliases"),
        (BOMB, "line 2: a plan may not use aliases"),
        ("- !!python/object/apply:os.system [ls]", "line 1: could not determine a constructor"),
        ("- subject: a\n  ? [b]\n  : c", "line "),
        ("- subject: 2024-13-45", "not YAML"),
        ("- !!bool maybe", "not YAML"),
        ('- !!int ""', "not YAML"),
        ("- !!timestamp soon", "not YAML"),
        ("- subject: 2024-01-02", "item 1: subject must be text; if it is meant as text, put it in quotes"),
        ("- subject: !!binary aGk=", "item 1: subject must be text"),
        ("- !!set {a, b}", "item 1: subject must be text"),
        ("- subject: a\n  on: b", "item 1: a key is not text"),
        ("- subject: 0x" + "f" * 9_000, "item 1: subject must be text"),
        ("- subject: a\n  depends: 0x" + "f" * 9_000, "item 1: depends_on must be"),
        ("- subject: " + "9" * 9_000, "line 1: a number of 9,000 characters"),
        ("- subject: 1" + ":1" * 500_000, "line 1: a number of 1,000,001 characters"),
        ("[" * 500_000, "line 1: nested too deeply"),
        ("- " * 500_000, "line 1: nested too deeply"),
        ("? " * 500_000, "line 1: nested too deeply"),
    ],
)
def test_yaml_that_is_wrong_or_hostile_is_refused_soon(text, message):
    started = thread_time()
    with pytest.raises(NotAPlan) as raised:
        read_plan(text, "yaml")
    assert message in str(raised.value)
    assert len(str(raised.value)) < 300
    assert thread_time() - started < 10


def test_without_pyyaml_the_reader_says_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(NotAPlan, match="reading YAML needs PyYAML, which atm brings: install atm again"):
        read_plan("- a", "yaml")


@pytest.mark.parametrize("kind", ["markdown", "json", "yaml"])
def test_a_plan_that_is_too_large_is_not_read(kind):
    with pytest.raises(NotAPlan, match="5,000,001 characters"):
        read_plan(" " * (LARGEST_PLAN + 1), kind)


LONG_LINES = [
    "- [ ] A" + " " * 400_000 + ")",
    "- [ ] A (" + " " * 400_000 + ")",
    "- [ ] A " + "()" * 200_000,
    "- [ ] A " + "(" * 400_000 + ")" * 400_000,
    "- [ ] A " + ")" * 400_000,
    "- [ ] A (depends: " + '"a,' * 100_000 + ")",
    "- [ ] A (depends: " + " " * 400_000 + '"a" b)',
    "- [ ] A " + "(after: B)" * 50_000,
    "- [ ] A\n" + "  - [ ] B\n" * 50_000,
    "- [ ] A\n" + "  text\n" * 50_000,
    "`" * 400_000 + "\n- [ ] A",
    "".join(" " * 2 * depth + "- [ ] A\n" for depth in range(1_000)),
]


@pytest.mark.parametrize("text", LONG_LINES, ids=range(len(LONG_LINES)))
def test_no_checklist_takes_long(text):
    started = thread_time()
    try:
        read_plan(text, "markdown")
    except NotAPlan:
        pass
    assert thread_time() - started < 10


@given(st.text() | st.text(alphabet='-*1. []x()":,#`~\n\t depnsaft'))
@example("- [ ] A\n  more of it\n- [x] B (depends: A)\n")
@example('["A", {"subject": "B"}]')
def test_any_text_is_a_plan_or_is_refused(text):
    for kind in ("markdown", "json", "yaml"):
        try:
            drafts = read_plan(text, kind)
        except NotAPlan:
            continue
        assert drafts
        assert all(draft.subject and "\n" not in draft.subject for draft in drafts)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["subject", "title", "tasks", "files", "depends", "done", "x"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@given(st.lists(VALUES, max_size=4))
def test_any_list_is_a_plan_or_is_refused(values):
    try:
        drafts = items(*values)
    except NotAPlan:
        return
    assert len(drafts) >= len(values)


class TestIds:
    @pytest.mark.parametrize(
        ("line", "key", "runtime", "needs_plan"),
        [
            ("A (id: parser) (runtime: codex) (plan: required)", "parser", "codex", True),
            ("A (ID: The  Parser) (Plan: yes)", "The Parser", "", True),
            ("A (plan: no)", "", "", False),
            ("A (id: 7)", "7", "", False),
            ("A (id:)", "", "", False),
        ],
    )
    def test_a_checklist_names_ids_runtimes_and_plans(self, line, key, runtime, needs_plan):
        draft = only(f"- [ ] {line}")
        assert (draft.subject, draft.key, draft.runtime, draft.needs_plan) == ("A", key, runtime, needs_plan)

    @pytest.mark.parametrize(
        ("line", "timeout"),
        [("A (timeout: 10m)", 600), ("A (Timeout: 1h 30m)", 5400), ("A (timeout: none)", 0), ("A", None)],
    )
    def test_a_task_may_say_how_long_one_attempt_may_take(self, line, timeout):
        draft = only(f"- [ ] {line}")
        assert (draft.subject, draft.timeout) == ("A", timeout)

    def test_a_list_says_the_limit_as_text_or_in_seconds(self):
        assert [item(timeout=one).timeout for one in ("10m", 600, 1.5, "none", 0, None)] == [600, 600, 1.5, 0, 0, None]

    @pytest.mark.parametrize("plan", [True, "required", "Required"])
    def test_so_does_a_list(self, plan):
        draft = item(id=" the\nparser ", runtime="codex", plan=plan)
        assert (draft.key, draft.runtime, draft.needs_plan) == ("the parser", "codex", True)
        assert (item(id=7).key, item(plan=False).needs_plan, item(plan=None).needs_plan) == ("7", False, False)

    @pytest.mark.parametrize(
        ("text", "kind", "message"),
        [
            ("- [ ] A (id: x)\n- [ ] B (id: X)", "markdown", "line 2: the id 'X' is that of line 1 too"),
            ('[{"title": "A", "id": 1}, {"title": "B", "id": "1"}]', "json", "item 2: the id '1' is that of item 1"),
            ('[{"title": "A", "id": "#1"}]', "json", "item 1: the id '#1' begins with #"),
            ("- [ ] A (id: #1)", "markdown", "line 1: the id '#1' begins with #"),
            (f"- [ ] A (id: {'x' * 101})", "markdown", "line 1: the id has 101 characters"),
            ('[{"title": "A", "id": []}]', "json", "item 1: id must be text"),
            ('[{"title": "A", "runtime": {}}]', "json", "item 1: runtime must be text"),
            ('[{"title": "A", "plan": "soon"}]', "json", "item 1: plan is 'soon'; it must be `required`"),
            ('[{"title": "A", "plan": [true]}]', "json", "item 1: plan must be text"),
            ("- [ ] A (plan: later)", "markdown", "line 1: plan is 'later'"),
            (
                "- [ ] A (timeout: soon)",
                "markdown",
                "line 1: the timeout 'soon' is not a length of time; write it like",
            ),
            ('[{"title": "A", "timeout": "99d"}]', "json", "item 1: a timeout of 8.5536e+06 s cannot be kept"),
            ('[{"title": "A", "timeout": -1}]', "json", "item 1: the timeout '-1' is not a length of time"),
            ('[{"title": "A", "timeout": [1]}]', "json", "item 1: timeout must be text"),
        ],
    )
    def test_what_is_wrong_with_them_is_said_with_its_place(self, text, kind, message):
        with pytest.raises(NotAPlan) as raised:
            read_plan(text, kind)
        assert message in str(raised.value)

    def test_a_bare_number_is_an_id_of_the_plan_if_the_plan_has_it(self):
        drafts = items({"title": "A", "id": 1}, {"title": "B", "id": 2, "depends_on": [1, "1", 3, "#1"]})
        assert drafts[1].depends_on == ["1", "#3", "#1"]

    def test_the_title_of_a_part_stays_a_title_though_it_is_a_number(self):
        assert [draft.depends_on for draft in checklist("- [ ] A (after: 8)\n  - [ ] 7\n")] == [["#8", "7"], []]


@pytest.mark.parametrize(
    ("line", "subject", "unknown"),
    [
        ("- [ ] A (retries: 1) (run: make)", "A (retries: 1)", ["retries: 1"]),
        (
            "- [ ] A (run: make) (time-out: 9m) (retries: 1)",
            "A (time-out: 9m) (retries: 1)",
            ["time-out: 9m", "retries: 1"],
        ),
        ("- [ ] A (see the notes: all of them)", "A (see the notes: all of them)", []),
        ("- [ ] Fix call(retries: 3)", "Fix call(retries: 3)", []),
        ("- [ ] A (soon)", "A (soon)", []),
        ("- [ ] A (timeout: 9m)", "A", []),
    ],
)
def test_a_group_that_looks_like_a_key_and_is_none_stays_in_the_title_and_is_told(line, subject, unknown):
    draft = only(line)
    assert (draft.subject, draft.unknown_groups) == (subject, unknown)
    told = unknown_in_words([draft], KNOWN_KEYS)
    assert [one.split(" is no key")[0] for one in told] == (
        [f"line 1: {', '.join(f'({group})' for group in unknown)}"] if unknown else []
    )
    assert all(
        "known are accept, depends, files, id, owner, plan, priority, run, runtime, timeout" in one for one in told
    )
