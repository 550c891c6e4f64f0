"""
A process of the same user deletes or replaces files of approvals without knowing the team's secret.

It may keep an approval from being used. It never gets a second execution, nor one that was denied.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.attacks.approvals.world import ApprovalWorld, make_team
from tests.in_memory import in_memory

from atm.approvals.rules.requests import APPROVED, DENIED, Approval
from atm.approvals.services.answering import give_answer
from atm.approvals.services.looking import everything_in, waiting_in
from atm.core.errors import AtmError
from atm.core.work_errors import ApprovalClosed


@pytest.fixture
def home(tmp_path):
    for folder in in_memory(tmp_path):
        home = folder / "home"
        make_team(home)
        yield home


@pytest.fixture
def world(home) -> ApprovalWorld:
    return ApprovalWorld(home)


def approved(world: ApprovalWorld) -> Approval:
    one = world.ask()
    give_answer(world.room, one, "hugo", APPROVED, "", "h")
    return one


def used(world: ApprovalWorld) -> Approval:
    one = approved(world)
    assert world.permit("call-1").is_yes
    return one


def is_yes(world: ApprovalWorld, call_id: str) -> bool:
    """An audit that cannot be read is an error for the hook, which denies."""
    try:
        return world.permit(call_id).is_yes
    except (AtmError, OSError):
        return False


def remove(world: ApprovalWorld, *names: str) -> None:
    for name in names:
        (world.folder / name).unlink(missing_ok=True)


def without_last_line(path: Path) -> None:
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))


# The audit decides, whatever becomes of the mark.


def test_without_its_mark_a_used_approval_is_still_used_and_the_call_is_asked_for_anew(world):
    one = used(world)
    remove(world, f"{one.id}.used")
    assert not is_yes(world, "call-2")
    (again,) = waiting_in(world.room, "crew")
    assert again.id != one.id
    give_answer(world.room, again, "hugo", APPROVED, "", "h")
    assert is_yes(world, "call-3")


def cut_to_nothing(path: Path) -> None:
    path.write_bytes(b"")


def deny_the_use(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b'"used"', b'"left"'))


def put_another_file_there(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    path.unlink()
    path.write_bytes(b"".join(lines[:2]))


def cut_in_the_middle_of_the_last_line(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-9])


def make_it_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def make_it_a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


DAMAGES: list[Callable[[Path], None]] = [
    *(Path.unlink, cut_to_nothing, without_last_line, deny_the_use, put_another_file_there),
    *(cut_in_the_middle_of_the_last_line, make_it_a_folder, make_it_a_pipe),
]


@pytest.mark.skipif(os.name == "nt", reason="pipes as POSIX has them")
@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
@pytest.mark.parametrize(
    "others", [(), ("audit.seal",), ("audit.jsonl.seq",), ("audit.seal", "audit.jsonl.seq")], ids=str
)
def test_with_the_audit_damaged_too_a_used_approval_is_still_used(world, damage, others):
    one = used(world)
    damage(world.folder / "audit.jsonl")
    remove(world, f"{one.id}.used", *others)
    assert not is_yes(world, "call-2")
    assert not is_yes(world, "call-3")


@pytest.mark.parametrize("damage", DAMAGES[:6], ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("others", [(), ("audit.seal",)], ids=str)
def test_no_other_request_and_no_completed_audit_brings_a_used_approval_back(world, damage, others):
    """A new request seals the audit anew, and `list --all` writes lines that are missing."""
    one = used(world)
    damage(world.folder / "audit.jsonl")
    remove(world, f"{one.id}.used", *others)
    world.room.clock.sleep(1)
    world.ask("curl x")
    world.room.clock.sleep(60)
    everything_in(world.room, "crew")
    assert not is_yes(world, "call-2")
    everything_in(world.room, "crew")
    assert not is_yes(world, "call-3")


@pytest.mark.parametrize("damage", DAMAGES[:5], ids=lambda damage: damage.__name__)
def test_an_approval_whose_audit_is_damaged_before_its_use_permits_nothing(world, damage):
    used(world)
    world.room.clock.sleep(1)
    approved(world)
    damage(world.folder / "audit.jsonl")
    assert not is_yes(world, "call-2")


def test_after_damage_the_team_goes_on_with_new_requests(world):
    used(world)
    remove(world, "audit.jsonl", "audit.seal")
    world.room.clock.sleep(1)
    approved(world)
    assert is_yes(world, "call-2")
    assert not is_yes(world, "call-3")


def test_lines_that_another_process_wrote_into_the_audit_bring_nothing_back(world):
    one = used(world)
    remove(world, f"{one.id}.used", "audit.jsonl", "audit.seal")
    world.room.clock.sleep(1)
    world.ask("curl x")
    with (world.folder / "audit.jsonl").open("a") as file:
        for event in ("asked", APPROVED):
            file.write(f'{{"seq": 8, "id": "{one.id}", "event": "{event}"}}\n')
    assert not is_yes(world, "call-2")


# Marks.


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_mark_in_the_name_of_the_next_call_lets_that_call_through_no_more_than_none(world, when):
    one = used(world) if when == "after" else approved(world)
    mark = world.folder / f"{one.id}.used"
    mark.unlink(missing_ok=True)
    mark.write_text('{"at": "2026-01-01T00:00:00.000Z", "call": "call-2"}\n')
    assert not is_yes(world, "call-2")


def test_a_mark_on_a_request_that_waits_is_no_answer(world):
    one = world.ask()
    remove(world, f"{one.id}.left")
    world.store.leave(one, world.room.clock.now())
    os.rename(world.folder / f"{one.id}.left", world.folder / f"{one.id}.used")
    assert not is_yes(world, "call-1")
    assert not is_yes(world, "")


def test_a_mark_of_another_request_is_none_of_this_one(world):
    one = used(world)
    mark = (world.folder / f"{one.id}.used").read_bytes()
    again = approved(world)
    (world.folder / f"{again.id}.used").write_bytes(mark)
    read = world.store.read("crew", again.id)
    assert read is not None
    assert (read.used_at, read.used_by) == (0.0, "")


# Answers and requests.


def test_a_denial_without_its_file_is_still_denied(world):
    one = world.ask()
    give_answer(world.room, one, "hugo", DENIED, "never", "h")
    remove(world, f"{one.id}.answer")
    read = world.store.read("crew", one.id)
    assert read is not None
    with pytest.raises(ApprovalClosed, match="denied before"):
        give_answer(world.room, read, "hugo", APPROVED, "", "h")
    assert not is_yes(world, "call-1")
    assert one.id not in [each.id for each in waiting_in(world.room, "crew")]


def test_an_answer_that_replaces_a_denial_counts_for_nothing(world):
    """As a process would write it that has a yes to the very same request, from before."""
    one = approved(world)
    yes = (world.folder / f"{one.id}.answer").read_bytes()
    assert world.permit("call-1").is_yes
    world.room.clock.sleep(1)
    other = world.ask()
    give_answer(world.room, other, "hugo", DENIED, "never", "h")
    (world.folder / f"{other.id}.answer").write_bytes(yes)
    assert not is_yes(world, "call-2")


def test_an_approval_without_its_answer_is_asked_for_anew(world):
    one = approved(world)
    remove(world, f"{one.id}.answer")
    assert not is_yes(world, "call-1")
    assert one.id not in [each.id for each in waiting_in(world.room, "crew")]


def test_a_request_that_is_put_back_from_a_copy_is_not_used_again(world):
    one = approved(world)
    kept = {path.name: path.read_bytes() for path in world.folder.iterdir() if path.name.startswith(one.id)}
    assert world.permit("call-1").is_yes
    for path in world.folder.glob(f"{one.id}.*"):
        path.unlink()
    for name, data in kept.items():
        (world.folder / name).write_bytes(data)
    assert not is_yes(world, "call-2")


def test_a_request_without_its_file_is_asked_for_anew(world):
    one = approved(world)
    remove(world, f"{one.id}.json")
    assert not is_yes(world, "call-1")


def test_the_seal_of_another_team_or_of_another_secret_is_none(world):
    one = used(world)
    seal = world.folder / "audit.seal"
    seal.write_bytes(seal.read_bytes().replace(b'"size"', b'"Size"'))
    remove(world, f"{one.id}.used")
    assert not is_yes(world, "call-2")


# Two at once.

USES = """
import sys
from pathlib import Path
from tests.attacks.approvals.world import ApprovalWorld
from atm.files.adapters.machine import RealClock
world = ApprovalWorld(Path(sys.argv[1]), clock=RealClock())  # rivals wait for each other's locks
print("ready", flush=True)
sys.stdin.readline()
print("yes" if world.permit(sys.argv[2]).is_yes else "no")
"""


def test_of_processes_that_use_one_approval_at_once_one_wins_also_where_its_mark_is_removed(world, home):
    one = approved(world)
    root = Path(__file__).parents[3]
    rivals = [
        subprocess.Popen(
            [sys.executable, "-c", USES, str(home), f"call-{number}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=root,
        )
        for number in range(4)
    ]
    for rival in rivals:
        assert rival.stdout is not None
        assert rival.stdout.readline() == "ready\n"
    for rival in rivals:
        assert rival.stdin is not None
        rival.stdin.write("go\n")
        rival.stdin.flush()
    while any(rival.poll() is None for rival in rivals):
        remove(world, f"{one.id}.used")
    said = [rival.communicate(timeout=60)[0].strip() for rival in rivals]
    assert sorted(said) == ["no", "no", "no", "yes"]
    assert [line["event"] for line in world.store.audit("crew") if line["id"] == one.id].count("used") == 1
