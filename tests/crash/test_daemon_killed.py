"""
kill -9 of the real daemon, at many moments, while mail is sent, spooled, dropped by a rival and read.

Whatever the moment: every message is in its inbox exactly once or was read by its owner (G1, G2), in the order in which
it was sent (G4), and one last daemon leaves no note, lock or half-made file behind (G7).
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.chaos import LONG
from tests.conftest import UNHURRIED
from tests.proving import proves

from atm.core.errors import AtmError, FileBusy
from atm.daemon.adapters.client import ask, stop
from atm.daemon.adapters.seat import find_running
from atm.files.adapters.locking import Locks, SharedLock
from atm.files.adapters.machine import find_layout
from atm.mail.services.posting import Draft
from atm.mail.services.reading import Filter, take
from atm.mail.services.sending import send
from atm.roster.services.members import add_member, create_team
from atm.roster.services.teamroom import Teamroom
from atm.team.rules.endpoints import Endpoint
from atm.team.rules.team import Member
from atm.team.services.endpoints import put_endpoint
from atm.wiring.mail import build_room

ANSWERS_IN = 60.0


class SomeTimeAgo:
    """Ten seconds before now, when nobody napped: what did not work then was tried three times and is due again."""

    def now(self) -> float:
        return time.time() - 10

    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:  # noqa: ARG002
        return None


class Mortal:
    """A home with a team, and a daemon that is killed again and again."""

    def __init__(self, atm: Any) -> None:
        self.atm = atm
        self.home: Path = atm.home
        self.layout = find_layout({"ATM_HOME": str(atm.home)})
        self.room = self.a_room()
        self.kills = 0
        self._process: subprocess.Popen[bytes] | None = None
        create_team(self.room, "crew", lead="lena")
        for name in ("ann", "bob", "cleo"):
            add_member(self.room, "crew", Member(name))

    def a_room(self) -> Teamroom:
        """Each thread has its own, as each process would."""
        return build_room(self.layout)

    # The daemon.

    def start(self) -> None:
        with open(self.home / "said.txt", "ab") as said:
            self._process = subprocess.Popen(
                self.atm.command("daemon", "run"),
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                env=self.atm.environment,
                cwd=self.home,
            )

    def start_and_wait(self) -> None:
        self.start()
        self.until(lambda: find_running(self.layout) is not None and ask(self.layout, "ping"))

    def is_up(self) -> bool:
        """Has the daemon that was started last taken its seat? The one before left its note there too."""
        try:
            note = json.loads((Path(self.layout.daemon) / "pid.json").read_bytes())
        except (OSError, ValueError):
            return False
        return self._process is not None and bool(note["pid"] == self._process.pid)

    def kill(self) -> None:
        if self._process is not None:
            self.kills += self._process.poll() is None
            self._process.kill()
            self._process.wait(60)
            self._process = None

    def let_locks_grow_old(self) -> None:
        """
        Half a minute passes: nobody who has a lock is alive.

        Whoever was killed between making a lock and noting that it is his has left one that looks foreign, and those
        are broken late (D2).
        """
        then = time.time() - 31
        for path in (self.home / ".claude").rglob("*.lock"):
            if path.is_dir():
                os.utime(path, (then, then))

    def request_stop(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)

    def end(self) -> None:
        """As its user would."""
        assert stop(self.layout, 60.0) == "stopped"
        if self._process is not None:
            assert self._process.wait(60) == 0
            self._process = None

    def until(self, condition: Callable[[], object], seconds: float = 90.0, nap: float = 0.02) -> None:
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, f"it did not come true; {self.said}"
            time.sleep(nap)

    @property
    def said(self) -> str:
        return (self.home / "said.txt").read_text()

    # Mail.

    def inbox(self, agent: str) -> Path:
        return self.home / ".claude/teams/crew/inboxes" / f"{agent}.json"

    def ids(self, agent: str) -> list[str]:
        """Read by the standard parser, so a torn file fails here."""
        return [row["message_id"] for row in json.loads(self.inbox(agent).read_bytes()) if "message_id" in row]

    def states(self, agent: str) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for line in (self.home / ".claude/teams/crew/mailbox.log").read_text().splitlines():
            entry = json.loads(line)
            if entry.get("agent") == agent:
                for id in entry.get("ids") or [entry.get("id")]:
                    found.setdefault(id, []).append(entry.get("state", ""))
        return found

    def write(self, to: str, text: str, room: Teamroom | None = None) -> str:
        return str(send(room or self.room, "crew", to, Draft(sender="lena", text=text)).message_id)

    def lost(self, agent: str, sent: list[str]) -> list[str]:
        """What is neither in the inbox nor was read by its owner."""
        found, past = self.ids(agent), self.states(agent)
        return [id for id in sent if id not in found and "read" not in past.get(id, [])]

    @contextmanager
    def unreadable(self, agent: str) -> Iterator[None]:
        """
        Another program has put half a file there for a moment; it brings back what it found.

        Both under the lock: else it would drop what is written between its reading and its writing, on a busy machine
        that is a lot, and what was dropped comes back, but later than what was sent after it.
        """
        path = self.inbox(agent)
        with self._alone_at(path):
            found = path.read_bytes()
            self._put(path, b'[{"from": ')
        try:
            yield
        finally:
            with self._alone_at(path):
                self._put(path, found)

    def _alone_at(self, path: Path) -> SharedLock:
        """Patient enough for the lock of a killed daemon that looks foreign for half a minute."""
        locks: Locks = self.a_room().inboxes._locks  # type: ignore[attr-defined]
        return locks.shared(str(path), patience=120.0)

    def _put(self, path: Path, data: bytes) -> None:
        aside = path.with_name(f".{path.name}.rival")
        aside.write_bytes(data)
        aside.replace(path)

    def spool(self, to: str, count: int) -> list[str]:
        """Mail for somebody whose inbox cannot be written at the moment: a folder lies in its place."""
        path = self.inbox(to)
        aside = path.rename(path.with_suffix(".aside"))
        path.mkdir()
        room = build_room(self.layout, clock=SomeTimeAgo())
        sent = [self.write(to, f"spooled {number}", room) for number in range(count)]
        path.rmdir()
        aside.rename(path)
        return sent

    @property
    def pending(self) -> list[str]:
        folder = self.layout.spool_pending
        return [name for name in os.listdir(folder) if not name.startswith(".")] if os.path.isdir(folder) else []

    # What is left.

    def litter(self) -> list[str]:
        """Locks, half-made files, notes, and whatever a running daemon leaves."""
        teams, state = self.home / ".claude", Path(self.layout.state_root)
        found = [
            *teams.rglob("*.lock"),
            *teams.rglob(".*atm-*"),
            *self.home.rglob(".*.new*"),
            *self.home.rglob("*.trying"),
        ]
        found += [path for path in (state / "surfacing").rglob("*") if path.is_file()]
        found += [state / "daemon" / name for name in ("pid.json", "pid.json.new", "socket")]
        return [str(path) for path in found if path.name != ".lock" and path.exists()]

    def settle(self, is_done: Callable[[], object] = lambda: True) -> None:
        """One last daemon, which is left alone until it has nothing to do any more."""
        self.let_locks_grow_old()
        self.start_and_wait()
        self.until(lambda: not self.pending and is_done(), seconds=180)
        for name in ("spool", "reconcile", "delivery"):
            self._go_round(name)
        self.end()

    def _go_round(self, name: str) -> None:
        before = self._runs(name)
        self.until(lambda: ask(self.layout, "wake", {"loop": name}, ANSWERS_IN) and self._runs(name) > before + 1)

    def _runs(self, name: str) -> int:
        facts: Any = ask(self.layout, "status", seconds=ANSWERS_IN)
        assert facts is not None, f"it does not answer; {self.said}"
        return next(int(loop["runs"]) for loop in facts["loops"] if loop["name"] == name)


@pytest.fixture
def mortal(atm: Any) -> Iterator[Mortal]:
    atm.environment["PYTHONPATH"] = str(UNHURRIED)  # one that is busy refuses to answer after half a second
    made = Mortal(atm)
    yield made
    made.kill()
    running = find_running(made.layout)
    if running is not None:
        os.kill(running.pid, signal.SIGKILL)


class Crowd:
    """Threads that do something until they are told to end; what they met is raised at the end."""

    def __init__(self) -> None:
        self.done = threading.Event()
        self._threads: list[threading.Thread] = []
        self._met: list[BaseException] = []

    def add(self, work: Callable[[], None]) -> None:
        def run() -> None:
            try:
                work()
            except BaseException as error:  # noqa: BLE001 - raised in the test's own thread
                self._met.append(error)

        self._threads.append(threading.Thread(target=run))
        self._threads[-1].start()

    def wait(self, *, first: int) -> bool:
        """Have the first so many ended?"""
        return not any(thread.is_alive() for thread in self._threads[:first])

    def end(self) -> None:
        self.done.set()
        for thread in self._threads:
            thread.join(240)
        if self._met:
            raise self._met[0]


@pytest.mark.campaign
@pytest.mark.parametrize("seed", range(8 if LONG else 1))
def test_killed_at_any_moment_of_a_storm_it_loses_and_doubles_nothing(mortal, seed):
    dice = random.Random(seed)
    sent: dict[str, list[str]] = {"ann": [], "bob": [], "cleo": []}
    crowd = Crowd()

    def write_to(name: str) -> None:
        room = mortal.a_room()
        for number in range(67 if LONG else 20):
            sent[name].append(mortal.write(name, f"{number}", room))
            crowd.done.wait(0.05)  # so that the storm lasts for several daemons

    def block() -> None:
        """Now and then nobody can write to cleo, so that the spool has something to do."""
        while not crowd.done.wait(0.4):
            with mortal.unreadable("cleo"):
                crowd.done.wait(0.5)

    def read() -> None:
        room = mortal.a_room()
        while not crowd.done.wait(0.05):
            try:
                take(room, "crew", "bob", Filter())
            except FileBusy:
                continue  # a daemon was killed between making a lock and noting that it is his: half a minute (D2)

    def rewrite() -> None:
        """Reads, dawdles and writes back whole, without any lock: rows that came meanwhile are dropped."""
        its_dice = random.Random(seed + 100)
        while not crowd.done.wait(0.2 + its_dice.random() / 3):
            path = mortal.inbox(its_dice.choice(["ann", "bob"]))
            stale = path.read_bytes()
            time.sleep(its_dice.random() / 20)
            aside = path.with_name(f".{path.name}.rival")
            aside.write_bytes(stale)
            aside.replace(path)

    for name in sent:
        crowd.add(partial(write_to, name))
    crowd.add(block)
    crowd.add(read)
    crowd.add(rewrite)
    while not crowd.wait(first=3):
        mortal.start()
        time.sleep(dice.uniform(0.3, 1.0))  # the moment is what is tried out here
        if dice.random() < 0.3:
            mortal.request_stop()
            time.sleep(dice.uniform(0.0, 0.05))
        mortal.kill()
    crowd.end()
    mortal.settle(lambda: not any(mortal.lost(name, expected) for name, expected in sent.items()))
    assert mortal.kills >= 2
    for name in sent:
        assert [id for id, count in Counter(mortal.ids(name)).items() if count > 1] == [], f"doubled for {name}"
    assert [id for id in mortal.ids("cleo") if id in sent["cleo"]] == sent["cleo"], "in another order"
    assert mortal.litter() == []


def steps(mortal: Mortal) -> dict[str, Callable[[], object]]:
    """What can be seen from outside while the daemon delivers from the spool and puts rows back."""
    inboxes = mortal.inbox("ann").parent
    pending, process_file = Path(mortal.layout.spool_pending), Path(mortal.layout.daemon) / "pid.json"
    return {
        "trying": lambda: any(name.endswith(".trying") for name in _names(pending)),
        "lock": lambda: "ann.json.lock" in _names(inboxes),
        "half-made": lambda: any(name.startswith(".ann.json") for name in _names(inboxes)),
        "first": process_file.exists,
        "some": lambda: mortal.inbox("ann").stat().st_size > 3000,
    }


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


TIMES = 8 if LONG else 2
"""How often a daemon is killed at the same step before one is left alone."""


def watch_and_kill(mortal: Mortal, step: Callable[[], object], is_over: Callable[[], object]) -> None:
    """Start it and kill it the moment that a step can be seen, until there is nothing left to be seen."""
    for _ in range(TIMES):
        mortal.start()
        mortal.until(lambda: mortal.is_up() or is_over(), nap=0.002)
        end = time.monotonic() + 60
        while not step() and not is_over() and time.monotonic() < end:
            pass  # a step takes microseconds: whoever naps misses it
        mortal.kill()
        mortal.let_locks_grow_old()
        if is_over():
            return


@pytest.mark.parametrize("step", ["trying", "lock", "half-made", "first", "some"])
def test_killed_at_a_step_of_draining_the_spool_it_delivers_everything_once_and_in_order(mortal, step):
    sent = mortal.spool("ann", 20)
    watch_and_kill(mortal, steps(mortal)[step], lambda: not mortal.pending)
    mortal.settle(lambda: len(mortal.ids("ann")) >= len(sent))
    assert mortal.kills >= 1
    assert mortal.ids("ann") == sent
    assert mortal.litter() == []


@pytest.mark.parametrize("step", ["lock", "half-made", "first", "some"])
def test_killed_at_a_step_of_putting_rows_back_it_puts_each_back_once(mortal, step):
    sent = [mortal.write("ann", f"{number}") for number in range(30)]
    mortal.inbox("ann").write_text("[]")
    # Whoever is killed as soon as he has his seat never comes to an end: then once is enough.
    for _ in range(1 if step == "first" else 4 if LONG else 2):
        watch_and_kill(mortal, steps(mortal)[step], lambda: len(mortal.ids("ann")) == 30)
        mortal.inbox("ann").write_text("[]")
    mortal.settle(lambda: len(mortal.ids("ann")) >= len(sent))
    assert mortal.ids("ann") == sent
    assert mortal.litter() == []


class Agent:
    """An agent with a server of its own, as OpenCode has it. It is slow, and tells what it was given."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.asked = threading.Event()
        agent = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._say(200, json.dumps([{"parts": [{"type": "text", "text": text}]} for text in agent.texts]))

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                agent.texts.append(body["parts"][0]["text"])
                agent.asked.set()
                time.sleep(0.05)
                self._say(204)

            def _say(self, status: int, text: str = "") -> None:
                try:
                    self.send_response(status)
                    self.send_header("Content-Length", str(len(text)))
                    self.end_headers()
                    self.wfile.write(text.encode("ascii"))
                except OSError:
                    return  # whoever asked was killed

            def log_message(self, *_: object) -> None:
                return

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self._thread = threading.Thread(target=self.server.serve_forever)
        self._thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self._thread.join()


@pytest.fixture
def agent() -> Iterator[Agent]:
    made = Agent()
    yield made
    made.close()


def test_killed_while_it_puts_mail_before_an_agent_it_shows_nothing_twice_and_leaves_no_note(mortal, agent):
    presence = mortal.room.presence
    here = {"host": presence.host, "boot": presence.boot, "url": agent.url, "url_pid": os.getpid()}
    at = Endpoint(vendor="opencode", session="s1", at=time.time(), **here)
    words = [f"letter-{number:02}" for number in range(12)]
    sent = [mortal.write("ann", word) for word in words]
    put_endpoint(mortal.room, mortal.room.rosters.load("crew"), "ann", at)
    dice = random.Random(7)
    for _ in range(TIMES):
        agent.asked.clear()
        mortal.start()
        agent.asked.wait(30)
        time.sleep(dice.uniform(0.0, 0.06))  # before, while and after the agent answers
        mortal.kill()
    mortal.settle(lambda: len(agent.texts) >= len(words))
    assert [[word for word in words if word in text] for text in agent.texts] == [[word] for word in words]
    assert all(row["read"] for row in json.loads(mortal.inbox("ann").read_bytes()))
    assert [states[-1] for id, states in mortal.states("ann").items() if id in sent] == ["surfaced"] * 12
    assert mortal.litter() == []


KILLED_WITH_A_LOCK = """
import os, signal, sys
from atm.files.adapters.machine import find_layout
from atm.wiring.mail import build_room
room = build_room(find_layout({"ATM_HOME": sys.argv[1]}))
room.inboxes.change("crew", "ann", lambda rows: os.kill(os.getpid(), signal.SIGKILL))
"""


def test_a_lock_of_a_killed_process_of_ours_is_gone_after_one_reconcile(mortal):
    """Nobody writes to that inbox any more, so nobody else comes across it (G7)."""
    mortal.write("ann", "hello")
    command = [sys.executable, "-c", KILLED_WITH_A_LOCK, str(mortal.home)]
    assert subprocess.run(command, check=False, timeout=60).returncode == -signal.SIGKILL
    assert mortal.litter()
    mortal.settle()
    assert mortal.litter() == []
    assert len(mortal.ids("ann")) == 1


@proves("R001-1-05")
def test_killed_in_the_middle_of_a_broken_home_it_starts_again(mortal):
    """A note, a socket, a process file and a log that mean nothing any more."""
    folder = Path(mortal.layout.daemon)
    mortal.start_and_wait()
    mortal.kill()
    for name in ("pid.json", "pid.json.new", "log.jsonl", "start.log"):
        (folder / name).write_bytes(b"\xff\0{")
    note = Path(mortal.layout.surfacing("crew", "ann"))
    note.parent.mkdir(parents=True, exist_ok=True)
    note.write_bytes(b"{")
    mortal.write("ann", "hello")
    mortal.settle()
    assert len(mortal.ids("ann")) == 1


def test_a_message_that_was_refused_is_an_error_and_not_a_loss(mortal):
    """The guard of this suite itself: what `send` did not report may be missing, and nothing else."""
    with pytest.raises(AtmError):
        mortal.write("nobody", "hello")
    assert sys.platform != "win32"
