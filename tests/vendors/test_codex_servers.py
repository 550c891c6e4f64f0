"""Our MCP server in the TOML of Codex: put in, put right, taken out, and everything else to the letter."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.chaos import examples

from atm.vendors.codex.notify import with_notify, without_notify
from atm.vendors.codex.servers import codex_server_in, with_codex_server, without_codex_server
from atm.vendors.settings_hooks import NotEditable

ATM = ("atm",)
MOVED = ("/opt/my tools/python", "-m", "atm")
NAMES = ("--team", "crew", "--as", "bob")

FILES = {
    "one key": 'model = "gpt-5"\n',
    "one key without a line break": 'model = "gpt-5"',
    "only a comment": "# mine\n",
    "a comment without a line break": 'model = "gpt-5" # mine',
    "blank lines at the end": 'model = "gpt-5"\n\n\n',
    "blank lines at the start": "\n\n[tui]\nx = 1\n",
    "blanks at the end": 'model = "gpt-5"\n   ',
    "CRLF": 'model = "gpt-5"\r\n\r\n[tui]\r\nx = 1 # one\r\n',
    "CRLF without a last one": 'model = "gpt-5"\r\n[tui]\r\nx = 1',
    "a byte order mark": '\ufeffmodel = "gpt-5"\n',
    "other servers": '[mcp_servers.gh]\ncommand = "gh"\nargs = ["mcp"]\n\n[mcp_servers.gh.env]\nA = "1"\n',
    "the holder by itself": '[mcp_servers]\n\n[mcp_servers.gh]\ncommand = "gh"\n',
    "a server called nearly so": '[mcp_servers.atm2]\ncommand = "atm"\nargs = ["mcp"]\n[mcp_servers."atm.x"]\nx = 1\n',
    "ours in a comment": '# [mcp_servers.atm]\n# command = "atm"\n[tui]\n# [mcp_servers.atm]\n',
    "texts over several lines": "text = \"\"\"\nhello\n[tui]\n\"\"\"\nother = '''\n# [x]\n'''\n",
    "lists over several lines": "list = [\n  [1, 2],\n  [3],\n]\n[[hooks.Stop]]\n[[hooks.Stop]]\nx = 1\n",
    "other alphabets": 'größe = "日本語 🦀"\n'.replace("größe", '"größe"'),
    "dotted keys": 'mcp_servers.gh.command = "gh"\na.b = 1\n',
}


@pytest.mark.parametrize("text", FILES.values(), ids=FILES.keys())
def test_what_is_put_in_comes_out_again_to_the_letter_and_is_there_once(text):
    once = with_codex_server(text, ATM, NAMES)
    assert once.startswith(text)
    assert with_codex_server(once, ATM, NAMES) == once
    assert without_codex_server(once) == text
    assert without_codex_server(text) == text
    before, after = (tomllib.loads(one.removeprefix("\ufeff")) for one in (text, once))
    ours = after["mcp_servers"].pop("atm")
    assert (ours["command"], ours["args"]) == ("atm", ["mcp", *NAMES])
    assert {"ATM_TEAM", "ATM_IDENTITY", "ATM_HOME"} < set(ours["env_vars"])
    assert {**after, "mcp_servers": after["mcp_servers"]} == {"mcp_servers": {}, **before}


@pytest.mark.parametrize("text", FILES.values(), ids=FILES.keys())
def test_a_program_that_moved_is_put_right_where_it_stands(text):
    moved = with_codex_server(with_codex_server(text, ATM, NAMES), MOVED, ())
    found = codex_server_in(moved)
    assert found is not None
    assert (found.program, found.words) == (MOVED, ())
    assert without_codex_server(moved) == text


@pytest.mark.parametrize("text", FILES.values(), ids=FILES.keys())
@pytest.mark.parametrize("first", ["notify", "server"])
def test_it_and_notify_come_and_go_without_a_trace_in_any_order(text, first):
    notify = ("atm", "hook", "codex", "notify")
    both = with_codex_server(with_notify(text, notify), ATM, ())
    out = [without_notify, without_codex_server]
    for step in out if first == "notify" else out[::-1]:
        both = step(both)
    assert both == text


@pytest.mark.parametrize("text", ["", "\n", "\ufeff", " \r\n"])
def test_a_file_with_nothing_in_it_becomes_a_table(text):
    made = with_codex_server(text, ATM, ())
    assert made.removeprefix("\ufeff").startswith("[mcp_servers.atm]")
    assert without_codex_server(made).strip("\ufeff\r\n ") == ""


def test_line_breaks_are_those_of_the_file():
    once = with_codex_server(FILES["CRLF"], ATM, ())
    assert "\n" not in once.replace("\r\n", "")


def test_what_codex_wrote_below_ours_goes_with_it_and_what_others_wrote_stays():
    once = with_codex_server('model = "x"\n', ATM, ())
    grown = once + (
        '\n[mcp_servers.atm.tools.send]\napproval_mode = "approve"\n\n# about projects\n[projects."/work"]\n'
        'trust_level = "trusted"\n\n[mcp_servers.atm.env]\nATM_TEAM = "x"\n'
    )
    rest = without_codex_server(grown)
    assert rest == 'model = "x"\n\n# about projects\n[projects."/work"]\ntrust_level = "trusted"\n'


def test_what_somebody_added_to_our_table_stays_when_the_program_is_put_right():
    text = (
        '[mcp_servers.atm]\n# mine\nstartup_timeout_sec = 20\ncommand = "/old/atm"   # moved\n'
        'args = ["mcp", "--as", "bob"]\nenv = { ATM_TEAM = "x" }\n'
    )
    after = with_codex_server(text, ATM, ("--as", "bob"))
    assert after == text.replace('command = "/old/atm"   # moved', 'command = "atm"')


def test_lists_of_tables_between_ours_stay_where_they_are_when_the_program_is_put_right():
    """tomlkit would gather them."""
    text = '[[hooks.Stop]]\nx = 1\n\n[mcp_servers.atm]\ncommand = "/old/atm"\nargs = ["mcp"]\n\n[[hooks.Stop]]\nx = 2\n'
    text += '\n[mcp_servers.atm.tools.send]\napproval_mode = "approve"\n'
    assert with_codex_server(text, ATM, ()) == text.replace("/old/atm", "atm")


OTHERWISE = {
    "in line": '[mcp_servers]\natm = { command = "/old/atm", args = ["mcp"] } # mine\ngh = { command = "gh" }\n',
    "dotted": 'mcp_servers.atm.command = "/old/atm"\nmcp_servers.atm.args = ["mcp"]\nx = 1\n',
    "quoted": '["mcp_servers"."atm"]\ncommand = "/old/atm"\nargs = ["mcp"]\n[tui]\nx = 1\n',
    "args over lines": '[mcp_servers.atm]\ncommand = "/old/atm"\nargs = [\n  "mcp", # yes\n]\n[tui]\nx = 1\n',
    "other quotes": "[mcp_servers.'atm']\ncommand = '/old/atm'\nargs = ['mcp']\n",
}


@pytest.mark.parametrize("text", OTHERWISE.values(), ids=OTHERWISE.keys())
def test_our_entry_in_another_hand_is_put_right_and_taken_out(text):
    found = codex_server_in(text)
    assert found is not None
    assert found.is_ours
    moved = codex_server_in(with_codex_server(text, ATM, ()))
    assert moved is not None
    assert moved.program == ATM
    rest = tomllib.loads(without_codex_server(text))
    before = tomllib.loads(text)
    del before["mcp_servers"]["atm"]
    assert {"mcp_servers": {}, **rest} == before


@pytest.mark.parametrize(
    "entry",
    [
        *('command = "atm"', 'command = "npx"\nargs = ["atm", "mcp"]', 'url = "http://127.0.0.1/mcp"', ""),
        *('command = 5\nargs = ["mcp"]', 'command = "atm"\nargs = "mcp"', 'command = "atm"\nargs = [5, "mcp"]'),
    ],
)
def test_a_server_of_somebody_else_is_known_and_left_to_them(entry):
    text = f"[mcp_servers.atm]\n{entry}\n"
    found = codex_server_in(text)
    assert found is not None
    assert not found.is_ours
    assert without_codex_server(text) == text


def test_a_server_that_is_switched_off_is_known_for_it():
    found = codex_server_in(with_codex_server("", ATM, ()) + "enabled = false\n")
    assert found is not None
    assert found.is_off


REFUSED = {
    "not TOML": "notify = [",
    "a key twice": "a = 1\na = 2\n",
    "depth": "a = " + "[" * 100_000 + "]" * 100_000,
    "a holder in line": 'mcp_servers = { gh = { command = "gh" } }\n',
    "a holder that is a text": 'mcp_servers = "none"\n',
    "a holder that is a list": "[[mcp_servers]]\nx = 1\n",
}


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED.keys())
def test_what_we_do_not_understand_is_refused(text):
    with pytest.raises(NotEditable):
        with_codex_server(text, ATM, ())


def test_our_header_inside_a_text_is_not_cut_out_of_it():
    text = 'text = """\n[mcp_servers.atm]\ncommand = "x"\n"""\n'
    once = with_codex_server(text, ATM, ())
    assert without_codex_server(once) == text


LINES = st.sampled_from(
    [
        *(
            "",
            "# a comment",
            "a = 1",
            'b = "x"',
            "[t]",
            "[mcp_servers.gh]",
            'command = "gh"',
            'args = ["mcp"]',
            "[[l]]",
        ),
        *(
            's = """',
            '"""',
            "n = [",
            "  [1],",
            "]",
            "[mcp_servers]",
            "[mcp_servers.atm.env]",
            "\t",
            "[mcp_servers.atm]",
        ),
    ]
)


@given(st.lists(LINES, max_size=10), st.sampled_from(["\n", "\r\n"]), st.booleans())
@settings(max_examples=examples(200))
def test_any_file_is_what_it_was_or_refused(lines, end, is_ended):
    text = end.join(lines) + (end if is_ended else "")
    try:
        found = codex_server_in(text)
    except NotEditable:
        return
    if found is not None or not text.strip():
        return
    try:
        once = with_codex_server(text, ATM, NAMES)
    except NotEditable:
        return
    assert without_codex_server(once) == text
