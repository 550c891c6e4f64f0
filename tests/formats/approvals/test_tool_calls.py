"""What agents want to do, in the words of their vendors, is one and the same thing for us."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atm.domain.approvals.calls import AgentCall
from atm.formats.approvals.records import digest_of
from atm.formats.approvals.tool_calls import read_call, read_tool_call

CORPUS = Path(__file__).parents[2] / "corpus" / "hooks"


def call(tool: str, **given: Any) -> AgentCall:
    return read_call(tool, given, folder="/w")


def payload(tool: str, given: Any, **more: Any) -> AgentCall:
    read = read_tool_call({"tool_name": tool, "tool_input": given, "cwd": "/w", **more}, "/root")
    assert read is not None
    return read


PATCH = (
    "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** Add File: b.py\n+z\n*** Delete File: c.py\n*** End Patch"
)


@pytest.mark.parametrize(
    ("tool", "given", "name", "command", "paths"),
    [
        ("Bash", {"command": "make", "description": "x"}, "Bash", "make", []),
        ("Write", {"file_path": "/w/a", "content": "x"}, "Write", "", ["/w/a"]),
        ("Edit", {"file_path": "a", "old_string": "x", "new_string": "y"}, "Edit", "", ["a"]),
        ("MultiEdit", {"file_path": "a", "edits": [{"old_string": "x", "new_string": "y"}]}, "Edit", "", ["a"]),
        ("NotebookEdit", {"notebook_path": "n", "new_source": "x"}, "Edit", "", ["n"]),
        ("WebFetch", {"url": "https://x", "prompt": "p"}, "WebFetch", "https://x", []),
        ("WebSearch", {"query": "q"}, "WebSearch", "q", []),
        ("ExitPlanMode", {"plan": "p"}, "ExitPlanMode", "", []),
        ("apply_patch", {"command": PATCH}, "Edit", "", ["a.py", "b.py", "c.py"]),
        ("apply_patch", {"input": PATCH}, "Edit", "", ["a.py", "b.py", "c.py"]),
        ("Bash", {"command": ["git", "push", "a b"]}, "Bash", "git push 'a b'", []),
        ("run_shell_command", {"command": "make", "dir_path": "sub"}, "Bash", "make", []),
        ("write_file", {"file_path": "a", "content": "x"}, "Write", "", ["a"]),
        ("replace", {"file_path": "a", "old_string": "x", "new_string": "y"}, "Edit", "", ["a"]),
        ("bash", {"command": "make"}, "Bash", "make", []),
        ("edit", {"filePath": "a", "oldString": "x", "newString": "y"}, "Edit", "", ["a"]),
        ("write", {"filePath": "a", "content": "x"}, "Write", "", ["a"]),
        ("execute", {"title": "touch x [current working directory /w]", "kind": "execute"}, "Bash", "touch x", []),
        ("execute", {"title": "Shell", "kind": "execute", "rawInput": {"command": "touch x"}}, "Bash", "touch x", []),
        (
            "edit",
            {"kind": "edit", "locations": [{"path": "a"}], "rawInput": {"file_path": "b"}},
            "Edit",
            "",
            ["a", "b"],
        ),
        ("shell", {"itemId": "c", "command": "/bin/bash -lc 'touch x'", "cwd": "/v"}, "Bash", "touch x", []),
        ("file changes", {"changes": {"a": {}, "b": {}}}, "Edit", "", ["a", "b"]),
        ("mcp__x__y", {"path": "a", "mode": "z"}, "mcp__x__y", "", ["a"]),
    ],
    ids=str,
)
def test_every_vendors_words_are_understood(tool, given, name, command, paths):
    read = payload(tool, given)
    assert (read.tool, read.own_name, read.command, read.paths) == (name, tool, command, paths)
    assert read.root == "/root"


@pytest.mark.parametrize(
    ("name", "session", "call_id"),
    [
        ("claude/pre-tool-use.json", "4d1f9c02-6a3e-4c55-9b0e-2f7a81c3d901", "toolu_0001"),
        ("codex/pre-tool-use.json", None, None),
        ("gemini/before-tool.json", None, None),
    ],
)
def test_payloads_as_vendors_send_them_name_a_command_and_a_folder(name, session, call_id):
    read = read_tool_call(json.loads((CORPUS / name).read_bytes()))
    assert read is not None
    assert (read.tool, bool(read.command), read.folder[:1]) == ("Bash", True, "/")
    assert session in (None, read.session)
    assert call_id in (None, read.call_id)


def test_opencodes_plugin_has_names_of_its_own():
    fields: Any = {"tool": "bash", "tool_input": {"command": "ls"}, "sessionID": "s", "callID": "c", "directory": "/d"}
    read = read_tool_call(fields)
    assert read is not None
    assert (read.tool, read.command, read.session, read.call_id, read.folder) == ("Bash", "ls", "s", "c", "/d")


@pytest.mark.parametrize(
    "fields", [{}, {"tool_name": ""}, {"tool_name": 3}, {"tool_input": {"command": "ls"}}], ids=str
)
def test_a_payload_that_names_no_tool_is_none(fields):
    assert read_tool_call(fields) is None


@pytest.mark.parametrize("given", [None, "rm -rf /", ["rm"], 3])
def test_arguments_that_are_none_leave_a_call_without_a_command(given):
    assert payload("Bash", given).command == ""


@pytest.mark.parametrize(
    ("given", "folder"),
    [
        ({}, "/w"),
        ({"dir_path": "sub"}, "/w/sub"),
        ({"workdir": "/v"}, "/v"),
        ({"directory": ""}, "/w"),
        ({"cwd": 3}, "/w"),
    ],
    ids=str,
)
def test_a_call_runs_in_the_folder_that_it_names_or_in_the_agents(given, folder):
    assert payload("Bash", {"command": "ls", **given}).folder == folder


# What is shown, and what is approved.


def test_an_edit_shows_old_lines_new_lines_and_how():
    one = call("Edit", file_path="a", old_string="x\ny", new_string="z", replace_all=True)
    *lines, how = one.diff.split("\n")
    assert lines == ["-x", "-y", "+z"]
    assert json.loads(how) == {"replace_all": True}


def test_every_part_of_many_edits_is_shown():
    edits = [{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": "d", "replace_all": True}]
    lines = call("MultiEdit", file_path="a", edits=edits).diff.split("\n")
    assert lines[:4] == ["-a", "+b", "-c", "+d"]
    assert "replace_all" in lines[4]


def test_what_a_tool_of_its_own_is_given_is_shown_as_it_is():
    assert json.loads(call("mcp__x__y", path="a", mode="z", n=0).diff) == {"mode": "z", "n": 0}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"file_path": "a", "new_string": "x"}, {"file_path": "a", "new_string": "x", "replace_all": True}),
        (
            {"notebook_path": "a", "new_source": "x", "cell_id": "1"},
            {"notebook_path": "a", "new_source": "x", "cell_id": "2"},
        ),
        ({"file_path": "a", "content": "x\ny"}, {"file_path": "a", "content": "x\r\ny"}),
        ({"file_path": "a", "content": "x\ny"}, {"file_path": "a", "content": "x\u2028y"}),
        ({"file_path": "a", "content": "x"}, {"file_path": "a", "content": "x\n"}),
        ({"file_path": "a", "content": "x"}, {"file_path": "b", "content": "x"}),
        ({"file_path": "a", "content": "x"}, {"file_path": "a", "content": "x", "file_text": "y"}),
        ({"command": "a", "cwd": "/b"}, {"command": "a\0/b"}),
        ({"file_path": "a", "path": "b"}, {"file_path": "a\0b"}),
        ({"command": "ls"}, {"command": "ls "}),
        ({"command": "ls"}, {"command": "ls", "cwd": "/v"}),
        ({"command": "\ud800"}, {"command": "\ud801"}),
    ],
    ids=str,
)
def test_one_letter_of_difference_and_it_is_another_call(one, other):
    assert digest_of("bob", call("Edit", **one)) != digest_of("bob", call("Edit", **other))


def test_who_asks_is_a_part_of_the_call_and_words_about_it_are_not():
    one = call("Bash", command="ls", description="look", timeout=5)
    again = call("Bash", command="ls", description="look again")
    assert digest_of("bob", one) == digest_of("BOB", again)
    assert digest_of("bob", one) != digest_of("ann", one)


def test_a_patch_in_a_remark_hides_no_command():
    one = call("Bash", command="git push # *** Begin Patch")
    assert (one.command, one.paths) == ("git push # *** Begin Patch", [])
    patch = call("Bash", command=PATCH)
    assert patch.command == PATCH


def test_a_patch_in_the_old_text_hides_no_new_text():
    one = call("Edit", file_path="a", old_string="*** Begin Patch", new_string="evil")
    assert "+evil" in one.diff


def test_only_a_shell_that_runs_one_line_is_taken_off():
    for line in ("bash -c 'a' && git push", "bash -lc a b", "bash -x -c a", "mybash -c a", 'bash -c "$x"'):
        assert call("Bash", command=line).command == line


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
KEYS = st.sampled_from(
    [
        "command",
        "cmd",
        "url",
        "file_path",
        "path",
        "edits",
        "changes",
        "locations",
        "rawInput",
        "content",
        "old_string",
        "x",
    ]
)


@given(st.sampled_from(["Bash", "Edit", "apply_patch", "x"]), st.dictionaries(KEYS, JSON, max_size=5))
def test_no_arguments_make_it_raise(tool, given):
    one = payload(tool, given)
    assert isinstance(digest_of("bob", one), str)
    assert all(isinstance(path, str) and path for path in one.paths)
