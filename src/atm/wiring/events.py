"""Watching folders of this machine."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.events.adapters.folder_news import InotifyNews
    from atm.events.adapters.watching import Watch


def build_watch(paths: list[str]) -> Watch:
    from atm.events.adapters.watching import watch

    return watch(paths)


def build_news() -> InotifyNews:
    """What changed in folders since one last looked."""
    from atm.events.adapters.folder_news import InotifyNews

    return InotifyNews()
