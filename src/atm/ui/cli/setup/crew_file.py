"""`atm init --crew`: a crew file to begin with."""

from __future__ import annotations

import os

from atm.core.errors import UsageError
from atm.core.untrusted_text import one_line
from atm.crew.formats.crew_file import commented
from atm.team.rules.repositories import name_of_folder
from atm.ui.cli.session import working_folder
from atm.wiring.files import change_settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.ui.cli.session import Session

NAME = "crew.toml"


def write_crew(session: Session) -> int:
    """One that is there stays."""
    folder = working_folder()
    path = f"{folder}/{NAME}"
    if os.path.lexists(path):
        raise UsageError(f"there is a {path} already", "look at it, or remove it first")
    change_settings(session.layout, path, lambda _: commented(name_of_folder(folder)))
    session.tell({"action": "init", "crew": path}, f"wrote {one_line(path)}; look at it, then: atm up --crew crew.toml")
    return 0
