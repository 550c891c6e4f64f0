"""Sessions over real files and git."""

from __future__ import annotations

import os

from atm.board.rules.tasks import LONGEST_TIMEOUT
from atm.core.errors import AtmError, BadSetting
from atm.files.adapters.disk import RealDisk
from atm.files.adapters.machine import RealClock, host_name
from atm.files.adapters.processes import began, boot_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from atm.config import Settings
    from atm.crew.services.crewroom import Crewroom
    from atm.files.formats.layout import Layout
    from atm.sessions.ports.surroundings import FactSource
    from atm.sessions.rules.policy import SessionPolicy
    from atm.sessions.services.sessionroom import SessionCaller, SessionRoom
    from atm.team.rules.lead_session import LeadSession


def build_sessionroom(
    layout: Layout,
    settings: Settings,
    crew: Crewroom,
    caller: SessionCaller,
    environment: Mapping[str, str],
    *,
    is_server: bool = False,
) -> SessionRoom:
    """A server that works for others runs no command that a repository names as a fact."""
    from atm.board.adapters.programs import RealPrograms
    from atm.sessions.adapters.fact_sums import FactSums
    from atm.sessions.adapters.git_checkpoints import CheckpointBranches
    from atm.sessions.adapters.member_files import CheckpointFiles
    from atm.sessions.adapters.working_tree import LeadsTree
    from atm.sessions.services.sessionroom import SessionRoom
    from atm.vendors.transcripts import TranscriptFiles

    programs = RealPrograms(layout)
    return SessionRoom(
        crew=crew,
        git=CheckpointBranches(RealClock()),
        members=CheckpointFiles(RealDisk(layout.private_roots), layout),
        facts=FactSums(programs),
        fact_sources=() if is_server else read_facts(settings),
        transcripts=TranscriptFiles(environment),
        tree=LeadsTree(programs),
        caller=caller,
        policy=build_session_policy(settings),
    )


def build_session_policy(settings: Settings) -> SessionPolicy:
    from atm.sessions.rules.policy import SessionPolicy

    return SessionPolicy(
        lead_away=settings.number("sessions.lead_away_minutes") * 60,
        takeover=settings.number("sessions.takeover_minutes") * 60,
        zombie=settings.number("sessions.zombie_minutes") * 60,
        zombie_idle=settings.number("sessions.zombie_idle_minutes") * 60,
        blocked=settings.number("sessions.blocked_minutes") * 60,
        checkpoint=settings.number("sessions.checkpoint_seconds"),
        git=settings.number("sessions.git_seconds"),
        undelivered=settings.number("sessions.undelivered_minutes") * 60,
        restart=settings.number("sessions.restart_minutes") * 60,
        confirm=settings.number("sessions.confirm_minutes") * 60,
        keep_commits=settings.whole("sessions.keep_commits"),
        checks=tuple(settings.texts("sessions.checks")),
        task=settings.number("crew.task_minutes") * 60 or LONGEST_TIMEOUT,
    )


def read_facts(settings: Settings) -> list[FactSource]:
    """`[facts.NAME]` with `path` (a file, a glob, or a list) or `command`, and `renew`: the command that renews it."""
    from atm.sessions.ports.surroundings import FactSource

    said: dict[str, dict[str, object]] = {}
    for key, setting in settings.all().items():
        section, _, rest = key.partition(".")
        name, _, fact = rest.rpartition(".")
        if section == "facts" and name:
            said.setdefault(name, {})[fact] = setting.value
    found = []
    for name, facts in sorted(said.items()):
        unknown = sorted({*facts} - {"path", "command", "renew"})
        paths = facts.get("path") or []
        if unknown or not (paths or facts.get("command")):
            what = f"has no {unknown[0]!r}" if unknown else "needs a path or a command"
            raise BadSetting(f"facts.{name} {what}", "give path or command, and renew")
        listed = [paths] if isinstance(paths, str) else paths if isinstance(paths, list) else []
        source = FactSource(
            name=name,
            paths=tuple(str(path) for path in listed),
            command=str(facts.get("command") or ""),
            renew=str(facts.get("renew") or ""),
        )
        found.append(source)
    return found


def find_caller(environment: Mapping[str, str], folder: str, session: str = "", recorded: str = "") -> SessionCaller:
    """
    Which session this is: as it says, as its variables say, as its hooks recorded, else the terminal's own.

    Of the last kind alone a process is known that stands for it, and only where a person sits at a terminal.
    """
    from atm.sessions.services.sessionroom import SessionCaller

    folder = _root_of(folder)
    said = session or environment.get("ATM_SESSION_ID", "") or recorded
    if said:
        return SessionCaller(session=said, folder=folder)
    leader = os.getsid(0)
    named = f"cli-{host_name()}-{leader}"
    if not _has_terminal():
        return SessionCaller(session=named, folder=folder)
    return SessionCaller(session=named, folder=folder, pid=leader, began=began(leader), boot=boot_id())


def lead_here(environment: Mapping[str, str], folder: str) -> LeadSession:
    """Whoever gives a command, as the lead of a team."""
    from atm.sessions.adapters.git_checkpoints import CheckpointBranches
    from atm.team.rules.lead_session import LeadSession

    caller = find_caller(environment, folder)
    return LeadSession(
        session=caller.session,
        pid=caller.pid,
        began=caller.began,
        boot=caller.boot,
        folder=caller.folder,
        common=CheckpointBranches(RealClock()).repository(caller.folder),
    )


def _root_of(folder: str) -> str:
    """The working tree that a folder lies in, or the folder itself."""
    from atm.git.adapters.checkouts import find

    try:
        place = find(folder, RealClock().sleep)
    except AtmError:
        return folder
    return place.root if place is not None and place.root else folder


def _has_terminal() -> bool:
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True
