"""Mail, and everything else of a team, over real files: a room for every command."""

from __future__ import annotations

import os

from atm.files.adapters.disk import RealDisk
from atm.files.adapters.locking import Locks
from atm.files.adapters.machine import RealChance, RealClock
from atm.mail.adapters.inbox_store import InboxStore
from atm.mail.rules.lifetimes import MOST_TRIES, RetentionPolicy
from atm.mail.rules.quotas import Quota
from atm.mail.services.mailroom import Troubles
from atm.roster.services.teamroom import Teamroom
from atm.team.adapters.team_store import TeamStore
from atm.wiring.files import build_locks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TypeVar

    from atm.config import Settings
    from atm.files.adapters.archive import ArchiveFolder
    from atm.files.formats.layout import Layout
    from atm.files.ports.clock import Chance, Clock
    from atm.files.ports.disk import Disk
    from atm.files.ports.records import TeamSecrets
    from atm.mail.ports.stores import Ledger, Spool, UpkeepMarks
    from atm.mail.ports.surfacing import Surfacings
    from atm.mail.ports.surroundings import Drift
    from atm.mail.services.file_references import References
    from atm.roster.ports.backups import Backups
    from atm.roster.ports.team_files import TeamFiles
    from atm.team.ports.endpoints import Endpoints
    from atm.team.ports.presence import Presence
    from atm.team.ports.processes import AgentProcesses
    from atm.team.ports.states import States

    Made = TypeVar("Made")


def build_room(
    layout: Layout,
    settings: Settings | None = None,
    *,
    disk: Disk | None = None,
    clock: Clock | None = None,
    chance: Chance | None = None,
) -> Teamroom:
    """A mailroom over real files. Tests pass a disk, a clock or a chance of their own."""
    disk, clock, chance = disk or RealDisk(layout.private_roots), clock or RealClock(), chance or RealChance()
    locks, troubles = build_locks(layout, disk, clock, chance), Troubles()
    stores = _LazyStores(disk, clock, locks, layout, troubles)
    return Teamroom(
        clock=clock,
        chance=chance,
        rosters=TeamStore(disk, clock, locks, layout, lambda: stores.archive),
        inboxes=InboxStore(disk, clock, locks, layout, lambda: stores.archive),
        stores=stores,
        troubles=troubles,
        policy=build_policy(settings) if settings else RetentionPolicy(),
        compact_claudes=settings.yes("retention.claude_inboxes") if settings else False,
        most_tries=settings.whole("messaging.max_retries") if settings else MOST_TRIES,
        quota=build_quota(settings) if settings else Quota(),
    )


class _LazyStores:
    """
    Ports over real files that not every command needs, each imported and made when it is first asked for: a send does
    without those of team life, and a hook that finds no mail without nearly all.
    """

    __slots__ = ("_clock", "_disk", "_layout", "_locks", "_made", "_troubles")

    def __init__(self, disk: Disk, clock: Clock, locks: Locks, layout: Layout, troubles: Troubles) -> None:
        self._troubles = troubles
        self._disk = disk
        self._clock = clock
        self._locks = locks
        self._layout = layout
        self._made: dict[str, Any] = {}

    def _once(self, name: str, make: Callable[[], Made]) -> Made:
        made: Made = self._made.get(name) or self._made.setdefault(name, make())
        return made

    @property
    def ledger(self) -> Ledger:
        from atm.mail.adapters.ledger import LedgerFile

        return self._once("ledger", lambda: LedgerFile(self._disk, self._locks, self._layout))

    @property
    def spool(self) -> Spool:
        from atm.mail.adapters.spool import SpoolFolder

        return self._once(
            "spool", lambda: SpoolFolder(self._disk, self._clock, self._locks, self._layout, self._troubles.note)
        )

    @property
    def archive(self) -> ArchiveFolder:
        from atm.files.adapters.archive import ArchiveFolder

        return self._once("archive", lambda: ArchiveFolder(self._disk, self._clock, self._layout))

    @property
    def marks(self) -> UpkeepMarks:
        from atm.mail.adapters.upkeep_marks import UpkeepMarkFiles

        return self._once("marks", lambda: UpkeepMarkFiles(self._disk, self._layout))

    @property
    def drift(self) -> Drift:
        from atm.mail.adapters.drift_log import DriftLog

        return self._once("drift", lambda: DriftLog(self._disk, self._clock, self._layout))

    @property
    def presence(self) -> Presence:
        from atm.team.adapters.heartbeats import HeartbeatFiles

        return self._once(
            "presence",
            lambda: HeartbeatFiles(self._disk, self._clock, self._layout, self._locks.host, self._troubles.note),
        )

    @property
    def processes(self) -> AgentProcesses:
        from atm.team.adapters.agent_processes import ProcessFiles

        return self._once("processes", lambda: ProcessFiles(self._disk, self._layout))

    @property
    def states(self) -> States:
        from atm.team.adapters.state_store import StateFiles

        return self._once("states", lambda: StateFiles(self._disk, self._locks, self._layout))

    @property
    def files(self) -> TeamFiles:
        from atm.roster.adapters.team_files import TeamFolders

        return self._once("files", lambda: TeamFolders(self._disk, self._locks, self._layout))

    @property
    def backups(self) -> Backups:
        from atm.roster.adapters.backup_store import BackupFolders

        return self._once("backups", lambda: BackupFolders(self._disk, self._clock, self._locks, self._layout))

    @property
    def surfacings(self) -> Surfacings:
        from atm.mail.adapters.surfacing_notes import SurfacingNotes

        return self._once(
            "surfacings", lambda: SurfacingNotes(self._disk, self._locks, self._layout, self._troubles.note)
        )

    @property
    def secrets(self) -> TeamSecrets:
        from atm.team.adapters.team_secrets import SecretFiles

        return self._once("secrets", lambda: SecretFiles(self._disk, self._locks, self._layout, os.urandom))

    @property
    def endpoints(self) -> Endpoints:
        from atm.team.adapters.endpoints import EndpointFiles

        return self._once("endpoints", lambda: EndpointFiles(self._disk, self._layout))


def build_policy(settings: Settings) -> RetentionPolicy:
    return RetentionPolicy(
        keep_read=settings.whole("retention.keep_read"),
        keep_days=settings.number("retention.keep_days"),
        keep_idle=settings.whole("retention.keep_idle"),
        compact_above=settings.whole("retention.compact_above"),
    )


def build_quota(settings: Settings) -> Quota:
    return Quota(settings.whole("messaging.max_unread_rows"), settings.whole("messaging.max_unread_bytes"))


def build_references(layout: Layout, settings: Settings, environment: Mapping[str, str]) -> References:
    from atm.mail.adapters.shared_files import SettingsAndFiles
    from atm.mail.services.file_references import References

    share = os.path.expanduser(settings.text("messaging.share_dir"))
    return References(SettingsAndFiles(layout, environment, share=share), settings.root)
