"""
The play: `atm run` is started, watched, helped as a person would, killed in the middle, and typed once more.

What happens is read from what `atm run --json` prints, and after the kill, at a terminal of its own, from the events
that the run writes down. Everything the demo does itself is a command that is shown.
"""

from __future__ import annotations

import os
import select
import selectors
import signal
import textwrap
import time
from dataclasses import dataclass, field

from atm.files.formats.json_record import NotJson, decode_object
from atm.runs.formats.event_line import decode_events
from atm.runs.rules import memory as kinds
from atm.runs.rules.memory import RunMemory
from atm.ui.demo.run_repository import TEAM
from atm.ui.demo.run_sandbox import SECONDS, DemoTrouble

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterator

    from atm.core.plain import Plain
    from atm.runs.rules.memory import RunEvent
    from atm.ui.demo.run_sandbox import Sandbox

COMMAND = ("run", "--crew", "crew.toml", "--plan", "plan.md", "--yes")
WIDTH = 79
LONGEST = 240.0
"""Seconds: a run that is not over by then has got stuck, which is a defect."""
FRAME = 0.1
KILL_AFTER = 5
"""Finished tasks after which the lead is killed: there is something to remember, and something left to do."""
ALONE = 1.0
"""Seconds that the agents are left without a lead."""


@dataclass(slots=True)
class Play:
    """How far it is."""

    sandbox: Sandbox
    tell: Callable[[Play, str], None]
    """A word of the demo's own: a command that it types, or a remark."""
    show: Callable[[Play, RunEvent | None], None]
    """Something happened; or, with None, a tenth of a second went by."""
    memory: RunMemory = field(default_factory=RunMemory)
    titles: dict[str, str] = field(default_factory=dict)
    pids: list[int] = field(default_factory=list)
    kills: int = 0
    sent_back: int = 0
    """Tasks that were red together with others."""
    report: dict[str, Plain] = field(default_factory=dict)
    _answered: set[str] = field(default_factory=set)
    _heard: set[tuple[str, str, float]] = field(default_factory=set)
    """Events: what, about whom and when."""
    _until: float = 0.0

    def perform(self) -> None:
        """Both halves; afterwards there is a report, or DemoTrouble was raised."""
        self._until = time.monotonic() + LONGEST
        self.tell(self, f"$ atm {' '.join(COMMAND)}")
        self._watch(self.sandbox.start(*COMMAND))
        if not self.report:
            self._leave_alone()
            self._catch_up()
            self.tell(self, f"$ atm {' '.join(COMMAND)}    # the same once more")
            self._watch_at_terminal()
        if not self.report:
            raise DemoTrouble("atm run ended without a report")

    def _watch(self, run: subprocess.Popen[bytes]) -> None:
        """Until it is in the middle, where it is killed."""
        self.pids.append(run.pid)
        try:
            for lines in self._news_of(run):
                for line in lines:
                    self._take(line)
                # Now, when it has just told and rests: one that dies with the board's lock in its hand is survived
                # as well, but Claude Code's lock is left alone for 30 s before it is broken (D2).
                if self._is_the_middle():
                    self.tell(self, f"$ kill -9 {run.pid}    # the lead: nobody gives work out any more")
                    os.kill(run.pid, signal.SIGKILL)
                    self.kills += 1
                    return
                self._help()
        finally:
            if run.poll() is None and self.kills == 0:
                run.send_signal(signal.SIGINT)
            self._end(run)

    def _watch_at_terminal(self) -> None:
        """It asks what becomes of the run that died. The return key says yes, and it is followed to its end."""
        run, terminal = self.sandbox.start_at_terminal(*COMMAND)
        self.pids.append(run.pid)
        try:
            self._answer(terminal)
            while run.poll() is None:
                if time.monotonic() > self._until:
                    raise DemoTrouble(f"the run was not over after {LONGEST:g} s")
                heard = _read(terminal)
                self._catch_up()
                self._help()
                if not heard:
                    self.show(self, None)
            self._catch_up()
            self.report = self._report()
        finally:
            os.close(terminal)  # which ends a run that still asks
            self._end(run)

    def _answer(self, terminal: int) -> None:
        asked, end = b"", time.monotonic() + SECONDS
        while b"[Y/n]" not in asked:
            if time.monotonic() > end:
                raise DemoTrouble(f"it did not ask what becomes of the run that died: {asked.decode(errors='replace')}")
            asked += _read(terminal)
        for line in asked.decode(errors="replace").splitlines():
            for part in textwrap.wrap(line, WIDTH, subsequent_indent="  ", drop_whitespace=False):
                self.tell(self, part.rstrip())
        self.tell(self, "⏎    # the return key says yes: what was done is not done again")
        os.write(terminal, b"\n")

    def _report(self) -> dict[str, Plain]:
        from atm.wiring.runs import build_runs

        runs = build_runs(self.sandbox.layout)
        return runs.report(TEAM, runs.names(TEAM)[-1]) or {}

    def _end(self, run: subprocess.Popen[bytes]) -> None:
        try:
            run.wait(timeout=20)
        except BaseException:  # Ctrl-C too: whoever leads the demo away leaves no process behind
            run.kill()
            run.wait()
            raise
        finally:
            if run.stdout is not None:
                run.stdout.close()

    def _news_of(self, run: subprocess.Popen[bytes]) -> Iterator[list[str]]:
        """What it prints, in lines; an empty one where nothing came for a moment."""
        assert run.stdout is not None
        data, fd = b"", run.stdout.fileno()
        with selectors.DefaultSelector() as selector:
            selector.register(fd, selectors.EVENT_READ)
            while time.monotonic() < self._until:
                if not selector.select(FRAME):
                    yield [""]
                    continue
                more = os.read(fd, 65_536)
                if not more:
                    return
                *lines, data = (data + more).split(b"\n")
                yield [line.decode(errors="replace") for line in lines]
        raise DemoTrouble(f"the run was not over after {LONGEST:g} s")

    def _take(self, line: str) -> None:
        event = next(decode_events(line), None) if line else None
        if event is not None:
            self._happened(event)
            return
        if line:
            self._take_report(line)
        self.show(self, None)

    def _happened(self, event: RunEvent) -> None:
        self._heard.add((event.kind, event.subject, event.at))
        self.memory.take(event)
        if event.kind == kinds.ADDED:
            self.titles[event.subject] = event.text("title")
        self.sent_back += event.kind == kinds.REOPENED
        if event.kind == kinds.SPAWNED and event.number("pid"):
            self.pids.append(int(event.number("pid")))
        self.show(self, event)

    def _catch_up(self) -> None:
        """What the lead had noted when it was killed, and could tell nobody any more; the next one knows it already."""
        from atm.wiring.runs import build_runs

        runs = build_runs(self.sandbox.layout)
        for run in runs.names(TEAM):
            for event in runs.events(TEAM, run):
                if (event.kind, event.subject, event.at) not in self._heard:
                    self._happened(event)

    def _take_report(self, line: str) -> None:
        try:
            said = decode_object(line)
        except NotJson:
            return
        if said.get("action") == "run":
            self.report = said

    @property
    def resolved(self) -> int:
        """Conflicts."""
        rows = self.report.get("merged")
        return (
            sum(isinstance(row, dict) and row.get("resolved") is True for row in rows) if isinstance(rows, list) else 0
        )

    # What a person would do.

    def _help(self) -> None:
        from atm.ui.demo.run_repository import PLANNED

        for id, state in [*self.memory.approvals.items()]:
            if state == "waiting" and id not in self._answered:
                self._answered.add(id)
                self._type("a person says yes", "approvals", "approve", id[:8], "--team", TEAM)
        task = next((id for id, title in self.titles.items() if title == PLANNED), "")
        if task and task not in self._answered and self.memory.task(task).state == "planning":
            self._approve_plan(task)

    def _approve_plan(self, task: str) -> None:
        from atm.wiring.board import build_tasks

        if build_tasks(self.sandbox.layout).read(TEAM, task).plan == "submitted":
            self._answered.add(task)
            self._type("until now it has only planned", "tasks", "plan", "approve", task, "--team", TEAM)

    def _type(self, remark: str, *words: str) -> None:
        self.tell(self, f"$ atm {' '.join(words)}    # {remark}")
        self.sandbox.atm(*words)

    def _is_the_middle(self) -> bool:
        """Something is done, something is being done, and whoever crashed is back."""
        states = [task.state for task in self.memory.tasks.values()]
        has_crashed = any(seat.restarts for seat in self.memory.seats.values())
        return states.count("completed") >= KILL_AFTER and "in_progress" in states and has_crashed

    def _leave_alone(self) -> None:
        end = time.monotonic() + ALONE
        while time.monotonic() < end:
            self.show(self, None)
            time.sleep(FRAME)


def _read(terminal: int) -> bytes:
    """What a program wrote to its terminal, within a moment."""
    if not select.select([terminal], [], [], FRAME)[0]:
        return b""
    try:
        return os.read(terminal, 65_536)
    except OSError:  # how Linux says that the program has ended
        time.sleep(FRAME)
        return b""
