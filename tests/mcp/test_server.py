"""The server, spoken to by the official client in this process, in both eras of the protocol."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from mcp.client.subscriptions import ResourceUpdated, ToolsListChanged
from mcp.shared.exceptions import MCPError
from tests.mcp.conftest import World, claim, run, until
from tests.proving import proves

from atm.events.rules import MEMBER_CHANGED, MESSAGE_WRITTEN, TeamEvent
from atm.roster.services.members import add_member, create_team, remove_member
from atm.team.rules.team import Member
from atm.ui.mcp.serving.client import Client
from atm.ui.mcp.serving.reception import Reception
from atm.ui.mcp.serving.workers import Workers
from mcp import Client as Official

ERAS = ("legacy", "2026-07-28")


class Counter:
    """A server over real files with a few tools, and the log that it writes."""

    def __init__(self, layout: Any, world: World) -> None:
        self.log: list[str] = []
        self.reception = Reception(
            layout, lambda *said, **_: self.log.append(said[2]), has_daemon=True, offer=world.offer()
        )

    async def admit(self, **named: str) -> Client:
        return await self.reception.admit(claim(**named))

    def connect(self, client: Client, era: str = "legacy", **more: Any) -> Any:
        return Official(self.reception.server(lambda _: client), mode=era, **more)


def text_of(result: Any) -> Any:
    return json.loads(result.content[0].text)


@pytest.mark.parametrize("era", ERAS)
def test_an_answer_is_structured_and_the_same_as_text(room, layout, world, era):
    async def talk() -> None:
        counter = Counter(layout, world)
        async with counter.connect(await counter.admit(), era) as client:
            result = await client.call_tool("echo", {"text": "hello"})
            assert result.structured_content == text_of(result) == {"said": "ann: hello"}
            assert not result.is_error

    run(talk())


@pytest.mark.parametrize("era", ERAS)
def test_a_role_sees_its_own_tools_and_nothing_tells_that_there_are_others(room, layout, world, era):
    async def talk() -> None:
        counter = Counter(layout, world)
        async with counter.connect(await counter.admit(), era) as client:
            assert "rule" not in [tool.name for tool in (await client.list_tools()).tools]
            said = []
            for name in ("rule", "nonsense"):
                with pytest.raises(MCPError) as refused:
                    await client.call_tool(name, {"text": "x"})
                said.append(refused.value.error.message.replace(name, "…"))
            assert said[0] == said[1]
            assert world.calls == []

    run(talk())


def test_a_tool_says_what_it_does_to_the_world(room, layout, world):
    async def talk() -> None:
        counter = Counter(layout, world)
        create_team(room, "led", lead="ann")
        async with counter.connect(await counter.admit(team="led")) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            rule, odd = tools["rule"].annotations, tools["odd"].annotations
            assert (rule.destructive_hint, rule.read_only_hint, rule.open_world_hint) == (True, None, False)
            assert (odd.read_only_hint, odd.idempotent_hint, odd.destructive_hint) == (True, None, None)
            assert tools["rule"].title == "Rule"

    run(talk())


@pytest.mark.parametrize("era", ERAS)
def test_an_error_of_ours_carries_its_code_and_what_to_do(room, layout, world, era):
    async def talk() -> None:
        counter = Counter(layout, world)
        async with counter.connect(await counter.admit(), era) as client:
            result = await client.call_tool("refuse", {})
            assert result.is_error
            assert text_of(result) == {
                "code": "no-such-message",
                "error": "it is not there",
                "remedy": "look elsewhere",
                "path": "/some/file",
            }

    run(talk())


def test_a_bug_is_said_plainly_without_its_inside_and_is_in_the_log(room, layout, world):
    async def talk() -> None:
        counter = Counter(layout, world)
        async with counter.connect(await counter.admit()) as client:
            result = await client.call_tool("burst", {})
            assert (result.is_error, text_of(result)["code"]) == (True, "internal")
            assert "secret detail" not in result.content[0].text
            assert "burst: ZeroDivisionError: secret detail" in counter.log

    run(talk())


@proves("R002-10.1-27")
@pytest.mark.parametrize(
    "arguments",
    [{}, {"text": 7.5}, {"text": "x" * 101}, {"text": "x", "mood": "odd"}, {"text": "x", "other": 1}, {"text": None}],
)
def test_arguments_that_do_not_fit_the_schema_reach_no_tool(room, layout, world, arguments):
    async def talk() -> None:
        counter = Counter(layout, world)
        async with counter.connect(await counter.admit()) as client:
            result = await client.call_tool("echo", arguments)
            assert (result.is_error, text_of(result)["code"]) == (True, "usage")
            assert world.calls == []

    run(talk())


def test_an_answer_that_is_too_large_is_cut_keeps_its_shape_and_says_so(room, layout, world):
    async def talk() -> None:
        counter = Counter(layout, world)
        async with counter.connect(await counter.admit()) as client:
            result = await client.call_tool("much", {"count": 500})
            said = result.content[0].text
            assert len(said.encode()) <= 64 << 10
            assert said.endswith("ask for less at once]")
            assert json.loads(said[: said.rindex("\n")]) == result.structured_content
            assert 0 < len(result.structured_content["rows"]) <= 500

    run(talk())


def test_what_utf8_and_json_cannot_carry_is_replaced(room, layout, world):
    async def talk() -> None:
        counter = Counter(layout, world)
        async with counter.connect(await counter.admit()) as client:
            result = await client.call_tool("odd", {})
            assert result.structured_content == {"text": "half ? of a face", "number": None}

    run(talk())


def test_a_call_that_takes_too_long_is_answered_and_given_back_when_it_ends(room, layout, world):
    async def talk() -> None:
        counter = Counter(layout, world)
        counter.reception.workers = Workers(seconds=0.2)
        async with counter.connect(await counter.admit()) as client:
            result = await client.call_tool("wait", {})
            assert (result.is_error, text_of(result)["code"]) == (True, "too-slow")
            assert world.given_back == []
            world.hold.set()
            await until(lambda: world.given_back == [("wait", "the client did not wait for it")])

    run(talk())


def test_a_call_that_its_client_cancels_is_given_back(room, layout, world):
    async def talk() -> None:
        counter = Counter(layout, world)
        async with counter.connect(await counter.admit()) as client:
            calling = asyncio.ensure_future(client.call_tool("wait", {}))
            await until(lambda: world.calls == ["wait"])
            calling.cancel()
            await asyncio.wait([calling])
            await client.list_tools()  # by now the server has heard of it
            world.hold.set()
            await until(lambda: world.given_back == [("wait", "the client did not wait for it")])

    run(talk())


def test_calls_that_hang_keep_one_client_from_more_but_nobody_else(room, layout, world):
    async def talk() -> None:
        counter = Counter(layout, world)
        greedy, other = await counter.admit(), await counter.admit(member="bob")
        async with counter.connect(greedy) as one, counter.connect(other) as two:
            hanging = [asyncio.ensure_future(one.call_tool("wait", {})) for _ in range(20)]
            await until(lambda: world.calls.count("wait") == 8)
            assert (await two.call_tool("echo", {"text": "free"})).structured_content == {"said": "bob: free"}
            assert world.calls.count("wait") == 8
            world.hold.set()
            assert [(await one_of).structured_content for one_of in hanging] == [{"waited": True}] * 20

    run(talk())


@pytest.mark.parametrize("era", ERAS)
def test_resources_are_listed_read_and_cut(room, layout, world, era):
    async def talk() -> None:
        counter = Counter(layout, world)
        async with counter.connect(await counter.admit(), era) as client:
            assert [one.uri for one in (await client.list_resources()).resources] == ["atm://crew/inbox/ann"]
            templates = (await client.list_resource_templates()).resource_templates
            assert [one.uri_template for one in templates] == ["atm://{team}/inbox/{member}"]
            content = (await client.read_resource("atm://crew/inbox/ann")).contents[0]
            assert (content.mime_type, content.text) == ("application/json", "{}")
            large = (await client.read_resource("atm://crew/large")).contents[0].text
            assert len(large) < 64 << 10
            assert large.endswith("of 200000 characters]")
            with pytest.raises(MCPError) as refused:
                await client.read_resource("atm://crew/inbox/bob")
            assert refused.value.error.data["code"] == "no-such-message"

    run(talk())


@pytest.mark.parametrize("era", ERAS)
def test_prompts_are_for_roles_too(room, layout, world, era):
    async def talk() -> None:
        counter = Counter(layout, world)
        async with counter.connect(await counter.admit(), era) as client:
            assert [one.name for one in (await client.list_prompts()).prompts] == ["help"]
            said = await client.get_prompt("help", {"about": "tea"})
            assert said.messages[0].content.text == "ann needs tea"
        async with counter.connect(await counter.admit(role="observer"), era) as client:
            assert (await client.list_prompts()).prompts == []
            with pytest.raises(MCPError):
                await client.get_prompt("help", {})

    run(talk())


def event(kind: str, subject: str, team: str = "crew") -> TeamEvent:
    return TeamEvent(kind, team, subject, 0.0)


@pytest.mark.filterwarnings("ignore:resources/(un)?subscribe is removed")
def test_whoever_follows_a_resource_is_told_once_of_a_burst(room, layout, world):
    async def talk() -> None:
        counter, heard = Counter(layout, world), []

        async def handler(message: Any) -> None:
            if not isinstance(message, Exception):
                heard.append(message)

        ann = await counter.admit()
        async with counter.connect(ann, message_handler=handler) as client:
            await ann.hear(event(MESSAGE_WRITTEN, "ann"))
            await client.subscribe_resource("atm://crew/inbox/ann")
            for _ in range(100):
                await ann.hear(event(MESSAGE_WRITTEN, "ann"))
                await ann.hear(event(MESSAGE_WRITTEN, "bob"))
            await until(lambda: heard)
            await client.unsubscribe_resource("atm://crew/inbox/ann")
            await ann.hear(event(MESSAGE_WRITTEN, "ann"))
            await client.list_tools()
            assert {one.params.uri for one in heard} == {"atm://crew/inbox/ann"}
            assert len(heard) < 10

    run(talk())


def test_whoever_listens_in_the_later_era_hears_of_changes(room, layout, world):
    async def talk() -> None:
        counter = Counter(layout, world)
        ann = await counter.admit()
        async with (
            counter.connect(ann, "2026-07-28") as client,
            client.listen(resource_subscriptions=["atm://crew/inbox/ann"]) as changes,
        ):
            await ann.hear(event(MESSAGE_WRITTEN, "bob"))
            await ann.hear(event(MESSAGE_WRITTEN, "ann"))
            assert await anext(aiter(changes)) == ResourceUpdated(uri="atm://crew/inbox/ann")

    run(talk())


@pytest.mark.filterwarnings("ignore:resources/(un)?subscribe is removed")
def test_nobody_is_told_of_what_they_may_not_read(room, layout, world):
    async def talk() -> None:
        counter, heard = Counter(layout, world), []

        async def handler(message: Any) -> None:
            heard.append(message)

        ann = await counter.admit()
        async with counter.connect(ann, message_handler=handler) as client:
            await client.subscribe_resource("atm://crew/inbox/bob")
            await ann.hear(event(MESSAGE_WRITTEN, "bob"))
            await client.list_tools()
            assert heard == []

    run(talk())


@pytest.mark.parametrize("era", ERAS)
def test_a_role_follows_the_roster_while_the_connection_lasts(room, layout, world, era):
    async def talk() -> None:
        counter = Counter(layout, world)
        newcomer = await counter.admit(member="CAT")
        assert newcomer.caller.role == "observer"
        async with counter.connect(newcomer, era) as client:
            assert (await client.list_prompts()).prompts == []
            add_member(room, "crew", Member("cat"))
            assert (await client.call_tool("echo", {"text": "in"})).structured_content == {"said": "cat: in"}
            assert len((await client.list_prompts()).prompts) == 1
            remove_member(room, "crew", "cat", force=True)
            assert (await client.list_prompts()).prompts == []

    run(talk())


def test_a_client_is_told_that_its_lists_have_changed_with_its_role(room, layout, world):
    async def talk() -> None:
        counter = Counter(layout, world)
        newcomer = await counter.admit(member="cat")
        async with (
            counter.connect(newcomer, "2026-07-28") as client,
            client.listen(tools_list_changed=True) as changes,
        ):
            await newcomer.hear(event(MEMBER_CHANGED, "ann"))
            add_member(room, "crew", Member("cat"))
            await newcomer.hear(event(MEMBER_CHANGED, "cat"))
            assert await anext(aiter(changes)) == ToolsListChanged()

    run(talk())
