"""Sending, broadcasting, and what happens when an inbox cannot be written."""

from __future__ import annotations

import pytest
from tests.proving import proves

from atm.core.errors import (
    BadMessage,
    FileBusy,
    NoSuchMember,
    NoSuchTeam,
    OutsideLink,
    RequestError,
    UnreadableFile,
    WriteRefused,
)
from atm.mail.rules.receipts import ACK_DUE
from atm.mail.services.bookkeeping import all_told, record, shown_at
from atm.mail.services.mailroom import find_recipient, sender_address
from atm.mail.services.posting import QUEUED_WARNING, Draft, compose, deliver, send_to
from atm.mail.services.sending import broadcast, plan, send
from atm.mail.services.spooling import drain
from atm.roster.services.members import add_member, create_team
from atm.team.rules.choosing import Whereabouts
from atm.team.rules.team import Member
from atm.team.services.choosing import choose_team
from atm.testing import make_message


def letter(text="hello", **more):
    return Draft(sender="bob", text=text, **more)


def texts(boardroom, agent="ann"):
    return [row.text for row in boardroom.inboxes.rows("crew", agent)]


@proves("R001-3.3-25", "R003-5.1-06")
def test_a_message_is_written_and_entered_in_the_ledger(boardroom):
    sent = send(boardroom, "crew", "ann", letter())
    assert (sent.outcome, sent.seq, sent.team, sent.agent) == ("success", 1, "crew", "ann")
    assert texts(boardroom) == ["hello"]
    entry = boardroom.ledger.entries("crew")[0][0]
    assert (entry.ids, entry.agent, entry.state) == ([sent.message_id], "ann", "written")


@proves("R003-1.1-26", "R003-1.1-28")
def test_the_row_says_who_what_when_and_unread(boardroom):
    send(boardroom, "crew", "ann", letter("hello world"))
    row = boardroom.inboxes.rows("crew", "ann")[0]
    assert (row.sender, row.read, row.summary, row.kind) == ("bob", False, "hello world", "message")
    assert row.timestamp.endswith("Z")


def test_names_are_found_in_any_case(boardroom):
    sent = send(boardroom, "CREW", "Ann", letter())
    assert (sent.team, sent.agent) == ("crew", "ann")


@proves("R001-4.2-send-12")
def test_a_mistyped_name_makes_no_inbox_and_is_told_the_nearest(boardroom):
    with pytest.raises(NoSuchMember) as caught:
        send(boardroom, "crew", "anne", letter())
    assert "'ann'" in caught.value.remedy
    assert "anne" not in boardroom.inboxes.owners("crew")


def test_somebody_who_left_but_has_an_inbox_is_offline_and_still_gets_mail(boardroom):
    boardroom.inboxes.create("crew", "former")
    sent = send(boardroom, "crew", "former", letter(action="LATER"))
    assert sent.offline
    assert texts(boardroom, "former") == ["[LATER] hello"]


def test_a_recipient_who_is_away_gets_the_call_to_action(boardroom):
    sent = send(boardroom, "crew", "cleo", letter(action="PENDING ACTION - execute when online"))
    assert (sent.offline, sent.tagged) == (True, True)
    assert texts(boardroom, "cleo") == ["[PENDING ACTION - execute when online] hello"]
    assert boardroom.inboxes.rows("crew", "cleo")[0].summary == "hello"


def test_an_empty_call_to_action_means_none(boardroom):
    sent = send(boardroom, "crew", "cleo", letter(action=""))
    assert (sent.offline, sent.tagged) == (True, False)
    assert texts(boardroom, "cleo") == ["hello"]


def test_nobody_who_is_not_known_to_be_away_is_tagged(boardroom):
    send(boardroom, "crew", "ann", letter(action="LATER"))
    assert texts(boardroom) == ["hello"]


@pytest.mark.parametrize("text", ["", "   \n\t", "a\0b", "x" * (1024 * 1024 + 1), '{"type": "permission_response"}'])
def test_what_cannot_be_sent_is_refused_and_nothing_is_written(boardroom, text):
    with pytest.raises(BadMessage):
        send(boardroom, "crew", "ann", letter(text))
    assert texts(boardroom) == []
    assert boardroom.spool.is_empty()


@proves("R001-8.1-06")
def test_a_text_of_exactly_one_mebibyte_is_sent(boardroom):
    assert send(boardroom, "crew", "ann", letter("x" * 1024 * 1024)).outcome == "success"


def test_a_plan_writes_nothing(boardroom):
    sent = plan(boardroom, "crew", "cleo", letter(action="LATER"))
    assert sent.message.text == "[LATER] hello"
    assert texts(boardroom, "cleo") == []
    assert boardroom.ledger.entries("crew") == ([], 0)


@proves("R001-3.3-17")
def test_what_is_refused_is_tried_again_after_a_pause_and_only_then_queued(boardroom, monkeypatch):
    refusals: list[Exception] = [WriteRefused("full"), UnreadableFile("torn")]
    append, begun = boardroom.inboxes.append, boardroom.clock.monotonic()

    def reluctant(*given, **options):
        if refusals:
            raise refusals.pop()
        return append(*given, **options)

    monkeypatch.setattr(boardroom.inboxes, "append", reluctant)
    assert send(boardroom, "crew", "ann", letter()).outcome == "success"
    assert texts(boardroom) == ["hello"]
    assert boardroom.clock.monotonic() > begun


@proves("R001-3.2-03", "R001-3.2-04", "R001-3.3-24", "R001-3.3-27")
@pytest.mark.parametrize("refusal", [FileBusy("held"), WriteRefused("full"), UnreadableFile("torn")])
def test_what_cannot_be_written_now_is_queued(boardroom, refusal):
    boardroom.inboxes.refuse = refusal
    sent = send(boardroom, "crew", "ann", letter())
    assert sent.outcome == "queued"
    assert sent.warnings[0] == QUEUED_WARNING
    assert sent.spool_path
    assert sent.seq == 1
    boardroom.inboxes.refuse = None
    assert drain(boardroom, everything=True).delivered == 1
    assert texts(boardroom) == ["hello"]


def test_a_link_that_leads_outside_is_refused_not_queued(boardroom):
    boardroom.inboxes.refuse = OutsideLink("out")
    with pytest.raises(OutsideLink):
        send(boardroom, "crew", "ann", letter())
    assert boardroom.spool.is_empty()


def test_a_team_that_vanished_is_an_error_not_a_success(boardroom):
    boardroom.inboxes.refuse = NoSuchTeam("gone")
    with pytest.raises(NoSuchTeam):
        send(boardroom, "crew", "ann", letter())


def test_a_ledger_that_cannot_be_written_does_not_make_the_sender_send_twice(boardroom):
    boardroom.ledger.refuse = WriteRefused("full")
    sent = send(boardroom, "crew", "ann", letter())
    assert (sent.outcome, sent.seq) == ("success", None)
    assert any("ledger" in warning for warning in sent.warnings)
    assert texts(boardroom) == ["hello"]


def test_one_senders_messages_arrive_in_order_even_through_the_spool(boardroom):
    boardroom.inboxes.refuse = FileBusy("held")
    send(boardroom, "crew", "ann", letter("first"))
    send(boardroom, "crew", "ann", letter("second"))
    boardroom.inboxes.refuse = None
    send(boardroom, "crew", "ann", letter("third"))
    assert texts(boardroom) == ["first", "second", "third"]
    assert boardroom.spool.is_empty()


def test_mail_behind_waiting_mail_waits_too(boardroom):
    boardroom.inboxes.refuse = FileBusy("held")
    send(boardroom, "crew", "ann", letter("first"))
    sent = send(boardroom, "crew", "ann", letter("second"))
    assert sent.outcome == "queued"
    assert "earlier mail" in sent.warnings[1]


@proves("R001-4.2-broadcast-04", "R004-messaging-M6")
def test_a_broadcast_reaches_everybody_but_the_sender_under_one_id(boardroom):
    message_id, copies = broadcast(boardroom, "crew", letter())
    assert [copy.agent for copy in copies] == ["ann", "cleo"]
    assert {copy.message_id for copy in copies} == {message_id}
    assert texts(boardroom, "bob") == []


def test_one_failed_copy_stops_nobody_else(boardroom):
    real = boardroom.inboxes.append

    def refuse_ann(team, agent, rows, **options):
        if agent == "ann":
            raise OutsideLink("out")
        return real(team, agent, rows, **options)

    boardroom.inboxes.append = refuse_ann
    _, copies = broadcast(boardroom, "crew", letter())
    assert [copy.outcome for copy in copies] == ["failed", "success"]


def test_a_broadcast_to_nobody_is_an_error(boardroom):
    create_team(boardroom, "alone")
    add_member(boardroom, "alone", Member("bob"))
    with pytest.raises(RequestError):
        broadcast(boardroom, "alone", letter())


def test_the_only_team_is_the_default(boardroom):
    assert choose_team(boardroom, Whereabouts()).team == "crew"
    create_team(boardroom, "other")
    with pytest.raises(NoSuchTeam):
        choose_team(boardroom, Whereabouts())


def test_across_teams_the_sender_names_its_own(boardroom):
    create_team(boardroom, "other")
    assert sender_address(boardroom, "bob", "crew", "other") == "bob@crew"
    assert sender_address(boardroom, "bob", "CREW", "crew") == "bob"
    assert sender_address(boardroom, "stranger", "crew", "other") == "stranger"


def test_rows_in_a_team_of_claude_code_have_its_fields_only(boardroom):
    from atm.files.formats.json_record import decode_object
    from atm.team.formats.team_config import new_member, new_team, with_member

    name = "session-1a2b3c4d"
    entry = new_member(Member("team-lead", agent_type="team-lead", cwd="/"), name, 1.0)
    boardroom.rosters.create(name, with_member(new_team(name, description="", lead="team-lead", now=1.0), entry))
    send(boardroom, name, "team-lead", letter())
    row = decode_object(boardroom.inboxes.rows(name, "team-lead")[0].raw)
    assert set(row) == {"from", "text", "summary", "timestamp", "msgV", "msg_id", "type", "read"}
    send(boardroom, "crew", "ann", letter())
    assert "message_id" in decode_object(boardroom.inboxes.rows("crew", "ann")[0].raw)


def test_a_recipient_can_be_found_without_the_roster_file_naming_it_lowercase(boardroom):
    assert find_recipient(boardroom, "crew", "ANN").agent == "ann"


def test_foreign_rows_stay_where_they_are(boardroom):
    boardroom.inboxes.foreign_rewrite("crew", "ann", [make_message("x", "theirs")])
    send(boardroom, "crew", "ann", letter())
    assert texts(boardroom) == ["theirs", "hello"]


@pytest.mark.parametrize("refusal", [None, FileBusy("held")], ids=["written", "queued"])
def test_an_acknowledgement_is_due_whichever_way_the_message_went(boardroom, refusal):
    boardroom.inboxes.refuse = refusal
    sent = send(boardroom, "crew", "ann", letter(ack_minutes=5))
    entries = boardroom.ledger.entries("crew")[0]
    assert [(entry.ids, entry.state) for entry in entries] == [
        ([sent.message_id], "queued" if refusal else "written"),
        ([sent.message_id], ACK_DUE),
    ]
    assert entries[1].evidence == "within 5 min"


@pytest.mark.parametrize(("ack_minutes", "warnings"), [(None, 1), (5, 2)])
def test_where_the_ledger_fails_the_sender_learns_that_nobody_will_miss_the_acknowledgement(
    boardroom, ack_minutes, warnings
):
    boardroom.ledger.refuse = WriteRefused("full")
    sent = send(boardroom, "crew", "ann", letter(ack_minutes=ack_minutes))
    assert len(sent.warnings) == warnings
    assert ("nobody will be told" in sent.warnings[-1]) == (ack_minutes is not None)


def test_somebody_who_cannot_wait_hears_at_once_that_earlier_mail_does(boardroom):
    boardroom.inboxes.refuse = FileBusy("held")
    send(boardroom, "crew", "ann", letter("first"))
    to = find_recipient(boardroom, "crew", "ann")
    with pytest.raises(FileBusy, match="earlier mail"):
        deliver(boardroom, to, make_message("id-now", "only true now"), may_wait=False)
    assert len(boardroom.spool.pending()) == 1


def test_a_message_without_a_call_to_action_is_not_called_tagged(boardroom):
    to = find_recipient(boardroom, "crew", "cleo")
    sent = send_to(boardroom, to, compose(boardroom, to, letter()))
    assert (sent.offline, sent.tagged) == (True, False)


def test_a_ledger_that_cannot_be_read_tells_nothing_and_whoever_asked_is_told(boardroom, monkeypatch):
    def refused(*_):
        raise UnreadableFile("mailbox.log is no file", "mend it")

    monkeypatch.setattr(boardroom.ledger, "entries", refused)
    assert all_told(boardroom, "crew") == []
    (said,) = boardroom.troubles.all
    assert "mailbox.log is no file" in said


def test_when_somebody_was_shown_a_message(boardroom):
    """Of what was given back, and of what others were shown, it is not."""
    _, copies = broadcast(boardroom, "crew", letter())
    id = copies[0].message_id
    assert shown_at(boardroom, "crew", "ann", id) == 0
    boardroom.clock.pass_time(60)
    first = boardroom.clock.now()
    record(boardroom, "crew", "ann", [id], "surfaced", "hook of a test")
    boardroom.clock.pass_time(60)
    record(boardroom, "crew", "bob", [id], "returned", "somebody else's")
    record(boardroom, "crew", "ann", [id], "read", "and read later")
    assert shown_at(boardroom, "crew", "ann", id) == pytest.approx(first, abs=0.001)
    record(boardroom, "crew", "ann", [id], "returned", "it was not shown after all")
    assert shown_at(boardroom, "crew", "ann", id) == 0
