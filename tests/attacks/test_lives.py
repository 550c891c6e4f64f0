"""A namesake after a member, a team of the same name after a team: nothing of the former is theirs (D26)."""

from __future__ import annotations

import json

import pytest

from atm.domain.team.team import Member
from atm.services.access import find, living
from atm.services.roster.members import add_member
from atm.wiring.access import build_access_tokens


@pytest.fixture
def crew(atm, room):
    atm.environment["ATM_DAEMON_AUTOSTART"] = "0"
    return atm


def bearer(layout, room, secret: str):
    return find(living(room, build_access_tokens(layout).all()), secret)


class TestTokens:
    def token(self, crew) -> str:
        return str(crew("mcp", "token", "new", "--as", "bob", "--json").json["token"])

    def test_one_opens_while_its_member_lives(self, crew, layout, room):
        found = bearer(layout, room, self.token(crew))
        assert found is not None
        assert (found.team, found.member) == ("crew", "bob")

    @pytest.mark.parametrize("way", ["remove-member", "leave"])
    def test_it_is_revoked_when_the_member_goes(self, crew, layout, room, way):
        secret = self.token(crew)
        words = (
            ("remove-member", "crew", "bob", "--force") if way == "remove-member" else ("leave", "crew", "--as", "bob")
        )
        crew("teams", *words)
        assert crew("mcp", "token", "list", "--json").json["tokens"] == []
        assert bearer(layout, room, secret) is None

    def test_a_namesake_does_not_inherit_it_even_if_nobody_revoked_it(self, crew, layout, room):
        secret = self.token(crew)
        path = crew.home / ".claude/teams/crew/config.json"
        fields = json.loads(path.read_text())
        fields["members"] = [member for member in fields["members"] if member["name"] != "bob"]
        path.write_text(json.dumps(fields))  # as another program would
        assert bearer(layout, room, secret) is None
        add_member(room, "crew", Member("bob"))
        assert bearer(layout, room, secret) is None

    def test_a_team_of_the_same_name_does_not_either(self, crew, layout, room):
        secret = self.token(crew)
        crew("teams", "delete", "crew", "--yes", "--force")
        assert build_access_tokens(layout).all() == []
        crew.team("crew", "bob")
        assert bearer(layout, room, secret) is None

    def test_one_from_before_lives_were_known_opens_nothing(self, crew, layout, room):
        secret = self.token(crew)
        path = crew.home / ".local/state/atm/mcp-tokens.json"
        fields = json.loads(path.read_text())
        del fields["tokens"][0]["life"]
        path.write_text(json.dumps(fields))
        assert bearer(layout, room, secret) is None


def test_a_team_has_an_id_that_stays_and_its_successor_another(crew):
    def id_of() -> str:
        return str(json.loads((crew.home / ".claude/teams/crew/state.json").read_text())["team_id"])

    first = id_of()
    crew("teams", "add-member", "crew", "cat")
    crew("tasks", "add", "work")
    crew("tasks", "claim", "--as", "bob")
    assert id_of() == first
    crew("teams", "delete", "crew", "--yes", "--force")
    crew.team("crew", "bob")
    assert id_of() != first


def test_a_command_that_a_former_member_entered_is_not_the_namesakes(crew, tmp_path):
    trap = tmp_path / "pwned"
    crew("tasks", "add", "work", "--accept", f"touch {trap}", "--as", "bob")
    crew("teams", "remove-member", "crew", "bob", "--force")
    crew("tasks", "claim", "1", "--as", "ann")
    crew("tasks", "complete", "1", "--as", "ann", code=1)
    crew("teams", "add-member", "crew", "bob")
    assert crew("tasks", "complete", "1", "--as", "ann", "--json", code=1).json["error"]["code"] == "not-trusted"
    assert not trap.exists()
