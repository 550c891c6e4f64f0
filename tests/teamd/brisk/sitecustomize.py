"""
What `atm` would only sit out here, it sits out for a shorter time: pauses, and bounds for something that never comes.

Python imports this at the start of every process that has this folder on its PYTHONPATH: those of tests in which
somebody waits in vain on purpose. It shortens as the modules are imported that have these numbers, and changes nothing
else. What another folder of the PYTHONPATH changes, as `tests/unhurried` does, is changed too.
"""

from __future__ import annotations

import os
import runpy
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

SECONDS = {
    "atm.teamd.daemon": {"SEAT_SECONDS": 0.3, "STOP_SECONDS": 2.0, "PLUGIN_SECONDS": 1.0},
    "atm.teamd.plugins.inside.life": {"SECONDS_TO_FINISH_WRITING": 0.5},
    "atm.ui.mcp.serving.daemon_events": {"AGAIN_AFTER": 0.1},
}


def shorten(module: ModuleType, shorter: dict[str, float]) -> None:
    for name, seconds in shorter.items():
        assert seconds < getattr(module, name), f"{module.__name__}.{name} is no longer than that"
        setattr(module, name, seconds)


class Shortening:
    """Finds the modules, by whoever finds them otherwise; a `sys.meta_path` entry."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name not in SECONDS:
            return None
        others = (finder.find_spec(name, path, target) for finder in sys.meta_path if finder is not Shortening)
        spec = next((found for found in others if found is not None), None)
        if spec is None or spec.loader is None:
            return spec
        run = spec.loader.exec_module

        def execute(module: ModuleType) -> None:
            run(module)
            shorten(module, SECONDS[name])

        spec.loader.exec_module = execute  # type: ignore[method-assign]
        return spec


for folder in sys.path:
    following = os.path.join(folder, "sitecustomize.py")
    if os.path.exists(following) and not os.path.samefile(following, __file__):
        runpy.run_path(following)
        break
sys.meta_path.insert(0, Shortening)
