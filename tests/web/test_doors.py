"""Links that work once, and tokens of those who came in."""

from __future__ import annotations

import pytest

from atm.testing.time_and_chance import FakeChance, FakeClock
from atm.ui.web.doors import HUMAN, KEY_SECONDS, MOST_KEYS, MOST_VISITORS, OBSERVER, REST_SECONDS, Doors, Visitor


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def doors(clock: FakeClock) -> Doors:
    return Doors(clock, FakeChance())


def entered(doors: Doors, role: str = HUMAN) -> str:
    found = doors.enter(doors.invite(Visitor(role, "ann")))
    assert found is not None
    return found[0]


def test_a_key_opens_once(doors):
    key = doors.invite(Visitor(HUMAN, "ann"))
    token, visitor = doors.enter(key)
    assert visitor.person == "ann"
    assert doors.who(token) is visitor
    assert doors.enter(key) is None


def test_a_key_is_no_token_and_a_token_no_key(doors):
    key = doors.invite(Visitor(HUMAN, "ann"))
    assert doors.who(key) is None
    token, _ = doors.enter(key)
    assert doors.enter(token) is None


def test_a_key_that_nobody_used_is_too_old_after_ten_minutes(doors, clock):
    key = doors.invite(Visitor(HUMAN, "ann"))
    clock.sleep(KEY_SECONDS + 1)
    assert doors.enter(key) is None


def test_whoever_has_not_been_seen_for_long_has_left(doors, clock):
    token = entered(doors)
    clock.sleep(REST_SECONDS - 1)
    assert doors.who(token) is not None
    clock.sleep(REST_SECONDS - 1)
    assert doors.who(token) is not None
    clock.sleep(REST_SECONDS + 1)
    assert doors.who(token) is None


def test_whoever_leaves_is_known_no_more_and_others_are(doors):
    first, second = entered(doors), entered(doors, OBSERVER)
    doors.leave(first)
    assert doors.who(first) is None
    assert doors.who(second).role == OBSERVER


def test_of_too_many_links_the_oldest_goes(doors):
    keys = [doors.invite(Visitor(HUMAN, "ann")) for _ in range(MOST_KEYS + 1)]
    assert doors.enter(keys[0]) is None
    assert doors.enter(keys[1]) is not None


def test_of_too_many_visitors_the_one_goes_who_was_seen_first(doors, clock):
    tokens = []
    for _ in range(MOST_VISITORS):
        tokens.append(entered(doors))
        clock.sleep(1)
    assert doors.who(tokens[0]) is not None
    tokens.append(entered(doors))
    assert doors.who(tokens[1]) is None
    assert doors.who(tokens[0]) is not None


@pytest.mark.parametrize("key", ["", "x", "é" * 300, "0" * 64, "\x00"])
def test_nobody_comes_in_with_anything_else(doors, key):
    entered(doors)
    assert doors.enter(key) is None
    assert doors.who(key) is None


def test_an_observer_may_not_act(doors):
    assert doors.who(entered(doors)).may_act
    assert not doors.who(entered(doors, OBSERVER)).may_act
