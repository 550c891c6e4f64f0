"""`atm tasks import`: Markdown, JSON and YAML, with dependencies by title; all of it or nothing."""

from __future__ import annotations

import json
import subprocess

import pytest
from tests.proving import proves


@pytest.fixture
def plan(tasks, atm):
    """Write a plan and import it."""

    def give(text, *words, name="plan.md", code=0):
        (atm.folder / name).write_text(text)
        return tasks("import", name, *words, code=code)

    return give


MARKDOWN = """# The release

Some prose, and a list that is no checklist:
- not a task

- [ ] Design the format (priority: high) (files: docs/**, "a, b.md")
  With two lines
  of description.
- [x] Set up the repository (owner: @ann)
- [ ] Write the parser (depends: Design the format, Set up the repository) (accept: make test)
  - [ ] Lexer
  - [ ] Grammar (depends: Lexer)
* [ ] Release (blocked by: "Write the parser")

```
- [ ] not a task either
```
"""
JSON = json.dumps(
    {
        "tasks": [
            {"subject": "Design", "priority": "high", "files": ["docs/**"], "accept": ["true"]},
            {"title": "Build", "dependsOn": ["Design"], "description": "why", "subtasks": ["Lexer", "Grammar"]},
            {"subject": "Release", "blockedBy": "Build", "owner": "ann", "status": "pending"},
        ]
    }
)
YAML = """
tasks:
  - subject: Design
    priority: high
    files: [docs/**]
    accept: "true"
  - title: Build
    dependsOn: [Design]
    description: why
    subtasks: [Lexer, Grammar]
  - subject: Release
    blockedBy: Build
    owner: ann
"""


def shape(rows):
    return [(row["id"], row["subject"], row["blockedBy"], row["state"], row["priority"]) for row in rows]


@proves("R004-current-state-04", "R004-storage-04", "R004-task-system-T11g", "R004-defects-09f")
def test_a_checklist_becomes_tasks(plan, tasks):
    assert plan(MARKDOWN).out == "added 6 tasks, #1 to #6\n"
    rows = tasks("list", "--json").json["tasks"]
    assert shape(rows) == [
        ("1", "Design the format", [], "pending", "high"),
        ("2", "Set up the repository", [], "completed", "normal"),
        ("3", "Write the parser", ["4", "5", "1", "2"], "blocked", "normal"),
        ("4", "Lexer", [], "pending", "normal"),
        ("5", "Grammar", ["4"], "blocked", "normal"),
        ("6", "Release", ["3"], "blocked", "normal"),
    ]
    assert rows[0]["files"] == ["docs/**", "a, b.md"]
    assert tasks("show", "1", "--json").json["task"]["description"] == "With two lines\nof description."
    assert tasks("show", "3", "--json").json["task"]["acceptance"] == [
        {"kind": "command", "command": "make test", "by": None, "trusted": False}
    ]


@proves("R004-defects-09f")
@pytest.mark.parametrize(("name", "text"), [("p.json", JSON), ("p.yaml", YAML), ("p.YML", YAML)])
def test_json_and_yaml_say_the_same(plan, tasks, name, text):
    if not name.endswith("json"):
        pytest.importorskip("yaml")
    answer = plan(text, "--json", name=name).json
    assert (answer["action"], answer["team"], answer["count"]) == ("import", "crew", 5)
    assert shape(answer["tasks"]) == [
        ("1", "Design", [], "pending", "high"),
        ("2", "Build", ["3", "4", "1"], "blocked", "normal"),
        ("3", "Lexer", [], "pending", "normal"),
        ("4", "Grammar", [], "pending", "normal"),
        ("5", "Release", ["2"], "blocked", "normal"),
    ]


@proves("R004-task-system-T3b")
def test_titles_may_name_tasks_that_are_on_the_board(plan, tasks):
    tasks("add", "Design")
    plan("- [ ] Build (depends: design)\n- [ ] Ship (depends: #1, Build)\n")
    assert [row["blockedBy"] for row in tasks("list", "--json").json["tasks"]] == [[], ["1"], ["1", "2"]]


def test_one_task_is_told_as_one(plan):
    assert plan("- [ ] Only this\n").out.startswith("added #1")


def test_two_parents_may_have_parts_of_the_same_title(plan, tasks):
    plan("- [ ] A\n  - [ ] Write tests\n- [ ] B\n  - [ ] Write tests\n")
    assert [row["blockedBy"] for row in tasks("list", "--json").json["tasks"]] == [["2"], [], ["4"], []]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("p.md", "- [ ] A\n  - [ ] Write tests\n  - [ ] Write tests\n"),
        ("p.json", '[{"subject": "A", "tasks": ["Write tests", "Write tests"]}]'),
    ],
)
def test_one_parent_may_have_two_parts_of_the_same_title(plan, tasks, name, text):
    assert plan(text, name=name).out == "added 3 tasks, #1 to #3\n"
    assert [row["blockedBy"] for row in tasks("list", "--json").json["tasks"]] == [["2", "3"], [], []]


def test_a_parent_may_also_name_its_part_as_a_dependency(plan, tasks):
    assert plan("- [ ] A (depends: Write tests)\n  - [ ] Write tests\n").out == "added 2 tasks, #1 to #2\n"
    assert [row["blockedBy"] for row in tasks("list", "--json").json["tasks"]] == [["2"], []]


def test_a_plan_comes_from_standard_input(crew):
    assert crew("tasks", "import", "-", stdin="- [ ] A\n- [ ] B\n").out == "added 2 tasks, #1 to #2\n"


def test_a_closed_standard_input_is_an_error_in_words(crew):
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" <&-', "sh", *crew.command("tasks", "import", "-")],
        env=crew.environment,
        cwd=crew.folder,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 1
    assert b"unexpected" not in done.stderr
    assert b"Traceback" not in done.stderr


def test_an_empty_standard_input_is_no_plan(crew):
    assert "not a plan" in crew("tasks", "import", "-", stdin="", code=1).err


class TestAllOrNothing:
    @pytest.mark.parametrize(
        ("name", "text", "complaint"),
        [
            ("p.md", "- [ ] A (depends: B)\n- [ ] B (depends: A)\n", "circle"),
            ("p.md", "- [ ] A\n- [ ] B (depends: B)\n", "itself"),
            ("p.md", "- [ ] A\n- [ ] B (depends: Nowhere)\n", "Nowhere"),
            ("p.md", "- [ ] A\n- [ ] B (depends: #99)\n", "#99"),
            ("p.md", "- [ ] A\n- [ ] A\n- [ ] B (depends: A)\n", "2 tasks"),
            ("p.md", "- [ ] A\n- [ ] \n", "line 2: the task has no subject"),
            ("p.md", "- [ ] A (priority: urgent)\n", "no priority"),
            ("p.md", "- [ ] Good\n- [ ] " + "x" * 501 + "\n", "501 characters"),
            ("p.md", "- [ ] Good\n- [ ] B (owner: ../x)\n", "path separator"),
            ("p.md", "just words\n", "checkbox"),
            ("p.md", "", "checkbox"),
            ("p.json", "", "not JSON"),
            ("p.json", "[", "not JSON"),
            ("p.json", "[]", "no tasks"),
            ("p.json", "7", "list of tasks"),
            ("p.json", '[{"subject": "A", "dependson": "B"}]', "did you mean 'dependsOn'"),
            ("p.json", '[{"subject": "A"}, {"subject": ""}]', "item 2"),
            ("p.json", '[{"subject": "A", "depends_on": [true]}]', "item 1"),
            ("p.json", '[{"subject": "A", "accept": [" "]}]', "says nothing"),
            ("p.json", "[" * 100_000, "not JSON"),
        ],
        ids=lambda value: value[:30] if isinstance(value, str) else "",
    )
    def test_a_plan_with_one_fault_adds_nothing(self, plan, tasks, contents, atm, name, text, complaint):
        tasks("add", "There before")
        before = contents(atm.home / ".claude")
        done = plan(text, name=name, code=1)
        assert complaint in done.err
        assert "\n  fix: " in done.err
        assert contents(atm.home / ".claude") == before

    @pytest.mark.parametrize(
        ("text", "complaint"),
        [
            ("- subject: A\n  depends_on: [Z]\n", "no task is called 'Z'"),
            ("a: [", "line 1"),
            ("- &a [*a]", "aliases"),
            ("- subject: A\n  due: tomorrow\n", "unknown key 'due'"),
            ("!!python/object/apply:os.system ['touch evil']", "line 1"),
        ],
    )
    def test_nor_does_yaml(self, plan, tasks, contents, atm, text, complaint):
        pytest.importorskip("yaml")
        tasks("add", "There before")
        before = contents(atm.home / ".claude")
        assert complaint in plan(text, name="p.yaml", code=1).err
        assert contents(atm.home / ".claude") == before
        assert not (atm.folder / "evil").exists()

    def test_a_circle_in_a_plan_is_named_by_titles(self, plan):
        """The tasks have no numbers yet: `#1 → #2 → #1` says nothing to whoever wrote the plan."""
        error = plan("- [ ] Chicken (depends: Egg)\n- [ ] Egg (depends: Chicken)\n", code=1).err
        assert "Chicken" in error
        assert "Egg" in error

    def test_a_dependency_that_nobody_knows_says_where_it_stands(self, plan):
        error = plan("- [ ] A\n- [ ] B\n- [ ] C (depends: Nowhere)\n", code=1).err
        assert "line 3" in error


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["missing.md"], "No such file"),
        (["."], "directory"),
        (["p.md", "--format", "xml"], "markdown, json, yaml"),
        ([], "<file> is missing"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tasks, words, complaint):
    assert complaint in tasks("import", *words, code=1).err


def test_a_file_that_is_too_large_is_refused(tasks, atm):
    (atm.folder / "p.md").write_text("- [ ] x\n" * 700_000)
    assert "larger than 5 MB" in tasks("import", "p.md", code=1).err


def test_bytes_that_are_no_text_do_not_end_it(tasks, atm):
    (atm.folder / "p.md").write_bytes(b"\xff\xfe\x00- [ ] \xc3\x28\n- [ ] B\n")
    assert tasks("import", "p.md", "--json").json["count"] == 1


class TestDryRun:
    def test_it_shows_what_would_be_added_and_writes_nothing(self, plan, contents, atm):
        before = contents(atm.home)
        done = plan("- [ ] A\n- [ ] B (depends: A)\n", "--dry-run")
        assert done.out.startswith("would add 2 tasks:\n  A\n  B")
        assert contents(atm.home) == before

    def test_json_lists_the_subjects(self, plan):
        answer = plan("- [ ] A\n- [ ] B\n", "--dry-run", "--json").json
        rest = {"action": "import", "team": "crew", "dry_run": True, "commands": []}
        became = {"added": ["1", "2"], "changed": [], "unchanged": [], "kept": [], "missing": []}
        assert answer == {**rest, **became, "count": 2, "subjects": ["A", "B"]}

    def test_it_refuses_what_a_real_import_refuses(self, plan):
        assert "circle" in plan("- [ ] A (depends: B)\n- [ ] B (depends: A)\n", "--dry-run", code=1).err


def test_escapes_in_a_plan_do_not_reach_the_terminal(plan, tasks):
    plan('[{"subject": "a\\u001b[2Jb", "description": "c\\u001b]0;x\\u0007\\u009b"}]', name="p.json")
    shown = tasks("list").out + tasks("show", "1").out + tasks("graph").out + tasks("history").out
    assert "\x1b" not in shown
    assert "\x9b" not in shown
    assert "\x07" not in shown


def test_a_nul_in_a_subject_is_refused_like_in_any_other_text(plan):
    assert "NUL" in plan('[{"subject": "a\\u0000b"}]', name="p.json", code=1).err


def test_a_box_that_is_ticked_is_in_the_history_as_done_before(plan, tasks):
    plan("- [x] Old\n")
    events = tasks("history", "1", "--json").json["events"]
    assert [event["type"] for event in events] == ["task_created", "status_changed"]
    assert events[1]["to"] == "completed"


def test_ids_of_the_plan_are_dependencies_and_are_shown(plan, tasks):
    plan("- [ ] Parser (id: p) (runtime: codex) (plan: required)\n- [ ] Tests (depends: p)\n")
    first, second = tasks("list", "--json").json["tasks"]
    assert (first["key"], first["runtime"], first["plan"], second["blocked_by"]) == ("p", "codex", "required", ["1"])
    assert "key" not in second
    assert "runtime" not in second
    shown = tasks("show", "1", "--json").json["task"]
    assert (shown["key"], shown["runtime"]) == ("p", "codex")
    assert "plan's id   p" in tasks("show", "1").out


class TestAgain:
    def test_the_same_file_twice_adds_nothing_and_writes_nothing(self, plan, contents, atm):
        plan(MARKDOWN)
        before = contents(atm.home / ".claude/tasks")
        assert plan(MARKDOWN).out == "nothing to add: 6 unchanged\n"
        answer = plan(MARKDOWN, "--json").json
        assert (answer["count"], answer["tasks"], answer["added"], len(answer["unchanged"])) == (0, [], [], 6)
        assert contents(atm.home / ".claude/tasks") == before

    def test_pending_tasks_follow_the_plan_and_others_do_not(self, plan, tasks):
        plan("- [ ] A (id: a)\n- [ ] B\n- [ ] C\n- [ ] D\n")
        tasks("claim", "2", "--as", "bob")
        changed = "- [ ] A, but better (id: a)\n  Why.\n- [ ] B (priority: high)\n- [ ] C\n- [ ] E (depends: a)\n"
        shown = plan(changed, "--dry-run", "--json").json
        answer = plan(changed, "--json").json
        became = ("added", "changed", "unchanged", "kept", "missing")
        assert {key: shown[key] for key in became} == {key: answer[key] for key in became}
        assert answer["added"] == ["5"]
        assert [row["id"] for row in answer["tasks"]] == ["5"]
        assert answer["changed"] == [{"id": "1", "subject": "A, but better", "what": ["title", "description"]}]
        assert answer["unchanged"] == ["3"]
        assert answer["kept"] == [{"id": "2", "subject": "B", "what": ["priority"], "why": "bob works on it"}]
        assert answer["missing"] == [{"id": "4", "subject": "D", "state": "pending"}]
        rows = tasks("list", "--json").json["tasks"]
        assert [(row["subject"], row["blocked_by"]) for row in rows] == [
            ("A, but better", []),
            ("B", []),
            ("C", []),
            ("D", []),
            ("E", ["1"]),
        ]

    def test_people_read_what_changed_what_stays_and_why(self, plan, tasks):
        plan("- [ ] A\n- [ ] B\n- [ ] C\n")
        tasks("claim", "2", "--as", "bob")
        changed = "- [ ] A (priority: high)\n- [ ] B (priority: high)\n- [ ] D\n"
        rest = [
            "  {} #1 A: priority",
            "  left alone #2 B: bob works on it",
            "  not in the plan any more #3 C: it stays",
        ]
        lines = plan(changed, "--dry-run").out.splitlines()
        assert lines == ["would add 1 task:", "  D", *(line.format("would change") for line in rest)]
        assert plan(changed).out.splitlines() == ["added #4 D", *(line.format("changed") for line in rest)]

    def test_a_file_that_was_copied_is_another_plan_unless_its_ids_say_otherwise(self, plan):
        plan("- [ ] A (id: a)\n- [ ] B\n")
        answer = plan("- [ ] A (id: a)\n- [ ] B\n", "--json", name="copy.md").json
        assert (answer["added"], [one["id"] for one in answer["changed"]]) == (["3"], ["1"])

    def test_what_is_piped_in_has_no_file_and_is_known_by_its_ids_alone(self, crew):
        text = "- [ ] A (id: a)\n- [ ] B\n"
        crew("tasks", "import", "-", stdin=text)
        answer = crew("tasks", "import", "-", "--json", stdin=text).json
        assert (answer["added"], answer["unchanged"], answer["missing"]) == (["3"], ["1"], [])

    def test_a_circle_with_what_is_there_is_refused_and_nothing_changes(self, plan, contents, atm):
        plan("- [ ] A (id: a)\n- [ ] B (id: b) (depends: a)\n")
        before = contents(atm.home / ".claude/tasks")
        text = "- [ ] A (id: a) (depends: c)\n- [ ] B (id: b) (depends: a)\n- [ ] C (id: c) (depends: b)\n"
        assert "circle" in plan(text, code=1).err
        assert contents(atm.home / ".claude/tasks") == before
