"""The host of plugins, with real processes: whatever a plugin does, the host and the other plugins go on."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.proving import proves
from tests.trusting import trust

from atm.board.services.new_tasks import NewTask
from atm.board.services.planning import add
from atm.board.services.working import claim
from atm.events.rules import MESSAGE_WRITTEN, PLUGIN_STATE, TeamEvent
from atm.files.adapters.processes import process_is_alive
from atm.mail.services.posting import Draft
from atm.mail.services.sending import send
from atm.plugins.rules.health import RestartPolicy
from atm.roster.services.members import add_member, update_member
from atm.team.rules.team import Member
from atm.team.services.registry import find_team
from atm.teamd.places import load_places
from atm.teamd.plugins.discovery import Found
from atm.teamd.plugins.host.child import BURST, PER_SECOND
from atm.teamd.plugins.host.host import PluginHost
from atm.teamd.plugins.host.member_book import MemberBook
from atm.teamd.plugins.spec import Bounds

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="sends POSIX signals and forks")

ROOT = Path(__file__).parents[3]
HERE = "tests.teamd.bad_plugins"
QUICK = Bounds(
    policy=RestartPolicy(first_pause=0.05, longest_pause=0.2, most_failures=3, within=60, open_for=60, clears_after=60),
    silent_after=60.0,
    init_within=60.0,
    stop_within=1.0,
    kill_after=0.3,
    check_every=0.05,
    beat_every=0.1,
    look_every=0.1,
)


class Stage:
    """Everything around a host: settings, what it logs and publishes, and waiting with a bound."""

    def __init__(self, layout: Any, room: Any, home: Path) -> None:
        self.layout = layout
        self.room = room
        self.environment = {
            **{key: os.environ[key] for key in ("PATH",) if key in os.environ},
            "ATM_HOME": str(home),
            "HOME": str(home),
            "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}",
        }
        self.lines: list[tuple[str, str, str, dict[str, Any]]] = []
        self.published: list[TeamEvent] = []
        self.found: list[Found] = []
        self.host: PluginHost

    def log(self, level: str, source: str, text: str, **fields: Any) -> None:
        self.lines.append((level, source, text, fields))

    def texts(self, source: str = "") -> list[str]:
        return [text for _, by, text, _ in self.lines if by.endswith(source)]

    def enable(self, settings: dict[str, str]) -> None:
        """Settings of the machine: a section of TOML for each plugin."""
        path = Path(self.layout.settings)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"[plugins.{name}]\nenabled = true\n{more}\n" for name, more in settings.items()))

    def offer(self, *targets: str) -> None:
        """Plugins that are installed, as `module:Class`."""
        self.found = [Found(target.partition(":")[2].lower(), f"{HERE}.{target}") for target in targets]

    def places(self) -> list[Any]:
        return load_places(self.layout, self.environment)[0]

    @asynccontextmanager
    async def running(self, *targets: str, bounds: Bounds = QUICK, more: str = "") -> AsyncIterator[PluginHost]:
        self.offer(*targets)
        self.enable({one.name: more for one in self.found})
        async with self.hosting(bounds) as host:
            yield host

    @asynccontextmanager
    async def hosting(self, bounds: Bounds = QUICK) -> AsyncIterator[PluginHost]:
        self.host = PluginHost(
            self.places(),
            layout=self.layout,
            environment=self.environment,
            log=self.log,
            publish=self.published.append,
            bounds=bounds,
            find=lambda: self.found,
        )
        await self.host.start()
        try:
            yield self.host
        finally:
            await self.host.stop(30.0)

    def state(self, name: str, place: str = "machine") -> dict[str, Any]:
        return next(one for one in self.host.states() if one["name"] == name and one["place"] == place)

    async def until(self, condition: Callable[[], object], seconds: float = 120.0) -> None:
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, f"it did not come true; states {self.host.states()}; log {self.lines[-20:]}"
            await asyncio.sleep(0.02)

    async def until_state(self, name: str, state: str, place: str = "machine") -> dict[str, Any]:
        await self.until(lambda: self.state(name, place)["state"] == state)
        return self.state(name, place)

    def members(self) -> list[str]:
        return find_team(self.room, "crew").names


@pytest.fixture
def stage(layout, room, home):
    return Stage(layout, room, home)


def gone(pid: int) -> bool:
    """Dead, or a zombie that somebody else has to reap."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return not process_is_alive(pid)


# How plugins fail.

FAILURES = [
    ("failing:RaisesInInit", "ValueError: no such server"),
    ("failing:RaisesInRun", "KeyError: 'what run was looking for'"),
    ("failing:ReturnsAtOnce", "run() ended by itself"),
    ("failing:OsExit", "its process ended with exit code 7"),
    ("failing:SysExit", "SystemExit: I leave"),
    ("failing:KillsItself", "its process was ended by SIGABRT"),
    ("failing:Undeclared", "it does not declare INJECT_MESSAGES"),
    ("failing:OtherName", "it calls itself 'somebody-else'"),
    ("failing:OddCapability", "a capability is not one of Capability"),
    ("failing:UnspeakableError", "Unspeakable: <Unspeakable>"),
    ("failing:no_plugin_at_all", "has not the methods of a plugin"),
    ("failing:not_there", "AttributeError"),
    ("broken_import:Nothing", "No module named 'no_such_module_anywhere'"),
    ("exits_on_import:Nothing", "SystemExit: not today"),
    ("no_such_file:Nothing", "ModuleNotFoundError"),
]


@proves("R001-5.1-02", "R001-5.1-08", "R001-5.2-01", "R001-5.2-11", "R001-8.2-06")
@pytest.mark.parametrize(("target", "error"), FAILURES)
def test_a_plugin_that_fails_is_told_apart_and_in_the_end_left_alone(stage, target, error):
    name = target.partition(":")[2].lower()

    async def play() -> None:
        async with stage.running(target) as host:
            found = await stage.until_state(name, "broken")
            assert error in found["last_error"]
            assert found["restarts"] == 2
            assert found["pid"] is None
            assert found["retry_at"] > time.time() + 30
            assert await host.stop(30.0) == []
            assert stage.state(name)["state"] == "stopped"

    asyncio.run(play())
    states = [event.detail["state"] for event in stage.published if event.kind == PLUGIN_STATE]
    assert states[0] == "starting"
    assert states[-2:] == ["broken", "stopped"]
    assert {event.subject for event in stage.published} == {name}


@proves("R001-5.2-10")
def test_a_failure_before_it_was_ready_is_called_failed_init(stage):
    bounds = replace(QUICK, policy=RestartPolicy(first_pause=60, longest_pause=60))

    async def play() -> None:
        async with stage.running("failing:RaisesInInit", "failing:RaisesInRun", bounds=bounds):
            await stage.until_state("raisesininit", "failed-init")
            await stage.until_state("raisesinrun", "backoff")

    asyncio.run(play())


@proves("R001-5.1-08")
def test_a_failure_comes_with_its_traceback_in_the_log(stage):
    async def play() -> None:
        async with stage.running("failing:RaisesInRun"):
            await stage.until_state("raisesinrun", "broken")

    asyncio.run(play())
    traces = [fields["traceback"] for _, _, _, fields in stage.lines if "traceback" in fields]
    assert len(traces) == 3
    assert "in run" in traces[0]


@proves("R001-5.1-09")
def test_a_plugin_that_recovers_is_running_again(stage):
    async def play() -> None:
        async with stage.running("failing:FailsOnce"):
            await stage.until(lambda: stage.state("failsonce")["restarts"] == 1)
            found = await stage.until_state("failsonce", "running")
            assert "the first time" in found["last_error"]

    asyncio.run(play())


def test_after_the_pause_the_circuit_lets_one_try_through(stage):
    bounds = replace(QUICK, policy=replace(QUICK.policy, open_for=0.3))

    async def play() -> None:
        async with stage.running("failing:RaisesInRun", bounds=bounds):
            await stage.until(lambda: stage.state("raisesinrun")["restarts"] >= 4)

    asyncio.run(play())
    states = [event.detail["state"] for event in stage.published]
    assert states.count("backoff") == 2  # a trial that fails opens the circuit at once
    assert states.count("broken") >= 2


@proves("R001-3.3b-28", "R001-5.2-14", "R001-5.3-12")
def test_a_plugin_that_is_of_no_use_here_is_disabled_and_not_tried_again(stage):
    async def play() -> None:
        async with stage.running("failing:NotHere"):
            found = await stage.until_state("nothere", "disabled")
            assert found["last_error"] == "it needs a git repository"
            assert found["retry_at"] is None
            assert found["restarts"] == 0

    asyncio.run(play())


def test_a_plugin_that_is_not_installed_is_said_to_be_missing(stage):
    async def play() -> None:
        stage.enable({"nowhere": ""})
        async with stage.hosting():
            found = await stage.until_state("nowhere", "disabled")
            assert "no plugin 'nowhere' is installed" in found["last_error"]

    asyncio.run(play())


def test_an_entry_that_is_broken_is_disabled_with_its_error(stage):
    async def play() -> None:
        stage.found = [Found("twice", "a:b", error="two plugins have this name: one, other")]
        stage.enable({"twice": ""})
        async with stage.hosting():
            found = await stage.until_state("twice", "disabled")
            assert found["last_error"] == "two plugins have this name: one, other"

    asyncio.run(play())


def test_a_program_that_cannot_be_started_is_a_failure_like_any_other(stage, tmp_path):
    async def play() -> None:
        stage.offer("good:Listener")
        repo = tmp_path / "repo"
        repo.mkdir()
        (repo / ".atm.toml").write_text("[plugins.listener]\nenabled = true\n")
        _list_repos(stage, repo)
        places = stage.places()
        (repo / ".atm.toml").unlink()
        repo.rmdir()
        host = stage.host = PluginHost(
            places,
            layout=stage.layout,
            environment=stage.environment,
            log=stage.log,
            publish=stage.published.append,
            bounds=QUICK,
            find=lambda: stage.found,
        )
        await host.start()
        found = await stage.until_state("listener", "broken", str(repo))
        assert "could not be started" in found["last_error"]
        assert await host.stop(30.0) == []

    asyncio.run(play())


# Plugins that block, leak, flood and do not end.


@proves("R001-5.1-03", "R001-5.1-05", "R001-8.2-07")
@pytest.mark.parametrize("name", ["BlocksTheLoop", "BlocksAndIgnoresTerm"])
def test_a_blocked_event_loop_is_noticed_and_its_process_killed(stage, name):
    bounds = replace(QUICK, policy=replace(QUICK.policy, first_pause=60, longest_pause=60))

    async def play() -> None:
        stage.offer(f"stubborn:{name}", "good:Listener")
        stage.enable({name.lower(): "silent_after = 1", "listener": ""})
        async with stage.hosting(bounds) as host:
            await stage.until(lambda: stage.state(name.lower())["pid"])
            pid = stage.state(name.lower())["pid"]
            found = await stage.until_state(name.lower(), "backoff")
            assert "silent for 1 s" in found["last_error"]
            assert gone(pid)
            await stage.until_state("listener", "running")
            assert stage.state("listener")["restarts"] == 0
            host.publish(TeamEvent("task.created", "crew", "1", 1.0))
            await stage.until(lambda: "heard task.created" in stage.texts("listener"))

    asyncio.run(play())


@proves("R001-5.2-10")
@pytest.mark.parametrize("name", ["BlocksInInit", "NeverReady"])
def test_an_init_that_takes_too_long_is_ended(stage, name):
    bounds = replace(QUICK, init_within=2.0, policy=replace(QUICK.policy, first_pause=60, longest_pause=60))

    async def play() -> None:
        async with stage.running(f"stubborn:{name}", bounds=bounds):
            found = await stage.until_state(name.lower(), "failed-init")
            assert "not ready after 2 s" in found["last_error"]

    asyncio.run(play())


@proves("R001-8.2-06")
@pytest.mark.parametrize("name", ["LeaksMemory", "FloodsWithTasks"])
def test_a_plugin_that_takes_too_much_memory_is_ended_before_it_hurts(stage, name):
    bounds = replace(QUICK, policy=replace(QUICK.policy, first_pause=60, longest_pause=60))

    async def play() -> None:
        async with stage.running(f"stubborn:{name}", bounds=bounds, more="max_memory_mb = 150"):
            found = await stage.until_state(name.lower(), "backoff")
            assert "more than the 150 MB" in found["last_error"]

    asyncio.run(play())


@proves("R001-5.2-13")
def test_a_plugin_that_does_not_shut_down_is_killed_and_named(stage):
    async def play() -> None:
        async with stage.running("stubborn:NeverShutsDown", "good:Listener") as host:
            await stage.until_state("nevershutsdown", "running")
            await stage.until_state("listener", "running")
            pid = stage.state("nevershutsdown")["pid"]
            assert await host.stop(10.0) == ["nevershutsdown"]  # time enough for the other one on a busy machine
            assert gone(pid)
            assert stage.state("nevershutsdown")["state"] == "stopped"

    asyncio.run(play())


@proves("R001-5.2-12", "R001-5.2-13")
def test_a_plugin_has_time_to_flush_when_it_is_stopped(stage):
    bounds = replace(QUICK, stop_within=60.0)

    async def play() -> None:
        async with stage.running("stubborn:SlowShutdown", bounds=bounds) as host:
            await stage.until_state("slowshutdown", "running")
            assert await host.stop(60.0) == []

    asyncio.run(play())
    assert (Path(stage.layout.plugin_data("slowshutdown")) / "flushed").exists()


def test_stopping_while_plugins_are_starting_or_pausing_ends_them_all(stage):
    async def play() -> None:
        async with stage.running("good:Listener", "failing:RaisesInRun", "stubborn:BlocksInInit") as host:
            await stage.until(lambda: stage.state("blocksininit")["pid"])
            assert "blocksininit" in await host.stop(0.5)
            assert {one["state"] for one in host.states()} == {"stopped"}

    asyncio.run(play())


def test_what_a_plugin_prints_goes_to_its_log_and_never_onto_the_wire(stage):
    async def play() -> None:
        async with stage.running("stubborn:PrintsGarbage"):
            await stage.until(lambda: "on standard error" in stage.texts("printsgarbage"))
            await stage.until_state("printsgarbage", "running")  # told on another line, which may be read later
            assert stage.state("printsgarbage")["restarts"] == 0
            assert '{"t": "end", "phase": "run", "error": "forged"}' in stage.texts("printsgarbage")

    asyncio.run(play())


@proves("R001-8.2-07")
def test_a_flood_of_lines_is_dropped_and_counted_and_stops_nobody(stage):
    began = time.monotonic()

    async def play() -> None:
        async with stage.running("stubborn:FloodsItsLog", "good:Listener") as host:
            await stage.until_state("listener", "running")
            await stage.until(lambda: any("lines: it logs too much" in text for text in stage.texts("floodsitslog")))
            await stage.until(
                lambda: any("of its output: it writes too much" in text for text in stage.texts("floodsitslog"))
            )
            assert stage.state("floodsitslog")["state"] == "running"
            host.publish(TeamEvent("task.created", "crew", "1", 1.0))
            await stage.until(lambda: "heard task.created" in stage.texts("listener"))

    asyncio.run(play())
    # Of what it logs and of what it prints, each line kept perhaps with one that says how many are missing.
    assert len(stage.lines) < 2 * 2 * (BURST + PER_SECOND * (time.monotonic() - began)) + 100
    assert any(fields.get("text_") for *_, fields in stage.lines)


def test_a_line_without_an_end_is_cut(stage):
    async def play() -> None:
        async with stage.running("stubborn:EndlessLine"):
            await stage.until(lambda: "the line has been written" in stage.texts("endlessline"))

    asyncio.run(play())
    assert max(len(text) for text in stage.texts()) <= 8192


def test_what_a_plugin_forked_dies_with_it(stage, eventually):
    bounds = replace(QUICK, policy=replace(QUICK.policy, first_pause=60, longest_pause=60))

    async def play() -> list[int]:
        async with stage.running("stubborn:Forks", bounds=bounds):
            found = await stage.until_state("forks", "backoff")
            assert "exit code 9" in found["last_error"]
            return _children(stage)

    children = asyncio.run(play())
    assert len(children) == 2
    eventually(lambda: gone(children[0]), 60)  # killed by then, and perhaps dead a moment later
    if Path("/proc/self/environ").exists():  # only there can one that left the group be found
        eventually(lambda: gone(children[1]), 60)
    else:
        os.kill(children[1], signal.SIGKILL)


def _children(stage: Stage) -> list[int]:
    said = [fields["children"] for *_, fields in stage.lines if "children" in fields]
    return [int(pid) for pid in said[-1].split()]


# Events.


@proves("R001-5.2-08", "R001-5.2-11")
def test_listeners_hear_events_and_others_do_not(stage):
    async def play() -> None:
        async with stage.running("good:Listener", "good:Player") as host:
            await stage.until_state("listener", "running")
            await stage.until_state("player", "running")
            for number in range(200):
                host.publish(TeamEvent("task.created", "crew", str(number), float(number)))
            await stage.until(lambda: stage.texts("listener").count("heard task.created") == 200)
            assert stage.state("listener")["dropped"] == 0
            assert "heard task.created" not in stage.texts("player")

    asyncio.run(play())
    heard = [fields["subject"] for _, _, text, fields in stage.lines if text.startswith("heard")]
    assert heard == [str(number) for number in range(200)]


def test_a_slow_listener_misses_the_oldest_and_is_told_how_many(stage):
    async def play() -> None:
        bounds = replace(QUICK, most_events=50)
        async with stage.running("good:SlowListener", bounds=bounds) as host:
            await stage.until_state("slowlistener", "running")
            for number in range(400):
                host.publish(TeamEvent("task.created", "crew", str(number), float(number)))
            missed = stage.state("slowlistener")["dropped"]
            assert missed == 400 - 64 - 50
            send(stage.room, "crew", "bob", Draft(sender="ann", text="go"))
            await stage.until(lambda: f"so far {400 - missed + 1} {missed}" in stage.texts("slowlistener"))

    asyncio.run(play())
    assert [fields["last"] for *_, fields in stage.lines if "last" in fields][-1] == "399"


def test_an_event_that_cannot_be_told_holds_nobody_up(stage):
    async def play() -> None:
        async with stage.running("good:Listener") as host:
            await stage.until_state("listener", "running")
            for _ in range(100):
                host.publish(TeamEvent("task.created", "crew", "1", 1.0, {"odd": object()}))  # type: ignore[dict-item]
            host.publish(TeamEvent("task.gone", "crew", "1", 1.0))
            await stage.until(lambda: "heard task.gone" in stage.texts("listener"))

    asyncio.run(play())


# Members that plugins play.


@proves("R001-5.1-04", "R001-5.3-02", "R001-5.5-01", "R001-5.5-03", "R001-5.5-04", "R001-5.5-05", "R001-7.2-06")
def test_a_letter_to_a_played_member_is_taken_answered_and_entered_in_the_ledger(stage):
    async def play() -> None:
        async with stage.running("good:Bridge") as host:
            await stage.until(lambda: stage.state("bridge")["members"] == ["remote@crew"])
            await stage.until(lambda: "remote" in stage.members())
            sent = send(stage.room, "crew", "remote", Draft(sender="ann", text="hello there"))
            host.publish(TeamEvent(MESSAGE_WRITTEN, "crew", "remote", 1.0))
            await stage.until(lambda: stage.room.inboxes.unread("crew", "ann"))
            await stage.until(lambda: not stage.room.inboxes.unread("crew", "remote"))
            entries = stage.room.ledger.entries("crew")[0]
            evidence = [e.evidence for e in entries if e.state == "surfaced" and sent.message_id in e.ids]
            assert evidence == ["echoed to ann"]

    asyncio.run(play())
    (answer,) = stage.room.inboxes.unread("crew", "ann")
    assert (answer.sender, answer.text) == ("remote", "echo hello there")


@proves("R001-5.5-07")
def test_played_members_vanish_when_the_host_stops_and_unread_mail_stays(stage):
    async def play() -> None:
        async with stage.running("good:Player", more='members = ["p1", "p2"]'):
            await stage.until(lambda: {"p1", "p2"} <= set(stage.members()))
            send(stage.room, "crew", "p1", Draft(sender="ann", text="for later"))

    asyncio.run(play())
    assert stage.members() == ["ann", "bob"]
    assert [row.text for row in stage.room.inboxes.unread("crew", "p1")] == ["for later"]
    assert MemberBook(stage.layout).played("player") == {}


@proves("R001-5.5-03")
def test_mail_that_waited_comes_to_the_plugin_when_it_is_back(stage):
    async def first() -> None:
        async with stage.running("good:Bridge"):
            await stage.until(lambda: "remote" in stage.members())

    async def second() -> None:
        async with stage.running("good:Bridge"):
            await stage.until(lambda: stage.room.inboxes.unread("crew", "bob"))

    asyncio.run(first())
    send(stage.room, "crew", "remote", Draft(sender="bob", text="while you were away"))
    asyncio.run(second())
    assert [row.text for row in stage.room.inboxes.unread("crew", "bob")] == ["echo while you were away"]


def test_mail_that_waited_for_one_plugin_is_not_for_another_that_takes_the_name(stage):
    async def first() -> None:
        async with stage.running("good:Player", more='members = ["remote"]'):
            await stage.until(lambda: "remote" in stage.members())

    async def second() -> None:
        async with stage.running("good:Bridge"):
            await stage.until(lambda: "remote" in stage.members())
            send(stage.room, "crew", "remote", Draft(sender="bob", text="for the bridge"))
            await stage.until(lambda: stage.room.inboxes.unread("crew", "bob"))

    asyncio.run(first())
    send(stage.room, "crew", "remote", Draft(sender="bob", text="for the player"))
    asyncio.run(second())
    assert [row.text for row in stage.room.inboxes.unread("crew", "bob")] == ["echo for the bridge"]


@proves("R001-5.5-08")
def test_played_members_vanish_when_their_plugin_crashes(stage):
    bounds = replace(QUICK, policy=replace(QUICK.policy, first_pause=60, longest_pause=60))

    async def play() -> None:
        async with stage.running("failing:FailsAfterAdding", bounds=bounds):
            await stage.until_state("failsafteradding", "backoff")
            await stage.until(lambda: stage.members() == ["ann", "bob"])
            await stage.until(lambda: stage.state("failsafteradding")["members"] == [])

    asyncio.run(play())


def test_tasks_of_a_played_member_go_back_to_the_board(stage, layout):
    from atm.config import Settings
    from atm.wiring.board import build_boardroom

    boardroom = build_boardroom(layout, Settings({}, [], None, ""), stage.room)

    async def play() -> None:
        async with stage.running("good:Player", more='members = ["p1"]'):
            await stage.until(lambda: "p1" in stage.members())
            add(boardroom, "crew", "ann", [NewTask("work")])
            claim(boardroom, "crew", "p1", "1")

    asyncio.run(play())
    assert boardroom.tasks.read("crew", "1").owner == ""


def test_a_name_that_somebody_else_has_is_not_taken_over(stage):
    async def play() -> None:
        async with stage.running("good:Player", more='members = ["ann"]'):
            found = await stage.until_state("player", "broken")
            assert "'ann' in team 'crew' is not a member that the plugin 'player' plays" in found["last_error"]

    asyncio.run(play())
    assert stage.members() == ["ann", "bob"]


def test_somebody_who_took_the_name_meanwhile_stays(stage):
    async def play() -> None:
        async with stage.running("good:Player", more='members = ["p1"]'):
            await stage.until(lambda: "p1" in stage.members())
            update_member(stage.room, "crew", "p1", {"backendType": "human"})

    asyncio.run(play())
    assert stage.members() == ["ann", "bob", "p1"]


@proves("R001-5.5-08")
def test_a_host_cleans_up_after_one_that_was_killed(stage):
    """The book is all that a killed daemon leaves."""
    add_member(stage.room, "crew", Member("left", backend="plugin:player"))
    add_member(stage.room, "crew", Member("other", backend="plugin:unheard-of"))
    add_member(stage.room, "crew", Member("real", backend="human"))
    book = MemberBook(stage.layout)
    for name in ("left", "real", "never-added"):
        book.enter("player", "/some/repo", ("crew", name))
    book.enter("player", "machine", ("no-such-team", "left"))

    async def play() -> None:
        async with stage.hosting():
            assert stage.members() == ["ann", "bob", "other", "real"]

    asyncio.run(play())
    assert book.played("player") == {}


def test_a_member_that_could_not_be_taken_off_is_taken_off_later(stage):
    roster = Path(stage.layout.team_config("crew"))

    async def play() -> None:
        async with stage.running("good:Player", more='members = ["p1"]') as host:
            await stage.until_state("player", "running")
            whole = roster.read_bytes()
            roster.write_text("{ torn")
            assert await host.stop(30.0) == []
            roster.write_bytes(whole)

    asyncio.run(play())
    assert any("p1@crew could not be taken off the roster" in text for text in stage.texts("player"))
    assert "p1" in stage.members()
    stage.enable({})

    async def again() -> None:
        async with stage.hosting():
            assert "p1" not in stage.members()

    asyncio.run(again())


def test_garbage_in_the_book_is_no_reason_to_stop(stage):
    folder = Path(stage.layout.plugin_data("player"))
    folder.mkdir(parents=True)
    for text in ("", "{", "[]", '{"members": 5}', '{"members": [1, {"place": 2}, {"place": "m", "team": "../x"}]}'):
        (folder / "members.json").write_text(text)

        async def play() -> None:
            async with stage.running("good:Player", more='members = ["p1"]'):
                await stage.until(lambda: "p1" in stage.members())

        asyncio.run(play())
        assert stage.members() == ["ann", "bob"]


def test_two_places_that_play_the_same_member_keep_it_until_both_are_gone(stage, tmp_path):
    repo = tmp_path / "repo"
    repo.mkdir()
    (repo / ".atm.toml").write_text('[plugins.player]\nenabled = true\nmembers = ["p1"]\n')
    _list_repos(stage, repo)
    update_member(stage.room, "crew", "bob", {"cwd": str(repo)})

    async def play() -> None:
        async with stage.running("good:Player", more='members = ["p1"]') as host:
            await stage.until_state("player", "running")
            await stage.until_state("player", "running", str(repo))
            (repo / ".atm.toml").unlink()
            await host.reload(stage.places())
            assert "p1" in stage.members()
            assert [one["place"] for one in host.states()] == ["machine"]

    asyncio.run(play())
    assert "p1" not in stage.members()


# Places and reloading.


def _list_repos(stage: Stage, *repos: Path) -> None:
    """Tell the daemon of repositories, to whose settings the user has said yes."""
    trust(Path(stage.environment["ATM_HOME"]), *repos)
    path = Path(stage.layout.daemon_settings)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"repos = [{', '.join(repr(str(repo)) for repo in repos)}]\n")


@proves(
    "R001-3.3b-02",
    "R001-3.3b-28",
    "R001-5.1-03",
    "R001-5.2-10",
    "R001-5.3-01",
    "R001-5.3-04",
    "R001-5.3-05",
    "R001-5.3-07",
    "R001-5.3-08",
    "R001-5.3-09",
    "R001-5.6-01",
    "R001-5.7-01",
)
def test_one_instance_runs_for_each_place_that_enables_it_with_its_own_settings_and_folder(stage, tmp_path):
    repos = [tmp_path / name for name in ("one", "two", "three")]
    for repo in repos:
        (repo / ".git").mkdir(parents=True)
    (repos[0] / ".atm.toml").write_text('[plugins.player]\nenabled = true\ngreeting = "one"\n')
    (repos[1] / ".atm.toml").write_text("[plugins.player]\nenabled = true\n")
    (repos[2] / ".atm.toml").write_text('[plugins.player]\ngreeting = "not enabled here"\n')
    _list_repos(stage, *repos)

    async def play() -> None:
        async with stage.running("good:Player", more='greeting = "machine"') as host:
            for place in ("machine", str(repos[0]), str(repos[1])):
                await stage.until_state("player", "running", place)
            assert len(host.states()) == 3
            await stage.until(lambda: stage.texts().count("context") == 3)

    asyncio.run(play())
    told = {fields.get("place", "machine"): fields for *_, text, fields in stage.lines if text == "context"}
    assert told["machine"]["greeting"] == "machine"
    assert told["machine"]["repo"] is None
    assert told["machine"]["folder"] == stage.layout.plugin_data("player")
    assert told[str(repos[0])]["greeting"] == "one"
    assert told[str(repos[1])]["greeting"] == "machine"  # key by key, as all settings
    assert told[str(repos[1])]["repo"] == str(repos[1])
    assert told[str(repos[1])]["folder"] == f"{repos[1]}/temp/atm/player"
    assert (repos[1] / "temp/atm/.gitignore").read_text() == "*\n"


@proves("R001-6.2-28")
def test_reloading_starts_stops_and_restarts_exactly_what_changed(stage):
    async def play() -> None:
        stage.offer("good:Listener", "good:Player", "stubborn:SlowShutdown", "failing:NotHere")
        stage.enable({"listener": "", "player": 'members = ["p1"]', "slowshutdown": ""})
        async with stage.hosting() as host:
            for name in ("listener", "player", "slowshutdown"):
                await stage.until_state(name, "running")
            before = {one["name"]: one["pid"] for one in host.states()}
            stage.enable({"listener": "", "player": 'members = ["p2"]', "nothere": ""})
            await host.reload(stage.places())
            await stage.until_state("player", "running")
            await stage.until_state("nothere", "disabled")
            after = {one["name"]: one["pid"] for one in host.states()}
            assert set(after) == {"listener", "player", "nothere"}
            assert after["listener"] == before["listener"]
            assert after["player"] != before["player"]
            assert gone(int(str(before["player"])))
            assert gone(int(str(before["slowshutdown"])))
            await stage.until(lambda: stage.members() == ["ann", "bob", "p2"])
            await host.reload(stage.places())
            assert {one["name"]: one["pid"] for one in host.states()} == after

    asyncio.run(play())


def test_an_inbox_without_unread_mail_goes_with_a_plugin_that_is_disabled(stage):
    async def play() -> None:
        async with stage.running("good:Player", more='members = ["p1", "p2"]') as host:
            await stage.until(lambda: {"p1", "p2"} <= set(stage.members()))
            for name in ("p1", "p2"):
                send(stage.room, "crew", name, Draft(sender="ann", text=f"to {name}"))
            (read,) = stage.room.inboxes.unread("crew", "p1")
            stage.room.inboxes.mark("crew", "p1", {read.key}, True)
            stage.enable({})
            await host.reload(stage.places())
            assert host.states() == []

    asyncio.run(play())
    assert not stage.room.inboxes.exists("crew", "p1")
    assert list(Path(stage.layout.archive("crew", "p1")).iterdir())
    assert [row.text for row in stage.room.inboxes.unread("crew", "p2")] == ["to p2"]


def test_a_plugin_that_was_installed_meanwhile_is_found_by_a_reload(stage):
    async def play() -> None:
        stage.enable({"listener": ""})
        async with stage.hosting() as host:
            await stage.until_state("listener", "disabled")
            stage.offer("good:Listener")
            await host.reload(stage.places())
            await stage.until_state("listener", "running")

    asyncio.run(play())


def test_a_reload_after_the_stop_starts_nothing(stage):
    async def play() -> None:
        async with stage.running("good:Listener") as host:
            await host.stop(30.0)
            await host.reload(stage.places())
            assert {one["state"] for one in host.states()} == {"stopped"}

    asyncio.run(play())


# The end of the daemon.

DAEMON = """
import asyncio, os, sys
sys.path.insert(0, {root!r})
from atm.files.adapters.machine import find_layout
from atm.teamd.places import load_places
from atm.teamd.plugins.discovery import Found
from atm.teamd.plugins.host.host import PluginHost
from tests.teamd.plugins.test_plugin_host import QUICK

def log(level, source, text, **fields):
    print(text, fields, flush=True)

async def main():
    layout = find_layout(os.environ)
    host = PluginHost(load_places(layout, os.environ)[0], layout=layout, environment=os.environ, log=log,
                      publish=lambda event: None, bounds=QUICK, find=lambda: [Found({name!r}, {target!r})])
    await host.start()
    while True:
        await asyncio.sleep(0.05)
        for one in host.states():
            print("state", one["state"], one["pid"], len(one["members"]), flush=True)

asyncio.run(main())
"""


def _daemon(stage: Stage, target: str) -> subprocess.Popen[bytes]:
    name = target.partition(":")[2].lower()
    program = DAEMON.format(root=str(ROOT), name=name, target=f"{HERE}.{target}")
    return subprocess.Popen([sys.executable, "-c", program], env=stage.environment, stdout=subprocess.PIPE)


@proves("R001-5.5-08")
@pytest.mark.parametrize("target", ["good:Player", "stubborn:BlocksTheLoop", "stubborn:ForksAndWaits"])
def test_no_process_is_left_when_the_daemon_is_killed(stage, target, eventually):
    name = target.partition(":")[2].lower()
    stage.enable({name: 'members = ["p1"]\nsilent_after = 1000' if name == "player" else "silent_after = 1000"})
    daemon = _daemon(stage, target)
    assert daemon.stdout is not None
    pid, children = 0, []
    for line in daemon.stdout:
        words = line.split()
        if b"'children':" in line:
            children = [int(line.partition(b"'children': '")[2].partition(b"'")[0])]
        if words[:2] == [b"state", b"running"] and (name != "player" or words[3] == b"1"):
            pid = int(words[2])
            if name != "forksandwaits" or children:
                break
    daemon.kill()
    daemon.stdout.close()
    daemon.wait()
    eventually(lambda: gone(pid), 120)
    for child in children:
        eventually(lambda child=child: gone(child), 120)
    if name == "player":
        eventually(lambda: stage.members() == ["ann", "bob"], 60)


# In the daemon itself.


@proves("R001-1-05", "R001-5-01", "R001-5.4-04", "R001-6.2-28")
def test_the_daemon_takes_over_what_is_enabled_and_disabled_while_it_runs(daemon):
    def states() -> list[dict[str, Any]] | None:
        """None when there was no answer: the command gives the daemon half a second, and this machine may be busy."""
        listed = daemon.atm("plugins", "list", "--json").json
        if not listed["daemon"]:
            return None
        found: list[dict[str, Any]] = next(one for one in listed["plugins"] if one["name"] == "digest")["instances"]
        return found

    daemon.until(lambda: states() == [])
    daemon.atm("plugins", "enable", "digest")
    seen: list[dict[str, Any]] = []

    def is_running() -> bool:
        seen[:] = states() or []
        return [one["state"] for one in seen] == ["running"]

    daemon.until(is_running)
    (running,) = seen
    assert "it is running" in daemon.texts("plugin:digest")
    daemon.until(lambda: "running in machine" in daemon.atm("plugins", "info", "digest").out)
    assert "it is running" in daemon.atm("plugins", "logs", "digest").out
    daemon.atm("plugins", "disable", "digest")
    daemon.until(lambda: states() == [])
    daemon.until(lambda: gone(running["pid"]))
