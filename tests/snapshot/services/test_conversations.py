"""Conversations and what happened, from ledger, history and audit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.sessions.services.stage import SessionStage

from atm.mail.services.bookkeeping import all_told
from atm.mail.services.conversations import acknowledge
from atm.mail.services.reading import Filter, take
from atm.snapshot.services.happenings import happenings
from atm.snapshot.services.threads import MailThread, threads_in

if TYPE_CHECKING:
    from atm.core.plain import Plain


@pytest.fixture
def stage() -> SessionStage:
    return SessionStage()


def threads(stage: SessionStage) -> list[MailThread]:
    return threads_in(all_told(stage.room, "crew"))


def test_what_the_same_people_said_is_one_conversation_and_the_newest_comes_first(stage):
    stage.say("bob", "cat", "one")
    stage.later(1)
    stage.say("ann", "bob", "two")
    stage.later(1)
    stage.say("cat", "bob", "three")
    assert [(one.people, [each.text for each in one.messages]) for one in threads(stage)] == [
        (("bob", "cat"), ["one", "three"]),
        (("ann", "bob"), ["two"]),
    ]


def test_a_receipt_is_no_sooner_there_than_it_was_observed(stage):
    sent = stage.say("bob", "cat", "hello")
    (letter,) = threads(stage)[0].messages
    assert [letter.stand(state) for state in ("queued", "written", "read", "answered")] == [
        "unneeded",
        "yes",
        "no",
        "no",
    ]
    take(stage.room, "crew", "cat", Filter())
    acknowledge(stage.room, "crew", "cat", sent.message_id, "yes")
    letter = next(one for thread in threads(stage) for one in thread.messages if one.id == sent.message_id)
    assert [letter.stand(state) for state in ("written", "read", "answered")] == ["yes", "yes", "yes"]
    assert letter.stand("surfaced") == "unknown"


def test_a_message_to_several_has_come_no_further_than_with_the_last_of_them(stage):
    from atm.mail.services.posting import Draft
    from atm.mail.services.sending import broadcast

    broadcast(stage.room, "crew", Draft(sender="ann", text="stop", home="crew"))
    take(stage.room, "crew", "cat", Filter())
    (thread,) = threads(stage)
    assert thread.people == ("ann", "bob", "cat")
    assert thread.last.stand("read") == "no"


def test_what_happened_is_one_row_of_time(stage):
    id = stage.task("parse", owner="bob")
    stage.later(1)
    stage.say("bob", "cat", "done soon")
    stage.later(1)
    stage.done(id, "bob")
    past = stage.boardroom.tasks.past("crew")[0]
    audit: list[dict[str, Plain]] = [
        {"at": "2099-01-01T00:00:00.000Z", "id": "a1", "event": "denied", "by": "human", "reason": "no"}
    ]
    found = happenings(all_told(stage.room, "crew"), past, audit)
    assert [one.at for one in found] == sorted(one.at for one in found)
    said = [f"{one.who} {one.what}" for one in found]
    assert any(one.startswith("bob wrote to cat: “done soon”") for one in said)
    assert said[-1] == "human denied request a1: “no”"
    assert any(one.startswith(f"bob #{id} status changed completed") for one in said)


def test_idle_notices_are_no_conversation(stage):
    from atm.delivery.services.idle_notices import goes_idle
    from atm.team.services.presence import beat

    stage.say("bob", "cat", "one")
    team = stage.room.rosters.load("crew")
    beat(stage.room.presence, team, "bob", stage.room.clock.now(), "codex hook", state="working")
    stage.later(1)
    assert goes_idle(stage.room, team, "bob", "codex hook") is not None
    assert [[each.text for each in one.messages] for one in threads(stage)] == [["one"]]
