"""Which vendors there are, and that each says the same wherever it is asked."""

from __future__ import annotations

import pytest

from atm.vendors.at_a_glance import PROCESSES, SHELL_VARIABLES
from atm.vendors.known import BUILT_IN, built_in, calls_of, get, hooks_of, in_agents_shells, of_process, of_word
from atm.vendors.settings_files import clients
from atm.vendors.vendor import Vendor


def test_what_is_known_at_a_glance_is_what_the_vendors_say():
    assert {process: vendor.name for vendor in built_in() for process in vendor.processes} == PROCESSES
    assert tuple(variable for vendor in built_in() for variable in vendor.variables) == SHELL_VARIABLES
    assert in_agents_shells() == SHELL_VARIABLES


@pytest.mark.parametrize("vendor", list(built_in()), ids=lambda vendor: vendor.name)
def test_each_part_that_a_vendor_names_is_there(vendor: Vendor):
    parts = (vendor.hooks, vendor.calls, vendor.runtime, vendor.screen, vendor.settings, vendor.conversations)
    assert any(part is not None for part in parts)
    assert {part.name for part in (vendor.runtime,) if part is not None} <= {vendor.name}
    assert vendor.title


def test_a_hook_of_a_former_name_is_the_vendors():
    assert get("antigravity") is get("agy")


def test_what_nobody_has_described_has_no_hooks_and_no_calls():
    assert get("nobody") is None
    assert hooks_of("nobody").events == {}
    assert calls_of("nobody").tools == {}
    assert calls_of("codex/no-such-protocol").tools == {}


def test_a_process_and_a_word_of_a_roster_name_a_vendor():
    assert of_process("codex") is get("codex")
    assert of_process("vim") is None
    words = {"claude-code": "claude", "in-process": "claude", "opus": "claude", "shell": "command", "gemini": "gemini"}
    assert {word: vendor.name for word in words if (vendor := of_word(word))} == words
    assert of_word("somebody") is None


def test_every_vendor_with_settings_can_start_our_server():
    assert list(clients()) == [name for name in BUILT_IN if name not in ("command", "script")]
