"""Everything that prints a table fits its terminal; what is to be copied is whole."""

from __future__ import annotations

import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.conftest import Terminal

from atm.ui.views import tables
from atm.ui.views.fitting import fold, shown_width
from atm.ui.views.style import width_of

LONG = "a-member-with-quite-a-long-name"
TITLE = "Write the parser for the configuration files of the older programs, with tests"

TABLES = (
    *(["tasks"], ["tasks", "list", "--all"], ["teams"], ["teams", "show", "crew"], ["members"], ["status"], ["inbox"]),
    *(["inbox", "--all-teams"], ["receipts"], ["spool"], ["config"], ["plugins"], ["runtimes"], ["session", "--all"]),
    *(["session", "show", "crew"], ["session", "probe", "crew"], ["sync"], ["sync", "metrics"], ["approvals"]),
    *(
        ["mcp", "token"],
        ["trust", "--list"],
        ["cleanup"],
        ["teams", "cleanup", "crew"],
        ["merge"],
        ["runs"],
        ["salvage"],
    ),
    *(["peek"], ["deliver"], ["daemon"], ["doctor"], ["tasks", "show", "1"], ["tasks", "history"], ["read", "ann"]),
    *(["broadcast", "hello everybody", "--as", "ann"], ["spool", "drop", "--all-failed"]),
)

DRIVER = """
import json, sys
from atm.ui.cli.main import main
for words in json.loads(sys.argv[1]):
    print("\\x1e" + json.dumps(words))
    main(words)
    sys.stdout.flush()
"""


@pytest.fixture
def full(crew, quickly, tasks):
    """A team in which every table has rows, with texts that are too long for any of them."""
    quickly("teams", "add-member", "crew", LONG, "--agent-type", "general-purpose-but-careful", "--model", "opus-5-max")
    tasks("add", TITLE, "--description", " ".join([TITLE] * 3), "--accept", f"make test-{'x' * 30}", "--as", "ann")
    tasks("add", "Write the manual", "--depends-on", "1", "--owner", LONG, "--priority", "high", "--as", "ann")
    tasks("claim", "1", "--as", "bob")
    for number in range(3):
        quickly("send", "ann", f"{number} {TITLE} {TITLE}", "--as", LONG, "--require-ack")
    quickly("mcp", "token", "new", "--as", "bob")
    quickly("approvals", "ask", "--tool", "Bash", "--command", f"git push origin {TITLE}", "--as", "bob")
    quickly("daemon", "start")
    yield crew
    quickly("daemon", "stop")


def shown(atm, columns: int) -> dict[str, list[str]]:
    """What each command prints on a terminal of that width."""
    environment = {**atm.environment, "TERM": "xterm-256color", "ATM_DAEMON_AUTOSTART": "0"}
    command = [sys.executable, "-c", DRIVER, json.dumps(TABLES)]
    terminal = Terminal(command, environment, atm.folder, columns)
    try:
        text = terminal.read_until(lambda _: False)
    finally:
        terminal.close()
    parts = [part.partition("\r\n") for part in text.split("\x1e")[1:]]
    return {head: body.split("\r\n") for head, _, body in parts}


@pytest.mark.parametrize("columns", [40, 80, 100])
def test_no_line_is_wider_than_the_terminal_and_ids_and_names_are_whole(full, columns):
    printed = shown(full, columns)
    assert len(printed) == len(TABLES)
    assert [head for head, lines in printed.items() if "Traceback" in "".join(lines)] == []
    wide = [(head, line) for head, lines in printed.items() for line in lines if shown_width(line) > columns]
    assert [one for one in wide if not is_in_one_piece(one[1])] == []
    for words in (["members"], ["status"], ["inbox"], ["teams", "show", "crew"]):
        assert LONG in " ".join(printed[json.dumps(words)])
    assert "#1" in " ".join(printed['["tasks"]'])
    assert "core.default_team" in " ".join(printed['["config"]'])


def is_in_one_piece(line: str) -> bool:
    """A command, a path or an address that alone is wider: a terminal wraps it, and it can be copied."""
    return len(fold(line, 1)) <= 2


CELLS = st.text(st.sampled_from("ab 世…é"), max_size=60)


@given(data=st.data(), columns=st.integers(24, 120))
def test_whatever_is_in_a_table_it_fits(data, columns):
    count = data.draw(st.integers(1, 7))
    rows = data.draw(st.lists(st.lists(CELLS, min_size=count, max_size=count), max_size=5))
    drop = data.draw(st.permutations(range(1, count)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "terminal_columns", lambda _: columns)
        lines = tables.table([f"head {i}" for i in range(count)], rows, drop=drop)
    assert [line for line in lines if width_of(line) > columns] == []


@given(rows=st.lists(st.lists(CELLS, min_size=3, max_size=3), max_size=5))
def test_without_a_terminal_nothing_is_left_out(rows):
    lines = tables.table(["a", "b", "c"], rows)
    assert len(lines) == len(rows) + 2


def test_the_least_important_columns_go_first(monkeypatch):
    monkeypatch.setattr(tables, "terminal_columns", lambda _: 40)
    head, _, *lines = tables.table(["Id", "Kind", "Title", "Note"], [["#1", "k" * 20, TITLE, "n" * 30]], drop=(3, 1))
    assert head.split() == ["Id", "Title"]
    assert " ".join(" ".join(line.split()) for line in lines) == f"#1 {TITLE}"


@pytest.mark.parametrize(
    ("line", "folded"),
    [
        ("    one two three four", ["    one two", "    three four"]),
        ("  ● one two three four", ["  ● one two", "    three four"]),
        ("  key  one two three", ["  key  one two", "       three"]),
        ("next: atm tasks claim 7 --as bob", ["next:", "atm tasks claim 7 --as bob"]),
        ("do `atm tasks claim 7` now", ["do", "`atm tasks claim 7`", "now"]),
        ("│ a drawing stays as it is", ["│ a drawing stays as it is"]),
        ("short", ["short"]),
    ],
)
def test_texts_are_wrapped_by_words_with_their_indent(line, folded):
    assert fold(line, 14) == folded
