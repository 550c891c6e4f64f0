"""How the programs come: pinned, checked before they are started, and nothing half-made is left. Without a network."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from tests.lab import programs
from tests.lab.programs import LabProgram, NotInstalled, cache_folder, check, find, install, pinned
from tests.lab.vendors import VENDORS

NPM = """#!/bin/sh
while [ $# -gt 1 ]; do if [ "$1" = --prefix ]; then into=$2; fi; shift; done
mkdir -p "$into/node_modules/tool"
printf '#!/bin/sh\\nexit {exit}\\n' >"$into/node_modules/tool/run"
chmod +x "$into/node_modules/tool/run"
echo '{{"packages": {{"node_modules/tool": {{"version": "1.2.3", "integrity": "sha512-x"}}}}}}' \\
    >"$into/node_modules/.package-lock.json"
"""
"""A package manager that knows one package."""


def tool(**changes: object) -> LabProgram:
    return LabProgram("tool", "tool", "1.2.3", "tool/run", {"tool": "sha512-x"})._replace(**changes)  # type: ignore[arg-type]


@pytest.fixture
def npm(tmp_path, monkeypatch):
    """Puts such a one first on the PATH."""

    def write(exit: int = 0) -> None:
        folder = tmp_path / "path"
        folder.mkdir(exist_ok=True)
        (folder / "npm").write_text(NPM.format(exit=exit))
        (folder / "npm").chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    return write


def left_in(cache: Path) -> list[str]:
    return sorted(os.listdir(cache))


def test_every_vendor_of_the_lab_has_a_pinned_program_with_a_hash_of_its_own():
    assert set(pinned()) == set(VENDORS)
    for program in pinned().values():
        assert re.fullmatch(r"\d+\.\d+\.\d+", program.version)
        assert program.integrity[program.package].startswith("sha512-")


def test_no_registry_is_named():
    text = programs.PINNED.read_text() + Path(programs.__file__).read_text()
    assert "://" not in text


def test_a_program_is_installed_once_and_found_again(tmp_path, npm):
    npm()
    cache = tmp_path / "cache"
    assert find(tool(), cache) is None
    made = install(tool(), cache)
    assert made == find(tool(), cache)
    assert (made.version, made.bin) == ("1.2.3", cache / "tool-1.2.3/bin")
    assert os.listdir(made.bin) == ["tool"]
    (tmp_path / "path/npm").unlink()
    assert install(tool(), cache) == made


def test_a_package_whose_hash_is_another_is_not_kept_and_never_started(tmp_path, npm):
    npm()
    with pytest.raises(NotInstalled, match="tool is not what was recorded: its hash is sha512-x"):
        install(tool(integrity={"tool": "sha512-y"}), tmp_path / "cache")
    assert left_in(tmp_path / "cache") == []


def test_a_package_that_came_along_and_is_not_recorded_is_refused():
    came = {"tool": {"integrity": "sha512-x"}, "more": {"version": "1", "integrity": "sha512-z"}}
    with pytest.raises(NotInstalled, match=r"no hash of more 1 is recorded in programs\.json"):
        check(tool(), came)


def test_a_program_that_does_not_start_here_is_not_installed(tmp_path, npm):
    npm(exit=1)
    with pytest.raises(NotInstalled, match="nothing of tool starts on this machine"):
        install(tool(), tmp_path / "cache")
    assert left_in(tmp_path / "cache") == []


def test_the_newest_version_is_taken_without_a_recorded_hash(tmp_path, npm):
    npm()
    made = install(tool(version="0.9.0", integrity={}), tmp_path / "cache", latest=True)
    assert (made.version, made.bin.parent.name) == ("1.2.3", "tool-latest")


def test_without_npm_it_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NotInstalled, match="npm is not here"):
        install(tool(), tmp_path / "cache")


def test_the_cache_is_where_the_environment_says():
    assert cache_folder({"ATM_LAB_CACHE": "/c", "HOME": "/h"}) == Path("/c")
    assert cache_folder({"HOME": "/h"}) == Path("/h/.cache/atm-lab")


def test_the_pinned_file_is_plain_json_in_one_order():
    text = programs.PINNED.read_text()
    assert text == json.dumps(json.loads(text), indent=2) + "\n"
