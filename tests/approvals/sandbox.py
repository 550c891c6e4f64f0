"""
Lines run in real shells, where they can harm nothing: in bubblewrap, or in namespaces made by `unshare`.

The root is in memory and of its own; programs are there read-only; home folder, worktrees and what lies outside of them
are copies; there is no network. Without such a sandbox nothing is run.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.approvals.world import World
from tests.optional import skip_without

DRIVER = Path(__file__).parent / "sandbox_driver.py"
LINKS = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
SECONDS_FOR_A_LINE = 5
GONE = 120


class SandboxRun(NamedTuple):
    """What one line did in one shell."""

    line: str
    shell: str
    changed: tuple[str, ...]
    """Paths outside of the worktrees."""
    within: tuple[str, ...]
    started: tuple[tuple[str, tuple[str, ...]], ...]
    """Programs with their arguments, the shell first."""
    is_late: bool


class Attempt(NamedTuple):
    """A line to be run."""

    line: str
    shell: str
    folder: str = "w"


def run_lines(world: World, attempts: Sequence[Attempt]) -> list[SandboxRun]:
    """All in one sandbox, one after the other."""
    if not attempts:
        return []
    way = _way()
    assert way, why_not()  # never without a sandbox
    done = _run(WAYS[way](world), world, attempts)
    assert done.returncode == 0, f"the sandbox failed: {done.stderr[-2000:]}"
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one["id"] for one in found] == [*range(len(attempts))], done.stderr[-2000:]
    return [
        SandboxRun(
            attempt.line,
            attempt.shell,
            tuple(one["changed"]),
            tuple(one["within"]),
            tuple((program, tuple(words)) for program, words in one["started"]),
            one["late"],
        )
        for attempt, one in zip(attempts, found, strict=True)
    ]


def skip_without_sandbox(*shells: str) -> None:
    why = why_not()
    if why:
        pytest.skip(why)
    for shell in shells:
        skip_without(shell)


@cache
def why_not() -> str:
    """Why lines cannot be run here; empty if they can."""
    if sys.platform != "linux":
        return "lines run in namespaces of Linux alone"
    return "" if _way() else "needs bwrap, or namespaces for this user: bubblewrap"


@cache
def _way() -> str:
    """Which of the two works here, with everything that a run needs."""
    return next((way for way in WAYS if shutil.which(way) and _works(way)), "")


def _works(way: str) -> bool:
    with tempfile.TemporaryDirectory(prefix="atm-sandbox") as folder:
        world = World(Path(folder).resolve() / "world")
        for place in (world.home, world.worktree / "nested"):
            place.mkdir(parents=True)
        (world.worktree / "evil.sh").touch()
        done = _run(WAYS[way](world), world, [Attempt("true", "sh")])
    return done.returncode == 0 and bool(done.stdout)


def _run(sandbox: Sequence[str], world: World, attempts: Sequence[Attempt]) -> subprocess.CompletedProcess[str]:
    cases = [{"id": number, **one._asdict()} for number, one in enumerate(attempts)]
    return subprocess.run(
        [*sandbox, *_driver()],
        input=json.dumps({"root": str(world.root), "cases": cases}) + "\n",
        capture_output=True,
        text=True,
        timeout=GONE + SECONDS_FOR_A_LINE * len(attempts),
        check=False,
    )


def _driver() -> list[str]:
    return [os.path.realpath(sys.executable), "-I", "-S", "-B", "/driver.py"]


def _interpreter() -> list[str]:
    """Its folder, if that is not below /usr."""
    prefix = os.path.realpath(sys.base_prefix)
    return [] if prefix.startswith("/usr/") or prefix == "/usr" else [prefix]


def _bwrap(world: World) -> list[str]:
    words = ["bwrap", "--unshare-all", "--unshare-user", "--uid", "1000", "--gid", "1000", "--die-with-parent"]
    words += ["--new-session", "--clearenv", "--cap-drop", "ALL", "--hostname", "sandbox", "--tmpfs", "/"]
    words += ["--ro-bind", "/usr", "/usr", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--dir", "/etc"]
    for path in LINKS:
        if os.path.islink(path):
            words += ["--symlink", os.readlink(path), path]
        elif os.path.isdir(path):
            words += ["--ro-bind", path, path]
    for path in _interpreter():
        words += ["--ro-bind", path, path]
    for place, name in (("/etc", "/real-etc"), (str(world.root), "/pristine"), (str(DRIVER), "/driver.py")):
        words += ["--ro-bind", place, name]
    words += ["--dir", str(world.root)]
    return [*words, "--"]


_NAMESPACES = (
    *("unshare", "--user", "--map-root-user", "--mount", "--net", "--ipc", "--uts", "--pid", "--fork", "--kill-child"),
    "--mount-proc",
)

_MOUNTS = """
set -eu
new=$1; root=$2; driver=$3; shift 3
mount -t tmpfs none "$new"
cd "$new"
mkdir -p usr proc dev/shm tmp etc real-etc pristine old ".$root"
bind() { mkdir -p ".$2"; mount --rbind "$1" ".$2"; mount -o remount,bind,ro ".$2"; }
bind /usr /usr
bind /etc /real-etc
bind "$root" /pristine
while [ "$1" != -- ]; do
    if [ -L "$1" ]; then ln -s "$(readlink "$1")" ".$1"; elif [ -d "$1" ]; then bind "$1" "$1"; fi
    shift
done
shift
for name in null zero full random urandom; do : > dev/$name; mount --bind /dev/$name dev/$name; done
ln -s /proc/self/fd dev/fd
ln -s fd/0 dev/stdin; ln -s fd/1 dev/stdout; ln -s fd/2 dev/stderr
cp "$driver" driver.py
mount --rbind /proc proc
pivot_root . old
umount -l /old
rmdir /old
exec env -i "$@"
"""


def _unshared(world: World) -> list[str]:
    """The same by hand."""
    places = [*LINKS, *_interpreter()]
    mounts = ["sh", "-c", _MOUNTS, "sh", "/mnt", str(world.root), str(DRIVER), *places, "--"]
    return [*_NAMESPACES, "--", *mounts]


WAYS = {"bwrap": _bwrap, "unshare": _unshared}
