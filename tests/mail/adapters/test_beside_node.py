"""Beside a real user of the lock protocol: Node's proper-lockfile, which Claude Code uses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.optional import needs
from tests.proving import proves

from atm.mail.services.posting import Draft
from atm.mail.services.sending import send
from atm.testing import FakeClock
from atm.wiring.mail import build_room

NODE = Path(__file__).parents[2] / "node"

pytestmark = needs("node", node_package="proper-lockfile")

OUR_WRITER = """
import sys
from atm.mail.services.posting import Draft
from atm.mail.services.sending import send
from atm.mail.adapters import inbox_store
from atm.files.adapters.machine import find_layout
from atm.wiring.mail import build_room

inbox_store.PATIENCE = 60.0  # six writers on a busy machine: nobody may be unlucky for so long that he spools
room = build_room(find_layout({"ATM_HOME": sys.argv[1]}))
for number in range(int(sys.argv[3])):
    sent = send(room, "crew", "ann", Draft(sender=sys.argv[2], text=f"message {number}"))
    assert sent.outcome in ("success", "conflict_resolved"), sent.warnings
"""


@proves("R000-lock-01", "R000-lock-22", "R000-lock-28", "R001-3.2-01", "R001-8.1-03", "R004-messaging-M3b")
@pytest.mark.parametrize("manner", ["in-place", "rename"])
def test_nothing_is_lost_between_node_writers_and_ours(home, room, manner):
    inbox = home / ".claude/teams/crew/inboxes/ann.json"
    count = 60
    commands = [["node", str(NODE / "writer.js"), str(inbox), f"node{n}", str(count), manner] for n in range(3)]
    commands += [[sys.executable, "-c", OUR_WRITER, str(home), f"ours{n}", str(count)] for n in range(3)]
    processes = [subprocess.Popen(command) for command in commands]
    assert [process.wait(timeout=300) for process in processes] == [0] * 6
    rows = json.loads(inbox.read_bytes())
    assert len(rows) == 6 * count
    for name in [f"node{n}" for n in range(3)] + [f"ours{n}" for n in range(3)]:
        mine = [row["text"] for row in rows if row["from"] == name]
        assert mine == [f"message {n}" for n in range(count)], f"{name} lost, doubled or mixed up messages"


@proves("R000-lock-02", "R000-lock-24", "R001-3.2-12", "R001-3.2-42")
def test_a_lock_held_by_node_is_respected_and_the_message_is_spooled(home, layout, room):
    inbox = home / ".claude/teams/crew/inboxes/ann.json"
    holder = subprocess.Popen(
        ["node", str(NODE / "holder.js"), str(inbox)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        waiting = build_room(layout, clock=FakeClock(time.time()))  # five seconds pass for whoever waits for it
        assert send(waiting, "crew", "ann", Draft(sender="bob", text="wait")).outcome == "queued"
        assert json.loads(inbox.read_bytes()) == []
        assert (inbox.parent / "ann.json.lock").is_dir()
    finally:
        holder.communicate(b"", timeout=60)
    assert send(room, "crew", "ann", Draft(sender="bob", text="next")).outcome == "success"
    assert [row["text"] for row in json.loads(inbox.read_bytes())] == ["wait", "next"]


@proves("R000-lock-02")
def test_node_respects_our_lock_and_takes_over_when_we_are_gone(home, room):
    inbox = home / ".claude/teams/crew/inboxes/ann.json"
    script = f"""
const lockfile = require("proper-lockfile");
lockfile.check({json.dumps(str(inbox))}).then((locked) => console.log(locked));
"""
    lock = inbox.parent / "ann.json.lock"
    lock.mkdir()
    os.utime(lock, (time.time() + 60, time.time() + 60))  # young, however long Node takes to start
    asked = subprocess.run(["node", "-e", script], cwd=NODE, capture_output=True, timeout=120, check=True)
    assert asked.stdout.strip() == b"true"
    os.utime(lock, (time.time() - 11, time.time() - 11))
    done = subprocess.run(
        ["node", str(NODE / "writer.js"), str(inbox), "node", "1", "rename"],
        timeout=120,
        check=False,
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr
    assert not lock.exists()
