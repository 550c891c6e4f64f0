"""Our MCP server in other programs' JSON: put in, put right, taken out, and everything else to the letter."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import cycle
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.chaos import LONG

from atm.files.formats.json_comments import Commented
from atm.vendors.settings_files import clients, settings_of
from atm.vendors.settings_hooks import NotEditable
from atm.vendors.settings_servers import ServerShape, holds_nothing, server_in, with_server, without_server

ATM = ("atm",)
MOVED = ("/opt/my tools/python", "-m", "atm")
NAMES = ("--team", "crew", "--as", "bob")
SHAPES = {name: shape for name in clients() if isinstance(shape := settings_of(name).server, ServerShape)}
"""Of those whose settings are JSON."""

CLIENTS = list(SHAPES)

PLAIN = {
    "an empty object": "{}",
    "an empty object and a line break": "{}\n",
    "an empty object with space in it": "{ \t }\n",
    "an empty object over lines": "{\n\n}\n",
    "one line": '{"model":"opus","env":{"A":"1"}}',
    "one line with spaces": '{ "model": "opus" }\n',
    "two spaces": '{\n  "model": "opus",\n  "permissions": {\n    "allow": ["Bash(ls)"]\n  }\n}\n',
    "four spaces": '{\n    "model": "opus"\n}\n',
    "tabs": '{\n\t"model": "opus",\n\t"list": [\n\t\t1\n\t]\n}',
    "no indentation": '{\n"model": "opus",\n"x": 1\n}\n',
    "odd indentation": '{\n   "a": 1,\n "b" : 2 ,\n\n\n        "c":3\n  }  \n\n',
    "CRLF": '{\r\n  "model": "opus",\r\n  "x": {}\r\n}\r\n',
    "a byte order mark": '\ufeff{\n  "model": "opus"\n}\n',
    "no line break at the end": '{\n  "model": "opus"\n}',
    "space before and after": '  \n{\n  "model": "opus"\n}\n \n',
    "other alphabets": '{\n  "größe": "日本語 🦀",\n  "esc": "\\u00e9\\ud83d\\n"\n}\n',
    "numbers as they are": '{\n  "a": 1.10,\n  "b": 1e5,\n  "c": 123456789012345678901234567890\n}\n',
    "what looks like comments in texts": '{\n  "a": "https://x/*y*/",\n  "//": "/* */"\n}',
    "no servers yet": '{\n  "HOLDER": {}\n}\n',
    "no servers yet, over lines": '{\n  "HOLDER": {\n  },\n  "z": 1\n}\n',
    "no servers yet, one line": '{"HOLDER":{ },"z":1}',
    "somebody's server": '{\n  "HOLDER": {\n    "gh": {\n      "command": "gh",\n      "args": []\n    }\n  }\n}\n',
    "somebody's servers on one line": '{"HOLDER": {"a": {"command": "a"}, "b": {"url": "http://x"}}, "z": null}',
    "the holder is not the last key": '{\n  "HOLDER": {\n    "a": {}\n  },\n  "inputs": [\n    1\n  ]\n}\n',
    "a key twice": '{\n  "a": 1,\n  "a": 2,\n  "HOLDER": {"x": {}, "x": {}}\n}\n',
    "the holder twice": '{"HOLDER": {"a": {}}, "HOLDER": {"b": {}}}',
    "deep": '{"deep": ' + "[" * 200 + "]" * 200 + "}",
}

COMMENTED = {
    "a comment before all": '// my servers {\n{\n  "a": 1\n}\n',
    "a comment after all": '{\n  "a": 1\n}\n// the end }\n',
    "a comment at the end of the last line": '{\n  "a": 1 // one\n}\n',
    "a comment with blanks behind it": '{\n  "a": 1 // one   \n}\n',
    "a comment that ends in a hash": '{\n  "a": 1 // one #\n}\n',
    "a comment and CRLF": '{\r\n  "a": 1, // one\r\n  "b": 2 // two\r\n}\r\n',
    "a comment on a line of its own at the end": '{\n  "a": 1\n  // more to come\n}\n',
    "a comment on a line of its own before the last": '{\n  "a": 1,\n  // about b\n  "b": 2\n}\n',
    "a long comment": '{\n  "a": 1, /* one\n  and only */ "b": 2 /* two */\n}\n',
    "a long comment before the bracket": '{ "a": 1 /* one */ }',
    "two comments on a line": '{\n  "a": 1 /* one */ // and only\n}\n',
    "one line and a comment": '{ "a": 1 // one\n}\n',
    "a comma too many": '{\n  "a": 1,\n}\n',
    "a comma too many on one line": '{"a": 1,}',
    "a comma too many and a comment": '{\n  "a": 1, // one\n}\n',
    "a comma too many after a comment": '{\n  "a": 1 /* one */ ,\n}\n',
    "a comma too many in a list": '{\n  "a": [1, 2,],\n  "b": {"c": 3,},\n}\n',
    "only a comment inside": "{\n  // nothing yet\n}\n",
    "only a comment on one line": "{ /* nothing */ }",
    "an empty holder with a comment": '{\n  "HOLDER": {\n    // nothing yet\n  },\n}\n',
    "an empty holder with a comment at its bracket": '{\n  "HOLDER": { // mine\n  }\n}\n',
    "somebody's server with comments": '{\n  // all of them\n  "HOLDER": {\n    // this one\n    "gh": {\n'
    '      "command": "gh", // from brew\n    }, // "old": {}\n  },\n  "inputs": [],\n}\n',
    "a server that is commented out": '{\n  "HOLDER": {\n    "a": {}\n    // , "atm": {"command": "x"}\n  }\n}\n',
    "texts with comments in them": '{\n  // "a\n  "b": "// no \\" /* comment", // yes\n  "c": "*/"\n}\n',
}


def sample(text: str, client: str) -> str:
    return text.replace("HOLDER", SHAPES[client].holder)


def comments_in(text: str) -> list[str]:
    return [one for one in re.findall(r'"(?:[^"\\]|\\.)*"|(//[^\r\n]*|/\*.*?\*/)', text, re.DOTALL) if one]


def data_in(text: str) -> dict[str, object]:
    found = json.loads(Commented(text).plain.lstrip("\ufeff"))
    assert isinstance(found, dict)
    return found


CASES = {**PLAIN, **COMMENTED}


def clients_of(name: str) -> list[str]:
    return [client for client in CLIENTS if name in PLAIN or SHAPES[client].takes_comments]


@pytest.mark.parametrize("name", CASES)
def test_what_is_put_in_comes_out_again_to_the_letter_and_is_there_once(name):
    for client in clients_of(name):
        check_coming_and_going(client, sample(CASES[name], client))


def check_coming_and_going(client: str, text: str) -> None:
    shape = SHAPES[client]
    once = with_server(text, ATM, NAMES, shape)
    assert without_server(once, shape) == text
    assert with_server(once, ATM, NAMES, shape) == once
    assert without_server(text, shape) == text
    before, after = data_in(text), data_in(once)
    servers = after.pop(shape.holder)
    assert isinstance(servers, dict)
    assert servers.pop("atm") == shape.entry(("atm", "mcp", *NAMES))
    assert servers == before.pop(shape.holder, {})
    assert (list(after), after) == (list(before), before)
    assert comments_in(once) == comments_in(text)


@pytest.mark.parametrize("name", CASES)
def test_a_program_that_moved_is_put_right_and_not_entered_twice(name):
    for client in clients_of(name):
        shape, text = SHAPES[client], sample(CASES[name], client)
        moved = with_server(with_server(text, ATM, NAMES, shape), MOVED, (), shape)
        found = server_in(moved, shape)
        assert found is not None, client
        assert (found.program, found.words) == (MOVED, ()), client
        assert moved.count('"atm":') + moved.count('"atm" :') == text.count('"atm":') + 1, client
        assert without_server(moved, shape) == text, client


def test_each_program_gets_the_shape_that_it_reads():
    made = {client: json.loads(with_server("", ATM, (), shape)) for client, shape in SHAPES.items()}
    assert made == {
        "claude": {"mcpServers": {"atm": {"type": "stdio", "command": "atm", "args": ["mcp"]}}},
        "gemini": {"mcpServers": {"atm": {"command": "atm", "args": ["mcp"]}}},
        "agy": {"mcpServers": {"atm": {"command": "atm", "args": ["mcp"]}}},
        "opencode": {"mcp": {"atm": {"type": "local", "command": ["atm", "mcp"], "enabled": True}}},
        "cursor": {"mcpServers": {"atm": {"type": "stdio", "command": "atm", "args": ["mcp"]}}},
        "vscode": {"servers": {"atm": {"type": "stdio", "command": "atm", "args": ["mcp"]}}},
    }


def test_a_comment_stays_beside_what_it_is_about():
    text = '{\n  "servers": {\n    "gh": {"command": "gh"} // from brew\n  }\n}\n'
    once = with_server(text, ATM, (), SHAPES["vscode"])
    assert '"gh": {"command": "gh"}, // from brew\n    "atm": {' in once


def test_line_breaks_and_indentation_are_those_of_the_file():
    crlf = with_server(PLAIN["CRLF"], ATM, (), SHAPES["claude"])
    assert "\n" not in crlf.replace("\r\n", "")
    assert '\n\t"mcpServers": {\n\t\t"atm": {' in with_server(PLAIN["tabs"], ATM, (), SHAPES["claude"])
    assert with_server(PLAIN["one line"], ATM, (), SHAPES["claude"]).count("\n") == 0


def test_what_somebody_added_to_our_entry_stays_when_the_program_is_put_right():
    text = (
        '{\n  "mcpServers": {\n    "atm": {\n      "env": {"ATM_TEAM": "x"}, // theirs\n'
        '      "args": ["mcp", "--as", "bob"],\n      "trust": true,\n      "command": "/old/atm"\n    }\n  }\n}\n'
    )
    after = with_server(text, ATM, ("--as", "bob"), SHAPES["gemini"])
    assert after == text.replace("/old/atm", "atm")
    other = with_server(text, ATM, ("--as", "ann"), SHAPES["gemini"])
    assert other == after.replace('"bob"', '"ann"')


def test_an_entry_that_lost_its_args_on_the_way_is_somebody_elses():
    found = server_in('{"mcpServers": {"atm": {"command": "atm"}}}', SHAPES["claude"])
    assert found is not None
    assert not found.is_ours


FOREIGN: list[object] = [
    *(
        {"command": "atm"},
        {"command": "atm", "args": []},
        {"command": "atm", "args": ["serve"]},
        {"url": "http://x/mcp"},
    ),
    *(
        {"command": "automated-teller", "args": ["mcp"]},
        {"command": "npx", "args": ["atm", "mcp"]},
        {},
        [],
        None,
        5,
        "atm mcp",
    ),
    *(
        {"command": ["atm", 5, "mcp"]},
        {"command": {"atm": "mcp"}},
        {"command": "atm", "args": "mcp"},
        {"command": ["x"] * 99},
    ),
    *({"command": "atm", "args": ["mcp", 5]}, {"command": "sh", "args": ["-c", "atm mcp"]}),
]


@pytest.mark.parametrize("client", CLIENTS)
def test_a_server_of_somebody_else_is_known_and_left_to_them(client):
    shape = SHAPES[client]
    for entry in FOREIGN:
        text = json.dumps({shape.holder: {"atm": entry}})
        found = server_in(text, shape)
        assert found is not None, text
        assert not found.is_ours, text
        assert without_server(text, shape) == text


@pytest.mark.parametrize(
    "words",
    [
        *(["atm", "mcp"], ["/usr/bin/atm", "mcp", "--as", "x"], ["/venv/bin/python3", "-m", "atm", "mcp"]),
        *(["C:\\tools\\ATM.EXE", "mcp"],),
    ],
)
def test_ours_is_known_however_it_is_written(words):
    as_list = server_in(json.dumps({"mcp": {"atm": {"command": words}}}), SHAPES["opencode"])
    as_args = server_in(json.dumps({"servers": {"atm": {"command": words[0], "args": words[1:]}}}), SHAPES["vscode"])
    assert as_list is not None
    assert as_args is not None
    assert as_list.is_ours
    assert as_args.is_ours


@pytest.mark.parametrize("entry", ['"enabled": false', '"disabled": true'])
def test_a_server_that_is_switched_off_is_known_for_it(entry):
    found = server_in('{"mcp": {"atm": {"command": ["atm", "mcp"], ' + entry + "}}}", SHAPES["opencode"])
    assert found is not None
    assert found.is_off


def test_our_entry_twice_goes_twice():
    text = (
        '{"servers": {"atm": {"command": "atm", "args": ["mcp"]}, "x": {}, "atm": {"command": "atm", "args": ["mcp"]}}}'
    )
    assert json.loads(without_server(text, SHAPES["vscode"])) == {"servers": {"x": {}}}


def test_comments_inside_the_object_that_we_made_keep_it():
    shape = SHAPES["vscode"]
    once = with_server('{\n  "a": 1\n}\n', ATM, (), shape)
    theirs = once.replace('"servers": {\n', '"servers": {\n    // all mine\n')
    assert without_server(theirs, shape) == '{\n  "a": 1,\n  "servers": {\n    // all mine\n  }\n}\n'


def test_a_server_that_its_owner_wrote_after_ours_stays():
    shape = SHAPES["vscode"]
    once = with_server('{"servers": {}}', ATM, (), shape)
    grown = once.replace("}}}", '}, "b": {} // theirs\n}}') if once.endswith("}}}") else once
    assert grown != once
    assert json.loads(Commented(without_server(grown, shape)).plain) == {"servers": {"b": {}}}


def test_what_follows_on_the_line_is_not_swallowed_by_the_comment_before():
    text = '{"servers": {\n  // ours\n  "atm": {"command": "atm", "args": ["mcp"]}, "b": {}}}'
    rest = without_server(text, SHAPES["vscode"])
    assert data_in(rest) == {"servers": {"b": {}}}
    assert comments_in(rest) == ["// ours"]


def test_a_file_with_nothing_in_it_is_nothing_that_anybody_could_miss():
    shape = SHAPES["vscode"]
    for text in ("", "\ufeff", " \n", "{}", "{ }\n"):
        assert holds_nothing(text, shape)
    for text in ('{"a": 1}', "{ // mine\n}"):
        assert not holds_nothing(text, shape)


REFUSED = {
    "a list": ("[1, 2]", "not an object"),
    "a text": ('"x"', "not an object"),
    "half an object": ('{"a": ', "not JSON"),
    "two commas": ('{"a": 1,,}', "not JSON"),
    "two objects": ('{"a": 1} {"b": 2}', "not JSON"),
    "a comment that never ends": ('{"a": 1} /* and on', None),
    "a text that never ends": ('{"a": "1}', "not JSON"),
    "another encoding": ("{\x00}\x00", "not JSON"),
    "only a comment": ("// nothing here\n", None),
    "a holder that is null": ('{"HOLDER": null}', "is not an object"),
    "a holder that is a list": ('{"HOLDER": []}', "is not an object"),
    "a bottomless pit": ('{"a": ' + "[" * 200_000, "not JSON"),
    "a thousand comments that never end": ("{" + "/*" * 50_000, None),
    "a thousand texts that never end": ("{" + '"\\"' * 50_000, "not JSON"),
}


@pytest.mark.parametrize(("text", "reason"), REFUSED.values(), ids=REFUSED.keys())
def test_what_we_do_not_understand_is_refused_with_a_reason(text, reason):
    for client, shape in SHAPES.items():
        if text == REFUSED["a comment that never ends"][0] and shape.takes_comments:
            continue  # to a program that takes comments this is a whole object, and what follows is its comment
        with pytest.raises(NotEditable, match=reason):
            with_server(sample(text, client), ATM, (), shape)


@pytest.mark.parametrize("text", [text for text in COMMENTED.values() if comments_in(text)])
def test_a_program_that_takes_no_comments_has_none_of_its_files_changed_that_has_some(text):
    for client in ("claude", "agy"):
        with pytest.raises(NotEditable, match="comments"):
            with_server(sample(text, client), ATM, (), SHAPES[client])


def test_a_file_of_many_projects_is_no_trouble():
    """A megabyte, in `make chaos`."""
    projects = range(16_000 if LONG else 2_000)
    rows = ",\n".join(f'    "/work/project-{i}": {{"history": ["// x"], "ready": true}}' for i in projects)
    text = f'{{\n  "projects": {{\n{rows}\n  }}\n}}\n'
    for whole, client in ((text, "claude"), (text + "// the end\n", "vscode")):
        assert without_server(with_server(whole, ATM, (), SHAPES[client]), SHAPES[client]) == whole


BLANKS = st.sampled_from(["", " ", "\n", "\n  ", "\t", " // c\n", " /* c */ ", '\n  // "x": {},\n  ', " /* } */\n"])


LEAVES = st.sampled_from(["1", "null", '"x"', '"// x"', "[1, 2]", "[\n1,\n]", "{}"])
KEYS = ["a", "b", "//", "/*", 'q\\"']


def members(holder: str, values: st.SearchStrategy[Any], held: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Of an object: some keys, in any order, of which one may be that of the servers."""
    others = st.lists(st.tuples(st.sampled_from(KEYS), values), max_size=2, unique_by=lambda pair: str(pair[0]))
    some = others.map(tuple)
    return some | st.builds(lambda few, one, at: (*few[:at], (holder, one), *few[at:]), some, held, st.integers(0, 2))


INNER = members("deeper", LEAVES, members("deeper", LEAVES, LEAVES))
OBJECTS = members("servers", LEAVES | INNER, INNER)


def laid_out(value: Any, blanks: Iterator[str], commas: Iterator[bool]) -> str:
    """With comments and white space wherever they may stand."""
    if isinstance(value, str):
        return value
    parts = [
        f'{next(blanks)}"{key}"{next(blanks)}:{next(blanks)}{laid_out(inner, blanks, commas)}{next(blanks)}'
        for key, inner in value
    ]
    is_closed = next(commas) if parts else False
    last = "," if is_closed else ""
    return f"{{{','.join(parts)}{last}{next(blanks)}}}"


@given(
    OBJECTS,
    st.lists(BLANKS, min_size=1, max_size=11),
    st.lists(st.booleans(), min_size=1, max_size=3),
    st.sampled_from(["", "\n"]),
)
@settings(max_examples=1_500 if LONG else 60)
def test_any_file_with_comments_is_what_it_was(value, blanks, commas, end):
    shape, text = SHAPES["vscode"], laid_out(value, cycle(blanks), cycle(commas)) + end
    once = with_server(text, ATM, NAMES, shape)
    found = server_in(once, shape)
    assert found is not None
    assert found.words == NAMES
    assert comments_in(once) == comments_in(text)
    assert without_server(once, shape) == text


@given(st.text(alphabet='{}[]":,/*\\ \n1a', max_size=40))
@example("{}")
@example('{ "a" : [1, {}] }\n')
@settings(max_examples=1_500 if LONG else 60)
def test_any_garbage_is_refused_or_left_as_it_was(text):
    for shape in SHAPES.values():
        try:
            once = with_server(text, ATM, (), shape)
        except NotEditable:
            continue
        if text.strip():
            assert without_server(once, shape) == text
