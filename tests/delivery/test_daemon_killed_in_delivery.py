"""
kill -9 of the daemon at every step of a delivery through a terminal that can be seen from outside, and a new daemon.

The daemon's `tmux` is a gate: it passes everything on to the real one, and stops at the step that a test has chosen,
before or after it. There the daemon is killed, and what it held with it. Whatever the step: the agent is given the
message once, the receipts say so, and nothing is left behind.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.delivery.conftest import Agent, PaneAgent, Stage, kill, until
from tests.optional import needs

GATE = """#!/bin/sh
hold() {{
  if [ -e "{folder}/$1" ]; then echo $$ >"{folder}/held.new"; mv "{folder}/held.new" "{folder}/held"; exec sleep 60; fi
}}
step=look
case "$*" in
  *load-buffer*) step=paste ;;
  *send-keys*Enter*) step=enter ;;
esac
hold "before-$step"
{tmux} "$@"
code=$?
hold "after-$step"
exit $code
"""


class Gate:
    """A `tmux` that stops where it is told to."""

    def __init__(self, stage: Stage) -> None:
        self.folder = stage.house.folder / "gate"
        self.folder.mkdir()
        self._path = stage.atm.environment["PATH"]
        program = self.folder / "tmux"
        program.write_text(GATE.format(folder=self.folder, tmux=shutil.which("tmux")))
        program.chmod(0o755)

    @property
    def path(self) -> str:
        return f"{self.folder}:{self._path}"

    @property
    def holds(self) -> bool:
        return (self.folder / "held").exists()

    def open(self) -> None:
        """What is held there dies with the daemon: it must not go on later."""
        held = self.folder / "held"
        if held.exists():
            kill(int(held.read_text()))
            held.unlink()
        for path in (*self.folder.glob("before-*"), *self.folder.glob("after-*")):
            path.unlink()


def kill_a_daemon_at(stage: Stage, step: str) -> None:
    """Start one, and kill it the moment that it has come to this step."""
    gate = Gate(stage)
    note, ledger = Path(stage.layout.surfacing(stage.team, "ann")), Path(stage.layout.ledger(stage.team))
    seen: dict[str, Callable[[], object]] = {
        "the note is there": note.exists,
        "the ledger knows": lambda: b'"surfaced"' in ledger.read_bytes() or b'"woken"' in ledger.read_bytes(),
    }
    if step not in seen:
        (gate.folder / step).touch()
    stage.house.start_daemon(wait=False, PATH=gate.path)
    is_there = seen.get(step, lambda: gate.holds)
    until(lambda: is_there() or (step in seen and stage.house.answers), 90, lambda: stage.house.said)
    end = time.monotonic() + 90
    while not is_there():  # what no gate holds takes microseconds: whoever naps misses it
        assert time.monotonic() < end, stage.house.said
    stage.house.kill_daemon()
    gate.open()
    grow_old(Path(f"{stage.layout.inbox(stage.team, 'ann')}.lock"))


def grow_old(lock: Path) -> None:
    """Half a minute passes: a lock that its maker had no time to sign looks foreign, and is broken late (D2)."""
    if lock.exists():
        os.utime(lock, (time.time() - 60, time.time() - 60))


def start_the_next(stage: Stage, sent: list[str], state: str = "surfaced") -> None:
    """And leave it alone until it has nothing to do any more."""
    stage.house.start_daemon()
    until(
        lambda: stage.house.wake("delivery") and all(state in stage.states(id) for id in sent) and not stage.notes,
        why=lambda: stage.house.said,
    )
    stage.house.another_round()


def turned(agent: Agent, count: int) -> bool:
    return len(agent.rows("turn-end")) == count


def composer(agent: PaneAgent) -> str:
    """What stands in it; the last thing drawn with the agent's mark."""
    mark = agent.vendor.mark
    return [row for row in agent.screen.splitlines() if row.startswith(mark)][-1].removeprefix(mark).strip()


STEPS = ["the note is there", "before-paste", "after-paste", "before-enter", "after-enter", "the ledger knows"]


@needs("tmux")
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("letters", [1, 2])
def test_killed_at_a_step_of_pasting_mail_it_is_submitted_once(alone: Stage, step: str, letters: int) -> None:
    ann = alone.agent_in_pane("ann", "plain")
    sent = [alone.write("ann", f"letter-{number}") for number in range(letters)]
    kill_a_daemon_at(alone, step)
    start_the_next(alone, sent)
    until(lambda: ann.heard)
    assert ann.heard == [f"letter-{number}" for number in range(letters)]
    assert (len(ann.prompts), composer(ann)) == (1, "")
    assert (alone.unread("ann"), alone.notes, alone.house.tmux("list-buffers")) == ([], [], "")
    receipt = alone.receipt(sent[0])
    known = (receipt.state, receipt.journey["read"], receipt.now)
    assert known == ("surfaced", "unknown", "in its context, not yet read")
    assert receipt.journey["surfaced"].startswith(f"pane {ann.pane}: ")
    assert receipt.events.count("surfaced") == 1
    if step == "after-enter":
        assert "found submitted after the process that pasted it had ended" in receipt.journey["surfaced"]


@needs("tmux")
@pytest.mark.parametrize("step", STEPS[1:5])
def test_mail_that_came_after_the_kill_comes_after_the_mail_before_it(alone: Stage, step: str) -> None:
    ann = alone.agent_in_pane("ann", "plain")
    sent = [alone.write("ann", "letter-0")]
    kill_a_daemon_at(alone, step)
    sent.append(alone.write("ann", "letter-1"))
    start_the_next(alone, sent)
    until(lambda: len(ann.heard) >= 2, why=ann.rows)
    assert ann.heard == ["letter-0", "letter-1"]
    assert composer(ann) == ""


@needs("tmux")
@pytest.mark.parametrize("step", STEPS[1:])
def test_killed_at_a_step_of_waking_an_agent_its_hook_shows_the_mail_once(alone: Stage, step: str) -> None:
    ann = alone.agent_in_pane("ann", "codex")
    until(lambda: alone.is_idle("ann"))
    sent = alone.write("ann", "letter-0")
    kill_a_daemon_at(alone, step)
    start_the_next(alone, [sent])
    until(lambda: turned(ann, 1) and alone.is_idle("ann"), why=ann.rows)
    alone.house.another_round()
    assert (ann.heard, len(ann.prompts), composer(ann)) == (["letter-0"], 1, "")
    receipt = alone.receipt(sent)
    assert receipt.journey["surfaced"] == ann.surfaced_at("UserPromptSubmit")
    assert receipt.journey["read"] == ann.went_on_at("PostToolUse")
    assert receipt.events.count("surfaced") == 1


@needs("tmux")
def test_an_agent_whose_waking_line_was_left_in_its_composer_is_woken_for_newer_mail(alone: Stage) -> None:
    ann = alone.agent_in_pane("ann", "codex")
    until(lambda: alone.is_idle("ann"))
    sent = [alone.write("ann", "letter-0")]
    kill_a_daemon_at(alone, "before-enter")
    sent.append(alone.write("ann", "letter-1"))
    alone.house.start_daemon()
    alone.house.another_round()
    until(lambda: turned(ann, 1), why=lambda: alone.house.said)
    assert (ann.heard, composer(ann)) == (["letter-0", "letter-1"], "")


def test_a_hook_killed_between_its_word_and_the_ledger_is_the_one_window(alone: Stage) -> None:
    """Documented: it is said again, because nobody can know that it was heard; and the ledger tells of one showing."""
    alone.add("ann")
    sent = alone.write("ann", "letter-0")
    environment = {**alone.atm.environment, "ATM_TEAM": alone.team, "ATM_IDENTITY": "ann"}
    payload = json.dumps({"session_id": "s-1", "hook_event_name": "PostToolUse"})
    words = alone.atm.command("hook", "claude", "PostToolUse")
    ledger = alone.room.ledger
    with ledger._locks.private(ledger.path(alone.team)):  # type: ignore[attr-defined]
        hook = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
        assert hook.stdin is not None
        assert hook.stdout is not None
        hook.stdin.write(payload.encode())
        hook.stdin.close()
        said = hook.stdout.readline()
        os.kill(hook.pid, 9)
        hook.wait(60)
        hook.stdout.close()
    assert b"letter-0" in said
    assert alone.notes == ["ann.json"]
    assert alone.receipt(sent).journey["surfaced"] == "unknown"
    ann = alone.agent("ann", "claude")
    assert ann.heard == ["letter-0"]
    receipt = alone.receipt(sent)
    assert receipt.events == ["written", "returned", "surfaced"]
    why = "the process that showed it (hook) ended before it could say so: it may have been shown"
    assert receipt.evidence["returned"] == why
    assert alone.notes == []
