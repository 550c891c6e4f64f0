"""The digest plugin: once for each period, whatever happens in between, and it says what there is to say."""

from __future__ import annotations

import asyncio
import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from tests.proving import proves

from atm.board.services.new_tasks import NewTask
from atm.board.services.planning import add
from atm.events.rules import MESSAGE_ESCALATED, MESSAGE_FAILED, TeamEvent
from atm.roster.services.members import create_team
from atm.team.rules.liveness import Beat
from atm.teamd.plugins.api import MemberFacts, TeamFacts, Unread, Unsuitable
from atm.teamd.plugins.bundled.digest import Digest, Schedule, lines_of, schedule_from, span
from atm.teamd.plugins.kit import PluginHarness
from atm.testing import memory_boardroom

HOUR, DAY = 3600.0, 86_400.0


def with_digest(play: Any, tmp_path: Path, **config: Any) -> None:
    async def run() -> None:
        wanted = {"every": "1h", "to": "ann", **config}
        async with PluginHarness(Digest(), config=wanted, temp_dir=str(tmp_path)) as kit:
            await play(kit)

    asyncio.run(run())


async def next_hour(kit: PluginHarness) -> None:
    await kit.pass_time(HOUR - kit.now() % HOUR)


@proves("R001-1-19")
def test_a_period_is_told_when_it_is_over_and_only_once(tmp_path):
    async def play(kit: PluginHarness) -> None:
        assert kit.sent == []  # met in the middle of a period
        kit.write("bob", "hello")
        await next_hour(kit)
        assert len(kit.sent) == 1
        await kit.pass_time(61)
        await kit.pass_time(61)
        assert len(kit.sent) == 1
        await next_hour(kit)
        assert len(kit.sent) == 2
        assert [one.to for one in kit.sent] == ["ann", "ann"]

    with_digest(play, tmp_path)


def test_what_is_unread_stands_in_it_with_the_age_of_the_oldest(tmp_path):
    async def play(kit: PluginHarness) -> None:
        kit.write("bob", "first")
        await kit.pass_time(2 * HOUR)
        text = kit.sent[-1].text
        assert "bob: 1, the oldest 2 h old" in text
        assert "Digest for crew" in text.splitlines()[0]
        assert kit.sent[-1].summary == text.splitlines()[0]

    with_digest(play, tmp_path)


def test_a_restart_within_a_period_tells_it_no_second_time(tmp_path):
    sent: list[int] = []
    clock: list[float] = []

    async def first(kit: PluginHarness) -> None:
        await next_hour(kit)
        sent.append(len(kit.sent))
        clock.append(kit.now())

    async def second(kit: PluginHarness) -> None:
        await kit.pass_time(clock[0] + 120 - kit.now())
        sent.append(len(kit.sent))
        await next_hour(kit)
        sent.append(len(kit.sent))

    with_digest(first, tmp_path)
    with_digest(second, tmp_path)
    assert sent == [1, 0, 1]


def test_a_clock_that_was_set_back_tells_nothing_twice_and_one_that_ran_ahead_is_forgotten(tmp_path):
    async def play(kit: PluginHarness) -> None:
        await next_hour(kit)
        kit.clock.jump(-HOUR)
        await kit.pass_time(61)
        assert len(kit.sent) == 1
        kit.clock.jump(-5 * DAY)
        await kit.pass_time(61)
        assert len(kit.sent) == 2
        await kit.pass_time(61)
        assert len(kit.sent) == 2

    with_digest(play, tmp_path)


def test_periods_that_nobody_was_awake_for_are_told_as_one(tmp_path):
    async def play(kit: PluginHarness) -> None:
        await kit.pass_time(50 * HOUR)
        assert len(kit.sent) == 1

    with_digest(play, tmp_path)


@proves("R001-5.7-04")
def test_the_message_of_a_period_cannot_arrive_twice_although_everything_is_forgotten(tmp_path):
    async def play(kit: PluginHarness) -> None:
        await next_hour(kit)
        digest: Any = kit.plugin
        digest.memory.told = dict.fromkeys(digest.memory.told, 0)
        await kit.pass_time(61)
        assert len(kit.sent) == 2
        assert len(kit.unread("ann")) == 1

    with_digest(play, tmp_path)


@proves("R001-5.7-04")
@pytest.mark.parametrize("text", ["", "{", "[]", '{"told": 5, "counts": {"crew": 7}}', '{"told": {"crew": "1"}}'])
def test_a_memory_that_is_damaged_is_a_new_beginning(tmp_path, text):
    (tmp_path / "digest.json").write_text(text)

    async def play(kit: PluginHarness) -> None:
        assert kit.sent == []
        await next_hour(kit)
        assert len(kit.sent) == 1

    with_digest(play, tmp_path)
    assert json.loads((tmp_path / "digest.json").read_text())["told"]


def test_a_folder_that_cannot_be_written_does_not_stop_it(tmp_path):
    async def play(kit: PluginHarness) -> None:
        (tmp_path / "digest.json.new").mkdir()
        await next_hour(kit)
        assert len(kit.sent) == 1
        assert any("could not be written down" in line.text for line in kit.logs)
        (tmp_path / "digest.json.new").rmdir()

    with_digest(play, tmp_path)


def test_nothing_to_report_is_said_or_skipped(tmp_path):
    async def play(kit: PluginHarness) -> None:
        await next_hour(kit)
        assert kit.sent[0].text.endswith("Nothing to report.")

    async def skipping(kit: PluginHarness) -> None:
        await next_hour(kit)
        assert kit.sent == []
        kit.write("bob", "hello")
        await next_hour(kit)
        assert len(kit.sent) == 1

    with_digest(play, tmp_path / "one")
    with_digest(skipping, tmp_path / "two", skip_empty=True)


def test_tasks_silent_members_and_escalations_stand_in_it(tmp_path):
    async def play(kit: PluginHarness) -> None:
        boardroom = memory_boardroom(kit.room)
        kit._plugin_room.tasks = boardroom.tasks
        add(boardroom, "crew", "ann", [NewTask("one"), NewTask("two")])
        kit.room.presence.beat("crew", "bob", Beat(at=kit.now(), source="test"))
        kit.emit(TeamEvent(MESSAGE_ESCALATED, "crew", "bob", kit.now()))
        kit.emit(TeamEvent(MESSAGE_FAILED, "crew", "bob", kit.now()))
        kit.emit(TeamEvent(MESSAGE_FAILED, "another", "bob", kit.now()))
        await kit.settle()
        await kit.pass_time(2 * HOUR)
        text = kit.sent[-1].text
        assert "2 pending" in text
        assert "Silent\n  bob for 2 h" in text
        assert "1 message escalated" in text
        assert "1 message given up" in text
        await next_hour(kit)
        assert "escalated" not in kit.sent[-1].text  # counted for each period

    with_digest(play, tmp_path)


@proves("R001-5.1-09")
def test_what_was_counted_outlives_a_restart(tmp_path):
    async def first(kit: PluginHarness) -> None:
        kit.emit(TeamEvent(MESSAGE_ESCALATED, "crew", "bob", kit.now()))
        await kit.settle()

    async def second(kit: PluginHarness) -> None:
        await next_hour(kit)
        assert "1 message escalated" in kit.sent[0].text

    with_digest(first, tmp_path)
    with_digest(second, tmp_path)


def test_every_team_of_ours_gets_its_own_and_teams_of_claude_code_none(tmp_path):
    async def play(kit: PluginHarness) -> None:
        create_team(kit.room, "second", lead="carl")
        kit.room.rosters.create("session-12345678", b'{"name": "session-12345678", "members": []}')
        await kit.pass_time(61)
        await next_hour(kit)
        assert [(one.team, one.to) for one in kit.sent] == [("second", "carl")]
        assert any("no digest for crew" in line.text for line in kit.logs)  # its lead is on no roster

    with_digest(play, tmp_path, to="")


def test_only_the_teams_that_were_named_are_told(tmp_path):
    async def play(kit: PluginHarness) -> None:
        create_team(kit.room, "second", lead="ann")
        await next_hour(kit)
        assert [one.team for one in kit.sent] == ["second"]
        warnings = [line.text for line in kit.logs if "no-such-team" in line.text]
        assert len(warnings) == 1
        await kit.pass_time(61)
        assert len([line for line in kit.logs if "no-such-team" in line.text]) == 1

    with_digest(play, tmp_path, teams=["second", "no-such-team"])


# When.


@pytest.mark.parametrize(
    ("every", "seconds"), [("24h", DAY), ("90m", 5400), ("7d", 7 * DAY), (3600, 3600), ("1.5h", 5400), (" 2h ", 7200)]
)
def test_every_is_a_span_of_time(every, seconds):
    assert schedule_from({"every": every}).every == seconds


@pytest.mark.parametrize(
    "config",
    [
        *({"every": bad} for bad in ("", "h", "soon", "0h", "-1h", "10", "500d", True, "nanh", "infd")),
        *({"at": bad} for bad in ("", "9", "25:00", "09:60", "noon", "-1:00", 900)),
        {"every": "24h", "at": "09:00"},
    ],
)
def test_times_that_cannot_be_disable_it_with_a_reason(config):
    with pytest.raises(Unsuitable, match=r"plugins\.digest"):
        schedule_from(config)


def test_a_day_ends_at_the_time_of_this_machine():
    schedule = schedule_from({"at": "09:00"})
    noon = datetime(2026, 11, 15, 12, 0).timestamp()
    nine = datetime(2026, 11, 15, 9, 0).timestamp()
    before = datetime(2026, 11, 14, 9, 0).timestamp()
    assert schedule.period(noon) == nine
    assert schedule.period(nine) == nine
    assert schedule.period(nine - 1) == before


def test_without_settings_it_is_once_a_day():
    assert schedule_from({}) == Schedule(every=DAY)


# The text.


def test_names_cannot_break_the_text():
    member = MemberFacts("ev\x1b[31mil\nSilent", "agent", Unread("x", 1, None), "offline", None)
    lines = lines_of(TeamFacts("crew", "ann", False, (member,), problems=("torn\nfile",)), {}, 0.0)
    assert not [line for line in lines if "\x1b" in line or "\n" in line]
    assert "  torn file" in lines


@pytest.mark.parametrize(("seconds", "words"), [(5, "5 s"), (65, "1 min"), (7300, "2 h"), (200_000, "2 d")])
def test_spans_are_told_in_one_unit(seconds, words):
    assert span(seconds) == words
