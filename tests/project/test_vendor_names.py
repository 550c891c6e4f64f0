"""Whatever atm knows of one program is in the room of vendors: no other module names one (D34)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.project.source_trees import MODULES, SOURCE, parsed, text_of

NAMES = re.compile(r"claude|codex|gemini|opencode|antigravity|\bagy\b", re.IGNORECASE)

SHARED = re.compile(
    r"is_claudes_team|(in|compact)?_?claudes(_team|_text)?|_CLAUDES|claude_root|claude_reads_inbox|claude_inboxes|"
    r"retention\.claude_inboxes|CLAUDE_TEAM_PREFIX|CLAUDE_CONFIG_DIR|claude_version|claude_sessions|"
    r"(/memory)?/?\.claude(/settings(\.local)?\.json)?|/claude-version\.json|CLAUDE_BACKENDS|opencodeSessionId"
)
"""Names of the files that atm and Claude Code share: the teams, their settings, and fields of rosters. They are the
format of this product, and no matter of one vendor's program."""

FOR_PEOPLE = {
    "crew/formats/crew_file.py": "help for the keys of a crew file",
    "runs/rules/seating.py": "an example in a remedy",
    "ui/cli": "help, examples, and words about the settings of Claude Code's teams",
    "ui/verbs/board/table.py": "help of an option",
}
ABOUT_SHARED_FILES = {
    "checkup/services": "findings about folders that Claude Code writes as well",
    "config/known.py": "help of settings",
    "core/names.py": "names that its teams have",
    "board/rules/claims.py": "tasks that are its own bookkeeping",
    "delivery/rules/channels.py": "mail that it takes from the inbox itself",
    "mail": "mail that its teams read and write, and what their settings permit",
    "roster/services/restoring.py": "backups of its teams",
    "sessions/services/resuming.py": "sessions that lead its teams",
    "team": "rosters that it writes as well",
}
OF_TESTS = {"testing": "scripted stand-ins for the programs and their models"}
EXCEPTIONS = {**FOR_PEOPLE, **ABOUT_SHARED_FILES, **OF_TESTS}


def words_of(path: Path) -> Iterator[tuple[int, str]]:
    """Names and texts of a module. Docstrings and comments explain, and decide nothing."""
    tree = parsed(path)
    explained = {
        id(node.value)
        for body in (getattr(node, "body", None) for node in ast.walk(tree))
        if isinstance(body, list)
        for node in body
        if isinstance(node, ast.Expr)
    }
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in explained:
            yield line, node.value
        elif isinstance(node, ast.Name):
            yield line, node.id
        elif isinstance(node, ast.Attribute):
            yield line, node.attr
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield line, node.name
        elif isinstance(node, ast.arg | ast.keyword):
            yield line, node.arg or ""
        elif isinstance(node, ast.ImportFrom):
            yield from ((line, name) for name in (node.module or "", *(alias.name for alias in node.names)))


def where(path: Path) -> str:
    return str(path.relative_to(SOURCE))


def is_excepted(place: str) -> bool:
    return any(place == one or place.startswith(f"{one}/") for one in EXCEPTIONS)


OUTSIDE = [path for path in MODULES if not where(path).startswith("vendors/")]


def named_in(path: Path) -> list[str]:
    if not NAMES.search(text_of(path)):
        return []
    return [
        f"{where(path)}:{line} {word[:80]!r}" for line, word in words_of(path) if NAMES.search(SHARED.sub("", word))
    ]


def test_no_module_outside_of_the_room_names_a_vendor():
    found = [one for path in OUTSIDE if not is_excepted(where(path)) for one in named_in(path)]
    assert found == []


@pytest.mark.parametrize("place", EXCEPTIONS)
def test_each_exception_is_one(place: str):
    assert any(named_in(path) for path in OUTSIDE if where(path) == place or where(path).startswith(f"{place}/"))


def test_no_module_outside_of_the_room_imports_a_vendors_package_but_those_about_shared_files():
    allowed = {"checkup/services/checkup.py", "setup/rules/context.py", "teamd/plugins/kit.py", "wiring/setup.py"}
    found = {
        where(path)
        for path in OUTSIDE
        for _, word in words_of(path)
        if re.match(r"atm\.vendors\.(claude|codex|gemini|agy|opencode|editors)\b", word)
    }
    assert found == allowed


def test_the_page_names_none():
    page = [*(SOURCE / "ui/web/page").rglob("*.js")]
    assert len(page) > 20
    found = [str(path) for path in page if NAMES.search(re.sub(r"/\*.*?\*/|//[^\n]*", "", text_of(path), flags=re.S))]
    assert found == []
