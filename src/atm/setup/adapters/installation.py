"""How this atm was installed: what pip, pipx and uv left beside it, and the clone that it runs from."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec

from atm.setup.rules.installation import DISTRIBUTION, EXTRAS, PIP, PIPX, UV_PIP, UV_TOOL, Installation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.core.plain import Plain


def read_installation() -> Installation:
    """The facts about the Python that runs now, and the package in it."""
    import atm

    package = os.path.dirname(os.path.abspath(atm.__file__))
    return describe_installation(package, sys.prefix, sys.executable, _direct_url(), has_module)


def has_extra(extra: str) -> bool:
    """Are all modules of this extra installed?"""
    return all(has_module(module) for module in EXTRAS[extra])


def describe_installation(
    package: str, prefix: str, executable: str, direct_url: Plain, has: Callable[[str], bool]
) -> Installation:
    """
    The same of any Python: `package` is the folder of the module `atm`, `direct_url` is PEP 610.

    A clone that the code runs from comes first: it may have been moved, or be another worktree, since it was installed.
    """
    clone = find_clone(package)
    source, url, is_editable = (clone, "", True) if clone else _named_by(direct_url)
    name = os.path.basename(prefix) if os.path.exists(os.path.join(prefix, "pipx_metadata.json")) else DISTRIBUTION
    extras = tuple(extra for extra, modules in EXTRAS.items() if all(has(module) for module in modules))
    is_there = not source or os.path.exists(source)
    installer = _installer(prefix, has)
    return Installation(installer, executable, source, url, is_editable, is_there, extras, name)


def find_clone(package: str) -> str:
    """The clone that a package is part of; empty if it was copied from one when it was installed."""
    folder = os.path.dirname(os.path.dirname(package))
    try:
        with open(os.path.join(folder, "pyproject.toml"), encoding="utf-8") as file:
            text = file.read(100_000)
    except (OSError, ValueError):
        return ""
    return folder if os.path.basename(os.path.dirname(package)) == "src" and f'"{DISTRIBUTION}"' in text else ""


def has_module(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except (ImportError, ValueError):  # its package is not there, or is shadowed
        return False


def _installer(prefix: str, has: Callable[[str], bool]) -> str:
    if os.path.exists(os.path.join(prefix, "pipx_metadata.json")):
        return PIPX
    if os.path.exists(os.path.join(prefix, "uv-receipt.toml")):
        return UV_TOOL
    return PIP if has("pip") else UV_PIP


def _named_by(direct_url: Plain) -> tuple[str, str, bool]:
    """Folder or archive, otherwise address, and whether the installation is editable."""
    url = direct_url.get("url") if isinstance(direct_url, dict) else None
    if not isinstance(direct_url, dict) or not isinstance(url, str) or not url.isprintable():
        return "", "", False
    if url.startswith("file:"):
        from urllib.parse import urlsplit
        from urllib.request import url2pathname

        facts = direct_url.get("dir_info")
        return url2pathname(urlsplit(url).path), "", isinstance(facts, dict) and facts.get("editable") is True
    facts = direct_url.get("vcs_info")
    vcs = facts.get("vcs") if isinstance(facts, dict) else None
    return "", f"{vcs}+{url}" if isinstance(vcs, str) and vcs.isalnum() else url, False


def _direct_url() -> Plain:
    """What the installer recorded; none if the distribution came from an index, or there is none."""
    import json
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        text = distribution(DISTRIBUTION).read_text("direct_url.json")
        record: Plain = json.loads(text) if text else None
    except (PackageNotFoundError, ValueError, OSError):
        return None
    return record
