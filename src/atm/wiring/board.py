"""The board over real files."""

from __future__ import annotations

from atm.files.adapters.archive import ArchiveFolder
from atm.files.adapters.disk import RealDisk
from atm.files.adapters.machine import RealClock
from atm.roster.services.teamroom import Teamroom
from atm.wiring.files import build_locks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.board.ports.programs import Programs
    from atm.board.ports.tasks import Tasks
    from atm.board.ports.workplaces import AgentPlaces
    from atm.config import Settings
    from atm.core.plain import Plain
    from atm.files.formats.layout import Layout
    from atm.files.ports.clock import Chance, Clock
    from atm.files.ports.disk import Disk
    from atm.files.ports.folder_news import FolderNews
    from atm.roster.services.full_boardroom import FullBoardroom


def build_tasks(
    layout: Layout,
    *,
    disk: Disk | None = None,
    clock: Clock | None = None,
    chance: Chance | None = None,
    news: FolderNews | None = None,
) -> Tasks:
    """With `news`, for a server: what was read of a board is kept, for as long as nothing is heard of changes."""
    from atm.board.adapters.task_store import TaskFiles
    from atm.files.adapters.numbered_log import NumberedLog

    disk, clock = disk or RealDisk(layout.private_roots), clock or RealClock()
    locks = build_locks(layout, disk, clock, chance)
    archive = ArchiveFolder(disk, clock, layout)
    scanner = None
    if news is not None:
        from atm.board.adapters.kept_boards import KeptBoards

        scanner = KeptBoards(disk, clock, layout, news)
    return TaskFiles(disk, clock, locks, layout, archive, NumberedLog(disk, locks, layout), scanner)


def build_boardroom(
    layout: Layout,
    settings: Settings,
    room: Teamroom,
    *,
    runs_repo_hooks: bool = True,
    is_server: bool = False,
    tasks: Tasks | None = None,
    workplaces: Callable[[], AgentPlaces] | None = None,
    stands_in: str = "",
    hears: Callable[[bytes], None] | None = None,
) -> FullBoardroom:
    """
    The board over real files, or over `tasks` that others use too; `hears` is told what commands say while they run. A
    server that works for others runs no hooks of a repository that they name: an agent that may write there could have
    anything run outside its sandbox.
    """
    from atm.board.services.boardroom import HOOK_EVENTS
    from atm.roster.services.full_boardroom import FullBoardroom

    keys = [(event, f"hooks.{event}") for event in HOOK_EVENTS]
    allowed = [(e, key) for e, key in keys if runs_repo_hooks or not settings.setting(key).is_of_the_repo]
    return FullBoardroom(
        room=room,
        tasks=tasks or build_tasks(layout),
        programs=lambda: _programs(layout, hears),
        hooks={event: settings.texts(key) for event, key in allowed},
        hook_seconds=settings.number("hooks.seconds"),
        check_seconds=settings.number("board.check_seconds"),
        max_retries=settings.whole("board.max_retries"),
        is_server=is_server,
        workplaces=workplaces,
        stands_in=stands_in,
    )


def _programs(layout: Layout, hears: Callable[[bytes], None] | None = None) -> Programs:
    from atm.board.adapters.programs import RealPrograms

    return RealPrograms(layout, hears)


def log_hook(layout: Layout, record: dict[str, Plain]) -> None:
    """What happened to a hook, for people who look for it later."""
    from atm.files.formats.times import to_iso

    _programs(layout).log({"at": to_iso(RealClock().now()), **record})
