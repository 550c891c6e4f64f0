"""The daemon's events for a server outside of it: listened to in a thread, again and again, if there is a daemon."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from atm.core.errors import AtmError
from atm.events.rules import event_from
from atm.wiring.daemon import listen_to_daemon

if TYPE_CHECKING:
    from atm.files.formats.layout import Layout
    from atm.teamd.events.hub import Hub

AGAIN_AFTER = 2.0
"""Seconds until a daemon that was not there is looked for again."""


def follow_daemon(layout: Layout, hub: Hub) -> None:
    """Hand on what it tells, for as long as this process lives."""
    threading.Thread(target=_follow, args=(layout, hub), daemon=True, name="atm daemon events").start()


def _follow(layout: Layout, hub: Hub) -> None:
    while True:
        try:
            for fields in listen_to_daemon(layout, {}):
                event = event_from(fields)
                if event is not None:
                    hub.publish_from_thread(event)
        except (AtmError, OSError):
            pass  # it has gone, or stumbles
        time.sleep(AGAIN_AFTER)
