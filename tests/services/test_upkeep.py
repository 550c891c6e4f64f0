"""The spool's life, rows that come back, and clean-up."""

from __future__ import annotations

import pytest

from atm.domain.errors import FileBusy, NoSuchTeam, WriteRefused
from atm.domain.mail.receipts import MOST_RESTORES
from atm.domain.team.team import Member
from atm.formats.mail.inbox import LARGEST_ROW
from atm.services.mail import reading
from atm.services.mail.posting import Draft
from atm.services.mail.putting_back import missing_rows, put_back_dropped
from atm.services.mail.reading import Filter, give_back, peek, take
from atm.services.mail.retention import cleanup, compact
from atm.services.mail.sending import send
from atm.services.mail.spooling import drain, drop
from atm.services.roster.members import add_member
from atm.testing import make_message

DAY = 86_400.0


def letter(text="hello"):
    return Draft(sender="bob", text=text)


def texts(desk, agent="ann"):
    return [row.text for row in desk.inboxes.rows("crew", agent)]


def crew(desk):
    return desk.rosters.load("crew")


def states(desk, id):
    return [entry.state for entry in desk.ledger.entries("crew")[0] if id in entry.ids]


class TestSpool:
    def test_a_message_that_is_not_due_waits(self, desk):
        desk.inboxes.refuse = FileBusy("held")
        send(desk, "crew", "ann", letter())
        drain(desk)
        assert desk.spool.pending()[0].entry.tries == 1
        desk.inboxes.refuse = None
        assert drain(desk).waiting == 1
        desk.clock.pass_time(10)
        assert drain(desk).delivered == 1

    def test_waiting_times_double(self, desk):
        desk.inboxes.refuse = FileBusy("held")
        send(desk, "crew", "ann", letter())
        waits = []
        for _ in range(6):
            drain(desk)
            entry = desk.spool.pending()[0].entry
            waits.append(entry.next_attempt - desk.clock.now())
            desk.clock.pass_time(waits[-1] + 0.1)
        assert all(0.75 * 5 * 2**n <= wait <= 1.25 * 5 * 2**n for n, wait in enumerate(waits))

    def test_after_ten_tries_it_is_given_up_and_kept(self, desk):
        desk.inboxes.refuse = FileBusy("held")
        sent = send(desk, "crew", "ann", letter())
        for _ in range(10):
            drain(desk)
            desk.clock.pass_time(4000)
        assert desk.spool.is_empty()
        assert [spooled.entry.tries for spooled in desk.spool.failed()] == [10]
        assert states(desk, sent.message_id) == ["queued", "failed"]

    def test_a_team_that_is_gone_is_given_up_at_once(self, desk):
        desk.inboxes.refuse = FileBusy("held")
        send(desk, "crew", "ann", letter())
        desk.inboxes.refuse = NoSuchTeam("gone")
        assert drain(desk, everything=True).failed == 1
        assert len(desk.spool.failed()) == 1

    def test_a_delivery_is_entered_with_its_row(self, desk):
        desk.inboxes.refuse = FileBusy("held")
        sent = send(desk, "crew", "ann", letter())
        desk.inboxes.refuse = None
        drain(desk, everything=True)
        assert states(desk, sent.message_id) == ["queued", "written"]

    def test_a_delivery_that_arrived_before_a_crash_is_not_repeated(self, desk):
        desk.inboxes.refuse = FileBusy("held")
        sent = send(desk, "crew", "ann", letter())
        desk.inboxes.refuse = None
        spooled = desk.spool.pending()[0]
        desk.spool.begin(spooled)
        desk.inboxes.append("crew", "ann", [sent.message], fresh=True)
        drain(desk, everything=True)
        assert texts(desk) == ["hello"]
        assert desk.spool.is_empty()

    def test_in_claudes_team_a_delivery_of_unknown_outcome_is_never_repeated(self, desk):
        from atm.formats.team.team_config import new_member, new_team, with_member

        name = "session-1a2b3c4d"
        entry = new_member(Member("lead", agent_type="x", cwd="/"), name, 1.0)
        desk.rosters.create(name, with_member(new_team(name, description="", lead="lead", now=1.0), entry))
        desk.inboxes.refuse = FileBusy("held")
        send(desk, name, "lead", letter())
        desk.inboxes.refuse = None
        desk.spool.begin(desk.spool.pending()[0])
        assert drain(desk, everything=True).failed == 1
        assert desk.inboxes.rows(name, "lead") == []

    def test_a_message_that_cannot_be_entered_waits_and_is_not_doubled(self, desk):
        desk.inboxes.refuse = FileBusy("held")
        send(desk, "crew", "ann", letter())
        desk.inboxes.refuse = None
        desk.ledger.refuse = WriteRefused("full")
        drain(desk, everything=True)
        desk.ledger.refuse = None
        drain(desk, everything=True)
        assert texts(desk) == ["hello"]
        assert desk.spool.is_empty()

    def test_what_was_sent_later_does_not_overtake_what_cannot_be_delivered_now(self, desk):
        desk.inboxes.refuse = FileBusy("held")
        send(desk, "crew", "ann", letter("first"))
        send(desk, "crew", "ann", letter("second"))
        desk.inboxes.refuse = None
        append = desk.inboxes.append

        def refuse_the_first(team, agent, rows, **options):
            if rows[0].text == "first":
                raise FileBusy("held")
            return append(team, agent, rows, **options)

        desk.inboxes.append = refuse_the_first
        assert drain(desk, everything=True).waiting == 2
        assert texts(desk) == []
        desk.inboxes.append = append
        drain(desk, everything=True)
        assert texts(desk) == ["first", "second"]

    def test_dropping_is_entered(self, desk):
        desk.inboxes.refuse = FileBusy("held")
        sent = send(desk, "crew", "ann", letter())
        drop(desk, desk.spool.pending()[0])
        assert desk.spool.is_empty()
        assert states(desk, sent.message_id) == ["queued", "failed"]


class TestPuttingBack:
    def test_a_row_dropped_by_a_stale_rewrite_comes_back(self, desk):
        sent = send(desk, "crew", "ann", letter())
        desk.inboxes.foreign_rewrite("crew", "ann", [])
        assert put_back_dropped(desk, crew(desk)) == 1
        assert texts(desk) == ["hello"]
        assert states(desk, sent.message_id) == ["written", "restored"]

    def test_the_next_send_brings_it_back_in_its_place(self, desk):
        send(desk, "crew", "ann", letter("first"))
        second = send(desk, "crew", "ann", letter("second"))
        desk.inboxes.foreign_rewrite("crew", "ann", [second.message])
        send(desk, "crew", "ann", letter("third"))
        assert texts(desk) == ["first", "second", "third"]

    def test_a_row_that_is_dropped_again_comes_back_again_but_not_for_ever(self, desk):
        send(desk, "crew", "ann", letter())
        came_back = 0
        for _ in range(MOST_RESTORES + 5):
            desk.inboxes.foreign_rewrite("crew", "ann", [])
            came_back += put_back_dropped(desk, crew(desk))
        assert came_back == MOST_RESTORES

    def test_a_row_that_its_owner_read_stays_away(self, desk):
        send(desk, "crew", "ann", letter())
        take(desk, "crew", "ann", Filter())
        desk.inboxes.foreign_rewrite("crew", "ann", [])
        assert put_back_dropped(desk, crew(desk), everything=True) == 0

    def test_a_row_that_was_given_back_unread_is_put_back(self, desk):
        send(desk, "crew", "ann", letter())
        mail = take(desk, "crew", "ann", Filter())
        give_back(desk, "crew", "ann", mail, "broken pipe")
        desk.inboxes.foreign_rewrite("crew", "ann", [])
        assert put_back_dropped(desk, crew(desk)) == 1

    def test_a_row_that_clean_up_removed_stays_away(self, desk):
        for number in range(9):
            send(desk, "crew", "ann", letter(str(number)))
        take(desk, "crew", "ann", Filter())
        desk.clock.pass_time(3 * DAY)
        compact(desk, "crew", "ann")
        assert put_back_dropped(desk, crew(desk), everything=True) == 0

    def test_a_message_given_up_once_and_delivered_later_is_put_back(self, desk):
        desk.inboxes.refuse = FileBusy("held")
        send(desk, "crew", "ann", letter())
        for _ in range(10):
            drain(desk)
            desk.clock.pass_time(4000)
        desk.inboxes.refuse = None
        desk.spool.revive(desk.spool.failed()[0])
        drain(desk, everything=True)
        desk.inboxes.foreign_rewrite("crew", "ann", [])
        assert put_back_dropped(desk, crew(desk)) == 1

    def test_in_a_large_team_a_send_looks_at_its_own_inbox_alone(self, desk):
        from atm.services.mail.putting_back import MOST_LOOKED_AT

        for number in range(MOST_LOOKED_AT + 1):
            desk.inboxes.create("crew", f"member-{number}")
        looked: list[str] = []

        def touched(_, agent):
            looked.append(agent)
            return False

        desk.inboxes.touched = touched
        send(desk, "crew", "ann", letter())
        assert looked == ["ann"]

    def test_in_a_team_that_is_just_not_too_large_a_send_looks_at_everybodys(self, desk):
        from atm.services.mail.putting_back import MOST_LOOKED_AT

        lost = send(desk, "crew", "bob", letter("for bob"))
        for number in range(MOST_LOOKED_AT - len(crew(desk).names)):
            desk.inboxes.create("crew", f"member-{number}")
        desk.inboxes.foreign_rewrite("crew", "bob", [])
        send(desk, "crew", "ann", letter())
        assert texts(desk, "bob") == ["for bob"]
        assert states(desk, lost.message_id) == ["written", "restored"]

    def test_the_check_up_is_told_how_many_rows_are_missing(self, desk):
        for text in ("one", "two", "three"):
            send(desk, "crew", "ann", letter(text))
        send(desk, "crew", "bob", letter("for bob"))
        desk.inboxes.foreign_rewrite("crew", "ann", desk.inboxes.rows("crew", "ann")[:1])
        entries = desk.ledger.entries("crew")[0]
        assert missing_rows(desk, "crew", entries) == 2
        assert missing_rows(desk, "session-1a2b3c4d", entries) == 0  # there, absence means consumed

    def test_an_inbox_nobody_else_touched_is_not_even_looked_at(self, desk):
        send(desk, "crew", "ann", letter())
        desk.inboxes.missing = None  # would fail if it were called
        assert put_back_dropped(desk, crew(desk)) == 0


class TestReading:
    def test_a_row_turned_back_to_unread_is_not_shown_twice(self, desk):
        sent = send(desk, "crew", "ann", letter())
        take(desk, "crew", "ann", Filter())
        desk.inboxes.foreign_rewrite("crew", "ann", [sent.message])
        assert peek(desk, "crew", "ann", Filter()).messages == []
        assert take(desk, "crew", "ann", Filter()).messages == []

    def test_exactly_what_is_shown_is_marked(self, desk):
        for number in range(4):
            send(desk, "crew", "ann", letter(str(number)))
        mail = take(desk, "crew", "ann", Filter(limit=2))
        assert [message.text for message in mail.messages] == ["2", "3"]
        assert [row.text for row in desk.inboxes.unread("crew", "ann")] == ["0", "1"]

    def test_a_peek_marks_nothing(self, desk):
        send(desk, "crew", "ann", letter())
        peek(desk, "crew", "ann", Filter())
        assert len(desk.inboxes.unread("crew", "ann")) == 1

    def test_a_row_too_large_to_show_is_neither_shown_nor_marked(self, desk):
        desk.inboxes.foreign_rewrite("crew", "ann", [make_message("big", "x" * 5_000_000), make_message("small")])
        mail = take(desk, "crew", "ann", Filter())
        assert [message.id for message in mail.messages] == ["small"]
        assert [message.id for message in mail.too_large] == ["big"]
        assert [row.id for row in desk.inboxes.unread("crew", "ann")] == ["big"]

    def test_the_largest_row_that_a_sender_of_ours_can_write_is_shown(self, desk):
        spare = LARGEST_ROW - len(make_message("largest", "").raw)
        desk.inboxes.foreign_rewrite("crew", "ann", [make_message("largest", "x" * spare)])
        mail = take(desk, "crew", "ann", Filter())
        assert [len(message.raw) for message in mail.messages] == [LARGEST_ROW]
        assert mail.too_large == []

    @pytest.mark.parametrize("wanted", [Filter(), Filter(everything=True)], ids=["unread", "everything"])
    def test_a_reader_who_polls_waits_for_nobodys_turn_while_there_is_nothing_new(self, desk, monkeypatch, wanted):
        send(desk, "crew", "ann", letter())
        take(desk, "crew", "ann", Filter())
        monkeypatch.setattr(reading, "CHEAP_LOOK", desk.inboxes.size("crew", "ann"))
        desk.surfacings.turn = None  # would fail if it were called
        assert [message for message in take(desk, "crew", "ann", wanted).messages if not message.read] == []

    def test_an_inbox_that_is_costly_to_look_at_is_looked_at_in_turn_alone(self, desk, monkeypatch):
        send(desk, "crew", "ann", letter())
        take(desk, "crew", "ann", Filter())
        monkeypatch.setattr(reading, "CHEAP_LOOK", desk.inboxes.size("crew", "ann") - 1)
        desk.inboxes.unread = None  # would fail if somebody looked before it was their turn
        desk.inboxes.claim = lambda _team, _agent, choose: choose([])
        assert take(desk, "crew", "ann", Filter()).messages == []

    def test_unknown_fields_are_noted_once(self, desk):
        from atm.formats.mail.inbox import decode_row

        odd = decode_row('{"from": "x", "text": "y", "timestamp": "", "read": false, "novel": 1}')
        desk.inboxes.foreign_rewrite("crew", "ann", [odd])
        peek(desk, "crew", "ann", Filter())
        peek(desk, "crew", "ann", Filter())
        assert desk.drift.seen() == [{"kind": "inbox", "field": "novel"}]

    @pytest.mark.parametrize(
        ("wanted", "expected"),
        [
            (Filter(sender="BOB"), ["one"]),
            (Filter(sender="nobody"), []),
            (Filter(limit=0), []),
            (Filter(limit=9), ["one", "two"]),
        ],
    )
    def test_filters(self, desk, wanted, expected):
        send(desk, "crew", "ann", letter("one"))
        send(desk, "crew", "ann", Draft(sender="cleo", text="two"))
        assert [message.text for message in peek(desk, "crew", "ann", wanted).messages] == expected


class TestCleanUp:
    def fill(self, desk, count=30, *, read=True):
        for number in range(count):
            send(desk, "crew", "ann", letter(f"text {number}"))
        if read:
            take(desk, "crew", "ann", Filter())

    def test_it_archives_before_it_removes_and_keeps_what_the_policy_keeps(self, desk):
        self.fill(desk, 12)
        desk.clock.pass_time(2 * DAY)
        done = compact(desk, "crew", "ann")
        assert (done.removed, done.kept) == (7, 5)
        assert [row.text for row in desk.archive.kept[done.archive_path]] == [f"text {n}" for n in range(7)]
        assert texts(desk) == [f"text {n}" for n in range(7, 12)]

    def test_unread_mail_stays_however_old(self, desk):
        self.fill(desk, 12, read=False)
        desk.clock.pass_time(100 * DAY)
        assert compact(desk, "crew", "ann").removed == 0
        assert len(texts(desk)) == 12

    def test_a_dry_run_changes_nothing(self, desk):
        self.fill(desk, 12)
        desk.clock.pass_time(2 * DAY)
        assert compact(desk, "crew", "ann", dry_run=True).removed == 7
        assert len(texts(desk)) == 12

    def test_a_send_cleans_up_an_inbox_that_has_grown_large(self, desk):
        self.fill(desk, 30)
        desk.clock.pass_time(2 * DAY)
        send(desk, "crew", "ann", letter("new"))
        assert len(texts(desk)) == 6

    def test_a_pass_that_removed_nothing_is_not_paid_again_by_the_next_send(self, desk):
        self.fill(desk, 30, read=False)
        passes: list[str] = []
        desk.marks.put_off = lambda *words: passes.append(words[1])
        for number in range(3):
            send(desk, "crew", "ann", letter(str(number)))
        assert passes == []

    def test_inboxes_that_claude_code_reads_are_left_to_it(self, desk):
        add_member(desk, "crew", Member("dora", backend="claude-code"))
        done = {one.agent: one for one in cleanup(desk, ["crew"])}
        assert done["dora"].skipped
        assert not done["ann"].skipped
        desk.compact_claudes = True
        assert not {one.agent: one for one in cleanup(desk, ["crew"])}["dora"].skipped

    @pytest.mark.parametrize(("is_allowed", "left"), [(False, 31), (True, 6)])
    def test_a_send_cleans_up_what_claude_code_reads_only_where_that_is_allowed(self, desk, is_allowed, left):
        add_member(desk, "crew", Member("dora", backend="claude-code"))
        for number in range(30):
            send(desk, "crew", "dora", letter(f"text {number}"))
        take(desk, "crew", "dora", Filter())
        desk.clock.pass_time(2 * DAY)
        desk.compact_claudes = is_allowed
        send(desk, "crew", "dora", letter("new"))
        assert len(texts(desk, "dora")) == left
