"""`atm config`: every value has an origin, every key is known, and a file that sets one thing changes one thing."""

from __future__ import annotations

import json
import os
import subprocess

import pytest
from tests.proving import proves
from tests.trusting import trust


def setting(atm, key, **more):
    found = atm("config", "get", key, "--json", **more).json
    return found["value"], found["origin"]


@pytest.fixture
def repo(atm):
    """A repository with a folder in it."""
    (atm.folder / ".git").mkdir()
    (atm.folder / "src").mkdir()
    return atm


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def write_trusted(atm, path, text):
    """A repository's file, to which the user has said yes."""
    write(path, text)
    trust(atm.home, path)


def user_file(atm):
    return atm.home / ".config/atm/config.toml"


class TestResolution:
    @proves("R001-4.4-05", "R001-4.4-07", "R001-4.4-08", "R001-4.4-19", "R001-10-07")
    def test_the_highest_of_environment_atm_config_repository_user_and_default_wins(self, repo):
        extra = repo.folder / "extra.toml"
        layers = [(lambda: None, "human", "default")]
        layers += [(lambda: write(user_file(repo), '[core]\nidentity = "user"\n'), "user", "user file")]
        layers += [
            (lambda: write_trusted(repo, repo.folder / ".atm.toml", '[core]\nidentity = "repo"\n'), "repo", "repo file")
        ]
        for act, value, origin in layers:
            act()
            found = setting(repo, "core.identity")
            assert found[0] == value
            assert found[1].startswith(origin)
        write(extra, '[core]\nidentity = "extra"\n')
        assert setting(repo, "core.identity", env={"ATM_CONFIG": str(extra)}) == ("extra", f"ATM_CONFIG {extra}")
        both = {"ATM_CONFIG": str(extra), "ATM_IDENTITY": "env"}
        assert setting(repo, "core.identity", env=both) == ("env", "environment ATM_IDENTITY")

    def test_the_origin_of_a_value_from_a_file_is_that_file(self, atm):
        write(user_file(atm), '[core]\nidentity = "ann"\n')
        assert setting(atm, "core.identity") == ("ann", f"user file {user_file(atm)}")

    def test_a_partial_file_resets_nothing_else(self, repo):
        write(user_file(repo), '[core]\nidentity = "ann"\ndefault_team = "crew"\n[display]\ncolor = false\n')
        write_trusted(repo, repo.folder / ".atm.toml", '[core]\nidentity = "bob"\n')
        values = {key: one["value"] for key, one in repo("config", "--json").json["settings"].items()}
        assert (values["core.identity"], values["core.default_team"], values["display.color"]) == ("bob", "crew", False)
        assert values["display.timestamps"] == "relative"

    @proves("R001-4.4-06")
    def test_the_repositorys_file_is_found_from_a_folder_inside(self, repo):
        write_trusted(repo, repo.folder / ".atm.toml", '[core]\nidentity = "repo"\n')
        assert setting(repo, "core.identity", cwd=repo.folder / "src")[0] == "repo"

    def test_a_file_nearer_than_the_root_comes_first(self, repo):
        write_trusted(repo, repo.folder / ".atm.toml", '[core]\nidentity = "root"\n')
        write_trusted(repo, repo.folder / "src/.atm.toml", '[core]\nidentity = "near"\n')
        assert setting(repo, "core.identity", cwd=repo.folder / "src")[0] == "near"

    def test_nothing_above_the_repository_counts(self, repo):
        write(repo.folder.parent / ".atm.toml", '[core]\nidentity = "above"\n')
        assert setting(repo, "core.identity")[0] == "human"

    @proves("R001-6.2-26")
    def test_the_other_place_in_a_repository_is_read_too(self, repo):
        write_trusted(repo, repo.folder / ".atm/config.toml", '[core]\nidentity = "dot"\n')
        assert setting(repo, "core.identity")[0] == "dot"

    def test_an_empty_variable_is_none(self, atm):
        assert setting(atm, "core.identity", env={"ATM_IDENTITY": "", "ATM_CONFIG": ""}) == ("human", "default")

    def test_a_missing_atm_config_file_is_an_error_that_names_it(self, crew):
        result = crew("inbox", env={"ATM_CONFIG": "/nowhere/x.toml"}, code=1)
        assert "/nowhere/x.toml" in result.err
        assert "ATM_CONFIG" in result.err


class TestMistakes:
    @pytest.mark.parametrize(
        ("text", "meant"),
        [
            ('[core]\nidentiy = "x"\n', "core.identity"),
            ('[cor]\ndefault_team = "x"\n', "core.default_team"),
            ('identity = "x"\n', "core.identity"),
            ("[retention]\nkeep_day = 3\n", "retention.keep_days"),
        ],
    )
    def test_an_unknown_key_is_an_error_with_the_nearest_known_name(self, crew, quickly, text, meant):
        write(crew.folder / ".atm.toml", text)
        result = quickly("inbox")
        assert result.code == 1
        assert meant in result.err
        assert str(crew.folder / ".atm.toml") in result.err

    @pytest.mark.parametrize(
        "text",
        [
            "[core]\nidentity = 5\n",
            '[display]\ncolor = "yes"\n',
            '[display]\nformat = "xml"\n',
            "[retention]\nkeep_read = -1\n",
            "[retention]\nkeep_read = 1.5\n",
            "[retention]\nkeep_read = true\n",
        ],
    )
    def test_a_value_of_the_wrong_kind_is_an_error_that_names_the_key(self, crew, quickly, text):
        write(crew.folder / ".atm.toml", text)
        result = quickly("inbox")
        assert result.code == 1
        assert text.split()[1] in result.err

    @pytest.mark.parametrize("text", ["[core\n", "key", '[core]\nidentity = "a\n', "[core]\n[core]\n"])
    def test_a_file_that_is_no_toml_is_an_error_that_names_it(self, crew, text):
        write(crew.folder / ".atm.toml", text)
        assert str(crew.folder / ".atm.toml") in crew("inbox", code=1).err

    def test_a_file_that_is_no_utf8_is_an_error_that_names_it(self, crew):
        (crew.folder / ".atm.toml").write_bytes(b'[core]\nidentity = "\xff"\n')
        assert ".atm.toml" in crew("inbox", code=1).err

    def test_settings_of_plugins_and_aliases_are_free(self, crew):
        write_trusted(crew, crew.folder / ".atm.toml", '[aliases]\nboss = "ann@crew"\n[plugins.ci]\nurl = "x"\nn = 3\n')
        assert setting(crew, "aliases.boss")[0] == "ann@crew"
        assert "plugins.ci.url" in crew("config", "list").out

    def test_get_of_an_unknown_key_suggests_one(self, atm):
        assert "core.identity" in atm("config", "get", "core.identitty", code=1).err


class TestSet:
    @pytest.mark.usefixtures("room")
    @proves("R001-4.1-12")
    def test_the_users_file_is_made_and_changed(self, atm):
        result = atm("config", "set", "core.default_team", "crew", "--json").json
        assert result == {
            "action": "config",
            "key": "core.default_team",
            "value": "crew",
            "file": str(user_file(atm)),
        }
        assert setting(atm, "core.default_team")[0] == "crew"

    @proves("R001-4.1-12")
    def test_comments_and_other_sections_stay(self, atm):
        text = '# mine\n[core]\nidentity = "ann"  # me\n\n[display]\ncolor = false\n'
        write(user_file(atm), text)
        atm("config", "set", "core.identity", "bob")
        assert user_file(atm).read_text() == text.replace("ann", "bob")
        atm("config", "set", "retention.keep_read", "7")
        assert "# mine" in user_file(atm).read_text()
        assert setting(atm, "display.color")[0] is False

    @pytest.mark.parametrize(
        ("key", "given", "stored"),
        [("display.color", "False", False), ("retention.keep_days", "2.5", 2.5), ("retention.keep_read", "3", 3)],
    )
    def test_values_are_stored_as_what_they_are(self, atm, key, given, stored):
        atm("config", "set", key, given)
        assert setting(atm, key)[0] == stored

    @pytest.mark.parametrize(
        ("key", "given"),
        [
            ("core.identitty", "x"),
            ("display.color", "maybe"),
            ("retention.keep_read", "many"),
            ("retention.keep_read", "-1"),
            ("display.format", "xml"),
            ("nonsense", "x"),
        ],
    )
    def test_nothing_wrong_is_ever_written(self, atm, quickly, key, given):
        assert quickly("config", "set", key, "--", given).code == 1
        assert not user_file(atm).exists()

    def test_a_broken_file_is_not_written_over(self, atm):
        write(user_file(atm), "[core\nidentity = broken")
        atm("config", "set", "core.identity", "bob", code=1)
        assert user_file(atm).read_text() == "[core\nidentity = broken"

    def test_repo_means_the_repositorys_file(self, repo):
        repo("config", "set", "core.identity", "bob", "--repo", cwd=repo.folder / "src")
        assert setting(repo, "core.identity") == ("bob", f"repo file {repo.folder}/.atm.toml")
        assert not user_file(repo).exists()

    @proves("R001-4.4-19")
    def test_atm_config_names_the_file(self, atm, tmp_path):
        path = tmp_path / "new" / "mine.toml"
        atm("config", "set", "core.identity", "bob", env={"ATM_CONFIG": str(path)})
        assert setting(atm, "core.identity", env={"ATM_CONFIG": str(path)})[0] == "bob"

    def test_atm_config_may_be_a_relative_path(self, atm):
        atm("config", "set", "core.identity", "bob", env={"ATM_CONFIG": "mine.toml"})
        assert "bob" in (atm.folder / "mine.toml").read_text()

    def test_a_file_that_is_a_link_stays_one(self, atm, tmp_path):
        """People keep their settings in a repository of dotfiles and link to them."""
        kept = tmp_path / "dotfiles.toml"
        kept.write_text('[core]\nidentity = "ann"\n')
        user_file(atm).parent.mkdir(parents=True)
        user_file(atm).symlink_to(kept)
        atm("config", "set", "core.identity", "bob")
        assert user_file(atm).is_symlink()
        assert "bob" in kept.read_text()

    def test_the_mode_of_the_file_stays(self, atm):
        write(user_file(atm), '[core]\nidentity = "ann"\n')
        user_file(atm).chmod(0o600)
        atm("config", "set", "core.identity", "bob")
        assert user_file(atm).stat().st_mode & 0o777 == 0o600

    def test_a_default_team_that_could_never_be_one_is_refused(self, atm):
        atm("config", "set", "core.default_team", "../x", code=1)

    def test_changes_at_the_same_time_all_stay(self, atm):
        numbers = {"keep_read": 11, "keep_days": 12, "keep_idle": 13, "compact_above": 14}
        for _ in range(3):
            user_file(atm).unlink(missing_ok=True)
            writers = [atm.start("config", "set", f"retention.{key}", str(n)) for key, n in numbers.items()]
            assert {writer.communicate(timeout=60)[1] for writer in writers} == {b""}
            values = atm("config", "--json").json["settings"]
            assert {key: values[f"retention.{key}"]["value"] for key in numbers} == numbers

    def test_no_temporary_file_is_left(self, atm):
        atm("config", "set", "core.identity", "bob")
        assert os.listdir(user_file(atm).parent) == ["config.toml"]


class TestList:
    @proves("R001-4.1-11")
    def test_every_setting_has_a_value_and_an_origin(self, atm):
        lines = [line.split() for line in atm("config").out.splitlines()]
        assert lines[0] == ["Setting", "Value", "Origin"]
        assert ["core.identity", "human", "default"] in lines
        assert ["messaging.share_dir", '""', "default"] in lines

    def test_list_is_the_same_as_nothing(self, atm):
        assert atm("config", "list", "--json").json == atm("config", "--json").json

    def test_get_prints_the_value_alone(self, atm):
        assert atm("config", "get", "core.identity").out == "human\n"
        assert atm("config", "get", "display.color").out == "true\n"

    @proves("R001-2.1-06", "R001-3.3b-09", "R001-3.3b-12", "R001-3.3b-14", "R001-3.3b-27", "R001-10-06")
    def test_the_repository_and_its_provider_are_found_without_a_network(self, atm):
        subprocess.run(["git", "init", "-q", str(atm.folder)], check=True)
        remote = ["git", "-C", str(atm.folder), "remote", "add", "origin", "git@github.com:acme/rocket.git"]
        subprocess.run(remote, check=True)
        repo = atm("config", "--json").json["context"]["repo"]
        assert repo["path"] == str(atm.folder)
        assert (repo["provider"]["kind"], repo["provider"]["namespace"]) == ("github", "acme")

    @proves("R001-3.3b-06", "R001-3.3b-09", "R001-3.3b-25", "R001-3.3b-26", "R001-3.3b-27", "R001-3.3b-28")
    def test_outside_a_repository_there_is_a_root_all_the_same(self, atm):
        context = atm("config", "--json").json["context"]
        assert context["root"] == str(atm.folder)
        assert context["repo"] is None

    @proves("R001-1-12", "R001-3.1-16", "R001-3.1-17", "R001-3.3b-01", "R001-3.3b-07", "R001-10-03")
    def test_the_version_of_claude_code_is_asked_once(self, atm, tmp_path):
        bin, calls = tmp_path / "bin", tmp_path / "calls"
        bin.mkdir()
        (bin / "claude").write_text(f"#!/bin/sh\necho x >> {calls}\necho '2.1.39 (Claude Code)'\n")
        (bin / "claude").chmod(0o755)
        env = {"PATH": f"{bin}:{os.environ['PATH']}"}
        for _ in range(2):
            assert atm("config", "--json", env=env).json["context"]["claude_version"] == "2.1.39"
        assert calls.read_text() == "x\n"
        cached = json.loads((atm.home / ".config/atm/claude-version.json").read_text())
        assert cached["claude_version"] == "2.1.39"


def test_a_plugins_setting_lies_in_the_plugins_own_table_and_has_its_kind(atm):
    for key, value in (("url", "http://localhost/x"), ("enabled", "true"), ("timeout", "5")):
        atm("config", "set", f"plugins.webhook.{key}", value)
    text = (atm.home / ".config/atm/config.toml").read_text()
    assert "[plugins.webhook]" in text
    assert 'url = "http://localhost/x"\nenabled = true\ntimeout = 5\n' in text
    assert atm("config", "get", "plugins.webhook.enabled", "--json").json["value"] is True


@pytest.mark.parametrize(
    ("key", "wrong", "near", "right"),
    [
        ("core.default_team", "cerw", "crew", "crew"),
        ("core.identity", "bbo", "bob", "bob"),
        ("core.identity", "nobody-here", "atm teams add-member crew nobody-here", "human"),
        ("aliases.boss", "bbo", "bob", "bob"),
        ("aliases.boss", "ann@cerw", "crew", "ann@crew"),
        ("aliases.boss", "bbo@crew", "bob", "bob@crew"),
        ("aliases.boss", "a b", "a b", "ann"),
        ("plugins.webhok.url", "http://localhost/x", "webhook", None),
        ("merges.resolver", "claudee", "claude", "none"),
        ("crew.require_tools", "hook", "hooks", "mcp"),
    ],
)
def test_what_is_not_there_is_refused_with_what_is_near(quickly, room, atm, key, wrong, near, right):
    refused = quickly("config", "set", key, wrong)
    assert refused.code == 1
    assert near in refused.err
    assert not user_file(atm).exists()
    if right is not None:
        assert (quickly("config", "set", key, right).code, key.rpartition(".")[2] in user_file(atm).read_text()) == (
            0,
            True,
        )


@pytest.mark.parametrize("name", ["a b", "a@b", "x" * 300])
def test_an_alias_is_a_name_that_can_be_typed(quickly, room, atm, name):
    assert quickly("config", "set", f"aliases.{name}", "ann").code == 1
    assert not user_file(atm).exists()


def test_who_is_meant_is_looked_for_in_the_team_that_is_meant(quickly, room, atm):
    quickly("teams", "create", "other")
    quickly("teams", "add-member", "other", "zoe")
    assert quickly("config", "set", "core.identity", "zoe").code == 0
    quickly("config", "set", "core.default_team", "crew")
    assert "team 'crew' has no member 'zoe'" in quickly("config", "set", "core.identity", "zoe").err
    assert quickly("config", "set", "aliases.z", "zoe@other").code == 0


def test_before_there_is_a_team_everybody_may_say_who_they_will_be(quickly, atm):
    assert quickly("config", "set", "core.identity", "bob").code == 0


def test_a_repositorys_file_is_for_everybodys_machine_and_names_what_others_have(quickly, room, atm):
    for key, value in (("core.default_team", "theirs"), ("core.identity", "zoe"), ("aliases.z", "zoe@theirs")):
        assert quickly("config", "set", key, value, "--repo").code == 0


def test_a_setting_is_taken_out_and_the_rest_stays(quickly, room, atm):
    path = atm.home / ".config/atm/config.toml"
    path.parent.mkdir(parents=True)
    path.write_text('# mine\n[core]\ndefault_team = "crew"  # here\nidentity = "bob"\n')
    assert quickly("config", "unset", "core.default_team").code == 0
    assert path.read_text() == '# mine\n[core]\nidentity = "bob"\n'
    again = quickly("config", "unset", "core.default_team", "--json")
    assert (again.code, again.json["changed"]) == (0, False)
    assert "did you mean" in quickly("config", "unset", "core.identiy").err
    assert quickly("config", "get", "core.identity").out == "bob\n"
