"""
Limits for each user of this machine: one user's attempts and connections take nothing from another.

A loopback port is open to every user. Without limits of their own, connections and failed sign-ins of one user would
keep the owner of the server out.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from atm.ui.http.refusing import Bucket

MOST_CONNECTIONS = 500
OF_OTHER_USERS = 160
"""Connections of all other users together. The rest is the server's own user's."""
OF_EACH_USER = 32
"""Connections of one other user: a browser opens six."""
MOST_PEERS = 256
"""Users whose buckets are kept; full buckets are forgotten first."""

STATE = "atm.peer"
"""Where a request's scope names its peer."""


@dataclass(frozen=True, slots=True)
class Peer:
    """Whose the other end of a connection is."""

    name: str
    is_own: bool


UNKNOWN = Peer("unknown", is_own=False)
"""The connection was closed before the system was asked whose it is."""


def peer_of(user: int | None, own: int, address: str, *, can_tell: bool) -> Peer:
    """`can_tell`: does the system say which user a connection belongs to? Else its address stands for all users."""
    if not can_tell:
        return Peer(f"address {address}", is_own=True)
    return UNKNOWN if user is None else Peer(f"user {user}", is_own=user == own)


@dataclass(slots=True)
class OpenConnections:
    """How many connections each peer has open."""

    counts: Counter[Peer] = field(default_factory=Counter)

    def open(self, peer: Peer) -> bool:
        """Count one more; False if this peer has too many."""
        if not self._has_room(peer):
            return False
        self.counts[peer] += 1
        return True

    def close(self, peer: Peer) -> None:
        self.counts[peer] -= 1
        if self.counts[peer] <= 0:
            del self.counts[peer]

    def _has_room(self, peer: Peer) -> bool:
        if peer.is_own:
            return self.counts[peer] < MOST_CONNECTIONS - OF_OTHER_USERS
        others = sum(count for one, count in self.counts.items() if not one.is_own)
        return self.counts[peer] < OF_EACH_USER and others < OF_OTHER_USERS


@dataclass(slots=True)
class PeerBuckets:
    """One bucket of calls for each peer."""

    most: float
    buckets: dict[str, Bucket] = field(default_factory=dict)

    def take(self, peer: str, now: float, rate: float) -> float:
        """0 if the peer has a call left; else the seconds until it has."""
        if peer not in self.buckets and len(self.buckets) >= MOST_PEERS:
            self._forget(now, rate)
        return self.buckets.setdefault(peer, Bucket(self.most, now)).take(now, self.most, rate)

    def _forget(self, now: float, rate: float) -> None:
        """The peer with most calls left loses least by it."""
        del self.buckets[max(self.buckets, key=lambda name: self.buckets[name].left_at(now, self.most, rate))]
