"""`atm mcp token`, as a program."""

from __future__ import annotations

import pytest


def test_a_token_is_made_shown_once_listed_and_revoked(atm):
    atm.team("crew", "ann")
    made = atm("mcp", "token", "new", "--as", "ANN", "--json").json
    assert (made["team"], made["member"], made["role"]) == ("crew", "ann", "")
    assert made["token"].startswith("atm_")
    listed = atm("mcp", "token", "list", "--json")
    assert [token["id"] for token in listed.json["tokens"]] == [made["id"]]
    assert made["token"] not in listed.out
    assert "ann@crew" in atm("mcp", "token").out
    assert atm("mcp", "token", "revoke", made["id"]).out.startswith(f"revoked {made['id']}")
    assert "there are no tokens" in atm("mcp", "token", "list").out


def test_it_says_who_bears_it(atm):
    atm.team("crew", "ann")
    assert "Whoever has it is ann" in atm("mcp", "token", "new", "--as", "ann").out


@pytest.mark.parametrize(
    "words", [(), ("--as", "zed"), ("--as", "user"), ("--as", ""), ("--as", "ann", "--role", "king")]
)
def test_a_token_is_for_a_member_who_is_there(atm, words):
    atm.team("crew", "ann")
    assert atm("mcp", "token", "new", *words, code=1).err
    assert atm("mcp", "token", "list", "--json").json == {"tokens": []}


def test_a_token_that_is_not_there_cannot_be_revoked(atm):
    assert "there is no token 'nope'" in atm("mcp", "token", "revoke", "nope", code=1).err
