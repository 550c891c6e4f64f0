"""
How this atm was installed, and the commands that install what it lacks or bring a newer one.

Pure: `setup/adapters/installation.py` collects the facts. A clone is named by its path, because the package may be on
no index; an installer of its own (pipx, uv) is named, because `pip` would install into another environment.
"""

from __future__ import annotations

from dataclasses import dataclass

from atm.core.untrusted_text import shell_word, shell_words

DISTRIBUTION = "agent-team-manager"
PIP, PIPX, UV_TOOL, UV_PIP = "pip", "pipx", "uv tool", "uv pip"
"""Installers. `uv pip` is an environment that has no pip of its own, as `uv venv` makes them."""

UNKNOWN_CLONE = "/path/to/your/clone/of/atm"
"""Printed in place of a clone that was moved or removed since it was installed."""

EXTRAS: dict[str, tuple[str, ...]] = {
    "mcp": ("mcp",),
    "otel": ("opentelemetry.sdk", "opentelemetry.exporter"),
    "tui": ("textual",),
    "watch": ("watchfiles",),
    "web": ("starlette", "uvicorn"),
}
"""Parts that atm can be installed with, and the modules that each of them needs."""


@dataclass(frozen=True, slots=True)
class Installation:
    """Facts about the installation that runs."""

    installer: str = PIP
    executable: str = "python"
    """The Python that runs atm."""
    source: str = ""
    """Folder or archive that atm was installed from; empty if it came from a package index."""
    url: str = ""
    """Address that atm was installed from, where it was neither a folder nor an index."""
    is_editable: bool = False
    is_source_there: bool = True
    extras: tuple[str, ...] = ()
    """Extras that are installed already."""
    name: str = DISTRIBUTION
    """Name of the environment, for pipx."""


def extra_command(installation: Installation, *extras: str) -> str:
    """The command that installs these extras, so that it can be typed as it is printed."""
    # pipx and uv make the environment anew from this one requirement, so it names what is there already as well.
    kept = installation.extras if installation.installer in (PIPX, UV_TOOL) else ()
    return _install(installation, sorted({*kept, *extras}))


def upgrade_command(installation: Installation) -> str:
    """The command that brings a newer atm."""
    if installation.source and not installation.source.endswith(".whl"):
        pull = f"git -C {shell_word(_place(installation))} pull"
        # A path link to the clone is all of an editable installation, so there is nothing to install again.
        return pull if installation.is_editable else f"{pull} && {_install(installation, installation.extras)}"
    if installation.installer in (PIPX, UV_TOOL) and not (installation.source or installation.url):
        return f"{installation.installer} upgrade {shell_word(_environment(installation))}"
    return _install(installation, installation.extras, upgrade=True)


def _install(installation: Installation, extras: list[str] | tuple[str, ...], *, upgrade: bool = False) -> str:
    requirement = f"'{_requirement(installation, extras)}'"
    if installation.is_editable and installation.source:
        requirement = f"--editable {requirement}"
    if installation.installer == PIPX:
        if installation.name != DISTRIBUTION:  # `pipx install --suffix`: a plain install would make a second one
            requirement = f"--suffix {shell_word(installation.name.removeprefix(DISTRIBUTION))} {requirement}"
        return f"pipx install --force {requirement}"
    if installation.installer == UV_TOOL:
        # Without --reinstall uv may take a wheel of the same version from its cache.
        return f"uv tool install --force {requirement}"
    option = "--upgrade " if upgrade else ""
    if installation.installer == UV_PIP:
        return f"uv pip install --python {shell_words(installation.executable)} {option}{requirement}"
    return f"{shell_words(installation.executable)} -m pip install {option}{requirement}"


def _requirement(installation: Installation, extras: list[str] | tuple[str, ...]) -> str:
    """What pip calls a requirement: a path or a name, then the extras in brackets, then an address."""
    brackets = f"[{','.join(extras)}]" if extras else ""
    if installation.source:
        return _in_quotes(f"{_place(installation)}{brackets}")
    if installation.url:
        return _in_quotes(f"{DISTRIBUTION}{brackets} @ {installation.url}")
    return f"{DISTRIBUTION}{brackets}"


def _place(installation: Installation) -> str:
    return installation.source if installation.is_source_there else UNKNOWN_CLONE


def _environment(installation: Installation) -> str:
    return installation.name if installation.installer == PIPX else DISTRIBUTION


def _in_quotes(text: str) -> str:
    """The inner part of a word in single quotes, as a shell reads it."""
    return text.replace("'", "'\\''")
