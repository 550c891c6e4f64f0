"""The daemon in trouble: whatever is taken away, blocked, flooded or broken, the rest goes on and nothing is lost."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.optional import needs
from tests.proving import proves
from tests.teamd.conftest import house_for_many, is_deleted
from tests.teamd.forked import BRISK

from atm.core.errors import AtmError
from atm.files.adapters.disk import RealDisk
from atm.files.adapters.processes import began
from atm.mail.services.posting import Draft
from atm.mail.services.sending import send
from atm.roster.services.members import add_member, create_team
from atm.team.rules.team import Member
from atm.wiring.mail import build_room

PING = b'{"v": 1, "id": "1", "do": "ping"}\n'

STOPS_WITHIN = 40
"""Seconds. It gives its parts ten; the rest is for a busy machine. Whatever it must not wait for takes a minute."""


def write_letter(room: Any, text: str, to: str = "ann", team: str = "crew") -> str:
    return str(send(room, team, to, Draft(sender="bob", text=text)).message_id)


def ids(atm: Any, agent: str = "ann", *team: str) -> list[str]:
    return [row["message_id"] for row in atm.rows(agent, *team) if "message_id" in row]


@pytest.fixture
def other(room: Any) -> Any:
    """Another team, which has nothing to do with the trouble: `calm`, of dora and emil."""
    create_team(room, "calm")
    for name in ("dora", "emil"):
        add_member(room, "calm", Member(name))
    return room


@pytest.fixture
def calm(shared: Any) -> str:
    """The same beside a daemon that others use too: its name."""
    name = f"calm-{shared.team}"
    shared.add_team(name, "dora", "emil")
    return name


def works_for(daemon: Any, room: Any, team: str = "calm") -> None:
    """The calm team has everything that a daemon gives: events, put-back, the spool."""
    heard = daemon.listen(team=team)
    dropped = write_letter(room, "dropped", "dora", team)
    daemon.until(lambda: heard.of("message.written", subject="dora"))
    path = daemon.atm.inbox("dora", team)
    path.write_text("[]")
    daemon.until(lambda: dropped in ids(daemon.atm, "dora", team))
    daemon.another_round("spool")


# Teams that vanish.


def test_a_team_deleted_in_the_middle_of_a_storm_costs_nobody_else_anything(daemon, other):
    heard = daemon.listen("team")
    half_way = threading.Event()
    calm: list[str] = []
    gone: list[str] = []

    def storm(team: str, to: str, into: list[str]) -> None:
        room = build_room(daemon.layout)
        for number in range(40):
            try:
                into.append(write_letter(room, f"{number}", to, team))
            except AtmError as error:
                into.append(str(error))
            if number == 20:
                half_way.set()

    storms = [threading.Thread(target=storm, args=("crew", name, gone)) for name in ("ann", "bob")]
    storms += [threading.Thread(target=storm, args=("calm", name, calm)) for name in ("dora", "emil")]
    for thread in storms:
        thread.start()
    assert half_way.wait(120)
    shutil.rmtree(daemon.atm.home / ".claude/teams/crew", ignore_errors=True)
    for thread in storms:
        thread.join(120)
    daemon.until(lambda: is_deleted(daemon.atm.home / ".claude/teams/crew"))
    daemon.until(lambda: heard.of("team.gone", team="crew"))
    daemon.until(lambda: not daemon.atm.pending)
    assert sorted([*ids(daemon.atm, "dora", "calm"), *ids(daemon.atm, "emil", "calm")]) == sorted(calm)
    for name in ("spool", "reconcile", "delivery"):
        daemon.another_round(name)
    assert not (daemon.atm.home / ".claude/teams/crew").exists(), "the daemon brought a deleted team back"
    assert [loop["name"] for loop in daemon.status()["loops"] if loop["failures"]] == []
    works_for(daemon, other)


def test_everything_deleted_while_it_runs_is_found_again_when_it_is_there_again(daemon):
    daemon.until(lambda: is_deleted(daemon.atm.home / ".claude"))
    daemon.until(lambda: daemon.ask("wake", loop="reconcile"))
    fresh = build_room(daemon.layout)
    create_team(fresh, "calm")
    add_member(fresh, "calm", Member("dora"))
    works_for(daemon, fresh)


BROKEN: dict[str, Callable[[Path], object]] = {
    "config.json": lambda team: (team / "config.json").write_text("{"),
    "config.json, deep": lambda team: (team / "config.json").write_text("[" * 200_000),
    "inbox": lambda team: (team / "inboxes/ann.json").write_text('[{"from": '),
    "inbox, deep": lambda team: (team / "inboxes/ann.json").write_text("[" * 20_000),  # 20 times as deep as Python goes
    "inbox, long number": lambda team: (team / "inboxes/ann.json").write_text('[{"read": ' + "9" * 10_000 + "}]"),
    "inbox, half characters": lambda team: (team / "inboxes/ann.json").write_text(
        '[{"from": "\\ud800", "text": "\\udfff", "summary": "\\udc80", "timestamp": "\\ud800", "read": false}]'
    ),
    "inbox, a folder": lambda team: _folder_at(team / "inboxes/ann.json"),
    "inboxes, a file": lambda team: _file_at(team / "inboxes", b""),
    "ledger": lambda team: _file_at(team / "mailbox.log", b"\xff\xfe{\n" * 100),
    "ledger, a folder": lambda team: _folder_at(team / "mailbox.log"),
    "heartbeat": lambda team: _made(team / "heartbeats/ann.json").write_text('{"at": 1e999, "pid": -1}'),
    "heartbeats, a file": lambda team: _file_at(team / "heartbeats", b""),
    "endpoint": lambda team: _made(team / "endpoints/ann.json").write_text('{"host": 5, "pane": []}'),
    "task": lambda team: _made(team.parents[1] / "tasks" / team.name / "1.json").write_text("[" * 200_000),
    "tasks, a file": lambda team: _file_at(_made(team.parents[1] / "tasks" / team.name), b""),
    "state.json": lambda team: (team / "state.json").write_text("[]"),
}


def _file_at(path: Path, content: bytes) -> None:
    stranger = path.with_name(f".broken-{path.name}")
    stranger.write_bytes(content)
    _put(stranger, path)


def _folder_at(path: Path) -> None:
    stranger = path.with_name(f".broken-{path.name}")
    stranger.mkdir()
    _put(stranger, path)


def _put(stranger: Path, path: Path) -> None:
    """The daemon puts what is missing back at once, so the two change places in one step."""
    if not path.exists():
        stranger.rename(path)
        return
    assert RealDisk().exchange(str(stranger), str(path)), "this system cannot exchange two names"
    shutil.rmtree(stranger) if stranger.is_dir() else stranger.unlink()


def _made(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


@pytest.mark.parametrize("damage", BROKEN.values(), ids=BROKEN.keys())
def test_a_team_whose_files_are_broken_costs_nobody_else_anything(shared, calm, damage):
    former = {loop["name"]: loop["failures"] for loop in shared.status()["loops"]}
    write_letter(shared.room, "before", team=shared.team)
    damage(Path(shared.layout.team(shared.team)))
    works_for(shared, shared.room, calm)
    for name in former:
        shared.another_round(name)
    loops = shared.status()["loops"]
    assert [(loop["name"], loop["last_error"]) for loop in loops if loop["failures"] > former[loop["name"]]] == []
    assert [line for line in shared.log() if line["level"] == "error"] == []


# Whoever hangs.


def test_an_inbox_that_is_a_pipe_holds_nobody_else_up(daemon, other):
    path = daemon.atm.inbox("ann")
    stranger = path.with_name(f".broken-{path.name}")
    os.mkfifo(stranger)
    _put(stranger, path)
    try:
        works_for(daemon, other)
        assert daemon.end() == 0
    finally:
        path.unlink()


@contextlib.contextmanager
def held(*paths: Path) -> Iterator[None]:
    """Inboxes locked as Claude Code does it, by somebody alive who keeps his locks fresh."""
    done = threading.Event()
    folders = [path.with_name(f"{path.name}.lock") for path in paths]

    def keep() -> None:
        while not done.wait(0.5):
            for folder in folders:
                os.utime(folder)

    for folder in folders:
        _take(folder)
    thread = threading.Thread(target=keep)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        for folder in folders:
            folder.rmdir()


def _take(lock: Path) -> None:
    """As a client does: whoever has it now is waited for."""
    end = time.monotonic() + 60
    while True:
        try:
            lock.mkdir()
            return
        except FileExistsError:
            assert time.monotonic() < end, f"somebody keeps {lock}"
            time.sleep(0.002)


def test_an_inbox_that_somebody_keeps_locked_holds_nobody_else_up_and_gets_its_row_afterwards(shared, calm):
    dropped = write_letter(shared.room, "dropped", team=shared.team)
    with held(shared.atm.inbox("ann")):
        shared.atm.inbox("ann").write_text("[]")
        shared.until(lambda: shared.loop("reconcile")["state"] == "running")
        works_for(shared, shared.room, calm)
        assert ids(shared.atm) == []
    shared.until(lambda: dropped in ids(shared.atm))


@pytest.fixture
def busy(house: Any, room: Any) -> Iterator[Any]:
    """A daemon whose reconcile is at work for a minute: many rows to put back, every inbox locked by somebody."""
    names = [f"m{number}" for number in range(12)]
    for name in names:
        add_member(room, "crew", Member(name))
        write_letter(room, "dropped", name)
    paths = [house.atm.inbox(name) for name in names]
    with held(*paths):
        for path in paths:
            path.write_text("[]")
        house.start(env={"PYTHONPATH": BRISK})
        house.until(lambda: house.loop("spool")["runs"] and house.loop("reconcile")["state"] == "running")
        yield house


def test_stopping_does_not_wait_for_a_busy_loop_and_says_what_was_left(busy):
    began_at = time.monotonic()
    assert busy.end() == 0
    assert time.monotonic() - began_at < STOPS_WITHIN
    assert any("left" in text and "reconcile" in text for text in busy.texts("daemon"))
    assert "reconcile" in busy.said


def test_whoever_stops_it_is_told_what_was_left(busy):
    stopped = busy.atm("daemon", "stop", "--seconds", "100", timeout=150)
    assert "reconcile" in stopped.out + stopped.err


def test_what_a_stopped_daemon_had_begun_is_finished_by_the_next(brisk_daemon, room):
    dropped = write_letter(room, "dropped")
    with held(brisk_daemon.atm.inbox("ann")):
        brisk_daemon.atm.inbox("ann").write_text("[]")
        brisk_daemon.until(lambda: brisk_daemon.loop("reconcile")["state"] == "running")
        brisk_daemon.end()
    brisk_daemon.start()
    brisk_daemon.until(lambda: dropped in ids(brisk_daemon.atm))
    assert len(ids(brisk_daemon.atm)) == 1


# Clients.


@proves("R001-2.2-05")
def test_fifty_connections_at_once_are_all_answered(shared):
    lines = [shared.connect() for _ in range(50)]
    for line in lines:
        line.sendall(PING)
    answers = [json.loads(line.recv(65_536)) for line in lines]
    for line in lines:
        line.close()
    assert [answer["result"]["pid"] for answer in answers] == [shared.pid] * 50


def test_connections_that_say_nothing_shut_nobody_else_out(shared):
    lines = [shared.connect() for _ in range(150)]
    try:
        assert shared.status()["pid"] == shared.pid
    finally:
        for line in lines:
            line.close()


def test_a_client_that_asks_and_never_reads_holds_nobody_up_and_does_not_keep_it_from_stopping(daemon):
    with daemon.connect() as line:
        line.settimeout(1)
        with contextlib.suppress(TimeoutError):
            while line.sendall(PING * 1000) is None:  # until nobody takes any more
                pass
        assert daemon.status()["memory"] < 200e6
        assert daemon.end() == 0


def test_a_listener_that_never_reads_holds_no_other_listener_up(daemon, room):
    with daemon.connect() as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        line.sendall(b'{"v": 1, "id": "1", "do": "events"}\n')
        heard = daemon.listen()
        for number in range(300):
            write_letter(room, f"{number} {'x' * 80}")
        daemon.until(lambda: len(heard.of("message.written")) == 300)
        assert daemon.end() == 0


GARBAGE = {
    "nothing": b"\n\n\n",
    "no text": bytes(range(256)) + b"\n",
    "deep": b"[" * 100_000 + b"\n",
    "deep fields": b'{"v": 1, "do": "ping", "x": ' + b'{"x": ' * 50_000 + b"\n",
    "a long number": b'{"v": 1, "do": "ping", "x": ' + b"9" * 10_000 + b"}\n",
    "half characters": b'{"v": 1, "id": "\\ud800", "do": "\\udfff"}\n',
    "half a team": b'{"v": 1, "id": "\\ud800", "do": "events", "team": "\\udfff", "kinds": ["\\ud800"]}\n',
    "kinds of kinds": b'{"v": 1, "do": "events", "kinds": {"a": 1}, "team": 7}\n',
}


@pytest.fixture(scope="module")
def fed_with_garbage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A daemon for all of it: what one kind leaves behind shows with the next, or at the end."""
    with house_for_many(tmp_path_factory.mktemp("g")) as made:
        yield made.start_and_settle()
        assert made.end() == 0
        assert "Traceback" not in made.said


@pytest.mark.parametrize("data", GARBAGE.values(), ids=GARBAGE.keys())
def test_garbage_is_answered_or_hung_up_on_and_leaves_no_trace(fed_with_garbage, data):
    daemon = fed_with_garbage
    with daemon.connect() as line:
        line.sendall(data)
        assert line.recv(65_536) is not None
    assert daemon.answers
    assert daemon.process.poll() is None
    assert "Traceback" not in daemon.said


# What is taken away.


@proves("R001-9-08")
def test_a_log_that_is_removed_or_turned_over_goes_on_in_a_new_file(daemon):
    path = Path(daemon.layout.daemon_log)
    path.unlink()
    daemon.ask("reload")
    daemon.until(lambda: "read again" in daemon.texts("settings"))
    path.rename(path.with_suffix(".old"))
    daemon.ask("reload")
    daemon.until(lambda: "read again" in daemon.texts("settings"))
    assert daemon.status()["log_dropped"] == 0


@pytest.mark.parametrize("name", ["socket", "pid.json", "mcp.sock"])
def test_what_makes_it_reachable_is_made_again_when_somebody_removes_it(brisk_daemon, name):
    pid, path = brisk_daemon.pid, os.path.join(os.path.dirname(brisk_daemon.socket), name)
    path = path if os.path.lexists(path) else f"{brisk_daemon.layout.daemon}/{name}"
    os.unlink(path)
    brisk_daemon.until(lambda: os.path.lexists(path))
    brisk_daemon.until(lambda: brisk_daemon.answers)
    assert brisk_daemon.pid == pid, "by the daemon that runs, and not by another"
    assert stat.S_IMODE(os.lstat(path).st_mode) == 0o600
    brisk_daemon.until(lambda: any(f"{path} was removed" in text for text in brisk_daemon.texts()))


def test_whoever_is_connected_when_the_socket_is_removed_stays_connected(brisk_daemon, other):
    listener = brisk_daemon.listen("message")
    os.unlink(brisk_daemon.socket)
    brisk_daemon.until(lambda: brisk_daemon.answers)
    written = write_letter(other, "to whoever listens")
    brisk_daemon.until(lambda: listener.of("message.written"))
    assert ids(brisk_daemon.atm) == [written]


def test_starting_a_daemon_whose_socket_was_removed_waits_until_it_can_be_reached(brisk_daemon):
    pid = brisk_daemon.pid
    os.unlink(brisk_daemon.socket)
    assert brisk_daemon.atm("daemon", "start", "--json").json == {"action": "daemon start", "pid": pid, "already": True}
    assert brisk_daemon.answers


def test_something_else_in_place_of_the_socket_shows_and_when_it_is_gone_the_daemon_is_heard_again(brisk_daemon):
    pid, path = brisk_daemon.pid, brisk_daemon.socket
    brisk_daemon.until(lambda: _is_a_folder(path))
    assert f"process {pid}" in brisk_daemon.atm("daemon", "status", code=1).out
    assert brisk_daemon.atm("daemon", "status", "--json", code=1).json["answers"] is False
    brisk_daemon.until(lambda: any("cannot be made again" in text for text in brisk_daemon.texts()))
    os.rmdir(path)
    brisk_daemon.until(lambda: brisk_daemon.answers)
    assert brisk_daemon.pid == pid


def _is_a_folder(path: str) -> bool:
    """The daemon may make its socket again between the two steps."""
    if os.path.isdir(path):
        return True
    try:
        os.unlink(path)
        os.mkdir(path)
    except OSError:
        return False
    return True


def _is_removed(folder: str) -> bool:
    """The daemon may be writing there at the same time."""
    shutil.rmtree(folder, ignore_errors=True)
    return not os.path.exists(f"{folder}/pid.json") and not os.path.exists(f"{folder}/daemon/pid.json")


@pytest.mark.parametrize("removed", ["daemon", "state_root"])
def test_without_its_folder_it_gives_way_or_takes_its_seat_again_so_that_never_two_serve_one_home(
    brisk_daemon, other, removed
):
    written = write_letter(other, "kept")
    brisk_daemon.until(lambda: _is_removed(getattr(brisk_daemon.layout, removed)))
    brisk_daemon.atm("daemon", "start", code=None)
    brisk_daemon.until(lambda: len(brisk_daemon.processes) == 1)
    brisk_daemon.until(lambda: brisk_daemon.answers)
    assert brisk_daemon.processes == [brisk_daemon.pid]
    works_for(brisk_daemon, other)
    assert ids(brisk_daemon.atm) == [written]


@needs("mount")
def test_a_full_disk_is_survived_and_counted(house, room):
    if os.getuid() != 0 or sys.platform != "linux":
        pytest.skip("mounting needs root")
    small = Path(house.layout.state_root)
    small.mkdir(parents=True, exist_ok=True)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "atm-test", str(small)], check=False)
    if mounted.returncode:
        pytest.skip("tmpfs cannot be mounted here")
    try:
        house.start()
        full = small / "full"
        with open(full, "wb", buffering=0) as file, contextlib.suppress(OSError):
            while file.write(b"x" * 4096):  # until there is no space
                pass
        for _ in range(100):
            house.ask("reload")
            house.another_round("spool")
            if house.status()["log_dropped"]:
                break
        assert house.answers
        full.unlink()
        works_for(house, _calm_team(house))
        assert house.end() == 0
    finally:
        house.clean_up()
        subprocess.run(["umount", "-l", str(small)], check=True)


def _calm_team(house: Any) -> Any:
    made = build_room(house.layout)
    create_team(made, "calm")
    add_member(made, "calm", Member("dora"))
    return made


def test_it_lives_through_a_shortage_of_open_files(house, room):
    house.spawn(before=["sh", "-c", 'ulimit -n 64; exec "$@"', "sh"])
    house.until(lambda: house.answers)
    lines = []
    for _ in range(80):
        line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        line.setblocking(False)
        try:
            line.connect(house.socket)
        except BlockingIOError:
            line.close()
            break
        lines.append(line)
    write_letter(room, "meanwhile")
    for line in lines:
        line.close()
    house.until(lambda: house.answers)
    works_for(house, _calm_team(house))


# Plugins.

PLUGIN = '''
import asyncio, os, signal, subprocess, sys, time
from atm.teamd.plugins.api import PluginMetadata

class Stubborn:
    """Ignores every request to end, and so does what it started."""
    def metadata(self):
        return PluginMetadata("stubborn", "1.0", "for tests", ())
    async def init(self, ctx):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    async def run(self, ctx, cancel):
        program = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True)"
        child = subprocess.Popen([sys.executable, "-c", program + "; time.sleep(600)"], stdout=subprocess.PIPE)
        await asyncio.to_thread(child.stdout.readline)
        ctx.log("info", "nobody listens any more")
        while True:
            time.sleep(0.2)
            await asyncio.sleep(0)
    async def shutdown(self):
        time.sleep(600)

class Broken:
    def metadata(self):
        return PluginMetadata("broken", "1.0", "for tests", ())
    async def init(self, ctx):
        raise ZeroDivisionError("oh")
    async def run(self, ctx, cancel):
        pass
    async def shutdown(self):
        pass
'''


@pytest.fixture
def plugged(house: Any, room: Any, tmp_path: Path) -> Any:
    """A daemon with one plugin that does not end and one that does not begin."""
    installed = tmp_path / "installed"
    facts = installed / "atm_trouble-1.0.dist-info"
    facts.mkdir(parents=True)
    (installed / "atm_trouble.py").write_text(PLUGIN)
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: atm-trouble\nVersion: 1.0\n")
    points = "[atm.plugins]\nstubborn = atm_trouble:Stubborn\nbroken = atm_trouble:Broken\n"
    (facts / "entry_points.txt").write_text(points)
    settings = Path(house.layout.settings)
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text("[plugins.stubborn]\nenabled = true\nsilent_after = 300\n[plugins.broken]\nenabled = true\n")
    house.start(env={"PYTHONPATH": f"{BRISK}:{installed}"})
    house.until(lambda: "nobody listens any more" in house.texts("plugin:stubborn"))
    house.until(lambda: any("it failed" in text for text in house.texts("plugin:broken")))
    assert len(children(house)) >= 2
    return house


def children(house: Any) -> list[int]:
    """Whoever is in this sandbox besides the daemon."""
    return [pid for pid in house.processes if pid != house.process.pid]


@proves("R001-5.1-05", "R001-5.4-03")
def test_plugins_that_do_not_end_are_ended_with_it_and_named(plugged):
    began_at = time.monotonic()
    assert plugged.end() == 0
    assert time.monotonic() - began_at < STOPS_WITHIN
    assert "plugin stubborn (killed)" in plugged.said
    plugged.until(lambda: not children(plugged))


def test_plugins_of_a_killed_daemon_end_by_themselves_or_with_the_next(plugged):
    plugged.kill()
    plugged.spawn()
    plugged.until(lambda: plugged.answers)
    plugged.end()
    plugged.until(lambda: not children(plugged))


@proves("R001-5.1-02", "R001-5.1-07", "R001-5.4-03", "R001-5.4-05", "R001-8.2-06")
def test_a_broken_plugin_costs_nobody_else_anything(plugged, other):
    works_for(plugged, other)
    states = {plugin["name"]: plugin for plugin in plugged.status()["plugins"]}
    assert "ZeroDivisionError" in states["broken"]["last_error"]
    assert began(plugged.pid)


@pytest.fixture
def after_a_kill(house: Any, other: Any) -> Iterator[Any]:
    """A former daemon's plugin left members on a roster that somebody keeps locked: clearing up takes its time."""
    names = [f"m{number}" for number in range(12)]
    for name in names:
        add_member(other, "crew", Member(name, backend="plugin:former"))
    book = Path(house.layout.plugin_data("former")) / "members.json"
    book.parent.mkdir(parents=True)
    book.write_text(json.dumps({"members": [{"place": "machine", "team": "crew", "name": name} for name in names]}))
    with held(Path(house.layout.team_config("crew"))):
        yield house.start()


def test_clearing_up_after_a_killed_daemon_keeps_nobody_waiting(after_a_kill, other):
    works_for(after_a_kill, other)


def test_clearing_up_after_a_killed_daemon_does_not_keep_it_from_stopping(after_a_kill):
    began_at = time.monotonic()
    assert after_a_kill.end() == 0
    assert time.monotonic() - began_at < STOPS_WITHIN


def test_a_collector_that_takes_everything_and_answers_nothing_holds_nobody_up(daemon, other):
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen()
        settings = Path(daemon.layout.settings)
        settings.parent.mkdir(parents=True, exist_ok=True)
        settings.write_text(f'[daemon]\ntelemetry = "http://127.0.0.1:{deaf.getsockname()[1]}"\n')
        daemon.until(lambda: daemon.status()["telemetry"] is not None)
        works_for(daemon, other)
        settings.write_text("")  # and the former one is let go
        daemon.until(lambda: daemon.status()["telemetry"] is None)
        settings.write_text(f'[daemon]\ntelemetry = "http://127.0.0.1:{deaf.getsockname()[1]}"\n')
        daemon.until(lambda: daemon.status()["telemetry"] is not None)
        assert daemon.end() == 0
