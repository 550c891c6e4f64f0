"""
What a tool is: a name, schemas, who may see it, what it does to the world, and the function behind it.

Nothing here knows the protocol: `server.py` speaks it. A tool gets a `Caller`, whose identity comes from the
connection and never from an argument, and plain checked arguments; it gives plain data, or raises an `AtmError`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from atm.ui.mcp.serving.roles import HUMAN, LEAD, ROLES, TEAMMATE

if TYPE_CHECKING:
    from atm.core.plain import Plain
    from atm.ui.mcp.caller import Caller

    Schema = Mapping[str, Plain]


EVERYBODY = frozenset(ROLES)
WORKERS = frozenset((TEAMMATE, LEAD, HUMAN))
BOSSES = frozenset((LEAD, HUMAN))


@dataclass(frozen=True, kw_only=True)
class Tool:
    """One tool. `input` and `output` are JSON Schemas of objects."""

    name: str
    group: str
    title: str
    description: str
    input: Schema
    output: Schema
    call: Callable[[Caller, Mapping[str, Plain]], dict[str, Plain]]
    roles: frozenset[str] = WORKERS
    reads_only: bool = False
    destroys: bool = False
    """May it take something away that was there?"""
    idempotent: bool = False
    """Does a second call with the same arguments change nothing more?"""
    lasts: bool = False
    """May it take minutes? Then it goes on when its time is over, and whoever calls again hears of the same run."""
    waits: bool = False
    """Does it mostly wait for a member? Then it takes a place among those who wait, and keeps nobody from working."""
