"""How much of one sender may wait with one recipient."""

from __future__ import annotations

import pytest

from atm.mail.rules.messages import URGENT_MARK
from atm.mail.rules.quotas import (
    MOST_BYTES,
    MOST_ROWS,
    RESERVE_BYTES,
    RESERVE_ROWS,
    Allowance,
    Backlog,
    Quota,
    in_words,
    is_held,
)
from atm.team.rules.team import Member, Team
from atm.testing.mail import make_message

CREW = Team(name="crew", members=[Member("ann"), Member("bob"), Member("Dora", backend="human")])


def allowance(sender: str = "ann", text: str = "hello", quota: Quota | None = None) -> Allowance:
    return Allowance(quota or Quota(), CREW, "bob", make_message("1", text, sender=sender))


@pytest.mark.parametrize(
    ("rows", "size", "is_taken"),
    [
        (0, 0, True),
        (MOST_ROWS - 1, 0, True),
        (MOST_ROWS, 0, False),
        (1, MOST_BYTES - 10, True),
        (1, MOST_BYTES - 9, False),
    ],
)
def test_one_more_is_taken_up_to_the_limit(rows, size, is_taken):
    assert Quota().takes(Backlog(rows, size), 10) is is_taken


def test_the_first_message_is_taken_however_large():
    assert Quota(rows=1, size=5).takes(Backlog(), 1 << 30)
    assert not Quota(rows=1, size=5).takes(Backlog(1, 1), 1)


@pytest.mark.parametrize("waiting", [Backlog(10**9, 1), Backlog(1, 10**12)])
def test_zero_is_no_limit_with_the_reserve_too(waiting):
    assert Quota(0, 0).takes(waiting, 1 << 20)
    assert Quota(0, 0).with_reserve.takes(waiting, 1 << 20)


def test_what_covers_everything_need_not_be_counted():
    one = allowance(quota=Quota(10, 1000))
    assert one.covers(9, 1000 - one.size)
    assert not one.covers(10, 0)
    assert not one.covers(0, 1001 - one.size)
    assert allowance(quota=Quota(0, 0)).covers(10**9, 10**12)


@pytest.mark.parametrize(
    ("sender", "text", "has_reserve"),
    [
        ("ann", "hello", False),
        ("ann", "[URGENT] stop", True),
        ("ann", "they said [URGENT] stop", False),
        ("human", "hello", True),
        ("dora", "hello", True),
        ("stranger", "hello", False),
    ],
)
def test_urgent_mail_and_mail_of_people_has_a_reserve(sender, text, has_reserve):
    one = allowance(sender, text)
    assert one.has_reserve is has_reserve
    assert one.takes(Backlog(MOST_ROWS + RESERVE_ROWS - 1, 1)) is has_reserve
    assert one.takes(Backlog(1, MOST_BYTES + RESERVE_BYTES - one.size)) is has_reserve
    assert not one.takes(Backlog(MOST_ROWS + RESERVE_ROWS, 1))


@pytest.mark.parametrize(
    ("sender", "other", "together"),
    [
        ("ann", "Ann", True),
        ("ann", "bob", False),
        ("ann", "ann@elsewhere", False),
        ("x1", "x2", True),
        ("x1", "x2@elsewhere", True),
        ("x1", "ann", False),
        ("x1", "human", False),
        ("atm", "system", False),
        ("atm", "x1", False),
    ],
)
def test_members_people_and_notices_count_for_themselves_and_all_others_together(sender, other, together):
    assert allowance(sender).counts(other) is together


def test_a_refusal_says_who_has_not_read_what_and_what_to_do():
    error = allowance().refusal(Backlog(7, 3 << 20))
    assert error.code == "inbox-full"
    assert "bob@crew" in str(error)
    assert "7 more (3.0 MB)" in str(error)
    assert "--urgent" in error.remedy


def test_sizes_in_words():
    assert [in_words(size) for size in (0, 1, 1025, 1 << 20, 5 << 19)] == ["0 KB", "1 KB", "2 KB", "1.0 MB", "2.5 MB"]


@pytest.mark.parametrize(
    ("sender", "to", "text", "waits"),
    [
        ("ann", "bob", "hello", True),
        ("ann", "bob", f"{URGENT_MARK} stop", False),
        ("ann", "Dora", "hello", False),
        ("lea", "bob", "hello", False),
        ("stranger", "bob", "hello", False),
    ],
)
def test_while_the_lead_is_away_teammates_mail_waits_and_what_is_urgent_or_for_a_person_does_not(
    sender, to, text, waits
):
    crew = Team(name="crew", members=[Member("lea"), *CREW.members], lead="lea")
    message = make_message("1", text, sender=sender)
    assert not is_held(crew, to, message)
    crew.lead_is_away = True
    assert is_held(crew, to, message) is waits
