"""
A rival: a program that takes no locks and rewrites one inbox in a tight loop, and what sending is like beside it.

    python -m tests.attacks.mail.rival rewrite INBOX MANNER SECONDS LOG
    python -m tests.attacks.mail.rival measure [MANNER [BYTES [SECONDS]]]

To `rewrite` is to read the file, add a row and write everything, in `place` or by `rename`, as fast as it goes. What
was added is noted in LOG, one id a line, after the write: that row is the rival's, and should not get lost.

To `measure` is to send beside that, one message after the other, then one more when it is over. Prints how long a send
took, what lay beside the inbox, and how many rows of either side are gone: at the end, and after the next command.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

Rows = list[dict[str, Any]]


def row(number: int, text: str = "") -> dict[str, Any]:
    said = {"from": "rival", "text": text or f"number {number}", "timestamp": "2026-11-16T09:00:00.000Z"}
    return {**said, "msg_id": f"rival-{os.getpid()}-{number}", "read": True}


def fill(inbox: Path, size: int) -> None:
    """Old rows, read long ago, of so many bytes."""
    inbox.write_text(json.dumps([row(-n - 1, "x" * 1000) for n in range(size // 1150)], indent=2))


def write(inbox: Path, rows: Rows, manner: str) -> None:
    data = json.dumps(rows)
    if manner == "place":
        inbox.write_text(data)
        return
    beside = inbox.with_name(f".{inbox.name}.rival")
    beside.write_text(data)
    os.replace(beside, inbox)


def rewrite(inbox: Path, manner: str, seconds: float, log: Path) -> None:
    """Ends after a whole write, also when it is told to end sooner: by a file named like the log, with `.end`."""
    until, end, number = time.monotonic() + seconds, Path(f"{log}.end"), 0
    with log.open("a") as noted:
        while time.monotonic() < until and not end.exists():
            try:
                rows = json.loads(inbox.read_bytes())
            except (ValueError, FileNotFoundError):
                continue
            rows.append(row(number))
            write(inbox, rows, manner)
            noted.write(f"{rows[-1]['msg_id']}\n")
            noted.flush()
            number += 1


@contextmanager
def rival_at(inbox: Path, manner: str, log: Path, seconds: float = 60.0) -> Iterator[None]:
    """A rival in a process of its own, that has begun; it ends with the block."""
    command = [sys.executable, __file__, "rewrite", str(inbox), manner, str(seconds), str(log)]
    process = subprocess.Popen(command, cwd=log.parent)
    try:
        until = time.monotonic() + 30
        while not (log.exists() and log.stat().st_size) and time.monotonic() < until:
            time.sleep(0.01)
        yield
    finally:
        Path(f"{log}.end").touch()
        process.wait(timeout=60)


def lost(inbox: Path, log: Path) -> list[str]:
    """The rival's rows that are not in the inbox. Fails if one is there twice."""
    ids = [one.get("msg_id") for one in json.loads(inbox.read_bytes())]
    assert len(ids) == len(set(ids)), "doubled"
    return sorted(set(log.read_text().split()) - set(ids))


def measure(manner: str, size: int, seconds: float) -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        inbox, log = home / ".claude/teams/crew/inboxes/bob.json", home / "rival.log"
        environment = {
            **os.environ,
            "ATM_HOME": folder,
            "HOME": folder,
            "ATM_TEAM": "crew",
            "ATM_DAEMON_AUTOSTART": "0",
        }

        def atm(*words: str) -> tuple[float, dict[str, Any]]:
            begun, command = time.monotonic(), [sys.executable, "-m", "atm", *words, "--json"]
            done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, check=False)
            return time.monotonic() - begun, json.loads(done.stdout)

        atm("teams", "create", "crew")
        for member in ("ann", "bob"):
            atm("teams", "add-member", "crew", member)
        fill(inbox, size)
        times: list[float] = []
        outcomes, copies, kept = Counter[str](), 0, 0
        with rival_at(inbox, manner, log, 600.0):
            begun = time.monotonic()
            while time.monotonic() < begun + seconds:
                took, sent = atm("send", "bob", f"number {len(times)}", "--from", "ann")
                times.append(took)
                outcomes[sent["outcome"]] += 1
                beside = [path for path in inbox.parent.iterdir() if ".atm-" in path.name]
                copies, kept = max(copies, len(beside)), max(kept, sum(path.stat().st_size for path in beside))
        before = len(lost(inbox, log))
        after, _ = atm("send", "bob", "at the end", "--from", "ann")
        texts = [one["text"] for one in json.loads(inbox.read_bytes()) if one["from"] == "ann"]
        expected = [*(f"number {n}" for n in range(len(times))), "at the end"]
        print(
            f"{manner}, {size} bytes: {len(times)} sends {dict(outcomes)},"
            f" longest {max(times):.2f} s, next {after:.2f} s;"
            f" copies {copies} ({kept / 1e6:.1f} MB); rival's rows {len(log.read_text().split())},"
            f" lost {before}, after the next command {len(lost(inbox, log))};"
            f" ours lost {len(set(expected) - set(texts))}, in order {texts == expected}"
        )


if __name__ == "__main__":
    what, *words = sys.argv[1:]
    if what == "rewrite":
        rewrite(Path(words[0]), words[1], float(words[2]), Path(words[3]))
    else:
        for one in words[:1] or ["rename", "place"]:
            for size in [int(words[1])] if len(words) > 1 else [0, 400_000]:
                measure(one, size, float(words[2]) if len(words) > 2 else 20.0)
