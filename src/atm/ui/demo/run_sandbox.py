"""A sandbox with a repository in it, and `atm` called there as a person would call it."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile

from atm.ui.demo.run_repository import BEGUN_MARK, CRASH_MARK, FILES, SETTINGS, TEAM
from atm.vendors.known import in_agents_shells
from atm.wiring.crew import git_in
from atm.wiring.files import find_layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

SECONDS = 60.0
"""For one command."""


class Sandbox:
    """Everything is inside: the home of atm, the repository, and programs that the plan calls by name."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.folder = tempfile.mkdtemp(prefix="atm-demo-")
        self.repository = f"{self.folder}/{TEAM}"
        # What says who the caller is, or which repository is meant, is about the caller's own work.
        kept = {key: value for key, value in environment.items() if not key.startswith(("ATM_", "GIT_"))}
        self.environment = {
            **kept,
            "ATM_HOME": f"{self.folder}/home",
            "PATH": f"{self.folder}/bin:{kept.get('PATH', os.defpath)}",
            "GIT_CONFIG_GLOBAL": f"{self.folder}/gitconfig",
            "GIT_CONFIG_NOSYSTEM": "1",
            "ATM_DAEMON_AUTOSTART": "0",  # nothing stays behind, and nothing here needs one
            CRASH_MARK: f"{self.folder}/crashed",
            BEGUN_MARK: f"{self.folder}/begun-",
        }
        self.layout = find_layout(self.environment)

    def make(self) -> None:
        for name, words in (("python", [sys.executable]), ("atm", [sys.executable, "-P", "-m", "atm"])):
            self._write(f"bin/{name}", f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n', mode=0o700)
        self._write("gitconfig", "[user]\nname = demo\nemail = demo@example.com\n[init]\ndefaultBranch = main\n")
        self._write(os.path.relpath(self.layout.settings, self.folder), SETTINGS)
        for name, text in FILES.items():
            self._write(f"{TEAM}/{name}", text)
        self.git("init", "-q")
        self.git("add", ".")
        self.git("commit", "-q", "-m", "A till that is not written yet")

    def _write(self, name: str, text: str, mode: int = 0o600) -> None:
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)

    def git(self, *words: str) -> str:
        said = git_in(self.repository, words, {"GIT_CONFIG_GLOBAL": self.environment["GIT_CONFIG_GLOBAL"]})
        if said is None:
            raise DemoTrouble(f"git {words[0]} failed in {self.repository}")
        return said

    def atm(self, *words: str) -> str:
        return self._output([f"{self.folder}/bin/atm", *words])

    def _output(self, words: list[str]) -> str:
        ran = subprocess.run(
            words,
            cwd=self.repository,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
        if ran.returncode != 0:
            said = (ran.stderr or ran.stdout).decode(errors="replace").strip()
            raise DemoTrouble(f"{shlex.join([os.path.basename(words[0]), *words[1:]])}: {said}")
        return ran.stdout.decode(errors="replace")

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        """`atm run`, which prints a line of JSON for everything that happens."""
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "atm", *words, "--json"],
            cwd=self.repository,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
        )

    def start_at_terminal(self, *words: str) -> tuple[subprocess.Popen[bytes], int]:
        """The same command as a person types it: it may ask. The number is the terminal's other end."""
        import pty  # there is none on Windows

        ours, theirs = pty.openpty()
        try:
            run = subprocess.Popen(
                [sys.executable, "-P", "-m", "atm", *words],
                cwd=self.repository,
                env={name: value for name, value in self.environment.items() if name not in in_agents_shells()},
                stdin=theirs,
                stdout=subprocess.DEVNULL,
                stderr=theirs,
            )
        except BaseException:
            os.close(ours)
            raise
        finally:
            os.close(theirs)
        return run, ours

    def clear(self) -> None:
        """Nothing goes on, whatever happened."""
        try:
            self.atm("stop", "--all")
        except (DemoTrouble, OSError, subprocess.SubprocessError):
            return  # none ran, which it says with its exit code

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


class DemoTrouble(Exception):
    """Something in the sandbox did not do what it should."""
