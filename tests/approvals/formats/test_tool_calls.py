"""What agents want to do, in the words of their vendors, is one and the same thing for us."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.vendors.names import ACP, CLAUDE, CODEX, CODEX_SERVER, GEMINI, OPENCODE, OPENCODE_SERVER

from atm.approvals.formats.records import digest_of
from atm.approvals.formats.tool_calls import read_call, read_tool_call
from atm.approvals.rules.calls import AgentCall

CORPUS = Path(__file__).parents[2] / "corpus" / "hooks"
RECORDED = Path(__file__).parents[2] / "corpus" / "recorded_hooks"
IN_ITS_SHELL = "/bin/bash -lc 'touch x'"


def call(tool: str, vendor: str = CLAUDE, **given: Any) -> AgentCall:
    return read_call(vendor, tool, given, folder="/w")


def payload(tool: str, given: Any, **more: Any) -> AgentCall:
    read = read_tool_call(CLAUDE, {"tool_name": tool, "tool_input": given, "cwd": "/w", **more}, "/root")
    assert read is not None
    return read


PATCH = (
    "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** Add File: b.py\n+z\n*** Delete File: c.py\n*** End Patch"
)


CLEAR = [
    (CLAUDE, "Bash", {"command": "make", "description": "x", "timeout": 5}, "Bash", "make", []),
    (CLAUDE, "Monitor", {"command": "tail -f x", "description": "x", "timeout_ms": 5}, "Bash", "tail -f x", []),
    (CLAUDE, "Write", {"file_path": "/w/a", "content": "x"}, "Write", "", ["/w/a"]),
    (CLAUDE, "Edit", {"file_path": "a", "old_string": "x", "new_string": "y"}, "Edit", "", ["a"]),
    (
        CLAUDE,
        "MultiEdit",
        {"file_path": "a", "edits": [{"old_string": "x", "new_string": "y"}]},
        "Edit",
        "",
        ["a"],
    ),
    (CLAUDE, "NotebookEdit", {"notebook_path": "n", "new_source": "x"}, "Edit", "", ["n"]),
    (CLAUDE, "WebFetch", {"url": "https://x", "prompt": "p"}, "WebFetch", "https://x", []),
    (CLAUDE, "WebSearch", {"query": "q"}, "WebSearch", "q", []),
    (CLAUDE, "ExitPlanMode", {"plan": "p"}, "ExitPlanMode", "", []),
    (CLAUDE, "mcp__x__y", {"path": "a", "mode": "z"}, "mcp__x__y", "", ["a"]),
    (CODEX, "Bash", {"command": "make"}, "Bash", "make", []),
    (CODEX, "apply_patch", {"command": PATCH}, "Edit", "", ["a.py", "b.py", "c.py"]),
    (CODEX_SERVER, "shell", {"itemId": "c", "command": IN_ITS_SHELL, "cwd": "/v"}, "Bash", IN_ITS_SHELL, []),
    (
        CODEX_SERVER,
        "edit",
        {"itemId": "c", "changes": [{"path": "a", "kind": {"type": "update", "move_path": "b"}, "diff": "x"}]},
        "Edit",
        "",
        ["a", "b"],
    ),
    (GEMINI, "run_shell_command", {"command": "make", "dir_path": "sub", "is_background": True}, "Bash", "make", []),
    (GEMINI, "write_file", {"file_path": "a", "content": "x"}, "Write", "", ["a"]),
    (
        GEMINI,
        "replace",
        {"file_path": "a", "instruction": "i", "old_string": "x", "new_string": "y"},
        "Edit",
        "",
        ["a"],
    ),
    (ACP, "execute", {"title": "touch x", "kind": "execute", "locations": []}, "Bash", "touch x", []),
    (
        ACP,
        "edit",
        {"kind": "edit", "locations": [{"path": "a"}], "content": [{"type": "diff", "path": "a"}]},
        "Edit",
        "",
        ["a"],
    ),
    (OPENCODE, "bash", {"command": "make", "description": "x", "workdir": "/v"}, "Bash", "make", []),
    (OPENCODE, "edit", {"filePath": "a", "oldString": "x", "newString": "y"}, "Edit", "", ["a"]),
    (OPENCODE, "write", {"filePath": "a", "content": "x"}, "Write", "", ["a"]),
    (OPENCODE, "apply_patch", {"patchText": PATCH}, "Edit", "", ["a.py", "b.py", "c.py"]),
    (OPENCODE_SERVER, "bash", {"command": "make", "patterns": ["make"]}, "Bash", "make", []),
    (OPENCODE_SERVER, "edit", {"filepath": "a", "diff": "x", "patterns": ["a"]}, "Edit", "", ["a"]),
]
"""As the programs send them: nothing in these calls is unknown."""


@pytest.mark.parametrize(("vendor", "tool", "given", "name", "command", "paths"), CLEAR, ids=str)
def test_of_each_vendor_the_fields_that_it_executes_are_read(vendor, tool, given, name, command, paths):
    read = read_call(vendor, tool, given, folder="/w", root="/root")
    assert (read.tool, read.own_name, read.command, read.paths) == (name, tool, command, paths)
    assert (read.root, read.unclear) == ("/root", "")


PUSH, LOOK = "git push origin main", {"command": "ls"}


@pytest.mark.parametrize("extra", [{"rawInput": LOOK}, {"cmd": "ls"}, {"Command": "ls"}, {"title": "ls"}], ids=str)
@pytest.mark.parametrize(
    ("vendor", "tool"),
    [(CLAUDE, "Bash"), (CODEX, "Bash"), (GEMINI, "run_shell_command"), (OPENCODE, "bash"), (CODEX_SERVER, "shell")],
)
def test_a_field_beside_the_one_that_is_executed_is_never_judged_in_its_place(vendor, tool, extra):
    for arguments in ({"command": PUSH, **extra}, {**extra, "command": PUSH}):
        read = call(tool, vendor, **arguments)
        assert read.command == PUSH
        assert next(iter(extra)) in read.unclear
        assert next(iter(extra)) in read.diff, "people see it"


@pytest.mark.parametrize(
    ("vendor", "tool", "given", "why"),
    [
        (CLAUDE, "Bash", {"command": ["git", "push", "a b"]}, "is a list where a text is expected"),
        (CLAUDE, "Bash", {"command": {"command": "ls"}}, "is a table where a text is expected"),
        (CLAUDE, "Bash", {"command": "ls", "description": {"command": "rm x"}}, "is a table where"),
        (CLAUDE, "Bash", {"command": "ls", "dangerouslyDisableSandbox": True}, "outside the sandbox"),
        (CLAUDE, "Bash", {"command": "ls", "cwd": "/etc"}, "a field cwd"),
        (CLAUDE, "run_shell_command", {"command": "ls"}, "that Claude Code has a tool of this name"),
        (CLAUDE, "Write", {"file_path": "a", "path": "/etc/b", "content": "x"}, "a field path"),
        (CLAUDE, "Write", {"file_path": ["a"], "content": "x"}, "is a list where a text is expected"),
        (CLAUDE, "Write", {"content": "x"}, "names no file"),
        (CLAUDE, "Read", {"file_path": "a", "path": "/etc/b"}, "a field path"),
        (CODEX, "Bash", {"command": "ls", "workdir": "/etc"}, "a field workdir"),
        (CODEX, "Bash", {"cmd": "ls"}, "a field cmd"),
        (CODEX, "exec_command", {"cmd": "ls"}, "that Codex has a tool of this name"),
        (CODEX, "apply_patch", {"input": PATCH}, "a field input"),
        (CODEX, "apply_patch", {"command": "x"}, "no patch that atm can read"),
        (CODEX_SERVER, "shell", {"command": "ls", "additionalPermissions": {"network": True}}, "additionalPermissions"),
        (CODEX_SERVER, "edit", {"itemId": "c"}, "names no file"),
        (GEMINI, "run_shell_command", {"command": "ls", "additional_permissions": {"network": True}}, "additional_"),
        (GEMINI, "run_shell_command", {"command": "ls", "workdir": "/etc"}, "a field workdir"),
        (GEMINI, "run_shell_command", {"command": "bash -c 'ls' 'x; rm y'"}, "rules of its own"),
        (ACP, "execute", {"title": "bash -c 'ls' 'x; rm y'", "kind": "execute"}, "rules of its own"),
        (ACP, "execute", {"title": "Shell", "kind": "execute", "rawInput": {"command": "ls"}}, "a field rawInput"),
        (ACP, "execute", {"title": "ls # [current working directory /w]; rm x", "kind": "execute"}, "a remark"),
        (OPENCODE, "write", {"filePath": "a", "file_path": "/etc/b", "content": "x"}, "a field file_path"),
    ],
    ids=str,
)
def test_what_does_not_say_what_would_be_executed_is_unclear(vendor, tool, given, why):
    assert why in call(tool, vendor, **given).unclear


def test_words_of_a_list_are_still_seen_by_rules_that_deny():
    assert call("Bash", command=["git", "push", "a b"]).command == "git push 'a b'"


@pytest.mark.parametrize(
    ("said", "folder"),
    [
        ("[current working directory /v] (says [what] it does) [background]", "/v"),
        ("[in sub]", "/w/sub"),
        ("[in sub] (a description)", "/w/sub"),
        ("[in sub] (x)]", None),
        ("elsewhere", None),
    ],
)
def test_where_gemini_runs_a_command_stands_beside_it(said, folder):
    content = [{"type": "content", "content": {"type": "text", "text": said}}]
    read = call("execute", ACP, title="make", kind="execute", content=content)
    assert (read.folder, bool(read.unclear)) == (folder or "/w", folder is None)


def test_a_payload_with_a_key_twice_is_unclear():
    read = read_tool_call(
        CLAUDE, {"tool_name": "Bash", "tool_input": {"command": "ls"}, "cwd": "/w"}, repeated=["command"]
    )
    assert read is not None
    assert read.unclear == "its payload has the key command more than once"


@pytest.mark.parametrize(
    ("name", "session", "call_id"),
    [
        ("claude/pre-tool-use.json", "4d1f9c02-6a3e-4c55-9b0e-2f7a81c3d901", "toolu_0001"),
        ("codex/pre-tool-use.json", None, None),
        ("gemini/before-tool.json", None, None),
    ],
)
def test_payloads_as_vendors_send_them_name_a_command_and_a_folder(name, session, call_id):
    read = read_tool_call(name.partition("/")[0], json.loads((CORPUS / name).read_bytes()))
    assert read is not None
    assert (read.tool, bool(read.command), read.folder[:1], read.unclear) == ("Bash", True, "/", "")
    assert session in (None, read.session)
    assert call_id in (None, read.call_id)


@pytest.mark.parametrize("path", sorted(RECORDED.glob("*ToolUse*.json")) + sorted(RECORDED.glob("*AfterTool*.json")))
def test_nothing_that_was_recorded_with_a_real_program_is_unclear(path):
    read = read_tool_call(path.name.partition("-")[0], json.loads(path.read_bytes()))
    assert read is not None
    assert read.unclear == ""


def test_opencodes_plugin_has_names_of_its_own():
    fields: Any = {"tool": "bash", "tool_input": {"command": "ls"}, "sessionID": "s", "callID": "c", "directory": "/d"}
    read = read_tool_call(OPENCODE, fields)
    assert read is not None
    assert (read.tool, read.command, read.session, read.call_id, read.folder) == ("Bash", "ls", "s", "c", "/d")


@pytest.mark.parametrize(
    "fields", [{}, {"tool_name": ""}, {"tool_name": 3}, {"tool_input": {"command": "ls"}}], ids=str
)
def test_a_payload_that_names_no_tool_is_none(fields):
    assert read_tool_call(CLAUDE, fields) is None


def test_a_payload_of_a_vendor_that_is_not_known_is_none():
    assert read_tool_call("somebody", {"tool_name": "Bash", "tool_input": {"command": "ls"}}) is None


@pytest.mark.parametrize("given", [None, "rm -rf /", ["rm"], 3])
def test_arguments_that_are_no_table_leave_a_call_without_a_command_and_unclear(given):
    read = payload("Bash", given)
    assert (read.command, read.unclear) == ("", "its arguments are not a table")


@pytest.mark.parametrize(
    ("vendor", "tool", "given", "folder"),
    [
        (CLAUDE, "Bash", {}, "/w"),
        (CLAUDE, "Bash", {"cwd": "/v"}, "/w"),
        (GEMINI, "run_shell_command", {"dir_path": "sub"}, "/w/sub"),
        (GEMINI, "run_shell_command", {"workdir": "/v"}, "/w"),
        (GEMINI, "run_shell_command", {"dir_path": 3}, "/w"),
        (OPENCODE, "bash", {"workdir": "/v"}, "/v"),
        (OPENCODE, "bash", {"cwd": "/v"}, "/w"),
        (CODEX_SERVER, "shell", {"cwd": "/v"}, "/v"),
    ],
    ids=str,
)
def test_a_call_runs_in_the_folder_that_its_vendor_reads_or_in_the_agents(vendor, tool, given, folder):
    assert call(tool, vendor, command="ls", **given).folder == folder


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


@pytest.mark.parametrize(
    "line", ["bash -c 'ls'", "BASH_ENV=./evil.sh bash -c 'make one'", "bash -c 'echo x' > ~/.bashrc", IN_ITS_SHELL]
)
def test_a_command_is_kept_byte_for_byte(line):
    for vendor, tool in ((CLAUDE, "Bash"), (CODEX, "Bash"), (OPENCODE, "bash"), (CODEX_SERVER, "shell")):
        assert call(tool, vendor, command=line).command == line


# One execution, asked about twice.


def test_codexs_hook_and_its_server_ask_about_one_execution():
    hook = call("Bash", CODEX, command="make one")
    server = call("shell", CODEX_SERVER, itemId="c", command="/bin/bash -lc 'make one'", cwd="/w")
    assert (hook.vendor_shell, server.vendor_shell) == (False, True)
    assert (server.command, server.line) == ("/bin/bash -lc 'make one'", "make one")
    assert digest_of("bob", hook) == digest_of("bob", server)


def test_a_shell_that_a_model_wrote_is_never_the_vendors():
    plain = call("Bash", CODEX, command="make one")
    own = call("Bash", CODEX, command="/bin/bash -lc 'make one'")
    both = call("shell", CODEX_SERVER, command="""/bin/bash -lc "/bin/bash -lc 'make one'" """.strip())
    assert not own.vendor_shell
    assert digest_of("bob", own) != digest_of("bob", plain)
    assert digest_of("bob", both) == digest_of("bob", own)


def test_a_yes_for_a_plain_call_is_no_yes_for_one_with_a_field_that_nobody_knows():
    plain, more = call("Bash", command="make"), call("Bash", command="make", rawInput={"command": "ls"})
    assert digest_of("bob", plain) != digest_of("bob", more)
    assert digest_of("bob", plain) != digest_of("bob", call("Bash", command="BASH_ENV=./evil.sh bash -c 'make'"))


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


@given(
    st.sampled_from([CLAUDE, CODEX, GEMINI, OPENCODE, CODEX_SERVER, ACP, OPENCODE_SERVER]),
    st.sampled_from(["Bash", "Edit", "apply_patch", "execute", "shell", "x"]),
    st.dictionaries(KEYS, JSON, max_size=5),
)
def test_no_arguments_make_it_raise(vendor, tool, given):
    one = read_call(vendor, tool, given, folder="/w")
    assert isinstance(digest_of("bob", one), str)
    assert all(isinstance(path, str) and path for path in one.paths)
