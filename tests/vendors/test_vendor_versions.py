"""Which versions the lab has run: what is shipped, and what is installed there."""

from __future__ import annotations

import pytest
from tests.lab import programs

from atm.vendors.claude.team_folder import strange_in_team
from atm.vendors.known import every, get
from atm.vendors.versions import is_unseen

SEEN = {vendor.name: vendor.seen for vendor in every() if vendor.seen}
PACKAGES = {vendor.name: vendor.package for vendor in every() if vendor.package}


def test_what_is_shipped_is_what_the_lab_installs():
    pinned = programs.pinned(programs.MOST_MACHINES)
    assert {name: seen[-1] for name, seen in SEEN.items()} == {name: one.version for name, one in pinned.items()}
    assert {name: one.package for name, one in pinned.items()} == PACKAGES


@pytest.mark.parametrize(
    ("vendor", "version", "unseen"),
    [
        ("claude", SEEN["claude"][-1], False),
        ("claude", "99.0.0", True),
        ("codex", "0.1.0", True),
        ("claude", "", False),
        ("claude", "latest", False),
        ("agy", "1.2.3", False),
    ],
)
def test_a_version_is_unseen_if_it_can_be_named_and_was_not_run(vendor, version, unseen):
    known = get(vendor)
    assert known is not None
    assert is_unseen(known, version) is unseen


def test_what_claude_code_was_never_seen_to_keep_in_a_team_is_strange():
    assert strange_in_team(["config.json", "inboxes", "config.json.lock", ".tmp", "threads", "mail.db"]) == [
        "mail.db",
        "threads",
    ]
