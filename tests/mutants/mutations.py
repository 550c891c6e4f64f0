"""
Mutants of a module: the same source with one small lie in it.

Pure: text in, mutants out. Each is an edit of a few bytes, so everything else in the file, comments and line numbers of
other functions included, stays as it is. Only what is in functions is mutated: what runs at import is tables and types.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections import Counter
from dataclasses import dataclass, replace

OPPOSITES: dict[type[ast.cmpop], tuple[str, tuple[str, ...]]] = {
    ast.Eq: ("==", ("!=",)),
    ast.NotEq: ("!=", ("==",)),
    ast.Lt: ("<", ("<=", ">=")),
    ast.LtE: ("<=", ("<", ">")),
    ast.Gt: (">", (">=", "<=")),
    ast.GtE: (">=", (">", "<")),
    ast.Is: ("is", ("is not",)),
    ast.IsNot: (r"is\s+not", ("is",)),
    ast.In: ("in", ("not in",)),
    ast.NotIn: (r"not\s+in", ("in",)),
}
"""How each comparison is written, and what it becomes: the other side, and where there is an edge, the edge too."""

UNOBSERVED_FUNCTIONS = ("__repr__",)
"""For people with a debugger; nobody relies on them."""
OTHER_SYSTEMS = ("nt", "win32", "darwin")
"""The run is made on Linux: what is under `if os.name == "nt"` cannot lie there, because it does not speak."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One lie: which bytes of which module become what. `label` says it in the lines of the source."""

    module: str
    function: str
    kind: str
    line: int
    """The first of the lines by which tests reach it."""
    end_line: int
    start: int
    end: int
    text: str
    label: str
    turn: int = 0
    """The same lie can be told in several places of a function; this one is the n-th."""

    def in_source(self, source: str) -> str:
        """The module with the lie in it."""
        data = source.encode()
        return (data[: self.start] + self.text.encode() + data[self.end :]).decode()

    @property
    def key(self) -> tuple[str, str, str]:
        """Module, function and what is said there: by this a person names it, in whatever line it stands."""
        return self.module, self.function, f"{self.label} (place {self.turn + 1})" if self.turn else self.label

    def rank(self, seed: int) -> str:
        """
        Its place in the draw of a seed.

        It follows from what the mutant says, not from where it stands. A change elsewhere in the module, or the
        function's move to another module, leaves it in the draw: so scores before and after a change are about the
        same mutants.
        """
        parts = (str(seed), self.function, self.label, str(self.turn))
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def mutants_of(module: str, source: str) -> list[Mutant]:
    """Every mutant of a module, in the order of its source."""
    finder = _Finder(module, source)
    finder.visit(ast.parse(source))
    found = sorted(finder.found, key=lambda mutant: (mutant.start, mutant.end, mutant.text))
    turns: Counter[tuple[str, str]] = Counter()
    numbered = []
    for mutant in found:
        numbered.append(replace(mutant, turn=turns[mutant.function, mutant.label]))
        turns[mutant.function, mutant.label] += 1
    return numbered


def draw(mutants: list[Mutant], count: int, seed: int) -> list[Mutant]:
    """So many of them, the same for the same seed, in the order of modules and lines."""
    drawn = sorted(mutants, key=lambda mutant: (mutant.rank(seed), mutant.module))[:count]
    return sorted(drawn, key=lambda mutant: (mutant.module, mutant.start, mutant.text))


class _Finder(ast.NodeVisitor):
    """Walks through a module and gathers mutants of what is in functions."""

    def __init__(self, module: str, source: str) -> None:
        self.found: list[Mutant] = []
        self._module = module
        self._data = source.encode()
        self._starts = [0, *(match.end() for match in re.finditer(b"\n", self._data))]
        self._names: list[str] = []
        self._depth = 0
        self._entry: int | None = None

    # What is walked into, and what is not.

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._names.append(node.name)
        for part in node.body:
            self.visit(part)
        self._names.pop()

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Bodies and defaults; not decorators, which run at import, and not annotations, which nobody runs."""
        if node.name in UNOBSERVED_FUNCTIONS or node.name.endswith("_windows"):
            return
        self._names.append(node.name)
        self._depth += 1
        # A default speaks when the function is called without it: whoever enters the function meets it.
        self._entry = min([node.lineno, *(part.lineno for part in node.decorator_list)])
        for part in [*node.args.defaults, *node.args.kw_defaults]:
            if part is not None:
                self.visit(part)
        self._entry = None
        for statement in node.body:
            self.visit(statement)
        self._depth -= 1
        self._names.pop()

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_If(self, node: ast.If) -> None:
        if ast.unparse(node.test) == "TYPE_CHECKING":
            return
        self.visit(node.test)
        for part in [*([] if _is_of_another_system(node.test) else node.body), *node.orelse]:
            self.visit(part)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Sentences for people; and before 3.12, Python does not know where in the file their parts stand."""

    # The lies.

    def visit_Compare(self, node: ast.Compare) -> None:
        sides = [node.left, *node.comparators]
        for left, operator, right in zip(sides, node.ops, sides[1:], strict=False):
            written, opposites = OPPOSITES[type(operator)]
            start, end = self._between(left, right, written)
            for opposite in opposites:
                self._tell("compare", node, start, end, opposite)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        written, other = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            self._tell("boolean", node, *self._between(left, right, written), other)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not):
            start = self._offset(node.lineno, node.col_offset)
            written = re.compile(rb"not\s*").match(self._data, start)
            assert written is not None
            self._tell("boolean", node, start, written.end(), "")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self._tell("boolean", node, *self._span(node), str(not node.value))

    def visit_Expr(self, node: ast.Expr) -> None:
        called = node.value.value if isinstance(node.value, ast.Await) else node.value
        if isinstance(called, ast.Call):
            self._tell("call", node, *self._span(node), "pass")
        self.generic_visit(node)

    def visit_Return(self, node: ast.Return) -> None:
        """A constant that is false or true is flipped already, and None in its place would say the same as False."""
        if node.value is not None:
            if not (isinstance(node.value, ast.Constant) and node.value.value in (None, False, True)):
                self._tell("return", node, *self._span(node.value), "None")
            self.visit(node.value)

    # Where things stand.

    def _tell(self, kind: str, node: ast.expr | ast.stmt, start: int, end: int, text: str) -> None:
        if not self._depth:
            return
        first, last = self._line_at(start), self._line_at(end)
        lines = slice(self._starts[first - 1], self._line_end(last))
        before = self._data[lines]
        after = self._data[lines.start : start] + text.encode() + self._data[end : lines.stop]
        label = " => ".join(" ".join(part.decode().split()) for part in (before, after))
        function = ".".join(self._names)
        line = self._entry or node.lineno
        end_line = self._entry or node.end_lineno or node.lineno
        self.found.append(Mutant(self._module, function, kind, line, end_line, start, end, text, label))

    def _offset(self, line: int, column: int) -> int:
        """Python counts columns in bytes, which is why this file works on bytes."""
        return self._starts[line - 1] + column

    def _span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._offset(node.lineno, node.col_offset), self._offset(node.end_lineno, node.end_col_offset)

    def _between(self, left: ast.expr, right: ast.expr, written: str) -> tuple[int, int]:
        """Where an operator stands. The tree does not say, but only brackets and comments are beside it."""
        start, end = self._span(left)[1], self._span(right)[0]
        gap = re.sub(rb"#[^\n]*", lambda comment: b" " * len(comment[0]), self._data[start:end])
        found = re.search(rb"(?<!\w)" + written.encode() + rb"(?!\w)", gap)
        assert found is not None, (self._module, left.lineno, written)
        return start + found.start(), start + found.end()

    def _line_at(self, offset: int) -> int:
        return self._data.count(b"\n", 0, offset) + 1

    def _line_end(self, line: int) -> int:
        return self._starts[line] if line < len(self._starts) else len(self._data)


def _is_of_another_system(test: ast.expr) -> bool:
    match test:
        case ast.Compare(
            ast.Attribute(ast.Name("os" | "sys"), "name" | "platform"), [ast.Eq()], [ast.Constant(system)]
        ):
            return system in OTHER_SYSTEMS
    return False
