"""Files that nobody wrote through us are no request, no answer and no use; and nothing that is killed is a yes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
from tests.attacks.approvals.world import ApprovalWorld, make_team
from tests.chaos import LONG
from tests.in_memory import in_memory

from atm.approvals.formats.records import encode_given, encode_request
from atm.approvals.rules.requests import APPROVED, DENIED, GivenAnswer
from atm.approvals.services.answering import find_approval, give_answer
from atm.approvals.services.looking import waiting_in
from atm.core.errors import AtmError
from atm.core.work_errors import ApprovalClosed
from atm.testing import Crash, FaultyDisk, QuickDisk


@pytest.fixture
def home(tmp_path):
    for folder in in_memory(tmp_path):
        home = folder / "home"
        make_team(home)
        yield home


@pytest.fixture
def world(home) -> ApprovalWorld:
    return ApprovalWorld(home)


def a_yes(at: float) -> GivenAnswer:
    return GivenAnswer(APPROVED, by="hugo", how="h", pid=1, at=at)


# Answers.


@pytest.mark.parametrize(
    "forged",
    [
        b"",
        b"approved",
        b'{"state":"approved"}',
        b'{"version":1,"state":"approved","by":"hugo","how":"h","pid":1,"at":"2999-01-01T00:00:00.000Z","reason":""}',
        b"{" * 100_000,
        b"\xff\xfe",
    ],
    ids=len,
)
def test_an_answer_that_nobody_gave_through_us_lets_nothing_through(world, forged):
    one = world.ask()
    (world.folder / f"{one.id}.answer").write_bytes(forged)
    assert world.permit().is_no
    read = world.store.read("crew", one.id)
    assert (read.answer, bool(read.problem)) == (None, True)
    with pytest.raises(ApprovalClosed):
        give_answer(world.room, read, "hugo", APPROVED, "", "h")
    assert one.id not in [each.id for each in waiting_in(world.room, "crew")]
    (again,) = waiting_in(world.room, "crew")  # the call was asked for anew
    give_answer(world.room, again, "hugo", APPROVED, "", "h")
    assert world.permit().is_yes


def test_an_answer_of_another_request_or_another_secret_is_none(world):
    one, other = world.ask(), world.ask("curl x")
    yes = encode_given(other, a_yes(world.room.clock.now()), world.mail.secrets.secret("crew"))
    (world.folder / f"{one.id}.answer").write_bytes(yes)
    assert world.permit().is_no
    shutil.rmtree(world.folder)
    one = world.ask()
    (world.folder / f"{one.id}.answer").write_bytes(encode_given(one, a_yes(world.room.clock.now()), b"guessed"))
    assert world.permit().is_no


@pytest.mark.skipif(os.name == "nt", reason="links and folders as POSIX has them")
@pytest.mark.parametrize("kind", ["folder", "link", "pipe"])
def test_what_is_no_file_is_no_answer(world, kind, tmp_path):
    one = world.ask()
    path = world.folder / f"{one.id}.answer"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        yes = tmp_path / "yes"
        yes.write_bytes(encode_given(one, a_yes(world.room.clock.now()), b"guessed"))
        path.symlink_to(yes)
    assert world.permit().is_no


# Requests.


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("tier", "lead"), ("command", "ls"), ("folder", "/"), ("requester", "ann"), ("diff", "x"), ("paths", ["/x"])),
        *(("expires_at", "2999-01-01T00:00:00.000Z"), ("why", "trust me"), ("operation", "tool"), ("signature", "")),
    ],
)
def test_a_request_that_somebody_changed_is_never_answered_nor_used(world, field, value):
    one = world.ask()
    path = world.folder / f"{one.id}.json"
    path.write_text(json.dumps({**json.loads(path.read_bytes()), field: value}))
    read = world.store.read("crew", one.id)
    assert read.problem
    with pytest.raises(AtmError):
        give_answer(world.room, read, "hugo", APPROVED, "", "h")
    assert one.id not in [each.id for each in waiting_in(world.room, "crew")]
    assert world.permit().is_no


def test_a_request_that_is_changed_after_its_yes_is_not_used(world):
    one = world.ask()
    give_answer(world.room, one, "hugo", APPROVED, "", "h")
    path = world.folder / f"{one.id}.json"
    path.write_bytes(path.read_bytes().replace(b"git push", b"git pull"))
    assert world.permit().is_no


def test_a_request_under_another_name_or_in_another_team_is_none(world):
    one = world.ask()
    give_answer(world.room, one, "hugo", APPROVED, "", "h")
    data, yes = (world.folder / f"{one.id}.json").read_bytes(), (world.folder / f"{one.id}.answer").read_bytes()
    assert world.permit().is_yes
    copy = "ffffff" + one.id[6:]
    (world.folder / f"{copy}.json").write_bytes(data)
    (world.folder / f"{copy}.answer").write_bytes(yes)
    assert world.permit().is_no, "a yes is not copied"


def test_a_request_that_is_signed_by_guessing_is_none(world):
    one = world.ask()
    one.tier = "lead"
    (world.folder / f"{one.id}.json").write_bytes(encode_request(one, b"guessed"))
    assert world.store.read("crew", one.id).problem


@pytest.mark.parametrize("name", ["x.json", ".hidden.json", "a b.json", "..json", "\u202e.json", "x" * 200 + ".json"])
def test_files_that_are_no_requests_hinder_nobody(world, name):
    one = world.ask()
    (world.folder / name).write_bytes(b'{"id":')
    assert [each.id for each in waiting_in(world.room, "crew")] == [one.id]


# Uses.


@pytest.mark.parametrize("mark", [b"", b"{}", b"x", b'{"at":"2999-01-01T00:00:00.000Z","call":""}'], ids=repr)
def test_whatever_says_that_it_was_used_it_was(world, mark):
    one = world.ask()
    give_answer(world.room, one, "hugo", APPROVED, "", "h")
    (world.folder / f"{one.id}.used").write_bytes(mark)
    assert world.permit().is_no


# Two at once.

ANSWERS = """
import os, sys
from pathlib import Path
from tests.attacks.approvals.world import ApprovalWorld
from atm.core.work_errors import ApprovalClosed
from atm.approvals.services.answering import find_approval, give_answer
world = ApprovalWorld(Path(sys.argv[1]))
one = find_approval(world.room, ["crew"], sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
try:
    give_answer(world.room, one, "hugo", sys.argv[3], "because", "h")
    print("done")
except ApprovalClosed:
    print("closed")
"""


def test_of_two_processes_that_answer_at_once_one_is_told_that_it_came_second(world, home):
    one = world.ask()
    root = Path(__file__).parents[3]
    rivals = [
        subprocess.Popen(
            [sys.executable, "-c", ANSWERS, str(home), one.id, state],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=root,
        )
        for state in (APPROVED, DENIED)
    ]
    for rival in rivals:
        assert rival.stdout is not None
        assert rival.stdout.readline() == "ready\n"
    for rival in rivals:
        assert rival.stdin is not None
        rival.stdin.write("go\n")
        rival.stdin.flush()
    said = [rival.communicate(timeout=60)[0].strip() for rival in rivals]
    assert sorted(said) == ["closed", "done"]
    state = (APPROVED, DENIED)[said.index("done")]
    read = world.store.read("crew", one.id)
    assert read.answer.state == state
    assert [line["event"] for line in world.store.audit("crew")].count(state) == 1


# Killed.


Doing = Callable[[ApprovalWorld], object]


def killed(home: Path, act: Doing, step: int, name: str = "killed") -> Iterator[Path]:
    """A home in which somebody was killed at that step; none if it was finished before."""
    copy = home.with_name(name)
    shutil.copytree(home, copy)
    try:
        act(ApprovalWorld(copy, FaultyDisk(QuickDisk(), stop_at=step)))
    except Crash:
        yield copy
    shutil.rmtree(copy)


def killed_at_every_step(home: Path, act: Doing, every: int = 1) -> Iterator[tuple[int, ApprovalWorld]]:
    """
    How many steps there are depends a little on the clock: so until it is done, for as long as that takes. Half a
    minute has passed when the next one comes, so that a lock of the one who was killed is given up.
    """
    for step in count(0, 1 if LONG else every):
        was_killed = False
        for copy in killed(home, act, step):
            was_killed = True
            yield step, ApprovalWorld(copy, now=time.time() + 40)
        if not was_killed:
            return


def test_whoever_is_killed_while_asking_leaves_nothing_that_counts_for_a_yes(home):
    looked = 0
    for step, world in killed_at_every_step(home, lambda world: world.ask(), every=3):
        said = world.permit()
        assert said.is_no, step
        waiting = waiting_in(world.room, "crew")
        assert len(waiting) == 1, step
        give_answer(world.room, waiting[0], "hugo", APPROVED, "", "h")
        assert world.permit().is_yes, step
        assert world.permit().is_no, step
        looked += 1
    assert looked > 10


def test_whoever_is_killed_while_answering_has_answered_or_not(home):
    one = ApprovalWorld(home).ask()
    states = set()
    for step, world in killed_at_every_step(
        home, lambda world: give_answer(world.room, one, "hugo", DENIED, "no", "h")
    ):
        read = find_approval(world.room, ["crew"], one.id)
        states.add(read.state(world.room.clock.now()))
        assert not read.problem, step
        assert world.permit().is_no, step
    assert states == {"waiting", DENIED}


def test_whoever_is_killed_while_using_has_used_it_or_not_and_never_twice(home):
    first = ApprovalWorld(home)
    give_answer(first.room, first.ask(), "hugo", APPROVED, "", "h")
    said = set()
    for step, world in killed_at_every_step(home, lambda world: world.permit("call-1")):
        after = world.permit("call-2")
        said.add(after.is_yes)
        assert world.permit("call-3").is_no, step
    assert said == {True, False}


@pytest.mark.parametrize("code", [28, 13])
def test_a_disk_that_refuses_is_never_a_yes_without_a_use(home, code):
    first = ApprovalWorld(home)
    give_answer(first.room, first.ask(), "hugo", APPROVED, "", "h")
    yes = refused = 0
    for step in count():
        copy = home.with_name("refused")
        shutil.copytree(home, copy)
        disk = FaultyDisk(QuickDisk(), stop_at=step, error=OSError(code, "no"))
        try:
            is_yes = ApprovalWorld(copy, disk).permit("1").is_yes
        except (AtmError, OSError):
            is_yes = False
        yes, refused = yes + is_yes, refused + (not is_yes)
        if is_yes:
            assert ApprovalWorld(copy).permit("2").is_no, step
        shutil.rmtree(copy)
        if len(disk.steps) <= step:
            break
    assert yes > 0
    assert refused > 5
