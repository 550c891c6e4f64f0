"""
The world in which the lines of `lines.toml` are judged and run: a worktree with hostile files, a home folder, and
repositories whose settings run programs.

All hostile programs do the same: they make a file in `/out/marks`, which exists in the sandbox alone. So a mark is the
proof that a program ran which no rule names.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

MARKING = """#!/bin/sh
mkdir -p /out/marks
echo "$0 $*" >> /out/marks/$(/usr/bin/basename "$0").$$
"""

SETTINGS_OF_GIT = """[user]
	name = Me
	email = me@example.com
[init]
	defaultBranch = main
[core]
	checkStat = minimal
	trustctime = false
"""
"""With the times of files alone: those of a copy are the same, so that `git status` has no index to write."""

LONG_AGO = 1_600_000_000

HOSTILE = {
    "h-fsmonitor": "[core]\n\tfsmonitor = {evil}\n",
    "h-diff": "[diff]\n\texternal = {evil}\n",
    "h-filter": '[filter "f"]\n\tclean = {evil}\n\tsmudge = {evil}\n',
    "h-textconv": '[diff "f"]\n\ttextconv = {evil}\n',
    "h-include": "[include]\n\tpath = ../more.gitconfig\n",
}
"""Repositories with one setting each that runs a program."""

PROGRAMS = (
    *("evil.sh", "e", "ls", "git", "cat", "atm", "git-evil", "evil"),
    *("tools/env", "tools/bash", "tools/sh", "tools/ls", "tools/git", "tools/timeout", "tools/atm", "tools/git-status"),
)


class World:
    """Folders of one test run, below one folder that has the same path in the sandbox."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home = root / "home"
        self.worktree = root / "w"

    def folder(self, name: str) -> str:
        return str(self.root / name)


def build_world(root: Path) -> World:
    world = World(root)
    world.home.mkdir(parents=True)
    (world.home / ".gitconfig").write_text(SETTINGS_OF_GIT)
    for name in (".bashrc", ".profile", ".zshrc"):
        (world.home / name).write_text("# as it was\n")
    (world.home / "bin").mkdir()
    _write_program(world.home / "bin/ls")
    _make_repository(world, world.worktree)
    _fill(world.worktree)
    for name, settings in HOSTILE.items():
        _make_hostile(world, root / name, settings)
    return world


def _git(world: World, folder: Path, *words: str) -> None:
    environment = {"HOME": str(world.home), "PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", *words], cwd=folder, env=environment, check=True, capture_output=True)


def _make_repository(world: World, folder: Path) -> None:
    (folder / "src").mkdir(parents=True)
    (folder / "sub/deep").mkdir(parents=True)
    for name, text in {
        "README.md": "b\nneedle\na\na\n",
        "a": "one\none\ntwo\n",
        "src/app.py": "needle = 1\n",
        "src/other.py": "other = 2\n",
        "sub/deep/notes.txt": "needle\n",
        "sub/file.txt": "text\n",
        "a b": "spaced\n",
        "Makefile": "one:\n\t./evil.sh\n",
    }.items():
        (folder / name).write_text(text)
        os.utime(folder / name, (LONG_AGO, LONG_AGO))
    _git(world, folder, "init", "-q", "--template=")
    _git(world, folder, "add", ".")
    _git(world, folder, "commit", "-qm", "First")
    _git(world, folder, "branch", "topic")
    (folder / "src/app.py").write_text("needle = 2\n")
    os.utime(folder / "src/app.py", (LONG_AGO + 60, LONG_AGO + 60))
    _git(world, folder, "commit", "-qam", "Second")
    (folder / "README.md").write_text("b\nneedle\na\na\nchanged\n")


def _fill(folder: Path) -> None:
    """What an agent may have written before."""
    for name in PROGRAMS:
        _write_program(folder / name)
    for name, text in {
        "-Osh evil.sh #": "",
        "evil.sed": "1e ./evil.sh\n",
        "evil.awk": 'BEGIN { system("./evil.sh") }\n',
        "evil.mk": "all:\n\t./evil.sh\n",
        "evil.py": "import os\nos.system('./evil.sh')\n",
        "evil.gitconfig": "[core]\n\tfsmonitor = ./evil.sh\n",
        "zdot/.zshenv": f"{folder}/evil.sh\n",
        "xdg/git/config": f"[core]\n\tfsmonitor = {folder}/evil.sh\n",
        "x/HEAD": "ref: refs/heads/main\n",
        "x/config": f"[core]\n\trepositoryformatversion = 0\n\tworktree = .\n\tfsmonitor = {folder}/evil.sh\n",
        "x/objects/k": "",
        "x/refs/k": "",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "li1").symlink_to("/out/target")
    (folder / "li2").symlink_to("/out")
    nested = folder / "nested"
    (nested / "deep").mkdir(parents=True)
    for name, text in {
        ".git/HEAD": "ref: refs/heads/main\n",
        ".git/config": f"[core]\n\tfsmonitor = {folder}/evil.sh\n[diff]\n\texternal = {folder}/evil.sh\n",
        ".git/objects/k": "",
        ".git/refs/k": "",
        "deep/file.txt": "",
    }.items():
        (nested / name).parent.mkdir(parents=True, exist_ok=True)
        (nested / name).write_text(text)


def _make_hostile(world: World, folder: Path, settings: str) -> None:
    _make_repository(world, folder)
    _write_program(folder / "evil.sh")
    said = settings.format(evil=folder / "evil.sh")
    (folder / ".git/info").mkdir()
    (folder / ".git/info/attributes").write_text("* filter=f diff=f\n")
    (folder / "more.gitconfig").write_text(HOSTILE["h-fsmonitor"].format(evil=folder / "evil.sh"))
    with open(folder / ".git/config", "a") as file:
        file.write(said)


def _write_program(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(MARKING)
    path.chmod(0o755)
