"""The hint that installs an extra, typed as it is printed, in an environment that has none of them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[3]
SECONDS = 300
OFFLINE = "needs wheels of pyyaml, tomlkit, textual and uv_build: a package index"


def run(*command: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("ATM_", "PYTHON", "VIRTUAL_ENV"))}
    return subprocess.run(
        command, cwd=cwd, env={**kept, **environment}, capture_output=True, text=True, timeout=SECONDS, check=False
    )


def at_a_terminal(command: str, cwd: Path, home: dict[str, str]) -> str:
    """What a wide terminal shows, without its colours."""
    spawn = "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)"
    wide = f"stty cols 500; exec {command}"
    done = run(sys.executable, "-c", spawn, "sh", "-c", wide, cwd=cwd, TERM="xterm", **home)
    return re.sub(r"\x1b\[[0-9;]*m|\r", "", done.stdout)


@pytest.fixture
def installed(tmp_path):
    """A clone with a space in its name, installed without any extra into an environment of its own."""
    clone = tmp_path / "my clone"
    clone.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(REPOSITORY / name, clone / name)
    shutil.copytree(REPOSITORY / "src", clone / "src", ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "v"], check=True, timeout=SECONDS)
    done = run(str(tmp_path / "v/bin/pip"), "install", "-q", str(clone), cwd=tmp_path)
    if done.returncode:
        if re.search(
            r"No matching distribution|Could not find a version|ConnectionError|Temporary failure", done.stderr
        ):
            pytest.skip(OFFLINE)
        pytest.fail(done.stderr)
    yield tmp_path
    shutil.rmtree(tmp_path / "v")


def test_the_hint_of_the_screen_works_as_it_is_printed(installed):
    atm, home = str(installed / "v/bin/atm"), {"ATM_HOME": str(installed / "home"), "ATM_DAEMON_AUTOSTART": "0"}
    here = installed
    made = run(atm, "teams", "create", "crew", cwd=here, **home)
    assert made.returncode == 0, made.stderr

    doctor = run(atm, "doctor", cwd=here, **home).stdout
    assert re.search(r"extras\s+mcp no, otel no, tui no, watch no, web no; the others: ", doctor), doctor

    bare = at_a_terminal(atm, here, home)
    assert "atm top --plain" in bare
    assert f"pip install '{installed}/my clone[tui]'" in bare, "what is not installed is advised with its command"
    assert not re.search(r"atm top(?! --plain|`)", bare), bare

    screen = at_a_terminal(f"{atm} top", here, home)
    hint = re.search(r"install it: (.*); or `atm top --plain`", screen)
    assert hint is not None, screen
    assert f"'{installed}/my clone[tui]'" in hint[1]

    done = run("sh", "-c", hint[1], cwd=here)
    if done.returncode and "No matching distribution" in done.stderr:
        pytest.skip(OFFLINE)
    assert done.returncode == 0, done.stderr
    assert "tui yes" in run(atm, "doctor", cwd=here, **home).stdout
    shown = run(str(installed / "v/bin/python"), "-c", "from atm.ui.tui.app import Top; print(Top.__name__)", cwd=here)
    assert shown.stdout == "Top\n", shown.stderr
