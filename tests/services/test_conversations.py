"""Requests, replies and acknowledgements; teams and members."""

from __future__ import annotations

import pytest

from atm.domain.errors import AlreadyAnswered, BadName, FileBusy, MemberInUse, NoSuchMember, NoSuchMessage, TeamNotOurs
from atm.domain.team.team import Member
from atm.services.mail.conversations import acknowledge, ask, await_answer, find_answer
from atm.services.mail.posting import Draft
from atm.services.mail.sending import send
from atm.services.mail.tracing import trace
from atm.services.roster.members import add_member, create_team, remove_member
from atm.services.roster.recovery import recover
from atm.testing import make_message

BOB, ANN = ("bob", "crew"), ("ann", "crew")


def texts(desk, agent):
    return [row.text for row in desk.inboxes.rows("crew", agent)]


def states(desk, id):
    return [entry.state for entry in desk.ledger.entries("crew")[0] if id in entry.ids]


class TestRequests:
    def test_the_question_carries_a_marker_and_the_reply_brings_it_back(self, desk):
        request_id, sent = ask(desk, BOB, ANN, Draft(sender="bob", text="which port?"))
        assert f"Request-ID: {request_id}" in texts(desk, "ann")[0]
        acknowledge(desk, "crew", "ann", sent.message_id, "8080")
        answer = find_answer(desk, BOB, ANN, request_id, sent.message_id)
        assert answer is not None
        assert answer.text.startswith("8080")
        assert desk.inboxes.unread("crew", "bob") == []

    def test_a_send_with_reply_to_answers_too_even_by_the_beginning_of_the_id(self, desk):
        request_id, sent = ask(desk, BOB, ANN, Draft(sender="bob", text="which port?"))
        send(desk, "crew", "bob", Draft(sender="ann", text="8080", reply_to=sent.message_id[:10]))
        assert find_answer(desk, BOB, ANN, request_id, sent.message_id) is not None
        assert states(desk, sent.message_id) == ["written", "answered"]

    def test_an_answer_across_teams_is_recognised(self, desk):
        create_team(desk, "other")
        add_member(desk, "other", Member("dora"))
        dora = ("dora", "other")
        request_id, sent = ask(desk, BOB, dora, Draft(sender="bob@crew", text="which port?"))
        reply = Draft(sender="dora@other", text="8080", reply_to=sent.message_id, home="other")
        send(desk, "crew", "bob", reply)
        assert find_answer(desk, BOB, dora, request_id, sent.message_id) is not None

    def test_a_reply_to_nothing_is_refused_and_nothing_is_sent(self, desk):
        with pytest.raises(NoSuchMessage):
            send(desk, "crew", "bob", Draft(sender="ann", text="8080", reply_to="00000000"))
        assert texts(desk, "bob") == []

    def test_somebody_who_asks_himself_is_not_answered_by_the_question(self, desk):
        request_id, sent = ask(desk, BOB, BOB, Draft(sender="bob", text="am I?"))
        assert find_answer(desk, BOB, BOB, request_id, sent.message_id) is None

    def test_only_the_one_who_was_asked_can_answer(self, desk):
        request_id, sent = ask(desk, BOB, ANN, Draft(sender="bob", text="which port?"))
        send(desk, "crew", "bob", Draft(sender="cleo", text=f"1234 {request_id}"))
        assert find_answer(desk, BOB, ANN, request_id, sent.message_id) is None

    def test_an_answer_that_another_reader_took_is_found_all_the_same(self, desk):
        request_id, sent = ask(desk, BOB, ANN, Draft(sender="bob", text="which port?"))
        acknowledge(desk, "crew", "ann", sent.message_id, "8080")
        desk.inboxes.claim("crew", "bob", list)
        assert find_answer(desk, BOB, ANN, request_id, sent.message_id) is not None


class TestWaiting:
    """For an answer. Between two looks somebody else needs the machine."""

    def test_between_two_looks_it_pauses_and_never_for_longer_than_is_left(self, desk):
        left: list[float] = []

        def pause(seconds: float) -> None:
            left.append(seconds)
            desk.clock.pass_time(4)

        deadline = desk.clock.monotonic() + 10
        assert await_answer(desk.clock, lambda: None, deadline, pause) is None
        assert left == [10, 6, 2]

    def test_an_answer_ends_the_wait_at_once(self, desk):
        answers = [None, make_message("id-1", "8080")]
        pauses: list[float] = []
        answer = await_answer(desk.clock, lambda: answers.pop(0), desk.clock.monotonic() + 10, pauses.append)
        assert answer is not None
        assert (answer.text, len(pauses)) == ("8080", 1)


class TestAcknowledging:
    def test_with_a_reply_both_files_change(self, desk):
        sent = send(desk, "crew", "ann", Draft(sender="bob", text="question"))
        done = acknowledge(desk, "crew", "ann", sent.message_id[:8], "answer")
        assert done.outcome == "success"
        assert desk.inboxes.unread("crew", "ann") == []
        assert texts(desk, "bob") == ["answer"]
        assert states(desk, sent.message_id) == ["written", "answered"]
        assert desk.spool.is_empty()

    def test_without_a_reply_nothing_is_sent(self, desk):
        sent = send(desk, "crew", "ann", Draft(sender="bob", text="question"))
        acknowledge(desk, "crew", "ann", sent.message_id, None)
        assert desk.inboxes.unread("crew", "ann") == []
        assert texts(desk, "bob") == []

    def test_twice_is_refused(self, desk):
        sent = send(desk, "crew", "ann", Draft(sender="bob", text="question"))
        acknowledge(desk, "crew", "ann", sent.message_id, "answer")
        with pytest.raises(AlreadyAnswered):
            acknowledge(desk, "crew", "ann", sent.message_id, "again")
        assert texts(desk, "bob") == ["answer"]

    def test_if_the_own_inbox_cannot_be_marked_nothing_happens(self, desk):
        sent = send(desk, "crew", "ann", Draft(sender="bob", text="question"))
        desk.inboxes.refuse = FileBusy("held")
        with pytest.raises(FileBusy):
            acknowledge(desk, "crew", "ann", sent.message_id, "answer")
        desk.inboxes.refuse = None
        assert desk.spool.is_empty()
        assert texts(desk, "bob") == []
        assert states(desk, sent.message_id) == ["written"]

    def test_a_sender_without_an_inbox_cannot_be_answered(self, desk):
        sent = send(desk, "crew", "ann", Draft(sender="human", text="question"))
        with pytest.raises(NoSuchMember):
            acknowledge(desk, "crew", "ann", sent.message_id, "answer")
        assert len(desk.inboxes.unread("crew", "ann")) == 1

    def test_an_unknown_id_is_refused(self, desk):
        with pytest.raises(NoSuchMessage):
            acknowledge(desk, "crew", "ann", "ffffffff", None)


class TestReceipts:
    def test_the_journey_is_told_with_its_evidence(self, desk):
        sent = send(desk, "crew", "ann", Draft(sender="bob", text="question"))
        acknowledge(desk, "crew", "ann", sent.message_id, "answer")
        one = trace(desk, sent.message_id[:8], ["crew"])[0]
        assert one.standing == "answered"
        assert one.now == "in the inbox, read"
        told = {state: event.evidence if event else None for state, event in one.journey()}
        assert told["written"] == "inbox file"
        assert told["surfaced"] is None
        assert str(told["answered"]).startswith("reply ")

    def test_a_queued_message_is_found_in_the_spool(self, desk):
        desk.inboxes.refuse = FileBusy("held by somebody")
        sent = send(desk, "crew", "ann", Draft(sender="bob", text="question"))
        desk.inboxes.refuse = None
        one = trace(desk, sent.message_id, ["crew"])[0]
        assert one.standing == "queued"
        assert "held by somebody" in one.now

    def test_a_row_of_another_program_is_found_by_looking(self, desk):
        from atm.testing import make_message

        desk.inboxes.foreign_rewrite("crew", "ann", [make_message("abcd-1")])
        one = trace(desk, "abcd-1", ["crew"])[0]
        assert (one.standing, one.seq, one.now) == ("unknown", None, "in the inbox, unread")

    def test_a_row_that_is_gone_is_said_to_be_gone(self, desk):
        sent = send(desk, "crew", "ann", Draft(sender="bob", text="question"))
        desk.inboxes.foreign_rewrite("crew", "ann", [])
        assert trace(desk, sent.message_id, ["crew"])[0].now == "not in the inbox"

    def test_an_unknown_id_is_an_error(self, desk):
        with pytest.raises(NoSuchMessage):
            trace(desk, "ffffffff", ["crew"])


class TestRoster:
    def test_everything_is_idempotent(self, desk):
        assert create_team(desk, "crew") is False
        assert add_member(desk, "crew", Member("ann")) is False

    def test_adding_mends_a_missing_inbox(self, desk):
        desk.inboxes.remove("crew", "ann")
        assert add_member(desk, "crew", Member("ann")) is True
        assert desk.inboxes.exists("crew", "ann")

    def test_a_lead_is_added_with_the_team(self, desk):
        create_team(desk, "led", lead="chief")
        team = desk.rosters.load("led")
        assert (team.lead, team.names) == ("chief", ["chief"])

    @pytest.mark.parametrize("name", ["../x", "/x", "A", "x" * 65, "x.lock", "user", "system", "", "a b", ".x", "a\nb"])
    def test_names_that_we_do_not_create(self, desk, name):
        with pytest.raises(BadName):
            add_member(desk, "crew", Member(name))
        with pytest.raises(BadName):
            create_team(desk, name)

    def test_teams_of_claude_code_are_never_created(self, desk):
        with pytest.raises(BadName):
            create_team(desk, "session-abc")

    def test_teams_of_claude_code_are_left_exactly_as_they_are(self, desk):
        from atm.formats.team.team_config import new_team

        desk.rosters.create("session-1", new_team("session-1", description="", lead="team-lead", now=1.0))
        for act in (
            lambda: add_member(desk, "session-1", Member("x")),
            lambda: remove_member(desk, "session-1", "x"),
        ):
            with pytest.raises(TeamNotOurs):
                act()
        assert desk.inboxes.owners("session-1") == []
        assert desk.rosters.abandoned("session-1") == []

    def test_a_removal_archives_the_mail_and_enters_it(self, desk):
        sent = send(desk, "crew", "ann", Draft(sender="bob", text="question"))
        with pytest.raises(MemberInUse):
            remove_member(desk, "crew", "ann")
        done = remove_member(desk, "crew", "ann", force=True)
        assert [row.text for row in desk.archive.kept[str(done.archive_path)]] == ["question"]
        assert desk.rosters.load("crew").member("ann") is None
        assert not desk.inboxes.exists("crew", "ann")
        assert states(desk, sent.message_id) == ["written", "archived"]

    def test_an_inbox_without_a_member_can_be_removed_too(self, desk):
        desk.inboxes.create("crew", "phantom")
        remove_member(desk, "crew", "phantom")
        assert "phantom" not in desk.inboxes.owners("crew")

    def test_somebody_who_is_not_there_is_no_error_unless_it_looks_like_a_slip(self, desk):
        assert remove_member(desk, "crew", "zoe").removed is False
        with pytest.raises(NoSuchMember):
            remove_member(desk, "crew", "bobb")

    def test_an_addition_that_was_cut_off_is_undone(self, desk):
        desk.rosters.cut_off("crew", "add", "dora")
        desk.inboxes.create("crew", "dora")
        recover(desk, desk.rosters.load("crew"))
        assert not desk.inboxes.exists("crew", "dora")

    def test_a_removal_that_was_cut_off_is_finished(self, desk):
        desk.rosters.cut_off("crew", "remove", "ann")
        recover(desk, desk.rosters.load("crew"))
        assert desk.rosters.load("crew").member("ann") is None
        assert not desk.inboxes.exists("crew", "ann")
