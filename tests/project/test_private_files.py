"""
Folders and files are made in one place, `files/adapters/disk.py`: there they are private whatever the umask.

What makes one in another way leaves its mode to the umask, and `os.makedirs` leaves the modes of all parents to it even
if it is given a mode.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.project.source_trees import MODULES, SOURCE, nodes_in, parsed, saying, text_of
from tests.project.test_architecture import name_of, room_of

THE_PLACE = "files/adapters/disk.py"

EXCEPTIONS = {
    ("ui/cli/plugins/making.py", "os.makedirs"): "a project of the user's: `atm plugins new`",
    ("ui/cli/plugins/making.py", "open"): "a project of the user's: `atm plugins new`",
    ("runs/adapters.py", "open"): "the user's own plan, in place, which must be there: `atm run --tick`",
    ("ui/cli/board/listing.py", "open"): "a file that the user names: `atm tasks graph --output`",
    (
        "git/adapters/repairing.py",
        "os.open",
    ): "git's own small files of a worktree, in a repository of the user's",
    ("git/adapters/repairing.py", "os.makedirs"): "git's own folder of a worktree, in a repository of the user's",
    ("ui/demo/storm_run.py", "open"): "in a folder of mkdtemp, which is private",
    ("ui/demo/storm_workers.py", "open"): "in a folder of mkdtemp, as another program would write there",
    ("ui/demo/run_sandbox.py", "os.makedirs"): "in a folder of mkdtemp, which is private",
    ("ui/demo/run_sandbox.py", "open"): "in a folder of mkdtemp, which is private",
    ("ui/demo/board_worker.py", "open"): "in a folder of mkdtemp, which is private",
}

FORBIDDEN = {"os.makedirs", "os.mkdir", "os.mkfifo", "os.mknod", "os.umask", "shutil.copytree", "shutil.copyfile"}
METHODS = {"mkdir", "write_text", "write_bytes"}
SAFE_MODES = {"0o600", "PRIVATE_FILE"}
WORDS = re.compile(rf"\b({'|'.join({name.rpartition('.')[2] for name in FORBIDDEN} | METHODS)}|open)\b")
"""Without one of them a module calls nothing of what is looked for."""


def called(tree: ast.AST, source: str = "") -> Iterator[str]:
    """What in it makes a folder or a file of which the umask decides the mode."""
    for node in nodes_in(tree):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            if name in FORBIDDEN:
                yield name
            elif isinstance(node.func, ast.Attribute) and node.func.attr in METHODS:
                yield node.func.attr
            elif name == "os.open" and _creates(node, source):
                yield name
            elif name in ("open", "io.open") and _writes(node):
                yield "open"


def _creates(call: ast.Call, source: str) -> bool:
    """`os.open` that may make a file. Without a mode that file would be 0777 without the umask's bits."""
    mode = call.args[2] if len(call.args) > 2 else None
    if mode is None:
        return "O_CREAT" in ast.unparse(call)
    return (ast.get_source_segment(source, mode) or ast.unparse(mode)) not in SAFE_MODES


def _writes(call: ast.Call) -> bool:
    """`open` for writing, unless an opener of ours gives the mode, or nothing is made at all."""
    options = {option.arg: option.value for option in call.keywords}
    mode = call.args[1] if len(call.args) > 1 else options.get("mode")
    if mode is None or ast.unparse(call.args[0]) == "os.devnull":
        return False
    reads_only = isinstance(mode, ast.Constant) and not set(str(mode.value)) & set("wax+")
    opener = options.get("opener")
    return not reads_only and not (opener is not None and ast.unparse(opener) in ("open_private", "open_shared"))


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("os.makedirs(x, 0o700)", ["os.makedirs"]),
        ("os.mkdir(x)", ["os.mkdir"]),
        ("Path(x).mkdir(parents=True)", ["mkdir"]),
        ("Path(x).write_text('')", ["write_text"]),
        ("open(x, 'w')", ["open"]),
        ("open(x, mode='ab')", ["open"]),
        ("open(x, 'r+b')", ["open"]),
        ("open(x, how)", ["open"]),
        ("open(x, 'x', opener=mine)", ["open"]),
        ("open(x, 'x', opener=open_private)", []),
        ("open(os.devnull, 'w')", []),
        ("open(x)", []),
        ("open(x, 'rb')", []),
        ("os.open(x, os.O_RDONLY)", []),
        ("os.open(x, os.O_WRONLY | os.O_CREAT)", ["os.open"]),
        ("os.open(x, os.O_WRONLY | os.O_CREAT, 0o644)", ["os.open"]),
        ("os.open(x, os.O_WRONLY | os.O_CREAT, 0o600)", []),
        ("os.umask(0o077)", ["os.umask"]),
    ],
)
def test_the_rule_knows_every_way_to_make_something(line, found):
    assert list(called(ast.parse(line), line)) == found
    assert (WORDS.search(line) is not None) >= bool(found), "a file with such a line is parsed"


def found_in(path: Path) -> set[tuple[str, str]]:
    name = path.relative_to(SOURCE).as_posix()
    return {(name, call) for call in called(parsed(path), text_of(path))}


def test_folders_and_files_are_made_in_one_place():
    found = {each for path in saying(WORDS, MODULES) if room_of(name_of(path)) != "testing" for each in found_in(path)}
    elsewhere = {each for each in found if each[0] != THE_PLACE}
    assert elsewhere - set(EXCEPTIONS) == set(), f"make it with what is in {THE_PLACE}"
    assert set(EXCEPTIONS) - elsewhere == set(), "an exception that is none any more"


def test_that_place_makes_folders_and_gives_each_a_mode():
    calls = [
        node
        for node in nodes_in(parsed(SOURCE / THE_PLACE))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "os.mkdir"
    ]
    assert calls
    assert [len(call.args) for call in calls] == [2] * len(calls)
