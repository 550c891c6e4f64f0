"""`atm demo` as a stranger runs it: one agent crashes, the lead is killed, and all is done once."""

from __future__ import annotations

import os
import shutil

from tests.proving import proves

from atm.runs.formats.event_line import encode_event
from atm.runs.rules.memory import RunEvent
from atm.runs.rules.orders import RunOrder
from atm.ui.demo.run_play import Play
from atm.ui.demo.run_repository import FILES, PLAN, PLANNED, TEAM
from atm.ui.demo.run_sandbox import Sandbox
from atm.wiring.files import find_layout
from atm.wiring.runs import build_runs

SECONDS = 300
"""A guard against hanging; the demo itself takes a few seconds."""


@proves(
    "R004-target-03", "R004-summary-04", "R004-defects-03", "R004-gap-p0-07", "R004-gap-p0-08", "R004-architecture-04"
)
def test_everything_is_done_once_though_an_agent_crashes_and_the_lead_is_killed(atm, tmp_path):
    """Called by an agent, who is a member elsewhere: its own repository and team are left alone."""
    (tmp_path / "elsewhere").mkdir()
    elsewhere = str(tmp_path / "elsewhere")
    more = {"ATM_TEAM": "other", "ATM_IDENTITY": "bob", "GIT_DIR": elsewhere, "GIT_WORK_TREE": elsewhere}
    said = atm("demo", "--json", "--no-web", timeout=SECONDS, env=more).json
    assert (said["clean"], os.listdir(elsewhere)) == (True, [])
    assert said["outcome"] == "success"
    assert len(said["tasks"]["completed"]) == PLAN.count("- [ ]") == 13
    assert (said["kills"], said["restarts"]) == (1, 1)
    assert said["approvals"] == {"asked": 1, "approved": 1}
    assert [one["text"] for one in said["proofs"] if not one["ok"]] == []
    assert len(said["proofs"]) == 5
    assert (said["sandbox"], said["url"]) == (None, None)
    assert (said["resolved"], said["sent_back"]) == (1, 1)


def test_people_see_what_happens_in_lines_of_80_columns(atm, request):
    shown = atm("demo", "--keep", timeout=SECONDS).out
    lines = shown.splitlines()
    for said in (
        "is gone at",
        "starts again",
        "$ kill -9 ",
        "died: ",
        "Resume? [Y/n]",
        "the return key says yes",
        "atm tasks plan approve",
        "is resolved",
    ):
        assert any(said in line for line in lines), said
    assert "$ atm approvals approve" in shown
    assert "everywhere is opened again" in shown
    assert "Nothing was lost." in shown
    assert "\x1b" not in shown
    words = next(line for line in lines if line.startswith("look at it: "))
    folder = words.split()[4].removesuffix(";")
    sandbox = os.path.dirname(folder)
    request.addfinalizer(lambda: shutil.rmtree(sandbox))
    pasted = ("look at it: ", "  export PATH=")  # paths of this machine, as long as they are: a cut one is of no use
    assert [line for line in lines if len(line) > 80 and folder not in line and not line.startswith(pasted)] == []
    team = find_layout({"ATM_HOME": f"{sandbox}/home"}).team("till")
    assert len(os.listdir(f"{team}/runs")) == 1
    assert {*FILES} <= {os.path.relpath(os.path.join(at, n), folder) for at, _, names in os.walk(folder) for n in names}


def test_what_the_lead_had_noted_when_it_was_killed_is_known_though_it_told_nobody():
    """Else the plan of a task that was claimed in that moment would wait for a yes for ever."""
    sandbox, shown = Sandbox({}), list[str]()
    try:
        play = Play(sandbox, tell=lambda *_: None, show=lambda _, event: shown.append(event.kind if event else ""))
        runs = build_runs(sandbox.layout)
        told = [RunEvent("task.added", "8", 1.0, title=PLANNED), RunEvent("task.reopened", "9", 2.0, state="pending")]
        untold = RunEvent("task.claimed", "8", 2.0, state="planning", owner="kite", claim="c")
        runs.write(RunOrder(run="r", team=TEAM, folder=sandbox.repository))
        runs.append(TEAM, "r", [*told, untold])
        for event in told:
            play._take(encode_event(event, TEAM, "r"))
        for _ in range(2):
            play._catch_up()
        assert play.memory.task("8").state == "planning"
        assert (play.titles, play.sent_back) == ({"8": PLANNED}, 1)
        assert shown == ["task.added", "task.reopened", "task.claimed"]
    finally:
        sandbox.remove()
