"""Everything that prints a table fits its terminal; what is to be copied is whole."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.conftest import Terminal

from atm.ui.cli.catalog import COMMANDS
from atm.ui.views import tables
from atm.ui.views.fitting import COMMAND, fold, shown_width
from atm.ui.views.style import width_of

LONG = "a-member-with-quite-a-long-name"
WIDE = "設定ファイルを読むプログラムを書いてテストもする"
TITLE = "Write the parser for the configuration files of the older programs, with tests"
PLAN = f"""\
- [ ] {TITLE} {WIDE * 3} (run: echo b > b.txt) (files: {"/".join(["folder"] * 12)}/b.txt) (accept: test -f b.txt)
- [ ] {WIDE * 2} (depends: 1) (run: echo c > c.txt; echo {"no such luck " * 20}; false)
"""

TABLES: tuple[list[str], ...] = (
    *(["tasks"], ["tasks", "list", "--all"], ["teams"], ["teams", "show", "crew"], ["members"], ["status"], ["inbox"]),
    *(["inbox", "--all-teams"], ["receipts"], ["spool"], ["spool", "drop", "--all-failed"], ["config"], ["plugins"]),
    *(["plugins", "info", "webhook"], ["runtimes"], ["session", "--all"]),
    *(["session", "show", "crew"], ["session", "probe", "crew"], ["session", "review", "crew"], ["sync"]),
    *(["sync", "metrics"], ["sync", "agenda", "bob"], ["sync", "diagnose", "bob"], ["approvals"], ["mcp", "token"]),
    *(
        ["approvals", "--all"],
        ["approvals", "policy"],
        ["trust", "--list"],
        ["cleanup"],
        ["teams", "cleanup", "crew", "--dry-run"],
    ),
    *(
        ["merge"],
        ["merge", "show", "1"],
        ["runs"],
        ["runs", "show"],
        ["salvage"],
        ["peek"],
        ["peek", "a1"],
        ["deliver"],
    ),
    *(
        ["run", "--plan", "plan.md", "--runtime", "script", "--dry-run", "--team", "new"],
        ["daemon"],
        ["doctor"],
        ["tasks", "show", "1"],
    ),
    *(["tasks", "show", "3"], ["tasks", "history"], ["read", "ann"], ["watch", "--for", "1"], []),
    *(["broadcast", f"hello everybody {WIDE}", "--as", "ann"],),
)
"""Everything that prints a table, and some of what stands beside them."""

DRIVER = """
import json, sys
from atm.ui.cli.main import main
for words in json.loads(sys.argv[1]):
    print("\\x1e" + json.dumps(words))
    sys.stdout.flush()
    main(words)
    sys.stdout.flush()
"""


@pytest.fixture
def full(crew, quickly, tasks, block):
    """A team in which every table has rows, with texts that are too long for any of them, and wide ones."""
    git = ["git", "-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-C", str(crew.folder)]
    (crew.folder / "plan.md").write_text(PLAN)
    (crew.folder / ".atm.toml").write_text('[core]\ndefault_team = "crew"\n\n[crew]\nsetup = "true"\n')
    for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "first"]):
        subprocess.run([*git, *words], check=True)
    crew("trust", "--yes")
    crew("run", "--plan", "plan.md", "--runtime", "script", "--yes", "--json", code=2)
    quickly("teams", "add-member", "crew", LONG, "--agent-type", "general-purpose-but-careful", "--model", "opus-5-max")
    tasks("add", f"{TITLE} {WIDE}", "--description", " ".join([TITLE, WIDE] * 3), "--accept", f"make test-{'x' * 30}")
    tasks("add", WIDE * 3, "--depends-on", "3", "--owner", LONG, "--priority", "high", "--as", "ann")
    tasks("claim", "3", "--as", "bob")
    for number in range(3):
        quickly("send", "ann", f"{number} {TITLE} {WIDE * 3}", "--as", LONG, "--require-ack")
    block("bob")
    quickly("send", "bob", TITLE, "--as", LONG)
    quickly("teams", "state", "crew", "active")
    quickly("mcp", "token", "new", "--as", "bob")
    command = f"git push origin {TITLE} {WIDE * 4} && {' '.join(f'--option-{n}=value' for n in range(20))} # the end"
    quickly("approvals", "ask", "--tool", "Bash", "--command", command, "--as", "bob")
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
    text = re.sub(r"[^\n]*\r\x1b\[J", "", text)  # the line of whoever waits is gone
    parts = [part.partition("\r\n") for part in text.split("\x1e")[1:]]
    return {head: body.split("\r\n") for head, _, body in parts}


def test_no_line_is_wider_than_the_terminal_and_ids_and_names_are_whole(full):
    for columns in (40, 80, 100):
        printed = shown(full, columns)
        assert len(printed) == len(TABLES)
        assert [head for head, lines in printed.items() if "Traceback" in "".join(lines)] == []
        wide = [(head, line) for head, lines in printed.items() for line in lines if shown_width(line) > columns]
        assert [(columns, *one) for one in wide if not is_for_copying(one[1])] == []
        for words in (["members"], ["status"], ["inbox"], ["teams", "show", "crew"]):
            assert LONG in " ".join(printed[json.dumps(words)])
        assert "#3" in " ".join(printed['["tasks"]'])
        assert "core.default_team" in " ".join(printed['["config"]'])
        for words in (["merge"], ["runs"], ["salvage"], ["peek"], ["spool"], ["trust", "--list"], ["approvals"]):
            rows = [line for line in printed[json.dumps(words)] if line.strip() and not set(line) <= {" ", "─"}]
            assert len(rows) > 1, (columns, words, rows)


TO_COPY = {
    "a command": r"(→ .*|`?(\w+=\S+ )*atm [^`]*`?[.,;:)]*)",
    "a path, an address, an id or another word in one piece": r"[!-~]+",
    "a path with other letters": r"\S*/\S*",
}
"""What may be wider than a terminal, alone in its line: it is to be copied, and the terminal wraps it."""


def is_for_copying(line: str) -> bool:
    plain = re.sub(r"\x1b\[[0-9;]*m", "", line).strip()
    return any(re.fullmatch(pattern, plain) for pattern in TO_COPY.values())


def test_a_command_is_known_by_its_first_word():
    assert {*COMMAND.split("|")} == {*COMMANDS, "help"}


def test_a_very_narrow_row_says_what_each_cell_is_and_paths_stay_whole(monkeypatch):
    monkeypatch.setattr(tables, "terminal_columns", lambda _: 24)
    rows = [["a-long-name-of-somebody", "-", "2", "/a/path/that/is/longer/than/that: no"]]
    assert tables.table(["Who", "Model", "Unread", ""], rows)[2:] == [
        "  a-long-name-of-somebod",
        "  y",
        "    unread: 2;",
        "    /a/path/that/is/longer/than/that:",
        "    no",
    ]


def test_a_text_that_must_be_read_to_its_end_is_not_cut(monkeypatch):
    monkeypatch.setattr(tables, "terminal_columns", lambda _: 40)
    lines = tables.table(["Id", "What"], [["1", " ".join(["word"] * 60)]], whole=(1,))
    assert "".join(lines).count("word") == 60
    assert "…" in "".join(tables.table(["Id", "What"], [["1", " ".join(["word"] * 60)]]))


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
        ("atm has started nobody", ["atm has", "started nobody"]),
        ("  設定ファイルを読む", ["  設定ファイル", "  を読む"]),
        ("x: \x1b[1m設定ファイルを読む\x1b[0m", ["x:", "\x1b[1m設定ファイルを", "読む\x1b[0m"]),
        ("see /a/設定/b/c/d/ef now", ["see", "/a/設定/b/c/d/ef", "now"]),
        ("`make all of it` failed", ["`make all of", "it` failed"]),
        ("an-id-that-is-in-one-piece now", ["an-id-that-is-in-one-piece", "now"]),
        ("  key        0123456789ab", ["  key", "  0123456789ab"]),
        ("ack: atm ack 7  (in time)", ["ack: atm ack 7", "(in time)"]),
    ],
)
def test_texts_are_wrapped_by_words_with_their_indent(line, folded):
    assert fold(line, 14) == folded
