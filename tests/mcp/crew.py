"""A team of real files and callers of its tools: every answer is checked against the schema that its tool declares."""

from __future__ import annotations

from typing import Any

from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from atm import config
from atm.core.errors import AtmError
from atm.files.formats.json_record import encode
from atm.files.formats.layout import Layout
from atm.roster.services.members import add_member, create_team
from atm.team.rules.team import Member
from atm.ui.mcp.caller import Caller
from atm.ui.mcp.catalog import find_tool
from atm.ui.mcp.serving.calling import perform
from atm.wiring.board import build_boardroom
from atm.wiring.mail import build_room

LARGEST = 24_000
"""Bytes of any answer: a third of what the server lets through."""


ROLES = {"lena": "lead", "hugo": "human", "": "observer"}
"""Of those who are no teammates."""


class Crew:
    """`crew` with its lead lena, ann and bob who work, and the human hugo."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.settings = config.load(layout, {}, "/", {})
        self.room = build_room(layout, self.settings)
        create_team(self.room, "crew", lead="lena")
        for member in (Member("ann"), Member("bob"), Member("hugo", backend="human")):
            add_member(self.room, "crew", member)
        self.boardroom = build_boardroom(layout, self.settings, self.room)
        self._callers: dict[tuple[str, str], Caller] = {}

    def caller(self, name: str, role: str = "") -> Caller:
        role = role or ROLES.get(name, "teammate")
        key = (name, role)
        if key not in self._callers:
            self._callers[key] = Caller(
                self.layout,
                self.settings,
                team="crew",
                member=name,
                role=role,
                source="environment",
                has_daemon=True,
            )
        return self._callers[key]

    def call(self, who: str, tool: str, **arguments: Any) -> Any:
        """What a tool gives, or the AtmError that it raises."""
        return self.call_as(self.caller(who), tool, arguments)

    def call_as(self, caller: Caller, name: str, arguments: Any) -> Any:
        tool = find_tool(caller.role, name)
        assert tool is not None, f"{caller.role} has no tool {name}"
        result = perform(tool, caller, arguments)
        Draft202012Validator(tool.output).validate(result)
        assert len(encode(result).encode()) <= LARGEST, name
        return result

    def refused(self, who: str, tool: str, **arguments: Any) -> AtmError:
        """The error of a call that must not succeed."""
        try:
            result = self.call(who, tool, **arguments)
        except AtmError as error:
            return error
        raise AssertionError(f"{tool} gave {result}")

    def rows(self, member: str) -> list[Any]:
        return list(self.room.inboxes.rows("crew", member))

    def add(self, subject: str = "Write it", who: str = "lena", **more: Any) -> str:
        return str(self.call(who, "board_add", subject=subject, **more)["task"]["id"])
