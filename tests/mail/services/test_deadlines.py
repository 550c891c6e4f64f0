"""One deadline for everything that a send does (D27), with twins that take their time and a clock of ours."""

from __future__ import annotations

from typing import Any

import pytest

from atm.core.errors import AtmError, FileBusy, UnreadableFile, WriteRefused
from atm.mail.rules.lifetimes import LAST_EFFORT, SEND_WITHIN, UPKEEP_WITHIN, time_left
from atm.mail.services.mailroom import find_recipient
from atm.mail.services.posting import ATTEMPTS, Draft, compose, deliver
from atm.mail.services.sending import broadcast, send
from atm.mail.services.spooling import drain_on_the_way
from atm.roster.services.members import add_member
from atm.roster.services.teamroom import Teamroom
from atm.team.rules.team import Member
from atm.testing import make_message
from atm.testing.mail import MemoryInboxes


class SlowInboxes(MemoryInboxes):
    """Every change waits as long as it is allowed to, then takes a last effort, and fails. Knows who waited."""

    def __init__(self, clock: Any) -> None:
        super().__init__()
        self._clock = clock
        self.error: AtmError | None = None
        self.takes: float | None = None
        """Seconds, if it fails sooner than its patience ends."""
        self.waited: list[tuple[str, float | None]] = []

    def _wait(self, what: str, patience: float | None) -> None:
        if self.error is None:
            return
        self.waited.append((what, patience))
        self._clock.pass_time((SEND_WITHIN if patience is None else patience) if self.takes is None else self.takes)
        self._clock.pass_time(LAST_EFFORT if self.takes is None else 0.0)
        raise self.error

    def append(self, team: str, agent: str, *given: Any, **named: Any) -> Any:
        self._wait("append", named.get("patience"))
        return super().append(team, agent, *given, **named)

    def change(self, team: str, agent: str, change: Any, patience: float | None = None) -> Any:
        self._wait("change", patience)
        return super().change(team, agent, change, patience)


@pytest.fixture
def inboxes(boardroom: Teamroom) -> SlowInboxes:
    made = SlowInboxes(boardroom.clock)
    boardroom.inboxes = made
    for name in ("ann", "bob"):
        made.create("crew", name)
    return made


def letter(text: str = "hello") -> Draft:
    return Draft(sender="bob", text=text)


def busy() -> FileBusy:
    return FileBusy("it is rewritten all the time", "stop that")


def test_the_rule_leaves_time_for_a_last_effort():
    assert time_left(10.0, 4.0) == pytest.approx(6.0 - LAST_EFFORT)
    assert time_left(10.0, 9.9) == time_left(10.0, 11.0) == 0.0
    assert UPKEEP_WITHIN + LAST_EFFORT < SEND_WITHIN


def test_a_send_that_cannot_be_written_is_queued_within_the_deadline(boardroom, inboxes):
    inboxes.error = busy()
    assert send(boardroom, "crew", "ann", letter()).outcome == "queued"
    assert boardroom.clock.monotonic() == pytest.approx(SEND_WITHIN)


def test_also_if_there_are_rows_to_put_back_and_mail_that_waits(boardroom, inboxes):
    for name in ("ann", "bob"):
        send(boardroom, "crew", name, letter("first"))
        inboxes.foreign_rewrite("crew", name, [])
    inboxes.error = busy()
    for _ in range(5):
        before = boardroom.clock.monotonic()
        assert send(boardroom, "crew", "ann", letter()).outcome == "queued"
        assert boardroom.clock.monotonic() - before <= SEND_WITHIN + 0.01
        boardroom.clock.pass_time(60)
    assert {what for what, _ in inboxes.waited} == {"append", "change"}


def test_what_is_done_besides_leaves_most_of_the_time_to_the_message(boardroom, inboxes):
    send(boardroom, "crew", "ann", letter("first"))
    inboxes.foreign_rewrite("crew", "ann", [])
    inboxes.error = busy()
    send(boardroom, "crew", "ann", letter())
    patience = dict(inboxes.waited)
    assert patience["change"] == pytest.approx(UPKEEP_WITHIN - LAST_EFFORT)
    assert patience["append"] == pytest.approx(SEND_WITHIN - UPKEEP_WITHIN - LAST_EFFORT)


def test_attempts_that_fail_at_once_are_made_three_times(boardroom, inboxes):
    inboxes.error, inboxes.takes = WriteRefused("read-only", "check"), 0.0
    assert send(boardroom, "crew", "ann", letter()).outcome == "queued"
    assert len(inboxes.waited) == ATTEMPTS


@pytest.mark.parametrize(("seconds", "attempts"), [(1.0, 3), (2.3, 2), (6.0, 1)])
def test_attempts_that_take_long_are_made_as_long_as_there_is_time(boardroom, inboxes, seconds, attempts):
    inboxes.error, inboxes.takes = UnreadableFile("100,000 brackets", "mend it"), seconds
    assert send(boardroom, "crew", "ann", letter()).outcome == "queued"
    assert len(inboxes.waited) == attempts


def test_a_broadcast_has_one_deadline_for_all_copies(boardroom, inboxes):
    for number in range(10):
        add_member(boardroom, "crew", Member(f"m{number}"))
    inboxes.error = busy()
    _, sent = broadcast(boardroom, "crew", letter())
    assert {one.outcome for one in sent} == {"queued"}
    assert len(sent) > 10
    assert boardroom.clock.monotonic() <= SEND_WITHIN + len(sent) * LAST_EFFORT  # each is tried, and not waited for


def test_the_copies_of_a_broadcast_that_nobody_hinders_are_written_however_long_it_takes(boardroom, inboxes):
    add_member(boardroom, "crew", Member("cat"))
    inboxes.error = busy()
    boardroom.clock.pass_time(1.0)
    append = inboxes.append

    def only_cat(team: str, agent: str, *given: Any, **named: Any) -> Any:
        if agent != "cat":
            return append(team, agent, *given, **named)
        return MemoryInboxes.append(inboxes, team, agent, *given, **named)

    inboxes.append = only_cat
    _, sent = broadcast(boardroom, "crew", letter())
    assert {one.agent: one.outcome for one in sent}["cat"] == "success"


def test_mail_that_waits_for_others_is_tried_for_a_moment_only(boardroom, inboxes):
    names = [f"m{number}" for number in range(8)]
    for name in names:
        add_member(boardroom, "crew", Member(name))
    inboxes.error = busy()
    for name in names:
        to = find_recipient(boardroom, "crew", name)
        deliver(boardroom, to, compose(boardroom, to, letter()))
    boardroom.clock.pass_time(100)
    inboxes.waited, before = [], boardroom.clock.monotonic()
    drain_on_the_way(boardroom)
    assert boardroom.clock.monotonic() - before <= UPKEEP_WITHIN
    assert 1 <= len(inboxes.waited) < len(names)


def test_a_message_behind_others_that_wait_is_queued_behind_them_in_time(boardroom, inboxes):
    inboxes.error = busy()
    texts = [f"number {number}" for number in range(4)]
    for text in texts:
        before = boardroom.clock.monotonic()
        send(boardroom, "crew", "ann", letter(text))
        assert boardroom.clock.monotonic() - before <= SEND_WITHIN + 0.01
    inboxes.error = None
    send(boardroom, "crew", "ann", letter("last"))
    assert [row.text for row in inboxes.rows("crew", "ann")] == [*texts, "last"]


def test_clean_up_waits_for_another_time_if_somebody_is_at_the_file(boardroom, inboxes):
    boardroom.policy.compact_above = 1
    old = [make_message(f"old-{n}", read=True, at="2020-01-01T00:00:00.000Z") for n in range(600)]
    inboxes.foreign_rewrite("crew", "ann", old)
    boardroom.marks.is_due = lambda *_: True
    inboxes.error = busy()
    send(boardroom, "crew", "ann", letter())
    assert [what for what, _ in inboxes.waited] == ["append"]


def test_no_attempt_is_waited_for_that_would_have_no_time_left(boardroom, inboxes, monkeypatch):
    monkeypatch.setattr("atm.mail.services.posting.BETWEEN_ATTEMPTS", 0.125)
    inboxes.error, inboxes.takes = WriteRefused("read-only", "check"), 4.375
    assert time_left(SEND_WITHIN, inboxes.takes) == 0.125
    assert send(boardroom, "crew", "ann", letter()).outcome == "queued"
    assert len(inboxes.waited) == 1
