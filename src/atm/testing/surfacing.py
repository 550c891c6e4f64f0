"""Twins of `mail.ports.surfacing`, in memory."""

from __future__ import annotations

import copy

from atm.mail.rules.surfacing import ShowingNote
from atm.team.rules.endpoints import Endpoint


class MemorySurfacings:
    """Twin of `Surfacings`. What is in `notes` without a turn was left by a process that died."""

    def __init__(self) -> None:
        self.notes: dict[tuple[str, str], ShowingNote] = {}
        self.held: set[tuple[str, str]] = set()
        self.texts: dict[str, str] = {}

    def turn(self, team: str, member: str, patience: float = 0.0) -> MemorySurfacingTurn:  # noqa: ARG002 - nobody else runs
        return MemorySurfacingTurn(self, (team, member))

    def is_cut_off(self, team: str, member: str) -> bool:
        return (team, member) in self.notes

    def cut_off_since(self, team: str, member: str) -> float | None:
        note = self.notes.get((team, member))
        return note.at if note is not None else None

    def keep_text(self, team: str, member: str, id: str, text: str) -> str:
        path = f"pasted/{team}/{member}/{id}.md"
        self.texts[path] = text
        return path


class MemorySurfacingTurn:
    """Twin of `SurfacingTurn`."""

    def __init__(self, all: MemorySurfacings, key: tuple[str, str]) -> None:
        self._all = all
        self._key = key
        self._mine = False

    def __enter__(self) -> bool:
        self._mine = self._key not in self._all.held
        self._all.held.add(self._key)
        return self._mine

    def __exit__(self, *_: object) -> None:
        if self._mine:
            self._all.held.discard(self._key)

    def abandoned(self) -> ShowingNote | None:
        return self._all.notes.get(self._key)

    def begin(self, note: ShowingNote) -> None:
        self._all.notes[self._key] = note

    def end(self) -> None:
        self._all.notes.pop(self._key, None)


class MemoryEndpoints:
    """Twin of `Endpoints`."""

    def __init__(self) -> None:
        self.known_at: dict[tuple[str, str], Endpoint] = {}

    def of(self, team: str, member: str) -> Endpoint | None:
        found = self.known_at.get((team, member))
        return copy.deepcopy(found)  # as a file gives: what a caller changes in it is not kept

    def known(self, team: str) -> list[str]:
        return sorted(member for where, member in self.known_at if where == team)

    def put(self, team: str, member: str, endpoint: Endpoint) -> None:
        self.known_at[team, member] = copy.deepcopy(endpoint)

    def forget(self, team: str, member: str) -> None:
        self.known_at.pop((team, member), None)
