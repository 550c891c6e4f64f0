"""Requests, replies and acknowledgements; teams and members."""

from __future__ import annotations

import pytest

from atm.core.errors import (
    BadName,
    FileBusy,
    NoSuchMember,
    NoSuchMessage,
    TeamNotOurs,
    WriteRefused,
)
from atm.core.work_errors import AlreadyAnswered, MemberInUse
from atm.mail.formats.inbox import Inbox
from atm.mail.services.conversations import acknowledge, ask, await_answer, find_answer
from atm.mail.services.posting import Draft
from atm.mail.services.reading import Filter, take
from atm.mail.services.sending import send
from atm.mail.services.tracing import trace
from atm.roster.services.members import add_member, create_team, remove_member
from atm.roster.services.recovery import recover
from atm.team.rules.team import Member
from atm.testing import make_message

BOB, ANN = ("bob", "crew"), ("ann", "crew")


def texts(boardroom, agent):
    return [row.text for row in boardroom.inboxes.rows("crew", agent)]


def states(boardroom, id):
    return [entry.state for entry in boardroom.ledger.entries("crew")[0] if id in entry.ids]


class TestRequests:
    def test_the_question_carries_a_marker_and_the_reply_brings_it_back(self, boardroom):
        request_id, sent = ask(boardroom, BOB, ANN, Draft(sender="bob", text="which port?"))
        assert f"Request-ID: {request_id}" in texts(boardroom, "ann")[0]
        acknowledge(boardroom, "crew", "ann", sent.message_id, "8080")
        answer = find_answer(boardroom, BOB, ANN, request_id, sent.message_id)
        assert answer is not None
        assert answer.text.startswith("8080")
        assert boardroom.inboxes.unread("crew", "bob") == []

    def test_a_send_with_reply_to_answers_too_even_by_the_beginning_of_the_id(self, boardroom):
        request_id, sent = ask(boardroom, BOB, ANN, Draft(sender="bob", text="which port?"))
        send(boardroom, "crew", "bob", Draft(sender="ann", text="8080", reply_to=sent.message_id[:10]))
        assert find_answer(boardroom, BOB, ANN, request_id, sent.message_id) is not None
        assert states(boardroom, sent.message_id) == ["written", "answered"]

    def test_an_answer_across_teams_is_recognised(self, boardroom):
        create_team(boardroom, "other")
        add_member(boardroom, "other", Member("dora"))
        dora = ("dora", "other")
        request_id, sent = ask(boardroom, BOB, dora, Draft(sender="bob@crew", text="which port?"))
        reply = Draft(sender="dora@other", text="8080", reply_to=sent.message_id, home="other")
        send(boardroom, "crew", "bob", reply)
        assert find_answer(boardroom, BOB, dora, request_id, sent.message_id) is not None

    def test_what_is_not_in_the_inbox_any_more_can_be_answered_from_the_ledger(self, boardroom):
        request_id, sent = ask(boardroom, BOB, ANN, Draft(sender="bob", text="which port?"))
        take(boardroom, "crew", "ann", Filter())
        boardroom.inboxes.foreign_rewrite("crew", "ann", [])
        send(boardroom, "crew", "bob", Draft(sender="ANN", text="8080", reply_to=sent.message_id[:10]))
        assert texts(boardroom, "ann") == []
        assert f"Request-ID: {request_id}" in texts(boardroom, "bob")[-1]
        assert states(boardroom, sent.message_id) == ["written", "read", "answered"]

    def test_nobody_answers_mail_that_went_to_somebody_else(self, boardroom):
        _, sent = ask(boardroom, BOB, ANN, Draft(sender="bob", text="which port?"))
        with pytest.raises(NoSuchMessage, match="no message to cleo@crew"):
            send(boardroom, "crew", "bob", Draft(sender="cleo", text="8080", reply_to=sent.message_id))
        assert states(boardroom, sent.message_id) == ["written"]

    def test_a_beginning_that_fits_two_messages_answers_neither(self, boardroom):
        boardroom.inboxes.foreign_rewrite("crew", "ann", [make_message("id-1"), make_message("id-12")])
        with pytest.raises(NoSuchMessage, match="2 messages to ann@crew"):
            send(boardroom, "crew", "bob", Draft(sender="ann", text="8080", reply_to="id-"))
        sent = send(boardroom, "crew", "bob", Draft(sender="ann", text="8080", reply_to="id-1"))
        assert states(boardroom, "id-1") == ["answered"]
        assert sent.warnings == []

    def test_an_answer_that_cannot_be_entered_is_sent_and_its_sender_is_told(self, boardroom):
        _, sent = ask(boardroom, BOB, ANN, Draft(sender="bob", text="which port?"))
        boardroom.ledger.refuse = WriteRefused("full")
        reply = send(boardroom, "crew", "bob", Draft(sender="ann", text="8080", reply_to=sent.message_id))
        assert reply.outcome == "success"
        assert [warning for warning in reply.warnings if "the answer was not entered" in warning]

    def test_a_reply_to_nothing_is_refused_and_nothing_is_sent(self, boardroom):
        with pytest.raises(NoSuchMessage):
            send(boardroom, "crew", "bob", Draft(sender="ann", text="8080", reply_to="00000000"))
        assert texts(boardroom, "bob") == []

    def test_somebody_who_asks_himself_is_not_answered_by_the_question(self, boardroom):
        request_id, sent = ask(boardroom, BOB, BOB, Draft(sender="bob", text="am I?"))
        assert find_answer(boardroom, BOB, BOB, request_id, sent.message_id) is None

    def test_only_the_one_who_was_asked_can_answer(self, boardroom):
        request_id, sent = ask(boardroom, BOB, ANN, Draft(sender="bob", text="which port?"))
        send(boardroom, "crew", "bob", Draft(sender="cleo", text=f"1234 {request_id}"))
        assert find_answer(boardroom, BOB, ANN, request_id, sent.message_id) is None

    def test_an_answer_that_was_found_is_entered_as_read_once(self, boardroom):
        request_id, sent = ask(boardroom, BOB, ANN, Draft(sender="bob", text="which port?"))
        reply = acknowledge(boardroom, "crew", "ann", sent.message_id, "8080").reply
        for _ in range(2):
            assert find_answer(boardroom, BOB, ANN, request_id, sent.message_id) is not None
        assert reply is not None
        assert states(boardroom, reply.id) == ["written", "read"]

    def test_an_answer_that_another_reader_took_is_found_all_the_same(self, boardroom):
        request_id, sent = ask(boardroom, BOB, ANN, Draft(sender="bob", text="which port?"))
        acknowledge(boardroom, "crew", "ann", sent.message_id, "8080")
        boardroom.inboxes.claim("crew", "bob", list)
        assert find_answer(boardroom, BOB, ANN, request_id, sent.message_id) is not None


class TestWaiting:
    """For an answer. Between two looks somebody else needs the machine."""

    def test_between_two_looks_it_pauses_and_never_for_longer_than_is_left(self, boardroom):
        left: list[float] = []

        def pause(seconds: float) -> None:
            left.append(seconds)
            boardroom.clock.pass_time(4)

        deadline = boardroom.clock.monotonic() + 10
        assert await_answer(boardroom.clock, lambda: None, deadline, pause) is None
        assert left == [10, 6, 2]

    def test_when_the_time_is_up_it_looks_once_more_and_pauses_no_more(self, boardroom):
        looks: list[int] = []

        def pause(_: float) -> None:
            raise AssertionError("nothing is left to wait for")

        now = boardroom.clock.monotonic()
        assert await_answer(boardroom.clock, lambda: looks.append(1), now, pause) is None
        assert looks == [1]

    def test_an_answer_ends_the_wait_at_once(self, boardroom):
        answers = [None, make_message("id-1", "8080")]
        pauses: list[float] = []
        answer = await_answer(boardroom.clock, lambda: answers.pop(0), boardroom.clock.monotonic() + 10, pauses.append)
        assert answer is not None
        assert (answer.text, len(pauses)) == ("8080", 1)


class TestAcknowledging:
    def test_with_a_reply_both_files_change(self, boardroom):
        sent = send(boardroom, "crew", "ann", Draft(sender="bob", text="question"))
        done = acknowledge(boardroom, "crew", "ann", sent.message_id[:8], "answer")
        assert done.outcome == "success"
        assert boardroom.inboxes.unread("crew", "ann") == []
        assert texts(boardroom, "bob") == ["answer"]
        assert states(boardroom, sent.message_id) == ["written", "answered"]
        assert boardroom.spool.is_empty()

    def test_without_a_reply_nothing_is_sent(self, boardroom):
        sent = send(boardroom, "crew", "ann", Draft(sender="bob", text="question"))
        acknowledge(boardroom, "crew", "ann", sent.message_id, None)
        assert boardroom.inboxes.unread("crew", "ann") == []
        assert texts(boardroom, "bob") == []
        assert states(boardroom, sent.message_id) == ["written", "answered"]

    def test_twice_is_refused(self, boardroom):
        sent = send(boardroom, "crew", "ann", Draft(sender="bob", text="question"))
        acknowledge(boardroom, "crew", "ann", sent.message_id, "answer")
        with pytest.raises(AlreadyAnswered):
            acknowledge(boardroom, "crew", "ann", sent.message_id, "again")
        assert texts(boardroom, "bob") == ["answer"]

    def test_if_the_own_inbox_cannot_be_marked_nothing_happens(self, boardroom):
        sent = send(boardroom, "crew", "ann", Draft(sender="bob", text="question"))
        boardroom.inboxes.refuse = FileBusy("held")
        with pytest.raises(FileBusy):
            acknowledge(boardroom, "crew", "ann", sent.message_id, "answer")
        boardroom.inboxes.refuse = None
        assert boardroom.spool.is_empty()
        assert texts(boardroom, "bob") == []
        assert states(boardroom, sent.message_id) == ["written"]

    def test_a_sender_on_no_roster_can_be_answered(self, boardroom):
        sent = send(boardroom, "crew", "ann", Draft(sender="human", text="question"))
        done = acknowledge(boardroom, "crew", "ann", sent.message_id, "answer")
        assert done.reply_to == ("human", "crew")
        assert [row.text for row in boardroom.inboxes.rows("crew", "human")] == ["answer"]
        assert boardroom.inboxes.unread("crew", "ann") == []

    def test_an_unknown_id_is_refused(self, boardroom):
        with pytest.raises(NoSuchMessage):
            acknowledge(boardroom, "crew", "ann", "ffffffff", None)


class TestReceipts:
    def test_the_journey_is_told_with_its_evidence(self, boardroom):
        sent = send(boardroom, "crew", "ann", Draft(sender="bob", text="question"))
        acknowledge(boardroom, "crew", "ann", sent.message_id, "answer")
        one = trace(boardroom, sent.message_id[:8], ["crew"])[0]
        assert one.standing == "answered"
        assert one.now == "in the inbox, read"
        told = {state: event.evidence if event else None for state, event in one.journey()}
        assert told["written"] == "inbox file"
        assert told["surfaced"] is None
        assert str(told["answered"]).startswith("reply ")

    def test_a_queued_message_is_found_in_the_spool(self, boardroom):
        boardroom.inboxes.refuse = FileBusy("held by somebody")
        sent = send(boardroom, "crew", "ann", Draft(sender="bob", text="question"))
        boardroom.inboxes.refuse = None
        one = trace(boardroom, sent.message_id, ["crew"])[0]
        assert one.standing == "queued"
        assert "held by somebody" in one.now

    def test_a_row_of_another_program_is_found_by_looking(self, boardroom):
        from atm.testing import make_message

        boardroom.inboxes.foreign_rewrite("crew", "ann", [make_message("abcd-1")])
        one = trace(boardroom, "abcd-1", ["crew"])[0]
        assert (one.standing, one.seq, one.now) == ("unknown", None, "in the inbox, unread")

    def test_a_row_that_is_gone_is_said_to_be_gone(self, boardroom):
        sent = send(boardroom, "crew", "ann", Draft(sender="bob", text="question"))
        boardroom.inboxes.foreign_rewrite("crew", "ann", [])
        assert trace(boardroom, sent.message_id, ["crew"])[0].now == "not in the inbox"

    def test_an_unknown_id_is_an_error(self, boardroom):
        with pytest.raises(NoSuchMessage):
            trace(boardroom, "ffffffff", ["crew"])


class TestRoster:
    def test_everything_is_idempotent(self, boardroom):
        assert create_team(boardroom, "crew") is False
        assert add_member(boardroom, "crew", Member("ann")) is False

    def test_adding_mends_a_missing_inbox(self, boardroom):
        boardroom.inboxes.remove("crew", "ann")
        assert add_member(boardroom, "crew", Member("ann")) is True
        assert boardroom.inboxes.exists("crew", "ann")

    def test_a_lead_is_added_with_the_team(self, boardroom):
        create_team(boardroom, "led", lead="chief")
        team = boardroom.rosters.load("led")
        assert (team.lead, team.names) == ("chief", ["chief"])

    @pytest.mark.parametrize("name", ["../x", "/x", "A", "x" * 65, "x.lock", "user", "system", "", "a b", ".x", "a\nb"])
    def test_names_that_we_do_not_create(self, boardroom, name):
        with pytest.raises(BadName):
            add_member(boardroom, "crew", Member(name))
        with pytest.raises(BadName):
            create_team(boardroom, name)

    def test_teams_of_claude_code_are_never_created(self, boardroom):
        with pytest.raises(BadName):
            create_team(boardroom, "session-abc")

    def test_teams_of_claude_code_are_left_exactly_as_they_are(self, boardroom):
        from atm.team.formats.team_config import new_team

        boardroom.rosters.create("session-1", new_team("session-1", description="", lead="team-lead", now=1.0))
        for act in (
            lambda: add_member(boardroom, "session-1", Member("x")),
            lambda: remove_member(boardroom, "session-1", "x"),
        ):
            with pytest.raises(TeamNotOurs):
                act()
        assert boardroom.inboxes.owners("session-1") == []
        assert boardroom.rosters.abandoned("session-1") == []

    def test_a_removal_archives_the_mail_and_enters_it(self, boardroom):
        sent = send(boardroom, "crew", "ann", Draft(sender="bob", text="question"))
        with pytest.raises(MemberInUse):
            remove_member(boardroom, "crew", "ann")
        done = remove_member(boardroom, "crew", "ann", force=True)
        assert [row.text for row in Inbox(boardroom.archive.kept[str(done.archive_path)]).rows] == ["question"]
        assert boardroom.rosters.load("crew").member("ann") is None
        assert not boardroom.inboxes.exists("crew", "ann")
        assert states(boardroom, sent.message_id) == ["written", "archived"]

    def test_an_inbox_without_a_member_can_be_removed_too(self, boardroom):
        boardroom.inboxes.create("crew", "phantom")
        remove_member(boardroom, "crew", "phantom")
        assert "phantom" not in boardroom.inboxes.owners("crew")

    def test_somebody_who_is_not_there_is_no_error_unless_it_looks_like_a_slip(self, boardroom):
        assert remove_member(boardroom, "crew", "zoe").removed is False
        with pytest.raises(NoSuchMember):
            remove_member(boardroom, "crew", "bobb")

    def test_an_addition_that_was_cut_off_is_undone(self, boardroom):
        boardroom.rosters.cut_off("crew", "add", "dora")
        boardroom.inboxes.create("crew", "dora")
        recover(boardroom, boardroom.rosters.load("crew"))
        assert not boardroom.inboxes.exists("crew", "dora")

    def test_a_removal_that_was_cut_off_is_finished(self, boardroom):
        boardroom.rosters.cut_off("crew", "remove", "ann")
        recover(boardroom, boardroom.rosters.load("crew"))
        assert boardroom.rosters.load("crew").member("ann") is None
        assert not boardroom.inboxes.exists("crew", "ann")
