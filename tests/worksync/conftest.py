"""
A stage for work-sync: a home, the real daemon with short times, real files, and agents that follow a script.

The ten minutes of a lease are not waited for: under a daemon that is down, `time_passed` makes what was written look
older. When a test is over, every inbox is searched: at most one plain nudge for a member and a fingerprint, whatever
was killed, damaged or asked for meanwhile (G9).
"""

from __future__ import annotations

import contextlib
import itertools
import json
import shutil
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import UNHURRIED
from tests.delivery.conftest import House, Stage, until
from tests.mcp.conftest import Spoken
from tests.teamd.forked import Process, start, stop_and_wait

from atm import config
from atm.daemon.adapters.client import ask
from atm.files.formats.times import from_iso, to_iso
from atm.files.ports.records import INTENTS, OUTBOX, STALLS, STATUS
from atm.team.services.registry import find_team
from atm.wiring.board import build_boardroom
from atm.wiring.worksync import build_syncroom
from atm.worksync.rules.nudges import MESSAGE_KIND, PLAIN_TEXT, SENDER
from atm.worksync.services.nudges import plan
from atm.worksync.services.reading import view
from atm.worksync.services.reconcile import reconcile

if sys.platform == "win32":
    collect_ignore_glob = ["*"]  # unix sockets, tmux and POSIX signals

LONG = 60.0
"""Seconds until a wait is given up; less would not be an answer on a busy machine."""

QUIET = 0.3
"""Seconds: long enough for a command to end before the daemon looks, short enough to wait for."""

Record = dict[str, Any]


def settle_for(house: House, quiet: float = QUIET, stall_minutes: float = 0.0, least_looks: int = 1) -> None:
    """The settings of a home."""
    lines = [
        *("[worksync]", f"quiet_seconds = {quiet}", "observe_minutes = 0", f"least_looks = {least_looks}"),
        *("[board]", f"stall_minutes = {stall_minutes}"),
    ]
    path = Path(house.layout.settings)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")


class Crew(Stage):
    """A team with its lead lena, ann, bob and whoever a test adds, in a house with settings."""

    def __init__(self, house: House, team: str = "crew") -> None:
        self.spoken: list[Spoken] = []
        self.followers: list[Process] = []
        super().__init__(house, team)
        self.add("ann")
        self._read_settings()

    def settle_for(self, **settings: Any) -> None:
        """Other settings, of a home that is this team's alone."""
        settle_for(self.house, **settings)
        self._read_settings()

    def _read_settings(self) -> None:
        settings = config.load(self.layout, {}, "/", {})
        self.syncroom = build_syncroom(self.layout, settings, build_boardroom(self.layout, settings, self.room))

    # Commands, as members type them.

    def run(self, member: str, *words: str, code: int | None = 0) -> Any:
        """`atm …` of a member whose launcher says who it is; what it says as JSON."""
        env = {"ATM_IDENTITY": member, "ATM_TEAM": self.team}
        result = self.atm(*words, "--json", env=env, code=code)
        return json.loads(result.out or result.err)

    def assign(self, owner: str, subject: str = "Write the parser", *more: str) -> str:
        """A task of the lead for somebody; its number."""
        return str(self.run("lena", "tasks", "add", subject, "--owner", owner, *more)["task"]["id"])

    def fingerprint(self, member: str) -> str:
        return str(self.run(member, "sync", "agenda")["agendaFingerprint"])

    def report(self, member: str, state: str, fingerprint: str = "", *more: str, code: int | None = 0) -> Any:
        """By the command; of the agenda as it is, unless another fingerprint is given."""
        named = fingerprint or self.fingerprint(member)
        return self.run(member, "sync", "report", state, "--fingerprint", named, *more, code=code)

    def nudge(self, member: str, by: str = "lena", code: int | None = 0) -> Any:
        return self.run(by, "sync", "nudge", member, code=code)

    def claim(self, member: str, id: str) -> None:
        self.run(member, "tasks", "claim", id)

    def stop_team(self) -> None:
        self.run("lena", "teams", "state", self.team, "stopped")

    def resume_team(self) -> None:
        self.run("lena", "teams", "state", self.team, "pending")

    def mcp(self, member: str) -> Spoken:
        """`atm mcp` of a member, after the handshake."""
        spoken = self.start_mcp(member)
        spoken.shake_hands()
        return spoken

    def start_mcp(self, member: str) -> Spoken:
        process = start(
            self.atm.command("mcp", "--team", self.team, "--as", member),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=self.atm.environment,
            cwd=self.atm.folder,
        )
        self.spoken.append(Spoken(process))
        return self.spoken[-1]

    def follow(self, *words: str) -> Lines:
        """A command that goes on, and the lines that it prints."""
        process = start(
            self.atm.command(*words),
            stdout=subprocess.PIPE,
            env={**self.atm.environment, "ATM_IDENTITY": "lena", "ATM_TEAM": self.team},
            cwd=self.atm.folder,
        )
        self.followers.append(process)
        return Lines(process)

    # What lies on the disk.

    def shelf(self, name: str) -> dict[str, Record]:
        return self.syncroom.records.read(self.team, name)

    def outbox(self, member: str = "") -> list[Record]:
        items = sorted(self.shelf(OUTBOX).values(), key=lambda one: str(one["createdAt"]))
        return [one for one in items if member in ("", one["memberName"])]

    def intents(self) -> list[Record]:
        return list(self.shelf(INTENTS).values())

    def stored(self, member: str) -> Record:
        return self.shelf(STATUS).get(member, {})

    def looks(self, member: str) -> int:
        return int(self.stored(member).get("metrics", {}).get("reconcileCount", 0))

    def journal(self, event: str, member: str = "") -> list[Record]:
        found = [line for line in self.syncroom.journal.last(self.team, 500) if line["event"] == event]
        return [line for line in found if member in ("", line["member"])]

    def nudges(self, member: str) -> list[Record]:
        """Rows of an inbox, by what they say that they are. An inbox that is not there holds none."""
        path = self.atm.inbox(member, self.team)
        rows: list[Record] = json.loads(path.read_bytes()) if path.is_file() else []
        return [row for row in rows if row.get("messageKind") == MESSAGE_KIND]

    def all_nudges(self) -> list[Record]:
        return [row for path in self.inboxes() for row in self.nudges(path.stem)]

    def inboxes(self) -> list[Path]:
        return sorted(Path(self.layout.inboxes(self.team)).glob("*.json"))

    def label(self, member: str) -> str:
        """As every surface shows it, read here: for waiting. Who has just shown up is Working, too."""
        return view(self.syncroom, find_team(self.room, self.team), member).label

    def has_lease(self, member: str) -> bool:
        return view(self.syncroom, find_team(self.room, self.team), member).state == "valid_lease"

    # Waiting.

    def until_state(self, member: str, state: str) -> None:
        """Until the daemon has looked at a member and remembers this."""
        until(lambda: self.stored(member).get("state") == state, LONG, lambda: self.trouble(member))

    def until_nudged(self, member: str, times: int = 1) -> None:
        """And until the outbox knows it."""
        until(
            lambda: len(self.nudges(member)) == times and not self.unsettled(member),
            LONG,
            lambda: self.trouble(member),
        )

    def unsettled(self, member: str) -> list[Record]:
        return [one for one in self.outbox(member) if one["status"] in ("pending", "claimed")]

    def looked_again(self, member: str, times: int = 2) -> None:
        """Let the daemon look at a member some more times: what it would do a second time, it has done by then."""
        for _ in range(times):
            before = self.looks(member)
            self.touch(member)
            until(lambda b=before: self.looks(member) > b, LONG, lambda: self.trouble(member))  # type: ignore[misc]

    def touch(self, member: str) -> None:
        """A change of the roster that is none for the board: everybody is looked at once more."""
        self._changes = getattr(self, "_changes", 0) + 1
        self.atm("teams", "update-member", self.team, member, "--model", f"model-{self._changes}")

    def is_quiet(self) -> bool:
        """Has the daemon nothing more to look at?"""
        facts: Any = ask(self.layout, "status", seconds=LONG)
        return bool(facts["worksync"]["queued"] == 0 == facts["worksync"]["running"])

    def heard(self) -> int:
        """Looks that the daemon has begun."""
        facts: Any = ask(self.layout, "status", seconds=LONG)
        return int(facts["worksync"]["looked_at"])

    def trouble(self, member: str) -> str:
        facts = {
            "stored": self.stored(member),
            "outbox": self.outbox(),
            "journal": self.syncroom.journal.last(self.team, 20),
        }
        return json.dumps(facts, indent=1)[-6000:] + self.house.said

    # Time, and what killed processes leave.

    @contextlib.contextmanager
    def one_moment(self) -> Iterator[None]:
        """For the daemon all this happens at once, however slowly it is typed: it stands still meanwhile."""
        daemon = self.house.daemons[-1]
        stop_and_wait(daemon)
        try:
            yield
        finally:
            daemon.send_signal(signal.SIGCONT)

    def plan_only(self, member: str) -> None:
        """As a daemon leaves it that dies before it sends: the item waits."""
        until(lambda: self.label(member) == "Needs sync", LONG, lambda: self.trouble(member))  # its mail is not new
        looks = reconcile(self.syncroom, self.team, {member: "manual_refresh"})
        (planned,) = plan(self.syncroom, find_team(self.room, self.team), looks)
        assert planned.outcome == "new"

    def alter_items(self, member: str, **facts: Any) -> None:
        """Make the outbox say this of a member's items; the daemon is down."""
        mine = {key for key, one in self.shelf(OUTBOX).items() if one["memberName"] == member}
        self.syncroom.records.change(self.team, OUTBOX, lambda found: {key: {**found[key], **facts} for key in mine})

    def later(self, seconds: float) -> None:
        """A daemon that was down for so long."""
        self.house.stop_daemon()
        self.time_passed(seconds)
        self.house.start_daemon()

    def time_passed(self, seconds: float) -> None:
        """Make everything that is remembered so much older. Nobody may be writing: the daemon is down."""
        for name in (STATUS, OUTBOX, INTENTS, STALLS):
            self.syncroom.records.change(
                self.team, name, lambda records: {key: _older(one, seconds) for key, one in records.items()}
            )
        roster = Path(self.layout.team_config(self.team))
        fields = json.loads(roster.read_text())
        for member in fields["members"]:
            member["joinedAt"] -= int(seconds * 1000)
        roster.write_text(json.dumps(fields))

    # The end.

    def check_nudges(self) -> None:
        """At most one plain nudge for a member and a fingerprint: by the ids of the rows, and by their words."""
        rows = {row["message_id"]: row for row in self.all_nudges()}
        assert len(rows) == len(self.all_nudges()), "one id twice in the inboxes"
        items = {one["deliveredMessageId"]: one for one in self.outbox() if "deliveredMessageId" in one}
        plain = Counter(
            (items[id]["memberName"], items[id]["agendaFingerprint"])
            for id in rows
            if id in items and items[id].get("rung", "plain") == "plain"
        )
        assert {key: count for key, count in plain.items() if count > 1} == {}, plain
        sent = Counter(line["item"] for line in self.journal("dispatched") if _was_inserted(line))
        assert {item: count for item, count in sent.items() if count > 1} == {}, sent
        assert {row["from"] for row in rows.values()} <= {SENDER}
        assert all(PLAIN_TEXT in row["text"] or "was reminded" in row["text"] for row in rows.values())

    def leave(self) -> None:
        for process in [*self.followers, *(one.process for one in self.spoken)]:
            process.kill()
            process.wait(LONG)
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    _close(stream)
        super().leave()
        shutil.rmtree(self.layout.tasks(self.team), ignore_errors=True)


class Lines:
    """What a program says, line by line, as it says it."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.all: list[Any] = []
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        try:
            for line in self.process.stdout:
                self.all.append(json.loads(line))
        except ValueError:
            return  # closed, or its last line was cut


def _was_inserted(line: Record) -> bool:
    """Not found to be there already, and not given up."""
    return line["outcome"] == "delivered" and line.get("why", "") in ("", "queued in the spool")


def _close(stream: Any) -> None:
    try:
        stream.close()
    except OSError:
        pass  # what was left to be written has no reader


def _older(value: Any, seconds: float) -> Any:
    if isinstance(value, dict):
        return {key: _older(one, seconds) for key, one in value.items()}
    if isinstance(value, list):
        return [_older(one, seconds) for one in value]
    if isinstance(value, str) and len(value) >= 20 and value[4:5] == "-" and (at := from_iso(value)) is not None:
        return to_iso(at - seconds)
    return value


@contextlib.contextmanager
def _house(folder: Path, base: Path) -> Iterator[House]:
    house = House(folder, base)
    house.atm.environment["PYTHONPATH"] = str(UNHURRIED)  # a busy machine is no fault
    settle_for(house)
    try:
        yield house
    finally:
        house.close()


@contextlib.contextmanager
def _crew_in(house: House, team: str) -> Iterator[Crew]:
    made = Crew(house, team)
    try:
        yield made
        made.check_nudges()
    finally:
        made.leave()


@pytest.fixture
def alone(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crew]:
    """The team `crew` in a house of its own; no daemon runs yet."""
    with _house(tmp_path / "h", tmp_path_factory.getbasetemp()) as house, _crew_in(house, "crew") as made:
        yield made


@pytest.fixture(scope="session")
def _house_at_work(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with _house(tmp_path_factory.mktemp("w") / "h", tmp_path_factory.getbasetemp()) as house:
        house.start_daemon()
        yield house
        assert house.loop("worksync")["failures"] == 0
        house.stop_daemon()


_numbers = itertools.count(1)


@pytest.fixture
def crew(_house_at_work: House) -> Iterator[Crew]:
    """A team of its own in a house where a daemon runs, which tests share that neither end it nor set it otherwise."""
    with _crew_in(_house_at_work, f"crew-{next(_numbers)}") as made:
        yield made
