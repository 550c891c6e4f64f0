"""Crew files."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from atm.crew.formats.crew_file import AGENT_KEYS, NotACrew, commented, read_crew, read_short, schema
from atm.team.rules.repositories import name_of_folder

WHOLE = """
team = "demo"
backend = "tmux"

[[agents]]
name = "ann"
runtime = "claude"
model = "opus"
prompt = "Begin"
require_plan = true
env = { CI = "1" }

[[agents]]
name = "bob"
runtime = "command"
command = ["make", "watch"]
cwd = "/src"
backend = "headless"
"""


def test_every_key_is_read():
    crew = read_crew(WHOLE)
    assert (crew.team, crew.backend, [one.name for one in crew.agents]) == ("demo", "tmux", ["ann", "bob"])
    ann, bob = crew.agents
    assert (ann.model, ann.prompt, ann.require_plan, ann.env) == ("opus", "Begin", True, {"CI": "1"})
    assert (bob.command, bob.cwd, bob.backend) == (["make", "watch"], "/src", "headless")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "names no agents"),
        ("agents = 3", "names no agents"),
        ("agents = [3]", "agent 1 is no table"),
        ("= 1", "not TOML"),
        ("taem = 'x'", "did you mean 'team'"),
        ("[[agents]]\nname = 'a'", "says no runtime"),
        ("[[agents]]\nruntime = 'script'", "says no name"),
        ("[[agents]]\nname = 'a'\nruntime = 'script'\nmodle = 'x'", "did you mean 'model'"),
        ("[[agents]]\nname = 'a'\nruntime = 'script'\nenv = {K = 1}", "env must be a table of texts"),
        ("[[agents]]\nname = 'a'\nruntime = 'script'\ncommand = [1]", "command must be a list of words"),
        ("[[agents]]\nname = 'a'\nruntime = 'script'\nrequire_plan = 'yes'", "require_plan must be true or false"),
        ("[[agents]]\nname = 'a'\nruntime = 'x'\n[[agents]]\nname = 'A'\nruntime = 'x'", "two agents are called 'a'"),
        ("#" * 1_000_001, "at most"),
    ],
)
def test_what_is_wrong_is_named(text, words):
    with pytest.raises(NotACrew) as error:
        read_crew(text)
    assert words in str(error.value)


def test_an_agent_can_be_typed():
    agent = read_short("script:ann")
    assert (agent.runtime, agent.name) == ("script", "ann")
    for wrong in ("ann", ":ann", "script:", ""):
        with pytest.raises(NotACrew):
            read_short(wrong)


def test_the_file_to_begin_with_is_one_and_names_every_key():
    text = commented("demo")
    assert read_crew(text).agents[0].runtime == "script"
    assert all(f"# {key} = " in text for key in AGENT_KEYS)


def test_the_schema_knows_the_same_keys():
    known: Any = schema()["properties"]
    assert set(known["agents"]["items"]["properties"]) == set(AGENT_KEYS)
    assert set(tomllib.loads(WHOLE)) <= set(known)


@pytest.mark.parametrize(
    ("path", "name"), [("/a/My Shop", "my-shop"), ("/", "crew"), ("/a/…", "crew"), ("/x/api/", "api")]
)
def test_a_team_that_nobody_has_named_is_called_after_its_folder(path, name):
    assert name_of_folder(path) == name
