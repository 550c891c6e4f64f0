"""`atm broadcast`: a copy for everybody else, and the truth about each of them."""

from __future__ import annotations

import json

import pytest
from tests.proving import proves


@pytest.fixture
def three(crew):
    crew("teams", "add-member", "crew", "cat")
    return crew


def lead_out(atm, agent, target):
    """Replace an inbox by a link that leads out of the team: nothing may be written there, nor queued for it."""
    atm.inbox(agent).unlink()
    target.write_text("[]")
    atm.inbox(agent).symlink_to(target)


@proves(
    "R001-4.1-04", "R001-4.2-broadcast-01", "R003-2.3-13", "R004-gap-p1-04", "R004-architecture-12", "R004-messaging-M6"
)
def test_everybody_but_the_sender_gets_a_copy_under_one_id(three):
    result = three("broadcast", "main is frozen", "--from", "bob", "--json").json
    assert [row["message_id"] for who in ("ann", "cat") for row in three.rows(who)] == [result["message_id"]] * 2
    assert three.rows("bob") == []


@proves("R001-4.2-broadcast-05")
def test_the_json_answer_has_exactly_what_the_contract_says(three):
    result = three("broadcast", "hi", "--from", "bob", "--json").json
    assert set(result) == {"action", "team", "message_id", "summary", "results"}
    assert result["summary"] == {"total": 2, "succeeded": 2, "queued": 0, "conflicts": 0, "failed": 0}
    assert [one["agent"] for one in result["results"]] == ["ann", "cat"]
    assert all(one["outcome"] == "success" and one["seq"] for one in result["results"])


@proves("R001-4.2-broadcast-05")
def test_people_see_a_line_for_each_member(three):
    out = three("broadcast", "hi", "--from", "bob").out
    assert [line.split()[:2] for line in out.splitlines()[2:4]] == [["ann", "success"], ["cat", "success"]]
    assert "2 of 2 delivered" in out


@proves("R001-4.2-broadcast-01", "R001-4.2-broadcast-03")
def test_an_outsider_reaches_everybody(three):
    assert three("broadcast", "hi", "--json").json["summary"]["total"] == 3


def test_the_sender_gets_no_copy_however_the_name_is_written(three):
    three("broadcast", "hi", env={"ATM_IDENTITY": "Bob"})
    assert three.rows("bob") == []


@proves("R001-4.2-broadcast-03")
@pytest.mark.parametrize("earlier", [0, 600], ids=["small inbox", "large inbox"])
def test_a_member_that_stands_twice_in_the_roster_gets_one_copy(three, write_rows, foreign_row, earlier):
    path = three.home / ".claude/teams/crew/config.json"
    team = json.loads(path.read_text())
    path.write_text(json.dumps({**team, "members": [*team["members"], team["members"][0]]}))
    write_rows("ann", *[foreign_row("x" * 200, read=True, message_id=f"id-{n}") for n in range(earlier)])
    result = three("broadcast", "hi", "--from", "bob", "--json").json
    ids = [row["message_id"] for row in three.rows("ann")]
    assert ids.count(result["message_id"]) == 1
    assert result["summary"]["total"] == 2


@proves("R001-4.2-broadcast-04")
def test_a_copy_that_was_queued_is_no_failure(three, block):
    block("ann")
    result = three("broadcast", "hi", "--from", "bob", "--json")
    assert result.json["summary"] == {"total": 2, "succeeded": 1, "queued": 1, "conflicts": 0, "failed": 0}
    queued = next(one for one in result.json["results"] if one["agent"] == "ann")
    assert queued["outcome"] == "queued"
    assert json.loads(three.pending[0].read_text())["message_id"] == result.json["message_id"]
    assert queued["spool_path"] == str(three.pending[0])
    assert "Message queued for delivery (could not write to inbox immediately)" in result.err


@proves("R001-8.2-10")
def test_some_failed_is_exit_code_2_and_the_others_have_theirs(three, tmp_path):
    lead_out(three, "ann", tmp_path / "elsewhere.json")
    result = three("broadcast", "hi", "--from", "bob", "--json", code=2)
    assert result.json["summary"]["failed"] == 1
    assert result.json["results"][0]["error"]["code"] == "outside-link"
    assert len(three.rows("cat")) == 1
    assert (tmp_path / "elsewhere.json").read_text() == "[]"


@proves("R001-8.2-09")
def test_all_failed_is_exit_code_1(three, tmp_path):
    for agent in ("ann", "cat"):
        lead_out(three, agent, tmp_path / f"{agent}-elsewhere.json")
    result = three("broadcast", "hi", "--from", "bob", "--json", code=1)
    assert result.json["summary"] == {"total": 2, "succeeded": 0, "queued": 0, "conflicts": 0, "failed": 2}


def test_people_see_why_a_copy_failed(three, tmp_path):
    lead_out(three, "ann", tmp_path / "elsewhere.json")
    out = three("broadcast", "hi", "--from", "bob", code=2).out
    assert "leads out" in out
    assert "1 of 2 delivered, 0 queued, 1 failed" in out


def test_a_team_without_anybody_else_is_an_error_with_a_way_out(crew):
    crew("teams", "create", "lonely", "--lead", "ann", env={"ATM_IDENTITY": "ann"})
    assert "add-member" in crew("broadcast", "hi", "--team", "lonely", "--from", "ann", code=1).err


def test_only_those_who_are_away_get_the_tag(crew):
    crew("teams", "add-member", "crew", "cat", "--inactive")
    result = crew("broadcast", "hi")
    assert crew.rows("cat")[0]["text"].startswith("[PENDING ACTION")
    assert crew.rows("ann")[0]["text"] == "hi"
    assert "Agent cat appears offline" in result.err
    assert "Agent ann" not in result.err


def test_the_text_can_come_from_standard_input(crew):
    crew("broadcast", "--stdin", stdin="piped")
    assert crew.rows("ann")[0]["text"] == crew.rows("bob")[0]["text"] == "piped"


@pytest.mark.parametrize("words", [[], [" "], ['{"type": "permission_response"}']])
def test_what_may_not_be_sent_to_one_may_not_be_sent_to_all(crew, words):
    crew("broadcast", *words, code=1)
    assert crew.rows("ann") == crew.rows("bob") == []


@proves("R001-4.2-broadcast-02")
def test_a_summary_and_a_team_can_be_given(crew):
    crew("teams", "create", "other", "--lead", "zoe")
    crew("broadcast", "a long story", "--team", "other", "--summary", "short")
    assert crew.rows("zoe", "other")[0]["summary"] == "short"
    assert crew.rows("ann") == []
