"""
From a send to the model's request: how long a message takes to be before each vendor's model, by the way it goes.

    python -m tests.lab.latency [SENDS] [--docs]

*At work*: the agent calls one tool after the other, and mail comes with the next request. *Idle*: it sits in a
terminal, and mail wakes it. Not a test: figures of one machine.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

from tests.lab import programs
from tests.lab.conftest import LabAgent, until
from tests.lab.evidence import DOCS, NAMES
from tests.lab.vendors import VENDORS, Vendor

from atm.testing.model import ScriptedModel, sees

BEGIN, END = "<!-- from `python -m tests.lab.latency` -->", "<!-- end of latency -->"
WITHIN = 120.0
LONGEST_PAUSE = 0.5
LAST = "that is all for today"
IN_ONE_RUN, MOST_CALLS = 8, 30


def at_work(agent: LabAgent, sends: int) -> list[float]:
    """In several runs: Gemini CLI ends a turn of a hundred requests, and one that calls the same tool again."""
    chance = random.Random(agent.vendor.name)
    for number in range(MOST_CALLS * sends):
        agent.vendor.shell(agent.story.when(~sees(LAST)), f"sleep 0.1 # {number}")
    agent.story.otherwise().says("done")
    taken: list[float] = []
    while len(taken) < sends:
        run = agent.starts("begin")
        agent.seen.asks(len(agent.seen.requests) + 2)
        for _ in range(min(IN_ONE_RUN, sends - len(taken))):
            taken.append(_one(agent, len(taken), chance.random() * LONGEST_PAUSE))
        agent.gets(f"{LAST}, {len(taken)}")
        run.ends()
    return taken


def idle(agent: LabAgent, sends: int) -> list[float]:
    agent.story.otherwise().says("at your service")
    agent.sits_down("begin")
    agent.seen.asks(1)
    taken = []
    for number in range(sends):
        until(lambda: _state(agent) == "idle", WITHIN)
        taken.append(_one(agent, number, 0.5))
    return taken


def _one(agent: LabAgent, number: int, pause: float) -> float:
    time.sleep(pause)
    text = f"letter {number} of the series."
    agent.gets(text)
    sent = time.monotonic()
    return agent.seen.eventually(text, within=WITHIN).request.at - sent


def _state(agent: LabAgent) -> str:
    members = json.loads(agent.atm("members", "--json"))["members"]
    return next(str(one["state"]) for one in members if one["name"] == "bob")


def measure(vendor: Vendor, sends: int) -> list[str]:
    """The cells of a row."""
    installed = programs.find(programs.pinned()[vendor.name], programs.cache_folder(os.environ))
    if installed is None:
        return ["not installed", "", "", ""]
    cells = [f"{NAMES[vendor.name]} {installed.version}"]
    for way in (at_work, idle):
        home = Path(os.path.realpath(tempfile.mkdtemp(prefix="lab")))
        with ScriptedModel() as model:
            agent = LabAgent(vendor, installed, model, home)
            try:
                agent.settle()
                agent.atm("daemon", "start")
                cells.append(in_words(way(agent, sends)))
            finally:
                agent.close()
                shutil.rmtree(home, ignore_errors=True)
        print(f"{vendor.name}, {way.__name__}: {cells[-1]}", flush=True)
    return cells


def in_words(taken: list[float]) -> str:
    ordered = sorted(taken)
    most = ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))]
    return f"{statistics.median(ordered):.2f} / {most:.2f}"


def table(rows: list[list[str]], sends: int) -> str:
    lines = ["| send → model's request, seconds, p50 / p99 | at work: with the next tool call | idle: woken in tmux |"]
    lines += ["| --- | --- | --- |", *(f"| {' | '.join(row)} |" for row in rows)]
    return "\n".join(lines) + f"\n\n{sends} sends each.\n"


def main(words: list[str]) -> int:
    sends = int(next((word for word in words if word.isdecimal()), "100"))
    rows = [measure(VENDORS[name], sends) for name in NAMES]
    said = table(rows, sends)
    print(said)
    if "--docs" in words:
        before, _, rest = DOCS.read_text(encoding="utf-8").partition(BEGIN)
        _, _, after = rest.partition(END)
        DOCS.write_text(f"{before}{BEGIN}\n\n{said}\n{END}{after}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
