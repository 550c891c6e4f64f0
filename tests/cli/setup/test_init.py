"""`atm init` as a program: what it writes, shows, checks and takes away, and what it says when it cannot."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from atm.vendors.known import hooks_of

CORPUS = Path(__file__).parents[2] / "corpus" / "hooks" / "agy"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="programs on PATH are shell scripts here")


@pytest.fixture
def atm(atm, tmp_path):
    """The program in a world where PATH holds `atm` and what a test puts there, and nothing of this machine."""
    programs = tmp_path / "bin"
    programs.mkdir()
    atm.environment["PATH"] = str(programs)
    _program(programs, "atm")
    atm.programs = programs
    return atm


def _program(folder: Path, name: str) -> None:
    (folder / name).write_text("#!/bin/sh\n")
    (folder / name).chmod(0o755)


def settings_of(atm) -> Path:
    return Path(atm.home, ".claude", "settings.json")


def test_the_agents_that_are_here_are_set_up_and_the_others_are_not(atm):
    _program(atm.programs, "claude")
    _program(atm.programs, "codex")
    done = atm("init")
    assert f"created  {settings_of(atm)}" in done.out
    hooks = json.loads(settings_of(atm).read_text())["hooks"]
    assert list(hooks) == list(hooks_of("claude").entered)
    assert hooks["Stop"] == [{"hooks": [{"type": "command", "command": "atm hook claude Stop", "timeout": 5}]}]
    assert json.loads((atm.home / ".codex/hooks.json").read_text())["hooks"].keys() == set(hooks_of("codex").entered)
    notify, _, server = (atm.home / ".codex/config.toml").read_text().partition("\n")
    assert notify == 'notify = ["atm", "hook", "codex", "notify"]'
    assert server.startswith('\n[mcp_servers.atm]\ncommand = "atm"\nargs = ["mcp"]\n')
    servers = json.loads((atm.home / ".claude.json").read_text())["mcpServers"]
    assert servers == {"atm": {"type": "stdio", "command": "atm", "args": ["mcp"]}}
    assert not (atm.home / ".gemini").exists()
    assert not (atm.home / ".config/opencode").exists()


def test_it_shows_what_it_changes_and_what_to_do_next(atm):
    settings_of(atm).parent.mkdir()
    settings_of(atm).write_text('{\n  "model": "opus"\n}\n')
    done = atm("init", "--vendor", "claude,codex", "--diff")
    assert "@@ -1,3 +1," in done.out
    assert '\n-  "model": "opus"\n+  "model": "opus",\n+  "hooks": {\n' in done.out
    assert "ATM_IDENTITY" in done.out
    assert ".atm.toml" in done.out
    assert "/hooks" in done.out
    assert atm("init", "--vendor", "claude").out == "Everything is installed already.\n"


def test_a_dry_run_shows_the_same_and_writes_nothing(atm):
    dry = atm("init", "--vendor", "claude", "gemini", "--dry-run")
    assert "would create" in dry.out
    assert not settings_of(atm).exists()
    assert not (atm.home / ".local").exists()
    wet = atm("init", "--vendor", "claude", "--vendor", "gemini")
    assert [line for line in dry.out.splitlines() if line.startswith("+")] == [
        line for line in wet.out.splitlines() if line.startswith("+")
    ]


def test_check_says_what_is_missing_and_what_is_not(atm):
    missing = atm("init", "--check", "--vendor", "claude", code=1)
    assert "missing: SessionStart, " in missing.out
    atm("init", "--vendor", "claude")
    assert atm("init", "--check", "--vendor", "claude").out.startswith("installed  Claude Code")
    text = settings_of(atm).read_text()
    settings_of(atm).write_text(text.replace("atm hook claude Stop", "/old/atm hook claude Stop"))
    stale = atm("init", "--check", "--vendor", "claude", code=1)
    assert "out of date: Stop" in stale.out
    settings_of(atm).write_text("[]")
    unclear = atm("init", "--check", "--vendor", "claude", code=1)
    assert "not an object" in unclear.out


def test_check_as_json_says_it_for_each_file(atm):
    atm("init", "--vendor", "claude")
    found = atm("init", "--check", "--vendor", "claude", "codex", "--json", code=1).json
    assert (found["action"], found["check"], found["scope"], found["installed"]) == ("init", True, "user", False)
    assert [(file["vendor"], file["state"]) for file in found["files"]] == [
        ("claude", "installed"),
        ("claude", "installed"),
        ("codex", "missing"),
        ("codex", "missing"),
    ]
    assert found["files"][2]["missing"] == list(hooks_of("codex").entered)
    assert found["files"][3]["missing"] == ["notify", "MCP server"]


def test_the_server_can_be_left_out_and_is_then_not_missed(atm):
    atm("init", "--vendor", "claude", "codex", "gemini", "opencode", "--no-mcp")
    assert not (atm.home / ".claude.json").exists()
    assert (atm.home / ".codex/config.toml").read_text() == 'notify = ["atm", "hook", "codex", "notify"]\n'
    assert list(json.loads((atm.home / ".gemini/settings.json").read_text())) == ["hooks"]
    atm("init", "--check", "--vendor", "claude", "codex", "gemini", "opencode", "--no-mcp")
    assert "missing: MCP server" in atm("init", "--check", "--vendor", "codex", code=1).out
    atm("init", "--vendor", "gemini")
    assert list(json.loads((atm.home / ".gemini/settings.json").read_text())) == ["hooks", "mcpServers"]


def test_an_atm_that_cannot_serve_registers_no_server_and_says_so(atm, quickly, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    done = quickly("init", "--vendor", "claude")
    assert done.code == 0
    assert "extra `mcp`" in done.out
    assert not (atm.home / ".claude.json").exists()
    assert quickly("init", "--vendor", "claude", "--check").code == 0
    monkeypatch.undo()
    assert quickly("init", "--vendor", "claude").code == 0
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert quickly("init", "--remove").code == 0
    assert not (atm.home / ".claude.json").exists()


def test_remove_takes_out_what_init_put_in_even_if_the_agent_is_gone(atm):
    settings_of(atm).parent.mkdir()
    settings_of(atm).write_bytes(b'{\r\n\t"model": "opus"\r\n}')
    atm("init", "--vendor", "claude", "codex", "gemini", "agy", "opencode")
    assert "changed" in atm("init", "--remove").out
    assert settings_of(atm).read_bytes() == b'{\r\n\t"model": "opus"\r\n}'
    for gone in (".codex", ".gemini", ".config/opencode"):
        assert not (atm.home / gone).exists()
    assert atm("init", "--remove").out == "There is nothing of ours to remove.\n"


def test_a_project_has_its_own_files_in_the_root_of_the_repository(atm):
    (atm.folder / ".git").mkdir()
    (atm.folder / "deep").mkdir()
    done = atm("init", "--project", "--vendor", "claude,codex,gemini,agy,opencode", cwd=atm.folder / "deep")
    found = {str(path.relative_to(atm.folder)) for path in atm.folder.rglob("*") if path.is_file()}
    assert found == {
        *(".claude/settings.json", ".codex/hooks.json", ".gemini/settings.json", ".agents/hooks.json"),
        *(".opencode/plugins/atm.js", ".mcp.json", ".codex/config.toml", ".agents/mcp_config.json", "opencode.json"),
    }
    assert "Gemini CLI asks" in done.out
    atm("init", "--project", "--check", "--vendor", "claude")
    atm("init", "--check", "--vendor", "claude", code=1)
    atm("init", "--project", "--remove")
    assert not any(path.is_file() for path in atm.folder.rglob("*"))


def test_an_atm_that_is_not_on_path_is_named_by_its_whole_path(atm):
    (atm.programs / "atm").unlink()
    done = atm("init", "--project", "--vendor", "claude")
    command = json.loads((atm.folder / ".claude/settings.json").read_text())["hooks"]["Stop"][0]["hooks"][0]["command"]
    assert command.endswith(" hook claude Stop")
    assert os.path.isabs(command.split()[0])
    assert "not so for others" in done.out
    _program(atm.programs, "atm")
    atm("init", "--project", "--vendor", "claude")
    assert "atm hook claude Stop" in (atm.folder / ".claude/settings.json").read_text()


def test_where_no_agent_is_found_it_says_what_it_looked_for(atm):
    done = atm("init", code=3)
    for word in ("claude", "codex", "gemini", "agy", "antigravity-cli", "opencode", "--vendor"):
        assert word in done.out
    found = atm("init", "--json", code=3).json
    assert found["vendors"] == []
    assert "claude" in found["looked_for"]["claude"]


def test_the_result_as_json(atm):
    found = atm("init", "--vendor", "codex", "--json").json
    assert (found["action"], found["scope"], found["remove"], found["dry_run"]) == ("init", "user", False, False)
    assert [(file["vendor"], file["change"], file["error"]) for file in found["files"]] == [
        ("codex", "created", None),
        ("codex", "created", None),
    ]
    assert "+notify = " in found["files"][1]["diff"]
    again = atm("init", "--vendor", "codex", "--json").json
    assert [file["change"] for file in again["files"]] == ["unchanged", "unchanged"]


def test_one_file_that_cannot_be_changed_is_a_partial_success_and_all_are_an_error(atm):
    settings_of(atm).parent.mkdir()
    settings_of(atm).write_text("{ // mine\n}")
    partial = atm("init", "--vendor", "claude", "gemini", code=2)
    assert "error:" in partial.err
    assert "comments" in partial.err
    assert "fix:" in partial.err
    assert (atm.home / ".gemini/settings.json").exists()
    failed = atm("init", "--vendor", "claude", "--no-mcp", "--json", code=1)
    assert failed.json["files"][0]["error"]["code"] == "unreadable-file"
    assert settings_of(atm).read_text() == "{ // mine\n}"


BROKEN = {
    "not JSON": (b"hello", 1),
    "a list": (b"[]", 1),
    "hooks that are null": (b'{"hooks": null}', 1),
    "hooks that are a list": (b'{"hooks": []}', 1),
    "an event that is none": (b'{"hooks": {"Stop": 5}}', 0),
    "another encoding": ("{}".encode("utf-16"), 1),
    "escape sequences": (b'{"\x1b]0;owned\x07": }', 1),
}
"""What stands in the file, and what `--remove` returns. That one event is none says nothing about ours beside it."""


@pytest.mark.parametrize(("data", "removing"), BROKEN.values(), ids=BROKEN.keys())
def test_a_file_that_we_do_not_understand_is_left_alone(atm, quickly, data, removing):
    settings_of(atm).parent.mkdir()
    settings_of(atm).write_bytes(data)
    done = quickly("init", "--vendor", "claude", "--no-mcp")
    assert done.code == 1
    assert "fix:" in done.err
    assert "\x1b" not in done.err
    assert settings_of(atm).read_bytes() == data
    assert quickly("init", "--vendor", "claude", "--no-mcp", "--remove").code == removing
    assert settings_of(atm).read_bytes() == data


def test_a_large_file_on_one_line_is_shown_in_short(atm, quickly):
    settings_of(atm).parent.mkdir()
    text = json.dumps({"permissions": ["x" * 50] * 100_000})
    settings_of(atm).write_text(text)
    done = quickly("init", "--vendor", "claude")
    assert done.code == 0
    assert len(done.out) < 5000
    assert quickly("init", "--vendor", "claude", "--remove").code == 0
    assert settings_of(atm).read_text() == text


def test_what_somebody_wrote_into_a_file_cannot_play_with_the_terminal(atm, quickly):
    settings_of(atm).parent.mkdir()
    settings_of(atm).write_text('{\n  "\x1b[31m\u202e": "\x07"\n}\n')
    done = quickly("init", "--vendor", "claude", "--dry-run")
    assert done.code == 0
    assert not {"\x1b", "\x07", "\u202e"} & set(done.out)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--user", "--project"], "both --user and --project"),
        (["--check", "--remove"], "both --check and --remove"),
        (["--vendor", "emacs"], "unknown vendor 'emacs'"),
        (["--vendor", "claude,"], ""),
        (["--vendor", ","], "names nobody"),
        (["--vendor"], "needs a value"),
        (["now"], "one word too many"),
    ],
)
def test_words_that_make_no_sense_are_refused(atm, quickly, words, said):
    done = quickly("init", "--dry-run", *words)
    assert done.code == (1 if said else 0)
    assert said in done.err
    assert not settings_of(atm).exists()


def test_without_a_home_it_says_so_and_a_project_can_still_be_set_up(atm, tmp_path):
    del atm.environment["HOME"], atm.environment["ATM_HOME"]
    assert "HOME" in atm("init", "--vendor", "gemini", code=1).err
    elsewhere = {name: str(tmp_path / name) for name in ("CLAUDE_CONFIG_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME")}
    assert "HOME" in atm("init", "--vendor", "gemini", env=elsewhere, code=1).err
    atm("init", "--vendor", "claude", env=elsewhere)
    assert (tmp_path / "CLAUDE_CONFIG_DIR" / "settings.json").exists()
    atm("init", "--vendor", "gemini", "--project", env=elsewhere)
    assert (atm.folder / ".gemini/settings.json").exists()


def test_claude_codes_own_variable_moves_its_settings(atm, tmp_path):
    del atm.environment["ATM_HOME"]
    atm("init", "--vendor", "claude", env={"CLAUDE_CONFIG_DIR": str(tmp_path / "elsewhere")})
    assert (tmp_path / "elsewhere" / "settings.json").exists()
    assert not settings_of(atm).exists()


# Antigravity CLI.


def hooks_of_agy(atm) -> Path:
    return Path(atm.home, ".gemini", "config", "hooks.json")


def test_agy_is_set_up_in_its_own_file_where_it_is_and_gemini_is_not(atm):
    _program(atm.programs, "agy")
    done = atm("init")
    assert f"created  {hooks_of_agy(atm)}" in done.out
    assert "/hooks in agy" in done.out
    assert ".atm.toml of its workspace" in done.out
    assert list(json.loads(hooks_of_agy(atm).read_text())) == ["atm"]
    assert [path.name for path in (atm.home / ".gemini").iterdir()] == ["config"]
    assert atm("init").out == "Everything is installed already.\n"
    assert atm("init", "--check").out.startswith("installed  Antigravity CLI")
    atm("init", "--remove")
    assert not (atm.home / ".gemini").exists()


def test_a_project_of_agy_has_words_of_its_own(atm):
    done = atm("init", "--project", "--vendor", "agy")
    assert "use --user" in done.out
    assert list(json.loads((atm.folder / ".agents/hooks.json").read_text())["atm"]) == list(hooks_of("agy").entered)


def test_a_file_of_agy_in_another_shape_is_refused_and_stays(atm):
    hooks_of_agy(atm).parent.mkdir(parents=True)
    hooks_of_agy(atm).write_text('{"Stop": [{"hooks": []}]}')
    done = atm("init", "--vendor", "agy", "claude", code=2)
    assert "reads no hook" in done.err
    assert "fix:" in done.err
    assert hooks_of_agy(atm).read_text() == '{"Stop": [{"hooks": []}]}'
    assert "reads no hook" in atm("init", "--check", "--vendor", "agy", code=1).out


def run_as_agy_does(atm, event: str, payload: str) -> subprocess.CompletedProcess[str]:
    """By the shell, in the folder of the file, with the payload on standard input."""
    (hook,) = json.loads(hooks_of_agy(atm).read_text())["atm"][event]
    environment = {**atm.environment, "ATM_TEAM": "crew", "ATM_IDENTITY": "bob"}
    words = ["/bin/sh", "-c", hook["command"]]
    folder = hooks_of_agy(atm).parent
    done = subprocess.run(
        words, cwd=folder, env=environment, input=payload, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done
    return done


def test_what_is_written_brings_mail_when_agy_runs_it(atm, room, configure):
    configure(delivery={"stop_on": "any"})
    (atm.programs / "atm").unlink()  # it does nothing here; so the real one is named by its whole path
    atm("init", "--vendor", "agy")
    assert run_as_agy_does(atm, "PreInvocation", (CORPUS / "pre-invocation.json").read_text()).stdout == "{}\n"
    atm("send", "bob", "the mill is on fire", "--team", "crew", "--from", "ann")
    done = run_as_agy_does(atm, "PreInvocation", (CORPUS / "pre-invocation.json").read_text())
    (step,) = json.loads(done.stdout)["injectSteps"]
    assert "the mill is on fire" in step["userMessage"]
    atm("send", "bob", "and the barn", "--team", "crew", "--from", "ann")
    done = run_as_agy_does(atm, "Stop", (CORPUS / "stop.json").read_text())
    assert json.loads(done.stdout)["decision"] == "continue"
    assert run_as_agy_does(atm, "Stop", (CORPUS / "stop.json").read_text()).stdout == "{}\n"


def test_agy_goes_on_when_atm_is_gone(atm):
    atm("init", "--vendor", "agy")
    (atm.programs / "atm").unlink()
    for event in hooks_of("agy").entered:
        assert run_as_agy_does(atm, event, "{}").stdout == ""


def test_many_at_once_leave_each_hook_once(atm):
    settings_of(atm).parent.mkdir()
    settings_of(atm).write_text('{"model": "opus"}\n')
    started = [atm.start("init", "--vendor", "claude", "codex") for _ in range(6)]
    for process in started:
        process.communicate(timeout=60)
        assert process.returncode == 0
    hooks = json.loads(settings_of(atm).read_text())["hooks"]
    assert {event: len(groups) for event, groups in hooks.items()} == dict.fromkeys(hooks_of("claude").entered, 1)
    atm("init", "--remove")
    assert settings_of(atm).read_text() == '{"model": "opus"}\n'
    assert not (atm.home / ".codex").exists()


def test_adding_and_removing_at_once_leaves_one_or_the_other(atm):
    settings_of(atm).parent.mkdir()
    settings_of(atm).write_text('{"model": "opus"}\n')
    words = [["init", "--vendor", "claude"], ["init", "--vendor", "claude", "--remove"]] * 3
    for process in [atm.start(*given) for given in words]:
        process.communicate(timeout=60)
        assert process.returncode == 0
    assert len(json.loads(settings_of(atm).read_text()).get("hooks", {})) in (0, len(hooks_of("claude").entered))
    atm("init", "--remove")
    assert settings_of(atm).read_text() == '{"model": "opus"}\n'


def test_on_a_terminal_the_diff_has_colours(atm, seen):
    shown = seen("init", "--vendor", "claude", "--dry-run", "--diff")
    assert "\x1b[32m+" in shown
    assert "\x1b" not in seen("init", "--vendor", "claude", "--dry-run", "--diff", env={"NO_COLOR": "1"})


def test_each_file_is_one_line_unless_all_is_asked_for(atm):
    lines = atm("init", "--vendor", "claude", "--dry-run").out.splitlines()
    assert lines[0].startswith(f"would create  {settings_of(atm)}  Claude Code, ")
    assert lines[0].endswith(" lines more")
    assert not any(line.startswith(("+", "@@")) for line in lines)


def test_it_says_what_to_restart(atm):
    assert "they read their hooks at the start: Claude Code, Codex." in atm("init", "--vendor", "codex,claude").out


def test_at_a_terminal_it_asks_before_it_writes(atm, on_terminal):
    terminal = on_terminal("init", "--vendor", "claude")
    shown = terminal.read_until(lambda text: "Write this?" in text)
    assert f"would create  {settings_of(atm)}" in shown.replace("\x1b[1m", "").replace("\x1b[0m", "")
    assert not settings_of(atm).exists()
    terminal.type("n\n")
    assert "Nothing was changed." in terminal.read_until(lambda _: False)
    assert not settings_of(atm).exists()


def test_after_a_yes_it_offers_no_daemon_where_none_may_be_started(atm, on_terminal):
    atm.environment["ATM_DAEMON_AUTOSTART"] = "0"
    atm("teams", "create", "crew")
    atm("teams", "add-member", "crew", "ann")
    terminal = on_terminal("init", "--vendor", "claude")
    for question, answer in (("Write this?", "y"), ("Send ann a test message?", "n")):
        shown = terminal.read_until(lambda text, question=question: question in text)
        terminal.type(f"{answer}\n")
    assert "Start the daemon?" not in shown + terminal.read_until(lambda _: False)


def test_after_a_yes_it_offers_the_daemon_and_a_test_message(atm, on_terminal):
    atm("teams", "create", "crew")
    atm("teams", "add-member", "crew", "ann")
    terminal = on_terminal("init", "--vendor", "claude")
    for question, answer in (("Write this?", "y"), ("Start the daemon?", "n"), ("Send ann a test message?", "y")):
        terminal.read_until(lambda text, question=question: question in text)
        terminal.type(f"{answer}\n")
    assert "sent to ann; when it was shown: atm receipts" in terminal.read_until(lambda _: False)
    assert settings_of(atm).exists()
    assert atm.rows("ann")[0]["text"].startswith("A test of atm")


def test_with_yes_nobody_is_asked(atm, seen):
    assert "Write this?" not in seen("init", "--vendor", "claude", "--yes")
    assert settings_of(atm).exists()
