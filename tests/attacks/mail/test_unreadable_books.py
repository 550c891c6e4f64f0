"""
Books that cannot be read or written: a folder in place of the ledger, a file of root's after one command with `sudo`.

Only the inbox is the mail. Whatever else is in the way, sending and reading go on, whoever asked is told, and `doctor`
names what is wrong together with a command that mends it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Atm, Result

from atm.files.adapters.machine import find_layout
from atm.wiring.mail import build_room

needs_root = pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="only root gives files away")

TEAM, STATE, CONFIG = ".claude/teams/crew", ".local/state/atm", ".config/atm"


@pytest.fixture
def crew(atm, room):
    atm.environment |= {"ATM_DAEMON_AUTOSTART": "0", "ATM_TEAM": "crew", "ATM_IDENTITY": "bob"}
    return atm


def put_a_folder(path: Path) -> None:
    if path.is_file():
        path.unlink()
    path.mkdir(parents=True)
    (path / "x").write_text("somebody's")


def put_a_file(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("somebody's")


BOOKS: dict[str, Callable[[Path], None]] = {
    f"{TEAM}/mailbox.log": put_a_folder,
    f"{TEAM}/state.json": put_a_folder,
    f"{TEAM}/tasks.jsonl": put_a_folder,
    f"{TEAM}/heartbeats": put_a_file,
    f"{TEAM}/endpoints": put_a_file,
    f"{TEAM}/.member-work-sync": put_a_file,
    f"{STATE}/surfacing": put_a_file,
    f"{STATE}/surfacing/crew/ann.json": put_a_folder,
    f"{STATE}/upkeep": put_a_file,
    f"{STATE}/boards": put_a_file,
    f"{STATE}/intents": put_a_file,
    f"{STATE}/format-drift.jsonl": put_a_folder,
    f"{STATE}/hooks.jsonl": put_a_folder,
    f"{STATE}/daemon": put_a_file,
    f"{CONFIG}/archive": put_a_file,
    f"{CONFIG}/spool": put_a_file,
    f"{CONFIG}/trust.json": put_a_folder,
}


@pytest.fixture(params=BOOKS, ids=lambda book: book.rpartition("/")[2])
def spoilt(request, crew) -> Path:
    """The path of a book that something else lies in place of."""
    crew("send", "ann", "before")
    path = Path(crew.home / request.param)
    BOOKS[request.param](path)
    return path


def test_mail_is_sent_and_read_without_it(crew, spoilt):
    crew("send", "ann", "meanwhile")
    assert [row["text"] for row in crew.rows("ann")] == ["before", "meanwhile"]
    said = crew("read", "--as", "ann", "--json").json
    assert [message["text"] for message in said["messages"]] == ["before", "meanwhile"]
    assert all(row["read"] for row in crew.rows("ann"))
    assert crew("read", "--as", "ann", "--json", code=None).json["messages"] == [], "and it is shown once"


def test_everybody_else_is_served_too(crew, spoilt):
    id = crew("send", "bob", "a question", "--from", "ann", "--json").json["message_id"]
    assert crew("broadcast", "to all", "--json").code == 0
    crew("inbox")
    crew("status")
    crew("members")
    assert id in crew("receipts", id, "--json").out


def test_doctor_names_it_and_its_command_mends_it(crew, spoilt):
    said = crew("doctor", "--json", code=1).json
    assert said["healthy"] is False
    found = [one for one in said["findings"] if one["path"] == str(spoilt) and one["code"] == "wrong-kind"]
    assert len(found) == 1, said["findings"]
    done = subprocess.run(["sh", "-c", found[0]["command"]], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    again = crew("doctor", "--json", code=None).json
    assert [one for one in again["findings"] if one["path"] == str(spoilt)] == []
    assert "check-failed" not in [one["code"] for one in again["findings"]]


def test_a_hook_shows_mail_though_the_ledger_is_a_folder(crew):
    crew("send", "ann", "into the context")
    path = crew.home / TEAM / "mailbox.log"
    path.unlink()
    put_a_folder(path)
    call = json.dumps(
        {"session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": "x", "cwd": str(crew.folder)}
    )
    said = crew("hook", "claude", "UserPromptSubmit", stdin=call, env={"ATM_IDENTITY": "ann"})
    assert "into the context" in said.out
    again = crew("hook", "claude", "UserPromptSubmit", stdin=call, env={"ATM_IDENTITY": "ann"})
    assert "into the context" not in again.out


class TestWords:
    """Whoever asked is told, once, and on standard error alone."""

    def test_of_a_ledger_that_cannot_be_read(self, crew):
        crew("send", "ann", "x")
        put_a_folder(crew.home / TEAM / "mailbox.log")
        said = crew("read", "--as", "ann")
        assert said.err.count("the ledger cannot be read, so mail that was shown before may be shown again") == 1
        assert "Warning" not in said.out

    def test_of_notes_that_cannot_be_kept(self, crew):
        crew("send", "ann", "x")
        put_a_file(crew.home / STATE / "surfacing")
        assert crew("read", "--as", "ann").err.count("nobody can tell later what is shown now") == 1

    def test_of_a_sign_of_life_that_cannot_be_left(self, crew):
        crew("tasks", "add", "one")
        shutil.rmtree(crew.home / TEAM / "heartbeats", ignore_errors=True)
        put_a_file(crew.home / TEAM / "heartbeats")
        assert crew("tasks", "claim", "--as", "ann").err.count("no sign of life was left") == 1

    def test_nothing_is_told_where_nothing_is_wrong(self, crew):
        crew("send", "ann", "x")
        assert crew("read", "--as", "ann").err == ""


# As another user, in a home in which root has left files.


class Stranger(Atm):
    """`atm` as a user who is not root, in a home of their own."""

    uid = 61_234


@pytest.fixture
def stranger() -> Iterator[Stranger]:
    """Their home lies outside of pytest's folder, which is root's alone."""
    with tempfile.TemporaryDirectory(prefix="atm-home") as place:
        home = Path(place)
        home.chmod(0o755)
        for folder in (home / "home", home / "work"):
            folder.mkdir()
            os.chown(folder, Stranger.uid, Stranger.uid)
        made = Stranger(home / "home", home / "work")
        made.environment |= {"ATM_DAEMON_AUTOSTART": "0", "ATM_TEAM": "crew", "ATM_IDENTITY": "bob"}
        made.team("crew")
        made("send", "ann", "before")
        yield made


def leave_to_root(*paths: Path) -> None:
    for path in paths:
        os.chown(path, 0, 0)
        path.chmod(0o700 if path.is_dir() else 0o600)


@needs_root
class TestRootsFiles:
    def commands(self, atm: Stranger) -> dict[str, str]:
        return {one["code"]: one["command"] for one in atm("doctor", "--json", code=None).json["findings"]}

    def mend(self, atm: Stranger) -> None:
        command = self.commands(atm)["foreign-owner"]
        assert command.startswith("sudo "), "whoever asks is not root"
        done = subprocess.run(["sh", "-c", command.removeprefix("sudo ")], capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{command}: {done.stderr}"

    def test_with_a_ledger_of_roots_mail_goes_on_and_doctor_gives_it_back(self, stranger):
        ledger = stranger.home / TEAM / "mailbox.log"
        leave_to_root(ledger)
        stranger("send", "ann", "meanwhile")
        said = stranger("read", "--as", "ann")
        assert "before" in said.out
        assert "meanwhile" in said.out
        assert "Permission denied" in said.err
        found = self.commands(stranger)
        assert found["unreadable-ledger"] == found["foreign-owner"], "one command mends both"
        self.mend(stranger)
        assert ledger.stat().st_uid == Stranger.uid
        assert stranger("doctor", "--json").json["healthy"] is True

    @pytest.mark.parametrize("folder", ["surfacing", "upkeep", "boards", "locks"])
    def test_with_a_folder_of_roots_doctor_looks_at_everything_else_and_names_it(self, stranger, folder):
        path = stranger.home / STATE / folder
        path.mkdir(exist_ok=True)
        leave_to_root(path)
        said = stranger("doctor", "--json", code=1).json
        states = {check["name"]: check["state"] for check in said["checks"]}
        assert states["owners"] == "trouble"
        assert states["home"] == states["space"] == states["settings"] == "ok"
        self.mend(stranger)
        assert stranger("doctor", "--json", code=None).json["healthy"] is True

    def test_locks_of_roots_keep_mail_in_the_spool_until_they_are_given_back(self, stranger):
        leave_to_root(*(stranger.home / STATE / "locks").iterdir())
        sent = stranger("send", "ann", "meanwhile", "--json").json
        assert sent["outcome"] == "queued"
        self.mend(stranger)
        stranger("spool", "retry")
        assert [row["text"] for row in stranger.rows("ann")] == ["before", "meanwhile"]

    def test_mail_behind_locks_of_roots_is_shown_and_stays_unread_until_they_are_given_back(self, stranger):
        locks = [path for path in (stranger.home / STATE / "locks").iterdir() if path.name.endswith("-ann.json")]
        leave_to_root(*locks)
        for words in ((), ("--all",)):
            said = stranger("read", "--as", "ann", *words)
            assert "before" in said.out
            assert said.err.count("this mail cannot be marked as read, so it will be shown again") == 1
            words_of = [f"{path}: Permission denied; `atm doctor` says which command mends that" for path in locks]
            assert any(text in said.err for text in words_of)
            assert "not your inbox" not in said.out
        told = stranger("read", "--as", "ann", "--json").json
        assert (told["count"], told["marked"]) == (1, False)
        assert [row["read"] for row in stranger.rows("ann")] == [False]
        assert (
            stranger("receipts", told["messages"][0]["message_id"], "--json").json["recipients"][0]["state"]
            == "written"
        )
        self.mend(stranger)
        said = stranger("read", "--as", "ann")
        assert ("before" in said.out, said.err) == (True, "")
        assert [row["read"] for row in stranger.rows("ann")] == [True]
        assert "before" not in stranger("read", "--as", "ann", code=None).out, "and then it is shown once"

    def test_mail_that_a_dead_reader_had_taken_is_not_forgotten_behind_locks_of_roots(self, stranger):
        note = stranger.home / STATE / "surfacing/crew/ann.json"
        id = stranger.rows("ann")[0]["message_id"]
        stranger("read", "--as", "ann")
        rows = stranger.rows("ann")
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(json.dumps({"keys": [id], "channel": "read", "at": time.time()}))
        for path in (note, note.parent, note.parent.parent):
            os.chown(path, Stranger.uid, Stranger.uid)
        (stranger.home / TEAM / "mailbox.log").write_text("")  # nobody told of it
        leave_to_root(
            *[path for path in (stranger.home / STATE / "locks").iterdir() if path.name.endswith("-ann.json")]
        )
        stranger("read", "--as", "ann")
        assert stranger.rows("ann") == rows
        assert note.exists()
        self.mend(stranger)
        assert "before" in stranger("read", "--as", "ann").out

    def test_a_spool_of_roots_keeps_no_mail_from_being_sent(self, stranger):
        pending = stranger.home / CONFIG / "spool/pending"
        pending.mkdir(parents=True)
        for path in (stranger.home / ".config", stranger.home / CONFIG):
            os.chown(path, Stranger.uid, Stranger.uid)
            path.chmod(0o700)
        leave_to_root(pending, pending.parent)
        said = stranger("send", "ann", "meanwhile")
        assert "nobody can look there" in said.err
        assert [row["text"] for row in stranger.rows("ann")] == ["before", "meanwhile"]
        stranger("status")

    def test_one_command_of_root_in_that_home_is_found_afterwards(self, stranger):
        as_root(stranger, "teams", "add-member", "crew", "cat")
        stranger_codes = self.commands(stranger)
        assert "foreign-owner" in stranger_codes
        self.mend(stranger)
        stranger("send", "cat", "hello")
        assert stranger("doctor", "--json", code=None).json["healthy"] is True


def as_root(atm: Atm, *words: str, **more: Any) -> Result:
    """The same home, as after `sudo` that kept HOME."""
    other = Atm(atm.home, atm.folder)
    other.environment = atm.environment
    other.fresh = True
    return other(*words, **more)


@needs_root
class TestGuests:
    def test_root_in_somebody_elses_home_says_so_first_and_in_one_line(self, stranger):
        said = as_root(stranger, "send", "ann", "from root")
        first, *rest = said.err.splitlines()
        assert first.startswith(f"Warning: you are root in the home of #{Stranger.uid}")
        assert rest == []
        assert "you are root" not in said.out

    def test_hooks_say_nothing_of_it(self, stranger):
        call = json.dumps({"session_id": "s", "hook_event_name": "Stop", "cwd": str(stranger.folder)})
        assert as_root(stranger, "hook", "claude", "Stop", stdin=call, env={"ATM_IDENTITY": "ann"}).err == ""

    def test_in_ones_own_home_nobody_is_told(self, crew, stranger):
        assert crew("send", "ann", "x").err == ""
        assert stranger("send", "ann", "x").err == ""

    def test_a_home_that_is_not_there_yet_is_whose_the_folder_above_is(self, stranger):
        other = {"ATM_HOME": str(stranger.home / "new"), "HOME": str(stranger.home / "new")}
        assert "you are root" in as_root(stranger, "teams", env=other, code=None).err


def test_the_bounds_of_what_is_told_hold(room):
    for number in range(100):
        room.troubles.note(f"trouble {number % 50}")
    first = room.troubles.news()
    assert len(first) == room.troubles.MOST
    assert room.troubles.news() == []


def test_a_daemon_that_cannot_read_the_ledger_serves_the_others(layout, home, room):
    """The room of a daemon lives for weeks: it tells of one trouble once."""
    put_a_folder(Path(layout.ledger("crew")))
    from atm.mail.services.bookkeeping import sightings_lately

    made = build_room(find_layout({"ATM_HOME": str(home)}))
    for _ in range(3):
        assert sightings_lately(made, "crew", "ann").shown == set()
    assert len(made.troubles.news()) == 1
