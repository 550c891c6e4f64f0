"""Runtimes as data."""

from __future__ import annotations

import pytest

from atm.core.errors import BadSetting
from atm.vendors.runtime import PLAIN, command_line
from atm.vendors.runtimes import known, read_runtime

BUILT_IN = tuple(known().values())

DANGEROUS = ("dangerously", "bypass", "yolo", "skip-permissions", "full-access", "--auto")


def test_six_come_with_atm():
    assert sorted(known()) == ["claude", "codex", "command", "gemini", "opencode", "script"]


@pytest.mark.parametrize("runtime", BUILT_IN, ids=lambda runtime: runtime.name)
def test_none_is_started_in_a_mode_that_skips_its_permissions(runtime):
    lines = (runtime.headless, runtime.terminal, runtime.resume, runtime.tools, runtime.modes.values())
    words = [word for line in lines for word in line]
    assert [word for word in words for bad in DANGEROUS if bad in word.lower()] == []


@pytest.mark.parametrize("runtime", [one for one in BUILT_IN if one.program], ids=lambda runtime: runtime.name)
def test_each_vendor_says_how_it_is_brought_and_asked_for_its_version(runtime):
    assert runtime.brings.startswith("npm install")
    assert runtime.version[0] == runtime.headless[0] == runtime.terminal[0] == runtime.program


def test_what_has_no_value_is_left_out_together_with_its_option():
    template = ["claude", "-p", "--model", "{model}", "--mode", "{mode}", "{prompt}"]
    assert command_line(template, {"mode": "plan"}) == ["claude", "-p", "--mode", "plan"]
    assert command_line(template, {"model": "m", "prompt": "go"}) == ["claude", "-p", "--model", "m", "go"]


def test_a_program_of_the_users_own_is_started_as_it_is():
    runtime = read_runtime("aider", {"command": ["aider", "--no-git"], "brings": "pip install aider"}, "user file x")
    assert (runtime.protocol, runtime.program, runtime.headless) == (PLAIN, "aider", ["aider", "--no-git"])
    assert (runtime.brings, runtime.origin) == ("pip install aider", "user file x")


def test_one_can_be_like_a_vendors_with_other_words():
    runtime = read_runtime("mine", {"command": ["wrapper", "claude"], "like": "claude"}, "user file x")
    assert runtime.headless[:3] == ["wrapper", "claude", "-p"]
    assert runtime.vendor == "claude"


@pytest.mark.parametrize("name", ["claude", "codex", "gemini", "opencode"])
def test_one_that_is_like_a_vendors_has_all_of_its_ways(name):
    like, mine = known()[name], read_runtime("mine", {"command": ["wrapper"], "like": name}, "user file x")
    ways = ("protocol", "resume", "tools", "takes_tools", "modes", "ends_by_signal", "goes_on", "ignored", "driver")
    assert [getattr(mine, way) for way in ways] == [getattr(like, way) for way in ways]


def test_one_can_speak_a_protocol_with_words_of_its_own_and_have_variables():
    said = {"command": ["acme", "--acp"], "protocol": "acp", "env": {"ACME_MODE": "quiet"}}
    runtime = read_runtime("mine", said, "user file x")
    assert (runtime.headless, runtime.environment) == (["acme", "--acp"], {"ACME_MODE": "quiet"})
    assert runtime.driver == "atm.vendors.drivers.acp:AcpDriver"
    mine = read_runtime("work", {"command": ["claude"], "like": "claude", "env": {"A": "1"}}, "user file x")
    assert mine.environment == {**known()["claude"].environment, "A": "1"}


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({}, "must be a list of words"),
        ({"command": []}, "must be a list of words"),
        ({"command": ["x", 1]}, "must be a list of words"),
        ({"command": "x", "like": "script"}, "names no runtime with a program"),
        ({"command": "x", "like": "emacs"}, "names no runtime with a program"),
        ({"comand": "x"}, "'comand' is unknown"),
        ({"command": ["x"], "protocol": "smtp"}, "does not speak 'smtp'"),
        ({"command": ["x"], "env": ["A=1"]}, "must be a table of texts"),
        ({"command": ["x"], "env": {"A": 1}}, "must be a table of texts"),
        ({"command": ["x"], "env": {"ATM_IDENTITY": "ann"}}, "cannot set ATM_IDENTITY"),
        ({"command": ["x"], "env": {"HOME": "/x"}}, "look for their team elsewhere"),
        ({"command": ["x"], "env": {"A B": "x"}}, "cannot set A B"),
    ],
)
def test_what_says_no_program_is_refused(said, words):
    with pytest.raises(BadSetting) as error:
        read_runtime("mine", said, "user file x")
    assert words in str(error.value)
