"""
A copy of the project in which a mutant can live: its own source, its own tests, its own Python.

Tests start `atm` as `sys.executable -m atm` with little of the environment, so neither PYTHONPATH nor a working folder
would bring the mutant into those processes. The copy's virtual environment does: one file in it puts the copy's source
first and the real environment's packages behind.
"""

from __future__ import annotations

import compileall
import json
import os
import shutil
import signal
import subprocess
import sysconfig
import time
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LEFT_OUT = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache", ".hypothesis", "node_modules", "temp")
STARTER = "import atm_mutants_following; atm_mutants_following.follow_from_the_start()"
OUTER_LIMIT = 900.0
"""Seconds for one run of pytest. Each test has its own limit; this one is for what hangs between tests."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a run of tests told: each test's end, and which one had begun when the process ended."""

    code: int
    ends: list[dict[str, Any]]
    unfinished: str | None
    output: str

    @property
    def failed(self) -> str | None:
        return next((end["ended"] for end in self.ends if end["outcome"] == "failed"), None)


class Copy:
    """One copy. One run at a time."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.folder = folder
        self.source = folder / "src" / "atm"
        self._scratch = folder.parent / f"{folder.name}-scratch"
        self._python = folder / ".venv" / "bin" / "python"
        self._runs = 0
        shutil.copytree(root, folder, ignore=LEFT_OUT, symlinks=True)
        modules = root / "tests" / "node" / "node_modules"
        if modules.exists():
            (folder / "tests" / "node" / "node_modules").symlink_to(modules)
        self._make_python()
        compileall.compile_dir(folder / "src", quiet=2)

    def _make_python(self) -> None:
        home = self.folder / ".venv"
        venv.create(home, symlinks=True)
        (home / "notes").mkdir()
        packages = Path(sysconfig.get_path("purelib", vars={"base": str(home), "platbase": str(home)}))
        real = dict.fromkeys([sysconfig.get_path("purelib"), sysconfig.get_path("platlib")])
        shutil.copy(Path(__file__).with_name("following.py"), packages / "atm_mutants_following.py")
        lines = [str(self.folder / "src"), *real, STARTER]
        (packages / "copy.pth").write_text("\n".join(lines) + "\n")

    def watch(self, modules: Sequence[str]) -> None:
        """Which modules are followed when lines are asked for."""
        names = "\n".join(str(self.source / module) for module in modules)
        (self.folder / ".venv" / "notes" / "watched").write_text(names)

    def put(self, module: str, text: str) -> None:
        """
        Write a module anew.

        Python takes compiled code for current when the source's size and second are those it noted, and one lie is
        often as long as another and as quick. So every version gets a second of its own.
        """
        path = self.source / module
        self._runs += 1
        path.write_text(text)
        moment = time.time() - 10_000_000 + 10 * self._runs
        os.utime(path, (moment, moment))

    def run(
        self,
        files: Sequence[str],
        *,
        limits: dict[str, float] | None = None,
        notes: Path | None = None,
        stop: bool = True,
    ) -> Told:
        """Run test files, or of them the tests that have a limit, in that order."""
        shutil.rmtree(self._scratch, ignore_errors=True)
        self._scratch.mkdir()
        (self.folder / ".venv" / "notes" / "current").unlink(missing_ok=True)
        tell = self._scratch / "told"
        words = [str(self._python), "-m", "pytest", *files, "-p", "tests.mutants.plugin", "--tell", str(tell)]
        # Fresh for every run: tests keep compiled code there.
        words += ["--basetemp", str(self._scratch / "tests"), "-p", "no:cacheprovider", "-p", "no:xdist"]
        words += ["-p", "no:faulthandler", "--tb=line", *(["-x"] if stop else [])]
        if limits is not None:
            (self._scratch / "wanted").write_text(json.dumps(limits))
            words += ["--tests-from", str(self._scratch / "wanted")]
        if notes is not None:
            words += ["--notes", str(notes)]
        code, output = self._run(words)
        self._end_what_is_left()
        return _as_told(code, tell, output)

    def _run(self, words: list[str]) -> tuple[int, str]:
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "COVERAGE"))}
        path = self._scratch / "output"
        with path.open("wb") as output:
            process = subprocess.Popen(
                words, cwd=self.folder, env=kept, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
            )
            try:
                code = process.wait(OUTER_LIMIT)
            except BaseException as error:
                process.kill()
                code = process.wait()
                if not isinstance(error, subprocess.TimeoutExpired):
                    raise
        return code, path.read_text(errors="replace")[-4000:]

    def _end_what_is_left(self) -> None:
        """A test that was cut off did not end what it had started. Whoever runs this copy's Python is ours."""
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                if (entry / "cmdline").read_bytes().startswith(bytes(self.folder) + b"/"):
                    os.kill(int(entry.name), signal.SIGKILL)
            except OSError:
                continue  # it ended by itself


def _as_told(code: int, path: Path, output: str) -> Told:
    ends: list[dict[str, Any]] = []
    begun = None
    for line in path.read_text().splitlines() if path.exists() else []:
        if not line.startswith("{"):
            break  # where the process was when its time was over
        told = json.loads(line)
        begun = told.get("began")
        if "ended" in told:
            ends.append(told)
    return Told(code, ends, begun, output)
