"""Text of strangers on a terminal: nothing in it acts (D22)."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atm.domain.untrusted_text import many_lines, one_line

BIDI = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
MARKS = {"\u061c", "\u200e", "\u200f"}
ANYTHING = st.text(st.characters(), max_size=20) | st.text(
    st.sampled_from(
        ["\x1b", "[", "3", "1", "m", "]", "\x07", "\x9b", "\u202e", "\u2066", "\r", "\n", "\t", "\0", "\ud800", "a"]
    ),
    max_size=12,
)


def acts(c: str) -> bool:
    return unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") or unicodedata.bidirectional(c) in BIDI or c in MARKS


@given(ANYTHING)
def test_one_line_holds_nothing_that_acts(text):
    assert not [c for c in one_line(text) if acts(c)]


@given(ANYTHING)
def test_many_lines_hold_nothing_that_acts_but_newlines_and_tabs(text):
    assert not [c for c in many_lines(text) if acts(c) and c not in "\n\t"]


@given(ANYTHING)
def test_what_comes_out_can_be_printed(text):
    for shown in (one_line(text), many_lines(text)):
        assert shown.encode("utf-8", "replace").decode("utf-8") == shown


@given(ANYTHING)
def test_showing_twice_is_showing_once(text):
    assert one_line(one_line(text)) == one_line(text)
    assert many_lines(many_lines(text)) == many_lines(text)


@given(st.text(st.characters(categories=["L", "N", "P", "S", "Zs"]), max_size=20))
def test_ordinary_text_stays_as_it_is(text):
    assert one_line(text) == text
    assert many_lines(text) == text


@pytest.mark.parametrize(
    "code", [*range(32), *range(0x7F, 0xA0), 0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
)
def test_every_control_and_direction_becomes_visible(code):
    shown = one_line(f"a{chr(code)}b")
    assert len(shown) == 3
    assert not acts(shown[1])


@pytest.mark.parametrize(
    ("text", "line", "lines"),
    [
        ("plain", "plain", "plain"),
        ("a\nb\tc", "a b c", "a\nb\tc"),
        ("a\r\nb", "a␍ b", "a\nb"),
        ("a\rb", "a␍b", "a␍b"),
        ("\x1b[31mred", "␛[31mred", "␛[31mred"),
        ("\x7f", "␡", "␡"),
        ("\x9b31m", "\ufffd31m", "\ufffd31m"),
        ("\u202etxt.exe", "\ufffdtxt.exe", "\ufffdtxt.exe"),
        ("a\u2028b", "a b", "a b"),
        ("\ud83d", "\ufffd", "\ufffd"),
        ("日本 é 😀", "日本 é 😀", "日本 é 😀"),
    ],
)
def test_what_it_makes_of_texts(text, line, lines):
    assert one_line(text) == line
    assert many_lines(text) == lines
