"""
Another user of the machine, with processes of their own: what they can read, reach and plant.

The suite becomes that user in a child process, which only root may do; elsewhere these tests are skipped.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.conftest import Atm

pytestmark = pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="only root becomes another user")

VICTIM, THIEF = 61_235, 61_236

BECOME = """
import json, os, socket, stat, sys
uid = int(sys.argv[1])
os.setgroups([]); os.setgid(uid); os.setuid(uid); os.umask(0)
"""

STEAL = (
    BECOME
    + """
read, reached = [], []
for root in sys.argv[2:]:
    for folder, folders, files in os.walk(root):
        for name in files:
            path = os.path.join(folder, name)
            try:
                if stat.S_ISSOCK(os.lstat(path).st_mode):
                    line = socket.socket(socket.AF_UNIX); line.connect(path); reached.append(path)
                else:
                    open(path, "rb").read(); read.append(path)
            except OSError:
                pass
print(json.dumps([read, reached]))
"""
)
"""Reads every file and knocks at every socket that it can find."""

PLANT = (
    BECOME
    + """
for path, text in zip(sys.argv[2::2], sys.argv[3::2]):
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        open(path, "w").write(text)
        print("planted", path)
    except OSError as error:
        print("refused", path, error.strerror)
"""
)


def thief(program: str, *words: str) -> str:
    command = [sys.executable, "-I", "-c", program, str(THIEF), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=240, cwd="/").stdout


class Victim(Atm):
    """`atm` as a user of their own."""

    uid = VICTIM


@pytest.fixture
def machine() -> Iterator[Path]:
    """A folder that every user of the machine may go through, with a sticky shared one in it."""
    with tempfile.TemporaryDirectory(prefix="atm-users") as place:
        root = Path(place)
        root.chmod(0o755)
        (root / "shared").mkdir()
        (root / "shared").chmod(0o1777)
        for name in ("home", "shared/work"):
            (root / name).mkdir(mode=0o755)
            os.chown(root / name, VICTIM, VICTIM)
        yield root


@pytest.fixture
def victim(machine: Path) -> Victim:
    made = Victim(machine / "home", machine / "shared/work")
    made.environment |= {"ATM_DAEMON_AUTOSTART": "0"}
    made.team("crew", "ann", "bob")
    return made


def busy(victim: Victim) -> None:
    """Mail, a board, settings, consents and a spool entry."""
    victim("send", "ann", "a secret letter")
    victim("tasks", "add", "a secret task", "--as", "ann")
    victim("tasks", "claim", "--as", "ann")
    victim("read", env={"ATM_IDENTITY": "ann"})
    victim("config", "set", "aliases.boss", "ann", code=None)


def test_they_read_nothing_of_ours_and_of_shared_files_only_what_claude_code_shows_them_too(victim, machine):
    busy(victim)
    read, reached = json.loads(thief(STEAL, str(machine / "home")))
    assert [path for path in read if "/.claude/" not in path] == []
    assert reached == []
    probe = machine / "home/probe"
    probe.write_text("x")
    probe.chmod(0o644)
    assert json.loads(thief(STEAL, str(machine / "home")))[0].count(str(probe)) == 1, "they do look"


@pytest.mark.parametrize("umask", [0o000, 0o022])
def test_whatever_the_umask_they_read_nothing_of_ours(victim, machine, umask):
    former = os.umask(umask)
    try:
        busy(victim)
    finally:
        os.umask(former)
    read, _ = json.loads(thief(STEAL, str(machine / "home")))
    assert [path for path in read if "/.claude/" not in path] == []


def test_settings_that_they_plant_above_our_folder_are_not_read(victim, machine):
    marker = machine / "shared/work/ran"
    text = f'[core]\nidentity = "ann"\n[hooks]\nTaskCreated = "touch {marker}"\n'
    said = thief(PLANT, str(machine / "shared/.atm.toml"), text, str(machine / "shared/.atm/config.toml"), text)
    assert said.count("planted") == 2
    victim("tasks", "add", "one", "--as", "bob")
    assert not marker.exists()
    victim("send", "bob", "who am I?")
    assert victim.rows("bob")[-1]["from"] != "ann"


def test_they_cannot_put_anything_into_our_folders(victim, machine):
    busy(victim)
    homes = [path for path in (machine / "home").rglob("*") if path.is_dir()]
    words = [word for path in homes for word in (str(path / "planted.json"), "[]")]
    assert "planted" not in thief(PLANT, *words).replace("planted.json", "")
