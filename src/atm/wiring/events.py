"""Watching folders of this machine."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.system.events.watching import Watch


def build_watch(paths: list[str]) -> Watch:
    from atm.system.events.watching import watch

    return watch(paths)
