"""Synthetic members vanish with their plugin: the host writes down whom each plays, and takes them off afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from atm.board.services.leaving import release_all
from atm.config import Settings
from atm.files.formats.layout import Layout
from atm.teamd.plugins.host.member_book import MemberBook, Played
from atm.teamd.plugins.inside.synthetic_members import retire
from atm.wiring.board import build_boardroom
from atm.wiring.mail import build_room

T = TypeVar("T")


class MemberCare:
    """All of it happens in one thread, one thing after the other."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._book = MemberBook(layout)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="atm-members")

    def close(self) -> None:
        self._thread.shutdown(wait=False)

    async def enter(self, plugin: str, place: str, played: Played) -> None:
        """Before a member is added. Raises OSError if it cannot be written down; then nobody may be added."""
        await self._call(lambda: self._book.enter(plugin, place, played))

    async def strike(self, plugin: str, place: str, played: Played) -> None:
        await self._call(lambda: self._book.strike(plugin, place, [played]))

    async def retire(
        self, plugin: str, place: str, *, keep_inbox: bool, still_played: Collection[Played] = ()
    ) -> list[str]:
        """Take off everybody whom a plugin played in a place; what went wrong, which is tried again next time."""
        return await self._call(lambda: self._retire(plugin, place, keep_inbox, still_played))

    async def sweep(self) -> list[str]:
        """When the host starts no plugin plays anyone: whoever is in the book was left by a daemon that was killed."""
        return await self._call(self._sweep)

    async def _call(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def _sweep(self) -> list[str]:
        left = [(plugin, place) for plugin in self._book.plugins() for place in self._book.played(plugin)]
        return [problem for plugin, place in left for problem in self._retire(plugin, place, True, ())]

    def _retire(self, plugin: str, place: str, keep_inbox: bool, still_played: Collection[Played]) -> list[str]:
        problems, gone = [], []
        for played in sorted(self._book.played(plugin).get(place, ())):
            try:
                if played not in still_played:
                    self._take_off(plugin, played, keep_inbox)
                gone.append(played)
            except Exception as error:  # noqa: BLE001 - the edge of a loop: one roster must not keep the others
                problems.append(f"{played[1]}@{played[0]} could not be taken off the roster: {error}")
        try:
            self._book.strike(plugin, place, gone)
        except OSError as error:
            problems.append(f"the book of members of {plugin} could not be written: {error}")
        return problems

    def _take_off(self, plugin: str, played: Played, keep_inbox: bool) -> None:
        settings = Settings({}, [], None, "")
        room = build_room(self._layout)
        boardroom = build_boardroom(self._layout, settings, room)

        def give_tasks_back(team: str, name: str) -> None:
            release_all(boardroom, team, "", name)

        retire(room, *played, plugin, keep_inbox=keep_inbox, farewell=give_tasks_back)
