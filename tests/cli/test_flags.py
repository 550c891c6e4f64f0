"""Flags that every command takes, wherever they stand; nouns without a verb; suggestions that are near."""

from __future__ import annotations

import pytest

from atm.core.names import nearest_name
from atm.ui.cli.arguments import Command, parse
from atm.ui.cli.catalog import COMMANDS, load

NOUNS = [load(name)[0] for name in COMMANDS if load(name)[0].subcommands]


def every(command: Command) -> list[Command]:
    return [command, *(leaf for inner in command.subcommands for leaf in every(inner))]


LEAVES = [leaf for name in COMMANDS for leaf in every(load(name)[0])]


def name_of(command):
    return command.name


@pytest.mark.parametrize("command", LEAVES, ids=name_of)
def test_every_command_takes_a_team_a_name_and_json(command):
    names = [name for option in command.options for name in option.names]
    assert {"--team", "--as", "--json"} <= {*names}
    assert len(names) == len({*names}), "an option is there twice"


@pytest.mark.parametrize(
    "words",
    [
        ["--team", "crew", "--as", "bob", "--json", "tasks", "list", "--owner", "bob"],
        ["--team=crew", "tasks", "--as", "bob", "list", "--owner", "bob", "--json"],
        ["tasks", "--json", "-t", "crew", "--as=bob", "list", "--owner", "bob"],
        ["tasks", "list", "--owner", "bob", "--json", "--as", "bob", "--team", "crew"],
        ["--json", "tasks", "--owner", "bob", "--team", "crew", "--as", "bob"],
    ],
)
def test_they_stand_where_one_likes(words):
    from atm.ui.cli.arguments import leading

    flags, rest = leading(words)
    args = parse(load(rest[0])[0], [*flags, *rest[1:]])
    assert args.command.name == "tasks list"
    assert (args.text("team"), args.speaker, args.flag("json"), args.text("owner")) == ("crew", "bob", True, "bob")


def test_before_the_command_too(room, quickly):
    assert quickly("--json", "--team", "crew", "tasks").json["action"] == "list"
    assert quickly("--team", "nowhere", "tasks").code == 1
    quickly("--as", "bob", "--team", "crew", "send", "ann", "hello")
    assert quickly("--as", "ann", "--json", "read").json["messages"][0]["from"] == "bob"
    assert quickly("send", "--as", "ann", "bob", "hello").code == 0


def test_a_value_that_looks_like_a_command_stays_a_value(room, quickly):
    assert "tasks" in quickly("--team", "tasks", "status").err


def test_where_the_team_is_a_word_the_option_stands_for_it(room, quickly):
    assert quickly("teams", "show", "--team", "crew", "--json").json["team"] == "crew"
    assert quickly("teams", "add-member", "cat", "--team", "crew").code == 0
    assert "cat" in quickly("members", "--team", "crew").out
    assert quickly("teams", "show", "crew", "--team", "CREW").code == 0
    two = quickly("teams", "show", "crew", "--team", "other")
    assert two.code == 1
    assert "another" in two.err


def test_what_looks_at_all_teams_looks_at_the_one_that_is_named(room, quickly):
    quickly("teams", "create", "other")
    assert [one["name"] for one in quickly("teams", "--team", "other", "--json").json["teams"]] == ["other"]
    assert len(quickly("teams", "--json").json["teams"]) == 2


@pytest.mark.parametrize("noun", [noun for noun in NOUNS if noun.default], ids=name_of)
def test_a_bare_noun_takes_the_flags_of_its_verb(noun):
    bare = noun.subcommand(noun.default)
    assert parse(noun, []).command is bare
    for option in bare.options:
        if option.names[0] != "--help":
            value = [option.choices[0] if option.choices else "1"] if option.value else []
            assert parse(noun, [option.names[0], *value]).command is bare


@pytest.mark.parametrize("noun", NOUNS, ids=name_of)
def test_the_help_of_a_noun_is_about_the_noun(noun):
    assert parse(noun, ["--help"]).command is noun


def test_the_version_is_a_command_too(quickly):
    said = {quickly(*words).out for words in (["version"], ["--version"], ["-V"])}
    assert len(said) == 1
    assert quickly("version", "--json").json["version"] in said.pop()


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        *(("sned", "send"), ("stauts", "status"), ("task", "tasks"), ("statu", "status"), ("snapsho", "snapshot")),
        *(("broad", "broadcast"), ("SEND", "send"), ("docter", "doctor")),
        *(("foo", None), ("done", None), ("list", None), ("help-me", None), ("x", None), ("", None), ("co", None)),
    ],
)
def test_a_suggestion_is_near_or_there_is_none(word, meant):
    assert nearest_name(word, [*COMMANDS]) == meant


@pytest.mark.parametrize(
    ("words", "does"),
    [
        (["done", "1"], "tasks complete"),
        (["close", "1"], "tasks complete"),
        (["ready"], "tasks list"),
        (["--team", "crew", "done", "1"], "tasks complete"),
    ],
)
def test_verbs_of_other_programs_are_understood(words, does):
    assert parse(load("tasks")[0], words).command.name == does


@pytest.mark.parametrize(("word", "fix"), [("rm", "cancel"), ("delete", "cancel"), ("next", "claim")])
def test_or_answered_with_what_to_type(tasks, word, fix):
    assert f"atm tasks {fix}" in tasks(word, "1", code=1).err
