"""
Receipts: how far a message has come, and what shows it (D7).

A message's journey is a row of states, each reached by an event with its evidence and time. Some events say
that a row left an inbox for a known reason; without one of those, a row that is missing was dropped by
another program's stale rewrite and is put back once (D24).
"""

from __future__ import annotations

JOURNEY = ("queued", "written", "surfaced", "read", "answered")
"""The states a message passes through. Later ones imply nothing about earlier ones that were not observed."""

FAILED = "failed"
"""Given up after the last retry; the message lies in the spool's `failed/` folder."""

ARCHIVED = "archived"
"""Taken out of the inbox by clean-up, after it was copied to the archive."""

RESTORED = "restored"
"""Put back after a stale rewrite dropped it: one row, never two (D24)."""

MOST_RESTORES = 20
"""A rival that writes from an old copy drops what was just put back, so once is not enough. Something that
removes a row twenty times wants it gone."""

RETURNED = "returned"
"""Marked unread again, because showing it to the reader failed."""

MAYBE_SHOWN = "may have been shown"
"""What the evidence of a `returned` says if the showing had begun; and the words that go with the message next time."""

ACK_DUE = "ack-due"
"""The sender wants an acknowledgement within a time; without one the lead is told, then a human."""

ESCALATED = "escalated"
"""The lead or the humans were told that an acknowledgement is missing."""

PASTED = "pasted"
"""Pasted into a terminal, but nobody saw it submitted: it may have been seen, and stays unread."""

WOKEN = "woken"
"""An idle agent was told that mail waits; the mail itself comes through its hook."""

STATES = (*JOURNEY, FAILED, ARCHIVED, RESTORED, RETURNED, ACK_DUE, ESCALATED, PASTED, WOKEN)


class Event:
    """One line of the ledger about one message and one recipient."""

    __slots__ = ("agent", "at", "evidence", "id", "seq", "state")

    def __init__(self, *, seq: int, id: str, agent: str, state: str, at: str, evidence: str) -> None:
        self.seq = seq
        self.id = id
        self.agent = agent
        self.state = state
        self.at = at
        self.evidence = evidence


def standing(states: list[str]) -> str:
    """The furthest state reached, or `unknown`. `failed` counts only while nothing better happened."""
    reached = [state for state in JOURNEY if state in states]
    if _last(states, RETURNED) < _last(states, "read"):
        reached = [state for state in reached if state != "read"]
    if FAILED in states and (not reached or reached == ["queued"]):
        return FAILED
    return reached[-1] if reached else "unknown"


def _last(states: list[str], state: str) -> int:
    """How many entries stand after the last occurrence of a state; the whole length if there is none."""
    return states[::-1].index(state) if state in states else len(states)


def expected_in_inbox(states: list[str]) -> bool:
    """Should a row with this history still lie in the inbox, and may it be put back if it does not?"""
    if "written" not in states or already_read(states) or ARCHIVED in states:
        return False
    if _last(states, FAILED) < _last(states, "written"):
        return False
    return states.count(RESTORED) < MOST_RESTORES


def leaves_doubt(state: str, evidence: str) -> bool:
    """Does this line of the ledger say that its message may have been seen, although it counts as unread?"""
    return state == RETURNED and MAYBE_SHOWN in evidence


def already_read(states: list[str]) -> bool:
    """
    Was it shown to its owner, so that an inbox that says `read: false` has been turned back?

    Put into an agent's context counts: a copy that came back unread would be put there a second time (G2).
    """
    for state in reversed(states):
        if state == RETURNED:
            return False
        if state in ("surfaced", "read", "answered"):
            return True
    return False
