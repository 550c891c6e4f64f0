"""Rosters in Claude Code's shape."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.proving import proves

from atm.files.formats.json_record import NotJson
from atm.team.formats.team_config import (
    decode_team,
    detached,
    detached_entry,
    new_member,
    new_team,
    unknown_fields,
    with_fields,
    with_member,
    without_member,
)
from atm.team.rules.team import Member

CORPUS = Path(__file__).parents[2] / "corpus" / "configs"


def sample(name: str) -> bytes:
    return (CORPUS / f"{name}.json").read_bytes()


class TestReading:
    def test_a_roster_of_an_old_version(self):
        team = decode_team(sample("claude-2.1.39"), "parser-team")
        assert (team.name, team.description, team.lead) == ("parser-team", "Rewrite the parser", "team-lead")
        assert team.created_at == 1770800000.0
        lead, scout = team.members
        assert (lead.name, lead.agent_type, lead.model, lead.backend) == (
            "team-lead",
            "general-purpose",
            "claude-opus-4-6",
            "",
        )
        assert (scout.name, scout.backend, scout.cwd, scout.joined_at) == (
            "scout",
            "tmux",
            "/home/u/proj",
            1770800060.0,
        )
        assert scout.is_active is None

    @proves("R001-8.3-01")
    def test_a_roster_of_a_new_version(self):
        team = decode_team(sample("claude-2.1.231"), "session-1a2b3c4d")
        assert [(m.name, m.backend, m.is_active, m.state) for m in team.members] == [
            ("team-lead", "in-process", None, "unknown"),
            ("scout", "in-process", None, "unknown"),
            ("fixer", "tmux", True, "active"),
        ]
        assert team.members[2].agent_type == ""

    def test_a_lead_with_another_name_is_told_by_its_id(self):
        assert decode_team(sample("hidden-panes"), "hidden").lead == "boss"

    def test_the_name_of_a_team_is_that_of_its_folder(self):
        assert decode_team(b'{"name": "inside", "members": []}', "folder").name == "folder"

    @proves("R001-3.1-01")
    def test_members_that_are_no_members_are_passed_over(self):
        team = decode_team(sample("odd-members"), "odd")
        assert [member.name for member in team.members] == ["twin", "twin"]
        assert [member.joined_at for member in team.members] == [1.0, None]
        assert team.lead == "team-lead"
        assert team.created_at == 1780000000.0

    @proves("R001-8.3-10")
    def test_a_roster_without_members_is_an_empty_team(self):
        team = decode_team(sample("no-members-key"), "bare")
        assert (team.members, team.created_at, team.description, team.lead) == ([], None, "", "team-lead")

    @pytest.mark.parametrize(
        "data", [b"", b"[]", b"null", b'{"members": {}}', b'{"members": null}', b'{"members": [', b'{"members": [] ']
    )
    def test_a_file_that_is_no_roster_is_refused(self, data):
        with pytest.raises(NotJson):
            decode_team(data, "t")

    @pytest.mark.parametrize("data", [b'{"members": []}}', b'{"members": []} {"members": []}'])
    def test_a_roster_with_the_rest_of_an_older_one_behind_it_is_refused(self, data):
        with pytest.raises(NotJson):
            decode_team(data, "t")

    @pytest.mark.parametrize("number", ["1" + "0" * 400, "-1" + "0" * 400, "9" * 5000])
    def test_a_time_beyond_all_measure_is_no_time(self, number):
        team = decode_team(
            f'{{"createdAt": {number}, "members": [{{"name": "a", "joinedAt": {number}}}]}}'.encode(), "t"
        )
        assert team.created_at is None
        assert team.members[0].joined_at is None

    def test_a_roster_that_a_windows_editor_saved_is_read(self):
        assert decode_team(b"\xef\xbb\xbf" + sample("ours"), "crew").names == ["ann", "bob"]


class TestWriting:
    def test_a_new_team_has_the_fields_that_claude_code_always_writes(self):
        data = new_team("crew", description="", lead="team-lead", now=1788000000.5)
        assert data.endswith(b"\n")
        assert json.loads(data) == {
            "name": "crew",
            "createdAt": 1788000000500,
            "leadAgentId": "team-lead@crew",
            "leadSessionId": "",
            "members": [],
        }
        assert unknown_fields(data) == []

    def test_a_new_team_is_laid_out_as_claude_code_does(self):
        data = new_team("crew", description='é "x"', lead="ann", now=1.0)
        assert data.decode() == json.dumps(json.loads(data), indent=2, ensure_ascii=False) + "\n"
        team = decode_team(data, "crew")
        assert (team.description, team.lead, team.created_at) == ('é "x"', "ann", 1.0)

    @pytest.mark.parametrize("active", [None, True, False])
    @pytest.mark.parametrize("model", ["", "opus"])
    @pytest.mark.parametrize("backend", ["", "codex"])
    def test_a_new_member_is_read_back(self, active, model, backend):
        ann = Member("ann", agent_type="codex", model=model, cwd="/p", backend=backend, is_active=active)
        entry = new_member(ann, "crew", 2.5)
        data = with_member(new_team("crew", description="", lead="l", now=1.0), entry)
        (ann,) = decode_team(data, "crew").members
        assert (ann.name, ann.agent_type, ann.model, ann.cwd) == ("ann", "codex", model, "/p")
        assert (ann.backend, ann.is_active, ann.joined_at) == (backend, active, 2.5)
        assert unknown_fields(data) == []
        assert json.loads(entry)["agentId"] == "ann@crew"
        assert ("model" in json.loads(entry), "isActive" in json.loads(entry)) == (bool(model), active is not None)

    def test_members_are_laid_out_one_a_line(self):
        data = new_team("crew", description="", lead="l", now=0)
        for name in ("ann", "bob"):
            data = with_member(data, f'{{"name": "{name}"}}')
        assert data.endswith(b'"members": [\n    {"name": "ann"},\n    {"name": "bob"}\n  ]\n}\n')
        assert without_member(without_member(data, "ann"), "bob") == new_team("crew", description="", lead="l", now=0)

    def test_a_roster_without_members_gets_its_list_when_the_first_one_joins(self):
        data = with_member(sample("no-members-key"), '{"name": "ann"}')
        assert data == b'{\n  "name": "bare",\n  "members": [\n    {"name": "ann"}\n  ]\n}\n'

    def test_taking_out_a_member_who_is_not_there_changes_no_entry(self):
        before = decode_team(sample("claude-2.1.231"), "t")
        after = decode_team(without_member(sample("claude-2.1.231"), "nobody"), "t")
        assert [m.raw for m in after.members] == [m.raw for m in before.members]

    def test_twins_go_together_and_what_is_no_member_stays(self):
        after = without_member(sample("odd-members"), "twin")
        assert decode_team(after, "odd").members == []
        assert json.loads(after)["members"] == [
            "a string",
            7,
            None,
            {"agentId": "nameless@odd"},
            {"name": ""},
            {"name": 12},
        ]


class TestUpdating:
    WILD = (
        b'{"x":1.10, "members" : [ {"name":"ann","n":1e5, "model":"a"} ,{"copy":{"name":"ann"},"name":"bob"}],"y":[]}'
    )

    def test_a_field_is_replaced_and_every_other_character_stays(self):
        after = with_fields(self.WILD, "ann", {"model": "opus"})
        assert after == self.WILD.replace(b'"model":"a"', b'"model":"opus"')

    def test_a_field_that_is_new_goes_to_the_end_of_the_entry(self):
        after = with_fields(self.WILD, "bob", {"isActive": False})
        assert b'"name":"bob", "isActive": false}],"y":[]}' in after
        assert decode_team(after, "t").members[1].is_active is False

    def test_what_is_so_already_changes_nothing(self):
        assert with_fields(self.WILD, "ann", {"model": "a"}) is self.WILD
        assert with_fields(self.WILD, "nobody", {"model": "b"}) is self.WILD

    @pytest.mark.parametrize("name", ["claude-2.1.231", "other-tools", "tabs", "compact"])
    def test_the_rosters_of_others_keep_their_layout(self, name):
        data = sample(name)
        member = decode_team(data, "t").members[-1].name
        after = with_fields(data, member, {"color": "mauve"})
        assert json.loads(after)["members"][-1] | {"color": "mauve"} == json.loads(after)["members"][-1]
        assert with_fields(after, member, {"color": "mauve"}) is after


class TestDetaching:
    def test_an_entry_of_the_past_loses_its_runtime_and_nothing_else(self):
        raw = '{"isActive": true, "name": "ann", "sessionId": "s", "n": 1.50, "tmuxPaneId": "%3", "lastActive": 1}'
        assert detached_entry(raw) == '{"name": "ann", "n": 1.50, "tmuxPaneId": ""}'

    @pytest.mark.parametrize(
        ("raw", "after"),
        [
            ('{"isActive": true}', "{}"),
            ('{"name": "a"}', '{"name": "a"}'),
            ('{"sessionId":"x","sessionId":"y","name":"a"}', '{"name":"a"}'),
            ('{"name":"a" , "isActive" : null }', '{"name":"a" }'),
        ],
    )
    def test_wherever_the_fields_stand(self, raw, after):
        assert detached_entry(raw) == after

    def test_a_roster_of_the_past_forgets_its_session(self):
        data = detached(sample("claude-2.1.231"))
        assert json.loads(data)["leadSessionId"] == ""
        assert all(member["tmuxPaneId"] == "" and "isActive" not in member for member in json.loads(data)["members"])
        assert detached(data) == data
