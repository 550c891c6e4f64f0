"""
How a test says which requirements it proves: `@proves("R000-lock-01")`. And a pytest plugin that runs such tests.

The requirements are lines of `docs/requirements/seeds/`; `docs/generate_ledger.py` joins them with the tests that name
them, from the text of the tests. Whether an id exists is checked by `tests/project/test_ledger.py`. Where a whole file
proves something, it has `PROVES = ("R000-lock-01",)` at its top.
"""

from __future__ import annotations

import pytest


def proves(*ids: str) -> pytest.MarkDecorator:
    """A mark that changes nothing about the test."""
    return pytest.mark.proves(*ids)


def pytest_addoption(parser: pytest.Parser) -> None:
    words = "run only the tests that prove this requirement, or those whose ids begin so (R000-lock); may be repeated"
    parser.addoption("--proves", action="append", default=[], metavar="ID", help=words)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    wanted = tuple(config.getoption("--proves"))
    if wanted:
        dropped = [item for item in items if not any(id.startswith(wanted) for id in proven_by(item))]
        config.hook.pytest_deselected(items=dropped)
        gone = set(dropped)
        items[:] = [item for item in items if item not in gone]


def proven_by(item: pytest.Item) -> list[str]:
    """What a test says it proves, itself or with its class or its file."""
    marked = [id for mark in item.iter_markers("proves") for id in mark.args]
    return [*marked, *getattr(getattr(item, "module", None), "PROVES", ())]
