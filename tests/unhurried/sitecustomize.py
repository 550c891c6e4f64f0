"""
On a busy machine nothing that is only late may look like a fault: what `atm` waits for, it waits for longer here.

Python imports this at the start of every process that has this folder on its PYTHONPATH: those of tests that are not
about these bounds (marked `hurried`). It lengthens bounds as the modules that have them are imported, and changes
nothing else.
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

from longer import BOUNDS, changes  # type: ignore[import-not-found]  # beside this, where Python looks


class Lengthening:
    """Finds the modules that have bounds; a `sys.meta_path` entry."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target) if name in BOUNDS else None
        if spec is None or spec.loader is None:
            return spec
        run = spec.loader.exec_module

        def execute(module: ModuleType) -> None:
            run(module)
            for holder, attribute, value in changes(module, BOUNDS[name]):
                setattr(holder, attribute, value)

        spec.loader.exec_module = execute  # type: ignore[method-assign]
        return spec


sys.meta_path.insert(0, Lengthening)
