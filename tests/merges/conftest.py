"""Workshops in memory: many are made, and nobody pulls the plug."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.crew.repositories import alone
from tests.in_memory import in_memory
from tests.merges.histories import History
from tests.merges.workshop import Workshop


@pytest.fixture
def place(tmp_path, monkeypatch) -> Iterator[Path]:
    """A folder in memory, on a machine where nobody has set up git."""
    for folder in in_memory(tmp_path):
        (folder / "home").mkdir()
        alone(monkeypatch, folder / "home")
        yield folder


@pytest.fixture
def open_shop(place: Path) -> Callable[[History], Workshop]:
    return lambda history: Workshop(place, history)
