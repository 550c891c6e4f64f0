"""A team on disk, and the page over it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.conftest import UNHURRIED, Atm
from tests.teamd.conftest import DaemonProcess
from tests.teamd.conftest import house as plain_house
from tests.web.served import Browser, PageServer

__all__ = ["plain_house"]

pytest.importorskip("starlette", reason="needs the extra web")


@pytest.fixture
def house(plain_house: DaemonProcess) -> DaemonProcess:
    """As everywhere; on a busy machine its daemon answers late, and refuses nobody for that."""
    plain_house.atm.environment["PYTHONPATH"] = str(UNHURRIED)
    return plain_house


@pytest.fixture(scope="session")
def crew_on_disk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home that each test has a copy of: eleven commands are told once."""
    folder = tmp_path_factory.mktemp("crew")
    atm = Atm(folder / "home", folder)
    atm.environment |= {"ATM_DAEMON_AUTOSTART": "0"}
    atm("teams", "create", "crew", env={"ATM_IDENTITY": "human"})  # without whoever makes it
    for name in ("ann", "bob", "kite"):
        atm("teams", "add-member", "crew", name)
    for title in ("Write the parser", "Write the docs", "Release 0.4"):
        atm("tasks", "add", title)
    atm("tasks", "depend", "2", "--on", "1")
    atm("tasks", "claim", "1", "--as", "bob")
    atm("tasks", "clarify", "3", "--needs", "user", "--question", "which colour?", "--as", "ann")
    atm("send", "bob", "please look at the parser", "--from", "ann")
    return atm.home


@pytest.fixture
def crew(atm: Atm, crew_on_disk: Path) -> Atm:
    """ann asks a person, bob works, kite rests; #2 waits for #1."""
    atm.environment |= {"ATM_DAEMON_AUTOSTART": "0"}
    shutil.copytree(crew_on_disk, atm.home, dirs_exist_ok=True)
    return atm


@pytest.fixture
def server(crew: Atm) -> Iterator[PageServer]:
    made = PageServer({**crew.environment}, str(crew.folder))
    yield made
    made.stop()


@pytest.fixture
def browser(server: PageServer) -> Browser:
    return server.browser()
