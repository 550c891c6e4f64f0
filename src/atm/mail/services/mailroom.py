"""The ports that the verbs of mail need, in one hand, and how an address becomes a recipient."""

from __future__ import annotations

from atm.core.errors import AtmError, NoSuchTeam
from atm.core.names import find_name, is_claudes_team, nearest_name, same_name
from atm.mail.rules.lifetimes import MOST_TRIES
from atm.mail.rules.quotas import Quota
from atm.team.rules.team import check_open
from atm.team.services.registry import Registry, find_team

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from atm.files.ports.clock import Chance, Clock
    from atm.mail.ports.stores import Archive, Inboxes, Ledger, Spool, UpkeepMarks
    from atm.mail.ports.surfacing import Surfacings
    from atm.mail.ports.surroundings import Drift
    from atm.mail.rules.lifetimes import RetentionPolicy
    from atm.team.ports.rosters import Rosters
    from atm.team.rules.team import Member, Team
    from atm.team.services.registry import TeamStores

    class MailStores(TeamStores, Protocol):
        """And those of mail around the inboxes. An agent's hook that finds no mail asks for none of them."""

        @property
        def ledger(self) -> Ledger: ...

        @property
        def spool(self) -> Spool: ...

        @property
        def archive(self) -> Archive: ...

        @property
        def marks(self) -> UpkeepMarks: ...

        @property
        def drift(self) -> Drift: ...

        @property
        def surfacings(self) -> Surfacings: ...


MOST_LOOKED_AT = 50
"""Inboxes that every mail command can afford to look at: 60 microseconds each."""


class Troubles:
    """
    What went wrong beside the work and stopped nothing: a ledger that cannot be read, a sign of life that cannot be
    written. No errors: whoever asked gets what they asked for, and is told of these afterwards, once.
    """

    __slots__ = ("_told", "all")

    MOST = 20
    """One process meets the same few again and again; a daemon must not collect them for weeks."""

    def __init__(self) -> None:
        self.all: list[str] = []
        self._told = 0

    def note(self, what: str) -> None:
        if what not in self.all and len(self.all) < self.MOST:
            self.all.append(what)

    def news(self) -> list[str]:
        """Those that nobody was told of yet."""
        fresh, self._told = self.all[self._told :], len(self.all)
        return fresh

    def hand_over(self) -> list[str]:
        """The same, and forgotten: a server says with each answer what was in the way of that one."""
        fresh = self.news()
        self.all, self._told = [], 0
        return fresh


class Mailroom(Registry):
    """Everything that mail is made with."""

    __slots__ = ("compact_claudes", "has_keeper", "inboxes", "most_tries", "policy", "quota", "troubles")

    stores: MailStores

    def __init__(
        self,
        *,
        clock: Clock,
        chance: Chance,
        rosters: Rosters,
        stores: MailStores,
        inboxes: Inboxes,
        policy: RetentionPolicy,
        compact_claudes: bool = False,
        most_tries: int = MOST_TRIES,
        quota: Quota | None = None,
        troubles: Troubles | None = None,
    ) -> None:
        Registry.__init__(self, clock=clock, chance=chance, rosters=rosters, stores=stores)
        self.inboxes = inboxes
        self.policy = policy
        self.compact_claudes = compact_claudes
        self.most_tries = most_tries
        self.quota = quota or Quota()
        self.has_keeper = False
        """Is this in a daemon, which looks at every inbox that changes? Then a verb looks after its own alone."""
        self.troubles = troubles or Troubles()
        """What of our own books could not be read or written: mail goes on without, and whoever asked is told."""

    @property
    def ledger(self) -> Ledger:
        return self.stores.ledger

    @property
    def spool(self) -> Spool:
        return self.stores.spool

    @property
    def archive(self) -> Archive:
        return self.stores.archive

    @property
    def marks(self) -> UpkeepMarks:
        return self.stores.marks

    @property
    def drift(self) -> Drift:
        return self.stores.drift

    @property
    def surfacings(self) -> Surfacings:
        return self.stores.surfacings


class Recipient:
    """A mailbox that exists. `member` is None for one whose owner has left the roster."""

    __slots__ = ("agent", "member", "team")

    def __init__(self, team: Team, agent: str, member: Member | None) -> None:
        self.team = team
        self.agent = agent
        self.member = member

    @property
    def team_name(self) -> str:
        return self.team.name

    @property
    def in_claudes_team(self) -> bool:
        return is_claudes_team(self.team.name)


def find_recipient(room: Mailroom, team: str, agent: str) -> Recipient:
    """
    Who an address means.

    A member; or a former one who left the roster but still has an inbox. Never a new inbox for a name that was
    only mistyped: mail would rot there unseen.
    """
    return recipient_in(room, find_team(room, team), agent)


def recipient_in(room: Mailroom, found: Team, agent: str) -> Recipient:
    """The same for whoever has just read the roster."""
    member = found.member(agent)
    if member is not None:
        return Recipient(found, member.name, member)
    former = find_name(agent, room.inboxes.owners(found.name))
    if former is not None:
        return Recipient(found, former, None)
    from atm.core.untrusted_text import shell_words

    near = nearest_name(agent, found.names)
    hint = "" if found.members else f"add one with `atm teams add-member {shell_words(found.name)} NAME`"
    raise found.lacks(agent, f"did you mean {near!r}?" if near else hint)


def touched_by_others(
    room: Mailroom, team: Team, about: str | None = None, unclear: list[str] | None = None
) -> set[str]:
    """
    Whose inboxes a foreign program wrote to, or took away: rows of ours may be missing there (D24).

    In a large team, a command that is about one inbox looks at that one alone. `unclear` gets those to which one of us
    is writing at this moment: whoever waits for changes may hear of no other, and has to look again.
    """
    if is_claudes_team(team.name) or team.completed:
        return set()  # there, absence means consumed or unknown; or nothing may change any more
    try:
        names = {about} if about is not None and room.has_keeper else {*room.inboxes.owners(team.name), *team.names}
        if about is not None and len(names) > MOST_LOOKED_AT:
            names = {about}
        touched = {agent: room.inboxes.touched(team.name, agent) for agent in names}
    except AtmError:
        return set()  # a look that fails must not keep the message from being sent
    if unclear is not None:
        unclear += [agent for agent, answer in touched.items() if answer is None]
    return {agent for agent, answer in touched.items() if answer}


def find_addressee(room: Mailroom, team: str, agent: str) -> Recipient:
    """The same for whoever addresses mail: `lead` is the team's lead, unless a member is called that."""
    found = find_team(room, team)
    return recipient_in(room, found, found.addressee(agent))


def find_open_addressee(room: Mailroom, team: str, agent: str) -> Recipient:
    to = find_addressee(room, team, agent)
    check_open(to.team)
    return to


def find_open_recipient(room: Mailroom, team: str, agent: str) -> Recipient:
    """The same for whoever is about to write: a completed team takes no more mail."""
    to = find_recipient(room, team, agent)
    check_open(to.team)
    return to


def home_of(room: Mailroom, sender: str, target: str) -> str | None:
    """The team of somebody who writes to another one and has not said from where: the only other that they are in."""
    others = [name for name in room.rosters.teams() if not same_name(name, target)]
    if not others or find_team(room, target).member(sender) is not None:
        return None
    mine = [name for name in others if _has(room, name, sender)]
    return mine[0] if len(mine) == 1 else None


def _has(room: Mailroom, team: str, name: str) -> bool:
    try:
        return room.rosters.load(team).member(name) is not None
    except AtmError:  # whoever names that team is told
        return False


def sender_address(room: Mailroom, sender: str, home: str | None, target: str) -> str:
    """What `from` says: the bare name inside a team, `name@team` across teams, so that a reply finds its way."""
    if home is None or same_name(home, target) or "@" in sender:
        return sender
    try:
        team = find_team(room, home)
    except NoSuchTeam:
        return sender
    return f"{sender}@{team.name}" if team.member(sender) else sender
