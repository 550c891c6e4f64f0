"""Sentences for people: no words of the machinery, one spelling of states, one and many; JSON stays as it was."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator

import pytest
from tests.project.source_trees import MODULES, SOURCE, nodes_in, parsed, saying

from atm.core.plain import counted
from atm.ui.views.letters import in_one_line, sentence


def test_an_assignment_is_a_sentence_and_json_is_as_it_was(tasks, quickly):
    tasks("add", "Write the parser", "--description", "By hand.\nNo tools.", "--owner", "bob", "--as", "ann")
    said = quickly("read", "bob").out
    assert "    You have a new task: #1 Write the parser\n    By hand.\n    No tools.\n" in said
    assert "taskId" not in said
    text = json.loads(quickly("read", "bob", "--json").json["messages"][0]["text"])
    assert (text["type"], text["taskId"], text["assignedBy"]) == ("task_assignment", "1", "ann")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"type": "task_assignment", "task_id": "3", "subject": "x\x1b[31m"}, "You have a new task: #3 x"),
        ({"type": "shutdown_request", "reason": "all is done"}, "Please finish what you are at and end: all is done"),
        ({"type": "shutdown_request"}, "Please finish what you are at and end"),
        ({"type": "plan_approval_request", "plan": "first this"}, "Please approve my plan first this"),
    ],
)
def test_what_programs_write_is_said_in_words(fields, said):
    assert in_one_line(json.dumps(fields)).startswith(said)
    assert "\x1b" not in in_one_line(json.dumps(fields))


def test_what_grants_something_is_shown_field_by_field():
    found = sentence(json.dumps({"type": "permission_response", "request_id": "7", "approved": True}))
    assert found == ["request_id: 7", "approved: True"]
    assert sentence("hello {name}") is None
    assert sentence(json.dumps({"type": "task_assignment", "subject": "{reason}"})) == [
        "You have a new task: # {reason}"
    ]


def test_a_state_has_one_spelling_for_people_and_any_may_be_typed(tasks, quickly):
    tasks("add", "Write the parser")
    tasks("claim", "1", "--as", "bob")
    for words in (["tasks"], ["tasks", "show", "1"], ["tasks", "history"], ["status"], ["teams", "show", "crew"]):
        said = quickly(*words).out
        assert "in progress" in said
        assert "in_progress" not in said
    for spelling in ("in progress", "in_progress", "in-progress", "In Progress"):
        assert "#1" in tasks("list", "--state", spelling).out
    assert tasks("list", "--json").json["tasks"][0]["state"] == "in_progress"


@pytest.mark.parametrize(("number", "said"), [(0, "0 tasks"), (1, "1 task"), (2, "2 tasks"), (1000, "1,000 tasks")])
def test_one_and_many(number, said):
    assert counted(number, "task") == said


def test_systemctl_is_not_advised_where_there_is_none(crew):
    done = crew("daemon", "install", code=2, env={"PATH": "/nonexistent"})
    assert "atm daemon start" in done.out
    assert "run: systemctl" not in done.out


MACHINERY = ("lease", "shadow", "phase2", "phase 2", "fingerprint churn")


def test_work_sync_has_no_words_of_the_machinery(tasks, quickly):
    tasks("add", "Write the parser", "--owner", "bob")
    for words in (["sync"], ["sync", "agenda", "bob"], ["sync", "diagnose", "bob"], ["sync", "metrics"]):
        said = quickly(*words).out.replace("released", "").casefold()
        assert [word for word in MACHINERY if word in said] == []
        assert max(map(len, said.splitlines())) < 120


FOR_PROGRAMS = {
    "worksync/rules/decisions.py": "what an agent's program is told, in the words of the specification",
    "worksync/services/reports.py": "the answer to a report over MCP, in the words of the specification",
}
NOT_FOR_PEOPLE = re.compile(r"\b(leases?|shadow|phase.?2|in_progress|in-progress|systemctl)\b", re.IGNORECASE)
NOUNS = "message|task|member|file|agent|team|row|request|branch|report|attempt|nudge|conflict|problem|warning|command"
MANY = re.compile(rf" (\w+ )?({NOUNS})e?s\b")

# What a file says that can have such a sentence: more than those, because in a file a word may follow upon `\n`.
MACHINES_WORD = re.compile("lease|shadow|phase|progress|systemctl", re.IGNORECASE)
MANY_OF_A_NUMBER = re.compile(rf"}} (\w+ )?({NOUNS})e?s")


def sources(words: re.Pattern[str]) -> Iterator[tuple[str, list[ast.AST]]]:
    for path in saying(words, MODULES):
        name = path.relative_to(SOURCE).as_posix()
        if not name.startswith(("testing/", "ui/demo/")):
            yield name, nodes_in(parsed(path))


def docstrings(nodes: list[ast.AST]) -> set[int]:
    bodies = (node.body for node in nodes if isinstance(getattr(node, "body", None), list))  # type: ignore[attr-defined]
    said = (part.value for body in bodies for part in body if isinstance(part, ast.Expr))
    return {id(one) for one in said if isinstance(one, ast.Constant)}


def test_no_sentence_has_a_word_of_the_machinery():
    """A text with a blank in it is a sentence; names of states and keys have none."""
    found = [
        (name, node.lineno, node.value)
        for name, nodes in sources(MACHINES_WORD)
        for left_out in [docstrings(nodes)]
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in left_out
        if " " in node.value.strip() and NOT_FOR_PEOPLE.search(node.value)
    ]
    assert [one for one in found if one[0] not in FOR_PROGRAMS] == []
    assert {one[0] for one in found} == {*FOR_PROGRAMS}


NEVER_ONE = {
    "board/rules/decomposing.py": "how many tasks a model should make",
    "board/rules/naming.py": "a name that means several",
    "delivery/rules/channels.py": "a kind, and no number",
    "board/services/new_tasks.py": "a name that means several",
    "board/services/planning.py": "too many",
    "checkup/services/belongings.py": "everything that lies in a home",
    "mail/services/conversations.py": "a name that means several",
    "crew/adapters/included.py": "too many, and the most",
    "crew/adapters/worktrees.py": "the most",
    "ui/cli/board/adding.py": "one was said before",
}


def test_no_number_stands_before_many_unless_it_was_counted():
    """`counted` says one and many. Where a condition asks for 1, somebody has thought of it."""
    found: dict[str, list[str]] = {}
    for name, nodes in sources(MANY_OF_A_NUMBER):
        asked = [node for node in nodes if isinstance(node, ast.IfExp) and " == 1" in ast.unparse(node.test)]
        thought_of = {id(part) for node in asked for part in nodes_in(node)}
        texts = [node for node in nodes if isinstance(node, ast.JoinedStr) and id(node) not in thought_of]
        pairs = [pair for node in texts for pair in zip(node.values, node.values[1:], strict=False)]
        said = [f"{{…}}{text.value!s}" for number, text in pairs if is_many(number, text)]  # type: ignore[attr-defined]
        found |= {name: said} if said else {}
    assert {name: said for name, said in found.items() if name not in NEVER_ONE} == {}
    assert {*found} == {*NEVER_ONE}


def is_many(number: ast.expr, text: ast.expr) -> bool:
    is_pair = isinstance(number, ast.FormattedValue) and isinstance(text, ast.Constant)
    said = text.value if is_pair and isinstance(text, ast.Constant) else ""
    return isinstance(said, str) and bool(MANY.match(said)) and " begin with" not in said
