"""
`atm` as a program of its own that is struck by a signal at a chosen step of its work on the disk.

A process that has imported everything makes a copy of itself for each command, so that hundreds of steps can be tried.
The signal is sent by the very step, so where it strikes does not depend on how busy the machine is.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any, NamedTuple


class Struck(NamedTuple):
    """What a command left that was struck."""

    code: int
    """-9 for one that was killed."""
    out: str
    err: str
    steps: list[str]
    """Taken before it ended; up to the strike if it was killed."""


class Striker:
    """Runs commands that are struck at a step: `strike(words, home, step, number)`."""

    def __init__(self, environment: dict[str, str], folder: Path) -> None:
        self._out, self._err = folder / "struck.out", folder / "struck.err"
        self._environment = environment
        self._process = Popen(
            [sys.executable, __file__],
            stdin=PIPE,
            stdout=PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
        )

    def __call__(self, words: list[str], home: Path, step: int, number: int, **more: str) -> Struck:
        environment = {**self._environment, "ATM_HOME": str(home), "HOME": str(home), **more}
        stdin = more.pop("stdin", "")
        order = [words, environment, str(self._out), str(self._err), step, number, stdin]
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        code, steps = json.loads(self._process.stdout.readline())
        err = self._err.read_text()
        assert "Traceback" not in err, err
        return Struck(code, self._out.read_text(), err, steps)

    def end(self) -> None:
        self._process.communicate(timeout=60)
        assert self._process.returncode == 0


# The program.


def main() -> None:
    from tests.quick_atm import import_everything

    import_everything()
    for line in sys.stdin:
        told, tell = os.pipe()
        child = os.fork()
        if not child:
            os.close(told)
            become(tell, *json.loads(line))
        os.close(tell)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        with open(told) as steps:
            print(json.dumps([code, steps.read().split()]), flush=True)


def become(
    tell: int, words: list[str], environment: dict[str, str], out: str, err: str, step: int, number: int, stdin: str
) -> None:
    os.environ.clear()
    os.environ.update(environment)
    strike_at(step, number, tell)
    for name, descriptor in ((out, 1), (err, 2)):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), descriptor)
    read, write = os.pipe()
    os.write(write, stdin.encode())
    os.close(write)
    os.dup2(read, 0)
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w", 1)  # noqa: SIM115 - live with the process
    sys.argv = ["atm", *words]
    from atm.ui import hook
    from atm.ui.cli.main import run

    hook.SECONDS, hook.LAST_WORDS = 240.0, 120.0  # a signal says when its time is up, not a busy machine
    run()


def strike_at(step: int, number: int, tell: int) -> None:
    """Each step of the disk says its name, whoever's disk it is."""
    from atm.files.adapters.disk import RealDisk

    taken = 0

    def struck(name: str, real: Any) -> Any:
        def act(*args: Any, **named: Any) -> Any:
            nonlocal taken
            os.write(tell, f"{name}\n".encode())
            if taken == step:
                taken += 1
                os.kill(os.getpid(), number)
            taken += 1
            return real(*args, **named)

        return act

    for name, made in vars(RealDisk).items():
        if callable(made) and not name.startswith("_"):
            setattr(RealDisk, name, struck(name, made))


SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

if __name__ == "__main__":
    main()
