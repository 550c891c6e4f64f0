"""
Where vendors keep conversations: implements `sessions.ports.surroundings.Transcripts`.

As tried with the programs (docs/vendors.md). "Resumable" is said only of what was found here.
"""

from __future__ import annotations

import glob
import os

from atm.vendors.known import get

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

SHORT = 8
"""Signs of an id where a program cuts it."""


class TranscriptFiles:
    """Looks for a file; reads none."""

    __slots__ = ("_environment",)

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment

    def is_there(self, vendor: str, session: str) -> bool | None:
        known = get(vendor)
        place = known.conversations if known is not None else None
        if place is None or not session or not session.replace("-", "").replace("_", "").isalnum():
            return None
        home = self._environment.get("HOME", "")
        root = self._environment.get(place.variable, "") or place.folder.format(home=home)
        if not os.path.isdir(root):
            return False
        if place.database and os.path.exists(f"{root}/{place.database}"):
            return None
        found = glob.iglob(place.files.format(id=session, short=session[:SHORT]), root_dir=root)
        return next(found, None) is not None
