"""One table of verbs: the command line and the server offer the same, and the same function does it."""

from __future__ import annotations

import pytest

from atm.ui.cli.arguments import Command
from atm.ui.cli.catalog import load
from atm.ui.mcp.catalog import all_tools
from atm.ui.verbs.board import table
from atm.ui.verbs.verb import COMMAND, TOOL, Verb

PART_OF = {"board_release": "tasks release", "board_reopen": "tasks release"}
PART_OF |= {"board_ask": "tasks clarify", "board_answer": "tasks clarify"}
"""Verbs that the command line offers as part of a command that does more."""


def commands() -> dict[str, Command]:
    found: dict[str, Command] = {}
    waiting = [load("tasks")[0]]
    while waiting:
        one = waiting.pop()
        found[one.name] = one
        waiting += one.subcommands
    return found


@pytest.mark.parametrize("verb", table.ALL, ids=lambda verb: verb.tool)
def test_every_verb_is_a_tool_and_a_command_and_has_a_function(verb: Verb) -> None:
    assert (verb.command or PART_OF[verb.tool]) in commands()
    offered = verb.within if verb.within else verb.tool
    assert {verb.tool, verb.within} & {tool.name for tool in all_tools()} == {offered}
    module = __import__(f"atm.ui.verbs.{verb.home}", fromlist=["DOES"])
    assert verb.tool in module.DOES


def test_no_function_is_there_that_no_verb_needs() -> None:
    homes = {verb.home for verb in table.ALL}
    done = {name for home in homes for name in __import__(f"atm.ui.verbs.{home}", fromlist=["DOES"]).DOES}
    assert done == {verb.tool for verb in table.ALL}


@pytest.mark.parametrize("verb", [verb for verb in table.ALL if not verb.within], ids=lambda verb: verb.tool)
def test_a_tool_takes_what_the_table_says(verb: Verb) -> None:
    tool = next(tool for tool in all_tools() if tool.name == verb.tool)
    offered = [one for one in verb.parameters if one.only != COMMAND]
    properties, required = tool.input["properties"], tool.input.get("required", [])
    assert isinstance(properties, dict)
    assert {*properties} == {one.name for one in offered}
    assert required == [one.name for one in offered if one.is_required]


@pytest.mark.parametrize("verb", [verb for verb in table.ALL if verb.command], ids=lambda verb: verb.tool)
def test_a_command_takes_what_the_table_says(verb: Verb) -> None:
    command = commands()[verb.command]
    words = {argument.name for argument in command.arguments}
    names = {option.names[0] for option in command.options}
    assert words == {one.name for one in verb.parameters if one.is_word}
    offered = {one.option for one in verb.parameters if not one.is_word and one.only != TOOL}
    assert names == offered | {"--as", "--team", "--json", "--help"}
