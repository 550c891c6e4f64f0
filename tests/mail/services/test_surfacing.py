"""Mail is shown once, whichever channel wins, and never half: the turn alone, without any channel."""

from __future__ import annotations

import pytest

from atm.core.errors import WriteRefused
from atm.files.formats.json_record import encode
from atm.mail.formats.inbox import decode_row, with_read
from atm.mail.rules.surfacing import GLANCED, HOOK, PANE, Glance, ShowingNote
from atm.mail.services import surfacing
from atm.mail.services.bookkeeping import enter
from atm.mail.services.posting import Draft
from atm.mail.services.putting_back import put_back_dropped
from atm.mail.services.reading import Filter, take
from atm.mail.services.sending import send
from atm.mail.services.surfacing import Surfacing, glance_for, unread_for
from atm.mail.services.tracing import trace


def post(boardroom, *texts):
    return [send(boardroom, "crew", "ann", Draft(sender="bob", text=text)).message_id for text in texts]


def states(boardroom, id, agent="ann"):
    return [entry.state for entry in boardroom.ledger.entries("crew")[0] if id in entry.ids and entry.agent == agent]


def texts(messages):
    return [message.text for message in messages]


def unread(boardroom):
    return texts(boardroom.inboxes.unread("crew", "ann"))


def a_turn(boardroom, channel=HOOK, **more):
    return Surfacing(boardroom, "crew", "ann", channel, **more)


def without_id(text, at="2026-08-27T10:15:30.123Z"):
    row = decode_row(encode({"from": "bob", "text": text, "timestamp": at, "read": False}))
    assert row is not None
    return row


def surface(boardroom, channel, choose, show):
    """As a channel does it: what `choose` picks is shown by `show`, which returns its evidence or raises."""
    turn = a_turn(boardroom, channel)
    with turn as unread:
        chosen = choose(unread) if unread else []
        taken = turn.take(chosen) if chosen else []
        if taken:
            turn.shown(show(taken))
        return taken


def show_all(boardroom, channel=HOOK):
    return texts(surface(boardroom, channel, list, lambda _: "shown by a test"))


def test_entering_gives_what_is_unread_oldest_first(boardroom):
    post(boardroom, "one", "two")
    with a_turn(boardroom) as found:
        assert texts(found) == ["one", "two"]
    assert unread(boardroom) == ["one", "two"]


def test_what_was_shown_is_read_in_the_inbox_and_surfaced_in_the_ledger(boardroom):
    one, two = post(boardroom, "one", "two")
    turn = a_turn(boardroom)
    with turn as found:
        assert texts(turn.take(found[:1])) == ["one"]
        turn.shown("hook of a test")
    assert unread(boardroom) == ["two"]
    assert states(boardroom, one) == ["written", "surfaced"]
    assert states(boardroom, two) == ["written"]
    assert trace(boardroom, one, ["crew"])[0].standing == "surfaced"
    assert not boardroom.surfacings.is_cut_off("crew", "ann")


def test_the_evidence_is_in_the_ledger(boardroom):
    (one,) = post(boardroom, "one")
    surface(boardroom, HOOK, list, lambda _: "claude hook PostToolUse")
    last = boardroom.ledger.entries("crew")[0][-1]
    assert (last.ids, last.state, last.evidence) == ([one], "surfaced", "claude hook PostToolUse")


def test_what_could_not_be_shown_is_unread_again(boardroom):
    (one,) = post(boardroom, "one")
    turn = a_turn(boardroom)
    with turn as found:
        turn.take(found)
        assert unread(boardroom) == []
        turn.failed("the pane is gone")
    assert unread(boardroom) == ["one"]
    assert states(boardroom, one) == ["written", "returned"]
    assert show_all(boardroom) == ["one"]
    assert states(boardroom, one) == ["written", "returned", "surfaced"]


@pytest.mark.parametrize("error", [OSError("closed"), WriteRefused("full"), KeyboardInterrupt()])
def test_whatever_stops_the_showing_gives_it_back(boardroom, error):
    post(boardroom, "one", "two")

    def fail(_):
        raise error

    with pytest.raises(type(error)):
        surface(boardroom, HOOK, list, fail)
    assert unread(boardroom) == ["one", "two"]
    assert not boardroom.surfacings.is_cut_off("crew", "ann")
    assert show_all(boardroom) == ["one", "two"]


def test_a_block_left_without_a_word_gives_it_back(boardroom):
    post(boardroom, "one")
    turn = a_turn(boardroom)
    with turn as found:
        turn.take(found)
    assert unread(boardroom) == ["one"]


def test_a_second_channel_is_turned_away_and_disturbs_nothing(boardroom):
    post(boardroom, "one")
    with a_turn(boardroom) as found:
        assert texts(found) == ["one"]
        with a_turn(boardroom, PANE) as other:
            assert other is None
        assert show_all(boardroom, PANE) == []
    assert show_all(boardroom) == ["one"]


def test_nobody_chosen_nobody_taken(boardroom):
    post(boardroom, "one")
    assert surface(boardroom, HOOK, lambda _: [], lambda _: "never called") == []
    assert unread(boardroom) == ["one"]


def test_what_a_reader_took_meanwhile_is_left_out(boardroom):
    one, two = post(boardroom, "one", "two")
    turn = a_turn(boardroom)
    with turn as found:
        boardroom.inboxes.mark("crew", "ann", {one}, True)
        assert texts(turn.take(found)) == ["two"]
        turn.shown("x")
    assert states(boardroom, one) == ["written"]
    assert states(boardroom, two) == ["written", "surfaced"]


def test_what_a_reader_took_meanwhile_is_not_given_back(boardroom):
    one, _ = post(boardroom, "one", "two")
    turn = a_turn(boardroom)
    with turn as found:
        boardroom.inboxes.mark("crew", "ann", {one}, True)
        turn.take(found)
        turn.failed("x")
    assert unread(boardroom) == ["two"]


def test_if_a_reader_took_everything_nothing_is_left_behind(boardroom):
    post(boardroom, "one")
    turn = a_turn(boardroom)
    with turn as found:
        take(boardroom, "crew", "ann", Filter())
        assert turn.take(found) == []
    assert not boardroom.surfacings.is_cut_off("crew", "ann")


def test_what_was_surfaced_is_not_shown_by_read_and_the_other_way_round(boardroom):
    post(boardroom, "one")
    assert show_all(boardroom) == ["one"]
    assert take(boardroom, "crew", "ann", Filter()).messages == []
    post(boardroom, "two")
    assert texts(take(boardroom, "crew", "ann", Filter()).messages) == ["two"]
    assert show_all(boardroom) == []


def test_kept_unread_enters_what_happened_and_leaves_it_to_others(boardroom):
    (one,) = post(boardroom, "one")
    turn = a_turn(boardroom, PANE)
    with turn as found:
        turn.take(found)
        turn.kept_unread("pasted", "nobody saw it go")
    assert states(boardroom, one) == ["written", "returned", "pasted"]
    assert show_all(boardroom) == ["one"]


def test_a_ledger_that_cannot_be_written_keeps_nobody_from_showing(boardroom):
    post(boardroom, "one")
    boardroom.ledger.refuse = WriteRefused("full")
    assert show_all(boardroom) == ["one"]
    assert not enter(boardroom, "crew", "ann", ["m"], "read", "x")
    boardroom.ledger.refuse = None
    assert show_all(boardroom) == []


def test_an_inbox_that_cannot_be_written_shows_nothing_and_loses_nothing(boardroom):
    post(boardroom, "one")
    boardroom.inboxes.refuse = WriteRefused("full")
    with pytest.raises(WriteRefused):
        show_all(boardroom)
    boardroom.inboxes.refuse = None
    assert boardroom.surfacings.held == set()
    assert show_all(boardroom) == ["one"]


def test_nothing_entered_for_rows_without_an_id(boardroom):
    boardroom.inboxes.append("crew", "ann", [without_id("foreign")], fresh=True)
    assert show_all(boardroom) == ["foreign"]
    assert boardroom.ledger.entries("crew")[0] == []
    assert show_all(boardroom) == []


def test_a_row_of_the_largest_size_is_shown_and_a_larger_one_is_not(boardroom, monkeypatch):
    post(boardroom, "one", "one more")
    first = boardroom.inboxes.unread("crew", "ann")[0]
    monkeypatch.setattr(surfacing, "LARGEST_ROW", len(first.raw))
    assert texts(unread_for(boardroom, "crew", "ann")) == ["one"]
    assert texts(glance_for(boardroom, "crew", "ann", lambda _: False).messages) == ["one"]
    turn = a_turn(boardroom)
    with turn:
        assert turn.too_large == 1


def test_a_turn_knows_how_many_rows_are_too_large(boardroom):
    boardroom.inboxes.append("crew", "ann", [without_id("x" * (9 << 20)), *map(without_id, "abc")], fresh=True)
    turn = a_turn(boardroom)
    with turn:
        assert turn.too_large == 1


def test_malformed_and_giant_rows_are_neither_shown_nor_taken(boardroom):
    boardroom.inboxes.append("crew", "ann", [without_id("x" * (9 << 20)), without_id("fine")], fresh=True)
    assert texts(unread_for(boardroom, "crew", "ann")) == ["fine"]
    assert show_all(boardroom) == ["fine"]


# Somebody died half-way.


def killed_while_showing(boardroom, ids, *, claimed=True, channel=HOOK, where="w"):
    """What a process leaves that was killed after its note, or after it had taken the mail too."""
    boardroom.surfacings.notes["crew", "ann"] = ShowingNote(
        keys=ids, channel=channel, at=boardroom.clock.now(), where=where
    )
    if claimed:
        boardroom.inboxes.mark("crew", "ann", set(ids), True)


@pytest.mark.parametrize("claimed", [True, False])
def test_mail_of_a_dead_process_is_given_back_and_shown_in_its_old_place(boardroom, claimed):
    one, two, _ = post(boardroom, "one", "two", "three")
    killed_while_showing(boardroom, [one, two], claimed=claimed)
    assert show_all(boardroom) == ["one", "two", "three"]
    assert states(boardroom, one) == ["written", "returned", "surfaced"]
    assert not boardroom.surfacings.is_cut_off("crew", "ann")


def test_mail_that_the_ledger_says_was_shown_is_not_given_back(boardroom):
    one, two = post(boardroom, "one", "two")
    killed_while_showing(boardroom, [one, two])
    enter(boardroom, "crew", "ann", [one, two], "surfaced", "x")
    assert show_all(boardroom) == []
    assert not boardroom.surfacings.is_cut_off("crew", "ann")


def test_of_a_dead_process_only_what_was_not_shown_is_given_back(boardroom):
    one, two = post(boardroom, "one", "two")
    killed_while_showing(boardroom, [one, two])
    enter(boardroom, "crew", "ann", [one], "read", "by somebody else")
    assert show_all(boardroom) == ["two"]


def test_mail_that_somebody_finds_shown_is_entered_as_surfaced(boardroom):
    (one,) = post(boardroom, "one")
    killed_while_showing(boardroom, [one], channel=PANE)
    with a_turn(boardroom, PANE, was_shown=lambda note: f"found it: {note.channel}") as found:
        assert found == []
    assert states(boardroom, one) == ["written", "surfaced"]
    assert boardroom.ledger.entries("crew")[0][-1].evidence == "found it: pane"
    assert show_all(boardroom) == []


def test_mail_that_nobody_finds_is_given_back(boardroom):
    (one,) = post(boardroom, "one")
    killed_while_showing(boardroom, [one], channel=PANE)
    with a_turn(boardroom, PANE, was_shown=lambda _: None) as found:
        assert texts(found) == ["one"]


def test_a_row_without_an_id_comes_back_too(boardroom):
    row = without_id("foreign")
    boardroom.inboxes.append("crew", "ann", [row], fresh=True)
    killed_while_showing(boardroom, [row.key])
    assert show_all(boardroom) == ["foreign"]


def test_a_row_without_an_id_that_its_owner_read_meanwhile_does_not_come_back(boardroom):
    """Killed before it took anything; the owner read the mail; nobody may show it again (G2)."""
    row = without_id("foreign")
    boardroom.inboxes.append("crew", "ann", [row], fresh=True)
    killed_while_showing(boardroom, [row.key], claimed=False)
    assert texts(take(boardroom, "crew", "ann", Filter()).messages) == ["foreign"]
    assert show_all(boardroom) == []


def test_mail_of_a_dead_process_that_is_gone_from_the_inbox_is_no_error(boardroom):
    (one,) = post(boardroom, "one")
    killed_while_showing(boardroom, [one])
    boardroom.inboxes.change("crew", "ann", lambda _: [])
    assert show_all(boardroom) == []
    assert not boardroom.surfacings.is_cut_off("crew", "ann")


def test_an_inbox_that_cannot_be_written_keeps_the_note_for_later(boardroom):
    (one,) = post(boardroom, "one")
    killed_while_showing(boardroom, [one])
    boardroom.inboxes.refuse = WriteRefused("full")
    with pytest.raises(WriteRefused):
        show_all(boardroom)
    assert boardroom.surfacings.is_cut_off("crew", "ann")
    boardroom.inboxes.refuse = None
    assert show_all(boardroom) == ["one"]


# An inbox that is too large to be written in time.


def test_what_is_shown_of_an_inbox_that_is_too_large_is_entered_in_the_ledger_alone(boardroom):
    (id,) = post(boardroom, "[URGENT] stop")
    rows = boardroom.inboxes.unread("crew", "ann")
    boardroom.inboxes.glance = lambda *_: Glance([*rows], size=1 << 30, is_whole=False)
    turn = a_turn(boardroom, people=lambda _: False)
    with turn as found:
        assert texts(turn.take(found)) == ["[URGENT] stop"]
        assert not boardroom.surfacings.is_cut_off("crew", "ann")
        turn.shown("hook of a test")
    assert unread(boardroom) == ["[URGENT] stop"]
    assert states(boardroom, id) == ["written", "surfaced"]
    with a_turn(boardroom, people=lambda _: False) as found:
        assert found == []


def test_what_could_not_be_shown_of_it_is_shown_by_the_next_turn(boardroom):
    (id,) = post(boardroom, "[URGENT] stop")
    rows = boardroom.inboxes.unread("crew", "ann")
    boardroom.inboxes.glance = lambda *_: Glance([*rows], size=1 << 30, is_whole=False)
    turn = a_turn(boardroom, people=lambda _: False)
    with turn as found:
        turn.take(found)
    assert states(boardroom, id) == ["written"]
    with a_turn(boardroom, people=lambda _: False) as found:
        assert texts(found) == ["[URGENT] stop"]


# Other programs write the inbox too.


def turned_back(boardroom):
    """A foreign program writes an old copy over the inbox: everything is unread again."""
    rows = boardroom.inboxes.rows("crew", "ann")
    boardroom.inboxes.foreign_rewrite("crew", "ann", [with_read(row, False) for row in rows])


def test_a_row_that_a_stale_rewrite_turned_back_is_not_shown_again(boardroom):
    post(boardroom, "one")
    assert show_all(boardroom) == ["one"]
    turned_back(boardroom)
    assert show_all(boardroom) == []


def test_behind_rows_that_were_turned_back_the_next_one_is_found_though_few_are_looked_at(boardroom):
    shown = [str(number) for number in range(GLANCED)]
    post(boardroom, *shown)
    assert show_all(boardroom) == shown
    turned_back(boardroom)
    post(boardroom, "the next")
    with a_turn(boardroom, people=lambda _: False) as found:
        assert texts(found) == ["the next"]


def test_nor_is_it_shown_again_an_hour_later(boardroom):
    """The look back into the ledger ends after five minutes; until then somebody has to mark the row again."""
    post(boardroom, "one")
    assert show_all(boardroom) == ["one"]
    turned_back(boardroom)
    assert show_all(boardroom) == []
    boardroom.clock.pass_time(3600)
    assert show_all(boardroom) == []


def test_nor_if_the_stale_rewrite_itself_comes_an_hour_later(boardroom):
    post(boardroom, "one")
    assert show_all(boardroom) == ["one"]
    boardroom.clock.pass_time(3600)
    turned_back(boardroom)
    assert show_all(boardroom) == []


def test_a_surfaced_row_that_was_dropped_is_not_put_back(boardroom):
    post(boardroom, "one")
    assert show_all(boardroom) == ["one"]
    boardroom.inboxes.foreign_rewrite("crew", "ann", [])
    assert put_back_dropped(boardroom, boardroom.rosters.load("crew"), everything=True) == 0


def test_a_row_that_was_given_back_and_dropped_is_put_back(boardroom):
    (one,) = post(boardroom, "one")
    turn = a_turn(boardroom)
    with turn as found:
        turn.take(found)
        turn.failed("x")
    boardroom.inboxes.foreign_rewrite("crew", "ann", [])
    assert put_back_dropped(boardroom, boardroom.rosters.load("crew"), everything=True) == 1
    assert show_all(boardroom) == ["one"]
    assert states(boardroom, one)[-1] == "surfaced"


def test_each_senders_order_is_kept_over_many_small_turns(boardroom):
    sent = [f"{number}" for number in range(10)]
    post(boardroom, *sent)
    shown = []
    for _ in range(5):
        shown += texts(surface(boardroom, HOOK, lambda found: found[:2], lambda _: "x"))
    assert shown == sent
