"""Rooms without a disk: the rules of mail alone."""

from __future__ import annotations

import pytest

from atm.domain.mail.lifetimes import RetentionPolicy
from atm.domain.team.team import Member
from atm.services.roster.members import add_member, create_team
from atm.services.roster.teamroom import Teamroom
from atm.testing import memory_room


@pytest.fixture
def boardroom() -> Teamroom:
    """A mailroom in memory with a team `crew` of ann, bob and the absent cleo."""
    made = memory_room(policy=RetentionPolicy(compact_above=20, keep_read=5, keep_days=1, keep_idle=2))
    create_team(made, "crew")
    add_member(made, "crew", Member("ann"))
    add_member(made, "crew", Member("bob"))
    add_member(made, "crew", Member("cleo", is_active=False))
    return made
