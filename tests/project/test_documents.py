"""Documents that can be checked are checked."""

from __future__ import annotations

import importlib.util
import re
import shlex
import subprocess
from pathlib import Path
from textwrap import dedent

import pytest
from tests.project.source_trees import uncollected
from tests.proving import proves

from atm.config.known import KNOWN
from atm.ui.cli.arguments import parse
from atm.ui.cli.catalog import COMMANDS, load

ROOT = Path(__file__).parents[2]
NOUNS_BY_VERB = ("teams", "tasks", "sync", "config")
"""Whose verbs print different things, so that each is named."""

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


@proves("R002-26-03")
@pytest.mark.parametrize(
    ("script", "page"),
    [
        ("generate_reference.py", "reference/cli.md"),
        ("generate_mcp_reference.py", "reference/mcp-tools.md"),
        ("generate_mcp_greeting.py", "../src/atm/ui/mcp/stdio/greeting.txt"),
        ("generate_map.py", "map.svg"),
    ],
)
def test_the_generated_references_are_current(script, page):
    spec = importlib.util.spec_from_file_location(script.removesuffix(".py"), ROOT / "docs" / script)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    written = (ROOT / "docs" / page).read_text()
    with uncollected():
        made = module.render()
    assert written == made, f"run: .venv/bin/python docs/{script}"


def test_every_setting_is_in_the_reference():
    page = (ROOT / "docs" / "reference" / "settings.md").read_text()
    assert [key for key in KNOWN if f"`{key}`" not in page] == []


@proves("R001-2.1-10")
def test_every_command_is_in_the_reference():
    page = (ROOT / "docs" / "reference" / "cli.md").read_text()
    assert [name for name in COMMANDS if f"atm {name}" not in page] == []


def test_every_command_is_in_the_reference_of_json():
    """A heading names commands: "`atm tasks add`, `edit`" is two of them; one of a noun speaks of all its verbs."""
    page = (ROOT / "docs" / "reference" / "json.md").read_text()
    named = set()
    for noun, heading in re.findall(r"^## `atm (\w+)(.*)$", page, re.M):
        words = re.findall(r"`([^`]+)`", f"`atm {noun}{heading}")
        named |= {word.removeprefix("atm ") if word.startswith("atm ") else f"{noun} {word}" for word in words}
    commands = [load(name)[0] for name in COMMANDS]
    verbs = [verb.name for command in commands for verb in command.subcommands or (command,)]
    told_as_one = {command.name for command in commands if command.name not in NOUNS_BY_VERB} & named
    assert [verb for verb in verbs if verb not in named and verb.split()[0] not in told_as_one] == []


@proves("R001-2.1-10")
def test_links_between_pages_lead_somewhere():
    found = [(page, re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text())) for page in PAGES]
    links = [(page, one) for page, all in found for one in all if "://" not in one and not one.startswith("mailto:")]
    assert len(links) > 500
    assert [(name_of(page), target) for page, target in links if not (page.parent / target).exists()] == []


def test_no_registry_is_named_anywhere():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    hosts = re.compile(
        "|".join(["pypi" + r"\.org", "pythonhosted" + r"\.org", "npmjs" + r"\.(org|com)", "deb" + r"\.debian\.org"])
    )
    for name in listed:
        path = ROOT / name
        if path.is_file() and path.stat().st_size < 2_000_000:
            assert not hosts.search(path.read_text(errors="replace")), name


def test_the_version_is_the_same_everywhere():
    from atm import __version__

    assert f'version = "{__version__}"' in (ROOT / "pyproject.toml").read_text()
    assert __version__ in (ROOT / "CHANGELOG.md").read_text()


NOT_RUN = {"docs/errors/foreign-file.md": "a file of another user: only root can make one"}
"""Pages with a session that no test can run, and why."""


def fenced(page):
    """Every block of a page, with its kind; those in a list stand where all others do."""
    blocks: list[tuple[str, list[str]]] = []
    kind = None
    for line in page.read_text().splitlines():
        fence = re.fullmatch(r" *```([a-z]*)", line)
        if fence and kind is None:
            kind = fence[1]
            blocks.append((kind, []))
        elif fence:
            kind = None
        elif kind is not None:
            blocks[-1][1].append(line)
    return [(kind, dedent("\n".join(lines))) for kind, lines in blocks]


def name_of(page):
    return str(page.relative_to(ROOT))


def test_what_a_page_shows_as_typed_is_run():
    """`tests/project/run_readme.py` types the lines of `console` blocks, and compares what they print."""
    blocks = [(name_of(page), block) for page in PAGES for kind, block in fenced(page) if kind != "console"]
    typed = [(name, line) for name, block in blocks for line in block.splitlines() if line.startswith("$ ")]
    assert {name for name, _ in typed} == {*NOT_RUN}, typed


def test_commands_that_are_only_named_are_understood():
    """What stands in `sh` blocks is for other machines, programs and accounts; its words are checked all the same."""
    blocks = [block for page in PAGES if page.name != "CHANGELOG.md" for kind, block in fenced(page) if kind == "sh"]
    commands = [words for block in blocks for words in commands_of_atm(block)]
    assert len(commands) > 50
    for words in commands:
        assert parse(load(words[0])[0], words[1:]).command.name.startswith(words[0]), words


def commands_of_atm(block):
    """The words after `atm`, of every command in a script: up to a pipe, a list or a comment."""
    script = block.replace("\\\n", " ").replace("$$", "4711").replace("$(", " ; ").replace("\n", "\n ; ")
    lexer = shlex.shlex(script, posix=True, punctuation_chars=";|&<>()")
    lexer.whitespace_split, lexer.commenters = True, "#"
    found, words = [], list(lexer)
    while "atm" in words:
        words = words[words.index("atm") + 1 :]
        end = next((at for at, word in enumerate(words) if word and set(word) <= set(";|&<>()")), len(words))
        found.append(words[:end])
    return [one for one in found if one]
