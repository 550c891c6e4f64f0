"""Small proofs for sections 15 to 19 of seed 002: names of fields, the order of locks, figures, and who is separate."""

from __future__ import annotations

import ast
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.crash.test_worksync_every_step import LEAD as LEAD_ON_DISK
from tests.crash.test_worksync_every_step import Process, do_note, do_replay, do_report
from tests.files.adapters.test_record_files import Site
from tests.proving import proves
from tests.teamd.test_sync_work import QUIET, Stage
from tests.worksync.services.conftest import LEAD, Place

from atm.board.services import planning
from atm.board.services import working as board
from atm.board.services.new_tasks import NewTask
from atm.board.services.stall_watch import watch_stalls
from atm.core.errors import AtmError, WriteRefused
from atm.events import rules as events
from atm.events.rules import TeamEvent
from atm.files.adapters.disk import RealDisk
from atm.files.adapters.locking import Locks, PrivateLock
from atm.files.adapters.machine import RealChance, RealClock
from atm.files.formats.layout import Layout
from atm.files.formats.times import to_iso
from atm.files.ports.records import INTENTS, OUTBOX, STALLS, STATUS
from atm.mail.services.posting import Draft
from atm.mail.services.sending import send
from atm.mail.services.spooling import drain
from atm.roster.services.members import add_member, create_team
from atm.team.rules.liveness import WORKING
from atm.team.rules.team import Member
from atm.team.services.lifecycle import begin
from atm.teamd.parts import worksync as sync_work
from atm.testing import FaultyDisk, QuickDisk
from atm.ui.mcp import worksync as worksync_tools
from atm.ui.mcp.catalog import all_tools, tools_for
from atm.worksync.formats.outbox import encode_nudge
from atm.worksync.rules.nudges import PLAIN, STATES, Nudge, nudge_id, payload_for
from atm.worksync.rules.reports import Report, intent_id
from atm.worksync.rules.triggers import THESE, Route, route
from atm.worksync.services.reading import metrics, view
from atm.worksync.services.reports import replay, submit
from atm.worksync.services.rounds import run_round
from atm.worksync.services.syncroom import SyncPolicy, find_running

SOURCE = Path(__file__).parents[3] / "src" / "atm"


@pytest.fixture
def place() -> Place:
    return Place()


@pytest.fixture
def busy_place() -> Place:
    """ann holds #1 and has not been heard of."""
    made = Place()
    made.add("the parser")
    return made


@pytest.fixture
def stage() -> Stage:
    made = Stage()
    made.add("the parser")
    return made


# 15: items and texts.


@proves("R002-15.1-06")
def test_an_item_is_in_one_of_the_six_states_of_the_seed():
    assert set(STATES) == {"pending", "claimed", "delivered", "superseded", "failed_retryable", "failed_terminal"}


@proves("R002-15.1-08", "R002-15.1-09", "R002-15.1-10", "R002-15.1-11", "R002-15.1-12")
def test_an_item_that_nobody_has_tried_says_nothing_of_claims_deliveries_and_errors():
    fresh = encode_nudge(Nudge(nudge_id("crew", "ann", "F", PLAIN), "crew", "ann", "F", PLAIN, "ann", "H"))
    assert not {"claimedBy", "claimedAt", "deliveredMessageId", "lastError", "nextAttemptAt"} & set(fresh)
    assert fresh["attemptGeneration"] == 0


@proves("R002-15.3-06", "R002-15.3-08", "R002-15.3-09", "R002-15.3-10")
def test_a_nudge_says_what_the_seed_says(busy_place):
    text = payload_for(busy_place.seen().agenda, PLAIN, "ann").text
    assert "you have current actionable work assigned. Review your agenda" in text
    assert "continue the concrete task work, or report a real blocker with the task tools" in text
    assert "Do not reply only with acknowledgement." in text
    busy_place.round()
    assert busy_place.nudges() == [text]


# 16: beside mail, tools and the stall watch.


@proves("R002-16.2-01")
def test_a_nudge_marks_none_of_the_mail_beside_it_as_read(busy_place):
    assert send(busy_place.room, "crew", "ann", Draft(sender="bob", text="hello")).outcome != "queued"
    busy_place.passes(QUIET)
    before = {row.id: row.read for row in busy_place.room.inboxes.rows("crew", "ann")}
    busy_place.round()
    busy_place.report()
    rows = busy_place.room.inboxes.rows("crew", "ann")
    assert len(busy_place.nudges()) == 1
    assert [row.read for row in rows if row.text == "hello"] == [False]
    assert {row.id: row.read for row in rows} == {**before, busy_place.items()[0].message_id: False}


@proves("R002-16.2-02", "R002-16.5-12")
def test_mail_on_its_way_keeps_work_sync_quiet_until_it_has_arrived(busy_place):
    busy_place.room.inboxes.refuse = WriteRefused("the disk is full")
    assert send(busy_place.room, "crew", "ann", Draft(sender="bob", text="hello")).outcome == "queued"
    busy_place.room.presence.forget("crew", "ann")
    assert busy_place.state() == "suppressed_busy"
    done = busy_place.round()
    assert (done.planned, done.dispatched, busy_place.nudges()) == ([], [], [])
    assert done.again["ann"] == pytest.approx(busy_place.now + QUIET, abs=2.0)
    busy_place.room.inboxes.refuse = None
    drain(busy_place.room, everything=True)
    busy_place.passes(QUIET)
    assert busy_place.state() == "needs_sync"


@proves("R002-16.3-02", "R002-16.4-03", "R002-16.4-10")
def test_the_end_of_a_tool_call_makes_somebody_look_after_a_quiet_window_and_not_before(stage):
    stage.live(200)
    before, others = stage.looked_at(), stage.looked_at("cleo")
    stage.work.hear_beat("crew", "ann")
    stage.live(QUIET - 1)
    assert stage.looked_at() == before
    stage.live(3)
    assert (stage.looked_at(), stage.looked_at("cleo")) == (before + 1, others)


@proves("R002-11.2.1-32")
@pytest.mark.parametrize(("count", "windows", "whom"), [(4, 1, {"ann"}), (5, 3, {"ann", "bob", "cleo"})])
def test_after_an_import_everybody_is_looked_at_after_a_longer_quiet_window(stage, count, windows, whom):
    stage.live(200)
    before = {name: stage.looked_at(name) for name in ("ann", "bob", "cleo")}
    for number in range(count):
        stage.hear(events.TASK_CREATED, str(number + 1), owner="ann")
    stage.live(windows * QUIET - 2)
    assert {name: stage.looked_at(name) for name in before} == before
    stage.live(5)
    assert {name for name in before if stage.looked_at(name) > before[name]} == whom


@proves("R002-16.4-09")
def test_a_message_of_the_lead_concerns_its_recipient_if_that_is_a_member(stage):
    found = route(TeamEvent(events.MESSAGE_WRITTEN, "crew", "ann", 0.0, {"from": LEAD}))
    assert found == Route("crew", "inbox_delivered", THESE, ("ann",))
    stage.live(200)
    before = {name: stage.looked_at(name) for name in stage.team.names}
    stage.hear(events.MESSAGE_WRITTEN, "ann", **{"from": LEAD})
    stage.hear(events.MESSAGE_WRITTEN, "mallory", **{"from": LEAD})
    stage.live(QUIET + 2)
    changed = [name for name in stage.team.names if stage.looked_at(name) != before[name]]
    assert changed == ["ann"]


@proves("R002-16.5-11")
def test_a_stale_report_leaves_the_stall_watch_as_it_was(place):
    place.add("the parser")
    board.claim(place.boardroom, "crew", "ann", "1")
    place.quiet()
    old = place.words("ann")
    place.add("the printer")
    place.passes(1860)
    before = place.everything()
    assert submit(place.syncroom, "crew", old, place.knows("ann")).verdict.reason == "stale_fingerprint"
    assert place.changed(before) == ["records", "journal"]
    assert ("crew", STALLS) not in place.syncroom.records.texts
    assert [alert.to for alert in watch_stalls(place.boardroom, place.syncroom.records, place.team, 30.0)] == ["ann"]


def imported(path: Path) -> Iterator[tuple[str, str]]:
    """Every module that is imported there, with each name that is taken from it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)


def modules(*folders: str) -> list[Path]:
    found = [path for folder in folders for path in sorted((SOURCE / folder).glob("*.py"))]
    assert len(found) > 5
    return found


@proves("R002-16.5-01", "R002-16.6-02", "R002-16.6-03", "R002-16.6-15")
def test_work_sync_and_the_stall_watch_share_nothing_but_a_look_into_its_journal():
    taken = {
        (module, name)
        for path in modules("worksync/rules", "worksync/services")
        for module, name in imported(path)
        if "stall" in module or "stall" in name
    }
    assert taken == {
        ("atm.board.services.stall_journal", "alerts_of"),
        ("atm.board.services.stall_journal", "recent_alert_in"),
    }
    watch = [
        SOURCE / "board/rules/stalls.py",
        SOURCE / "board/services/stall_watch.py",
        SOURCE / "board/services/stall_journal.py",
    ]
    assert not [module for path in watch for module, _ in imported(path) if "worksync" in module]


@proves("R002-16.6-07", "R002-16.6-08", "R002-24-04")
def test_work_sync_parses_no_task_files_of_its_own():
    for path in modules("worksync/rules", "worksync/services"):
        taken = {(module, name) for module, name in imported(path)}
        assert not {name for _, name in taken if name.startswith("decode_task") or name in ("decode", "decode_object")}
        assert "atm.board.formats.task" not in {module for module, _ in taken}


@proves("R002-24-04")
def test_work_sync_reads_no_roster_of_its_own():
    """Who is a member is known from the roster that everything else reads."""
    for path in modules("worksync/rules", "worksync/services"):
        assert "atm.team.formats.team_config" not in {module for module, _ in imported(path)}
    place = Place()
    add_member(place.room, "crew", Member("dora"))
    found, _ = find_running(place.syncroom, "crew")
    assert found is not None
    assert "dora" in found.names
    assert found.names == place.room.rosters.load("crew").names


@proves("R002-16.7-03")
def test_at_most_two_teams_are_looked_at_at_a_time(monkeypatch):
    stage, meeting, trouble = Stage(), threading.Barrier(3), list[str]()
    for number in range(5):
        stage.create(f"team-{number}")

    def noted(syncroom: Any, team: str, members: Any) -> Any:
        try:
            meeting.wait(0.3)  # if three are ever there at once, they meet
            trouble.append(team)
        except threading.BrokenBarrierError:
            pass
        return run_round(syncroom, team, members)

    monkeypatch.setattr(sync_work, "run_round", noted)
    stage.live(QUIET + 5)
    assert trouble == []
    assert stage.looked_at() == 1


@proves("R002-16.7-21", "R002-16.7-24", "R002-16.7-25", "R002-16.7-26", "R002-16.7-27")
def test_the_tools_of_work_sync_are_a_group_of_their_own_that_teammates_have():
    names = {"member_work_sync_report", "member_work_sync_status", "task_briefing"}
    assert {tool.name for tool in all_tools() if tool.group == "worksync"} == names
    assert {tool.name for tool in worksync_tools.TOOLS} == names
    assert names <= {tool.name for tool in tools_for("teammate")}
    assert not names & {tool.name for tool in all_tools() if tool.group == "board"}


@proves("R002-16.7-12")
def test_a_team_whose_making_was_cut_off_before_its_roster_does_not_run(place):
    begin(place.room, "fresh", LEAD)
    assert place.room.states.read("fresh") is not None
    found, state = find_running(place.syncroom, "fresh")
    assert (found, state.runs) == (None, False)
    assert place.syncroom.records.texts == {}


# 17: what lies where, and in which order it is locked.


@proves("R002-17.1-01", "R002-17.1-03", "R002-17.1-04")
def test_where_the_files_of_work_sync_lie(layout: Layout):
    folder = f"{layout.team('crew')}/.member-work-sync"
    assert [layout.records("crew", shelf) for shelf in (STATUS, INTENTS, OUTBOX)] == [
        f"{folder}/status.json",
        f"{folder}/report-intents.json",
        f"{folder}/outbox.json",
    ]


@proves(
    "R002-17.1-02",
    "R002-17.1-05",
    "R002-17.1-06",
    "R002-17.1-07",
    "R002-17.1-08",
    "R002-17.1-09",
    "R002-17.1-10",
    "R002-17.1-11",
    "R002-17.1-12",
)
def test_what_is_remembered_of_a_member_has_the_names_of_the_seed(busy_place):
    busy_place.report()
    busy_place.report("ann", "caught_up")
    busy_place.look()
    record = busy_place.syncroom.records.read("crew", STATUS)["ann"]
    assert (record["teamName"], record["memberName"]) == ("crew", "ann")
    assert record["agendaFingerprint"] == busy_place.fingerprint()
    assert [item["taskRef"] for item in record["agendaSummary"]] == ["#1"]
    assert record["latestAcceptedReport"]["state"] == "still_working"
    assert record["latestRejectedReport"]["rejectedReason"] == "caught_up_rejected_actionable_items_exist"
    assert "ValidLease" in [one["type"] for one in record["conditions"]]
    assert len(record["reports"]) == 2
    assert {"updatedAt", "metrics"} <= set(record)


@proves("R002-17.1-08", "R002-17.1-09")
def test_of_a_member_that_never_reported_no_report_is_remembered(busy_place):
    busy_place.look()
    record = busy_place.syncroom.records.read("crew", STATUS)["ann"]
    assert not {"latestAcceptedReport", "latestRejectedReport"} & set(record)


@proves("R002-17.1-19", "R002-17.1-21")
def test_a_report_that_waits_has_the_names_of_the_seed_and_its_end_is_added(busy_place):
    busy_place.intend()
    (intent,) = busy_place.intents
    assert intent["id"].startswith("member-work-sync-intent:")
    assert (intent["teamName"], intent["memberName"], intent["status"]) == ("crew", "ann", "pending")
    assert {"rawInput", "receivedAt"} <= set(intent)
    assert not {"validationReason", "processedAt"} & set(intent)
    busy_place.add("the printer")
    replay(busy_place.syncroom, "crew")
    (intent,) = busy_place.intents
    assert (intent["status"], intent["validationReason"]) == ("rejected", "stale_fingerprint")
    assert "processedAt" in intent


@proves("R002-17.1-22")
def test_the_id_of_a_report_that_waits_follows_from_who_says_what_and_not_when():
    first = Report("ann", "F", "still_working", reported_at="noon")
    again = Report("ann", "F", "still_working", reported_at="later")
    id = intent_id("crew", "ann", first)
    assert id.startswith("member-work-sync-intent:")
    assert id == intent_id("crew", "ann", again)
    others = [intent_id("other", "ann", first), intent_id("crew", "bob", first)]
    others += [intent_id("crew", "ann", Report("ann", "F", "blocked"))]
    assert len({id, *others}) == 4


@proves("R002-17.1-24")
def test_reports_that_wait_for_a_team_that_comes_later_are_judged_too(stage):
    stage.live(10)
    stage.delete()
    stage.hear(events.TEAM_GONE)
    stage.create("crew")
    stage.add("the parser")
    stage.intend()
    stage.live(70)
    assert [intent["status"] for intent in stage.intents] == ["accepted"]


@proves("R002-17.4-08")
@pytest.mark.parametrize(
    "raw",
    [
        {},
        {"from": "ann"},
        {"from": 7, "agendaFingerprint": "F", "state": "still_working"},
        {"from": "ann", "agendaFingerprint": "F", "state": "dancing"},
        {"from": "ann", "agendaFingerprint": "F", "state": "still_working", "taskIds": [[[]]]},
    ],
)
def test_a_waiting_report_that_is_none_is_rejected_when_it_is_judged(busy_place, raw):
    known = {"status": "pending", "memberName": "ann", "identitySource": "process_team"}
    busy_place.put(INTENTS, {"x": {**known, "rawInput": raw, "receivedAt": to_iso(busy_place.now)}})
    replay(busy_place.syncroom, "crew")
    (intent,) = busy_place.intents
    assert (intent["status"], intent["validationReason"]) == ("rejected", "invalid_payload")


def crew_on_disk(home: Path) -> Process:
    process = Process(home, -3600.0)
    create_team(process.room, "crew", lead=LEAD_ON_DISK)
    for name in ("ann", "bob"):
        add_member(process.room, "crew", Member(name))
    planning.add(process.syncroom.boardroom, "crew", LEAD_ON_DISK, [NewTask("the parser", owner="ann")])
    return process


class LockBook:
    """Which locks are taken while which others are held."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.held: list[str] = []
        self.taken: list[str] = []
        self.nested: set[tuple[str, str]] = set()
        acquire, release = PrivateLock.acquire, PrivateLock.release

        def taking(lock: PrivateLock, deadline: float) -> None:
            acquire(lock, deadline)
            kind = kind_of(lock.target)
            self.nested |= {(outer, kind) for outer in self.held}
            self.held.append(kind)
            self.taken.append(kind)

        def leaving(lock: PrivateLock) -> None:
            if lock._fd is not None:
                self.held.remove(kind_of(lock.target))
            release(lock)

        monkeypatch.setattr(PrivateLock, "acquire", taking)
        monkeypatch.setattr(PrivateLock, "release", leaving)


def kind_of(target: str) -> str:
    if ".member-work-sync" in target:
        return Path(target).stem
    if "/inboxes/" in target:
        return "inbox"
    return "board" if "/tasks/" in target or "/boards/" in target else "other"


SYNC_FILES = {"status", "outbox", "report-intents", "journal"}


def test_the_book_of_locks_sees_one_within_another(tmp_path, monkeypatch):
    book, folder = LockBook(monkeypatch), str(tmp_path / "locks")
    locks = Locks(RealDisk(), RealClock(), RealChance(), folder, pid=os.getpid(), host=socket.gethostname())
    with locks.private("/teams/crew/.member-work-sync/status.json"), locks.private("/tasks/crew/.lock"):
        pass
    assert (book.nested, book.held) == ({("status", "board")}, [])


@proves(
    "R002-17.2-01",
    "R002-17.2-02",
    "R002-17.2-03",
    "R002-17.2-04",
    "R002-17.2-05",
    "R002-17.3-01",
    "R002-17.3-02",
    "R002-17.3-03",
    "R002-17.3-04",
)
def test_no_lock_of_work_sync_is_held_while_another_one_is_taken(home, monkeypatch):
    crew_on_disk(home)
    book = LockBook(monkeypatch)
    Process(home, 1.0).round()
    order = [kind for kind in dict.fromkeys(book.taken) if kind in ("status", "outbox", "inbox")]
    assert order == ["status", "outbox", "inbox"]
    assert do_report(Process(home, 2.0)).ok
    assert do_note(Process(home, 3.0)).ok
    do_replay(Process(home, 4.0))
    assert len(Process(home, 5.0).nudges()) == 1
    assert {"status", "outbox", "report-intents", "inbox"} <= set(book.taken)
    assert not [pair for pair in book.nested if set(pair) & SYNC_FILES], book.nested
    assert not [pair for pair in book.nested if "board" in pair and set(pair) != {"board"}], book.nested
    assert book.held == []


@proves("R002-17.4-06")
def test_where_the_last_rename_fails_the_old_file_stays_and_the_new_one_lies_beside_it(layout: Layout):
    around = Site(layout)
    around.put(ann={"n": 1})
    count = FaultyDisk(QuickDisk())
    around.store(count).change("crew", STATUS, lambda _: {"ann": {"n": 2}})
    last = max(step for step, name in enumerate(count.steps) if name == "rename")
    disk = FaultyDisk(QuickDisk(), stop_at=last, error=OSError(5, "Input/output error"))
    with pytest.raises(AtmError):
        around.store(disk).change("crew", STATUS, lambda _: {"ann": {"n": 3}})
    assert around.read() == {"ann": {"n": 2}}
    (beside,) = around.folder.glob(".status.json.new")
    assert b'"n": 3' in beside.read_bytes()
    around.put(ann={"n": 4})
    assert around.read() == {"ann": {"n": 4}}


@proves("R002-17.4-09")
@pytest.mark.parametrize("damage", ["a file in the way", "garbage"])
def test_a_board_does_not_suffer_from_broken_files_of_work_sync(home, damage):
    process = crew_on_disk(home)
    folder = home / ".claude/teams/crew/.member-work-sync"
    if damage == "garbage":
        folder.mkdir()
        for name in ("status", "outbox", "report-intents"):
            (folder / f"{name}.json").write_bytes(b"\xff{[")
    else:
        folder.write_text("in the way")
    boardroom = process.syncroom.boardroom
    board.claim(boardroom, "crew", "ann", "1")
    board.comment(boardroom, "crew", "ann", "1", "half of it is done")
    board.complete(boardroom, "crew", "ann", "1")
    planning.add(boardroom, "crew", LEAD_ON_DISK, [NewTask("the printer", owner="bob")])
    assert boardroom.tasks.read("crew", "1").status == "completed"
    assert boardroom.tasks.read("crew", "2").owner == "bob"
    assert send(process.room, "crew", "bob", Draft(sender="ann", text="your turn")).outcome != "queued"


# 18 and 19: figures, and what is shown.


def figures(place: Place, name: str = "ann") -> dict[str, Any]:
    found: Any = metrics(place.syncroom, place.team)
    members: dict[str, dict[str, Any]] = {one["member"]: one for one in found["members"]}
    return members[name]


@proves(
    "R002-18-02",
    "R002-18-03",
    "R002-18-04",
    "R002-18-05",
    "R002-18-06",
    "R002-18-07",
    "R002-18-08",
    "R002-18-09",
    "R002-18-10",
    "R002-18-11",
    "R002-18-12",
    "R002-18-13",
    "R002-18-14",
    "R002-18-15",
    "R002-18-16",
    "R002-18-20",
    "R002-18-21",
)
def test_every_kind_of_event_is_counted_under_its_name(busy_place):
    old = busy_place.words("ann")
    busy_place.look()
    busy_place.beats("ann", WORKING)
    busy_place.look()
    busy_place.quiet()
    busy_place.add("the printer")
    busy_place.look()
    submit(busy_place.syncroom, "crew", old, busy_place.knows("ann"))
    busy_place.report("ann", "caught_up")
    busy_place.report()
    counted = figures(busy_place)["metrics"]
    assert {key: value for key, value in counted.items() if key.endswith("Count")} == {
        "reconcileCount": 3,
        "fingerprintChangeCount": 1,
        "staleReportCount": 1,
        "invalidReportCount": 1,
        "acceptedReportCount": 1,
        "needsSyncCount": 2,
        "suppressedBusyCount": 1,
        "wouldNudgeCount": 2,
    }
    assert {"lastReconcileAt", "lastReportAt"} <= set(counted)


@proves("R002-18-15", "R002-18-16")
def test_times_that_never_were_are_not_told(busy_place):
    busy_place.look()
    assert "lastReportAt" not in figures(busy_place)["metrics"]


@proves("R002-18-17", "R002-18-18", "R002-18-19")
def test_the_summary_names_team_member_state_and_the_rates(busy_place):
    old = busy_place.words("ann")
    busy_place.look()
    busy_place.add("the printer")
    busy_place.look()
    for number in range(3):
        submit(busy_place.syncroom, "crew", {**old, "note": f"{number}"}, busy_place.knows("ann"))
    busy_place.report()
    found: Any = metrics(busy_place.syncroom, busy_place.team)
    assert found["team"] == "crew"
    assert figures(busy_place)["state"] == "valid_lease"
    ready = found["phase2Readiness"]
    assert ready["reports"] == 2, "the same stale report three times is one"
    assert ready["staleReportRate"] == 0.5
    assert ready["wouldNudgesPerMemberHour"] == 2.0
    assert ready["fingerprintChurnPerHour"] == 0.0, "the board explains the change"


@proves("R002-18-17", "R002-18-18", "R002-18-19", "R002-18-20", "R002-18-21")
def test_the_command_shows_rates_and_a_line_for_each_member(atm):
    atm.team()
    atm("tasks", "add", "the parser", "--owner", "ann", "--as", "human")
    atm("sync", "nudge", "ann", "--as", "human", code=3)
    said = atm("sync", "metrics").out
    assert "0 changes of an agenda in an hour without a reason on the board" in said
    assert "0% of 0 reports came too late for their agenda" in said
    heads, _, ann = said.splitlines()[-3:]
    assert heads.split() == ["Member", "Looks", "Changes", "Accepted", "Too", "late", "Refused", "Busy", "Needs"]
    assert ann.split()[:3] == ["ann", "1", "0"]


@proves("R002-18.1-09")
def test_where_the_figures_are_bad_leases_are_no_shorter_and_nudges_no_more():
    place = Place(SyncPolicy())
    place.add("the parser")
    for _ in range(5):
        place.passes(3600)
        assert place.round().planned[0].outcome == "phase2_not_ready"
    answer = place.report()
    assert answer.verdict.lease_until == place.now + 600
    assert (place.items(), place.nudges()) == ([], [])


@proves("R002-19-03")
def test_whoever_is_in_step_is_shown_with_the_time_of_it(place):
    place.look()
    said: Any = view(place.syncroom, place.team, "ann").fields()
    assert (said["label"], said["observedAt"][:4].isdecimal()) == ("Synced", True)
    assert {"at", "observedAt"} <= set(said)


@proves("R002-19-06", "R002-19-07", "R002-19-08", "R002-19-09", "R002-19-10", "R002-19-11")
def test_the_details_show_everything_about_an_agenda_and_its_reports(busy_place):
    busy_place.look()
    busy_place.report("ann", "caught_up")
    busy_place.passes(QUIET)
    said: Any = view(busy_place.syncroom, busy_place.team, "ann").fields()
    assert said["wouldNudge"] is True
    busy_place.report()
    said = view(busy_place.syncroom, busy_place.team, "ann").fields()
    assert said["agendaFingerprint"] == busy_place.fingerprint()
    assert [(one["taskRef"], one["subject"]) for one in said["items"]] == [("#1", "the parser")]
    assert (said["latestReport"]["state"], said["leaseState"]) == ("still_working", "still_working")
    assert "leaseExpiresAt" in said
    assert said["latestRejectedReport"]["rejectedReason"] == "caught_up_rejected_actionable_items_exist"
    assert said["wouldNudge"] is False
