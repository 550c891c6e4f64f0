"""The crew: agents that atm starts, over this machine."""

from __future__ import annotations

import os
import shutil
import sys

from atm.files.adapters.disk import RealDisk
from atm.files.adapters.machine import RealClock
from atm.wiring.files import build_locks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from atm.board.ports.workplaces import AgentPlaces
    from atm.config import Settings
    from atm.crew.adapters.agent_files import AgentFiles
    from atm.crew.ports.worktrees import Worktrees
    from atm.crew.rules.agents import AgentRecord
    from atm.crew.services.crewroom import CrewPolicy, Crewroom
    from atm.crew.services.hosting import Host
    from atm.files.formats.layout import Layout
    from atm.roster.services.full_boardroom import FullBoardroom
    from atm.roster.services.teamroom import Teamroom
    from atm.vendors.runtime import Runtime

VERSION_SECONDS = 15.0


def build_worktrees(layout: Layout) -> Worktrees:
    from atm.crew.adapters.worktrees import GitWorktrees

    disk, clock = RealDisk(layout.private_roots), RealClock()
    return GitWorktrees(disk, clock, build_locks(layout, disk, clock), layout)


def git_in(folder: str, words: Sequence[str], facts: Mapping[str, str]) -> str | None:
    """What git says in a folder of ours; None if it does not do it."""
    from atm.git.adapters.asking import start_git

    done = start_git(folder, *words, seconds=VERSION_SECONDS, facts=facts)
    return done.out.decode("utf-8", "replace") if done.code == 0 else None


def build_agent_records(layout: Layout) -> AgentFiles:
    from atm.crew.adapters.agent_files import AgentFiles

    disk = RealDisk(layout.private_roots)
    return AgentFiles(disk, build_locks(layout, disk, RealClock()), layout)


def question_of(record: AgentRecord | None) -> str:
    """What the program of an agent asks a person now; empty if it asks nothing, or its host does not live."""
    if record is None or not record.asks or record.is_over or not record.pid:
        return ""
    from atm.files.adapters.processes import began

    return record.asks if began(record.pid) == record.began else ""


def suspended_in(records: Sequence[AgentRecord]) -> dict[str, str]:
    """Agents whose processes a signal has stopped, each with the command that continues it."""
    from atm.crew.adapters.process_table import RealProcessTable
    from atm.snapshot.services.members import suspended_agents

    return suspended_agents(RealProcessTable(), records)


def build_workplaces(layout: Layout) -> AgentPlaces:
    """Where agents work, for whoever completes their tasks."""
    from atm.crew.adapters.workplaces import AgentWorkplaces

    return AgentWorkplaces(build_agent_records(layout), lambda: build_worktrees(layout))


def build_crewroom(
    layout: Layout,
    settings: Settings,
    boardroom: FullBoardroom,
    environment: Mapping[str, str],
    policy: CrewPolicy | None = None,
) -> Crewroom:
    """Everything that starts, sees and ends agents, over this machine."""
    from atm.crew.adapters.agent_files import AgentFiles, SlotFiles
    from atm.crew.adapters.free_ports import is_free
    from atm.crew.adapters.headless import HeadlessBackend
    from atm.crew.adapters.process_table import RealProcessTable
    from atm.crew.adapters.tmux_backend import TmuxBackend
    from atm.crew.services.crewroom import Crewroom

    disk, clock = RealDisk(layout.private_roots), RealClock()
    locks = build_locks(layout, disk, clock)
    records = AgentFiles(disk, locks, layout)
    backends = (HeadlessBackend(), TmuxBackend(layout, records.home))
    policy = policy or build_crew_policy(settings)
    first, each = policy.ports_from, policy.ports_each
    return Crewroom(
        boardroom=boardroom,
        records=records,
        slots=SlotFiles(disk, clock, locks, layout, lambda slot: is_free(first + slot * each)),
        processes=RealProcessTable(),
        backends={backend.name: backend for backend in backends},
        worktrees=build_worktrees(layout),
        runtimes=build_runtimes(settings),
        environment=environment,
        host_command=_host_command,
        set_up=lambda vendor: set_up_for(layout, environment, settings, vendor),
        find_program=lambda name: shutil.which(name, path=environment.get("PATH")) or "",
        pid=os.getpid(),
        policy=policy,
        withdraw_requests=lambda record, why: _withdraw_requests(layout, settings, boardroom, record, why),
    )


def _withdraw_requests(
    layout: Layout, settings: Settings, boardroom: FullBoardroom, record: AgentRecord, why: str
) -> None:
    from atm.approvals.services.withdrawing import withdraw_all_of
    from atm.wiring.approvals import build_approvalroom

    room = build_approvalroom(layout, settings, boardroom.room, lambda: boardroom)
    withdraw_all_of(room, record.team, record.member, record.at, why)


def _host_command(record: AgentRecord) -> list[str]:
    """`-P`: the folder that it is started in must not be able to bring modules of its own."""
    words = [record.team, record.member, str(record.generation)]
    return [sys.executable, "-P", "-m", "atm.ui.cli.crew.host", *words]


def build_host(layout: Layout, settings: Settings, room: Teamroom, record: AgentRecord) -> Host:
    """What commands say that it runs goes to its log while they run."""
    from atm.crew.adapters.host_machine import RealHostMachine
    from atm.crew.services.hosting import Host
    from atm.wiring.approvals import build_approvalroom
    from atm.wiring.board import build_boardroom

    log = build_agent_records(layout).log_path(record.team, record.member)
    machine = RealHostMachine(layout, record.team, record.member, log)
    boardroom = build_boardroom(layout, settings, room, workplaces=lambda: build_workplaces(layout), hears=machine.hear)
    approvals = build_approvalroom(layout, settings, room, lambda: boardroom)
    return Host(build_crewroom(layout, settings, boardroom, os.environ), machine, record, approvals)


OF_THE_PANE = ("TERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "TMUX", "TMUX_PANE")
"""Where a program sits. Whoever started it may sit in another pane, or in none."""


def environment_left_for(layout: Layout, team: str, member: str, own: Mapping[str, str]) -> dict[str, str] | None:
    """What a host in a pane shall live with, once; None if nothing was left for it. `own` is what the pane gave it."""
    from atm.crew.adapters.tmux_backend import environment_file
    from atm.files.formats.json_record import NotJson, decode_object, to_text

    path = environment_file(layout, team, member)
    try:
        with open(path, "rb") as file:
            said = decode_object(to_text(file.read()))
        os.unlink(path)
    except (OSError, NotJson):
        return None
    left = {key: value for key, value in said.items() if isinstance(value, str) and key not in OF_THE_PANE}
    return {**left, **{key: own[key] for key in OF_THE_PANE if key in own}}


def build_crew_policy(settings: Settings) -> CrewPolicy:
    from atm.crew.services.crewroom import CrewPolicy
    from atm.wiring.approvals import has_own_policy

    return CrewPolicy(
        start=settings.number("crew.start_seconds"),
        shutdown=settings.number("crew.shutdown_seconds"),
        finish=settings.number("crew.finish_minutes") * 60,
        gone=settings.number("crew.gone_seconds"),
        task=settings.number("crew.task_minutes") * 60,
        lease=settings.number("crew.lease_minutes") * 60,
        ports_from=settings.whole("crew.first_port"),
        ports_each=settings.whole("crew.ports_each"),
        setup=settings.text("crew.setup"),
        turns=settings.whole("runs.task_turns"),
        accepts_edits=settings.yes("crew.accept_edits"),
        asks=has_own_policy(settings),
        required_tools=tuple(settings.texts("crew.require_tools")),
    )


def build_runtimes(settings: Settings) -> dict[str, Runtime]:
    """Those that come with atm, and the user's own: `[runtimes.NAME]` with `command`, and what else there is to say."""
    from atm.vendors.runtimes import known, read_runtime

    own: dict[str, dict[str, object]] = {}
    origins: dict[str, str] = {}
    for key, setting in settings.all().items():
        section, _, rest = key.partition(".")
        if section != "runtimes":
            continue
        name, is_env, variable = rest.partition(".env.")
        if is_env:
            variables = own.setdefault(name, {}).setdefault("env", {})
            if isinstance(variables, dict):
                variables[variable] = setting.value
        else:
            name, _, fact = rest.rpartition(".")
            own.setdefault(name, {})[fact] = setting.value
        origins[name] = setting.origin
    return {**known(), **{name: read_runtime(name, said, origins[name]) for name, said in own.items()}}


def ask_version(words: Sequence[str]) -> str:
    """What a program says of itself, in one line; empty if it does not say."""
    import subprocess

    try:
        done = subprocess.run(
            [*words], stdin=subprocess.DEVNULL, capture_output=True, timeout=VERSION_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired, ValueError):
        return ""
    lines = done.stdout.decode("utf-8", "replace").strip().splitlines()
    return lines[0][:80] if lines else ""


def set_up_for(layout: Layout, environment: Mapping[str, str], settings: Settings, vendor: str) -> dict[str, bool]:
    """Which tools of ours are in this vendor's settings."""
    from atm.setup.services.planning import SetupOrder, check
    from atm.vendors.settings import PROJECT, SERVER, USER, WITHOUT_SERVER
    from atm.wiring.setup import build_vendor_files

    files = build_vendor_files(layout, environment, settings)

    def is_in(kinds: Collection[str]) -> bool:
        order = SetupOrder(kinds)
        looked = [check(files, [vendor], scope, settings.root, order) for scope in (USER, PROJECT)]
        return any(found and all(one.is_installed for one in found) for found in looked)

    return {"hooks": is_in(WITHOUT_SERVER), "mcp": is_in((SERVER,))}
