"""What `atm` waits for, and for how long on a machine that may be busy: see `sitecustomize.py` beside this."""

from __future__ import annotations

from types import FunctionType, ModuleType
from typing import Any

LONG = 25.0
"""Seconds; less than a scripted agent gives its hooks, and than a foreign lock is old when it is broken."""

BOUNDS = {
    "atm.mail.rules.lifetimes": ["SEND_WITHIN", "UPKEEP_WITHIN"],
    "atm.delivery.services.pane_delivery": ["LOOK_FOR"],
    "atm.mail.services.reading": ["TURN_PATIENCE"],
    "atm.vendors.claude.installed": ["LONGEST_ANSWER"],
    "atm.files.adapters.locking": ["PATIENCE"],
    "atm.files.adapters.rewriting": ["LONGEST_HOLD", "SHORTEST_HOLD"],
    "atm.daemon.adapters.client": ["QUERY_SECONDS", "READY_SECONDS"],
    "atm.vendors.opencode.wake": ["SECONDS"],
    "atm.delivery.adapters.tmux": ["SECONDS"],
    "atm.teamd.control": ["QUERY_SECONDS"],
    "atm.teamd.plugins.discovery": ["SECONDS_TO_DESCRIBE"],
    "atm.ui.hook": ["SECONDS"],
    "atm.ui.mcp.serving.host": ["HELLO_SECONDS"],
    "atm.ui.mcp.stdio.pump": ["LAST_WORDS_SECONDS"],
    "atm.ui.mcp.stdio.reaching": ["START_SECONDS", "WELCOME_SECONDS"],
    "atm.ui.mcp.serving.reception": ["ADMIT_SECONDS"],
}

LONGER = {"WELCOME_SECONDS": 150.0, "SECONDS_TO_DESCRIBE": 150.0}
"""Whoever is welcomed first waits until the SDK is imported; plugins that are described are all imported at once."""

Change = tuple[object, str, object]
"""Whose, which attribute, and its value."""


def changes(module: ModuleType, names: list[str]) -> list[Change]:
    """A bound may also be the default of an argument, and that was fixed when the function was made."""
    found: list[Change] = []
    for name in names:
        former, long = getattr(module, name), LONGER.get(name, LONG)
        if former >= long:
            continue
        found.append((module, name, long))
        for function in functions_in(module):
            given = function.__defaults__ or ()
            if any(one is former for one in given):
                found.append((function, "__defaults__", tuple(long if one is former else one for one in given)))
    return found


def functions_in(holder: Any) -> list[FunctionType]:
    found = list(vars(holder).values())
    classes = [one for one in found if isinstance(one, type) and one.__module__ == holder.__name__]
    found += [one for made in classes for one in vars(made).values()]
    return [one for one in found if isinstance(one, FunctionType)]
