"""A namesake after a member, a team of the same name after a team: nothing of the former is theirs (D26)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.delivery.test_deliver import opencode, told
from tests.mcp.conftest import claim
from tests.mcp.crew import Crew

from atm.access.services import find, living
from atm.core.errors import NoSuchMember, UsageError
from atm.mail.rules.surfacing import HOOK, ShowingNote
from atm.roster.services.members import add_member, remove_member
from atm.team.rules.team import Member
from atm.ui.mcp import prompts, resources
from atm.ui.mcp.caller import Caller
from atm.ui.mcp.catalog import tools_for
from atm.ui.mcp.identity import admit
from atm.ui.mcp.serving.calling import perform
from atm.wiring.daemon import build_access_tokens
from atm.wiring.worksync import build_syncroom
from atm.worksync.services.reading import view

__all__ = ["opencode"]

WAYS = ("remove-member", "leave", "by hand")
"""How a member goes. Another program that writes the roster tells nobody."""


def goes(crew: Any, name: str, way: str) -> None:
    if way == "by hand":
        path = crew.home / ".claude/teams/crew/config.json"
        fields = json.loads(path.read_text())
        fields["members"] = [member for member in fields["members"] if member["name"] != name]
        path.write_text(json.dumps(fields))
    elif way == "leave":
        crew("teams", "leave", "crew", "--as", name, "--force")
    else:
        crew("teams", "remove-member", "crew", name, "--force")


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
        goes(crew, "bob", "by hand")
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


def test_a_team_of_the_same_name_knows_nothing_of_the_former_ones_tasks_and_mail(crew, room):
    crew("tasks", "add", "a secret plan")
    crew("tasks", "claim", "1", "--as", "bob")
    crew("tasks", "complete", "1", "--as", "bob")
    room.surfacings.keep_text("crew", "bob", "m-1", "a long letter")
    crew("teams", "delete", "crew", "--yes", "--force")
    state = crew.home / ".local/state/atm"
    files = [str(path.relative_to(state)) for path in state.rglob("*") if path.is_file()]
    assert [name for name in files if "crew" in name and not name.startswith("locks/")] == []
    crew.team("crew", "ann", "bob")
    crew("tasks", "add", "first")
    assert [task["id"] for task in crew("tasks", "list", "--json").json["tasks"]] == ["1"]
    assert "secret" not in crew("tasks", "history", "--json").out
    assert {one["type"] for one in crew("tasks", "history", "--json").json["events"]} == {"task_created"}


def test_a_command_that_a_former_member_entered_is_not_the_namesakes(crew, tmp_path):
    trap = tmp_path / "pwned"
    crew("tasks", "add", "work", "--accept", f"touch {trap}", "--as", "bob")
    crew("teams", "remove-member", "crew", "bob", "--force")
    crew("tasks", "claim", "1", "--as", "ann")
    crew("tasks", "complete", "1", "--as", "ann", code=1)
    crew("teams", "add-member", "crew", "bob")
    assert crew("tasks", "complete", "1", "--as", "ann", "--json", code=1).json["error"]["code"] == "not-trusted"
    assert not trap.exists()


# How a member could be reached.


class TestEndpoints:
    def begins(self, crew, url: str) -> Path:
        event = {"event": "session.created", "sessionID": "old-session", "directory": "/p", "serverUrl": url}
        env = {"ATM_TEAM": "crew", "ATM_IDENTITY": "bob"}
        crew("hook", "opencode", "session.created", stdin=json.dumps(event), env=env)
        path = Path(crew.home / ".claude/teams/crew/endpoints/bob.json")
        assert json.loads(path.read_text())["session"] == "old-session"
        return path

    def test_a_members_own_session_gets_its_mail(self, crew, opencode):
        crew("teams", "update-member", "crew", "bob", "--backend-type", "opencode")
        self.begins(crew, opencode.url)
        crew("send", "bob", "for bob", "--from", "ann")
        crew("deliver")
        assert "for bob" in told(opencode)

    @pytest.mark.parametrize("way", WAYS)
    def test_a_namesakes_mail_never_goes_to_the_former_members_session(self, crew, opencode, way):
        path = self.begins(crew, opencode.url)
        goes(crew, "bob", way)
        assert path.exists() == (way == "by hand")
        crew("teams", "add-member", "crew", "bob", "--backend-type", "opencode")
        crew("send", "bob", "only for the new bob", "--from", "ann")
        (one,) = crew("deliver", "--json").json["members"]
        assert one["outcome"] == "waiting"
        assert opencode.rows == []

    def test_nor_in_a_team_of_the_same_name(self, crew, opencode):
        path = self.begins(crew, opencode.url)
        kept = path.read_bytes()
        crew("teams", "delete", "crew", "--yes", "--force")
        crew.team("crew", "ann", "bob")
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(kept)
        crew("send", "bob", "only for the new bob", "--from", "ann")
        crew("deliver")
        assert opencode.rows == []

    def test_one_from_before_lives_were_known_leads_nowhere(self, crew, opencode):
        path = self.begins(crew, opencode.url)
        fields = json.loads(path.read_text())
        del fields["life"]
        path.write_text(json.dumps(fields))
        crew("send", "bob", "for bob", "--from", "ann")
        crew("deliver")
        assert opencode.rows == []

    def test_what_is_left_of_somebody_who_is_on_no_roster_is_cleared_away(self, crew, opencode):
        path = self.begins(crew, opencode.url)
        goes(crew, "bob", "by hand")
        (crew.home / ".claude/teams/crew/heartbeats/bob.json").unlink()
        crew("teams", "cleanup", "crew", "--force", "--yes", code=None)
        assert not path.exists()


def test_mail_that_was_being_shown_to_a_member_is_archived_as_unread_and_no_namesake_finds_the_note(crew, room):
    id = str(crew("send", "bob", "did anybody see it?", "--from", "ann", "--json").json["message_id"])
    with room.surfacings.turn("crew", "bob") as held:
        assert held
    turn = room.surfacings.turn("crew", "bob")
    with turn:
        turn.begin(ShowingNote(keys=[id], channel=HOOK, at=room.clock.now()))
        room.inboxes.claim_named("crew", "bob", {id})
    goes(crew, "bob", "remove-member")
    assert not room.surfacings.is_cut_off("crew", "bob")
    (kept,) = (crew.home / ".config/atm/archive/crew/bob").iterdir()
    assert '"read":false' in kept.read_text().replace(" ", "")


# What a member said about its work.


class TestReports:
    def agenda(self, crew) -> dict[str, Any]:
        crew("tasks", "assign", "1", "--to", "bob", "--as", "human")
        found: dict[str, Any] = crew("sync", "agenda", "--as", "bob", "--json").json
        return found

    def report(self, crew, agenda: dict[str, Any], **expected: Any) -> dict[str, Any]:
        words = ("--fingerprint", agenda["agendaFingerprint"], "--token", agenda["reportToken"], "--as", "bob")
        found: dict[str, Any] = crew("sync", "report", "still_working", *words, "--json", **expected).json
        return found

    @pytest.mark.parametrize("way", WAYS)
    def test_a_token_of_a_former_life_is_not_the_namesakes(self, crew, way):
        crew("tasks", "add", "work")
        former = self.agenda(crew)
        assert self.report(crew, former)["ok"] is True
        goes(crew, "bob", way)
        crew("teams", "add-member", "crew", "bob")
        now = self.agenda(crew)
        assert self.report(crew, {**now, "reportToken": former["reportToken"]}, code=1)["reason"] == (
            "invalid_report_token"
        )
        assert self.report(crew, now)["ok"] is True

    def test_nor_that_of_a_former_team_even_with_its_secret(self, crew):
        crew("tasks", "add", "work")
        former = self.agenda(crew)
        secret = crew.home / ".claude/teams/crew/.member-work-sync/report-token-secret.json"
        kept = secret.read_bytes()
        crew("teams", "delete", "crew", "--yes", "--force")
        crew.team("crew", "ann", "bob")
        crew("tasks", "add", "work")
        now = self.agenda(crew)
        secret.write_bytes(kept)
        assert self.report(crew, {**now, "reportToken": former["reportToken"]}, code=1)["reason"] == (
            "invalid_report_token"
        )


# Connections to the MCP server, and what work-sync remembers.


@pytest.fixture
def office(layout) -> Crew:
    """`crew` with its lead lena, ann, bob and the human hugo, and work for bob."""
    made = Crew(layout)
    made.add(owner="bob")
    return made


def comes_anew(office: Crew, name: str) -> None:
    remove_member(office.room, "crew", name, force=True)
    add_member(office.room, "crew", Member(name))


def report(office: Crew, caller: Caller) -> Any:
    block = office.call("bob", "member_work_sync_status")
    said = {"from": "bob", "agendaFingerprint": block["agendaFingerprint"], "reportToken": block["reportToken"]}
    return office.call_as(caller, "member_work_sync_report", {**said, "state": "still_working"})


def test_a_namesake_begins_with_an_empty_record_of_reports_and_reminders(office, layout):
    syncroom = build_syncroom(layout, office.settings, office.boardroom)
    assert report(office, office.caller("bob"))["ok"]
    before = view(syncroom, office.room.rosters.load("crew"), "bob").status
    assert before is not None
    assert before.accepted is not None
    comes_anew(office, "bob")
    assert view(syncroom, office.room.rosters.load("crew"), "bob").status is None


class TestConnections:
    """One that a member made does not become the namesake's: not its mail, agenda or token, not its name."""

    @pytest.fixture
    def former(self, office) -> Caller:
        return admit(office.layout, claim(member="bob"), has_daemon=True)

    def test_it_serves_its_member(self, office, former):
        for tool in tools_for(former.role):
            if tool.reads_only and not tool.input.get("required"):
                perform(tool, former, {})
        assert report(office, former)["ok"]

    def test_it_shows_nothing_of_the_namesake_and_says_nothing_in_its_name(self, office, former):
        comes_anew(office, "bob")
        office.add(owner="bob")
        office.call("ann", "mail_send", to="bob", text="for the new bob")
        board = {"board_list", "board_show"}  # everybody's
        for tool in tools_for(former.role):
            if tool.name in board or tool.name == "member_work_sync_report":
                continue
            required: Any = tool.input.get("required", [])
            filled = dict.fromkeys(required, "1")
            with pytest.raises((NoSuchMember, UsageError), match=r"another has that name now|must be"):
                perform(tool, former, filled)
        answer = report(office, former)
        assert (answer["ok"], answer["reason"]) == (False, "member_inactive")
        for uri in ("atm://crew/inbox/bob", "atm://crew/agenda/bob"):
            with pytest.raises(NoSuchMember):
                resources.read(former, uri)
        with pytest.raises(NoSuchMember):
            prompts.render(former, "worker", {})
        assert [row.read for row in office.rows("bob") if row.text == "for the new bob"] == [False]

    def test_nor_does_a_former_lead_lead(self, office, layout):
        former = admit(layout, claim(member="lena"), has_daemon=True)
        assert former.role == "lead"
        comes_anew(office, "lena")
        with pytest.raises(NoSuchMember):
            resources.read(former, "atm://crew/inbox/bob")


# Roles on the board.


class TestReviewers:
    """A lead names bob as reviewer; bob leaves, and another bob comes."""

    @pytest.fixture
    def led(self, crew, room):
        for name in ("cat", "dora"):
            add_member(room, "crew", Member(name))
        path = crew.home / ".claude/teams/crew/config.json"
        fields = json.loads(path.read_text())
        path.write_text(json.dumps({**fields, "leadAgentId": "ann@crew"}))
        return crew

    def task(self, led) -> dict[str, Any]:
        found: dict[str, Any] = led("tasks", "show", "1", "--json").json["task"]
        return found

    def bob_comes_anew(self, led, way: str = "remove-member") -> None:
        goes(led, "bob", way)
        led("teams", "add-member", "crew", "bob")

    @pytest.mark.parametrize("way", ["remove-member", "leave"])
    @pytest.mark.parametrize("asked_before", [True, False])
    def test_the_role_goes_back_to_the_lead_and_not_to_the_namesake(self, led, way, asked_before):
        led("tasks", "add", "work", "--reviewer", "bob", "--as", "ann")
        led("tasks", "claim", "1", "--as", "cat")
        if asked_before:
            led("tasks", "review", "request", "1", "--as", "cat")
        self.bob_comes_anew(led, way)
        if not asked_before:
            led("tasks", "review", "request", "1", "--as", "cat")
        assert self.task(led)["currentReviewer"] == "ann"
        led("tasks", "review", "approve", "1", "--as", "bob", code=1)
        led("tasks", "review", "request", "1", "--reviewer", "bob", "--as", "cat", code=1)
        led("tasks", "review", "approve", "1", "--as", "ann")

    def test_one_whom_the_owner_asked_leaves_it_to_whoever_starts(self, led):
        led("tasks", "add", "work", "--as", "ann")
        led("tasks", "claim", "1", "--as", "cat")
        led("tasks", "review", "request", "1", "--reviewer", "bob", "--as", "cat")
        led("tasks", "review", "start", "1", "--as", "bob")
        self.bob_comes_anew(led)
        assert self.task(led)["currentReviewer"] is None
        led("tasks", "review", "start", "1", "--as", "dora")
        led("tasks", "review", "approve", "1", "--as", "bob", code=1)

    def test_where_the_lead_owns_the_work_or_has_left_a_person_reviews(self, led):
        led("tasks", "add", "work", "--reviewer", "bob", "--owner", "ann", "--as", "ann")
        led("tasks", "claim", "1", "--as", "ann")
        led("tasks", "review", "request", "1", "--as", "ann")
        self.bob_comes_anew(led)
        assert self.task(led)["currentReviewer"] == "human"
        led("tasks", "review", "approve", "1", "--as", "bob", code=1)

    def test_a_task_of_others_stays_as_it_is(self, led):
        led("tasks", "add", "work", "--reviewer", "dora", "--as", "ann")
        led("tasks", "claim", "1", "--as", "cat")
        led("tasks", "review", "request", "1", "--as", "cat")
        before = self.task(led)
        self.bob_comes_anew(led)
        assert self.task(led)["events"] == before["events"]


class TestMailThatWaits:
    """What waits in the spool was meant for somebody, not for a name."""

    def queue(self, crew) -> None:
        crew("config", "set", "messaging.max_unread_rows", "1")
        for text in ("first", "secret for the old bob"):
            crew("send", "bob", text, "--from", "ann")
        assert len(crew("spool", "list", "--json").json["pending"]) == 1

    @pytest.mark.parametrize("way", WAYS)
    def test_a_namesake_does_not_get_it_and_it_is_kept(self, crew, way):
        self.queue(crew)
        goes(crew, "bob", way)
        crew("teams", "add-member", "crew", "bob")
        crew("spool", "retry", code=2)
        assert "secret" not in crew("read", "--as", "bob").out
        assert "secret" not in json.dumps(crew.rows("bob"))
        (kept,) = crew("spool", "list", "--json").json["failed"]
        assert "somebody else" in kept["reason"]

    def test_nor_a_member_of_the_next_team_of_that_name(self, crew):
        self.queue(crew)
        crew("teams", "delete", "crew", "--yes", "--force")
        crew("teams", "create", "crew")
        crew("teams", "add-member", "crew", "bob")
        crew("spool", "retry", code=2)
        assert "secret" not in crew("read", "--as", "bob").out

    def test_whoever_stays_gets_it(self, crew):
        self.queue(crew)
        crew("read", "--as", "bob")
        crew("spool", "retry")
        assert "secret for the old bob" in crew("read", "--as", "bob").out
