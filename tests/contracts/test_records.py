"""Records, the audit journal and secrets: one contract for the twins and for the files."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.proving import proves

from atm.core.errors import NoSuchTeam
from atm.files.adapters.locking import Locks
from atm.files.adapters.machine import find_layout, host_name
from atm.files.adapters.record_store import RecordFiles
from atm.files.ports.records import INTENTS, OUTBOX, SHELVES, STATUS, AuditJournal, Records, TeamSecrets
from atm.roster.services.ending import delete_team
from atm.roster.services.teamroom import Teamroom
from atm.team.adapters.team_secrets import SecretFiles
from atm.team.formats.team_config import new_team
from atm.testing import FakeChance, QuickDisk, memory_room
from atm.testing.files import MemoryJournal, MemoryRecords, MemorySecrets
from atm.wiring.mail import build_room
from atm.worksync.adapters import JournalFiles


@dataclass
class Stores:
    room: Teamroom
    records: Records
    journal: AuditJournal
    secrets: TeamSecrets

    def put(self, team: str = "crew", shelf: str = STATUS, **records: Any) -> None:
        self.records.change(team, shelf, lambda _: records)


@pytest.fixture(params=["memory", "files"])
def stores(request, home) -> Stores:
    """A team `crew`, and no other."""
    made = in_memory() if request.param == "memory" else on_files(home)
    made.room.rosters.create("crew", new_team("crew", description="", lead="team-lead", now=made.room.clock.now()))
    return made


def in_memory() -> Stores:
    room = memory_room()
    find = room.rosters.find
    return Stores(room, MemoryRecords(find), MemoryJournal(find), MemorySecrets(find))


def on_files(home: Path) -> Stores:
    layout, disk = find_layout({"ATM_HOME": str(home)}), QuickDisk()
    room = build_room(layout, disk=disk)
    locks = Locks(disk, room.clock, FakeChance(), layout.locks, pid=os.getpid(), host=host_name())
    records = RecordFiles(disk, room.clock, locks, layout)
    return Stores(room, records, JournalFiles(disk, locks, layout), SecretFiles(disk, locks, layout, os.urandom))


class TestRecords:
    @proves("R002-3.1-05", "R002-3.2-08", "R002-3.2-10", "R002-9-27")
    @pytest.mark.parametrize("shelf", SHELVES)
    def test_what_is_put_is_read_with_keys_and_without(self, stores, shelf):
        stores.put(shelf=shelf, ann={"n": 1}, bob={"deep": [{"x": None}]}, cleo={})
        assert stores.records.read("crew", shelf) == {"ann": {"n": 1}, "bob": {"deep": [{"x": None}]}, "cleo": {}}
        assert stores.records.read("crew", shelf, ["bob", "nobody"]) == {"bob": {"deep": [{"x": None}]}}
        assert stores.records.read("crew", shelf, []) == {}
        assert stores.records.problem("crew", shelf) == ""

    @proves("R002-11.3-12", "R002-20.3-13")
    def test_shelves_and_keys_do_not_disturb_each_other(self, stores):
        stores.put(shelf=STATUS, ann={"of": "status"})
        stores.put(shelf=OUTBOX, ann={"of": "outbox"})
        stores.put(shelf=OUTBOX, bob={})
        assert stores.records.read("crew", STATUS) == {"ann": {"of": "status"}}
        assert stores.records.read("crew", OUTBOX) == {"ann": {"of": "outbox"}, "bob": {}}
        assert stores.records.read("crew", INTENTS) == {}

    @proves("R002-3.2-10", "R002-8.0-106", "R002-9-28", "R002-9-29")
    def test_a_change_sees_what_a_reader_would_and_replaces_what_it_returns(self, stores):
        stores.put(ann={"n": 1}, bob={"n": 2})
        seen: list[Any] = []

        def change(records: dict[str, Any]) -> dict[str, Any]:
            seen.append(dict(records))
            return {"ann": {"n": records["ann"]["n"] + 1}, "cleo": {"n": 9}}

        stores.records.change("crew", STATUS, change)
        stores.records.change("crew", STATUS, change, keys=["ann", "cleo"])
        assert seen == [{"ann": {"n": 1}, "bob": {"n": 2}}, {"ann": {"n": 2}, "cleo": {"n": 9}}]
        assert stores.records.read("crew", STATUS) == {"ann": {"n": 3}, "bob": {"n": 2}, "cleo": {"n": 9}}

    def test_none_takes_a_record_away(self, stores):
        stores.put(ann={}, bob={}, cleo={})
        stores.records.change("crew", STATUS, lambda _: {"ann": None, "cleo": None, "nobody": None})
        assert stores.records.read("crew", STATUS) == {"bob": {}}
        stores.records.change("crew", STATUS, lambda _: {"bob": None})
        assert stores.records.read("crew", STATUS) == {}

    def test_what_is_not_returned_is_not_changed(self, stores):
        stores.put(ann={"n": 1})

        def meddle(records: dict[str, Any]) -> dict[str, Any]:
            records["ann"]["n"] = 2
            records["bob"] = {}
            return {}

        stores.records.change("crew", STATUS, meddle)
        assert stores.records.read("crew", STATUS) == {"ann": {"n": 1}}

    def test_a_record_that_was_changed_in_place_and_returned_is_written(self, stores):
        stores.put(ann={"n": 1}, bob={})

        def change(records: dict[str, Any]) -> dict[str, Any]:
            records["ann"]["n"] = 2
            return {"ann": records["ann"]}

        stores.records.change("crew", STATUS, change)
        assert stores.records.read("crew", STATUS) == {"ann": {"n": 2}, "bob": {}}

    def test_whoever_asked_for_some_keys_may_not_answer_for_others(self, stores):
        stores.put(ann={"n": 1}, bob={"n": 1})
        with pytest.raises(ValueError, match="bob"):
            stores.records.change("crew", STATUS, lambda _: {"ann": {}, "bob": None}, keys=["ann"])
        assert stores.records.read("crew", STATUS) == {"ann": {"n": 1}, "bob": {"n": 1}}

    def test_a_change_that_raises_changes_nothing(self, stores):
        stores.put(ann={"n": 1})
        with pytest.raises(ZeroDivisionError):
            stores.records.change("crew", STATUS, lambda _: {"ann": {"n": 1 // 0}})
        assert stores.records.read("crew", STATUS) == {"ann": {"n": 1}}

    def test_records_that_are_handed_out_belong_to_the_reader(self, stores):
        stores.put(ann={"list": [1]})
        stores.records.read("crew", STATUS)["ann"]["list"].append(2)
        assert stores.records.read("crew", STATUS) == {"ann": {"list": [1]}}

    @pytest.mark.parametrize("key", ["", "a b", '"', "\n", "\\", "Zoë", "\ud83d", "\ud83d\ude00", "a" * 5000, "}}"])
    def test_any_key_and_any_text_come_back(self, stores, key):
        stores.records.change("crew", STATUS, lambda _: {key: {"text": "\n\0\u2028\x1b[31m"}, "x": {}})
        (found,) = stores.records.read("crew", STATUS, [key]).values()
        assert found == {"text": "\n\0\u2028\x1b[31m"}
        stores.records.change("crew", STATUS, lambda _: {key: None}, keys=[key])
        assert stores.records.read("crew", STATUS) == {"x": {}}

    def test_a_team_that_is_gone_has_none_and_none_are_made_for_it(self, stores):
        for team in ("other", "session-1a2b3c4d"):
            assert stores.records.read(team, STATUS) == {}
            assert stores.records.problem(team, STATUS) == ""
            with pytest.raises(NoSuchTeam):
                stores.put(team, ann={})
            assert stores.room.rosters.find(team) is None


class TestJournal:
    @proves("R002-3.2-13")
    def test_the_newest_stands_last(self, stores):
        for number in range(5):
            stores.journal.note("crew", {"event": "nudged", "n": number})
        assert [record["n"] for record in stores.journal.last("crew", 3)] == [2, 3, 4]
        assert len(stores.journal.last("crew", 100)) == 5
        assert stores.journal.last("crew", 0) == []

    def test_long_texts_and_lists_are_cut_and_nothing_is_too_large(self, stores):
        stores.journal.note("crew", {"text": "x" * 1000, "list": list(range(100))})
        (record,) = stores.journal.last("crew", 1)
        assert (len(record["text"]), record["list"]) == (240, list(range(20)))
        stores.journal.note("crew", {"event": "huge", **{f"field-{n}": ["ä" * 300] * 30 for n in range(300)}})
        assert stores.journal.last("crew", 1)[0]["event"] == "huge"

    def test_deep_and_hostile_values_are_noted(self, stores):
        deep: Any = "x"
        for _ in range(5000):
            deep = [deep]
        stores.journal.note("crew", {"event": "deep", "deep": deep, "text": "\n\x1b\udcff\ud83d", "key\n": "{"})
        (record,) = stores.journal.last("crew", 1)
        assert (record["event"], record["text"], record["key\n"]) == ("deep", "\n\x1b\udcff\ud83d", "{")

    def test_a_team_that_is_gone_has_none(self, stores):
        stores.journal.note("other", {"event": "nudged"})
        assert stores.journal.last("other", 10) == []
        assert stores.room.rosters.find("other") is None


class TestSecrets:
    def test_a_secret_stays_and_belongs_to_one_team(self, stores):
        stores.room.rosters.create("other", new_team("other", description="", lead="team-lead", now=0))
        first = stores.secrets.secret("crew")
        assert len(first) == 32
        assert stores.secrets.secret("crew") == first
        assert stores.secrets.secret("other") != first

    def test_a_team_that_is_gone_gets_none(self, stores):
        with pytest.raises(NoSuchTeam):
            stores.secrets.secret("other")


def test_a_team_that_was_deleted_leaves_nothing_to_its_successor(stores):
    stores.put(ann={"n": 1})
    former = stores.secrets.secret("crew")
    stores.journal.note("crew", {"event": "nudged"})
    delete_team(stores.room, "crew", force=True)
    assert stores.records.read("crew", STATUS) == {}
    for twin in (stores.records, stores.secrets, stores.journal):
        if hasattr(twin, "take_away"):
            twin.take_away("crew")
    stores.room.rosters.create("crew", new_team("crew", description="", lead="team-lead", now=0))
    assert stores.records.read("crew", STATUS) == {}
    assert stores.journal.last("crew", 5) == []
    assert stores.secrets.secret("crew") != former
