"""A number of the ledger, or of the history of tasks, is never given twice, whatever became of the file meanwhile."""

from __future__ import annotations

import json
import os

import pytest

from atm.core.errors import UnreadableFile
from atm.files.adapters import numbered_log
from atm.files.adapters.machine import find_layout
from atm.files.adapters.numbered_log import MARK_SUFFIX
from atm.files.formats.json_record import MOST_SEQ
from atm.mail.formats.journal import RECEIPT, Line, decode_lines
from atm.testing import FakeClock
from atm.wiring.mail import build_room


def line() -> Line:
    return Line(kind=RECEIPT, ids=["x"], agent="ann", state="read", at="2026-01-01T00:00:00.000Z", evidence="test")


@pytest.fixture
def ledger(home):
    from atm.team.formats.team_config import new_team

    room = build_room(find_layout({"ATM_HOME": str(home)}), clock=FakeClock(1_790_000_000))
    room.rosters.create("crew", new_team("crew", description="", lead="ann", now=room.clock.now()))
    return room.ledger


@pytest.fixture
def path(home):
    return home / ".claude/teams/crew/mailbox.log"


@pytest.fixture
def twelve(ledger):
    assert ledger.append("crew", [line() for _ in range(12)])[-1] >= 12
    return ledger


def highest(path) -> int:
    return max(entry.seq for entry in decode_lines(path.read_bytes())[0])


FORGERIES = {
    "nothing": lambda data: data,
    "a torn last line": lambda data: data[:-20],
    "a low last line": lambda data: data + b'{"seq": 3, "ids": ["y"]}\n',
    "many low lines at the end": lambda data: data + b'{"seq": 3, "ids": ["y"]}\n' * 500,
    "rising low lines at the end": lambda data: (
        data + b"".join(b'{"seq": %d, "ids": ["y"]}\n' % n for n in range(1, 9)) * 50
    ),
    "a negative last line": lambda data: data + b'{"seq": -5, "ids": ["y"]}\n',
    "a true last line": lambda data: data + b'{"seq": true, "ids": ["y"]}\n',
    "a number that no reader keeps": lambda data: data + b'{"seq": %d, "ids": ["y"]}\n' % 10**30,
    "a number that Python refuses to read": lambda data: data + b'{"seq": ' + b"9" * 5000 + b"}\n",
    "garbage": lambda data: data + b"\xff\x00garbage\n",
    "no last lines": lambda data: data[: len(data) // 2],
    "nothing at all": lambda data: data[:0],
    "the first line only": lambda data: data[: data.index(b"\n") + 1],
}


@pytest.mark.parametrize("forge", FORGERIES)
def test_the_next_number_is_above_all_that_were_given(twelve, path, forge):
    last = highest(path)
    path.write_bytes(FORGERIES[forge](path.read_bytes()))
    assert twelve.append("crew", [line()]) == [last + 1]
    assert twelve.append("crew", [line(), line()]) == [last + 2, last + 3]


def test_a_high_line_of_another_program_is_respected(twelve, path):
    with path.open("ab") as file:
        file.write(b'{"ids": ["y"], "seq": 500}\n' + b'{"seq": 7, "ids": ["y"]}\n' * 300)
    assert twelve.append("crew", [line()]) == [501]


def test_a_file_that_was_rotated_or_removed_begins_no_new_count(twelve, path):
    last = highest(path)
    os.replace(path, path.with_suffix(".1"))
    assert twelve.append("crew", [line()]) == [last + 1]
    path.unlink()
    assert twelve.append("crew", [line()]) == [last + 2]


@pytest.mark.parametrize(
    "mark", [None, b"", b"0000", b"garbage\n", b"9" * 16 + b" " + b"0" * 16 + b" " + b"0" * 16 + b"\n"]
)
def test_without_a_mark_that_can_be_read_the_whole_log_is(twelve, path, mark):
    last = highest(path)
    with path.open("ab") as file:
        file.write(b'{"seq": 3, "ids": ["y"]}\n' * 500)
    beside = path.with_name(path.name + MARK_SUFFIX)
    beside.unlink() if mark is None else beside.write_bytes(mark)
    assert twelve.append("crew", [line()]) == [last + 1]


def test_a_mark_that_lags_behind_a_kill_is_caught_up(twelve, path):
    beside = path.with_name(path.name + MARK_SUFFIX)
    before = beside.read_bytes()
    assert (last := twelve.append("crew", [line()])[0])
    beside.write_bytes(before)
    assert twelve.append("crew", [line()]) == [last + 1]


def test_an_append_reads_the_end_of_a_long_log_and_no_more(twelve, path, monkeypatch):
    twelve.append("crew", [line() for _ in range(10_000)])
    read = []
    disk = type(twelve._disk)
    real = disk.read_at

    def counted(self, fd, start, size):
        read.append(size)
        return real(self, fd, start, size)

    monkeypatch.setattr(disk, "read_at", counted)
    twelve.append("crew", [line()])
    assert sum(read) < 2 * numbered_log.TAIL


def test_when_no_number_is_left_nothing_is_written(twelve, path):
    with path.open("ab") as file:
        file.write(json.dumps({"seq": MOST_SEQ, "ids": ["y"]}).encode() + b"\n")
    before = path.read_bytes()
    with pytest.raises(UnreadableFile, match="leaves no numbers"):
        twelve.append("crew", [line()])
    assert path.read_bytes() == before
