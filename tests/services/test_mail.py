"""Sending, broadcasting, and what happens when an inbox cannot be written."""

from __future__ import annotations

import pytest

from atm.domain.errors import (
    BadMessage,
    FileBusy,
    NoSuchMember,
    NoSuchTeam,
    OutsideLink,
    RequestError,
    UnreadableFile,
    WriteRefused,
)
from atm.domain.team.team import Member
from atm.services.mail.mailroom import find_recipient, sender_address
from atm.services.mail.posting import QUEUED_WARNING, Draft
from atm.services.mail.sending import broadcast, plan, send
from atm.services.mail.spooling import drain
from atm.services.roster.members import add_member, create_team
from atm.services.team.registry import find_default_team
from atm.testing import make_message


def letter(text="hello", **more):
    return Draft(sender="bob", text=text, **more)


def texts(desk, agent="ann"):
    return [row.text for row in desk.inboxes.rows("crew", agent)]


def test_a_message_is_written_and_entered_in_the_ledger(desk):
    sent = send(desk, "crew", "ann", letter())
    assert (sent.outcome, sent.seq, sent.team, sent.agent) == ("success", 1, "crew", "ann")
    assert texts(desk) == ["hello"]
    entry = desk.ledger.entries("crew")[0][0]
    assert (entry.ids, entry.agent, entry.state) == ([sent.message_id], "ann", "written")


def test_the_row_says_who_what_when_and_unread(desk):
    send(desk, "crew", "ann", letter("hello world"))
    row = desk.inboxes.rows("crew", "ann")[0]
    assert (row.sender, row.read, row.summary, row.kind) == ("bob", False, "hello world", "message")
    assert row.timestamp.endswith("Z")


def test_names_are_found_in_any_case(desk):
    sent = send(desk, "CREW", "Ann", letter())
    assert (sent.team, sent.agent) == ("crew", "ann")


def test_a_mistyped_name_makes_no_inbox_and_is_told_the_nearest(desk):
    with pytest.raises(NoSuchMember) as caught:
        send(desk, "crew", "anne", letter())
    assert "'ann'" in caught.value.remedy
    assert "anne" not in desk.inboxes.owners("crew")


def test_somebody_who_left_but_has_an_inbox_is_offline_and_still_gets_mail(desk):
    desk.inboxes.create("crew", "former")
    sent = send(desk, "crew", "former", letter(action="LATER"))
    assert sent.offline
    assert texts(desk, "former") == ["[LATER] hello"]


def test_a_recipient_who_is_away_gets_the_call_to_action(desk):
    sent = send(desk, "crew", "cleo", letter(action="PENDING ACTION - execute when online"))
    assert (sent.offline, sent.tagged) == (True, True)
    assert texts(desk, "cleo") == ["[PENDING ACTION - execute when online] hello"]
    assert desk.inboxes.rows("crew", "cleo")[0].summary == "hello"


def test_an_empty_call_to_action_means_none(desk):
    sent = send(desk, "crew", "cleo", letter(action=""))
    assert (sent.offline, sent.tagged) == (True, False)
    assert texts(desk, "cleo") == ["hello"]


def test_nobody_who_is_not_known_to_be_away_is_tagged(desk):
    send(desk, "crew", "ann", letter(action="LATER"))
    assert texts(desk) == ["hello"]


@pytest.mark.parametrize("text", ["", "   \n\t", "a\0b", "x" * (1024 * 1024 + 1), '{"type": "permission_response"}'])
def test_what_cannot_be_sent_is_refused_and_nothing_is_written(desk, text):
    with pytest.raises(BadMessage):
        send(desk, "crew", "ann", letter(text))
    assert texts(desk) == []
    assert desk.spool.is_empty()


def test_a_text_of_exactly_one_mebibyte_is_sent(desk):
    assert send(desk, "crew", "ann", letter("x" * 1024 * 1024)).outcome == "success"


def test_a_plan_writes_nothing(desk):
    sent = plan(desk, "crew", "cleo", letter(action="LATER"))
    assert sent.message.text == "[LATER] hello"
    assert texts(desk, "cleo") == []
    assert desk.ledger.entries("crew") == ([], 0)


def test_what_is_refused_is_tried_again_after_a_pause_and_only_then_queued(desk, monkeypatch):
    refusals: list[Exception] = [WriteRefused("full"), UnreadableFile("torn")]
    append, begun = desk.inboxes.append, desk.clock.monotonic()

    def reluctant(*given, **options):
        if refusals:
            raise refusals.pop()
        return append(*given, **options)

    monkeypatch.setattr(desk.inboxes, "append", reluctant)
    assert send(desk, "crew", "ann", letter()).outcome == "success"
    assert texts(desk) == ["hello"]
    assert desk.clock.monotonic() > begun


@pytest.mark.parametrize("refusal", [FileBusy("held"), WriteRefused("full"), UnreadableFile("torn")])
def test_what_cannot_be_written_now_is_queued(desk, refusal):
    desk.inboxes.refuse = refusal
    sent = send(desk, "crew", "ann", letter())
    assert sent.outcome == "queued"
    assert sent.warnings[0] == QUEUED_WARNING
    assert sent.spool_path
    assert sent.seq == 1
    desk.inboxes.refuse = None
    assert drain(desk, everything=True).delivered == 1
    assert texts(desk) == ["hello"]


def test_a_link_that_leads_outside_is_refused_not_queued(desk):
    desk.inboxes.refuse = OutsideLink("out")
    with pytest.raises(OutsideLink):
        send(desk, "crew", "ann", letter())
    assert desk.spool.is_empty()


def test_a_team_that_vanished_is_an_error_not_a_success(desk):
    desk.inboxes.refuse = NoSuchTeam("gone")
    with pytest.raises(NoSuchTeam):
        send(desk, "crew", "ann", letter())


def test_a_ledger_that_cannot_be_written_does_not_make_the_sender_send_twice(desk):
    desk.ledger.refuse = WriteRefused("full")
    sent = send(desk, "crew", "ann", letter())
    assert (sent.outcome, sent.seq) == ("success", None)
    assert any("ledger" in warning for warning in sent.warnings)
    assert texts(desk) == ["hello"]


def test_one_senders_messages_arrive_in_order_even_through_the_spool(desk):
    desk.inboxes.refuse = FileBusy("held")
    send(desk, "crew", "ann", letter("first"))
    send(desk, "crew", "ann", letter("second"))
    desk.inboxes.refuse = None
    send(desk, "crew", "ann", letter("third"))
    assert texts(desk) == ["first", "second", "third"]
    assert desk.spool.is_empty()


def test_mail_behind_waiting_mail_waits_too(desk):
    desk.inboxes.refuse = FileBusy("held")
    send(desk, "crew", "ann", letter("first"))
    sent = send(desk, "crew", "ann", letter("second"))
    assert sent.outcome == "queued"
    assert "earlier mail" in sent.warnings[1]


def test_a_broadcast_reaches_everybody_but_the_sender_under_one_id(desk):
    message_id, copies = broadcast(desk, "crew", letter())
    assert [copy.agent for copy in copies] == ["ann", "cleo"]
    assert {copy.message_id for copy in copies} == {message_id}
    assert texts(desk, "bob") == []


def test_one_failed_copy_stops_nobody_else(desk):
    real = desk.inboxes.append

    def refuse_ann(team, agent, rows, **options):
        if agent == "ann":
            raise OutsideLink("out")
        return real(team, agent, rows, **options)

    desk.inboxes.append = refuse_ann
    _, copies = broadcast(desk, "crew", letter())
    assert [copy.outcome for copy in copies] == ["failed", "success"]


def test_a_broadcast_to_nobody_is_an_error(desk):
    create_team(desk, "alone")
    add_member(desk, "alone", Member("bob"))
    with pytest.raises(RequestError):
        broadcast(desk, "alone", letter())


def test_the_only_team_is_the_default(desk):
    assert find_default_team(desk) == "crew"
    create_team(desk, "other")
    with pytest.raises(NoSuchTeam):
        find_default_team(desk)


def test_across_teams_the_sender_names_its_own(desk):
    create_team(desk, "other")
    assert sender_address(desk, "bob", "crew", "other") == "bob@crew"
    assert sender_address(desk, "bob", "CREW", "crew") == "bob"
    assert sender_address(desk, "stranger", "crew", "other") == "stranger"


def test_rows_in_a_team_of_claude_code_have_its_fields_only(desk):
    from atm.formats.files.json_record import decode_object
    from atm.formats.team.team_config import new_member, new_team, with_member

    name = "session-1a2b3c4d"
    entry = new_member(Member("team-lead", agent_type="team-lead", cwd="/"), name, 1.0)
    desk.rosters.create(name, with_member(new_team(name, description="", lead="team-lead", now=1.0), entry))
    send(desk, name, "team-lead", letter())
    row = decode_object(desk.inboxes.rows(name, "team-lead")[0].raw)
    assert set(row) == {"from", "text", "summary", "timestamp", "msgV", "msg_id", "type", "read"}
    send(desk, "crew", "ann", letter())
    assert "message_id" in decode_object(desk.inboxes.rows("crew", "ann")[0].raw)


def test_a_recipient_can_be_found_without_the_roster_file_naming_it_lowercase(desk):
    assert find_recipient(desk, "crew", "ANN").agent == "ann"


def test_foreign_rows_stay_where_they_are(desk):
    desk.inboxes.foreign_rewrite("crew", "ann", [make_message("x", "theirs")])
    send(desk, "crew", "ann", letter())
    assert texts(desk) == ["theirs", "hello"]
