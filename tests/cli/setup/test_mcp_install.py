"""`atm mcp install` as a program: what it writes, shows, checks and takes away, and what it says when it cannot."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from atm.ui.cli.mcp import install as install_command
from atm.ui.mcp.serving.roles import ROLES
from atm.vendors.settings_files import clients

CLIENTS = list(clients())

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="programs on PATH are shell scripts here")

VSCODE = '{\n  // our servers\n  "servers": {\n    "gh": {"url": "https://x/mcp"}, // github\n  },\n}\n'


@pytest.fixture
def atm(atm, tmp_path):
    """The program in a world where PATH holds `atm` and what a test puts there, and nothing of this machine."""
    programs = tmp_path / "bin"
    programs.mkdir()
    atm.environment["PATH"] = str(programs)
    (programs / "atm").write_text("#!/bin/sh\n")
    (programs / "atm").chmod(0o755)
    atm.programs = programs
    (atm.folder / ".git").mkdir()
    return atm


@pytest.fixture
def install(quickly):
    return lambda *words: quickly("mcp", "install", *words)


def test_the_table_names_the_clients_and_roles_that_there_are():
    options = {option.key: option for option in install_command.COMMAND.options}
    assert ", ".join(CLIENTS) in options["client"].help
    assert options["role"].choices == ROLES


def test_a_client_gets_its_server_shown_as_a_diff_and_loses_it_again(atm):
    path = Path(atm.home, ".cursor", "mcp.json")
    done = atm("mcp", "install", "--client", "cursor")
    assert f"created  {path}" in done.out
    assert '+    "atm": {' in done.out
    assert "switched it on" in done.out
    assert "ATM_IDENTITY" in done.out
    assert json.loads(path.read_text())["mcpServers"]["atm"]["args"] == ["mcp"]
    assert atm("mcp", "install", "--client", "cursor").out == "Everything is installed already.\n"
    assert atm("mcp", "install", "--client", "cursor", "--check").out == f"installed  Cursor  {path}\n"
    assert f"removed  {path}" in atm("mcp", "install", "--remove").out
    assert not path.parent.exists()
    assert atm("mcp", "install", "--remove").out == "There is nothing of ours to remove.\n"


def test_all_clients_at_once_in_a_project_and_no_trace_of_them_later(atm, install):
    before = sorted(atm.folder.rglob("*"))
    assert install("--project", "--client", ",".join(CLIENTS)).code == 0
    found = {str(path.relative_to(atm.folder)) for path in atm.folder.rglob("*") if path.is_file()}
    assert found == {
        *(".mcp.json", ".codex/config.toml", ".gemini/settings.json", ".agents/mcp_config.json", "opencode.json"),
        *(".cursor/mcp.json", ".vscode/mcp.json"),
    }
    assert install("--project", "--check", "--client", *CLIENTS).code == 0
    assert install("--project", "--remove").code == 0
    assert sorted(atm.folder.rglob("*")) == before


def test_comments_stay_where_they_are(atm, install):
    path = atm.folder / ".vscode/mcp.json"
    path.parent.mkdir()
    path.write_text(VSCODE)
    done = install("--project", "--client", "vscode")
    assert done.code == 0
    assert '+    "atm": {' in done.out
    text = path.read_text()
    for comment in ("// our servers\n", "// github\n"):
        assert comment in text
    assert install("--project", "--client", "vscode", "--remove").code == 0
    assert path.read_text() == VSCODE


def test_a_dry_run_shows_the_same_and_writes_nothing(atm, install):
    dry = install("--client", "claude", "codex", "--dry-run")
    assert "would create" in dry.out
    assert "Next:" not in dry.out
    assert not (atm.home / ".claude.json").exists()
    wet = install("--client", "claude", "codex")
    assert [line for line in dry.out.splitlines() if line.startswith("+")] == [
        line for line in wet.out.splitlines() if line.startswith("+")
    ]


def test_names_go_into_a_project_and_are_checked_there(atm, install):
    words = ("--project", "--client", "claude", "--team", "crew", "--as", "bob", "--role", "teammate")
    done = install(*words)
    assert "acts as bob" in done.out
    server = json.loads((atm.folder / ".mcp.json").read_text())["mcpServers"]["atm"]
    assert server["args"] == ["mcp", "--team", "crew", "--as", "bob", "--role", "teammate"]
    assert install(*words, "--check").code == 0
    assert install("--project", "--client", "claude", "--check").code == 0
    other = install("--project", "--client", "claude", "--as", "ann", "--check")
    assert other.code == 1
    assert "out of date: MCP server" in other.out


def test_names_do_not_go_into_your_own_settings(atm, install):
    for option in (("--team", "crew"), ("--as", "bob"), ("--role", "lead")):
        done = install("--client", "claude", *option)
        assert done.code == 1
        assert "all your agents" in done.err
        assert "--project" in done.err
    assert not (atm.home / ".claude.json").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "--client is missing"),
        (["--check"], "--client is missing"),
        (["--client"], "needs a value"),
        (["--client", "emacs"], "unknown client 'emacs'"),
        (["--client", ","], "names nobody"),
        (["--client", "claude", "--user", "--project"], "both --user and --project"),
        (["--client", "claude", "--check", "--remove"], "both --check and --remove"),
        (["--client", "claude", "--project", "--role", "king"], "must be one of"),
        (["--client", "claude", "--project", "--as", "system"], "nobody may sign"),
        (["--client", "claude", "--project", "--as", "../bob"], "member name"),
        (["--client", "claude", "--project", "--team", ".."], "team name"),
        (["--client", "claude", "--project", "--as", ""], "empty"),
        (["--client", "claude", "--project", "--as=-x"], "looks like an option"),
        (["--client", "claude", "--project", "--as", "bob", "--remove"], "no meaning with --remove"),
        (["now"], "one word too many"),
    ],
)
def test_words_that_make_no_sense_are_refused(atm, install, words, said):
    done = install(*words)
    assert done.code == 1
    assert said in done.err
    assert not any(path.is_file() for path in atm.folder.rglob("*"))


def test_somebody_elses_server_of_our_name_is_refused_with_what_to_do(atm, install):
    path = atm.home / ".claude.json"
    path.write_text('{"mcpServers": {"atm": {"command": "teller\\u001b[31m"}}}')
    text = path.read_text()
    done = install("--client", "claude")
    assert done.code == 1
    assert "called atm already" in done.err
    assert "rename or remove" in done.err
    assert "\x1b" not in done.err
    found = install("--client", "claude", "--json")
    assert found.code == 1
    assert found.json["files"][0]["error"]["code"] == "bad-request"
    assert install("--client", "claude", "cursor").code == 2
    checked = install("--client", "claude", "--check")
    assert checked.code == 1
    assert "called atm already" in checked.out
    assert install("--client", "claude", "--remove").code == 0
    assert path.read_text() == text


def test_init_speaks_of_somebody_elses_server_and_enters_its_hooks(atm, quickly):
    path = atm.home / ".gemini/settings.json"
    path.parent.mkdir()
    path.write_text('{"mcpServers": {"atm": {"url": "http://x"}}}')
    done = quickly("init", "--vendor", "gemini")
    assert done.code == 0
    assert "is not ours" in done.out
    assert "hooks" in json.loads(path.read_text())
    assert quickly("init", "--vendor", "gemini").out.startswith("Nothing was changed.\nnote: ")
    assert quickly("init", "--check", "--vendor", "gemini").code == 1


def test_the_result_as_json(atm, install):
    found = install("--client", "codex", "--json").json
    assert (found["action"], found["scope"], found["remove"], found["dry_run"]) == ("mcp install", "user", False, False)
    (file,) = found["files"]
    assert (file["vendor"], file["change"], file["error"]) == ("codex", "created", None)
    assert "+[mcp_servers.atm]" in file["diff"]
    checked = install("--client", "codex", "--check", "--json").json
    assert (checked["action"], checked["check"], checked["installed"]) == ("mcp install", True, True)
    assert install("--client", "gemini", "--check", "--json").json["files"][0]["missing"] == ["MCP server"]


def test_an_atm_that_is_not_on_path_is_named_by_its_whole_path(atm):
    (atm.programs / "atm").unlink()
    done = atm("mcp", "install", "--project", "--client", "claude")
    command = json.loads((atm.folder / ".mcp.json").read_text())["mcpServers"]["atm"]["command"]
    assert os.path.isabs(command)
    assert "not so for others" in done.out
    (atm.programs / "atm").write_text("#!/bin/sh\n")
    (atm.programs / "atm").chmod(0o755)
    atm("mcp", "install", "--project", "--client", "claude")
    assert json.loads((atm.folder / ".mcp.json").read_text())["mcpServers"]["atm"]["command"] == "atm"


def test_what_is_written_starts_atm(atm):
    """The words of the entry are words that `atm mcp` takes."""
    (atm.programs / "atm").unlink()
    atm("mcp", "install", "--project", "--client", "claude", "--team", "crew", "--as", "bob", "--role", "observer")
    server = json.loads((atm.folder / ".mcp.json").read_text())["mcpServers"]["atm"]
    done = subprocess.run(
        [server["command"], *server["args"], "--help"],
        env=atm.environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_an_atm_that_cannot_serve_says_so_and_does_as_it_is_told(atm, install, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    done = install("--client", "claude")
    assert done.code == 0
    assert "extra `mcp`" in done.out
    assert (atm.home / ".claude.json").exists()


def test_without_a_home_it_says_so_and_a_project_can_still_be_set_up(atm, tmp_path):
    del atm.environment["HOME"], atm.environment["ATM_HOME"]
    elsewhere = {name: str(tmp_path / name) for name in ("CLAUDE_CONFIG_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME")}
    assert "HOME" in atm("mcp", "install", "--client", "cursor", env=elsewhere, code=1).err
    atm("mcp", "install", "--client", "claude", env=elsewhere)
    assert (tmp_path / "CLAUDE_CONFIG_DIR" / ".claude.json").exists()
    atm("mcp", "install", "--client", "cursor", "--project", env=elsewhere)
    assert (atm.folder / ".cursor/mcp.json").exists()


def test_many_at_once_leave_one_server(atm):
    path = atm.home / ".claude.json"
    path.write_text('{"numStartups": 7}\n')
    started = [atm.start("mcp", "install", "--client", "claude", "codex") for _ in range(6)]
    for process in started:
        process.communicate(timeout=60)
        assert process.returncode == 0
    assert path.read_text().count('"atm"') == 2  # its name, and its command
    assert (atm.home / ".codex/config.toml").read_text().count("[mcp_servers.atm]") == 1
    atm("mcp", "install", "--remove")
    assert path.read_text() == '{"numStartups": 7}\n'
    assert not (atm.home / ".codex").exists()
