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

from atm.domain.errors import AtmError, FileBusy, NoSuchTeam, OutsideLink, UnreadableFile, WriteRefused
from atm.formats.files.layout import Layout
from atm.formats.files.record_file import LARGEST, SEALED_FROM
from atm.formats.team.team_config import new_team
from atm.ports.files.disk import Disk
from atm.ports.files.records import INTENTS, OUTBOX, SHELVES, STALLS, STATUS
from atm.services.roster.backups import back_up
from atm.services.roster.ending import delete_team
from atm.services.roster.restoring import restore
from atm.services.roster.teamroom import Teamroom
from atm.system.files import record_store
from atm.system.files.locking import Locks
from atm.system.files.record_store import RecordFiles
from atm.system.machine import RealChance, RealClock, host_name
from atm.system.team.team_secrets import SecretFiles
from atm.system.worksync import JournalFiles
from atm.testing import FaultyDisk, QuickDisk
from atm.wiring.mail import build_room

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
def site(layout) -> Site:
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
    @pytest.mark.parametrize("kind", DAMAGED)
    def test_a_file_that_cannot_be_used_is_put_aside_and_the_shelf_begins_afresh(self, site, kind):
        site.folder.mkdir()
        site.status.write_bytes(DAMAGED[kind])
        assert site.read() == {}
        assert site.status.read_bytes() == DAMAGED[kind], "a reader moves nothing"
        assert "cannot be used" in site.records.problem("crew", STATUS)
        site.put(bob={"n": 2})
        assert site.read() == {"bob": {"n": 2}}
        assert (site.folder / "status.json.quarantine-1").read_bytes() == DAMAGED[kind]
        problem = site.records.problem("crew", STATUS)
        assert "status.json.quarantine-1 was put aside (" in problem
        assert problem.isprintable()
        assert "cannot be used" not in problem

    def test_the_reason_is_told(self, site):
        site.folder.mkdir()
        site.status.write_bytes(DAMAGED["later-version"])
        site.put(bob={})
        assert "a later version of atm wrote it" in site.store().problem("crew", STATUS), "another process knows it too"

    def test_a_damaged_file_is_put_aside_even_if_nothing_is_to_be_written(self, site):
        site.folder.mkdir()
        site.status.write_bytes(b"{")
        site.records.change("crew", STATUS, lambda records: {} if not records else {"never": {}})
        assert not site.status.exists()
        assert site.aside() == ["1"]

    def test_the_last_five_are_kept_the_newest_first(self, site):
        site.folder.mkdir()
        for number in range(8):
            site.status.write_bytes(b"%d" % number)
            site.put(ann={"n": number})
        found = [(site.folder / f"status.json.quarantine-{n}").read_bytes() for n in range(1, 6)]
        assert found == [b"7", b"6", b"5", b"4", b"3"]
        assert len(list(site.folder.iterdir())) == 6
        assert "4 older beside it" in site.records.problem("crew", STATUS)

    def test_a_number_that_somebody_took_away_is_used_again(self, site):
        site.folder.mkdir()
        for number in range(4):
            site.status.write_bytes(b"%d" % number)
            site.put(ann={})
        (site.folder / "status.json.quarantine-2").unlink()
        site.status.write_bytes(b"new")
        site.put(ann={})
        names = [(site.folder / f"status.json.quarantine-{n}").read_bytes() for n in range(1, 5)]
        assert names == [b"new", b"3", b"1", b"0"]

    def test_a_record_that_is_no_object_is_dropped_and_the_file_kept_beside(self, site):
        site.folder.mkdir()
        before = envelope(data={"members": {"ann": {"n": 1}, "bob\x1b": [1], "cleo": None}})
        site.status.write_bytes(before)
        assert site.read() == {"ann": {"n": 1}}
        assert "not records: 'bob\\x1b', 'cleo'" in site.records.problem("crew", STATUS)
        site.records.change("crew", STATUS, lambda _: {})
        assert (site.status.read_bytes(), site.aside()) == (before, []), "nothing was written"
        site.put(dan={})
        assert site.read() == {"ann": {"n": 1}, "dan": {}}
        assert (site.folder / "status.json.quarantine-1").read_bytes() == before
        assert "was put aside (not records: " in site.records.problem("crew", STATUS)

    def test_one_shelf_that_is_damaged_disturbs_no_other(self, site):
        for shelf in SHELVES:
            site.put(shelf, ann={"of": shelf})
        Path(site.layout.records("crew", OUTBOX)).write_bytes(b"x")
        assert site.read(OUTBOX) == {}
        for shelf in (STATUS, INTENTS, STALLS):
            assert site.read(shelf) == {"ann": {"of": shelf}}
            assert site.records.problem("crew", shelf) == ""

    def test_a_file_over_64_mb_is_put_aside_unread(self, site):
        site.put(ann={})
        os.truncate(site.status, LARGEST + 1)
        assert site.read() == {}
        assert "64 MB" in site.records.problem("crew", STATUS)
        site.put(bob={})
        assert site.read() == {"bob": {}}

    def test_a_shelf_that_would_grow_over_64_mb_is_refused_and_stays(self, site, monkeypatch):
        assert LARGEST == 64 << 20
        monkeypatch.setattr(record_store, "LARGEST", 1 << 20)  # as much would take seconds
        site.put(ann={"n": 1})
        with pytest.raises(WriteRefused, match="over 1 MB"):
            site.put(bob={"text": "x" * (1 << 20)})
        assert site.read() == {"ann": {"n": 1}}


class TestOddFiles:
    def test_a_folder_in_the_place_of_the_file_is_put_aside(self, site):
        (site.status / "inner").mkdir(parents=True)
        assert site.read() == {}
        assert "not a file but a folder" in site.records.problem("crew", STATUS)
        site.put(ann={})
        assert site.read() == {"ann": {}}
        assert (site.folder / "status.json.quarantine-1" / "inner").is_dir()

    def test_a_pipe_holds_nobody_up(self, site):
        site.folder.mkdir()
        os.mkfifo(site.status)
        assert site.read() == {}
        assert "it is not a file" in site.records.problem("crew", STATUS)
        site.put(ann={})
        assert site.read() == {"ann": {}}

    def test_a_link_in_the_place_of_the_file_is_neither_followed_nor_written_through(self, site, tmp_path):
        elsewhere = tmp_path / "elsewhere.json"
        elsewhere.write_bytes(envelope())
        site.folder.mkdir()
        site.status.symlink_to(elsewhere)
        assert site.read() == {}
        site.put(bob={})
        assert elsewhere.read_bytes() == envelope()
        assert site.read() == {"bob": {}}
        assert (site.folder / "status.json.quarantine-1").is_symlink()

    def test_a_link_in_the_place_of_the_folder_leads_nowhere(self, site, tmp_path):
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        (elsewhere / "status.json").write_bytes(envelope())
        site.folder.symlink_to(elsewhere)
        assert site.read() == {}
        assert "leads elsewhere" in site.records.problem("crew", STATUS)
        for act in (lambda: site.put(bob={}), lambda: site.secrets().secret("crew")):
            with pytest.raises(OutsideLink):
                act()
        site.journal().note("crew", {"event": "x"})
        assert site.journal().last("crew", 1) == []
        assert [path.name for path in elsewhere.iterdir()] == ["status.json"]

    def test_a_team_that_is_a_link_is_nobodys(self, site, tmp_path):
        elsewhere = tmp_path / "elsewhere"
        shutil.move(site.team, elsewhere)
        site.team.symlink_to(elsewhere)
        for shelf in (STATUS, STALLS):
            with pytest.raises(OutsideLink):
                site.put(shelf, bob={})
        assert not (elsewhere / ".member-work-sync").exists()

    def test_a_file_in_the_place_of_the_folder_is_named(self, site):
        site.folder.write_text("x")
        assert site.read() == {}
        with pytest.raises(AtmError) as refused:
            site.put(ann={})
        assert str(site.folder) in str(refused.value)
        assert isinstance(refused.value, UnreadableFile)
        assert site.folder.read_text() == "x"

    @needs_user
    def test_what_may_not_be_read_is_no_damage(self, site):
        site.put(ann={"n": 1})
        site.status.chmod(0)
        with pytest.raises(WriteRefused):
            site.read()
        with pytest.raises(WriteRefused):
            site.put(bob={})
        assert "Permission denied" in site.records.problem("crew", STATUS)
        site.status.chmod(0o600)
        assert site.read() == {"ann": {"n": 1}}
        assert site.aside() == []

    def test_files_and_folder_are_for_nobody_else(self, site):
        site.folder.mkdir(mode=0o755)
        for shelf in SHELVES:
            site.put(shelf, ann={})
        site.journal().note("crew", {"event": "x"})
        site.secrets().secret("crew")
        modes = {
            path.stat().st_mode & 0o777 for path in [*site.folder.iterdir(), site.team / "stall-monitor-journal.json"]
        }
        assert modes == {0o600}
        assert site.folder.stat().st_mode & 0o777 == 0o700


class TestTeams:
    def test_a_team_that_is_gone_is_not_brought_back(self, site):
        site.put(ann={})
        shutil.rmtree(site.team)
        assert site.read() == {}
        site.journal().note("crew", {"event": "x"})
        for act in (lambda: site.put(ann={}), lambda: site.put(STALLS, ann={}), lambda: site.secrets().secret("crew")):
            with pytest.raises(NoSuchTeam):
                act()
        assert not site.team.exists()

    @pytest.mark.parametrize("shelf", [STATUS, STALLS])
    def test_a_team_that_goes_while_somebody_decides_is_not_brought_back(self, site, shelf):
        site.put(shelf, ann={"n": 1})

        def decide(records: dict[str, Any]) -> dict[str, Any]:
            delete_team(site.room, "crew", force=True)
            return {**records, "bob": {}}

        with pytest.raises(NoSuchTeam):
            site.records.change("crew", shelf, decide)
        assert not site.team.exists()

    @pytest.mark.parametrize("shelf", [STATUS, STALLS])
    def test_a_team_that_is_made_anew_while_somebody_decides_inherits_nothing(self, site, shelf):
        site.put(shelf, ann={"n": 1})

        def decide(records: dict[str, Any]) -> dict[str, Any]:
            shutil.move(site.team, site.team.parent / ".aside")
            site.create()
            return {**records, "bob": {}}

        with pytest.raises(NoSuchTeam):
            site.records.change("crew", shelf, decide)
        assert site.read(shelf) == {}

    def test_data_about_claudes_teams_lies_beside_them(self, site):
        with pytest.raises(NoSuchTeam):
            site.put(team=CLAUDES, ann={})
        team = Path(site.layout.team(CLAUDES))
        team.mkdir(parents=True)
        for shelf in SHELVES:
            site.put(shelf, team=CLAUDES, ann={"of": shelf})
        site.journal().note(CLAUDES, {"event": "x"})
        assert len(site.secrets().secret(CLAUDES)) == 32
        assert list(team.iterdir()) == []
        assert site.journal().last(CLAUDES, 5) == [{"event": "x"}]
        beside = Path(site.layout.state_root) / "teams" / CLAUDES
        assert beside.stat().st_mode & 0o777 == 0o700
        assert sorted(path.name for path in beside.iterdir()) == [".member-work-sync", "stall-monitor-journal.json"]
        team.rmdir()
        assert site.records.read(CLAUDES, STATUS) == {}


# Several at once.

CHANGER = """
import os, sys
from atm.system.files.disk import RealDisk
from atm.system.files.locking import Locks
from atm.system.files.record_store import RecordFiles
from atm.system.machine import RealChance, RealClock, find_layout, host_name
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
from atm.system.files.disk import RealDisk
from atm.system.files.locking import Locks
from atm.system.team.team_secrets import SecretFiles
from atm.system.machine import RealChance, RealClock, find_layout, host_name

layout, disk = find_layout(os.environ), RealDisk()
locks = Locks(disk, RealClock(), RealChance(), layout.locks, pid=os.getpid(), host=host_name())
input()
print(SecretFiles(disk, locks, layout, os.urandom).secret("crew").hex())
"""

NOTER = """
import os, sys, time
from atm.system.worksync import JournalFiles
from atm.system.files.disk import RealDisk
from atm.system.files.locking import Locks
from atm.system.machine import RealChance, RealClock, find_layout, host_name

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
    def test_four_processes_lose_nothing_of_different_and_of_the_same_keys(self, site, home):
        processes = [started(home, CHANGER, f"p{number}", "50") for number in range(4)]
        seen = 0
        while any(process.poll() is None for process in processes):
            count = site.records.read("crew", STATUS, ["shared"]).get("shared", {}).get("count", 0)
            assert isinstance(count, int)
            assert count >= seen, "a reader saw an older file after a newer one"
            seen = count
            assert site.records.problem("crew", STATUS) == "", "a reader saw half a file"
        for process in processes:
            finished(process)
        found = site.read()
        assert found.pop("shared") == {"count": 200}
        assert set(found) == {f"p{process}-{number}" for process in range(4) for number in range(50)}
        assert site.status.stat().st_size > SEALED_FROM
        assert site.aside() == []

    def test_processes_that_are_killed_leave_a_whole_file_and_no_lock(self, site, home, eventually):
        for number in range(5):
            process = started(home, CHANGER, f"p{number}", "100000")
            eventually(lambda name=f"p{number}-3": site.records.read("crew", STATUS, [name]))
            process.kill()
            process.communicate(timeout=60)
            assert site.records.problem("crew", STATUS) == ""
            before = site.read()
            site.put(ann={"n": number})
            assert site.read() == {**before, "ann": {"n": number}}

    def test_a_lock_that_is_held_refuses_the_change_and_keeps_the_file(self, site):
        site.put(ann={"n": 1})
        with site.locks(QuickDisk()).private(str(site.status)):
            assert site.read() == {"ann": {"n": 1}}, "reading waits for nobody"
            with pytest.raises(FileBusy):
                site.put(ann={"n": 2})
        assert site.read() == {"ann": {"n": 1}}

    def test_threads_of_one_process_take_turns(self, site):
        locks = Locks(QuickDisk(), RealClock(), RealChance(), site.layout.locks, pid=os.getpid(), host=host_name())
        records = RecordFiles(QuickDisk(), RealClock(), locks, site.layout)
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
        assert site.read() == {"x": {"n": 60}}

    def test_processes_agree_on_one_secret(self, site, home):
        processes = [started(home, SECRET) for _ in range(4)]
        assert {finished(process).strip() for process in processes} == {site.secrets().secret("crew").hex()}

    def test_lines_of_several_processes_do_not_mix_while_files_are_turned_over(self, site, home):
        processes = [started(home, NOTER, f"p{number}", "100", str(30 << 10)) for number in range(4)]
        for process in processes:
            finished(process)
        found = site.journal().last("crew", 1000)
        assert len(found) == 400
        for number in range(4):
            assert [record["n"] for record in found if record["by"] == f"p{number}"] == list(range(100))
        assert (site.folder / "journal.jsonl.1").exists()


class TestJournal:
    def test_files_are_turned_over_and_five_old_ones_are_kept(self, site):
        journal = site.journal(largest=1000)
        for number in range(200):
            journal.note("crew", {"n": number, "text": "x" * 100})
        names = sorted(path.name for path in site.folder.iterdir())
        assert names == ["journal.jsonl", *(f"journal.jsonl.{n}" for n in range(1, 6))]
        assert all(path.stat().st_size <= 1000 for path in site.folder.iterdir())
        numbers = [record["n"] for record in journal.last("crew", 1000)]
        assert numbers == list(range(200 - len(numbers), 200))
        assert [record["n"] for record in journal.last("crew", 10)] == list(range(190, 200))

    def test_a_torn_line_costs_only_itself(self, site):
        journal = site.journal()
        journal.note("crew", {"n": 1})
        path = site.folder / "journal.jsonl"
        with path.open("ab") as file:
            file.write(b'{"n": 2, "te')
        journal.note("crew", {"n": 3})
        with path.open("ab") as file:
            file.write(b"\n[1]\nnull\n\xff\0\n" + b"x" * 200_000 + b'\n{"n": 4}\n{"n": ')
        assert [record["n"] for record in journal.last("crew", 10)] == [1, 3, 4]

    def test_a_line_has_at_most_4_kb(self, site):
        journal = site.journal()
        for record in (
            {"a": "ä" * 10_000},
            {f"k{n}" * 50: ["😀" * 300] * 30 for n in range(100)},
            {"x" * 10_000: {"y" * 10_000: {"z": list(range(10_000))}}},
            {"n": 10**4000, "m": 10**4000},
            {},
        ):
            journal.note("crew", record)
        lines = (site.folder / "journal.jsonl").read_bytes().splitlines(keepends=True)
        assert len(lines) == 5
        assert max(map(len, lines)) <= 4096
        assert len(journal.last("crew", 10)) == 5

    @pytest.mark.parametrize("odd", ["folder", "pipe", "link"])
    def test_what_is_no_file_is_left_and_nobody_is_held_up(self, site, odd, tmp_path):
        site.folder.mkdir()
        path = site.folder / "journal.jsonl"
        {"folder": path.mkdir, "pipe": lambda: os.mkfifo(path), "link": lambda: path.symlink_to(tmp_path / "x")}[odd]()
        site.journal().note("crew", {"event": "x"})
        assert site.journal().last("crew", 5) == []
        assert not (tmp_path / "x").exists()

    @pytest.mark.parametrize("name", ["ENOSPC", "EACCES", "EIO"])
    def test_a_disk_that_refuses_any_step_is_nobodys_failure(self, site, name):
        error = OSError(getattr(errno, name), os.strerror(getattr(errno, name)))
        site.journal(largest=100).note("crew", {"n": 0, "text": "x" * 100})
        for step in range(100):
            disk = FaultyDisk(QuickDisk(), stop_at=step, error=error)
            site.journal(100, disk).note("crew", {"n": step, "text": "x" * 100})
            for fd in disk._open:
                os.close(fd)
            if len(disk.steps) <= step:
                break
        else:
            raise AssertionError("it never came to its end")
        assert site.journal().last("crew", 1)[0]["n"] == step

    def test_files_that_cannot_be_turned_over_do_not_fill_the_disk(self, site):
        (site.folder / "journal.jsonl.5" / "full").mkdir(parents=True)
        (site.folder / "journal.jsonl.4").write_text("")
        journal = site.journal(largest=1000)
        for number in range(100):
            journal.note("crew", {"n": number, "text": "x" * 100})
        assert 1000 < (site.folder / "journal.jsonl").stat().st_size <= 2000


class TestSecrets:
    BROKEN = (
        *(b"", b"{", b"[]", b'{"schemaVersion": 1}', b'{"schemaVersion": 1, "secret": 7}', b"\xff"),
        *(b'{"schemaVersion": 1, "secret": "AAAA"}', b'{"schemaVersion": 1, "secret": "\xc3\xa4"}'),
        b'{"schemaVersion": 1, "secret": "!!!!"}',
        b'{"schemaVersion": 2, "secret": "' + b"A" * 43 + b'="}',
        b"x" * 10_000,
    )

    def test_it_is_written_as_the_design_says(self, site):
        secret = site.secrets().secret("crew")
        fields = json.loads(site.secret.read_bytes())
        assert set(fields) == {"schemaVersion", "secret"}
        assert len(fields["secret"]) == 44
        assert site.secrets().secret("crew") == secret

    @pytest.mark.parametrize("data", BROKEN)
    def test_a_broken_one_is_made_anew(self, site, data):
        site.folder.mkdir()
        site.secret.write_bytes(data)
        made = site.secrets().secret("crew")
        assert len(made) == 32
        assert site.secrets().secret("crew") == made

    def test_a_wider_mode_is_repaired(self, site):
        secret = site.secrets().secret("crew")
        site.secret.chmod(0o644)
        assert site.secrets().secret("crew") == secret
        assert site.secret.stat().st_mode & 0o777 == 0o600

    @pytest.mark.parametrize("odd", ["folder", "pipe", "link", "loop"])
    def test_what_is_no_file_is_replaced_and_never_followed(self, site, odd, tmp_path):
        known = site.secrets().secret("crew")
        shutil.move(site.secret, tmp_path / "known.json")
        before = (tmp_path / "known.json").read_bytes()
        make: dict[str, Callable[[], object]] = {
            "folder": lambda: (site.secret / "inner").mkdir(parents=True),
            "pipe": lambda: os.mkfifo(site.secret),
            "link": lambda: site.secret.symlink_to(tmp_path / "known.json"),
            "loop": lambda: site.secret.symlink_to(site.secret),
        }
        make[odd]()
        made = site.secrets().secret("crew")
        assert made != known
        assert site.secrets().secret("crew") == made
        assert site.secret.is_file()
        assert not site.secret.is_symlink()
        assert (tmp_path / "known.json").read_bytes() == before

    @needs_user
    def test_one_that_may_not_be_read_is_not_replaced(self, site):
        secret = site.secrets().secret("crew")
        site.secret.chmod(0)
        with pytest.raises(WriteRefused):
            site.secrets().secret("crew")
        site.secret.chmod(0o600)
        assert site.secrets().secret("crew") == secret


# What becomes of these files when a team is backed up, deleted, restored.


class TestBackups:
    def filled(self, site: Site, team: str = "crew") -> bytes:
        for shelf in SHELVES:
            site.put(shelf, team=team, ann={"of": shelf, "text": "x" * SEALED_FROM})
        site.journal().note(team, {"event": "x"})
        Path(site.layout.sync_journal(team) + ".1").write_text("{}\n")
        return site.secrets().secret(team)

    def files_of(self, path: str) -> set[str]:
        return {str(found.relative_to(path)) for found in Path(path).rglob("*") if found.is_file()}

    def test_records_travel_with_a_backup_and_the_secret_does_not(self, site):
        self.filled(site)
        (site.folder / ".status.json.new").write_text("half a f")
        (site.folder / ".report-token-secret.json.new").write_text("secret")
        files = self.files_of(back_up(site.room, "crew").path)
        sync = "team/.member-work-sync"
        assert {name for name in files if "sync" in name or "stall" in name} == {
            *(f"{sync}/{shelf}.json" for shelf in (STATUS, INTENTS, OUTBOX)),
            f"{sync}/journal.jsonl",
            "team/stall-monitor-journal.json",
        }

    def test_a_team_that_was_deleted_and_restored_has_its_records_and_a_new_secret(self, site):
        former = self.filled(site)
        delete_team(site.room, "crew", force=True)
        assert site.read() == {}
        restore(site.room, "crew")
        for shelf in SHELVES:
            assert site.read(shelf)["ann"]["of"] == shelf
            assert site.records.problem("crew", shelf) == ""
        assert not site.secret.exists()
        assert site.secrets().secret("crew") != former
        assert site.folder.stat().st_mode & 0o777 == 0o700
        assert site.status.stat().st_mode & 0o777 == 0o600
        assert site.journal().last("crew", 5) == [{"event": "x"}]

    @pytest.mark.parametrize("name", ["report-token-secret.json", "Report-Token-Secret.json"])
    def test_a_secret_that_somebody_put_into_a_backup_does_not_come_back(self, site, name):
        self.filled(site)
        made = Path(back_up(site.room, "crew").path)
        known = b'{"schemaVersion": 1, "secret": "' + b"A" * 43 + b'="}'
        path = f"team/.member-work-sync/{name}"
        (made / path).write_bytes(known)
        manifest = json.loads((made / "manifest.json").read_text())
        manifest["files"].append({"path": path, "size": len(known), "sha256": hashlib.sha256(known).hexdigest()})
        (made / "manifest.json").write_text(json.dumps(manifest))
        shutil.rmtree(site.team)
        restore(site.room, "crew", str(made))
        assert site.read()["ann"]["of"] == STATUS
        assert not (site.folder / name).exists()
        assert site.secrets().secret("crew") != b"\0" * 32

    def test_a_restore_into_a_team_that_lives_changes_no_records(self, site):
        secret = self.filled(site)
        back_up(site.room, "crew")
        site.put(ann={"n": 2})
        site.put(OUTBOX, ann=None)
        restore(site.room, "crew")
        assert site.read() == {"ann": {"n": 2}}
        assert site.read(OUTBOX) == {}
        assert site.secrets().secret("crew") == secret

    def test_a_deletion_needs_no_backup_of_the_secret_to_be_complete(self, site):
        self.filled(site)
        done = delete_team(site.room, "crew", force=True)
        assert done.done
        assert not site.team.exists()
        assert list(Path(site.layout.teams).iterdir()) == []
        assert len(site.room.backups.kept("crew")) == 1, "the first backup covered everything"

    def test_records_about_claudes_teams_are_in_their_backups(self, site):
        Path(site.layout.team(CLAUDES)).mkdir(parents=True)
        Path(site.layout.team_config(CLAUDES)).write_bytes(new_team(CLAUDES, description="", lead="lead", now=0))
        self.filled(site, CLAUDES)
        files = self.files_of(back_up(site.room, CLAUDES).path)
        assert {"team/.member-work-sync/status.json", "team/stall-monitor-journal.json"} <= files
        assert "team/.member-work-sync/report-token-secret.json" not in files

    def test_a_folder_of_ours_that_is_a_link_is_not_copied(self, site, tmp_path):
        Path(site.layout.team(CLAUDES)).mkdir(parents=True)
        Path(site.layout.team_config(CLAUDES)).write_bytes(new_team(CLAUDES, description="", lead="lead", now=0))
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "elsewhere" / "status.json").write_bytes(envelope())
        beside = Path(site.layout.our_data(CLAUDES))
        beside.mkdir(parents=True)
        (beside / ".member-work-sync").symlink_to(tmp_path / "elsewhere")
        files = self.files_of(back_up(site.room, CLAUDES).path)
        assert files == {"manifest.json", "team/config.json"}
