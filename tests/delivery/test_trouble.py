"""
Deliveries in trouble: everybody at once, agents that are late, panes that are not what they were, things that are gone.

Whatever happens, nothing is lost, nothing comes twice, nothing runs that was only said, and the receipts do not claim
more than anybody saw.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.delivery.conftest import IN_TIME, LETTER, Agent, Stage, children_of, kill, until
from tests.optional import needs
from tests.proving import proves
from tests.teamd.forked import start

from atm.files.adapters.disk import RealDisk
from atm.mail.formats.journal import MESSAGE, Line
from atm.mail.services.mailroom import find_recipient
from atm.mail.services.posting import Draft, compose

HARMFUL = [
    "letter-0 touch pwned",
    "letter-1; touch pwned; $(touch pwned) `touch pwned` && touch pwned | tee pwned > pwned",
    "letter-2\ntouch pwned\n$(touch pwned)\n",
]
SHELL = ["env", "PS1=> ", "HISTFILE=", "bash", "--norc", "--noprofile", "-i"]
WAITING_PARENT = [sys.executable, "-c", "import subprocess, sys; subprocess.call(sys.argv[1:])"]


def wait_for(path: Path) -> str:
    """A script that waits until a file is there; not for ever, whatever happens to the test."""
    return f"for n in $(seq 3000); do [ -e {shlex.quote(str(path))} ] && break; sleep 0.02; done"


def wait_for_the_end_of(pid: int) -> str:
    """A script that waits until a process has ended, and nothing of it is open any more."""
    return f"while grep -q '^State:[[:space:]]*[RSDT]' /proc/{pid}/status; do sleep 0.02; done"


def turns(agent: Agent) -> int:
    return len(agent.rows("turn-end"))


def nothing_ran(stage: Stage) -> bool:
    return not [*stage.atm.folder.rglob("pwned"), *stage.atm.home.rglob("pwned")]


# Everybody at once.


class Racer:
    """`atm hook` or `atm read` of ann, started so that it meets the others."""

    def __init__(self, stage: Stage, *words: str, stdin: object = None) -> None:
        environment = {**stage.atm.environment, "ATM_TEAM": stage.team, "ATM_IDENTITY": "ann"}
        with tempfile.TemporaryFile() as said:  # no pipe: whoever does not read it may have ended before we write
            said.write(json.dumps(stdin).encode())
            said.seek(0)
            self._process = start(
                stage.atm.command(*words),
                stdin=said,
                stdout=subprocess.PIPE,
                env=environment,
                cwd=stage.atm.folder,
            )

    def saw(self) -> list[str]:
        assert self._process.stdout is not None
        with self._process.stdout:
            out = self._process.stdout.read()
        assert self._process.wait(120) == 0
        said = json.loads(out or b"{}")  # a summary says the same once more
        texts = [message["text"] for message in said.get("messages", [])] or [out.decode()]
        return [word for text in texts for word in LETTER.findall(text)]


def a_hook(stage: Stage) -> Racer:
    payload = {"session_id": "s-race", "hook_event_name": "PostToolUse"}
    return Racer(stage, "hook", "claude", "PostToolUse", stdin=payload)


def a_reader(stage: Stage) -> Racer:
    return Racer(stage, "read", "--json")


@proves("R001-3.2-36")
@needs("tmux")
def test_a_hook_and_a_reader_while_the_daemon_pastes_show_each_message_once_in_all(stage: Stage) -> None:
    ann = stage.agent_in_pane("ann", "plain")
    sent, shown = [], []
    for number in range(5):
        # A hook that shows mail makes its session known, and the pane would be left alone from then on.
        stage.room.endpoints.forget(stage.team, "ann")
        racers = [a_hook(stage), a_reader(stage), a_hook(stage)]
        for part in range(2):
            sent.append(f"letter-{number}_{part}")
            stage.write("ann", sent[-1])
        shown += [word for racer in racers for word in racer.saw()]
    stage.room.endpoints.forget(stage.team, "ann")
    until(
        lambda: stage.house.wake("delivery") and not stage.unread("ann") and not stage.notes,
        why=lambda: stage.house.said,
    )
    until(lambda: len(shown) + len(ann.heard) >= len(sent), why=ann.rows)
    assert Counter([*shown, *ann.heard]) == Counter(sent)
    assert ann.heard == sorted(ann.heard)


@needs("tmux")
def test_a_reader_while_the_daemon_wakes_the_agent_and_its_hook_speaks_shows_each_message_once_in_all(
    stage: Stage,
) -> None:
    ann = stage.agent_in_pane("ann", "claude")
    sent, shown = [], []
    for number in range(4):
        until(lambda: stage.is_idle("ann"))
        racers = [a_reader(stage) for _ in range(number % 3)]
        sent.append(f"letter-{number}")
        stage.write("ann", sent[-1])
        shown += [word for racer in racers for word in racer.saw()]
    until(lambda: not stage.unread("ann") and not stage.notes and stage.is_idle("ann"), why=lambda: stage.house.said)
    assert Counter([*shown, *ann.heard]) == Counter(sent)


@needs("tmux")
def test_three_daemons_at_once_are_one_and_deliver_once(alone: Stage) -> None:
    ann = alone.agent_in_pane("ann", "plain")
    sent = alone.write("ann", "letter-1")
    started = [alone.house.start_daemon(wait=False) for _ in range(3)]
    until(lambda: sum(process.poll() is None for process in started) == 1 and alone.house.answers)
    assert sorted(process.poll() or 0 for process in started) == [0, 1, 1]
    assert alone.house.said.count("a daemon runs for this home already") == 2
    until(lambda: "surfaced" in alone.states(sent), why=lambda: alone.house.said)
    until(lambda: ann.heard)
    alone.house.another_round()
    assert (ann.heard, len(ann.prompts)) == (["letter-1"], 1)
    assert alone.receipt(sent).events == ["written", "surfaced"]


# Agents that are late.


@needs("tmux")
def test_a_busy_agent_that_reads_late_gets_everything_in_order_and_nothing_is_pasted(stage: Stage) -> None:
    ann = stage.agent_in_pane("ann", "claude")
    gate = stage.folder / "tool-done"
    ann.before("PostToolUse", wait_for(gate))
    ann.prompt("/busy 9")
    until(lambda: "UserPromptSubmit" in ann.calls)
    senders = ("bob", "lena", "bob")
    sent = [f"letter-{number:03}" for number in range(120)]
    ids = [stage.write("ann", f"{word} {'x' * 250}", sender=senders[at % 3]) for at, word in enumerate(sent)]
    stage.house.another_round()
    assert stage.deliver("ann")["evidence"] == "it works; its next hook shows the mail"
    assert (ann.heard, ann.prompts, ann.screen.count("atm:")) == ([], ["/busy 9"], 0)
    gate.touch()
    until(lambda: turns(ann), why=ann.rows)
    assert ann.heard == sent
    assert ann.prompts == ["/busy 9"]
    assert stage.receipt(ids[0]).evidence["surfaced"] == ann.surfaced_at("PostToolUse")


@needs("tmux")
@pytest.mark.parametrize(
    "attempts",
    [1, 2],
)
def test_a_bare_program_that_hangs_for_a_while_gets_the_line_once_when_it_is_back(alone: Stage, attempts: int) -> None:
    """Each line lies in its terminal until it reads again: they would meet in the composer, and none be submitted."""
    ann = alone.agent_below(WAITING_PARENT, "ann", "plain")
    (agent,) = children_of(ann.pid)
    os.kill(agent, signal.SIGSTOP)  # not the pane's own process: tmux lets that one go on
    sent = alone.write("ann", "letter-1")
    outcomes = [alone.deliver("ann", PYTHONPATH=IN_TIME)["outcome"] for _ in range(attempts)]
    assert outcomes[0] == "unproven"
    os.kill(agent, signal.SIGCONT)
    until(lambda: "letter-1" in ann.screen)
    assert alone.deliver("ann")["outcome"] == "surfaced"
    until(lambda: ann.heard)
    assert ann.heard == ["letter-1"]
    assert "pasted before" in alone.receipt(sent).journey["surfaced"]


def test_a_late_agent_in_a_team_with_twenty_thousand_messages_gets_its_mail(alone: Stage) -> None:
    alone.add("ann")
    put_at_once(alone, "ann", 1000)
    (row,) = alone.room.ledger.entries(alone.team)[0][-1:]
    others = [
        Line(kind=MESSAGE, ids=[f"{number:036}"], agent="bob", state="written", at=row.at, evidence="", raw=row.raw)
        for number in range(19_000)
    ]
    alone.room.ledger.append(alone.team, others)
    ann = alone.agent("ann", "claude")
    assert ann.heard[:15] == [f"letter-{number}" for number in range(15)]


def put_at_once(stage: Stage, name: str, count: int) -> None:
    """As if they had been sent one by one."""
    room, to = stage.room, find_recipient(stage.room, stage.team, name)
    letters = [Draft(sender="bob", text=f"letter-{number} {'x' * 300}") for number in range(count)]
    rows = [compose(room, to, letter) for letter in letters]
    room.inboxes.append(stage.team, name, rows, fresh=True)
    lines = [
        Line(kind=MESSAGE, ids=[row.id or ""], agent=name, state="written", at=row.timestamp, evidence="", raw=row.raw)
        for row in rows
    ]
    room.ledger.append(stage.team, lines)


@needs("tmux")
def test_a_full_inbox_keeps_no_new_message_back(stage: Stage) -> None:
    ann = stage.agent_in_pane("ann", "plain")
    row = {"from": "bob", "timestamp": "2026-11-15T10:00:00.000Z", "read": True}
    rows = [{**row, "text": f"old {number}", "message_id": f"old-{number}"} for number in range(10_000)]
    stage.atm.inbox("ann", stage.team).write_text(json.dumps(rows))
    sent = stage.write("ann", "letter-1")
    until(lambda: "surfaced" in stage.states(sent), why=lambda: stage.house.said)
    until(lambda: ann.heard)
    assert (ann.heard, len(ann.prompts)) == (["letter-1"], 1)
    assert stage.receipt(sent).now == "in its context, not yet read"  # no hook of a plain program says more


# Panes that are not what they were.


@proves("R000-delivery-retry-05")
@needs("tmux")
def test_a_dead_pane_gets_nothing_until_somebody_lives_in_it_again(stage: Stage) -> None:
    ann = stage.agent_in_pane("ann", "plain")
    stage.house.tmux("set-option", "-w", "-t", ann.pane, "remain-on-exit", "on")
    ann.prompt("/exit")
    until(lambda: stage.house.tmux("display-message", "-p", "-t", ann.pane, "#{pane_dead}").strip() == "1")
    sent = stage.write("ann", "letter-1")
    stage.house.another_round()
    assert "dead" in stage.deliver("ann")["evidence"]
    assert stage.receipt(sent).events == ["written"]
    assert stage.unread("ann") == ["letter-1"]
    stage.house.tmux("respawn-pane", "-t", ann.pane)
    until(lambda: stage.house.wake("delivery") and "surfaced" in stage.states(sent), why=lambda: stage.house.said)
    until(lambda: ann.heard)
    assert ann.heard == ["letter-1"]


@needs("tmux")
@pytest.mark.parametrize(("vendor", "why"), [("plain", "a shell"), ("claude", "has 'bash' in front now")])
def test_where_an_agent_was_and_a_shell_is_nothing_runs(stage: Stage, vendor: str, why: str) -> None:
    """It was killed, so nothing said that its session is over; its prompt looks just like a composer."""
    ann = stage.agent_below(SHELL, "ann", vendor)
    for pid in children_of(ann.pid):
        kill(pid)
    until(lambda: stage.house.tmux("display-message", "-p", "-t", ann.pane, "#{pane_current_command}") == "bash\n")
    until(lambda: ann.screen.rstrip().endswith(">"))
    before = ann.screen
    sent = [stage.write("ann", text, is_urgent=number == 1) for number, text in enumerate(HARMFUL)]
    stage.house.another_round()
    refused = stage.deliver("ann")
    assert refused["outcome"] == "refused", refused
    assert why in refused["evidence"]
    assert ann.screen == before
    assert nothing_ran(stage)
    assert [stage.receipt(id).events for id in sent[:1]] == [["written"]]
    assert len(stage.unread("ann")) == 3


@needs("tmux")
def test_a_pane_id_that_another_agent_has_now_is_not_typed_into(stage: Stage) -> None:
    ann = stage.agent_in_pane("ann", "claude")
    until(lambda: stage.is_idle("ann"))
    stage.house.kill_tmux()
    stranger = stage.agent_in_pane("carl", "plain")
    assert stranger.pane == ann.pane
    sent = stage.write("ann", "letter-1")
    stage.house.another_round()
    assert "another process" in stage.deliver("ann")["evidence"]
    assert (stranger.prompts, stranger.screen.count("atm")) == ([], 0)
    assert stage.receipt(sent).events == ["written"]


@needs("tmux")
@pytest.mark.parametrize(("vendor", "outcome"), [("plain", "refused"), ("codex", "waiting")])
def test_a_dialog_in_front_is_answered_by_nobody_but_its_user(stage: Stage, vendor: str, outcome: str) -> None:
    ann = stage.agent_in_pane("ann", vendor, "--dialog")
    sent = stage.write("ann", "letter-1 yes 1")
    stage.house.another_round()
    assert stage.deliver("ann")["outcome"] == outcome
    assert stage.receipt(sent).events == ["written"]
    ann.prompt("1")
    until(lambda: ann.rows("answered"))
    assert ann.rows("eaten") == []
    if vendor != "plain":
        ann.prompt("go on")  # it counts as asking until it calls a hook
    until(lambda: stage.house.wake("delivery") and turns(ann), why=lambda: stage.house.said)
    assert ann.heard == ["letter-1"]


@needs("tmux")
def test_a_tmux_server_that_is_killed_takes_no_mail_with_it(stage: Stage) -> None:
    stage.agent_in_pane("ann", "gemini")
    stage.agent_in_pane("carl", "plain")
    until(lambda: stage.is_idle("ann"))
    stage.house.kill_tmux()
    sent = [stage.write(name, f"letter-{name}") for name in ("ann", "carl")]
    stage.house.another_round()
    assert [stage.receipt(id).events for id in sent] == [["written"]] * 2
    again = [stage.agent_in_pane("ann", "gemini"), stage.agent_in_pane("carl", "plain")]
    until(lambda: stage.house.wake("delivery") and all(agent.heard for agent in again), why=lambda: stage.house.said)
    assert [agent.heard for agent in again] == [["letter-ann"], ["letter-carl"]]
    assert stage.house.loop("delivery")["failures"] == 0


# Things that are gone, or cannot be written.


@contextlib.contextmanager
def nobody_drains(stage: Stage) -> Iterator[None]:
    """Not even the daemon: what lies in the spool has another name while it is tried, and is overlooked then."""
    turn = stage.room.spool.exclusively()
    until(turn.__enter__)
    try:
        yield
    finally:
        turn.__exit__()


@proves("R001-3.2-07", "R001-3.3-09", "R001-3.3-16")
def test_an_inbox_that_cannot_be_written_fills_in_order_when_it_can(stage: Stage) -> None:
    ann = stage.agent("ann", "claude")
    path = stage.atm.inbox("ann", stage.team)
    aside = path.with_suffix(".aside")
    aside.mkdir()
    # In one step, both times: the daemon would put an inbox where for a moment none is.
    assert RealDisk().exchange(str(aside), str(path))
    ids = []
    for number in range(4):
        said = stage.atm("send", "ann", f"letter-{number}", "--from", "bob", "--team", stage.team, "--json").json
        assert said["outcome"] == "queued"
        ids.append(said["message_id"])
    with nobody_drains(stage):
        receipt = stage.receipt(ids[0])
    assert (receipt.state, receipt.journey["written"]) == ("queued", "unknown")
    assert receipt.now.startswith("in the spool (pending")
    assert RealDisk().exchange(str(aside), str(path))
    aside.rmdir()
    until(lambda: len(stage.unread("ann")) == 4, why=lambda: stage.house.said)
    ann.prompt("go on")
    until(lambda: turns(ann))
    assert ann.heard == [f"letter-{number}" for number in range(4)]
    receipt = stage.receipt(ids[3])
    assert receipt.journey["queued"] != "unknown"
    assert receipt.journey["written"] == "inbox file, from the spool"
    assert receipt.journey["surfaced"] == ann.surfaced_at("UserPromptSubmit")


@needs("tmux")
def test_an_inbox_that_another_program_holds_is_delivered_when_it_lets_go(alone: Stage) -> None:
    ann = alone.agent_in_pane("ann", "plain")
    sent = alone.write("ann", "letter-1")
    lock = Path(f"{alone.layout.inbox(alone.team, 'ann')}.lock")
    lock.mkdir()
    alone.house.start_daemon(PYTHONPATH=IN_TIME)

    def is_waited_for() -> bool:
        os.utime(lock)  # as Claude Code does: one of half a minute ago would be broken
        return f"holds the lock {lock}" in Path(alone.layout.daemon_log).read_text()

    until(is_waited_for, why=lambda: alone.house.said)
    lock.rmdir()
    until(lambda: alone.house.wake("delivery") and "surfaced" in alone.states(sent), why=lambda: alone.house.said)
    until(lambda: ann.heard)
    assert ann.heard == ["letter-1"]


@needs("tmux")
def test_mail_that_waited_is_delivered_when_a_pane_is_entered(stage: Stage) -> None:
    stage.add("ann")
    sent = stage.write("ann", "letter-1")
    stage.house.another_round()
    ann = stage.agent_in_pane("ann", "plain")
    until(lambda: stage.house.wake("delivery") and "surfaced" in stage.states(sent), why=lambda: stage.house.said)
    until(lambda: ann.heard)
    assert ann.heard == ["letter-1"]


@needs("tmux")
def test_without_a_daemon_atm_deliver_does_it_once(alone: Stage) -> None:
    ann, carl = alone.agent_in_pane("ann", "claude"), alone.agent_in_pane("carl", "plain")
    until(lambda: alone.is_idle("ann"))
    alone.write("ann", "letter-ann")
    alone.write("carl", "letter-carl")
    said = alone.atm("deliver", "--team", alone.team, "--json").json["members"]
    outcomes = {one["member"]: one["outcome"] for one in said}
    assert (outcomes["ann"], outcomes["carl"]) == ("woken", "surfaced")
    until(lambda: turns(ann) and turns(carl))
    assert alone.deliver("ann")["outcome"] == alone.deliver("carl")["outcome"] == "nothing unread"
    assert (ann.heard, carl.heard) == (["letter-ann"], ["letter-carl"])


def test_an_agent_that_was_killed_gets_what_was_unread_and_not_what_it_had(stage: Stage) -> None:
    former = stage.agent("ann", "codex")
    stage.write("ann", "letter-1")
    former.prompt("go on")
    until(lambda: turns(former))
    former.kill()
    unread = stage.write("ann", "letter-2")
    stage.house.another_round()
    assert stage.receipt(unread).events == ["written"]
    ann = stage.agent("ann", "codex")
    assert (former.heard, ann.heard) == (["letter-1"], ["letter-2"])
    assert stage.receipt(unread).journey["surfaced"] == ann.surfaced_at("SessionStart")


def test_mail_that_a_hook_says_to_an_agent_that_was_killed_comes_to_its_next_session(stage: Stage) -> None:
    former = stage.agent("ann", "claude")
    sent = stage.write("ann", "letter-1")
    former.before("UserPromptSubmit", f"kill -9 {former.process.pid}\n{wait_for_the_end_of(former.process.pid)}")
    former.prompt("go on")
    until(lambda: "UserPromptSubmit" in former.calls)
    assert stage.unread("ann") == ["letter-1"]
    ann = stage.agent("ann", "claude")
    assert (former.heard, ann.heard) == ([], ["letter-1"])
    assert stage.receipt(sent).journey["surfaced"] == ann.surfaced_at("SessionStart")


def test_a_team_that_is_deleted_meanwhile_stays_away_and_its_agents_go_on(stage: Stage) -> None:
    ann = stage.agent("ann", "claude")
    gate = stage.folder / "deleted"
    ann.before("PostToolUse", wait_for(gate))
    ann.prompt("/busy 2")
    until(lambda: "UserPromptSubmit" in ann.calls)
    stage.write("ann", "letter-1")
    stage.atm("teams", "delete", stage.team, "--yes", "--force")
    gate.touch()
    until(lambda: turns(ann), why=ann.rows)
    stage.house.another_round()
    assert (ann.heard, stage.notes) == ([], [])
    assert not Path(stage.layout.team(stage.team)).exists()
    assert stage.house.loop("delivery")["failures"] == 0


def test_a_server_that_is_gone_is_not_asked_without_a_pause(alone: Stage) -> None:
    """Each attempt would be a line in the ledger and two versions of the inbox, and these wake the daemon."""
    alone.house.start_daemon()
    alone.add("ann")
    payload = {"event": "session.created", "sessionID": "ses_1", "serverUrl": "http://127.0.0.1:9"}
    who = {"ATM_TEAM": alone.team, "ATM_IDENTITY": "ann"}
    alone.atm("hook", "opencode", "session.created", stdin=json.dumps(payload), env=who)
    sent = alone.write("ann", "letter-1")
    alone.house.another_round()
    assert alone.receipt(sent).events == ["written"]
    runs = alone.house.loop("delivery")["runs"]
    with pytest.raises(AssertionError):
        until(lambda: alone.house.loop("delivery")["runs"] > runs + 3, 2)


# Nobody answers.


def told(stage: Stage, name: str) -> list[str]:
    """What the daemon wrote to somebody about a message that nobody acknowledged."""
    rows = stage.room.inboxes.rows(stage.team, name)
    return [re.split(r" for (?:less than a minute|\d+ min)", row.text)[0] for row in rows if row.sender == "atm"]


def ask_ann(stage: Stage) -> str:
    words = ("send", "ann", "letter-1: stop", "--require-ack", "--ack-within", "0.02", "--from", "bob")
    return str(stage.atm(*words, "--team", stage.team, "--json").json["message_id"])


@proves("R004-gap-p1-02")
def test_a_message_that_nobody_acknowledges_is_told_to_the_lead_and_then_to_the_humans(stage: Stage) -> None:
    stage.add("hugo", backend="human")
    lena = stage.agent("lena", "claude")
    ann = stage.agent("ann", "claude")
    sent = ask_ann(stage)
    ann.prompt("go on")
    until(lambda: stage.house.wake("escalation") and told(stage, "lena"), why=lambda: stage.house.said)
    until(lambda: stage.house.wake("escalation") and told(stage, "hugo"), why=lambda: stage.house.said)
    stage.house.another_round("escalation")
    said = ["ann has not acknowledged a message of bob"]
    assert (told(stage, "lena"), told(stage, "hugo"), told(stage, "bob"), told(stage, "ann")) == (said, said, [], [])
    until(lambda: turns(ann))
    receipt = stage.receipt(sent)
    assert ann.heard == ["letter-1"]
    assert (receipt.state, receipt.journey["answered"]) == ("read", "unknown")
    assert [receipt.events.count(state) for state in ("ack-due", "escalated")] == [1, 2]
    assert receipt.evidence["escalated"] == "told hugo"
    lena.prompt("go on")
    until(lambda: turns(lena))
    assert "ann has not acknowledged" in lena.rows("context")[-1]["text"]
    stage.atm("ack", sent, "--team", stage.team, "--as", "ann")
    assert stage.receipt(sent).state == "answered"


def test_a_message_that_is_acknowledged_in_time_is_told_to_nobody(stage: Stage) -> None:
    stage.agent("ann", "claude")
    words = ("send", "ann", "letter-1", "--require-ack", "--ack-within", "5", "--from", "bob", "--team", stage.team)
    sent = str(stage.atm(*words, "--json").json["message_id"])
    stage.atm("ack", sent, "--team", stage.team, "--as", "ann")
    assert stage.atm("receipts", "--team", stage.team, code=3).out == "nothing waits for an acknowledgement\n"
    stage.house.another_round("escalation")
    assert told(stage, "lena") == []
    assert "escalated" not in stage.receipt(sent).events
