"""
What an agent is told while its daemon is starting: the greeting and what its role is offered, from a shipped list.

Agents ask for tools, prompts and resources at once, some wait for all of them, and what is not there when their model
is asked first does not exist for it. The list is made by `docs/generate_mcp_greeting.py` from the server's own answers,
so both say the same. The role is a guess, by the roster: what the daemon says later counts, and if that differs the
agent is told that its list has changed. Which resources there are only the daemon knows: until then there are none.

Light, as the pump is: nothing of the catalogue is imported here, and the list is carried as it stands in the file.
"""

from __future__ import annotations

import os

from atm.core.errors import AtmError
from atm.files.formats.json_record import decode_object, encode, to_bytes, to_text
from atm.ui.mcp.serving.roles import allowed_role
from atm.ui.mcp.stdio.lines import GREETING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.core.plain import Plain
    from atm.files.formats.layout import Layout
    from atm.team.rules.team import Team
    from atm.ui.mcp.hello import IdentityClaim

LIST = "greeting.txt"
ASKED_AT_ONCE = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}
"""Requests, and what the list in their answer is called."""


class EarlyWords:
    """The answers for one role, as JSON."""

    def __init__(self, role: str) -> None:
        with open(os.path.join(os.path.dirname(__file__), LIST), "rb") as file:
            self._versions, self._greeting, *rows = to_text(file.read()).splitlines()
        said: dict[str, list[str]] = {name: [] for name in ASKED_AT_ONCE.values()}
        for row in rows:
            roles, name, entry = row.split("\t", 2)
            if role in roles.split():
                said[name].append(entry)
        self._lists = {method: f'{{"{name}":[{",".join(said[name])}]}}' for method, name in ASKED_AT_ONCE.items()}

    def answer(self, method: str, asked: Plain) -> str | None:
        """None for what has to wait for the daemon. `asked`: what came with the handshake."""
        return self.greeting(asked) if method == GREETING else self._lists.get(method)

    def changed(self, method: str) -> bytes:
        """For a daemon whose list is another one."""
        return to_bytes(f'{{"jsonrpc":"2.0","method":"notifications/{method.partition("/")[0]}/list_changed"}}\n')

    def greeting(self, params: Plain) -> str:
        """In the version that the client asks for, if there is such a one; else in the newest that shakes hands."""
        asked, known = params.get("protocolVersion") if isinstance(params, dict) else None, self._versions.split()
        return encode({**decode_object(self._greeting), "protocolVersion": asked if asked in known else known[-1]})


def early_words(layout: Layout, claim: IdentityClaim) -> EarlyWords | None:
    """None if somebody else has to say what is wrong: the daemon, which will refuse."""
    try:
        return EarlyWords(_likely_role(layout, claim))
    except (AtmError, OSError, ValueError):
        return None


def _likely_role(layout: Layout, claim: IdentityClaim) -> str:
    """As `identity.admit` decides it, without asking whose process this is."""
    from atm import config
    from atm.team.services.choosing import only_team
    from atm.ui.mcp.serving.roles import asked_role, is_the_persons, launched_with
    from atm.wiring.mail import build_room

    settings = config.load(layout, launched_with(claim), claim.folder or "/", {})
    room = build_room(layout, settings)
    rosters, name = room.rosters, settings.text("core.default_team") or only_team(room)
    spelled = rosters.find(name) if name else None
    team: Team | None = rosters.load(spelled) if spelled is not None else None
    is_named = settings.setting("core.identity").origin != "default" and not is_the_persons(settings, team, claim.role)
    member = settings.text("core.identity") if is_named else ""
    return allowed_role(team, member, asked_role(settings, claim.role))
