"""A team on disk, and the screen over it as `atm top` makes it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.conftest import Atm

from atm.ui.cli.session import Session
from atm.ui.cli.snapshot.top import build_reader
from atm.ui.tui.model import Model
from atm.ui.tui.reading import TeamReader


@pytest.fixture
def crew(atm: Atm) -> Atm:
    """ann asks a person, bob works, kite rests; #2 waits for #1."""
    atm.environment |= {"ATM_DAEMON_AUTOSTART": "0"}
    atm("teams", "create", "crew")
    for name in ("ann", "bob", "kite"):
        atm("teams", "add-member", "crew", name)
    for title in ("Write the parser", "Write the docs", "Release [b]0.4[/b]"):
        atm("tasks", "add", title)
    atm("tasks", "depend", "2", "--on", "1")
    atm("tasks", "claim", "1", "--as", "bob")
    atm("tasks", "clarify", "3", "--needs", "user", "--question", "which colour?", "--as", "ann")
    atm("send", "bob", "please look at the parser", "--from", "ann")
    return atm


@pytest.fixture
def reader(crew: Atm) -> TeamReader:
    return build_reader(Session(crew.environment))


@pytest.fixture
def new_model(reader: TeamReader) -> Callable[..., Model]:
    return lambda team="crew", **facts: Model(team=team, now=reader.session.room.clock.now(), **facts)
