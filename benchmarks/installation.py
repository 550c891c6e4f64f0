"""
A virtual environment of our own with the project in it, installed the way users have it and compiled.

An editable install adds work to every start, and the environment of a developer may hold anything; the numbers should
not depend on either.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import filelock

from benchmarks import baseline

PROJECT = Path(__file__).resolve().parent.parent

LAUNCHER = """\
#!{python}
import sys
from {module} import {function}
if __name__ == "__main__":
    sys.exit({function}())
"""
"""What uv, and pip since 25.0, write for an entry point. Older ones also import `re`, which costs more than many a
command; such a script is timed beside this one."""


@dataclass(frozen=True, slots=True)
class Installation:
    """Programs of the private environment."""

    python: str
    atm: str
    """Started by `LAUNCHER`."""
    atm_as_installed: str
    """Started by the script that pip wrote here."""
    pip: str
    """The version of that pip."""
    baseline: str

    @property
    def installed_script_imports_re(self) -> bool:
        return "import re" in Path(self.atm_as_installed).read_text(encoding="utf-8")


def install(folder: Path) -> Installation:
    """Build a wheel of the project and install it, with the rival beside it."""
    venv = folder / "venv"
    _run(sys.executable, "-m", "venv", "--without-pip", str(venv))
    python = str(venv / "bin" / "python")
    wheels = folder / "wheels"
    _run(*_PIP, "wheel", "--no-deps", "--no-build-isolation", "-w", str(wheels), str(PROJECT))
    _run(*_PIP, "--python", python, "install", "--no-deps", "--no-index", *map(str, wheels.glob("*.whl")))
    packages = Path(_run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    _put_rival_into(packages)
    _run(python, "-m", "compileall", "-q", str(packages))
    return Installation(
        python=python,
        atm=_launcher(venv, "atm-launched", "atm.ui.cli.main", "run"),
        atm_as_installed=str(venv / "bin" / "atm"),
        pip=_run(*_PIP, "--version").split()[1],
        baseline=_launcher(venv, "baseline", "baseline", "main"),
    )


_PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")


def clean_environment() -> dict[str, str]:
    """Ours, with the build tools in the path and nothing that changes how Python starts."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "ATM_"))}
    tools = str(Path(sys.executable).parent)
    return {**kept, "PATH": f"{tools}{os.pathsep}{kept.get('PATH', os.defpath)}"}


def _put_rival_into(packages: Path) -> None:
    source = Path(filelock.__file__).parent
    shutil.copytree(source, packages / "filelock", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(baseline.__file__, packages)


def _launcher(venv: Path, name: str, module: str, function: str) -> str:
    path = venv / "bin" / name
    text = LAUNCHER.format(python=venv / "bin" / "python", module=module, function=function)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def _run(*words: str) -> str:
    done = subprocess.run(words, env=clean_environment(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}\n{done.stdout}{done.stderr}")
    return done.stdout
