"""The life of a team and its members, without a disk."""

from __future__ import annotations

import pytest

from atm.domain.errors import (
    AtmError,
    BadMove,
    MemberInUse,
    NoSuchMember,
    NoSuchTeam,
    RequestError,
    TeamCompleted,
    TeamInUse,
    TeamNotOurs,
)
from atm.domain.team.liveness import Beat
from atm.domain.team.team import Member
from atm.formats.mail.inbox import Inbox
from atm.formats.team.team_config import new_team
from atm.services.mail.conversations import acknowledge, ask
from atm.services.mail.posting import Draft
from atm.services.mail.putting_back import put_back_dropped
from atm.services.mail.reading import Filter, peek
from atm.services.mail.retention import cleanup
from atm.services.mail.sending import broadcast, plan, send
from atm.services.mail.spooling import drain
from atm.services.roster.cleanup import clean_up, plan_cleanup
from atm.services.roster.ending import archive_team, delete_team
from atm.services.roster.members import add_member, create_team, join, leave, remove_member, update_member
from atm.services.roster.restoring import restore
from atm.services.roster.teamroom import Teamroom
from atm.services.team import presence
from atm.services.team.activity import activity
from atm.services.team.lifecycle import advance, note_activity, standing
from atm.testing import make_message

OPEN = b'{"id": "1", "subject": "s", "status": "pending"}'
CLAIMED = b'{"id": "2", "subject": "s", "status": "in_progress", "owner": "ann"}'


def alive(room: Teamroom, name: str, *, seconds_ago: float = 0.0, state: str = "", team: str = "crew") -> None:
    room.presence.beat(team, name, Beat(at=room.clock.now() - seconds_ago, source="test", state=state))


def status(room: Teamroom, team: str = "crew") -> str:
    return standing(room, team).status


def tell(room: Teamroom, to: str = "ann", text: str = "hello") -> str:
    return send(room, "crew", to, Draft(sender="bob", text=text)).message_id


class TestLifecycle:
    def test_a_new_team_is_made_then_staffed_then_active(self, desk):
        create_team(desk, "fresh")
        assert status(desk, "fresh") == "init"
        add_member(desk, "fresh", Member("ann"))
        assert status(desk, "fresh") == "pending"
        note_activity(desk, "fresh")
        assert status(desk, "fresh") == "active"
        assert [move.after for move in standing(desk, "fresh").history] == ["pending", "active"]

    def test_activity_moves_nothing_that_is_past_it(self, desk):
        for state in ("active", "consolidating", "stopped"):
            if status(desk) != state:
                advance(desk, "crew", state, "ann")
            note_activity(desk, "crew")
            assert status(desk) == state

    def test_activity_in_a_team_that_was_only_made_goes_all_the_way(self, desk):
        create_team(desk, "fresh")
        note_activity(desk, "fresh")
        assert status(desk, "fresh") == "active"

    def test_activity_never_fails_anybody(self, desk):
        note_activity(desk, "nowhere")
        note_activity(desk, "session-12345678")
        desk.states.content["crew"] = b"{"
        note_activity(desk, "crew")
        assert status(desk) == "unknown"

    def test_a_team_of_an_older_atm_counts_as_active_and_can_move_on(self, desk):
        del desk.states.content["crew"]
        assert status(desk) == "active"
        assert "older" in standing(desk, "crew").source
        note_activity(desk, "crew")
        assert "crew" not in desk.states.content
        assert advance(desk, "crew", "stopped", "ann").before == "active"
        assert (status(desk), standing(desk, "crew").by) == ("stopped", "ann")

    def test_a_move_is_reported_and_repeating_it_is_no_error(self, desk):
        note_activity(desk, "crew")
        first, second = (advance(desk, "crew", "consolidating", "ann") for _ in range(2))
        assert (first.before, first.after, first.changed) == ("active", "consolidating", True)
        assert not second.changed

    def test_an_illegal_move_is_refused_with_what_is_allowed(self, desk):
        note_activity(desk, "crew")
        with pytest.raises(BadMove) as caught:
            advance(desk, "crew", "complete", "ann")
        assert "consolidating or stopped" in caught.value.remedy
        assert status(desk) == "active"

    def test_a_state_that_cannot_be_read_is_unknown_and_stays_untouched(self, desk):
        desk.states.content["crew"] = b"{"
        assert status(desk) == "unknown"
        with pytest.raises(AtmError):
            advance(desk, "crew", "stopped", "ann")
        assert desk.states.content["crew"] == b"{"

    def test_the_state_of_claudes_team_is_unknown_and_never_written(self, desk):
        desk.rosters.create("session-1", new_team("session-1", description="", lead="x", now=1.0))
        assert status(desk, "session-1") == "unknown"
        with pytest.raises(TeamNotOurs):
            advance(desk, "session-1", "stopped", "ann")
        assert "session-1" not in desk.states.content

    def test_a_mark_outweighs_a_file_that_lags_behind_and_the_next_move_mends_it(self, desk):
        """Killed between the mark and the file."""
        note_activity(desk, "crew")
        desk.states.complete("crew", b'{"at": "2026-01-01T00:00:00.000Z", "by": "ann"}')
        assert (status(desk), standing(desk, "crew").by) == ("complete", "ann")
        assert not advance(desk, "crew", "complete", "bob").changed
        assert b'"status": "complete"' in desk.states.content["crew"]
        with pytest.raises(BadMove):
            advance(desk, "crew", "active", "ann")


@pytest.fixture
def complete(desk):
    """The crew, completed, with one message that was never read."""
    tell(desk)
    archive_team(desk, "crew", "ann", force=True)
    return desk


class TestCompleted:
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

    def test_mail_that_still_waited_is_given_up_and_kept(self, desk):
        desk.inboxes.refuse = OSError
        from atm.domain.errors import FileBusy

        desk.inboxes.refuse = FileBusy("busy", "")
        tell(desk)
        desk.inboxes.refuse = None
        desk.states.complete("crew", b"{}")
        assert drain(desk, everything=True).failed == 1
        assert desk.spool.failed()[0].entry.reason.startswith("the team was completed")

    def test_archiving_again_says_so_and_makes_no_second_backup(self, complete):
        before = [kept.path for kept in complete.backups.kept("crew")]
        again = archive_team(complete, "crew", "bob")
        assert (again.done, again.backup_path) == (False, before[-1])
        assert [kept.path for kept in complete.backups.kept("crew")] == before

    def test_archiving_walks_through_every_state(self, complete):
        assert [move.after for move in standing(complete, "crew").history] == [
            *("pending", "active", "consolidating", "complete")
        ]

    def test_archiving_refuses_unread_mail_open_tasks_and_waiting_mail(self, desk):
        tell(desk)
        desk.files.put_tasks("crew", {1: OPEN}, 0)
        with pytest.raises(TeamInUse, match=r"1 messages are unread; 1 tasks are open"):
            archive_team(desk, "crew", "ann")
        assert not desk.rosters.load("crew").completed
        assert desk.backups.kept("crew") == []

    def test_a_completed_team_can_be_deleted_and_comes_back_completed(self, complete):
        assert delete_team(complete, "crew").done
        restore(complete, "crew")
        assert complete.rosters.load("crew").completed
        assert status(complete) == "complete"


class TestRemoval:
    def test_somebody_who_is_online_is_not_removed(self, desk):
        alive(desk, "ann")
        with pytest.raises(MemberInUse, match="is online"):
            remove_member(desk, "crew", "ann")

    def test_nor_somebody_of_whom_nobody_knows(self, desk):
        with pytest.raises(MemberInUse, match="nobody knows"):
            remove_member(desk, "crew", "ann")
        assert desk.rosters.load("crew").member("ann") is not None

    def test_the_roster_saying_inactive_is_only_a_hint(self, desk):
        with pytest.raises(MemberInUse, match="nobody knows"):
            remove_member(desk, "crew", "cleo")

    def test_somebody_who_is_offline_is_removed_and_the_heartbeat_with_it(self, desk):
        alive(desk, "ann", seconds_ago=601)
        assert remove_member(desk, "crew", "ann").removed
        assert desk.presence.last("crew", "ann") is None

    @pytest.mark.parametrize("backend", ["human", "human:rita", "plugin:ci"])
    def test_people_and_plugins_leave_no_heartbeats_so_only_mail_counts(self, desk, backend):
        add_member(desk, "crew", Member("rita", backend=backend))
        tell(desk, "rita")
        with pytest.raises(MemberInUse, match="1 unread"):
            remove_member(desk, "crew", "rita")
        desk.inboxes.mark("crew", "rita", {row.key for row in desk.inboxes.rows("crew", "rita")}, True)
        assert remove_member(desk, "crew", "rita").removed

    def test_the_lead_stays_unless_forced(self, desk):
        create_team(desk, "led", lead="ann")
        alive(desk, "ann", seconds_ago=900, team="led")
        with pytest.raises(MemberInUse, match="leads"):
            remove_member(desk, "led", "ann")
        with pytest.raises(MemberInUse, match="leads"):
            leave(desk, "led", "ann")
        assert leave(desk, "led", "ann", force=True).removed

    def test_every_reason_is_named_at_once(self, desk):
        alive(desk, "ann")
        tell(desk)
        with pytest.raises(MemberInUse, match=r"online .* and has 1 unread"):
            remove_member(desk, "crew", "ann")


class TestJoining:
    def test_joining_adds_a_member_and_leaves_a_heartbeat(self, desk):
        done = join(desk, "crew", Member("dora", cwd="/w"))
        assert (done.added, done.changed) == (True, [])
        assert desk.inboxes.exists("crew", "dora")
        assert presence.liveness(desk.presence, "crew", "dora", desk.clock.now()).value == "online"

    def test_joining_again_refreshes_the_heartbeat_and_the_folder(self, desk):
        join(desk, "crew", Member("dora", cwd="/w"))
        desk.clock.pass_time(900)
        done = join(desk, "crew", Member("DORA", cwd="/elsewhere"))
        assert (done.added, done.changed, done.name) == (False, ["cwd"], "dora")
        assert presence.liveness(desk.presence, "crew", "dora", desk.clock.now()).value == "online"
        assert join(desk, "crew", Member("dora", cwd="/elsewhere")).changed == []
        assert desk.rosters.load("crew").names.count("dora") == 1

    def test_joining_again_mends_a_missing_inbox(self, desk):
        join(desk, "crew", Member("dora"))
        desk.inboxes.remove("crew", "dora")
        join(desk, "crew", Member("dora"))
        assert desk.inboxes.exists("crew", "dora")

    def test_leaving_needs_no_silence_but_read_mail(self, desk):
        join(desk, "crew", Member("dora"))
        tell(desk, "dora")
        with pytest.raises(MemberInUse, match="1 unread"):
            leave(desk, "crew", "dora")
        done = leave(desk, "crew", "dora", force=True)
        assert [row.text for row in Inbox(desk.archive.kept[str(done.archive_path)]).rows] == ["hello"]
        assert desk.presence.last("crew", "dora") is None
        assert leave(desk, "crew", "dora").removed is False


class TestUpdating:
    def test_what_changed_is_named(self, desk):
        assert update_member(desk, "crew", "ANN", {"model": "opus", "cwd": ""}) == ["model"]
        member = desk.rosters.load("crew").member("ann")
        assert member is not None
        assert member.model == "opus"
        assert update_member(desk, "crew", "ann", {"model": "opus"}) == []

    def test_somebody_who_is_not_there_is_refused_with_the_nearest(self, desk):
        with pytest.raises(NoSuchMember) as caught:
            update_member(desk, "crew", "anne", {"model": "x"})
        assert "'ann'" in caught.value.remedy


class TestActivity:
    def test_a_heartbeat_says_more_than_the_roster(self, desk):
        team = desk.rosters.load("crew")
        cleo = team.member("cleo")
        facts = activity(desk, team, cleo).as_fields()
        assert (facts["state"], facts["liveness"]) == ("inactive", "unknown")
        assert "hint" in str(facts["state_source"])
        alive(desk, "cleo", seconds_ago=20, state="working")
        facts = activity(desk, team, cleo).as_fields()
        assert (facts["state"], facts["state_age_seconds"]) == ("working", 20.0)
        assert (facts["liveness"], facts["liveness_age_seconds"]) == ("online", 20.0)
        assert "heartbeat" in str(facts["state_source"])

    def test_unknown_is_a_state_of_its_own(self, desk):
        team = desk.rosters.load("crew")
        facts = activity(desk, team, team.member("ann")).as_fields()
        assert (facts["state"], facts["state_age_seconds"]) == ("unknown", None)
        assert (facts["liveness"], facts["liveness_age_seconds"]) == ("unknown", None)

    def test_a_clock_ahead_of_ours_is_said(self, desk):
        team = desk.rosters.load("crew")
        desk.presence.beat("crew", "ann", Beat(at=desk.clock.now() + 60, source="test", host="elsewhere"))
        assert "ahead" in str(activity(desk, team, team.member("ann")).as_fields()["liveness_warning"])


class TestDeleting:
    def test_a_backup_comes_first_and_nothing_is_left(self, desk):
        tell(desk)
        done = delete_team(desk, "crew", force=True)
        assert done.done
        assert desk.rosters.find("crew") is None
        assert desk.inboxes.owners("crew") == []
        assert b"hello" in desk.backups.read("crew", done.backup_path).files["team/inboxes/ann.json"]
        assert desk.files.leftovers("crew") == []

    def test_a_second_time_says_so(self, desk):
        delete_team(desk, "crew")
        assert delete_team(desk, "crew").done is False
        with pytest.raises(NoSuchTeam):
            delete_team(desk, "never-was")

    def test_it_is_refused_while_the_team_is_in_use(self, desk):
        alive(desk, "ann")
        tell(desk)
        desk.files.put_tasks("crew", {1: OPEN}, 0)
        with pytest.raises(TeamInUse, match="ann is online; 1 messages are unread; 1 tasks are open"):
            delete_team(desk, "crew")
        assert desk.rosters.find("crew") == "crew"

    def test_mail_that_came_in_after_the_backup_is_in_another_one(self, desk):
        """A sender that found the team a moment ago was told that its message arrived."""
        make = desk.backups.make

        def late(team, at, **more):
            made = make(team, at, **more)
            if "aside" not in more:
                desk.inboxes.append("crew", "ann", [make_message("late", "too late")], fresh=True)
            return made

        desk.parts.backups.make = late
        done = delete_team(desk, "crew")
        assert b"too late" in desk.backups.read("crew", done.backup_path).files["team/inboxes/ann.json"]

    def test_one_that_was_cut_off_after_the_move_is_finished_by_any_roster_command(self, desk):
        from atm.ports.roster.team_files import Deletion

        deletion = Deletion("crew", ".deleted-crew-1")
        desk.files.set_aside(deletion)
        desk.files.cut_off_deletion("crew", deletion.aside)
        create_team(desk, "other")
        assert desk.files.leftovers("crew") == []
        assert desk.files.cut_off() == []
        assert b'"ann"' in desk.backups.read("crew", None).files["team/config.json"]

    def test_one_that_was_cut_off_before_the_move_did_not_happen(self, desk):
        desk.files.cut_off_deletion("crew", ".deleted-crew-1")
        add_member(desk, "crew", Member("dora"))
        assert desk.rosters.find("crew") == "crew"
        assert desk.files.cut_off() == []

    def test_claudes_teams_are_not_ours_to_end(self, desk):
        desk.rosters.create("session-1", new_team("session-1", description="", lead="x", now=1.0))
        for end in (
            lambda: delete_team(desk, "session-1", force=True),
            lambda: archive_team(desk, "session-1", "ann", force=True),
            lambda: restore(desk, "session-1"),
            lambda: plan_cleanup(desk, "session-1"),
            lambda: update_member(desk, "session-1", "x", {"model": "m"}),
            lambda: join(desk, "session-1", Member("me")),
            lambda: leave(desk, "session-1", "x"),
        ):
            with pytest.raises(TeamNotOurs):
                end()


class TestCleanup:
    def reasons(self, desk, *words: str, force: bool = False) -> dict[str, tuple[str, str]]:
        return {item.name: (item.reason, item.action) for item in plan_cleanup(desk, "crew", *words, force=force)}

    @pytest.fixture
    def mixed(self, desk):
        """A team with one of everything."""
        create_team(desk, "crew")
        for name, backend in (("rita", "human"), ("bot", "plugin:ci"), ("team-lead", "")):
            add_member(desk, "crew", Member(name, backend=backend))
        alive(desk, "ann")
        alive(desk, "bob", seconds_ago=3600)
        alive(desk, "gone", seconds_ago=3600)
        alive(desk, "here")
        desk.inboxes.create("crew", "stray")
        desk.inboxes.append("crew", "ghost", [make_message("g-1")], fresh=True)
        desk.backups.left_behind["crew"] = [".partial-1"]
        desk.files.aside[".deleted-crew-1"] = {}
        return desk

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
