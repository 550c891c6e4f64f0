"""The spool's life, rows that come back, and clean-up."""

from __future__ import annotations

import pytest
from tests.proving import proves

from atm.core.errors import FileBusy, NoSuchTeam, UnreadableFile, WriteRefused
from atm.files.formats.times import from_iso
from atm.mail.formats.inbox import LARGEST_ROW, Inbox
from atm.mail.formats.journal import MESSAGE, Entry, Line
from atm.mail.rules.lifetimes import LONGEST_WAIT
from atm.mail.rules.receipts import MOST_RESTORES
from atm.mail.services import reading
from atm.mail.services.bookkeeping import record
from atm.mail.services.mailroom import find_recipient
from atm.mail.services.posting import Draft
from atm.mail.services.putting_back import missing_rows, put_back_dropped
from atm.mail.services.reading import Filter, Reading, peek, take
from atm.mail.services.retention import cleanup, compact, compact_if_due
from atm.mail.services.sending import send
from atm.mail.services.spooling import MOST_AT_ONCE, drain, drop
from atm.roster.services.members import add_member
from atm.team.rules.team import Member, Team
from atm.testing import make_message

DAY = 86_400.0


def letter(text="hello"):
    return Draft(sender="bob", text=text)


def texts(boardroom, agent="ann"):
    return [row.text for row in boardroom.inboxes.rows("crew", agent)]


def crew(boardroom):
    return boardroom.rosters.load("crew")


def read_in_vain(boardroom):
    """The pipe was closed before anything was written."""
    try:
        with Reading(boardroom, "crew", "ann", Filter()) as reading:
            reading.take()
            raise BrokenPipeError
    except BrokenPipeError:
        return


def states(boardroom, id):
    return [entry.state for entry in boardroom.ledger.entries("crew")[0] if id in entry.ids]


class TestSpool:
    @proves("R001-3.3-28")
    def test_a_message_that_is_not_due_waits(self, boardroom):
        boardroom.inboxes.refuse = FileBusy("held")
        send(boardroom, "crew", "ann", letter())
        drain(boardroom)
        assert boardroom.spool.pending()[0].entry.tries == 1
        boardroom.inboxes.refuse = None
        assert drain(boardroom).waiting == 1
        boardroom.clock.pass_time(10)
        assert drain(boardroom).delivered == 1

    @proves("R001-3.3-11", "R001-3.3-18")
    def test_waiting_times_double(self, boardroom):
        boardroom.inboxes.refuse = FileBusy("held")
        send(boardroom, "crew", "ann", letter())
        waits = []
        for _ in range(6):
            drain(boardroom)
            entry = boardroom.spool.pending()[0].entry
            waits.append(entry.next_attempt - boardroom.clock.now())
            boardroom.clock.pass_time(waits[-1] + 0.1)
        assert all(0.75 * 5 * 2**n <= wait <= 1.25 * 5 * 2**n for n, wait in enumerate(waits))

    @proves("R000-delivery-retry-08", "R001-3.3-14")
    def test_after_ten_tries_it_is_given_up_and_kept(self, boardroom):
        boardroom.inboxes.refuse = FileBusy("held")
        sent = send(boardroom, "crew", "ann", letter())
        for _ in range(10):
            drain(boardroom)
            boardroom.clock.pass_time(4000)
        assert boardroom.spool.is_empty()
        assert [spooled.entry.tries for spooled in boardroom.spool.failed()] == [10]
        assert states(boardroom, sent.message_id) == ["queued", "failed"]

    def test_a_team_that_is_gone_is_given_up_at_once(self, boardroom):
        boardroom.inboxes.refuse = FileBusy("held")
        send(boardroom, "crew", "ann", letter())
        boardroom.inboxes.refuse = NoSuchTeam("gone")
        assert drain(boardroom, everything=True).failed == 1
        assert len(boardroom.spool.failed()) == 1

    def test_a_delivery_is_entered_with_its_row(self, boardroom):
        boardroom.inboxes.refuse = FileBusy("held")
        sent = send(boardroom, "crew", "ann", letter())
        boardroom.inboxes.refuse = None
        drain(boardroom, everything=True)
        assert states(boardroom, sent.message_id) == ["queued", "written"]

    @proves("R001-3.1-13", "R003-4.3-06")
    def test_a_delivery_that_arrived_before_a_crash_is_not_repeated(self, boardroom):
        boardroom.inboxes.refuse = FileBusy("held")
        sent = send(boardroom, "crew", "ann", letter())
        boardroom.inboxes.refuse = None
        spooled = boardroom.spool.pending()[0]
        boardroom.spool.begin(spooled)
        boardroom.inboxes.append("crew", "ann", [sent.message], fresh=True)
        drain(boardroom, everything=True)
        assert texts(boardroom) == ["hello"]
        assert boardroom.spool.is_empty()

    def test_a_delivery_that_the_ledger_knows_of_is_not_repeated_though_the_row_is_gone(self, boardroom):
        boardroom.inboxes.refuse = FileBusy("held")
        sent = send(boardroom, "crew", "ann", letter())
        boardroom.inboxes.refuse = None
        boardroom.spool.begin(boardroom.spool.pending()[0])
        record(boardroom, "crew", "ann", [sent.message_id], "written", "inbox file, from the spool")
        assert drain(boardroom, everything=True).delivered == 1
        assert texts(boardroom) == []
        assert boardroom.spool.is_empty()

    def test_in_claudes_team_a_delivery_of_unknown_outcome_is_never_repeated(self, boardroom):
        from atm.team.formats.team_config import new_member, new_team, with_member

        name = "session-1a2b3c4d"
        entry = new_member(Member("lead", agent_type="x", cwd="/"), name, 1.0)
        boardroom.rosters.create(name, with_member(new_team(name, description="", lead="lead", now=1.0), entry))
        boardroom.inboxes.refuse = FileBusy("held")
        send(boardroom, name, "lead", letter())
        boardroom.inboxes.refuse = None
        boardroom.spool.begin(boardroom.spool.pending()[0])
        assert drain(boardroom, everything=True).failed == 1
        assert boardroom.inboxes.rows(name, "lead") == []

    def test_a_message_that_cannot_be_entered_waits_and_is_not_doubled(self, boardroom):
        boardroom.inboxes.refuse = FileBusy("held")
        send(boardroom, "crew", "ann", letter())
        boardroom.inboxes.refuse = None
        boardroom.ledger.refuse = WriteRefused("full")
        drain(boardroom, everything=True)
        boardroom.ledger.refuse = None
        drain(boardroom, everything=True)
        assert texts(boardroom) == ["hello"]
        assert boardroom.spool.is_empty()

    def test_what_was_sent_later_does_not_overtake_what_cannot_be_delivered_now(self, boardroom):
        boardroom.inboxes.refuse = FileBusy("held")
        send(boardroom, "crew", "ann", letter("first"))
        send(boardroom, "crew", "ann", letter("second"))
        boardroom.inboxes.refuse = None
        append = boardroom.inboxes.append

        def refuse_the_first(team, agent, rows, **options):
            if rows[0].text == "first":
                raise FileBusy("held")
            return append(team, agent, rows, **options)

        boardroom.inboxes.append = refuse_the_first
        assert drain(boardroom, everything=True).waiting == 2
        assert texts(boardroom) == []
        boardroom.inboxes.append = append
        drain(boardroom, everything=True)
        assert texts(boardroom) == ["first", "second"]

    def test_a_delivery_that_was_insisted_on_before_its_time_is_no_try_and_can_be_made_again(self, boardroom):
        """In a team of Claude Code: there, one of unknown outcome would be given up."""
        from atm.team.formats.team_config import new_member, new_team, with_member

        name = "session-1a2b3c4d"
        entry = new_member(Member("lead", agent_type="x", cwd="/"), name, 1.0)
        boardroom.rosters.create(name, with_member(new_team(name, description="", lead="lead", now=1.0), entry))
        boardroom.inboxes.refuse = FileBusy("held")
        send(boardroom, name, "lead", letter())
        drain(boardroom)
        before = boardroom.spool.pending()[0].entry.next_attempt
        assert drain(boardroom, everything=True).waiting == 1
        waiting = boardroom.spool.pending()[0].entry
        assert (waiting.tries, waiting.next_attempt) == (1, before)
        boardroom.inboxes.refuse = None
        assert drain(boardroom, everything=True).delivered == 1
        assert [row.text for row in boardroom.inboxes.rows(name, "lead")] == ["hello"]

    def test_a_command_tries_so_many_on_its_way_and_leaves_the_rest_to_the_next(self, boardroom):
        boardroom.inboxes.refuse = FileBusy("held")
        for number in range(MOST_AT_ONCE + 1):
            send(boardroom, "crew", "ann", letter(str(number)))
        boardroom.inboxes.refuse = None
        boardroom.clock.pass_time(4000)
        passes = [drain(boardroom), drain(boardroom)]
        assert [(one.delivered, one.waiting) for one in passes] == [(MOST_AT_ONCE, 1), (1, 0)]
        assert texts(boardroom) == [str(number) for number in range(MOST_AT_ONCE + 1)]

    @pytest.mark.parametrize(
        ("wait", "is_due"),
        [(-1.0, True), (0.0, True), (1.0, False), (1.25 * LONGEST_WAIT, False), (1.25 * LONGEST_WAIT + 1, True)],
    )
    def test_it_is_due_when_its_time_has_come_or_is_further_away_than_any_wait(self, boardroom, wait, is_due):
        """Further away than any wait: then the clock was set back since."""
        boardroom.inboxes.refuse = FileBusy("held")
        send(boardroom, "crew", "ann", letter())
        boardroom.inboxes.refuse = None
        spooled = boardroom.spool.pending()[0]
        spooled.entry.next_attempt = boardroom.clock.now() + wait
        boardroom.spool.postpone(spooled)
        assert drain(boardroom).delivered == int(is_due)

    def test_dropping_is_entered(self, boardroom):
        boardroom.inboxes.refuse = FileBusy("held")
        sent = send(boardroom, "crew", "ann", letter())
        drop(boardroom, boardroom.spool.pending()[0])
        assert boardroom.spool.is_empty()
        assert states(boardroom, sent.message_id) == ["queued", "failed"]


class TestPuttingBack:
    @proves("R001-3.2-40")
    def test_a_row_dropped_by_a_stale_rewrite_comes_back(self, boardroom):
        sent = send(boardroom, "crew", "ann", letter())
        boardroom.inboxes.foreign_rewrite("crew", "ann", [])
        assert put_back_dropped(boardroom, crew(boardroom)) == 1
        assert texts(boardroom) == ["hello"]
        assert states(boardroom, sent.message_id) == ["written", "restored"]

    @proves("R001-3.2-28", "R001-3.2-29", "R001-3.2-30", "R001-3.2-39")
    def test_the_next_send_brings_it_back_in_its_place(self, boardroom):
        send(boardroom, "crew", "ann", letter("first"))
        second = send(boardroom, "crew", "ann", letter("second"))
        boardroom.inboxes.foreign_rewrite("crew", "ann", [second.message])
        send(boardroom, "crew", "ann", letter("third"))
        assert texts(boardroom) == ["first", "second", "third"]

    def test_a_row_that_is_dropped_again_comes_back_again_but_not_for_ever(self, boardroom):
        send(boardroom, "crew", "ann", letter())
        came_back = 0
        for _ in range(MOST_RESTORES + 5):
            boardroom.inboxes.foreign_rewrite("crew", "ann", [])
            came_back += put_back_dropped(boardroom, crew(boardroom))
        assert came_back == MOST_RESTORES

    def test_a_row_that_its_owner_read_stays_away(self, boardroom):
        send(boardroom, "crew", "ann", letter())
        take(boardroom, "crew", "ann", Filter())
        boardroom.inboxes.foreign_rewrite("crew", "ann", [])
        assert put_back_dropped(boardroom, crew(boardroom), everything=True) == 0

    def test_a_row_that_was_given_back_unread_is_put_back(self, boardroom):
        send(boardroom, "crew", "ann", letter())
        read_in_vain(boardroom)
        boardroom.inboxes.foreign_rewrite("crew", "ann", [])
        assert put_back_dropped(boardroom, crew(boardroom)) == 1

    def test_a_row_that_clean_up_removed_stays_away(self, boardroom):
        for number in range(9):
            send(boardroom, "crew", "ann", letter(str(number)))
        take(boardroom, "crew", "ann", Filter())
        boardroom.clock.pass_time(3 * DAY)
        compact(boardroom, "crew", "ann")
        assert put_back_dropped(boardroom, crew(boardroom), everything=True) == 0

    def test_a_message_given_up_once_and_delivered_later_is_put_back(self, boardroom):
        boardroom.inboxes.refuse = FileBusy("held")
        send(boardroom, "crew", "ann", letter())
        for _ in range(10):
            drain(boardroom)
            boardroom.clock.pass_time(4000)
        boardroom.inboxes.refuse = None
        boardroom.spool.revive(boardroom.spool.failed()[0])
        drain(boardroom, everything=True)
        boardroom.inboxes.foreign_rewrite("crew", "ann", [])
        assert put_back_dropped(boardroom, crew(boardroom)) == 1

    def test_in_a_large_team_a_send_looks_at_its_own_inbox_alone(self, boardroom):
        from atm.mail.services.mailroom import MOST_LOOKED_AT

        for number in range(MOST_LOOKED_AT + 1):
            boardroom.inboxes.create("crew", f"member-{number}")
        looked: list[str] = []

        def touched(_, agent):
            looked.append(agent)
            return False

        boardroom.inboxes.touched = touched
        send(boardroom, "crew", "ann", letter())
        assert looked == ["ann"]

    def test_a_send_through_the_daemon_looks_at_its_own_inbox_alone(self, boardroom):
        """The daemon itself looks at every inbox that changes."""
        looked: list[str] = []

        def touched(_, agent):
            looked.append(agent)
            return False

        boardroom.inboxes.touched = touched
        boardroom.has_keeper = True
        send(boardroom, "crew", "ann", letter())
        assert looked == ["ann"]

    def test_in_a_team_that_is_just_not_too_large_a_send_looks_at_everybodys(self, boardroom):
        from atm.mail.services.mailroom import MOST_LOOKED_AT

        lost = send(boardroom, "crew", "bob", letter("for bob"))
        for number in range(MOST_LOOKED_AT - len(crew(boardroom).names)):
            boardroom.inboxes.create("crew", f"member-{number}")
        boardroom.inboxes.foreign_rewrite("crew", "bob", [])
        send(boardroom, "crew", "ann", letter())
        assert texts(boardroom, "bob") == ["for bob"]
        assert states(boardroom, lost.message_id) == ["written", "restored"]

    def test_the_check_up_is_told_how_many_rows_are_missing(self, boardroom):
        for text in ("one", "two", "three"):
            send(boardroom, "crew", "ann", letter(text))
        send(boardroom, "crew", "bob", letter("for bob"))
        boardroom.inboxes.foreign_rewrite("crew", "ann", boardroom.inboxes.rows("crew", "ann")[:1])
        entries = boardroom.ledger.entries("crew")[0]
        assert missing_rows(boardroom, boardroom.rosters.load("crew"), entries) == 2
        assert (
            missing_rows(boardroom, Team(name="session-1a2b3c4d", members=[]), entries) == 0
        )  # there, it was consumed

    def test_a_message_that_is_missing_counts_once_whatever_was_entered_about_it(self, boardroom):
        id = send(boardroom, "crew", "ann", letter()).message_id
        record(boardroom, "crew", "ann", [id], "surfaced", "hook of a test")
        record(boardroom, "crew", "ann", [id], "returned", "it was not shown after all")
        boardroom.inboxes.foreign_rewrite("crew", "ann", [])
        entries = boardroom.ledger.entries("crew")[0]
        assert missing_rows(boardroom, boardroom.rosters.load("crew"), entries) == 1

    def test_a_line_about_a_message_without_an_id_says_of_none_that_it_is_missing(self, boardroom):
        line = Line(kind=MESSAGE, ids=[], agent="ann", state="written", at="2026-08-27T10:15:30.123Z", evidence="")
        assert missing_rows(boardroom, boardroom.rosters.load("crew"), [Entry(1, line)]) == 0

    def test_whose_inbox_could_not_be_looked_at_is_told_and_the_others_get_theirs_back(self, boardroom):
        for agent in ("ann", "bob"):
            send(boardroom, "crew", agent, letter())
        for agent in ("ann", "bob"):
            boardroom.inboxes.foreign_rewrite("crew", agent, [])
        missing = boardroom.inboxes.missing

        def refuse_ann(team, agent, ids):
            if agent == "ann":
                raise UnreadableFile("torn")
            return missing(team, agent, ids)

        boardroom.inboxes.missing = refuse_ann
        unable: list[str] = []
        assert put_back_dropped(boardroom, crew(boardroom), unable=unable) == 1
        assert unable == ["ann"]
        assert put_back_dropped(boardroom, crew(boardroom)) == 0
        assert (texts(boardroom), texts(boardroom, "bob")) == ([], ["hello"])

    def test_an_inbox_nobody_else_touched_is_not_even_looked_at(self, boardroom):
        send(boardroom, "crew", "ann", letter())
        boardroom.inboxes.missing = None  # would fail if it were called
        assert put_back_dropped(boardroom, crew(boardroom)) == 0


class TestReading:
    def test_a_row_turned_back_to_unread_is_not_shown_twice(self, boardroom):
        sent = send(boardroom, "crew", "ann", letter())
        take(boardroom, "crew", "ann", Filter())
        boardroom.inboxes.foreign_rewrite("crew", "ann", [sent.message])
        assert peek(boardroom, "crew", "ann", Filter()).messages == []
        assert take(boardroom, "crew", "ann", Filter()).messages == []

    def test_exactly_what_is_shown_is_marked(self, boardroom):
        for number in range(4):
            send(boardroom, "crew", "ann", letter(str(number)))
        mail = take(boardroom, "crew", "ann", Filter(limit=2))
        assert [message.text for message in mail.messages] == ["2", "3"]
        assert [row.text for row in boardroom.inboxes.unread("crew", "ann")] == ["0", "1"]

    def test_a_ledger_that_cannot_be_written_hides_no_mail_and_its_reader_is_told(self, boardroom):
        send(boardroom, "crew", "ann", letter())
        boardroom.ledger.refuse = WriteRefused("full")
        mail = take(boardroom, "crew", "ann", Filter())
        assert [message.text for message in mail.messages] == ["hello"]
        assert boardroom.inboxes.unread("crew", "ann") == []
        assert [warning.partition(": ")[::2] for warning in mail.warnings] == [
            ("the ledger could not be written", "full")
        ]

    def test_mail_is_given_back_also_where_that_cannot_be_entered(self, boardroom):
        send(boardroom, "crew", "ann", letter())
        boardroom.ledger.refuse = WriteRefused("full")
        read_in_vain(boardroom)
        assert len(boardroom.inboxes.unread("crew", "ann")) == 1

    def test_a_peek_marks_nothing(self, boardroom):
        send(boardroom, "crew", "ann", letter())
        peek(boardroom, "crew", "ann", Filter())
        assert len(boardroom.inboxes.unread("crew", "ann")) == 1

    @pytest.mark.parametrize(("bytes_more", "left"), [(0, 10), (2, 5)])
    def test_few_rows_are_cleaned_up_after_a_send_only_where_they_are_very_large(
        self, boardroom, monkeypatch, bytes_more, left
    ):
        """Those that were read long ago, but for the last five."""
        old = [make_message(f"old-{n}", read=True, at="2020-01-01T00:00:00.000Z") for n in range(9)]
        boardroom.policy.compact_above = 12
        boardroom.inboxes.foreign_rewrite("crew", "ann", [*old, make_message("new")])
        size = boardroom.inboxes.size("crew", "ann")
        monkeypatch.setattr("atm.mail.services.retention.MOST_READ", (size - bytes_more) / 2)
        to = find_recipient(boardroom, "crew", "ann")
        assert boardroom.policy.may_concern(size)
        assert compact_if_due(boardroom, to) == 10 - left - (1 if bytes_more else 0)

    def test_a_row_too_large_to_show_is_neither_shown_nor_marked(self, boardroom):
        boardroom.inboxes.foreign_rewrite("crew", "ann", [make_message("big", "x" * 9_000_000), make_message("small")])
        mail = take(boardroom, "crew", "ann", Filter())
        assert [message.id for message in mail.messages] == ["small"]
        assert [message.id for message in mail.too_large] == ["big"]
        assert [row.id for row in boardroom.inboxes.unread("crew", "ann")] == ["big"]

    def test_the_largest_row_that_a_sender_of_ours_can_write_is_shown(self, boardroom):
        spare = LARGEST_ROW - len(make_message("largest", "").raw)
        boardroom.inboxes.foreign_rewrite("crew", "ann", [make_message("largest", "x" * spare)])
        mail = take(boardroom, "crew", "ann", Filter())
        assert [len(message.raw) for message in mail.messages] == [LARGEST_ROW]
        assert mail.too_large == []

    @pytest.mark.parametrize("wanted", [Filter(), Filter(everything=True)], ids=["unread", "everything"])
    def test_a_reader_who_polls_waits_for_nobodys_turn_while_there_is_nothing_new(self, boardroom, monkeypatch, wanted):
        send(boardroom, "crew", "ann", letter())
        take(boardroom, "crew", "ann", Filter())
        monkeypatch.setattr(reading, "CHEAP_LOOK", boardroom.inboxes.size("crew", "ann"))
        boardroom.surfacings.turn = None  # would fail if it were called
        assert [message for message in take(boardroom, "crew", "ann", wanted).messages if not message.read] == []

    def test_an_inbox_that_is_costly_to_look_at_is_looked_at_in_turn_alone(self, boardroom, monkeypatch):
        send(boardroom, "crew", "ann", letter())
        take(boardroom, "crew", "ann", Filter())
        monkeypatch.setattr(reading, "CHEAP_LOOK", boardroom.inboxes.size("crew", "ann") - 1)
        boardroom.inboxes.unread = None  # would fail if somebody looked before it was their turn
        boardroom.inboxes.claim = lambda _team, _agent, choose: choose([])
        assert take(boardroom, "crew", "ann", Filter()).messages == []

    @proves("R001-3.1-20")
    def test_unknown_fields_are_noted_once(self, boardroom):
        from atm.mail.formats.inbox import decode_row

        odd = decode_row('{"from": "x", "text": "y", "timestamp": "", "read": false, "novel": 1}')
        boardroom.inboxes.foreign_rewrite("crew", "ann", [odd])
        peek(boardroom, "crew", "ann", Filter())
        peek(boardroom, "crew", "ann", Filter())
        assert boardroom.drift.seen() == [{"kind": "inbox", "field": "novel"}]

    @pytest.mark.parametrize("cheap", [-1, 1 << 20])
    def test_unknown_fields_of_what_is_read_are_noted(self, boardroom, monkeypatch, cheap):
        from atm.mail.formats.inbox import decode_row

        odd = decode_row('{"from": "x", "text": "y", "timestamp": "", "read": false, "novel": 1}')
        boardroom.inboxes.foreign_rewrite("crew", "ann", [odd])
        monkeypatch.setattr("atm.mail.services.reading.CHEAP_LOOK", cheap)
        take(boardroom, "crew", "ann", Filter())
        assert boardroom.drift.seen() == [{"kind": "inbox", "field": "novel"}]

    @pytest.mark.parametrize(
        ("wanted", "expected"),
        [
            (Filter(sender="BOB"), ["one"]),
            (Filter(sender="nobody"), []),
            (Filter(limit=0), []),
            (Filter(limit=9), ["one", "two"]),
        ],
    )
    def test_filters(self, boardroom, wanted, expected):
        send(boardroom, "crew", "ann", letter("one"))
        send(boardroom, "crew", "ann", Draft(sender="cleo", text="two"))
        assert [message.text for message in peek(boardroom, "crew", "ann", wanted).messages] == expected

    def test_since_a_time_means_after_it_and_a_time_that_cannot_be_read_hides_nothing(self, boardroom):
        noon = "2026-09-01T12:00:00.000Z"
        times = {"before": "2026-09-01T11:59:59.999Z", "then": noon, "after": "2026-09-01T12:00:00.001Z", "odd": "noon"}
        boardroom.inboxes.foreign_rewrite("crew", "ann", [make_message(id, at=at) for id, at in times.items()])
        mail = peek(boardroom, "crew", "ann", Filter(since=from_iso(noon)))
        assert [message.id for message in mail.messages] == ["after", "odd"]


class TestCleanUp:
    def fill(self, boardroom, count=30, *, read=True):
        for number in range(count):
            send(boardroom, "crew", "ann", letter(f"text {number}"))
        if read:
            take(boardroom, "crew", "ann", Filter())

    @proves("R000-compaction-02")
    def test_it_archives_before_it_removes_and_keeps_what_the_policy_keeps(self, boardroom):
        self.fill(boardroom, 12)
        boardroom.clock.pass_time(2 * DAY)
        done = compact(boardroom, "crew", "ann")
        assert (done.removed, done.kept) == (7, 5)
        assert [row.text for row in Inbox(boardroom.archive.kept[done.archive_path]).rows] == [
            f"text {n}" for n in range(7)
        ]
        assert texts(boardroom) == [f"text {n}" for n in range(7, 12)]

    @proves("R000-compaction-04")
    def test_unread_mail_stays_however_old(self, boardroom):
        self.fill(boardroom, 12, read=False)
        boardroom.clock.pass_time(100 * DAY)
        assert compact(boardroom, "crew", "ann").removed == 0
        assert len(texts(boardroom)) == 12

    def test_a_dry_run_changes_nothing(self, boardroom):
        self.fill(boardroom, 12)
        boardroom.clock.pass_time(2 * DAY)
        assert compact(boardroom, "crew", "ann", dry_run=True).removed == 7
        assert len(texts(boardroom)) == 12

    @proves("R000-compaction-01")
    def test_a_send_cleans_up_an_inbox_that_has_grown_large(self, boardroom):
        self.fill(boardroom, 30)
        boardroom.clock.pass_time(2 * DAY)
        send(boardroom, "crew", "ann", letter("new"))
        assert len(texts(boardroom)) == 6

    @proves("R000-compaction-08")
    @pytest.mark.parametrize(("before", "left"), [(19, 20), (20, 6)])
    def test_an_inbox_is_large_when_it_has_more_rows_than_the_policy_says(self, boardroom, before, left):
        self.fill(boardroom, before)
        boardroom.clock.pass_time(2 * DAY)
        send(boardroom, "crew", "ann", letter("new"))
        assert len(texts(boardroom)) == left

    def test_a_pass_that_removed_nothing_is_not_paid_again_by_the_next_send(self, boardroom):
        self.fill(boardroom, 30, read=False)
        passes: list[str] = []
        boardroom.marks.put_off = lambda *words: passes.append(words[1])
        for number in range(3):
            send(boardroom, "crew", "ann", letter(str(number)))
        assert passes == []

    def test_a_team_that_cannot_be_read_is_named_and_the_others_are_cleaned_up(self, boardroom):
        self.fill(boardroom, 12)
        boardroom.clock.pass_time(2 * DAY)
        done = {(one.team, one.agent): one for one in cleanup(boardroom, ["nobody", "crew"])}
        assert isinstance(done["nobody", "?"].error, NoSuchTeam)
        assert (done["crew", "ann"].error, done["crew", "ann"].removed) == (None, 7)

    def test_an_inbox_that_cannot_be_cleaned_up_is_named_and_the_others_are(self, boardroom):
        self.fill(boardroom, 12)
        boardroom.clock.pass_time(2 * DAY)
        boardroom.ledger.refuse = WriteRefused("full")
        done = {one.agent: one for one in cleanup(boardroom, ["crew"])}
        assert isinstance(done["ann"].error, WriteRefused)
        assert done["bob"].error is None
        assert len(texts(boardroom)) == 12

    def test_after_a_pass_the_next_send_does_not_count_the_rows_again(self, boardroom):
        self.fill(boardroom, 30, read=False)
        boardroom.inboxes.most_rows = None  # would fail if it were called
        assert send(boardroom, "crew", "ann", letter("new")).outcome == "success"

    def test_inboxes_that_claude_code_reads_are_left_to_it(self, boardroom):
        add_member(boardroom, "crew", Member("dora", backend="claude-code"))
        done = {one.agent: one for one in cleanup(boardroom, ["crew"])}
        assert done["dora"].skipped
        assert not done["ann"].skipped
        boardroom.compact_claudes = True
        assert not {one.agent: one for one in cleanup(boardroom, ["crew"])}["dora"].skipped

    @pytest.mark.parametrize(("is_allowed", "left"), [(False, 31), (True, 6)])
    def test_a_send_cleans_up_what_claude_code_reads_only_where_that_is_allowed(self, boardroom, is_allowed, left):
        add_member(boardroom, "crew", Member("dora", backend="claude-code"))
        for number in range(30):
            send(boardroom, "crew", "dora", letter(f"text {number}"))
        take(boardroom, "crew", "dora", Filter())
        boardroom.clock.pass_time(2 * DAY)
        boardroom.compact_claudes = is_allowed
        send(boardroom, "crew", "dora", letter("new"))
        assert len(texts(boardroom, "dora")) == left


def test_what_was_for_somebody_who_had_that_name_before_is_not_missing(boardroom):
    """D26. It joined after that was written."""
    send(boardroom, "crew", "ann", letter())
    boardroom.inboxes.foreign_rewrite("crew", "ann", [])
    entries = boardroom.ledger.entries("crew")[0]
    boardroom.clock.pass_time(60)
    now = boardroom.clock.now()
    for joined, missing in ((now - 120, 1), (now - 10, 0), (now + 3600, 1)):
        crew = Team(name="crew", members=[Member("ann", joined_at=joined)])
        assert missing_rows(boardroom, crew, entries) == missing
