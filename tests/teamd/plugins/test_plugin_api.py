"""The contract: what a plugin may do, what it may not, and what it can rely on. On twins, through the test kit."""
# ruff: noqa: ARG002 - the contract gives every method more than these need

from __future__ import annotations

import ast
import asyncio
import os
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.proving import proves

from atm.core.errors import AtmError, BadName, NoSuchMember, NoSuchTeam, NotAllowed, OutsideLink, TeamNotOurs
from atm.events.rules import TeamEvent
from atm.mail.formats.inbox import Inbox
from atm.roster.services.members import add_member, update_member
from atm.team.rules.team import Member
from atm.teamd.plugins import api as plugin_api
from atm.teamd.plugins.api import (
    Cancel,
    Capability,
    CapabilityMissing,
    Letter,
    Plugin,
    PluginContext,
    PluginError,
    PluginMetadata,
    Unsuitable,
)
from atm.teamd.plugins.discovery import Found, describe, describe_all, discover, load_plugin, sort_out
from atm.teamd.plugins.host.event_outbox import EventOutbox
from atm.teamd.plugins.inside.context import MailDesk
from atm.teamd.plugins.inside.folder import Folder, folder_of
from atm.teamd.plugins.kit import PluginHarness
from atm.teamd.plugins.wire import LONGEST_LINE, WINDOW, Budget, LineWriter, decode_line, encode_line, read_lines
from atm.testing import make_message

ROOT = Path(__file__).parents[3]
ALL = tuple(Capability)


class Still:
    """A plugin that waits to be told by the test what to do."""

    def metadata(self) -> PluginMetadata:
        return PluginMetadata("still", "1.0", "for tests", ALL)

    async def init(self, ctx: PluginContext) -> None:
        return

    async def run(self, ctx: PluginContext, cancel: Cancel) -> None:
        await cancel.wait()

    async def shutdown(self) -> None:
        return


def with_kit(play: Any, **options: Any) -> Any:
    async def run() -> Any:
        async with PluginHarness(Still(), **options) as kit:
            return await play(kit)

    return asyncio.run(run())


async def next_of(letters: Any) -> Letter:
    letter: Letter = await asyncio.wait_for(anext(letters), 60)
    return letter


# Capabilities.

NEEDS = [
    (Capability.INJECT_MESSAGES, lambda ctx: ctx.mail.send("ann", "crew", "hello")),
    (Capability.ADVERTISE_MEMBERS, lambda ctx: ctx.roster.add("crew", "ghost")),
    (Capability.ADVERTISE_MEMBERS, lambda ctx: ctx.roster.remove("crew", "ghost")),
    (Capability.INTERCEPT_SEND, lambda ctx: anext(ctx.mail.outgoing())),
    (Capability.EVENT_LISTENER, lambda ctx: anext(ctx.events)),
]


@proves("R001-5.2-04", "R001-5.2-05", "R001-5.2-06", "R001-5.2-07", "R001-5.2-08")
@pytest.mark.parametrize(("capability", "use"), NEEDS)
def test_what_was_not_declared_cannot_be_used(capability, use):
    async def play(kit: PluginHarness) -> None:
        with pytest.raises(CapabilityMissing) as caught:
            await use(kit.context)
        assert capability.name in str(caught.value)
        assert capability.name in caught.value.remedy
        assert kit.sent == []
        assert kit.members == []

    with_kit(play, capabilities=[one for one in ALL if one is not capability])


def test_looking_needs_no_capability():
    async def play(kit: PluginHarness) -> None:
        ctx: PluginContext = kit.context
        kit.write("bob", "hello")
        assert await ctx.roster.teams() == ["crew"]
        assert await ctx.roster.members("CREW") == ["ann", "bob"]
        assert (await ctx.mail.unread("crew", "bob")).count == 1
        assert (await ctx.mail.overview("crew")).team == "crew"

    with_kit(play, capabilities=[])


@proves("R001-5.2-14")
def test_the_errors_of_plugins_are_ours_and_have_codes():
    for kind in (PluginError, CapabilityMissing, Unsuitable):
        assert issubclass(kind, AtmError)
        assert kind.code.startswith("plugin")
    assert len({kind.code for kind in (PluginError, CapabilityMissing, Unsuitable)}) == 3


# Sending.


@proves("R001-5.2-07")
def test_mail_is_signed_by_the_plugin_unless_it_says_otherwise():
    async def play(kit: PluginHarness) -> None:
        await kit.context.roster.add("crew", "ghost")
        await kit.context.mail.send("ann", "crew", "one")
        await kit.context.mail.send("ann", "crew", "two", sender="ghost", summary="in short")
        await kit.context.mail.send("ann", "crew", "three", sender="octocat")
        await kit.context.mail.send("ann", "crew", "four", sender="carl@elsewhere")
        rows = kit.room.inboxes.rows("crew", "ann")
        assert [row.sender for row in rows] == ["still", "ghost", "octocat", "carl@elsewhere"]
        assert rows[1].summary == "in short"
        assert [one.text for one in kit.sent] == ["one", "two", "three", "four"]

    with_kit(play)


@proves("R001-5.2-07")
@pytest.mark.parametrize(
    "forged", ["ann", "ANN", "ann@crew", "human", "Human", "team-lead", "user", "system", "a/b", ""]
)
def test_nobody_else_is_forged(forged):
    async def play(kit: PluginHarness) -> None:
        with pytest.raises((NotAllowed, BadName)):
            await kit.context.mail.send("bob", "crew", "trust me", sender=forged or " ")
        assert kit.unread("bob") == []

    with_kit(play)


def test_mail_to_nobody_is_refused():
    async def play(kit: PluginHarness) -> None:
        with pytest.raises(NoSuchMember):
            await kit.context.mail.send("nobody", "crew", "hello")
        with pytest.raises(NoSuchTeam):
            await kit.context.mail.send("ann", "no-such-team", "hello")

    with_kit(play)


def test_a_message_that_is_sent_once_is_not_sent_twice_even_if_it_has_been_read_and_removed():
    async def play(kit: PluginHarness) -> None:
        first = await kit.context.mail.send("ann", "crew", "the digest", once="2026-11-15")
        again = await kit.context.mail.send("ann", "crew", "the digest", once="2026-11-15")
        assert first.message_id == again.message_id
        assert kit.unread("ann") == ["the digest"]
        kit.room.inboxes.change("crew", "ann", lambda _: [])
        third = await kit.context.mail.send("ann", "crew", "the digest", once="2026-11-15")
        assert third.warnings == ("it was sent before",)
        assert kit.unread("ann") == []
        await kit.context.mail.send("bob", "crew", "the digest", once="2026-11-15")
        await kit.context.mail.send("ann", "crew", "the digest", once="2026-11-16")
        assert kit.unread("ann") == kit.unread("bob") == ["the digest"]

    with_kit(play)


# Members.


@proves("R001-5.2-05", "R001-5.3-03", "R001-5.5-01", "R001-5.5-02", "R001-5.5-04")
def test_members_that_a_plugin_plays_are_synthetic_and_its_own():
    async def play(kit: PluginHarness) -> None:
        assert await kit.context.roster.add("crew", "ghost") is True
        assert await kit.context.roster.add("crew", "ghost") is False
        member = kit.room.rosters.load("crew").member("ghost")
        assert member is not None
        assert (member.kind, member.backend) == ("synthetic", "plugin:still")
        assert kit.members == ["ghost@crew"]

    with_kit(play)


@proves("R001-5.3-03")
def test_a_plugin_neither_takes_over_nor_removes_anybody_else():
    async def play(kit: PluginHarness) -> None:
        add_member(kit.room, "crew", Member("other", backend="plugin:other"))
        for name in ("ann", "other", "ANN"):
            with pytest.raises(PluginError):
                await kit.context.roster.add("crew", name)
            with pytest.raises(PluginError):
                await kit.context.roster.remove("crew", name)
        assert await kit.context.roster.members("crew") == ["ann", "bob", "other"]
        assert kit.members == []

    with_kit(play)


@pytest.mark.parametrize("name", ["../ghost", "", "a b", "user", "x" * 100, "ghost.lock", "\x1b[31m"])
def test_a_name_that_cannot_be_is_refused(name):
    async def play(kit: PluginHarness) -> None:
        with pytest.raises(BadName):
            await kit.context.roster.add("crew", name)
        assert kit.members == []

    with_kit(play)


def test_nobody_is_added_to_a_team_of_claude_code():
    async def play(kit: PluginHarness) -> None:
        kit.room.rosters.create("session-12345678", b'{"name": "session-12345678", "members": []}')
        with pytest.raises(TeamNotOurs):
            await kit.context.roster.add("session-12345678", "ghost")

    with_kit(play)


@proves("R001-5.3-03", "R001-5.5-04")
def test_unread_mail_outlives_the_member_and_read_mail_goes_to_the_archive():
    async def play(kit: PluginHarness) -> None:
        for name in ("g1", "g2"):
            await kit.context.roster.add("crew", name)
            kit.write(name, f"to {name}")
        (row,) = kit.room.inboxes.unread("crew", "g2")
        kit.room.inboxes.mark("crew", "g2", {row.key}, True)
        assert await kit.context.roster.remove("crew", "g1") is True
        assert await kit.context.roster.remove("crew", "g2") is True
        assert await kit.context.roster.remove("crew", "g2") is False
        assert await kit.context.roster.members("crew") == ["ann", "bob"]
        assert kit.unread("g1") == ["to g1"]
        assert not kit.room.inboxes.exists("crew", "g2")
        archive: Any = kit.room.archive
        assert [kept.text for content in archive.kept.values() for kept in Inbox(content).rows] == ["to g2"]
        assert kit.members == []

    with_kit(play)


# Letters.


@proves("R001-5.2-06", "R001-5.3-02", "R001-5.5-05")
def test_a_letter_is_delivered_when_the_plugin_says_so():
    async def play(kit: PluginHarness) -> None:
        await kit.context.roster.add("crew", "ghost")
        id = kit.write("ghost", "hello", sender="bob")
        letter = await next_of(kit.context.mail.outgoing())
        assert (letter.id, letter.team, letter.to, letter.sender, letter.text) == (id, "crew", "ghost", "bob", "hello")
        assert letter.at == pytest.approx(kit.now(), abs=1)
        assert kit.unread("ghost") == ["hello"]
        assert kit.evidence(id) is None
        await letter.done("HTTP 200 from the other side")
        assert kit.unread("ghost") == []
        assert kit.evidence(id) == "HTTP 200 from the other side"

    with_kit(play)


def test_letters_come_in_order_and_each_once():
    async def play(kit: PluginHarness) -> None:
        await kit.context.roster.add("crew", "ghost")
        letters = kit.context.mail.outgoing()
        for number in range(5):
            kit.write("ghost", f"{number}")
        seen = [(await next_of(letters)).text for _ in range(5)]
        assert seen == ["0", "1", "2", "3", "4"]
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(letters), 0.1)

    with_kit(play)


def test_a_letter_that_failed_stays_unread_and_comes_again_later():
    async def play(kit: PluginHarness) -> None:
        await kit.context.roster.add("crew", "ghost")
        letters = kit.context.mail.outgoing()
        kit.write("ghost", "hello")
        letter = await next_of(letters)
        await letter.failed("no connection", again_after=60)
        waiting = asyncio.ensure_future(anext(letters))
        await kit.pass_time(59)
        assert not waiting.done()
        assert kit.unread("ghost") == ["hello"]
        await kit.pass_time(2)
        again = await asyncio.wait_for(waiting, 60)
        assert again.id == letter.id
        assert any("no connection" in line.text for line in kit.logs)

    with_kit(play)


def test_a_letter_that_was_not_done_comes_again_after_a_restart_and_one_that_was_does_not():
    async def play(kit: PluginHarness) -> None:
        await kit.context.roster.add("crew", "ghost")
        letters = kit.context.mail.outgoing()
        kit.write("ghost", "done")
        kit.write("ghost", "not done")
        await (await next_of(letters)).done("there")
        await next_of(letters)
        after_restart = MailDesk(kit._plugin_room).outgoing()
        assert (await next_of(after_restart)).text == "not done"

    with_kit(play)


def test_a_letter_that_somebody_turned_back_to_unread_is_not_delivered_twice():
    async def play(kit: PluginHarness) -> None:
        await kit.context.roster.add("crew", "ghost")
        letters = kit.context.mail.outgoing()
        kit.write("ghost", "hello")
        (row,) = kit.room.inboxes.rows("crew", "ghost")
        await (await next_of(letters)).done("there")
        kit.room.inboxes.mark("crew", "ghost", {row.key}, False)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(MailDesk(kit._plugin_room).outgoing()), 0.1)

    with_kit(play)


def test_rows_of_other_programs_are_letters_too_and_idle_notices_are_not():
    async def play(kit: PluginHarness) -> None:
        await kit.context.roster.add("crew", "ghost")
        inboxes: Any = kit.room.inboxes
        idle = make_message("i", '{"type": "idle_notification", "from": "ann"}')
        plain = make_message("x", "from Claude Code")
        plain.id = None
        inboxes.foreign_rewrite("crew", "ghost", [idle, plain])
        letter = await next_of(kit.context.mail.outgoing())
        assert letter.text == "from Claude Code"
        assert len(letter.id) == 36
        await letter.done("there")
        assert [row.read for row in kit.room.inboxes.rows("crew", "ghost")] == [False, True]

    with_kit(play)


@proves("R001-5.2-06")
def test_only_its_own_members_letters_come():
    async def play(kit: PluginHarness) -> None:
        kit.write("bob", "private")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(kit.context.mail.outgoing()), 0.1)

    with_kit(play)


def test_an_inbox_that_cannot_be_read_is_said_once_and_looked_at_again():
    async def play(kit: PluginHarness) -> None:
        await kit.context.roster.add("crew", "ghost")
        from atm.core.errors import UnreadableFile

        inboxes: Any = kit.room.inboxes
        whole, inboxes.unread = inboxes.unread, lambda *_: (_ for _ in ()).throw(UnreadableFile("torn"))
        letters = kit.context.mail.outgoing()
        waiting = asyncio.ensure_future(anext(letters))
        await asyncio.sleep(0.1)
        inboxes.unread = whole
        kit.write("ghost", "hello")
        assert (await asyncio.wait_for(waiting, 60)).text == "hello"
        assert sum("torn" in line.text for line in kit.logs) == 1

    with_kit(play)


# Facts, settings, folder.


def test_an_overview_tells_what_waits_and_who_is_silent():
    async def play(kit: PluginHarness) -> None:
        kit.write("bob", "first")
        written = kit.now()
        await kit.pass_time(3600)
        kit.write("bob", "second")
        update_member(kit.room, "crew", "ann", {"backendType": "human"})
        facts = await kit.context.mail.overview("crew")
        bob = next(member for member in facts.members if member.name == "bob")
        assert (bob.unread.count, bob.liveness, bob.silent_for) == (2, "unknown", None)
        assert bob.unread.oldest_at == pytest.approx(written, abs=1)
        assert [(member.name, member.kind) for member in facts.members] == [("ann", "human"), ("bob", "agent")]
        assert (facts.spool_waiting, facts.spool_failed, facts.tasks, facts.problems) == (0, 0, {}, ())

    with_kit(play)


@proves("R001-5.3-04")
def test_the_settings_cannot_be_changed_by_the_plugin():
    async def play(kit: PluginHarness) -> None:
        config: Any = kit.context.config
        with pytest.raises(TypeError):
            config["greeting"] = "other"
        with pytest.raises(TypeError):
            config["deep"]["key"] = 1
        assert config["listed"] == ("a", "b")
        assert config["deep"]["key"] == (1,)

    with_kit(play, config={"greeting": "hi", "listed": ["a", "b"], "deep": {"key": [1]}})


@proves("R001-5.3-05", "R001-5.3-09", "R001-5.3-11", "R001-5.7-01", "R001-5.7-02")
def test_the_folder_is_made_when_it_is_asked_for(tmp_path, layout):
    machine = folder_of(layout, "still", None)
    assert not os.path.exists(layout.plugin_data("still"))
    assert machine.made() == layout.plugin_data("still")
    assert os.path.isdir(layout.plugin_data("still"))
    inside = folder_of(layout, "still", str(tmp_path))
    assert inside.made() == f"{tmp_path}/temp/atm/still"
    assert inside.made() == f"{tmp_path}/temp/atm/still"
    assert (tmp_path / "temp/atm/.gitignore").read_text() == "*\n"


@pytest.mark.skipif(sys.platform == "win32", reason="modes say nothing there")
@pytest.mark.parametrize("inside", [False, True])
def test_the_folder_is_for_its_user_alone_whatever_the_umask(tmp_path, layout, inside):
    former = os.umask(0)
    try:
        made = Path(folder_of(layout, "still", str(tmp_path) if inside else None).made())
    finally:
        os.umask(former)
    assert [path.stat().st_mode & 0o777 for path in (made, made.parent)] == [0o700, 0o700]
    assert [path.stat().st_mode & 0o777 for path in made.parent.glob(".gitignore")] == [0o600] * inside


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_a_repository_cannot_lead_the_folder_out_of_itself(tmp_path):
    outside, repo = tmp_path / "outside", tmp_path / "repo"
    outside.mkdir()
    (repo / "temp").mkdir(parents=True)
    (repo / "temp/atm").symlink_to(outside)
    with pytest.raises(OutsideLink):
        Folder(f"{repo}/temp/atm/still", str(repo)).made()
    assert list(outside.iterdir()) == []


# Ending.


@proves("R001-5.2-12")
def test_waiting_for_the_end_tells_whether_it_has_come():
    async def play() -> None:
        cancel = Cancel()
        assert await cancel.wait(0.01) is False
        assert not cancel.is_set()
        waiting = asyncio.ensure_future(cancel.wait())
        cancel.set()
        assert await asyncio.wait_for(waiting, 60) is True
        assert await cancel.wait(0) is True

    asyncio.run(play())


@proves("R001-5.1-05", "R001-5.2-12")
def test_streams_end_when_the_plugin_shall_end():
    async def play() -> None:
        kit = PluginHarness(Still())
        await kit.start()

        async def listen() -> int:
            return len([event async for event in kit.context.events])

        async def read() -> int:
            return len([letter async for letter in kit.context.mail.outgoing()])

        both = asyncio.gather(listen(), read())
        kit.emit(TeamEvent("task.created", "crew", "1", kit.now()))
        await kit.settle()
        await kit.stop()
        assert [*await asyncio.wait_for(both, 60)] == [1, 0]

    asyncio.run(play())


class Stubborn(Still):
    async def run(self, ctx: PluginContext, cancel: Cancel) -> None:
        await asyncio.sleep(3600)


class Failing(Still):
    async def run(self, ctx: PluginContext, cancel: Cancel) -> None:
        raise ValueError("broken")


@proves("R001-8.3-06")
@pytest.mark.parametrize(("plugin", "error"), [(Stubborn(), PluginError), (Failing(), ValueError)])
def test_the_kit_tells_when_run_fails_or_does_not_end(plugin, error):
    async def play() -> None:
        kit = PluginHarness(plugin)
        await kit.start()
        with pytest.raises(error):
            await kit.stop(0.1)

    asyncio.run(play())


def test_the_kit_does_not_wait_for_what_can_never_come():
    async def play() -> None:
        kit = PluginHarness(Failing())
        await kit.start()
        with pytest.raises(ValueError, match="broken"):
            await kit.until(lambda: False, 60)
        with pytest.raises(ValueError, match="broken"):
            await kit.stop()

    asyncio.run(play())


@proves("R001-8.3-06")
def test_waits_of_a_plugin_in_the_kit_pass_only_with_the_kits_time():
    async def play(kit: PluginHarness) -> None:
        waiting = asyncio.ensure_future(kit.cancel.wait(3600))
        await kit.settle()
        await kit.pass_time(3599)
        assert not waiting.done()
        await kit.pass_time(1)
        assert waiting.result() is False

    with_kit(play)


# Finding and loading.


@proves("R001-5.1-07", "R001-5.2-04", "R001-5.2-09", "R001-10-12")
def test_our_own_plugins_are_found_and_describe_themselves():
    found = {one.name: one for one in discover()}
    assert {"digest", "webhook"} <= set(found)
    told = describe_all([found["digest"], found["webhook"]], os.environ, seconds=60)
    assert told["webhook"].capabilities == ("event-listener",)
    assert told["digest"].error == ""
    assert told["digest"].description


GROUPS = [
    ([Found("one", "a:b", "dist", "1")], ""),
    ([Found("one", "a:b", "dist", "1"), Found("one", "a:b", "dist", "1")], ""),
    ([Found("one", "a:b", "dist", "1"), Found("one", "a:c", "other", "1")], "two plugins have this name: dist, other"),
    ([Found("one", "a")], "'a' is not module:attribute"),
    ([Found("ONE", "a:b")], "characters that we do not create"),
    ([Found("../one", "a:b")], "path separator"),
    ([Found("o.ne", "a:b")], "no '.'"),
    ([Found("", "a:b")], "is empty"),
]


@pytest.mark.parametrize(("group", "error"), GROUPS)
def test_entries_that_cannot_be_are_kept_with_their_error(group, error):
    (one,) = sort_out(group)
    assert error in one.error if error else not one.error


@proves("R001-2.2-01")
@pytest.mark.parametrize(
    ("target", "error"),
    [
        ("tests.teamd.bad_plugins.broken_import:X", "no_such_module_anywhere"),
        ("tests.teamd.bad_plugins.exits_on_import:X", "not today"),
        ("tests.teamd.bad_plugins.failing:no_plugin_at_all", "has not the methods of a plugin"),
        ("tests.teamd.bad_plugins.failing:OddCapability", "capability"),
        ("os:_exit", "TypeError"),
    ],
)
def test_a_plugin_that_cannot_be_loaded_is_described_by_its_error(target, error):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    told = describe(Found("oddcapability", target), environment, seconds=60)
    assert error in told.error
    assert told.capabilities == ()


def test_a_plugin_that_never_says_who_it_is_is_not_waited_for(tmp_path):
    (tmp_path / "sleeper.py").write_text("import time, os\nif os.fork() == 0: time.sleep(60)\ntime.sleep(60)\n")
    told = describe(Found("sleeper", "sleeper:X"), {**os.environ, "PYTHONPATH": str(tmp_path)}, seconds=1.0)
    assert told.error == "it did not say in time who it is"


@proves("R001-5.1-10", "R001-5.2-02", "R001-5.2-03")
def test_what_a_plugin_prints_while_it_is_imported_does_not_confuse(tmp_path):
    (tmp_path / "chatty.py").write_text(
        'print(\'{"t": "hello", "description": "forged"}\')\n'
        "from atm.teamd.plugins.bundled.digest import Digest\n"
        "class Chatty(Digest):\n"
        "    def metadata(self):\n"
        "        from atm.teamd.plugins.api import PluginMetadata\n"
        '        return PluginMetadata("chatty", "2", "true", ())\n'
    )
    told = describe(Found("chatty", "chatty:Chatty"), {**os.environ, "PYTHONPATH": str(tmp_path)}, seconds=60)
    assert (told.description, told.version, told.error) == ("true", "2", "")


@proves("R001-5.1-01", "R001-5.2-01")
def test_an_object_is_a_plugin_as_well_as_a_class_of_them(tmp_path, monkeypatch):
    (tmp_path / "ready_made.py").write_text(
        "from atm.teamd.plugins.bundled.digest import Digest\nplugin = Digest()\nclass Inner:\n    Digest = Digest\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    for target in ("ready_made:plugin", "ready_made:Inner.Digest", "ready_made:Digest"):
        plugin, metadata = load_plugin(target, "digest")
        assert isinstance(plugin, Plugin)
        assert metadata.name == "digest"


@proves("R001-1-13", "R001-2.1-09")
@pytest.mark.parametrize("name", ["webhook", "digest"])
def test_our_plugins_import_what_every_plugin_may(name):
    tree = ast.parse((ROOT / f"src/atm/teamd/plugins/bundled/{name}.py").read_text())
    ours = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
    ours = [module for module in ours if module.startswith("atm")]
    assert ours
    assert set(ours) == {"atm.teamd.plugins.api"}


@proves("R001-5.2-05", "R001-10-12")
def test_the_names_of_the_contract_are_these():
    assert all(hasattr(plugin_api, name) for name in plugin_api.__all__)
    assert {one.value for one in Capability} == {
        *("advertise-members", "intercept-send", "inject-messages", "event-listener"),
    }


# The wire.

LINES = [
    (b'{"t": "beat"}', ("beat", {})),
    (b'{"t": "log", "text": "x"}', ("log", {"text": "x"})),
    (b'{"t": 5}', None),
    (b"{}", None),
    (b"[]", None),
    (b"", None),
    (b"\xff\xfe", None),
    (b'{"t": "beat"', None),
    (b"[" * 100_000, None),
]


@pytest.mark.parametrize(("line", "meant"), LINES)
def test_a_line_is_what_it_says_or_nothing(line, meant):
    assert decode_line(line) == meant


def test_lines_survive_the_way_and_endless_ones_are_cut():
    source, target = os.pipe()
    writer = LineWriter(target)

    def write() -> None:
        writer.send("log", text="ünïcode \ud83d \n\x00")
        os.write(target, b"x" * (LONGEST_LINE + 1_000_000) + b"\n")
        writer.send("beat")
        os.close(target)

    thread = threading.Thread(target=write)
    thread.start()
    lines = list(read_lines(source))
    thread.join()
    os.close(source)
    assert decode_line(lines[0]) == ("log", {"text": "ünïcode \ud83d \n\x00"})
    assert LONGEST_LINE <= len(lines[1]) < LONGEST_LINE + 100_000
    assert decode_line(lines[2]) == ("beat", {})


def test_writing_to_somebody_who_is_gone_is_no_error():
    source, target = os.pipe()
    os.close(source)
    writer = LineWriter(target)
    writer.send("beat")
    writer.send("beat")
    assert writer.is_broken
    os.close(target)


def test_what_is_no_plain_data_cannot_be_put_on_the_wire():
    with pytest.raises(TypeError):
        encode_line("event", {"odd": object()})


def test_a_budget_lets_a_burst_through_and_then_so_many_a_second():
    budget = Budget(burst=3, per_second=2, now=0.0)
    assert [budget.allows(0.0) for _ in range(5)] == [True, True, True, False, False]
    assert budget.take_dropped() == 2
    assert budget.take_dropped() == 0
    assert [budget.allows(1.0) for _ in range(3)] == [True, True, False]
    assert [budget.allows(1000.0) for _ in range(4)] == [True, True, True, False]


# Events on their way.


def outbox(most: int = 10) -> tuple[EventOutbox, list[TeamEvent]]:
    sent: list[TeamEvent] = []
    return EventOutbox(sent.append, most), sent


def event(number: int) -> TeamEvent:
    return TeamEvent("task.created", "crew", str(number), float(number))


def test_no_more_events_are_on_their_way_than_the_window_allows():
    box, sent = outbox()
    for number in range(WINDOW + 5):
        box.offer(event(number))
    assert len(sent) == WINDOW
    box.took(2)
    assert len(sent) == WINDOW + 2
    assert box.dropped == 0


def test_the_oldest_are_dropped_and_one_event_says_how_many():
    box, sent = outbox(most=10)
    for number in range(WINDOW + 30):
        box.offer(event(number))
    assert box.dropped == 20
    box.took(WINDOW)
    told = sent[WINDOW:]
    assert (told[0].kind, told[0].detail) == (plugin_api.DROPPED, {"count": 20})
    assert [one.subject for one in told[1:]] == [str(number) for number in range(WINDOW + 20, WINDOW + 30)]


@pytest.mark.parametrize("claimed", [10**9, -5, 0])
def test_credit_that_was_never_given_counts_for_nothing(claimed):
    box, sent = outbox(most=1000)
    box.took(claimed)
    for number in range(WINDOW + 5):
        box.offer(event(number))
    assert len(sent) == WINDOW
