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

from atm.domain.untrusted_text import shell_word
from atm.ui.cli.catalog import COMMANDS

SOURCE = Path(__file__).parents[2] / "src" / "atm"

COMMAND = re.compile(rf"(?:^|[\s`(:;])(?:atm (?:{'|'.join(COMMANDS)})|rm|mv|cp|cd|chmod|chown|kill|ls|cat) [^`]*$")
"""A text that ends inside a command: what follows in the f-string is a word of it."""

OURS = {"id", "number", "first", "pid", "verb", "name", "in_team"}
"""Numbers of tasks and processes, verbs of ours, and what was quoted one line above."""

FOREIGN = {"message.id", "member.name", "team.name", "found.name", "card.owner"}
"""Which end in one of these words and are not ours."""

LEFT_OUT = (
    "services/checkup/",  # doctor quotes a word where it is made, and its tests run what it advises
    "services/mail/",
    "ui/cli/mail/",
    "ui/cli/completion.py",  # scripts, not advice
)


def unquoted(path: Path) -> Iterator[str]:
    """Values that stand in a suggested command as they are."""
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.JoinedStr):
            continue
        before = ""
        for part in node.values:
            if isinstance(part, ast.Constant):
                before += str(part.value)
            elif isinstance(part, ast.FormattedValue):
                if COMMAND.search(before) and not is_one_word(part.value):
                    yield f"{path.relative_to(SOURCE)}:{node.lineno} {ast.unparse(part.value)}"
                before += "x"


def is_one_word(value: ast.expr) -> bool:
    if isinstance(value, ast.Call):
        return isinstance(value.func, ast.Name) and value.func.id in ("shell_word", "quote", "join")
    if isinstance(value, ast.IfExp):
        return all(isinstance(one, ast.Constant) or is_one_word(one) for one in (value.body, value.orelse))
    last = value.attr if isinstance(value, ast.Attribute) else value.id if isinstance(value, ast.Name) else ""
    return last in OURS and ast.unparse(value) not in FOREIGN


def test_every_value_in_a_suggested_command_is_one_word():
    found = [
        one
        for path in sorted(SOURCE.rglob("*.py"))
        if not str(path.relative_to(SOURCE)).startswith(LEFT_OUT)
        for one in unquoted(path)
    ]
    assert found == []


def test_the_look_at_the_source_finds_one(tmp_path, monkeypatch):
    path = tmp_path / "x.py"
    path.write_text('a = f"look at it: atm trust --show {file}"\nb = f"atm trust --show {shell_word(file)}"\n')
    monkeypatch.setattr(sys.modules[__name__], "SOURCE", tmp_path)
    assert list(unquoted(path)) == ["x.py:1 file"]


@given(st.text(alphabet=st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30))
def test_a_shell_reads_the_word_that_was_meant(text):
    assert shlex.split(shell_word(text)) == [text]


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
