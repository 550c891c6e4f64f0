"""
Programs that tests use and a machine may lack, and a pytest plugin that says at the end what was skipped for want of
them.

`make test` needs Python, git and make. What another program would prove is skipped without it: such a test is marked
with `needs`. `ATM_BARE=1` hides all of these programs, so that a machine that has them can see what one without them
sees; `-m optional` picks the tests of files in which any of them is named.
"""

from __future__ import annotations

import ast
import inspect
import os
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Generator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest


class Program(NamedTuple):
    """A program that is not everywhere."""

    package: str
    """What brings it, by its name in Debian."""
    hidden: tuple[str, ...] = ()
    """What else the package brings and `ATM_BARE` hides."""


PROGRAMS = {
    "tmux": Program("tmux"),
    "ps": Program("procps", ("pgrep", "pkill", "top", "free", "uptime")),
    "node": Program("nodejs", ("nodejs", "corepack")),
    "npm": Program("npm", ("npx",)),
    "chromium": Program("chromium"),
    "bash": Program("bash"),
    "zsh": Program("zsh"),
    "fish": Program("fish"),
    "dash": Program("dash"),
    "bwrap": Program("bubblewrap"),
    "chattr": Program("e2fsprogs", ("lsattr",)),
    "mount": Program("mount", ("umount",)),
    "systemd-analyze": Program("systemd", ("systemctl", "journalctl")),
}

TESTS = Path(__file__).parent
NODE_PACKAGES = TESTS / "node/node_modules"


def needs(*programs: str, node_package: str = "") -> pytest.MarkDecorator:
    """A mark for tests that need programs which are not on every machine, or a package of Node."""
    lacking = [name for name in programs if not is_here(name)]
    if node_package and not lacking and not (NODE_PACKAGES / node_package).is_dir():
        return pytest.mark.skipif(True, reason=f"needs {node_package}: `npm install` in tests/node")
    return pytest.mark.skipif(bool(lacking), reason=reason_for(*lacking))


def skip_without(program: str) -> None:
    """The same inside a test or a fixture."""
    if not is_here(program):
        pytest.skip(reason_for(program))


def is_here(program: str) -> bool:
    assert program in PROGRAMS, f"enter {program} in the table, with the package that brings it"
    return shutil.which(program) is not None


def reason_for(*programs: str) -> str:
    packages = ", ".join(dict.fromkeys(PROGRAMS[name].package for name in programs))
    return f"needs {', '.join(programs)}: {packages}"


# What was skipped, said at the end.


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None, object, object]:
    result = yield
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and not hasattr(session.config, "workerinput"):
        for line in skip_table([str(report.longrepr[2]) for report in reporter.stats.get("skipped", [])]):
            reporter.write_line(line)
    return result


def skip_table(reasons: list[str]) -> list[str]:
    """How many tests each reason kept from running, and what would bring them."""
    counts = Counter(reason.removeprefix("Skipped: ") for reason in reasons)
    rows = []
    for reason, count in counts.most_common():
        why, _, package = reason.partition(": ") if reason.startswith("needs ") else (reason, "", "")
        rows.append((str(count), why, package or "-"))
    if not rows:
        return []
    heads = ("skipped", "why", "what would bring them")
    widths = [max(len(row[column]) for row in (heads, *rows)) for column in range(2)]
    return [f"{row[0]:>{widths[0]}}  {row[1]:<{widths[1]}}  {row[2]}" for row in (heads, *rows)]


# A machine without any of them.


def pytest_configure() -> None:
    if os.environ.get("ATM_BARE") == "1" and BARE_PATH not in os.environ:
        os.environ[BARE_PATH] = tempfile.mkdtemp(prefix="atm-bare")
        hide(Path(os.environ[BARE_PATH]))
        os.environ["PATH"] = os.environ[BARE_PATH]


BARE_PATH = "ATM_BARE_PATH"
"""Set by the first process of a run; its runners inherit it and the PATH."""


def pytest_unconfigure(config: pytest.Config) -> None:
    if BARE_PATH in os.environ and not hasattr(config, "workerinput"):
        shutil.rmtree(os.environ[BARE_PATH], ignore_errors=True)


def hide(folder: Path) -> None:
    """A folder with every program of the PATH but these."""
    hidden = {name for program, facts in PROGRAMS.items() for name in (program, *facts.hidden)}
    for place in os.environ.get("PATH", "").split(os.pathsep):
        for name in os.listdir(place) if os.path.isdir(place) else []:
            if name not in hidden and not (folder / name).is_symlink():
                (folder / name).symlink_to(Path(place, name))


NAMED = re.compile(rf"""needs\(|skip_without\(|node_modules|["'`;&|(]({"|".join(PROGRAMS)})["' ]""")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests that name an optional program, or one of whose fixtures does; if anybody asks for these."""
    for item in items if "optional" in config.option.markexpr else []:
        functions = [getattr(item, "function", None), *_fixtures_of(item)]
        if any(_names_one(function) for function in functions if function):
            item.add_marker("optional")


def _fixtures_of(item: pytest.Item) -> list[Callable[..., object]]:
    info = getattr(item, "_fixtureinfo", None)
    return [one.func for found in info.name2fixturedefs.values() for one in found] if info else []


@cache
def _names_one(function: Callable[..., object]) -> bool:
    """In its own lines, or in those of its file that belong to no test and to no fixture."""
    function = inspect.unwrap(function)
    path = Path(inspect.getfile(function))
    return path.is_relative_to(TESTS) and (_shared_lines_name_one(path) or _is_named_in(inspect.getsource(function)))


@cache
def _shared_lines_name_one(path: Path) -> bool:
    lines = path.read_text().splitlines()
    for node in ast.parse("\n".join(lines)).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and (
            node.name.lower().startswith("test") or _is_fixture(node)
        ):
            first = min([node.lineno, *(mark.lineno for mark in node.decorator_list)])
            last = node.end_lineno or first
            lines[first - 1 : last] = [""] * (last - first + 1)
    return _is_named_in("\n".join(lines))


def _is_fixture(node: ast.FunctionDef | ast.ClassDef) -> bool:
    return any("fixture" in ast.dump(mark) for mark in node.decorator_list)


def _is_named_in(text: str) -> bool:
    return NAMED.search(text) is not None
