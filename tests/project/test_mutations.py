"""The lies of `make mutants`: which there are, that each changes one place, and that a seed always draws the same."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.mutants.mutations import Mutant, draw, mutants_of
from tests.mutants.reach import Reaching
from tests.mutants.run import EQUAL, HUNG, KILLED, SURVIVED, Verdict, candidates, score_of, waves
from tests.mutants.targets import CARRIERS, carriers, relevant_tests

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "atm"


def bodies(line: str) -> list[str]:
    """Every version of a function's line that the mutants have."""
    source = f"def f(x, y):\n    {line}\n"
    return [mutant.in_source(source).splitlines()[-1].strip() for mutant in mutants_of("m.py", source)]


@pytest.mark.parametrize(
    ("line", "lies"),
    [
        ("x = x == y", ["x = x != y"]),
        ("x = x is None", ["x = x is not None"]),
        ("x = x is not None", ["x = x is None"]),
        ("x = x in y", ["x = x not in y"]),
        ("x = x not  in y", ["x = x in y"]),
        ("x = x < y", ["x = x <= y", "x = x >= y"]),
        ("x = x >= y", ["x = x < y", "x = x > y"]),
        ("x = (x) == (y)", ["x = (x) != (y)"]),
        ("x = 0 < x < y", ["x = 0 <= x < y", "x = 0 >= x < y", "x = 0 < x <= y", "x = 0 < x >= y"]),
        ("x = island is inside", ["x = island is not inside"]),
        ("x = True", ["x = False"]),
        ("x = not y", ["x = y"]),
        ("x = not (x or y)", ["x = (x or y)", "x = not (x and y)"]),
        ("x = x and y", ["x = x or y"]),
        ("x.close()", ["pass"]),
        ("return x", ["return None"]),
        ("return x == y", ["return None", "return x != y"]),
        ("return True", ["return False"]),
        ("return None", []),
        ("return", []),
        ("x = 'ü' == y", ["x = 'ü' != y"]),
    ],
)
def test_every_kind_of_lie_is_told_where_it_can_be(line, lies):
    assert sorted(bodies(line)) == sorted(lies)


def test_a_call_that_is_waited_for_can_be_dropped_too():
    source = "async def f(x):\n    await x.close()\n"
    assert [mutant.in_source(source) for mutant in mutants_of("m.py", source)] == ["async def f(x):\n    pass\n"]


def test_an_operator_is_found_behind_a_comment_that_names_one():
    source = "def f(x, y):\n    return (\n        x  # == is not meant\n        != y\n    )\n"
    lies = [mutant.in_source(source) for mutant in mutants_of("m.py", source) if mutant.kind == "compare"]
    assert lies == [source.replace("!=", "==")]


@pytest.mark.parametrize(
    "source",
    [
        "READY = True\n",
        "if TYPE_CHECKING:\n    def f(x):\n        return x == 1\n",
        "class C:\n    def __repr__(self):\n        return repr(1 == 2)\n",
        "def f(x):\n    '''Say True.'''\n",
        "def f(x):\n    x = f'{x == 1}'\n",
        "def f(x: True == False): ...\n",
        "@frozen(slots=True)\nclass C: ...\n",
        "def f():\n    if os.name:\n        if sys.platform:\n            pass\n",
        "def lock_on_windows(x):\n    return x\n",
    ],
)
def test_what_cannot_be_observed_is_left_alone(source):
    assert mutants_of("m.py", source) == []


def test_code_for_another_system_is_left_alone_and_the_question_is_not():
    source = "def f(x):\n    if os.name == 'nt':\n        return x\n"
    assert [mutant.text for mutant in mutants_of("m.py", source)] == ["!="]


def test_a_default_is_met_by_whoever_enters_the_function():
    source = "@decorated\ndef f(\n    x,\n    y=True,\n):\n    return x\n"
    flipped = next(mutant for mutant in mutants_of("m.py", source) if mutant.kind == "boolean")
    assert flipped.in_source(source) == source.replace("True", "False")
    assert (flipped.line, flipped.end_line) == (1, 1)


def test_a_mutant_says_where_it_is_and_what_it_changes():
    source = (
        "class C:\n    def f(self, x):\n        if x == 1:\n            self.stop(\n                x,\n            )\n"
    )
    first, second = mutants_of("m.py", source)
    assert (first.function, first.line, first.label) == ("C.f", 3, "if x == 1: => if x != 1:")
    assert (second.function, second.line, second.label) == ("C.f", 4, "self.stop( x, ) => pass")


def test_the_same_lie_in_two_places_is_two_mutants():
    source = "def f(x):\n    x.go()\n    x.stop()\n    x.go()\n"
    assert [(mutant.label, mutant.turn) for mutant in mutants_of("m.py", source)] == [
        ("x.go() => pass", 0),
        ("x.stop() => pass", 0),
        ("x.go() => pass", 1),
    ]


@pytest.fixture(scope="module")
def everything() -> list[Mutant]:
    return candidates(SOURCE)[0]


def test_a_seed_draws_the_same_mutants_every_time(everything):
    drawn = draw(everything, 200, seed=7)
    assert len(set(drawn)) == 200
    assert draw(list(reversed(everything)), 200, seed=7) == drawn
    assert draw(everything, 200, seed=8) != drawn
    assert set(draw(everything, 50, seed=7)) < set(drawn)


def test_a_module_that_moves_or_grows_keeps_its_place_in_the_draw():
    source = "def f(x):\n    return x == 1\n"
    longer = "import os\n\n\ndef g():\n    os.sync()\n\n\n" + source
    before = [mutant.rank(1) for mutant in mutants_of("mail/m.py", source)]
    after = [mutant.rank(1) for mutant in mutants_of("board/rules/m.py", longer)]
    assert after[-len(before) :] == before


def test_every_drawn_mutant_is_python_and_not_the_original(everything):
    for mutant in draw(everything, 40, seed=1):
        source = (SOURCE / mutant.module).read_text()
        assert ast.parse(mutant.in_source(source))
        assert mutant.in_source(source) != source


def test_every_module_of_the_table_is_there_and_carries_a_guarantee():
    """Also that the list of equivalent mutants has no entry without a mutant: `candidates` refuses it."""
    assert carriers(SOURCE) == list(CARRIERS)
    assert {word for words in CARRIERS.values() for word in words.split()} == {"G1", "G2", "G3", "G4", "G5"}
    assert relevant_tests(ROOT / "tests")


def test_a_module_of_the_table_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"board/rules/claims\.py"):
        carriers(tmp_path)


def of_seconds(*seconds: float, is_within: bool = True) -> Sequence[Reaching]:
    return [Reaching(f"tests/test_it.py::test_{n}", each, is_within) for n, each in enumerate(seconds)]


def test_a_mutant_meets_quick_tests_first_then_the_others_then_programs():
    quick, slow, programs = of_seconds(1, 1), of_seconds(5, 30), of_seconds(1, is_within=False)
    assert list(waves([*quick, *slow, *programs], "m.py")) == [quick, slow, programs]


def test_a_mutant_meets_the_tests_of_its_own_folder_and_room_before_others_that_are_quicker():
    names = ("mail/services/test_it", "board/rules/test_m", "mail/rules/test_m", "board/test_it")
    quick, own, other, room = (Reaching(f"tests/{name}.py::test_it", n, True) for n, name in enumerate(names))
    assert list(waves([quick, own, other, room], "board/rules/m.py")) == [[own], [room], [quick, other]]


def test_a_mutant_meets_no_more_tests_than_there_is_time_for_and_one_at_least():
    assert list(waves(of_seconds(50, 5, 30), "m.py")) == [of_seconds(50), of_seconds(50, 5)[1:]]
    assert list(waves(of_seconds(500, is_within=False), "m.py")) == [of_seconds(500, is_within=False)]
    assert list(waves([], "m.py")) == []


def test_the_score_counts_what_was_noticed_of_what_can_be_noticed():
    mutant = mutants_of("m.py", "def f(x):\n    return x\n")[0]
    outcomes = [KILLED, KILLED, HUNG, SURVIVED, EQUAL]
    assert score_of([Verdict(mutant, outcome) for outcome in outcomes]) == 75.0
    assert score_of([]) == 0.0
