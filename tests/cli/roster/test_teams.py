"""`atm teams`: a member is an entry and an inbox, and never only one of them."""

from __future__ import annotations

import json
import subprocess

import pytest
from tests.proving import proves


def roster(atm, team="crew"):
    return json.loads((atm.home / f".claude/teams/{team}/config.json").read_text())


def names(atm, team="crew"):
    return [member["name"] for member in roster(atm, team)["members"]]


class TestCreate:
    @proves("R001-2.3-02")
    def test_a_team_is_a_roster_and_a_folder_for_inboxes(self, atm):
        made = atm("teams", "create", "crew", "--json", env={"ATM_IDENTITY": "ann"}).json
        assert made == {"action": "create", "team": "crew", "created": True, "you": None}
        assert roster(atm)["name"] == "crew"
        assert roster(atm)["members"] == []
        assert (atm.home / ".claude/teams/crew/inboxes").is_dir()

    def test_a_second_time_changes_nothing_and_is_no_error(self, crew, contents):
        before = contents(crew.home / ".claude")
        result = crew("teams", "create", "crew", "--json")
        assert result.json["created"] is False
        assert contents(crew.home / ".claude") == before

    def test_a_lead_joins_at_once(self, atm):
        atm("teams", "create", "crew", "--lead", "ann", "--description", "the parser", env={"ATM_IDENTITY": "ann"})
        assert names(atm) == ["ann"]
        assert roster(atm)["leadAgentId"] == "ann@crew"
        assert roster(atm)["description"] == "the parser"
        assert atm.rows("ann") == []

    def test_a_name_that_differs_only_in_case_is_refused(self, atm):
        folder = atm.home / ".claude/teams/Crew"
        folder.mkdir(parents=True)
        (folder / "config.json").write_text('{"members": []}')
        assert "Crew" in atm("teams", "create", "crew", code=1).err

    def test_names_that_belong_to_claude_code_are_refused(self, atm):
        assert "Claude Code" in atm("teams", "create", "session-12345678", code=1).err

    def test_many_at_once_make_one_team_and_nobody_fails(self, atm):
        for name in ("one", "two", "three"):
            makers = [atm.start("teams", "create", name, "--json") for _ in range(6)]
            answers = [json.loads(maker.communicate(timeout=60)[0]) for maker in makers]
            assert sorted(answer.get("created") for answer in answers if "created" in answer) == [False] * 5 + [True]


class TestAddMember:
    @proves(
        "R001-2.3-02",
        "R001-4.1-08",
        "R001-4.1-14",
        "R001-4.1-15",
        "R001-4.1-16",
        "R001-4.1-17",
        "R001-4.1-18",
        "R004-architecture-10",
        "R004-storage-02",
    )
    def test_the_entry_has_what_was_given_and_the_inbox_is_there(self, crew):
        words = ["--agent-type", "codex", "--model", "gpt-5", "--cwd", "/srv/api", "--backend-type", "codex"]
        crew("teams", "add-member", "crew", "cat", *words, "--inactive")
        member = roster(crew)["members"][-1]
        assert member.pop("joinedAt") > 1_700_000_000_000
        assert member == {
            "agentId": "cat@crew",
            "name": "cat",
            "agentType": "codex",
            "model": "gpt-5",
            "tmuxPaneId": "",
            "cwd": "/srv/api",
            "subscriptions": [],
            "backendType": "codex",
            "isActive": False,
        }
        assert crew.rows("cat") == []

    def test_the_working_folder_is_this_one_unless_given(self, crew):
        crew("teams", "add-member", "crew", "cat")
        assert roster(crew)["members"][-1]["cwd"] == str(crew.folder)

    def test_a_relative_working_folder_is_stored_as_an_absolute_one(self, crew):
        crew("teams", "add-member", "crew", "cat", "--cwd", "api")
        assert roster(crew)["members"][-1]["cwd"] == str(crew.folder / "api")

    def test_a_second_time_changes_nothing_and_is_no_error(self, crew):
        crew("send", "ann", "keep me")
        before = roster(crew)
        assert crew("teams", "add-member", "crew", "ann", "--json").json["added"] is False
        assert roster(crew) == before
        assert len(crew.rows("ann")) == 1

    def test_a_name_in_another_case_is_the_same_member(self, crew):
        assert crew("teams", "add-member", "crew", "ANN", "--json").json["added"] is False
        assert names(crew) == ["ann", "bob"]

    def test_repeating_it_mends_a_missing_inbox(self, crew):
        crew.inbox("ann").unlink()
        crew("teams", "add-member", "crew", "ann")
        assert crew.rows("ann") == []
        assert names(crew) == ["ann", "bob"]

    @proves("R004-defects-02")
    def test_an_inbox_that_came_before_its_owner_keeps_its_mail(self, crew, write_rows, foreign_row):
        write_rows("cat", foreign_row("early"))
        crew("teams", "add-member", "crew", "cat")
        assert [row["text"] for row in crew.rows("cat")] == ["early"]

    @proves("R001-3.1-22")
    def test_fields_and_members_of_others_stay_to_the_letter(self, crew):
        path = crew.home / ".claude/teams/crew/config.json"
        team = json.loads(path.read_text())
        team |= {"futureField": {"x": 1.50}}
        team["members"][0] |= {"prompt": "p", "strange": [1]}
        path.write_text(json.dumps(team))
        crew("teams", "add-member", "crew", "cat")
        assert roster(crew)["futureField"] == {"x": 1.5}
        assert roster(crew)["members"][:2] == team["members"]

    def test_many_at_once_all_get_in(self, crew):
        joiners = [crew.start("teams", "add-member", "crew", f"m{n}") for n in range(6)]
        assert {joiner.communicate(timeout=60)[1] for joiner in joiners} == {b""}
        assert set(names(crew)) == {"ann", "bob", *(f"m{n}" for n in range(6))}
        assert all(crew.inbox(f"m{n}").exists() for n in range(6))

    def test_somebody_who_joins_at_the_same_time_does_not_undo_it(self, crew, eventually):
        """The first waits for the roster's lock, its inbox made; the second takes it for a killed command."""
        lock = crew.home / ".claude/teams/crew/config.json.lock"
        lock.mkdir()
        first = crew.start("teams", "add-member", "crew", "cat")
        eventually(crew.inbox("cat").exists)
        second = crew.start("teams", "add-member", "crew", "dan")
        eventually(crew.inbox("dan").exists)
        lock.rmdir()
        assert {one.communicate(timeout=60)[1] for one in (first, second)} == {b""}
        assert set(names(crew)) == {"ann", "bob", "cat", "dan"}
        assert crew.inbox("cat").exists(), "a member without an inbox: half done"

    def test_a_team_that_does_not_exist_is_not_made(self, crew):
        assert "did you mean 'crew'" in crew("teams", "add-member", "crow", "cat", code=1).err
        assert not (crew.home / ".claude/teams/crow").exists()

    def test_what_a_killed_command_left_half_done_is_undone_or_finished(self, crew):
        intents = crew.home / ".local/state/atm/intents/crew"
        intents.mkdir(parents=True, exist_ok=True)
        (intents / "ghost.json").write_text('{"verb": "add", "name": "ghost"}')
        crew.inbox("ghost").write_text("[]")
        crew("teams", "add-member", "crew", "cat")
        assert not crew.inbox("ghost").exists()
        assert names(crew) == ["ann", "bob", "cat"]
        assert list(intents.iterdir()) == []

    def test_a_team_of_claude_code_is_left_as_it_was(self, atm, contents):
        folder = atm.home / ".claude/teams/session-abcd1234"
        (folder / "inboxes").mkdir(parents=True)
        (folder / "config.json").write_text('{"name": "session-abcd1234", "members": [{"name": "team-lead"}]}')
        before = contents(folder)
        assert "Claude Code" in atm("teams", "add-member", "session-abcd1234", "bob", code=1).err
        assert contents(folder) == before, "an inbox without a member was left behind"
        assert list((atm.home / ".local/state/atm").rglob("intents/*")) == []

    def test_a_roster_that_cannot_be_written_gets_no_inbox_either(self, crew, immutable):
        immutable(crew.home / ".claude/teams/crew/config.json")
        crew("teams", "add-member", "crew", "cat", code=1)
        assert not crew.inbox("cat").exists()


class TestRemoveMember:
    @proves("R001-4.1-08")
    def test_the_entry_and_the_inbox_go_and_the_mail_is_kept(self, crew):
        crew("send", "bob", "hello")
        crew("read", env={"ATM_IDENTITY": "bob"})
        result = crew("teams", "remove-member", "crew", "bob", "--force", "--json").json
        assert result["removed"] is True
        assert names(crew) == ["ann"]
        assert not crew.inbox("bob").exists()
        archived = json.loads(open_text(result["archive_path"]))
        assert [row["text"] for row in archived] == ["hello"]

    def test_unread_mail_stops_it(self, crew):
        crew("send", "bob", "hello")
        result = crew("teams", "remove-member", "crew", "bob", code=1)
        assert "1 unread" in result.err
        assert "--force" in result.err
        assert names(crew) == ["ann", "bob"]
        assert len(crew.rows("bob")) == 1

    def test_force_archives_unread_mail_too(self, crew):
        crew("send", "bob", "hello")
        path = crew("teams", "remove-member", "crew", "bob", "--force", "--json").json["archive_path"]
        assert "hello" in open_text(path)

    def test_a_second_time_changes_nothing_and_is_no_error(self, crew):
        crew("teams", "remove-member", "crew", "bob", "--force")
        result = crew("teams", "remove-member", "crew", "bob", "--json")
        assert result.json["removed"] is False

    def test_not_even_when_somebody_has_a_similar_name(self, crew):
        crew("teams", "add-member", "crew", "bob2")
        crew("teams", "remove-member", "crew", "bob", "--force")
        assert crew("teams", "remove-member", "crew", "bob", "--json").json["removed"] is False

    def test_a_mistyped_name_is_answered_with_the_nearest(self, crew):
        assert "did you mean 'bob'" in crew("teams", "remove-member", "crew", "bop", code=1).err

    def test_the_inbox_of_somebody_on_no_roster_can_be_removed(self, crew):
        crew.inbox("ghost").write_text("[]")
        crew("teams", "remove-member", "crew", "ghost")
        assert not crew.inbox("ghost").exists()

    def test_afterwards_the_doctor_finds_nothing_wrong(self, crew):
        crew("send", "bob", "hello")
        crew("teams", "remove-member", "crew", "bob", "--force")
        assert crew("doctor", "--json", code=None).json["findings"] == []

    def test_a_new_member_of_the_same_name_does_not_inherit_the_mail(self, crew):
        crew("send", "bob", "for the old bob only")
        crew("teams", "remove-member", "crew", "bob", "--force")
        crew("teams", "add-member", "crew", "bob")
        crew("inbox")
        assert crew.rows("bob") == []

    def test_mail_that_comes_in_meanwhile_is_not_lost(self, crew):
        """Every message that was reported as sent lies in the archive, an inbox or the spool."""
        for _ in range(4):
            crew("teams", "add-member", "crew", "cat")
            senders = [crew.start("send", "cat", f"m{n}", "--json") for n in range(8)]
            remover = crew.start("teams", "remove-member", "crew", "cat", "--force")
            answers = [json.loads(sender.communicate(timeout=60)[0] or "{}") for sender in senders]
            remover.communicate(timeout=60)
            kept = "".join(
                path.read_text()
                for folder in (".config/atm/archive", ".config/atm/spool", ".claude/teams/crew/inboxes")
                for path in (crew.home / folder).rglob("*")
                if path.is_file()
            )
            lost = [answer["message_id"] for answer in answers if answer.get("message_id", "") not in kept]
            assert lost == []


class TestList:
    @proves("R001-4.1-07", "R001-4.3-01", "R001-4.3-02", "R001-4.3-03", "R001-4.3-04")
    def test_a_line_for_each_team_with_members_and_age(self, crew):
        crew("teams", "create", "backend", env={"ATM_IDENTITY": "ann"})
        lines = [line.split() for line in crew("teams").out.splitlines()]
        assert lines[0] == ["Team", "Members", "Created", "State"]
        assert (lines[2][:2], lines[2][-1]) == (["backend", "0"], "init")
        assert (lines[3][:2], lines[3][-1]) == (["crew", "2"], "pending")

    def test_list_is_the_same_as_nothing(self, crew):
        assert crew("teams", "list", "--json").json == crew("teams", "--json").json

    @proves("R001-4.3-01", "R001-4.3-02", "R001-4.3-03", "R001-4.3-04")
    def test_json_has_name_count_and_time(self, crew):
        (team,) = crew("teams", "--json").json["teams"]
        assert (team["name"], team["memberCount"]) == ("crew", 2)
        assert team["createdAt"].endswith("Z")

    def test_a_broken_team_is_listed_as_broken_beside_the_others(self, crew):
        folder = crew.home / ".claude/teams/broken"
        folder.mkdir()
        (folder / "config.json").write_text("[]")
        out = crew("teams").out
        assert "unreadable" in out
        assert "crew" in out
        errors = {team["name"]: "error" in team for team in crew("teams", "--json").json["teams"]}
        assert errors == {"broken": True, "crew": False}

    def test_without_teams_it_says_how_to_make_one(self, atm):
        assert "atm teams create" in atm("teams").out
        assert atm("teams", "--json").json["teams"] == []

    @pytest.mark.parametrize("word", ["creat", "add-membr", "remove"])
    def test_a_mistyped_subcommand_is_answered_with_the_nearest(self, crew, word):
        assert "did you mean" in crew("teams", word, "x", code=1).err


@pytest.mark.parametrize(
    "words", [["create", "new"], ["add-member", "crew", "cat"], ["remove-member", "crew", "bob", "--force"]]
)
def test_what_was_done_is_done_even_if_nobody_can_hear_it(crew, words):
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", *crew.command("teams", *words)],
        env=crew.environment,
        cwd=crew.folder,
        stderr=subprocess.PIPE,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def open_text(path):
    with open(path) as file:
        return file.read()
