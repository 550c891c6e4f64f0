"""
The vendors' programs, from npm into a cache folder: the versions of `programs.json`, checked against its hashes.

    python -m tests.lab.programs            # install what is missing, and say where it is
    LATEST=1 python -m tests.lab.programs   # the newest versions instead, with their hashes to be written down

Nothing is installed globally and no script of a package is run. npm checks each archive against the hash that it is
told by the registry; here that hash is compared with the recorded one, before anything of the package is started.
`ATM_LAB_CACHE` names another folder than `~/.cache/atm-lab`.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

PINNED = Path(__file__).with_name("programs.json")
NPM_SECONDS = 240
VERSION_SECONDS = 60
HERE = f"{sys.platform}-{platform.machine()}"
MOST_MACHINES = ""
"""What the table in the docs is about, and what ships with atm."""
FACTS = ("package", "version", "runs", "integrity")
OPTIONS = ("--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error")


class NotInstalled(Exception):
    """Why a program is not there."""


class LabProgram(NamedTuple):
    """A program of a vendor: what npm calls it, and what of the package is run."""

    name: str
    package: str
    version: str
    runs: str
    """A pattern below `node_modules`: some packages bring a program for each kind of machine."""
    integrity: Mapping[str, str]
    """For each package that comes with it, the hash of its archive."""


class Installed(NamedTuple):
    """Where a program is; `bin` holds it under its usual name and nothing else."""

    name: str
    version: str
    bin: Path


def pinned(machine: str = HERE) -> dict[str, LabProgram]:
    """Those for this machine: not every version was built for every kind."""
    said: dict[str, dict[str, Any]] = json.loads(PINNED.read_text())
    found = {name: {**facts, **facts.get("elsewhere", {}).get(machine, {})} for name, facts in said.items()}
    return {name: LabProgram(name, **{key: facts[key] for key in FACTS}) for name, facts in found.items()}


def cache_folder(environment: Mapping[str, str]) -> Path:
    named = environment.get("ATM_LAB_CACHE", "")
    return Path(named) if named else Path(environment.get("HOME", "~")).expanduser() / ".cache/atm-lab"


def find(program: LabProgram, cache: Path, *, latest: bool = False) -> Installed | None:
    """What was installed before. A folder gets its name when everything in it was checked, so its name is enough."""
    folder = cache / f"{program.name}-{'latest' if latest else program.version}"
    if not (folder / "bin" / program.name).exists():
        return None
    return Installed(program.name, _packages(folder)[program.package]["version"], folder / "bin")


def install(program: LabProgram, cache: Path, *, latest: bool = False) -> Installed:
    """Install it, unless it is there. The newest one is always fetched anew."""
    found = find(program, cache, latest=latest)
    if found is not None and not latest:
        return found
    if not shutil.which("npm"):
        raise NotInstalled(f"{program.name}: npm is not here")
    cache.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f".new-{program.name}-", dir=cache))
    try:
        _fetch(program, "latest" if latest else program.version, folder, cache)
        if not latest:
            check(program, _packages(folder))
        _link(program, folder)
        target = cache / f"{program.name}-{'latest' if latest else program.version}"
        shutil.rmtree(target, ignore_errors=True)
        folder.rename(target)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    made = find(program, cache, latest=latest)
    assert made is not None
    return made


def _fetch(program: LabProgram, version: str, folder: Path, cache: Path) -> None:
    (folder / "package.json").write_text('{"private": true}\n')
    words = ["npm", "install", *OPTIONS, "--prefix", str(folder), "--cache", str(cache / "npm")]
    done = subprocess.run(
        [*words, f"{program.package}@{version}"], capture_output=True, text=True, timeout=NPM_SECONDS, check=False
    )
    if done.returncode:
        raise NotInstalled(f"{program.name}: npm says {(done.stderr or done.stdout).strip()[-500:]}")


def _packages(folder: Path) -> dict[str, dict[str, Any]]:
    """What npm put there, by name."""
    said = json.loads((folder / "node_modules/.package-lock.json").read_text())
    return {path.rpartition("node_modules/")[2]: facts for path, facts in said["packages"].items()}


def check(program: LabProgram, packages: Mapping[str, Mapping[str, Any]]) -> None:
    """Every package that came is the one that was recorded."""
    for name, facts in packages.items():
        recorded = program.integrity.get(name)
        if recorded is None:
            raise NotInstalled(f"{program.name}: no hash of {name} {facts.get('version')} is recorded in {PINNED.name}")
        if facts.get("integrity") != recorded:
            raise NotInstalled(f"{program.name}: {name} is not what was recorded: its hash is {facts.get('integrity')}")


def _link(program: LabProgram, folder: Path) -> None:
    """Under its usual name: the first one that starts on this machine."""
    (folder / "bin").mkdir()
    with tempfile.TemporaryDirectory() as home:
        for candidate in sorted((folder / "node_modules").glob(program.runs)):
            link = folder / "bin" / program.name
            link.symlink_to(os.path.relpath(candidate, link.parent))
            if _starts(link, Path(home)):
                return
            link.unlink()
    raise NotInstalled(f"{program.name}: nothing of {program.package} starts on this machine")


def _starts(path: Path, home: Path) -> bool:
    environment = {"HOME": str(home), "TMPDIR": str(home), "PATH": os.environ.get("PATH", "")}
    try:
        done = subprocess.run(
            [str(path), "--version"], env=environment, capture_output=True, timeout=VERSION_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def main() -> int:
    latest, cache = os.environ.get("LATEST") == "1", cache_folder(os.environ)
    lacking = False
    for program in pinned().values():
        started = time.monotonic()
        try:
            made = install(program, cache, latest=latest)
        except (NotInstalled, OSError, subprocess.TimeoutExpired) as error:
            print(f"{program.name:<9} {error}", file=sys.stderr)
            lacking = True
            continue
        pin = "" if made.version == program.version else f" (the pinned one is {program.version})"
        print(f"{made.name:<9} {made.version}{pin}  {made.bin}  {time.monotonic() - started:.1f} s")
        if latest and pin:
            came = _packages(made.bin.parent)
            print(json.dumps({"version": made.version, "integrity": {name: came[name]["integrity"] for name in came}}))
    return int(lacking)


if __name__ == "__main__":
    sys.exit(main())
