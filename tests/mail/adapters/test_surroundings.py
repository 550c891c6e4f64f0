"""What is around a team: Claude Code's version, its settings files, the repository, and where we are."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.proving import proves

from atm import config
from atm.core.errors import UnreadableFile
from atm.core.work_errors import FileNotAllowed
from atm.events.adapters import watching
from atm.files.adapters import exchange
from atm.files.adapters.disk import RealDisk
from atm.files.adapters.machine import RealChance, find_layout
from atm.mail.adapters.shared_files import SettingsAndFiles
from atm.mail.services.file_references import References
from atm.mail.services.mailroom import find_recipient
from atm.mail.services.posting import Draft
from atm.mail.services.retention import compact
from atm.mail.services.sending import send
from atm.setup.adapters.remote import find_repo
from atm.testing import FaultyDisk, make_message
from atm.vendors.claude import installed as claude_code
from atm.wiring import events
from atm.wiring.mail import build_room
from atm.wiring.setup import build_context


class FakeClaude:
    """A program called `claude` that says a version and counts how often it was asked."""

    def __init__(self, folder: Path) -> None:
        self.program, self._asked = folder / "claude", folder / "asked"
        self.environment = {"PATH": f"{folder}:/usr/bin:/bin"}

    def __call__(self, version: str) -> None:
        self.program.write_text(f"#!/bin/sh\necho x >> {self._asked}\necho '{version}'\n")
        self.program.chmod(0o755)

    def times(self) -> int:
        return len(self._asked.read_text().split()) if self._asked.exists() else 0


@pytest.fixture
def claude(tmp_path, monkeypatch):
    monkeypatch.setattr(claude_code, "LONGEST_ANSWER", 60.0)  # also on a busy machine
    folder = tmp_path / "bin"
    folder.mkdir()
    return FakeClaude(folder)


class TestClaudeVersion:
    def test_it_is_asked_once_and_remembered(self, layout, claude):
        claude("2.1.231 (Claude Code)")
        for _ in range(3):
            found = claude_code.detect(layout, claude.environment)
        assert (found.claude_version, found.maturity.value) == ("2.1.231", "PreRelease")
        assert claude.times() == 1
        cached = json.loads(Path(layout.claude_version).read_text())
        assert cached["claude_version"] == "2.1.231"

    def test_another_binary_is_asked_again(self, layout, claude):
        claude("2.1.39 (Claude Code)")
        assert claude_code.detect(layout, claude.environment).claude_version == "2.1.39"
        claude("3.0.0 (Claude Code), a new release")
        assert claude_code.detect(layout, claude.environment).maturity.value == "Stable"
        assert claude.times() == 2

    def test_without_claude_code_it_is_unknown(self, layout):
        assert claude_code.detect(layout, {"PATH": "/nowhere"}).maturity.value == "Unknown"

    def test_a_damaged_cache_is_asked_around(self, layout, claude):
        claude("2.1.231")
        os.makedirs(os.path.dirname(layout.claude_version))
        with open(layout.claude_version, "w") as file:
            file.write("{")
        assert claude_code.detect(layout, claude.environment).claude_version == "2.1.231"

    def test_a_program_that_fails_is_unknown_and_harmless(self, layout, claude):
        claude("x")
        claude.program.write_text("#!/bin/sh\nexit 3\n")
        assert claude_code.detect(layout, claude.environment).maturity.value == "Unknown"


class TestContext:
    @proves(
        "R001-3.3b-03", "R001-3.3b-04", "R001-3.3b-05", "R001-3.3b-08", "R001-3.3b-10", "R001-3.3b-11", "R001-3.3b-13"
    )
    def test_it_says_where_we_are(self, layout, tmp_path, claude):
        claude("2.1.231")
        repo = tmp_path / "checkout"
        (repo / "sub").mkdir(parents=True)
        subprocess.run(["git", "init", "-q", str(repo)], check=True)
        remote = "git@github.com:someone/tool.git"
        subprocess.run(["git", "-C", str(repo), "remote", "add", "origin", remote], check=True)
        settings = config.load(layout, {"ATM_TEAM": "crew"}, str(repo / "sub"), {})
        context = build_context(layout, settings, claude.environment, str(repo / "sub"))
        assert context.hostname
        assert context.platform == {"linux": "Linux", "darwin": "macOS", "win32": "Windows"}[sys.platform]
        assert context.claude_root == layout.claude_root
        assert context.root == str(repo)
        assert (context.claude_version, context.default_team) == ("2.1.231", "crew")
        assert context.repo is not None
        assert (context.repo.name, context.repo.path, context.repo.remote_url) == ("tool", str(repo), remote)
        assert context.repo.provider is not None
        assert (context.repo.provider.kind, context.repo.provider.namespace) == ("github", "someone")

    def test_a_folder_without_git_has_a_root_and_no_repository(self, layout, tmp_path):
        settings = config.load(layout, {}, str(tmp_path), {})
        context = build_context(layout, settings, {"PATH": "/nowhere"}, str(tmp_path))
        assert (context.root, context.repo) == (str(tmp_path), None)

    def test_a_worktree_has_the_remote_of_its_repository(self, tmp_path):
        repo, tree = tmp_path / "repo", tmp_path / "tree"
        for words in (
            ["init", "-q", str(repo)],
            ["-C", str(repo), "remote", "add", "up", "https://gitlab.com/a/b/c.git"],
        ):
            subprocess.run(["git", *words], check=True)
        who = ["-c", "user.name=x", "-c", "user.email=x@example.com"]
        subprocess.run(["git", "-C", str(repo), *who, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
        subprocess.run(["git", "-C", str(repo), "worktree", "add", "-q", str(tree)], check=True, capture_output=True)
        found = find_repo(str(tree))
        assert found is not None
        assert found.provider is not None
        assert (found.provider.kind, found.provider.namespace, found.provider.repo) == ("gitlab", "a/b", "c")


class TestManagedSettings:
    @pytest.fixture
    def note_for(self, room, layout, tmp_path) -> Callable[[str], str]:
        folder = tmp_path / "repo"
        (folder / ".git").mkdir(parents=True)
        (folder / "plan.md").write_text("content")

        def make(managed: str) -> str:
            path = tmp_path / "managed-settings.json"
            path.write_text(managed)
            files = SettingsAndFiles(layout, {"HOME": str(tmp_path)}, managed=str(path))
            return References(files, str(folder)).note_for(str(folder / "plan.md"), find_recipient(room, "crew", "ann"))

        return make

    @proves("R001-4.2-send-34")
    def test_a_managed_deny_stops_everybody(self, note_for):
        with pytest.raises(FileNotAllowed):
            note_for('{"permissions": {"deny": ["Read(*.md)"]}}')

    def test_managed_settings_that_cannot_be_read_permit_nothing(self, note_for):
        with pytest.raises(UnreadableFile):
            note_for("{")


class TestSmallPromises:
    @proves("R001-3.1-10", "R001-3.3-20")
    def test_an_id_is_a_version_4_uuid(self):
        ids = {RealChance().new_id() for _ in range(100)}
        assert len(ids) == 100
        assert all(uuid.UUID(id).version == 4 and str(uuid.UUID(id)) == id for id in ids)

    @proves("R000-lock-23", "R001-3.2-19")
    @pytest.mark.usefixtures("room")
    def test_a_send_syncs_the_file_then_exchanges_then_syncs_the_folder(self, home):
        disk = FaultyDisk(RealDisk())
        send(build_room(find_layout({"ATM_HOME": str(home)}), disk=disk), "crew", "ann", Draft(sender="bob", text="x"))
        at = disk.steps.index("exchange")
        assert "sync" in disk.steps[:at]
        assert "sync_folder" in disk.steps[at:]
        assert "sync" in disk.steps[at:], "the ledger"

    @pytest.mark.usefixtures("room")
    def test_mail_that_arrives_during_a_clean_up_is_kept(self, home):
        inbox = home / ".claude/teams/crew/inboxes/ann.json"
        old = [make_message(f"old-{n}", read=True, at="2020-01-01T00:00:00.000Z") for n in range(8)]
        inbox.write_text("[" + ", ".join(row.raw for row in old) + "]")

        class Arriving(RealDisk):
            done = False

            def exchange(self, one: str, other: str) -> bool:
                if not self.done:
                    self.done = True
                    rows = json.loads(inbox.read_text())
                    inbox.write_text(json.dumps([*rows, json.loads(make_message("new", "just now").raw)]))
                return super().exchange(one, other)

        meddled = build_room(find_layout({"ATM_HOME": str(home)}), disk=Arriving())
        meddled.policy.keep_read, meddled.policy.keep_days = 2, 1
        compact(meddled, "crew", "ann")
        assert [row["msg_id"] for row in json.loads(inbox.read_text())] == ["old-6", "old-7", "new"]

    @proves("R000-lock-15")
    def test_waiting_for_a_lock_is_jittered_and_grows_up_to_a_bound(self, layout):
        from atm.files.adapters.locking import FIRST_NAP, LONGEST_NAP, Locks
        from atm.testing import FakeChance, FakeClock

        clock = FakeClock()
        locks = Locks(RealDisk(), clock, FakeChance(1), layout.locks, pid=1, host="x")
        nap, naps = FIRST_NAP, []
        for _ in range(20):
            before = clock.monotonic()
            asked, nap = nap, locks.nap(nap, LONGEST_NAP)
            naps.append(((clock.monotonic() - before) / asked, asked))
        assert all(0.5 <= share <= 1.0 for share, _ in naps)
        assert len({round(share, 6) for share, _ in naps}) > 10
        assert [asked for _, asked in naps] == sorted(asked for _, asked in naps)
        assert naps[-1][1] == LONGEST_NAP

    @proves("R001-3.2-21", "R001-8.1-01", "R001-8.5-02")
    def test_macos_is_asked_to_swap(self, monkeypatch):
        import ctypes
        import sys
        import types

        calls = []

        def renamex_np(*words):
            calls.append(words)
            return 0

        library = types.SimpleNamespace(renamex_np=renamex_np)
        monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: library)
        monkeypatch.setattr(sys, "platform", "darwin")
        monkeypatch.setattr(exchange, "_system_swap", None)
        assert exchange.swap("/a", "/b") is True
        assert calls == [(b"/a", b"/b", 2)]


@proves("R000-lock-26")
def test_a_reader_who_waits_outlasts_a_torn_inbox(atm, room, monkeypatch, capfd):
    from atm.ui.cli.main import main

    whole = atm.inbox("ann").read_text()
    atm.inbox("ann").write_text("[")

    class Watch(watching.PollingWatch):
        """It is waited for only after a look at the torn file."""

        def wait(self, _: float) -> bool:
            atm.inbox("ann").write_text(whole)
            send(room, "crew", "ann", Draft(sender="bob", text="whole again"))
            return True

    monkeypatch.setattr(events, "build_watch", Watch)
    monkeypatch.setenv("ATM_HOME", str(atm.home))
    assert main(["read", "--wait", "600", "--json", "--as", "ann"]) == 0
    assert [message["text"] for message in json.loads(capfd.readouterr().out)["messages"]] == ["whole again"]


@proves("R001-4.4-03")
def test_who_somebody_is_can_be_said_with_identity_too(atm):
    atm.team("crew", "ann", "bob")
    atm("send", "ann", "hello", "--identity", "bob")
    shown = atm("read", "--identity", "ann", "--json").json
    assert [message["from"] for message in shown["messages"]] == ["bob"]


@proves("R001-3.3-13")
def test_how_often_a_message_is_tried_can_be_set(atm):
    atm.team("crew", "ann", "bob")
    atm("config", "set", "messaging.max_retries", "1")
    atm.inbox("ann").write_text("[")
    atm("send", "ann", "hello")
    atm("inbox")
    assert atm.pending == []
    assert len(list((atm.home / ".config/atm/spool/failed").iterdir())) == 1
