"""The spool on disk: what has happened to an entry is durable before anybody hears of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from atm.files.adapters.disk import RealDisk
from atm.files.formats.layout import Layout
from atm.mail.formats.journal import RECEIPT, Line
from atm.mail.formats.spool_entry import SpoolEntry
from atm.testing import FakeClock, make_message
from atm.wiring.mail import build_room


class Recording(RealDisk):
    """Remembers which names were given, taken and made durable, in order."""

    __slots__ = ("steps",)

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[tuple[str, str]] = []

    def sync(self, fd: int) -> None:
        super().sync(fd)
        self.steps.append(("sync", ""))

    def link(self, source: str, target: str) -> None:
        super().link(source, target)
        self.steps.append(("link", target))

    def rename(self, source: str, target: str) -> None:
        super().rename(source, target)
        self.steps.append(("rename", target))

    def remove(self, path: str) -> None:
        super().remove(path)
        self.steps.append(("remove", path))

    def sync_folder(self, path: str) -> None:
        super().sync_folder(path)
        self.steps.append(("sync_folder", path))


@pytest.fixture
def disk() -> Recording:
    return Recording()


@pytest.fixture
def watched(room, layout, disk):
    """A room over the same files, every step of which is seen; its spool holds one entry."""
    made = build_room(layout, disk=disk)
    entry = SpoolEntry(
        team="crew", agent="ann", message_id="id-1", raw=make_message("id-1").raw, created_at=1.0, reason="test"
    )
    made.spool.put(entry)
    return made


def last(disk: Recording, count: int = 2) -> list[tuple[str, str]]:
    return disk.steps[-count:]


def test_a_new_entry_is_durable_under_its_name(watched, disk, layout: Layout):
    path = watched.spool.pending()[0].path
    assert [step for step in disk.steps if step[0] != "remove"] == [
        ("sync", ""),
        ("link", path),
        ("sync_folder", layout.spool_pending),
    ]


def test_an_entry_that_was_delivered_does_not_come_back_after_a_power_cut(watched, disk, layout: Layout):
    spooled = watched.spool.pending()[0]
    watched.spool.done(spooled)
    assert last(disk) == [("remove", spooled.path), ("sync_folder", layout.spool_pending)]


def test_an_entry_that_was_given_up_is_durable_where_it_lies_now(watched, disk, layout: Layout):
    path = watched.spool.give_up(watched.spool.pending()[0])
    assert Path(path).parent == Path(layout.spool_failed)
    assert last(disk) == [("rename", path), ("sync_folder", layout.spool_failed)]


def test_an_entry_that_was_revived_is_durable_where_it_lies_now(watched, disk, layout: Layout):
    watched.spool.give_up(watched.spool.pending()[0])
    watched.spool.revive(watched.spool.failed()[0])
    path = watched.spool.pending()[0].path
    assert last(disk) == [("rename", path), ("sync_folder", layout.spool_pending)]


def test_while_one_process_drains_another_goes_away_and_comes_in_afterwards(watched, layout: Layout):
    other = build_room(layout)
    with watched.spool.exclusively() as held:
        assert held
        with other.spool.exclusively() as also:
            assert not also
    with other.spool.exclusively() as then:
        assert then


def test_names_rise_also_if_the_clock_stands_still(watched, layout: Layout):
    still = build_room(layout, clock=FakeClock(5.0))
    entry = watched.spool.pending()[0].entry
    names = [Path(still.spool.put(entry)).name for _ in range(3)]
    assert names == sorted(set(names))


# The ledger, beside it.


def test_a_line_of_the_ledger_is_durable_and_the_name_of_a_new_ledger_too(watched, disk, layout: Layout):
    line = Line(kind=RECEIPT, ids=["id-1"], agent="ann", state="read", at="", evidence="")
    folder = str(Path(layout.ledger("crew")).parent)
    disk.steps.clear()
    watched.ledger.append("crew", [line])
    assert disk.steps == [("sync", ""), ("sync_folder", folder)]
    disk.steps.clear()
    watched.ledger.append("crew", [line])
    assert disk.steps == [("sync", "")]


# And inboxes.


def test_a_new_inbox_is_durable_under_its_name_and_nothing_is_left_beside_it(watched, disk, layout: Layout):
    inbox = Path(layout.inbox("crew", "cleo"))
    rest = inbox.with_name(f".{inbox.name}.atm-{os.getpid()}-new")
    rest.write_text("half")  # by a killed process with our number
    disk.steps.clear()
    assert watched.inboxes.create("crew", "cleo")
    steps = [step for step in disk.steps if step[0] != "remove"]
    assert steps == [("sync", ""), ("link", str(inbox)), ("sync_folder", str(inbox.parent))]
    assert not rest.exists()


def test_an_inbox_that_was_removed_does_not_come_back_after_a_power_cut(watched, disk, layout: Layout):
    inbox = Path(layout.inbox("crew", "ann"))
    assert watched.inboxes.remove("crew", "ann")
    assert ("remove", str(inbox)) in disk.steps
    assert ("sync_folder", str(inbox.parent)) in disk.steps[disk.steps.index(("remove", str(inbox))) :]
