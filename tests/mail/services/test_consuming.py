"""Mail that a program acts on: its types, in order, at least once, and nothing of anybody else's."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.proving import proves

from atm.core.errors import WriteRefused
from atm.mail.rules.surfacing import READ, ShowingNote
from atm.mail.services.posting import Draft
from atm.mail.services.reading import Filter, peek
from atm.mail.services.sending import send
from atm.mail.services.typed.consuming import consuming, take, waiting_of
from atm.mail.services.typed.letters import give_type
from atm.roster.services.members import add_member
from atm.team.rules.team import Member

STATUS, ANSWER, PLAN = "status_update", "shutdown_response", "plan_submission"


def say(boardroom, type, text="", *pairs, sender="bob", to="ann"):
    letter = Draft(sender=sender, text=text)
    give_type(boardroom, "crew", to, letter, type, pairs)
    return send(boardroom, "crew", to, letter).message_id


def status(boardroom, state, **more):
    return say(boardroom, STATUS, "", f"state={state}", **more)


def unread(boardroom):
    return [message.id for message in boardroom.inboxes.unread("crew", "ann")]


def ids(messages):
    return [one.message.id for one in messages]


def states(boardroom, id):
    return [entry.state for entry in boardroom.ledger.entries("crew")[0] if id in entry.ids and entry.agent == "ann"]


@pytest.fixture
def mixed(boardroom):
    """A text, a status, an answer, another status, and what Claude Code says of a task."""
    text = send(boardroom, "crew", "ann", Draft(sender="bob", text="hello")).message_id
    first = status(boardroom, "working")
    answer = say(boardroom, ANSWER, "a migration runs", "approved=no")
    second = status(boardroom, "idle")
    said = '{"type": "task_assignment", "taskId": "7", "subject": "s"}'
    task = send(boardroom, "crew", "ann", Draft(sender="bob", text=said)).message_id
    return text, first, answer, second, task


@proves("R004-defects-02b")
def test_a_wait_for_one_type_drops_no_other(boardroom, mixed):
    text, first, answer, second, task = mixed
    assert ids(take(boardroom, "crew", "ann", [STATUS])) == [first, second]
    assert unread(boardroom) == [text, answer, task]
    assert ids(take(boardroom, "crew", "ann", [STATUS])) == []
    assert ids(take(boardroom, "crew", "ann", [ANSWER])) == [answer]
    assert unread(boardroom) == [text, task]


def test_several_types_come_in_the_order_in_which_they_were_sent(boardroom, mixed):
    _, first, answer, second, task = mixed
    wanted = [ANSWER, "task_assignment", STATUS]
    assert ids(take(boardroom, "crew", "ann", wanted)) == [first, answer, second, task]


def test_each_has_what_it_carries(boardroom, mixed):
    taken = take(boardroom, "crew", "ann", [ANSWER, "task_assignment"])
    assert [(one.type, one.metadata, one.sender) for one in taken] == [
        (ANSWER, {"approved": "false", "reason": "a migration runs"}, "bob"),
        ("task_assignment", {"task_id": "7", "subject": "s"}, "bob"),
    ]


def test_what_was_taken_is_read_in_the_ledger_and_the_rest_is_not(boardroom, mixed):
    text, first, *_ = mixed
    take(boardroom, "crew", "ann", [STATUS], "the lead loop")
    assert states(boardroom, first) == ["written", "read"]
    assert states(boardroom, text) == ["written"]
    assert [entry.evidence for entry in boardroom.ledger.entries("crew")[0]][-1] == "the lead loop"


@proves("R004-defects-02")
def test_what_was_said_before_anybody_began_to_listen_is_not_lost(boardroom):
    early = [status(boardroom, "working", to="cleo"), status(boardroom, "idle", to="cleo")]
    assert ids(take(boardroom, "crew", "cleo", [STATUS])) == early
    add_member(boardroom, "crew", Member("dan"))
    late = status(boardroom, "idle", to="dan")
    assert ids(take(boardroom, "crew", "dan", [STATUS])) == [late]


def test_looking_marks_nothing(boardroom, mixed):
    assert ids(waiting_of(boardroom, "crew", "ann")) == [*mixed]
    assert [one.type for one in waiting_of(boardroom, "crew", "ann")] == [
        *("text", STATUS, ANSWER, STATUS, "task_assignment")
    ]
    assert ids(waiting_of(boardroom, "crew", "ann", [STATUS])) == [mixed[1], mixed[3]]
    assert unread(boardroom) == [*mixed]
    assert states(boardroom, mixed[1]) == ["written"]


def test_they_count_as_read_when_the_block_ends_and_not_before(boardroom, mixed):
    with consuming(boardroom, "crew", "ann", [STATUS]) as taken:
        assert ids(taken) == [mixed[1], mixed[3]]
        assert states(boardroom, mixed[1]) == ["written"]
        assert boardroom.surfacings.notes["crew", "ann"].keys == [mixed[1], mixed[3]]
    assert states(boardroom, mixed[1]) == ["written", "read"]
    assert boardroom.surfacings.held == set()


def test_if_acting_on_them_fails_they_are_unread_again_and_in_doubt(boardroom, mixed):
    with pytest.raises(RuntimeError), consuming(boardroom, "crew", "ann", [STATUS]):
        raise RuntimeError("the board cannot be read")
    assert unread(boardroom) == [*mixed]
    assert [one.is_doubted for one in take(boardroom, "crew", "ann", [STATUS])] == [True, True]
    assert ids(take(boardroom, "crew", "ann", [STATUS])) == []


def test_what_one_who_was_killed_had_taken_comes_again_with_its_id_and_in_doubt(boardroom, mixed):
    keys = [mixed[1], mixed[3]]
    boardroom.surfacings.notes["crew", "ann"] = ShowingNote(keys=keys, channel=READ, at=boardroom.clock.now())
    boardroom.inboxes.mark("crew", "ann", set(keys), True)
    taken = take(boardroom, "crew", "ann", [STATUS])
    assert [(one.key, one.is_doubted) for one in taken] == [(mixed[1], True), (mixed[3], True)]
    assert ids(take(boardroom, "crew", "ann", [STATUS])) == []
    assert unread(boardroom) == [mixed[0], mixed[2], mixed[4]]


def test_what_one_who_was_killed_had_taken_is_given_back_whoever_comes_next_wants(boardroom, mixed):
    boardroom.surfacings.notes["crew", "ann"] = ShowingNote(keys=[mixed[1]], channel=READ, at=boardroom.clock.now())
    boardroom.inboxes.mark("crew", "ann", {mixed[1]}, True)
    assert ids(take(boardroom, "crew", "ann", [ANSWER])) == [mixed[2]]
    assert ids(take(boardroom, "crew", "ann", [STATUS])) == [mixed[1], mixed[3]]


def test_rows_that_cannot_be_marked_are_not_acted_on_and_come_when_they_can(boardroom, mixed):
    boardroom.inboxes.refuse = WriteRefused("the disk is full", "make room")
    with pytest.raises(WriteRefused):
        take(boardroom, "crew", "ann", [STATUS])
    boardroom.inboxes.refuse = None
    assert ids(take(boardroom, "crew", "ann", [STATUS])) == [mixed[1], mixed[3]]


def test_of_many_who_send_at_once_each_is_taken_once_and_no_text_with_them(room):
    def send_some(who: int) -> list[str]:
        sent = []
        for number in range(6):
            send(room, "crew", "ann", Draft(sender=f"w{who}", text=f"words {number}"))
            sent.append(say(room, STATUS, f"{number}", "state=working", sender=f"w{who}"))
        return sent

    taken: list[str] = []
    with ThreadPoolExecutor(4) as pool:
        senders = [pool.submit(send_some, who) for who in range(3)]
        while not all(one.done() for one in senders):
            taken += ids(take(room, "crew", "ann", [STATUS]))
        sent = [one.result() for one in senders]
    taken += ids(take(room, "crew", "ann", [STATUS]))
    assert sorted(taken) == sorted(id for some in sent for id in some)
    for some in sent:
        assert [id for id in taken if id in some] == some, "what one sender sent comes in that order"
    assert len(peek(room, "crew", "ann", Filter(types=["text"])).messages) == 18


def test_two_who_take_at_once_do_not_get_the_same(room):
    sent = [say(room, STATUS, f"{number}", "state=working") for number in range(20)]
    with ThreadPoolExecutor(2) as pool:
        halves = list(pool.map(lambda _: ids(take(room, "crew", "ann", [STATUS])), range(2)))
    assert sorted(halves[0] + halves[1]) == sorted(sent)
