"""The command that a hint prints, from the facts about an installation."""

from __future__ import annotations

import shlex

import pytest

from atm.setup.rules.installation import (
    PIP,
    PIPX,
    UNKNOWN_CLONE,
    UV_PIP,
    UV_TOOL,
    Installation,
    extra_command,
    upgrade_command,
)

PYTHON = "/v/bin/python"
CLONE = "/src/atm"


@pytest.mark.parametrize(
    ("facts", "command"),
    [
        (Installation(PIP, PYTHON), "/v/bin/python -m pip install 'agent-team-manager[tui]'"),
        (Installation(PIP, PYTHON, CLONE), "/v/bin/python -m pip install '/src/atm[tui]'"),
        (Installation(PIP, PYTHON, CLONE, is_editable=True), f"{PYTHON} -m pip install --editable '/src/atm[tui]'"),
        (Installation(PIP, "/my v/python", CLONE), "'/my v/python' -m pip install '/src/atm[tui]'"),
        (
            Installation(PIP, PYTHON, "/d/atm-1-py3-none-any.whl"),
            f"{PYTHON} -m pip install '/d/atm-1-py3-none-any.whl[tui]'",
        ),
        (
            Installation(PIP, PYTHON, url="git+https://h.example/atm"),
            f"{PYTHON} -m pip install 'agent-team-manager[tui] @ git+https://h.example/atm'",
        ),
        (Installation(UV_PIP, PYTHON, CLONE), "uv pip install --python /v/bin/python '/src/atm[tui]'"),
        (Installation(PIPX, PYTHON, CLONE), "pipx install --force '/src/atm[tui]'"),
        (Installation(PIPX, PYTHON, CLONE, is_editable=True), "pipx install --force --editable '/src/atm[tui]'"),
        (
            Installation(PIPX, PYTHON, CLONE, name="agent-team-manager@new"),
            "pipx install --force --suffix '@new' '/src/atm[tui]'",
        ),
        (Installation(UV_TOOL, PYTHON, CLONE), "uv tool install --force '/src/atm[tui]'"),
        (Installation(UV_TOOL, PYTHON, CLONE, extras=("web",)), "uv tool install --force '/src/atm[tui,web]'"),
        (Installation(PIP, PYTHON, CLONE, extras=("web",)), "/v/bin/python -m pip install '/src/atm[tui]'"),
    ],
)
def test_the_hint_names_the_clone_and_the_installer(facts, command):
    assert shlex.split(extra_command(facts, "tui")) == shlex.split(command)


def test_a_clone_that_is_gone_is_not_named():
    gone = Installation(UV_TOOL, PYTHON, "/gone", is_source_there=False)
    assert extra_command(gone, "tui", "web") == f"uv tool install --force '{UNKNOWN_CLONE}[tui,web]'"


@pytest.mark.parametrize("path", ["/a b", "/it's", "/$(touch x)", "/a;b", '/"q"', "/`id`"])
@pytest.mark.parametrize("installer", [PIP, PIPX, UV_TOOL, UV_PIP])
def test_a_path_stays_one_word_of_the_command_and_runs_nothing(path, installer):
    facts = Installation(installer, f"{path}/python", path)
    assert shlex.split(extra_command(facts, "web"))[-1] == f"{path}[web]"
    assert shlex.split(upgrade_command(facts))[:4] == ["git", "-C", path, "pull"]


@pytest.mark.parametrize(
    ("facts", "command"),
    [
        (Installation(PIP, PYTHON), "/v/bin/python -m pip install --upgrade 'agent-team-manager'"),
        (Installation(PIPX, PYTHON, name="atm2"), "pipx upgrade atm2"),
        (Installation(UV_TOOL, PYTHON), "uv tool upgrade agent-team-manager"),
        (Installation(PIP, PYTHON, CLONE, is_editable=True), "git -C /src/atm pull"),
        (
            Installation(UV_TOOL, PYTHON, CLONE, extras=("tui",)),
            "git -C /src/atm pull && uv tool install --force '/src/atm[tui]'",
        ),
    ],
)
def test_a_newer_one_comes_the_way_that_this_one_came(facts, command):
    assert upgrade_command(facts) == command
