"""
One scripted agent, started as `python -m atm.ui.demo.board_worker SANDBOX NAME SEED`.

It does what any vendor's agent would do through the command line: claim, work, complete, again until everything is
finished. It keeps nothing in its head, so it can be killed anywhere and started again.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time

TEAM = "crew"
NOTHING = 3
FIRST_NAP, LONGEST_NAP = 0.05, 0.8


def main(words: list[str]) -> int:
    sandbox, name, seed = words
    dice, nap = random.Random(f"{seed} {os.getpid()}"), FIRST_NAP
    call("beat", "--as", name, "--pid", str(os.getpid()))
    while True:
        code, said = call("claim", "--as", name)
        if code == 0:
            nap = FIRST_NAP
            task = said["task"]
            assert isinstance(task, dict)
            _do(sandbox, name, dice, task)
        elif code == NOTHING and said.get("reason_code") == "all-finished":
            return 0
        else:
            time.sleep(nap * dice.uniform(0.5, 1.0))
            nap = min(nap * 1.6, LONGEST_NAP)


def _do(sandbox: str, name: str, dice: random.Random, task: dict[str, object]) -> None:
    """The work itself: a moment of time, and a line in the worker's own log."""
    time.sleep(dice.uniform(0.0, 0.05))
    with open(f"{sandbox}/{name}.log", "a", encoding="utf-8") as log:
        log.write(f"did {task['id']}\n")
    claim = task.get("claim")
    held = str(claim["id"]) if isinstance(claim, dict) else ""
    call("complete", str(task["id"]), "--as", name, "--claim", held, "--result", f"done by {name}")


def call(*words: str) -> tuple[int, dict[str, object]]:
    """One command, as an agent would type it."""
    done = subprocess.run(
        [sys.executable, "-m", "atm", "tasks", *words, "--team", TEAM, "--json"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    try:
        said = json.loads(done.stdout)
    except ValueError:
        said = {}
    return done.returncode, said if isinstance(said, dict) else {}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
