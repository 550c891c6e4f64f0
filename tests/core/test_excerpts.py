"""A long command is never cut at its end, where it may do what matters."""

from __future__ import annotations

import pytest

from atm.core.excerpts import excerpt


@pytest.mark.parametrize("text", ["", "make", "x" * 20])
def test_what_fits_is_shown_as_it_is(text):
    assert excerpt(text, 20, "ab12") == text


def test_what_does_not_fit_shows_both_ends_its_size_and_how_to_see_the_rest():
    said = excerpt(f"echo {'x' * 3000}; git push origin main", 60, "ab12")
    assert said.startswith("echo xxx")
    assert said.endswith("; git push origin main")
    assert "(2,967 of 3,027 characters are left out; all of it: atm approvals show ab12)" in said
