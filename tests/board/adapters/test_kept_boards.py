"""Boards that a server keeps: always what a first look would find, for the price of what changed."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from tests.chaos import examples

from atm.board.adapters import kept_boards
from atm.board.adapters.board_scan import BoardScanner, Scan
from atm.board.adapters.kept_boards import KeptBoards
from atm.board.rules.dependencies import Board
from atm.board.rules.tasks import Card
from atm.events.adapters.folder_news import InotifyNews
from atm.events.adapters.inotify import is_available
from atm.files.adapters.disk import RealDisk
from atm.files.formats.layout import Layout
from atm.files.ports.folder_news import FolderNews
from atm.testing import LookingNews


class CountingDisk(RealDisk):
    """How often the whole folder was looked at, and one file."""

    def __init__(self) -> None:
        super().__init__()
        self.surveys = self.looks = 0

    def versions(self, folder: str) -> dict[str, tuple[int, int, int]]:
        self.surveys += 1
        return super().versions(folder)

    def look(self, path: str):
        self.looks += 1
        return super().look(path)


class Hands:
    """Real time; waiting for a file that is torn takes none."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic() + self.ahead

    def sleep(self, seconds: float) -> None:
        pass


@pytest.fixture(params=["looking", "inotify"])
def news(request) -> Iterator[FolderNews]:
    if request.param == "looking":
        yield LookingNews()
    elif not is_available():
        pytest.skip("only Linux tells of changes")
    else:
        made = InotifyNews()
        yield made
        made.close()


@pytest.fixture
def folder(layout: Layout) -> Path:
    made = Path(layout.tasks("crew"))
    made.mkdir(parents=True)
    return made


def put(folder: Path, number: int, *, in_place: bool = True, **fields: object) -> None:
    data = json.dumps({"id": str(number), "subject": "s", "status": "pending", "blockedBy": [], **fields}).encode()
    path = folder / f"{number}.json"
    if in_place:
        path.write_bytes(data)
    else:
        (folder / "t").write_bytes(data)
        os.replace(folder / "t", path)


def said(scan: Scan | None) -> object:
    """What a scan says of the board, but not what is new of it."""
    assert scan is not None
    return _values(scan.cards), _values(scan.gone), scan.unproven, sorted(scan.odd)


def _values(cards: dict[int, Card]) -> dict[int, str]:
    return {number: repr(card.values()).replace("()", "[]") for number, card in cards.items()}  # unset is as empty


def test_whatever_happens_a_kept_board_says_what_a_first_look_says(news, layout, folder):
    clock, disk, chance = Hands(), RealDisk(), Random(4)
    kept = KeptBoards(disk, clock, layout, news)
    for step in range(examples(400)):
        number = chance.randint(1, 12)
        path = folder / f"{number}.json"
        match chance.randint(0, 12):
            case 0 | 1 | 2:
                put(folder, number, owner=chance.choice(["", "ann", "bob"]), subject="x" * chance.randint(0, 3))
            case 3 | 4:
                put(folder, number, in_place=False, status=chance.choice(["pending", "completed"]))
            case 5:
                path.unlink(missing_ok=True)
            case 6:
                path.write_bytes(chance.choice([b"", b"{", b"[]", b"\xff"]))
            case 7:
                (folder / f"{number}.json.lock").mkdir(exist_ok=True)
            case 8:
                shutil.rmtree(folder / f"{number}.json.lock", ignore_errors=True)
            case 9:
                (folder / f".{number}.json.new-1").touch()
            case 10:
                Path(layout.board_index("crew")).unlink(missing_ok=True)
            case 11 if chance.random() < 0.2:
                folder.rename(folder.with_name("away"))
                folder.mkdir()
                shutil.rmtree(folder.with_name("away"))
        first = BoardScanner(disk, clock, layout)
        for _ in range(2):
            ours, fresh = kept.scan("crew", str(folder)), first.scan("crew", str(folder))
            assert said(ours) == said(fresh), step
            assert ours is not None
            assert fresh is not None
            chance.choice([kept, first]).remember("crew", chance.choice([ours, fresh]))


def test_a_change_costs_one_look_however_large_the_board_is(news, layout, folder):
    for number in range(1, 501):
        put(folder, number)
    disk, clock = CountingDisk(), Hands()
    kept = KeptBoards(disk, clock, layout, news)
    for _ in range(3):
        time.sleep(0.05)  # until the stamps of what was just written have settled
        scan = kept.scan("crew", str(folder))
        assert scan is not None
        kept.remember("crew", scan)
    put(folder, 7, owner="ann")
    disk.surveys = disk.looks = 0
    scan = kept.scan("crew", str(folder))
    assert scan is not None
    assert scan.cards[7].owner == "ann"
    assert (disk.surveys, disk.looks <= 3) == (0, True)


def test_what_a_turn_does_to_its_scan_changes_nothing_that_is_kept(news, layout, folder):
    put(folder, 1, owner="ann")
    kept = KeptBoards(RealDisk(), Hands(), layout, news)
    first = kept.scan("crew", str(folder))
    assert first is not None
    first.lose(1)
    second = kept.scan("crew", str(folder))
    assert second is not None
    assert isinstance(second.board(), Board)
    assert second.cards[1].owner == "ann"


def test_now_and_then_everything_is_looked_at(news, layout, folder):
    put(folder, 1)
    disk, clock = CountingDisk(), Hands()
    kept = KeptBoards(disk, clock, layout, news)
    for _ in range(5):
        scan = kept.scan("crew", str(folder))
        assert scan is not None
        kept.remember("crew", scan)
    assert disk.surveys == 1
    clock.ahead = kept_boards.LOOK_AT_ALL_EVERY
    kept.scan("crew", str(folder))
    assert disk.surveys == 2


def test_more_than_may_be_read_under_the_lock_is_read_at_the_next_look(news, layout, folder):
    kept = KeptBoards(RealDisk(), Hands(), layout, news)
    kept.scan("crew", str(folder))
    for number in range(1, 20):
        put(folder, number)
    assert kept.scan("crew", str(folder), 10) is None
    scan = kept.scan("crew", str(folder))
    assert scan is not None
    assert len(scan.cards) == 19


def test_a_file_that_may_not_be_read_is_tried_again_without_news(news, layout, folder):
    class Refusing(RealDisk):
        refuses = True

        def open_read(self, path: str) -> int:
            if self.refuses and path.endswith("/1.json"):
                raise PermissionError(13, "Permission denied", path)
            return super().open_read(path)

    put(folder, 1)
    put(folder, 2)
    disk = Refusing()
    kept = KeptBoards(disk, Hands(), layout, news)
    for _ in range(2):
        scan = kept.scan("crew", str(folder))
        assert scan is not None
        assert scan.cards[1].problem
        kept.remember("crew", scan)  # without an index everything would be looked at anyway
    disk.refuses = False
    scan = kept.scan("crew", str(folder))
    assert scan is not None
    assert not scan.cards[1].problem
