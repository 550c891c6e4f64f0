"""The daemon as a process: how it comes and goes, what it hears and tells, and what it does about mail."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.proving import proves
from tests.teamd.conftest import block

from atm.board.services.new_tasks import NewTask
from atm.board.services.planning import add
from atm.board.services.working import claim
from atm.files.adapters.processes import began
from atm.mail.services.posting import Draft
from atm.mail.services.reading import Filter, take
from atm.mail.services.sending import send
from atm.roster.services.members import add_member, create_team
from atm.team.rules.team import Member
from atm.wiring.board import build_boardroom
from atm.wiring.mail import build_room

PATIENCE = 120.0
LOOPS = {"spool", "reconcile", "retention", "silence", "escalation", "delivery"}


def write_letter(room: Any, text: str, to: str = "ann", team: str = "crew") -> str:
    """Send something; its id."""
    return str(send(room, team, to, Draft(sender="bob", text=text)).message_id)


def ids(atm: Any, agent: str = "ann") -> list[str]:
    """Ids as a foreign program sees them; a torn file fails here. Claude's own spelling too."""
    return [row.get("message_id") or row.get("msg_id") for row in atm.rows(agent)]


def rewrite(atm: Any, agent: str, rows: list[Any], *team: str) -> None:
    """What a program does that read the inbox a while ago and writes it back whole."""
    path = atm.inbox(agent, *team)
    aside = path.with_name(f".{path.name}.foreign")
    aside.write_text(json.dumps(rows, indent=2))
    aside.replace(path)


def status_with_an_answer(house: Any) -> Any:
    """What `atm daemon status` says; it gives the daemon half a second, which a busy machine may not have."""
    said: list[Any] = []

    def is_answered() -> bool:
        said.append(house.atm("daemon", "status", "--json", code=None).json)
        return said[-1]["answers"] is True

    house.until(is_answered)
    return said[-1]


def stop(house: Any) -> None:
    """By the command, with more time than it gives by itself: one that is killed leaves its files."""
    house.atm("daemon", "stop", "--seconds", "100", timeout=150)


# Coming and going.


@proves("R001-1-15", "R001-2.1-08", "R001-10-11")
def test_it_is_started_answers_is_started_anew_and_stops(house):
    atm = house.atm
    first = atm("daemon", "start", "--json").json
    assert (first["pid"], first["already"]) == (house.pid, False)
    assert atm("daemon", "start", "--json").json == {**first, "already": True}
    status = status_with_an_answer(house)
    assert (status["running"], status["pid"]) == (True, first["pid"])
    second = atm("daemon", "restart", "--json").json
    assert second["pid"] != first["pid"]
    assert began(first["pid"]) == ""
    stop(house)
    assert began(second["pid"]) == ""
    assert {"pid.json", "pid.json.new", "socket"}.isdisjoint(path.name for path in house.folder.iterdir())


@proves("R001-5.3-13")
def test_a_second_one_refuses_and_names_the_one_that_runs(shared):
    refused = shared.atm("daemon", "run", code=1)
    assert f"process {shared.pid}" in refused.err
    assert shared.answers


@proves("R001-3.3-10")
def test_every_loop_has_a_period_a_bound_and_a_record_of_its_health(daemon):
    seen: list[Any] = []

    def is_at_rest() -> bool:
        """One of them may run at the moment at which we ask."""
        seen[:] = daemon.status()["loops"]
        return all(loop["runs"] and loop["state"] == "idle" for loop in seen)

    daemon.until(is_at_rest)
    loops = seen
    assert {loop["name"] for loop in loops} >= LOOPS
    assert all(loop["period"] > 0 and loop["bound"] > 0 and loop["last_seconds"] is not None for loop in loops)
    assert [loop for loop in loops if loop["failures"]] == []


def test_its_files_are_for_its_owner_alone(shared):
    paths = [Path(shared.socket), *shared.folder.iterdir()]
    assert [path.name for path in paths if stat.S_IMODE(path.stat().st_mode) & 0o077] == []
    assert stat.S_IMODE(os.stat(os.path.dirname(shared.socket)).st_mode) == 0o700


@proves("R001-1-05")
def test_a_killed_one_leaves_a_seat_that_the_next_takes(daemon):
    former = daemon.pid
    daemon.kill()
    assert daemon.atm("daemon", "status", code=3).out
    daemon.start()
    assert daemon.pid != former


def test_it_can_be_asked_to_stop_through_its_socket(daemon):
    assert daemon.ask("stop") == {"stopping": True}
    assert daemon.process.wait(PATIENCE) == 0


def test_a_file_that_names_another_process_as_the_daemon_ends_nothing(daemon):
    with subprocess.Popen(["sleep", "987"]) as stranger:
        try:
            path = daemon.folder / "pid.json"
            said = json.loads(path.read_text())
            path.write_text(json.dumps({**said, "pid": stranger.pid, "began": began(stranger.pid)}))
            refused = daemon.atm("daemon", "stop", code=1)
            assert "does not hold the daemon's lock" in refused.err
            assert f"process {stranger.pid}" in refused.err
            assert stranger.poll() is None
            assert daemon.process.poll() is None
            path.write_text(json.dumps(said))
        finally:
            stranger.kill()
    stop(daemon)
    assert daemon.process.wait(PATIENCE) == 0


@proves("R002-1-67")
def test_control_c_ends_it_as_a_request_does(daemon):
    daemon.process.send_signal(signal.SIGINT)
    assert daemon.process.wait(PATIENCE) == 0
    assert "stopped; left: nothing" in daemon.texts("daemon")


def test_a_home_too_deep_for_a_socket_leaves_nothing_in_the_temporary_folder(house, tmp_path):
    deep = tmp_path / ("deep" * 25)
    house.atm.environment["ATM_HOME"] = str(deep)
    started = house.atm("daemon", "start", "--json").json
    facts = json.loads((deep / ".local/state/atm/daemon/pid.json").read_text())
    assert (facts["pid"], Path(facts["socket"]).exists()) == (started["pid"], True)
    stop(house)
    assert not Path(facts["socket"]).parent.exists()


def test_a_request_that_names_no_loop_is_answered_under_its_own_id(shared):
    with shared.connect() as line:
        line.sendall(b'{"v": 1, "id": "77", "do": "wake", "loop": "nonsense"}\n')
        answer = json.loads(line.recv(65_536))
    assert (answer["ok"], answer["id"]) == (False, "77")


# Settings.


def settings(house: Any) -> Path:
    path = Path(house.layout.settings)
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def put(path: Path, text: str | bytes) -> None:
    """In one step: a daemon that reads again just now must not find an empty file, which says that nothing is set."""
    aside = path.with_name(f".{path.name}.new")
    aside.write_bytes(text if isinstance(text, bytes) else text.encode())
    aside.replace(path)


@proves("R001-5.3-07", "R001-5.3-20", "R001-6.2-28")
@pytest.mark.parametrize("by", ["signal", "request", "file"])
def test_settings_are_read_again_on_a_signal_on_request_and_when_a_file_changes(daemon, tmp_path, by):
    heard = daemon.listen("settings")
    repo = tmp_path / "repo"
    repo.mkdir()
    listed = Path(daemon.layout.daemon_settings)
    listed.parent.mkdir(parents=True, exist_ok=True)
    listed.write_text(f'repos = ["{repo}"]\n')
    if by == "signal":
        daemon.process.send_signal(signal.SIGHUP)
    elif by == "request":
        assert daemon.ask("reload") == {"reloading": True}
    daemon.until(lambda: daemon.status()["places"] == ["machine", str(repo)])
    daemon.until(lambda: heard.of("settings.reloaded"))
    assert daemon.answers


WRONG = {
    "no settings": "[messaging\n",
    "an unknown key": "[messaging]\nmax_retrys = 3\n",
    "the wrong kind": '[messaging]\nmax_retries = "three"\n',
    "a name that is a path": '[core]\ndefault_team = "../../etc"\n',
    "no UTF-8": b'[core]\nidentity = "\xff\xfe"\n',
    "too deep": f"[core]\nidentity = {'[' * 100_000}\n",
}


@pytest.fixture
def settable(shared: Any) -> Iterator[Any]:
    """The daemon that tests share; it forgets the settings of the test."""
    yield shared
    before = len(shared.texts("settings"))
    settings(shared).unlink()
    shared.until(lambda: len(shared.texts("settings")) > before and shared.status()["problems"] == [])


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG.keys())
def test_settings_that_become_wrong_change_nothing_and_are_named_until_they_are_right_again(settable, wrong):
    path, failed = settings(settable), Path(settable.layout.spool_failed)
    former = {*failed.iterdir()} if failed.is_dir() else set()
    before = settable.texts("settings").count("read again")  # others have had this daemon read settings before
    put(path, "[messaging]\nmax_retries = 1\n")
    settable.until(lambda: settable.texts("settings").count("read again") > before)
    put(path, wrong)
    settable.until(lambda: any(str(path) in problem for problem in settable.status()["problems"]))
    reopen = block(settable.atm.inbox("ann"))
    write_letter(settable.room, "one try is all it gets", team=settable.team)
    settable.until(lambda: failed.is_dir() and {*failed.iterdir()} - former)
    reopen()
    put(path, "[messaging]\nmax_retries = 5\n")
    settable.until(lambda: settable.status()["problems"] == [])
    assert settable.process.poll() is None


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG.keys())
def test_a_daemon_starts_although_settings_are_wrong_and_says_so(house, room, wrong):
    put(settings(house), wrong)
    house.start()
    assert any(str(settings(house)) in problem for problem in house.status()["problems"])


def test_a_settings_file_that_is_a_pipe_holds_nobody_up(daemon):
    settings(daemon)
    os.mkfifo(daemon.layout.daemon_settings)
    daemon.process.send_signal(signal.SIGHUP)
    daemon.until(lambda: daemon.status()["problems"])
    assert daemon.answers


def test_a_repository_that_vanishes_is_told_and_costs_nothing(daemon, tmp_path):
    repo = tmp_path / "repo"
    repo.mkdir()
    listed = Path(daemon.layout.daemon_settings)
    listed.parent.mkdir(parents=True, exist_ok=True)
    listed.write_text(f'repos = ["{repo}"]\n')
    daemon.until(lambda: str(repo) in daemon.status()["places"])
    repo.rmdir()
    daemon.ask("reload")
    daemon.until(lambda: any(str(repo) in problem for problem in daemon.status()["problems"]))
    assert daemon.status()["places"] == ["machine"]


# Events.


@proves("R001-2.2-10", "R004-messaging-M4c")
def test_whoever_listens_hears_of_mail_tasks_and_members(shared):
    heard = shared.listen(team=shared.team)
    boardroom = build_boardroom(shared.layout, _defaults(shared.layout), shared.room)
    written = write_letter(shared.room, "hello", team=shared.team)
    shared.until(lambda: heard.of("message.written", subject="ann"))
    take(shared.room, shared.team, "ann", Filter())
    shared.until(lambda: heard.of("message.read", subject="ann"))
    add(boardroom, shared.team, "bob", [NewTask("write the tests")])
    shared.until(lambda: heard.of("task.created", subject="1"))
    claim(boardroom, shared.team, "ann", "1")
    shared.until(lambda: "ann" in [event["detail"]["owner"] for event in heard.of("task.changed", subject="1")])
    add_member(shared.room, shared.team, Member("cleo"))
    shared.until(lambda: heard.of("member.joined", subject="cleo"))
    assert [event["detail"]["id"] for event in heard.of("message.written")] == [written]
    assert heard.of("task.changed")[-1]["detail"]["owner"] == "ann"


def _defaults(layout: Any) -> Any:
    from atm.config import load

    return load(layout, {}, "/", {})


def test_whoever_is_told_that_he_listens_misses_nothing_from_then_on(house, room):
    """Also in the first moments of a daemon, while it looks at what there is."""
    old = {"from": "bob", "text": "old", "timestamp": "2026-01-01T00:00:00.000Z", "read": False}
    rewrite(house.atm, "ann", [{**old, "message_id": f"old-{number}"} for number in range(20_000)])
    house.start()
    heard = house.listen()
    write_letter(room, "new", "bob")
    house.until(lambda: heard.of("message.written"))
    assert len(heard.of("message.written")) == 1


# Mail.


@proves("R001-2.2-08", "R001-3.2-07", "R001-3.2-15", "R001-3.3-09", "R001-3.3-10")
def test_waiting_mail_is_delivered_within_seconds_after_its_inbox_can_be_written_again(shared):
    reopen = block(shared.atm.inbox("ann"))
    sent = shared.atm("send", "ann", "hello", "--team", shared.team, "--json").json
    assert sent["outcome"] == "queued"
    assert shared.atm.pending
    reopen()
    shared.until(lambda: not shared.atm.pending)
    assert ids(shared.atm) == [sent["message_id"]]


def test_a_lock_that_a_dead_program_left_does_not_keep_mail_waiting(shared):
    """Nobody holds it: it is older than half a minute, and nobody touches it (D2)."""
    left = shared.atm.inbox("ann").with_name("ann.json.lock")
    reopen = block(shared.atm.inbox("ann"))
    sent = write_letter(shared.room, "hello", team=shared.team)

    def is_left() -> bool:
        """Beside an inbox that can be written again, before the daemon can; its own lock may lie there now."""
        with shared.paused():
            if left.exists():
                return False
            left.mkdir()
            os.utime(left, (1, 1))
            reopen()
            return True

    shared.until(is_left)
    shared.until(lambda: not shared.atm.pending)
    assert ids(shared.atm) == [sent]
    shared.until(lambda: not left.exists())


@proves("R001-3.3-18")
def test_mail_that_can_be_delivered_is_delivered_before_it_stops(daemon):
    """It stops in order: what waits in the spool is tried once more, due or not."""
    reopen = block(daemon.atm.inbox("ann"))
    daemon.atm("send", "ann", "hello", "--team", "crew")
    daemon.another_round("spool")
    with daemon.paused():  # or it may deliver before it is asked to stop
        reopen()
        assert daemon.atm.pending
        daemon.process.send_signal(signal.SIGTERM)
    assert daemon.process.wait(PATIENCE) == 0
    assert len(ids(daemon.atm)) == 1
    assert daemon.atm.pending == []


@proves("R001-3.2-39")
def test_a_row_that_a_stale_rewrite_dropped_is_back_at_once_and_once(shared):
    write_letter(shared.room, "kept", team=shared.team)
    stale = shared.atm.rows("ann")
    dropped = write_letter(shared.room, "dropped", team=shared.team)
    rewrite(shared.atm, "ann", stale)
    shared.until(lambda: dropped in ids(shared.atm))
    shared.another_round("reconcile")
    found = ids(shared.atm)
    assert len(found) == len(set(found)) == 2
    assert [line["state"] for line in shared.atm.ledger()].count("restored") == 1


def test_a_row_that_was_dropped_while_no_daemon_ran_is_back_when_one_does(house, room):
    dropped = write_letter(room, "dropped")
    rewrite(house.atm, "ann", [])
    house.start()
    house.until(lambda: dropped in ids(house.atm))


def test_a_row_that_claude_code_consumed_in_its_own_team_stays_away(daemon, room):
    folder = daemon.atm.home / ".claude/teams/session-1234"
    folder.mkdir()
    members = [{"name": name, "agentId": f"{name}@session-1234"} for name in ("team-lead", "ann")]
    (folder / "config.json").write_text(json.dumps({"name": "session-1234", "createdAt": 1, "members": members}))
    heard = daemon.listen(team="session-1234")
    daemon.until(lambda: heard.of("team.created") or write_letter(room, "x", "ann", "session-1234"))
    write_letter(room, "consumed", "ann", "session-1234")
    daemon.until(lambda: heard.of("message.written"))
    rewrite(daemon.atm, "ann", [], "session-1234")
    daemon.until(lambda: heard.of("message.gone"))
    daemon.another_round("reconcile")
    assert daemon.atm.rows("ann", "session-1234") == []


def test_a_row_that_its_owner_has_read_and_removed_stays_away(shared):
    heard = shared.listen(team=shared.team)
    write_letter(shared.room, "read", team=shared.team)
    shared.until(lambda: heard.of("message.written"))  # or both changes are one to whoever looks
    take(shared.room, shared.team, "ann", Filter())
    shared.until(lambda: heard.of("message.read"))
    rewrite(shared.atm, "ann", [])
    shared.until(lambda: heard.of("message.gone"))
    shared.another_round("reconcile")
    assert shared.atm.rows("ann") == []


def test_a_team_made_anew_under_the_same_name_gets_nothing_of_the_former_one(shared):
    heard = shared.listen(team=shared.team)
    write_letter(shared.room, "of the former team", team=shared.team)
    shared.until(lambda: heard.of("message.written"))
    shared.atm("teams", "delete", shared.team, "--yes", "--force")
    shared.until(lambda: heard.of("team.gone"))
    fresh = build_room(shared.layout)
    create_team(fresh, shared.team)
    add_member(fresh, shared.team, Member("ann"))
    shared.until(lambda: heard.of("team.created"))
    write_letter(fresh, "of the new team", team=shared.team)
    shared.until(lambda: len(heard.of("message.written")) == 2)
    shared.another_round("reconcile")
    assert [row["text"] for row in shared.atm.rows("ann")] == ["of the new team"]
    dropped = write_letter(fresh, "dropped", team=shared.team)
    rewrite(shared.atm, "ann", [])
    shared.until(lambda: dropped in ids(shared.atm))
