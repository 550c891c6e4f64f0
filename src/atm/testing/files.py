"""
Twins of the ports for records, in memory, and of news about folders, by looking; and a disk that stops the world at a
chosen step: the error or the kill -9 of your choice.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

from atm.access.rules import AccessToken
from atm.core.errors import NoSuchTeam
from atm.files.adapters.disk import RealDisk
from atm.files.adapters.record_store import check_answer
from atm.files.formats.json_record import decode_object, encode
from atm.files.formats.record_file import spelled
from atm.files.ports.disk import Disk
from atm.worksync.formats.journal_note import decode_note, encode_note

if TYPE_CHECKING:
    from atm.core.plain import Record


class LookingNews:
    """Twin of `FolderNews`: reads everything each time."""

    def __init__(self) -> None:
        self._seen: dict[str, dict[str, bytes | None]] = {}

    def changed(self, folder: str) -> set[str] | None:
        former = self._seen.pop(folder, None)
        if not os.path.isdir(folder):
            return None
        now = self._seen[folder] = _contents(folder)
        if former is None:
            return None
        missing = object()
        return {name for name in {*former, *now} if former.get(name, missing) != now.get(name, missing)}


def _contents(folder: str) -> dict[str, bytes | None]:
    found: dict[str, bytes | None] = {}
    for name in os.listdir(folder):
        try:
            with open(f"{folder}/{name}", "rb") as file:
                found[name] = file.read()
        except OSError:
            found[name] = None
    return found


class _Teams:
    """Which teams there are: `find` as rosters have it. Without one, every team is there."""

    def __init__(self, find: Callable[[str], str | None] | None = None) -> None:
        self._find = find

    def is_there(self, team: str) -> bool:
        return self._find is None or self._find(team) is not None

    def check(self, team: str) -> None:
        if not self.is_there(team):
            raise NoSuchTeam(f"the folder of {team} is gone", "see `atm teams`")


class MemoryRecords(_Teams):
    """Twin of `Records`. `problems` is what `problem` says, by team and shelf."""

    def __init__(self, find: Callable[[str], str | None] | None = None) -> None:
        super().__init__(find)
        self.texts: dict[tuple[str, str], dict[str, str]] = {}
        self.problems: dict[tuple[str, str], str] = {}
        self.writes = 0

    def read(self, team: str, shelf: str, keys: Collection[str] | None = None) -> dict[str, Record]:
        texts = self.texts.get((team, shelf), {}) if self.is_there(team) else {}
        wanted = texts if keys is None else [key for key in map(spelled, keys) if key in texts]
        return {key: decode_object(texts[key]) for key in wanted}

    def change(
        self,
        team: str,
        shelf: str,
        change: Callable[[dict[str, Record]], dict[str, Record | None]],
        keys: Collection[str] | None = None,
    ) -> None:
        self.check(team)
        answer = change(self.read(team, shelf, keys))
        check_answer(answer, keys)
        former = self.texts.get((team, shelf), {})
        texts = former | {spelled(key): encode(record) for key, record in answer.items() if record is not None}
        for key, record in answer.items():
            if record is None:
                texts.pop(spelled(key), None)
        if texts != former:
            self.texts[team, shelf] = texts
            self.writes += 1

    def problem(self, team: str, shelf: str) -> str:
        return self.problems.get((team, shelf), "")

    def take_away(self, team: str) -> None:
        """The team is deleted, and its records with it."""
        self.texts = {place: texts for place, texts in self.texts.items() if place[0] != team}
        self.problems = {place: text for place, text in self.problems.items() if place[0] != team}


class MemoryJournal(_Teams):
    """Twin of `AuditJournal`."""

    def __init__(self, find: Callable[[str], str | None] | None = None) -> None:
        super().__init__(find)
        self.lines: dict[str, list[bytes]] = {}

    def note(self, team: str, record: Record) -> None:
        if self.is_there(team):
            self.lines.setdefault(team, []).append(encode_note(record).strip())

    def last(self, team: str, count: int) -> list[Record]:
        lines = self.lines.get(team, []) if self.is_there(team) else []
        found = [record for line in lines if (record := decode_note(line)) is not None]
        return found[-count:] if count > 0 else []

    def take_away(self, team: str) -> None:
        self.lines.pop(team, None)


class MemorySecrets(_Teams):
    """Twin of `TeamSecrets`. The secrets of a test are no secrets: each is its number."""

    def __init__(self, find: Callable[[str], str | None] | None = None) -> None:
        super().__init__(find)
        self.secrets: dict[str, bytes] = {}
        self._made = 0

    def secret(self, team: str) -> bytes:
        self.check(team)
        if team not in self.secrets:
            self._made += 1
            self.secrets[team] = self._made.to_bytes(32, "big")
        return self.secrets[team]

    def take_away(self, team: str) -> None:
        self.secrets.pop(team, None)


class QuickDisk(RealDisk):
    """The real disk, for tests in which nobody pulls the plug: nothing waits for the platter."""

    __slots__ = ()

    def sync(self, fd: int) -> None:  # noqa: ARG002
        return None

    def sync_folder(self, path: str) -> None:  # noqa: ARG002
        return None


class Crash(BaseException):
    """The process was killed here. Not an Exception: no handler of ours may catch it."""


class FaultyDisk:
    """
    A disk that counts its steps and stops at one of them.

    At the chosen step it raises `error`, or, without one, the process is dead: open files are closed (so flocks
    go), and every later step raises Crash too, because a dead process runs no `finally`. With `for_real` it is a
    real kill -9. A write that is stopped has written half.
    """

    def __init__(
        self, disk: Disk, *, stop_at: int | None = None, error: OSError | None = None, for_real: bool = False
    ) -> None:
        self._disk = disk
        self._stop_at = stop_at
        self._error = error
        self._for_real = for_real
        self._open: set[int] = set()
        self.steps: list[str] = []
        self.dead = False
        self.may_stay_open = disk.may_stay_open

    def __getattr__(self, name: str) -> Any:  # Any: one wrapper for every step of the port
        real = getattr(self._disk, name)

        def step(*args: Any, **options: Any) -> Any:
            self._check(name, args)
            result = real(*args, **options)
            self._note_open(name, args, result)
            return result

        return step

    def _check(self, name: str, args: tuple[Any, ...]) -> None:
        if self.dead:
            raise Crash
        self.steps.append(name)
        if self._stop_at is None or len(self.steps) - 1 != self._stop_at:
            return
        if name == "write":
            os.write(args[0], args[1][: len(args[1]) // 2])
        if self._error is not None:
            raise self._error
        self._die()

    def _die(self) -> None:
        if self._for_real:
            os.kill(os.getpid(), signal.SIGKILL)
        self.dead = True
        for fd in self._open:
            os.close(fd)
        raise Crash

    def _note_open(self, name: str, args: tuple[Any, ...], result: Any) -> None:
        if name in ("open_read", "create", "open_append", "lock") and isinstance(result, int):
            self._open.add(result)
        elif name == "close":
            self._open.discard(args[0])


class MemoryAccessTokens:
    """Implements `ports.access_tokens.AccessTokens`."""

    def __init__(self) -> None:
        self._tokens: list[AccessToken] = []

    def all(self) -> list[AccessToken]:
        return list(self._tokens)

    def change(self, change: Callable[[list[AccessToken]], list[AccessToken]]) -> None:
        self._tokens = list(change(list(self._tokens)))
