"""Documents that can be checked are checked."""

from __future__ import annotations

import importlib.util
import re
import subprocess
from pathlib import Path

import pytest
from tests.proving import proves

from atm.config.known import KNOWN
from atm.ui.cli.catalog import COMMANDS

ROOT = Path(__file__).parents[2]
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
    assert written == module.render(), f"run: .venv/bin/python docs/{script}"


def test_every_setting_is_in_the_reference():
    page = (ROOT / "docs" / "reference" / "settings.md").read_text()
    assert [key for key in KNOWN if f"`{key}`" not in page] == []


@proves("R001-2.1-10")
def test_every_command_is_in_the_reference():
    page = (ROOT / "docs" / "reference" / "cli.md").read_text()
    assert [name for name in COMMANDS if f"atm {name}" not in page] == []


@proves("R001-2.1-10")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text()):
        if "://" in target or target.startswith("mailto:"):
            continue
        assert (page.parent / target).exists(), f"{page}: {target}"


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
