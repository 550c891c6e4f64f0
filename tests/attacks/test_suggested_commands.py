"""Commands that we suggest are pasted into shells: nothing of foreign origin in them ends a word or begins another."""

from __future__ import annotations

import ast
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import Atm
from tests.project.source_trees import MODULES, nodes_in, parsed, saying, statements_in

from atm.core.untrusted_text import shell_word, shell_words
from atm.ui.cli.arguments import Argument, Command, Option, parse
from atm.ui.cli.catalog import COMMANDS

SOURCE = Path(__file__).parents[2] / "src" / "atm"

NAMED = rf"(?:atm (?:{'|'.join(COMMANDS)})|rm|mv|cp|cd|chmod|chown|kill|ls|cat) "
COMMAND = re.compile(rf"(?:^|[\s`(:;]){NAMED}[^`]*$")
"""A text that ends inside a command: what follows in the f-string is a word of it."""

IN_A_FILE = re.compile(rf"(?:[^\w]|\\[a-z]){NAMED}")
"""A file that has no such words suggests nothing. In a file they may follow upon `\\n`."""

OURS = {"id", "number", "pid", "verb"}
"""Numbers of tasks and processes, and verbs of ours."""

FOREIGN = {"message.id"}
"""Which end in one of these words and are not ours."""

QUOTING = ("shell_word", "shell_words", "quote", "owner_word")

LEFT_OUT = ("ui/cli/setup/shell_scripts.py",)  # scripts, not advice

VALUE_OF_OPTION = re.compile(r"(?:--[a-z-]+|-t)[ =]$")
"""Whatever follows is its value, also where it begins with a dash; and the path of `trust --show`."""


def unquoted(path: Path) -> Iterator[str]:
    """Values that stand in a suggested command as they are, or where a name can pass for an option of ours."""
    tree = parsed(path)
    inner = [node for node in statements_in(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    texts = {id(node): (node, assigned(function)) for function in inner for node in texts_in(function)}
    texts = {id(node): (node, {}) for node in texts_in(tree)} | texts
    for node, names in texts.values():
        before = ""
        for part in node.values:
            if isinstance(part, ast.Constant):
                before += str(part.value)
            elif isinstance(part, ast.FormattedValue):
                if COMMAND.search(before) and not is_harmless(part, before, names):
                    yield f"{path.relative_to(SOURCE)}:{node.lineno} {ast.unparse(part.value)}"
                before += "x"


def texts_in(tree: ast.AST) -> Iterator[ast.JoinedStr]:
    return (node for node in nodes_in(tree) if isinstance(node, ast.JoinedStr))


def assigned(function: ast.AST) -> dict[str, list[ast.expr]]:
    """What the names of a function stand for, where one can see it."""
    found: dict[str, list[ast.expr]] = {}
    for node in statements_in(function):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                many = isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
                pairs = zip(target.elts, node.value.elts, strict=True) if many else [(target, node.value)]  # type: ignore[attr-defined]
                for name, value in pairs:
                    if isinstance(name, ast.Name):
                        found.setdefault(name.id, []).append(value)
    return found


def is_harmless(part: ast.FormattedValue, before: str, names: dict[str, list[ast.expr]]) -> bool:
    spec = part.format_spec
    if isinstance(spec, ast.JoinedStr) and ast.unparse(spec).strip("f'\"") in ("o", "d", "x"):
        return True  # a number
    if not is_one_word(part.value, names):
        return False
    is_ours = before.rpartition("atm ")[1] != "" and COMMAND.search(before[before.rindex("atm ") :]) is not None
    may_be_an_option = isinstance(part.value, ast.Call) and ast.unparse(part.value.func) == "shell_word"
    return not (is_ours and may_be_an_option) or VALUE_OF_OPTION.search(before) is not None


def is_one_word(value: ast.expr, names: dict[str, list[ast.expr]]) -> bool:
    """Or several words of ours: a text is looked at where it is made."""
    if isinstance(value, ast.Call):
        if ast.unparse(value.func) == "' '.join":
            return ast.unparse(value.args[0]).startswith("map(shell_word, ")
        return isinstance(value.func, ast.Name) and value.func.id in QUOTING
    if isinstance(value, ast.IfExp):
        return all(is_one_word(one, names) for one in (value.body, value.orelse))
    if isinstance(value, ast.Constant | ast.JoinedStr):
        return True
    if isinstance(value, ast.Name) and names.get(value.id):
        return all(is_one_word(one, {}) for one in names[value.id])
    last = value.attr if isinstance(value, ast.Attribute) else value.id if isinstance(value, ast.Name) else ""
    return last in OURS and ast.unparse(value) not in FOREIGN


def test_every_value_in_a_suggested_command_is_one_word():
    found = [
        one
        for path in saying(IN_A_FILE, MODULES)
        if not str(path.relative_to(SOURCE)).startswith(LEFT_OUT)
        for one in unquoted(path)
    ]
    assert found == []


def test_the_look_at_the_source_finds_one(tmp_path, monkeypatch):
    path = tmp_path / "x.py"
    path.write_text(
        'a = f"look at it: atm trust --show {file}"\nb = f"atm trust --show {shell_word(file)}"\n'
        'c = f"atm teams show {shell_word(team)}"\nd = f"atm teams show {shell_words(team)}"\n'
        'def f(team):\n    word = shell_word(team)\n    name = team.name\n    return f"rm {word}", f"rm {name}"\n'
    )
    monkeypatch.setattr(sys.modules[__name__], "SOURCE", tmp_path)
    assert sorted(unquoted(path)) == ["x.py:1 file", "x.py:3 shell_word(team)", "x.py:8 name"]


@given(st.text(alphabet=st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30))
def test_a_shell_reads_the_word_that_was_meant(text):
    assert shlex.split(shell_word(text)) == [text]


NAMES = st.text(alphabet="-xy'; ", min_size=1, max_size=8)


@given(st.lists(NAMES, min_size=2, max_size=2))
def test_names_at_the_end_are_read_as_names_whatever_they_begin_with(names):
    words = shlex.split(f"--force {shell_words(*names)}")
    options = (Option("--force", help=""), Option("-x", help=""))
    args = parse(Command("x", "", arguments=(Argument("one", ""), Argument("two", "")), options=options), words)
    assert [args.text("one"), args.text("two")] == names
    assert (args.flag("force"), args.flag("x")) == (True, False)


@pytest.mark.parametrize("name", ["--force", "-y", "--json"])
def test_a_member_that_is_called_like_an_option_is_named_and_not_obeyed(atm, room, name):
    """Another program's roster and inboxes: what doctor advises is about that member."""
    inbox = atm.inbox("bob").with_name(f"{name}.json")
    inbox.write_text("[]")
    found = atm("doctor", "--json", code=None).json["findings"]
    (advice,) = [one["command"] for one in found if one["code"] == "phantom-inbox" and name in one["message"]]
    _look, _, remove = advice.partition("; ")
    words = shlex.split(remove)[1:]
    assert words[-3:] == ["--", "crew", name]
    atm(*words)
    assert not inbox.exists()


# In a folder of a name that a clone chose.


@pytest.fixture
def clone(atm: Atm, room) -> Path:
    folder: Path = atm.folder / "src;touch pwned;$(touch pwned)`touch pwned`' #"
    (folder / ".git").mkdir(parents=True)
    (folder / ".atm.toml").write_text('[hooks]\nTaskCreated = "true"\n[aliases]\n"a; atm trust --yes" = "x"\n')
    atm.environment["ATM_DAEMON_AUTOSTART"] = "0"
    return folder


def test_the_note_about_consent_can_be_pasted(atm, clone):
    said = atm("tasks", "list", cwd=clone).err
    suggested = said.rpartition("look at it with: ")[2].strip()
    assert shlex.split(suggested) == ["atm", "trust", "--show", f"{clone}/.atm.toml"]
    program = f"{shlex.quote(sys.executable)} -m atm"
    pasted = suggested.replace("atm", program, 1) + " --json"
    done = subprocess.run(["sh", "-c", pasted], env=atm.environment, cwd=atm.folder, capture_output=True, check=True)
    assert json.loads(done.stdout)["file"] == f"{clone}/.atm.toml"
    assert list(atm.folder.glob("pwned")) == []


def test_a_key_does_not_pass_for_words_of_ours(atm, clone):
    said = atm("tasks", "list", cwd=clone).err
    assert "'aliases.a; atm trust --yes'" in said
