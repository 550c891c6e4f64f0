"""Settings: the order of the layers, where each value comes from, and what a mistake is told."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.proving import proves
from tests.trusting import trust

from atm.config import FROM_ENVIRONMENT, check_key, checked, find_repo_file, load, open_file, read_file
from atm.config.known import CHOICES, KNOWN, NUMBER, RULES, TEXT, TEXTS, WHOLE, YES_NO
from atm.core.errors import BadSetting
from atm.files.formats.layout import Layout


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A git repository of which only the marker exists."""
    path = tmp_path / "repo"
    (path / ".git").mkdir(parents=True)
    return path


@pytest.fixture
def user_file(layout: Layout) -> Path:
    path = Path(layout.settings)
    path.parent.mkdir(parents=True)
    return path


@pytest.fixture
def in_repo(home: Path, repo: Path) -> Callable[[str], Path]:
    """Write the repository's file and say yes to it."""

    def write_and_trust(text: str) -> Path:
        path = write(repo / ".atm.toml", text)
        trust(home, path)
        return path

    return write_and_trust


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


class TestLayers:
    @proves("R001-4.4-12")
    def test_without_anything_every_value_is_the_default(self, layout, tmp_path):
        settings = load(layout, {}, str(tmp_path), {})
        assert settings.files == []
        assert settings.repo_file is None
        for key, (_, default, _) in KNOWN.items():
            assert (settings.setting(key).value, settings.setting(key).origin) == (default, "default")

    @proves(
        "R001-2.1-05",
        "R001-4.4-01",
        "R001-4.4-04",
        "R001-4.4-05",
        "R001-4.4-07",
        "R001-4.4-08",
        "R001-8.3-02",
        "R001-10-07",
    )
    def test_each_layer_wins_over_the_one_below(self, layout, repo, in_repo, user_file, tmp_path):
        flags, environment = {"core.identity": "flag"}, {"ATM_IDENTITY": "env"}
        named = write(tmp_path / "named.toml", '[core]\nidentity = "named"\n')
        repo_file = in_repo('[core]\nidentity = "repo"\n')
        write(user_file, '[core]\nidentity = "user"\n')
        everything = {**environment, "ATM_CONFIG": str(named)}

        def identity(env: dict[str, str], given: dict[str, str]) -> tuple[object, str]:
            found = load(layout, env, str(repo), given).setting("core.identity")
            return found.value, found.origin

        assert identity(everything, flags) == ("flag", "flag")
        assert identity(everything, {}) == ("env", "environment ATM_IDENTITY")
        assert identity({"ATM_CONFIG": str(named)}, {}) == ("named", f"ATM_CONFIG {named}")
        assert identity({}, {}) == ("repo", f"repo file {repo_file}")
        repo_file.unlink()
        assert identity({}, {}) == ("user", f"user file {user_file}")
        user_file.unlink()
        assert identity({}, {}) == ("human", "default")

    def test_values_are_taken_key_by_key(self, layout, repo, in_repo, user_file):
        write(user_file, '[core]\nidentity = "ann"\ndefault_team = "a"\n[retention]\nkeep_read = 5\n')
        in_repo('[core]\ndefault_team = "b"\n')
        settings = load(layout, {"ATM_TEAM": ""}, str(repo), {})
        assert settings.text("core.identity") == "ann"
        assert settings.text("core.default_team") == "b"
        assert settings.whole("retention.keep_read") == 5
        assert settings.whole("retention.keep_idle") == 10
        assert settings.files == [str(user_file), str(repo / ".atm.toml")]
        assert settings.repo_file == str(repo / ".atm.toml")
        assert settings.root == str(repo)

    @proves("R001-4.4-17", "R001-4.4-18")
    @pytest.mark.parametrize(("name", "key"), list(FROM_ENVIRONMENT.items()))
    def test_a_variable_of_the_environment_sets_its_key(self, layout, tmp_path, name, key):
        assert load(layout, {name: "given"}, str(tmp_path), {}).text(key) == "given"
        assert load(layout, {name: ""}, str(tmp_path), {}).setting(key).origin == "default"

    @proves("R001-4.2-send-26")
    def test_an_empty_value_in_a_file_is_a_value(self, layout, repo, in_repo):
        in_repo('[messaging]\noffline_action = ""\n')
        settings = load(layout, {}, str(repo), {})
        assert settings.text("messaging.offline_action") == ""
        assert settings.setting("messaging.offline_action").origin.startswith("repo file")

    @proves("R001-2.1-05", "R001-11-04")
    def test_the_seeds_own_example_is_understood(self, layout, repo, in_repo):
        in_repo(
            '[core]\ndefault_team = "backend-ci-team"    # default team for commands\n'
            'identity = "human"                  # from field on sent messages\n\n'
            '[messaging]\noffline_action = "PENDING ACTION - execute when online"  # call-to-action\n\n'
            '[display]\nformat = "text"                     # text | json\ncolor = true\n'
            'timestamps = "relative"             # relative | absolute | iso8601\n\n'
            '[plugins.issues]\nenabled = true\npoll_interval = "5m"\nlabels = ["bug", "agent-task"]\n',
        )
        settings = load(layout, {}, str(repo), {})
        assert settings.text("core.default_team") == "backend-ci-team"
        assert settings.yes("display.color")
        assert settings.setting("plugins.issues.labels").value == ["bug", "agent-task"]


class TestNamedFile:
    def test_a_file_that_the_environment_names_must_exist(self, layout, tmp_path):
        missing = tmp_path / "nowhere.toml"
        with pytest.raises(BadSetting, match="No such file") as raised:
            load(layout, {"ATM_CONFIG": str(missing)}, str(tmp_path), {})
        assert raised.value.path == str(missing)
        assert "ATM_CONFIG" in raised.value.remedy

    def test_an_empty_variable_names_no_file(self, layout, tmp_path):
        assert load(layout, {"ATM_CONFIG": ""}, str(tmp_path), {}).files == []

    def test_a_folder_is_no_settings_file(self, layout, tmp_path):
        with pytest.raises(BadSetting) as raised:
            load(layout, {"ATM_CONFIG": str(tmp_path)}, str(tmp_path), {})
        assert raised.value.path == str(tmp_path)


class TestMistakes:
    @pytest.mark.parametrize(
        "text", ["[core", "identity", "[core]\nidentity = ann", "[core]\nidentity = 'a'\nidentity = 'b'", "a = \x00"]
    )
    def test_a_file_that_is_not_toml_says_which_line(self, layout, repo, text):
        path = write(repo / ".atm.toml", text)
        with pytest.raises(BadSetting, match=r"line|end of document") as raised:
            load(layout, {}, str(repo), {})
        assert raised.value.path == str(path)
        assert str(path) in str(raised.value)

    def test_a_file_that_is_no_utf8_is_refused(self, layout, repo):
        (repo / ".atm.toml").write_bytes(b'[core]\nidentity = "caf\xe9"\n')
        with pytest.raises(BadSetting, match="not a settings file"):
            load(layout, {}, str(repo), {})

    def test_a_number_longer_than_python_converts_is_a_mistake_like_any_other(self, layout, repo):
        write(repo / ".atm.toml", "[retention]\nkeep_read = " + "9" * 5000)
        with pytest.raises(BadSetting):
            load(layout, {}, str(repo), {})

    @pytest.mark.parametrize(
        ("key", "hint"),
        [
            ("core.identiy", "core.identity"),
            ("core.default_taem", "core.default_team"),
            ("display.colour", "display.color"),
            ("identity", "core.identity"),
            ("color", "display.color"),
            ("keep_day", "retention.keep_days"),
            ("retention.keep_reads", "retention.keep_read"),
            ("messaging.offlineaction", "messaging.offline_action"),
        ],
    )
    def test_an_unknown_key_is_told_the_nearest_one(self, key, hint):
        with pytest.raises(BadSetting, match="unknown setting") as raised:
            check_key(key, "/f.toml")
        assert hint in raised.value.remedy
        assert "/f.toml" in str(raised.value)
        assert raised.value.path == "/f.toml"

    @pytest.mark.parametrize("key", ["zzzzzz", "x.y.z", ""])
    def test_a_key_that_resembles_none_is_told_where_to_look(self, key):
        with pytest.raises(BadSetting) as raised:
            check_key(key)
        assert "atm config list" in raised.value.remedy
        assert " in " not in str(raised.value)

    def test_an_unknown_key_in_a_file_is_an_error_and_not_ignored(self, repo):
        path = write(repo / ".atm.toml", '[core]\nidentiy = "ann"\n')
        with pytest.raises(BadSetting, match=r"core\.identiy"):
            read_file(str(path))

    @proves("R001-4.4-14", "R001-4.4-15")
    @pytest.mark.parametrize(
        ("key", "value"),
        [
            ("core.identity", 5),
            ("core.identity", True),
            ("core.identity", ["ann"]),
            ("display.color", "yes"),
            ("display.color", 1),
            ("retention.keep_read", "5"),
            ("retention.keep_read", 5.0),
            ("retention.keep_read", True),
            ("retention.keep_read", -1),
            ("retention.keep_days", "7"),
            ("retention.keep_days", False),
            ("retention.keep_days", -0.5),
            ("retention.keep_days", float("nan")),
            ("retention.claude_inboxes", 0),
            ("display.format", "yaml"),
            ("display.format", "JSON"),
            ("display.timestamps", "never"),
        ],
    )
    def test_a_value_of_the_wrong_kind_is_refused(self, key, value):
        with pytest.raises(BadSetting, match=key.replace(".", r"\.")) as raised:
            checked(key, value, "/f.toml")
        assert repr(value) in str(raised.value)
        assert "/f.toml" in str(raised.value)
        with pytest.raises(BadSetting):
            checked(key, value)

    @pytest.mark.parametrize(
        ("key", "value"),
        [
            ("core.identity", "ann"),
            ("core.identity", ""),
            ("display.color", False),
            ("retention.keep_read", 0),
            ("retention.keep_days", 0.5),
            ("retention.keep_days", 3),
            *((key, choice) for key, choices in CHOICES.items() for choice in choices),
        ],
    )
    def test_a_value_of_the_right_kind_is_taken(self, key, value):
        assert checked(key, value) == value

    def test_a_wrong_value_in_a_file_names_the_file(self, layout, user_file, tmp_path):
        write(user_file, "[retention]\nkeep_read = -5\n")
        with pytest.raises(BadSetting) as raised:
            load(layout, {}, str(tmp_path), {})
        assert str(user_file) in str(raised.value)

    def test_every_default_is_of_its_own_kind(self):
        for key, (kind, default, purpose) in KNOWN.items():
            assert kind in (TEXT, WHOLE, NUMBER, YES_NO, TEXTS, RULES)
            assert purpose
            if default is not None:
                assert checked(key, default) == default


class TestFreeSections:
    def test_an_alias_is_a_name_of_the_users_own(self, layout, repo, in_repo):
        in_repo('[aliases]\nboss = "team-lead@backend"\n"q.a" = "qa@backend"\nodd = 5\n')
        settings = load(layout, {}, str(repo), {})
        assert settings.alias("boss") == "team-lead@backend"
        assert settings.alias("q.a") == "qa@backend"
        assert settings.alias("odd") is None
        assert settings.alias("nobody") is None
        assert settings.setting("aliases.boss").origin.startswith("repo file")
        assert settings.setting("aliases.nobody").value is None

    def test_settings_of_plugins_are_theirs(self, layout, repo, in_repo):
        in_repo("[plugins.bridge]\nremote_port = 9876\n[plugins.bridge.tls]\non = true\n")
        settings = load(layout, {}, str(repo), {})
        assert settings.setting("plugins.bridge.remote_port").value == 9876
        assert settings.setting("plugins.bridge.tls.on").value is True

    def test_a_free_section_alone_is_no_key(self):
        with pytest.raises(BadSetting):
            check_key("aliases")

    def test_all_lists_known_keys_first_and_then_the_users_own(self, layout, repo, in_repo):
        in_repo('[plugins]\nz = 1\n[aliases]\nb = "x"\na = "y"\n')
        listed = load(layout, {}, str(repo), {}).all()
        assert list(listed) == [*KNOWN, "aliases.a", "aliases.b", "plugins.z"]


class TestAccess:
    def test_values_are_asked_for_by_kind(self, layout, repo, in_repo):
        in_repo("[retention]\nkeep_days = 2.5\nkeep_read = 7\n[display]\ncolor = false\n")
        settings = load(layout, {}, str(repo), {})
        assert settings.number("retention.keep_days") == 2.5
        assert settings.number("retention.keep_read") == 7.0
        assert settings.whole("retention.keep_read") == 7
        assert settings.yes("display.color") is False
        assert settings.yes("retention.claude_inboxes") is False

    def test_a_value_of_another_kind_is_nothing(self, layout, tmp_path):
        settings = load(layout, {}, str(tmp_path), {})
        assert settings.text("core.default_team") == ""
        assert settings.text("retention.keep_read") == ""
        assert settings.whole("core.identity") == 0
        assert settings.number("core.identity") == 0.0
        assert settings.yes("core.identity") is False

    def test_an_unknown_key_cannot_be_asked_for(self, layout, tmp_path):
        with pytest.raises(BadSetting):
            load(layout, {}, str(tmp_path), {}).text("core.identiy")


class TestRepoFile:
    @proves("R001-4.4-06")
    def test_it_is_found_from_any_folder_up_to_the_root_of_the_repository(self, repo):
        path = write(repo / ".atm.toml", "")
        deep = repo / "a" / "b"
        deep.mkdir(parents=True)
        assert find_repo_file(str(deep)) == (str(repo), str(path))
        assert find_repo_file(str(repo)) == (str(repo), str(path))

    def test_it_is_not_looked_for_above_the_repository(self, repo):
        write(repo.parent / ".atm.toml", "")
        assert find_repo_file(str(repo)) == (str(repo), None)
        (repo / "a").mkdir()
        assert find_repo_file(str(repo / "a")) == (str(repo), None)

    def test_the_nearest_one_counts(self, repo):
        write(repo / ".atm.toml", "")
        near = write(repo / "a" / ".atm.toml", "")
        (repo / "a" / "b").mkdir()
        assert find_repo_file(str(repo / "a" / "b")) == (str(repo), str(near))

    @proves("R001-6.2-26")
    def test_it_may_lie_in_a_folder_of_its_own(self, repo):
        path = write(repo / ".atm" / "config.toml", "")
        assert find_repo_file(str(repo)) == (str(repo), str(path))
        plain = write(repo / ".atm.toml", "")
        assert find_repo_file(str(repo)) == (str(repo), str(plain))

    def test_a_folder_of_that_name_is_no_file(self, repo):
        (repo / ".atm.toml").mkdir()
        assert find_repo_file(str(repo)) == (str(repo), None)

    def test_a_worktree_whose_marker_is_a_file_is_a_repository(self, tmp_path):
        tree = tmp_path / "tree"
        write(tree / ".git", "gitdir: /elsewhere")
        (tree / "a").mkdir()
        path = write(tree / ".atm.toml", "")
        assert find_repo_file(str(tree / "a")) == (str(tree), str(path))

    @proves("R001-4.4-06")
    def test_outside_a_repository_only_the_folder_itself_counts(self, tmp_path):
        here = tmp_path / "here"
        here.mkdir()
        write(tmp_path / ".atm.toml", "")
        assert find_repo_file(str(here)) == (str(here), None)
        path = write(here / ".atm.toml", "")
        assert find_repo_file(str(here)) == (str(here), str(path))

    def test_at_the_root_of_the_file_system_it_ends(self, monkeypatch):
        with monkeypatch.context() as patched:
            patched.setattr("os.path.isfile", lambda _: False)
            patched.setattr("os.path.exists", lambda _: False)
            found = find_repo_file("/")
        assert found == ("/", None)


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="this system has no files in memory")
def test_a_pipe_in_a_home_that_lies_in_memory_is_not_waited_at(monkeypatch):
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        path = f"{folder}/config.toml"
        os.mkfifo(path)
        with monkeypatch.context() as nobody:
            nobody.setattr(os, "open", lambda *_: pytest.fail("whoever opens it waits for ever"))
            with pytest.raises(OSError, match="it is a pipe and not a file"):
                open_file(path, os.O_RDONLY)
