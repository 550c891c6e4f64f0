"""`atm trust`: a repository's settings count after a person's yes to that file, there, with that content (D25)."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
from datetime import datetime
from pathlib import Path

import pytest
from tests.attacks.shells import refused, under
from tests.trusting import trust

from atm.roster.services.members import add_member, create_team
from atm.team.rules.team import Member

STRANGER = 65534
needs_root = pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="only root gives files away")

SAID = """[core]
identity = "bob"

[hooks]
TaskCreated = "touch ran"

[display]
color = false
"""
ASKS = [
    {"key": "core.identity", "value": "bob", "class": "consent"},
    {"key": "hooks.TaskCreated", "value": "touch ran", "class": "consent"},
    {"key": "display.color", "value": False, "class": "harmless"},
]
IGNORED = ["core.identity", "hooks.TaskCreated"]


@pytest.fixture
def repo(crew):
    """The program in a repository that wants to speak as bob and to run something."""
    crew.environment["ATM_DAEMON_AUTOSTART"] = "0"
    (crew.folder / ".git").mkdir()
    file_of(crew).write_text(SAID)
    return crew


def file_of(repo) -> Path:
    path: Path = repo.folder / ".atm.toml"
    return path


def trust_file(repo) -> Path:
    path: Path = repo.home / ".config/atm/trust.json"
    return path


def identity(repo, **more) -> str:
    value: str = repo("config", "get", "core.identity", "--json", **more).json["value"]
    return value


def state(repo, *words: str, **more) -> str:
    found: str = repo("trust", "--show", *words, "--json", code=None, **more).json["state"]
    return found


def notes(done) -> list[str]:
    return [line for line in done.err.splitlines() if line.startswith("note:")]


def described(repo, state: str, *, done: bool) -> dict[str, object]:
    """What the command says about the repository's file as it is now."""
    return {
        "action": "trust",
        "path": str(repo.folder),
        "file": str(file_of(repo)),
        "sha256": hashlib.sha256(file_of(repo).read_bytes()).hexdigest(),
        "state": state,
        "asks": ASKS,
        "done": done,
    }


class TestSayingYes:
    def test_it_says_to_what_and_it_counts_from_then_on(self, repo):
        assert identity(repo) == "human"
        assert repo("trust", "--yes", "--json").json == described(repo, "trusted", done=True)
        assert identity(repo) == "bob"
        assert repo("trust", "--json").json == described(repo, "trusted", done=True)

    def test_it_can_be_looked_at_without_a_yes(self, repo):
        assert repo("trust", "--show", "--json").json == described(repo, "untrusted", done=False)
        assert not trust_file(repo).exists()
        said = repo("trust", "--show").out
        assert "not trusted" in said
        assert "! hooks.TaskCreated = touch ran" in said

    def test_without_a_terminal_nobody_can_have_said_it(self, repo):
        done = repo("trust", "--json", code=1)
        assert done.json["error"]["code"] == "not-trusted"
        assert done.json["error"]["path"] == str(file_of(repo))
        assert "--yes" in repo("trust", stdin="y\n", code=1).err
        assert not trust_file(repo).exists()

    def test_a_yes_on_standard_input_that_is_no_terminal_is_none(self, repo):
        repo("trust", stdin="y\ny\n", code=1)
        repo("config", "get", "core.identity", stdin="y\n")
        assert identity(repo) == "human"

    def test_where_there_is_nothing_the_code_is_3(self, repo, tmp_path):
        empty = tmp_path / "empty"
        empty.mkdir()
        for words in ([], ["--yes"], ["--show"], ["--revoke"]):
            assert repo("trust", str(empty), *words, "--json", code=3).json == {
                "action": "trust",
                "path": str(empty),
                "file": None,
                "sha256": None,
                "state": "none",
                "asks": [],
                "done": False,
            }
        assert not trust_file(repo).exists()

    def test_a_path_at_which_nothing_is_means_no_other_file(self, repo):
        """Who says yes to the one has not said yes to the other."""
        repo("trust", str(repo.folder / ".claude/settings.json"), "--yes", "--json", code=3)
        assert identity(repo) == "human"

    @pytest.mark.parametrize("name", [".atm.toml", ".atm/config.toml", "config.atm.toml"])
    def test_the_file_in_force_may_have_any_of_three_names_and_be_meant_from_inside(self, repo, name):
        file_of(repo).unlink()
        path = repo.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(SAID)
        (repo.folder / "src/deep").mkdir(parents=True)
        done = repo("trust", "--yes", "--json", cwd=repo.folder / "src/deep").json
        assert (done["path"], done["file"]) == (str(repo.folder), str(path))
        assert identity(repo, cwd=repo.folder / "src") == "bob"

    def test_what_claude_codes_settings_permit_can_be_trusted_by_their_own_path(self, repo):
        path = repo.folder / ".claude/settings.json"
        path.parent.mkdir()
        rules = {"allow": ["Read(//etc/**)"], "deny": ["Read(x)"], "ask": ["Bash"], "additionalDirectories": ["/"]}
        path.write_text(json.dumps({"permissions": rules, "model": "x"}))
        done = repo("trust", str(path), "--yes", "--json").json
        assert (done["path"], done["file"], done["state"]) == (str(repo.folder), str(path), "trusted")
        assert {one["key"]: one["class"] for one in done["asks"]} == {
            "permissions.allow": "consent",
            "permissions.deny": "harmless",
            "permissions.ask": "harmless",
            "permissions.additionalDirectories": "consent",
        }
        assert state(repo) == "untrusted", "the yes was to one file"

    def test_an_agent_cannot_say_it(self, repo):
        for words in (["trust", "--yes"], ["trust", str(file_of(repo)), "--yes"]):
            assert "only a person" in refused(under(repo, "ann", *words, "--json"))
        assert not trust_file(repo).exists()
        assert identity(repo) == "human"

    @needs_root
    @pytest.mark.parametrize("whose", [".atm.toml", ".", ".git"])
    def test_a_file_of_another_user_cannot_be_trusted(self, repo, whose):
        os.chown(repo.folder / whose, STRANGER, -1)
        assert repo("trust", "--yes", "--json", code=1).json["error"]["code"] == "foreign-file"
        shown = repo("trust", "--show", "--json").json
        assert (shown["state"], shown["asks"], shown["done"]) == ("foreign", [], False)
        assert not trust_file(repo).exists()

    def test_a_file_that_is_wrong_is_an_error_that_names_it(self, repo):
        file_of(repo).write_text("[core\n")
        error = repo("trust", "--yes", "--json", code=1).json["error"]
        assert (error["code"], error["path"]) == ("bad-setting", str(file_of(repo)))
        assert not trust_file(repo).exists()


class TestTakingItBack:
    def test_it_counts_no_more(self, repo):
        trust(repo.home, repo.folder)
        assert repo("trust", "--revoke", "--json").json == described(repo, "untrusted", done=True)
        assert identity(repo) == "human"
        assert repo("trust", "--revoke", "--json", code=3).json == described(repo, "untrusted", done=False)

    def test_other_files_stay_trusted(self, repo, tmp_path):
        other = tmp_path / "other"
        other.mkdir()
        (other / ".atm.toml").write_text(SAID)
        trust(repo.home, repo.folder, other)
        repo("trust", "--revoke")
        assert (state(repo), state(repo, str(other))) == ("untrusted", "trusted")

    def test_a_yes_to_a_file_that_is_gone_can_be_taken_back(self, repo):
        """Otherwise it would hold again when the file comes back, with another branch for example."""
        trust(repo.home, repo.folder)
        file_of(repo).unlink()
        repo("trust", str(file_of(repo)), "--revoke", code=None)
        file_of(repo).write_text(SAID)
        assert identity(repo) == "human"

    def test_a_yes_to_a_file_that_is_broken_now_can_be_taken_back(self, repo):
        trust(repo.home, repo.folder)
        file_of(repo).write_text("[core\n")
        repo("trust", "--revoke", code=None)
        file_of(repo).write_text(SAID)
        assert identity(repo) == "human"


class TestList:
    def test_everything_that_is_trusted_and_whether_it_still_is(self, repo, tmp_path):
        repos = [tmp_path / name for name in ("same", "changed", "gone")]
        for one in repos:
            one.mkdir()
            (one / ".atm.toml").write_text(SAID)
        trust(repo.home, *repos)
        (repos[1] / ".atm.toml").write_text(SAID + "\n")
        (repos[2] / ".atm.toml").unlink()
        listed = repo("trust", "--list", "--json").json
        assert list(listed) == ["action", "trusted"]
        assert listed["action"] == "trust"
        digest = hashlib.sha256(SAID.encode()).hexdigest()
        for row, one, now in zip(listed["trusted"], repos, ["trusted", "changed", "none"], strict=True):
            assert list(row) == ["path", "file", "sha256", "at", "by", "state"]
            assert (row["path"], row["file"], row["sha256"]) == (str(one), f"{one}/.atm.toml", digest)
            assert row["state"] == now
            assert row["by"]
            assert datetime.fromisoformat(row["at"]).tzinfo is not None
        shown = repo("trust", "--list").out
        assert all(str(one) in shown for one in repos)

    def test_nothing_is_trusted_at_first(self, repo):
        assert repo("trust", "--list", "--json").json == {"action": "trust", "trusted": []}


class TestTheFile:
    def test_it_is_private_and_has_a_version(self, repo):
        repo("trust", "--yes")
        assert trust_file(repo).stat().st_mode & 0o777 == 0o600
        kept = json.loads(trust_file(repo).read_text())
        assert list(kept) == ["version", "trusted"]
        assert kept["version"] == 1
        (row,) = kept["trusted"]
        digest = hashlib.sha256(SAID.encode()).hexdigest()
        assert set(row) == {"path", "file", "sha256", "at", "by"}
        assert (row["path"], row["file"], row["sha256"]) == (str(repo.folder), str(file_of(repo)), digest)

    def test_saying_it_again_is_one_entry(self, repo):
        for number in range(3):
            file_of(repo).write_text(f"{SAID}# {number}\n")
            repo("trust", "--yes")
        assert len(json.loads(trust_file(repo).read_text())["trusted"]) == 1

    @pytest.mark.parametrize(
        "spoil",
        [
            lambda _: "",
            lambda _: "{",
            lambda _: "[]",
            lambda text: text.replace('"version": 1', '"version": 2'),
            lambda text: text.replace('"version": 1,', ""),
            lambda text: text.replace('"trusted"', '"believed"'),
            lambda text: f"{text}\n{text}",
            lambda text: text[:-4],
        ],
    )
    def test_one_that_cannot_be_understood_trusts_nothing_and_is_not_written_over(self, repo, spoil):
        trust(repo.home, repo.folder)
        trust_file(repo).write_text(spoil(trust_file(repo).read_text()))
        before = trust_file(repo).read_bytes()
        assert identity(repo) == "human"
        assert state(repo) == "untrusted"
        error = repo("trust", "--yes", "--json", code=1).json["error"]
        assert (error["code"], error["path"]) == ("unreadable-file", str(trust_file(repo)))
        assert trust_file(repo).read_bytes() == before
        assert identity(repo) == "human"

    @pytest.mark.parametrize("mode", [0o666, 0o602, 0o660, 0o620], ids=oct)
    def test_one_that_others_may_write_trusts_nothing(self, repo, mode):
        trust(repo.home, repo.folder)
        trust_file(repo).chmod(mode)
        assert identity(repo) == "human"
        assert state(repo) == "untrusted"
        trust_file(repo).chmod(0o644)
        assert identity(repo) == "bob"

    def test_what_others_may_have_written_does_not_count_after_the_next_yes_either(self, repo, tmp_path):
        other = tmp_path / "other"
        other.mkdir()
        (other / ".atm.toml").write_text(SAID)
        trust(repo.home, repo.folder)  # as if somebody else had written it
        trust_file(repo).chmod(0o666)
        repo("trust", str(other), "--yes", code=None)
        assert identity(repo) == "human"

    @needs_root
    def test_one_of_another_user_trusts_nothing(self, repo):
        trust(repo.home, repo.folder)
        os.chown(trust_file(repo), STRANGER, -1)
        assert identity(repo) == "human"
        assert state(repo) == "untrusted"


class TestOnePlaceAndOneContent:
    @pytest.fixture(autouse=True)
    def _trusted(self, repo):
        trust(repo.home, repo.folder)
        assert identity(repo) == "bob"

    @pytest.mark.parametrize("change", [lambda t: t + " ", lambda t: t[:-1], lambda t: t.replace("bob", "bov")])
    def test_one_changed_byte_and_it_is_gone_until_it_is_taken_back(self, repo, change):
        file_of(repo).write_text(change(SAID))
        assert state(repo) == "changed"
        assert identity(repo) == "human"
        assert "changed" in repo("trust", "--show").out
        file_of(repo).write_text(SAID)
        assert (state(repo), identity(repo)) == ("trusted", "bob")

    def test_a_repository_that_was_moved_is_another_one(self, repo, tmp_path):
        repo.folder.rename(tmp_path / "moved")
        repo.folder.mkdir()
        moved = tmp_path / "moved"
        assert (state(repo, cwd=moved), identity(repo, cwd=moved)) == ("untrusted", "human")

    def test_another_one_in_the_place_of_a_moved_one_has_to_say_the_same(self, repo, tmp_path):
        repo.folder.rename(tmp_path / "moved")
        (repo.folder / ".git").mkdir(parents=True)
        file_of(repo).write_text(SAID.replace("bob", "ann"))
        assert (state(repo), identity(repo)) == ("changed", "human")

    def test_a_copy_is_another_one(self, repo, tmp_path):
        copy = tmp_path / "copy"
        shutil.copytree(repo.folder, copy)
        assert (state(repo, cwd=copy), identity(repo, cwd=copy)) == ("untrusted", "human")
        assert identity(repo) == "bob"

    def test_a_link_to_the_folder_is_the_folder(self, repo, tmp_path):
        link = tmp_path / "link"
        link.symlink_to(repo.folder)
        shown = repo("trust", str(link), "--show", "--json").json
        assert (shown["state"], shown["file"], shown["path"]) == ("trusted", str(file_of(repo)), str(repo.folder))
        assert identity(repo, cwd=link) == "bob"

    def test_a_yes_by_way_of_a_link_is_to_what_it_leads_to(self, repo, tmp_path):
        link = tmp_path / "link"
        link.symlink_to(repo.folder)
        repo("trust", "--revoke")
        repo("trust", str(link), "--yes")
        link.unlink()
        assert identity(repo) == "bob"

    def test_a_file_nearer_than_the_trusted_one_needs_a_yes_of_its_own(self, repo):
        inner = repo.folder / "vendor"
        inner.mkdir()
        (inner / ".atm.toml").write_text(SAID)
        assert (state(repo, cwd=inner), identity(repo, cwd=inner)) == ("untrusted", "human")


class TestWhatIsTold:
    def test_the_list_of_settings_says_what_is_left_out(self, repo):
        done = repo("config", "list", "--json")
        settings = done.json["settings"]
        assert {key for key, one in settings.items() if one.get("ignored") == "untrusted"} == set(IGNORED)
        assert all("ignored" not in one for key, one in settings.items() if key not in IGNORED)
        assert settings["core.identity"]["value"] == "human"
        assert "is not trusted" in repo("config", "list").out
        trust(repo.home, repo.folder)
        settings = repo("config", "list", "--json").json["settings"]
        assert all("ignored" not in one for one in settings.values())

    @pytest.mark.parametrize(
        "words",
        [
            ["config", "list"],
            ["config", "get", "display.color"],
            ["send", "ann", "hello"],
            ["broadcast", "hello"],
            ["inbox"],
            ["status"],
            ["members"],
            ["tasks", "list"],
            ["tasks", "add", "One"],
        ],
        ids=" ".join,
    )
    def test_every_result_names_it_and_one_line_says_how_to_change_it(self, repo, words):
        done = repo(*words, "--json")
        assert done.json["untrusted"] == IGNORED
        for one in (done, repo(*words)):
            (line,) = notes(one)
            assert all(key in line for key in IGNORED)
            assert f"atm trust --show {file_of(repo)}" in line
            assert "[y/N]" not in one.err
        trust(repo.home, repo.folder)
        done = repo(*words, "--json")
        assert "untrusted" not in done.json
        assert notes(done) == []

    def test_an_error_has_its_one_note_too(self, repo):
        assert len(notes(repo("send", "nobody", "hello", code=1))) == 1

    def test_the_command_itself_needs_no_note(self, repo):
        for words in (["trust", "--show"], ["trust", "--list"], ["trust"]):
            assert notes(repo(*words, code=None)) == []

    @needs_root
    def test_a_file_of_another_user_is_told_once_too(self, repo):
        os.chown(file_of(repo), STRANGER, -1)
        (line,) = notes(repo("config", "get", "core.identity"))
        assert str(STRANGER) in line
        assert identity(repo) == "human"

    def test_a_file_with_too_much_to_name_takes_one_line_all_the_same(self, repo):
        aliases = "".join(f'name-{number} = "ann"\n' for number in range(100))
        file_of(repo).write_text(f"[aliases]\n{aliases}")
        (line,) = notes(repo("inbox"))
        assert len(line) < 1000

    def test_what_it_says_does_not_reach_the_terminal_raw(self, repo):
        file_of(repo).write_text('[aliases]\n"\\u001b[31m\\nnote: all is well" = "\\u001b[2J\\u202e"\n')
        for words in (["inbox"], ["trust", "--show"], ["config", "list"], ["trust", "--yes"], ["trust", "--list"]):
            done = repo(*words, code=None)
            assert not {"\x1b", "\u202e"} & set(done.out + done.err), words
            assert "note: all is well" not in (done.out + done.err).splitlines(), words


class TestWithoutAYes:
    @pytest.fixture
    def two_teams(self, repo, room):
        """`crew` of ann and bob, `other` of cat; the repository names the former."""
        create_team(room, "other")
        add_member(room, "other", Member("cat"))
        file_of(repo).write_text('[core]\ndefault_team = "crew"\n')
        return repo

    def test_the_team_counts_for_those_who_are_in_it(self, two_teams):
        found = two_teams("config", "get", "core.default_team", "--json", env={"ATM_IDENTITY": "ann"})
        assert (found.json["value"], found.json["origin"]) == ("crew", f"repo file {file_of(two_teams)}")
        assert "untrusted" not in found.json
        assert notes(found) == []

    @pytest.mark.parametrize("env", [{}, {"ATM_IDENTITY": "cat"}, {"ATM_IDENTITY": "nobody"}], ids=str)
    def test_and_for_nobody_else(self, two_teams, env):
        found = two_teams("config", "get", "core.default_team", "--json", env=env)
        assert (found.json["value"], found.json["untrusted"]) == (None, ["core.default_team"])
        assert len(notes(found)) == 1

    def test_whom_a_flag_names_is_who_asks(self, two_teams):
        two_teams("send", "bob", "from inside", "--from", "ann")
        assert [one["text"] for one in two_teams("read", "--as", "bob", "--json").json["messages"]] == ["from inside"]
        assert two_teams("send", "bob", "from outside", "--from", "cat", "--json", code=1).json["error"]
        assert two_teams("read", "--as", "cat", "--json").json["team"] == "other", "the only one that cat is in"
        assert len(two_teams.rows("bob")) == 1

    def test_the_flag_counts_and_not_the_environment(self, two_teams):
        two_teams("send", "bob", "hello", "--from", "cat", env={"ATM_IDENTITY": "ann"}, code=1)
        assert two_teams.rows("bob") == []

    def test_the_identity_that_the_repository_wants_opens_no_team(self, two_teams):
        file_of(two_teams).write_text('[core]\ndefault_team = "crew"\nidentity = "ann"\n')
        found = two_teams("config", "get", "core.default_team", "--json").json
        assert (found["value"], found["untrusted"]) == (None, ["core.default_team", "core.identity"])

    def test_the_environment_is_stronger_as_ever(self, two_teams):
        env = {"ATM_IDENTITY": "ann", "ATM_TEAM": "other"}
        assert two_teams("config", "get", "core.default_team", env=env).out == "other\n"

    def test_the_users_own_default_is_weaker_as_ever(self, two_teams, configure):
        configure(core={"default_team": "other", "identity": "ann"})
        assert two_teams("config", "get", "core.default_team").out == "crew\n"

    def test_how_things_look_counts_without_a_word(self, repo):
        file_of(repo).write_text('[display]\nformat = "json"\ntimestamps = "iso8601"\ncolor = false\n')
        done = repo("config", "list")
        assert done.json["settings"]["display.timestamps"]["value"] == "iso8601"
        assert "untrusted" not in done.json
        assert notes(done) == []


class TestChangingItByCommand:
    def test_a_new_file_is_the_users_own_words(self, repo):
        file_of(repo).unlink()
        repo("config", "set", "core.identity", "bob", "--repo")
        assert identity(repo) == "bob"
        repo("config", "set", "core.default_team", "crew", "--repo")
        assert (state(repo), identity(repo)) == ("trusted", "bob")

    def test_one_that_was_not_trusted_does_not_become_so(self, repo):
        repo("config", "set", "board.max_retries", "7", "--repo")
        assert (state(repo), identity(repo)) == ("untrusted", "human")

    def test_neither_does_one_that_has_changed_since(self, repo):
        trust(repo.home, repo.folder)
        file_of(repo).write_text(SAID.replace("touch ran", "touch other"))
        repo("config", "set", "board.max_retries", "7", "--repo")
        assert (state(repo), identity(repo)) == ("changed", "human")

    def test_an_agents_words_are_not_the_users(self, repo):
        file_of(repo).unlink()
        done = under(repo, "ann", "config", "set", "hooks.TaskCreated", "touch ran", "--repo", "--json")
        assert done.returncode == 0, done.stderr
        assert state(repo) == "untrusted"

    def test_nor_are_they_in_a_file_that_was_trusted(self, repo):
        trust(repo.home, repo.folder)
        under(repo, "ann", "config", "set", "hooks.TaskCompleted", "touch ran", "--repo", "--json")
        assert state(repo) == "changed"


class TestAtATerminal:
    QUESTION = "Do you want that? [y/N] "

    @pytest.fixture
    def answered(self, on_terminal):
        """What a command shows at a terminal, and its exit code; to the question the answer is typed."""

        def run(answer, *words, env=None):
            terminal = on_terminal(*words, env=env)
            terminal.read_until(lambda text: self.QUESTION in text)
            if self.QUESTION in terminal.text:
                terminal.type(answer)
            terminal.read_until(lambda _: False)
            return terminal.text.replace("\r\n", "\n"), terminal.process.wait(60)

        return run

    @pytest.mark.parametrize("answer", ["y\n", "yes\n", "Y\n"])
    def test_the_first_command_asks_and_a_yes_counts_at_once(self, repo, answered, answer):
        said, code = answered(answer, "config", "get", "core.identity")
        before, _, after = said.partition(self.QUESTION)
        assert "! core.identity = bob" in before
        assert "! hooks.TaskCreated = touch ran" in before
        assert after.splitlines()[-1] == "bob"
        assert "note:" not in said
        assert code == 0
        assert (state(repo), identity(repo)) == ("trusted", "bob")
        assert self.QUESTION not in answered("n\n", "config", "get", "core.identity")[0]

    @pytest.mark.parametrize("answer", ["n\n", "\n", "no\n", "maybe\n", "\x04"], ids=repr)
    def test_anything_else_is_a_no_that_is_remembered(self, repo, answered, answer):
        said, code = answered(answer, "config", "get", "core.identity")
        assert self.QUESTION in said
        assert said.splitlines()[-1] == "human"
        assert "note:" in said
        assert code == 0
        again, code = answered("y\n", "config", "get", "core.identity")
        assert self.QUESTION not in again
        assert again.count("note:") == 1
        assert again.splitlines()[-1] == "human"
        assert (state(repo), identity(repo)) == ("untrusted", "human")

    def test_another_content_is_asked_about_again(self, repo, answered):
        answered("n\n", "inbox")
        file_of(repo).write_text(SAID + "\n")
        assert self.QUESTION in answered("n\n", "inbox")[0]

    def test_a_no_is_kept_apart_from_what_is_trusted(self, repo, answered):
        answered("n\n", "inbox")
        assert json.loads(trust_file(repo).read_text())["trusted"] == []
        assert trust_file(repo).stat().st_mode & 0o777 == 0o600
        assert repo("trust", "--list", "--json").json["trusted"] == []
        repo("trust", "--yes")
        assert identity(repo) == "bob"

    def test_with_json_nothing_is_asked(self, repo, answered):
        said, code = answered("y\n", "config", "get", "core.identity", "--json")
        assert self.QUESTION not in said
        assert code == 0
        assert state(repo) == "untrusted"
        said, code = answered("y\n", "trust", "--json")
        assert self.QUESTION not in said
        assert code == 1
        assert state(repo) == "untrusted"

    def test_where_only_harmless_things_are_said_nothing_is_asked(self, repo, answered):
        file_of(repo).write_text("[display]\ncolor = false\n")
        assert self.QUESTION not in answered("y\n", "inbox")[0]

    def test_trust_asks_too(self, repo, answered):
        said, code = answered("n\n", "trust")
        assert (self.QUESTION in said, code) == (True, 1)
        assert "is not trusted" in " ".join(said.split())  # wherever the line is folded
        said, code = answered("y\n", "trust")
        assert (self.QUESTION in said, code) == (True, 0)
        assert state(repo) == "trusted"

    def test_nobody_is_asked_to_agree_to_what_is_not_shown(self, repo, answered):
        """The end of a long command may be what it is about."""
        file_of(repo).write_text(f'[hooks]\nTaskCreated = "true {"x" * 300}; touch evil"\n')
        said, _ = answered("n\n", "inbox")
        assert "touch evil" in said.partition(self.QUESTION)[0]

    def test_what_it_says_cannot_paint_over_the_question(self, repo, answered):
        file_of(repo).write_text('[aliases]\n"a\\u001b[2J" = "\\u001b[1A\\u001b[2K\\r harmless"\n')
        said, _ = answered("n\n", "config", "get", "core.identity")
        assert "\x1b[" not in said
        assert "\r harmless" not in said

    def test_a_file_of_consents_that_is_broken_is_named_and_nothing_counts(self, repo, answered):
        trust_file(repo).parent.mkdir(parents=True, exist_ok=True)
        trust_file(repo).write_text("{")
        said, code = answered("y\n", "config", "get", "core.identity")
        assert str(trust_file(repo)) in said
        assert said.splitlines()[-1] == "human"
        assert code == 0
        assert trust_file(repo).read_text() == "{"
