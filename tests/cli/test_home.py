"""Bare `atm` at a terminal: one screen, that fits, with something to type. And the help, by what people do."""

from __future__ import annotations

import os
import re
import sys

import pytest

from atm.ui.cli.catalog import COMMANDS
from atm.ui.cli.overview import GROUPS, MEANT

COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture
def bare(atm):
    """Without the programs of any vendor."""
    (atm.home / ".gitconfig").write_text("[user]\n\tname = Zoe\n")
    atm.environment |= {"PATH": f"{os.path.dirname(sys.executable)}:/usr/bin:/bin"}
    return atm


@pytest.fixture
def screen(bare, on_terminal):
    def look(columns: int = 80, **env: str) -> list[str]:
        shown = on_terminal(columns=columns, env=env).read_until(lambda _: False)
        return COLOUR.sub("", shown).replace("\r\n", "\n").split("\n")

    return look


def test_without_a_team_there_are_three_steps(screen):
    shown = screen()
    assert "There is no team here yet. Three steps:" in shown
    assert [line.split("  ")[1] for line in shown if line.startswith("  atm ") or line.strip() == "atm"][:2] == [
        "atm up script:ann script:bob",
        "atm tasks add 'Greet bob' --owner ann --run 'atm send bob hello'",
    ]
    assert "Everything else: atm help" in shown


def test_programs_that_are_here_are_proposed(screen, bare, tmp_path):
    for name in ("claude", "codex"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    shown = "\n".join(screen(PATH=f"{tmp_path}:{bare.environment['PATH']}"))
    assert "atm up claude:ann codex:bob" in shown
    assert "need no model" not in shown


def test_with_a_team_it_says_who_is_here_what_waits_the_board_and_what_is_next(screen, bare):
    bare("teams", "create", "crew")
    bare("teams", "add-member", "crew", "ann")
    bare("tasks", "add", "Write the parser")
    bare("send", "zoe", "Which port?", "--from", "ann")
    shown = screen()
    text = "\n".join(shown)
    assert re.fullmatch(r"crew +you are zoe", shown[0])
    assert re.search(r"\n  \? ann ", text)
    assert "waits for you\n  ◆ mail  1 unread for zoe" in text
    assert "board  ○  0 of 1 done" in text
    assert re.search(r"next\n  atm read +1 for you", text)


@pytest.mark.parametrize("columns", [40, 80, 100])
def test_it_fits_the_terminal(screen, bare, columns):
    bare("teams", "create", "crew")
    for name in ("ann", "b" * 60):
        bare("teams", "add-member", "crew", name)
    bare("tasks", "add", "Write " + "the parser " * 20, "--owner", "ann")
    shown = screen(columns)
    assert [line for line in shown if len(line) > columns and "atm " not in line] == []


def test_of_several_teams_each_is_named_with_a_way_to_choose(screen, bare, tmp_path):
    for name in ("bank", "shop"):
        (tmp_path / name).mkdir()
        bare("teams", "create", name, cwd=tmp_path / name)
    bare.folder = tmp_path
    text = "\n".join(screen())
    assert "\n  bank\n  shop\n" in text
    assert "atm config set core.default_team bank" in text


def test_a_session_of_claude_code_is_no_team_of_ones_own(screen, bare):
    folder = bare.home / ".claude/teams/session-1a2b3c4d"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text('{"members": []}')
    text = "\n".join(screen())
    assert "There is no team here yet" in text
    assert "session-1a2b3c4d" in text
    bare("teams", "create", "crew")
    text = "\n".join(screen())
    assert text.startswith("crew ")
    assert "other teams here, with --team: session-1a2b3c4d" in text


def test_a_team_that_cannot_be_read_is_said_with_a_way_out(screen, bare):
    bare("teams", "create", "crew")
    (bare.home / ".claude/teams/crew/config.json").write_text("{")
    text = "\n".join(screen())
    assert "team crew cannot be read" in text
    assert "fix: " in text


def test_what_others_wrote_draws_nothing_on_the_screen(screen, bare):
    bare("teams", "create", "crew")
    bare("teams", "add-member", "crew", "ann")
    bare("tasks", "add", "\x1b[2J\x1b]0;owned\x07 Write")
    assert "\x1b" not in "\n".join(screen())


def test_in_a_pipe_it_is_the_help(bare):
    assert bare().out == bare("help").out


# Help.


def test_every_command_is_in_one_group():
    grouped = [name for names in GROUPS.values() for name in names]
    assert len(grouped) == len(set(grouped))
    assert set(COMMANDS) <= set(grouped)
    assert list(MEANT) == list(GROUPS)


def test_the_help_is_grouped_by_what_people_do_and_plumbing_comes_last(bare):
    heads = re.findall(r"^([a-z ]+): ", bare("help").out, re.M)
    assert [head for head in heads if head in GROUPS] == ["talk", "work", "look", "set up", "run", "plumbing"]


def test_the_help_fits_eighty_columns(bare):
    assert [line for line in bare("help").out.split("\n") if len(line) > 80] == []


def test_errors_and_help_have_colours_on_a_terminal_and_none_in_a_pipe(bare, seen):
    assert "\x1b[1;31merror:\x1b[0m" in seen("sned")
    assert "\x1b[32mfix:\x1b[0m" in seen("sned")
    assert "\x1b[1mtalk\x1b[0m" in seen("help")
    assert "\x1b" not in seen("help", env={"NO_COLOR": "1"})
    assert "\x1b" not in bare("sned", code=1).err + bare("help").out


@pytest.mark.parametrize("kind", ["agent", "human"])
def test_mail_that_is_proposed_to_be_read_waits_for_the_reader_whatever_they_are(screen, bare, kind):
    """Also for a reader who is an agent to the roster, as the lead of a team is."""
    bare("teams", "create", "crew", env={"ATM_IDENTITY": "human"})
    bare("teams", "add-member", "crew", "ann")
    bare("teams", "add-member", "crew", "lee", *(["--backend-type", "human"] if kind == "human" else []))
    me = "lee"
    bare("send", me, "Which port?", "--from", "ann", "--team", "crew")
    text = "\n".join(screen(ATM_IDENTITY=me, ATM_TEAM="crew"))
    assert f"waits for you\n  ◆ mail  1 unread for {me}" in text
    assert "nothing waits for you" not in text
    assert re.search(r"next\n  atm read +1 for you", text)


def test_a_failed_task_is_listed_with_the_last_line_of_its_reason(screen, bare):
    bare("teams", "create", "crew")
    bare("teams", "add-member", "crew", "ann")
    bare("tasks", "add", "Parse")
    bare("tasks", "claim", "1", "--as", "ann")
    bare(
        "tasks",
        "fail",
        "1",
        "--as",
        "ann",
        "--final",
        "--error",
        "the check failed:\nbegun\nparser.py:7: no such table\n",
    )
    assert bare("tasks", "show", "1", "--json").json["task"]["state"] == "failed"
    text = "\n".join(screen())
    assert "failed  #1  Parse: parser.py:7: no such table" in text
    (snapshot,) = bare("snapshot", "--team", "crew", "--json").json["teams"]
    assert snapshot["tasks"][0]["failed_because"] == "parser.py:7: no such table"
