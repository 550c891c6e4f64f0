"""
A program that acts on its mail is killed at every single step: whatever it had not acted on to the end comes again,
and mail of other types is as it was (G1).
"""

from __future__ import annotations

from pathlib import Path

from tests.crash.test_surfacing_every_step import a_room, a_team, every_kill

from atm.mail.services.posting import Draft
from atm.mail.services.sending import send
from atm.mail.services.typed.consuming import consuming, take
from atm.mail.services.typed.letters import give_type
from atm.roster.services.teamroom import Teamroom

TYPES = ["status_update"]


def with_news(home: Path) -> None:
    room = a_team(home)
    for number in range(2):
        send(room, "crew", "ann", Draft(sender="bob", text=f"words {number}"))
        letter = Draft(sender="bob", text=f"{number}")
        give_type(room, "crew", "ann", letter, "status_update", ["state=working"])
        send(room, "crew", "ann", letter)


def test_whatever_it_had_not_acted_on_comes_again_and_no_other_mail_is_touched(tmp_path):
    done: list[str] = []

    def act(room: Teamroom) -> None:
        done.clear()
        with consuming(room, "crew", "ann", TYPES) as taken:
            done.extend(one.metadata["note"] for one in taken)

    for _, where, home in every_kill(tmp_path, with_news, act):
        room = a_room(home, ahead=31)
        is_entered = any(entry.state == "read" for entry in room.ledger.entries("crew")[0])
        again = [one.metadata["note"] for one in take(room, "crew", "ann", TYPES)]
        assert again == ([] if is_entered else ["0", "1"]), where
        if is_entered:
            assert done == ["0", "1"], f"{where}: entered as read before it was acted on"
        assert take(room, "crew", "ann", TYPES) == [], where
        texts = [message.text for message in room.inboxes.unread("crew", "ann")]
        assert texts == ["words 0", "words 1"], where
