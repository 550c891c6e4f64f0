"""Text of strangers on a terminal: nothing in it acts (D22)."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atm.core.untrusted_text import MARKED, TAKEN_OUT, many_lines, one_line

BIDI = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
MARKS = {"\u061c", "\u200e", "\u200f"}
ANYTHING = st.text(st.characters(), max_size=20) | st.text(
    st.sampled_from(
        ["\x1b", "[", "3", "1", "m", "]", "\x07", "\x9b", "\u202e", "\u2066", "\r", "\n", "\t", "\0", "\ud800", "a"]
    ),
    max_size=12,
)


FILLERS = {"\u115f", "\u1160", "\u3164", "\uffa0"}
UNSEEN = {"\u034f", "\u17b4", "\u17b5", "\u180b", "\u180c", "\u180d", "\u180f", *FILLERS}
VARIATIONS = {chr(code) for code in (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))}
KEPT_FREE = {chr(code) for code in (0x2065, *range(0xFFF0, 0xFFF9), *range(0xE0000, 0xE1000))}
"""Places that Unicode keeps for characters without a shape."""

EVERY_CHARACTER = [chr(code) for code in range(0x110000)]


def acts(c: str) -> bool:
    return (
        unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")
        or c in UNSEEN
        or c in VARIATIONS
        or unicodedata.bidirectional(c) in BIDI
        or c in MARKS
    )


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


@given(st.text(st.characters(categories=["L", "N", "P", "S", "Zs"], exclude_characters=FILLERS), max_size=20))
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
        ("👨\u200d👩 ❤\ufe0f co\u00adop", "👨👩 ❤ coop", "👨👩 ❤ coop"),
        ("pass\u200bword", "pass\ufffdword", "pass\ufffdword"),
        ("\u3164", "\ufffd", "\ufffd"),
        ("a \U000e0041\U000e007f", "a \ufffd\ufffd", "a \ufffd\ufffd"),
    ],
)
def test_what_it_makes_of_texts(text, line, lines):
    assert one_line(text) == line
    assert many_lines(text) == lines


def in_ranges(ranges) -> list[str]:
    return [chr(code) for first, last in ranges for code in range(first, last + 1)]


def test_the_tables_hold_every_character_without_a_shape_that_unicode_has():
    wanted = {c for c in EVERY_CHARACTER if unicodedata.category(c) in ("Cf", "Cs") or "\x80" <= c <= "\x9f"}
    assert wanted | UNSEEN | VARIATIONS | KEPT_FREE <= set(in_ranges(MARKED)) | set(in_ranges(TAKEN_OUT))


def test_the_tables_hold_nothing_that_has_a_shape():
    """What this Python does not know yet, a later one may know as a format character."""
    held = in_ranges(MARKED) + in_ranges(TAKEN_OUT)
    assert len(held) == len(set(held))
    others = set(held) - UNSEEN - VARIATIONS - KEPT_FREE
    assert {unicodedata.category(c) for c in others} <= {"Cc", "Cf", "Cs", "Cn"}
    assert [
        hex(ord(c)) for c in others if unicodedata.category(c) == "Cn" and not "\U00013430" <= c <= "\U0001343f"
    ] == []


def test_of_all_characters_those_that_act_go_and_all_others_stay():
    acting = "".join(c for c in EVERY_CHARACTER if acts(c))
    assert not any(acts(c) for c in one_line(acting))
    ordinary = "".join(
        c for c in EVERY_CHARACTER if not acts(c) and c not in KEPT_FREE and unicodedata.category(c) != "Cn"
    )
    assert one_line(ordinary) == ordinary
