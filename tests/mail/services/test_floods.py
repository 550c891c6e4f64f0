"""Quotas, the spool behind them and the refusal, with rooms in memory and over real files."""

from __future__ import annotations

import pytest

from atm.core.errors import InboxFull, UnreadableFile
from atm.mail.formats.spool_entry import SpoolEntry
from atm.mail.rules.lifetimes import RetentionPolicy
from atm.mail.rules.quotas import INBOX_FULL, RESERVE_ROWS, Quota
from atm.mail.services import reading
from atm.mail.services.conversations import acknowledge
from atm.mail.services.escalation import SENDER
from atm.mail.services.mailroom import find_recipient
from atm.mail.services.posting import Draft, compose, deliver
from atm.mail.services.sending import broadcast, send
from atm.mail.services.spooling import drain
from atm.roster.services.members import add_member, create_team
from atm.team.rules.team import Member
from atm.testing import make_message, memory_room
from atm.wiring.mail import build_room

ROWS = 3


@pytest.fixture(params=["twin", "files"])
def post(request, layout):
    """A room with a team of ann, bob and cat in which a sender may have three unread messages with a recipient."""
    made = memory_room(policy=RetentionPolicy()) if request.param == "twin" else build_room(layout)
    create_team(made, "crew")
    for name in ("ann", "bob", "cat"):
        add_member(made, "crew", Member(name))
    made.quota = Quota(ROWS, 0)
    return made


def say(room, text, sender="ann", to="bob", **more):
    return send(room, "crew", to, Draft(sender=sender, text=text, **more))


def flood(room, count, **more):
    return [say(room, f"n{n}", **more).outcome for n in range(count)]


def unread(room, agent="bob"):
    return [row.text for row in room.inboxes.unread("crew", agent)]


def waiting(room):
    return [(one.entry.reason, one.entry.tries) for one in room.spool.pending()]


def read(room, agent="bob"):
    return [message.text for message in reading.take(room, "crew", agent, reading.Filter()).messages]


def test_what_is_over_is_queued_and_as_much_again_is_refused(post):
    assert flood(post, 2 * ROWS) == ["success"] * ROWS + ["queued"] * ROWS
    with pytest.raises(InboxFull, match="3 more"):
        say(post, "one too many")
    assert len(unread(post)) == ROWS
    assert waiting(post) == [(INBOX_FULL, 0)] * ROWS


def test_the_sender_is_told_why_it_waits(post):
    flood(post, ROWS)
    sent = say(post, "over")
    assert (sent.outcome, sent.reason) == ("queued", INBOX_FULL)
    assert any(warning.startswith("inbox-full: ") for warning in sent.warnings)


def test_bytes_count_as_rows_do(post):
    post.quota = Quota(0, 10_000)
    assert [say(post, "x" * 4000).outcome for _ in range(4)] == ["success", "success", "queued", "queued"]
    with pytest.raises(InboxFull):
        say(post, "x" * 4000)
    assert say(post, "small").outcome == "queued", "behind what the same sender sent before (G4)"


def test_one_message_larger_than_the_limit_is_delivered(post):
    post.quota = Quota(0, 1000)
    assert say(post, "x" * 4000).outcome == "success"
    assert say(post, "x").outcome == "queued"


def test_what_waits_comes_in_order_when_the_recipient_has_read_and_nothing_is_lost_or_twice(post):
    flood(post, 2 * ROWS)
    got = []
    for _ in range(10):
        got += read(post)
        drain(post)
        if not unread(post):
            break
    assert got == [f"n{n}" for n in range(2 * ROWS)]
    assert waiting(post) == []


def test_nothing_is_given_up_because_somebody_is_slow_to_read(post):
    flood(post, ROWS + 1)
    for _ in range(30):
        assert drain(post, everything=True).waiting == 1
    assert waiting(post) == [(INBOX_FULL, 0)]
    assert not post.spool.failed()
    read(post)
    assert drain(post, everything=True).delivered == 1
    assert unread(post) == [f"n{ROWS}"]


def test_what_waited_for_something_else_and_finds_no_room_waits_for_that_from_now_on(post):
    flood(post, ROWS)
    raw = make_message("id-1", "held", sender="ann").raw
    entry = SpoolEntry(team="crew", agent="bob", message_id="id-1", raw=raw, created_at=1.0, reason="held", tries=2)
    post.spool.put(entry)
    assert drain(post, everything=True).waiting == 1
    assert waiting(post) == [(INBOX_FULL, 2)]
    assert say(post, "from cat", sender="cat").outcome == "success", "it holds up nobody else"


def test_who_has_no_room_holds_up_nobody_else_whose_mail_waits(post):
    flood(post, ROWS + 1)
    raw = make_message("id-1", "from cat", sender="cat").raw
    post.spool.put(SpoolEntry(team="crew", agent="bob", message_id="id-1", raw=raw, created_at=1.0, reason="held"))
    done = drain(post, everything=True)
    assert (done.delivered, done.waiting) == (1, 1)
    assert "from cat" in unread(post)


def test_that_it_is_being_delivered_is_noted_before_that_can_be_seen(post, monkeypatch):
    """Whoever is killed in between leaves behind what the next one looks for (G2)."""
    append, noted = type(post.inboxes).append, []

    def watched(self, *given, **named):
        noted.append([one.was_tried for one in post.spool.pending()])
        return append(self, *given, **named)

    flood(post, ROWS + 1)
    read(post)
    monkeypatch.setattr(type(post.inboxes), "append", watched)
    assert drain(post, everything=True).delivered == 1
    assert noted == [[True]]


def test_what_would_fit_does_not_overtake_what_the_same_sender_sent_before(post):
    post.quota = Quota(0, 10_000)
    for text in ("x" * 4000, "y" * 4000, "z" * 4000, "small"):
        say(post, text)
    done = drain(post, everything=True)
    assert (done.delivered, done.waiting) == (0, 2)
    assert "small" not in unread(post)


def test_one_that_had_arrived_when_its_process_died_needs_no_room_once_more(post):
    flood(post, ROWS - 1)
    last = make_message("id-1", "the last that fits", sender="ann")
    entry = SpoolEntry(team="crew", agent="bob", message_id="id-1", raw=last.raw, created_at=1.0, reason="held")
    post.spool.put(entry)
    post.spool.begin(post.spool.pending()[0])
    post.inboxes.append("crew", "bob", [last], fresh=True)
    assert drain(post, everything=True).delivered == 1
    assert waiting(post) == []
    assert unread(post).count("the last that fits") == 1


def test_as_many_come_out_of_the_spool_as_there_is_room_for(post):
    flood(post, 2 * ROWS)
    post.inboxes.mark("crew", "bob", {post.inboxes.unread("crew", "bob")[0].key}, True)
    done = drain(post, everything=True)
    assert (done.delivered, done.waiting) == (1, ROWS - 1)


def test_mail_of_others_is_not_held_up(post):
    flood(post, 2 * ROWS)
    assert say(post, "from cat", sender="cat").outcome == "success"
    assert unread(post)[-1] == "from cat"


def test_urgent_mail_of_the_same_sender_overtakes_what_waits(post):
    flood(post, 2 * ROWS)
    assert say(post, "stop", is_urgent=True).outcome == "success"


def test_the_reserve_ends_too(post):
    outcomes = flood(post, 2 * (ROWS + RESERVE_ROWS), is_urgent=True)
    assert outcomes.count("success") == ROWS + RESERVE_ROWS
    assert outcomes.count("queued") == ROWS + RESERVE_ROWS
    with pytest.raises(InboxFull):
        say(post, "stop", is_urgent=True)
    assert say(post, "stop", sender="human", is_urgent=True).outcome == "success"


def test_a_person_reaches_an_agent_whom_others_have_buried(post):
    flood(post, 2 * ROWS)
    flood(post, 2 * ROWS, sender="cat")
    assert say(post, "stop", sender="human").outcome == "success"


def test_names_that_are_not_on_the_team_share_one_quota(post):
    outcomes = [say(post, "hello", sender=f"x{n}").outcome for n in range(2 * ROWS)]
    assert outcomes == ["success"] * ROWS + ["queued"] * ROWS
    with pytest.raises(InboxFull):
        say(post, "hello", sender="another")
    assert say(post, "hello", sender="ann").outcome == "success"


def test_a_broadcast_says_who_was_full(post):
    flood(post, 2 * ROWS)
    _, copies = broadcast(post, "crew", Draft(sender="ann", text="to all"))
    found = {sent.agent: (sent.outcome, sent.error.code if sent.error else "") for sent in copies}
    assert found == {"bob": ("failed", "inbox-full"), "cat": ("success", "")}


def test_who_interrupts_a_broadcast_is_told_of_everybody(post, monkeypatch):
    append, met = post.inboxes.append, []

    def interrupted(team, agent, *given, **named):
        met.append(agent)
        if len(met) == 2:
            raise KeyboardInterrupt
        return append(team, agent, *given, **named)

    add_member(post, "crew", Member("dan"))
    monkeypatch.setattr(type(post.inboxes), "append", lambda _, *given, **named: interrupted(*given, **named))
    id, copies = broadcast(post, "crew", Draft(sender="ann", text="to all"))
    assert [(sent.agent, sent.outcome) for sent in copies] == [("bob", "success"), ("cat", "failed"), ("dan", "failed")]
    assert [str(sent.error) for sent in copies[1:]] == [
        "interrupted while it was sent",
        "interrupted before it was sent",
    ]
    assert {sent.message_id for sent in copies} == {id}
    assert not any(sent.offline for sent in copies)


def test_what_waits_for_room_in_a_team_whose_roster_cannot_be_read_waits_by_itself(post, monkeypatch):
    flood(post, ROWS + 2)

    def refuse(error):
        def refused(*_, **__):
            raise error

        return refused

    monkeypatch.setattr(type(post.rosters), "load", refuse(UnreadableFile("config.json is no JSON", "mend it")))
    monkeypatch.setattr(type(post.inboxes), "append", refuse(InboxFull("it is full", "wait")))
    assert drain(post, everything=True).waiting == 2
    assert waiting(post) == [(INBOX_FULL, 0)] * 2


def test_a_reply_that_has_no_room_answers_nothing_yet(post):
    say(post, "a question", sender="bob", to="ann")
    flood(post, 2 * ROWS)
    (question,) = post.inboxes.unread("crew", "ann")
    with pytest.raises(InboxFull):
        acknowledge(post, "crew", "ann", question.id, "my answer")
    assert unread(post, "ann") == ["a question"]
    read(post)
    assert acknowledge(post, "crew", "ann", question.id, "my answer").outcome in ("success", "queued")
    assert unread(post, "ann") == []


def test_a_reply_waits_like_other_mail_and_blocks_nobody_else(post):
    say(post, "a question", sender="bob", to="ann")
    flood(post, ROWS)
    (question,) = post.inboxes.unread("crew", "ann")
    assert acknowledge(post, "crew", "ann", question.id, "my answer").outcome == "queued"
    assert waiting(post) == [(INBOX_FULL, 0)]
    assert say(post, "from cat", sender="cat").outcome == "success"
    read(post)
    drain(post)
    assert unread(post) == ["my answer"]


def test_notices_of_atm_itself_have_a_quota_of_their_own(post):
    flood(post, 2 * ROWS)
    to = find_recipient(post, "crew", "bob")
    letter = Draft(sender=SENDER, text="not acknowledged")
    outcomes = [deliver(post, to, compose(post, to, letter), is_new=False).outcome for _ in range(2 * ROWS)]
    assert outcomes == ["success"] * ROWS + ["queued"] * ROWS


def test_what_must_not_wait_is_told_that_there_is_no_room(post):
    flood(post, ROWS, sender=SENDER)
    to = find_recipient(post, "crew", "bob")
    with pytest.raises(InboxFull):
        deliver(post, to, compose(post, to, Draft(sender=SENDER, text="now")), may_wait=False)
    assert waiting(post) == []


def test_without_limits_everything_is_taken(post):
    post.quota = Quota(0, 0)
    assert set(flood(post, 5 * ROWS)) == {"success"}


def test_read_mail_does_not_count(post):
    for _ in range(4):
        assert flood(post, ROWS) == ["success"] * ROWS
        read(post)


def test_a_flood_under_many_names_is_counted_once_and_not_once_for_each(post):
    """Strangers share one room: too much for one of them is too much for all. Members do not wait for them."""
    assert [say(post, "x", sender=f"stranger-{n}").outcome for n in range(ROWS)] == ["success"] * ROWS
    assert [say(post, "y", sender=f"other-{n}").outcome for n in range(ROWS)] == ["queued"] * ROWS
    asked: list[str] = []

    class Counting(type(post.inboxes)):  # type: ignore[misc]
        __slots__ = ()

        def has_room(self, team, agent, allowance):
            asked.append(agent)
            return super().has_room(team, agent, allowance)

    post.inboxes.__class__ = Counting
    drain(post, everything=True)
    assert asked == ["bob"]
    assert say(post, "of a member", sender="ann").outcome == "success"
