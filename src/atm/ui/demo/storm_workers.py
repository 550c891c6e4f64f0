"""
The processes of the storm. Each is started as `python -m atm.ui.demo.storm_workers ROLE SANDBOX …`.

What a process saw is written to a log of its own, one line at a time with a single write, so that kill -9 loses
nothing of what it had reported.
"""

from __future__ import annotations

import os
import random
import sys
import time

from atm.core.errors import AtmError
from atm.files.formats.json_record import NotJson, RawArray, to_bytes, to_text
from atm.files.formats.times import to_iso
from atm.mail.formats.inbox import encode_row, only
from atm.mail.rules.messages import Message
from atm.mail.services.posting import Draft
from atm.mail.services.putting_back import put_back_dropped
from atm.mail.services.reading import Filter, take
from atm.mail.services.sending import send
from atm.mail.services.spooling import drain
from atm.team.services.registry import find_team
from atm.wiring.files import find_layout
from atm.wiring.mail import build_room

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.files.formats.layout import Layout

TEAM, READER = "storm", "reader"


class StormLog:
    """Append-only, one record a line."""

    def __init__(self, path: str) -> None:
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def write(self, *words: object) -> None:
        os.write(self._fd, (" ".join(map(str, words)) + "\n").encode())


def send_mail(layout: Layout, log: StormLog, name: str, stop: str) -> None:
    """Send until told to stop. A message counts from the moment its sending was reported."""
    room = build_room(layout)
    number = 0
    while not os.path.exists(stop):
        number += 1
        try:
            sent = send(room, TEAM, READER, Draft(sender=name, text=f"message {number} of {name} ({os.getpid()})"))
        except AtmError as error:
            log.write("refused", type(error).__name__)
            continue
        log.write("sent", sent.message_id, sent.outcome, sent.merged)


def read_mail(layout: Layout, log: StormLog, stop: str) -> None:
    """The owner of the inbox: consumes, and writes down every id it was shown."""
    room = build_room(layout)
    while not os.path.exists(stop):
        drain(room)
        put_back_dropped(room, find_team(room, TEAM))
        _read_once(room, log)
        time.sleep(0.02)


def _read_once(room: object, log: StormLog) -> int | None:
    """How much there was to read; None if it was refused: then nobody knows."""
    try:
        mail = take(room, TEAM, READER, Filter())  # type: ignore[arg-type]
    except AtmError as error:
        log.write("refused", type(error).__name__)
        return None
    for message in mail.messages:
        log.write("read", message.id)
    return len(mail.messages)


def settle(layout: Layout, log: StormLog) -> None:
    """After the storm: deliver what waits, put back what was dropped, read what is left."""
    room = build_room(layout)
    for _ in range(50):
        drain(room, everything=True)
        put_back_dropped(room, find_team(room, TEAM), everything=True)
        if _read_once(room, log) == 0 and room.spool.is_empty():
            return


def rewrite_rudely(layout: Layout, log: StormLog, stop: str, seed: int) -> None:
    """
    A rival that respects no lock: reads the inbox, dawdles, and writes back what it had read.

    Sometimes in place, sometimes by rename, now and then with a row of its own. Whatever arrived in between is
    gone from the file.
    """
    dice, chance, path = random.Random(seed), build_room(layout).chance, layout.inbox(TEAM, READER)
    while not os.path.exists(stop):
        time.sleep(dice.uniform(0.005, 0.03))
        try:
            with open(path, "rb") as file:
                rows = RawArray(to_text(file.read())).items
        except (OSError, NotJson):
            continue
        time.sleep(dice.uniform(0.0, 0.01))
        if dice.random() < 0.3:
            rows.append(_row_of_its_own(chance.new_id()))
            log.write("rival-row", 1)
        _write_rudely(path, only(rows), dice.random() < 0.5)
        log.write("rewrote", len(rows))


def _row_of_its_own(id: str) -> str:
    message = Message(id=id, sender="rival", text="I take no locks", timestamp=to_iso(time.time()), read=False)
    return encode_row(message, claudes_team=True)


def _write_rudely(path: str, data: bytes, in_place: bool) -> None:
    if in_place:
        with open(path, "r+b") as file:
            file.truncate(0)
            file.write(data)
        return
    temporary = f"{path}.rival"
    with open(temporary, "wb") as file:
        file.write(to_bytes(to_text(data)))
    os.replace(temporary, path)


def main(words: list[str]) -> None:
    role, sandbox, log_path, stop, extra = words
    layout, log = find_layout({"ATM_HOME": sandbox}), StormLog(log_path)
    if role == "sender":
        send_mail(layout, log, extra, stop)
    elif role == "reader":
        read_mail(layout, log, stop)
    elif role == "rival":
        rewrite_rudely(layout, log, stop, int(extra))
    elif role == "settle":
        settle(layout, log)


if __name__ == "__main__":
    main(sys.argv[1:])
