"""
Every assertion can fail, and every test has one.

A test that accepts both outcomes stays green whatever the program does, and a ledger that names it proves nothing.
This reads the code of all tests and finds the forms in which that happens. What it cannot see is a loop that never
turns and a value that never varies: for those, say beside the loop that there is something in it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath

import pytest
from tests.project.source_trees import nodes_in, parsed, saying, statements_in

TESTS = Path(__file__).parents[1]
CHECKS = frozenset({"raises", "warns", "fail"})
"""What fails a test without being written `assert`: pytest's own."""

ALLOWED: dict[tuple[str, str], str] = {}
"""Test, and what is found in it: why that is right."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


# What an assertion may not be.


def fault_of(test: ast.expr) -> str:
    """What is wrong with asserting this, or nothing."""
    if is_choice(test) or takes_success_and_failure(test):
        return "either outcome will do"
    if isinstance(test, ast.Constant | ast.Tuple | ast.List | ast.Dict | ast.JoinedStr | ast.Lambda):
        return "always the same"
    if isinstance(test, ast.Compare) and any(map(is_same, *sides(test))):
        return "compared with itself"
    return ""


def is_choice(test: ast.expr, negated: bool = False) -> bool:
    """`a or b`, and what means the same: `x and (a or b)`, `not (a and b)`."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return is_choice(test.operand, not negated)
    if not isinstance(test, ast.BoolOp):
        return False
    return isinstance(test.op, ast.And) is negated or any(is_choice(value, negated) for value in test.values)


def takes_success_and_failure(test: ast.expr) -> bool:
    """`a in (True, False)`, and `a in (0, 1)`, as of exit codes."""
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.In):
        return False
    among = test.comparators[0]
    items = among.elts if isinstance(among, ast.Tuple | ast.List | ast.Set) else []
    return {True, False} <= {item.value for item in items if isinstance(item, ast.Constant)}


def sides(test: ast.Compare) -> tuple[list[ast.expr], list[ast.expr]]:
    return [test.left, *test.comparators[:-1]], test.comparators


def is_same(left: ast.expr, right: ast.expr) -> bool:
    """The same thing on both sides. Two calls may differ, so they may stand."""
    if type(left) is not type(right) or any(isinstance(node, ast.Call | ast.Await) for node in ast.walk(left)):
        return False
    return ast.dump(left) == ast.dump(right)


def can_be_skipped(node: ast.AST) -> list[ast.Assert]:
    """Assertions in a block that swallows an error: the error before them, or their own, and nothing is checked."""
    swallows = (isinstance(node, ast.Try) and bool(node.handlers)) or (
        isinstance(node, ast.With | ast.AsyncWith)
        and any("suppress" in name for item in node.items for name in names_in(item.context_expr))
    )
    body = node.body if swallows and isinstance(node, ast.Try | ast.With | ast.AsyncWith) else []
    return [inner for statement in body for inner in statements_in(statement) if isinstance(inner, ast.Assert)]


def names_in(expression: ast.expr) -> Iterator[str]:
    for node in ast.walk(expression):
        if isinstance(node, ast.Name | ast.Attribute):
            yield node.id if isinstance(node, ast.Name) else node.attr


def faults(tree: ast.AST) -> Iterator[tuple[ast.Assert, str]]:
    for node in statements_in(tree):
        if isinstance(node, ast.Assert) and (fault := fault_of(node.test)):
            yield node, fault
        for inner in can_be_skipped(node):
            yield inner, "skipped by an error"


# What a test may not lack.


@dataclass(frozen=True, slots=True)
class Part:
    """A test, a helper or a fixture: what there is to know of it."""

    name: str
    line: int
    asserts: bool
    checks: bool
    """Does it assert more than what kind of thing it has? That much a helper does only for mypy's sake."""
    calls: frozenset[str]
    """The last words of all that is called in it."""
    hands_on: frozenset[str]
    """The fixtures that it returns, with something done to them."""

    @classmethod
    def of(cls, function: Function, name: str = "") -> Part:
        claims = [node for node in statements_in(function) if is_claim(node)]
        if claims and (name or function.name).startswith("test"):
            # Nobody asks what it calls: it checks something itself, and no other test calls it.
            return cls(name or function.name, function.lineno, True, False, frozenset(), frozenset())
        nodes = nodes_in(function)
        called = [node.func for node in nodes if isinstance(node, ast.Call)]
        words = {node.id if isinstance(node, ast.Name) else getattr(node, "attr", "") for node in called}
        given = {argument.arg for argument in (*function.args.args, *function.args.kwonlyargs)}
        returned = [node.value for node in nodes if isinstance(node, ast.Return | ast.Yield)]
        again = {value.id for value in returned if isinstance(value, ast.Name)} & given
        checks = any(not isinstance(node, ast.Assert) or not is_narrowing(node.test) for node in claims)
        return cls(name or function.name, function.lineno, bool(claims), checks, frozenset(words), frozenset(again))

    @property
    def is_test(self) -> bool:
        return self.name.startswith("test")


def is_claim(node: ast.stmt) -> bool:
    raised = node.exc if isinstance(node, ast.Raise) else None
    return isinstance(node, ast.Assert) or (raised is not None and "AssertionError" in ast.unparse(raised))


def is_narrowing(test: ast.expr) -> bool:
    """`isinstance(a, B)` or `a is not None`."""
    if isinstance(test, ast.Compare):
        last = test.comparators[-1]
        return isinstance(test.ops[-1], ast.IsNot) and isinstance(last, ast.Constant) and last.value is None
    return isinstance(test, ast.Call) and isinstance(test.func, ast.Name) and test.func.id == "isinstance"


def parts_of(tree: ast.Module | ast.ClassDef) -> Iterator[Part]:
    """Functions and methods; a class whose objects can be called goes by its own name."""
    for node in tree.body:
        if isinstance(node, Function):
            is_call = isinstance(tree, ast.ClassDef) and node.name == "__call__"
            yield Part.of(node, tree.name if isinstance(tree, ast.ClassDef) and is_call else "")
        elif isinstance(node, ast.ClassDef):
            yield from parts_of(node)


def checkers(visible: list[Part]) -> set[str]:
    """Names of what checks something when it is called: helpers, and fixtures that hand out such helpers."""
    helpers = [part for part in visible if not part.is_test and not part.name.startswith("__")]
    found = {*CHECKS, *(part.name for part in helpers if part.checks)}
    while more := {part.name for part in helpers if (part.calls | part.hands_on) & found} - found:
        found |= more
    return found


def idle_tests(own: list[Part], above: list[Part]) -> list[Part]:
    """Those that check nothing."""
    known = checkers([*own, *above])
    return [part for part in own if part.is_test and not part.asserts and not part.calls & known]


# The whole suite.


@cache
def files() -> dict[str, Path]:
    found = sorted(path for path in TESTS.rglob("*.py") if "node_modules" not in path.parts)
    return {path.relative_to(TESTS).as_posix(): path for path in found}


@cache
def look_at(name: str) -> tuple[list[Part], dict[tuple[str, str], int]]:
    """What there is in a file, and which of its assertions are wrong: where, what and in which line."""
    tree = parsed(files()[name])
    return [*parts_of(tree)], {(where(name, tree, node), fault): node.lineno for node, fault in faults(tree)}


def helpers_above(name: str) -> list[Part]:
    """What a test can call without importing it from another test: the helpers of its folder and of those above."""
    near = [file for folder in PurePosixPath(name).parents for file in helpers_by_folder().get(str(folder), ())]
    return [part for file in near if file != name for part in look_at(file)[0]]


@cache
def helpers_by_folder() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for file in map(PurePosixPath, files()):
        if not file.name.startswith("test_"):
            found.setdefault(str(file.parent), []).append(str(file))
    return found


def where(name: str, tree: ast.Module, node: ast.Assert) -> str:
    """The innermost function around it."""
    functions = [each for each in statements_in(tree) if isinstance(each, Function)]
    around = [each for each in functions if each.lineno <= node.lineno <= (each.end_lineno or 0)]
    return f"{name}::{max(around, key=lambda f: f.lineno).name if around else ''}"


def found_in_the_suite() -> dict[tuple[str, str], int]:
    """Where, what and in which line."""
    found: dict[tuple[str, str], int] = {}
    for name in files():
        parts, wrong = look_at(name)
        found |= wrong
        idle = idle_tests(parts, helpers_above(name))
        found |= {(f"{name}::{part.name}", "no check"): part.line for part in idle}
    return found


def test_every_test_checks_something_that_can_fail():
    assert len(files()) > 200
    found = found_in_the_suite()
    assert {key: line for key, line in found.items() if key not in ALLOWED} == {}
    assert [key for key in ALLOWED if key not in found] == [], "it is gone, and so may be its line in ALLOWED"


CLOCKS = frozenset({"monotonic", "perf_counter", "monotonic_ns", "perf_counter_ns"})
PURE = ("domain/", "formats/")
"""What is tested there waits for nothing, so how long it took by the clock says how busy the machine was."""


def test_no_rule_is_timed_by_a_clock_that_runs_while_others_work():
    timed = [
        f"{path.relative_to(TESTS)}:{node.lineno}"
        for path in saying(re.compile("|".join(CLOCKS)), [files()[name] for name in files() if name.startswith(PURE)])
        for node in nodes_in(parsed(path))
        if isinstance(node, ast.Call) and CLOCKS.intersection(names_in(node.func))
    ]
    assert timed == [], "time.thread_time() is what it costs itself"


# This check can fail too.


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("assert a == [] or b in a", "either outcome will do"),
        ("assert a and (b or c)", "either outcome will do"),
        ("assert not (a and b)", "either outcome will do"),
        ("assert not (a and not (b and c))", "either outcome will do"),
        ("assert a and b", ""),
        ("assert not (a or b)", ""),
        ("assert (a or '') == 'x'", ""),
        ("assert until(lambda: a or b)", ""),
        ("assert [x for x in found if x or y] == []", ""),
        ("assert True", "always the same"),
        ("assert (a == b, 'they differ')", "always the same"),
        ("assert 'it works'", "always the same"),
        ("assert f'{a} works'", "always the same"),
        ("assert [a]", "always the same"),
        ("assert lambda: a == b", "always the same"),
        ("assert a.b == a.b", "compared with itself"),
        ("assert 0 < a <= a", "compared with itself"),
        ("assert token() == token()", ""),
        ("assert a == b", ""),
        ("assert a in (True, False)", "either outcome will do"),
        ("assert done.code in (0, 1)", "either outcome will do"),
        ("assert a in (1, 3)", ""),
    ],
)
def test_an_assertion_that_cannot_fail_is_found(text, fault):
    (statement,) = ast.parse(text).body
    assert isinstance(statement, ast.Assert)
    assert fault_of(statement.test) == fault


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("with contextlib.suppress(OSError):\n    assert a", 1),
        ("try:\n    go()\n    assert a\nexcept ValueError:\n    pass", 1),
        ("try:\n    go()\nexcept ValueError:\n    assert a", 0),
        ("try:\n    go()\nexcept ValueError:\n    pass\nelse:\n    assert a", 0),
        ("try:\n    assert a\nfinally:\n    stop()", 0),
        ("with suppress(OSError):\n    go()\nassert a", 0),
        ("with open_house() as a:\n    assert a", 0),
    ],
)
def test_an_assertion_that_an_error_skips_is_found(text, count):
    assert [fault for _, fault in faults(ast.parse(text))] == ["skipped by an error"] * count


HELPERS = """
def has_mail(name): assert rows(name)
def all_have_mail(): has_mail("ann")
class Program:
    def __call__(self, *words): assert run(words) == 0
@pytest.fixture
def atm(): return Program()
@pytest.fixture
def crew(atm): return atm
@pytest.fixture
def home(): return Path("/home")
def the_room():
    found = find_room()
    assert found is not None
    assert isinstance(found, Room)
    return found
"""


@pytest.mark.parametrize(
    ("text", "nothing"),
    [
        ("def test_it(): decode(b'x')", True),
        ("def test_it(home): home.mkdir()", True),
        ("def test_it(home): home == 5", True),
        ("def test_it(): assert decode(b'x') is None", False),
        ("def test_it():\n    for x in y:\n        assert x", False),
        ("def test_it():\n    with pytest.raises(ValueError):\n        decode(b'x')", False),
        ("def test_it(): pytest.fail('why')", False),
        ("def test_it():\n    def hear(): raise AssertionError\n    listen(hear)", False),
        ("class TestIt:\n    def test_it(self): decode(b'x')", True),
        ("def test_it(): the_room()", True),
        ("def test_it(): has_mail('ann')", False),
        ("def test_it(): all_have_mail()", False),
        ("def test_it(atm): atm('send')", False),
        ("def test_it(crew): crew('send')", False),
        ("async def test_it(): await thing.has_mail('ann')", False),
    ],
)
def test_a_test_that_checks_nothing_is_found(text, nothing):
    found = idle_tests([*parts_of(ast.parse(text))], [*parts_of(ast.parse(HELPERS))])
    assert [part.name for part in found] == ["test_it"] * nothing


def test_what_is_found_is_named_by_the_function_around_it():
    tree = ast.parse(
        "class TestIt:\n    def test_one(self):\n        def inner():\n            assert 1\n        inner()"
    )
    assert [where("x.py", tree, node) for node, _ in faults(tree)] == ["x.py::inner"]
