"""Mail that waits for somebody who is removed meanwhile makes no inbox that nobody looks at."""

from __future__ import annotations


def test_a_message_queued_for_a_member_who_was_removed_makes_no_inbox(atm, room):
    assert room.inboxes.owners("crew") == ["ann", "bob"]
    inbox = atm.inbox("ann")
    inbox.rename(inbox.with_suffix(".aside"))
    inbox.mkdir()  # nothing can be written there, not even by root
    assert atm("send", "ann", "hello", "--from", "bob", "--json").json["outcome"] == "queued"
    inbox.rmdir()
    inbox.with_suffix(".aside").rename(inbox)
    atm("teams", "remove-member", "crew", "ann", "--force")
    atm("spool", "retry", code=None)
    assert room.inboxes.owners("crew") == ["bob"]
    assert atm.pending == []
    (kept,) = (atm.home / ".config/atm/spool/failed").glob("*.json")
    assert "ann has left since" in kept.read_text()
