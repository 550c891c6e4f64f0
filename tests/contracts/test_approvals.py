"""One contract, two implementations: approvals in memory, and real files."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from atm.approvals.adapters import ApprovalFiles
from atm.approvals.formats.records import AuditLine
from atm.approvals.ports import Approvals
from atm.approvals.rules.requests import APPROVED, ASKED, DENIED, USED, Approval, GivenAnswer, RuleNote
from atm.core.errors import AtmError, NoSuchTeam
from atm.files.adapters.disk import RealDisk
from atm.files.formats.layout import Layout
from atm.roster.services.members import create_team
from atm.testing import FakeClock, memory_room
from atm.testing.approvals import MemoryApprovals
from atm.testing.team import MemoryRosters
from atm.wiring.files import build_locks
from atm.wiring.mail import build_room


def in_memory(_: Layout) -> Approvals:
    room = memory_room()
    create_team(room, "crew")
    assert isinstance(room.rosters, MemoryRosters)
    return MemoryApprovals(room.rosters)


def on_files(layout: Layout) -> Approvals:
    room = build_room(layout)
    create_team(room, "crew")
    disk = RealDisk(layout.private_roots)
    return ApprovalFiles(disk, build_locks(layout, disk, FakeClock()), layout, room.secrets)


@pytest.fixture(params=[in_memory, on_files], ids=["twin", "files"])
def approvals(request, layout) -> Approvals:
    make: Callable[[Layout], Approvals] = request.param
    return make(layout)


def asked(number: int = 1, digest: str = "d" * 64, **more: Any) -> Approval:
    facts: dict[str, Any] = {
        "requester": "bob",
        "tier": "human",
        "operation": "git_push",
        "tool": "Bash",
        "command": "x",
    }
    facts |= {"asked_at": 1000.0 + number, "expires_at": 2800.0, "team": "crew", "paths": ["/a"], "task": "3"}
    return Approval(f"{number:06d}{digest[:6]}", digest=digest, rule=RuleNote("f", 2, "t"), **{**facts, **more})


def yes(by: str = "ann", state: str = APPROVED) -> GivenAnswer:
    return GivenAnswer(state, by=by, how="h", pid=7, at=1100.0, reason="r")


def line(one: Approval, event: str) -> AuditLine:
    return AuditLine(1000.0, one.id, event, by="bob", how="h", pid=1, rule=RuleNote())


def granted(approvals: Approvals, *events: str) -> Approval:
    """A request with a yes, and with these lines in the audit."""
    approvals.seal("crew", 900.0)
    one = asked()
    approvals.create(one)
    approvals.answer(one, yes())
    approvals.note("crew", [line(one, event) for event in events or (ASKED, APPROVED)])
    return one


def found(approvals: Approvals, one: Approval) -> Approval:
    read = approvals.read(one.team, one.id)
    assert read is not None
    return read


def test_a_request_is_made_once_and_read_as_it_was_made(approvals):
    one = asked()
    assert approvals.create(one)
    assert not approvals.create(asked(command="another"))
    read = found(approvals, one)
    for name in ("id", "team", "requester", "tier", "command", "paths", "task", "digest", "asked_at", "expires_at"):
        assert getattr(read, name) == getattr(one, name)
    assert (read.answer, read.used_at, read.left_at, read.problem) == (None, None, None, "")


def test_all_come_oldest_first_and_those_about_the_same_call_newest_first(approvals):
    for number in (3, 1, 2):
        assert approvals.create(asked(number))
    approvals.create(asked(4, "e" * 64))
    approvals.create(asked(5, "d" * 6 + "e" * 58))  # the same end of the id, another call
    assert [one.id[:6] for one in approvals.all("crew")] == ["000001", "000002", "000003", "000004", "000005"]
    assert [one.id[:6] for one in approvals.like("crew", "d" * 64)] == ["000003", "000002", "000001"]
    assert approvals.like("crew", "f" * 64) == []


def test_the_first_answer_counts(approvals):
    one = asked()
    approvals.create(one)
    assert not approvals.news("crew", one.id)
    assert approvals.answer(one, yes("ann"))
    assert not approvals.answer(one, yes("bob", DENIED))
    assert approvals.news("crew", one.id)
    answer = found(approvals, one).answer
    assert answer is not None
    assert (answer.state, answer.by, answer.how, answer.pid, answer.at, answer.reason) == (
        *(APPROVED, "ann", "h", 7, 1100.0, "r"),
    )


@pytest.mark.parametrize("what", ["answer", "use"])
def test_of_many_at_once_one_is_first(approvals, what):
    one = granted(approvals) if what == "use" else asked()
    approvals.create(one)
    ready = threading.Barrier(4)
    won: list[int] = []

    def try_it(number: int) -> None:
        ready.wait(30)
        if what == "answer":
            is_first = approvals.answer(one, yes(f"n{number}"))
        else:
            is_first = approvals.use(one, 1.0, f"n{number}", line(one, USED))
        if is_first:
            won.append(number)

    threads = [threading.Thread(target=try_it, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    read = found(approvals, one)
    winner = read.used_by if what == "use" or read.answer is None else read.answer.by
    assert [f"n{number}" for number in won] == [winner]


def test_a_yes_is_used_once(approvals):
    one = granted(approvals)
    assert approvals.use(one, 1200.0, "call-1", line(one, USED))
    assert not approvals.use(one, 1201.0, "call-2", line(one, USED))
    read = found(approvals, one)
    assert (read.used_at, read.used_by) == (1200.0, "call-1")
    assert approvals.events(one) == [ASKED, APPROVED, USED]


@pytest.mark.parametrize("events", [[ASKED], [APPROVED], [ASKED, DENIED, APPROVED], [ASKED, APPROVED, USED]], ids=str)
def test_a_yes_is_not_used_unless_the_audit_agrees(approvals, events):
    one = granted(approvals, *events)
    assert not approvals.use(one, 1200.0, "call-1", line(one, USED))
    assert found(approvals, one).used_at is None


def test_whoever_leaves_is_remembered_and_may_leave_again(approvals):
    one = asked()
    approvals.create(one)
    approvals.leave(one, 1200.0)
    approvals.leave(one, 1200.0)
    assert found(approvals, one).left_at == 1200.0


def test_the_version_changes_with_what_is_asked_and_answered(approvals):
    versions = [approvals.version("crew")]
    one = asked()
    for step in (lambda: approvals.create(one), lambda: approvals.answer(one, yes())):
        step()
        versions.append(approvals.version("crew"))
    assert versions[0] != versions[1] != versions[2]
    assert approvals.version("crew") == versions[2]


def test_what_is_removed_is_gone_and_removing_it_again_is_nothing(approvals):
    one = granted(approvals)
    assert approvals.use(one, 1.0, "c", line(one, USED))
    approvals.leave(one, 1.0)
    approvals.remove(one)
    approvals.remove(one)
    assert approvals.read("crew", one.id) is None
    assert approvals.all("crew") == []
    assert approvals.create(asked())
    assert found(approvals, one).answer is None


def test_the_audit_is_numbered_in_order(approvals):
    line = AuditLine(1000.0, "a", ASKED, by="bob", how="h", pid=1, rule=RuleNote())
    approvals.note("crew", [line, line])
    approvals.note("crew", [line])
    assert [(said["seq"], said["event"]) for said in approvals.audit("crew")] == [(1, ASKED), (2, ASKED), (3, ASKED)]


def test_of_an_unknown_team_there_is_nothing_and_nothing_is_made(approvals):
    assert approvals.read("nobody", "x") is None
    assert approvals.all("nobody") == []
    assert approvals.like("nobody", "d") == []
    assert approvals.audit("nobody") == []
    with pytest.raises(NoSuchTeam):
        approvals.create(asked(team="nobody"))
    with pytest.raises(NoSuchTeam):
        approvals.note("nobody", [AuditLine(1.0, "a", ASKED, by="", how="", pid=1, rule=RuleNote())])
    assert approvals.all("nobody") == []


def test_a_request_that_is_not_there_is_none(approvals):
    assert approvals.read("crew", "nothing") is None
    assert not approvals.news("crew", "nothing")


# Files alone.


@pytest.fixture
def files(layout) -> tuple[Approvals, Path]:
    return on_files(layout), Path(layout.approvals("crew"))


@pytest.mark.skipif(os.name == "nt", reason="modes are a POSIX thing")
def test_all_of_it_is_private(files):
    approvals, folder = files
    one = granted(approvals)
    assert approvals.use(one, 1.0, "c", line(one, USED))
    approvals.note("crew", [AuditLine(1.0, "a", ASKED, by="", how="", pid=1, rule=RuleNote())])
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir() if path.is_file()}
    assert {f"{one.id}.json", f"{one.id}.answer", f"{one.id}.used", "audit.jsonl", "audit.seal"} <= set(modes)
    assert set(modes.values()) == {0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_torn_line_of_the_audit_hides_no_other(files):
    approvals, folder = files
    line = AuditLine(1000.0, "a", ASKED, by="bob", how="h", pid=1, rule=RuleNote())
    approvals.note("crew", [line])
    with (folder / "audit.jsonl").open("ab") as file:
        file.write(b'{"seq": 2, "at')
    approvals.note("crew", [line])
    assert len(approvals.audit("crew")) == 2


def test_where_the_folder_is_a_file_nothing_is_asked_answered_or_noted(files):
    approvals, folder = files
    one = asked()
    approvals.create(one)
    os.rename(folder, folder.with_name("aside"))
    folder.write_text("x")
    for write in (
        lambda: approvals.create(asked(2)),
        lambda: approvals.answer(one, yes()),
        lambda: approvals.seal("crew", 1.0),
        lambda: approvals.note("crew", [line(one, ASKED)]),
    ):
        with pytest.raises(AtmError):
            write()
    assert not approvals.use(one, 1.0, "c", line(one, USED))
    assert approvals.read("crew", one.id) is None
