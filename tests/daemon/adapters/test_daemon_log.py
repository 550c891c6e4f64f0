"""The daemon's log on a real disk: turned over, torn, full, linked away, and written by several at once."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests.proving import proves

from atm.core.redaction import REDACTED
from atm.daemon.adapters.log import LARGEST_LINE, JsonLog
from atm.daemon.adapters.log_reading import follow, read_log
from atm.files.adapters.machine import RealClock
from atm.files.formats.times import to_iso
from atm.testing import FakeClock

SOURCE = Path(__file__).parents[3] / "src"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "daemon" / "log.jsonl"


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def log(path, clock):
    return JsonLog(str(path), clock, host="box", pid=42)


def texts(path, **wanted):
    return [record["text"] for record in read_log(str(path), **wanted)]


@proves("R001-9-08")
def test_a_line_is_one_json_object_with_everything_in_it(log, path, clock):
    log.write("warn", "spool", "3 wait", team="crew", count=3)
    (line,) = path.read_text().splitlines()
    own = {"v": 1, "ts": to_iso(clock.now()), "level": "warn", "source": "spool", "text": "3 wait"}
    assert json.loads(line) == {**own, "pid": 42, "host": "box", "team": "crew", "count": 3}


@pytest.mark.parametrize("level", ["debug", "info", "warn", "error"])
def test_every_level_is_written(log, path, level):
    log.write(level, "x", "hello", team="crew")
    (record,) = read_log(str(path))
    assert (record["level"], record["text"], record["team"]) == (level, "hello", "crew")


def test_an_unknown_level_is_an_ordinary_line(log, path):
    log.write("LOUD", "x", "a")
    log.write("WARNING", "x", "b")
    assert [record["level"] for record in read_log(str(path))] == ["info", "warn"]


def test_lines_below_the_least_level_are_not_written(path, clock):
    log = JsonLog(str(path), clock, least="warn")
    log.write("info", "x", "no")
    log.write("error", "x", "yes")
    assert texts(path) == ["yes"]


def test_secrets_do_not_reach_the_file(log, path):
    log.write(
        "error",
        "plugin:ci",
        "GET failed: Authorization: Bearer abc123def",
        token="abc123def",
        url="https://a:abc123def@h",
    )
    assert "abc123def" not in path.read_text()
    assert read_log(str(path))[0]["token"] == REDACTED


def test_a_field_cannot_pass_for_what_the_line_says_itself(log, path):
    log.write("info", "x", "real", text="forged", pid=1, level="error", ts="never", source="y")
    (record,) = read_log(str(path))
    assert (record["text"], record["pid"], record["level"], record["source"]) == ("real", 42, "info", "x")
    assert record["text_"] == "forged"


def test_a_text_with_line_breaks_is_still_one_line(log, path):
    log.write("info", "x", 'a\nb\r\n{"v": 1, "ts": "x"}\u2028\ud800\0')
    assert len(path.read_bytes().split(b"\n")) == 2
    assert texts(path) == ['a\nb\r\n{"v": 1, "ts": "x"}\u2028\ud800\0']


@pytest.mark.parametrize("filler", ["x", "\0", "日", "\U0001f980", '"'], ids=repr)
def test_a_line_is_never_longer_than_its_bound(log, path, filler):
    log.write("info", "x" * 5000, filler * 200_000, **{f"f{n}": filler * 5000 for n in range(200)})
    data = path.read_bytes()
    assert len(data) <= LARGEST_LINE
    (record,) = read_log(str(path))
    assert record["cut"] is True
    assert str(record["text"]).startswith(filler)


def test_values_that_are_no_json_do_not_stop_a_line(log, path):
    log.write("info", "x", "odd", a=float("nan"), b={1}, c=object(), d=b"x", e=10**6000, f=ValueError("no"))
    assert texts(path) == ["odd"]
    assert log.dropped == 0


@pytest.mark.skipif(os.name == "nt", reason="modes are a POSIX thing")
def test_nobody_else_can_read_it(log, path):
    old = os.umask(0)
    try:
        log.write("info", "x", "hello")
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.skipif(os.name == "nt", reason="modes are a POSIX thing")
def test_a_log_that_others_could_read_is_closed_to_them(log, path):
    path.parent.mkdir()
    path.write_text("")
    path.chmod(0o644)
    log.write("info", "x", "hello")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def fill(log, first, count, size=100):
    for number in range(first, first + count):
        log.write("info", "x", f"{number:05d} " + "x" * size)


def numbers(path, **wanted):
    return [int(text[:5]) for text in texts(path, **wanted)]


def test_a_large_log_is_turned_over_and_read_in_order(path, clock):
    log = JsonLog(str(path), clock, largest=2000, kept=5)
    fill(log, 0, 30)
    names = sorted(name for name in os.listdir(path.parent) if not name.endswith(".lock"))
    assert names[:2] == ["log.jsonl", "log.jsonl.1"]
    assert all((path.parent / name).stat().st_size <= 2000 for name in names)
    assert numbers(path) == list(range(30))


@proves("R001-9-08")
def test_only_so_many_old_files_are_kept(path, clock):
    log = JsonLog(str(path), clock, largest=1000, kept=3)
    fill(log, 0, 200)
    names = sorted(name for name in os.listdir(path.parent) if not name.endswith(".lock"))
    assert names == ["log.jsonl", "log.jsonl.1", "log.jsonl.2", "log.jsonl.3"]
    kept = numbers(path)
    assert kept == list(range(kept[0], 200))


def test_a_line_that_is_larger_than_a_file_is_written_all_the_same(path, clock):
    log = JsonLog(str(path), clock, largest=50)
    fill(log, 0, 4)
    assert numbers(path) == [0, 1, 2, 3]
    assert log.dropped == 0


def test_a_log_that_somebody_took_away_begins_anew(log, path):
    log.write("info", "x", "before")
    path.unlink()
    log.write("info", "x", "after")
    assert texts(path) == ["after"]


def test_a_folder_that_somebody_took_away_is_made_again(log, path):
    log.write("info", "x", "before")
    path.rename(path.parent.parent / "elsewhere")
    path.parent.rmdir()
    log.write("info", "x", "after")
    assert texts(path) == ["after"]


WRITER = """
import os, sys, time
sys.path.insert(0, sys.argv[1])
from atm.daemon.adapters.log import JsonLog
from atm.files.adapters.machine import RealClock

def is_held_up():
    # On a busy machine whoever turns the files over may stand still in the middle of it. Nobody waits for him, and a
    # file has an end: it is full at twice its size. No real daemon writes that much meanwhile, but we would.
    try:
        return os.stat(sys.argv[2]).st_size > 300_000
    except FileNotFoundError:
        return False

log = JsonLog(sys.argv[2], RealClock(), largest=200_000, kept=20, pid=os.getpid())
for number in range(int(sys.argv[4])):
    while is_held_up():
        time.sleep(0.001)
    log.write("info", sys.argv[3], str(number), filler="x" * (number % 700))
sys.exit(log.dropped)
"""


def writer(path, name, count=2000):
    return subprocess.Popen([sys.executable, "-c", WRITER, str(SOURCE), str(path), name, str(count)])


def test_processes_that_write_at_once_lose_nothing_and_tear_nothing(path):
    writers = [writer(path, name) for name in ("one", "two", "three")]
    assert [process.wait(120) for process in writers] == [0, 0, 0]
    files = [file for file in path.parent.glob("log.jsonl*") if file.suffix != ".lock"]
    records = [json.loads(line) for file in files for line in file.read_text().splitlines() if line]
    for name in ("one", "two", "three"):
        written = sorted(int(record["text"]) for record in records if record["source"] == name)
        assert written == list(range(2000))
    assert len(read_log(str(path))) == 6000
    assert (path.parent / "log.jsonl.3").exists(), "it was turned over meanwhile"


def test_a_writer_that_is_killed_leaves_whole_lines_and_no_lock(path, eventually):
    process = writer(path, "one", 1_000_000)
    try:
        eventually((path.parent / "log.jsonl.2").exists)
    finally:
        process.kill()
        process.wait(60)
    log = JsonLog(str(path), RealClock(), largest=200_000, kept=20)
    log.write("info", "two", "after")
    log.write("info", "two", "and again")
    assert log.dropped == 0
    files = [path.parent / "log.jsonl.1", path]  # it may just have been due to be turned over
    lines = [line for file in files if file.exists() for line in file.read_text().splitlines()]
    assert [json.loads(line)["text"] for line in lines][-2:] == ["after", "and again"]


def test_threads_that_write_at_once_lose_nothing(path, clock):
    log = JsonLog(str(path), clock, largest=20_000, kept=50)

    def work(name):
        for number in range(300):
            log.write("info", name, str(number))

    threads = [threading.Thread(target=work, args=(f"t{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for name in ("t0", "t1", "t2", "t3"):
        assert texts(path, source=name) == [str(n) for n in range(300)]


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_a_link_in_its_place_is_not_followed(log, path, tmp_path):
    target = tmp_path / "precious"
    target.write_text("keep me")
    path.parent.mkdir()
    path.symlink_to(target)
    log.write("info", "x", "hello")
    assert target.read_text() == "keep me"
    assert log.dropped == 1
    assert read_log(str(path)) == []
    path.unlink()
    log.write("info", "x", "again")
    assert read_log(str(path))[0]["dropped"] == 1


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_a_link_in_place_of_the_lock_is_not_followed_either(path, clock, tmp_path):
    target = tmp_path / "precious"
    target.write_text("keep me")
    path.parent.mkdir()
    Path(f"{path}.lock").symlink_to(target)
    log = JsonLog(str(path), clock, largest=500)
    fill(log, 0, 10)
    assert target.read_text() == "keep me"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes here")
def test_a_pipe_in_its_place_holds_nobody_up(log, path):
    path.parent.mkdir()
    os.mkfifo(path)
    log.write("info", "x", "hello")
    assert log.dropped == 1
    assert read_log(str(path)) == []


def test_a_folder_in_its_place_is_survived(log, path):
    path.mkdir(parents=True)
    log.write("info", "x", "hello")
    assert log.dropped == 1
    path.rmdir()
    log.write("info", "x", "again")
    assert read_log(str(path))[0]["dropped"] == 1


def test_files_that_cannot_be_turned_over_do_not_grow_for_ever(path, clock):
    (path.parent / "log.jsonl.1").mkdir(parents=True)
    (path.parent / "log.jsonl.1" / "x").touch()
    (path.parent / "log.jsonl.2").touch()
    log = JsonLog(str(path), clock, largest=100_000, kept=1)
    fill(log, 0, 100, size=10_000)
    assert path.stat().st_size <= 200_000
    assert log.dropped > 0


@pytest.fixture
def tiny(tmp_path, tiny_disk):
    return tiny_disk(tmp_path / "tiny", "64k")


def test_a_full_disk_is_counted_and_told_by_the_next_line_that_works(tiny, clock):
    ballast = tiny / "ballast"
    path = tiny / "log.jsonl"
    log = JsonLog(str(path), clock)
    log.write("info", "x", "before")
    with ballast.open("wb", buffering=0) as file:
        file.write(b"x" * 40_000)
    for number in range(200):
        log.write("info", "x", f"{number:05d} " + "y" * 1000)
    lost = log.dropped
    assert 0 < lost < 200
    ballast.unlink()
    log.write("info", "x", "after")
    records = read_log(str(path))
    assert records[0]["text"] == "before"
    assert records[-1]["text"] == "after"
    assert records[-1]["dropped"] == lost
    assert len(records) == 200 - lost + 2, "no other line was swallowed by the torn one"


def test_a_line_that_follows_a_torn_one_of_somebody_else_is_found(log, path):
    path.parent.mkdir()
    path.write_bytes(b'{"v": 1, "ts": "2026-08-27T10:15:30.123Z", "level": "in')
    log.write("info", "x", "after")
    assert texts(path) == ["after"]


def test_a_listener_gets_every_record_and_may_fail(path, clock):
    heard: list = []

    def listen(record):
        heard.append(record)
        raise RuntimeError("no")

    log = JsonLog(str(path), clock, also=listen)
    log.write("info", "x", "one", token="s3cr3t99")
    assert (heard[0]["text"], heard[0]["token"]) == ("one", REDACTED)
    assert texts(path) == ["one"]


def test_a_listener_hears_what_the_disk_refuses(path, clock):
    heard: list = []
    path.mkdir(parents=True)
    log = JsonLog(str(path), clock, also=heard.append)
    log.write("info", "x", "one")
    assert log.dropped == 1
    assert heard[0]["text"] == "one"


# Reading.


def test_garbage_between_the_lines_is_passed_over(log, path):
    log.write("info", "x", "one")
    with path.open("ab") as file:
        file.write(
            b'\xff\xfe\n\n[]\n17\n{"v": 1}\n{"ts": 5, "text": "no"}\n{"ts": "x", "text": \n' + b"[" * 100_000 + b"\n"
        )
    log.write("info", "x", "two")
    with path.open("ab") as file:
        file.write(b'{"v": 1, "ts": "torn')
    assert texts(path) == ["one", "two"]


def test_a_log_that_does_not_exist_has_no_lines(path):
    assert read_log(str(path)) == []


def test_the_newest_lines_are_told_oldest_first_over_all_files(path, clock):
    log = JsonLog(str(path), clock, largest=700)
    fill(log, 0, 12)
    assert numbers(path, last=5) == [7, 8, 9, 10, 11]
    assert numbers(path, last=0) == []
    assert numbers(path, last=1000) == list(range(12))


def test_lines_can_be_chosen_by_level_source_and_time(log, path, clock):
    log.write("debug", "spool", "a")
    log.write("warn", "plugin:ci", "b")
    clock.pass_time(3600)
    log.write("error", "plugin:chat", "c")
    log.write("info", "plugins", "d")
    assert texts(path, level="warn") == ["b", "c"]
    assert texts(path, source="plugin") == ["b", "c"]
    assert texts(path, source="plugin:ci") == ["b"]
    assert texts(path, since=clock.now() - 60) == ["c", "d"]
    assert texts(path, since=-1e12) == ["a", "b", "c", "d"]
    assert texts(path, since=clock.now() - 60, level="error", source="plugin", last=1) == ["c"]


class Reader:
    """Follows a log in a thread until it is told to stop."""

    def __init__(self, path, **wanted):
        self.seen: list = []
        self._stop = threading.Event()
        self._looked = threading.Event()
        self.looks = 0
        self._thread = threading.Thread(target=self._run, args=(str(path), wanted), daemon=True)
        self._thread.start()
        assert self._looked.wait(60)

    def _ended(self):
        self.looks += 1
        self._looked.set()
        return self._stop.is_set()

    def _run(self, path, wanted):
        for record in follow(path, ended=self._ended, look_every=0.05, **wanted):
            self.seen.append(record["text"])

    def stop(self):
        self._stop.set()
        self._thread.join(60)
        assert not self._thread.is_alive()
        return self.seen


@pytest.fixture
def start():
    started: list[Reader] = []

    def run(path, **wanted):
        started.append(Reader(path, **wanted))
        return started[-1]

    yield run
    for reader in started:
        reader.stop()


def test_new_lines_are_followed_and_old_ones_only_as_asked(log, path, start, eventually):
    for text in ("a", "b", "c"):
        log.write("info", "x", text)
    reader = start(path, last=2)
    eventually(lambda: reader.seen == ["b", "c"])
    log.write("info", "x", "d")
    eventually(lambda: reader.seen == ["b", "c", "d"])


def test_a_log_that_does_not_exist_yet_can_be_followed(log, path, start, eventually):
    reader = start(path)
    log.write("info", "x", "a")
    eventually(lambda: reader.seen == ["a"])


def test_nothing_is_missed_while_the_files_are_turned_over(path, clock, start, eventually):
    log = JsonLog(str(path), clock, largest=3000, kept=60)
    fill(log, 0, 10)
    reader = start(path, last=None)
    fill(log, 10, 400)
    eventually(lambda: len(reader.seen) >= 410)
    assert [int(text[:5]) for text in reader.stop()] == list(range(410))


def test_it_may_be_turned_over_several_times_between_two_looks(path, clock):
    log = JsonLog(str(path), clock, largest=1000, kept=20)
    fill(log, 0, 3)
    looks = iter([False, False, True])
    seen: list[int] = []

    def ended():
        if len(seen) == 3:
            fill(log, 3, 40)
        return next(looks)

    for record in follow(str(path), last=None, ended=ended, look_every=0.01):
        seen.append(int(str(record["text"])[:5]))
    assert seen == list(range(43))


def test_lines_of_other_processes_are_followed_without_loss(path, start, eventually):
    reader = start(path, last=None)
    writers = [writer(path, name, 1500) for name in ("one", "two")]
    assert [process.wait(120) for process in writers] == [0, 0]
    eventually(lambda: len(reader.seen) >= 3000)
    assert sorted(reader.stop()) == sorted(str(n) for n in range(1500) for _ in range(2))


def test_a_writer_that_slept_while_the_log_was_turned_over_twice_is_heard(log, path, start, eventually):
    log.write("info", "x", "before")
    sleeper = os.open(path, os.O_WRONLY | os.O_APPEND)
    reader = start(path, last=None)
    try:
        for number in (1, 2):
            for file in sorted(path.parent.glob("log.jsonl*[0-9l]"), reverse=True):
                kept = int(file.suffix[1:]) if file.suffix[1:].isdecimal() else 0
                file.rename(path.with_name(f"log.jsonl.{kept + 1}"))
            JsonLog(str(path), RealClock()).write("info", "x", f"after {number}")
            eventually(lambda number=number: f"after {number}" in reader.seen)
        looks = reader.looks
        eventually(lambda: reader.looks > looks + 2)
        os.write(sleeper, b'{"v": 1, "ts": "2026-08-27T10:15:30.123Z", "text": "late"}\n')
        eventually(lambda: reader.seen == ["before", "after 1", "after 2", "late"])
    finally:
        os.close(sleeper)


def test_a_truncated_log_is_followed_from_its_new_beginning(log, path, start, eventually):
    log.write("info", "x", "a long line that is there")
    reader = start(path, last=None)
    eventually(lambda: reader.seen)
    path.write_text("")
    log.write("info", "x", "b")
    eventually(lambda: reader.seen == ["a long line that is there", "b"])


def test_a_log_that_is_removed_and_made_anew_is_followed(path, clock, start, eventually):
    log = JsonLog(str(path), clock, largest=1000)
    fill(log, 0, 12)
    reader = start(path, last=0)
    log.write("info", "x", "before")
    eventually(lambda: reader.seen == ["before"])
    path.unlink()
    log.write("info", "x", "after")
    eventually(lambda: reader.seen == ["before", "after"])


def test_half_a_line_waits_for_its_other_half(path, start, eventually):
    path.parent.mkdir()
    line = b'{"v": 1, "ts": "2026-08-27T10:15:30.123Z", "text": "a"}\n'
    path.write_bytes(line[:20])
    reader = start(path)
    with path.open("ab", buffering=0) as file:
        file.write(line[20:40])
        looks = reader.looks
        eventually(lambda: reader.looks > looks + 1)
        assert reader.seen == []
        file.write(line[40:])
    eventually(lambda: reader.seen == ["a"])


def test_no_file_stays_open_behind_a_reader(path, clock):
    if sys.platform != "linux":
        pytest.skip("/proc tells what is open")

    def still_open() -> list[str]:
        """Of this log: threads that other tests left may open and close what they like."""
        links = (f"/proc/self/fd/{fd}" for fd in os.listdir("/proc/self/fd"))
        targets = [os.readlink(link) for link in links if os.path.islink(link)]
        return [target for target in targets if target.startswith(str(path.parent))]

    log = JsonLog(str(path), clock, largest=1000, kept=20)
    fill(log, 0, 30)
    read_log(str(path), last=3)
    lines = follow(str(path), last=None, look_every=0.01)
    next(lines)
    fill(log, 30, 30)
    for _ in range(40):
        next(lines)
    assert still_open()
    lines.close()  # type: ignore[attr-defined]
    assert still_open() == []
