"""The record of an agent on disk."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atm.crew.formats.agent_record import decode_agent, encode_agent
from atm.crew.rules.agents import AgentRecord
from atm.files.formats.json_record import NotJson


def record(**facts) -> AgentRecord:
    known = {"team": "crew", "member": "ann", "generation": 3, "mark": "h/crew/ann/3/k", "runtime": "script"}
    return AgentRecord(**{**known, "backend": "headless", "folder": "/w", "at": 1.5, **facts})


def test_it_is_read_as_it_was_written():
    made = record(command=["a", "b"], environment={"K": "V"}, pid=7, tokens=5, cost=0.25, requires_plan=True)
    assert decode_agent(encode_agent(made)) == made


def test_what_a_later_version_says_more_is_passed_over():
    said = {**json.loads(encode_agent(record())), "version": 9, "mood": "good"}
    assert decode_agent(json.dumps(said).encode()) == record()


@pytest.mark.parametrize("key", ["team", "member", "generation", "mark", "runtime", "backend", "folder", "at"])
def test_without_what_it_is_about_it_is_none(key):
    said = json.loads(encode_agent(record()))
    del said[key]
    with pytest.raises(NotJson):
        decode_agent(json.dumps(said).encode())


ANYTHING = st.none() | st.integers() | st.text() | st.booleans()


@given(st.dictionaries(st.sampled_from([*AgentRecord.__slots__]), ANYTHING))
def test_a_field_of_another_kind_is_as_if_it_were_not_there(wrong):
    said = {**json.loads(encode_agent(record())), **wrong}
    try:
        found = decode_agent(json.dumps(said).encode())
    except NotJson:
        return
    assert isinstance(found.pid, int)
    assert isinstance(found.worktree, str)
    assert isinstance(found.command, list)
