"""Checkpoints in git: what one of a large team costs beside an empty commit, and beside git storing the same bytes."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from atm.files.adapters.machine import RealChance, RealClock
from atm.sessions.adapters.git_checkpoints import CheckpointBranches
from benchmarks.cases import Bench, _progress
from benchmarks.measure import Program, Times, Variant, round_robin
from benchmarks.rows import Row, at_most, beside
from benchmarks.sandboxes import TEAM, TEXT

MEMBERS = 100
STATE, MAIL, TASKS = 60_000, 2_000_000, 300_000
"""Bytes of the files of a team of that size."""

MORE_MAIL = 2_000
"""Bytes between two checkpoints."""

EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

WHY_CHECKPOINT = (
    "a checkpoint is four processes of git, and git compresses and hashes a mailbox of two megabytes whole, however "
    "little is new in it; that alone is many times an empty commit, and more than half of all"
)


@dataclass(frozen=True, slots=True)
class CheckpointFigures:
    """What was found."""

    times: dict[str, Times]


class LargeTeam:
    """The files of a team whose mail grows."""

    def __init__(self, folder: Path) -> None:
        self._dice, self._chance = random.Random(0), RealChance()
        self.folder = folder
        self.files = {"state.json": b"", "mailbox.log": self._rows(MAIL), "tasks.jsonl": self._rows(TASKS)}

    def _rows(self, size: int) -> bytes:
        rows, words = b"", TEXT.split()
        while len(rows) < size:
            member, text = f"member-{self._dice.randrange(MEMBERS)}", " ".join(self._dice.choices(words, k=20))
            rows += json.dumps({"id": self._chance.new_id(), "from": member, "text": text}).encode() + b"\n"
        return rows

    def go_on(self) -> None:
        """Until the next checkpoint. The files lie in the folder too, for git itself."""
        self.files["state.json"] = self._rows(STATE)
        self.files["mailbox.log"] += self._rows(MORE_MAIL)
        for name, content in self.files.items():
            (self.folder / name).write_bytes(content)


def measure_checkpoints(bench: Bench) -> CheckpointFigures:
    rounds = bench.effort.large_rounds
    bench.say(f"checkpoints of {MEMBERS} members beside an empty commit, {rounds} rounds")
    team, small = LargeTeam(_new_repository(bench)), {"state.json": b""}
    other = LargeTeam(_new_repository(bench))  # of its own: git does not write what is there already
    checkpoints = CheckpointBranches(RealClock())
    common = checkpoints.repository(str(team.folder))

    def commit(name: str, files: dict[str, bytes]) -> None:
        checkpoints.commit(common, name, files, "a checkpoint")

    def grow_a_little() -> None:
        small["state.json"] = RealChance().new_id().encode()

    variants = [
        Variant("commit-tree", _git(team.folder, "commit-tree", "-m", "empty", EMPTY_TREE)),
        Variant("checkpoint", lambda: commit(TEAM, team.files), team.go_on),
        Variant("hash-object", _git(other.folder, "hash-object", "-w", "--no-filters", *other.files), other.go_on),
        Variant("small", lambda: commit("small", small), grow_a_little),
        Variant("the same again", lambda: commit("same", {"state.json": b""})),
    ]
    return CheckpointFigures(round_robin(variants, rounds, _progress(bench, rounds)))


def _new_repository(bench: Bench) -> Path:
    folder = bench.new_folder()
    folder.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    return folder


def _git(folder: Path, *words: str) -> Program:
    names = {f"GIT_{who}_{what}": "bench" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    git = shutil.which("git") or "git"
    return Program((git, *words), {"PATH": "/usr/bin:/bin", "HOME": str(folder), **names}, str(folder))


def checkpoint_targets(found: CheckpointFigures) -> list[Row]:
    times = found.times
    empty = times["commit-tree"]
    return [
        at_most(
            f"checkpoint in git, team of {MEMBERS} / empty `git commit-tree`",
            *(times["checkpoint"], empty, 5, WHY_CHECKPOINT),
        ),
        beside("the same / `git hash-object -w` of its files", times["checkpoint"], times["hash-object"]),
        beside("checkpoint of a small team / empty `git commit-tree`", times["small"], empty),
        beside("checkpoint of what is there already / empty `git commit-tree`", times["the same again"], empty),
    ]
