"""The tasks of a plan as wishes: ids, titles and numbers as dependencies; runtimes that exist."""

from __future__ import annotations

import pytest

from atm.board.formats.task_import import read_plan
from atm.board.rules.dependencies import Board
from atm.board.rules.tasks import Card
from atm.board.services.new_tasks import NewTask, check_runtimes, meant_tasks, wishes_of
from atm.core.work_errors import BadTask

BOARD = Board({1: Card(1, "Old one", key="old"), 2: Card(2, "new"), 3: Card(3, "twin"), 4: Card(4, "Twin", key="t")})


def needs(*wishes: NewTask) -> list[list[str]]:
    ids = [str(number) for number in range(10, 10 + len(wishes))]
    return list(meant_tasks(BOARD, wishes, ids).values())


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        ("a", "10"),
        ("A", "10"),
        ("second  thing", "11"),
        ("3", "12"),
        ("#3", "3"),
        ("4", "4"),
        ("old", "1"),
        ("old ONE", "1"),
        ("new", "13"),
        ("both", "14"),
    ],
)
def test_a_dependency_is_an_id_of_the_plan_then_a_title_then_one_of_the_board(named, expected):
    wishes = [
        NewTask("first thing", key="a"),
        NewTask("Second thing"),
        NewTask("third", key="3"),
        NewTask("New"),
        NewTask("x", key="both"),
        NewTask("both"),
        NewTask("last", depends_on=[named]),
    ]
    assert needs(*wishes)[-1] == [expected]


@pytest.mark.parametrize(
    ("named", "says", "remedy"),
    [
        ("twin", "line 9: 'twin' is the title of 2 tasks", "different titles"),
        ("parsre", "line 9: no task is called 'parsre'", "did you mean 'parser'?"),
        ("odl one", "no task is called 'odl one'", "did you mean 'old one'?"),
        ("zzzzzz", "no task is called", "atm tasks list"),
    ],
)
def test_a_name_that_means_nothing_or_too_much_says_where_and_what_may_be_meant(named, says, remedy):
    with pytest.raises(BadTask) as raised:
        needs(NewTask("x", key="parser"), NewTask("y", depends_on=[named], place="line 9"))
    assert says in str(raised.value)
    assert remedy in raised.value.remedy


def test_a_wish_knows_what_the_plan_says_and_where_it_lies():
    drafts = read_plan("- [ ] A (id: a) (runtime: codex) (plan: required)", "markdown")
    [wish] = wishes_of(drafts, source="/w/plan.md")
    assert (wish.key, wish.runtime, wish.needs_plan, wish.source) == ("a", "codex", True, "/w/plan.md")


@pytest.mark.parametrize("fields", [{"key": "#1"}, {"key": "x" * 101}, {"runtime": "y" * 101}, {"key": "a\0b"}])
def test_an_id_or_a_runtime_that_nobody_could_name_is_refused(fields):
    with pytest.raises(BadTask):
        NewTask("A", **fields)


@pytest.mark.parametrize(
    ("runtime", "remedy"),
    [("codxe", "did you mean 'codex'?"), ("Codex", "did you mean 'codex'?"), ("zz", "known are claude, codex")],
)
def test_an_unknown_runtime_is_named_with_its_place(runtime, remedy):
    drafts = read_plan(f"- [ ] A (runtime: claude)\n- [ ] B\n- [ ] C (runtime: {runtime})", "markdown")
    with pytest.raises(BadTask) as raised:
        check_runtimes(drafts, {"codex", "claude"})
    assert f"line 3: there is no runtime {runtime!r}" in str(raised.value)
    assert remedy in raised.value.remedy


def test_runtimes_that_exist_and_none_at_all_pass():
    drafts = read_plan("- [ ] A (runtime: claude)\n- [ ] B", "markdown")
    check_runtimes(drafts, ["claude"])
    with pytest.raises(BadTask):
        check_runtimes(drafts, [])
