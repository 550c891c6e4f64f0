"""Looking for a daemon while the pump goes on."""

from __future__ import annotations

import _thread
import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket as Line
    from collections.abc import Callable

    Reach = Callable[[bool], "tuple[Line, bytes] | None"]


class Search:
    """A search for a daemon, in a thread of its own: it may have to be started. `bell` can be read from at its end."""

    def __init__(self, channels: Reach, *, may_start: bool) -> None:
        self.bell, self._rope = os.pipe()
        self.began = time.monotonic()
        self._found: tuple[Line, bytes] | None = None
        self._error: BaseException | None = None
        self._is_given_up = False
        _thread.start_new_thread(self._run, (channels, may_start))

    def _run(self, channels: Reach, may_start: bool) -> None:
        try:
            self._found = channels(may_start)
            if self._is_given_up:
                self.give_up()
        except BaseException as error:  # noqa: BLE001 - it is raised where somebody can be told
            self._error = error
        finally:
            os.close(self._rope)

    def give_up(self) -> None:
        """Nobody wants to know any more."""
        self._is_given_up = True
        if self._found is not None:
            self._found[0].close()

    def result(self) -> tuple[Line, bytes] | None:
        """Once the bell has rung. Raises what went wrong."""
        os.close(self.bell)
        if self._error is not None:
            raise self._error
        return self._found
