"""`atm plugins`: found, enabled, disabled with every comment kept; and a new plugin that passes its own tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.proving import proves

from atm.teamd.plugins.discovery import Found, describe
from atm.ui.cli.plugins.changing import with_enabled, with_repository

ROOT = Path(__file__).parents[3]


@pytest.fixture
def atm(atm):
    """No test here wants a daemon of its own."""
    atm.environment["ATM_DAEMON_AUTOSTART"] = "0"
    return atm


def settings(atm) -> Path:
    path: Path = atm.home / ".config/atm/config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def daemon_file(atm) -> Path:
    return settings(atm).with_name("daemon.toml")


def listed(atm) -> dict[str, dict]:
    return {one["name"]: one for one in atm("plugins", "list", "--json").json["plugins"]}


# Listing.


@proves("R001-5-01", "R001-5.2-03")
def test_our_plugins_are_listed_with_what_they_are_and_that_no_daemon_runs(atm):
    result = atm("plugins", "list", "--json").json
    assert result["daemon"] is False
    assert result["problems"] == []
    plugins = {one["name"]: one for one in result["plugins"]}
    webhook = plugins["webhook"]
    assert webhook["installed"] is True
    assert webhook["capabilities"] == ["event-listener"]
    assert webhook["enabled"] == []
    assert webhook["instances"] == []
    assert webhook["error"] is None
    assert webhook["distribution"].startswith("agent-team-manager ")
    text = atm("plugins").out
    assert "webhook" in text
    assert "posts team events" in text
    assert "atm daemon start" in text


def test_a_plugin_that_is_enabled_and_not_installed_is_listed_as_such(atm):
    settings(atm).write_text("[plugins.nowhere]\nenabled = true\n")
    assert listed(atm)["nowhere"]["error"] == "it is enabled, but not installed"
    assert "not installed" in atm("plugins").out


@proves("R001-2.2-01")
def test_a_package_that_cannot_be_imported_is_listed_with_its_error(atm, tmp_path):
    info = tmp_path / "site/broken-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[atm.plugins]\nbroken = no_such_module:Plugin\nBAD NAME = a:b\nexits = exits:Plugin\nnovalue = \n"
    )
    (tmp_path / "site/exits.py").write_text("import os\nos._exit(5)\n")
    atm.environment["PYTHONPATH"] = str(tmp_path / "site")
    plugins = listed(atm)
    assert "No module named 'no_such_module'" in plugins["broken"]["error"]
    assert plugins["broken"]["distribution"] == "broken 1.0"
    assert "characters that we do not create" in plugins["BAD NAME"]["error"]
    assert "exit code 5" in plugins["exits"]["error"]
    assert plugins["webhook"]["error"] is None
    assert "broken" in atm("plugins").out
    assert "cannot be used" not in atm("plugins", "enable", "broken").err  # it may be mended before the daemon starts
    assert atm("plugins", "enable", "BAD NAME", code=1).err


def test_problems_with_places_are_told(atm):
    settings(atm)
    daemon_file(atm).write_text('repos = ["/no/such/folder"]\n')
    assert "no such folder" in atm("plugins", "list", "--json").json["problems"][0]
    assert "no such folder" in atm("plugins").err


def test_information_about_one_plugin(atm):
    settings(atm).write_text(
        '[plugins.webhook]\nenabled = true\nurl = "https://example.org"\nsecret = "hunter2hunter2"\n'
    )
    result = atm("plugins", "info", "webhook", "--json").json
    assert result["name"] == "webhook"
    assert result["settings"]["machine"]["url"] == "https://example.org"
    assert "hunter2" not in json.dumps(result)
    text = atm("plugins", "info", "webhook").out
    assert "event-listener" in text
    assert "https://example.org" in text
    assert "hunter2" not in text


def test_nobody_knows_a_plugin_of_that_name(atm):
    assert "did you mean 'webhook'?" in atm("plugins", "info", "webhok", code=1).err
    assert "no plugin 'webhok' is installed" in atm("plugins", "enable", "webhok", code=1).err
    assert atm("plugins", "info", "zzz", "--json", code=1).json["error"]["code"] == "bad-request"
    assert atm("plugins", "info", code=1).err
    assert "unknown" in atm("plugins", "lst", code=1).err


# Enabling and disabling.


@proves("R001-5-02", "R001-5.6-02")
def test_enabling_and_disabling_keeps_every_other_character(atm):
    path = settings(atm)
    before = (
        "# my settings\n[core]\nidentity = 'bob'   # me\n\n"
        "[plugins.digest]\n# once a day\nat = \"09:00\"\nto   =  'ann'\n\n[display]\ncolor = false\n"
    )
    path.write_text(before)
    result = atm("plugins", "enable", "digest", "--json").json
    assert (result["changed"], result["enabled"], result["file"]) == (True, True, str(path))
    after = path.read_text()
    assert "enabled = true" in after
    assert [line for line in after.splitlines() if line not in before.splitlines()] == ["enabled = true"]
    assert listed(atm)["digest"]["enabled"] == ["machine"]
    assert atm("plugins", "enable", "digest", "--json").json["changed"] is False
    assert path.read_text() == after
    atm("plugins", "disable", "digest")
    assert path.read_text() == after.replace("enabled = true", "enabled = false")
    assert listed(atm)["digest"]["enabled"] == []
    assert "already" in atm("plugins", "disable", "digest").out


@proves("R001-6.2-24", "R001-6.2-25")
def test_enabling_in_a_repository_puts_it_on_the_daemons_list(atm, tmp_path):
    repo = tmp_path / "repo"
    (repo / ".git").mkdir(parents=True)
    (repo / "deep/down").mkdir(parents=True)
    result = atm("plugins", "enable", "digest", "--repo", ".", "--json", cwd=repo / "deep/down").json
    assert (result["repo"], result["file"], result["listed"]) == (str(repo), f"{repo}/.atm.toml", True)
    assert listed(atm)["digest"]["enabled"] == [str(repo)]
    again = atm("plugins", "enable", "digest", "--repo", str(repo), "--json").json
    assert (again["changed"], again["listed"]) == (False, False)
    atm("plugins", "disable", "digest", "--repo", str(repo))
    assert listed(atm)["digest"]["enabled"] == []
    assert daemon_file(atm).read_text() == f'repos = ["{repo}"]\n'


@proves("R001-6.2-22")
@pytest.mark.parametrize("file", [".atm/config.toml", "config.atm.toml"])
def test_the_file_that_a_repository_has_is_the_one_that_changes(atm, tmp_path, file):
    path = tmp_path / "repo" / file
    path.parent.mkdir(parents=True)
    path.write_text("# here\n")
    assert atm("plugins", "enable", "digest", "--repo", str(tmp_path / "repo"), "--json").json["file"] == str(path)
    assert path.read_text().startswith("# here\n")


def test_a_repository_that_is_none_is_refused(atm, tmp_path):
    assert "is not a folder" in atm("plugins", "enable", "digest", "--repo", f"{tmp_path}/nowhere", code=1).err
    assert not daemon_file(atm).exists()


@pytest.mark.parametrize("text", ["[plugins.digest\n", "[core]\nidentity = 5\n", "[nonsense]\nx = 1\n"])
def test_a_settings_file_that_is_wrong_is_never_written_over(atm, text):
    settings(atm).write_text(text)
    assert atm("plugins", "enable", "digest", code=1).err
    assert settings(atm).read_text() == text


def test_a_list_of_repositories_that_is_wrong_is_never_written_over(atm, tmp_path):
    settings(atm)
    daemon_file(atm).write_text("repos = [\n")
    assert atm("plugins", "enable", "digest", "--repo", str(tmp_path), code=1).err
    assert daemon_file(atm).read_text() == "repos = [\n"


def test_a_plugin_that_was_removed_can_still_be_disabled(atm):
    settings(atm).write_text("[plugins.gone]\nenabled = true\n")
    atm("plugins", "disable", "gone")
    assert "gone" not in listed(atm)
    assert atm("plugins", "disable", "../etc", code=1).err


FILES = [
    "",
    "# only a comment\n",
    "[plugins.digest]\nenabled = false\n",
    "[plugins.digest]\n",
    "[plugins]\ndigest = {enabled = false}\n",
    '[plugins]\n"digest.enabled" = "false"\n',
    "plugins.digest.enabled = false\n",
    "[plugins.other]\nx = 1\n\n[core]\n\n[plugins.digest]\nat = '09:00'\n",
    "[plugins.digest.deep]\nx = 1\n",
    "[core]\nidentity = 'bob'\n",
    "[plugins.digest]\r\nenabled = false\r\n",
]


@pytest.mark.parametrize("text", FILES)
def test_every_way_to_write_a_section_can_be_changed(text):
    import tomllib

    for wanted in (True, False):
        text = with_enabled(text, "x.toml", "digest", wanted)
        found = tomllib.loads(text)
        assert found["plugins"]["digest"]["enabled"] is wanted


def test_what_else_stands_in_the_file_is_kept():
    import tomllib

    text = "[plugins.other]\nx = 1\n\n[core]\nidentity = 'bob'\n\n[plugins.digest]\nat = '09:00'\n"
    found = tomllib.loads(with_enabled(text, "x.toml", "digest", True))
    assert found["plugins"] == {"other": {"x": 1}, "digest": {"at": "09:00", "enabled": True}}
    assert found["core"] == {"identity": "bob"}


@pytest.mark.parametrize("text", ["plugins = 5\n", "[plugins]\ndigest = 5\n", "[[plugins]]\nx = 1\n"])
def test_a_section_that_is_none_is_refused(text):
    from atm.core.errors import BadSetting

    with pytest.raises(BadSetting):
        with_enabled(text, "x.toml", "digest", True)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# mine\n[log]\nlevel = 'info'\n",
        "repos = []\n",
        'repos = [\n  "/a",  # first\n]\n[log]\nlevel = 1\n',
        '[[repos]]\npath = "/a"\n\n[[repos]]\npath = "/b"\n[log]\nx = 1\n',
    ],
)
def test_a_repository_joins_the_list_in_the_form_that_it_has(text):
    import tomllib

    from atm.teamd.places import listed_repositories

    before = tomllib.loads(text)
    found = tomllib.loads(with_repository(text, "x.toml", '/new "one"'))
    assert listed_repositories(found) == [*listed_repositories(before), '/new "one"']
    assert {key: value for key, value in found.items() if key != "repos"} == {
        key: value for key, value in before.items() if key != "repos"
    }


def test_two_who_enable_at_once_both_succeed(atm):
    both = [atm.start("plugins", "enable", name) for name in ("digest", "webhook")]
    assert [one.wait(60) for one in both] == [0, 0]
    plugins = listed(atm)
    assert plugins["digest"]["enabled"] == plugins["webhook"]["enabled"] == ["machine"]


# Logs.


def test_logs_of_one_plugin_are_shown_and_of_no_other(atm, layout):
    from atm.wiring.daemon import build_log

    assert atm("plugins", "logs", "digest", code=3).err
    log = build_log(layout)
    log.write("info", "plugin:digest", "one \x1b[31mred")
    log.write("info", "plugin:digest-two", "not this")
    log.write("info", "spool", "nor this")
    log.write("warn", "plugin:digest", "two")
    assert [line["text"] for line in atm("plugins", "logs", "digest", "--json").json["lines"]] == [
        "one \x1b[31mred",
        "two",
    ]
    text = atm("plugins", "logs", "digest", "-n", "1").out
    assert "two" in text
    assert "one" not in text
    assert "\x1b" not in atm("plugins", "logs", "digest").out
    followed = atm("plugins", "logs", "digest", "--follow", "--for", "0.2").out
    assert "two" in followed


# A new one.


@proves("R001-5.1-01", "R001-5.4-02", "R001-5.4-05", "R001-8.3-06", "R001-11-03")
@pytest.mark.parametrize("name", ["greeter", "my-own-2"])
def test_a_new_plugin_passes_its_own_tests_and_can_be_found(atm, tmp_path, name):
    result = atm("plugins", "new", name, "--into", str(tmp_path), "--json").json
    folder = Path(result["folder"])
    assert folder == tmp_path / f"atm-{name}"
    assert sorted(result["files"]) == sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": f"{folder}/src:{ROOT}/src", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout
    module = f"atm_{name.replace('-', '_')}"
    told = describe(Found(name, f"{module}:Greeter"), {**os.environ, "PYTHONPATH": f"{folder}/src"})
    assert (told.error, told.capabilities) == ("", ("event-listener", "inject-messages"))
    import tomllib

    project = tomllib.loads((folder / "pyproject.toml").read_text())
    assert project["project"]["entry-points"]["atm.plugins"] == {name: f"{module}:Greeter"}


def test_a_new_plugin_is_tidy(atm, tmp_path):
    atm("plugins", "new", "greeter", "--into", str(tmp_path))
    for words in (["format", "--check"], ["check", "--select", "E,F,W,I,B"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *words, "--isolated", "--line-length", "120", "."],
            cwd=tmp_path / "atm-greeter",
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", ["", "Greeter", "a.b", "../up", "a b", "2fast", "under_score", "x" * 80, "-x"])
def test_a_name_that_no_package_can_have_is_refused(atm, tmp_path, name):
    assert atm("plugins", "new", "--into", str(tmp_path), "--", name, code=1).err
    assert list(tmp_path.glob("atm-*")) == []


def test_nothing_is_written_over(atm, tmp_path):
    folder = tmp_path / "atm-greeter"
    folder.mkdir()
    (folder / "mine.txt").write_text("mine")
    assert "not empty" in atm("plugins", "new", "greeter", "--into", str(tmp_path), code=1).err
    assert [path.name for path in folder.iterdir()] == ["mine.txt"]
    (tmp_path / "file").write_text("")
    assert atm("plugins", "new", "greeter", "--into", f"{tmp_path}/file", code=1).err
