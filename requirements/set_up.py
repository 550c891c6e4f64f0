"""
Makes the virtual environment that `make` uses, and says at each moment which step runs and for how long.

Run by the Makefile with the user's Python, before anything is installed: only the standard library is imported. On a
terminal one line for each step is redrawn; elsewhere each step gets a line when it begins and ends, and every ten
seconds between.
"""

from __future__ import annotations

import os
import queue
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, TextIO

REDRAW_SECONDS = 1.0
PLAIN_SECONDS = 10.0
"""How often a step that goes on is told of, on a terminal and elsewhere."""

COMPILE_SKIPS = "/(mypy|mypyc|pip|setuptools|pkg_resources|lexers|styles|formatters)/"
"""What nobody runs here, or cannot be compiled (templates, code for other versions)."""


class Step(NamedTuple):
    """A command and what it does. The result of an optional one does not matter."""

    title: str
    command: list[str]
    packages: int = 0
    """How many packages it brings, where its output names them."""
    is_optional: bool = False


def steps(venv: Path, requirements: Path, python: str = sys.executable) -> list[Step]:
    """Everything that a new clone needs."""
    inside = str(venv / "bin/python")
    pip = [inside, "-m", "pip", "install", "--disable-pip-version-check", "--progress-bar=off"]
    packages = len(re.findall(r"^[\w.-]+==", requirements.read_text(encoding="utf-8"), re.M))
    made = [] if os.access(inside, os.X_OK) else [Step(f"make {venv}", [python, "-m", "venv", str(venv)])]
    # pip compiles everything that it installs with one core, half of the time of setting up: we compile with all.
    return [
        *made,
        Step("install tools", [*pip, "--no-compile", "--require-hashes", "-r", str(requirements)], packages),
        Step(
            "compile them",
            [inside, "-m", "compileall", "-qq", "-j", "0", "-x", COMPILE_SKIPS, str(venv / "lib")],
            is_optional=True,
        ),
        Step("install atm", [*pip, "--no-deps", "--no-build-isolation", "-e", "."]),
    ]


class Display:
    """Where the steps are told of."""

    def __init__(self, out: TextIO, total: int) -> None:
        self._out = out
        self._total = total
        self._is_terminal = out.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        self._drawn = 0
        self.every = REDRAW_SECONDS if self._is_terminal else PLAIN_SECONDS

    def show(self, number: int, title: str, detail: str, seconds: float, *, is_over: bool = False) -> None:
        parts = [f"  {number}/{self._total} {title}", detail, "" if not seconds and not is_over else f"{seconds:.0f} s"]
        text = "  ".join(part for part in parts if part)
        if not self._is_terminal:
            self._out.write(f"{text}{', done' if is_over else ' ...'}\n")
        else:
            columns = max(20, os.get_terminal_size(self._out.fileno()).columns or 80) - 1
            shown = f"{text}{'' if is_over else ' ...'}"[:columns]
            self._out.write(f"\r{shown:<{min(columns, self._drawn)}}{chr(10) if is_over else ''}")
            self._drawn = 0 if is_over else len(shown)
        self._out.flush()

    def fail(self, number: int, step: Step, code: int, output: list[str]) -> None:
        gap = "\n" if self._drawn else ""
        words = " ".join(step.command[:6])
        self._out.write(f"{gap}  {number}/{self._total} {step.title} failed ({words} ...: exit code {code}):\n")
        self._out.writelines(f"    {line}\n" for line in output[-20:])
        if step.command[1:3] == ["-m", "venv"]:
            self._out.write("  Python's venv module is missing; on Debian: apt-get install python3-venv\n")
        self._out.flush()


def detail_of(step: Step, output: list[str]) -> str:
    """How far pip is, from what it printed."""
    if not step.packages:
        return ""
    ignored = sum(line.startswith("Ignoring ") for line in output)
    collected = sum(line.startswith(("Collecting ", "Processing ")) for line in output)
    if any(line.startswith("Installing collected packages") for line in output):
        return f"{collected} packages fetched, unpacking"
    return f"{min(collected, step.packages - ignored)} of {step.packages - ignored} packages fetched"


def perform(number: int, step: Step, display: Display) -> bool:
    """Run one step; False if it failed."""
    began = time.monotonic()
    display.show(number, step.title, "", 0)
    told_at, output = began, []
    process = subprocess.Popen(
        step.command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env=_environment(step),
    )
    try:
        for line in _lines(process):
            output += [line] if line else []
            now = time.monotonic()
            if now - told_at >= display.every:
                display.show(number, step.title, detail_of(step, output), now - began)
                told_at = now
        code = process.wait()
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()
    if code and not step.is_optional:
        display.fail(number, step, code, output)
        return False
    display.show(number, step.title, detail_of(step, output).partition(",")[0], time.monotonic() - began, is_over=True)
    return True


def _environment(step: Step) -> dict[str, str]:
    """The build backend is found on the PATH of the new environment."""
    folder = os.path.dirname(os.path.abspath(step.command[0]))
    return {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ.get('PATH', '')}", "PYTHONUNBUFFERED": "1"}


def _lines(process: subprocess.Popen[str]) -> Iterator[str]:
    """Each line of the output, and an empty one for each moment without any."""
    assert process.stdout is not None
    lines: queue.Queue[str | None] = queue.Queue()
    stream = process.stdout

    def read() -> None:
        with stream:
            for line in stream:
                lines.put(line.rstrip())
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    while True:
        try:
            line = lines.get(timeout=REDRAW_SECONDS)
        except queue.Empty:
            line = ""
        if line is None:
            return
        yield line


def main(venv: str, requirements: str) -> int:
    todo = steps(Path(venv), Path(requirements))
    display, began = Display(sys.stdout, len(todo)), time.monotonic()
    print(f"setting up {venv}, once:", flush=True)
    for number, step in enumerate(todo, 1):
        if not perform(number, step, display):
            return 1
    print(f"{venv} is ready after {time.monotonic() - began:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except KeyboardInterrupt:
        print("\nstopped; the same command continues", flush=True)
        sys.exit(130)
