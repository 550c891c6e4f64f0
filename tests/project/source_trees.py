"""
What rules about the source ask of it, read once and quickly.

A rule that is about some words parses only the files that have them (`saying`), one that is about statements does not
look into expressions (`statements_in`), and nothing is parsed while the collector of garbage looks on (`parsed`): a
tree is no garbage, and looking through it again and again costs twice as much as to make it.
"""

from __future__ import annotations

import ast
import gc
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "atm"
MODULES = sorted(SOURCE.rglob("*.py"))

BETWEEN_STRINGS = re.compile(r"""["']\s*[A-Za-z]*["']""")
"""Where a string goes on in the next line: the end of the one, and the beginning of the other."""


@contextmanager
def uncollected() -> Iterator[None]:
    """Let nobody look for garbage where many things are made that stay."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def parsed(path: Path) -> ast.Module:
    """Kept by nobody: the trees of all files are hundreds of megabytes."""
    with uncollected():
        return ast.parse(text_of(path))


@cache
def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def said_in(path: Path) -> str:
    """Its text, with strings in one piece that are written in several."""
    return BETWEEN_STRINGS.sub("", text_of(path))


def saying(words: re.Pattern[str], paths: Iterable[Path]) -> Iterator[Path]:
    """
    Those of the files in which a rule about these words can find something: all others need not be parsed.

    The words may stand in a string that is written in several pieces, so both texts are looked at.
    """
    return (path for path in paths if words.search(text_of(path)) or words.search(said_in(path)))


def nodes_in(tree: ast.AST) -> list[ast.AST]:
    """As `ast.walk` gives them, in half of its time."""
    found = [tree]
    for node in found:  # grows meanwhile
        for value in node.__dict__.values():
            if isinstance(value, list):
                found += [each for each in value if isinstance(each, ast.AST)]
            elif isinstance(value, ast.AST):
                found.append(value)
    return found


def statements_in(tree: ast.AST) -> list[ast.stmt]:
    """All statements, however deep, a statement before those in it. No expression has one in it."""
    found: list[ast.stmt] = []
    blocks: list[Any] = [tree]
    while blocks:
        block = blocks.pop()
        if isinstance(block, ast.stmt):
            found.append(block)
        for name in ("finalbody", "orelse", "cases", "handlers", "body"):
            inner = getattr(block, name, None)
            if isinstance(inner, list):  # of an expression it is no list
                blocks += reversed(inner)
    return found


# What is asked of every module.


@dataclass(frozen=True, slots=True)
class Outline:
    """A module without its expressions."""

    docstring: str | None
    imports: tuple[tuple[str, bool], ...]
    """Every imported module, and whether only the type checker sees it."""
    taken: tuple[tuple[str, str], ...]
    """Every name that is taken from a module, with that module."""
    functions: tuple[tuple[str, int, int], ...]
    """Name, line and how many lines."""
    classes: tuple[str, ...]
    """Those at its top, and those under a condition there."""


@cache
def outline_of(path: Path) -> Outline:
    return outline_in(parsed(path))


def outline_in(tree: ast.Module) -> Outline:
    statements = statements_in(tree)
    froms = [node for node in statements if isinstance(node, ast.ImportFrom) and node.module]
    top = [inner for node in tree.body for inner in (node.body if isinstance(node, ast.If) else [node])]
    functions = [node for node in statements if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return Outline(
        ast.get_docstring(tree),
        tuple(_imports_in(statements)),
        tuple((str(node.module), alias.name) for node in froms for alias in node.names),
        tuple((each.name, each.lineno, (each.end_lineno or each.lineno) - each.lineno + 1) for each in functions),
        tuple(node.name for node in top if isinstance(node, ast.ClassDef)),
    )


def _imports_in(statements: Iterable[ast.stmt]) -> Iterator[tuple[str, bool]]:
    statements = [*statements]
    typing_only = {
        id(inner)
        for node in statements
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for part in node.body
        for inner in statements_in(part)
    }
    for node in statements:
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
        for name in names:
            yield name, id(node) in typing_only
