"""
Counts how often the example policy of the docs asks for everyday commands, and by which decision.

    .venv/bin/python -m tests.approvals.questions [--list] [--write FILE]

`--list` prints each command with its decision. `--write` keeps the decisions in a file, as `everyday_before.json` does
for the code before command lines were judged layer by layer. The policy is the first example of
`docs/how-to-approvals.md`; `DOCS` in the environment names another copy of that page.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
import tomllib
from collections import Counter
from pathlib import Path

from tests.approvals.judging import HERE, PATH, Judge, as_in_the_hook
from tests.approvals.world import World, build_world

ROOT = HERE.parent.parent
BEFORE = HERE / "everyday_before.json"
INSTALLED = (
    *(
        "atm",
        "rg",
        "fd",
        "jq",
        "tree",
        "gh",
        "curl",
        "wget",
        "pytest",
        "ruff",
        "black",
        "mypy",
        "isort",
        "flake8",
        "pyright",
    ),
    *(
        "pre-commit",
        "tox",
        "nox",
        "uv",
        "poetry",
        "pip",
        "python",
        "python3",
        "node",
        "npm",
        "npx",
        "yarn",
        "pnpm",
        "bun",
    ),
    *(
        "deno",
        "cargo",
        "go",
        "gofmt",
        "golangci-lint",
        "mvn",
        "dotnet",
        "bundle",
        "rake",
        "ruby",
        "php",
        "mix",
        "swift",
    ),
    *(
        "cmake",
        "ctest",
        "make",
        "shellcheck",
        "docker",
        "psql",
        "sqlite3",
        "redis-cli",
        "java",
        "sudo",
        "unzip",
        "column",
    ),
)
"""What a developer's machine has, in a folder of its PATH."""

FOLDER = "/home/you/project"
"""In the commands, the worktree of the agent."""


def everyday() -> list[str]:
    groups = tomllib.loads((HERE / "everyday.toml").read_text())["group"]
    return [command for group in groups for command in group["commands"]]


def example_policy(page: Path = ROOT / "docs/how-to-approvals.md") -> str:
    """The policy that the docs begin with."""
    found = re.search(r"^## Ten lines$.*?^```toml\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
    assert found, f"{page} has no policy under 'Ten lines'"
    return found.group(1)


def decisions(policy: str) -> dict[str, str]:
    """What becomes of each everyday command in a usual worktree."""
    with tempfile.TemporaryDirectory(prefix="atm-everyday") as folder:
        world = build_world(Path(folder).resolve() / "world")
        judge = Judge(Path(folder) / "policy", policy)
        with as_in_the_hook(world.home, f"{_installed(world)}:{PATH}"):
            place = str(world.worktree)
            return {line: judge.decide(line.replace(FOLDER, place), place).decision for line in everyday()}


def _installed(world: World) -> Path:
    place = world.root / "installed"
    place.mkdir()
    for name in INSTALLED:
        (place / name).write_text("#!/bin/sh\n")
        (place / name).chmod(0o755)
    return place


def decisions_before() -> dict[str, str]:
    found: dict[str, str] = json.loads(BEFORE.read_text())
    return found


def main() -> None:
    words = sys.argv[1:]
    page = os.environ.get("DOCS")
    found = decisions(example_policy(Path(page)) if page else example_policy())
    if "--write" in words:
        Path(words[words.index("--write") + 1]).write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
    if "--list" in words:
        for line, decision in found.items():
            sys.stdout.write(f"{decision:6} {line!r}\n")
    sys.stdout.write(f"{dict(Counter(found.values()))} of {len(found)}\n")
    if BEFORE.exists():
        before = decisions_before()
        sys.stdout.write(f"{dict(Counter(before.values()))} before\n")
        for line, decision in found.items():
            if before.get(line) != decision:
                sys.stdout.write(f"{before.get(line)} -> {decision}: {line!r}\n")


if __name__ == "__main__":
    main()
