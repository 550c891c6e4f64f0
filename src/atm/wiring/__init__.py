"""
The composition root: the only module that sees both services and system. Each part is built on demand.
"""

from __future__ import annotations

import os

from atm.domain.mail.retention import Policy
from atm.domain.mail.retries import MOST_TRIES
from atm.services.roster.teamroom import Teamroom
from atm.system.files.archive import ArchiveFolder
from atm.system.files.disk import RealDisk
from atm.system.files.locking import Locks
from atm.system.machine import RealChance, RealClock, find_layout, host_name
from atm.system.mail.drift_log import DriftLog
from atm.system.mail.inbox_store import InboxStore
from atm.system.mail.ledger import LedgerFile
from atm.system.mail.spool import SpoolFolder
from atm.system.mail.upkeep_marks import UpkeepMarkFiles
from atm.system.team.team_store import TeamStore

__all__ = [
    "build_context",
    "build_desk",
    "build_policy",
    "build_references",
    "build_room",
    "build_site",
    "build_tasks",
    "build_vendor_files",
    "build_watch",
    "change_settings",
    "find_layout",
]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from atm.config import Settings
    from atm.domain.delivery.moments import HookCall
    from atm.domain.plain import Plain
    from atm.domain.setup.context import SystemContext
    from atm.domain.team.endpoints import Endpoint
    from atm.formats.files.layout import Layout
    from atm.ports.access import AccessTokens
    from atm.ports.board.programs import Programs
    from atm.ports.board.tasks import Tasks
    from atm.ports.checkup import Site
    from atm.ports.files.clock import Chance, Clock
    from atm.ports.files.disk import Disk
    from atm.ports.mail.surfacing import Surfacings
    from atm.ports.roster.backups import Backups
    from atm.ports.roster.team_files import TeamFiles
    from atm.ports.setup import VendorFiles
    from atm.ports.team.endpoints import Endpoints
    from atm.ports.team.presence import Presence
    from atm.ports.team.states import States
    from atm.services.delivery.pushing import Reach
    from atm.services.mail.file_references import References
    from atm.services.roster.full_boardroom import FullBoardroom
    from atm.services.worksync.plane import Plane
    from atm.system.events.watching import Watch


def build_room(
    layout: Layout,
    settings: Settings | None = None,
    *,
    disk: Disk | None = None,
    clock: Clock | None = None,
    chance: Chance | None = None,
) -> Teamroom:
    """A mailroom over real files. Tests pass a disk, a clock or a chance of their own."""
    disk, clock, chance = disk or RealDisk(), clock or RealClock(), chance or RealChance()
    locks = Locks(disk, clock, chance, layout.locks, pid=os.getpid(), host=host_name())
    archive = ArchiveFolder(disk, clock, layout)
    policy = build_policy(settings) if settings else Policy()
    return Teamroom(
        clock=clock,
        chance=chance,
        rosters=TeamStore(disk, clock, locks, layout, archive),
        inboxes=InboxStore(disk, clock, locks, layout, archive),
        ledger=LedgerFile(disk, locks, layout),
        spool=SpoolFolder(disk, clock, locks, layout),
        archive=archive,
        marks=UpkeepMarkFiles(disk, layout, policy.compact_above),
        drift=DriftLog(disk, clock, layout),
        stores=_LazyStores(disk, clock, locks, layout),
        policy=policy,
        compact_claudes=settings.yes("retention.claude_inboxes") if settings else False,
        most_tries=settings.whole("messaging.max_retries") if settings else MOST_TRIES,
    )


class _LazyStores:
    """The ports of team life over real files, each imported and made when it is first asked for: mail needs none."""

    __slots__ = ("_clock", "_disk", "_layout", "_locks")

    def __init__(self, disk: Disk, clock: Clock, locks: Locks, layout: Layout) -> None:
        self._disk = disk
        self._clock = clock
        self._locks = locks
        self._layout = layout

    @property
    def presence(self) -> Presence:
        from atm.system.team.heartbeats import HeartbeatFiles

        return HeartbeatFiles(self._disk, self._clock, self._layout, self._locks.host)

    @property
    def states(self) -> States:
        from atm.system.team.state_store import StateFiles

        return StateFiles(self._disk, self._locks, self._layout)

    @property
    def files(self) -> TeamFiles:
        from atm.system.roster.team_files import TeamFolders

        return TeamFolders(self._disk, self._locks, self._layout)

    @property
    def backups(self) -> Backups:
        from atm.system.roster.backup_store import BackupFolders

        return BackupFolders(self._disk, self._clock, self._locks, self._layout)

    @property
    def surfacings(self) -> Surfacings:
        from atm.system.mail.surfacing_notes import SurfacingNotes

        return SurfacingNotes(self._disk, self._locks, self._layout)

    @property
    def endpoints(self) -> Endpoints:
        from atm.system.team.endpoints import EndpointFiles

        return EndpointFiles(self._disk, self._layout)


def build_policy(settings: Settings) -> Policy:
    return Policy(
        keep_read=settings.whole("retention.keep_read"),
        keep_days=settings.number("retention.keep_days"),
        keep_idle=settings.whole("retention.keep_idle"),
        compact_above=settings.whole("retention.compact_above"),
    )


def build_references(layout: Layout, settings: Settings, environment: Mapping[str, str]) -> References:
    from atm.services.mail.file_references import References
    from atm.system.mail.shared_files import SettingsAndFiles

    share = os.path.expanduser(settings.text("messaging.share_dir"))
    return References(SettingsAndFiles(layout, environment, share=share), settings.root)


def change_settings(layout: Layout, path: str, change: Callable[[str], str]) -> None:
    from atm.system.files import settings_file

    locks = Locks(RealDisk(), RealClock(), RealChance(), layout.locks, pid=os.getpid(), host=host_name())
    settings_file.change_settings(locks, path, change)


def build_watch(paths: list[str]) -> Watch:
    from atm.system.events.watching import watch

    return watch(paths)


def build_tasks(
    layout: Layout, *, disk: Disk | None = None, clock: Clock | None = None, chance: Chance | None = None
) -> Tasks:
    from atm.system.board.task_store import TaskFiles
    from atm.system.files.numbered_log import NumberedLog

    disk, clock = disk or RealDisk(), clock or RealClock()
    locks = Locks(disk, clock, chance or RealChance(), layout.locks, pid=os.getpid(), host=host_name())
    archive = ArchiveFolder(disk, clock, layout)
    return TaskFiles(disk, clock, locks, layout, archive, NumberedLog(disk, locks, layout))


def build_desk(layout: Layout, settings: Settings, room: Teamroom, *, runs_repo_hooks: bool = True) -> FullBoardroom:
    """
    The board over real files. A server that works for others runs no hooks of a repository that they name: an agent
    that may write there could have anything run outside its sandbox.
    """
    from atm.services.board.boardroom import HOOK_EVENTS
    from atm.services.roster.full_boardroom import FullBoardroom

    keys = [(event, f"hooks.{event}") for event in HOOK_EVENTS]
    allowed = [(e, key) for e, key in keys if runs_repo_hooks or not settings.setting(key).is_of_the_repo]
    return FullBoardroom(
        room=room,
        tasks=build_tasks(layout),
        programs=lambda: _programs(layout),
        hooks={event: settings.texts(key) for event, key in allowed},
        hook_seconds=settings.number("hooks.seconds"),
        check_seconds=settings.number("board.check_seconds"),
        max_retries=settings.whole("board.max_retries"),
    )


def build_plane(layout: Layout, settings: Settings, desk: FullBoardroom) -> Plane:
    """The work-sync control plane over real files."""
    from atm.domain.worksync.readiness import Thresholds
    from atm.services.worksync.plane import Plane, Policy
    from atm.system.files.record_store import RecordFiles
    from atm.system.team.team_secrets import SecretFiles
    from atm.system.worksync import JournalFiles

    disk, clock = RealDisk(), RealClock()
    locks = Locks(disk, clock, RealChance(), layout.locks, pid=os.getpid(), host=host_name())
    least = Thresholds(
        least_looks=settings.whole("worksync.least_looks"), least_hours=settings.number("worksync.observe_minutes") / 60
    )
    return Plane(
        desk=desk,
        records=RecordFiles(disk, clock, locks, layout),
        journal=JournalFiles(disk, locks, layout),
        secrets=SecretFiles(disk, locks, layout, os.urandom),
        policy=Policy(settings.number("worksync.quiet_seconds"), least),
        me=f"{host_name()}:{os.getpid()}",
    )


def _programs(layout: Layout) -> Programs:
    from atm.system.board.programs import RealPrograms

    return RealPrograms(layout)


def log_hook(layout: Layout, record: dict[str, Plain]) -> None:
    """What happened to a hook, for people who look for it later."""
    from atm.formats.files.times import to_iso

    _programs(layout).log({"at": to_iso(RealClock().now()), **record})


def locate_session(room: Teamroom, call: HookCall, environment: Mapping[str, str]) -> Endpoint:
    """Where the session that calls runs: its pane, if it has one, and what is in front there."""
    from atm.domain.team.endpoints import Endpoint
    from atm.system.delivery.tmux import TmuxTerminals, pane_of

    at = pane_of(environment)
    pane = TmuxTerminals().pane(at) if at is not None else None
    return Endpoint(
        vendor=call.vendor,
        session=call.session,
        at=room.clock.now(),
        host=room.presence.host,
        boot=room.presence.boot,
        server=at.server if at is not None and pane is not None else "",
        pane=at.pane if at is not None and pane is not None else "",
        pane_pid=pane.pid if pane is not None else None,
        pane_command=pane.command if pane is not None else "",
        url=call.url,
    )


def build_reach(settings: Settings) -> Reach:
    """Terminals and servers of agents on this machine."""
    from atm.services.delivery.pushing import Reach
    from atm.system.delivery.opencode import OpenCodeServers
    from atm.system.delivery.tmux import TmuxTerminals

    return Reach(TmuxTerminals(), OpenCodeServers(), panes_allowed=settings.yes("delivery.tmux"))


def build_site(layout: Layout, environment: Mapping[str, str]) -> Site:
    from atm.system.checkup import SiteOnDisk

    return SiteOnDisk(RealDisk(), RealClock(), layout, environment, host=host_name())


def build_vendor_files(layout: Layout, environment: Mapping[str, str]) -> VendorFiles:
    """The settings files of agent CLIs, for `atm init`."""
    from atm.system.setup.vendor_files import VendorFilesOnDisk

    locks = Locks(RealDisk(), RealClock(), RealChance(), layout.locks, pid=os.getpid(), host=host_name())
    return VendorFilesOnDisk(locks, layout, environment)


def build_access_tokens(layout: Layout) -> AccessTokens:
    from atm.system.access import AccessTokenFile

    locks = Locks(RealDisk(), RealClock(), RealChance(), layout.locks, pid=os.getpid(), host=host_name())
    return AccessTokenFile(locks, layout)


def build_context(layout: Layout, settings: Settings, environment: Mapping[str, str], folder: str) -> SystemContext:
    """Where we are. Asks Claude Code for its version, so it is built for the commands that show it."""
    import sys

    from atm.domain.setup.context import SystemContext
    from atm.system.git.remote import find_repo
    from atm.system.setup.claude_code import detect

    return SystemContext(
        hostname=host_name(),
        platform={"darwin": "macOS", "win32": "Windows"}.get(sys.platform, "Linux"),
        claude_root=layout.claude_root,
        root=settings.root,
        schema_version=detect(layout, environment),
        repo=find_repo(folder),
        default_team=settings.text("core.default_team"),
    )
