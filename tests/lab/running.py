"""A repository in which `atm run` is tried with vendors' real programs, and what a test asks about it."""

from __future__ import annotations

import json
import os
import random
import subprocess
import time
from pathlib import Path
from typing import Any

from tests.lab import programs
from tests.lab.conftest import LabAgent, processes_of, until
from tests.lab.vendors import Vendor

from atm.testing.model import When, sees
from atm.testing.model.story import StoryLine

TEAM = "project"
"""As `atm run` calls the team of a folder of that name."""
HUMAN = "human"
LONGEST = 300.0
"""Seconds for a whole run. OpenCode needs many on a machine that is busy with other things."""

TEST = (
    "import sys\n\nsys.dont_write_bytecode = True\nfrom {name} import answer\n\nassert answer() == {number}, answer()\n"
)
"""What it compiled would count for the next version as well, if that is as long and written in the same second."""
ANSWER = "def answer():\n    return {number}\n"


def first_port() -> int:
    """OpenCode needs seconds until it listens: another home on this machine could be given the same port until then."""
    return random.randrange(21_000, 31_000, 100)


def task(name: str, number: int, *, after: str = "") -> dict[str, Any]:
    """Write a function that returns this number; a small test proves it."""
    return {
        "id": name,
        "title": f"write {name}.py",
        "description": f"answer() returns {number}",
        "files": [f"{name}.py"],
        "depends_on": [after] if after else [],
        "accept": [f"python3 test_{name}.py"],
    }


def does(number: int) -> When:
    """Is this conversation about that task?"""
    return sees(f'<task id="{number}">')


def writing(vendor: Vendor, line: StoryLine, name: str, number: int) -> StoryLine:
    """Let the model write the function with the tool that its program has for it, in the folder that it is in."""
    path, text = f"{name}.py", ANSWER.format(number=number)
    if vendor.name == "claude":
        return line.runs("Write", file_path=path, content=text)
    if vendor.name == "gemini":
        return line.runs("write_file", file_path=path, content=text)
    if vendor.name == "opencode":
        return line.runs("write", filePath=path, content=text)
    return vendor.shell(line, f"cat > {path} <<'END'\n{text}END")


class RunLab:
    """A person's shell in the repository, with the variables that the programs need."""

    def __init__(self, agent: LabAgent, *more: Vendor) -> None:
        self.agent = agent
        self.home, self.folder = agent.home, agent.folder
        self.environment = {key: value for key, value in agent.environment.items() if not key.startswith("ATM_")}
        for vendor in more:
            self._add(vendor)
        self._ports = first_port()
        self.settings("")
        (self.folder / ".gitignore").write_text("__pycache__/\n")
        self.git("add", ".")
        self.git("commit", "-qm", "first")

    def _add(self, vendor: Vendor) -> None:
        """One more program in the same home."""
        found = programs.find(programs.pinned()[vendor.name], programs.cache_folder(os.environ))
        assert found is not None, f"needs {vendor.name}: python -m tests.lab.programs"
        self.agent.atm("init", "--vendor", vendor.name)
        vendor.prepare(self.agent.place)
        self.environment |= vendor.environment(self.agent.place)
        self.environment["PATH"] = f"{found.bin}{os.pathsep}{self.environment['PATH']}"

    def git(self, *words: str) -> str:
        who = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org")
        done = subprocess.run(
            ["git", "-C", str(self.folder), *who, *words], capture_output=True, text=True, check=True, timeout=60
        )
        return done.stdout.strip()

    def plans(self, *tasks: dict[str, Any]) -> str:
        """The plan's file; what the tests of its tasks need is committed."""
        for one in tasks:
            name, number = one["id"], one["description"].rpartition(" ")[2]
            (self.folder / f"test_{name}.py").write_text(TEST.format(name=name, number=number))
            (self.folder / f"answer_{number}.txt").write_text(ANSWER.format(number=number))
        self.git("add", ".")
        self.git("commit", "-qm", "tests")
        path = self.home / "plan.json"
        path.write_text(json.dumps([*tasks]))
        return str(path)

    def settings(self, text: str) -> None:
        path = self.home / ".config/atm/config.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"[crew]\nfirst_port = {self._ports}\n{text}")
        os.chmod(path, 0o600)

    # Commands.

    def starts(self, *words: str) -> Running:
        """`atm run`, not waited for."""
        return Running(self, "run", *words, "--yes", "--json")

    def runs(self, *words: str) -> Running:
        return self.starts(*words).ends()

    def atm(self, *words: str, me: str = HUMAN) -> Any:
        done = subprocess.run(
            ["atm", *words, "--team", TEAM, "--json"],
            env={**self.environment, "ATM_IDENTITY": me} if me != HUMAN else self.environment,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode in (0, 3), done.stdout + done.stderr
        return json.loads(done.stdout)

    def task(self, id: str) -> dict[str, Any]:
        found: dict[str, Any] = self.atm("tasks", "show", id)["task"]
        return found

    def record(self, name: str) -> dict[str, Any]:
        """What atm knows of an agent."""
        path = self.home / f".local/state/atm/crew/{TEAM}/{name}.json"
        found: dict[str, Any] = json.loads(path.read_text())
        return found

    def log(self, name: str) -> str:
        """What the host of an agent wrote down."""
        return "\n".join(path.read_text(errors="replace")[-1500:] for path in self.home.glob(f"**/{name}*.log"))

    # Windows.

    def screen(self, name: str) -> str:
        return str(self.atm("peek", name)) if self.record(name)["pane"] else ""

    def press(self, name: str, *keys: str) -> None:
        """As a person who has attached to its window."""
        said = self.record(name)
        which = "-S" if "/" in said["server"] else "-L"
        words = ["tmux", which, said["server"], "send-keys", "-t", said["pane"], *keys]
        subprocess.run(words, env=self.environment, check=True, timeout=30)

    # What is left.

    @property
    def worktrees(self) -> list[Path]:
        return [*(self.home / ".local/state/atm/worktrees").glob("*/*/*")]

    def leftovers(self) -> list[str]:
        """Processes of this home but the daemon, and worktrees."""
        found = [str(path) for path in self.worktrees]
        for pid in processes_of(self.home):
            try:
                command = Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "replace").replace("\0", " ")
            except OSError:
                continue
            if "daemon run" not in command and command:
                found.append(command)
        return found

    def has_nothing_left(self) -> None:
        until(lambda: not self.leftovers(), 60, self.leftovers)

    def proves(self, branch: str, *names: str) -> None:
        """The tests pass on what is committed there, and nowhere else."""
        place = self.home / "proof" / branch.replace("/", "-")
        self.git("worktree", "add", "-q", "--detach", str(place), branch)
        try:
            for name in names:
                subprocess.run(["python3", f"test_{name}.py"], cwd=place, check=True, timeout=60)
        finally:
            self.git("worktree", "remove", "--force", str(place))


class Running:
    """One `atm run`: what it says while it goes on, and how it ended."""

    def __init__(self, lab: RunLab, *words: str) -> None:
        self._lab = lab
        self._out = lab.home / f"atm-run-{time.monotonic_ns()}.out"
        self._err = self._out.with_suffix(".err")
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self.process = subprocess.Popen(
                ["atm", *words],
                env=lab.environment,
                cwd=lab.folder,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
        self.code = -1
        lab.agent.closes.append(self.close)

    @property
    def lines(self) -> list[dict[str, Any]]:
        whole = self._out.read_text(errors="replace").splitlines(keepends=True)
        return [json.loads(line) for line in whole if line.endswith("\n")]

    def ends(self) -> Running:
        try:
            self.code = self.process.wait(LONGEST)
        except subprocess.TimeoutExpired:
            self.close()
            raise AssertionError(f"it did not end:\n{self.words}") from None
        return self

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def events(self, kind: str) -> list[dict[str, Any]]:
        return [line for line in self.lines if line.get("kind") == kind]

    def says(self, kind: str, times: int = 1) -> dict[str, Any]:
        """Wait for this event."""
        until(lambda: len(self.events(kind)) >= times or self.process.poll() is not None, LONGEST, lambda: self.words)
        found = self.events(kind)
        assert len(found) >= times, self.words
        return found[times - 1]

    @property
    def report(self) -> dict[str, Any]:
        return self.lines[-1]

    @property
    def words(self) -> str:
        told = [line for line in self.lines if line.get("kind") not in ("agent.idle", "agent.working")]
        said = [json.dumps(line) for line in told[-40:]]
        logs = [self._lab.log(name) for name in ("planner", "a1", "a2")]
        return "\n".join([*said, self._err.read_text(errors="replace")[-2000:], *logs])

    def has_succeeded(self, *tasks: str) -> dict[str, str]:
        """The branch of each task."""
        assert self.code == 0, self.words
        report = self.report
        assert report["outcome"] == "success", self.words
        assert report["tasks"]["completed"] == [*tasks], self.words
        return {one["task"]: one["branch"] for one in report["branches"]}

    def is_partial(self, *, completed: list[str]) -> dict[str, Any]:
        assert self.code == (2 if completed else 1), self.words
        assert self.report["outcome"] == ("partial" if completed else "failed"), self.words
        assert self.report["tasks"]["completed"] == completed, self.words
        return self.report


__all__ = ["HUMAN", "LONGEST", "TEAM", "RunLab", "Running", "does", "task", "writing"]
