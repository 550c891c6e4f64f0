"""
The daemon as a service of this user: systemd on Linux, launchd on macOS. Implements `ports.service_units`.

The file is ours to write; starting it is the service manager's part. In a container or over ssh there may be no
manager to talk to: then the file stays, and the user is told what to run.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import time

from atm.core.errors import NoHome, OutsideLink, RequestError, WriteRefused
from atm.daemon.formats import service_unit
from atm.daemon.ports import ABSENT, NEW, REMOVED, UNCHANGED, UPDATED, ServiceUnits, UnitResult
from atm.files.adapters.disk import make_shared, open_shared
from atm.files.adapters.refusals import explained

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

MANAGER_SECONDS = 30.0
BOOTSTRAP_TRIES, BOOTSTRAP_PAUSE = 5, 1.0
"""launchd goes on removing a service for a moment after it has said that it did."""

LARGEST_UNIT = 1 << 20


def find_units(environment: Mapping[str, str], platform: str = sys.platform) -> ServiceUnits:
    """The units of this machine's service manager. Raises RequestError where we know none."""
    if platform == "darwin":
        return LaunchdUnits(environment)
    if platform == "win32":
        raise RequestError(
            "there is no service manager here that we know", "run `atm daemon start` when you log in, for example"
        )
    return SystemdUnits(environment)


class _Units:
    """What both kinds share: the file, and talking to a manager."""

    name: str
    path: str

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._atm_home = _absolute(environment.get("ATM_HOME", ""))

    def text(self) -> str:
        raise NotImplementedError

    def _variables(self) -> dict[str, str]:
        names = (*service_unit.KEPT_VARIABLES, *service_unit.KEPT_FOLDERS)
        return {name: _absolute(value) for name in names if (value := self._environment.get(name))}

    def _home(self) -> str:
        home = self._environment.get("HOME")
        if not home:
            raise NoHome("HOME is not set, so there is no folder for the unit", "set HOME")
        return _absolute(home)

    def _run(self, *words: str) -> str:
        """Run a manager's command: empty if it did what it was told, else why not."""
        program = self._find(words[0])
        if program is None:
            return f"there is no {words[0]} here, so nothing starts it by itself: `atm daemon start` does"
        try:
            done = subprocess.run(
                [program, *words[1:]],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=MANAGER_SECONDS,
                check=False,
                env=dict(self._environment),
            )
        except (OSError, ValueError, subprocess.TimeoutExpired) as error:
            return f"{words[0]}: {error}"
        if done.returncode == 0:
            return ""
        said = (done.stderr or done.stdout)[-1000:].decode("utf-8", "replace").strip()
        return f"{shlex.join(words)}: {said or f'exit code {done.returncode}'}"

    def _find(self, program: str) -> str | None:
        return shutil.which(program, path=self._environment.get("PATH", os.defpath))

    def _run_all(self, *commands: list[str]) -> str:
        for command in commands:
            problem = self._run(*command)
            if problem:
                return problem
        return ""

    def _result(self, change: str, problem: str, *commands: list[str]) -> UnitResult:
        missing = bool(commands) and self._find(commands[0][0]) is None
        hint = " && ".join(shlex.join(command) for command in commands) if problem and not missing else ""
        return UnitResult(self.name, self.path, change, done=not problem, problem=problem, hint=hint)

    def _write(self) -> str:
        """`new`, `updated` or `unchanged`. Whole or not there: a manager may read it at any moment."""
        wanted, there = self.text(), self._read()
        if there == wanted:
            return UNCHANGED
        with explained(self.path):
            make_shared(os.path.dirname(self.path))
            temporary = f"{self.path}.{os.getpid()}.new"
            _remove(temporary)
            try:
                with open(temporary, "x", encoding="utf-8", newline="\n", opener=open_shared) as file:
                    file.write(wanted)
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(temporary, self.path)
            except BaseException:  # Ctrl-C too: half a file must not stay
                _remove(temporary)
                raise
        return NEW if there is None else UPDATED

    def _read(self) -> str | None:
        """What the unit says now, if there is one and it is ours."""
        if os.path.islink(self.path):
            raise OutsideLink(
                f"{self.path} is a link to {os.readlink(self.path)}, so somebody else manages it",
                "remove the link, if it is not needed any more",
                self.path,
            )
        with explained(self.path):
            try:
                with open(self.path, encoding="utf-8", errors="replace", newline="") as file:
                    found = file.read(LARGEST_UNIT)
            except (FileNotFoundError, NotADirectoryError):
                return None
        if not self._is_ours(found):
            raise WriteRefused(
                f"{self.path} was not written by atm", "move it away if it is not needed any more", self.path
            )
        return found

    def _is_ours(self, text: str) -> bool:
        raise NotImplementedError


class SystemdUnits(_Units):
    """A unit of the user's own systemd."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        super().__init__(environment)
        self.name = service_unit.systemd_name(self._atm_home)
        config = _absolute(environment.get("XDG_CONFIG_HOME", "")) or f"{self._home()}/.config"
        self.path = f"{config}/systemd/user/{self.name}"

    def text(self) -> str:
        return service_unit.systemd_unit(daemon_command(), self._variables())

    def install(self) -> UnitResult:
        change = self._write()
        reload, enable = _systemctl("daemon-reload"), _systemctl("enable", "--now", self.name)
        commands = [reload, enable]
        if change == UPDATED:  # `enable --now` leaves a service alone that runs by the old unit
            commands.append(_systemctl("try-restart", self.name))
        return self._result(change, self._run_all(*commands), *commands)

    def uninstall(self) -> UnitResult:
        if self._read() is None:
            return self._result(ABSENT, "")
        disable, reload = _systemctl("disable", "--now", self.name), _systemctl("daemon-reload")
        problem = self._run(*disable)
        with explained(self.path):
            os.unlink(self.path)
            _remove(f"{os.path.dirname(self.path)}/default.target.wants/{self.name}")
        return self._result(REMOVED, problem or self._run(*reload), *self._left_to_do(problem, reload))

    def _left_to_do(self, problem: str, reload: list[str]) -> list[list[str]]:
        return [_systemctl("stop", self.name), reload] if problem else [reload]

    def _is_ours(self, text: str) -> bool:
        return service_unit.is_ours(text)


class LaunchdUnits(_Units):
    """An agent of the user's launchd."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        super().__init__(environment)
        self.name = service_unit.launchd_label(self._atm_home)
        self.path = f"{self._home()}/Library/LaunchAgents/{self.name}.plist"
        self._domain = f"gui/{os.getuid()}" if hasattr(os, "getuid") else "gui/0"

    def text(self) -> str:
        return service_unit.launchd_plist(self.name, daemon_command(), self._variables())

    def install(self) -> UnitResult:
        change, service = self._write(), f"{self._domain}/{self.name}"
        enable, bootstrap = ["launchctl", "enable", service], ["launchctl", "bootstrap", self._domain, self.path]
        if change == UPDATED:
            self._run("launchctl", "bootout", service)
        elif not self._run("launchctl", "print", service):
            return self._result(change, "")
        problem = self._run(*enable) or self._bootstrap(bootstrap, BOOTSTRAP_TRIES if change == UPDATED else 1)
        return self._result(change, problem, enable, bootstrap)

    def _bootstrap(self, command: list[str], tries: int) -> str:
        problem = self._run(*command)
        while problem and tries > 1:
            time.sleep(BOOTSTRAP_PAUSE)
            problem, tries = self._run(*command), tries - 1
        return problem

    def uninstall(self) -> UnitResult:
        if self._read() is None:
            return self._result(ABSENT, "")
        service = f"{self._domain}/{self.name}"
        bootout = ["launchctl", "bootout", service]
        is_loaded = not self._run("launchctl", "print", service)
        problem = self._run(*bootout) if is_loaded or self._find("launchctl") is None else ""
        with explained(self.path):
            os.unlink(self.path)
        return self._result(REMOVED, problem, bootout)

    def _is_ours(self, text: str) -> bool:
        return f"<string>{self.name}</string>" in text


def daemon_command() -> list[str]:
    """
    This very Python and this very atm. `-P`: the service starts in the user's home, and a folder `atm` there must not
    be taken for the program.
    """
    if not sys.executable:
        raise RequestError("Python does not know its own path", "start the daemon by hand: `atm daemon run`")
    return [os.path.abspath(sys.executable), "-P", "-m", "atm", "daemon", "run"]


def _systemctl(*words: str) -> list[str]:
    return ["systemctl", "--user", *words]


def _absolute(path: str) -> str:
    return os.path.abspath(path) if path else ""


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
