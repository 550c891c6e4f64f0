"""
Clients of MCP that others wrote, from npm into a cache folder: every package by the hash in `mcp/package-lock.json`.

    python -m tests.lab.mcp_clients         # install what is missing, and say where it is

They need a newer Node than many machines have, so one comes with them. No script of a package is run.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from tests.lab.programs import NPM_SECONDS, OPTIONS, NotInstalled, cache_folder

LISTS = Path(__file__).with_name("mcp")
FILES = ("package.json", "package-lock.json")
CONFORMANCE = "@modelcontextprotocol/conformance/dist/index.js"
INSPECTOR = "@modelcontextprotocol/inspector/clients/launcher/build/index.js"


class McpClients(NamedTuple):
    """Where they are."""

    packages: Path
    node: Path

    def command(self, script: str) -> list[str]:
        return [str(self.node), str(self.packages / script)]


def find() -> McpClients | None:
    """What was installed before. The folder has the name of its lists, and gets it when everything is there."""
    packages = _folder() / "node_modules"
    node = next(iter(sorted(packages.glob("node-*/bin/node"))), None)
    return McpClients(packages, node) if node is not None else None


def _folder() -> Path:
    named = hashlib.sha256(b"".join((LISTS / name).read_bytes() for name in FILES)).hexdigest()[:12]
    return cache_folder(os.environ) / f"mcp-clients-{named}"


def install() -> McpClients:
    found = find()
    if found is not None:
        return found
    if not shutil.which("npm"):
        raise NotInstalled("npm is not here")
    target = _folder()
    target.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=".new-mcp-", dir=target.parent))
    try:
        for name in FILES:
            shutil.copy(LISTS / name, folder / name)
        words = ["npm", "install", *OPTIONS, "--prefix", str(folder), "--cache", str(target.parent / "npm")]
        done = subprocess.run(words, capture_output=True, text=True, timeout=NPM_SECONDS, check=False)
        if done.returncode:
            raise NotInstalled(f"npm says {(done.stderr or done.stdout).strip()[-500:]}")
        check(folder)
        folder.rename(target)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    made = find()
    if made is None:
        raise NotInstalled("there is no Node for this machine")
    return made


def check(folder: Path) -> None:
    """Every package that came is the one that was recorded, before anything of it is started."""
    came, recorded = (
        json.loads(path.read_text())["packages"]
        for path in (folder / "node_modules/.package-lock.json", LISTS / "package-lock.json")
    )
    for name, facts in came.items():
        if not facts.get("integrity") or facts["integrity"] != recorded.get(name, {}).get("integrity"):
            raise NotInstalled(f"{name} {facts.get('version')} is not what was recorded")


def main() -> int:
    try:
        made = install()
    except (NotInstalled, OSError, subprocess.TimeoutExpired) as error:
        print(f"MCP clients: {error}", file=sys.stderr)
        return 1
    print(f"MCP clients  {made.packages}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
