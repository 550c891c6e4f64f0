"""`atm doctor`: what is wrong, whose it is, and a command that mends it; each command is run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import pytest
from tests.proving import proves

from atm.vendors.gemini import VENDOR as GEMINI

DEAD = 2**22 + 3
"""A process number above the limit of every Linux."""


def inboxes(atm):
    return atm.inbox("ann").parent


@pytest.fixture
def findings(crew, quickly):
    """What the doctor finds, by code."""

    def look(*words):
        return {one["code"]: one for one in quickly("doctor", "--json", *words).json["findings"]}

    return look


def age(path, seconds=120):
    os.utime(path, (time.time() - seconds, time.time() - seconds))


# Each puts one thing out of order.


def leave_a_lock_directory(atm):
    (inboxes(atm) / "ann.json.lock").mkdir()
    age(inboxes(atm) / "ann.json.lock")


def leave_a_lock_file_of_a_dead_process(atm):
    (inboxes(atm) / "ann.json.lock").write_text(json.dumps({"pid": DEAD}))


def leave_an_old_torn_lock_file(atm):
    (inboxes(atm) / "ann.json.lock").write_text('{"pi')
    age(inboxes(atm) / "ann.json.lock")


def leave_a_lock_directory_with_something_in_it(atm):
    (inboxes(atm) / "ann.json.lock").mkdir()
    (inboxes(atm) / "ann.json.lock/x").write_text("")


def lock_the_roster(atm):
    lock = atm.home / ".claude/teams/crew/config.json.lock"
    lock.mkdir()
    age(lock)


def tear_an_inbox(atm):
    atm.inbox("ann").write_text('[{"from": ')


def put_an_object_for_an_inbox(atm):
    atm.inbox("ann").write_text("{}")


def put_a_directory_for_an_inbox(atm):
    atm.inbox("ann").unlink()
    atm.inbox("ann").mkdir()


def link_an_inbox_out(atm):
    (atm.folder / "outside.json").write_text("[]")
    atm.inbox("ann").unlink()
    atm.inbox("ann").symlink_to(atm.folder / "outside.json")


def leave_a_phantom(atm):
    atm.inbox("anne").write_text('[{"from": "bob", "text": "lost?", "timestamp": "", "read": false}]')


def leave_mail_in_the_spool(atm):
    tear_an_inbox(atm)
    atm("send", "ann", "waits")
    atm.inbox("ann").write_text("[]")


def give_mail_up(atm):
    leave_mail_in_the_spool(atm)
    pending = atm.home / ".config/atm/spool/pending"
    target = pending.parent / "failed"
    target.mkdir(mode=0o700)
    for path in pending.iterdir():
        path.rename(target / path.name)


def fill_an_inbox(atm):
    old = {"from": "bob", "text": "x" * 1000, "timestamp": "2020-01-01T00:00:00Z", "read": True}
    atm.inbox("ann").write_text(json.dumps([old] * 1100))


def open_our_folder_to_all(atm):
    folder = atm.home / ".config/atm"
    (folder / "spool/pending").mkdir(parents=True)
    folder.chmod(0o755)


def take_writing_away(atm):
    atm.inbox("ann").chmod(0o400)


def leave_a_removal_half_done(atm):
    folder = atm.home / ".local/state/atm/intents/crew"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "bob.json").write_text('{"verb": "remove", "name": "bob"}')


def leave_a_temporary_file(atm):
    (inboxes(atm) / f".ann.json.atm-{DEAD}-1").write_text("[]")


def take_an_inbox_away(atm):
    atm.inbox("ann").unlink()


def drop_a_row(atm):
    atm("send", "ann", "dropped")
    atm.inbox("ann").write_text("[]")


def tear_the_roster(atm):
    (atm.home / ".claude/teams/crew/config.json").write_text("{")


MENDABLE = {
    leave_a_lock_directory: "stale-lock",
    leave_a_lock_file_of_a_dead_process: "wedged-lock",
    leave_an_old_torn_lock_file: "wedged-lock",
    leave_a_lock_directory_with_something_in_it: "wedged-lock",
    lock_the_roster: "stale-lock",
    tear_an_inbox: "unreadable-inbox",
    put_an_object_for_an_inbox: "unreadable-inbox",
    put_a_directory_for_an_inbox: "unreadable-inbox",
    link_an_inbox_out: "outside-link",
    leave_a_phantom: "phantom-inbox",
    leave_mail_in_the_spool: "spool-backlog",
    give_mail_up: "spool-failed",
    fill_an_inbox: "large-inbox",
    open_our_folder_to_all: "wrong-permissions",
    take_writing_away: "wrong-permissions",
    leave_a_removal_half_done: "half-done",
    leave_a_temporary_file: "leftover-file",
    take_an_inbox_away: "no-inbox",
    drop_a_row: "dropped-rows",
    tear_the_roster: "unreadable-team",
}


@pytest.fixture
def shell(crew, tmp_path):
    """Run a command line as a user would, with `atm` on the path."""
    bin = tmp_path / "bin"
    bin.mkdir()
    (bin / "atm").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m atm "$@"\n')
    (bin / "atm").chmod(0o755)
    env = {**crew.environment, "PATH": f"{bin}:{os.environ['PATH']}"}

    def run(command):
        return subprocess.run(
            ["sh", "-c", command], env=env, cwd=crew.folder, capture_output=True, text=True, check=False
        )

    return run


def test_all_is_well_in_a_new_team(crew):
    assert crew("doctor").out.startswith("Everything is in order.")
    assert crew("doctor", "--json").json["healthy"] is True


@pytest.mark.parametrize("spoil", MENDABLE, ids=lambda spoil: spoil.__name__)
def test_each_finding_has_a_command_that_mends_it(crew, shell, spoil, findings):
    spoil(crew)
    found = findings()[MENDABLE[spoil]]
    assert found["severity"] in ("problem", "warning", "note")
    assert found["message"]
    done = shell(found["command"])
    assert done.returncode == 0, f"{found['command']}\n{done.stderr}"
    assert MENDABLE[spoil] not in findings(), found["command"]


def test_the_command_for_a_large_inbox_works_where_claude_code_owns_it(crew, shell, findings):
    crew("teams", "add-member", "crew", "cat", "--backend-type", "claude-code")
    fill_an_inbox(crew)
    crew.inbox("ann").replace(crew.inbox("cat"))
    shell(findings()["large-inbox"]["command"])
    assert "large-inbox" not in findings()


def test_the_command_for_a_spool_file_that_is_no_message_mends_it(crew, shell, findings):
    folder = crew.home / ".config/atm/spool/pending"
    folder.mkdir(parents=True, mode=0o700)
    (folder / "1-x-ann@crew.json").write_text("torn")
    shell(findings()["spool-unreadable"]["command"])
    assert "spool-unreadable" not in findings()
    assert "torn" in "".join(path.read_text() for path in crew.home.rglob("*ann@crew*")), "and nothing is thrown away"


def test_the_command_for_two_homes_is_one(crew, shell, tmp_path):
    usual = tmp_path / "usual"
    (usual / ".claude/teams/crew").mkdir(parents=True)
    result = crew("doctor", "--json", env={"HOME": str(usual)}, code=1)
    (command,) = [one["command"] for one in result.json["findings"] if one["code"] == "two-homes"]
    done = shell(f"command -v {command.split()[0]}")
    assert done.returncode == 0, f"{command!r} begins with no command"


@pytest.mark.parametrize("spoil", [tear_an_inbox, leave_a_lock_directory, leave_a_phantom], ids=lambda s: s.__name__)
def test_without_fix_it_only_looks(crew, contents, spoil):
    spoil(crew)
    before = contents(crew.home / ".claude")
    crew("doctor", code=1)
    assert contents(crew.home / ".claude") == before


def test_people_see_severity_code_sentence_and_command(crew):
    leave_a_phantom(crew)
    lines = crew("doctor", code=1).out.splitlines()
    assert lines[0].startswith("warning  phantom-inbox  'anne' has an inbox in 'crew' with 1 unread")
    assert lines[1].startswith("    → atm ")


def test_problems_and_warnings_end_with_1_and_notes_with_0(crew):
    take_an_inbox_away(crew)
    crew("doctor")
    leave_a_phantom(crew)
    crew("doctor", code=1)


def test_fix_mends_what_is_safe_and_says_so(crew):
    leave_a_lock_directory(crew)
    leave_a_temporary_file(crew)
    result = crew("doctor", "--fix")
    assert result.out.count("mended") == 2
    assert crew("doctor").out.startswith("Everything is in order.")


def test_fix_never_repairs_an_unreadable_inbox(crew):
    tear_an_inbox(crew)
    crew("doctor", "--fix", code=1)
    assert crew.inbox("ann").read_text() == '[{"from": '


def test_fix_puts_dropped_rows_back_once(crew):
    drop_a_row(crew)
    crew("doctor", "--fix")
    crew("doctor", "--fix")
    assert [row["text"] for row in crew.rows("ann")] == ["dropped"]


def test_a_phantom_is_named_with_the_nearest_member(crew, findings):
    leave_a_phantom(crew)
    assert "did somebody mean 'ann'" in findings()["phantom-inbox"]["message"]


def test_of_a_team_of_claude_codes_nothing_is_proposed_that_is_refused(crew, findings, shell):
    folder = crew.home / ".claude/teams/session-abcd1234"
    (folder / "inboxes").mkdir(parents=True)
    (folder / "config.json").write_text('{"name": "session-abcd1234", "members": [{"name": "team-lead"}]}')
    (folder / "inboxes/gone.json").write_text('[{"from": "bob", "text": "lost?", "timestamp": "", "read": false}]')
    found = findings()
    assert "no-inbox" not in found
    assert found["phantom-inbox"]["severity"] == "note"
    assert "remove-member" not in found["phantom-inbox"]["command"]
    assert shell(found["phantom-inbox"]["command"]).returncode == 0


def install(crew, tmp_path, version):
    """Gemini CLI, as npm does it."""
    package = tmp_path / "lib/node_modules/@google/gemini-cli"
    (package / "bundle").mkdir(parents=True)
    (package / "package.json").write_text(json.dumps({"name": "@google/gemini-cli", "version": version}))
    (package / "bundle/gemini.js").write_text("#!/bin/sh\n")
    (package / "bundle/gemini.js").chmod(0o755)
    (tmp_path / "vendors").mkdir()
    (tmp_path / "vendors/gemini").symlink_to(package / "bundle/gemini.js")
    crew.environment["PATH"] = f"{tmp_path / 'vendors'}:{os.environ['PATH']}"


@proves("R000-version-sensitivity-01")
@pytest.mark.parametrize(("version", "is_named"), [("99.1.2", True), (GEMINI.seen[-1], False)])
def test_a_vendors_version_that_was_never_tried_is_named(crew, tmp_path, findings, version, is_named):
    install(crew, tmp_path, version)
    found = findings()
    assert ("unseen-version" in found) is is_named
    if is_named:
        assert f"Gemini CLI {version} is installed" in found["unseen-version"]["message"]
        assert found["unseen-version"]["severity"] == "note"


def test_a_folder_of_claude_codes_that_changed_is_named(crew, findings):
    folder = crew.home / ".claude/teams/session-abcd1234"
    (folder / "threads").mkdir(parents=True)
    (folder / "config.json").write_text('{"name": "session-abcd1234", "members": [{"name": "team-lead"}]}')
    assert "threads" in findings()["format-drift"]["message"]


class TestLocks:
    @pytest.fixture
    def owner(self):
        process = subprocess.Popen(["sleep", "600"])
        yield process
        process.kill()
        process.wait(60)

    def test_a_lock_file_names_its_owner_and_a_live_one_is_not_broken(self, crew, owner, findings):
        lock = inboxes(crew) / "ann.json.lock"
        lock.write_text(json.dumps({"pid": owner.pid}))
        age(lock)
        found = findings("--fix")["foreign-lock-file"]
        assert f"process {owner.pid}" in found["message"]
        assert lock.exists()

    def test_the_command_for_a_live_owners_lock_file_can_be_run(self, crew, owner, shell, findings):
        (inboxes(crew) / "ann.json.lock").write_text(json.dumps({"pid": owner.pid}))
        done = shell(findings()["foreign-lock-file"]["command"])
        assert done.returncode == 0, done.stderr

    def test_a_lock_of_another_machine_is_judged_by_age_alone(self, crew, findings):
        lock = inboxes(crew) / "ann.json.lock"
        lock.write_text(json.dumps({"pid": DEAD, "host": "elsewhere"}))
        assert "wedged-lock" not in findings()
        age(lock)
        assert "process" in findings()["wedged-lock"]["message"]
        assert "elsewhere" in findings()["wedged-lock"]["message"]

    def test_a_lock_taken_a_moment_ago_is_no_finding(self, crew, findings):
        (inboxes(crew) / "ann.json.lock").mkdir()
        assert findings() == {}

    def test_a_lock_directory_with_something_in_it_is_not_removed_by_fix(self, crew):
        leave_a_lock_directory_with_something_in_it(crew)
        crew("doctor", "--fix", code=1)
        assert (inboxes(crew) / "ann.json.lock/x").exists()


class TestDrift:
    @proves("R000-version-sensitivity-01", "R000-version-sensitivity-02", "R001-3.1-20", "R001-3.1-21")
    def test_fields_that_nobody_knows_are_reported_and_kept(self, crew, write_rows, foreign_row, findings):
        write_rows("ann", foreign_row("x", futureField=1))
        crew("read", "ann")
        drift = findings()["format-drift"]
        assert "futureField" in drift["message"]
        assert drift["severity"] == "note"
        assert crew.rows("ann")[0]["futureField"] == 1

    @proves("R001-3.1-20")
    def test_fields_in_the_roster_too(self, crew, findings):
        path = crew.home / ".claude/teams/crew/config.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "futureField": 1}))
        assert "futureField" in findings()["format-drift"]["message"]

    def test_rows_that_are_no_messages_are_reported(self, write_rows, findings):
        write_rows("ann", 17, "x")
        assert findings()["malformed-rows"]["message"].startswith("2 rows")

    def test_a_torn_line_of_the_ledger_is_reported(self, crew, findings):
        crew("send", "ann", "x")
        with (crew.home / ".claude/teams/crew/mailbox.log").open("a") as file:
            file.write('{"seq": 2, "id')
        assert findings()["torn-ledger-lines"]["severity"] == "note"


class TestHomes:
    def test_teams_in_the_usual_home_beside_another_one_are_reported(self, crew, tmp_path):
        usual = tmp_path / "usual"
        (usual / ".claude/teams/crew").mkdir(parents=True)
        result = crew("doctor", "--json", env={"HOME": str(usual)}, code=1)
        (found,) = [one for one in result.json["findings"] if one["code"] == "two-homes"]
        assert str(usual / ".claude") in found["message"]

    def test_claude_config_dir_counts_as_another_home(self, crew, tmp_path):
        other = tmp_path / "other"
        env = {"CLAUDE_CONFIG_DIR": str(other), "ATM_HOME": "", "HOME": str(crew.home)}
        crew("teams", "create", "elsewhere", env=env)
        assert (other / "teams/elsewhere/config.json").exists()
        codes = [one["code"] for one in crew("doctor", "--json", env=env, code=1).json["findings"]]
        assert "two-homes" in codes


def test_commands_are_quoted_for_homes_with_spaces_in_their_names(crew, shell, tmp_path, findings):
    spaced = tmp_path / "my home"
    crew.home.rename(spaced)
    crew.home, crew.environment["ATM_HOME"], crew.environment["HOME"] = spaced, str(spaced), str(spaced)
    tear_an_inbox(crew)
    command = findings()["unreadable-inbox"]["command"]
    done = shell(f'export ATM_HOME="{spaced}" HOME="{spaced}"; {command}')
    assert done.returncode == 0, done.stderr
    assert "unreadable-inbox" not in findings()


class TestLinkedTeam:
    """A team folder that leads outside: nothing there may be touched, whatever is wrong in it."""

    @pytest.fixture
    def outside(self, crew, tmp_path):
        folder = tmp_path / "outside"
        (folder / "inboxes").mkdir(parents=True)
        (folder / "config.json").write_text('{"members": [{"name": "x"}]}')
        (folder / "inboxes/x.json").write_text("[]")
        (folder / "inboxes/x.json").chmod(0o400)
        (folder / "inboxes/x.json.lock").write_text(json.dumps({"pid": DEAD}))
        (folder / f"inboxes/.x.json.atm-{DEAD}-1").write_text("[]")
        (crew.home / ".claude/teams/evil").symlink_to(folder)
        return folder

    def test_fix_touches_nothing_there(self, crew, outside, contents):
        before = contents(outside)
        crew("doctor", "--fix", code=1)
        assert contents(outside) == before
        assert (outside / "inboxes/x.json").stat().st_mode & 0o777 == 0o400

    def test_the_command_removes_the_link_and_not_what_it_leads_to(self, outside, shell, contents, findings):
        before = contents(outside)
        shell(findings()["unreadable-team"]["command"])
        assert contents(outside) == before
        assert "unreadable-team" not in findings()
