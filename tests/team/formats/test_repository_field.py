"""`repository` in `state.json`: what agents may have written there is no binding unless it makes sense."""

from __future__ import annotations

import json

import pytest

from atm.team.formats.repository_field import decode_repository, is_strange, is_unbound_by_hand, with_repository
from atm.team.formats.team_state import decode_state, first_state, new_state
from atm.team.rules.repositories import RepositoryBinding

ROOT, HEAD = "a" * 40, "c" * 40
GOOD = {"common_dir": "/a/shop/.git", "device": 1, "inode": 2**63, "root_commit": ROOT, "head_commit": HEAD}


def state(repository: object) -> bytes:
    return json.dumps({"status": "active", "repository": repository, "other": [1, {"x": "…"}]}).encode()


def test_a_binding_is_read_as_it_was_written_and_unknown_fields_survive():
    binding = RepositoryBinding("/a/shöp \udcff/.git", 3, 4, None)
    former = b'{"status": "active", "mine": {"deep": [1, 2]}, "checkpoint_sequence": 7}'
    data = with_repository(former, binding)
    assert decode_repository(data) == binding
    assert json.loads(data)["mine"] == {"deep": [1, 2]}
    again = with_repository(data, RepositoryBinding("/b/.git", 5, 6, ROOT, HEAD))
    assert json.loads(again)["repository"] == {
        "common_dir": "/b/.git",
        "device": 5,
        "inode": 6,
        "root_commit": ROOT,
        "head_commit": HEAD,
    }
    assert json.loads(again)["checkpoint_sequence"] == 7


@pytest.mark.parametrize(
    "value",
    [
        "x",
        7,
        True,
        [],
        {},
        {**GOOD, "common_dir": 5},
        {**GOOD, "common_dir": ""},
        {**GOOD, "common_dir": "shop/.git"},
        {**GOOD, "common_dir": "/a\0b"},
        {**GOOD, "common_dir": "/a/../../etc"},
        {**GOOD, "common_dir": "/" + "a" * 9000},
        {**GOOD, "device": "1"},
        {**GOOD, "device": -1},
        {**GOOD, "inode": 1.5},
        {**GOOD, "inode": True},
        {**GOOD, "inode": 2**64},
        {**GOOD, "inode": None},
    ],
)
def test_what_makes_no_sense_is_no_binding(value):
    assert decode_repository(state(value)) is None
    assert is_strange(state(value))
    assert not is_unbound_by_hand(state(value))


@pytest.mark.parametrize("key", ["root_commit", "head_commit"])
@pytest.mark.parametrize("commit", [None, 5, "main", "--output=/tmp/x", "A" * 40, "a" * 41, ""])
def test_a_strange_commit_is_none(key, commit):
    found = decode_repository(state({**GOOD, key: commit}))
    assert found is not None
    assert getattr(found, key) is None


def test_a_team_made_by_hand_an_old_one_and_one_of_a_run_can_be_told_apart():
    binding = RepositoryBinding("/a/.git", 1, 2)
    by_hand, old = first_state("x", "init", "", "", "1"), new_state("x", "init", "", "", "1")
    of_run = first_state("x", "init", "", "", "1", repository=binding)
    assert [is_unbound_by_hand(one) for one in (by_hand, old, of_run)] == [True, False, False]
    assert [decode_repository(one) for one in (by_hand, old, of_run)] == [None, None, binding]
    assert {decode_state(one).status for one in (by_hand, old, of_run)} == {"init"}
