"""Records, journal and secrets on disk: damage, links and odd files, several processes, backups, and full disks."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.proving import proves

from atm.core.errors import AtmError, FileBusy, NoSuchTeam, OutsideLink, UnreadableFile, WriteRefused
from atm.files.adapters import record_store
from atm.files.adapters.locking import Locks
from atm.files.adapters.machine import RealChance, RealClock, host_name
from atm.files.adapters.record_store import RecordFiles
from atm.files.formats.layout import Layout
from atm.files.formats.record_file import LARGEST, SEALED_FROM
from atm.files.ports.disk import Disk
from atm.files.ports.records import INTENTS, OUTBOX, SHELVES, STALLS, STATUS
from atm.roster.services.backups import back_up
from atm.roster.services.ending import delete_team
from atm.roster.services.restoring import restore
from atm.roster.services.teamroom import Teamroom
from atm.team.adapters.team_secrets import SecretFiles
from atm.team.formats.team_config import new_team
from atm.testing import FaultyDisk, QuickDisk
from atm.wiring.mail import build_room
from atm.worksync.adapters import JournalFiles

CLAUDES = "session-1a2b3c4d"
needs_user = pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")


class HurriedClock:
    """Real time, but waiting takes none."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def now(self) -> float:
        return time.time() + self.ahead

    def monotonic(self) -> float:
        return time.monotonic() + self.ahead

    def sleep(self, seconds: float) -> None:
        self.ahead += seconds


class Site:
    """The files of a team `crew`, and stores over them."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.room: Teamroom = build_room(layout, disk=QuickDisk())
        self.create()
        self.records = self.store()
        self.team = Path(layout.team("crew"))
        self.folder = Path(layout.sync_folder("crew"))
        self.status = Path(layout.records("crew", STATUS))
        self.secret = Path(layout.report_secret("crew"))

    def create(self, team: str = "crew") -> None:
        self.room.rosters.create(team, new_team(team, description="", lead="team-lead", now=0))

    def locks(self, disk: Disk) -> Locks:
        return Locks(disk, HurriedClock(), RealChance(), self.layout.locks, pid=os.getpid(), host=host_name())

    def store(self, disk: Disk | None = None) -> RecordFiles:
        disk = disk or QuickDisk()
        return RecordFiles(disk, HurriedClock(), self.locks(disk), self.layout)

    def journal(self, largest: int = 5 << 20, disk: Disk | None = None) -> JournalFiles:
        disk = disk or QuickDisk()
        return JournalFiles(disk, self.locks(disk), self.layout, largest=largest)

    def secrets(self, disk: Disk | None = None) -> SecretFiles:
        disk = disk or QuickDisk()
        return SecretFiles(disk, self.locks(disk), self.layout, os.urandom)

    def put(self, shelf: str = STATUS, team: str = "crew", **records: Any) -> None:
        self.records.change(team, shelf, lambda _: records)

    def read(self, shelf: str = STATUS) -> dict[str, Any]:
        return {**self.records.read("crew", shelf)}

    def aside(self, path: Path | None = None) -> list[str]:
        path = path or self.status
        return sorted(found.name.rpartition("-")[2] for found in path.parent.glob(f"{path.name}.quarantine-*"))


@pytest.fixture
def around(layout) -> Site:
    return Site(layout)


def envelope(**changed: Any) -> bytes:
    fields = {"schemaName": "member-work-sync.status", "schemaVersion": 1, "data": {"members": {"ann": {"n": 1}}}}
    return json.dumps({**fields, **changed}).encode()


DAMAGED = {
    "empty": b"",
    "zeros": b"\0" * 4096,
    "torn": envelope()[:-5],
    "no-object": b"[1, 2]",
    "another-kind": envelope(schemaName="member-work-sync.outbox"),
    "later-version": envelope(schemaVersion=2),
    "no-version": envelope(schemaVersion=None),
    "no-map": envelope(data={"members": [1]}),
    "too-deep": b'{"a":' * 50_000,
    "binary": bytes(range(256)) * 10,
}


class TestDamage:
    @proves(
        "R002-8.0-54",
        "R002-8.0-56",
        "R002-8.0-57",
        "R002-8.0-106",
        "R002-11.3-10",
        "R002-11.3-11",
        "R002-11.3-13",
        "R002-11.3-14",
        "R002-17.1-01",
        "R002-17.4-02",
        "R002-17.4-03",
        "R002-20.3-14",
        "R002-20.3-15",
        "R002-20.3-18",
        "R002-24-02",
        "R002-26-15",
        "R002-27.1-15",
        "R002-28-08",
    )
    @pytest.mark.parametrize("kind", DAMAGED)
    def test_a_file_that_cannot_be_used_is_put_aside_and_the_shelf_begins_afresh(self, around, kind):
        around.folder.mkdir()
        around.status.write_bytes(DAMAGED[kind])
        assert around.read() == {}
        assert around.status.read_bytes() == DAMAGED[kind], "a reader moves nothing"
        assert "cannot be used" in around.records.problem("crew", STATUS)
        around.put(bob={"n": 2})
        assert around.read() == {"bob": {"n": 2}}
        assert (around.folder / "status.json.quarantine-1").read_bytes() == DAMAGED[kind]
        problem = around.records.problem("crew", STATUS)
        assert "status.json.quarantine-1 was put aside (" in problem
        assert problem.isprintable()
        assert "cannot be used" not in problem

    @proves("R002-8.0-57", "R002-11.3-11", "R002-11.3-14", "R002-17.4-03", "R002-20.3-15")
    def test_the_reason_is_told(self, around):
        around.folder.mkdir()
        around.status.write_bytes(DAMAGED["later-version"])
        around.put(bob={})
        assert "a later version of atm wrote it" in around.store().problem("crew", STATUS), (
            "another process knows it too"
        )

    def test_a_damaged_file_is_put_aside_even_if_nothing_is_to_be_written(self, around):
        around.folder.mkdir()
        around.status.write_bytes(b"{")
        around.records.change("crew", STATUS, lambda records: {} if not records else {"never": {}})
        assert not around.status.exists()
        assert around.aside() == ["1"]

    def test_the_last_five_are_kept_the_newest_first(self, around):
        around.folder.mkdir()
        for number in range(8):
            around.status.write_bytes(b"%d" % number)
            around.put(ann={"n": number})
        found = [(around.folder / f"status.json.quarantine-{n}").read_bytes() for n in range(1, 6)]
        assert found == [b"7", b"6", b"5", b"4", b"3"]
        assert len(list(around.folder.iterdir())) == 6
        assert "4 older beside it" in around.records.problem("crew", STATUS)

    def test_a_number_that_somebody_took_away_is_used_again(self, around):
        around.folder.mkdir()
        for number in range(4):
            around.status.write_bytes(b"%d" % number)
            around.put(ann={})
        (around.folder / "status.json.quarantine-2").unlink()
        around.status.write_bytes(b"new")
        around.put(ann={})
        names = [(around.folder / f"status.json.quarantine-{n}").read_bytes() for n in range(1, 5)]
        assert names == [b"new", b"3", b"1", b"0"]

    def test_a_record_that_is_no_object_is_dropped_and_the_file_kept_beside(self, around):
        around.folder.mkdir()
        before = envelope(data={"members": {"ann": {"n": 1}, "bob\x1b": [1], "cleo": None}})
        around.status.write_bytes(before)
        assert around.read() == {"ann": {"n": 1}}
        assert "not records: 'bob\\x1b', 'cleo'" in around.records.problem("crew", STATUS)
        around.records.change("crew", STATUS, lambda _: {})
        assert (around.status.read_bytes(), around.aside()) == (before, []), "nothing was written"
        around.put(dan={})
        assert around.read() == {"ann": {"n": 1}, "dan": {}}
        assert (around.folder / "status.json.quarantine-1").read_bytes() == before
        assert "was put aside (not records: " in around.records.problem("crew", STATUS)

    @proves("R002-17.4-01", "R002-20.3-18")
    def test_one_shelf_that_is_damaged_disturbs_no_other(self, around):
        for shelf in SHELVES:
            around.put(shelf, ann={"of": shelf})
        Path(around.layout.records("crew", OUTBOX)).write_bytes(b"x")
        assert around.read(OUTBOX) == {}
        for shelf in (STATUS, INTENTS, STALLS):
            assert around.read(shelf) == {"ann": {"of": shelf}}
            assert around.records.problem("crew", shelf) == ""

    @proves("R002-16.7-34")
    def test_a_file_over_64_mb_is_put_aside_unread(self, around):
        around.put(ann={})
        os.truncate(around.status, LARGEST + 1)
        assert around.read() == {}
        assert "64 MB" in around.records.problem("crew", STATUS)
        around.put(bob={})
        assert around.read() == {"bob": {}}

    @proves("R002-16.7-34")
    def test_a_shelf_that_would_grow_over_64_mb_is_refused_and_stays(self, around, monkeypatch):
        assert LARGEST == 64 << 20
        monkeypatch.setattr(record_store, "LARGEST", 1 << 20)  # as much would take seconds
        around.put(ann={"n": 1})
        with pytest.raises(WriteRefused, match="over 1 MB"):
            around.put(bob={"text": "x" * (1 << 20)})
        assert around.read() == {"ann": {"n": 1}}


class TestOddFiles:
    def test_a_folder_in_the_place_of_the_file_is_put_aside(self, around):
        (around.status / "inner").mkdir(parents=True)
        assert around.read() == {}
        assert "not a file but a folder" in around.records.problem("crew", STATUS)
        around.put(ann={})
        assert around.read() == {"ann": {}}
        assert (around.folder / "status.json.quarantine-1" / "inner").is_dir()

    def test_a_pipe_holds_nobody_up(self, around):
        around.folder.mkdir()
        os.mkfifo(around.status)
        assert around.read() == {}
        assert "it is not a file" in around.records.problem("crew", STATUS)
        around.put(ann={})
        assert around.read() == {"ann": {}}

    def test_a_link_in_the_place_of_the_file_is_neither_followed_nor_written_through(self, around, tmp_path):
        elsewhere = tmp_path / "elsewhere.json"
        elsewhere.write_bytes(envelope())
        around.folder.mkdir()
        around.status.symlink_to(elsewhere)
        assert around.read() == {}
        around.put(bob={})
        assert elsewhere.read_bytes() == envelope()
        assert around.read() == {"bob": {}}
        assert (around.folder / "status.json.quarantine-1").is_symlink()

    def test_a_link_in_the_place_of_the_folder_leads_nowhere(self, around, tmp_path):
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        (elsewhere / "status.json").write_bytes(envelope())
        around.folder.symlink_to(elsewhere)
        assert around.read() == {}
        assert "leads elsewhere" in around.records.problem("crew", STATUS)
        for act in (lambda: around.put(bob={}), lambda: around.secrets().secret("crew")):
            with pytest.raises(OutsideLink):
                act()
        around.journal().note("crew", {"event": "x"})
        assert around.journal().last("crew", 1) == []
        assert [path.name for path in elsewhere.iterdir()] == ["status.json"]

    def test_a_team_that_is_a_link_is_nobodys(self, around, tmp_path):
        elsewhere = tmp_path / "elsewhere"
        shutil.move(around.team, elsewhere)
        around.team.symlink_to(elsewhere)
        for shelf in (STATUS, STALLS):
            with pytest.raises(OutsideLink):
                around.put(shelf, bob={})
        assert not (elsewhere / ".member-work-sync").exists()

    def test_a_file_in_the_place_of_the_folder_is_named(self, around):
        around.folder.write_text("x")
        assert around.read() == {}
        with pytest.raises(AtmError) as refused:
            around.put(ann={})
        assert str(around.folder) in str(refused.value)
        assert isinstance(refused.value, UnreadableFile)
        assert around.folder.read_text() == "x"

    @needs_user
    def test_what_may_not_be_read_is_no_damage(self, around):
        around.put(ann={"n": 1})
        around.status.chmod(0)
        with pytest.raises(WriteRefused):
            around.read()
        with pytest.raises(WriteRefused):
            around.put(bob={})
        assert "Permission denied" in around.records.problem("crew", STATUS)
        around.status.chmod(0o600)
        assert around.read() == {"ann": {"n": 1}}
        assert around.aside() == []

    def test_files_and_folder_are_for_nobody_else(self, around):
        around.folder.mkdir(mode=0o755)
        for shelf in SHELVES:
            around.put(shelf, ann={})
        around.journal().note("crew", {"event": "x"})
        around.secrets().secret("crew")
        modes = {
            path.stat().st_mode & 0o777
            for path in [*around.folder.iterdir(), around.team / "stall-monitor-journal.json"]
        }
        assert modes == {0o600}
        assert around.folder.stat().st_mode & 0o777 == 0o700


class TestTeams:
    def test_a_team_that_is_gone_is_not_brought_back(self, around):
        around.put(ann={})
        shutil.rmtree(around.team)
        assert around.read() == {}
        around.journal().note("crew", {"event": "x"})
        for act in (
            lambda: around.put(ann={}),
            lambda: around.put(STALLS, ann={}),
            lambda: around.secrets().secret("crew"),
        ):
            with pytest.raises(NoSuchTeam):
                act()
        assert not around.team.exists()

    @pytest.mark.parametrize("shelf", [STATUS, STALLS])
    def test_a_team_that_goes_while_somebody_decides_is_not_brought_back(self, around, shelf):
        around.put(shelf, ann={"n": 1})

        def decide(records: dict[str, Any]) -> dict[str, Any]:
            delete_team(around.room, "crew", force=True)
            return {**records, "bob": {}}

        with pytest.raises(NoSuchTeam):
            around.records.change("crew", shelf, decide)
        assert not around.team.exists()

    @pytest.mark.parametrize("shelf", [STATUS, STALLS])
    def test_a_team_that_is_made_anew_while_somebody_decides_inherits_nothing(self, around, shelf):
        around.put(shelf, ann={"n": 1})

        def decide(records: dict[str, Any]) -> dict[str, Any]:
            shutil.move(around.team, around.team.parent / ".aside")
            around.create()
            return {**records, "bob": {}}

        with pytest.raises(NoSuchTeam):
            around.records.change("crew", shelf, decide)
        assert around.read(shelf) == {}

    def test_data_about_claudes_teams_lies_beside_them(self, around):
        with pytest.raises(NoSuchTeam):
            around.put(team=CLAUDES, ann={})
        team = Path(around.layout.team(CLAUDES))
        team.mkdir(parents=True)
        for shelf in SHELVES:
            around.put(shelf, team=CLAUDES, ann={"of": shelf})
        around.journal().note(CLAUDES, {"event": "x"})
        assert len(around.secrets().secret(CLAUDES)) == 32
        assert list(team.iterdir()) == []
        assert around.journal().last(CLAUDES, 5) == [{"event": "x"}]
        beside = Path(around.layout.state_root) / "teams" / CLAUDES
        assert beside.stat().st_mode & 0o777 == 0o700
        assert sorted(path.name for path in beside.iterdir()) == [".member-work-sync", "stall-monitor-journal.json"]
        team.rmdir()
        assert around.records.read(CLAUDES, STATUS) == {}


# Several at once.

CHANGER = """
import os, sys
from atm.files.adapters.disk import RealDisk
from atm.files.adapters.locking import Locks
from atm.files.adapters.record_store import RecordFiles
from atm.files.adapters.machine import RealChance, RealClock, find_layout, host_name
from atm.testing import QuickDisk

layout, disk, clock = find_layout(os.environ), QuickDisk(), RealClock()
locks = Locks(disk, clock, RealChance(), layout.locks, pid=os.getpid(), host=host_name())
records = RecordFiles(disk, clock, locks, layout)
name, rounds = sys.argv[1], int(sys.argv[2])
for number in range(rounds):
    def change(found):
        count = found.get("shared", {}).get("count", 0)
        return {"shared": {"count": count + 1}, f"{name}-{number}": {"by": name, "text": "x" * 500}}
    while True:
        try:
            records.change("crew", "status", change, keys=["shared", f"{name}-{number}"])
            break
        except Exception as error:
            if type(error).__name__ != "FileBusy":
                raise
"""

SECRET = """
import os
from atm.files.adapters.disk import RealDisk
from atm.files.adapters.locking import Locks
from atm.team.adapters.team_secrets import SecretFiles
from atm.files.adapters.machine import RealChance, RealClock, find_layout, host_name

layout, disk = find_layout(os.environ), RealDisk()
locks = Locks(disk, RealClock(), RealChance(), layout.locks, pid=os.getpid(), host=host_name())
input()
print(SecretFiles(disk, locks, layout, os.urandom).secret("crew").hex())
"""

NOTER = """
import os, sys, time
from atm.worksync.adapters import JournalFiles
from atm.files.adapters.disk import RealDisk
from atm.files.adapters.locking import Locks
from atm.files.adapters.machine import RealChance, RealClock, find_layout, host_name

layout, disk = find_layout(os.environ), RealDisk()
locks = Locks(disk, RealClock(), RealChance(), layout.locks, pid=os.getpid(), host=host_name())
largest = int(sys.argv[3])
journal = JournalFiles(disk, locks, layout, largest=largest)

def is_held_up():
    # On a busy machine whoever turns the files over may stand still in the middle of it. Nobody waits for him, and a
    # file has an end: it is full at twice its size.
    try:
        return os.stat(layout.sync_journal("crew")).st_size > 1.5 * largest
    except FileNotFoundError:
        return False

for number in range(int(sys.argv[2])):
    while is_held_up():
        time.sleep(0.001)
    journal.note("crew", {"by": sys.argv[1], "n": number, "text": "x" * 200})
"""


def started(home: Path, script: str, *words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", script, *words],
        env={**os.environ, "ATM_HOME": str(home)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def finished(process: subprocess.Popen[bytes]) -> str:
    out, err = process.communicate(b"\n", timeout=120)
    assert process.returncode == 0, err.decode()
    return out.decode()


def one_more(found: dict[str, Any]) -> dict[str, Any]:
    return {"x": {"n": found.get("x", {}).get("n", 0) + 1}}


class TestSeveralAtOnce:
    @proves(
        "R002-8.0-51",
        "R002-8.0-52",
        "R002-8.0-55",
        "R002-11.3-09",
        "R002-13.3-12",
        "R002-16.7-36",
        "R002-20.3-16",
        "R002-20.3-17",
        "R002-21-11",
    )
    def test_four_processes_lose_nothing_of_different_and_of_the_same_keys(self, around, home):
        processes = [started(home, CHANGER, f"p{number}", "50") for number in range(4)]
        seen = 0
        while any(process.poll() is None for process in processes):
            count = around.records.read("crew", STATUS, ["shared"]).get("shared", {}).get("count", 0)
            assert isinstance(count, int)
            assert count >= seen, "a reader saw an older file after a newer one"
            seen = count
            assert around.records.problem("crew", STATUS) == "", "a reader saw half a file"
        for process in processes:
            finished(process)
        found = around.read()
        assert found.pop("shared") == {"count": 200}
        assert set(found) == {f"p{process}-{number}" for process in range(4) for number in range(50)}
        assert around.status.stat().st_size > SEALED_FROM
        assert around.aside() == []

    def test_processes_that_are_killed_leave_a_whole_file_and_no_lock(self, around, home, eventually):
        for number in range(5):
            process = started(home, CHANGER, f"p{number}", "100000")
            eventually(lambda name=f"p{number}-3": around.records.read("crew", STATUS, [name]))
            process.kill()
            process.communicate(timeout=60)
            assert around.records.problem("crew", STATUS) == ""
            before = around.read()
            around.put(ann={"n": number})
            assert around.read() == {**before, "ann": {"n": number}}

    @proves("R002-8.0-51", "R002-8.0-97", "R002-11.3-09", "R002-16.7-36", "R002-17.4-04", "R002-24-03")
    def test_a_lock_that_is_held_refuses_the_change_and_keeps_the_file(self, around):
        around.put(ann={"n": 1})
        with around.locks(QuickDisk()).private(str(around.status)):
            assert around.read() == {"ann": {"n": 1}}, "reading waits for nobody"
            with pytest.raises(FileBusy):
                around.put(ann={"n": 2})
        assert around.read() == {"ann": {"n": 1}}

    @proves("R002-20.3-17")
    def test_threads_of_one_process_take_turns(self, around):
        locks = Locks(QuickDisk(), RealClock(), RealChance(), around.layout.locks, pid=os.getpid(), host=host_name())
        records = RecordFiles(QuickDisk(), RealClock(), locks, around.layout)
        done: list[int] = []

        def count() -> None:
            for _ in range(20):
                records.change("crew", STATUS, one_more)
            done.append(20)

        threads = [threading.Thread(target=count) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert done == [20, 20, 20]
        assert around.read() == {"x": {"n": 60}}

    def test_processes_agree_on_one_secret(self, around, home):
        processes = [started(home, SECRET) for _ in range(4)]
        assert {finished(process).strip() for process in processes} == {around.secrets().secret("crew").hex()}

    def test_lines_of_several_processes_do_not_mix_while_files_are_turned_over(self, around, home):
        processes = [started(home, NOTER, f"p{number}", "100", str(30 << 10)) for number in range(4)]
        for process in processes:
            finished(process)
        found = around.journal().last("crew", 1000)
        assert len(found) == 400
        for number in range(4):
            assert [record["n"] for record in found if record["by"] == f"p{number}"] == list(range(100))
        assert (around.folder / "journal.jsonl.1").exists()


class TestJournal:
    def test_files_are_turned_over_and_five_old_ones_are_kept(self, around):
        journal = around.journal(largest=1000)
        for number in range(200):
            journal.note("crew", {"n": number, "text": "x" * 100})
        names = sorted(path.name for path in around.folder.iterdir())
        assert names == ["journal.jsonl", *(f"journal.jsonl.{n}" for n in range(1, 6))]
        assert all(path.stat().st_size <= 1000 for path in around.folder.iterdir())
        numbers = [record["n"] for record in journal.last("crew", 1000)]
        assert numbers == list(range(200 - len(numbers), 200))
        assert [record["n"] for record in journal.last("crew", 10)] == list(range(190, 200))

    def test_a_torn_line_costs_only_itself(self, around):
        journal = around.journal()
        journal.note("crew", {"n": 1})
        path = around.folder / "journal.jsonl"
        with path.open("ab") as file:
            file.write(b'{"n": 2, "te')
        journal.note("crew", {"n": 3})
        with path.open("ab") as file:
            file.write(b"\n[1]\nnull\n\xff\0\n" + b"x" * 200_000 + b'\n{"n": 4}\n{"n": ')
        assert [record["n"] for record in journal.last("crew", 10)] == [1, 3, 4]

    def test_a_line_has_at_most_4_kb(self, around):
        journal = around.journal()
        for record in (
            {"a": "ä" * 10_000},
            {f"k{n}" * 50: ["😀" * 300] * 30 for n in range(100)},
            {"x" * 10_000: {"y" * 10_000: {"z": list(range(10_000))}}},
            {"n": 10**4000, "m": 10**4000},
            {},
        ):
            journal.note("crew", record)
        lines = (around.folder / "journal.jsonl").read_bytes().splitlines(keepends=True)
        assert len(lines) == 5
        assert max(map(len, lines)) <= 4096
        assert len(journal.last("crew", 10)) == 5

    @pytest.mark.parametrize("odd", ["folder", "pipe", "link"])
    def test_what_is_no_file_is_left_and_nobody_is_held_up(self, around, odd, tmp_path):
        around.folder.mkdir()
        path = around.folder / "journal.jsonl"
        {"folder": path.mkdir, "pipe": lambda: os.mkfifo(path), "link": lambda: path.symlink_to(tmp_path / "x")}[odd]()
        around.journal().note("crew", {"event": "x"})
        assert around.journal().last("crew", 5) == []
        assert not (tmp_path / "x").exists()

    @pytest.mark.parametrize("name", ["ENOSPC", "EACCES", "EIO"])
    def test_a_disk_that_refuses_any_step_is_nobodys_failure(self, around, name):
        error = OSError(getattr(errno, name), os.strerror(getattr(errno, name)))
        around.journal(largest=100).note("crew", {"n": 0, "text": "x" * 100})
        for step in range(100):
            disk = FaultyDisk(QuickDisk(), stop_at=step, error=error)
            around.journal(100, disk).note("crew", {"n": step, "text": "x" * 100})
            for fd in disk._open:
                os.close(fd)
            if len(disk.steps) <= step:
                break
        else:
            raise AssertionError("it never came to its end")
        assert around.journal().last("crew", 1)[0]["n"] == step

    def test_files_that_cannot_be_turned_over_do_not_fill_the_disk(self, around):
        (around.folder / "journal.jsonl.5" / "full").mkdir(parents=True)
        (around.folder / "journal.jsonl.4").write_text("")
        journal = around.journal(largest=1000)
        for number in range(100):
            journal.note("crew", {"n": number, "text": "x" * 100})
        assert 1000 < (around.folder / "journal.jsonl").stat().st_size <= 2000


class TestSecrets:
    BROKEN = (
        *(b"", b"{", b"[]", b'{"schemaVersion": 1}', b'{"schemaVersion": 1, "secret": 7}', b"\xff"),
        *(b'{"schemaVersion": 1, "secret": "AAAA"}', b'{"schemaVersion": 1, "secret": "\xc3\xa4"}'),
        b'{"schemaVersion": 1, "secret": "!!!!"}',
        b'{"schemaVersion": 2, "secret": "' + b"A" * 43 + b'="}',
        b"x" * 10_000,
    )

    def test_it_is_written_as_the_design_says(self, around):
        secret = around.secrets().secret("crew")
        fields = json.loads(around.secret.read_bytes())
        assert set(fields) == {"schemaVersion", "secret"}
        assert len(fields["secret"]) == 44
        assert around.secrets().secret("crew") == secret

    @pytest.mark.parametrize("data", BROKEN)
    def test_a_broken_one_is_made_anew(self, around, data):
        around.folder.mkdir()
        around.secret.write_bytes(data)
        made = around.secrets().secret("crew")
        assert len(made) == 32
        assert around.secrets().secret("crew") == made

    def test_a_wider_mode_is_repaired(self, around):
        secret = around.secrets().secret("crew")
        around.secret.chmod(0o644)
        assert around.secrets().secret("crew") == secret
        assert around.secret.stat().st_mode & 0o777 == 0o600

    @pytest.mark.parametrize("odd", ["folder", "pipe", "link", "loop"])
    def test_what_is_no_file_is_replaced_and_never_followed(self, around, odd, tmp_path):
        known = around.secrets().secret("crew")
        shutil.move(around.secret, tmp_path / "known.json")
        before = (tmp_path / "known.json").read_bytes()
        make: dict[str, Callable[[], object]] = {
            "folder": lambda: (around.secret / "inner").mkdir(parents=True),
            "pipe": lambda: os.mkfifo(around.secret),
            "link": lambda: around.secret.symlink_to(tmp_path / "known.json"),
            "loop": lambda: around.secret.symlink_to(around.secret),
        }
        make[odd]()
        made = around.secrets().secret("crew")
        assert made != known
        assert around.secrets().secret("crew") == made
        assert around.secret.is_file()
        assert not around.secret.is_symlink()
        assert (tmp_path / "known.json").read_bytes() == before

    @needs_user
    def test_one_that_may_not_be_read_is_not_replaced(self, around):
        secret = around.secrets().secret("crew")
        around.secret.chmod(0)
        with pytest.raises(WriteRefused):
            around.secrets().secret("crew")
        around.secret.chmod(0o600)
        assert around.secrets().secret("crew") == secret


# What becomes of these files when a team is backed up, deleted, restored.


class TestBackups:
    def filled(self, around: Site, team: str = "crew") -> bytes:
        for shelf in SHELVES:
            around.put(shelf, team=team, ann={"of": shelf, "text": "x" * SEALED_FROM})
        around.journal().note(team, {"event": "x"})
        Path(around.layout.sync_journal(team) + ".1").write_text("{}\n")
        return around.secrets().secret(team)

    def files_of(self, path: str) -> set[str]:
        return {str(found.relative_to(path)) for found in Path(path).rglob("*") if found.is_file()}

    def test_records_travel_with_a_backup_and_the_secret_does_not(self, around):
        self.filled(around)
        (around.folder / ".status.json.new").write_text("half a f")
        (around.folder / ".report-token-secret.json.new").write_text("secret")
        files = self.files_of(back_up(around.room, "crew").path)
        sync = "team/.member-work-sync"
        assert {name for name in files if "sync" in name or "stall" in name} == {
            *(f"{sync}/{shelf}.json" for shelf in (STATUS, INTENTS, OUTBOX)),
            f"{sync}/journal.jsonl",
            "team/stall-monitor-journal.json",
        }

    def test_a_team_that_was_deleted_and_restored_has_its_records_and_a_new_secret(self, around):
        former = self.filled(around)
        delete_team(around.room, "crew", force=True)
        assert around.read() == {}
        restore(around.room, "crew")
        for shelf in SHELVES:
            assert around.read(shelf)["ann"]["of"] == shelf
            assert around.records.problem("crew", shelf) == ""
        assert not around.secret.exists()
        assert around.secrets().secret("crew") != former
        assert around.folder.stat().st_mode & 0o777 == 0o700
        assert around.status.stat().st_mode & 0o777 == 0o600
        assert around.journal().last("crew", 5) == [{"event": "x"}]

    @pytest.mark.parametrize("name", ["report-token-secret.json", "Report-Token-Secret.json"])
    def test_a_secret_that_somebody_put_into_a_backup_does_not_come_back(self, around, name):
        self.filled(around)
        made = Path(back_up(around.room, "crew").path)
        known = b'{"schemaVersion": 1, "secret": "' + b"A" * 43 + b'="}'
        path = f"team/.member-work-sync/{name}"
        (made / path).write_bytes(known)
        manifest = json.loads((made / "manifest.json").read_text())
        manifest["files"].append({"path": path, "size": len(known), "sha256": hashlib.sha256(known).hexdigest()})
        (made / "manifest.json").write_text(json.dumps(manifest))
        shutil.rmtree(around.team)
        restore(around.room, "crew", str(made))
        assert around.read()["ann"]["of"] == STATUS
        assert not (around.folder / name).exists()
        assert around.secrets().secret("crew") != b"\0" * 32

    def test_a_restore_into_a_team_that_lives_changes_no_records(self, around):
        secret = self.filled(around)
        back_up(around.room, "crew")
        around.put(ann={"n": 2})
        around.put(OUTBOX, ann=None)
        restore(around.room, "crew")
        assert around.read() == {"ann": {"n": 2}}
        assert around.read(OUTBOX) == {}
        assert around.secrets().secret("crew") == secret

    def test_a_deletion_needs_no_backup_of_the_secret_to_be_complete(self, around):
        self.filled(around)
        done = delete_team(around.room, "crew", force=True)
        assert done.done
        assert not around.team.exists()
        assert list(Path(around.layout.teams).iterdir()) == []
        assert len(around.room.backups.kept("crew")) == 1, "the first backup covered everything"

    def test_records_about_claudes_teams_are_in_their_backups(self, around):
        Path(around.layout.team(CLAUDES)).mkdir(parents=True)
        Path(around.layout.team_config(CLAUDES)).write_bytes(new_team(CLAUDES, description="", lead="lead", now=0))
        self.filled(around, CLAUDES)
        files = self.files_of(back_up(around.room, CLAUDES).path)
        assert {"team/.member-work-sync/status.json", "team/stall-monitor-journal.json"} <= files
        assert "team/.member-work-sync/report-token-secret.json" not in files

    def test_a_folder_of_ours_that_is_a_link_is_not_copied(self, around, tmp_path):
        Path(around.layout.team(CLAUDES)).mkdir(parents=True)
        Path(around.layout.team_config(CLAUDES)).write_bytes(new_team(CLAUDES, description="", lead="lead", now=0))
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "elsewhere" / "status.json").write_bytes(envelope())
        beside = Path(around.layout.our_data(CLAUDES))
        beside.mkdir(parents=True)
        (beside / ".member-work-sync").symlink_to(tmp_path / "elsewhere")
        files = self.files_of(back_up(around.room, CLAUDES).path)
        assert files == {"manifest.json", "team/config.json"}
