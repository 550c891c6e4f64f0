"""
The whole of work-sync, once, with four members who work in four ways: one headless with hooks, one in a terminal, one
that is a shell script, one over MCP. Every one is told of its work once, reports in its own way, and finishes.
"""

from __future__ import annotations

import shlex
import subprocess
import sys

from tests.delivery.conftest import until
from tests.optional import needs
from tests.worksync.conftest import Crew

TOLD = "Work sync check"

SCRIPT = """
set -e
{atm} read >"$0.mail"
{atm} sync agenda --json >"$0.agenda"
fingerprint=$(sed -n 's/.*"agendaFingerprint": "\\([^"]*\\)".*/\\1/p' "$0.agenda" | head -n 1)
{atm} sync report still_working --fingerprint "$fingerprint" --note "on it"
"""
"""An agent that is nothing but a few commands: read the mail, look at the agenda, report."""


def run_script(crew: Crew, member: str) -> str:
    path = crew.folder / f"{member}.sh"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(SCRIPT.format(atm=f"{shlex.quote(sys.executable)} -m atm"))
    done = subprocess.run(
        ["sh", str(path)],
        capture_output=True,
        text=True,
        env={**crew.atm.environment, "ATM_IDENTITY": member, "ATM_TEAM": crew.team},
        cwd=crew.atm.folder,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert TOLD in path.with_suffix(".sh.mail").read_text()
    return done.stdout


@needs("tmux")
def test_a_team_of_four_is_told_once_reports_in_four_ways_and_finishes(alone: Crew) -> None:
    for name in ("tom", "mia"):
        alone.add(name)
    members = ("ann", "tom", "bob", "mia")
    tasks = {name: alone.assign(name, f"Part of {name}") for name in members}
    ann, tom = alone.agent("ann", "claude"), alone.agent_in_pane("tom", "codex")
    alone.house.start_daemon()
    mia = alone.start_mcp("mia")  # the SDK is loaded while the others are told
    for name in members:
        alone.until_nudged(name)

    until(lambda: any(TOLD in row["text"] for row in tom.rows("context")), why=tom.rows)  # the daemon woke it
    ann.prompt("go on")
    until(lambda: any(TOLD in row["text"] for row in ann.rows("context")), why=ann.rows)
    until(lambda: alone.is_idle("ann") and alone.is_idle("tom"))

    assert "Accepted: still working" in run_script(alone, "bob")
    mia.shake_hands()
    block = mia.call("task_briefing")["structuredContent"]["workSync"]
    said = {key: block[key] for key in ("agendaFingerprint", "reportToken")}
    answer = mia.call("member_work_sync_report", **said, **{"from": "mia"}, state="still_working")
    assert answer["structuredContent"]["ok"] is True
    for name in ("ann", "tom"):
        assert alone.report(name, "still_working")["ok"] is True
    shown = {one["member"]: one["label"] for one in alone.run("lena", "sync", "status")["members"]}
    assert {shown[name] for name in members} == {"Working"}

    with alone.one_moment():  # who claims is left in peace for a quiet window; here it may be over before the work is
        for name, id in tasks.items():
            alone.run(name, "tasks", "claim", id)
            alone.run(name, "tasks", "complete", id)
    for name in members:
        alone.until_state(name, "caught_up")
        assert len(alone.nudges(name)) == 1
    for name, agent in (("ann", ann), ("tom", tom)):
        assert len([row for row in agent.rows("context", "blocked") if TOLD in row["text"]]) == 1
        assert "surfaced" in alone.states(alone.nudges(name)[0]["message_id"])
