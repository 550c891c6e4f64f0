"""`atm teams` from the first to the last day, through the program: state, join, leave, update, archive, delete."""

from __future__ import annotations

import json
import os
import time

import pytest
from tests.proving import proves


def roster(atm, team="crew"):
    return json.loads((atm.home / f".claude/teams/{team}/config.json").read_text())


def names(atm, team="crew"):
    return [member["name"] for member in roster(atm, team)["members"]]


def heartbeat(atm, name, *, seconds_ago=0.0, state="", team="crew"):
    """Left so long ago, by somebody who was a member then."""
    path = atm.home / f".claude/teams/{team}/config.json"
    fields = json.loads(path.read_text())
    for member in fields["members"]:
        if member["name"] == name:
            member["joinedAt"] -= int(seconds_ago + 60) * 1000
    path.write_text(json.dumps(fields))
    folder = atm.home / f".claude/teams/{team}/heartbeats"
    folder.mkdir(exist_ok=True)
    at = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(time.time() - seconds_ago))
    (folder / f"{name}.json").write_text(json.dumps({"at": at, "source": "test", "state": state}))


def claudes(atm, name="session-abcd1234"):
    folder = atm.home / f".claude/teams/{name}"
    (folder / "inboxes").mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps({"name": name, "members": [{"name": "team-lead"}]}))
    return folder


class TestState:
    def test_it_is_shown_with_since_and_source(self, crew):
        shown = crew("teams", "state", "crew", "--json").json
        assert (shown["state"], shown["source"], shown["may_move_to"]) == (
            "pending",
            "state.json",
            ["active", "stopped"],
        )
        assert shown["since"].endswith("Z")
        assert "crew is pending since" in crew("teams", "state", "crew").out

    @proves("R003-1.3-07")
    def test_it_is_moved_and_remembered(self, crew):
        moved = crew("teams", "state", "crew", "active", "--by", "ann", "--json").json
        assert (moved["from"], moved["state"], moved["moved"], moved["by"]) == ("pending", "active", True, "ann")
        assert moved["history"][-1]["by"] == "ann"
        assert crew("teams", "state", "crew", "active", "--json").json["moved"] is False

    def test_an_illegal_move_names_what_is_allowed(self, crew):
        result = crew("teams", "state", "crew", "complete", code=1)
        assert "active or stopped" in result.err

    def test_unknown_fields_survive(self, crew):
        path = crew.home / ".claude/teams/crew/state.json"
        path.write_text('{"status": "active", "checkpoint_sequence": 127, "odd": 1.50}')
        crew("teams", "state", "crew", "stopped")
        assert '"odd": 1.50' in path.read_text()

    def test_an_older_team_counts_as_active(self, crew):
        (crew.home / ".claude/teams/crew/state.json").unlink()
        assert crew("teams", "state", "crew", "--json").json["state"] == "active"

    def test_what_cannot_be_read_is_unknown_and_refused(self, crew):
        path = crew.home / ".claude/teams/crew/state.json"
        path.write_text("{")
        assert crew("teams", "state", "crew", "--json").json["state"] == "unknown"
        crew("teams", "state", "crew", "stopped", code=1)
        assert path.read_text() == "{"

    def test_many_movers_at_once_make_one_history(self, crew):
        movers = [crew.start("teams", "state", "crew", "active", "--by", f"m{n}") for n in range(6)]
        assert {mover.wait(60) for mover in movers} == {0}
        history = crew("teams", "state", "crew", "--json").json["history"]
        assert [move["to"] for move in history] == ["pending", "active"]

    def test_a_team_of_claude_code_has_none_and_gets_none(self, atm, contents):
        folder = claudes(atm)
        before = contents(folder)
        assert atm("teams", "state", "session-abcd1234", "--json").json["state"] == "unknown"
        atm("teams", "state", "session-abcd1234", "stopped", code=1)
        assert contents(folder) == before


class TestJoinAndLeave:
    def test_joining_and_leaving_oneself(self, crew):
        joined = crew("teams", "join", "crew", "--as", "cat", "--json").json
        assert (joined["joined"], joined["agent"]) == (True, "cat")
        assert roster(crew)["members"][-1]["cwd"] == str(crew.folder)
        assert crew.rows("cat") == []
        member = crew("members", "--json").json["members"][-1]
        assert (member["liveness"], member["liveness_source"]) == ("online", "heartbeat (atm teams join)")
        assert crew("teams", "leave", "--as", "cat", "--json").json["removed"] is True
        assert names(crew) == ["ann", "bob"]
        assert not (crew.home / ".claude/teams/crew/heartbeats/cat.json").exists()

    def test_joining_again_is_no_error_and_takes_the_new_folder(self, crew):
        crew("teams", "join", "crew", "--as", "cat", "--cwd", "/elsewhere")
        again = crew("teams", "join", "--as", "cat", "--json").json
        assert (again["joined"], again["changed"]) == (False, ["cwd"])
        assert names(crew) == ["ann", "bob", "cat"]

    def test_leaving_with_unread_mail_needs_force(self, crew):
        crew("teams", "join", "--as", "cat")
        crew("send", "cat", "hello")
        assert "1 unread" in crew("teams", "leave", "--as", "cat", code=1).err
        path = crew("teams", "leave", "--as", "cat", "--force", "--json").json["archive_path"]
        assert "hello" in open_text(path)

    def test_leaving_a_team_that_one_is_not_in_is_no_error(self, crew):
        assert crew("teams", "leave", "--as", "zoe", "--json").json["removed"] is False

    def test_the_lead_does_not_leave(self, atm):
        atm("teams", "create", "crew", "--lead", "ann")
        assert "leads the team" in atm("teams", "leave", "--as", "ann", code=1).err

    def test_the_identity_comes_from_the_environment(self, crew):
        crew("teams", "join", env={"ATM_IDENTITY": "cat", "ATM_TEAM": "crew"})
        assert names(crew)[-1] == "cat"

    @pytest.mark.parametrize("name", ["../x", "user", "A B", "", "a/b"])
    def test_names_that_we_do_not_create_are_refused(self, crew, name):
        crew("teams", "join", "crew", "--as", name, code=1 if name else None)
        assert names(crew)[:2] == ["ann", "bob"]


class TestUpdateMember:
    def test_exactly_the_given_fields_change(self, crew):
        path = crew.home / ".claude/teams/crew/config.json"
        text = path.read_text().replace('"name": "crew"', '"name": "crew", "odd": 1.50')
        path.write_text(text)
        words = ["--model", "opus", "--active", "false", "--pane-id", "%7", "--session-id", "s-1", "--color", "blue"]
        done = crew("teams", "update-member", "crew", "bob", *words, "--json").json
        assert done["changed"] == ["model", "isActive", "tmuxPaneId", "sessionId", "color"]
        bob = roster(crew)["members"][1]
        assert (bob["model"], bob["isActive"], bob["tmuxPaneId"], bob["sessionId"]) == ("opus", False, "%7", "s-1")
        assert '"odd": 1.50' in path.read_text()
        assert path.read_text().startswith(text[: text.index('{"agentId": "bob')])

    def test_what_is_so_already_is_said_and_writes_nothing(self, crew):
        crew("teams", "update-member", "crew", "bob", "--model", "opus")
        path = crew.home / ".claude/teams/crew/config.json"
        before = path.stat().st_ino
        assert "already" in crew("teams", "update-member", "crew", "bob", "--model", "opus").out
        assert path.stat().st_ino == before

    def test_nothing_given_is_a_slip(self, crew):
        assert "nothing was given" in crew("teams", "update-member", "crew", "bob", code=1).err

    def test_unknown_members_and_values_are_refused(self, crew):
        assert "'bob'" in crew("teams", "update-member", "crew", "bop", "--model", "x", code=1).err
        crew("teams", "update-member", "crew", "bob", "--active", "perhaps", code=1)

    def test_a_rival_that_rewrites_the_roster_meanwhile_loses_nothing(self, crew):
        """Claude Code holds the lock, writes a field of its own, and lets go: both changes are in the file."""
        path = crew.home / ".claude/teams/crew/config.json"
        lock = path.with_name("config.json.lock")
        lock.mkdir()
        ours = [crew.start("teams", "update-member", "crew", "bob", "--model", f"m{n}") for n in range(3)]
        team = roster(crew)
        team["members"][0]["isActive"] = True
        team["future"] = [1]
        with path.open("r+") as file:  # in place, but never empty: ours look at it before they wait for the lock
            assert file.write(json.dumps(team, indent=2)) > path.stat().st_size
        lock.rmdir()
        assert {one.wait(60) for one in ours} == {0}
        after = roster(crew)
        assert after["future"] == [1]
        assert after["members"][0]["isActive"] is True
        assert after["members"][1]["model"] in ("m0", "m1", "m2")

    def test_a_writer_that_ignores_every_lock_loses_nothing_either(self, crew):
        """
        It writes whenever one of us is at the file. Not for ever: each of its writes may cost us another round, and
        after a hundred of these we give up. On a machine that is slow enough, a rival that never rests starves us.
        """
        path = crew.home / ".claude/teams/crew/config.json"
        lock = path.with_name("config.json.lock")
        ours = [crew.start("teams", "update-member", "crew", "bob", "--color", f"c{n}") for n in range(4)]
        seen = 0
        while any(one.poll() is None for one in ours):
            if seen == 0 or (seen < 50 and lock.exists()):
                team = roster(crew)
                team["beat"] = seen = seen + 1
                fresh = path.with_name("rival")
                fresh.write_text(json.dumps(team))
                os.replace(fresh, path)
            time.sleep(0.002)
        assert {one.wait(60) for one in ours} == {0}
        assert names(crew) == ["ann", "bob"]
        assert roster(crew)["beat"] == seen


class TestRemoveMember:
    def test_a_live_or_unknown_member_stays(self, crew):
        heartbeat(crew, "ann")
        assert "is online" in crew("teams", "remove-member", "crew", "ann", code=1).err
        result = crew("teams", "remove-member", "crew", "bob", "--json", code=1)
        assert "nobody knows" in result.err
        assert result.json["error"]["code"] == "member-in-use"
        assert names(crew) == ["ann", "bob"]

    def test_an_offline_one_goes_with_its_heartbeat(self, crew):
        heartbeat(crew, "bob", seconds_ago=3600)
        assert crew("teams", "remove-member", "crew", "bob", "--json").json["removed"] is True
        assert not (crew.home / ".claude/teams/crew/heartbeats/bob.json").exists()

    def test_people_go_without_force(self, crew):
        crew("teams", "add-member", "crew", "rita", "--backend-type", "human")
        assert crew("teams", "remove-member", "crew", "rita", "--json").json["removed"] is True


class TestMembersAndStatus:
    @proves("R003-2.2-11", "R003-2.2-12", "R003-3.1-09", "R003-3.1-10", "R004-gap-p0-04")
    def test_state_and_liveness_have_source_and_age(self, crew):
        began = time.time()
        heartbeat(crew, "ann", seconds_ago=60, state="working")
        heartbeat(crew, "bob", seconds_ago=3600, state="idle")
        for words in (("members",), ("status",), ("teams", "show", "crew")):
            found = {member["name"]: member for member in crew(*words, "--json").json["members"]}
            assert (found["ann"]["state"], found["ann"]["liveness"], found["ann"]["kind"]) == (
                "working",
                "online",
                "agent",
            )
            assert (found["bob"]["state"], found["bob"]["liveness"]) == ("idle", "offline")
            late = time.time() - began + 2  # the heartbeats are of whole seconds
            assert found["bob"]["liveness_age_seconds"] == pytest.approx(3600, abs=late)
            assert found["ann"]["state_age_seconds"] == pytest.approx(60, abs=late)
            assert "heartbeat" in found["ann"]["state_source"]
            assert "online (test" in crew(*words).out

    def test_a_heartbeat_that_is_no_json_is_unknown(self, crew):
        heartbeat(crew, "ann")
        (crew.home / ".claude/teams/crew/heartbeats/ann.json").write_text("{")
        assert crew("members", "--json").json["members"][0]["liveness"] == "unknown"


class TestShow:
    def test_everything_about_a_team(self, crew):
        crew("send", "ann", "hello")
        crew("teams", "backup", "crew")
        shown = crew("teams", "show", "crew", "--json").json
        assert shown["lifecycle"]["state"] == "pending"
        assert (shown["mail"], shown["tasks"]["open"]) == ({"unread": 1, "total": 1}, 0)
        assert len(shown["backups"]) == 1
        assert [member["name"] for member in shown["members"]] == ["ann", "bob"]
        out = crew("teams", "show", "crew").out
        assert all(word in out for word in ("Team: crew", "pending", "Liveness", "tasks:", "backups: 1"))

    def test_a_team_of_claude_code_is_shown_and_left_alone(self, atm, contents):
        folder = claudes(atm)
        before = contents(folder)
        shown = atm("teams", "show", "session-abcd1234", "--json").json
        assert shown["lifecycle"]["state"] == "unknown"
        atm("teams", "list")
        assert contents(folder) == before

    def test_an_unknown_team_is_answered_with_the_nearest(self, crew):
        assert "did you mean 'crew'" in crew("teams", "show", "crow", code=1).err


@pytest.fixture
def done(crew):
    """The crew, completed, with one unread message for ann."""
    crew("send", "ann", "hello")
    crew("teams", "archive", "crew", "--by", "ann", "--force")
    return crew


class TestArchive:
    def test_it_is_refused_with_unread_mail(self, crew):
        crew("send", "ann", "hello")
        result = crew("teams", "archive", "crew", "--json", code=1)
        assert result.json["error"]["code"] == "team-in-use"
        assert not (crew.home / ".claude/teams/crew/COMPLETED").exists()

    @proves("R003-7-team-14", "R003-7-team-15")
    def test_a_completed_team_has_a_mark_a_state_and_a_final_backup(self, done):
        mark = json.loads((done.home / ".claude/teams/crew/COMPLETED").read_text())
        assert mark["by"] == "ann"
        shown = done("teams", "show", "crew", "--json").json
        assert (shown["completed"], shown["lifecycle"]["state"]) == (True, "complete")
        assert [backup["final"] for backup in shown["backups"]] == [True]
        assert shown["backups"][0]["name"].startswith("final-")

    def test_a_second_time_says_so(self, done):
        again = done("teams", "archive", "crew", "--json").json
        assert again["archived"] is False
        assert len(done("teams", "show", "crew", "--json").json["backups"]) == 1

    @pytest.mark.parametrize(
        "words",
        [
            ["send", "ann", "more"],
            ["send", "ann", "more", "--dry-run"],
            ["broadcast", "more"],
            ["request", "bob@crew", "ann@crew", "more"],
            ["teams", "add-member", "crew", "zoe"],
            ["teams", "update-member", "crew", "ann", "--model", "x"],
            ["teams", "remove-member", "crew", "ann", "--force"],
            ["teams", "join", "crew", "--as", "zoe"],
            ["teams", "leave", "crew", "--as", "ann", "--force"],
            ["teams", "cleanup", "crew", "--yes"],
            ["teams", "restore", "crew"],
        ],
    )
    def test_nothing_in_it_changes(self, done, contents, words):
        before = contents(done.home / ".claude")
        result = done(*words, "--json", code=1)
        assert result.json["error"]["code"] == "team-completed"
        assert contents(done.home / ".claude") == before

    @proves("R003-7-team-17")
    def test_it_can_be_read_and_reading_marks_nothing(self, done, contents):
        before = contents(done.home / ".claude")
        mail = done("read", "ann", "--mark", "--json")
        assert (mail.json["count"], mail.json["marked"]) == (1, False)
        assert "complete" in mail.err
        assert done("read", env={"ATM_IDENTITY": "ann"}, code=0).out.count("hello") == 1
        id = mail.json["messages"][0]["message_id"]
        for words in (["receipts", id], ["members"], ["status"], ["inbox"], ["teams", "show", "crew"], ["doctor"]):
            done(*words, code=None)
        done("cleanup", "--yes")
        assert contents(done.home / ".claude") == before
        done("teams", "backup", "crew")
        assert contents(done.home / ".claude") == before

    def test_no_state_follows(self, done):
        assert "is complete and cannot be changed" in done("teams", "state", "crew", "active", code=1).err


class TestDelete:
    def test_without_yes_it_says_what_it_would_take(self, crew, contents):
        before = contents(crew.home / ".claude")
        result = crew("teams", "delete", "crew", code=1)
        assert "--yes" in result.err
        assert contents(crew.home / ".claude") == before

    @proves("R001-1-16", "R004-gap-p3-08", "R004-messaging-M9")
    def test_a_backup_is_made_and_nothing_is_left(self, crew):
        crew("send", "ann", "hello")
        assert crew("teams", "delete", "crew", "--yes", code=1).err.count("1 message is unread") == 1
        done = crew("teams", "delete", "crew", "--yes", "--force", "--json").json
        assert done["deleted"] is True
        assert "hello" in open_text(f"{done['backup_path']}/team/inboxes/ann.json")
        assert list((crew.home / ".claude/teams").iterdir()) == []
        assert crew("teams", "--json").json["teams"] == []

    def test_a_second_time_says_so_and_an_unknown_team_is_an_error(self, crew):
        crew("teams", "delete", "crew", "--yes")
        assert crew("teams", "delete", "crew", "--yes", "--json").json["deleted"] is False
        assert crew("teams", "delete", "nobody", "--yes", "--json", code=1).json["error"]["code"] == "no-such-team"

    def test_it_is_refused_while_somebody_is_online_or_a_task_is_open(self, crew):
        heartbeat(crew, "ann")
        folder = crew.home / ".claude/tasks/crew"
        folder.mkdir(parents=True)
        (folder / "1.json").write_text('{"id": "1", "subject": "s", "status": "pending"}')
        err = crew("teams", "delete", "crew", "--yes", code=1).err
        assert "ann is online" in err
        assert "1 task is open" in err

    def test_two_at_once_delete_it_once(self, crew):
        deleters = [crew.start("teams", "delete", "crew", "--yes", "--json") for _ in range(4)]
        answers = [json.loads(one.communicate(timeout=60)[0]) for one in deleters]
        assert sorted(answer["deleted"] for answer in answers) == [False, False, False, True]
        assert list((crew.home / ".claude/teams").iterdir()) == []

    def test_links_are_removed_and_what_they_lead_to_stays(self, crew, tmp_path):
        outside = tmp_path / "outside"
        outside.mkdir()
        (outside / "precious").write_text("keep me")
        (crew.home / ".claude/teams/crew/link").symlink_to(outside)
        (crew.home / ".claude/teams/crew/inboxes/deep").mkdir()
        done = crew("teams", "delete", "crew", "--yes", "--json").json
        assert (outside / "precious").read_text() == "keep me"
        assert not (crew.home / ".claude/teams/crew").exists()
        assert "precious" not in str(list((crew.home / ".config").rglob("*")))
        assert done["deleted"] is True

    def test_a_team_of_the_same_name_starts_afresh(self, crew):
        crew("send", "ann", "old")
        crew("teams", "delete", "crew", "--yes", "--force")
        crew("teams", "create", "crew")
        crew("teams", "add-member", "crew", "ann")
        assert crew.rows("ann") == []
        assert crew("teams", "state", "crew", "--json").json["state"] == "pending"

    def test_mail_sent_meanwhile_is_in_a_backup_or_was_refused(self, crew):
        senders = [crew.start("send", "ann", f"m{n}", "--json") for n in range(8)]
        deleter = crew.start("teams", "delete", "crew", "--yes", "--force")
        answers = [json.loads(sender.communicate(timeout=60)[0] or "{}") for sender in senders]
        assert deleter.wait(60) == 0
        kept = "".join(path.read_text() for path in (crew.home / ".config/atm").rglob("*.json*") if path.is_file())
        lost = [a["message_id"] for a in answers if "message_id" in a and a["message_id"] not in kept]
        assert lost == []

    def test_a_late_heartbeat_does_not_bring_the_folder_back(self, crew):
        from atm.files.adapters.machine import find_layout
        from atm.team.services.presence import beat
        from atm.wiring.mail import build_room

        crew("teams", "delete", "crew", "--yes")
        room = build_room(find_layout({"ATM_HOME": str(crew.home)}))
        beat(room.presence, "crew", "ann", time.time(), "test")
        assert not (crew.home / ".claude/teams/crew").exists()

    def test_a_team_of_claude_code_is_refused(self, atm, contents):
        folder = claudes(atm)
        before = contents(folder)
        for words in (
            ["delete", "session-abcd1234", "--yes", "--force"],
            ["archive", "session-abcd1234", "--force"],
            ["restore", "session-abcd1234"],
            ["update-member", "session-abcd1234", "team-lead", "--model", "x"],
            ["join", "session-abcd1234", "--as", "me"],
            ["leave", "session-abcd1234", "--as", "team-lead", "--force"],
            ["remove-member", "session-abcd1234", "team-lead", "--force"],
            ["cleanup", "session-abcd1234", "--yes"],
        ):
            assert atm("teams", *words, "--json", code=1).json["error"]["code"] == "team-not-ours", words
        assert contents(folder) == before


class TestCleanup:
    @pytest.fixture
    def untidy(self, crew):
        heartbeat(crew, "bob", seconds_ago=3600)
        heartbeat(crew, "gone", seconds_ago=3600)
        crew.inbox("stray").write_text("[]")
        crew.inbox("ghost").write_text('[{"from": "x", "text": "t", "timestamp": "t", "read": false}]')
        (crew.home / ".config/atm/backups/crew/.partial-20200101T000000000Z/team").mkdir(parents=True)
        (crew.home / ".claude/teams/.deleted-crew-20200101T000000000Z/inboxes").mkdir(parents=True)
        return crew

    def test_it_only_shows_until_somebody_says_yes(self, untidy, contents):
        before = contents(untidy.home)
        result = untidy("teams", "cleanup", "crew", "--json").json
        assert result["dry_run"] is True
        assert {item["name"]: (item["reason"], item["action"]) for item in result["items"]} == {
            "ann": ("member-unknown", "keep"),
            "bob": ("member-offline", "remove"),
            "stray": ("orphan-mailbox", "remove"),
            "ghost": ("orphan-mailbox", "keep"),
            "gone": ("stale-heartbeat", "remove"),
            ".deleted-crew-20200101T000000000Z": ("leftover-of-delete", "remove"),
            ".partial-20200101T000000000Z": ("stale-partial-backup", "remove"),
        }
        assert "nothing was changed" in untidy("teams", "cleanup", "crew").out
        assert contents(untidy.home).keys() - {k for k in contents(untidy.home) if "/locks/" in k} <= before.keys()

    @proves("R004-messaging-M9")
    def test_with_yes_each_is_done(self, untidy):
        result = untidy("teams", "cleanup", "crew", "--yes", "--json").json
        assert all(item["done"] == (item["action"] != "keep") for item in result["items"])
        assert names(untidy) == ["ann"]
        assert untidy.inbox("ghost").exists()
        assert not untidy.inbox("stray").exists()
        left = untidy("teams", "cleanup", "crew", "--json").json["items"]
        assert {item["action"] for item in left} == {"keep"}

    def test_one_failure_is_partial(self, untidy, block):
        reopen = block("bob")
        (untidy.inbox("bob") / "in-the-way").touch()
        result = untidy("teams", "cleanup", "crew", "--yes", "--force", "--json", code=2)
        failed = [item["name"] for item in result.json["items"] if "error" in item]
        assert failed == ["bob"]
        assert not untidy.inbox("stray").exists()
        (untidy.inbox("bob") / "in-the-way").unlink()
        reopen()

    def test_with_nothing_to_do_it_says_so(self, atm):
        atm("teams", "create", "empty", env={"ATM_IDENTITY": "ann"})
        assert "Nothing to clean up" in atm("teams", "cleanup", "empty").out


def open_text(path):
    with open(path) as file:
        return file.read()
