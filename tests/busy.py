"""
`make test` as on a bare and busy machine, several times in a row: a fresh clone, an empty home, no optional program in
the PATH, in the background as `nohup` starts it, and busy loops beside it. As many tests run at once as there are
loops: then the machine has a load of twice that, and half of its time is for the tests.

    python -m tests.busy RUNS [LOOPS]

Each run's output stays in the folder that is named at the beginning. The exit code is 0 if every run was green.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.optional import hide

PROJECT = Path(__file__).parent.parent
KEPT = ("LANG", "PIP_CONFIG_FILE", "PIP_CERT", "PIP_FIND_LINKS", "PIP_DEFAULT_TIMEOUT", "SSL_CERT_FILE")
"""Variables of ours that a run has, besides HOME and PATH: where packages come from."""

LOOP = """
import os, sys
while os.getppid() == int(sys.argv[1]):
    for _ in range(1_000_000):
        pass
"""
"""It ends with us, even if we are killed."""


def as_nohup_does() -> None:
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def use_this_python(programs: Path) -> None:
    """The interpreter itself: in the PATH may be a version manager's script, for a shell that is hidden."""
    (programs / "python3").unlink(missing_ok=True)
    (programs / "python3").symlink_to(Path(sys.executable).resolve())


def run_once(folder: Path, programs: Path, runners: int) -> int:
    """One run from nothing; its exit code."""
    home = folder / "home"
    home.mkdir(parents=True)
    subprocess.run(["git", "clone", "-q", str(PROJECT), str(folder / "atm")], check=True)
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    with open(folder / "output.txt", "wb") as output:
        made = subprocess.Popen(
            ["make", "test", f"JOBS={runners}"],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=folder / "atm",
            env={**kept, "HOME": str(home), "PATH": str(programs)},
            preexec_fn=as_nohup_does,  # noqa: PLW1509 - this process has no threads
            start_new_session=True,
        )
    try:
        return made.wait()
    except BaseException:  # Ctrl-C and SIGTERM: all that it started goes with us
        os.killpg(made.pid, signal.SIGKILL)
        made.wait()
        raise


def last_words(folder: Path) -> str:
    said = (folder / "output.txt").read_text(errors="replace").splitlines()
    return next((line.strip("= ") for line in reversed(said) if " passed" in line), "no test ran")


def main(runs: int, loops: int = 8) -> int:
    place = Path(tempfile.mkdtemp(prefix="atm-busy-"))
    programs = place / "programs"
    programs.mkdir()
    hide(programs)
    use_this_python(programs)
    print(f"{runs} runs beside {loops} busy loops, in {place}", flush=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    beside = [subprocess.Popen([sys.executable, "-c", LOOP, str(os.getpid())]) for _ in range(loops)]
    codes = []
    try:
        for number in range(1, runs + 1):
            folder, begun = place / f"run-{number}", time.monotonic()
            codes.append(run_once(folder, programs, loops))
            result = "green" if codes[-1] == 0 else f"red ({codes[-1]})"
            print(f"run {number}: {result}, {time.monotonic() - begun:.0f} s, {last_words(folder)}", flush=True)
            shutil.rmtree(folder / "atm")
    finally:
        for loop in beside:
            loop.kill()
            loop.wait()
    return int(any(codes))


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:] or ["3"])))
