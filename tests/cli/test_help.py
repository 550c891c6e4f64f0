"""Help: every command explains itself, with an example, and mistakes are answered with the nearest thing."""

from __future__ import annotations

import re
import shlex

import pytest
from tests.proving import proves

from atm.ui.cli.arguments import parse
from atm.ui.cli.catalog import COMMANDS, load
from atm.ui.cli.help import describe


def and_within(command):
    return [command, *(one for inner in command.subcommands for one in and_within(inner))]


EVERY = [one for name in COMMANDS for one in and_within(load(name)[0])]
LEAVES = [leaf for name in COMMANDS for command in [load(name)[0]] for leaf in (command, *command.subcommands)]
PROMISED = (
    """send request broadcast read ack inbox receipts teams members status config cleanup spool doctor completion"""
)


def name_of(command):
    return command.name


@proves("R001-1-03", "R001-4.1-01", "R001-10-08")
def test_all_promised_commands_exist():
    assert set(PROMISED.split()) <= set(COMMANDS)


@proves("R001-1-03", "R001-1-08", "R001-2.1-07", "R001-10-08")
@pytest.mark.parametrize("command", LEAVES, ids=name_of)
def test_every_command_has_help_with_an_example_and_json(atm, command):
    result = atm(*command.name.split(), "--help")
    assert f"usage: atm {command.name}" in result.out
    assert "examples:\n  " in result.out
    assert f"atm {command.name.split()[0]}" in result.out.partition("examples:")[2]
    assert "--json" in result.out
    assert result.err == ""


def test_every_example_is_understood_by_the_parser():
    assert [command.name for command in LEAVES if not command.examples] == []
    for example in (example for command in LEAVES for example in command.examples):
        words = shlex.split(example.replace("$(", "").replace(")", "").rpartition("|")[2].partition(">")[0])
        words = words[words.index("atm") + 1 :] if "atm" in words else shlex.split(words[-1])[1:]
        assert parse(load(words[0])[0], words[1:]).command.name.startswith(words[0]), example


def test_no_line_of_help_is_wider_than_a_terminal():
    lines = [(command.name, line) for command in EVERY for line in describe(command).splitlines()]
    assert [each for each in lines if len(each[1]) > 80] == []


def words_alone(text):
    """Lines that go on with a sentence, of one word: below a description, or in the second of two columns."""
    before = ""
    for line in text.partition("\nexamples:")[0].splitlines():
        indent = len(line) - len(line.lstrip())
        begins = not before.strip() or before.endswith(":") or re.fullmatch(r"  -\S+( \S+)*", before)
        if line.strip() and not begins and (indent == 0 or indent > 4) and " " not in line.strip():
            yield line
        before = line


def test_no_word_of_help_stands_alone_on_its_line():
    assert [(command.name, line) for command in EVERY for line in words_alone(describe(command))] == []


def test_a_line_of_a_description_ends_with_its_sentence():
    """Lines that were broken by hand are broken once more by a terminal."""
    lines = [(command.name, line) for command in EVERY for line in command.text.split("\n") if line]
    assert [each for each in lines if each[1][-1] not in ".:;)"] == []


def test_no_word_of_the_overview_stands_alone_on_its_line(atm):
    assert list(words_alone(atm("help").out)) == []


def test_a_word_alone_is_seen_where_it_is():
    assert list(
        words_alone("Send a message to somebody who is\naway.\n\noptions:\n  --as NAME  who you\n             are\n")
    )


@proves("R001-4.1-01")
@pytest.mark.parametrize("words", [[], ["--help"], ["-h"], ["help"]])
def test_the_overview_lists_every_command_and_the_first_steps(atm, words):
    out = atm(*words).out
    assert all(f"\n  {name} " in out for name in COMMANDS)
    assert "atm teams create" in out


def test_help_about_one_command(atm):
    assert atm("help", "send").out == atm("send", "--help").out
    assert atm("send", "-h").out == atm("send", "--help").out


def test_help_about_a_subcommand_is_about_that(atm):
    assert atm("help", "teams", "create").out == atm("teams", "create", "--help").out


def test_help_wins_over_missing_arguments(atm):
    assert "usage" in atm("send", "--help", "ann").out
    assert "usage" in atm("teams", "add-member", "--help").out


def test_the_version_is_told(atm):
    assert atm("--version").out.startswith("atm 0.")
    assert atm("-V").out == atm("--version").out


@pytest.mark.parametrize(
    ("word", "meant"), [("sned", "send"), ("inbx", "inbox"), ("dcotor", "doctor"), ("SEND", "send")]
)
def test_an_unknown_command_is_answered_with_the_nearest(atm, word, meant):
    result = atm(word, code=1)
    assert f"atm {meant}" in result.err
    assert result.out == ""


def test_a_command_that_resembles_nothing_points_to_the_help(atm):
    assert "atm --help" in atm("xyzzy", code=1).err


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["send", "ann", "x", "--sumary", "y"], "--summary"),
        (["read", "--al"], "--all"),
        (["inbox", "--allteams"], "--all-teams"),
        (["teams", "add-member", "crew", "x", "--modle", "y"], "--model"),
        (["config", "set", "a", "b", "--rep"], "--repo"),
        (["spool", "drop", "--all-faild"], "--all-failed"),
    ],
)
def test_an_unknown_option_is_answered_with_the_nearest(quickly, words, meant):
    result = quickly(*words)
    assert result.code == 1
    assert f"did you mean '{meant}'" in result.err


@proves("R001-8.2-04")
@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["send", "ann", "x", "--summary"], "--summary needs a value"),
        (["send", "ann", "x", "--json=yes"], "--json takes no value"),
        (["read", "--limit", "many"], "whole number"),
        (["read", "--limit", "-1"], "cannot be -1"),
        (["read", "--limit", "1.5"], "whole number"),
        (["read", "--wait", "inf"], "cannot be inf"),
        (["inbox", "extra"], "one word too many"),
        (["ack"], "<message-id> is missing"),
        (["teams", "add-member", "crew"], "<agent> is missing"),
        (["completion", "tcsh"], "unknown shell"),
    ],
)
def test_a_wrong_line_is_explained_in_one_sentence_with_a_fix(quickly, words, complaint):
    result = quickly(*words)
    assert result.code == 1
    assert complaint in result.err
    assert "\n  fix: " in result.err


def test_a_value_can_be_joined_by_an_equals_sign(crew):
    crew("send", "ann", "x", "--summary=a=b")
    assert crew.rows("ann")[0]["summary"] == "a=b"


def test_help_needs_no_home_and_no_settings(atm):
    (atm.folder / ".atm.toml").write_text("[core\n")
    env = {"HOME": "", "ATM_HOME": ""}
    assert "usage" in atm("send", "--help", env=env).out
    assert "usage" in atm(env=env).out
    atm("--version", env=env)
