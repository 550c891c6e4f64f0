"""
Agents with hooks, several senders, and everything that can go wrong at once: bounded here; long, and with twenty
agents, by `make chaos`.

While mail is sent, the daemon and hooks are killed at random moments, and a rival writes inboxes back as it had read
them. Then everything calms down, the agents go on until nothing waits, and an auditor compares what was sent, what
each agent saw, and what the ledger says.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.chaos import LONG
from tests.conftest import UNHURRIED

from atm.daemon.adapters.client import stop
from atm.daemon.adapters.seat import find_running
from atm.files.adapters.machine import find_layout
from atm.mail.formats.journal import histories
from atm.mail.rules.receipts import RESTORED, RETURNED, already_read
from atm.mail.services.posting import Draft
from atm.mail.services.sending import send
from atm.roster.services.members import add_member, create_team
from atm.team.rules.team import Member
from atm.wiring.mail import build_room

MESSAGES = 1000 if LONG else 20
TEAM = "crew"
AGENTS, SENDERS, VICTIMS = (20, 5, 5) if LONG else (7, 5, 3)
"""The rival writes to the inboxes of the first so many agents."""
VENDORS = ("claude", "codex", "gemini")
FRAME = re.compile(r'<teammate-message [^>]*id="([^"]+)"')

pytestmark = pytest.mark.campaign

MORTAL_HOOK = """
import os, sys, time, zlib
folder, seed, deaths = os.environ["AGENT_FOLDER"], os.environ["SEED"], int(os.environ["DEATHS"])
with open(f"{folder}/calls", "ab") as file:
    file.write(b".")
    roll = zlib.crc32(f"{seed} {os.path.basename(folder)} {file.tell()}".encode())
is_doomed = roll % 100 < deaths and not os.path.exists(os.environ["CALM"])
try:
    with open(f"{folder}/took") as file:
        took = float(file.read() or "0.2")
except OSError:
    took = 0.2
mine, its = os.pipe()
began = time.monotonic()
hook = os.fork()
if not hook:
    os.dup2(its, 1)
    os.execv(sys.executable, [sys.executable, "-m", "atm", *sys.argv[1:]])
os.close(its)
if is_doomed:
    time.sleep((roll >> 8) % 1000 / 1000 * took)
    os.kill(hook, 9)
said = b""
while part := os.read(mine, 65536):
    said += part
_, status = os.waitpid(hook, 0)
if os.WIFSIGNALED(status):
    with open(f"{folder}/killed", "ab") as file:
        file.write(said or b"{}\\n")
else:
    with open(f"{folder}/took", "w") as file:
        file.write(str(time.monotonic() - began))
os.write(1, said)
"""
"""
Runs the real hook and kills some of them, wherever they are: at any moment of the time that the one before took, on a
fast machine too. What was said until then has been heard.
"""


@dataclass
class Agent:
    """One scripted agent, started headless."""

    name: str
    vendor: str
    folder: Path
    process: subprocess.Popen[bytes]
    prompts: int = 0

    @property
    def log(self) -> bytes:
        path = self.folder / "seen.jsonl"
        return path.read_bytes() if path.exists() else b""

    @property
    def is_ready(self) -> bool:
        return b'"ready"' in self.log

    @property
    def is_at_rest(self) -> bool:
        return self.log.count(b'"turn-end"') == self.prompts

    def go_on(self, tools: int = 2) -> None:
        """One turn: a prompt, so many tool calls, and a stop; each of them calls a hook."""
        assert self.process.stdin is not None
        self.prompts += 1
        self.process.stdin.write(b'{"prompt": "/busy %d"}\n' % tools)
        self.process.stdin.flush()

    @property
    def saw(self) -> list[str]:
        """The ids of what came into its context, in order."""
        rows = [json.loads(line) for line in self.log.splitlines()]
        return [id for row in rows if row["kind"] in ("context", "blocked") for id in FRAME.findall(row["text"])]

    @property
    def said_by_the_killed(self) -> list[list[str]]:
        """For each of its hooks that was killed, the ids that it had said by then."""
        path = self.folder / "killed"
        lines = path.read_text().splitlines() if path.exists() else []
        return [FRAME.findall(str(json.loads(line))) for line in lines]


@dataclass
class Report:
    """What the auditor found."""

    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)
    disordered: list[str] = field(default_factory=list)
    unproven: list[str] = field(default_factory=list)
    inconsistent: list[str] = field(default_factory=list)
    said_twice: int = 0
    """Said by a hook that was killed before it could enter that: the one window; the ledger tells of it."""

    @property
    def violations(self) -> dict[str, list[str]]:
        kinds = ("lost", "doubled", "strangers", "disordered", "unproven", "inconsistent")
        return {kind: getattr(self, kind) for kind in kinds if getattr(self, kind)}


class Campaign:
    """A home full of processes and threads."""

    def __init__(self, folder: Path, seed: int, messages: int, *, deaths: int = 20) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.home.mkdir()
        self.dice = random.Random(seed)
        self.messages = messages
        self.daemon_kills = self.rewrites = 0
        self.sent: dict[str, list[tuple[str, str]]] = {}
        """For each agent, (sender, id) as they were sent; each sender's are in order."""
        self._done = threading.Event()
        self._met: list[BaseException] = []
        self._lock = threading.Lock()
        self._daemon: subprocess.Popen[bytes] | None = None
        self.agents: list[Agent] = []
        self.layout = find_layout({"ATM_HOME": str(self.home)})
        self.room = build_room(self.layout)
        (folder / "hook.py").write_text(MORTAL_HOOK)
        kept = {key: value for key, value in os.environ.items() if key in ("PATH", "LANG", "TMPDIR")}
        self._environment = kept | {"ATM_HOME": str(self.home), "HOME": str(self.home), "ATM_TEAM": TEAM}
        self._environment |= {"SEED": str(seed), "DEATHS": str(deaths), "CALM": str(folder / "calm")}
        # A hook that gives up after 3 s, on a busy machine, would be one more of the killed that nobody counts.
        self._environment["PYTHONPATH"] = str(UNHURRIED)

    # From beginning to end.

    def run(self) -> Report:
        create_team(self.room, TEAM, lead="lead")
        for name in [f"a{number:02}" for number in range(AGENTS)] + [f"s{number}" for number in range(SENDERS)]:
            add_member(self.room, TEAM, Member(name))
        self._start_daemon()
        self.agents = [self._start_agent(number) for number in range(AGENTS)]
        self._until(lambda: all(agent.is_ready for agent in self.agents))
        senders = [self._thread(self._send, number) for number in range(SENDERS)]
        rival = self._thread(self._rewrite)
        next_kill = time.monotonic() + self.dice.uniform(0.5, 2.0)
        while (is_sending := any(sender.is_alive() for sender in senders)) or not self._has_struck():
            self._let_agents_work(least=3 if is_sending else 0)
            assert not self._met, self._met
            if time.monotonic() >= next_kill:
                self._kill_daemon()
                self._start_daemon()
                next_kill = time.monotonic() + self.dice.uniform(2.0, 5.0)
        self._done.set()
        rival.join()
        self._settle()
        return audit(self)

    def _has_struck(self) -> bool:
        """Few messages are sent before anything can go wrong: then the agents go on, until it has."""
        return self.rewrites > 0 and any((agent.folder / "killed").exists() for agent in self.agents)

    def _settle(self) -> None:
        """No more kills and no rival; `atm doctor --fix` brings back what was dropped while no daemon looked."""
        self._kill_daemon()
        (self.folder / "calm").touch()
        words = [sys.executable, "-m", "atm", "doctor", "--fix"]
        subprocess.run(words, env=self._environment, cwd=self.folder, capture_output=True, timeout=300, check=False)
        self._start_daemon()
        self._until(lambda: find_running(self.layout) is not None)  # or `end` could not tell it to go
        self._until(lambda: self._let_agents_work() and not self._waits(), 300 + self.messages / 4)
        for agent in self.agents:  # one more turn, so that what would come a second time has come
            agent.go_on(tools=0)
        self._until(lambda: all(agent.is_at_rest for agent in self.agents))

    def _let_agents_work(self, least: int = 1) -> bool:
        """Whoever is at rest and has so much mail gets a prompt, as from its user; true if all are at rest."""
        at_rest = [agent for agent in self.agents if agent.is_at_rest]
        for agent in at_rest:
            if self._unseen(agent.name) >= least:
                agent.go_on()
        time.sleep(0.05)  # everybody else needs the machine more than we do
        return len(at_rest) == len(self.agents)

    def _unseen(self, name: str) -> int:
        """Messages that wait; those of a hook that was killed are at least one."""
        unread = [message.id or "" for message in self.room.inboxes.unread(TEAM, name)]
        past = histories(self.room.ledger.about(TEAM, unread)) if unread else {}
        is_cut_off = self.room.surfacings.is_cut_off(TEAM, name)
        return is_cut_off + sum(not already_read(past.get((id, name), [])) for id in unread)

    def _waits(self) -> bool:
        return any(self._unseen(agent.name) for agent in self.agents) or not self.room.spool.is_empty()

    # Its processes.

    def _start_agent(self, number: int) -> Agent:
        name, vendor = f"a{number:02}", VENDORS[number % len(VENDORS)]
        folder = self.folder / name
        folder.mkdir()
        hook = f"{sys.executable} -I -S {self.folder}/hook.py"
        words = [sys.executable, "-m", "atm.testing.scripted_agent", "--headless", "--vendor", vendor, "--atm", hook]
        process = subprocess.Popen(
            [*words, "--session", f"s-{name}", "--log", str(folder / "seen.jsonl")],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**self._environment, "ATM_IDENTITY": name, "AGENT_FOLDER": str(folder)},
            cwd=self.folder,
            start_new_session=True,
        )
        return Agent(name, vendor, folder, process)

    def _start_daemon(self) -> None:
        with open(self.folder / "said.txt", "ab") as said:
            words = [sys.executable, "-m", "atm", "daemon", "run"]
            self._daemon = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=said, stderr=said, env=self._environment, cwd=self.folder
            )

    def _kill_daemon(self) -> None:
        if self._daemon is not None:
            self.daemon_kills += self._daemon.poll() is None
            self._daemon.kill()
            self._daemon.wait(60)

    def end(self) -> None:
        """Nothing of it runs on."""
        self._done.set()
        if find_running(self.layout) is not None:
            stop(self.layout, 60.0)
        self._kill_daemon()
        for agent in self.agents:
            os.killpg(agent.process.pid, signal.SIGKILL)
            agent.process.wait(60)
            if agent.process.stdin is not None:
                agent.process.stdin.close()

    # Its threads.

    def _thread(self, work: Callable[..., None], *args: object) -> threading.Thread:
        def run() -> None:
            try:
                work(*args)
            except BaseException as error:  # noqa: BLE001 - raised where it is waited for
                self._met.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        return thread

    def _send(self, number: int) -> None:
        """A message counts from the moment its sending was reported."""
        room, dice = build_room(self.layout), random.Random(number)
        for count in range(self.messages // SENDERS):
            to = f"a{dice.randrange(AGENTS):02}"
            text = f"{count} {'word ' * dice.randrange(40)}"
            letter = Draft(sender=f"s{number}", text=text, is_urgent=dice.random() < 0.1)
            done = send(room, TEAM, to, letter)
            with self._lock:
                self.sent.setdefault(to, []).append((f"s{number}", done.message_id))
            self._done.wait(0.02)

    def _rewrite(self) -> None:
        """Reads, dawdles and writes back whole, without a lock: what came or was marked meanwhile is undone."""
        dice = random.Random(99)
        while not self._done.wait(dice.uniform(0.05, 0.2)):
            path = Path(self.layout.inbox(TEAM, f"a{dice.randrange(VICTIMS):02}"))
            stale = path.read_bytes()
            time.sleep(dice.uniform(0.0, 0.03))
            aside = path.with_name(f".{path.name}.rival")
            aside.write_bytes(stale)
            aside.replace(path)
            self.rewrites += 1

    def _until(self, condition: Callable[[], object], seconds: float = 300.0) -> None:
        end = time.monotonic() + seconds
        while not condition():
            assert not self._met, self._met
            assert time.monotonic() < end, f"it did not come to rest; {self.folder}"
            time.sleep(0.01)


def audit(campaign: Campaign) -> Report:
    """What was sent, what each agent saw, and what ledger and inboxes say of it."""
    report = Report()
    past = histories(campaign.room.ledger.entries(TEAM)[0])
    evidence = _evidence(campaign)
    for agent in campaign.agents:
        sent, seen = campaign.sent.get(agent.name, []), Counter(agent.saw)
        ids, repeated = {id for _, id in sent}, {id for said in agent.said_by_the_killed for id in said}
        report.lost += [id for id in ids if not seen[id]]
        report.strangers += [id for id in seen if id not in ids]
        for id, count in seen.items():
            is_explained = id in repeated and past[id, agent.name].count(RETURNED) >= count - 1
            report.said_twice += count > 1 and is_explained
            report.doubled += [id] if count > 1 and not is_explained else []
        report.disordered += _disordered(agent, sent, past)
        shown = f"{agent.vendor} hook "
        report.unproven += [id for id in ids if not already_read(past[id, agent.name])]
        report.unproven += [id for id in ids if shown not in evidence.get((id, agent.name), "")]
        report.inconsistent += _inconsistent(campaign, agent.name, past)
    return report


def _evidence(campaign: Campaign) -> dict[tuple[str, str], str]:
    entries = campaign.room.ledger.entries(TEAM)[0]
    return {(id, entry.agent): entry.evidence for entry in entries if entry.state == "surfaced" for id in entry.ids}


def _disordered(agent: Agent, sent: list[tuple[str, str]], past: dict[tuple[str, str], list[str]]) -> list[str]:
    """Of each sender, what did not come in its order; a row that the rival took away and that came back is excused."""
    first = {id: at for at, id in reversed([*enumerate(agent.saw)])}
    found = []
    for sender in {who for who, _ in sent}:
        ids = [id for who, id in sent if who == sender and id in first and RESTORED not in past[id, agent.name]]
        found += [f"{agent.name} {sender}"] if sorted(ids, key=lambda id: first[id]) != ids else []
    return found


def _inconsistent(campaign: Campaign, name: str, past: dict[tuple[str, str], list[str]]) -> list[str]:
    """Twice in the inbox, or unread although nobody has shown it, or a note of somebody who died."""
    rows: list[dict[str, Any]] = json.loads(Path(campaign.layout.inbox(TEAM, name)).read_bytes())
    counts = Counter(row["message_id"] for row in rows)
    found = [f"{name}: {id} is there {count} times" for id, count in counts.items() if count > 1]
    unread = [row["message_id"] for row in rows if not row["read"]]
    found += [f"{name}: {id} is unread" for id in unread if not already_read(past[id, name])]
    return [*found, *([f"{name}: a note is left"] if campaign.room.surfacings.is_cut_off(TEAM, name) else [])]


@pytest.mark.parametrize("seed", range(3 if LONG else 1))
def test_agents_see_every_message_once_and_in_order_while_hooks_and_daemon_are_killed(tmp_path, seed):
    campaign = Campaign(tmp_path, seed, MESSAGES)
    try:
        report = campaign.run()
    finally:
        campaign.end()
    hook_kills = sum(len(agent.said_by_the_killed) for agent in campaign.agents)
    assert report.violations == {}, f"sandbox kept at {tmp_path}"
    assert sum(len(sent) for sent in campaign.sent.values()) == MESSAGES
    assert (hook_kills > 0, campaign.daemon_kills > 0, campaign.rewrites > 0) == (True, True, True)
    assert campaign.room.spool.is_empty()
    assert campaign.room.spool.failed() == []
