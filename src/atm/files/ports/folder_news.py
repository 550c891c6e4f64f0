"""Which files of a folder changed since one asked last: for servers that keep what they have read."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol
else:
    Protocol = object


class FolderNews(Protocol):
    """For any thread. Each folder has one asker, who keeps what is in it."""

    def changed(self, folder: str) -> set[str] | None:
        """
        Names that came, went or were written to since the last call, and may have been; every change that was over
        when this was called is among them. None if that is not known: then look at all of it, also the first time.
        """
