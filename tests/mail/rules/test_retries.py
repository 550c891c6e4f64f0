"""When to try again, and when to stop (D8)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.proving import proves

from atm.mail.rules.lifetimes import LONGEST_WAIT, MOST_TRIES, is_exhausted, wait_after


@pytest.mark.parametrize(
    ("tries", "seconds"),
    [(0, 5), (1, 5), (2, 10), (3, 20), (4, 40), (9, 1280), (10, 2560), (11, 3600), (100, 3600), (10**9, 3600), (-1, 5)],
)
def test_waits_double_up_to_an_hour(tries, seconds):
    assert wait_after(tries) == seconds


@given(st.integers(0, 10**6))
def test_waits_never_shrink_and_never_exceed_the_longest(tries):
    assert wait_after(tries) <= wait_after(tries + 1) <= LONGEST_WAIT


@proves("R001-3.3-12")
@pytest.mark.parametrize(("tries", "exhausted"), [(0, False), (9, False), (10, True), (11, True)])
def test_after_ten_tries_it_is_given_up(tries, exhausted):
    assert MOST_TRIES == 10
    assert is_exhausted(tries) is exhausted
