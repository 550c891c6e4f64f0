"""Snapshots over real files."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from atm.config import Settings
    from atm.core.plain import Plain
    from atm.files.formats.layout import Layout
    from atm.roster.services.full_boardroom import FullBoardroom
    from atm.snapshot.services.composing import Snapshots
    from atm.snapshot.services.runs import RunsNow


def build_snapshots(
    layout: Layout, settings: Settings, boardroom: FullBoardroom, environment: Mapping[str, str]
) -> Snapshots:
    from atm.snapshot.services.composing import Snapshots
    from atm.wiring.approvals import build_approvalroom
    from atm.wiring.crew import build_crewroom
    from atm.wiring.runs import build_merges, build_runs
    from atm.wiring.sessions import build_sessionroom, find_caller
    from atm.wiring.worksync import build_syncroom

    crew = build_crewroom(layout, settings, boardroom, environment)
    caller = find_caller(environment, os.getcwd())
    desk = build_sessionroom(layout, settings, crew, caller, environment)
    approvals = build_approvalroom(layout, settings, boardroom.room, lambda: boardroom).approvals
    return Snapshots(
        desk, build_syncroom(layout, settings, boardroom), approvals, build_merges(layout), build_runs(layout)
    )


def build_runs_now(
    layout: Layout, settings: Settings, boardroom: FullBoardroom, environment: Mapping[str, str]
) -> RunsNow:
    """Of the snapshot, only how the last run of a team stands."""
    from atm.snapshot.services.runs import RunsNow
    from atm.wiring.approvals import build_approvalroom
    from atm.wiring.crew import build_crewroom
    from atm.wiring.runs import build_merges, build_runs

    crew = build_crewroom(layout, settings, boardroom, environment)
    approvals = build_approvalroom(layout, settings, boardroom.room, lambda: boardroom).approvals
    return RunsNow(build_runs(layout), crew, build_merges(layout), approvals)


def watched(layout: Layout, team: str) -> list[str]:
    """Files and folders whose change means that a team is to be looked at again; without one, that there is another."""
    if not team:
        return [layout.teams]
    return [
        *(layout.inboxes(team), layout.tasks(team), layout.heartbeats(team), layout.team_config(team)),
        *(layout.state(team), layout.sync_folder(team), f"{layout.crews}/{team}", layout.approvals(team)),
    ]


def daemon_facts(layout: Layout) -> dict[str, Plain]:
    """Whether a daemon runs for this home, and how it and its plugins are."""
    from atm.core.work_errors import DaemonTrouble
    from atm.daemon.adapters.client import ask
    from atm.daemon.adapters.seat import find_running

    running = find_running(layout)
    if running is None:
        return {"runs": False}
    try:
        said = ask(layout, "status", seconds=2.0)
    except DaemonTrouble as error:
        return {"runs": True, "pid": running.pid, "answers": False, "problem": str(error)}
    facts = said if isinstance(said, dict) else {}
    kept = ("version", "uptime", "memory", "loops", "plugins", "problems")
    return {"runs": True, "pid": running.pid, "answers": True, **{key: facts.get(key) for key in kept}}
