"""
A stage for deliveries: a home, the real daemon, a tmux server of its own, and scripted agents in panes or headless.

Everything that is started here carries the stage's mark in its environment and is ended with the stage, whatever the
test did to it. Messages are recognised by words such as `letter-7`, which every channel carries as they are.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import UNHURRIED, Atm
from tests.teamd.conftest import keep_bytecode
from tests.teamd.forked import Process, start

from atm.daemon.adapters.client import ask, stop
from atm.daemon.adapters.seat import find_running
from atm.daemon.formats.control_line import BadLine
from atm.files.adapters.machine import find_layout
from atm.mail.services.posting import Draft
from atm.mail.services.sending import send
from atm.roster.services.members import add_member, create_team
from atm.team.rules.team import Member
from atm.testing.scripted_agent import VENDORS
from atm.wiring.mail import build_room

if sys.platform == "win32":
    collect_ignore_glob = ["*"]  # tmux, unix sockets and POSIX signals

PROC = Path("/proc")
MARK = "ATM_TEST_STAGE"
ANSWERS_IN = 60.0
IN_TIME = ""
"""The path for whoever shall run out of patience: that takes as long as with users."""
AT_IT = "another process is showing it right now"
"""What `atm deliver` says while the daemon looks at a pane or a server: that begins rounds whenever it likes."""
LETTER = re.compile(r"letter-\w+")
HEARD = ("context", "blocked", "refused", "prompt")
"""What in an agent's log has reached its context."""

HOOK = """
before="$AGENT_FOLDER/before-$3"
if mv "$before" "$before.sh" 2>/dev/null; then sh "$before.sh" </dev/null >/dev/null 2>&1; fi
{python} -m atm "$@"
code=$?
echo "$3" >>"$AGENT_FOLDER/calls"
exit $code
"""
"""The hook program of every agent here: the real one; a test may put something to be done before a call of it."""


def until(condition: Callable[[], object], seconds: float = 180.0, why: Callable[[], object] = lambda: "") -> None:
    """Wait for a condition; generously, because the machine may be busy with other tests."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"it did not come true: {why()}"
        time.sleep(0.01)


def processes_with(mark: str) -> list[int]:
    """Every process with this in its environment, whoever started it."""
    found = []
    for name in os.listdir(PROC) if PROC.is_dir() else []:
        try:
            if name.isdecimal() and mark.encode() in (PROC / name / "environ").read_bytes().split(b"\0"):
                found.append(int(name))
        except OSError:
            continue  # it has ended meanwhile, or is somebody else's
    return found


def kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def is_running(pid: int) -> bool:
    """A process that has ended is none, also before its parent has noticed."""
    try:
        return b"\nState:\tZ" not in (PROC / f"{pid}/status").read_bytes()
    except OSError:
        return False


def children_of(pid: int) -> list[int]:
    return [int(word) for word in (PROC / f"{pid}/task/{pid}/children").read_text().split()]


class Receipt:
    """What `atm receipts` says of one message and its recipient."""

    def __init__(self, said: dict[str, Any]) -> None:
        self.state: str = said["state"]
        self.now: str = said["now"]
        self.journey: dict[str, str] = {step["state"]: step["evidence"] for step in said["journey"]}
        self.events: list[str] = [event["state"] for event in said["events"]]
        self.evidence: dict[str, str] = {event["state"]: event["evidence"] for event in said["events"]}


class Agent:
    """A scripted agent and what it saw."""

    def __init__(self, name: str, vendor: str, session: str, folder: Path) -> None:
        self.name = name
        self.vendor = VENDORS[vendor]
        self.session = session
        self.folder = folder
        self.log = folder / "seen.jsonl"

    def prompt(self, text: str) -> None:
        raise NotImplementedError

    def rows(self, *kinds: str) -> list[dict[str, Any]]:
        lines = self.log.read_text().splitlines(keepends=True) if self.log.exists() else []
        whole = [json.loads(line) for line in lines if line.endswith("\n")]
        return [row for row in whole if not kinds or row["kind"] in kinds]

    @property
    def prompts(self) -> list[str]:
        return [row["text"] for row in self.rows("prompt")]

    @property
    def calls(self) -> list[str]:
        """The hooks that it has called and that have ended."""
        path = self.folder / "calls"
        return path.read_text().split() if path.exists() else []

    @property
    def heard(self) -> list[str]:
        """The letters that came into its context, in order; also those in a file that it was pointed to."""
        return [word for row in self.rows(*HEARD) for word in LETTER.findall(_whole(row["text"]))]

    @property
    def is_ready(self) -> bool:
        return bool(self.rows("ready"))

    def before(self, event: str, script: str) -> None:
        """Do this once, before its next call of a hook."""
        path = self.folder / f"before-{event}"
        path.with_suffix(".new").write_text(script)
        path.with_suffix(".new").rename(path)

    def surfaced_at(self, event: str) -> str:
        return f"{self.vendor.name} hook {event}, session {self.session[:8]}"

    def went_on_at(self, event: str) -> str:
        return f"the session went on ({self.vendor.name} hook {event}) with it in its context"


def _whole(text: str) -> str:
    """A pasted line may say nothing but where the message is."""
    found = re.fullmatch(r"\[atm:\w+\] .*: read (/\S+\.md)", text)
    return Path(found[1]).read_text() if found else text


class HeadlessAgent(Agent):
    """Its prompts come as lines of JSON."""

    process: subprocess.Popen[bytes]

    def prompt(self, text: str) -> None:
        self.order(prompt=text)

    def order(self, **words: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(words).encode() + b"\n")
        self.process.stdin.flush()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(60)
        if self.process.stdin is not None:
            self.process.stdin.close()


class PaneAgent(Agent):
    """It sits at a terminal."""

    pane: str
    tmux: Callable[..., str]

    def prompt(self, text: str) -> None:
        self.tmux("send-keys", "-t", self.pane, "-l", text)
        self.tmux("send-keys", "-t", self.pane, "Enter")

    @property
    def screen(self) -> str:
        return self.tmux("capture-pane", "-p", "-J", "-S", "-", "-t", self.pane)

    @property
    def is_ready(self) -> bool:
        return bool(self.rows("ready")) and "─" in self.screen

    @property
    def pid(self) -> int:
        return int(self.tmux("display-message", "-p", "-t", self.pane, "#{pane_pid}"))


class House:
    """A home, its daemon, and the default tmux server of everybody in it."""

    def __init__(self, folder: Path, base: Path) -> None:
        for name in ("home", "work", "bin"):
            (folder / name).mkdir(parents=True)
        self.folder = folder
        self.mark = f"{MARK}={folder}"
        self.sockets = Path(tempfile.mkdtemp(prefix="atm-tmux-"))  # short: a socket's path has its limit
        self.atm = Atm(folder / "home", folder / "work")
        keep_bytecode(self.atm, base)
        self.atm.environment |= {
            "TMUX_TMPDIR": str(self.sockets),
            # A hook gives up after 3 s, and nobody who is only late may look as if he had.
            "PYTHONPATH": str(UNHURRIED),
            "ATM_DAEMON_AUTOSTART": "0",
            "LC_ALL": "C.UTF-8",
            MARK: str(folder),
        }
        self.layout = find_layout({"ATM_HOME": str(self.atm.home)})
        self.room = build_room(self.layout)
        self.daemons: list[Process] = []
        self._has_panes = False
        self._addresses: set[str] = set()
        (folder / "bin/hook.sh").write_text(HOOK.format(python=shlex.quote(sys.executable)))

    # The daemon.

    def start_daemon(self, *, wait: bool = True, **environment: str) -> Process:
        with open(self.folder / "said.txt", "ab") as said:
            process = start(
                self.atm.command("daemon", "run"),
                stdout=said,
                stderr=said,
                env={**self.atm.environment, **environment},
                cwd=self.atm.folder,
            )
        self.daemons.append(process)
        if wait:
            until(lambda: self.answers, why=lambda: self.said)
        return process

    def kill_daemon(self) -> None:
        self.daemons[-1].kill()
        self.daemons[-1].wait(60)

    def stop_daemon(self) -> None:
        assert stop(self.layout, 60.0) == "stopped", self.said
        assert self.daemons[-1].wait(60) == 0

    @property
    def answers(self) -> bool:
        running = find_running(self.layout)
        if running is None:
            return False
        self._addresses.add(running.socket)
        try:
            return ask(self.layout, "ping") is not None
        except BadLine:
            return False

    @property
    def said(self) -> str:
        log = Path(self.layout.daemon_log)
        told = log.read_text().splitlines()[-15:] if log.exists() else []
        return "\n".join([(self.folder / "said.txt").read_text(), *told])

    def loop(self, name: str) -> dict[str, Any]:
        facts: Any = ask(self.layout, "status", seconds=ANSWERS_IN)
        assert facts is not None, f"it does not answer: {self.said}"
        found: dict[str, Any] = next(loop for loop in facts["loops"] if loop["name"] == name)
        return found

    def wake(self, loop: str) -> bool:
        return ask(self.layout, "wake", {"loop": loop}, seconds=ANSWERS_IN) is not None

    def another_round(self, loop: str = "delivery") -> None:
        """Let it go round once more, from its beginning to its end."""
        before = self.loop(loop)["runs"]
        until(lambda: self.wake(loop) and self.loop(loop)["runs"] >= before + 2, why=lambda: self.said)

    # The tmux server.

    def tmux(self, *words: str) -> str:
        command = ["tmux", "-u", "-f", "/dev/null", *words]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            env=self.atm.environment,
            cwd=self.atm.folder,
            timeout=60,
            check=False,
        )
        return done.stdout

    def pane(self, *words: str, **environment: str) -> str:
        """Run something in a new pane; its id."""
        words = ("env", *(f"{name}={value}" for name, value in environment.items()), *words)
        size = ("-x", "110", "-y", "30")
        self._has_panes = True
        made = self.tmux("new-session", "-d", *size, "-P", "-F", "#{pane_id}", "--", *words).strip()
        assert made, "tmux made no pane"
        return made

    def kill_tmux(self) -> None:
        """And wait for its end: whoever calls a server that is about to exit gets no answer, and no new one."""
        if not self._has_panes:
            return  # there is no server, and perhaps no tmux on this machine
        server = self.tmux("list-sessions", "-F", "#{pid}").split()[:1]
        self.tmux("kill-server")
        until(lambda: not any(is_running(int(pid)) for pid in server))
        self._has_panes = False

    # The end.

    def end(self, marks: list[str]) -> None:
        """Of everything that carries one of these."""
        self.kill_tmux()
        for process in self.daemons if self.mark in marks else []:
            process.kill()
            process.wait(60)
        left = [pid for mark in marks for pid in processes_with(mark)]
        for pid in left:
            kill(pid)
        until(lambda: not [pid for mark in marks for pid in processes_with(mark)])

    def close(self) -> None:
        self.end([self.mark])
        for path in self._addresses:  # of daemons that were killed; their home's own path may be too long for a socket
            if path.startswith(f"{tempfile.gettempdir()}/atm-"):
                shutil.rmtree(os.path.dirname(path), ignore_errors=True)
        shutil.rmtree(self.sockets, ignore_errors=True)


class Stage:
    """A team in a house, with a lead (lena), a sender (bob) and whoever a test puts on it."""

    def __init__(self, house: House, team: str) -> None:
        self.house = house
        self.atm = house.atm
        self.room = house.room
        self.layout = house.layout
        self.team = team
        self.folder = house.folder / team
        self.agents: list[Agent] = []
        self._sessions = 0
        create_team(self.room, team, lead="lena")
        self.add("bob")

    def add(self, name: str, **more: Any) -> None:
        add_member(self.room, self.team, Member(name, **more))

    # Agents.

    def agent(self, name: str, vendor: str = "claude", *options: str) -> HeadlessAgent:
        """One without a terminal."""
        agent = HeadlessAgent(name, vendor, *self._place(name, vendor))
        agent.process = subprocess.Popen(
            [*self._words(agent, *options), "--headless"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**self.atm.environment, **self._environment(agent)},
            cwd=self.atm.folder,
        )
        self._enter(agent)
        return agent

    def agent_in_pane(self, name: str, vendor: str = "claude", *options: str) -> PaneAgent:
        """One in a terminal. A plain one has no hooks: its pane is entered in the roster, as a person would do it."""
        agent = PaneAgent(name, vendor, *self._place(name, vendor))
        agent.tmux = self.house.tmux
        agent.pane = self.house.pane(*self._words(agent, *options), **self._environment(agent))
        return self._seat(agent)

    def agent_below(self, program: list[str], name: str, vendor: str = "claude") -> PaneAgent:
        """One in a terminal that another program has started: `program` ends with a shell's prompt, or takes words."""
        agent = PaneAgent(name, vendor, *self._place(name, vendor))
        agent.tmux = self.house.tmux
        words = ["env", *(f"{key}={value}" for key, value in self._environment(agent).items()), *self._words(agent)]
        agent.pane = self.house.pane(*program, *(words if program[-1] != "-i" else []))
        if program[-1] == "-i":
            until(lambda: agent.screen.strip() != "")
            agent.prompt(shlex.join(words))
        return self._seat(agent)

    def _seat(self, agent: PaneAgent) -> PaneAgent:
        self._enter(agent)
        if agent.vendor.name == "plain":
            self.atm("teams", "update-member", self.team, agent.name, "--pane-id", agent.pane)
        return agent

    def _place(self, name: str, vendor: str) -> tuple[str, Path]:
        if self.room.rosters.load(self.team).member(name) is None:
            self.add(name)
        self._sessions += 1
        folder = self.folder / f"{name}-{self._sessions}"
        folder.mkdir(parents=True)
        return f"{self._sessions}-{vendor}-{name}", folder

    def _enter(self, agent: Agent) -> None:
        self.agents.append(agent)
        until(lambda: agent.is_ready, why=agent.rows)

    def _environment(self, agent: Agent) -> dict[str, str]:
        folder = str(agent.folder)
        return {"ATM_TEAM": self.team, "ATM_IDENTITY": agent.name, "AGENT_FOLDER": folder, f"{MARK}_TEAM": self._mark}

    def _words(self, agent: Agent, *options: str) -> list[str]:
        facts = {"vendor": agent.vendor.name, "session": agent.session, "log": str(agent.log)}
        facts["atm"] = f"sh {shlex.quote(str(self.house.folder / 'bin/hook.sh'))}"
        words = [word for name, value in facts.items() for word in (f"--{name}", value)]
        return [sys.executable, "-m", "atm.testing.scripted_agent", *words, *options]

    @property
    def _mark(self) -> str:
        return f"{self.house.folder}:{self.team}"

    # Mail.

    def write(self, to: str, text: str, sender: str = "bob", **more: Any) -> str:
        """Send a message; its id."""
        return str(send(self.room, self.team, to, Draft(sender=sender, text=text, **more)).message_id)

    def unread(self, name: str) -> list[str]:
        return [row.text for row in self.room.inboxes.unread(self.team, name)]

    def read(self, name: str) -> list[str]:
        """`atm read` of its owner: the letters that it showed."""
        said = self.atm("read", "--team", self.team, "--as", name, "--json").json
        return [word for message in said["messages"] for word in LETTER.findall(message["text"])]

    def receipt(self, id: str) -> Receipt:
        (said,) = self.atm("receipts", id, "--team", self.team, "--json").json["recipients"]
        return Receipt(said)

    def states(self, id: str) -> list[str]:
        """The same from the ledger, for waiting."""
        return [event.state for e in self.room.ledger.about(self.team, [id]) for event in e.events() if event.id == id]

    def deliver(self, name: str, **environment: str) -> dict[str, Any]:
        """`atm deliver NAME`: what it did or why not, once the daemon lets it."""
        answers: list[dict[str, Any]] = []

        def has_its_turn() -> bool:
            said = self.atm("deliver", name, "--team", self.team, "--json", code=None, env=environment).json["members"]
            answers.append(dict(said[0]) if said else {"outcome": "nothing unread", "evidence": "", "ids": []})
            return bool(answers[-1]["evidence"] != AT_IT)

        until(has_its_turn, why=lambda: self.house.said)
        return answers[-1]

    @property
    def notes(self) -> list[str]:
        """What is being shown at this moment, or was when somebody died."""
        folder = Path(self.layout.surfacing(self.team, "ann")).parent
        return sorted(path.name for path in folder.glob("*.json")) if folder.is_dir() else []

    def is_idle(self, name: str) -> bool:
        last = self.room.presence.last(self.team, name)
        return last is not None and last.state == "idle" and self.room.endpoints.of(self.team, name) is not None

    def leave(self) -> None:
        """Everybody goes home; the team is gone from the house."""
        for agent in self.agents:
            if isinstance(agent, HeadlessAgent):
                agent.kill()
        self.house.end([f"{MARK}_TEAM={self._mark}"])
        shutil.rmtree(self.layout.team(self.team), ignore_errors=True)


@pytest.fixture(scope="session")
def _shared_house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    made = House(tmp_path_factory.mktemp("house") / "h", tmp_path_factory.getbasetemp())
    made.start_daemon()
    yield made
    assert [loop["name"] for loop in (made.loop(name) for name in ("delivery", "spool")) if loop["failures"]] == []
    made.stop_daemon()
    made.close()


@pytest.fixture
def stage(_shared_house: House, request: pytest.FixtureRequest) -> Iterator[Stage]:
    """A team of its own in a house where a daemon runs, which this worker's tests share."""
    count: int = request.config.stash.setdefault(_TEAMS, 0) + 1
    request.config.stash[_TEAMS] = count
    made = Stage(_shared_house, f"crew-{count}")
    yield made
    made.leave()


_TEAMS: pytest.StashKey[int] = pytest.StashKey()


@pytest.fixture
def alone(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """The team `crew` in a house of its own; no daemon runs yet."""
    house = House(tmp_path / "h", tmp_path_factory.getbasetemp())
    made = Stage(house, "crew")
    yield made
    made.leave()
    house.close()
