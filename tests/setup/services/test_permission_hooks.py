"""Permission hooks stand in vendors' settings where there is a policy, and nowhere else."""

from __future__ import annotations

import json

import pytest

from atm.vendors.settings import HOOKS, PLUGIN, ConfigFile, WantedEntries
from atm.vendors.settings_parts import parts_of

ATM = ("/opt/atm",)
WITH, WITHOUT = WantedEntries(ATM, permits=(True, False)), WantedEntries(ATM)
EVENTS = {"claude": {"PreToolUse": 600}, "codex": {"PreToolUse": 600, "PermissionRequest": 600}}
VENDORS = pytest.mark.parametrize(
    ("vendor", "events"), [*EVENTS.items(), ("gemini", {"BeforeTool": 600_000})], ids=["claude", "codex", "gemini"]
)
THEIRS = (
    '{\n  "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "mine.sh"}]}]}\n}\n'
)


def part(vendor: str, kind: str = HOOKS):
    (found,) = parts_of(ConfigFile("/settings", vendor, (kind,)), [kind])
    return found


def permits_in(text: str) -> dict[str, tuple[str, int]]:
    hooks = json.loads(text)["hooks"] if text.strip() else {}
    found = [(event, hook) for event, groups in hooks.items() for group in groups for hook in group["hooks"]]
    return {event: (hook["command"], hook["timeout"]) for event, hook in found if " permit " in hook["command"]}


@VENDORS
def test_a_policy_brings_them_with_a_line_that_denies_when_it_fails(vendor, events):
    found = permits_in(part(vendor).put("", WITH))
    wanted = {event: (f"/opt/atm permit {vendor} {event} || exit 2", limit) for event, limit in events.items()}
    assert found == wanted


@VENDORS
def test_without_a_policy_there_are_none(vendor, events):
    assert permits_in(part(vendor).put("", WITHOUT)) == {}
    assert events


@VENDORS
def test_they_go_when_the_policy_goes_and_nothing_else_does(vendor, events):
    one = part(vendor)
    before = one.put(THEIRS, WITHOUT)
    with_them = one.put(before, WITH)
    assert set(permits_in(with_them)) == set(events)
    assert one.look(before, WITH)[0].missing == tuple(events)
    assert one.look(with_them, WITHOUT)[0].outdated == tuple(events)
    assert one.look(with_them, WITH)[0].state == "installed"
    after = one.put(with_them, WITHOUT)
    assert json.loads(after) == json.loads(before)
    assert "mine.sh" in after
    assert one.take(with_them) == one.take(before) == THEIRS


def test_opencodes_plugin_asks_only_where_there_is_a_policy():
    plugin = part("opencode", PLUGIN)
    assert "const PERMITS = true" in plugin.put("", WITH)
    assert "const PERMITS = false" in plugin.put("", WITHOUT)
    assert plugin.look(plugin.put("", WITHOUT), WITH)[0].outdated == ("plugin",)


@VENDORS
def test_a_line_that_lost_its_end_is_out_of_date_and_gets_it_back(vendor, events):
    """Without it a hook that is killed would let the call run."""
    one = part(vendor)
    cut = one.put("", WITH).replace(" || exit 2", " 2>/dev/null")
    assert one.look(cut, WITH)[0].outdated == tuple(events)
    assert {command for command, _ in permits_in(one.put(cut, WITH)).values()} == {
        f"/opt/atm permit {vendor} {event} 2>/dev/null || exit 2" for event in events
    }
    assert one.look(one.put(cut, WITH), WITH)[0].state == "installed"
