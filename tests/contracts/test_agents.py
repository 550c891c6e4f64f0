"""Records of agents and their slots: the twin and the files on disk say the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from atm.core.errors import FileBusy
from atm.crew.adapters.agent_files import AgentFiles, SlotFiles
from atm.crew.rules.agents import AgentRecord
from atm.files.adapters.disk import RealDisk
from atm.files.formats.layout import Layout
from atm.testing.agents import MemoryAgentRecords, MemorySlots
from atm.testing.time_and_chance import FakeClock
from atm.wiring.files import build_locks


def record(member: str = "ann", **facts) -> AgentRecord:
    known = {"team": "crew", "member": member, "generation": 1, "mark": f"h/crew/{member}/1/k", "runtime": "script"}
    return AgentRecord(**{**known, "backend": "headless", "folder": "/w", "at": 1.0, **facts})


@pytest.fixture(params=["twin", "real"])
def records(request, layout: Layout):
    return MemoryAgentRecords() if request.param == "twin" else AgentFiles(RealDisk(), build_locks(layout), layout)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def unusable() -> set[int]:
    return set()


@pytest.fixture(params=["twin", "real"])
def slots(request, layout: Layout, clock: FakeClock, unusable: set[int]):
    if request.param == "twin":
        return MemorySlots(clock, lambda slot: slot not in unusable)
    return SlotFiles(RealDisk(), clock, build_locks(layout), layout, lambda slot: slot not in unusable)


def test_what_was_written_is_read_until_it_is_removed(records):
    assert (records.teams(), records.names("crew"), records.read("crew", "ann")) == ([], [], None)
    with records.turn("crew", "ann") as turn:
        assert turn.record is None
        turn.write(record())
    assert (records.teams(), records.names("crew"), records.read("crew", "ann")) == (["crew"], ["ann"], record())
    with records.turn("crew", "ann") as turn:
        assert turn.record == record()
        turn.remove()
    assert (records.names("crew"), records.read("crew", "ann")) == ([], None)


def test_who_holds_a_record_keeps_others_waiting_and_nobody_elses(records):
    with records.turn("crew", "ann"):
        with pytest.raises(FileBusy), records.turn("crew", "ann", 0.0):
            raise AssertionError
        with records.turn("crew", "bob"):
            assert records.read("crew", "bob") is None
    with records.turn("crew", "ann", 0.0) as turn:
        assert turn.record is None


def test_an_error_lets_go(records):
    def fail() -> None:
        with records.turn("crew", "ann") as turn:
            turn.write(record())
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with records.turn("crew", "ann", 0.0) as turn:
        assert turn.record == record()


def test_a_latch_holds_until_it_is_taken_back(records):
    assert records.latch("crew") is None
    records.set_latch("crew", {"by": "ann"})
    assert records.latch("crew") == {"by": "ann"}
    assert records.names("crew") == []
    records.set_latch("crew", None)
    records.set_latch("crew", None)
    assert records.latch("crew") is None


def test_no_two_have_the_same_slot_and_the_lowest_free_one_is_next(slots):
    assert [slots.take(owner, 60) for owner in ("a", "b", "c")] == [0, 1, 2]
    slots.give(1, "b")
    slots.give(0, "c")
    assert slots.take("d", 60) == 1
    assert slots.taken() == {0: "a", 1: "d", 2: "c"}


def test_a_slot_whose_time_is_over_is_anybodys_and_a_renewed_one_is_not(slots, clock):
    slots.take("a", 60)
    slots.take("b", 60)
    clock.pass_time(50)
    assert slots.renew(1, "b", 60)
    clock.pass_time(20)
    assert slots.take("c", 60) == 0
    assert not slots.renew(0, "a", 60)
    assert slots.taken() == {0: "c", 1: "b"}


def test_a_slot_that_cannot_be_used_is_passed_over_even_by_whoever_had_it(slots, unusable):
    assert slots.take("a", 60) == 0
    unusable.update((0, 1))
    assert [slots.take(owner, 60) for owner in ("b", "a")] == [2, 3]
    unusable.clear()
    assert slots.take("c", 60) == 1


def test_whoever_asks_again_keeps_its_own(slots):
    assert slots.take("a", 60) == slots.take("a", 60) == 0


def test_a_record_that_cannot_be_read_is_none_and_says_so_to_whoever_holds_it(layout: Layout):
    records = AgentFiles(RealDisk(), build_locks(layout), layout)
    path = Path(layout.agent_record("crew", "ann"))
    path.parent.mkdir(parents=True)
    path.write_text("{")
    assert (records.names("crew"), records.read("crew", "ann")) == (["ann"], None)
    with records.turn("crew", "ann") as turn:
        assert turn.record is None
        assert turn.problem
        turn.write(record())
    assert records.read("crew", "ann") == record()


def test_a_latch_that_cannot_be_read_holds(layout: Layout):
    records = AgentFiles(RealDisk(), build_locks(layout), layout)
    Path(layout.stop_latch("crew")).parent.mkdir(parents=True)
    Path(layout.stop_latch("crew")).write_text("?")
    assert records.latch("crew") == {}
