"""`atm teams backup` and `restore`, through the program and on real files."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
from pathlib import Path

import pytest
from tests.proving import proves


@pytest.fixture
def full(crew):
    """The crew with mail, tasks and a file of another program."""
    crew("send", "ann", "one")
    crew("send", "bob", "two")
    crew("read", env={"ATM_IDENTITY": "bob"})
    folder = crew.home / ".claude/tasks/crew"
    folder.mkdir(parents=True)
    (folder / "1.json").write_text('{"id": "1", "subject": "s", "status": "in_progress", "owner": "ann"}')
    (folder / "4.json").write_text('{"id": "4", "subject": "t", "status": "completed"}')
    (folder / ".highwatermark").write_text("6")
    (folder / ".lock").touch()
    (crew.home / ".claude/teams/crew/kanban-state.json").write_text('{"x": 1}')
    return crew


def backup(atm, *words) -> Path:
    return Path(atm("teams", "backup", "crew", *words, "--json").json["backup_path"])


def manifest_of(path: Path):
    return json.loads((path / "manifest.json").read_text())


def rewrite(path: Path, manifest) -> None:
    (path / "manifest.json").write_text(json.dumps(manifest))


class TestBackup:
    @proves("R003-7-team-14")
    def test_it_holds_everything_with_checksums(self, full):
        result = full("teams", "backup", "crew", "--json").json
        assert (result["action"], result["team"]) == ("backup", "crew")
        assert (result["inbox_count"], result["task_count"], result["member_count"]) == (2, 2, 2)
        path = Path(result["backup_path"])
        manifest = manifest_of(path)
        listed = {entry["path"]: entry for entry in manifest["files"]}
        assert set(listed) == {
            *(
                "team/config.json",
                "team/inboxes/ann.json",
                "team/inboxes/bob.json",
                "team/mailbox.log",
                "team/mailbox.log.seq",
            ),
            *("team/state.json", "team/kanban-state.json", "tasks/1.json", "tasks/4.json", "tasks/.highwatermark"),
        }
        for name, entry in listed.items():
            data = (path / name).read_bytes()
            assert (len(data), hashlib.sha256(data).hexdigest()) == (entry["size"], entry["sha256"])
        assert result["bytes"] == sum(entry["size"] for entry in manifest["files"])

    def test_nobody_else_can_read_it(self, full):
        path = backup(full)
        assert path.stat().st_mode & 0o077 == 0
        assert (path / "team/config.json").stat().st_mode & 0o077 == 0

    def test_the_last_five_are_kept(self, full):
        made = [backup(full).name for _ in range(7)]
        kept = full("teams", "show", "crew", "--json").json["backups"]
        assert [entry["name"] for entry in kept] == made[-5:]

    def test_several_at_once_are_all_whole(self, full):
        makers = [full.start("teams", "backup", "crew", "--json") for _ in range(5)]
        paths = {json.loads(maker.communicate(timeout=60)[0])["backup_path"] for maker in makers}
        assert len(paths) == 5
        for path in paths:
            assert full("teams", "restore", "crew", "--from", path, "--dry-run", "--json").json["dry_run"] is True
        assert list(Path(next(iter(paths))).parent.glob(".*")) == []

    def test_links_are_not_followed(self, full, tmp_path):
        secret = tmp_path / "secret"
        secret.mkdir()
        (secret / "key.json").write_text("{}")
        (full.home / ".claude/teams/crew/linked").symlink_to(secret)
        (full.home / ".claude/teams/crew/inboxes/eve.json").symlink_to(secret / "key.json")
        path = backup(full)
        assert not any("eve" in entry["path"] or "key" in entry["path"] for entry in manifest_of(path)["files"])

    def test_locks_temporary_files_and_heartbeats_are_left_out(self, full):
        team = full.home / ".claude/teams/crew"
        (team / "config.json.lock").mkdir()
        (team / "inboxes/.ann.json.atm-77-1").write_text("half")
        (team / "heartbeats").mkdir(exist_ok=True)
        (team / "heartbeats/ann.json").write_text("{}")
        names = {entry["path"] for entry in manifest_of(backup(full))["files"]}
        assert not any("lock" in name or ".atm-" in name or "heartbeats" in name for name in names)

    def test_a_team_of_claude_code_is_backed_up_and_left_alone(self, atm, contents):
        folder = atm.home / ".claude/teams/session-abcd1234"
        (folder / "inboxes").mkdir(parents=True)
        (folder / "config.json").write_text('{"name": "session-abcd1234", "members": [{"name": "team-lead"}]}')
        (folder / "inboxes/team-lead.json").write_text("[]")
        atm("send", "team-lead@session-abcd1234", "hello")
        before = contents(folder)
        path = Path(atm("teams", "backup", "session-abcd1234", "--json").json["backup_path"])
        assert contents(folder) == before
        assert (path / "team/mailbox.log").exists()

    def test_what_cannot_be_read_is_kept_as_it_is(self, full):
        full.inbox("ann").write_text("{ torn")
        path = backup(full)
        assert (path / "team/inboxes/ann.json").read_text() == "{ torn"

    def test_a_team_that_is_not_there_is_answered_with_the_nearest(self, full):
        assert "did you mean 'crew'" in full("teams", "backup", "crow", code=1).err

    def test_a_full_disk_leaves_the_old_backups_and_nothing_half(self, full, tiny_disk):
        folder = tiny_disk(full.home / ".config/atm/backups/crew", "64k")
        backup(full)
        (full.home / ".claude/teams/crew/large").write_bytes(os.urandom(200_000))
        result = full("teams", "backup", "crew", "--json", code=1)
        assert result.json["error"]["code"] == "write-refused"
        assert len([entry for entry in folder.iterdir() if not entry.name.startswith(".")]) == 1
        assert list(folder.glob(".partial-*")) == []

    def test_a_folder_that_cannot_be_written_is_said(self, full, immutable):
        backup(full)
        immutable(full.home / ".config/atm/backups/crew")
        assert full("teams", "backup", "crew", "--json", code=1).json["error"]["code"] == "write-refused"

    def test_it_is_named_by_the_time_and_sorts(self, full):
        first, second = backup(full).name, backup(full).name
        assert len(first) == len("20261115T041616243Z")
        assert first < second


class TestRestore:
    @proves("R001-1-16")
    def test_a_deleted_team_comes_back_whole(self, full, contents):
        before = contents(full.home / ".claude")
        full("teams", "delete", "crew", "--yes", "--force")
        done = full("teams", "restore", "crew", "--json").json
        assert (done["made_anew"], done["members_restored"], done["inboxes_restored"]) == (True, 2, 2)
        assert (done["messages_restored"], done["tasks_restored"], done["highwatermark"]) == (2, 2, 6)
        after = contents(full.home / ".claude")
        for path in ("teams/crew/mailbox.log", "teams/crew/state.json", "teams/crew/kanban-state.json"):
            assert after[path] == before[path]
        for agent in ("ann", "bob"):
            path = f"teams/crew/inboxes/{agent}.json"
            assert json.loads(after[path]) == json.loads(before[path])
        assert json.loads(after["tasks/crew/1.json"])["status"] == "pending"
        assert after["tasks/crew/4.json"] == before["tasks/crew/4.json"]
        assert [row["text"] for row in full.rows("ann")] == ["one"]
        assert full("read", "ann", "--json").json["count"] == 1
        assert full("read", "bob", "--json").json["count"] == 0, "bob had it before"

    def test_a_second_time_changes_nothing(self, full, contents):
        full("teams", "delete", "crew", "--yes", "--force")
        full("teams", "restore", "crew")
        before = contents(full.home / ".claude")
        again = full("teams", "restore", "crew", "--json").json
        assert (again["members_restored"], again["messages_restored"], again["tasks_restored"]) == (0, 0, 0)
        assert contents(full.home / ".claude") == before

    def test_a_dry_run_writes_nothing(self, full, contents):
        backup(full)
        full("teams", "remove-member", "crew", "bob", "--force")
        before = contents(full.home / ".claude")
        planned = full("teams", "restore", "crew", "--dry-run", "--json").json
        assert (planned["dry_run"], planned["members"]) == (True, ["bob"])
        assert contents(full.home / ".claude") == before
        assert "would restore" in full("teams", "restore", "crew", "--dry-run").out

    def test_the_live_lead_and_its_session_stay(self, atm):
        atm("teams", "create", "crew", "--lead", "ann")
        path = atm.home / ".claude/teams/crew/config.json"
        path.write_text(path.read_text().replace('"leadSessionId": ""', '"leadSessionId": "old"'))
        atm("teams", "backup", "crew")
        path.write_text(path.read_text().replace('"old"', '"new"'))
        atm("teams", "update-member", "crew", "ann", "--model", "opus")
        before = path.read_bytes()
        atm("teams", "restore", "crew")
        assert path.read_bytes() == before

    def test_a_team_made_anew_has_no_session(self, full):
        path = full.home / ".claude/teams/crew/config.json"
        path.write_text(path.read_text().replace('"leadSessionId": ""', '"leadSessionId": "old"'))
        full("teams", "update-member", "crew", "bob", "--session-id", "s", "--pane-id", "%4", "--active", "true")
        full("teams", "delete", "crew", "--yes", "--force")
        full("teams", "restore", "crew")
        team = json.loads(path.read_text())
        assert team["leadSessionId"] == ""
        bob = team["members"][1]
        assert bob["tmuxPaneId"] == ""
        assert not {"sessionId", "isActive"} & set(bob)

    def test_no_number_is_used_twice(self, full):
        backup(full)
        shutil.rmtree(full.home / ".claude/tasks/crew")
        folder = full.home / ".claude/tasks/crew"
        folder.mkdir()
        (folder / "9.json").write_text('{"id": "9", "status": "pending"}')
        assert full("teams", "restore", "crew", "--json").json["highwatermark"] == 9
        assert (folder / ".highwatermark").read_text() == "9"
        assert (folder / ".lock").read_bytes() == b""
        assert not (folder / ".lock.lock").exists()

    def test_tasks_can_be_left_out(self, full):
        backup(full)
        shutil.rmtree(full.home / ".claude/tasks/crew")
        done = full("teams", "restore", "crew", "--skip-tasks", "--json").json
        assert done["tasks_restored"] == 0
        assert not (full.home / ".claude/tasks/crew").exists()

    def test_one_can_be_chosen_by_name_or_by_path_even_through_a_link(self, full, tmp_path):
        first, _ = backup(full), backup(full)
        link = tmp_path / "link"
        link.symlink_to(first)
        copy = tmp_path / "copy"
        shutil.copytree(first, copy)
        for given, path in {first.name: first, str(first): first, str(link): link, str(copy): copy}.items():
            assert full("teams", "restore", "crew", "--from", given, "--json").json["backup_path"] == str(path)
        assert "known:" in full("teams", "restore", "crew", "--from", "yesterday", code=1).err

    def test_a_team_without_backups_says_so(self, crew):
        assert crew("teams", "restore", "crew", "--json", code=1).json["error"]["code"] == "no-such-backup"

    def test_what_is_no_backup_is_refused(self, full, tmp_path):
        assert full("teams", "restore", "crew", "--from", str(tmp_path), code=1).err.count("no backup") == 1

    def test_the_backup_of_another_team_is_refused(self, full):
        full("teams", "create", "other")
        path = full("teams", "backup", "other", "--json").json["backup_path"]
        assert "'other'" in full("teams", "restore", "crew", "--from", path, code=1).err

    def test_a_roster_behind_a_link_is_not_written(self, full, tmp_path):
        backup(full)
        outside = tmp_path / "outside"
        shutil.move(full.home / ".claude/teams/crew", outside)
        (outside / "config.json").unlink()
        (full.home / ".claude/teams/crew").symlink_to(outside)
        before = sorted(outside.rglob("*"))
        assert full("teams", "restore", "crew", "--json", code=1).json["error"]["code"] == "outside-link"
        assert sorted(outside.rglob("*")) == before

    def test_a_task_list_behind_a_link_is_not_written(self, full, tmp_path):
        backup(full)
        outside = tmp_path / "outside"
        outside.mkdir()
        shutil.rmtree(full.home / ".claude/tasks/crew")
        (full.home / ".claude/tasks/crew").symlink_to(outside)
        assert full("teams", "restore", "crew", "--json", code=1).json["error"]["code"] == "outside-link"
        assert list(outside.iterdir()) == []

    def test_a_full_disk_is_said_and_room_makes_it_whole(self, full, tiny_disk):
        (full.home / ".claude/teams/crew/large").write_bytes(os.urandom(100_000))
        full("teams", "delete", "crew", "--yes", "--force")
        shutil.rmtree(full.home / ".claude/teams")
        tiny_disk(full.home / ".claude/teams", "64k")
        assert full("teams", "restore", "crew", "--json", code=1).json["error"]["code"] == "write-refused"
        assert full("teams", "--json").json["teams"] == [], "a team that is not whole is no team"

    @pytest.mark.skipif(sys.platform == "win32", reason="POSIX modes")
    def test_permission_removed_from_the_inboxes_is_said_and_nothing_is_lost(self, full, immutable):
        backup(full)
        full("teams", "remove-member", "crew", "bob", "--force")
        immutable(full.home / ".claude/teams/crew/inboxes")
        full("teams", "restore", "crew", code=1)
        assert "bob" not in (full.home / ".claude/teams/crew/config.json").read_text(), "both or neither"


class TestHostile:
    @pytest.fixture
    def kept(self, full) -> Path:
        return backup(full)

    def refused(self, full, contents) -> str:
        before = contents(full.home / ".claude")
        result = full("teams", "restore", "crew", "--json", code=1)
        assert result.json["error"]["code"] == "damaged-backup", result.out
        assert contents(full.home / ".claude") == before
        return str(result.json["error"]["message"])

    @pytest.mark.parametrize("how", ["changed", "longer", "gone", "link", "folder", "fifo"])
    def test_a_file_that_is_not_what_was_backed_up_is_named(self, full, kept, contents, how, tmp_path):
        path = kept / "team/inboxes/ann.json"
        data = path.read_bytes()
        path.unlink()
        if how == "changed":
            path.write_bytes(data.replace(b"one", b"two"))
        elif how == "longer":
            path.write_bytes(data + b" ")
        elif how == "link":
            (tmp_path / "elsewhere").write_bytes(data)
            path.symlink_to(tmp_path / "elsewhere")
        elif how == "folder":
            path.mkdir()
        elif how == "fifo":
            os.mkfifo(path)
        assert "ann.json" in self.refused(full, contents)

    def test_a_folder_that_is_a_link_is_not_followed(self, full, kept, contents, tmp_path):
        shutil.move(kept / "team/inboxes", tmp_path / "inboxes")
        (kept / "team/inboxes").symlink_to(tmp_path / "inboxes")
        self.refused(full, contents)

    @pytest.mark.parametrize(
        "name",
        ["../../../evil", "team/../../evil", "/etc/passwd", "team/inboxes/../../../../x.json", "evil", "team/a\\b"],
    )
    def test_names_that_lead_out_are_refused(self, full, kept, contents, name):
        manifest = manifest_of(kept)
        manifest["files"].append({"path": name, "size": 0, "sha256": hashlib.sha256(b"").hexdigest()})
        rewrite(kept, manifest)
        self.refused(full, contents)

    @pytest.mark.parametrize("text", ["", "[]", "{", '{"version": 99, "team": "crew", "files": []}', "null"])
    def test_a_manifest_that_is_none_is_refused(self, full, kept, contents, text):
        (kept / "manifest.json").write_text(text)
        self.refused(full, contents)

    def test_a_manifest_without_a_roster_is_refused(self, full, kept, contents):
        manifest = manifest_of(kept)
        manifest["files"] = [entry for entry in manifest["files"] if entry["path"] != "team/config.json"]
        rewrite(kept, manifest)
        self.refused(full, contents)

    def test_members_with_names_that_lead_out_are_nobody(self, full, kept):
        config = kept / "team/config.json"
        team = json.loads(config.read_text())
        team["members"].append({"name": "../../evil"})
        data = json.dumps(team).encode()
        config.write_bytes(data)
        manifest = manifest_of(kept)
        for entry in manifest["files"]:
            if entry["path"] == "team/config.json":
                entry |= {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        rewrite(kept, manifest)
        done = full("teams", "restore", "crew", "--json").json
        assert done["members_restored"] == 0
        assert not list(full.home.rglob("evil*"))

    def test_escapes_in_a_backup_do_not_reach_the_terminal(self, full, kept):
        manifest = manifest_of(kept)
        manifest["team"] = "crew\x1b[31m"
        rewrite(kept, manifest)
        assert "\x1b" not in full("teams", "restore", "crew", code=1).err
