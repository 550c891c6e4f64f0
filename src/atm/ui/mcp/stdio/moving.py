"""While the server is in this very process: looking whether a daemon has come, so that the agent moves there."""

from __future__ import annotations

import time

from atm.ui.mcp.stdio.search import Search

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket as Line

    from atm.ui.mcp.stdio.search import Reach

LOOK_SECONDS = 2.0
REFUSED_SECONDS = 60.0
"""Until one that turned us away is asked again: it has no SDK, or too many clients."""


class Moving:
    """One search after the other, none of which starts a daemon, until one has found a line to the daemon's server."""

    def __init__(self, channels: Reach) -> None:
        self._channels = channels
        self._search: Search | None = None
        self._again_at = time.monotonic() + LOOK_SECONDS
        self.found: tuple[Line, bytes] | None = None

    @property
    def bell(self) -> int | None:
        """Can be read from when a search is over."""
        return self._search.bell if self._search is not None else None

    def patience(self) -> float | None:
        """Seconds until it is time to look; None while there is nothing to look for."""
        if self._search is not None or self.found is not None:
            return None
        return max(0.0, self._again_at - time.monotonic())

    def look(self) -> None:
        if self.patience() == 0.0:
            self._search = Search(self._channels, may_start=False)

    def ring(self) -> None:
        """A search is over. What went wrong is no matter: the server in this process goes on."""
        assert self._search is not None
        search, self._search = self._search, None
        self._again_at = time.monotonic() + LOOK_SECONDS
        try:
            self.found = search.result()
        except Exception:  # noqa: BLE001 - whatever it is, there is a server
            self._again_at = time.monotonic() + REFUSED_SECONDS

    def give_up(self) -> None:
        if self._search is not None:
            self._search.give_up()
        if self.found is not None:
            self.found[0].close()
