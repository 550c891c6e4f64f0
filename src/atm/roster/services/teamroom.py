"""The ports that making, ending, backing up and restoring a team needs, in one hand."""

from __future__ import annotations

from atm.mail.services.mailroom import Mailroom

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from atm.mail.services.mailroom import MailStores
    from atm.roster.ports.backups import Backups
    from atm.roster.ports.team_files import TeamFiles

    class AllStores(MailStores, Protocol):
        """And a team's files as files."""

        @property
        def files(self) -> TeamFiles: ...

        @property
        def backups(self) -> Backups: ...


class Teamroom(Mailroom):
    """Everything that a team is made with."""

    __slots__ = ()

    stores: AllStores

    @property
    def files(self) -> TeamFiles:
        return self.stores.files

    @property
    def backups(self) -> Backups:
        return self.stores.backups
