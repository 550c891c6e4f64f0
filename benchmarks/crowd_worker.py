"""
One sender of the crowd. Started by `crowd.py` in the private environment as `crowd_worker.py KIND TARGET NAME COUNT`.

Says `ready` when everything is imported, waits for a line, sends, and says what it sent and how long each took.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # started as a script

TEXT = (
    "Message {number} of {name}: the parser is done and pushed. Two tests of the importer still fail on empty files; "
    "I left a note in docs/import.md."
)


def sender_for(kind: str, target: str, name: str) -> Callable[[str], str]:
    """A function that sends one text and returns its id. The kind is `atm`, or a style of the rival's."""
    if kind != "atm":
        from benchmarks import baseline

        return lambda text: baseline.send(target, name, text, kind)
    from atm.files.adapters.machine import find_layout
    from atm.mail.services.posting import Draft
    from atm.mail.services.sending import send
    from atm.wiring.mail import build_room

    room = build_room(find_layout({"ATM_HOME": target}))
    return lambda text: send(room, "crew", "ann", Draft(sender=name, text=text)).message_id


def main(kind: str, target: str, name: str, count: int) -> None:
    send = sender_for(kind, target, name)
    print("ready", flush=True)
    sys.stdin.readline()
    ids, seconds = [], []
    for number in range(count):
        started = time.perf_counter()
        ids.append(send(TEXT.format(number=number, name=name)))
        seconds.append(time.perf_counter() - started)
    print("done", flush=True)
    print(json.dumps({"ids": ids, "seconds": seconds}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
