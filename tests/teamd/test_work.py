"""What each loop of the daemon does in one round, on twins: once, for whom it is about, one team's trouble alone."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from tests.proving import proves

from atm.board.services.new_tasks import NewTask
from atm.board.services.planning import add
from atm.board.services.working import claim
from atm.core.errors import UnreadableFile, WriteRefused
from atm.crew.rules.agents import AgentRecord
from atm.delivery.services.pushing import Channels
from atm.events.adapters.tree_watch import TreeWatch
from atm.events.rules import TeamEvent
from atm.events.services import TeamEvents
from atm.mail.rules.lifetimes import LONGEST_WAIT
from atm.mail.services.posting import Draft
from atm.mail.services.reading import Filter, take
from atm.mail.services.sending import send
from atm.roster.services.full_boardroom import FullBoardroom
from atm.roster.services.members import add_member, create_team
from atm.team.rules.endpoints import Endpoint
from atm.team.rules.liveness import SILENT_AFTER, Beat
from atm.team.rules.team import Member
from atm.team.services.endpoints import put_endpoint
from atm.teamd.events.watcher import Watcher
from atm.teamd.loops import IDLE, STUCK, Loop
from atm.teamd.parts.board import BoardLoops
from atm.teamd.parts.crew import CrewLoops
from atm.teamd.parts.delivery import DeliveryLoops
from atm.teamd.parts.mail import MailLoops, MailPart
from atm.teamd.parts.team import TeamLoops
from atm.teamd.rounds import Rounds
from atm.testing import make_message, memory_boardroom
from atm.testing.agents import memory_crewroom
from atm.testing.delivery import MemoryTerminals
from atm.testing.rooms import memory_syncroom
from atm.vendors.agent_servers import ACCEPTED, REFUSED, ServerAnswer


class Servers:
    """Agents' servers that answer as a test says. What they were told stands in `told`."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []
        self.answer = ACCEPTED

    def is_of(self, url: str, pid: int) -> bool:  # noqa: ARG002
        return True

    def refusal(self, url: str, session: str) -> str:  # noqa: ARG002
        return ""

    def tell(self, url: str, session: str, id: str, text: str) -> ServerAnswer:  # noqa: ARG002
        self.told.append((session, id))
        return ServerAnswer(self.answer, f"{url} said {self.answer}")


class Work:
    """The loops of these topics over the same rounds, as the daemon's parts have them."""

    def __init__(self, rounds: Rounds) -> None:
        self.rounds = rounds
        self.mail, self.delivery, self.board = MailLoops(rounds), DeliveryLoops(rounds), BoardLoops(rounds)
        self.team = TeamLoops(rounds, self.board.release, rounds.forget_all_but)
        rounds.forgetting = [self.mail.forget_all_but, self.delivery.forget_all_but]


class Stage:
    """A daemon's work without a daemon: two teams, `crew` and `calm`, and everything it says."""

    def __init__(self) -> None:
        self.boardroom: FullBoardroom = memory_boardroom()
        self.room: Any = self.boardroom.room
        self.servers = Servers()
        self.events: list[TeamEvent] = []
        self.lines: list[tuple[str, str, str]] = []
        for team in ("crew", "calm"):
            create_team(self.room, team, lead="lena")
            for name in ("ann", "bob"):
                add_member(self.room, team, Member(name))
        self.work = self.begin()

    def begin(self) -> Work:
        """As a daemon does that was started just now."""
        channels = Channels(MemoryTerminals(), lambda _: self.servers)
        rounds = Rounds(memory_syncroom(self.boardroom), channels, self.events.append, self.log)
        self.work = Work(rounds)
        return self.work

    def log(self, level: str, source: str, text: str, **_: object) -> None:
        self.lines.append((level, source, text))

    def kinds(self, *of: str) -> list[tuple[str, str, str]]:
        return [(event.kind, event.team, event.subject) for event in self.events if not of or event.kind in of]

    def later(self, seconds: float) -> None:
        self.room.clock.pass_time(seconds)
        self.room.presence.up_for += seconds

    def beat(self, member: str, team: str = "crew") -> None:
        presence = self.room.presence
        presence.beat(team, member, Beat(at=self.room.clock.now(), source="test", host="here", uptime=presence.up_for))

    def write(self, to: str = "ann", team: str = "crew", **more: Any) -> str:
        return str(send(self.room, team, to, Draft(sender="bob", text="hello", **more)).message_id)

    def connect(self, member: str, team: str = "crew") -> None:
        """An agent with a server of its own."""
        now = self.room.clock.now()
        session = f"{member}@{team}"
        at = Endpoint(vendor="opencode", session=session, at=now, host="here", url="http://here", url_pid=7)
        put_endpoint(self.room, self.room.rosters.load(team), member, at)


@pytest.fixture
def stage() -> Stage:
    return Stage()


def fails(error: Exception, when: Callable[..., bool], work: Callable[..., Any]) -> Callable[..., Any]:
    """The same method of a twin, but in some cases the disk says no."""

    def run(*args: Any, **more: Any) -> Any:
        if when(*args):
            raise error
        return work(*args, **more)

    return run


def noting(into: list[str], work: Callable[..., Any]) -> Callable[..., Any]:
    """The same method of a twin; the team that each call is about is noted."""

    def run(team: str, *args: Any) -> Any:
        into.append(team)
        return work(team, *args)

    return run


REFUSAL = WriteRefused("the disk says no", "wait")
BUG = ValueError("nobody thought of this")


class TestSilence:
    @proves("R003-4.2-01")
    def test_whoever_falls_silent_is_told_once_and_whoever_is_back_is_told_once(self, stage):
        stage.beat("ann")
        assert stage.work.team.look_for_silence() == 0
        stage.later(SILENT_AFTER)
        stage.work.team.look_for_silence()
        assert stage.kinds() == []
        stage.later(1)
        for _ in range(3):
            stage.work.team.look_for_silence()
        assert stage.kinds() == [("member.silent", "crew", "ann")]
        stage.beat("ann")
        for _ in range(3):
            stage.work.team.look_for_silence()
        assert stage.kinds() == [("member.silent", "crew", "ann"), ("member.back", "crew", "ann")]

    def test_tasks_of_the_silent_go_back_to_the_board(self, stage):
        add(stage.boardroom, "crew", "bob", [NewTask("one")])
        claim(stage.boardroom, "crew", "ann", "1")
        stage.beat("ann")
        stage.work.team.look_for_silence()
        assert stage.boardroom.tasks.board("crew").cards[1].owner == "ann"
        stage.later(SILENT_AFTER + 1)
        stage.work.team.look_for_silence()
        card = stage.boardroom.tasks.board("crew").cards[1]
        assert (card.status, card.owner) == ("pending", "")

    def test_tasks_of_somebody_who_was_silent_before_it_started_go_back_too(self, stage):
        add(stage.boardroom, "crew", "bob", [NewTask("one")])
        claim(stage.boardroom, "crew", "ann", "1")
        stage.beat("ann")
        stage.later(SILENT_AFTER + 1)
        stage.begin().team.look_for_silence()
        assert stage.boardroom.tasks.board("crew").cards[1].owner == ""

    def test_a_clock_that_is_set_takes_nobodys_work_away(self, stage):
        add(stage.boardroom, "crew", "bob", [NewTask("one")])
        claim(stage.boardroom, "crew", "ann", "1")
        stage.beat("ann")
        stage.work.team.look_for_silence()
        stage.room.clock.jump(86_400)
        stage.work.team.look_for_silence()
        stage.room.clock.jump(-2 * 86_400)
        stage.work.team.look_for_silence()
        assert stage.kinds() == []
        assert stage.boardroom.tasks.board("crew").cards[1].owner == "ann"

    def test_a_member_of_a_team_made_anew_is_not_back_from_the_former_one(self, stage):
        stage.beat("ann")
        stage.work.team.look_for_silence()
        stage.later(SILENT_AFTER + 1)
        stage.work.team.look_for_silence()
        stage.room.rosters.take_away("crew")
        stage.work.team.look_for_silence()
        create_team(stage.room, "crew")
        add_member(stage.room, "crew", Member("ann"))
        stage.beat("ann")
        stage.work.team.look_for_silence()
        assert stage.kinds() == [("member.silent", "crew", "ann")]

    @pytest.mark.parametrize("error", [REFUSAL, BUG])
    @pytest.mark.parametrize("method", ["heard_of", "last"])
    def test_one_team_whose_heartbeats_cannot_be_read_hides_no_other(self, stage, error, method):
        stage.beat("ann", "crew")
        stage.beat("ann", "calm")
        presence = stage.room.presence
        setattr(presence, method, fails(error, lambda team, *_: team == "calm", getattr(presence, method)))
        contained(stage.work.team.look_for_silence)
        stage.later(SILENT_AFTER + 1)
        contained(stage.work.team.look_for_silence)
        assert ("member.silent", "crew", "ann") in stage.kinds()


def contained(round: Callable[[], int]) -> None:
    """A round may fail, as a loop's round may: it is counted, and the next one comes. It must not be in vain."""
    try:
        round()
    except (WriteRefused, ValueError):
        return


class TestEscalation:
    def ask(self, stage: Stage, team: str = "crew") -> str:
        return stage.write(team=team, ack_minutes=10)

    @pytest.fixture
    def reads(self, stage: Stage) -> list[str]:
        """Teams whose whole ledger was read, in order."""
        found: list[str] = []
        for method in ("entries", "mentions"):
            setattr(stage.room.ledger, method, self._counted(found, method, getattr(stage.room.ledger, method)))
        return found

    def _counted(self, found: list[str], method: str, read: Callable[..., Any]) -> Callable[..., Any]:
        def run(team: str, *args: Any) -> Any:
            if method == "mentions":
                found.append(team)
            return read(team, *args)

        return run

    def test_the_lead_is_told_after_the_time_and_a_human_after_twice_that_each_once(self, stage):
        add_member(stage.room, "crew", Member("hugo", backend="human"))
        lead = stage.room.rosters.load("crew").lead
        asked = self.ask(stage)
        told: dict[int, list[str]] = {}
        for minute in range(0, 40, 5):
            if minute == 15:
                stage.begin()  # a restart changes nothing
            stage.work.mail.tell_unanswered()
            stage.work.mail.tell_unanswered()
            told[minute] = [str(event.detail["to"]) for event in stage.events]
            stage.later(300)
        assert (told[5], told[10], told[35]) == ([], [lead], [lead, "hugo"])
        assert {event.detail["id"] for event in stage.events} == {asked}
        assert len(stage.room.inboxes.rows("crew", lead)) == len(stage.room.inboxes.rows("crew", "hugo")) == 1

    def test_an_answer_in_time_is_the_end_of_it(self, stage):
        from atm.mail.services.conversations import acknowledge

        asked = self.ask(stage)
        stage.later(300)
        acknowledge(stage.room, "crew", "ann", asked, None)
        stage.later(3600)
        assert stage.work.mail.tell_unanswered() == 0

    def test_a_ledger_that_did_not_change_is_not_read_again(self, stage, reads):
        self.ask(stage)
        for _ in range(5):
            stage.work.mail.tell_unanswered()
        assert reads.count("crew") <= 1
        assert reads.count("calm") <= 1
        stage.write(team="calm")
        stage.work.mail.tell_unanswered()
        assert (reads.count("crew"), reads.count("calm")) == (1, 2)

    def test_time_passes_for_a_ledger_that_did_not_change(self, stage):
        self.ask(stage)
        stage.work.mail.tell_unanswered()
        stage.later(601)
        assert stage.work.mail.tell_unanswered() == 1

    def test_a_step_that_could_not_be_entered_is_taken_again_and_told_once(self, stage):
        self.ask(stage)
        stage.work.mail.tell_unanswered()
        stage.later(601)
        stage.room.ledger.refuse = REFUSAL
        stage.work.mail.tell_unanswered()
        stage.room.ledger.refuse = None
        stage.work.mail.tell_unanswered()
        lead = stage.room.rosters.load("crew").lead
        assert len(stage.room.inboxes.rows("crew", lead)) == 1
        assert [entry.state for entry in stage.room.ledger.entries("crew")[0]].count("escalated") == 1

    @pytest.mark.parametrize("error", [REFUSAL, UnreadableFile("torn", "mend it"), BUG])
    def test_one_team_whose_ledger_cannot_be_read_silences_no_other(self, stage, error):
        self.ask(stage)
        ledger = stage.room.ledger
        ledger.version = fails(error, lambda team: team == "calm", ledger.version)
        stage.later(601)
        contained(stage.work.mail.tell_unanswered)
        assert [event.team for event in stage.events if event.kind == "message.escalated"] == ["crew"]

    def test_a_team_that_is_gone_is_forgotten(self, stage):
        self.ask(stage)
        stage.work.mail.tell_unanswered()
        stage.room.rosters.take_away("crew")
        stage.room.ledger.take_away("crew")
        stage.later(3600)
        assert stage.work.mail.tell_unanswered() == 0
        create_team(stage.room, "crew")
        assert stage.work.mail.tell_unanswered() == 0
        assert "crew" not in {event.team for event in stage.events}


class TestDelivery:
    def test_the_first_round_is_for_everybody_and_the_next_for_those_whose_inbox_changed(self, stage):
        for team in ("crew", "calm"):
            stage.connect("ann", team)
            stage.write(team=team)
        stage.work.rounds.touch("crew", "ann")
        assert stage.work.delivery.deliver() == 2
        assert {session for session, _ in stage.servers.told} == {"ann@crew", "ann@calm"}
        for team in ("crew", "calm"):
            stage.write(team=team)
        stage.work.rounds.touch("crew", "ann")
        assert stage.work.delivery.deliver() == 1
        assert stage.servers.told[-1][0] == "ann@crew"

    def test_a_round_that_nobody_asked_for_is_for_everybody(self, stage):
        stage.work.delivery.deliver()
        stage.connect("ann", "calm")
        stage.write(team="calm")
        assert stage.work.delivery.deliver() == 1

    def test_somebody_who_could_not_be_reached_gets_another_try_although_others_are_busy(self, stage):
        """A team that writes all the time must not put off everybody's round for ever."""
        stage.work.delivery.deliver()
        stage.connect("ann")
        stage.servers.answer = REFUSED
        stage.write()
        stage.work.rounds.touch("crew", "ann")
        assert stage.work.delivery.deliver() == 0
        stage.servers.answer = ACCEPTED
        for _ in range(20):
            stage.later(30)
            stage.work.rounds.touch("calm", "bob")
            stage.work.delivery.deliver()
        assert stage.room.inboxes.unread("crew", "ann") == []

    def test_what_was_surfaced_is_an_event_and_never_surfaced_again(self, stage):
        stage.connect("ann")
        written = [stage.write() for _ in range(3)]
        assert stage.work.delivery.deliver() == 3
        assert stage.begin().delivery.deliver() == 0
        assert [event.detail["ids"] for event in stage.events] == [[id] for id in written]
        assert [id for _, id in stage.servers.told] == written

    def test_nobody_gets_more_than_a_few_in_a_row_before_the_others_have_their_turn(self, stage):
        stage.connect("ann")
        stage.connect("bob")
        for _ in range(30):
            stage.write("ann")
        stage.write("bob")
        stage.work.delivery.deliver()
        assert "bob@crew" in {session for session, _ in stage.servers.told}
        for _ in range(3):
            stage.work.delivery.deliver()
        assert stage.room.inboxes.unread("crew", "ann") == []

    @pytest.mark.parametrize("error", [REFUSAL, BUG])
    def test_one_member_who_cannot_be_looked_at_keeps_nobody_else_from_his_mail(self, stage, error):
        for team in ("calm", "crew"):
            stage.connect("ann", team)
            stage.write(team=team)
        inboxes = stage.room.inboxes
        inboxes.unread = fails(error, lambda team, *_: team == "calm", inboxes.unread)
        contained(stage.work.delivery.deliver)
        assert [session for session, _ in stage.servers.told] == ["ann@crew"]

    def test_mail_of_somebody_who_cannot_be_reached_is_not_read_after_each_message_until_he_can(self, stage):
        looks: list[str] = []
        inboxes, unread = stage.room.inboxes, stage.room.inboxes.unread

        def look(team: str, agent: str) -> Any:
            looks.append(agent)
            return unread(team, agent)

        inboxes.unread = look

        def come(count: int) -> int:
            for _ in range(count):
                stage.write()
                stage.work.rounds.touch("crew", "ann")
                stage.work.delivery.deliver()
            return looks.count("ann")

        assert come(1) == 1
        assert come(20) == 1
        assert [text for _, source, text in stage.lines if source == "delivery"] == [stage.lines[-1][2]]
        stage.connect("ann")
        come(10)
        assert len(stage.servers.told) == 31

    @proves("R000-delivery-retry-07")
    def test_the_same_reason_for_waiting_is_logged_once(self, stage):
        stage.connect("ann")
        stage.servers.answer = REFUSED
        stage.write()
        for _ in range(5):
            stage.work.delivery.deliver()
        assert len([line for line in stage.lines if line[1] == "delivery"]) == 1


class TestPutBack:
    def drop(self, stage: Stage, team: str = "crew") -> str:
        written = stage.write(team=team)
        stage.room.inboxes.foreign_rewrite(team, "ann", [])
        return written

    def ids(self, stage: Stage, team: str = "crew") -> list[str]:
        return [row.id for row in stage.room.inboxes.rows(team, "ann")]

    def test_what_was_dropped_is_back_once_where_a_file_changed(self, stage):
        stage.work.mail.put_back()
        dropped = self.drop(stage)
        self.drop(stage, "calm")
        stage.work.rounds.touch("crew", "ann")
        assert stage.work.mail.put_back() == 1
        assert (self.ids(stage), self.ids(stage, "calm")) == ([dropped], [])
        assert stage.work.mail.put_back() == 1
        assert stage.work.mail.put_back() == 0

    def test_a_round_about_one_team_reads_no_other_roster(self, stage):
        """With a hundred teams, each message would cost a hundred times as much."""
        loaded: list[str] = []
        load = stage.room.rosters.load
        stage.work.mail.put_back()
        stage.room.rosters.load = noting(loaded, load)
        stage.work.rounds.touch("crew", "ann")
        stage.work.mail.put_back()
        assert set(loaded) == {"crew"}

    def test_a_busy_team_does_not_put_off_the_round_for_everybody(self, stage):
        stage.work.mail.put_back()
        dropped = self.drop(stage, "calm")
        for _ in range(20):
            stage.later(14)
            stage.work.rounds.touch("crew", "bob")
            stage.work.mail.put_back()
        stage.later(60)
        stage.work.rounds.touch("crew", "bob")
        stage.work.mail.put_back()
        assert self.ids(stage, "calm") == [dropped]

    def test_an_inbox_that_cannot_be_written_now_gets_its_row_in_the_next_round(self, stage):
        stage.work.mail.put_back()
        dropped = self.drop(stage)
        stage.work.rounds.touch("crew", "ann")
        stage.room.inboxes.refuse = REFUSAL
        stage.work.mail.put_back()
        stage.room.inboxes.refuse = None
        stage.work.rounds.touch("calm", "bob")
        stage.work.mail.put_back()
        assert self.ids(stage) == [dropped]

    @pytest.mark.parametrize("error", [REFUSAL, BUG])
    def test_one_team_that_cannot_be_looked_at_keeps_no_other_waiting(self, stage, error):
        dropped = self.drop(stage)
        inboxes = stage.room.inboxes
        inboxes.owners = fails(error, lambda team: team == "calm", inboxes.owners)
        contained(stage.work.mail.put_back)
        assert self.ids(stage) == [dropped]

    def test_what_was_read_is_not_put_back(self, stage):
        stage.write()
        take(stage.room, "crew", "ann", Filter())
        stage.room.inboxes.foreign_rewrite("crew", "ann", [])
        assert stage.work.mail.put_back() == 0


class TestSpool:
    def queue(self, stage: Stage) -> str:
        stage.room.inboxes.refuse = REFUSAL
        return stage.write()

    @proves("R001-3.2-15", "R001-3.3-16", "R001-3.3-18")
    def test_what_waits_is_delivered_when_it_is_due(self, stage):
        queued = self.queue(stage)
        stage.work.mail.drain_spool()
        stage.room.inboxes.refuse = None
        stage.later(10)
        assert stage.work.mail.drain_spool() == 1
        assert [row.id for row in stage.room.inboxes.rows("crew", "ann")] == [queued]

    @proves("R000-delivery-retry-07", "R001-3.3-15")
    def test_what_is_given_up_is_kept_told_and_logged(self, stage):
        self.queue(stage)
        for _ in range(20):
            stage.work.mail.drain_spool()
            stage.later(LONGEST_WAIT * 2)
        assert len(stage.room.spool.failed()) == 1
        assert stage.kinds("message.failed") == [("message.failed", "", "spool")]
        warned = [line for line in stage.lines if line[0] == "warn"]
        assert warned == [("warn", "spool", "1 given up and kept; see `atm spool list`")]

    @pytest.mark.parametrize("jump", [-30 * 86_400, 30 * 86_400])
    def test_a_clock_that_is_set_keeps_nothing_waiting_for_longer_than_the_longest_wait(self, stage, jump):
        self.queue(stage)
        stage.work.mail.drain_spool()
        stage.room.inboxes.refuse = None
        stage.room.clock.jump(jump)
        stage.later(LONGEST_WAIT * 1.25)
        assert stage.work.mail.drain_spool() == 1


class TestRetention:
    def test_it_counts_what_it_removed_and_not_what_it_looked_at(self, stage):
        stage.write()
        assert stage.work.mail.apply_retention() == 0

    @proves("R000-compaction-09")
    def test_every_five_minutes_what_may_go_is_archived(self, stage):
        old = [make_message(f"old-{n}", read=True, at="2020-01-01T00:00:00.000Z") for n in range(8)]
        stage.room.inboxes.foreign_rewrite("crew", "ann", old)
        stage.room.policy.compact_above, stage.room.policy.keep_read, stage.room.policy.keep_days = 5, 2, 1
        stage.room.marks.is_due = lambda *_: True
        core: Any = SimpleNamespace(rounds=stage.work.rounds)
        (plan,) = (plan for plan in MailPart(core).loops() if plan.name == "retention")
        assert plan.period == 300.0
        assert plan.work() == 6
        assert [row.id for row in stage.room.inboxes.rows("crew", "ann")] == ["old-6", "old-7"]

    @pytest.mark.parametrize("error", [REFUSAL, BUG])
    def test_one_inbox_that_cannot_be_looked_at_keeps_no_other_from_its_turn(self, stage, error):
        seen: list[str] = []
        inboxes = stage.room.inboxes
        size = inboxes.size
        inboxes.size = noting(seen, size)
        inboxes.size = fails(error, lambda team, _: team == "calm", inboxes.size)
        contained(stage.work.mail.apply_retention)
        assert "crew" in seen


def test_teams_that_came_and_went_leave_nothing_in_memory(stage):
    """A machine that makes a team for every branch runs for months."""
    for number in range(50):
        team = f"team-{number}"
        create_team(stage.room, team)
        add_member(stage.room, team, Member("ann"))
        stage.connect("ann", team)
        stage.beat("ann", team)
        stage.write(team=team, ack_minutes=1)
        for round in (stage.work.team.look_for_silence, stage.work.mail.tell_unanswered, stage.work.delivery.deliver):
            round()
        for twin in (stage.room.rosters, stage.room.inboxes, stage.room.ledger):
            twin.take_away(team)
        stage.room.presence.forget(team, "ann")
        stage.room.endpoints.forget(team, "ann")
        for round in (stage.work.team.look_for_silence, stage.work.mail.tell_unanswered, stage.work.delivery.deliver):
            round()
    kept = [name for name, value in vars(stage.work).items() if isinstance(value, dict) and len(value) > 10]
    assert kept == []


class TestLoops:
    """What the work of a loop may do to it. `test_loops.py` has the rest."""

    def run(self, loop: Loop, until: Callable[[], object]) -> list[str]:
        said: list[str] = []

        async def go() -> None:
            stop = asyncio.Event()
            task = asyncio.ensure_future(loop.run(stop, lambda _, text: said.append(text), lambda: 0.5))
            async with asyncio.timeout(60):
                while not until() and not task.done():
                    await asyncio.sleep(0.002)
                stop.set()
                await asyncio.wait([task])
                assert task.exception() is None

        asyncio.run(go())
        return said

    @pytest.mark.parametrize(
        "error",
        [TimeoutError("the server is slow"), StopIteration(), asyncio.CancelledError(), SystemExit(3), MemoryError()],
        ids=lambda error: type(error).__name__,
    )
    def test_whatever_a_round_raises_is_a_failure_and_the_next_round_comes(self, error):
        rounds: list[int] = []

        def work() -> int:
            rounds.append(1)
            if len(rounds) == 1:
                raise error
            return 1

        loop = Loop("spool", work, period=0.001)
        said = self.run(loop, lambda: len(rounds) >= 3)
        assert len(rounds) >= 3
        assert loop.health.failures == 1
        assert not any("takes longer" in text for text in said)

    def test_a_machine_without_threads_to_spare_costs_a_round(self, monkeypatch):
        rounds: list[int] = []
        start = threading.Thread.start
        refusals = iter([True])

        def refuse_once(thread: threading.Thread) -> None:
            if thread.name.startswith("atm") and next(refusals, False):
                raise RuntimeError("can't start new thread")
            start(thread)

        monkeypatch.setattr(threading.Thread, "start", refuse_once)
        loop = Loop("spool", lambda: rounds.append(1), period=0.001)
        self.run(loop, lambda: len(rounds) >= 2)
        assert len(rounds) >= 2
        assert loop.health.failures == 1

    def test_a_loop_that_is_stuck_when_the_daemon_stops_still_says_so(self):
        """So that the daemon can say what it left."""
        let_go = threading.Event()
        loop = Loop("watch", lambda: let_go.wait(60) and 1, period=0.001, bound=0.02)
        try:
            self.run(loop, lambda: loop.health.state == STUCK)
            assert loop.health.state == STUCK
        finally:
            let_go.set()

    def test_a_loop_that_was_stuck_and_went_on_is_well_again(self):
        let_go = threading.Event()
        loop = Loop("watch", lambda: let_go.wait(60) and 1, period=0.001, bound=0.02)

        def well_again() -> bool:
            if loop.health.state == STUCK:
                let_go.set()
            return loop.health.runs >= 3 and loop.health.state == IDLE

        self.run(loop, well_again)
        assert loop.facts()["failures"] <= 1


class BrokenOnce(TeamEvents):
    """Meets something that nobody thought of, the first time that it looks at an inbox."""

    trouble = 1

    def inbox(self, team: str, agent: str) -> list[TeamEvent]:
        if self.trouble:
            self.trouble -= 1
            raise BUG
        return super().inbox(team, agent)


def test_the_watch_goes_on_after_something_that_nobody_thought_of(room, layout):
    """As the daemon runs it: a part that fails is started again."""
    events: list[TeamEvent] = []

    def written() -> bool:
        send(room, "crew", "ann", Draft(sender="bob", text="hello"))
        return bool(events)

    async def go() -> None:
        from atm.wiring.board import build_tasks

        watch = BrokenOnce(room, build_tasks(layout))
        watcher = Watcher(TreeWatch(layout), watch, events.append, lambda _: None, lambda *_, **__: None)
        stop = asyncio.Event()

        async def supervised() -> None:
            while not stop.is_set():
                try:
                    await watcher.run(stop)
                except ValueError:
                    continue

        task = asyncio.ensure_future(supervised())
        async with asyncio.timeout(60):
            while not written():
                await asyncio.sleep(0.05)
        stop.set()
        await task

    asyncio.run(go())
    assert {event.kind for event in events} == {"message.written"}


def test_an_agent_whose_host_was_killed_is_cleared_away_and_that_is_logged(stage):
    crew: Any = memory_crewroom(stage.boardroom)
    loops = CrewLoops(stage.work.rounds, crew)
    mark = f"{crew.records.home}/crew/ann/1/k"
    made = crew.processes.make(mark=mark)
    known: Any = {"team": "crew", "member": "ann", "generation": 1, "mark": mark, "runtime": "script"}
    more = {"backend": "headless", "folder": "/w", "at": 1.0, "state": "working", "pid": 4, "began": "long ago"}
    with crew.records.turn("crew", "ann") as turn:
        turn.write(AgentRecord(**{**known, **more}))
    assert loops.reconcile() == 1
    assert crew.processes.began(made.pid) == ""
    assert ("warn", "crew", "ann was gone and is cleared away") in stage.lines
    assert loops.reconcile() == 0
