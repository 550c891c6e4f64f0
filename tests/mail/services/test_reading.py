"""Showing mail to its owner: noted, marked, shown, entered; and what becomes of it when the showing is cut off."""

from __future__ import annotations

import pytest

from atm.core.errors import WriteRefused
from atm.mail.rules.receipts import MAYBE_SHOWN
from atm.mail.rules.surfacing import HOOK, READ, ShowingNote, half_shown_in_words
from atm.mail.services.bookkeeping import record
from atm.mail.services.conversations import find_answer, look_for_answer
from atm.mail.services.posting import Draft
from atm.mail.services.reading import Filter, Reading, peek, take
from atm.mail.services.sending import send
from atm.mail.services.surfacing import Surfacing, half_shown, recover


@pytest.fixture
def ids(boardroom):
    return [send(boardroom, "crew", "ann", Draft(sender="bob", text=text)).message_id for text in ("one", "two")]


def states(boardroom, id):
    return [entry.state for entry in boardroom.ledger.entries("crew")[0] if id in entry.ids and entry.agent == "ann"]


def evidence(boardroom, id):
    return next(entry.evidence for entry in reversed(boardroom.ledger.entries("crew")[0]) if id in entry.ids)


def unread(boardroom):
    return [message.text for message in boardroom.inboxes.unread("crew", "ann")]


def texts(messages):
    return [message.text for message in messages]


def reading(boardroom, **wanted):
    return Reading(boardroom, "crew", "ann", Filter(**wanted))


def show_until(boardroom, error, then_refuse=None):
    """Something goes wrong when the first message is half written."""
    with reading(boardroom) as reader:
        mail = reader.take()
        mail.begun.append(mail.messages[0])
        boardroom.inboxes.refuse = then_refuse
        raise error


def killed_reader(boardroom, ids, *, marked=True, channel=READ):
    """What a reader leaves that was killed after its note, or after it had marked the rows too."""
    boardroom.surfacings.notes["crew", "ann"] = ShowingNote(keys=[*ids], channel=channel, at=boardroom.clock.now())
    if marked:
        boardroom.inboxes.mark("crew", "ann", set(ids), True)


def doubted(mail):
    return [message.text for message in mail.messages if mail.is_doubted(message)]


def test_it_is_noted_and_marked_before_it_is_shown_and_entered_afterwards(boardroom, ids):
    with reading(boardroom) as reader:
        assert texts(reader.take().messages) == ["one", "two"]
        note = boardroom.surfacings.notes["crew", "ann"]
        assert (note.channel, note.keys) == (READ, ids)
        assert unread(boardroom) == []
        assert states(boardroom, ids[0]) == ["written"]
        reader.shown()
        assert boardroom.surfacings.held == set(), "others may come before the reader has gone"
    assert states(boardroom, ids[0]) == ["written", "read"]
    assert not boardroom.surfacings.is_cut_off("crew", "ann")
    assert boardroom.surfacings.held == set()


@pytest.mark.parametrize(("largest", "shown"), [(0, []), (1 << 20, ["one"])])
def test_only_of_a_very_large_inbox_the_whole_ledger_is_asked_what_a_hook_has_shown(
    boardroom, monkeypatch, largest, shown
):
    """Hooks mark what they show, but in an inbox of that size; and to ask the whole ledger takes its time."""
    id = send(boardroom, "crew", "ann", Draft(sender="bob", text="one")).message_id
    record(boardroom, "crew", "ann", [id], "surfaced", "hook of a test")
    boardroom.clock.pass_time(3600)
    monkeypatch.setattr("atm.mail.services.reading.LARGEST_FOREIGN", largest)
    assert texts(take(boardroom, "crew", "ann", Filter()).messages) == shown
    assert unread(boardroom) == []


def test_the_note_lies_there_before_the_first_row_is_marked(boardroom, ids):
    noted = []
    claim = boardroom.inboxes.claim

    def watched(team, agent, choose):
        def look(rows):
            chosen = choose(rows)
            noted.append(boardroom.surfacings.is_cut_off(team, agent))
            return chosen

        return claim(team, agent, look)

    boardroom.inboxes.claim = watched
    take(boardroom, "crew", "ann", Filter())
    assert noted == [True]
    assert states(boardroom, ids[0]) == ["written", "read"]


def test_nothing_to_read_needs_no_turn(boardroom):
    boardroom.surfacings.turn = None  # whoever asks for one fails
    with reading(boardroom) as reader:
        assert reader.take().messages == []
        reader.shown()


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (KeyboardInterrupt(2), "the reader was interrupted"),
        (BrokenPipeError(), "the output could not be written"),
        (ValueError("closed"), "the output could not be written"),
        (RuntimeError("a bug"), "the reader failed"),
    ],
)
def test_whatever_stops_the_showing_gives_it_back_and_says_how_far_it_came(boardroom, ids, error, why):
    with pytest.raises(type(error)):
        show_until(boardroom, error)
    assert unread(boardroom) == ["one", "two"]
    assert [states(boardroom, id) for id in ids] == [["written", "returned"]] * 2
    assert evidence(boardroom, ids[0]) == f"{why}: it {MAYBE_SHOWN}"
    assert evidence(boardroom, ids[1]) == f"{why} before it was shown"
    assert not boardroom.surfacings.is_cut_off("crew", "ann")
    assert boardroom.surfacings.held == set()
    assert doubted(peek(boardroom, "crew", "ann", Filter())) == ["one"]
    again = take(boardroom, "crew", "ann", Filter())
    assert (texts(again.messages), doubted(again)) == (["one", "two"], ["one"])
    assert take(boardroom, "crew", "ann", Filter()).messages == []


@pytest.mark.usefixtures("ids")
def test_what_cannot_be_given_back_now_is_found_by_the_next_reader(boardroom):
    with pytest.raises(WriteRefused):
        show_until(boardroom, KeyboardInterrupt(), then_refuse=WriteRefused("full"))
    boardroom.inboxes.refuse = None
    assert unread(boardroom) == []
    assert boardroom.surfacings.is_cut_off("crew", "ann")
    again = take(boardroom, "crew", "ann", Filter())
    assert doubted(again) == ["one", "two"]


@pytest.mark.usefixtures("ids")
def test_mail_that_cannot_be_marked_is_shown_with_a_warning_and_again_by_the_next_one(boardroom, monkeypatch):
    def claim(*_):
        raise WriteRefused("/locks/ann: Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr(boardroom.inboxes, "claim", claim)
        shown = take(boardroom, "crew", "ann", Filter())
    assert (texts(shown.messages), shown.marked) == (["one", "two"], False)
    assert ["/locks/ann: Permission denied" in warning for warning in shown.warnings] == [True]
    assert not boardroom.surfacings.is_cut_off("crew", "ann")
    assert texts(take(boardroom, "crew", "ann", Filter()).messages) == ["one", "two"]


@pytest.mark.usefixtures("ids")
def test_an_inbox_that_cannot_be_marked_leaves_its_note_and_nothing_else(boardroom, monkeypatch):
    """The error may have come after the rows were marked: then only the note knows of them."""

    def claim(team, agent, choose):
        choose(boardroom.inboxes.unread(team, agent))
        raise WriteRefused("full")

    with monkeypatch.context() as patched:
        patched.setattr(boardroom.inboxes, "claim", claim)
        with pytest.raises(WriteRefused), reading(boardroom) as reader:
            reader.take()
    assert boardroom.surfacings.held == set()
    again = take(boardroom, "crew", "ann", Filter())
    assert (texts(again.messages), doubted(again)) == (["one", "two"], [])


# Killed.


@pytest.mark.parametrize("everything", [False, True])
def test_what_a_killed_reader_had_marked_is_shown_again_with_the_words_and_once(boardroom, ids, everything):
    killed_reader(boardroom, ids)
    again = take(boardroom, "crew", "ann", Filter(everything=everything))
    assert doubted(again) == ["one", "two"]
    assert states(boardroom, ids[0]) == ["written", "returned", "read"]
    later = take(boardroom, "crew", "ann", Filter(everything=True))
    assert (texts(later.messages), doubted(later)) == (["one", "two"], [])


def test_what_a_killed_reader_had_not_marked_yet_is_not_in_doubt(boardroom, ids):
    killed_reader(boardroom, ids, marked=False)
    again = take(boardroom, "crew", "ann", Filter())
    assert (texts(again.messages), doubted(again)) == (["one", "two"], [])


def test_of_a_killed_reader_only_what_the_ledger_does_not_know_comes_again(boardroom, ids):
    take(boardroom, "crew", "ann", Filter(limit=1))
    killed_reader(boardroom, ids)
    again = take(boardroom, "crew", "ann", Filter())
    assert (texts(again.messages), doubted(again)) == (["one"], ["one"])


def test_a_row_without_an_id_comes_again_with_the_words_too(boardroom):
    boardroom.inboxes.append("crew", "ann", [foreign("hello")], fresh=True)
    killed_reader(boardroom, [foreign("hello").key])
    assert doubted(take(boardroom, "crew", "ann", Filter())) == ["hello"]


def foreign(text):
    from atm.files.formats.json_record import encode
    from atm.mail.formats.inbox import decode_row

    row = decode_row(encode({"from": "bob", "text": text, "timestamp": "2026-08-27T10:15:30.123Z", "read": False}))
    assert row is not None
    return row


@pytest.mark.parametrize("channel", [READ, HOOK])
def test_the_words_are_known_also_when_somebody_else_gave_it_back(boardroom, ids, channel):
    killed_reader(boardroom, ids, channel=channel)
    recover(boardroom, "crew", "ann")
    assert unread(boardroom) == ["one", "two"]
    assert doubted(take(boardroom, "crew", "ann", Filter())) == ["one", "two"]


def test_whoever_else_shows_it_can_say_so_too(boardroom, ids):
    killed_reader(boardroom, ids[:1])
    turn = Surfacing(boardroom, "crew", "ann", HOOK)
    with turn as found:
        assert [turn.doubts(message) for message in found or []] == [True, False]


def test_where_somebody_can_find_out_later_an_interruption_gives_nothing_back(boardroom, ids):
    """A line may have been pasted: the next turn looks into the pane, as after a kill."""

    def paste_and_be_interrupted():
        turn = Surfacing(boardroom, "crew", "ann", HOOK, was_shown=lambda _: "found it")
        with turn as found:
            turn.take(found or [])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        paste_and_be_interrupted()
    assert boardroom.surfacings.is_cut_off("crew", "ann")
    assert boardroom.surfacings.held == set()
    with Surfacing(boardroom, "crew", "ann", HOOK, was_shown=lambda _: "found it") as found:
        assert found == []
    assert states(boardroom, ids[0]) == ["written", "surfaced"]


# For the check-up.


def test_a_check_up_finds_mail_of_a_dead_reader_and_mending_gives_it_back(boardroom, ids):
    assert list(half_shown(boardroom, "crew", ["ann", "bob"])) == []
    killed_reader(boardroom, ids)
    ((member, note),) = half_shown(boardroom, "crew", ["ann", "bob"])
    assert (member, note.keys) == ("ann", ids)
    assert unread(boardroom) == [], "looking changes nothing"
    recover(boardroom, "crew", member)
    assert list(half_shown(boardroom, "crew", ["ann", "bob"])) == []
    assert unread(boardroom) == ["one", "two"]


@pytest.mark.usefixtures("ids")
def test_a_check_up_leaves_a_reader_alone_that_is_at_it(boardroom):
    with reading(boardroom) as reader:
        reader.take()
        assert list(half_shown(boardroom, "crew", ["ann"])) == []
        reader.shown()


@pytest.mark.parametrize(("keys", "count"), [(["a"], "a message"), (["a", "b"], "2 messages")])
def test_the_finding_names_the_member_and_the_channel(keys, count):
    said = half_shown_in_words("ann", "crew", ShowingNote(keys=keys, channel=READ, at=0.0))
    assert said.startswith(f"a process was killed while it showed {count} to 'ann' in team 'crew' (read)")


# Answers.


def test_an_answer_is_looked_for_without_being_taken(boardroom):
    asked = send(boardroom, "crew", "bob", Draft(sender="ann", text="?"))
    send(boardroom, "crew", "ann", Draft(sender="bob", text="8080\n\nRequest-ID: r-1"))
    wanted = (("ann", "crew"), ("bob", "crew"), "r-1", asked.message_id)
    assert look_for_answer(boardroom, *wanted) is not None
    assert len(unread(boardroom)) == 1
    assert find_answer(boardroom, *wanted) is not None
    assert unread(boardroom) == []
