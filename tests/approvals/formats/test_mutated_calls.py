"""
Payloads as vendors send them, changed at random: more fields, renamed, nested, doubled, lists for texts, other case,
huge texts. What is judged is exactly the field that the vendor executes, or the call is unclear.
"""

from __future__ import annotations

import copy
import json
import os
import random
from typing import Any, NamedTuple

import pytest
from tests.chaos import LONG
from tests.vendors.names import ACP, CLAUDE, CODEX, CODEX_SERVER, GEMINI, OPENCODE, OPENCODE_SERVER

from atm.approvals.formats.records import digest_of
from atm.approvals.formats.tool_calls import read_call, read_tool_call
from atm.files.formats.json_record import decode_with_repeats

CASES = 10_000 if LONG else 300
SEED = 43


class Executes(NamedTuple):
    """A vendor's tool, a plain call of it, and what the vendor would execute: said once more, not read from atm."""

    vendor: str
    tool: str
    given: dict[str, Any]
    command: str = ""
    """Field of the command; empty for tools that change a file."""
    path: str = ""
    folder: str = ""
    nothing: frozenset[str] = frozenset()
    """Fields that change nothing."""


SAYS = frozenset({"description", "timeout"})
TOOLS = [
    Executes(CLAUDE, "Bash", {"command": "make", "description": "x"}, command="command", nothing=SAYS),
    Executes(CLAUDE, "Write", {"file_path": "/w/a", "content": "x"}, path="file_path"),
    Executes(CLAUDE, "Edit", {"file_path": "/w/a", "old_string": "x", "new_string": "y"}, path="file_path"),
    Executes(CODEX, "Bash", {"command": "make"}, command="command", nothing=frozenset({"description"})),
    Executes(
        CODEX_SERVER,
        "shell",
        {"itemId": "c", "command": "/bin/bash -lc make", "cwd": "/w"},
        command="command",
        folder="cwd",
        nothing=frozenset({"itemId", "reason"}),
    ),
    Executes(
        GEMINI, "run_shell_command", {"command": "make", "dir_path": "/w/s"}, "command", folder="dir_path", nothing=SAYS
    ),
    Executes(GEMINI, "write_file", {"file_path": "/w/a", "content": "x"}, path="file_path"),
    Executes(ACP, "execute", {"title": "make", "kind": "execute"}, command="title", nothing=frozenset({"kind"})),
    Executes(OPENCODE, "bash", {"command": "make", "workdir": "/w/s"}, "command", folder="workdir", nothing=SAYS),
    Executes(OPENCODE, "write", {"filePath": "/w/a", "content": "x"}, path="filePath"),
    Executes(OPENCODE_SERVER, "bash", {"command": "make", "patterns": ["make"]}, command="command", nothing=SAYS),
    Executes(OPENCODE_SERVER, "edit", {"filepath": "/w/a", "diff": "x"}, path="filepath"),
]
NAMES = [
    *("command", "cmd", "Command", "COMMAND", "command ", "rawInput", "raw_input", "input", "args", "argv", "script"),
    *("title", "description", "file_path", "filePath", "filepath", "path", "cwd", "workdir", "dir_path", "directory"),
    *("shell", "env", "timeout", "x", ""),
]
LINES = ["git push origin main", "ls", "rm -rf /", "BASH_ENV=./evil.sh bash -c 'make'", "make\n", " make", "m\u200bake"]


def mutated(chance: random.Random, given: dict[str, Any]) -> dict[str, Any]:
    found = copy.deepcopy(given)
    for _ in range(chance.randint(1, 3)):
        key = chance.choice([*found]) if found else ""
        line = chance.choice(LINES)
        match chance.randrange(8):
            case 0:
                found[chance.choice(NAMES)] = line
            case 1:
                found[chance.choice(NAMES)] = found.pop(key, line)
            case 2:
                found = {**found, chance.choice(NAMES): {chance.choice(NAMES): line}}
            case 3:
                found[key] = line.split()
            case 4:
                found[chance.choice([key.upper(), key.title(), key.swapcase()])] = found.pop(key, line)
            case 5:
                found[key] = chance.choice([None, 3, True, {}, [], {"command": line}, [{"path": line}]])
            case 6:
                found[key] = line
            case _:
                found[chance.choice([key, chance.choice(NAMES)])] = "x" * chance.choice([1000, 70_000])
    items = [*found.items()]
    chance.shuffle(items)
    return dict(items)


def text(value: object) -> str:
    return value if isinstance(value, str) else ""


@pytest.mark.parametrize("which", TOOLS, ids=lambda one: f"{one.vendor} {one.tool}")
def test_what_is_judged_is_the_field_that_the_vendor_executes_or_the_call_is_unclear(which):
    chance = random.Random(f"{SEED} {which.vendor} {which.tool}")
    plain = digest_of("bob", read_call(which.vendor, which.tool, which.given, folder="/w"))
    clear = 0
    for number in range(CASES // len(TOOLS) + 1):
        given = mutated(chance, which.given)
        read = read_call(which.vendor, which.tool, given, folder="/w")
        about = f"seed {SEED}, case {number}: {json.dumps(given)[:500]}"
        if which.command and not isinstance(given.get(which.command), list):
            assert read.command == text(given.get(which.command)), about
        if read.unclear:
            continue
        clear += 1
        if which.path:
            assert read.paths == [given[which.path]], about
        named = text(given.get(which.folder)) if which.folder else ""
        assert read.folder == (os.path.join("/w", named) if named else "/w"), about
        told = which.nothing | ({which.folder} if which.folder else set())
        does = {key: value for key, value in given.items() if key not in told and value not in (None, [], {}, "")}
        did = {key: value for key, value in which.given.items() if key not in told}
        is_same = does == did and read.folder == which.given.get(which.folder, "/w")
        assert (digest_of("bob", read) == plain) == is_same, about
    assert clear, "the mutations leave some calls clear"


HOOKS = [one for one in TOOLS if one.vendor in (CLAUDE, CODEX, GEMINI, OPENCODE)]


@pytest.mark.parametrize("which", HOOKS, ids=lambda one: f"{one.vendor} {one.tool}")
def test_a_key_that_stands_there_twice_makes_a_call_unclear(which):
    chance = random.Random(f"{SEED} twice {which.vendor} {which.tool}")
    names = ("tool", "directory") if which.vendor == OPENCODE else ("tool_name", "cwd")
    for _ in range(CASES // len(HOOKS) + 1):
        payload = {names[0]: which.tool, names[1]: "/w", "tool_input": which.given}
        key = chance.choice([names[0], "tool_input", *which.given])
        at = f"{json.dumps(key)}: "
        twice = f"{at}{json.dumps(chance.choice(LINES))}, "
        said = json.dumps(payload)
        data = said.replace(at, f"{twice}{at}", 1)
        fields, repeated = decode_with_repeats(data)
        read = read_tool_call(which.vendor, fields, repeated=repeated)
        assert read is not None
        assert read.unclear == f"its payload has the key {key} more than once"
