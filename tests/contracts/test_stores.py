"""One contract, two implementations: the twins of `atm.testing` and the real files."""

from __future__ import annotations

import pytest
from tests.proving import proves

from atm.core.errors import BadName, InboxFull, NoSuchTeam, TeamNotOurs
from atm.files.adapters.machine import find_layout
from atm.mail.formats.journal import MESSAGE, RECEIPT, Line
from atm.mail.formats.spool_entry import SpoolEntry
from atm.mail.rules.lifetimes import RetentionPolicy
from atm.mail.rules.quotas import Allowance, Quota
from atm.roster.services.teamroom import Teamroom
from atm.team.formats.team_config import new_member, new_team, with_member, without_member
from atm.team.rules.team import Member, Team
from atm.testing import FakeClock, make_message, memory_room
from atm.wiring.mail import build_room


@pytest.fixture(params=["memory", "files"])
def stores(request, home) -> Teamroom:
    """A room with an empty team `crew`."""
    made = memory_room(policy=RetentionPolicy()) if request.param == "memory" else _on_files(home)
    made.rosters.create("crew", new_team("crew", description="", lead="team-lead", now=made.clock.now()))
    return made


@pytest.mark.parametrize("name", ["../ann", "a/b", "", "..", "ann.lock", "x" * 300])
def test_what_is_no_name_is_nobodys_inbox(home, name):
    with pytest.raises(BadName):
        _on_files(home).inboxes.size("crew", name)


def test_a_file_whose_name_is_no_members_is_no_inbox(home):
    made = _on_files(home)
    made.rosters.create("crew", new_team("crew", description="", lead="team-lead", now=made.clock.now()))
    made.inboxes.append("crew", "ann", [make_message("id-1")], fresh=True)
    for name in ("a..b.json", " ann.json", "x.lock.json", "c:d.json"):
        (home / ".claude/teams/crew/inboxes" / name).write_text("[]")
    assert made.inboxes.owners("crew") == ["ann"]


def _on_files(home) -> Teamroom:
    import time

    clock = FakeClock(time.time())
    return build_room(find_layout({"ATM_HOME": str(home)}), clock=clock)


def texts(room: Teamroom) -> list[str]:
    return [row.text for row in room.inboxes.rows("crew", "ann")]


class TestInboxes:
    @proves("R001-1-04", "R001-3.3-23")
    def test_an_append_makes_the_inbox_and_keeps_the_order(self, stores):
        for number in range(3):
            written = stores.inboxes.append("crew", "ann", [make_message(f"id-{number}", str(number))], fresh=True)
            assert (written.added, written.merged) == (1, 0)
        assert texts(stores) == ["0", "1", "2"]
        assert stores.inboxes.exists("crew", "ann")
        assert stores.inboxes.owners("crew") == ["ann"]

    @proves("R001-3.3-21", "R003-4.3-06", "R003-4.3-09")
    def test_a_row_that_is_there_is_not_added_again(self, stores):
        row = make_message("id-1", "once")
        stores.inboxes.append("crew", "ann", [row], fresh=False)
        assert stores.inboxes.append("crew", "ann", [row], fresh=False).added == 0
        assert texts(stores) == ["once"]

    def test_several_rows_are_added_in_one_step(self, stores):
        rows = [make_message(f"id-{n}", str(n)) for n in range(5)]
        stores.inboxes.append("crew", "ann", rows, fresh=True)
        assert texts(stores) == list("01234")

    def test_creating_is_idempotent_and_destroys_nothing(self, stores):
        assert stores.inboxes.create("crew", "ann") is True
        stores.inboxes.append("crew", "ann", [make_message("id-1")], fresh=True)
        assert stores.inboxes.create("crew", "ann") is False
        assert len(texts(stores)) == 1

    def test_an_inbox_that_does_not_exist_is_empty(self, stores):
        assert stores.inboxes.rows("crew", "ann") == []
        assert stores.inboxes.unread("crew", "ann") == []
        assert not stores.inboxes.exists("crew", "ann")
        assert stores.inboxes.size("crew", "ann") == 0

    def test_whoever_looks_again_knows_by_the_version_whether_anything_was_changed(self, stores):
        assert stores.inboxes.version("crew", "ann") is None
        stores.inboxes.append("crew", "ann", [make_message("id-1")], fresh=True)
        stores.clock.pass_time(60)  # of what was just written nobody knows whether it is written again
        first = stores.inboxes.version("crew", "ann")
        assert first is not None
        assert stores.inboxes.version("crew", "ann") == first
        stores.inboxes.append("crew", "ann", [make_message("id-2")], fresh=True)
        stores.clock.pass_time(60)
        assert stores.inboxes.version("crew", "ann") != first

    def test_a_calm_inbox_needs_no_second_look(self, stores):
        stores.inboxes.append("crew", "ann", [make_message("id-1")], fresh=True)
        assert stores.inboxes.recheck("crew", "ann") is None
        assert stores.inboxes.recheck("crew", "nobody") is None

    def test_a_bound_of_the_rows_is_never_too_small(self, stores):
        stores.inboxes.append("crew", "ann", [make_message(f"id-{n}", "{") for n in range(3)], fresh=True)
        assert stores.inboxes.most_rows("crew", "ann") >= 3

    def test_a_claim_marks_what_was_chosen_and_nothing_else(self, stores):
        stores.inboxes.append("crew", "ann", [make_message(f"id-{n}", str(n)) for n in range(4)], fresh=True)
        claimed = stores.inboxes.claim("crew", "ann", lambda unread: unread[1:3])
        assert [row.text for row in claimed] == ["1", "2"]
        assert [row.text for row in stores.inboxes.unread("crew", "ann")] == ["0", "3"]

    def test_what_was_claimed_cannot_be_claimed_again(self, stores):
        stores.inboxes.append("crew", "ann", [make_message("id-1")], fresh=True)
        assert len(stores.inboxes.claim("crew", "ann", list)) == 1
        assert stores.inboxes.claim("crew", "ann", list) == []

    def test_rows_that_are_named_are_claimed_once(self, stores):
        stores.inboxes.append("crew", "ann", [make_message(f"id-{n}", str(n)) for n in range(4)], fresh=True)
        assert [row.text for row in stores.inboxes.claim_named("crew", "ann", {"id-3", "id-1", "gone"})] == ["1", "3"]
        assert stores.inboxes.claim_named("crew", "ann", {"id-3", "id-1"}) == []
        assert [row.text for row in stores.inboxes.unread("crew", "ann")] == ["0", "2"]

    def test_named_rows_of_a_large_inbox_are_claimed_and_given_back_too(self, stores):
        rows = [make_message(f"id-{n}", f"{n} " + "x" * 500_000) for n in range(4)]
        stores.inboxes.append("crew", "ann", rows, fresh=True)
        for keys in ({"id-0", "id-2"}, {"id-0", "gone"}):
            stores.inboxes.claim_named("crew", "ann", keys)
            assert [row.id for row in stores.inboxes.unread("crew", "ann")] == ["id-1", "id-3"]
        stores.inboxes.mark("crew", "ann", {"id-0", "id-3"}, False)
        assert [row.id for row in stores.inboxes.unread("crew", "ann")] == ["id-0", "id-1", "id-3"]

    def test_a_glance_sees_urgent_mail_first_and_counts_the_rest(self, stores):
        assert stores.inboxes.glance("crew", "ann", lambda _: False, 3).messages == []
        rows = [make_message(f"id-{n}", str(n), read=n == 1) for n in range(5)]
        stores.inboxes.append("crew", "ann", [*rows, make_message("id-5", "[URGENT] 5")], fresh=True)
        seen = stores.inboxes.glance("crew", "ann", lambda _: False, 3)
        assert ([row.id for row in seen.messages], seen.left) == (["id-0", "id-2", "id-5"], 2)
        assert seen.is_whole

    def test_an_append_that_is_not_allowed_changes_nothing(self, stores):
        team = Team(name="crew", members=[Member("ann"), Member("bob")])
        new = make_message("id-9", "x" * 100)
        for quota in (Quota(2, 0), Quota(0, 2 * len(new.raw))):
            allowance = Allowance(quota, team, "ann", new)
            stores.inboxes.change("crew", "ann", lambda _: [])
            assert stores.inboxes.has_room("crew", "ann", allowance)
            stores.inboxes.append("crew", "ann", [make_message(f"id-{n}", "x" * 100) for n in range(2)], fresh=True)
            assert not stores.inboxes.has_room("crew", "ann", allowance)
            for fresh in (True, False):
                with pytest.raises(InboxFull, match="ann@crew"):
                    stores.inboxes.append("crew", "ann", [new], fresh=fresh, allowance=allowance)
            assert len(texts(stores)) == 2
            stores.inboxes.mark("crew", "ann", {"id-0"}, True)
            assert stores.inboxes.append("crew", "ann", [new], fresh=True, allowance=allowance).added == 1

    def test_a_row_that_is_there_already_needs_no_room(self, stores):
        row = make_message("id-1")
        allowance = Allowance(Quota(1, 0), Team(name="crew", members=[Member("ann")]), "ann", row)
        stores.inboxes.append("crew", "ann", [row], fresh=True)
        assert stores.inboxes.append("crew", "ann", [row], fresh=False, allowance=allowance).added == 0

    def test_marks_go_both_ways(self, stores):
        stores.inboxes.append("crew", "ann", [make_message("id-1")], fresh=True)
        stores.inboxes.mark("crew", "ann", {"id-1"}, True)
        assert stores.inboxes.unread("crew", "ann") == []
        stores.inboxes.mark("crew", "ann", {"id-1"}, False)
        assert len(stores.inboxes.unread("crew", "ann")) == 1

    def test_a_change_sees_and_sets_all_rows(self, stores):
        stores.inboxes.append("crew", "ann", [make_message(f"id-{n}", str(n)) for n in range(4)], fresh=True)
        stores.inboxes.change("crew", "ann", lambda rows: rows[2:])
        assert texts(stores) == ["2", "3"]

    def test_missing_names_the_ids_that_are_not_there(self, stores):
        stores.inboxes.append("crew", "ann", [make_message("id-1")], fresh=True)
        assert stores.inboxes.missing("crew", "ann", ["id-1", "id-2"]) == ["id-2"]
        assert stores.inboxes.missing("crew", "ann", ["id-1"]) == []
        assert not stores.inboxes.touched("crew", "ann")

    def test_a_row_at_the_far_beginning_of_a_large_inbox_is_not_missing(self, stores):
        rows = [make_message(f"id-{n:03}", "x" * 2000) for n in range(100)]
        stores.inboxes.append("crew", "ann", rows, fresh=True)
        assert stores.inboxes.missing("crew", "ann", ["id-000", "id-099", "id-100"]) == ["id-100"]

    def test_our_own_writes_do_not_count_as_touched(self, stores):
        stores.inboxes.append("crew", "ann", [make_message("id-1")], fresh=True)
        stores.inboxes.missing("crew", "ann", ["id-1"])
        stores.inboxes.append("crew", "ann", [make_message("id-2")], fresh=True)
        stores.inboxes.claim("crew", "ann", list)
        assert not stores.inboxes.touched("crew", "ann")

    def test_a_removed_inbox_is_gone(self, stores):
        stores.inboxes.create("crew", "ann")
        assert stores.inboxes.remove("crew", "ann") is True
        assert stores.inboxes.remove("crew", "ann") is True
        assert stores.inboxes.owners("crew") == []

    def test_an_inbox_with_rows_is_not_removed(self, stores):
        stores.inboxes.append("crew", "ann", [make_message("id-1")], fresh=True)
        assert stores.inboxes.remove("crew", "ann") is False
        assert texts(stores) == ["text"]


class TestRosters:
    def test_a_team_is_made_once(self, stores):
        assert stores.rosters.create("crew", b"{}") is False
        assert stores.rosters.teams() == ["crew"]
        assert stores.rosters.load("crew").members == []

    @proves("R002-9-07", "R002-9-08", "R002-9-09", "R002-9-10")
    def test_members_come_and_go(self, stores):
        entry = new_member(
            Member("ann", agent_type="x", model="m", cwd="/w", backend="codex", is_active=False), "crew", 1.0
        )
        stores.rosters.change("crew", lambda data: with_member(data, entry))
        member = stores.rosters.load("crew").member("ANN")
        assert (member.name, member.model, member.backend, member.state) == ("ann", "m", "codex", "inactive")
        stores.rosters.change("crew", lambda data: without_member(data, "ann"))
        assert stores.rosters.load("crew").names == []

    def test_names_are_found_without_case(self, stores):
        assert stores.rosters.find("CREW") == "crew"
        assert stores.rosters.find("other") is None

    def test_a_team_that_is_not_there_is_an_error(self, stores):
        with pytest.raises(NoSuchTeam):
            stores.rosters.load("nobody")

    def test_a_team_of_claude_code_is_never_changed(self, stores):
        stores.rosters.create("session-1a2b3c4d", new_team("session-1a2b3c4d", description="", lead="team-lead", now=1))
        with pytest.raises(TeamNotOurs):
            stores.rosters.change("session-1a2b3c4d", lambda data: data + b" ")

    def test_an_undertaking_that_is_finished_leaves_nothing(self, stores):
        with stores.rosters.undertaking("crew", "add", "ann"):
            assert stores.rosters.abandoned("crew") == []
        assert stores.rosters.abandoned("crew") == []


def line(stores: Teamroom, id: str, state: str = "written", raw: str = "") -> Line:
    from atm.files.formats.times import to_iso

    at = to_iso(stores.clock.now())
    kind = MESSAGE if raw else RECEIPT
    return Line(kind=kind, ids=[id], agent="ann", state=state, at=at, evidence="test", raw=raw)


class TestLedger:
    @proves("R003-1.1-25", "R003-4.3-08", "R003-4.4-06", "R003-4.4-07", "R003-4.4-08", "R003-9-05")
    def test_numbers_rise_by_one_whoever_appends(self, stores):
        assert stores.ledger.append("crew", [line(stores, "a"), line(stores, "b")]) == [1, 2]
        assert stores.ledger.append("crew", [line(stores, "c")]) == [3]
        assert [entry.seq for entry in stores.ledger.entries("crew")[0]] == [1, 2, 3]

    @proves("R003-1.1-26", "R003-1.1-28")
    def test_a_message_line_gives_back_the_row_to_the_letter(self, stores):
        raw = '{"from": "ann", "text": "x", "read": false, "n": 1.10}'
        stores.ledger.append("crew", [line(stores, "a", raw=raw)])
        entry = stores.ledger.entries("crew")[0][0]
        assert entry.raw == raw
        assert entry.message is not None
        assert entry.message.text == "x"

    def test_recent_is_the_last_minutes(self, stores):
        stores.ledger.append("crew", [line(stores, "old")])
        stores.clock.pass_time(1000)
        stores.ledger.append("crew", [line(stores, "new")])
        assert [entry.ids for entry in stores.ledger.recent("crew")] == [["new"]]

    def test_its_version_changes_with_every_line_and_only_then(self, stores):
        versions = [stores.ledger.version("crew")]
        for id in ("a", "b"):
            stores.ledger.append("crew", [line(stores, id)])
            versions.append(stores.ledger.version("crew"))
        assert len(set(versions)) == 3
        assert stores.ledger.version("crew") == versions[-1]

    def test_a_word_is_mentioned_once_a_line_has_it(self, stores):
        assert not stores.ledger.mentions("crew", "id-a")
        stores.ledger.append("crew", [line(stores, "id-a")])
        assert stores.ledger.mentions("crew", "id-a")
        assert not stores.ledger.mentions("crew", "id-b")

    def test_a_team_without_a_ledger_has_no_history(self, stores):
        assert stores.ledger.entries("crew") == ([], 0)
        assert stores.ledger.recent("crew") == []


def entry(id: str, agent: str = "ann", created_at: float = 1.0) -> SpoolEntry:
    raw = make_message(id).raw
    return SpoolEntry(team="crew", agent=agent, message_id=id, raw=raw, created_at=created_at, reason="test")


class TestSpool:
    def test_entries_come_out_in_the_order_they_went_in(self, stores):
        for number in range(5):
            stores.spool.put(entry(f"{number}-id-0000"))
        assert [s.entry.message_id for s in stores.spool.pending()] == [f"{n}-id-0000" for n in range(5)]
        assert not stores.spool.is_empty()

    def test_a_clock_that_is_set_back_does_not_reverse_them(self, stores):
        for number in range(5):
            stores.spool.put(entry(f"{number}-id-0000"))
            stores.clock.jump(-3600)
        assert [s.entry.message_id for s in stores.spool.pending()] == [f"{n}-id-0000" for n in range(5)]

    def test_nor_if_the_first_is_being_tried(self, stores):
        stores.spool.put(entry("0-id-0000"))
        stores.spool.begin(stores.spool.pending()[0])
        stores.clock.jump(-3600)
        stores.spool.put(entry("1-id-0000"))
        assert [s.entry.message_id for s in stores.spool.pending("crew", "ann")] == ["0-id-0000", "1-id-0000"]

    def test_pending_can_be_asked_for_one_inbox(self, stores):
        stores.spool.put(entry("a-id-00000", "ann"))
        stores.spool.put(entry("b-id-00000", "bob"))
        assert [s.entry.agent for s in stores.spool.pending("crew", "bob")] == ["bob"]

    def test_done_removes_it(self, stores):
        stores.spool.put(entry("a-id-00000"))
        stores.spool.done(stores.spool.pending()[0])
        assert stores.spool.is_empty()

    def test_a_delivery_that_began_is_remembered(self, stores):
        stores.spool.put(entry("a-id-00000"))
        stores.spool.begin(stores.spool.pending()[0])
        assert stores.spool.pending()[0].was_tried
        assert [s.entry.agent for s in stores.spool.pending("crew", "ann")] == ["ann"]

    def test_postponing_keeps_its_counters_and_forgets_the_try(self, stores):
        stores.spool.put(entry("a-id-00000"))
        spooled = stores.spool.pending()[0]
        stores.spool.begin(spooled)
        spooled.entry.tries, spooled.entry.next_attempt = 3, 99.0
        stores.spool.postpone(spooled)
        again = stores.spool.pending()[0]
        assert (again.entry.tries, again.entry.next_attempt, again.was_tried) == (3, 99.0, False)

    def test_giving_up_moves_it_and_reviving_brings_it_back(self, stores):
        stores.spool.put(entry("a-id-00000"))
        stores.spool.give_up(stores.spool.pending()[0])
        assert stores.spool.is_empty()
        assert len(stores.spool.failed()) == 1
        stores.spool.revive(stores.spool.failed()[0])
        assert stores.spool.failed() == []
        assert len(stores.spool.pending()) == 1

    def test_one_drain_at_a_time(self, stores):
        with stores.spool.exclusively() as held:
            assert held


class TestSmallStores:
    def test_a_mark_puts_the_next_pass_off_until_growth_or_time(self, stores):
        now, large = stores.clock.now(), 1_000_000
        assert stores.marks.is_due("crew", "ann", large, now)
        stores.marks.put_off("crew", "ann", large, now + 60)
        assert not stores.marks.is_due("crew", "ann", large, now)
        assert stores.marks.is_due("crew", "ann", int(large * 1.3), now)
        assert stores.marks.is_due("crew", "ann", large, now + 61)

    def test_drift_is_noted_once(self, stores):
        stores.drift.note("inbox", ["novel", "other"])
        stores.drift.note("inbox", ["novel"])
        assert sorted(entry["field"] for entry in stores.drift.seen()) == ["novel", "other"]

    def test_the_archive_keeps_rows(self, stores):
        path = stores.archive.keep("crew", "ann", b"[]")
        assert path
