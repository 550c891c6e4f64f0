"""
The world stops, or the disk refuses, at every single step of putting mail before an agent.

Afterwards a fresh process finds every message either shown or still to be shown (G1), and none is shown twice (G2) but
in the one window that nobody can close: killed after it was said and before the ledger line was durable. That window
is asserted exactly: a message is said a second time if and only if it was said and the ledger does not know it.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.chaos import ROUNDS, Refusal, kills, refusals
from tests.crash.conftest import Left, copied_or, made_by

from atm.core.errors import AtmError
from atm.delivery.ports.terminals import PaneAddress
from atm.delivery.rules.channels import URGENT
from atm.delivery.services.agent_hooks import HookVisit, attend
from atm.delivery.services.idle_notices import goes_idle
from atm.delivery.services.pushing import Channels, push
from atm.files.adapters.machine import find_layout
from atm.mail.formats.journal import histories
from atm.mail.rules.receipts import already_read
from atm.mail.rules.surfacing import HOOK
from atm.mail.services.escalation import SENDER, escalate, unacknowledged
from atm.mail.services.posting import Draft
from atm.mail.services.putting_back import put_back_dropped
from atm.mail.services.reading import Filter, take
from atm.mail.services.sending import send
from atm.mail.services.spooling import drain
from atm.mail.services.surfacing import Surfacing
from atm.roster.services.members import add_member, create_team
from atm.roster.services.teamroom import Teamroom
from atm.team.rules.endpoints import Endpoint
from atm.team.rules.liveness import WORKING
from atm.team.rules.team import Member
from atm.team.services.endpoints import put_endpoint
from atm.team.services.presence import beat
from atm.testing import Crash, FaultyDisk, QuickDisk
from atm.testing.delivery import MemoryPane, MemoryTerminals
from atm.vendors.agent_servers import REFUSED, ServerAnswer
from atm.vendors.moments import TOOL, HookAnswer, HookCall
from atm.wiring.mail import build_room

LEAD = "team-lead"
AT = PaneAddress("/tmp/tmux", "%1")
TEXTS = ["the first", "the second"]


class HurriedClock:
    """Real time, but waiting takes none."""

    def __init__(self, ahead: float = 0.0) -> None:
        self._ahead = ahead

    def now(self) -> float:
        return time.time() + self._ahead

    def monotonic(self) -> float:
        return time.monotonic() + self._ahead

    def sleep(self, seconds: float) -> None:
        self._ahead += seconds


def a_room(home: Path, disk: FaultyDisk | None = None, *, ahead: float = 0.0) -> Teamroom:
    layout = find_layout({"ATM_HOME": str(home)})
    return build_room(layout, disk=disk or QuickDisk(), clock=HurriedClock(ahead))


def new_team(home: Path) -> None:
    room = a_room(home)
    create_team(room, "crew")
    for member in (Member("ann"), Member("bob"), Member(LEAD), Member("hugo", backend="human")):
        add_member(room, "crew", member)


def a_team(home: Path) -> Teamroom:
    copied_or(new_team, home)
    return a_room(home)


def with_mail(home: Path) -> None:
    room = a_team(home)
    for text in TEXTS:
        send(room, "crew", "ann", Draft(sender="bob", text=text))


Act = Callable[[Teamroom], object]
Prepare = Callable[[Path], object]


def steps_of(tmp_path: Path, prepare: Prepare, act: Act, *, ahead: float = 0.0) -> list[str]:
    disk = FaultyDisk(QuickDisk())
    with made_by(prepare, tmp_path) as home:
        act(a_room(home, disk, ahead=ahead))
    return disk.steps


def ends(disk: FaultyDisk) -> None:
    """The process that met the error ends: what a refused `close` left open is closed, and its locks go."""
    for fd in disk._open:
        os.close(fd)


def every_kill(tmp_path: Path, prepare: Prepare, act: Act, *, ahead: float = 0.0) -> Iterator[tuple[int, str, Path]]:
    """What is left after a kill at any step of the act."""
    steps = steps_of(tmp_path, prepare, act, ahead=ahead)
    for step in kills(steps):
        with made_by(prepare, tmp_path) as home:
            with pytest.raises(Crash):
                act(a_room(home, FaultyDisk(QuickDisk(), stop_at=step), ahead=ahead))
            yield step, f"killed at step {step} ({steps[step]})", home


def every_refusal(
    tmp_path: Path, prepare: Prepare, act: Act, turn: int, *, ahead: float = 0.0
) -> Iterator[tuple[Refusal, Path]]:
    """What is left after the disk refused a step of the act, and the process has ended."""
    for refusal in refusals(steps_of(tmp_path, prepare, act, ahead=ahead), turn):
        disk = FaultyDisk(QuickDisk(), stop_at=refusal.step, error=refusal.error)
        with made_by(prepare, tmp_path) as home:
            try:
                act(a_room(home, disk, ahead=ahead))
            except AtmError:
                pass
            except OSError as error:
                raise AssertionError(f"not one of our errors: {refusal}") from error
            ends(disk)
            yield refusal, home


def known_as_shown(home: Path) -> set[str]:
    """The texts of which the ledger says that ann has seen them."""
    room = a_room(home)
    past = histories(room.ledger.entries("crew")[0])
    return {row.text for row in room.inboxes.rows("crew", "ann") if already_read(past.get((row.id or "", "ann"), []))}


# A hook, and the turn alone.


def call_hook(room: Teamroom, said: list[str]) -> bool:
    """One call after a tool; what it says is heard, whatever happens to it afterwards. Was anything said?"""

    def hear(answer: HookAnswer) -> None:
        said.extend(text for text in TEXTS if text in answer.context)

    team = room.rosters.load("crew")
    call = HookCall(vendor="claude", event="PostToolUse", moment=TOOL, session="s-1")
    visit = HookVisit(
        room,
        team,
        "ann",
        call,
        carries="context",
        say=hear,
        stop_on=URGENT,
        brief=str,
        locate=lambda: Endpoint(vendor="claude", session="s-1", at=room.clock.now()),
    )
    return bool(attend(visit))


def take_a_turn(room: Teamroom, said: list[str]) -> bool:
    turn = Surfacing(room, "crew", "ann", HOOK)
    with turn as unread:
        taken = turn.take(unread) if unread else []
        said.extend(message.text for message in taken)
        if taken:
            turn.shown("a test")
        return bool(taken)


SHOWING = {"hook": call_hook, "turn": take_a_turn}


class Heard:
    """What was said the last time that something was shown."""

    def __init__(self, show: Callable[[Teamroom, list[str]], bool]) -> None:
        self.show = show
        self.said: list[str] = []

    def __call__(self, room: Teamroom) -> None:
        self.said = []
        self.show(room, self.said)


def said_later(home: Path, show: Callable[[Teamroom, list[str]], bool]) -> list[str]:
    """What a fresh process says, half a minute later."""
    said: list[str] = []
    room = a_room(home, ahead=31)
    while show(room, said):
        assert len(said) < 10
    return said


@pytest.mark.parametrize("way", SHOWING)
def test_a_showing_takes_a_known_number_of_steps(tmp_path, way):
    steps = steps_of(tmp_path, with_mail, lambda room: SHOWING[way](room, []))
    assert {"lock", "exchange", "sync", "remove"} <= set(steps)
    assert len(steps) < 200


@pytest.mark.parametrize("way", SHOWING)
def test_killed_at_any_step_mail_is_shown_once_but_in_the_one_window(tmp_path, way):
    heard = Heard(SHOWING[way])
    steps = steps_of(tmp_path, with_mail, heard)
    tried, doubled_at, left = [], [], Left()
    for step, when, home in every_kill(tmp_path, with_mail, heard):
        said = heard.said
        window = set(said) - known_as_shown(home)
        tried.append(step)
        if window:
            doubled_at.append(step)
        if not left.is_new(home, tuple(said)):
            continue
        later = said_later(home, heard.show)
        where = f"{when}, said {said}, then {later}"
        assert set(said) | set(later) == set(TEXTS), f"lost: {where}"
        assert later == [text for text in TEXTS if text in later], f"out of order: {where}"
        assert set(said) & set(later) == window, f"the window is not what was promised: {where}"
    # One stretch without a gap: from the moment it was said to the line in the ledger.
    first, last = doubled_at[0], doubled_at[-1]
    assert doubled_at == [step for step in tried if first <= step <= last]
    assert "sync" not in steps[first:last], "the ledger was durable, and it was said again"


@pytest.mark.campaign
@pytest.mark.parametrize("turn", ROUNDS)
@pytest.mark.parametrize("way", SHOWING)
def test_an_error_at_any_step_shows_mail_once(tmp_path, way, turn):
    heard, left = Heard(SHOWING[way]), Left()
    for refusal, home in every_refusal(tmp_path, with_mail, heard, turn + [*SHOWING].index(way)):
        if left.is_new(home, tuple(heard.said)):
            assert heard.said + said_later(home, heard.show) == TEXTS, refusal


def test_killed_at_any_step_its_owner_finds_the_mail_with_read_or_a_hook(tmp_path):
    """Between the kill and the next hook the owner reads: nothing that was not shown may be hidden, nothing doubled."""
    heard, left = Heard(call_hook), Left()
    for _, when, home in every_kill(tmp_path, with_mail, heard):
        if not left.is_new(home, tuple(heard.said)):
            continue
        window = set(heard.said) - known_as_shown(home)
        room = a_room(home, ahead=31)
        later = [message.text for message in take(room, "crew", "ann", Filter()).messages]
        later += said_later(home, call_hook)
        assert sorted(heard.said + later) == sorted([*TEXTS, *window]), when


def test_killed_twice_mail_is_still_not_lost(tmp_path):
    """The second process is killed while it clears up after the first, at every step of that."""
    steps = steps_of(tmp_path, with_mail, lambda room: call_hook(room, []))
    exchange = steps.index("exchange")

    def killed_once(home: Path) -> None:
        with_mail(home)
        with pytest.raises(Crash):
            call_hook(a_room(home, FaultyDisk(QuickDisk(), stop_at=exchange + 1)), [])

    heard, left = Heard(call_hook), Left()
    for _, when, home in every_kill(tmp_path, killed_once, heard, ahead=31):
        if not left.is_new(home, tuple(heard.said)):
            continue
        window = set(heard.said) - known_as_shown(home)
        later = said_later(home, call_hook)
        assert sorted(heard.said + later) == sorted([*TEXTS, *window]), f"{when}, again"


class WithLedger:
    """The stores of a room, with another ledger."""

    def __init__(self, stores: Any, ledger: Any) -> None:
        self._stores = stores
        self.ledger = ledger

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stores, name)


class InterruptedLedger:
    """Somebody else gets his chance just after the ledger was read, or just before it is written."""

    def __init__(self, ledger: Any, step: str, rival: threading.Thread) -> None:
        self._ledger = ledger
        self._step = step
        self._rival = rival

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ledger, name)

    def about(self, team: str, ids: Any) -> Any:
        found = self._ledger.about(team, ids)
        self._let_go("about")
        return found

    def append(self, team: str, lines: list[Any]) -> Any:
        self._let_go("append")
        return self._ledger.append(team, lines)

    def _let_go(self, step: str) -> None:
        if step == self._step and not self._rival.ident:
            self._rival.start()
            self._rival.join(1.0)  # one that waits for us is let go on waiting


def a_dead_hook(tmp_path: Path) -> Path:
    """A home in which a hook was killed after its note, before it took anything out of the unread."""
    steps = steps_of(tmp_path, with_mail, lambda room: call_hook(room, []))
    with_mail(tmp_path / "home")
    with pytest.raises(Crash):
        call_hook(a_room(tmp_path / "home", FaultyDisk(QuickDisk(), stop_at=steps.index("exchange"))), [])
    assert a_room(tmp_path / "home").surfacings.is_cut_off("crew", "ann")
    return tmp_path / "home"


@pytest.mark.parametrize(("first", "step"), [("hook", "about"), ("reader", "append")])
def test_a_reader_beside_somebody_who_clears_up_after_a_dead_hook_doubles_nothing(tmp_path, first, step):
    """What a reader takes at that moment must not be given back under his eyes: to nobody is anything shown twice."""
    home = a_dead_hook(tmp_path)
    layout = find_layout({"ATM_HOME": str(home)})
    read: list[str] = []
    said: list[str] = []

    def reads(room: Teamroom) -> None:
        read.extend(message.text for message in take(room, "crew", "ann", Filter()).messages)

    def hooks(room: Teamroom) -> None:
        call_hook(room, said)

    one, other = (hooks, reads) if first == "hook" else (reads, hooks)
    rival = threading.Thread(target=lambda: other(build_room(layout)))
    room = build_room(layout)
    room.stores = WithLedger(room.stores, InterruptedLedger(room.ledger, step, rival))
    one(room)
    rival.join(60)
    assert not rival.is_alive()
    said += said_later(home, call_hook)
    assert sorted(read + said) == sorted(TEXTS), f"read {read}, said {said}"


# A pane.


class NoServers:
    def is_of(self, url: str, pid: int) -> bool:  # noqa: ARG002
        return False

    def refusal(self, url: str, session: str) -> str:  # noqa: ARG002
        return "there is none"

    def tell(self, url: str, session: str, id: str, text: str) -> ServerAnswer:  # noqa: ARG002
        return ServerAnswer(REFUSED, "there is none")


class KilledAt(MemoryTerminals):
    """The process dies at a chosen call of the multiplexer: before it, or just after."""

    def __init__(self, terminals: MemoryTerminals, disk: FaultyDisk, at: int, *, after: bool) -> None:
        super().__init__()
        self.panes = terminals.panes
        self._disk = disk
        self._at = at
        self._after = after
        self.calls: list[str] = []

    def paste(self, at: PaneAddress, line: str) -> bool:
        return self._call("paste", lambda: MemoryTerminals.paste(self, at, line))

    def press_enter(self, at: PaneAddress) -> bool:
        return self._call("press_enter", lambda: MemoryTerminals.press_enter(self, at))

    def _call(self, name: str, act: Callable[[], bool]) -> bool:
        self.calls.append(name)
        is_now = len(self.calls) - 1 == self._at
        if is_now and not self._after:
            self._disk._die()
        result = act()
        if is_now:
            self._disk._die()
        return result


def with_pane(home: Path, texts: list[str]) -> MemoryTerminals:
    room = a_team(home)
    for text in texts:
        send(room, "crew", "ann", Draft(sender="bob", text=text))
    place: dict[str, Any] = {
        "host": room.presence.host,
        "boot": room.presence.boot,
        "server": AT.server,
        "pane": AT.pane,
    }
    endpoint = Endpoint(vendor="", session="", at=room.clock.now(), pane_pid=100, pane_command="claude", **place)
    put_endpoint(room, room.rosters.load("crew"), "ann", endpoint)
    terminals = MemoryTerminals()
    terminals.open(AT)
    return terminals


def push_once(room: Teamroom, terminals: MemoryTerminals) -> object:
    return push(room, Channels(terminals, lambda _: NoServers()), room.rosters.load("crew"), "ann")


def finish_pushing(home: Path, terminals: MemoryTerminals) -> None:
    room = a_room(home, ahead=31)
    for _ in range(10):
        if push_once(room, terminals) is None:
            return
    raise AssertionError(f"it is pushed for ever; the composer holds {terminals.panes[AT].composer!r}")


def check_pane(pane: MemoryPane, home: Path, texts: list[str], where: str) -> None:
    room = a_room(home)
    assert room.inboxes.unread("crew", "ann") == [], f"still unread: {where}"
    assert (len(pane.submitted), pane.composer, pane.ran) == (1, "", []), f"{where}: {pane.submitted}"
    whole = pane.submitted[0]
    if " read /" in whole:
        whole = Path(whole.rpartition(" read ")[2]).read_text()
    assert [text for text in texts if text in whole] == texts, where


class Paned:
    """A home with mail for ann, and the pane that she sits in."""

    def __init__(self, texts: list[str]) -> None:
        self.texts = texts
        self.terminals = MemoryTerminals()
        self._left = Left()

    def prepare(self, home: Path) -> None:
        self.terminals = with_pane(home, self.texts)

    def push(self, room: Teamroom) -> object:
        return push_once(room, self.terminals)

    def check(self, home: Path, where: str) -> None:
        pane = self.terminals.panes[AT]
        if not self._left.is_new(home, (len(pane.submitted), len(pane.composer))):
            return
        finish_pushing(home, self.terminals)
        check_pane(pane, home, self.texts, where)


@pytest.mark.parametrize("texts", [TEXTS[:1], TEXTS], ids=["one", "two"])
def test_killed_at_any_step_of_the_disk_a_line_is_submitted_once(tmp_path, texts):
    paned = Paned(texts)
    for _, when, home in every_kill(tmp_path, paned.prepare, paned.push):
        paned.check(home, when)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("call", [0, 1])
def test_killed_around_paste_and_enter_a_line_is_submitted_once(tmp_path, call, after):
    home = tmp_path / "home"
    terminals = with_pane(home, TEXTS)
    disk = FaultyDisk(QuickDisk())
    with pytest.raises(Crash):
        push_once(a_room(home, disk), KilledAt(terminals, disk, call, after=after))
    finish_pushing(home, terminals)
    check_pane(terminals.panes[AT], home, TEXTS, f"call {call}, after: {after}")


@pytest.mark.campaign
@pytest.mark.parametrize("turn", ROUNDS)
def test_an_error_at_any_step_of_a_push_submits_a_line_once(tmp_path, turn):
    paned = Paned(TEXTS)
    for refusal, home in every_refusal(tmp_path, paned.prepare, paned.push, turn + 2):
        paned.check(home, str(refusal))


# An idle notice.


def with_a_former_notice(home: Path) -> None:
    """One notice that nobody has read, one that was, and a message of the same sender."""
    room = a_team(home)
    goes_idle(room, room.rosters.load("crew"), "ann", "a test")
    take(room, "crew", LEAD, Filter())
    send(room, "crew", LEAD, Draft(sender="ann", text="a message"))
    for state in (WORKING, "", WORKING):
        if state:
            beat(room.presence, "crew", "ann", room.clock.now(), "a test", state=state)
        else:
            goes_idle(room, room.rosters.load("crew"), "ann", "a test")


def go_idle(room: Teamroom) -> object:
    return goes_idle(room, room.rosters.load("crew"), "ann", "a test")


def check_notices(home: Path, where: str) -> None:
    room = a_room(home, ahead=31)
    for _ in range(2):
        rows = room.inboxes.rows("crew", LEAD)
        found = sorted((row.text == "a message", row.read) for row in rows)
        assert found == [(False, False), (False, True), (True, False)], f"{where}: {[row.raw for row in rows]}"
        put_back_dropped(room, room.rosters.load("crew"), everything=True)


def test_killed_at_any_step_an_idle_notice_takes_the_place_of_the_former_or_does_not(tmp_path):
    assert "exchange" in steps_of(tmp_path, with_a_former_notice, go_idle)
    left = Left()
    for _, when, home in every_kill(tmp_path, with_a_former_notice, go_idle):
        if left.is_new(home):
            send(a_room(home, ahead=31), "crew", "bob", Draft(sender="ann", text="the next command"))
            check_notices(home, when)


@pytest.mark.campaign
@pytest.mark.parametrize("turn", ROUNDS)
def test_an_error_at_any_step_of_an_idle_notice_hurts_nobody(tmp_path, turn):
    left = Left()
    for refusal, home in every_refusal(tmp_path, with_a_former_notice, go_idle, turn + 3):
        if left.is_new(home):
            check_notices(home, str(refusal))


# Escalation.


HALF_AN_HOUR = 31 * 60.0


def with_a_silent_member(home: Path) -> None:
    send(a_team(home), "crew", "ann", Draft(sender="bob", text="please", ack_minutes=15))


def take_steps(room: Teamroom) -> object:
    return escalate(room, room.rosters.load("crew"), unacknowledged(room, "crew"))


def check_told(home: Path, where: str) -> None:
    room = a_room(home, ahead=HALF_AN_HOUR + 31)
    for _ in range(3):
        take_steps(room)
        drain(room, everything=True)
    for name in (LEAD, "hugo"):
        told = [row for row in room.inboxes.rows("crew", name) if row.sender == SENDER]
        assert len(told) == 1, f"{name} was told {len(told)} times: {where}"
    (waiting,) = unacknowledged(room, "crew")
    assert waiting.told == 2, where
    assert put_back_dropped(room, room.rosters.load("crew"), everything=True) == 0, where


@pytest.mark.parametrize(
    ("prepare", "act"),
    [
        (with_mail, Heard(call_hook)),
        (with_mail, Heard(take_a_turn)),
        (with_a_former_notice, go_idle),
        (with_a_silent_member, take_steps),
    ],
    ids=["hook", "turn", "notice", "escalation"],
)
def test_where_the_team_was_copied_the_steps_are_the_same(tmp_path, monkeypatch, prepare, act):
    copied = steps_of(tmp_path, prepare, act, ahead=HALF_AN_HOUR)
    monkeypatch.setattr("tests.crash.test_surfacing_every_step.copied_or", lambda make, home: make(home))
    assert copied == steps_of(tmp_path, prepare, act, ahead=HALF_AN_HOUR)


def test_killed_at_any_step_lead_and_human_are_told_once(tmp_path):
    left = Left()
    for _, when, home in every_kill(tmp_path, with_a_silent_member, take_steps, ahead=HALF_AN_HOUR):
        if left.is_new(home):
            check_told(home, when)


@pytest.mark.campaign
@pytest.mark.parametrize("turn", ROUNDS)
def test_an_error_at_any_step_tells_lead_and_human_once(tmp_path, turn):
    left = Left()
    for refusal, home in every_refusal(tmp_path, with_a_silent_member, take_steps, turn + 4, ahead=HALF_AN_HOUR):
        if left.is_new(home):
            check_told(home, str(refusal))
