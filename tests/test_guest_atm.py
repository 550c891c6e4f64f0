"""A command that shares the process of its test: the same answers, and nothing of it is left there."""

from __future__ import annotations

import asyncio
import os
import sys
import threading

import pytest
from tests.conftest import UNHURRIED
from tests.guest_atm import HOSTS, longer_bounds, may_be_guest, run_here
from tests.quick_atm import MOST_INPUT, TimedOut
from tests.unhurried.longer import LONG

from atm.files.adapters import locking
from atm.mail.rules import lifetimes
from atm.mail.services import putting_back


def facts():
    mask = os.umask(0o077)
    os.umask(mask)
    streams = [os.readlink(f"/proc/self/fd/{number}") for number in range(3)] if os.path.isdir("/proc") else []
    return (
        dict(os.environ),
        os.getcwd(),
        mask,
        streams,
        (sys.stdin, sys.stdout, sys.stderr),
        sys.argv,
        len(os.listdir("/dev/fd")),
    )


@pytest.mark.parametrize(
    ("words", "stdin"),
    [
        (("teams", "list", "--json"), ""),
        (("send", "nobody", "hello", "--from", "bob"), ""),
        (("send", "ann", "-", "--from", "bob", "--dry-run"), "größer"),
        (("--nothing",), ""),
        (("config", "list", "--json"), ""),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_it_says_and_ends_as_a_process_of_its_own_does(atm, room, words, stdin):
    assert may_be_guest(words, atm.environment, stdin.encode(), "")
    guest = atm(*words, stdin=stdin, code=None)
    atm.guest = False
    assert guest == atm(*words, stdin=stdin, code=None)
    assert guest.out + guest.err


def test_what_was_there_before_is_there_afterwards(atm, room):
    before = facts()
    assert atm("send", "ann", "hello", "--from", "bob").code == 0
    assert atm("teams", "list", env={"PYTHONPATH": str(UNHURRIED)}).code == 0
    assert atm("nonsense", code=None).code == 1
    assert facts() == before


def test_bounds_are_longer_while_it_runs_and_where_others_took_them_by_name():
    former = locking.PATIENCE, lifetimes.SEND_WITHIN
    with longer_bounds():
        assert locking.PATIENCE == lifetimes.SEND_WITHIN == vars(putting_back)["SEND_WITHIN"] == LONG
        assert LONG in (locking.Locks.private.__defaults__ or ())
    assert (locking.PATIENCE, vars(putting_back)["SEND_WITHIN"]) == former
    assert max(former) < LONG


def test_a_command_that_hangs_fails_its_test_and_is_over(atm, room):
    before = facts()
    with pytest.raises(TimedOut):
        run_here(["inbox", "--watch", "--for", "60"], atm.environment, str(atm.folder), b"", 0.2)
    assert facts() == before


def test_what_needs_a_process_is_no_guest(atm):
    ours = atm.environment
    assert may_be_guest(["send"], ours, b"", "")
    assert not may_be_guest(["send"], ours, b"x" * (MOST_INPUT + 1), "")
    assert not may_be_guest(["send"], {**ours, "LC_ALL": "tlh"}, b"", "")
    assert not may_be_guest(["send"], {**ours, "TZ": "Asia/Kathmandu"}, b"", "")
    assert not may_be_guest(["send"], {**ours, "PYTHONPATH": "/other"}, b"", str(UNHURRIED))
    for verb in HOSTS:
        assert not may_be_guest(["--json", verb], ours, b"", ""), verb


def test_nor_is_one_beside_another_or_in_a_loop_that_runs(atm):
    async def asked() -> bool:
        return may_be_guest(["send"], atm.environment, b"", "")

    assert not asyncio.run(asked())
    end = threading.Event()
    other = threading.Thread(target=end.wait)
    other.start()
    try:
        assert not may_be_guest(["send"], atm.environment, b"", "")
    finally:
        end.set()
        other.join()


def test_several_that_are_forked_at_once_do_not_mix_their_words_up(atm, room):
    atm.guest = False
    said = {}

    def ask(number):
        said[number] = atm("send", f"nobody-{number}", "hello", "--from", "bob", code=None).err

    asked = [threading.Thread(target=ask, args=[number]) for number in range(10)]
    for one in asked:
        one.start()
    for one in asked:
        one.join()
    assert [number for number in range(10) if f"'nobody-{number}'" not in said.get(number, "")] == []
