"""A signal at every step of a command: what was done is said, what nobody saw is unread, and no lock stays."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain, count
from pathlib import Path
from typing import Any

import pytest
from tests.attacks.mail.struck import SIGNALS, Striker, Struck
from tests.chaos import LONG, kills
from tests.crash.conftest import made_by
from tests.in_memory import in_memory

from atm.board.services.new_tasks import NewTask
from atm.board.services.planning import add
from atm.files.adapters.machine import find_layout
from atm.mail.rules.receipts import MAYBE_SHOWN
from atm.mail.services.posting import Draft
from atm.mail.services.sending import send
from atm.roster.services.members import add_member, create_team
from atm.roster.services.teamroom import Teamroom
from atm.team.rules.team import Member
from atm.testing import QuickDisk
from atm.wiring.mail import build_room

TEXTS = ["the first", "the second"]
CALL = json.dumps({"session_id": "s-1", "hook_event_name": "PostToolUse"})
STRIDE = 1 if LONG else 25
"""Steps between two strikes, where any step is as good as any other."""

ANN = {"ATM_TEAM": "crew", "ATM_IDENTITY": "ann"}


@pytest.fixture
def tmp_path(tmp_path: Path) -> Iterator[Path]:
    yield from in_memory(tmp_path)


@pytest.fixture
def strike(atm, tmp_path: Path) -> Iterator[Striker]:
    striker = Striker({**atm.environment, **ANN, "ATM_DAEMON_AUTOSTART": "0"}, tmp_path)
    yield striker
    striker.end()


def a_room(home: Path) -> Teamroom:
    return build_room(find_layout({"ATM_HOME": str(home)}), disk=QuickDisk())


def a_team(home: Path) -> Teamroom:
    room = a_room(home)
    create_team(room, "crew")
    for name in ("ann", "bob", "cat"):
        add_member(room, "crew", Member(name))
    return room


def with_mail(home: Path) -> None:
    room = a_team(home)
    for text in TEXTS:
        send(room, "crew", "ann", Draft(sender="bob", text=text))


def unread(home: Path, agent: str = "ann") -> list[str]:
    return [row.text for row in a_room(home).inboxes.unread("crew", agent)]


def litter(home: Path) -> list[str]:
    """Lock folders, and versions that were not placed."""
    return [str(path) for path in [*lock_folders(home), *home.glob("**/.*.atm-*")]]


def lock_folders(home: Path) -> list[Path]:
    return [path for path in home.glob("**/*.lock") if path.is_dir()]


def let_locks_grow_old(home: Path) -> None:
    """Killed between making a lock folder and noting whose it is: nobody knows it, and it is broken when it is old."""
    for path in lock_folders(home):
        os.utime(path, (time.time() - 60, time.time() - 60))


def every_strike(
    strike: Striker,
    tmp_path: Path,
    prepare: Callable[[Path], object],
    words: list[str],
    *numbers: int,
    stdin: str = "",
    stride: int = 1,
    first: int = 0,
) -> Iterator[tuple[str, int, Struck, Path]]:
    """
    What is left after a signal at some or all steps of a command, the signals in turn; until no step is left.

    Without a stride that is right before and right after each change; see `kills`.
    """
    with made_by(prepare, tmp_path) as home:
        told = kills(strike(words, home, -1, 0, stdin=stdin).steps) if stride == 1 and not LONG else []
    every = chain([step for step in told if step >= first], count(told[-1] + 1 if told else first, stride))
    for turn, step in enumerate(every):
        number = numbers[turn % len(numbers)]
        with made_by(prepare, tmp_path) as home:
            left = strike(words, home, step, number, stdin=stdin)
            yield f"{signal.Signals(number).name} at step {step}: {left}", number, left, home
        if len(left.steps) <= step:
            assert step > 10
            return


@contextmanager
def killed_while_showing(strike: Striker, tmp_path: Path) -> Iterator[Path]:
    """A home in which a reader was killed after it had marked everything, and before it showed anything."""
    with made_by(with_mail, tmp_path) as home:
        steps = strike(["read"], home, -1, 0).steps
    with made_by(with_mail, tmp_path) as home:
        assert strike(["read"], home, steps.index("exchange") + 1, signal.SIGKILL).code == -signal.SIGKILL
        assert unread(home) == []
        yield home


def read_again(strike: Striker, home: Path) -> list[dict[str, Any]]:
    done = strike(["read", "--json"], home, -1, 0)
    assert done.code == 0, done
    messages: list[dict[str, Any]] = json.loads(done.out)["messages"]
    return messages


def texts(messages: list[dict[str, Any]]) -> list[str]:
    return [message["text"] for message in messages]


# Reading.


def test_a_reader_who_is_asked_to_end_shows_its_mail_or_gives_it_back(strike, tmp_path):
    codes = set()
    for when, number, left, home in every_strike(strike, tmp_path, with_mail, ["read"], *SIGNALS):
        codes.add(left.code)
        shown = [text for text in TEXTS if text in left.out]
        if left.code == 0:
            assert (shown, unread(home)) == (TEXTS, []), when
        else:
            assert (left.code, shown, unread(home)) == (128 + number, [], TEXTS), when
        assert litter(home) == [], when
        assert not a_room(home).surfacings.is_cut_off("crew", "ann"), when
        again = read_again(strike, home)
        assert texts(again) == ([] if left.code == 0 else TEXTS), when
        assert not any("may_have_been_shown" in message for message in again), f"nothing was written: {when}"
    assert codes == {0, *(128 + number for number in SIGNALS)}


def test_a_killed_reader_hides_nothing_and_what_is_shown_twice_says_so(strike, tmp_path):
    """G1 before G2: the next `read` shows it, with the words, once."""
    doubted_at, doubled_at = [], []
    words = ["read", "--json"]
    with made_by(with_mail, tmp_path) as home:
        marking = strike(words, home, -1, 0).steps.index("exchange")
    first = 0 if LONG else marking - 2  # what is killed before it marks anything has hidden nothing
    for when, _, left, home in every_strike(strike, tmp_path, with_mail, words, signal.SIGKILL, first=first):
        shown = texts(json.loads(left.out)["messages"]) if left.out else []
        let_locks_grow_old(home)
        again = read_again(strike, home)
        assert set(shown) | set(texts(again)) == set(TEXTS), f"hidden: {when}"
        doubted = [message["text"] for message in again if message.get("may_have_been_shown")]
        assert set(shown) & set(texts(again)) <= set(doubted), f"shown twice without a word: {when}"
        assert doubted in ([], TEXTS), when
        assert read_again(strike, home) == [], f"shown a third time: {when}"
        assert litter(home) == [], when
        doubted_at += [when] if doubted else []
        doubled_at += [when] if set(shown) & set(texts(again)) else []
    assert doubted_at, "nobody was killed between marking and entering"
    assert doubled_at, "nobody was killed between printing and entering"


def test_people_are_told_in_words_and_once(strike, tmp_path):
    with killed_while_showing(strike, tmp_path) as home:
        said = strike(["read"], home, -1, 0).out.splitlines()
        heads = [line for line in said if line.startswith("●")]
        assert [line.endswith(f"({MAYBE_SHOWN})") for line in heads] == [True, True], said
        assert MAYBE_SHOWN not in strike(["read", "--all"], home, -1, 0).out


def test_a_hook_shows_what_a_killed_reader_had_taken_and_says_so_too(strike, tmp_path):
    with killed_while_showing(strike, tmp_path) as home:
        said = strike(["hook", "claude", "PostToolUse"], home, -1, 0, stdin=CALL).out
        assert said.count(f'note=\\"{MAYBE_SHOWN}\\"') == 2, said
        assert read_again(strike, home) == []


def test_whoever_has_nothing_to_read_takes_no_lock_and_writes_nothing(strike, tmp_path):
    with made_by(a_team, tmp_path) as home:
        strike(["read"], home, -1, 0)  # notes in which version nothing is missing
        steps = strike(["read"], home, -1, 0).steps
        assert not {"lock", "make_folder", "create", "write", "exchange", "sync"} & set(steps), steps


def test_a_hook_that_is_asked_to_end_says_its_mail_or_gives_it_back(strike, tmp_path):
    words, was_said = ["hook", "claude", "PostToolUse"], set()
    for when, _, left, home in every_strike(strike, tmp_path, with_mail, words, *SIGNALS, stdin=CALL, stride=STRIDE):
        said = [text for text in TEXTS if text in left.out]
        assert left.code == 0, when
        assert (said, unread(home)) in ((TEXTS, []), ([], TEXTS)), when
        assert litter(home) == [], when
        was_said.add(bool(said))
    assert was_said == {True, False}


def test_a_hook_that_is_out_of_time_lets_go_of_its_locks(strike, tmp_path):
    words = ["hook", "claude", "PostToolUse"]
    for when, _, left, home in every_strike(
        strike, tmp_path, with_mail, words, signal.SIGALRM, stdin=CALL, stride=STRIDE
    ):
        said = [text for text in TEXTS if text in left.out]
        assert left.code == 0, when
        assert (said, unread(home)) in ((TEXTS, []), ([], TEXTS)), when
        assert litter(home) == [], when


# Whatever else changes something: a change that is made is reported.


def an_asked_team(home: Path) -> None:
    room = a_team(home)
    send(room, "crew", "ann", Draft(sender="bob", text="which port?"))


def with_a_task(home: Path) -> None:
    room = a_team(home)
    from atm.wiring.board import build_boardroom

    layout = find_layout({"ATM_HOME": str(home)})
    from atm import config

    settings = config.load(layout, {}, str(home), {})
    add(build_boardroom(layout, settings, room), "crew", "bob", [NewTask("paint it")])


def answered(home: Path) -> list[str]:
    (row,) = a_room(home).inboxes.rows("crew", "ann")
    return ["ack", row.id or ""]


CHANGES: dict[str, tuple[Callable[[Path], object], list[str], str]] = {
    "send": (a_team, ["send", "bob", "hello"], "sent to bob@crew"),
    "broadcast": (a_team, ["broadcast", "hello"], "2 of 2 delivered"),
    "claim": (with_a_task, ["tasks", "claim"], "claimed #1"),
    "add-member": (a_team, ["teams", "add-member", "crew", "dora"], "added dora"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_that_was_begun_is_finished_and_reported(strike, tmp_path, name):
    prepare, words, said = CHANGES[name]
    for when, _, left, home in every_strike(strike, tmp_path, prepare, words, *SIGNALS, stride=STRIDE):
        assert left.code == 0, when
        assert said in left.out, when
        assert litter(home) == [], when


def test_an_answer_that_was_begun_is_finished_and_reported(strike, tmp_path):
    for step in count(0, STRIDE):
        with made_by(an_asked_team, tmp_path) as home:
            left = strike([*answered(home), "8080"], home, step, SIGNALS[step % 3])
            assert left.code == 0, left
            assert "reply sent to bob@crew" in left.out
            assert (unread(home, "bob"), unread(home)) == (["8080"], [])
            assert litter(home) == []
        if len(left.steps) <= step:
            return
