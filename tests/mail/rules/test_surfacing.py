"""Through which channel, how much at once, and what must not wait."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.proving import proves

from atm.delivery.rules.channels import (
    ANY,
    NATIVE_BACKENDS,
    NEVER,
    URGENT,
    WAIT,
    WAKE,
    choose_channel,
    from_the_oldest,
    is_urgent,
    keeps_from_stopping,
    too_large_in_words,
    urgent_first,
)
from atm.mail.rules.messages import Message, with_ack_request, with_request_marker
from atm.mail.rules.surfacing import PANE, SERVER
from atm.team.rules.endpoints import Endpoint
from atm.team.rules.team import Member
from atm.testing.mail import make_message


def message(text: str = "hello", *, id: str | None = "m-1") -> Message:
    return Message(id=id, sender="bob", text=text, timestamp="2026-08-27T10:15:30.123Z", read=False)


def endpoint(**more: Any) -> Endpoint:
    return Endpoint(session="s-1", at=0.0, **{"vendor": "", **more})


HOOKED = {"vendor": "claude"}
IN_PANE = {"pane": "%1", "server": "/tmp/tmux"}
UNPROVEN = {"vendor": "opencode", "url": "http://127.0.0.1:4096"}
SERVED = {**UNPROVEN, "url_pid": 7}


@proves("R000-delivery-retry-01")
@pytest.mark.parametrize(
    ("where", "is_idle", "panes_allowed", "step"),
    [
        (HOOKED, False, True, WAIT),
        (HOOKED, True, True, WAIT),
        ({**HOOKED, **IN_PANE}, False, True, WAIT),
        ({**HOOKED, **IN_PANE}, True, True, WAKE),
        ({**HOOKED, **IN_PANE}, True, False, WAIT),
        (SERVED, False, True, SERVER),
        (UNPROVEN, False, True, WAIT),  # anybody may listen there
        (SERVED, True, False, SERVER),
        ({**SERVED, **IN_PANE}, True, True, SERVER),
        (IN_PANE, False, True, PANE),
        (IN_PANE, True, True, PANE),
        (IN_PANE, True, False, WAIT),
        ({}, True, True, WAIT),
    ],
)
def test_the_best_way_to_an_agent(where, is_idle, panes_allowed, step):
    choice = choose_channel(
        Member("ann"), endpoint(**where), in_claudes_team=False, is_idle=is_idle, panes_allowed=panes_allowed
    )
    assert choice.step == step
    assert choice.why


@pytest.mark.parametrize("backend", ["human", "human:mail", "plugin:chat"])
def test_whoever_is_no_agent_is_left_to_read_its_inbox(backend):
    found = choose_channel(
        Member("ann", backend=backend), endpoint(**SERVED), in_claudes_team=False, is_idle=True, panes_allowed=True
    )
    assert found.step == WAIT


@pytest.mark.parametrize("backend", NATIVE_BACKENDS)
@pytest.mark.parametrize("where", [SERVED, {**HOOKED, **IN_PANE}, IN_PANE])
def test_what_claude_code_shows_itself_is_shown_by_nobody_else(backend, where):
    found = choose_channel(
        Member("ann", backend=backend), endpoint(**where), in_claudes_team=False, is_idle=True, panes_allowed=True
    )
    assert found.step == WAIT


def test_in_a_team_of_claude_code_nobody_is_pushed_to():
    found = choose_channel(Member("ann"), endpoint(**SERVED), in_claudes_team=True, is_idle=True, panes_allowed=True)
    assert found.step == WAIT


def test_without_a_session_there_is_nothing_to_push_to():
    assert choose_channel(Member("ann"), None, in_claudes_team=False, is_idle=True, panes_allowed=True).step == WAIT


@pytest.mark.parametrize(
    ("text", "urgent"),
    [
        ("[URGENT] main is broken", True),
        (with_ack_request("please look", "m-1", 15), True),
        (with_request_marker("which port?", "r-1"), True),
        ("not [URGENT] at all", False),
        ("[urgent] in small letters", False),
        ("URGENT", False),
        ("hello", False),
        ("", False),
    ],
)
def test_what_is_urgent(text, urgent):
    assert is_urgent(message(text)) is urgent


@pytest.mark.parametrize(
    ("texts", "which", "kept"),
    [
        ([], URGENT, False),
        ([], ANY, False),
        ([], NEVER, False),
        (["hello"], URGENT, False),
        (["hello"], ANY, True),
        (["hello"], NEVER, False),
        (["hello", "[URGENT] stop"], URGENT, True),
        (["hello", "[URGENT] stop"], ANY, True),
        (["hello", "[URGENT] stop"], NEVER, False),
    ],
)
def test_which_mail_keeps_an_agent_from_stopping(texts, which, kept):
    assert keeps_from_stopping([message(text) for text in texts], which) is kept


SIZES = st.lists(st.integers(min_value=0, max_value=10_000), max_size=30)


@given(sizes=SIZES, room=st.integers(min_value=-10_000, max_value=50_000))
def test_what_fits_is_always_a_prefix_and_never_nothing(sizes, room):
    unread = [message("x" * size, id=f"m-{number}") for number, size in enumerate(sizes)]
    chosen = from_the_oldest(unread, room, lambda one: len(one.text))
    assert chosen == unread[: len(chosen)]
    assert bool(chosen) == bool(unread)


@given(sizes=SIZES, room=st.integers(min_value=0, max_value=50_000))
def test_all_that_fits_is_taken_and_no_more(sizes, room):
    unread = [message("x" * size, id=f"m-{number}") for number, size in enumerate(sizes)]
    count = len(from_the_oldest(unread, room, lambda one: len(one.text)))
    fitting = [number for number in range(1, len(sizes) + 1) if sum(sizes[:number]) <= room]
    assert count == max(fitting, default=min(1, len(sizes)))  # the oldest is taken even if it is too large


@pytest.mark.parametrize(
    ("host", "boot", "is_on"),
    [("here", "b1", True), ("here", "b2", False), ("there", "b1", False), ("here", "", True)],
)
def test_an_endpoint_means_something_only_on_its_machine_since_it_was_started(host, boot, is_on):
    assert endpoint(host="here", boot="b1").is_on(host, boot) is is_on


def test_an_endpoint_that_does_not_know_its_boot_is_believed():
    assert endpoint(host="here").is_on("here", "b1")


def test_what_fits_altogether_stays_in_its_order():
    unread = [make_message("1", "first"), make_message("2", "[URGENT] second")]
    assert urgent_first(unread, 100, lambda _: 10, lambda _: False) == unread


def test_where_not_everything_fits_urgent_mail_of_people_goes_first_then_that_of_others_then_the_oldest():
    said = [("ann", "one"), ("ann", "[URGENT] two"), ("ann", "Request-ID: three"), ("human", "[URGENT] four")]
    unread = [make_message(str(n), text, sender=sender) for n, (sender, text) in enumerate(said)]
    unread.append(make_message("4", "five"))
    for room, expected in ((10, "3"), (20, "13"), (30, "123"), (40, "0123")):
        chosen = urgent_first(unread, room, lambda _: 10, lambda sender: sender == "human")
        assert "".join(message.id or "" for message in chosen) == expected


def test_the_line_about_a_large_inbox_says_how_large_and_what_to_do():
    said = too_large_in_words(200 << 20)
    assert "200 MB" in said
    assert "`atm read`" in said
    assert "`atm cleanup --yes`" in said
