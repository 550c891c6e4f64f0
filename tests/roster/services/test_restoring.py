"""Restoring: what lives wins, nobody gets a message twice, and doing it twice changes nothing."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.chaos import examples

from atm.board.formats.task import decode_task
from atm.core.errors import RequestError
from atm.core.work_errors import DamagedBackup, NoSuchBackup
from atm.mail.services.posting import Draft
from atm.mail.services.putting_back import put_back_dropped
from atm.mail.services.reading import Filter, take
from atm.mail.services.retention import compact
from atm.mail.services.sending import send
from atm.roster.services.backups import back_up
from atm.roster.services.ending import delete_team
from atm.roster.services.members import add_member, create_team, remove_member, update_member
from atm.roster.services.recovery import recover
from atm.roster.services.restoring import restore
from atm.roster.services.teamroom import Teamroom
from atm.team.rules.liveness import Beat
from atm.team.rules.team import Member
from atm.testing import MemoryTeamFiles, make_message, memory_room


def task(number: int, status: str = "pending", owner: str = "") -> bytes:
    own = {"claim": {"by": owner, "id": "c"}} if owner else {}
    record = {"id": str(number), "subject": f"s{number}", "status": status, "owner": owner, "metadata": {"atm": own}}
    return json.dumps(record).encode()


def texts(room: Teamroom, agent: str) -> list[str]:
    return [row.text for row in room.inboxes.rows("crew", agent)]


def tell(room: Teamroom, to: str, text: str) -> str:
    return send(room, "crew", to, Draft(sender="bob", text=text)).message_id


class TestMembers:
    def test_whoever_is_missing_comes_back_without_the_runtime_of_the_past(self, boardroom):
        update_member(boardroom, "crew", "cleo", {"sessionId": "s", "tmuxPaneId": "%3", "prompt": "p"})
        back_up(boardroom, "crew")
        remove_member(boardroom, "crew", "cleo", force=True)
        done = restore(boardroom, "crew")
        assert done.members == ["cleo"]
        cleo = boardroom.rosters.load("crew").member("cleo")
        assert cleo is not None
        assert (cleo.is_active, cleo.session_id, cleo.pane_id) == (None, "", "")
        assert '"prompt": "p"' in cleo.raw
        assert boardroom.inboxes.exists("crew", "cleo")

    def test_whoever_is_there_stays_as_it_is(self, boardroom):
        back_up(boardroom, "crew")
        update_member(boardroom, "crew", "ann", {"model": "opus"})
        before = boardroom.rosters.content("crew")
        done = restore(boardroom, "crew")
        assert boardroom.rosters.content("crew") == before
        assert {item["name"] for item in done.skipped if item["kind"] == "member"} == {"ann", "bob", "cleo"}

    def test_the_lead_and_its_session_are_never_touched(self, boardroom):
        create_team(boardroom, "led", lead="ann")
        boardroom.rosters.change("led", lambda data: data.replace(b'"leadSessionId": ""', b'"leadSessionId": "old"'))
        back_up(boardroom, "led")
        boardroom.rosters.change("led", lambda data: data.replace(b'"leadSessionId": "old"', b'"leadSessionId": "new"'))
        remove_member(boardroom, "led", "ann", force=True)
        done = restore(boardroom, "led")
        assert done.members == []
        assert b'"leadSessionId": "new"' in boardroom.rosters.content("led")
        assert boardroom.rosters.load("led").member("ann") is None


class TestMail:
    def test_what_was_lost_comes_back_in_its_order(self, boardroom):
        for number in range(4):
            tell(boardroom, "ann", str(number))
        back_up(boardroom, "crew")
        rows = boardroom.inboxes.rows("crew", "ann")
        boardroom.inboxes.foreign_rewrite("crew", "ann", [rows[0], rows[3]])
        done = restore(boardroom, "crew")
        assert texts(boardroom, "ann") == list("0123")
        assert done.messages == 2

    def test_what_was_read_since_stays_away(self, boardroom):
        tell(boardroom, "ann", "old")
        back_up(boardroom, "crew")
        take(boardroom, "crew", "ann", Filter())
        boardroom.inboxes.foreign_rewrite("crew", "ann", [])
        done = restore(boardroom, "crew")
        assert texts(boardroom, "ann") == []
        assert done.messages == 0
        assert {"kind": "messages", "name": "ann", "reason": "1 were read, answered or archived since"} in done.skipped

    def test_what_was_archived_since_stays_away(self, boardroom):
        tell(boardroom, "ann", "old")
        back_up(boardroom, "crew")
        remove_member(boardroom, "crew", "ann", force=True)
        restore(boardroom, "crew")
        assert texts(boardroom, "ann") == []

    def test_what_was_cleaned_up_since_stays_away(self, boardroom):
        old = [make_message(f"old-{n}", read=True, at="2020-01-01T00:00:00.000Z") for n in range(30)]
        boardroom.inboxes.append("crew", "ann", old, fresh=True)
        back_up(boardroom, "crew")
        assert compact(boardroom, "crew", "ann").removed == 25
        restore(boardroom, "crew")
        assert len(texts(boardroom, "ann")) == 5

    def test_a_row_that_is_there_is_not_doubled_and_keeps_its_flag(self, boardroom):
        tell(boardroom, "ann", "here")
        back_up(boardroom, "crew")
        take(boardroom, "crew", "ann", Filter())
        restore(boardroom, "crew")
        (row,) = boardroom.inboxes.rows("crew", "ann")
        assert row.read

    def test_a_row_without_an_id_comes_back_as_read_into_a_living_inbox(self, boardroom):
        from atm.mail.formats.inbox import decode_row

        row = decode_row('{"from": "x", "text": "old tool", "timestamp": "t", "read": false}')
        assert row is not None
        boardroom.inboxes.append("crew", "ann", [row], fresh=True)
        back_up(boardroom, "crew")
        boardroom.inboxes.foreign_rewrite("crew", "ann", [])
        restore(boardroom, "crew")
        assert [(row.text, row.read) for row in boardroom.inboxes.rows("crew", "ann")] == [("old tool", True)]

    def test_its_return_is_entered_in_the_ledger(self, boardroom):
        id = tell(boardroom, "ann", "lost")
        back_up(boardroom, "crew")
        boardroom.inboxes.foreign_rewrite("crew", "ann", [])
        restore(boardroom, "crew")
        entries = [entry for entry in boardroom.ledger.entries("crew")[0] if entry.ids == [id]]
        assert [entry.state for entry in entries] == ["written", "restored"]
        assert "restored from" in entries[-1].evidence
        assert put_back_dropped(boardroom, boardroom.rosters.load("crew"), everything=True) == 0


class TestTasks:
    def test_only_numbers_that_are_free_come_back(self, boardroom):
        boardroom.files.put_tasks("crew", {1: task(1), 2: task(2)}, 7)
        back_up(boardroom, "crew")
        changed = task(1, "completed")
        boardroom.files.lists["crew"] = {1: changed}
        done = restore(boardroom, "crew")
        assert (done.tasks, done.high_water) == ([2], 7)
        assert boardroom.files.lists["crew"] == {1: changed, 2: task(2)}

    def test_work_that_somebody_was_at_is_pending_again_without_its_claim(self, boardroom):
        boardroom.files.put_tasks("crew", {1: task(1, "in_progress", "ann")}, 0)
        back_up(boardroom, "crew")
        boardroom.files.lists["crew"] = {}
        restore(boardroom, "crew")
        found = decode_task(boardroom.files.lists["crew"][1])
        assert (found.status, found.owner, found.claim_id) == ("pending", "", "")
        assert "claim" not in found.details

    def test_unless_that_somebody_is_online(self, boardroom):
        boardroom.files.put_tasks("crew", {1: task(1, "in_progress", "ann")}, 0)
        back_up(boardroom, "crew")
        boardroom.files.lists["crew"] = {}
        boardroom.presence.beat("crew", "ann", Beat(at=boardroom.clock.now(), source="test"))
        restore(boardroom, "crew")
        assert decode_task(boardroom.files.lists["crew"][1]).owner == "ann"

    def test_the_mark_never_falls(self, boardroom):
        boardroom.files.put_tasks("crew", {4: task(4)}, 0)
        back_up(boardroom, "crew")
        boardroom.files.marks["crew"] = 9
        assert restore(boardroom, "crew").high_water == 9
        boardroom.files.lists["crew"], boardroom.files.marks["crew"] = {}, 0
        assert restore(boardroom, "crew").high_water == 4

    def test_they_can_be_left_out(self, boardroom):
        boardroom.files.put_tasks("crew", {1: task(1)}, 0)
        back_up(boardroom, "crew")
        boardroom.files.lists["crew"] = {}
        assert restore(boardroom, "crew", skip_tasks=True).tasks == []
        assert boardroom.files.lists["crew"] == {}


class TestWhole:
    def test_a_dry_run_says_the_same_and_writes_nothing(self, boardroom):
        tell(boardroom, "ann", "lost")
        boardroom.files.put_tasks("crew", {1: task(1)}, 0)
        back_up(boardroom, "crew")
        remove_member(boardroom, "crew", "cleo", force=True)
        boardroom.inboxes.foreign_rewrite("crew", "ann", [])
        boardroom.files.lists["crew"] = {}
        before = boardroom.files.files_of("crew")
        planned = restore(boardroom, "crew", dry_run=True)
        assert boardroom.files.files_of("crew") == before
        done = restore(boardroom, "crew")
        assert (planned.members, planned.messages, planned.tasks) == (done.members, done.messages, done.tasks)
        assert (planned.inboxes, planned.high_water, planned.skipped) == (done.inboxes, done.high_water, done.skipped)

    def test_a_second_time_changes_nothing(self, boardroom):
        tell(boardroom, "ann", "lost")
        boardroom.files.put_tasks("crew", {1: task(1, "in_progress", "ann")}, 0)
        back_up(boardroom, "crew")
        delete_team(boardroom, "crew", force=True)
        restore(boardroom, "crew")
        before = boardroom.files.files_of("crew")
        again = restore(boardroom, "crew")
        assert boardroom.files.files_of("crew") == before
        assert (again.members, again.inboxes, again.messages, again.tasks) == ([], [], 0, [])

    def test_a_damaged_backup_is_refused_before_anything_is_written(self, boardroom):
        back_up(boardroom, "crew")
        boardroom.backups.damage = boardroom.backups.kept("crew")[0].name
        before = boardroom.files.files_of("crew")
        with pytest.raises(DamagedBackup):
            restore(boardroom, "crew")
        assert boardroom.files.files_of("crew") == before

    def test_a_roster_that_cannot_be_read_is_refused(self, boardroom):
        made = boardroom.backups.make("crew", 1.0)
        made.files["team/config.json"] = b"["
        with pytest.raises(DamagedBackup, match="roster"):
            restore(boardroom, "crew")

    def test_the_backup_of_another_team_is_refused(self, boardroom):
        create_team(boardroom, "other")
        path = back_up(boardroom, "other").path
        boardroom.backups._made["crew"] = boardroom.backups._made["other"]
        with pytest.raises(RequestError, match="other"):
            restore(boardroom, "crew", path)

    def test_a_team_that_never_was_has_no_backup(self, boardroom):
        with pytest.raises(NoSuchBackup):
            restore(boardroom, "never")

    def test_one_that_was_cut_off_is_finished_by_the_next_roster_command(self, boardroom):
        path = back_up(boardroom, "crew").path
        remove_member(boardroom, "crew", "ann", force=True)
        boardroom.rosters.cut_off("crew", "restore", "a backup", f"all:{path}")
        recover(boardroom, boardroom.rosters.load("crew"))
        assert boardroom.rosters.load("crew").member("ann") is not None
        assert boardroom.rosters.abandoned("crew") == []

    def test_one_whose_backup_is_gone_meanwhile_holds_nobody_up(self, boardroom):
        boardroom.rosters.cut_off("crew", "restore", "a backup", "all:backups/crew/gone")
        assert add_member(boardroom, "crew", Member("dora"))

    def test_a_new_team_inherits_no_restore_of_a_former_one(self, boardroom):
        path = back_up(boardroom, "crew").path
        delete_team(boardroom, "crew", force=True)
        boardroom.rosters.cut_off("crew", "restore", "a backup", f"all:{path}")
        create_team(boardroom, "crew")
        add_member(boardroom, "crew", Member("zoe"))
        assert boardroom.rosters.load("crew").names == ["zoe"]


words = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=20)


@settings(max_examples=examples(40))
@given(
    members=st.lists(st.sampled_from(["ann", "bob", "cleo", "dora"]), unique=True),
    mail=st.lists(st.tuples(st.sampled_from(["ann", "bob", "ghost"]), words, st.booleans()), max_size=8),
    numbers=st.sets(st.integers(1, 40), max_size=6),
    mark=st.integers(0, 60),
)
def test_a_restored_backup_is_the_same_team_apart_from_what_was_true_only_then(members, mail, numbers, mark):
    room = memory_room()
    files = room.files
    assert isinstance(files, MemoryTeamFiles)
    create_team(room, "crew", description="d")
    for name in members:
        add_member(room, "crew", Member(name, is_active=True, session_id="s", pane_id="%1", model="m"))
    for number, (to, text, read) in enumerate(mail):
        row = make_message(f"id-{number}", text, read=read)
        room.inboxes.append("crew", to, [row], fresh=True)
    if numbers or mark:
        room.files.put_tasks("crew", {number: task(number) for number in numbers}, mark)
    before = files.files_of("crew")
    back_up(room, "crew")
    delete_team(room, "crew", force=True)
    restore(room, "crew")
    after = files.files_of("crew")
    roster, config = json.loads(before.pop("team/config.json")), json.loads(after.pop("team/config.json"))
    for member in roster["members"]:
        del member["isActive"], member["sessionId"]
        member["tmuxPaneId"] = ""
    assert config == roster
    assert after == before
