"""
Homes to measure in: a team of five, and an inbox of as many rows as a case asks for.

A sandbox has had its first send. That one is dearer than those after it (it makes lock files and the ledger, and looks
whether a large inbox can be cleaned up), and a member gets first mail once.
"""

from __future__ import annotations

import json
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from atm.files.adapters.machine import RealChance, find_layout
from atm.files.formats.times import to_iso
from atm.mail.rules.quotas import Quota
from atm.mail.services.posting import Draft
from atm.mail.services.sending import send
from atm.roster.services.members import add_member, create_team
from atm.roster.services.teamroom import Teamroom
from atm.team.rules.team import Member
from atm.wiring.mail import build_room
from atm.wiring.trust import examine, give_consent

TEAM = "crew"
OWNER, SENDER = "ann", "bob"
MEMBERS = (OWNER, SENDER, "cid", "dan", "eve")

TEXT = (
    "The parser is done and pushed. Two tests of the importer still fail on empty files; I left a note in "
    "docs/import.md. Can you look?"
)

REPO_SETTINGS = """\
# How the team works in this repository.
[core]
default_team = "crew"
identity = "bob"

[display]
timestamps = "iso8601"

[retention]
keep_days = 14

[aliases]
boss = "ann@crew"
"""


def inbox_of(count: int, unread: int) -> bytes:
    """An inbox as `JSON.stringify(rows, null, 2)` lays it out, about 430 bytes a row; the last rows are unread."""
    now, chance = time.time(), RealChance()
    rows = []
    for number in range(count):
        message_id = chance.new_id()
        rows.append(
            {
                "from": MEMBERS[1 + number % 4],
                "text": TEXT,
                "summary": TEXT[:30],
                "timestamp": to_iso(now - (count - number)),  # recent: none of it is due for clean-up
                "message_id": message_id,
                "msgV": 1,
                "msg_id": message_id,
                "type": "message",
                "read": number < count - unread,
            }
        )
    return json.dumps(rows, indent=2, ensure_ascii=False).encode()


@dataclass(frozen=True, slots=True)
class Sandbox:
    """One home."""

    home: Path

    @property
    def inbox(self) -> Path:
        return self.home / ".claude" / "teams" / TEAM / "inboxes" / f"{OWNER}.json"

    @property
    def environment(self) -> dict[str, str]:
        return {"ATM_HOME": str(self.home), "HOME": str(self.home), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}

    def room(self) -> Teamroom:
        room = build_room(find_layout({"ATM_HOME": str(self.home)}))
        room.quota = Quota(rows=0, size=0)  # crowds and huge inboxes are what quotas are against
        return room

    def send(self, room: Teamroom) -> str:
        """Send one message in this process; its id. Anything but success is an error here."""
        sent = send(room, TEAM, OWNER, Draft(sender=SENDER, text=TEXT))
        if sent.outcome != "success":
            raise RuntimeError(f"{sent.outcome}: {sent.warnings}")
        return sent.message_id

    def trust(self, folder: str) -> None:
        """Its owner says yes to the settings of a repository."""
        layout = find_layout({"ATM_HOME": str(self.home)})
        give_consent(layout, examine(layout, folder))

    def remove(self) -> None:
        shutil.rmtree(self.home, ignore_errors=True)


def new_team(home: Path) -> Sandbox:
    """A team of five with empty inboxes."""
    sandbox = Sandbox(home)
    room = sandbox.room()
    create_team(room, TEAM)
    for name in MEMBERS:
        add_member(room, TEAM, Member(name, model="opus", cwd=str(home)))
    return sandbox


def copy_of(team: Sandbox, home: Path, content: bytes) -> Sandbox:
    """A team whose owner has this mail and one message more."""
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(team.home / ".claude", home / ".claude")
    if (team.home / ".config").is_dir():  # what its owner trusts
        shutil.copytree(team.home / ".config", home / ".config")
    sandbox = Sandbox(home)
    sandbox.inbox.write_bytes(content)
    sandbox.send(sandbox.room())
    return sandbox


def count_rows(path: Path) -> int:
    return len(json.loads(path.read_bytes()))


def count_unread(path: Path) -> int:
    return sum(not row["read"] for row in json.loads(path.read_bytes()))


def new_repository(folder: Path, settings: str = "") -> str:
    """A working folder that is the root of a repository, with or without settings of its own."""
    (folder / ".git").mkdir(parents=True)
    if settings:
        (folder / ".atm.toml").write_text(settings, encoding="utf-8")
    return str(folder)
