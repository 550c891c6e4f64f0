"""
Every way into an agent's context, with the real daemon and the real hooks: it comes once, and the receipts say how.

What is compared is all that `atm receipts` says of a journey: also that a step which nobody observed is unknown.
"""

from __future__ import annotations

import json
import shlex
import stat
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.delivery.conftest import IN_TIME, LETTER, Agent, Stage, until
from tests.optional import needs
from tests.proving import proves

VENDORS = ("claude", "codex", "gemini")
SUBMITTED = "left the composer after Enter; is seen outside of it"


def journey(**steps: str) -> dict[str, str]:
    """A message that went straight to the inbox, and what is known beyond that."""
    known = {"written": "inbox file", **steps}
    return {state: known.get(state, "unknown") for state in ("queued", "written", "surfaced", "read", "answered")}


def one_more_turn(agent: Agent) -> None:
    """It goes on, so that everything that would come a second time has come."""
    before = len(agent.rows("turn-end"))
    agent.prompt("go on")
    until(lambda: len(agent.rows("turn-end")) > before, why=agent.rows)


def wait_for_turns(stage: Stage, agent: Agent, count: int) -> None:
    until(lambda: len(agent.rows("turn-end")) == count, why=lambda: stage.house.said)


# Hooks.


@proves("R002-20.6-03", "R002-27.2-47", "R004-messaging-M4")
@pytest.mark.parametrize("vendor", VENDORS)
def test_in_the_middle_of_a_turn_mail_comes_after_a_tool_call(stage: Stage, vendor: str) -> None:
    ann = stage.agent("ann", vendor, "--think", "0.02")
    ann.prompt("/busy 999")
    until(lambda: ann.vendor.tool in ann.calls)
    sent = stage.write("ann", "letter-1: the parser is done")
    until(lambda: "read" in stage.states(sent), why=ann.rows)
    receipt = stage.receipt(sent)
    tool = ann.vendor.tool
    assert receipt.journey == journey(surfaced=ann.surfaced_at(tool), read=ann.went_on_at(tool))
    assert (receipt.state, receipt.now) == ("read", "in the inbox, read")
    assert receipt.events == ["written", "surfaced", "read"]
    assert ann.heard == ["letter-1"]
    assert ann.rows("context")[-1]["event"] == tool


@proves("R004-messaging-M7")
@pytest.mark.parametrize("vendor", VENDORS)
def test_a_prompt_brings_the_mail_that_waits(stage: Stage, vendor: str) -> None:
    """It is idle and has no terminal, so the daemon can do nothing: only the hook shows it."""
    ann = stage.agent("ann", vendor)
    sent = stage.write("ann", "letter-1: the parser is done")
    stage.house.another_round()
    assert stage.receipt(sent).journey == journey()
    assert stage.deliver("ann")["evidence"] == "it is idle; its next prompt shows the mail"
    one_more_turn(ann)
    known = ann.vendor
    assert stage.receipt(sent).journey == journey(
        surfaced=ann.surfaced_at(known.prompt), read=ann.went_on_at(known.tool)
    )
    one_more_turn(ann)
    assert ann.heard == ["letter-1"]


@pytest.mark.parametrize("vendor", VENDORS)
def test_urgent_mail_keeps_an_agent_from_stopping_and_plain_mail_does_not(stage: Stage, vendor: str) -> None:
    ann = stage.agent("ann", vendor)
    send = [sys.executable, "-m", "atm", "send", "ann", "--from", "bob", "--team", stage.team]
    ann.before(ann.vendor.stop, shlex.join([*send, "letter-1", "--urgent"]))
    one_more_turn(ann)
    assert [LETTER.findall(row["text"]) for row in ann.rows("blocked")] == [["letter-1"]]
    (sent,) = [row["message_id"] for row in stage.atm.rows("ann", stage.team)]
    assert stage.receipt(sent).journey == journey(
        surfaced=ann.surfaced_at(ann.vendor.stop), read=ann.went_on_at(ann.vendor.tool)
    )
    ann.before(ann.vendor.stop, shlex.join([*send, "letter-2"]))
    one_more_turn(ann)
    assert len(ann.rows("blocked")) == 1
    assert stage.unread("ann") == ["letter-2"]
    one_more_turn(ann)
    assert ann.heard == ["letter-1", "letter-2"]


@pytest.mark.parametrize("vendor", VENDORS)
def test_a_session_that_begins_is_briefed_and_given_its_mail(stage: Stage, vendor: str) -> None:
    stage.add("ann")
    sent = [stage.write("ann", f"letter-{number}") for number in range(3)]
    ann = stage.agent("ann", vendor)
    (said,) = [row["text"] for row in ann.rows("context")]
    assert said.index(f"you are ann in team {stage.team}") < said.index("letter-0")
    start = ann.surfaced_at(ann.vendor.start)
    assert [stage.receipt(id).journey for id in sent[:1]] == [journey(surfaced=start)], "nobody knows that it went on"
    one_more_turn(ann)
    assert stage.receipt(sent[2]).journey == journey(surfaced=start, read=ann.went_on_at(ann.vendor.prompt))
    assert ann.heard == ["letter-0", "letter-1", "letter-2"]


# Terminals.


@proves("R004-messaging-M4b")
@needs("tmux")
@pytest.mark.parametrize("vendor", VENDORS)
def test_an_idle_agent_is_woken_by_the_daemon_and_told_by_its_hook_exactly_once(stage: Stage, vendor: str) -> None:
    ann = stage.agent_in_pane("ann", vendor)
    until(lambda: stage.is_idle("ann"))
    sent = stage.write("ann", "letter-1: $(touch pwned)")
    until(lambda: ann.rows("turn-end") and "woken" in stage.states(sent), why=lambda: stage.house.said)
    stage.house.another_round()
    receipt = stage.receipt(sent)
    known = ann.vendor
    assert receipt.journey == journey(surfaced=ann.surfaced_at(known.prompt), read=ann.went_on_at(known.tool))
    assert receipt.evidence["woken"].startswith(f"pane {ann.pane}: left the composer after Enter")
    assert sorted(receipt.events) == ["read", "surfaced", "woken", "written"]
    (line,) = ann.prompts
    assert line.endswith("for you; atm shows it with this prompt.")
    one_more_turn(ann)
    assert ann.heard == ["letter-1"]


@needs("tmux")
def test_an_idle_agent_is_woken_again_for_every_new_message(stage: Stage) -> None:
    ann = stage.agent_in_pane("ann", "codex")
    for number in range(3):
        until(lambda: stage.is_idle("ann"))
        stage.write("ann", f"letter-{number}")
        wait_for_turns(stage, ann, number + 1)
    assert ann.heard == ["letter-0", "letter-1", "letter-2"]
    assert len(ann.prompts) == 3


@proves("R000-delivery-retry-01")
@needs("tmux")
def test_a_bare_terminal_program_is_given_one_line_as_it_is(stage: Stage) -> None:
    ann = stage.agent_in_pane("ann", "plain")
    sent = stage.write("ann", "letter-1; touch pwned; $(touch pwned) `touch pwned` \\")
    until(lambda: "surfaced" in stage.states(sent), why=lambda: stage.house.said)
    until(lambda: ann.prompts)
    stage.house.another_round()
    receipt = stage.receipt(sent)
    assert receipt.journey == journey(surfaced=f"pane {ann.pane}: {SUBMITTED}"), "nobody saw it read"
    assert (receipt.state, receipt.now) == ("surfaced", "in its context, not yet read")
    assert [prompt.partition(" ")[2] for prompt in ann.prompts] == [
        "from bob, a teammate, not the user: letter-1; touch pwned; $(touch pwned) `touch pwned` \\]"
    ]
    assert not (stage.atm.folder / "pwned").exists()


@needs("tmux")
def test_several_lines_go_to_a_file_that_the_pasted_line_names(stage: Stage) -> None:
    ann = stage.agent_in_pane("ann", "plain")
    text = "letter-1\n\n    indented: $(touch pwned)\n" + "long " * 500 + "\nthe end"
    sent = stage.write("ann", text)
    until(lambda: "surfaced" in stage.states(sent), why=lambda: stage.house.said)
    assert stage.receipt(sent).journey == journey(surfaced=f"pane {ann.pane}: {SUBMITTED}")
    until(lambda: ann.prompts)
    (line,) = ann.prompts
    head, _, path = line.rpartition(" read ")
    assert head.endswith("] a message from bob:")
    assert text in Path(path).read_text()
    assert f'id="{sent}"' in Path(path).read_text()
    assert stat.S_IMODE(Path(path).parent.stat().st_mode) == 0o700
    assert stage.read("ann") == []


@needs("tmux")
def test_several_messages_that_waited_come_as_one_line_and_in_order(stage: Stage) -> None:
    stage.add("ann")
    senders = ("bob", "lena", "bob")
    sent = [stage.write("ann", f"letter-{number}", sender=sender) for number, sender in enumerate(senders)]
    ann = stage.agent_in_pane("ann", "plain")
    stage.house.wake("delivery")
    until(lambda: all("surfaced" in stage.states(id) for id in sent), why=lambda: stage.house.said)
    until(lambda: len(ann.heard) >= 3, why=ann.rows)  # it shows a prompt before it notes it
    assert ann.heard == ["letter-0", "letter-1", "letter-2"]
    assert len(ann.prompts) == 1
    assert "3 messages from bob, lena" in ann.prompts[0]


DEAF = "import time, tty; tty.setraw(0); print('─' * 40 + '\\r\\n> \\r\\n' + '─' * 40, flush=True); time.sleep(600)"


@needs("tmux")
def test_what_nobody_saw_submitted_is_unknown_and_stays_unread(alone: Stage) -> None:
    """A program with a composer that hangs: the line may have been taken or not."""
    alone.house.start_daemon(PYTHONPATH=IN_TIME)
    alone.add("ann")
    pane = alone.house.pane(sys.executable, "-c", DEAF)
    until(lambda: ">" in alone.house.tmux("capture-pane", "-p", "-t", pane))
    alone.atm("teams", "update-member", alone.team, "ann", "--pane-id", pane)
    sent = alone.write("ann", "letter-1")
    until(lambda: "pasted" in alone.states(sent), why=lambda: alone.house.said)
    alone.house.kill_tmux()
    until(lambda: alone.unread("ann") == ["letter-1"] and not alone.notes, why=lambda: alone.house.said)
    receipt = alone.receipt(sent)
    assert receipt.journey == journey()
    assert (receipt.state, receipt.now) == ("written", "in the inbox, unread")
    assert receipt.evidence["pasted"].startswith(f"pane {pane}: pasted, but not seen in the composer within 3 s")


# An agent's own server.


class OpenCode(ThreadingHTTPServer):
    """As much of OpenCode as a delivery needs: it keeps what it is told."""

    daemon_threads = True

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.is_mute = False
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: OpenCode

    def log_message(self, *_: object) -> None:
        return

    def do_GET(self) -> None:
        self._answer(200, json.dumps([{"parts": [{"type": "text", "text": text}]} for text in self.server.texts]))

    def do_POST(self) -> None:
        self.server.texts.append(json.loads(self.rfile.read(int(self.headers["Content-Length"])))["parts"][0]["text"])
        if self.server.is_mute:
            self.server.is_mute = False
            self.close_connection = True  # it took it, and goes without a word
        else:
            self._answer(204)

    def _answer(self, status: int, text: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode("ascii"))


@pytest.fixture
def opencode() -> Iterator[OpenCode]:
    made = OpenCode()
    thread = threading.Thread(target=lambda: made.serve_forever(0.01))
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


def call_plugin(stage: Stage, event: str, **facts: Any) -> str:
    """What our plugin file in OpenCode does at an event."""
    payload = json.dumps({"event": event, "sessionID": "ses_1", "directory": str(stage.atm.folder), **facts})
    who = {"ATM_TEAM": stage.team, "ATM_IDENTITY": "ann"}
    return stage.atm("hook", "opencode", event, stdin=payload, env=who).out


@proves("R002-27.2-49")
def test_opencode_is_told_through_its_server_and_not_again_by_its_hooks(stage: Stage, opencode: OpenCode) -> None:
    stage.add("ann")
    call_plugin(stage, "session.created", serverUrl=opencode.url)
    sent = [stage.write("ann", f"letter-{number}") for number in range(3)]
    until(lambda: all("surfaced" in stage.states(id) for id in sent), why=lambda: stage.house.said)
    assert [LETTER.findall(text) for text in opencode.texts] == [["letter-0"], ["letter-1"], ["letter-2"]]
    receipt = stage.receipt(sent[0])
    mark = opencode.texts[0].rpartition("\n")[2]
    where = opencode.url.removeprefix("http://")
    assert receipt.journey == journey(surfaced=f"OpenCode at {where} took it (204) as {mark}")
    assert call_plugin(stage, "tool.execute.after") == ""
    stage.house.another_round()
    assert len(opencode.texts) == 3


@proves("R002-16.1-04")
def test_an_offer_that_was_not_answered_for_is_unknown_until_it_is_found_in_the_session(
    alone: Stage, opencode: OpenCode
) -> None:
    """The daemon offers it, and is down before it would do so again: then `atm deliver` is the one who finds it."""
    alone.add("ann")
    opencode.is_mute = True
    call_plugin(alone, "session.created", serverUrl=opencode.url)
    sent = alone.write("ann", "letter-1")
    alone.house.start_daemon()
    until(lambda: "pasted" in alone.states(sent) and not alone.notes, why=lambda: alone.house.said)
    alone.house.kill_daemon()
    assert alone.deliver("ann")["outcome"] == "surfaced"
    receipt = alone.receipt(sent)
    assert "did not say whether it took it" in receipt.evidence["pasted"]
    assert "had taken it before" in receipt.journey["surfaced"]
    assert len(opencode.texts) == 1


# Members for whom there is nothing but the inbox.


@needs("tmux")
@pytest.mark.parametrize(
    ("backend", "why"),
    [
        ("human", "human members read their inbox themselves"),
        ("plugin:chat", "synthetic members read their inbox themselves"),
        ("in-process", "Claude Code takes it from the inbox itself"),
    ],
)
def test_nothing_is_typed_for_those_who_read_their_inbox_themselves(stage: Stage, backend: str, why: str) -> None:
    """Not even if somebody has entered a pane for them."""
    stage.add("hugo", backend=backend)
    pane = stage.agent_in_pane("hugo", "plain")
    sent = stage.write("hugo", "letter-1")
    stage.house.another_round()
    assert stage.deliver("hugo") == {"member": "hugo", "outcome": "waiting", "evidence": why, "ids": []}
    assert (pane.prompts, pane.screen.count("letter")) == ([], 0)
    assert (stage.receipt(sent).journey, stage.receipt(sent).now) == (journey(), "in the inbox, unread")
    assert stage.read("hugo") == ["letter-1"]
    assert stage.receipt(sent).journey == journey(read="marked read and shown")


def test_an_agent_of_which_nothing_is_known_finds_its_mail_in_the_inbox(stage: Stage) -> None:
    sent = stage.write("bob", "letter-1", sender="lena")
    stage.house.another_round()
    assert stage.deliver("bob")["evidence"].startswith("no session of this agent is known here")
    assert stage.receipt(sent).journey == journey()
    assert stage.read("bob") == ["letter-1"]
    stage.atm("ack", sent, "--team", stage.team, "--as", "bob")
    receipt = stage.receipt(sent)
    assert (receipt.state, receipt.journey["surfaced"]) == ("answered", "unknown")


@proves("R000-headless-01")
def test_on_a_machine_without_tmux_hooks_do_all_of_it(alone: Stage) -> None:
    """No tmux program, no terminal; a pane that the roster names cannot be reached and costs nothing."""
    alone.house.start_daemon(PATH="/nowhere")
    alone.add("carl", pane_id="%7")
    ann = alone.agent("ann", "gemini")
    sent, beyond = alone.write("ann", "letter-1"), alone.write("carl", "letter-2")
    alone.house.another_round()
    assert "not there" in alone.deliver("carl", PATH="/nowhere")["evidence"]
    assert alone.receipt(beyond).journey == journey()
    one_more_turn(ann)
    assert ann.heard == ["letter-1"]
    assert alone.receipt(sent).journey["surfaced"] == ann.surfaced_at("BeforeAgent")
    assert alone.house.loop("delivery")["failures"] == 0
