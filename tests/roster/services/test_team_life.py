"""The life of a team and its members, without a disk."""

from __future__ import annotations

import pytest
from tests.proving import proves

from atm.core.errors import (
    AtmError,
    NoSuchMember,
    NoSuchTeam,
    RequestError,
    TeamCompleted,
    TeamNotOurs,
)
from atm.core.work_errors import BadMove, MemberInUse, TeamInUse
from atm.mail.formats.inbox import Inbox
from atm.mail.services.conversations import acknowledge, ask
from atm.mail.services.posting import Draft
from atm.mail.services.putting_back import put_back_dropped
from atm.mail.services.reading import Filter, peek
from atm.mail.services.retention import cleanup
from atm.mail.services.sending import broadcast, plan, send
from atm.mail.services.spooling import drain
from atm.roster.services.cleanup import clean_up, plan_cleanup
from atm.roster.services.ending import archive_team, delete_team
from atm.roster.services.members import add_member, create_team, join, leave, remove_member, update_member
from atm.roster.services.restoring import restore
from atm.roster.services.teamroom import Teamroom
from atm.team.formats.team_config import new_team, with_fields
from atm.team.rules.liveness import Beat
from atm.team.rules.team import Member
from atm.team.services import presence
from atm.team.services.activity import activity
from atm.team.services.lifecycle import advance, note_activity, standing
from atm.testing import make_message

OPEN = b'{"id": "1", "subject": "s", "status": "pending"}'
CLAIMED = b'{"id": "2", "subject": "s", "status": "in_progress", "owner": "ann"}'


def alive(room: Teamroom, name: str, *, seconds_ago: float = 0.0, state: str = "", team: str = "crew") -> None:
    at = room.clock.now() - seconds_ago
    if seconds_ago and room.rosters.load(team).member(name) is not None:  # who was heard of then was a member then
        room.rosters.change(team, lambda data: with_fields(data, name, {"joinedAt": int(at * 1000)}))
    room.presence.beat(team, name, Beat(at=at, source="test", state=state))


def status(room: Teamroom, team: str = "crew") -> str:
    return standing(room, team).status


def tell(room: Teamroom, to: str = "ann", text: str = "hello") -> str:
    return send(room, "crew", to, Draft(sender="bob", text=text)).message_id


class TestLifecycle:
    def test_a_new_team_is_made_then_staffed_then_active(self, boardroom):
        create_team(boardroom, "fresh")
        assert status(boardroom, "fresh") == "init"
        add_member(boardroom, "fresh", Member("ann"))
        assert status(boardroom, "fresh") == "pending"
        note_activity(boardroom, "fresh")
        assert status(boardroom, "fresh") == "active"
        assert [move.after for move in standing(boardroom, "fresh").history] == ["pending", "active"]

    def test_activity_moves_nothing_that_is_past_it(self, boardroom):
        for state in ("active", "consolidating", "stopped"):
            if status(boardroom) != state:
                advance(boardroom, "crew", state, "ann")
            note_activity(boardroom, "crew")
            assert status(boardroom) == state

    def test_activity_in_a_team_that_was_only_made_goes_all_the_way(self, boardroom):
        create_team(boardroom, "fresh")
        note_activity(boardroom, "fresh")
        assert status(boardroom, "fresh") == "active"

    def test_activity_never_fails_anybody(self, boardroom):
        note_activity(boardroom, "nowhere")
        note_activity(boardroom, "session-12345678")
        boardroom.states.content["crew"] = b"{"
        note_activity(boardroom, "crew")
        assert status(boardroom) == "unknown"

    def test_a_team_of_an_older_atm_counts_as_active_and_can_move_on(self, boardroom):
        del boardroom.states.content["crew"]
        assert status(boardroom) == "active"
        assert "older" in standing(boardroom, "crew").source
        note_activity(boardroom, "crew")
        assert "crew" not in boardroom.states.content
        assert advance(boardroom, "crew", "stopped", "ann").before == "active"
        assert (status(boardroom), standing(boardroom, "crew").by) == ("stopped", "ann")

    def test_a_move_is_reported_and_repeating_it_is_no_error(self, boardroom):
        note_activity(boardroom, "crew")
        first, second = (advance(boardroom, "crew", "consolidating", "ann") for _ in range(2))
        assert (first.before, first.after, first.changed) == ("active", "consolidating", True)
        assert not second.changed

    def test_an_illegal_move_is_refused_with_what_is_allowed(self, boardroom):
        note_activity(boardroom, "crew")
        with pytest.raises(BadMove) as caught:
            advance(boardroom, "crew", "complete", "ann")
        assert "consolidating or stopped" in caught.value.remedy
        assert status(boardroom) == "active"

    def test_a_state_that_cannot_be_read_is_unknown_and_stays_untouched(self, boardroom):
        boardroom.states.content["crew"] = b"{"
        assert status(boardroom) == "unknown"
        with pytest.raises(AtmError):
            advance(boardroom, "crew", "stopped", "ann")
        assert boardroom.states.content["crew"] == b"{"

    def test_the_state_of_claudes_team_is_unknown_and_never_written(self, boardroom):
        boardroom.rosters.create("session-1", new_team("session-1", description="", lead="x", now=1.0))
        assert status(boardroom, "session-1") == "unknown"
        with pytest.raises(TeamNotOurs):
            advance(boardroom, "session-1", "stopped", "ann")
        assert "session-1" not in boardroom.states.content

    def test_a_mark_outweighs_a_file_that_lags_behind_and_the_next_move_mends_it(self, boardroom):
        """Killed between the mark and the file."""
        note_activity(boardroom, "crew")
        boardroom.states.complete("crew", b'{"at": "2026-01-01T00:00:00.000Z", "by": "ann"}')
        assert (status(boardroom), standing(boardroom, "crew").by) == ("complete", "ann")
        assert not advance(boardroom, "crew", "complete", "bob").changed
        assert b'"status": "complete"' in boardroom.states.content["crew"]
        with pytest.raises(BadMove):
            advance(boardroom, "crew", "active", "ann")


@pytest.fixture
def complete(boardroom):
    """The crew, completed, with one message that was never read."""
    tell(boardroom)
    archive_team(boardroom, "crew", "ann", force=True)
    return boardroom


class TestCompleted:
    @proves("R003-7-team-16")
    @pytest.mark.parametrize(
        "write",
        [
            tell,
            lambda room: plan(room, "crew", "ann", Draft(sender="bob", text="x")),
            lambda room: broadcast(room, "crew", Draft(sender="bob", text="x")),
            lambda room: ask(room, ("bob", "crew"), ("ann", "crew"), Draft(sender="bob", text="x")),
            lambda room: acknowledge(room, "crew", "ann", room.inboxes.rows("crew", "ann")[0].id or "", None),
            lambda room: add_member(room, "crew", Member("zoe")),
            lambda room: update_member(room, "crew", "ann", {"model": "x"}),
            lambda room: remove_member(room, "crew", "ann", force=True),
            lambda room: join(room, "crew", Member("ann")),
            lambda room: leave(room, "crew", "ann", force=True),
            lambda room: plan_cleanup(room, "crew"),
            lambda room: restore(room, "crew"),
        ],
    )
    def test_every_writer_is_refused_and_nothing_changes(self, complete, write):
        before = complete.files.files_of("crew")
        with pytest.raises(TeamCompleted):
            write(complete)
        assert complete.files.files_of("crew") == before

    def test_it_can_be_read_and_upkeep_leaves_it_alone(self, complete):
        before = complete.files.files_of("crew")
        assert len(peek(complete, "crew", "ann", Filter()).messages) == 1
        complete.inboxes.foreign_rewrite("crew", "ann", [])
        assert put_back_dropped(complete, complete.rosters.load("crew"), everything=True) == 0
        assert all(one.skipped for one in cleanup(complete, ["crew"]))
        complete.inboxes.foreign_rewrite("crew", "ann", [])
        assert complete.files.files_of("crew").keys() == before.keys()

    def test_mail_that_still_waited_is_given_up_and_kept(self, boardroom):
        boardroom.inboxes.refuse = OSError
        from atm.core.errors import FileBusy

        boardroom.inboxes.refuse = FileBusy("busy", "")
        tell(boardroom)
        boardroom.inboxes.refuse = None
        boardroom.states.complete("crew", b"{}")
        assert drain(boardroom, everything=True).failed == 1
        assert boardroom.spool.failed()[0].entry.reason.startswith("the team was completed")

    def test_archiving_again_says_so_and_makes_no_second_backup(self, complete):
        before = [kept.path for kept in complete.backups.kept("crew")]
        again = archive_team(complete, "crew", "bob")
        assert (again.done, again.backup_path) == (False, before[-1])
        assert [kept.path for kept in complete.backups.kept("crew")] == before

    def test_archiving_walks_through_every_state(self, complete):
        assert [move.after for move in standing(complete, "crew").history] == [
            *("pending", "active", "consolidating", "complete")
        ]

    @proves("R003-7-team-13")
    def test_archiving_refuses_unread_mail_open_tasks_and_waiting_mail(self, boardroom):
        tell(boardroom)
        boardroom.files.put_tasks("crew", {1: OPEN}, 0)
        with pytest.raises(TeamInUse, match=r"1 message is unread; 1 task is open"):
            archive_team(boardroom, "crew", "ann")
        assert not boardroom.rosters.load("crew").completed
        assert boardroom.backups.kept("crew") == []

    def test_a_completed_team_can_be_deleted_and_comes_back_completed(self, complete):
        assert delete_team(complete, "crew").done
        restore(complete, "crew")
        assert complete.rosters.load("crew").completed
        assert status(complete) == "complete"


class TestRemoval:
    def test_somebody_who_is_online_is_not_removed(self, boardroom):
        alive(boardroom, "ann")
        with pytest.raises(MemberInUse, match="is online"):
            remove_member(boardroom, "crew", "ann")

    def test_nor_somebody_of_whom_nobody_knows(self, boardroom):
        with pytest.raises(MemberInUse, match="nobody knows"):
            remove_member(boardroom, "crew", "ann")
        assert boardroom.rosters.load("crew").member("ann") is not None

    def test_the_roster_saying_inactive_is_only_a_hint(self, boardroom):
        with pytest.raises(MemberInUse, match="nobody knows"):
            remove_member(boardroom, "crew", "cleo")

    def test_somebody_who_is_offline_is_removed_and_the_heartbeat_with_it(self, boardroom):
        alive(boardroom, "ann", seconds_ago=601)
        assert remove_member(boardroom, "crew", "ann").removed
        assert boardroom.presence.last("crew", "ann") is None

    @pytest.mark.parametrize("backend", ["human", "human:rita", "plugin:ci"])
    def test_people_and_plugins_leave_no_heartbeats_so_only_mail_counts(self, boardroom, backend):
        add_member(boardroom, "crew", Member("rita", backend=backend))
        tell(boardroom, "rita")
        with pytest.raises(MemberInUse, match="1 unread"):
            remove_member(boardroom, "crew", "rita")
        boardroom.inboxes.mark("crew", "rita", {row.key for row in boardroom.inboxes.rows("crew", "rita")}, True)
        assert remove_member(boardroom, "crew", "rita").removed

    def test_the_lead_stays_unless_forced(self, boardroom):
        create_team(boardroom, "led", lead="ann")
        alive(boardroom, "ann", seconds_ago=900, team="led")
        with pytest.raises(MemberInUse, match="leads"):
            remove_member(boardroom, "led", "ann")
        with pytest.raises(MemberInUse, match="leads"):
            leave(boardroom, "led", "ann")
        assert leave(boardroom, "led", "ann", force=True).removed

    def test_every_reason_is_named_at_once(self, boardroom):
        alive(boardroom, "ann")
        tell(boardroom)
        with pytest.raises(MemberInUse, match=r"online .* and has 1 unread"):
            remove_member(boardroom, "crew", "ann")


class TestJoining:
    def test_joining_adds_a_member_and_leaves_a_heartbeat(self, boardroom):
        done = join(boardroom, "crew", Member("dora", cwd="/w"))
        assert (done.added, done.changed) == (True, [])
        assert boardroom.inboxes.exists("crew", "dora")
        assert presence.liveness(boardroom.presence, "crew", "dora", boardroom.clock.now()).value == "online"

    def test_joining_again_refreshes_the_heartbeat_and_the_folder(self, boardroom):
        join(boardroom, "crew", Member("dora", cwd="/w"))
        boardroom.clock.pass_time(900)
        done = join(boardroom, "crew", Member("DORA", cwd="/elsewhere"))
        assert (done.added, done.changed, done.name) == (False, ["cwd"], "dora")
        assert presence.liveness(boardroom.presence, "crew", "dora", boardroom.clock.now()).value == "online"
        assert join(boardroom, "crew", Member("dora", cwd="/elsewhere")).changed == []
        assert boardroom.rosters.load("crew").names.count("dora") == 1

    def test_joining_again_mends_a_missing_inbox(self, boardroom):
        join(boardroom, "crew", Member("dora"))
        boardroom.inboxes.remove("crew", "dora")
        join(boardroom, "crew", Member("dora"))
        assert boardroom.inboxes.exists("crew", "dora")

    def test_leaving_needs_no_silence_but_read_mail(self, boardroom):
        join(boardroom, "crew", Member("dora"))
        tell(boardroom, "dora")
        with pytest.raises(MemberInUse, match="1 unread"):
            leave(boardroom, "crew", "dora")
        done = leave(boardroom, "crew", "dora", force=True)
        assert [row.text for row in Inbox(boardroom.archive.kept[str(done.archive_path)]).rows] == ["hello"]
        assert boardroom.presence.last("crew", "dora") is None
        assert leave(boardroom, "crew", "dora").removed is False


class TestUpdating:
    def test_what_changed_is_named(self, boardroom):
        assert update_member(boardroom, "crew", "ANN", {"model": "opus", "cwd": ""}) == ["model"]
        member = boardroom.rosters.load("crew").member("ann")
        assert member is not None
        assert member.model == "opus"
        assert update_member(boardroom, "crew", "ann", {"model": "opus"}) == []

    def test_somebody_who_is_not_there_is_refused_with_the_nearest(self, boardroom):
        with pytest.raises(NoSuchMember) as caught:
            update_member(boardroom, "crew", "anne", {"model": "x"})
        assert "'ann'" in caught.value.remedy


class TestActivity:
    def test_a_heartbeat_says_more_than_the_roster(self, boardroom):
        team = boardroom.rosters.load("crew")
        cleo = team.member("cleo")
        facts = activity(boardroom, team, cleo).as_fields()
        assert (facts["state"], facts["liveness"]) == ("inactive", "unknown")
        assert "hint" in str(facts["state_source"])
        alive(boardroom, "cleo", seconds_ago=20, state="working")
        team = boardroom.rosters.load("crew")
        facts = activity(boardroom, team, cleo).as_fields()
        assert (facts["state"], facts["state_age_seconds"]) == ("working", 20.0)
        assert (facts["liveness"], facts["liveness_age_seconds"]) == ("online", 20.0)
        assert "heartbeat" in str(facts["state_source"])

    def test_unknown_is_a_state_of_its_own(self, boardroom):
        team = boardroom.rosters.load("crew")
        facts = activity(boardroom, team, team.member("ann")).as_fields()
        assert (facts["state"], facts["state_age_seconds"]) == ("unknown", None)
        assert (facts["liveness"], facts["liveness_age_seconds"]) == ("unknown", None)

    def test_a_clock_ahead_of_ours_is_said(self, boardroom):
        team = boardroom.rosters.load("crew")
        boardroom.presence.beat("crew", "ann", Beat(at=boardroom.clock.now() + 60, source="test", host="elsewhere"))
        assert "ahead" in str(activity(boardroom, team, team.member("ann")).as_fields()["liveness_warning"])


class TestDeleting:
    def test_a_backup_comes_first_and_nothing_is_left(self, boardroom):
        tell(boardroom)
        done = delete_team(boardroom, "crew", force=True)
        assert done.done
        assert boardroom.rosters.find("crew") is None
        assert boardroom.inboxes.owners("crew") == []
        assert b"hello" in boardroom.backups.read("crew", done.backup_path).files["team/inboxes/ann.json"]
        assert boardroom.files.leftovers("crew") == []

    def test_a_second_time_says_so(self, boardroom):
        delete_team(boardroom, "crew")
        assert delete_team(boardroom, "crew").done is False
        with pytest.raises(NoSuchTeam):
            delete_team(boardroom, "never-was")

    def test_it_is_refused_while_the_team_is_in_use(self, boardroom):
        alive(boardroom, "ann")
        tell(boardroom)
        boardroom.files.put_tasks("crew", {1: OPEN}, 0)
        with pytest.raises(TeamInUse, match="ann is online; 1 message is unread; 1 task is open"):
            delete_team(boardroom, "crew")
        assert boardroom.rosters.find("crew") == "crew"

    def test_mail_that_came_in_after_the_backup_is_in_another_one(self, boardroom):
        """A sender that found the team a moment ago was told that its message arrived."""
        make = boardroom.backups.make

        def late(team, at, **more):
            made = make(team, at, **more)
            if "aside" not in more:
                boardroom.inboxes.append("crew", "ann", [make_message("late", "too late")], fresh=True)
            return made

        boardroom.stores.backups.make = late
        done = delete_team(boardroom, "crew")
        assert b"too late" in boardroom.backups.read("crew", done.backup_path).files["team/inboxes/ann.json"]

    def test_one_that_was_cut_off_after_the_move_is_finished_by_any_roster_command(self, boardroom):
        from atm.roster.ports.team_files import Deletion

        deletion = Deletion("crew", ".deleted-crew-1")
        boardroom.files.set_aside(deletion)
        boardroom.files.cut_off_deletion("crew", deletion.aside)
        create_team(boardroom, "other")
        assert boardroom.files.leftovers("crew") == []
        assert boardroom.files.cut_off() == []
        assert b'"ann"' in boardroom.backups.read("crew", None).files["team/config.json"]

    def test_one_that_was_cut_off_before_the_move_did_not_happen(self, boardroom):
        boardroom.files.cut_off_deletion("crew", ".deleted-crew-1")
        add_member(boardroom, "crew", Member("dora"))
        assert boardroom.rosters.find("crew") == "crew"
        assert boardroom.files.cut_off() == []

    def test_claudes_teams_are_not_ours_to_end(self, boardroom):
        boardroom.rosters.create("session-1", new_team("session-1", description="", lead="x", now=1.0))
        for end in (
            lambda: delete_team(boardroom, "session-1", force=True),
            lambda: archive_team(boardroom, "session-1", "ann", force=True),
            lambda: restore(boardroom, "session-1"),
            lambda: plan_cleanup(boardroom, "session-1"),
            lambda: update_member(boardroom, "session-1", "x", {"model": "m"}),
            lambda: join(boardroom, "session-1", Member("me")),
            lambda: leave(boardroom, "session-1", "x"),
        ):
            with pytest.raises(TeamNotOurs):
                end()


class TestCleanup:
    def reasons(self, boardroom, *words: str, force: bool = False) -> dict[str, tuple[str, str]]:
        return {item.name: (item.reason, item.action) for item in plan_cleanup(boardroom, "crew", *words, force=force)}

    @pytest.fixture
    def mixed(self, boardroom):
        """A team with one of everything."""
        create_team(boardroom, "crew")
        for name, backend in (("rita", "human"), ("bot", "plugin:ci"), ("team-lead", "")):
            add_member(boardroom, "crew", Member(name, backend=backend))
        alive(boardroom, "ann")
        alive(boardroom, "bob", seconds_ago=3600)
        alive(boardroom, "gone", seconds_ago=3600)
        alive(boardroom, "here")
        boardroom.inboxes.create("crew", "stray")
        boardroom.inboxes.append("crew", "ghost", [make_message("g-1")], fresh=True)
        boardroom.backups.left_behind["crew"] = [".partial-1"]
        boardroom.files.aside[".deleted-crew-1"] = {}
        return boardroom

    def test_everything_is_named_with_its_reason(self, mixed):
        assert self.reasons(mixed) == {
            "ann": ("member-online", "keep"),
            "bob": ("member-offline", "remove"),
            "cleo": ("member-unknown", "keep"),
            "rita": ("human", "keep"),
            "bot": ("synthetic", "keep"),
            "team-lead": ("team-lead-protected", "keep"),
            "stray": ("orphan-mailbox", "remove"),
            "ghost": ("orphan-mailbox", "keep"),
            "gone": ("stale-heartbeat", "remove"),
            ".partial-1": ("stale-partial-backup", "remove"),
            ".deleted-crew-1": ("leftover-of-delete", "remove"),
        }

    def test_planning_changes_nothing_and_doing_it_leaves_only_what_stays(self, mixed):
        before = mixed.files.files_of("crew")
        items = plan_cleanup(mixed, "crew")
        assert mixed.files.files_of("crew") == before
        clean_up(items)
        assert all(item.done == (item.work is not None) for item in items)
        assert {action for _, action in self.reasons(mixed).values()} == {"keep"}
        assert "bob" not in mixed.rosters.load("crew").names

    def test_force_takes_unread_mail_along_and_nobody_who_may_be_at_work(self, mixed):
        forced = self.reasons(mixed, force=True)
        assert forced["ghost"] == ("orphan-mailbox", "remove")
        assert forced["cleo"] == ("member-unknown", "keep")
        assert forced["team-lead"] == ("team-lead-protected", "keep")

    def test_whoever_is_named_and_forced_goes(self, mixed):
        assert self.reasons(mixed, "cleo") == {"cleo": ("member-unknown", "keep")}
        assert self.reasons(mixed, "cleo", force=True) == {"cleo": ("member-unknown", "remove")}
        with pytest.raises(NoSuchMember):
            self.reasons(mixed, "nobody")

    def test_an_offline_member_with_unread_mail_stays(self, mixed):
        tell(mixed, "bob")
        assert self.reasons(mixed)["bob"] == ("member-offline", "keep")

    def test_a_failure_stops_nothing_else(self, mixed):
        items = plan_cleanup(mixed, "crew")
        broken = next(item for item in items if item.name == "stray")

        def fail() -> None:
            raise RequestError("no", "")

        broken.work = fail
        clean_up(items)
        assert broken.error is not None
        assert not broken.done
        assert all(item.done for item in items if item.work is not None and item is not broken)

    def test_an_unfinished_change_is_finished(self, mixed):
        mixed.rosters.cut_off("crew", "remove", "bob")
        assert self.reasons(mixed)["bob"] == ("member-offline", "remove")
        items = plan_cleanup(mixed, "crew")
        assert items[0].reason == "unfinished-change"
        clean_up(items)
        assert mixed.rosters.abandoned("crew") == []

    def test_what_is_left_of_a_team_that_is_gone_is_cleared_too(self, mixed):
        delete_team(mixed, "crew", force=True)
        mixed.files.aside[".deleted-crew-2"] = {}
        assert [item.name for item in clean_up(plan_cleanup(mixed, "crew"))] == [".deleted-crew-1", ".deleted-crew-2"]
        assert plan_cleanup(mixed, "crew") == []
        with pytest.raises(NoSuchTeam):
            plan_cleanup(mixed, "never-was")
