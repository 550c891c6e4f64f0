"""Where a member's session runs."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from atm.team.rules.endpoints import Endpoint
else:
    Protocol = object


class Endpoints(Protocol):
    """How agents can be reached."""

    def of(self, team: str, member: str) -> Endpoint | None: ...

    def known(self, team: str) -> list[str]:
        """Everybody who has one."""

    def put(self, team: str, member: str, endpoint: Endpoint) -> None:
        """A note that cannot be written fails no caller."""

    def forget(self, team: str, member: str) -> None: ...
