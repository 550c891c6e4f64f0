"""What changed in teams, told as events: on twins, and on files that nobody can read."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.chaos import examples

from atm.events.rules import (
    MEMBER_CHANGED,
    MEMBER_JOINED,
    MEMBER_LEFT,
    MESSAGE_GONE,
    MESSAGE_READ,
    MESSAGE_WRITTEN,
    TASK_CHANGED,
    TASK_CREATED,
    TASK_GONE,
    TEAM_COMPLETED,
    TEAM_CREATED,
    TEAM_GONE,
    TeamEvent,
    event_from,
)
from atm.events.services import LONGEST_FACT, SETTLING, TeamEvents
from atm.files.formats.json_record import encode
from atm.files.formats.layout import Layout
from atm.mail.formats.inbox import Inbox, decode_row, malformed
from atm.mail.rules.messages import Message
from atm.roster.services.members import add_member, create_team, remove_member, update_member
from atm.roster.services.teamroom import Teamroom
from atm.team.rules.team import Member
from atm.testing import FakeClock, make_message, memory_boardroom, memory_room
from atm.wiring.board import build_tasks
from atm.wiring.mail import build_room


class World:
    """A team `crew` of ann and bob in memory, and somebody who watches it."""

    def __init__(self) -> None:
        self.room: Any = memory_room()
        self.boardroom = memory_boardroom(self.room)
        self.tasks: Any = self.boardroom.tasks
        create_team(self.room, "crew")
        for name in ("ann", "bob"):
            add_member(self.room, "crew", Member(name))
        self.events = TeamEvents(self.room, self.tasks)

    def write(self, *ids: str, team: str = "crew", agent: str = "ann", read: bool = False) -> None:
        rows = [make_message(id, read=read) for id in ids]
        self.room.inboxes.append(team, agent, rows, fresh=True)

    def put(self, *rows: Message) -> None:
        """What another program writes."""
        self.room.inboxes.foreign_rewrite("crew", "ann", [*rows])

    def task(self, number: int, status: str = "pending", owner: str = "", team: str = "crew", **more: object) -> None:
        record = {"id": str(number), "subject": f"s{number}", "status": status, "owner": owner, **more}
        self.tasks.write_as_others_do(team, number, json.dumps(record).encode())

    def inbox(self) -> list[tuple[str, object]]:
        return [(event.kind, event.detail.get("id")) for event in self.events.inbox("crew", "ann")]

    def board(self) -> list[tuple[str, str]]:
        return [(event.kind, event.subject) for event in self.events.tasks("crew")]


@pytest.fixture
def world() -> World:
    return World()


def kinds(events: list[TeamEvent]) -> list[str]:
    return [event.kind for event in events]


def told(events: list[TeamEvent]) -> list[tuple[str, str]]:
    return [(event.kind, event.subject) for event in events]


class TestMail:
    def test_what_is_there_at_first_is_no_news(self, world):
        world.write("a", "b")
        world.events.prime()
        assert world.inbox() == []
        assert world.events.everything() == []

    def test_a_new_row_is_told_with_who_and_what(self, world):
        world.events.prime()
        world.write("a")
        (event,) = world.events.inbox("crew", "ann")
        assert (event.kind, event.team, event.subject, event.at) == (
            *(MESSAGE_WRITTEN, "crew", "ann"),
            world.room.clock.now(),
        )
        assert event.detail == {"id": "a", "from": "ann", "summary": "text", "kind": "message", "unread": True}
        assert world.inbox() == []

    def test_reading_and_taking_out_are_told(self, world):
        world.write("a", "b")
        world.events.prime()
        world.room.inboxes.mark("crew", "ann", {"a"}, True)
        assert world.inbox() == [(MESSAGE_READ, "a")]
        world.put()
        found = world.events.inbox("crew", "ann")
        assert [(event.detail["id"], event.detail["was_read"]) for event in found] == [("a", True), ("b", False)]
        assert kinds(found) == [MESSAGE_GONE, MESSAGE_GONE]

    def test_a_row_that_is_given_back_is_told_again(self, world):
        world.write("a", read=True)
        world.events.prime()
        world.room.inboxes.mark("crew", "ann", {"a"}, False)
        (event,) = world.events.inbox("crew", "ann")
        assert (event.kind, event.detail["again"], event.detail["unread"]) == (MESSAGE_WRITTEN, True, True)
        assert world.inbox() == []

    def test_positions_say_nothing(self, world):
        world.write("a", "b", "c")
        world.events.prime()
        world.put(make_message("c"), make_message("d"), make_message("a"))
        assert world.inbox() == [(MESSAGE_GONE, "b"), (MESSAGE_WRITTEN, "d")]

    def test_an_inbox_that_is_new_is_told_row_by_row(self, world):
        world.events.prime()
        world.write("a", agent="cleo", read=True)
        assert kinds(world.events.inbox("crew", "cleo")) == [MESSAGE_WRITTEN]

    def test_structured_messages_are_told_by_their_kind(self, world):
        world.events.prime()
        idle = make_message("i", '{"type": "idle_notification", "from": "bob"}')
        world.put(idle, make_message("j", '{"type": "whatever"}'))
        assert [event.detail["kind"] for event in world.events.inbox("crew", "ann")] == ["idle_notification", "message"]

    def test_a_row_without_an_id_is_the_same_row_while_it_says_the_same(self, world):
        world.events.prime()
        row = decode_row('{"from": "x", "text": "hi", "timestamp": "t", "read": false}')
        assert row is not None
        world.put(row)
        (event,) = world.events.inbox("crew", "ann")
        assert event.detail["id"] is None
        assert world.inbox() == []
        world.put()
        (gone,) = world.events.inbox("crew", "ann")
        assert gone.detail["key"] == event.detail["key"]

    def test_two_copies_of_a_row_are_one_message_that_is_read_when_both_are(self, world):
        world.events.prime()
        world.put(make_message("a"), make_message("a", read=True))
        (event,) = world.events.inbox("crew", "ann")
        assert event.detail["unread"] is True
        world.put(make_message("a", read=True), make_message("a"))
        assert world.inbox() == []
        world.put(make_message("a", read=True), make_message("a", read=True))
        assert world.inbox() == [(MESSAGE_READ, "a")]

    def test_rows_that_are_no_messages_are_passed_over(self, world):
        world.events.prime()
        world.put(malformed("17"), make_message("a"), malformed("null"))
        assert world.inbox() == [(MESSAGE_WRITTEN, "a")]

    @pytest.mark.parametrize("id", ["x" * 5_000_000, "a\nb", "\ta", "\x1b[2J", "\ud800", " "])
    def test_ids_of_all_kinds_are_told_apart_and_cost_little(self, world, id):
        world.events.prime()
        world.put(make_message(id), make_message("b"))
        first = world.events.inbox("crew", "ann")
        assert kinds(first) == [MESSAGE_WRITTEN] * 2
        assert all(len(encode(event.fields())) < 1000 for event in first)
        assert world.inbox() == []
        world.put(make_message("b"))
        assert kinds(world.events.inbox("crew", "ann")) == [MESSAGE_GONE]

    def test_hostile_texts_are_cut_and_cannot_act_on_a_terminal(self, world):
        world.events.prime()
        row = {"from": "\x1b]0;x\x07" + "f" * 9999, "text": "t", "summary": "\x1b[2J" + "s" * 9999, "type": "k" * 9999}
        hostile = decode_row(encode({**row, "timestamp": "", "msg_id": "a", "read": False}))
        assert hostile is not None
        world.put(hostile)
        (event,) = world.events.inbox("crew", "ann")
        detail = {key: str(value) for key, value in event.detail.items()}
        assert (len(detail["summary"]), len(detail["from"]), len(detail["kind"])) == (100, LONGEST_FACT, LONGEST_FACT)
        assert "\x1b" not in detail["summary"] + detail["from"]

    def test_an_event_survives_as_a_line(self, world):
        world.events.prime()
        world.write("a")
        (event,) = world.events.inbox("crew", "ann")
        back = event_from(event.fields())
        assert back is not None
        assert back.detail == event.detail

    def test_large_inboxes_are_remembered_in_little_space(self, world):
        import tracemalloc

        rows = [make_message(f"{number:036d}", "word " * 200) for number in range(5000)]
        world.put(*rows)
        tracemalloc.start()
        world.events.prime()
        kept, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert kept < 5000 * 60
        world.put(*rows[:-1])
        assert world.inbox() == [(MESSAGE_GONE, rows[-1].id)]


class TestTasks:
    def test_a_task_is_told_when_it_comes_changes_and_goes(self, world):
        world.events.prime()
        world.task(1)
        (created,) = world.events.tasks("crew")
        assert (created.kind, created.subject) == (TASK_CREATED, "1")
        assert created.detail == {"subject": "s1", "status": "pending", "owner": ""}
        world.task(1, "in_progress", "ann")
        (changed,) = world.events.tasks("crew")
        assert changed.kind == TASK_CHANGED
        assert changed.detail["before"] == {"status": "pending", "owner": ""}
        world.tasks.delete("crew", 1)
        (gone,) = world.events.tasks("crew")
        assert (gone.kind, gone.detail) == (TASK_GONE, {"status": "in_progress", "owner": "ann"})
        assert world.board() == []

    def test_what_is_there_at_first_is_no_news(self, world):
        world.task(1)
        world.events.prime()
        assert world.board() == []

    def test_a_change_of_something_else_is_a_change(self, world):
        world.task(1)
        world.events.prime()
        world.task(1, blockedBy=["7"])
        (event,) = world.events.tasks("crew")
        assert (event.kind, event.detail["before"]) == (TASK_CHANGED, {})

    def test_a_task_that_failed_says_so(self, world):
        world.task(1)
        world.events.prime()
        world.task(1, "in_progress", metadata={"atm": {"outcome": "failed"}})
        assert [event.detail["status"] for event in world.events.tasks("crew")] == ["failed"]

    def test_a_file_that_is_no_task_says_nothing(self, world):
        world.task(1)
        world.events.prime()
        world.tasks.write_as_others_do("crew", 1, b"{torn")
        world.tasks.write_as_others_do("crew", 2, b"")
        assert world.board() == []
        world.task(1, "completed")
        world.task(2)
        assert world.board() == [(TASK_CHANGED, "1"), (TASK_CREATED, "2")]

    def test_bookkeeping_of_claude_code_is_nobodys_task(self, world):
        world.events.prime()
        world.task(1, metadata={"_internal": True})
        assert world.board() == []

    def test_a_list_without_a_team_is_nobodys(self, world):
        world.events.prime()
        world.task(1, team="nobody")
        assert world.events.tasks("nobody") == []


class TestMembers:
    def test_who_joins_changes_and_leaves_is_told(self, world):
        world.events.prime()
        add_member(world.room, "crew", Member("cleo", agent_type="tester"))
        (event,) = world.events.roster("crew")
        assert (event.kind, event.subject, event.detail["type"]) == (MEMBER_JOINED, "cleo", "tester")
        update_member(world.room, "crew", "cleo", {"model": "opus"})
        (event,) = world.events.roster("crew")
        assert (event.kind, event.detail) == (MEMBER_CHANGED, {"before": {"model": ""}, "after": {"model": "opus"}})
        remove_member(world.room, "crew", "cleo", force=True)
        assert told(world.events.roster("crew")) == [(MEMBER_LEFT, "cleo")]
        assert world.events.roster("crew") == []

    def test_a_completed_team_is_told_once(self, world):
        world.events.prime()
        world.room.states.complete("crew", b"{}")
        assert told(world.events.roster("crew")) == [(TEAM_COMPLETED, "crew")]
        assert world.events.roster("crew") == []


class TestTeams:
    def test_a_new_team_is_told_with_members_unread_mail_and_open_tasks(self, world):
        world.events.prime()
        create_team(world.room, "next")
        add_member(world.room, "next", Member("dan"))
        world.write("old", team="next", agent="dan", read=True)
        world.write("new", team="next", agent="dan")
        world.task(1, "completed", team="next")
        world.task(2, team="next")
        found = world.events.teams()
        assert told(found) == [
            *((TEAM_CREATED, "next"), (MEMBER_JOINED, "dan"), (MESSAGE_WRITTEN, "dan"), (TASK_CREATED, "2")),
        ]
        assert world.events.teams() == []
        assert world.events.everything() == []

    def test_a_team_that_vanished_is_one_event_and_forgotten(self, world):
        world.write(*map(str, range(100)))
        world.task(1)
        world.events.prime()
        world.room.rosters.take_away("crew")
        world.room.inboxes.take_away("crew")
        assert told(world.events.teams()) == [(TEAM_GONE, "crew")]
        for again in (world.events.everything(), world.events.tasks("crew"), world.events.inbox("crew", "ann")):
            assert again == []

    @pytest.mark.parametrize("look", ["roster", "everything", "teams"])
    def test_whichever_way_it_is_found_out(self, world, look):
        world.write("a")
        world.events.prime()
        world.room.rosters.take_away("crew")
        world.room.inboxes.take_away("crew")
        find: Callable[..., list[TeamEvent]] = getattr(world.events, look)
        assert told(find("crew") if look != "teams" else find()) == [(TEAM_GONE, "crew")]

    @pytest.mark.parametrize("look", ["roster", "everything", "inbox"])
    def test_a_new_team_is_found_whichever_way_one_looks(self, world, look):
        world.events.prime()
        create_team(world.room, "next")
        find: Callable[..., list[TeamEvent]] = getattr(world.events, look)
        assert told(find(*(["next", "ann"] if look == "inbox" else ["next"]))) == [(TEAM_CREATED, "next")]

    def test_another_team_of_the_same_name_is_another_team(self, world):
        world.write("a", "b")
        world.events.prime()
        world.room.rosters.take_away("crew")
        world.room.inboxes.take_away("crew")
        world.room.clock.pass_time(60)
        create_team(world.room, "crew")
        assert told(world.events.everything("crew")) == [(TEAM_GONE, "crew"), (TEAM_CREATED, "crew")]

    def test_a_new_start_forgets_everything_before(self, world):
        world.events.prime()
        world.write("a")
        world.events.prime()
        assert world.events.everything() == []


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def events(room: Teamroom, layout: Layout, clock: FakeClock) -> TeamEvents:
    """Over real files, with a clock of its own."""
    for agent in ("ann", "bob"):
        room.inboxes.append("crew", agent, [make_message(f"{agent}{n}") for n in range(3)], fresh=True)
    made = TeamEvents(build_room(layout, clock=clock), build_tasks(layout, clock=clock))
    made.prime()
    return made


def task_file(layout: Layout, number: int, text: str) -> Path:
    os.makedirs(layout.tasks("crew"), exist_ok=True)
    path = Path(layout.tasks("crew")) / f"{number}.json"
    path.write_text(text)
    return path


class TestWhatCannotBeRead:
    @pytest.mark.parametrize("content", [b"", b"[", b"{}", b"null", b"\xff\xfe", b"[" * 100_000])
    def test_an_inbox_says_nothing_until_it_can_be_read(self, events, layout, content):
        path = Path(layout.inbox("crew", "ann"))
        before = path.read_bytes()
        path.write_bytes(content)
        assert events.inbox("crew", "ann") == []
        assert events.everything() == []
        assert len(events.problems) == 1
        path.write_bytes(before.replace(b'"ann2"', b'"ann9"'))
        assert told(events.inbox("crew", "ann")) == [(MESSAGE_GONE, "ann"), (MESSAGE_WRITTEN, "ann")]
        assert events.problems == []

    def test_a_roster_says_nothing_until_it_can_be_read(self, events, layout, room):
        path = Path(layout.team_config("crew"))
        before = path.read_bytes()
        path.write_bytes(b"{torn")
        assert events.everything() == []
        assert len(events.problems) == 1
        room.inboxes.append("crew", "ann", [make_message("new")], fresh=True)
        assert kinds(events.inbox("crew", "ann")) == [MESSAGE_WRITTEN]
        path.write_bytes(before)
        assert events.everything() == []
        assert events.problems == []

    def test_a_team_that_cannot_be_read_yet_is_told_when_it_can(self, events, layout):
        os.makedirs(layout.inboxes("next"))
        Path(layout.team_config("next")).write_text("")
        assert events.teams() == []
        assert len(events.problems) == 1
        Path(layout.team_config("next")).write_text('{"members": [{"name": "dan"}]}')
        assert kinds(events.roster("next")) == [TEAM_CREATED, MEMBER_JOINED]
        shutil.rmtree(layout.team("next"))
        assert kinds(events.teams()) == [TEAM_GONE]
        assert events.problems == []

    def test_what_could_not_be_read_at_first_tells_only_what_is_unread(self, events, layout):
        path = Path(layout.inbox("crew", "ann"))
        rows = Inbox(path.read_bytes()).rows
        path.write_bytes(b"[")
        events.prime()
        assert len(events.problems) == 1
        path.write_text(f"[{rows[0].raw}, {rows[1].raw.replace('false', 'true')}]")
        assert [event.detail["id"] for event in events.inbox("crew", "ann")] == ["ann0"]

    def test_a_link_that_leads_out_of_the_team_is_a_problem_not_a_message(self, events, layout, tmp_path):
        (tmp_path / "outside.json").write_text('[{"from": "x", "text": "secret", "read": false}]')
        os.unlink(layout.inbox("crew", "ann"))
        os.symlink(tmp_path / "outside.json", layout.inbox("crew", "ann"))
        assert events.everything() == []
        assert len(events.problems) == 1

    def test_the_problems_of_a_team_go_with_it(self, events, layout):
        Path(layout.inbox("crew", "ann")).write_bytes(b"[")
        events.everything()
        shutil.rmtree(layout.team("crew"))
        assert kinds(events.teams()) == [TEAM_GONE]
        assert events.problems == []

    def test_a_folder_of_teams_that_is_no_folder_loses_nobody_twice(self, events, layout):
        shutil.rmtree(layout.teams)
        Path(layout.teams).write_text("x")
        assert kinds(events.teams()) == [TEAM_GONE]
        assert events.everything() == []


class TestWhatIsMissing:
    def test_an_inbox_is_gone_only_if_it_is_missing_for_a_while(self, events, layout, clock):
        os.unlink(layout.inbox("crew", "ann"))
        assert events.inbox("crew", "ann") == []
        assert events.everything() == []
        assert events.unsettled == ["crew"]
        clock.pass_time(SETTLING)
        assert kinds(events.everything("crew")) == [MESSAGE_GONE] * 3
        assert events.unsettled == []
        assert events.everything() == []

    def test_one_that_comes_back_in_time_was_never_away(self, events, layout, clock):
        path = Path(layout.inbox("crew", "ann"))
        before = path.read_bytes()
        path.unlink()
        assert events.inbox("crew", "ann") == []
        path.write_bytes(before)
        assert events.inbox("crew", "ann") == []
        assert events.unsettled == []
        path.unlink()
        clock.pass_time(SETTLING)
        assert events.inbox("crew", "ann") == []  # it counts from the last time it was there

    def test_an_empty_inbox_is_not_missing(self, events, layout):
        Path(layout.inbox("crew", "ann")).write_text("[]")
        assert kinds(events.inbox("crew", "ann")) == [MESSAGE_GONE] * 3
        assert events.unsettled == []

    def test_a_team_on_its_way_out_is_one_event(self, events, layout):
        task_file(layout, 1, '{"id": "1", "subject": "s", "status": "pending"}')
        assert kinds(events.tasks("crew")) == [TASK_CREATED]
        found = []
        for path in (layout.inbox("crew", "ann"), layout.inboxes("crew"), layout.tasks("crew"), layout.team("crew")):
            shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
            found += events.inbox("crew", "ann") + events.tasks("crew") + events.everything("crew")
        assert kinds(found) == [TEAM_GONE]
        assert events.unsettled == []

    def test_a_board_is_the_same_whether_read_from_files_or_from_its_index(self, events, layout):
        os.utime(task_file(layout, 1, '{"id": "1", "subject": "s", "status": "pending"}'), (1e9, 1e9))
        assert kinds(events.tasks("crew")) == [TASK_CREATED]
        assert events.tasks("crew") == []

    def test_a_list_that_is_deleted_is_told_after_a_while(self, events, layout, clock):
        task_file(layout, 1, '{"id": "1", "subject": "s", "status": "pending"}')
        assert kinds(events.tasks("crew")) == [TASK_CREATED]
        shutil.rmtree(layout.tasks("crew"))
        assert events.tasks("crew") == []
        assert events.unsettled == ["crew"]
        clock.pass_time(SETTLING)
        assert kinds(events.everything("crew")) == [TASK_GONE]
        assert events.unsettled == []


# Whatever happens, and whenever somebody looks: the events add up to what changed.

Names = st.sampled_from(["ann", "bob", "cleo"])
Teams = st.sampled_from(["crew", "next"])
Ids = st.lists(st.sampled_from("abcdef"), min_size=1, max_size=4, unique=True)
Steps = st.lists(
    st.one_of(
        st.tuples(st.just("append"), Teams, Names, Ids),
        st.tuples(st.just("mark"), Teams, Names, Ids, st.booleans()),
        st.tuples(st.just("remove"), Teams, Names, Ids),
        st.tuples(st.just("shuffle"), Teams, Names),
        st.tuples(st.just("task"), Teams, st.integers(1, 4), st.sampled_from(["pending", "completed"]), Names),
        st.tuples(st.just("delete_task"), Teams, st.integers(1, 4)),
        st.tuples(st.just("join"), Teams, Names),
        st.tuples(st.just("leave"), Teams, Names),
        st.tuples(st.just("found"), Teams),
        st.tuples(st.just("disband"), Teams),
        st.tuples(st.just("wait")),
        st.tuples(st.just("look"), Teams),
        st.tuples(st.just("look_closely"), Teams, Names),
    ),
    max_size=40,
)


class Sum:
    """The state of all teams: as it is, or as it must be after these events."""

    def __init__(self) -> None:
        self.members: set[tuple[str, str]] = set()
        self.mail: dict[tuple[str, str, object], bool] = {}
        self.tasks: dict[tuple[str, str], tuple[object, object]] = {}
        self.teams: set[str] = set()
        self.appeared: set[str] = set()

    @classmethod
    def of(cls, world: World) -> Sum:
        made = cls()
        for team in world.room.rosters.teams():
            made.teams.add(team)
            made.members |= {(team, name) for name in world.room.rosters.load(team).names}
            for agent in world.room.inboxes.owners(team):
                made.mail |= {(team, agent, row.id): not row.read for row in world.room.inboxes.rows(team, agent)}
            cards = world.tasks.board(team).cards.values()
            made.tasks |= {(team, card.id): (card.status, card.owner) for card in cards}
        return made

    def add(self, event: TeamEvent) -> None:
        key, mail = (event.team, event.subject), (event.team, event.subject, event.detail.get("id"))
        if event.kind == TEAM_CREATED:
            assert event.team not in self.teams
            self.teams.add(event.team)
            self.appeared.add(event.team)
        elif event.kind == TEAM_GONE:
            self.teams.remove(event.team)
            self.members = {one for one in self.members if one[0] != event.team}
            self.mail = {one: unread for one, unread in self.mail.items() if one[0] != event.team}
            self.tasks = {one: state for one, state in self.tasks.items() if one[0] != event.team}
        elif event.kind == MESSAGE_WRITTEN:
            assert self.mail.get(mail) is not True, "told twice"
            self.mail[mail] = bool(event.detail["unread"])
        elif event.kind == MESSAGE_READ:
            assert self.mail[mail] is True
            self.mail[mail] = False
        elif event.kind == MESSAGE_GONE:
            assert self.mail.pop(mail, False) is not event.detail["was_read"]
        elif event.kind in (TASK_CREATED, TASK_CHANGED):
            assert (event.kind == TASK_CREATED) <= (key not in self.tasks)
            self.tasks[key] = (event.detail["status"], event.detail["owner"])
        elif event.kind == TASK_GONE:
            self.tasks.pop(key, None)
        elif event.kind == MEMBER_JOINED:
            assert key not in self.members
            self.members.add(key)
        elif event.kind == MEMBER_LEFT:
            self.members.remove(key)

    def seen(self, appeared: set[str]) -> tuple[object, ...]:
        """What events can tell: of teams that appeared, nothing that was over by then."""
        mail = {one: unread for one, unread in self.mail.items() if unread or one[0] not in appeared}
        tasks = {one: state for one, state in self.tasks.items() if state[0] == "pending" or one[0] not in appeared}
        return self.teams, self.members, mail, tasks


def do(world: World, step: tuple[Any, ...]) -> list[TeamEvent]:
    verb, team, rest = step[0], step[1] if len(step) > 1 else "", step[2:]
    inboxes, rosters, is_there = world.room.inboxes, world.room.rosters, team in world.room.rosters.teams()
    if verb == "wait":
        world.room.clock.pass_time(SETTLING)
    elif verb == "found":
        if not is_there:
            create_team(world.room, team)
    elif verb == "look":
        return world.events.everything(team)
    elif verb == "look_closely":
        events = world.events
        return events.inbox(team, rest[0]) + events.tasks(team) + events.roster(team) + events.teams()
    elif not is_there:
        pass
    elif verb == "append":
        world.write(*rest[1], team=team, agent=rest[0])
    elif verb == "mark" and inboxes.exists(team, rest[0]):
        inboxes.mark(team, rest[0], {*rest[1]}, rest[2])
    elif verb in ("remove", "shuffle") and inboxes.exists(team, rest[0]):
        kept = [row for row in inboxes.rows(team, rest[0]) if verb == "shuffle" or row.id not in rest[1]]
        inboxes.foreign_rewrite(team, rest[0], kept[::-1])
    elif verb == "task":
        world.task(rest[0], rest[1], rest[2], team=team)
    elif verb == "delete_task" and rest[0] in world.tasks.files.get(team, {}):
        world.tasks.delete(team, rest[0])
    elif verb == "join" and rosters.load(team).member(rest[0]) is None:
        add_member(world.room, team, Member(rest[0]))
    elif verb == "leave" and rosters.load(team).member(rest[0]) is not None and not inboxes.unread(team, rest[0]):
        remove_member(world.room, team, rest[0], force=True)
    elif verb == "disband":
        rosters.take_away(team)
        inboxes.take_away(team)
        world.tasks.files.pop(team, None)
    return []


@given(steps=Steps)
@settings(max_examples=examples(100))
def test_events_add_up_to_the_difference_of_the_states(steps):
    world = World()
    world.write("a", "b")
    world.task(1)
    world.events.prime()
    total = Sum.of(world)
    for step in [*steps, ("look", "crew"), ("look", "next"), ("wait",), ("look", "crew"), ("look", "next")]:
        for event in do(world, step):
            total.add(event)
    assert total.seen(total.appeared) == Sum.of(world).seen(total.appeared)
    assert world.events.everything() == []
    assert (world.events.problems, world.events.unsettled) == ([], [])
