"""`state.json`: a move changes what it is about and nothing else."""

from __future__ import annotations

import json

import pytest
from tests.proving import proves

from atm.files.formats.json_record import NotJson
from atm.team.formats.team_state import completed_mark, decode_mark, decode_state, moved, new_state
from atm.team.rules.lifecycle import ACTIVE, INIT, MOST_REMEMBERED, PENDING, UNKNOWN, Move

AT = "2026-11-15T04:16:16.243Z"


@proves("R003-1.3-07")
def test_a_new_state_is_read_back():
    known = decode_state(new_state("crew", INIT, AT, "ann"))
    assert (known.status, known.since, known.by, known.history) == (INIT, AT, "ann", [])


def test_a_move_is_remembered_with_who_and_when():
    data = moved(new_state("crew", INIT, AT, ""), [Move(INIT, PENDING, AT, "ann"), Move(PENDING, ACTIVE, AT, "bob")])
    known = decode_state(data)
    assert (known.status, known.by) == (ACTIVE, "bob")
    assert [(m.before, m.after, m.by) for m in known.history] == [(INIT, PENDING, "ann"), (PENDING, ACTIVE, "bob")]


def test_fields_that_we_do_not_know_survive_a_move_to_the_letter():
    data = b'{"version": "1.0", "checkpoint_sequence": 1.270, "status": "active", "x": {"y": [1]}}'
    after = moved(data, [Move(ACTIVE, "stopped", AT, "ann")])
    assert b'"checkpoint_sequence": 1.270' in after
    assert b'"x": {"y": [1]}' in after
    assert decode_state(after).status == "stopped"


def test_only_the_last_moves_are_kept():
    data = new_state("crew", ACTIVE, AT, "")
    for number in range(MOST_REMEMBERED + 10):
        data = moved(data, [Move(ACTIVE, ACTIVE, AT, str(number))])
    history = json.loads(data)["history"]
    assert len(history) == MOST_REMEMBERED
    assert history[-1]["by"] == str(MOST_REMEMBERED + 9)


@pytest.mark.parametrize("text", ["{}", '{"status": "sleeping"}', '{"status": 7}', '{"status": ["active"]}'])
def test_a_state_that_we_do_not_know_is_unknown(text):
    assert decode_state(text.encode()).status == UNKNOWN


@pytest.mark.parametrize("text", ["", "[]", "{", "null"])
def test_what_is_no_object_is_refused(text):
    with pytest.raises(NotJson):
        decode_state(text.encode())


@pytest.mark.parametrize("history", ['"x"', "[1, null, {}]", "{}"])
def test_a_history_of_another_shape_hides_no_state(history):
    data = f'{{"status": "active", "history": {history}}}'.encode()
    assert decode_state(data).status == ACTIVE
    assert decode_state(moved(data, [Move(ACTIVE, "stopped", AT, "")])).status == "stopped"


def test_a_mark_is_read_back_and_an_empty_one_says_nothing():
    assert decode_mark(completed_mark(AT, "ann")) == (AT, "ann")
    assert decode_mark(b"") == ("", "")
