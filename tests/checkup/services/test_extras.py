"""What was left out when atm was installed: doctor names each, and how to get it."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from atm.checkup.services.surroundings import examine_extras
from atm.setup.rules.installation import EXTRAS
from atm.wiring.checkup import find_extras

PROJECT = Path(__file__).parents[3] / "pyproject.toml"


class NoVendors:
    """No agent program is here, so nothing of ours is entered anywhere."""

    def can_serve(self) -> bool:
        return True


def told(extras: dict[str, bool]) -> list[object]:
    files: Any = NoVendors()
    return [*examine_extras(files, "", extras, lambda *extras: f"get {' '.join(extras)}")]


def test_every_extra_of_the_package_is_known_to_doctor():
    declared = tomllib.loads(PROJECT.read_text())["project"]["optional-dependencies"]
    assert set(EXTRAS) == set(declared) == set(find_extras())


def test_what_is_not_installed_is_said_with_the_command_that_brings_it():
    assert told({"tui": False, "web": True, "mcp": False}) == ["tui no, web yes, mcp no; the others: get tui mcp"]


def test_where_everything_is_installed_nothing_is_advised():
    assert told({"tui": True, "web": True}) == ["tui yes, web yes"]
