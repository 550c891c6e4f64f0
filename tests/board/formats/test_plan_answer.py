"""The plan in a model's answer: found in whatever it is wrapped, or refused in words that the model can use."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from atm.board.formats.plan_answer import WANTED, plan_in_answer
from atm.board.formats.task_import import LARGEST_PLAN, NotAPlan

JSON = '[{"id": "a", "title": "A"}, {"id": "b", "title": "B", "depends_on": ["a"]}]'
OBJECT = f'{{"tasks": {JSON}}}'
MARKDOWN = "- [ ] A (id: a)\n- [ ] B (id: b) (depends: a)"
YAML = "tasks:\n  - {id: a, title: A}\n  - {id: b, title: B, depends_on: [a]}"


def found(text: str) -> list[tuple[str, str, list[str]]]:
    return [(draft.key, draft.subject, draft.depends_on) for draft in plan_in_answer(text)]


@pytest.mark.parametrize(
    "text",
    [
        JSON,
        OBJECT,
        MARKDOWN,
        f"```json\n{JSON}\n```",
        f"Here is the plan:\n\n```json\n{JSON}\n```\n\nShall I go on? It has [2] tasks.",
        f"```JSON title=plan.json\n{OBJECT}\n```",
        f"```\n{JSON}\n```",
        f"~~~json\n{JSON}\n~~~",
        f"  ```json\n  {JSON}\n  ```",
        f"````json\n{JSON}\n````",
        f"```json\n{JSON}",
        f"```json\r\n{JSON}\r\n```\r\n",
        f"```markdown\n# Plan\n{MARKDOWN}\n```",
        f"```md\n{MARKDOWN}\n```",
        f"```\n{MARKDOWN}\n```",
        f'First a draft.\n```json\n["old"]\n```\nBetter:\n```json\n{JSON}\n```',
        f"```json\n{JSON}\n```\nThen run it:\n```sh\nmake\n```\n",
        f'```json\n{JSON}\n```\nSettings would be:\n```json\n{{"a": 1}}\n```\n',
        f"```json\n{JSON}\n```\n```\nnpm test\n```\n",
        f"Sure. The plan:\n{JSON}\nThat is all.",
        f"[Note] a plan.\n\n  {OBJECT}\n\n[end]",
        f"Plan:\n\n{MARKDOWN}\n\nAnything else?",
        f"```python\nx = [1]\n```\n{MARKDOWN}",
        f"\ufeff{JSON}",
    ],
)
def test_the_plan_is_found_whatever_is_around_it(text):
    assert found(text) == [("a", "A", []), ("b", "B", ["a"])]


@pytest.mark.parametrize("text", [YAML, f"The plan:\n{YAML}\n", f"```yaml\n{YAML}\n```", f"```\n{YAML}\n```"])
def test_so_it_is_in_yaml(text):
    pytest.importorskip("yaml")
    assert found(text) == [("a", "A", []), ("b", "B", ["a"])]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "there is no plan in your answer"),
        ("I cannot do that.", "there is no plan"),
        ("```sh\nrm -rf /\n```", "there is no plan"),
        ('```json\n{"a": 1}\n```', "there is no plan"),
        ("```json\n```", "there is no plan"),
        ('```json\n[{"title": "A"}\n```', "not JSON"),
        ('```json\n[{"title": ""}]\n```', "item 1: the task has no subject"),
        ('```json\n[{"title": "A", "dependencies": []}]\n```', "item 1: unknown key 'dependencies'"),
        ('```json\n[{"title": "A", "id": 1}, {"title": "B", "id": 1}]\n```', "the id '1' is that of item 1 too"),
        ("- [ ] A (priority: urgent)", "no priority"),
        (f'```json\n{JSON}\n```\nNo, better:\n```json\n[{{"titel": "A", "title": 7}}]\n```', "unknown key 'titel'"),
        ("x" * (LARGEST_PLAN + 1), "5,000,001 characters"),
    ],
)
def test_what_is_no_plan_is_refused_in_words_for_the_model(text, says):
    with pytest.raises(NotAPlan) as raised:
        plan_in_answer(text)
    assert says in str(raised.value)
    assert str(raised.value).endswith(WANTED)
    assert len(str(raised.value)) < 600


@given(st.text() | st.text(alphabet='`~[]{}":-x \njsontakle'))
@example("```")
@example("```json\n[[[[")
@example("tasks:")
def test_any_answer_is_a_plan_or_is_refused(text):
    try:
        drafts = plan_in_answer(text)
    except NotAPlan as error:
        said = str(error)
    else:
        said = WANTED if drafts else ""
    assert WANTED in said


@pytest.mark.parametrize("text", ["[\n" * 500_000, "```\n" * 300_001, "{\n" * 100_000, "```json\n" + "[" * 500_000])
def test_a_flood_is_refused(text):
    with pytest.raises(NotAPlan):
        plan_in_answer(text)


def test_ten_thousand_tasks_are_read():
    rows = ",".join(f'{{"id": {n}, "title": "task {n}", "depends_on": [{n - 1}]}}' for n in range(2, 10_002))
    assert len(plan_in_answer(f'```json\n[{{"id": 1, "title": "task 1"}},{rows}]\n```')) == 10_001
