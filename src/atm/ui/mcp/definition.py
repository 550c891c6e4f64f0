"""How a tool of ours is made: its arguments read by name, its role asked for once more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atm.core.errors import NotAllowed
from atm.ui.mcp.schema import takes
from atm.ui.mcp.tool import WORKERS, Tool
from atm.ui.verbs.verb import Given

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from atm.core.plain import Plain
    from atm.ui.mcp.caller import Caller
    from atm.ui.mcp.tool import Schema

    Does = Callable[[Caller, Given], dict[str, Plain]]


def define(
    name: str,
    title: str,
    description: str,
    does: Does,
    *,
    gives: Schema,
    takes: Schema = takes(),  # noqa: B008 - a constant: no arguments
    group: str = "",
    roles: frozenset[str] = WORKERS,
    reads_only: bool = False,
    destroys: bool = False,
    idempotent: bool = False,
    waits: bool = False,
    lasts: bool = False,
) -> Tool:
    """A tool of the group that its name begins with."""

    def call(caller: Caller, arguments: Mapping[str, Plain]) -> dict[str, Plain]:
        if caller.role not in roles:  # the server does not show it to them either
            raise NotAllowed(f"{name} is not for the role {caller.role!r}", "ask the lead or a human")
        return does(caller, Given(arguments))

    return Tool(
        name=name,
        group=group or name.partition("_")[0],
        title=title,
        description=description,
        input=takes,
        output=gives,
        call=call,
        roles=roles,
        reads_only=reads_only,
        destroys=destroys,
        idempotent=idempotent or reads_only,
        waits=waits,
        lasts=lasts,
    )
