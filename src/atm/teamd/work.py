"""What the daemon does, as plain functions over the services: each is the work of one loop and runs in a thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atm.teamd.board import BoardLoops
from atm.teamd.delivery import DeliveryLoops
from atm.teamd.mail import MailLoops
from atm.teamd.rounds import Rounds
from atm.teamd.team import TeamLoops
from atm.teamd.worksync import SyncWork

if TYPE_CHECKING:
    from atm.services.delivery.pushing import Channels
    from atm.services.worksync.syncroom import SyncRoom


class Work:
    """The loops of every topic over the same rounds."""

    def __init__(self, rounds: Rounds) -> None:
        self.rounds = rounds
        self.mail = MailLoops(rounds)
        self.delivery = DeliveryLoops(rounds)
        self.board = BoardLoops(rounds)
        self.team = TeamLoops(rounds, self.board.release, self._forget_all_but)
        self.sync = SyncWork(
            lambda: rounds.syncroom,
            rounds.log,
            rounds.ask_again_later,
            lambda: rounds.stall_minutes,
        )

    def use(self, syncroom: SyncRoom, channels: Channels, board_minutes: float, stall_minutes: float) -> None:
        """The settings have changed: from the next round on."""
        rounds = self.rounds
        rounds.syncroom, rounds.channels = syncroom, channels
        rounds.board_minutes, rounds.stall_minutes = board_minutes, stall_minutes

    def _forget_all_but(self, teams: set[str]) -> None:
        self.mail.forget_all_but(teams)
        self.delivery.forget_all_but(teams)
