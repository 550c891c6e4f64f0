"""Mail is shown once, whichever channel wins, and never half: the turn alone, without any channel."""

from __future__ import annotations

import pytest

from atm.domain.errors import WriteRefused
from atm.domain.mail.surfacing import HOOK, PANE, ShowingNote
from atm.formats.files.json_record import encode
from atm.formats.mail.inbox import decode_row, with_read
from atm.services.mail.bookkeeping import enter
from atm.services.mail.posting import Draft
from atm.services.mail.putting_back import put_back_dropped
from atm.services.mail.reading import Filter, take
from atm.services.mail.sending import send
from atm.services.mail.surfacing import Surfacing, unread_for
from atm.services.mail.tracing import trace


def post(desk, *texts):
    return [send(desk, "crew", "ann", Draft(sender="bob", text=text)).message_id for text in texts]


def states(desk, id, agent="ann"):
    return [entry.state for entry in desk.ledger.entries("crew")[0] if id in entry.ids and entry.agent == agent]


def texts(messages):
    return [message.text for message in messages]


def unread(desk):
    return texts(desk.inboxes.unread("crew", "ann"))


def a_turn(desk, channel=HOOK, **more):
    return Surfacing(desk, "crew", "ann", channel, **more)


def without_id(text, at="2026-08-27T10:15:30.123Z"):
    row = decode_row(encode({"from": "bob", "text": text, "timestamp": at, "read": False}))
    assert row is not None
    return row


def surface(desk, channel, choose, show):
    """As a channel does it: what `choose` picks is shown by `show`, which returns its evidence or raises."""
    turn = a_turn(desk, channel)
    with turn as unread:
        chosen = choose(unread) if unread else []
        taken = turn.take(chosen) if chosen else []
        if taken:
            turn.shown(show(taken))
        return taken


def show_all(desk, channel=HOOK):
    return texts(surface(desk, channel, list, lambda _: "shown by a test"))


def test_entering_gives_what_is_unread_oldest_first(desk):
    post(desk, "one", "two")
    with a_turn(desk) as found:
        assert texts(found) == ["one", "two"]
    assert unread(desk) == ["one", "two"]


def test_what_was_shown_is_read_in_the_inbox_and_surfaced_in_the_ledger(desk):
    one, two = post(desk, "one", "two")
    turn = a_turn(desk)
    with turn as found:
        assert texts(turn.take(found[:1])) == ["one"]
        turn.shown("hook of a test")
    assert unread(desk) == ["two"]
    assert states(desk, one) == ["written", "surfaced"]
    assert states(desk, two) == ["written"]
    assert trace(desk, one, ["crew"])[0].standing == "surfaced"
    assert not desk.surfacings.is_cut_off("crew", "ann")


def test_the_evidence_is_in_the_ledger(desk):
    (one,) = post(desk, "one")
    surface(desk, HOOK, list, lambda _: "claude hook PostToolUse")
    last = desk.ledger.entries("crew")[0][-1]
    assert (last.ids, last.state, last.evidence) == ([one], "surfaced", "claude hook PostToolUse")


def test_what_could_not_be_shown_is_unread_again(desk):
    (one,) = post(desk, "one")
    turn = a_turn(desk)
    with turn as found:
        turn.take(found)
        assert unread(desk) == []
        turn.failed("the pane is gone")
    assert unread(desk) == ["one"]
    assert states(desk, one) == ["written", "returned"]
    assert show_all(desk) == ["one"]
    assert states(desk, one) == ["written", "returned", "surfaced"]


@pytest.mark.parametrize("error", [OSError("closed"), WriteRefused("full"), KeyboardInterrupt()])
def test_whatever_stops_the_showing_gives_it_back(desk, error):
    post(desk, "one", "two")

    def fail(_):
        raise error

    with pytest.raises(type(error)):
        surface(desk, HOOK, list, fail)
    assert unread(desk) == ["one", "two"]
    assert not desk.surfacings.is_cut_off("crew", "ann")
    assert show_all(desk) == ["one", "two"]


def test_a_block_left_without_a_word_gives_it_back(desk):
    post(desk, "one")
    turn = a_turn(desk)
    with turn as found:
        turn.take(found)
    assert unread(desk) == ["one"]


def test_a_second_channel_is_turned_away_and_disturbs_nothing(desk):
    post(desk, "one")
    with a_turn(desk) as found:
        assert texts(found) == ["one"]
        with a_turn(desk, PANE) as other:
            assert other is None
        assert show_all(desk, PANE) == []
    assert show_all(desk) == ["one"]


def test_nobody_chosen_nobody_taken(desk):
    post(desk, "one")
    assert surface(desk, HOOK, lambda _: [], lambda _: "never called") == []
    assert unread(desk) == ["one"]


def test_what_a_reader_took_meanwhile_is_left_out(desk):
    one, two = post(desk, "one", "two")
    turn = a_turn(desk)
    with turn as found:
        desk.inboxes.mark("crew", "ann", {one}, True)
        assert texts(turn.take(found)) == ["two"]
        turn.shown("x")
    assert states(desk, one) == ["written"]
    assert states(desk, two) == ["written", "surfaced"]


def test_what_a_reader_took_meanwhile_is_not_given_back(desk):
    one, _ = post(desk, "one", "two")
    turn = a_turn(desk)
    with turn as found:
        desk.inboxes.mark("crew", "ann", {one}, True)
        turn.take(found)
        turn.failed("x")
    assert unread(desk) == ["two"]


def test_if_a_reader_took_everything_nothing_is_left_behind(desk):
    post(desk, "one")
    turn = a_turn(desk)
    with turn as found:
        take(desk, "crew", "ann", Filter())
        assert turn.take(found) == []
    assert not desk.surfacings.is_cut_off("crew", "ann")


def test_what_was_surfaced_is_not_shown_by_read_and_the_other_way_round(desk):
    post(desk, "one")
    assert show_all(desk) == ["one"]
    assert take(desk, "crew", "ann", Filter()).messages == []
    post(desk, "two")
    assert texts(take(desk, "crew", "ann", Filter()).messages) == ["two"]
    assert show_all(desk) == []


def test_kept_unread_enters_what_happened_and_leaves_it_to_others(desk):
    (one,) = post(desk, "one")
    turn = a_turn(desk, PANE)
    with turn as found:
        turn.take(found)
        turn.kept_unread("pasted", "nobody saw it go")
    assert states(desk, one) == ["written", "returned", "pasted"]
    assert show_all(desk) == ["one"]


def test_a_ledger_that_cannot_be_written_keeps_nobody_from_showing(desk):
    post(desk, "one")
    desk.ledger.refuse = WriteRefused("full")
    assert show_all(desk) == ["one"]
    assert not enter(desk, "crew", "ann", ["m"], "read", "x")
    desk.ledger.refuse = None
    assert show_all(desk) == []


def test_an_inbox_that_cannot_be_written_shows_nothing_and_loses_nothing(desk):
    post(desk, "one")
    desk.inboxes.refuse = WriteRefused("full")
    with pytest.raises(WriteRefused):
        show_all(desk)
    desk.inboxes.refuse = None
    assert desk.surfacings.held == set()
    assert show_all(desk) == ["one"]


def test_nothing_entered_for_rows_without_an_id(desk):
    desk.inboxes.append("crew", "ann", [without_id("foreign")], fresh=True)
    assert show_all(desk) == ["foreign"]
    assert desk.ledger.entries("crew")[0] == []
    assert show_all(desk) == []


def test_malformed_and_giant_rows_are_neither_shown_nor_taken(desk):
    desk.inboxes.append("crew", "ann", [without_id("x" * (5 << 20)), without_id("fine")], fresh=True)
    assert texts(unread_for(desk, "crew", "ann")) == ["fine"]
    assert show_all(desk) == ["fine"]


# Somebody died half-way.


def killed_while_showing(desk, ids, *, claimed=True, channel=HOOK, where="w"):
    """What a process leaves that was killed after its note, or after it had taken the mail too."""
    desk.surfacings.notes["crew", "ann"] = ShowingNote(keys=ids, channel=channel, at=desk.clock.now(), where=where)
    if claimed:
        desk.inboxes.mark("crew", "ann", set(ids), True)


@pytest.mark.parametrize("claimed", [True, False])
def test_mail_of_a_dead_process_is_given_back_and_shown_in_its_old_place(desk, claimed):
    one, two, _ = post(desk, "one", "two", "three")
    killed_while_showing(desk, [one, two], claimed=claimed)
    assert show_all(desk) == ["one", "two", "three"]
    assert states(desk, one) == ["written", "returned", "surfaced"]
    assert not desk.surfacings.is_cut_off("crew", "ann")


def test_mail_that_the_ledger_says_was_shown_is_not_given_back(desk):
    one, two = post(desk, "one", "two")
    killed_while_showing(desk, [one, two])
    enter(desk, "crew", "ann", [one, two], "surfaced", "x")
    assert show_all(desk) == []
    assert not desk.surfacings.is_cut_off("crew", "ann")


def test_of_a_dead_process_only_what_was_not_shown_is_given_back(desk):
    one, two = post(desk, "one", "two")
    killed_while_showing(desk, [one, two])
    enter(desk, "crew", "ann", [one], "read", "by somebody else")
    assert show_all(desk) == ["two"]


def test_mail_that_somebody_finds_shown_is_entered_as_surfaced(desk):
    (one,) = post(desk, "one")
    killed_while_showing(desk, [one], channel=PANE)
    with a_turn(desk, PANE, was_shown=lambda note: f"found it: {note.channel}") as found:
        assert found == []
    assert states(desk, one) == ["written", "surfaced"]
    assert desk.ledger.entries("crew")[0][-1].evidence == "found it: pane"
    assert show_all(desk) == []


def test_mail_that_nobody_finds_is_given_back(desk):
    (one,) = post(desk, "one")
    killed_while_showing(desk, [one], channel=PANE)
    with a_turn(desk, PANE, was_shown=lambda _: None) as found:
        assert texts(found) == ["one"]


def test_a_row_without_an_id_comes_back_too(desk):
    row = without_id("foreign")
    desk.inboxes.append("crew", "ann", [row], fresh=True)
    killed_while_showing(desk, [row.key])
    assert show_all(desk) == ["foreign"]


def test_a_row_without_an_id_that_its_owner_read_meanwhile_does_not_come_back(desk):
    """Killed before it took anything; the owner read the mail; nobody may show it again (G2)."""
    row = without_id("foreign")
    desk.inboxes.append("crew", "ann", [row], fresh=True)
    killed_while_showing(desk, [row.key], claimed=False)
    assert texts(take(desk, "crew", "ann", Filter()).messages) == ["foreign"]
    assert show_all(desk) == []


def test_mail_of_a_dead_process_that_is_gone_from_the_inbox_is_no_error(desk):
    (one,) = post(desk, "one")
    killed_while_showing(desk, [one])
    desk.inboxes.change("crew", "ann", lambda _: [])
    assert show_all(desk) == []
    assert not desk.surfacings.is_cut_off("crew", "ann")


def test_an_inbox_that_cannot_be_written_keeps_the_note_for_later(desk):
    (one,) = post(desk, "one")
    killed_while_showing(desk, [one])
    desk.inboxes.refuse = WriteRefused("full")
    with pytest.raises(WriteRefused):
        show_all(desk)
    assert desk.surfacings.is_cut_off("crew", "ann")
    desk.inboxes.refuse = None
    assert show_all(desk) == ["one"]


# Other programs write the inbox too.


def turned_back(desk):
    """A foreign program writes an old copy over the inbox: everything is unread again."""
    rows = desk.inboxes.rows("crew", "ann")
    desk.inboxes.foreign_rewrite("crew", "ann", [with_read(row, False) for row in rows])


def test_a_row_that_a_stale_rewrite_turned_back_is_not_shown_again(desk):
    post(desk, "one")
    assert show_all(desk) == ["one"]
    turned_back(desk)
    assert show_all(desk) == []


def test_nor_is_it_shown_again_an_hour_later(desk):
    """The look back into the ledger ends after five minutes; until then somebody has to mark the row again."""
    post(desk, "one")
    assert show_all(desk) == ["one"]
    turned_back(desk)
    assert show_all(desk) == []
    desk.clock.pass_time(3600)
    assert show_all(desk) == []


def test_nor_if_the_stale_rewrite_itself_comes_an_hour_later(desk):
    post(desk, "one")
    assert show_all(desk) == ["one"]
    desk.clock.pass_time(3600)
    turned_back(desk)
    assert show_all(desk) == []


def test_a_surfaced_row_that_was_dropped_is_not_put_back(desk):
    post(desk, "one")
    assert show_all(desk) == ["one"]
    desk.inboxes.foreign_rewrite("crew", "ann", [])
    assert put_back_dropped(desk, desk.rosters.load("crew"), everything=True) == 0


def test_a_row_that_was_given_back_and_dropped_is_put_back(desk):
    (one,) = post(desk, "one")
    turn = a_turn(desk)
    with turn as found:
        turn.take(found)
        turn.failed("x")
    desk.inboxes.foreign_rewrite("crew", "ann", [])
    assert put_back_dropped(desk, desk.rosters.load("crew"), everything=True) == 1
    assert show_all(desk) == ["one"]
    assert states(desk, one)[-1] == "surfaced"


def test_each_senders_order_is_kept_over_many_small_turns(desk):
    sent = [f"{number}" for number in range(10)]
    post(desk, *sent)
    shown = []
    for _ in range(5):
        shown += texts(surface(desk, HOOK, lambda found: found[:2], lambda _: "x"))
    assert shown == sent
