"""
Input that should not be: names that escape, links that lead out, bytes that are no text, disks that refuse.

Each gets a sentence, exit code 1 (or 0 and `queued`, where only the inbox cannot be written), and nothing is lost.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess

import pytest
from tests.proving import proves

from atm.events.adapters.watching import PollingWatch
from atm.wiring import events

ESCAPES = (
    "../x",
    "/etc/passwd",
    "a/b",
    "..\\x",
    "a\nb",
    "\x1b[31mred",
    "a\x7fb",
    "a" * 300,
    "ann.lock",
    "..",
    ".",
    ".hidden",
    "",
    "   ",
    "c:x",
)
NOT_TO_BE_CREATED = (
    "user",
    "system",
    "Cat",
    "a b",
    "a@b",
    "a" * 65,
    "änn",
    "+a",
    "🦀",
    "$(id)",
)


def clear_error(result):
    """One sentence with a fix; no trace, no excuse, no raw control character."""
    assert result.code == 1
    assert "error: " in result.err
    assert "bug in atm" not in result.err
    assert "Traceback" not in result.err
    assert not [c for c in result.err if ord(c) < 32 and c != "\n"]
    return True


@pytest.fixture
def nothing_new(atm):
    """Nothing was written beside home and the working folder."""
    yield
    assert {path.name for path in atm.home.parent.iterdir()} == {"home", "work"}


class TestNames:
    @pytest.mark.parametrize(
        "words",
        [
            ["send", "{}", "hello"],
            ["send", "ann@{}", "hello"],
            ["teams", "create", "{}"],
            ["teams", "add-member", "crew", "{}"],
            ["teams", "add-member", "{}", "cat"],
            ["teams", "remove-member", "crew", "{}"],
        ],
        ids=" ".join,
    )
    @pytest.mark.usefixtures("nothing_new")
    def test_a_name_that_could_escape_is_refused(self, crew, quickly, contents, words):
        before = contents(crew.home / ".claude")
        for name in ESCAPES:
            assert clear_error(quickly(*[word.format(name) for word in words])), name
        assert contents(crew.home / ".claude") == before

    @pytest.mark.parametrize(
        "words",
        [
            ["send", "ann", "hi", "--team", "{}"],
            ["send", "ann", "hi", "--from", "{}"],
            ["read", "{}"],
            ["read", "--as", "{}"],
            ["inbox", "--team", "{}"],
            ["members", "{}"],
            ["status", "{}"],
            ["broadcast", "hi", "--team", "{}"],
            ["ack", "id", "--as", "{}"],
            ["request", "{}@crew", "ann@crew", "q"],
            ["request", "ann", "bob", "q", "--from-team", "{}", "--to-team", "crew"],
            ["cleanup", "--agent", "{}"],
            ["receipts", "x", "--team", "{}"],
            ["teams", "create", "new", "--lead", "{}"],
        ],
        ids=" ".join,
    )
    @pytest.mark.usefixtures("nothing_new")
    def test_wherever_a_name_can_be_given_it_is_checked(self, crew, quickly, words):
        for name in ("../x", "/etc", "a\nb", "\x1b[31m", "a" * 300, "x.lock"):
            assert clear_error(quickly(*[word.format(name) for word in words])), name
        assert crew.rows("ann") == []
        assert os.listdir(crew.home / ".claude/teams") == ["crew"]

    @pytest.mark.parametrize("variable", ["ATM_TEAM", "ATM_IDENTITY"])
    @pytest.mark.parametrize("name", ["../x", "/etc/passwd", "a\nb", "\x1b[31m"])
    def test_names_from_the_environment_are_checked_too(self, crew, variable, name):
        assert clear_error(crew("read", env={variable: name}, code=None))

    @pytest.mark.parametrize("name", ["../x", "a\\nb", "\\u0000", "\\u001b[31m"])
    def test_names_from_settings_files_are_checked_too(self, crew, name):
        (crew.folder / ".atm.toml").write_text(f'[core]\ndefault_team = "{name}"\n[aliases]\nx = "{name}@crew"\n')
        assert clear_error(crew("inbox", code=None))
        assert clear_error(crew("send", "x", "hello", code=None))

    @pytest.mark.parametrize("words", [["teams", "create"], ["teams", "add-member", "crew"]], ids=" ".join)
    def test_names_that_are_not_safe_everywhere_are_not_created(self, crew, quickly, contents, words):
        before = contents(crew.home / ".claude")
        for name in NOT_TO_BE_CREATED:
            assert clear_error(quickly(*words, name)), name
        assert contents(crew.home / ".claude") == before

    def test_names_that_are_safe_everywhere_are_created(self, crew, quickly):
        for name in ("a", "0", "a.b", "a+b", "a_b-c", "feature+x.1", "a" * 64, "con", "team-lead"):
            quickly("teams", "create", name)
            quickly("teams", "add-member", name, name)
            quickly("send", f"{name}@{name}", "hello")
            assert len(crew.rows(name, name)) == 1, name

    @pytest.mark.parametrize("name", ["user", "system", "User", "user ", " system", "user@crew", "System@x"])
    def test_nobody_can_pass_for_the_user_or_the_system(self, crew, name):
        assert clear_error(crew("send", "ann", "approved", "--from", name, code=None))
        assert crew.rows("ann") == []

    def test_a_name_in_a_roster_cannot_lead_out_of_the_inboxes(self, crew):
        """Claude Code's file is not ours, and a member could be called anything in it."""
        path = crew.home / ".claude/teams/crew/config.json"
        team = json.loads(path.read_text())
        team["members"] += [{"name": "../evil"}, {"name": "../../../../evil"}]
        path.write_text(json.dumps(team))
        crew("broadcast", "hello", code=None)
        assert not list(crew.home.rglob("evil*"))
        assert len(crew.rows("ann")) == 1

    def test_names_that_we_refuse_are_not_passed_over_in_silence(self, crew):
        """Claude Code may know a `code:reviewer`; mail that lies there unread must be somebody's business."""
        path = crew.home / ".claude/teams/crew/config.json"
        team = json.loads(path.read_text())
        path.write_text(json.dumps({**team, "members": [*team["members"], {"name": "code:reviewer"}]}))
        (crew.inbox("ann").parent / "a:b.json").write_text(
            '[{"from": "x", "text": "?", "timestamp": "", "read": false}]'
        )
        out = crew("doctor", code=None).out
        assert "code:reviewer" in out
        assert "a:b" in out


class TestLinks:
    @pytest.fixture
    def outside(self, tmp_path):
        folder = tmp_path / "outside"
        (folder / "inboxes").mkdir(parents=True)
        (folder / "config.json").write_text('{"members": [{"name": "ann"}]}')
        (folder / "inboxes/ann.json").write_text('[{"from": "x", "text": "secret", "timestamp": "", "read": false}]')
        return folder

    def commands(self, team):
        return [
            ["send", f"ann@{team}", "hello"],
            ["broadcast", "hello", "--team", team],
            ["read", f"ann@{team}", "--mark"],
            ["inbox", "--team", team],
            ["status", team],
            ["members", team],
            ["teams", "add-member", team, "cat"],
            ["teams", "remove-member", team, "ann", "--force"],
            ["cleanup", "--team", team, "--yes"],
            ["ack", "x", "--team", team, "--as", "ann"],
        ]

    def test_a_team_folder_that_leads_out_is_neither_read_nor_written(self, crew, outside, contents):
        (crew.home / ".claude/teams/evil").symlink_to(outside)
        before = contents(outside)
        for words in self.commands("evil"):
            result = crew(*words, code=None)
            assert clear_error(result), words
            assert "secret" not in result.out
        assert contents(outside) == before

    @pytest.mark.parametrize("what", ["file", "folder"])
    def test_an_inbox_that_leads_out_is_neither_read_nor_written(self, crew, outside, contents, what):
        if what == "file":
            crew.inbox("ann").unlink()
            crew.inbox("ann").symlink_to(outside / "inboxes/ann.json")
        else:
            shutil.rmtree(crew.inbox("ann").parent)
            crew.inbox("ann").parent.symlink_to(outside / "inboxes")
        before = contents(outside)
        for words in (["send", "ann", "hello"], ["read", "ann", "--mark"], ["ack", "x", "--as", "ann"]):
            result = crew(*words, code=None)
            assert clear_error(result), words
            assert "leads out" in result.err
        assert "secret" not in crew("read", "ann", code=1).out + crew("inbox").out + crew("status").out
        crew("doctor", "--fix", code=1)
        assert contents(outside) == before

    def test_a_roster_that_leads_out_is_not_read(self, crew, outside):
        path = crew.home / ".claude/teams/crew/config.json"
        path.unlink()
        path.symlink_to(outside / "config.json")
        assert clear_error(crew("send", "ann", "hello", code=None))
        assert clear_error(crew("members", code=None))

    def test_a_link_to_another_inbox_of_the_same_team_is_followed(self, crew):
        crew.inbox("bob").unlink()
        crew.inbox("bob").symlink_to("ann.json")
        crew("send", "bob", "hello")
        assert len(crew.rows("ann")) == 1
        assert crew.inbox("bob").is_symlink()

    def test_a_new_team_is_not_begun_behind_a_link(self, crew, tmp_path):
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        (crew.home / ".claude/teams/new").symlink_to(elsewhere)
        assert clear_error(crew("teams", "create", "new", code=None))
        assert list(elsewhere.iterdir()) == []

    def test_a_ledger_that_leads_out_is_not_written(self, crew, tmp_path):
        """Whoever can write in the team's folder could have us append lines to any file of the user."""
        victim = tmp_path / "bashrc"
        victim.write_text("# mine\n")
        (crew.home / ".claude/teams/crew/mailbox.log").symlink_to(victim)
        crew("send", "ann", "hello", code=None)
        assert victim.read_text() == "# mine\n"

    def test_a_message_for_a_loop_of_links_is_queued_and_says_why(self, crew):
        crew.inbox("ann").unlink()
        crew.inbox("ann").symlink_to("ann.json")
        result = crew("send", "ann", "hello", "--json")
        assert result.json["outcome"] == "queued"
        assert "symbolic links" in result.err
        assert "bug in atm" not in result.err
        assert len(crew.pending) == 1


class TestBytesThatAreNoText:
    def run(self, atm, *words, stdin=b"", code=0):
        command = [os.fsencode(word) if isinstance(word, str) else word for word in (*atm.command(), *words)]
        done = subprocess.run(
            command, input=stdin, env=atm.environment, cwd=atm.folder, capture_output=True, check=False, timeout=60
        )
        assert done.returncode == code, done.stderr
        assert b"Traceback" not in done.stderr
        return done

    def test_a_text_from_the_command_line_is_marked_where_it_was_broken(self, crew):
        self.run(crew, "send", "ann", b"caf\xe9 \xff")
        assert crew.rows("ann")[0]["text"] == "caf\ufffd \ufffd"

    def test_a_text_from_standard_input_too(self, crew):
        self.run(crew, "send", "ann", "--stdin", stdin=b"caf\xe9")
        assert crew.rows("ann")[0]["text"] == "caf\ufffd"

    def test_a_summary_is_marked_where_it_was_broken(self, crew):
        self.run(crew, "send", "ann", "hello", "--summary", b"x\xff")
        assert [row["summary"] for row in crew.rows("ann")] == ["x\ufffd"]

    def test_a_sender_that_is_no_text_is_refused_and_nothing_is_written(self, crew):
        done = self.run(crew, "send", "ann", "hello", "--from", b"x\xff", code=1)
        assert b"control character" in done.stderr
        assert crew.rows("ann") == []

    @pytest.mark.parametrize(
        "words", [[b"\xff"], [b"send", b"\xff", b"x"], [b"read", b"\xff"], [b"teams", b"create", b"\xff"]]
    )
    def test_a_name_that_is_no_text_is_an_error(self, crew, words):
        done = self.run(crew, *words, code=1)
        assert done.stderr.startswith(b"error: ")
        assert b"bug in atm" not in done.stderr

    def test_an_inbox_with_broken_bytes_is_readable_and_keeps_them(self, crew):
        crew.inbox("ann").write_bytes(
            b'[\n  {"from": "b\xff", "text": "caf\xe9", "timestamp": "", "read": false, "k": "\xfe"}\n]\n'
        )
        assert "caf\ufffd" in crew("read", "ann").out
        crew("send", "ann", "more")
        crew("read", env={"ATM_IDENTITY": "ann"})
        data = crew.inbox("ann").read_bytes()
        assert b'"k": "\xfe"' in data
        assert data.count(b'"read": true') == 2

    def test_json_output_about_it_is_valid(self, crew):
        crew.inbox("ann").write_bytes(b'[{"from": "b", "text": "caf\xe9", "timestamp": "", "read": false}]')
        assert len(crew("read", "ann", "--json").json["messages"]) == 1

    def test_a_file_name_that_is_no_text_beside_the_inboxes_hurts_nobody(self, crew):
        name = os.fsencode(crew.inbox("ann").parent) + b"/\xff.json"
        with open(name, "wb") as file:
            file.write(b"[]")
        for words in (["inbox"], ["status"], ["doctor"], ["receipts", "x"], ["broadcast", "hi"], ["cleanup"]):
            assert "bug in atm" not in crew(*words, code=None).err

    def test_escaped_surrogates_and_nul_inside_rows_hurt_nobody(self, crew):
        crew.inbox("ann").write_text(
            '[{"from": "\\ud800", "text": "a\\u0000b\\udfff", "timestamp": "", "read": false}]'
        )
        assert "a␀b" in crew("read", "ann").out
        assert crew("read", "ann", "--json").json["messages"][0]["text"] == "a\0b\udfff"


class TestShapes:
    @proves("R001-8.1-09", "R001-8.1-10")
    @pytest.mark.parametrize(
        "content",
        ["", "{}", '[{"from": "x"', "[] []", "\x00\x00\x00", "[" * 5_000],
        ids=["empty", "object", "torn", "two", "zeros", "deep"],
    )
    def test_an_inbox_of_another_shape_is_never_repaired_and_loses_nothing(self, crew, content):
        crew.inbox("ann").write_text(content)
        result = crew("send", "ann", "hello", "--json")
        assert result.json["outcome"] == "queued"
        assert f"Warning: {crew.inbox('ann')}" in result.err
        assert crew.inbox("ann").read_text() == content
        assert len(crew.pending) == 1
        assert clear_error(crew("read", "ann", code=None))
        crew.inbox("ann").write_text("[]")
        crew("spool", "retry")
        assert [row["text"] for row in crew.rows("ann")] == ["hello"]

    @pytest.mark.parametrize("content", ["", "[]", "null", "{", '{"members": 5}', '{"members": {"a": 1}}'])
    def test_a_roster_of_another_shape_is_an_error_that_names_the_file(self, crew, content):
        path = crew.home / ".claude/teams/crew/config.json"
        path.write_text(content)
        result = crew("send", "ann", "hello", code=None)
        assert clear_error(result)
        assert str(path) in result.err
        assert path.read_text() == content

    @proves("R001-3.1-24")
    @pytest.mark.parametrize("row", [{"from": 1, "text": []}, {"from": "x"}, [], None, {"from": "x", "text": None}])
    def test_a_row_of_another_shape_blocks_nothing(self, crew, write_rows, row):
        write_rows("ann", row)
        crew("send", "ann", "hello")
        assert "hello" in crew("read", env={"ATM_IDENTITY": "ann"}).out
        assert crew.rows("ann")[0] == row

    @proves("R001-3.1-01")
    @pytest.mark.parametrize(
        "fields", [{"read": "no"}, {"read": None}, {"timestamp": 5}, {"summary": []}, {"msg_id": 7}]
    )
    def test_a_field_of_another_kind_hurts_nobody(self, crew, write_rows, foreign_row, fields):
        write_rows("ann", {**foreign_row("hello"), **fields})
        assert "hello" in crew("read", "ann").out
        crew("inbox")
        crew("read", env={"ATM_IDENTITY": "ann"})
        assert crew.rows("ann")[0]["read"] is True

    def test_a_row_of_50_megabytes_is_too_large_to_show_and_blocks_nothing(self, crew, write_rows, foreign_row):
        write_rows("ann", foreign_row("x" * 50_000_000))
        assert crew("send", "ann", "small", "--json").json["outcome"] == "success"
        result = crew("read", "ann", code=1)
        assert "small" in result.out
        assert "too large to show" in result.err
        assert len(result.out) < 10_000
        assert len(crew.inbox("ann").read_bytes()) > 50_000_000

    def test_numbers_of_any_size_survive(self, crew):
        raw = (
            '{"from": "x", "text": "t", "timestamp": "", "read": false, "n": 1e999, "m": ' + "9" * 5000 + ', "k": 1.10}'
        )
        crew.inbox("ann").write_text(f"[{raw}]")
        crew("send", "ann", "more")
        assert raw in crew.inbox("ann").read_text()

    def test_a_ledger_of_nonsense_hurts_nobody(self, crew):
        (crew.home / ".claude/teams/crew/mailbox.log").write_bytes(
            b'\xff\xfe\n{"seq": "x"}\n[]\n{"seq": 5, "ids": 7}\n\n{'
        )
        assert crew("send", "ann", "hello", "--json").json["outcome"] == "success"
        assert "hello" in crew("read", env={"ATM_IDENTITY": "ann"}).out

    def test_a_spool_file_of_another_shape_hurts_nobody(self, crew):
        folder = crew.home / ".config/atm/spool/pending"
        folder.mkdir(parents=True)
        for number, text in enumerate(["{}", "[]", "x", '{"target_team": 1}', '{"target_team": "crew", "message": 5}']):
            (folder / f"{number}-x-ann@crew.json").write_text(text)
        assert crew("send", "ann", "hello", "--json").json["outcome"] == "success"
        assert len(list(folder.iterdir())) == 5


class TestVanishing:
    def test_a_team_that_is_gone_is_an_error_in_every_command(self, crew):
        shutil.rmtree(crew.home / ".claude/teams/crew")
        for words in (
            ["send", "ann@crew", "x"],
            ["read", "ann@crew"],
            ["inbox", "--team", "crew"],
            ["members", "crew"],
        ):
            assert clear_error(crew(*words, code=None))
        assert not (crew.home / ".claude/teams/crew").exists(), "a team that ended must not be brought back"

    def test_a_team_that_goes_while_we_wait_ends_the_wait(self, crew, quickly, monkeypatch):
        class Watch(PollingWatch):
            def wait(self, _: float) -> bool:
                shutil.rmtree(crew.home / ".claude/teams/crew")
                return True

        monkeypatch.setattr(events, "build_watch", Watch)
        result = quickly("read", "--wait", "600", "--as", "ann")
        assert clear_error(result)
        assert str(crew.home / ".claude/teams/crew") in result.err

    def test_only_the_inboxes_are_gone(self, crew):
        shutil.rmtree(crew.inbox("ann").parent)
        assert crew("send", "ann", "hello", "--json").json["outcome"] == "success"
        assert len(crew.rows("ann")) == 1

    def test_mail_that_waited_for_a_team_that_is_gone_is_kept(self, crew, block):
        block("ann")
        crew("send", "ann", "hello")
        shutil.rmtree(crew.home / ".claude/teams/crew")
        crew("spool", "retry", code=None)
        crew("inbox", "--all-teams")
        kept = [path for path in (crew.home / ".config/atm/spool").rglob("*.json") if "hello" in path.read_text()]
        assert len(kept) == 1


class TestDiskThatRefuses:
    @proves("R001-3.2-43", "R001-3.2-44")
    def test_an_inbox_that_cannot_be_changed_is_queued(self, crew, immutable):
        immutable(crew.inbox("ann"))
        result = crew("send", "ann", "hello", "--json")
        assert result.json["outcome"] == "queued"
        assert "Message queued for delivery (could not write to inbox immediately)" in result.err

    @proves("R000-lock-25")
    def test_a_read_only_file_system_under_the_teams_is_queued_and_reading_goes_on(self, crew, tiny_disk):
        crew("send", "ann", "before")
        claude = crew.home / ".claude"
        copy = crew.home / "copy"
        claude.rename(copy)
        shutil.copytree(copy, tiny_disk(claude, "512k"), dirs_exist_ok=True)
        subprocess.run(["mount", "-o", "remount,ro", str(claude)], check=True)
        result = crew("send", "ann", "hello", "--json")
        assert result.json["outcome"] == "queued"
        assert "before" in crew("read", "ann").out
        shown = crew("read", env={"ATM_IDENTITY": "ann"})
        assert "before" in shown.out
        assert "cannot be marked as read, so it will be shown again" in shown.err
        assert clear_error(crew("teams", "create", "new", code=None))
        assert clear_error(crew("teams", "add-member", "crew", "cat", code=None))
        subprocess.run(["mount", "-o", "remount,rw", str(claude)], check=True)
        crew("spool", "retry")
        assert [row["text"] for row in crew.rows("ann")] == ["before", "hello"]

    @proves("R001-3.2-04", "R001-3.2-43")
    def test_a_full_disk_under_the_teams_is_queued(self, crew, tiny_disk):
        claude = crew.home / ".claude"
        copy = crew.home / "copy"
        claude.rename(copy)
        disk = tiny_disk(claude, "64k")
        shutil.copytree(copy, disk, dirs_exist_ok=True)
        fill(disk / "filler")
        before = crew.inbox("ann").read_bytes()
        assert crew("send", "ann", "hello " * 100, "--json").json["outcome"] == "queued"
        assert crew.inbox("ann").read_bytes() == before
        (disk / "filler").unlink()
        crew("spool", "retry")
        assert len(crew.rows("ann")) == 1
        assert [p for p in crew.inbox("ann").parent.iterdir() if ".atm-" in p.name] == []

    @proves("R000-lock-25", "R001-3.2-44", "R001-8.1-07")
    def test_when_nothing_at_all_can_be_written_it_is_not_sent_and_says_so(self, crew, tiny_disk):
        disk = tiny_disk(crew.home.parent / "disk", "512k")
        shutil.copytree(crew.home, disk, dirs_exist_ok=True)
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        env = {"ATM_HOME": str(disk), "HOME": str(disk)}
        result = crew("send", "ann", "hello", "--json", env=env, code=1)
        assert "not sent" in result.err
        assert result.json["error"]["code"] == "write-refused"
        assert clear_error(crew("config", "set", "core.identity", "x", env=env, code=None))
        crew("inbox", env=env)
        crew("read", "ann", env=env)

    def test_a_full_disk_under_everything_is_not_sent_and_says_so(self, crew, tiny_disk):
        disk = tiny_disk(crew.home.parent / "disk", "64k")
        shutil.copytree(crew.home, disk, dirs_exist_ok=True)
        env = {"ATM_HOME": str(disk), "HOME": str(disk)}
        crew("send", "ann", "first", env=env)
        fill(disk / "filler")
        result = crew("send", "ann", "x" * 20_000, env=env, code=None)
        rows = json.loads((disk / ".claude/teams/crew/inboxes/ann.json").read_text())
        assert clear_error(result)
        assert [row["text"] for row in rows] == ["first"]

    def test_a_spool_that_cannot_be_written_is_told_apart_from_an_inbox(self, crew, block):
        block("ann")
        spool = crew.home / ".config/atm/spool"
        spool.parent.mkdir(parents=True)
        spool.write_text("a file is in the way")
        result = crew("send", "ann", "hello", code=None)
        assert clear_error(result)
        assert "not sent" in result.err

    def test_a_state_folder_that_cannot_be_written_is_an_error_or_queued(self, crew):
        shutil.rmtree(crew.home / ".local")
        (crew.home / ".local").write_text("a file is in the way")
        result = crew("send", "ann", "hello", code=None)
        assert "bug in atm" not in result.err
        assert len(crew.rows("ann")) + len(crew.pending) == (1 if result.code == 0 else 0)


class TestHome:
    def test_without_a_home_every_command_says_what_to_set(self, atm):
        env = {"HOME": "", "ATM_HOME": "", "USERPROFILE": ""}
        for words in (["send", "ann", "x"], ["inbox"], ["teams"], ["doctor"], ["config"], ["spool"]):
            result = atm(*words, env=env, code=None)
            assert clear_error(result)
            assert "ATM_HOME" in result.err

    def test_json_says_so_too(self, atm):
        assert atm("inbox", "--json", env={"HOME": "", "ATM_HOME": ""}, code=1).json["error"]["code"] == "no-home"

    def test_a_home_that_does_not_exist_is_made(self, atm):
        env = {"ATM_HOME": str(atm.home / "deep/er")}
        atm("teams", "create", "crew", env=env)
        assert (atm.home / "deep/er/.claude/teams/crew/config.json").exists()

    def test_a_home_that_is_a_file_is_an_error(self, atm):
        (atm.home / "file").write_text("")
        env = {"ATM_HOME": str(atm.home / "file")}
        assert clear_error(atm("teams", "create", "crew", env=env, code=None))
        assert clear_error(atm("inbox", env=env, code=None))

    def test_atm_home_moves_everything(self, atm, tmp_path, contents):
        before = contents(atm.home)
        env = {"ATM_HOME": str(tmp_path / "sandbox"), "CLAUDE_CONFIG_DIR": str(tmp_path / "ignored")}
        atm("teams", "create", "crew", "--lead", "ann", env=env)
        atm("send", "ann", "x", env=env)
        assert contents(atm.home) == before
        assert not (tmp_path / "ignored").exists()
        assert {p.name for p in (tmp_path / "sandbox").iterdir()} == {".claude", ".config", ".local"}

    def test_claude_config_dir_moves_the_shared_files_alone(self, atm, tmp_path):
        env = {"ATM_HOME": "", "CLAUDE_CONFIG_DIR": str(tmp_path / "claude")}
        atm("teams", "create", "crew", "--lead", "ann", env=env)
        atm("send", "ann", "x", env=env)
        assert (tmp_path / "claude/teams/crew/inboxes/ann.json").exists()
        assert (atm.home / ".local/state/atm/locks").is_dir()


def fill(path):
    """Take every free byte of a small disk."""
    with path.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError:
            return


@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["as usual", "unbuffered"])
@pytest.mark.parametrize("words", [("inbox",), ("inbox", "--json"), ("--version",)], ids=" ".join)
@pytest.mark.parametrize(("where", "says"), [(">/dev/full", "No space left on device"), (">&-", "output is closed")])
def test_an_answer_that_cannot_be_written_is_an_error_in_words(crew, where, says, words, unbuffered):
    """Also if it waited in a buffer until the very end."""
    if "full" in where and not os.path.exists("/dev/full"):
        pytest.skip("only Linux has a device that is always full")
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {where}', "sh", *crew.command(*words)],
        env={**crew.environment, "PYTHONUNBUFFERED": unbuffered},
        cwd=crew.folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert [line for line in done.stderr.splitlines() if line.startswith("error: ") and says in line], done.stderr
