"""Output of a program as lines that a person would have seen."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from atm.crew.rules.output import as_seen, untold
from atm.crew.services.looking import MOST_BYTES


@pytest.mark.parametrize(
    ("written", "seen"),
    [
        (
            "\x1b[2m2026-11-19T10:00:00Z\x1b[0m \x1b[31mERROR\x1b[0m codex_core: x",
            "2026-11-19T10:00:00Z ERROR codex_core: x",
        ),
        ("\x1b]0;a title\x07prompt", "prompt"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b[?2004h\x1b[>7u\x1b(Btext\x1b[0 q\x1b7\x1b8\x1b=", "text"),
        ("\x1bPq#0\x1b\\after", "after"),
        ("\x9b31mred\x9b0m", "red"),
        ("one\r\ntwo\r\n", "one\ntwo\n"),
        (" 10%\r 60%\r100%\n", "100%\n"),
        ("a long line\rshort", "shortg line"),
        ("downloading |\b/\b-\b\\\bdone", "downloading done"),
        ("tab\tstays", "tab\tstays"),
    ],
)
def test_sequences_go_and_a_line_that_was_written_over_shows_its_last_state(written: str, seen: str):
    assert as_seen(written) == seen


def test_what_is_no_whole_sequence_becomes_a_visible_mark():
    for text in ("\x1b", "\x1b[31", "\x1b]0;without an end", "bell\x07", "\u202etxt.exe", "\x00", "\x1bPno end"):
        said = as_seen(text)
        assert not any(ord(sign) < 32 or 0x7F <= ord(sign) < 0xA0 or sign == "\u202e" for sign in said), (text, said)


def test_nothing_that_two_sequences_make_together_is_left():
    assert "\x1b" not in as_seen("\x1b\x1b[0m[31mred \x1b[\x1b[0m2J")


INTRODUCERS = ["\x1b", *(f"\x1b{chr(sign)}" for sign in range(0x20, 0x7F)), *map(chr, range(0x80, 0xA0))]


@pytest.mark.parametrize("begun", INTRODUCERS, ids=ascii)
@pytest.mark.parametrize("rest", ["", "0", " ", "title "])
def test_many_beginnings_of_sequences_take_linear_time(begun: str, rest: str):
    """With quadratic time each of these takes minutes."""
    times = MOST_BYTES // len((begun + rest).encode())
    assert len(as_seen((begun + rest) * times)) <= len(ascii(begun + rest)) * times


@pytest.mark.parametrize("mark", ["\r", "\rb", "\b", "b\r", "\b\r"])
def test_a_long_line_that_is_written_over_again_and_again_takes_linear_time(mark: str):
    assert as_seen("a" * (MOST_BYTES // 2) + mark * (MOST_BYTES // 2 // len(mark)))[-1:] in ("a", "b", "")


def test_the_hostile_texts_of_the_corpus_leave_no_control_character():
    found = json.loads((Path(__file__).parents[2] / "corpus/hostile-texts.json").read_text())
    for text in _texts(found):
        said = as_seen(text)
        assert not any(sign not in "\n\t" and (ord(sign) < 32 or 0x7F <= ord(sign) < 0xA0) for sign in said), text


def _texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        value = [*value.keys(), *value.values()]
    return [text for one in value for text in _texts(one)] if isinstance(value, list) else []


def test_last_words_that_were_told_already_are_not_told_again():
    assert untold("All done.\nDONE: it works", ["I look at it", "shell: make", "All done.\nDONE: it works"]) == ""
    assert untold("first part second part", ["first part", " second part"]) == ""
    assert untold("", ["x"]) == ""


def test_last_words_that_were_not_told_are_told():
    assert untold("DONE", []) == "DONE"
    assert untold("DONE: it works", ["shell: make"]) == "DONE: it works"


def test_of_words_that_a_driver_cut_only_the_rest_is_told():
    assert untold("abc" * 10 + "end", ["abc" * 10 + " …"]) == "end"
