"""A vendor's real program that runs headless and is spoken to by its driver, and what a test does with it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
import uuid
from pathlib import Path

from tests.lab.conftest import PROC, LabAgent, processes_of, until
from tests.vendors.drivers.fake_agents import Host

from atm.testing.model.story import StoryLine
from atm.vendors.driver import GONE, QUESTION, READY, Brief, Heard
from atm.vendors.drivers.choice import build_driver
from atm.vendors.runtime import command_line
from atm.vendors.runtimes import known

PATIENCE = 120.0
"""Seconds for one thing to be heard. OpenCode needs many on a machine that is busy with other things."""

PASSWORD = "only-for-this-test"
SLEEP = "sleep 4321"
LONG = f"touch began.txt; {SLEEP}"
"""A command that is asked for, and then runs for longer than anybody waits."""


class Live:
    """A program that runs, its driver, and what was heard of it."""

    def __init__(self, agent: LabAgent, **more: object) -> None:
        self.agent = agent
        self.host = Host()
        runtime = known()[agent.vendor.name]
        settings: dict[str, object] = {"cwd": str(agent.folder), "password": PASSWORD, **more}
        if runtime.protocol == "opencode":
            settings["port"] = free_port()
        if runtime.protocol == "stream-json" and "resume" not in more:
            settings["session"] = str(uuid.uuid4())
        self.brief = Brief(**settings)  # type: ignore[arg-type]
        values = {
            "session": self.brief.session,
            "resume": self.brief.resume,
            "mode": runtime.modes.get(self.brief.mode, ""),
            "instructions": self.brief.instructions,
            "model": {"gemini": "gemini-2.5-flash"}.get(runtime.name, ""),
            "port": str(self.brief.port),
        }
        extra = runtime.variables(self.brief.mode, PASSWORD) if runtime.variables is not None else {}
        with (agent.home / "driver.err").open("ab") as errors:
            self.process = subprocess.Popen(
                command_line(runtime.headless, values),
                env={**agent.environment, **runtime.environment, **extra},
                cwd=self.brief.cwd,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
            )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.driver = build_driver(runtime, self.process.stdin, self.process.stdout, self.brief)
        self.driver.begin(self.host.hear)

    def hears(self, kind: str) -> Heard:
        try:
            return self.host.until(kind, patience=PATIENCE)
        except AssertionError as error:
            words = (self.agent.home / "driver.err").read_text(errors="replace")[-3000:]
            raise AssertionError(f"{error}\n{words}") from None

    def ready(self) -> Live:
        self.session = str(self.hears(READY).facts["session"])
        self.minute = time.strftime("%H:%M")
        return self

    def says(self, text: str) -> None:
        assert self.driver.say(text)

    def kill(self) -> None:
        """As a machine would: the program and whatever wraps it."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def end(self) -> None:
        if self.process.poll() is None:
            self.kill()
        self.driver.forget()


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def asking(agent: LabAgent, line: StoryLine, command: str) -> StoryLine:
    """Let the model run something that needs a permission. Codex's sandbox asks only if the model wants out of it."""
    if agent.vendor.name == "codex":
        return line.runs("exec_command", cmd=command, sandbox_permissions="require_escalated", justification="need it")
    return agent.vendor.shell(line, command)


def writing(agent: LabAgent, line: StoryLine, name: str) -> StoryLine:
    """Let the model write a file with the tool that the program has for it."""
    path = str(agent.folder / name)
    if agent.vendor.name == "claude":
        return line.runs("Write", file_path=path, content="x")
    if agent.vendor.name == "gemini":
        return line.runs("write_file", file_path=path, content="x")
    if agent.vendor.name == "opencode":
        return line.runs("write", filePath=path, content="x")
    return agent.vendor.shell(line, f"touch {name}")


def running(home: Path, words: str) -> list[int]:
    """Processes of this home with these words in their command line."""
    found = []
    for pid in processes_of(home):
        try:
            if words in (PROC / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace"):
                found.append(pid)
        except OSError:
            continue
    return found


def killed_in_its_tool(one: Live, prompt: str) -> None:
    """Prompted, allowed, and killed when the tool runs; also the tool, which may outlive it."""
    one.says(prompt)
    one.driver.answer(str(one.hears(QUESTION).facts["id"]), allow=True)
    until(lambda: running(one.agent.home, SLEEP), PATIENCE)
    one.kill()
    one.driver.forget()
    one.hears(GONE)
    for pid in running(one.agent.home, SLEEP):
        os.kill(pid, signal.SIGKILL)
    wait_for_gemini(one)


def wait_for_gemini(one: Live) -> None:
    """It would write over a session that it loads in the minute in which it began (see `began_this_minute`)."""
    until(lambda: one.agent.vendor.name != "gemini" or time.strftime("%H:%M") != one.minute, 90)
