"""One contract for the ports of team life: the twins of `atm.testing` and the real files."""

from __future__ import annotations

import os
import time

import pytest
from tests.proving import proves

from atm.board.formats.task import decode_task
from atm.core.errors import NoSuchTeam, UnreadableFile
from atm.core.work_errors import NoSuchBackup
from atm.files.adapters.machine import find_layout
from atm.files.adapters.processes import began, boot_id
from atm.files.formats.json_record import decode_object
from atm.roster.ports.team_files import Deletion
from atm.roster.services.teamroom import Teamroom
from atm.team.formats.lead_fields import away_mark
from atm.team.formats.team_config import new_team
from atm.team.rules.agent_processes import ProcessOwner, program_in
from atm.team.rules.liveness import Beat
from atm.testing import FakeClock, make_message, memory_room
from atm.testing.team import MemoryProcesses
from atm.wiring.mail import build_room

TASK = b'{"id": "3", "subject": "s", "description": "", "status": "pending", "blocks": [], "blockedBy": []}'
DONE = TASK.replace(b"pending", b"completed")


@pytest.fixture(params=["memory", "files"])
def stores(request, home) -> Teamroom:
    """A room with an empty team `crew`."""
    clock = FakeClock(time.time())
    made = memory_room() if request.param == "memory" else build_room(find_layout({"ATM_HOME": str(home)}), clock=clock)
    made.states.begin("crew", b'{"status": "init"}')
    made.rosters.create("crew", new_team("crew", description="", lead="team-lead", now=made.clock.now()))
    return made


class TestStates:
    def test_the_first_state_stays(self, stores):
        assert stores.states.begin("crew", b'{"status": "active"}') is False
        assert stores.states.read("crew") == b'{"status": "init"}'

    def test_a_team_without_one_has_none(self, stores):
        assert stores.states.read("other") is None
        assert stores.states.mark("crew") is None

    def test_a_change_sees_the_last_one(self, stores):
        stores.states.change("crew", lambda data: b"" if data is None else data.replace(b"init", b"pending"))
        stores.states.change("crew", lambda _: None)
        assert stores.states.read("crew") == b'{"status": "pending"}'

    def test_what_cannot_be_read_is_refused_and_left(self, stores):
        stores.states.change("crew", lambda _: b"{")
        with pytest.raises(UnreadableFile):
            stores.states.change("crew", lambda data: str(decode_object((data or b"").decode())).encode())
        assert stores.states.read("crew") == b"{"

    def test_a_team_that_is_gone_has_no_state_to_change(self, stores):
        with pytest.raises(NoSuchTeam):
            stores.states.change("other", lambda _: b"{}")

    def test_a_lead_that_is_away_is_marked_and_unmarked(self, stores):
        mark = away_mark("2026-11-16T10:00:00.000Z", os.getpid(), began(os.getpid()), boot_id())
        assert stores.states.set_lead_away("crew", None) is False
        assert stores.states.set_lead_away("crew", mark) is True
        assert stores.states.set_lead_away("crew", mark) is False
        assert stores.rosters.load("crew").lead_is_away is True
        assert stores.states.set_lead_away("crew", None) is True
        assert stores.rosters.load("crew").lead_is_away is False

    def test_a_mark_is_set_once_and_loading_sees_it(self, stores):
        assert stores.rosters.load("crew").completed is False
        assert stores.states.complete("crew", b"one") is True
        assert stores.states.complete("crew", b"two") is False
        assert stores.states.mark("crew") == b"one"
        assert stores.rosters.load("crew").completed is True
        assert stores.rosters.is_completed("crew")


class TestTasks:
    def test_only_numbers_that_are_free_are_taken(self, stores):
        assert stores.files.put_tasks("crew", {1: TASK, 3: TASK}, 0) == ([1, 3], 3)
        assert stores.files.put_tasks("crew", {3: DONE, 4: DONE}, 0) == ([4], 4)
        found = stores.files.tasks("crew")
        assert (found.numbers, found.mark, found.open) == ({1, 3, 4}, 4, 2)
        assert found.counts == {"pending": 2, "in_progress": 0, "completed": 1}

    def test_the_mark_never_falls(self, stores):
        assert stores.files.put_tasks("crew", {}, 9) == ([], 9)
        assert stores.files.put_tasks("crew", {2: TASK}, 5) == ([2], 9)

    def test_a_team_without_tasks_has_none(self, stores):
        found = stores.files.tasks("crew")
        assert (found.numbers, found.mark, found.open) == (set(), 0, 0)


class TestFiles:
    @pytest.mark.parametrize("path", ["mailbox.log", "state.json", "inboxes/ann.json", "notes.json"])
    def test_a_file_is_put_only_where_nothing_lies(self, stores, path):
        line = b'{"seq": 1, "id": "a", "kind": "receipt", "agent": "ann", "state": "read", "at": "", "evidence": ""}\n'
        data = {"mailbox.log": line, "inboxes/ann.json": b"[]\n"}.get(path, b"{}")
        first = stores.files.put("crew", path, data)
        assert first is (path != "state.json")
        assert stores.files.holds("crew", path)
        assert not stores.files.holds("crew", "nothing")
        assert stores.files.put("crew", path, data) is False

    @proves("R004-gap-p3-07")
    def test_a_team_that_was_set_aside_is_gone_and_clearing_leaves_nothing(self, stores):
        stores.inboxes.append("crew", "ann", [make_message("id-1")], fresh=True)
        stores.files.put_tasks("crew", {1: TASK}, 0)
        deletion = Deletion("crew", ".deleted-crew-20261115T000000000Z")
        with stores.files.deleting("crew", deletion.aside):
            stores.files.set_aside(deletion)
            stores.files.set_aside(deletion)
            assert stores.rosters.find("crew") is None
            assert stores.files.is_set_aside(deletion)
            assert stores.files.tasks("crew").numbers == set()
            assert stores.files.leftovers("crew") == [deletion.aside]
            assert stores.files.leftovers("crews") == []
            stores.files.clear(deletion)
        assert not stores.files.is_set_aside(deletion)
        assert stores.files.leftovers("crew") == []
        assert stores.files.cut_off() == []

    def test_nobody_is_at_a_deletion_that_is_under_way(self, stores):
        with stores.files.deleting("crew", ".deleted-crew-1"):
            assert stores.files.cut_off() == []


class TestBackups:
    def test_a_backup_holds_every_file_and_is_read_back(self, stores):
        stores.inboxes.append("crew", "ann", [make_message("id-1", "hello")], fresh=True)
        stores.files.put_tasks("crew", {3: TASK}, 0)
        made = stores.backups.make("crew", stores.clock.now())
        assert {"team/config.json", "team/inboxes/ann.json", "team/state.json", "tasks/3.json"} <= set(made.files)
        again = stores.backups.read("crew", None)
        assert again.files == made.files
        assert again.manifest.team == "crew"
        assert decode_task(again.files["tasks/3.json"]).subject == "s"

    def test_it_is_found_by_name_and_by_path(self, stores):
        path = stores.backups.make("crew", stores.clock.now()).path
        (kept,) = stores.backups.kept("crew")
        assert kept.path == path
        assert stores.backups.read("crew", kept.name).path == path
        assert stores.backups.read("crew", path).path == path

    def test_one_that_is_not_there_is_refused(self, stores):
        with pytest.raises(NoSuchBackup):
            stores.backups.read("crew", None)
        stores.backups.make("crew", stores.clock.now())
        with pytest.raises(NoSuchBackup):
            stores.backups.read("crew", "yesterday")

    @proves("R003-7-team-14")
    def test_the_last_five_are_kept_and_the_final_ones_for_ever(self, stores):
        final = stores.backups.make("crew", stores.clock.now(), final=True).path
        made = []
        for _ in range(8):
            stores.clock.pass_time(1)
            made.append(stores.backups.make("crew", stores.clock.now()).path)
        assert [kept.path for kept in stores.backups.kept("crew")] == [final, *made[-5:]]
        assert stores.backups.partial("crew") == []

    def test_two_at_one_moment_are_two(self, stores):
        now = stores.clock.now()
        paths = {stores.backups.make("crew", now).path for _ in range(3)}
        assert len(paths) == 3
        assert len(stores.backups.kept("crew")) == 3

    def test_it_covers_what_was_set_aside_unless_something_came_in_since(self, stores):
        stores.inboxes.append("crew", "ann", [make_message("id-1")], fresh=True)
        aside = ".deleted-crew-20261115T000000000Z"
        assert not stores.backups.covers("crew", aside)
        stores.backups.make("crew", stores.clock.now())
        stores.inboxes.append("crew", "ann", [make_message("id-2")], fresh=True)
        stores.files.set_aside(Deletion("crew", aside))
        assert not stores.backups.covers("crew", aside)
        made = stores.backups.make("crew", stores.clock.now(), aside=aside)
        assert b"id-2" in made.files["team/inboxes/ann.json"]
        assert stores.backups.covers("crew", aside)

    def test_a_backup_leaves_the_team_as_it_was(self, stores):
        stores.inboxes.append("crew", "ann", [make_message("id-1")], fresh=True)
        stores.backups.make("crew", stores.clock.now())
        assert [row.id for row in stores.inboxes.unread("crew", "ann")] == ["id-1"]


class TestPresence:
    def test_everybody_with_a_heartbeat_is_heard_of_until_forgotten(self, stores):
        for name in ("bob", "ann"):
            stores.presence.beat("crew", name, Beat(at=1.0, source="test"))
        assert stores.presence.heard_of("crew") == ["ann", "bob"]
        stores.presence.forget("crew", "ann")
        stores.presence.forget("crew", "ann")
        assert stores.presence.heard_of("crew") == ["bob"]
        assert stores.presence.heard_of("other") == []


class TestProcesses:
    def test_a_process_and_what_it_runs_under_come_nearest_first(self, stores):
        if isinstance(stores.processes, MemoryProcesses):
            stores.processes.parents = {os.getpid(): os.getppid(), os.getppid(): 1}
        found = stores.processes.ancestors(os.getpid())
        assert found[:2] == [os.getpid(), os.getppid()]
        assert len(found) == len(set(found))
        assert stores.processes.ancestors(2**31 - 7) == [2**31 - 7]

    def test_a_process_is_everybodys_who_was_recorded_each_once(self, stores):
        assert stores.processes.owners(os.getpid()) == []
        bob, ann = ProcessOwner("crew", "bob", 1.5), ProcessOwner("crew", "ann", None)
        for owner in (bob, ann, bob):
            stores.processes.record(os.getpid(), owner)
        assert stores.processes.owners(os.getpid()) == [bob, ann]
        assert stores.processes.owners(os.getppid()) == []

    def test_another_life_of_a_member_is_another_owner(self, stores):
        stores.processes.record(os.getpid(), ProcessOwner("crew", "bob", 1.0))
        stores.processes.record(os.getpid(), ProcessOwner("crew", "bob", 2.0))
        assert [owner.joined_at for owner in stores.processes.owners(os.getpid())] == [1.0, 2.0]

    def test_a_process_has_a_command_line(self, stores):
        if isinstance(stores.processes, MemoryProcesses):
            stores.processes.commands[os.getpid()] = "/usr/bin/python\0-m\0pytest"
        assert "python" in program_in(stores.processes.command(os.getpid()))
        assert stores.processes.command(2**31 - 7) == ""
