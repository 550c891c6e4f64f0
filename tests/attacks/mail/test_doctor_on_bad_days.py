"""
`atm doctor` on bad days: a full disk, a home that is read-only or not there, settings that nobody can read.

It never dies, lists every check with how it stands, takes no right away from the owner of a file, and calls nothing
mended that a second look still finds.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.optional import skip_without

from atm.config import Settings
from atm.daemon.adapters.client import ask
from atm.daemon.adapters.seat import find_running
from atm.mail.rules.surfacing import HOOK, ShowingNote
from atm.team.rules.endpoints import Endpoint

needs_user = pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root may write everywhere")
posix = pytest.mark.skipif(sys.platform == "win32", reason="modes and signals of POSIX")

ALWAYS = {"home", "space", "clock", "owners", "files", "permissions", "homes", "settings", "daemon", "tmux", "hooks"}
ALWAYS |= {"extras", "spool", "formats", "processes", "deletions", "teams", "versions", "agents", "sessions"}
ALWAYS |= {"repositories", "policy"}


@pytest.fixture
def crew(atm, room):
    atm.environment |= {"ATM_DAEMON_AUTOSTART": "0", "ATM_TEAM": "crew", "ATM_IDENTITY": "bob"}
    return atm


@pytest.fixture
def visit(crew):
    """What a visit says: (checks by name, findings by code)."""

    def look(*words: str, code: int = 1, **more: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        said = crew("doctor", "--json", *words, code=code, **more).json
        assert said["healthy"] is (code == 0)
        checks = {check["name"]: check for check in said["checks"]}
        return checks, {found["code"]: found for found in said["findings"]}

    return look


def age(path: Path, seconds: float) -> None:
    os.utime(path, (time.time() - seconds, time.time() - seconds))


def fill(path: Path) -> None:
    """Until nothing more fits."""
    with path.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))


def use_up_inodes(folder: Path) -> None:
    with contextlib.suppress(OSError):
        for number in range(100):
            (folder / str(number)).touch()
    assert not (folder / "99").exists()


class TestEveryDay:
    def test_every_check_is_listed_with_how_it_stands(self, visit):
        checks, findings = visit(code=0)
        assert findings == {}
        assert set(checks) == {*ALWAYS, "team crew"}
        assert {check["state"] for check in checks.values()} == {"ok"}

    def test_people_see_a_mark_for_each(self, crew):
        lines = crew("doctor").out.splitlines()
        assert lines[0].startswith("Everything is in order.")
        marks = [line for line in lines if line.startswith(("  ✓ ", "  ✗ "))]
        assert len(marks) == len(ALWAYS) + 1
        assert all(line.startswith("  ✓ ") for line in marks)
        assert max(map(len, marks)) < 160

    def test_what_is_wrong_is_marked_at_its_check(self, crew):
        crew.inbox("zed").write_text('[{"from": "bob", "text": "x", "timestamp": "", "read": false}]')
        lines = crew("doctor", code=1).out.splitlines()
        wrong = [line.split()[1:3] for line in lines if line.startswith("  ✗ ")]
        assert wrong == [["team", "crew"]]

    def test_looking_leaves_nothing_behind(self, crew):
        before = sorted(path for path in crew.home.rglob("*"))
        crew("doctor")
        assert sorted(path for path in crew.home.rglob("*")) == before

    def test_what_a_killed_visit_left_is_cleared_by_the_next(self, crew):
        left = crew.home / f".claude/teams/.atm-trial-{2**22 + 5}"
        left.write_bytes(bytes(10))
        crew("doctor")
        assert not left.exists()


class TestTheHome:
    def test_one_that_does_not_exist_is_a_problem(self, visit, tmp_path):
        nowhere = str(tmp_path / "nowhere")
        checks, findings = visit(env={"HOME": nowhere, "ATM_HOME": nowhere})
        assert checks["home"]["state"] == "trouble"
        assert findings["no-home"]["command"] == f"mkdir -p {nowhere}"
        assert not Path(nowhere).exists(), "doctor only looks"

    def test_on_a_full_disk_writing_and_room_are_problems(self, visit, tiny_disk, tmp_path):
        small = tiny_disk(tmp_path / "small", "400k")
        (small / ".claude").mkdir()
        filler = small / "filler"
        fill(filler)
        checks, findings = visit(env={"HOME": str(small), "ATM_HOME": str(small)})
        assert "No space left" in findings["cannot-write"]["message"]
        assert findings["little-space"]["severity"] == "problem"
        assert (checks["home"]["state"], checks["space"]["state"]) == ("trouble", "trouble")
        filler.unlink()
        _, findings = visit(env={"HOME": str(small), "ATM_HOME": str(small)})
        assert "cannot-write" not in findings

    def test_without_inodes_there_is_room_for_no_file(self, visit, tiny_disk, tmp_path):
        small = tiny_disk(tmp_path / "small", "300m,nr_inodes=20")
        (small / ".claude").mkdir()
        use_up_inodes(small)
        _, findings = visit(env={"HOME": str(small), "ATM_HOME": str(small)})
        assert findings["few-inodes"]["severity"] == "problem"
        assert "cannot-write" in findings

    def test_a_read_only_one_is_a_problem_and_its_mail_is_read_all_the_same(self, crew, visit, tiny_disk, tmp_path):
        small = tiny_disk(tmp_path / "small", "4m")
        env = {"HOME": str(small), "ATM_HOME": str(small)}
        crew("teams", "create", "crew", env=env)
        crew("teams", "add-member", "crew", "ann", env=env)
        crew("send", "ann", "kept", env=env)
        subprocess.run(["mount", "-o", "remount,ro", str(small)], check=True)
        checks, findings = visit(env=env)
        assert "Read-only" in findings["cannot-write"]["message"]
        assert findings["cannot-write"]["command"].startswith("findmnt ")
        assert checks["team crew"]["state"] == "ok"
        assert "kept" in crew("read", "ann", "--no-mark", env=env).out
        subprocess.run(["mount", "-o", "remount,rw", str(small)], check=True)

    @needs_user
    def test_one_that_its_owner_has_shut_is_opened_by_the_command(self, crew, visit):
        folder = crew.home / ".local/state/atm"
        folder.chmod(0o500)
        _, findings = visit()
        subprocess.run(["sh", "-c", findings["cannot-write"]["command"]], check=True)
        visit(code=0)


class TestSettings:
    @pytest.mark.parametrize("text", ["[core\n", "[nonsense]\nx = 1\n", "[core]\nidentity = 7\n", "\0\xff"])
    def test_broken_ones_keep_doctor_from_nothing(self, crew, visit, text):
        path = crew.home / ".config/atm/config.toml"
        path.parent.mkdir(parents=True, mode=0o700)
        path.parent.chmod(0o700)
        path.write_text(text)
        crew.inbox("ann").write_text("torn")
        checks, findings = visit()
        assert findings["broken-settings"]["path"] == str(path)
        assert checks["settings"]["state"] == "trouble"
        assert findings["unreadable-inbox"]["path"] == str(crew.inbox("ann")), "the rest is looked at all the same"
        assert "✗ settings" in crew("doctor", code=1).out
        crew("doctor", "--fix", code=1)
        path.unlink()
        assert "broken-settings" not in visit()[1]

    def test_those_of_a_repository_too(self, crew, visit):
        (crew.folder / ".atm.toml").write_text("[core\n")
        _, findings = visit()
        assert findings["broken-settings"]["path"] == str(crew.folder / ".atm.toml")

    def test_a_folder_in_their_place_is_moved_away_by_its_command(self, crew, visit):
        path = crew.home / ".config/atm/config.toml"
        path.mkdir(parents=True)
        path.parent.chmod(0o700)
        _, findings = visit()
        subprocess.run(["sh", "-c", findings["wrong-kind"]["command"]], check=True)
        visit(code=0)


class TestTheClock:
    def test_files_from_the_future_are_found_and_mended(self, crew, visit):
        age(crew.inbox("ann"), -7200)
        checks, findings = visit()
        assert checks["clock"]["state"] == "trouble"
        assert findings["future-files"]["path"] == str(crew.inbox("ann"))
        _, findings = visit("--fix", code=0)
        assert findings["future-files"]["mended"] is True
        assert crew.inbox("ann").stat().st_mtime <= time.time() + 1
        assert visit(code=0)[1] == {}


class TestMending:
    @posix
    @pytest.mark.parametrize("mode", [0o777, 0o755, 0o644, 0o077, 0o177, 0o055, 0o111, 0o766])
    def test_no_mode_is_made_worse_for_its_owner(self, crew, visit, mode):
        crew("send", "ann", "x")
        paths = [crew.home / ".local/state/atm", crew.home / ".claude/teams/crew/mailbox.log"]
        for path in paths:
            path.chmod(mode)
        if os.geteuid() == 0:
            crew("doctor", "--fix", code=None)
        else:
            paths[0].chmod(mode | 0o700)
            crew("doctor", "--fix", code=None)
        for path in paths:
            now = stat.S_IMODE(path.stat().st_mode)
            assert now & 0o077 == 0
            assert now & mode & 0o700 == mode & 0o700
            assert now & 0o600 == 0o600
        assert visit(code=0)[1] == {}
        crew("send", "ann", "y")

    @posix
    def test_a_folder_of_ours_that_lost_its_rights_gets_them_back(self, crew, visit):
        folder = crew.home / ".local/state/atm/locks"
        folder.chmod(0o200)
        assert visit()[1]["wrong-permissions"]["path"] == str(folder)
        visit("--fix", code=0)
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700

    def test_what_is_partly_mended_is_not_called_mended(self, crew):
        """The first of two queued messages can be delivered, the second not: mail still waits."""
        for name in ("ann", "bob"):
            crew.inbox(name).write_text("torn")
            crew("send", name, "waits")
        crew.inbox("ann").write_text("[]")
        said = crew("doctor", "--fix", "--json", code=1).json
        backlog = [(one["mended"], one["message"]) for one in said["findings"] if one["code"] == "spool-backlog"]
        assert [mended for mended, _ in backlog] == [False]
        assert backlog[0][1].startswith("1 message waits")
        assert len(crew.rows("ann")) == 1

    def test_what_a_second_look_could_not_see_is_not_called_mended(self, crew, room, layout):
        from atm.checkup.services.checkup import mend
        from atm.checkup.services.findings import WARNING, Check, Finding
        from atm.wiring.board import build_boardroom
        from atm.wiring.checkup import build_files_around

        def blind() -> list[Finding]:
            raise PermissionError(13, "Permission denied", "/x")

        lost = Finding("lost", WARNING, "was there before", "true", "/y", mend=lambda: None)
        boardroom = build_boardroom(layout, Settings({}, [], None, "/"), room)
        around = build_files_around(layout, crew.environment)
        checks, mended = mend(boardroom, around, [Check("mine", findings=[lost])], [("mine", blind)])
        assert mended == []
        assert not lost.mended
        assert [check.state for check in checks if check.name == "mine"] == ["failed"]

    def test_why_something_was_not_mended_is_said(self, crew, room, layout):
        from atm.checkup.services.checkup import findings_of, mend
        from atm.checkup.services.findings import WARNING, Check, Finding
        from atm.wiring.board import build_boardroom
        from atm.wiring.checkup import build_files_around

        def refuse() -> None:
            raise PermissionError(1, "Operation not permitted", "/y")

        def look() -> list[Finding]:
            return [Finding("stuck", WARNING, "it is stuck", "true", "/y", mend=refuse)]

        around = build_files_around(layout, crew.environment)
        first = [Check("mine", findings=look())]
        checks, mended = mend(
            build_boardroom(layout, Settings({}, [], None, "/"), room), around, first, [("mine", look)]
        )
        assert mended == []
        (found,) = [one for one in findings_of(checks) if one.code == "stuck"]
        assert found.message == "it is stuck (not mended: [Errno 1] Operation not permitted: '/y')"


class TestSurroundings:
    @pytest.fixture
    def daemon(self, crew, layout, eventually):
        process = crew.start("daemon", "run")
        eventually(lambda: find_running(layout) is not None and ask(layout, "ping", seconds=60) is not None)
        yield process
        process.send_signal(signal.SIGCONT)
        process.terminate()
        process.communicate(timeout=60)

    @posix
    def test_a_daemon_that_runs_is_named_and_one_that_does_not_answer_is_a_problem(self, visit, daemon):
        checks, _ = visit(code=0)
        assert checks["daemon"]["detail"].startswith(f"process {daemon.pid}, version ")
        daemon.send_signal(signal.SIGSTOP)
        _, findings = visit()
        assert findings["silent-daemon"]["command"] == "atm daemon restart"

    def test_without_tmux_only_members_who_sit_there_are_missed(self, crew, visit, room, tmp_path):
        bare = tmp_path / "bin"
        bare.mkdir()
        checks, findings = visit(code=0, env={"PATH": str(bare)})
        assert checks["tmux"]["detail"].startswith("not here")
        room.endpoints.put(
            "crew", "ann", Endpoint(vendor="claude", session="s", at=time.time(), pane="%1", server="/s")
        )
        _, findings = visit(env={"PATH": str(bare)})
        assert "ann" in findings["no-tmux"]["message"]
        crew(*findings["no-tmux"]["command"].removeprefix("atm ").split(), env={"ATM_IDENTITY": ""})
        visit(code=0, env={"PATH": str(bare)})

    def test_hooks_that_are_there_in_part_are_found_and_init_mends_them(self, crew, visit):
        crew("init", "--vendor", "claude", "--no-mcp")
        visit(code=0)
        path = crew.home / ".claude/settings.json"
        settings = json.loads(path.read_text())
        settings["hooks"].pop(sorted(settings["hooks"])[0])
        path.write_text(json.dumps(settings))
        _, findings = visit()
        assert findings["old-hooks"]["command"] == "atm init --vendor claude"
        crew("init", "--vendor", "claude", "--no-mcp")
        visit(code=0)

    def test_an_agent_that_was_never_set_up_is_no_finding(self, crew, visit):
        (crew.home / ".claude/settings.json").write_text("{}")
        checks, findings = visit(code=0)
        assert findings == {}
        assert checks["hooks"]["state"] == "ok"


def test_at_eighty_columns_no_line_but_a_command_is_longer(crew, tmp_path):
    skip_without("tmux")
    crew.inbox("annabella").write_text('[{"from": "bob", "text": "lost?", "timestamp": "", "read": false}]')
    age(crew.inbox("ann"), -7200)
    server = ["tmux", "-S", str(tmp_path / "s"), "-f", "/dev/null"]
    env = {**crew.environment, "TERM": "screen", "LANG": "C.UTF-8"}
    line = f"cd {crew.folder}; {sys.executable} -m atm doctor; echo DONE-$?; sleep 60"
    subprocess.run([*server, "new-session", "-d", "-x", "80", "-y", "60", "sh", "-c", line], env=env, check=True)
    try:
        end, shown = time.monotonic() + 60, ""
        while "DONE-1" not in shown and time.monotonic() < end:
            shown = subprocess.run([*server, "capture-pane", "-p"], capture_output=True, text=True, check=True).stdout
            time.sleep(0.05)
        joined = subprocess.run([*server, "capture-pane", "-pJ"], capture_output=True, text=True, check=True).stdout
    finally:
        subprocess.run([*server, "kill-server"], check=False)
    assert "DONE-1" in shown
    too_long = [
        line
        for line in joined.splitlines()
        if len(line.rstrip()) > 80 and len(line.split()) > 1 and not line.strip(" →").startswith("atm ")
    ]
    assert too_long == []
    assert "  ✗ clock" in joined
    assert "  ✗ team crew" in joined


def test_mail_that_a_killed_process_was_showing_is_known_and_given_back(atm, room):
    id = str(atm("send", "bob", "did anybody see it?", "--from", "ann", "--json").json["message_id"])
    turn = room.surfacings.turn("crew", "bob")
    with turn:
        turn.begin(ShowingNote(keys=[id], channel=HOOK, at=room.clock.now()))
        room.inboxes.claim_named("crew", "bob", {id})
    (found,) = [one for one in atm("doctor", "--json", code=None).json["findings"] if one["code"] == "half-shown"]
    assert "'bob'" in found["message"]
    assert atm.rows("bob")[0]["read"] is True
    atm("doctor", "--fix", code=None)
    assert atm.rows("bob")[0]["read"] is False
    assert "half-shown" not in atm("doctor", "--json", code=None).out
